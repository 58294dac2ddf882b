/* Gathers and scatters by leases, as their roots saw them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "stats/snapshot.h"

struct espi_stats_collective {
    struct espi_report_collective entry;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below; taken once in a lease */
static struct espi_stats_collective records[ESPI_STATS_COLLECTIVES] ESPI_TABLE;
static struct espi_stats_collective others ESPI_TABLE; /* what the table has no room for */
static size_t record_count;
static struct espi_report_model models[ESPI_LEVELS];

const char *espi_stats_method_name(int method)
{
    return method <= 0 ? "library" : espi_commtree_kind_name((enum espi_commtree_kind)(method - 1));
}

const char *espi_stats_call_name(enum espi_stats_call call)
{
    static const char *const name[ESPI_CALLS] = {"MPI_Gatherv", "MPI_Scatterv", "MPI_Gather", "MPI_Scatter"};
    return (unsigned)call < ESPI_CALLS ? name[call] : NULL;
}

static int magnitude(int64_t bytes)
{
    int power = 0;
    while (bytes > 0) {
        bytes /= 4;
        power++;
    }
    return power;
}

enum { WORDS = 5 };

/* What tells records apart. */
static void identity(const struct espi_collective_facts *facts, int word[WORDS])
{
    const int all[WORDS] = {(int)facts->call, facts->ranks, facts->nodes, facts->root, magnitude(facts->bytes)};
    memcpy(word, all, sizeof all);
}

static int compare(const struct espi_collective_facts *a, const struct espi_collective_facts *b)
{
    int x[WORDS], y[WORDS];
    identity(a, x);
    identity(b, y);
    for (int i = 0; i < WORDS; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

int espi_report_collective_compare(const struct espi_report_collective *a, const struct espi_report_collective *b)
{
    return compare(&a->facts, &b->facts);
}

uint64_t espi_report_collective_key(const struct espi_report_collective *collective)
{
    int word[WORDS];
    uint64_t key = 0;
    identity(&collective->facts, word);
    for (int i = 0; i < WORDS; i++)
        key = espi_mix(key, (uint64_t)word[i]);
    return key;
}

struct espi_stats_collective *espi_stats_collective(const struct espi_collective_facts *facts)
{
    struct espi_stats_collective *record = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < record_count && !record; i++)
        if (compare(&records[i].entry.facts, facts) == 0)
            record = &records[i];
    if (!record && record_count < ESPI_STATS_COLLECTIVES)
        record = &records[record_count++];
    if (record) {
        record->entry.facts = *facts;
        record->entry.roots = 1;
    } else {
        record = &others;
    }
    pthread_mutex_unlock(&lock);
    return record;
}

void espi_stats_collective_count(struct espi_stats_collective *record, int method, uint64_t calls, uint64_t leases)
{
    pthread_mutex_lock(&lock);
    if (method >= 0 && method < ESPI_STATS_METHODS)
        record->entry.calls[method] += calls;
    record->entry.leases += leases;
    pthread_mutex_unlock(&lock);
}

void espi_stats_model(enum espi_level level, const struct espi_commtree_model *model, const char *source)
{
    pthread_mutex_lock(&lock);
    models[level] = (struct espi_report_model){true, 0, *model, ""};
    snprintf(models[level].source, sizeof models[level].source, "%s", source);
    pthread_mutex_unlock(&lock);
}

uint64_t espi_report_collective_calls(const struct espi_report_collective *collective)
{
    uint64_t sum = 0;
    for (int m = 0; m < ESPI_STATS_METHODS; m++)
        sum += collective->calls[m];
    return sum;
}

uint64_t espi_report_collective_time(const struct espi_report_collective *collective)
{
    double sum = 0;
    for (int m = 0; m < ESPI_STATS_METHODS; m++) {
        const struct espi_collective_facts *f = &collective->facts;
        int64_t each = f->measured_ns[m] >= 0 ? f->measured_ns[m] : f->predicted_ns[m] >= 0 ? f->predicted_ns[m] : 0;
        sum += (double)collective->calls[m] * (double)each;
    }
    return sum < 9e18 ? (uint64_t)sum : (uint64_t)9e18;
}

espi_status espi_stats_collect_collectives(struct espi_report *report)
{
    pthread_mutex_lock(&lock);
    report->collective = calloc(record_count + 1, sizeof *report->collective);
    if (report->collective) {
        for (size_t i = 0; i < record_count; i++) {
            struct espi_report_collective *entry = &report->collective[i];
            *entry = records[i].entry;
            entry->most_calls = espi_report_collective_calls(entry);
            entry->most_rank = report->rank;
        }
        report->collectives = record_count;
        report->other_collectives = espi_report_collective_calls(&others.entry) > 0;
        report->other_calls = espi_report_collective_calls(&others.entry);
        memcpy(report->model, models, sizeof models);
        for (int l = 0; l < ESPI_LEVELS; l++)
            report->model[l].rank = report->rank;
    }
    pthread_mutex_unlock(&lock);
    return report->collective ? ESPI_OK : ESPI_ERR_MEMORY;
}
