/* The reports of ranks become one, and keep the records that matter most. */
#include "stats/report.h"

#include <stdlib.h>
#include <string.h>

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

/* Those that gained most stand first, then those that moved most data. */
static int busier(const void *a, const void *b)
{
    const struct espi_report_type *x = a, *y = b;
    if (x->saved_ns != y->saved_ns)
        return x->saved_ns > y->saved_ns ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->uses != y->uses)
        return x->uses > y->uses ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

void espi_report_keep(struct espi_report *report)
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
    espi_report_collectives_keep(report);
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
    type->saved_ns = add_saturated(type->saved_ns, other->saved_ns);
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
    espi_report_keep(report);
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
