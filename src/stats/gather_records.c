/* Gathers and scatters by leases, as their roots saw them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/snapshot.h"

struct espi_stats_collective {
    struct espi_report_collective entry;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below; taken once in a lease */
static struct espi_stats_collective records[ESPI_STATS_COLLECTIVES];
static struct espi_stats_collective others; /* what the table has no room for */
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

static bool is_alike(const struct espi_collective_facts *a, const struct espi_collective_facts *b)
{
    return a->call == b->call && a->ranks == b->ranks && a->nodes == b->nodes && a->root == b->root &&
           magnitude(a->bytes) == magnitude(b->bytes);
}

struct espi_stats_collective *espi_stats_collective(const struct espi_collective_facts *facts)
{
    struct espi_stats_collective *record = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < record_count && !record; i++)
        if (is_alike(&records[i].entry.facts, facts))
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
    models[level] = (struct espi_report_model){true, *model, ""};
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
        for (size_t i = 0; i < record_count; i++)
            report->collective[i] = records[i].entry;
        report->collectives = record_count;
        report->other_collectives = espi_report_collective_calls(&others.entry) > 0;
        report->other_calls = espi_report_collective_calls(&others.entry);
        memcpy(report->model, models, sizeof models);
    }
    pthread_mutex_unlock(&lock);
    return report->collective ? ESPI_OK : ESPI_ERR_MEMORY;
}

size_t espi_report_collectives_join(struct espi_report_collective *list, size_t n, const struct espi_report *other)
{
    for (size_t i = 0; i < other->collectives; i++) {
        const struct espi_report_collective *from = &other->collective[i];
        size_t k = 0;
        while (k < n && !is_alike(&list[k].facts, &from->facts))
            k++;
        if (k == n) {
            list[n++] = *from;
            continue;
        }
        if (espi_report_collective_calls(from) > espi_report_collective_calls(&list[k]))
            list[k].facts = from->facts;
        for (int m = 0; m < ESPI_STATS_METHODS; m++)
            list[k].calls[m] += from->calls[m];
        list[k].leases += from->leases;
        list[k].roots += from->roots;
    }
    return n;
}

static int by_time(const void *a, const void *b)
{
    const struct espi_report_collective *x = a, *y = b;
    uint64_t tx = espi_report_collective_time(x), ty = espi_report_collective_time(y);
    uint64_t cx = espi_report_collective_calls(x), cy = espi_report_collective_calls(y);
    if (tx != ty)
        return tx > ty ? -1 : 1;
    if (cx != cy)
        return cx > cy ? -1 : 1;
    if (x->facts.call != y->facts.call)
        return x->facts.call < y->facts.call ? -1 : 1;
    if (x->facts.ranks != y->facts.ranks)
        return x->facts.ranks < y->facts.ranks ? -1 : 1;
    if (x->facts.root != y->facts.root)
        return x->facts.root < y->facts.root ? -1 : 1;
    return x->facts.bytes < y->facts.bytes ? -1 : x->facts.bytes > y->facts.bytes;
}

void espi_report_collectives_keep(struct espi_report *report)
{
    if (report->collectives > 1)
        qsort(report->collective, report->collectives, sizeof *report->collective, by_time);
    while (report->collectives > ESPI_REPORT_COLLECTIVES) {
        report->other_calls += espi_report_collective_calls(&report->collective[--report->collectives]);
        report->other_collectives++;
    }
}
