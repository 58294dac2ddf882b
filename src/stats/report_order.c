/* Which records a report keeps, and in which order. */
#include <stdlib.h>

#include "base/saturate.h"
#include "stats/report.h"

static struct espi_report_weight weight_of_type(const struct espi_report_type *type)
{
    uint64_t saved = 0;

    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        saved = espi_add_saturated(saved, type->saved_ns[i]);
    return (struct espi_report_weight){{saved, type->bytes, type->uses}};
}

static struct espi_report_weight weight_of_collective(const struct espi_report_collective *collective)
{
    return (struct espi_report_weight){
        {espi_report_collective_time(collective), espi_report_collective_calls(collective), 0}};
}

void espi_report_weigh(const struct espi_report *report, struct espi_sketch *sketch)
{
    for (size_t i = 0; i < report->types; i++) {
        const struct espi_report_weight weight = weight_of_type(&report->type[i]);
        for (int k = 0; k < 3; k++)
            espi_sketch_add(sketch, ESPI_WEIGHT_SAVED + k, report->type[i].key, weight.part[k]);
    }
    for (size_t i = 0; i < report->collectives; i++) {
        const struct espi_report_weight weight = weight_of_collective(&report->collective[i]);
        const uint64_t key = espi_report_collective_key(&report->collective[i]);
        for (int k = 0; k < 2; k++)
            espi_sketch_add(sketch, ESPI_WEIGHT_TIME + k, key, weight.part[k]);
    }
}

static void weigh_records(struct espi_report *report, const struct espi_sketch *sketch)
{
    for (size_t i = 0; i < report->types; i++) {
        struct espi_report_type *type = &report->type[i];
        type->weight = weight_of_type(type);
        for (int k = 0; sketch != NULL && k < 3; k++)
            type->weight.part[k] = espi_sketch_estimate(sketch, ESPI_WEIGHT_SAVED + k, type->key);
    }
    for (size_t i = 0; i < report->collectives; i++) {
        struct espi_report_collective *collective = &report->collective[i];
        const uint64_t key = espi_report_collective_key(collective);
        collective->weight = weight_of_collective(collective);
        for (int k = 0; sketch != NULL && k < 2; k++)
            collective->weight.part[k] = espi_sketch_estimate(sketch, ESPI_WEIGHT_TIME + k, key);
    }
}

static int heavier_first(const struct espi_report_weight *a, const struct espi_report_weight *b)
{
    for (int k = 0; k < 3; k++)
        if (a->part[k] != b->part[k])
            return a->part[k] > b->part[k] ? -1 : 1;
    return 0;
}

int espi_report_type_order(const struct espi_report_type *a, const struct espi_report_type *b)
{
    int order = heavier_first(&a->weight, &b->weight);
    return order != 0 ? order : a->key < b->key ? -1 : a->key > b->key;
}

int espi_report_collective_order(const struct espi_report_collective *a, const struct espi_report_collective *b)
{
    int order = heavier_first(&a->weight, &b->weight);
    return order != 0 ? order : espi_report_collective_compare(a, b);
}

static int compare_types(const void *a, const void *b)
{
    return espi_report_type_order(a, b);
}

static int compare_collectives(const void *a, const void *b)
{
    return espi_report_collective_order(a, b);
}

static void sort_records(struct espi_report *report)
{
    if (report->types > 1)
        qsort(report->type, report->types, sizeof *report->type, compare_types);
    if (report->collectives > 1)
        qsort(report->collective, report->collectives, sizeof *report->collective, compare_collectives);
}

/* A record counts once for each rank, which is known wherever it is dropped; how many different ones all ranks drop
   is not. */
void espi_report_cut(struct espi_report *report)
{
    while (report->types > ESPI_REPORT_TYPES) {
        struct espi_report_type *last = &report->type[--report->types];
        report->other_types = espi_add_saturated(report->other_types, last->ranks);
        report->other_uses = espi_add_saturated(report->other_uses, last->uses);
        report->other_bytes = espi_add_saturated(report->other_bytes, last->bytes);
        for (int i = 0; i < ESPI_SAVED_KINDS; i++)
            report->other_saved_ns[i] = espi_add_saturated(report->other_saved_ns[i], last->saved_ns[i]);
        espi_report_type_release(last);
    }
    while (report->collectives > ESPI_REPORT_COLLECTIVES) {
        const struct espi_report_collective *last = &report->collective[--report->collectives];
        report->other_collectives = espi_add_saturated(report->other_collectives, last->roots);
        report->other_calls = espi_add_saturated(report->other_calls, espi_report_collective_calls(last));
    }
}

void espi_report_order(struct espi_report *report, const struct espi_sketch *sketch)
{
    weigh_records(report, sketch);
    sort_records(report);
    espi_report_cut(report);
}

/* What was saved on the sides of messages of several parts counts as `seen` does of `both`. */
static void settle(uint64_t saved[ESPI_SAVED_KINDS], double seen, double both)
{
    const double part = ((double)saved[ESPI_SAVED_SENDING] + (double)saved[ESPI_SAVED_RECEIVING]) * seen / both;

    saved[ESPI_SAVED_ALONE] = espi_add_saturated(saved[ESPI_SAVED_ALONE], (uint64_t)part);
    saved[ESPI_SAVED_SENDING] = saved[ESPI_SAVED_RECEIVING] = 0;
}

/* Of what was saved on both sides of messages of several parts, the greater sum of all ranks and types counts: the
   other side's time passed meanwhile. Each type gets its part of that, and so do those that are not listed. */
static void settle_savings(struct espi_report *report)
{
    double sum[ESPI_SAVED_KINDS];

    for (int k = 0; k < ESPI_SAVED_KINDS; k++)
        sum[k] = (double)report->other_saved_ns[k];
    for (size_t i = 0; i < report->types; i++)
        for (int k = 0; k < ESPI_SAVED_KINDS; k++)
            sum[k] += (double)report->type[i].saved_ns[k];
    const double both = sum[ESPI_SAVED_SENDING] + sum[ESPI_SAVED_RECEIVING],
                 seen = sum[sum[ESPI_SAVED_SENDING] > sum[ESPI_SAVED_RECEIVING] ? ESPI_SAVED_SENDING
                                                                               : ESPI_SAVED_RECEIVING];
    if (both <= 0)
        return;
    for (size_t i = 0; i < report->types; i++)
        settle(report->type[i].saved_ns, seen, both);
    settle(report->other_saved_ns, seen, both);
}

void espi_report_finish(struct espi_report *report)
{
    settle_savings(report);
    espi_report_order(report, NULL);
}

enum espi_type_state espi_report_type_state(const struct espi_report_type *type)
{
    const struct espi_type_times *measured = &type->facts.ns_measured;
    const bool most = type->changed > type->uses / 2;

    if (!type->facts.improved)
        return ESPI_TYPE_LEFT_ALONE;
    if (type->saved_ns[ESPI_SAVED_ALONE] > 0 || (most && (measured->pack > 0 || measured->unpack > 0)))
        return ESPI_TYPE_IMPROVED;
    return most ? ESPI_TYPE_USED : type->changed > 0 ? ESPI_TYPE_TRIED : ESPI_TYPE_PLANNED;
}

const char *espi_type_state_text(enum espi_type_state state)
{
    static const char *const text[] = {"left alone", "planned, nothing gained by it",
                                       "used, what that saves is not known", "tried, left to the library",
                                       "improved"};
    return text[state];
}

uint64_t espi_report_types_saved(const struct espi_report *report)
{
    uint64_t sum = report->other_saved_ns[ESPI_SAVED_ALONE];

    for (size_t i = 0; i < report->types; i++)
        sum = espi_add_saturated(sum, report->type[i].saved_ns[ESPI_SAVED_ALONE]);
    return sum;
}
