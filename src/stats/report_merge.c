/* The reports of ranks become one. */
#include "stats/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "stats/snapshot.h"

static void release_texts(struct espi_report_type *type)
{
    for (int i = 0; i < 4; i++) {
        free(type->text[i]);
        type->text[i] = NULL;
    }
}

espi_status espi_report_type_own(struct espi_report_type *type)
{
    const char **fact[4] = {&type->facts.before, &type->facts.after, &type->facts.emission, &type->facts.why};
    for (int i = 0; i < 4; i++)
        type->text[i] = NULL;
    for (int i = 0; i < 4; i++) {
        if (*fact[i] == NULL)
            continue;
        type->text[i] = strdup(*fact[i]);
        if (type->text[i] == NULL) {
            release_texts(type);
            return ESPI_ERR_MEMORY;
        }
        *fact[i] = type->text[i];
    }
    return ESPI_OK;
}

int64_t espi_report_type_gain(const struct espi_report_type *type)
{
    const struct espi_type_times *before = &type->facts.ns_before, *after = &type->facts.ns_after;
    double gain = 0;
    int parts = 0;
    if (!type->facts.improved)
        return 0;
    if (before->pack != 0 && after->pack != 0) {
        gain += (double)before->pack - (double)after->pack;
        parts++;
    }
    if (before->unpack != 0 && after->unpack != 0) {
        gain += (double)before->unpack - (double)after->unpack;
        parts++;
    }
    if (parts == 0)
        return 0;
    gain = gain / parts * (double)type->elements;
    return gain > 9e18 ? INT64_MAX : gain < -9e18 ? INT64_MIN : (int64_t)gain;
}

/* Those that gained most stand first, then those that moved most data. */
static int busier(const void *a, const void *b)
{
    const struct espi_report_type *x = a, *y = b;
    int64_t gx = espi_report_type_gain(x), gy = espi_report_type_gain(y);
    if (gx != gy)
        return gx > gy ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->uses != y->uses)
        return x->uses > y->uses ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static void keep_busiest(struct espi_report *report)
{
    if (report->types > 1)
        qsort(report->type, report->types, sizeof *report->type, busier);
    while (report->types > ESPI_REPORT_TYPES) {
        struct espi_report_type *last = &report->type[--report->types];
        report->other_types++;
        report->other_uses += last->uses;
        report->other_bytes += last->bytes;
        release_texts(last);
    }
}

/* The process's arguments as the kernel keeps them; empty where there is no /proc. */
static espi_status read_command(char **command, size_t *len)
{
    struct espi_buffer buffer = ESPI_BUFFER_INIT;
    char piece[4096];
    int saved_errno = errno;
    int file = espi_file_open("/proc/self/cmdline", O_RDONLY, 0);

    while (file >= 0 && buffer.len < 65536) {
        ssize_t got = read(file, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        espi_buffer_add(&buffer, piece, (size_t)got);
    }
    if (file >= 0)
        close(file);
    errno = saved_errno;
    espi_buffer_add(&buffer, "", 1); /* the bytes end in a NUL, whatever was read */
    if (buffer.failed) {
        espi_buffer_release(&buffer);
        return ESPI_ERR_MEMORY;
    }
    *command = buffer.data;
    *len = buffer.len > 1 && buffer.data[buffer.len - 2] == '\0' ? buffer.len - 1 : buffer.len;
    return ESPI_OK;
}

/* Calls that never reach the core are counted by name only. */
static uint64_t gather_calls(const struct espi_report *report)
{
    static const char *const name[] = {"MPI_Gather", "MPI_Gather_c", "MPI_Gatherv", "MPI_Gatherv_c",
                                       "MPI_Scatter", "MPI_Scatter_c", "MPI_Scatterv", "MPI_Scatterv_c"};
    uint64_t sum = 0;
    for (size_t i = 0; i < report->functions && report->function_name != NULL; i++)
        for (size_t k = 0; k < sizeof name / sizeof *name; k++)
            if (strcmp(report->function_name(i), name[k]) == 0)
                sum += report->calls[i].sum;
    return sum;
}

espi_status espi_report_take(struct espi_report *report, const struct espi_stats_run *run)
{
    char host[256] = "";
    char scope[64];

    *report = ESPI_REPORT_INIT;
    espi_status status = espi_stats_collect(report);
    if (status == ESPI_OK)
        status = espi_stats_collect_collectives(report);
    if (status == ESPI_OK)
        status = read_command(&report->command, &report->command_len);
    if (status != ESPI_OK)
        goto fail;
    if (run->few_on_node)
        report->counter[ESPI_COUNT_left_one_node].sum = gather_calls(report);
    gethostname(host, sizeof host - 1);
    if (run->all_present || run->ranks == 1)
        snprintf(scope, sizeof scope, "all ranks");
    else
        snprintf(scope, sizeof scope, "rank %d", run->rank);
    report->mpi = strdup(run->mpi != NULL ? run->mpi : "");
    report->scope = strdup(scope);
    report->host = calloc(1, sizeof *report->host);
    if (report->host != NULL)
        report->host[0] = strdup(host);
    if (report->mpi == NULL || report->scope == NULL || report->host == NULL || report->host[0] == NULL) {
        status = ESPI_ERR_MEMORY;
        goto fail;
    }
    report->hosts = 1;
    report->settings = *run->settings;
    report->ranks = (uint64_t)run->ranks;
    report->reporting = 1;
    espi_stats_clock(&report->started, &report->elapsed_ns);
    report->complete = true;
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        report->counter[i].min = report->counter[i].max = report->counter[i].sum;
    for (size_t i = 0; i < report->functions; i++)
        report->calls[i].min = report->calls[i].max = report->calls[i].sum;
    keep_busiest(report);
    espi_report_collectives_keep(report);
    return ESPI_OK;
fail:
    espi_report_release(report);
    return status;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void merge_value(struct espi_report_value *into, const struct espi_report_value *other)
{
    into->sum = add_saturated(into->sum, other->sum);
    if (other->min < into->min)
        into->min = other->min;
    if (other->max > into->max)
        into->max = other->max;
}

/* The facts come from the rank that used the type most; where memory is short they stay as they are. */
static void merge_type(struct espi_report_type *type, const struct espi_report_type *other)
{
    if (other->uses > type->uses) {
        struct espi_report_type copy = *other;
        if (espi_report_type_own(&copy) == ESPI_OK) {
            release_texts(type);
            memcpy(type->text, copy.text, sizeof type->text);
            type->facts = copy.facts;
        }
    }
    type->uses = add_saturated(type->uses, other->uses);
    type->elements = add_saturated(type->elements, other->elements);
    type->bytes = add_saturated(type->bytes, other->bytes);
    type->ranks = add_saturated(type->ranks, other->ranks);
}

static bool has_host(const struct espi_report *report, const char *name)
{
    for (size_t i = 0; i < report->hosts; i++)
        if (strcmp(report->host[i], name) == 0)
            return true;
    return false;
}

espi_status espi_report_merge(struct espi_report *report, const struct espi_report *other)
{
    /* Everything that needs memory first, so that an error leaves the report as it was. */
    if (report->functions != other->functions)
        return ESPI_ERR_ARGUMENT;
    struct espi_report_type *type = calloc(report->types + other->types + 1, sizeof *type);
    char **host = calloc(report->hosts + other->hosts + 1, sizeof *host);
    struct espi_report_collective *collective = calloc(report->collectives + other->collectives + 1,
                                                       sizeof *collective);
    size_t types = report->types, hosts = report->hosts;
    if (type == NULL || host == NULL || collective == NULL)
        goto fail;
    for (size_t i = 0; i < other->hosts && hosts < ESPI_REPORT_HOSTS; i++) {
        if (has_host(report, other->host[i]))
            continue;
        host[hosts] = strdup(other->host[i]);
        if (host[hosts] == NULL)
            goto fail;
        hosts++;
    }
    for (size_t i = 0; i < other->types; i++) {
        size_t k = 0;
        while (k < report->types && report->type[k].key != other->type[i].key)
            k++;
        if (k < report->types)
            continue;
        type[types] = other->type[i];
        if (espi_report_type_own(&type[types]) != ESPI_OK)
            goto fail;
        types++;
    }

    for (size_t i = 0; i < other->types; i++)
        for (size_t k = 0; k < report->types; k++)
            if (report->type[k].key == other->type[i].key)
                merge_type(&report->type[k], &other->type[i]);
    if (report->types > 0)
        memcpy(type, report->type, report->types * sizeof *type);
    free(report->type);
    report->type = type;
    report->types = types;
    if (report->hosts > 0)
        memcpy(host, report->host, report->hosts * sizeof *host);
    free(report->host);
    report->host = host;
    report->hosts = hosts;
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        merge_value(&report->counter[i], &other->counter[i]);
    for (size_t i = 0; i < report->functions; i++)
        merge_value(&report->calls[i], &other->calls[i]);
    report->other_types = add_saturated(report->other_types, other->other_types);
    report->other_uses = add_saturated(report->other_uses, other->other_uses);
    report->other_bytes = add_saturated(report->other_bytes, other->other_bytes);
    if (report->collectives > 0)
        memcpy(collective, report->collective, report->collectives * sizeof *collective);
    free(report->collective);
    report->collective = collective;
    report->collectives = espi_report_collectives_join(collective, report->collectives, other);
    report->other_collectives = add_saturated(report->other_collectives, other->other_collectives);
    report->other_calls = add_saturated(report->other_calls, other->other_calls);
    for (int l = 0; l < ESPI_LEVELS; l++)
        if (!report->model[l].have)
            report->model[l] = other->model[l];
    report->reporting += other->reporting;
    if (other->started < report->started)
        report->started = other->started;
    if (other->elapsed_ns > report->elapsed_ns)
        report->elapsed_ns = other->elapsed_ns;
    keep_busiest(report);
    espi_report_collectives_keep(report);
    return ESPI_OK;

fail:
    for (size_t i = report->types; type != NULL && i < types; i++)
        release_texts(&type[i]);
    for (size_t i = report->hosts; host != NULL && i < hosts; i++)
        free(host[i]);
    free(type);
    free(host);
    free(collective);
    return ESPI_ERR_MEMORY;
}

void espi_report_release(struct espi_report *report)
{
    for (size_t i = 0; i < report->types; i++)
        release_texts(&report->type[i]);
    for (size_t i = 0; i < report->hosts; i++)
        free(report->host[i]);
    free(report->type);
    free(report->host);
    free(report->collective);
    free(report->calls);
    free(report->mpi);
    free(report->scope);
    free(report->command);
    *report = ESPI_REPORT_INIT;
}
