/* The reports of ranks become one. */
#include "stats/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

void espi_report_type_release(struct espi_report_type *type)
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
            espi_report_type_release(type);
            return ESPI_ERR_MEMORY;
        }
        *fact[i] = type->text[i];
    }
    return ESPI_OK;
}

static void merge_value(struct espi_report_value *into, const struct espi_report_value *from)
{
    into->sum = espi_add_saturated(into->sum, from->sum);
    if (from->min < into->min || (from->min == into->min && from->min_rank < into->min_rank)) {
        into->min = from->min;
        into->min_rank = from->min_rank;
    }
    if (from->max > into->max || (from->max == into->max && from->max_rank < into->max_rank)) {
        into->max = from->max;
        into->max_rank = from->max_rank;
    }
}

/* Whether facts with so much behind them, of this rank, come before others. */
static bool speaks_first(uint64_t most, uint32_t rank, uint64_t other_most, uint32_t other_rank)
{
    return most != other_most ? most > other_most : rank < other_rank;
}

/* Takes what `from` owns. */
static void merge_type(struct espi_report_type *into, struct espi_report_type *from)
{
    if (speaks_first(from->most_uses, from->most_rank, into->most_uses, into->most_rank)) {
        espi_report_type_release(into);
        memcpy(into->text, from->text, sizeof into->text);
        into->facts = from->facts;
        into->most_uses = from->most_uses;
        into->most_rank = from->most_rank;
    } else {
        espi_report_type_release(from);
    }
    into->uses = espi_add_saturated(into->uses, from->uses);
    into->elements = espi_add_saturated(into->elements, from->elements);
    into->changed = espi_add_saturated(into->changed, from->changed);
    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        into->saved_ns[i] = espi_add_saturated(into->saved_ns[i], from->saved_ns[i]);
    into->bytes = espi_add_saturated(into->bytes, from->bytes);
    into->ranks += from->ranks;
}

/* Two ordered lists into one, which takes what they own; each has its records once. */
static size_t join_types(struct espi_report_type *out, const struct espi_report *a, const struct espi_report *b)
{
    size_t i = 0, k = 0, n = 0;
    while (i < a->types || k < b->types) {
        int order = i == a->types ? 1 : k == b->types ? -1 : espi_report_type_order(&a->type[i], &b->type[k]);
        out[n] = order <= 0 ? a->type[i++] : b->type[k++];
        if (order == 0)
            merge_type(&out[n], &b->type[k++]);
        n++;
    }
    return n;
}

static void merge_collective(struct espi_report_collective *into, const struct espi_report_collective *from)
{
    if (speaks_first(from->most_calls, from->most_rank, into->most_calls, into->most_rank)) {
        into->facts = from->facts;
        into->most_calls = from->most_calls;
        into->most_rank = from->most_rank;
    }
    for (int m = 0; m < ESPI_STATS_METHODS; m++)
        into->calls[m] = espi_add_saturated(into->calls[m], from->calls[m]);
    into->leases = espi_add_saturated(into->leases, from->leases);
    into->roots += from->roots;
}

static size_t join_collectives(struct espi_report_collective *out, const struct espi_report *a,
                               const struct espi_report *b)
{
    size_t i = 0, k = 0, n = 0;
    while (i < a->collectives || k < b->collectives) {
        int order = i == a->collectives   ? 1
                    : k == b->collectives ? -1
                                          : espi_report_collective_order(&a->collective[i], &b->collective[k]);
        out[n] = order <= 0 ? a->collective[i++] : b->collective[k++];
        if (order == 0)
            merge_collective(&out[n], &b->collective[k++]);
        n++;
    }
    return n;
}

/* By name; of more than are kept the last are let go, the same ones in whatever order reports merge. */
static size_t join_hosts(struct espi_report_host *out, const struct espi_report *a, const struct espi_report *b)
{
    size_t i = 0, k = 0, n = 0;
    while (i < a->hosts || k < b->hosts) {
        int order = i == a->hosts ? 1 : k == b->hosts ? -1 : strcmp(a->host[i].name, b->host[k].name);
        out[n] = order <= 0 ? a->host[i++] : b->host[k++];
        if (order == 0) {
            out[n].ranks += b->host[k].ranks;
            free(b->host[k++].name);
        }
        n++;
    }
    while (n > ESPI_REPORT_HOSTS)
        free(out[--n].name);
    return n;
}

static void swap_texts(char **a, char **b)
{
    char *kept = *a;
    *a = *b;
    *b = kept;
}

static void take_header(struct espi_report *report, struct espi_report *other)
{
    swap_texts(&report->mpi, &other->mpi);
    swap_texts(&report->scope, &other->scope);
    swap_texts(&report->command, &other->command);
    report->command_len = other->command_len;
    report->settings = other->settings;
    report->rank = other->rank;
}

static void merge_facts(struct espi_report *report, const struct espi_report *other)
{
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        merge_value(&report->counter[i], &other->counter[i]);
    for (size_t i = 0; i < report->functions; i++)
        merge_value(&report->calls[i], &other->calls[i]);
    report->other_types = espi_add_saturated(report->other_types, other->other_types);
    report->other_uses = espi_add_saturated(report->other_uses, other->other_uses);
    report->other_bytes = espi_add_saturated(report->other_bytes, other->other_bytes);
    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        report->other_saved_ns[i] = espi_add_saturated(report->other_saved_ns[i], other->other_saved_ns[i]);
    report->other_collectives = espi_add_saturated(report->other_collectives, other->other_collectives);
    report->other_calls = espi_add_saturated(report->other_calls, other->other_calls);
    for (int l = 0; l < ESPI_LEVELS; l++) {
        const struct espi_report_model *model = &other->model[l];
        if (model->have && (!report->model[l].have || model->rank < report->model[l].rank))
            report->model[l] = *model;
    }
    report->reporting += other->reporting;
    report->complete = report->complete && other->complete;
    if (other->started < report->started)
        report->started = other->started;
    if (other->elapsed_ns > report->elapsed_ns)
        report->elapsed_ns = other->elapsed_ns;
}

espi_status espi_report_merge(struct espi_report *report, struct espi_report *other)
{
    if (report->functions != other->functions)
        return ESPI_ERR_ARGUMENT;
    /* Everything that needs memory first, so that an error leaves both as they were. */
    struct espi_report_type *type = calloc(report->types + other->types + 1, sizeof *type);
    struct espi_report_host *host = calloc(report->hosts + other->hosts + 1, sizeof *host);
    struct espi_report_collective *collective =
        calloc(report->collectives + other->collectives + 1, sizeof *collective);
    if (type == NULL || host == NULL || collective == NULL) {
        free(type);
        free(host);
        free(collective);
        return ESPI_ERR_MEMORY;
    }
    size_t types = join_types(type, report, other), hosts = join_hosts(host, report, other);
    size_t collectives = join_collectives(collective, report, other);
    free(report->type);
    free(report->host);
    free(report->collective);
    report->type = type;
    report->types = types;
    report->host = host;
    report->hosts = hosts;
    report->collective = collective;
    report->collectives = collectives;
    other->types = other->hosts = other->collectives = 0; /* what they owned has gone over */
    merge_facts(report, other);
    if (other->rank < report->rank)
        take_header(report, other);
    espi_report_cut(report);
    espi_report_release(other);
    return ESPI_OK;
}

void espi_report_release(struct espi_report *report)
{
    for (size_t i = 0; i < report->types; i++)
        espi_report_type_release(&report->type[i]);
    for (size_t i = 0; i < report->hosts; i++)
        free(report->host[i].name);
    free(report->type);
    free(report->host);
    free(report->collective);
    free(report->calls);
    free(report->mpi);
    free(report->scope);
    free(report->command);
    *report = ESPI_REPORT_INIT;
}
