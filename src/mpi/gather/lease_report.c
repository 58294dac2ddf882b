#include "mpi/gather/lease_report.h"

#include <stdio.h>

static int64_t nanoseconds(double seconds)
{
    return seconds < 0 ? -1 : seconds > 9e9 ? INT64_MAX : (int64_t)(seconds * 1e9 + 0.5);
}

/* What the state at the root says of it. */
static const char *reason(const struct espi_lease *lease, bool modelled, const struct espi_settings *settings)
{
    int trees = 0, tried = 0;
    double library = lease->measured[0], tree = lease->measured[1 + lease->method];
    if (lease->state == ESPI_LEASE_ENDED)
        return lease->planned && lease->irregular_seen ? "the ranks did not make the same calls"
                                                       : "no communicator of its own could be made";
    if (!lease->planned)
        return "no call made all ranks wait for each other, so nothing could be agreed";
    if (lease->state == ESPI_LEASE_WAITS)
        return modelled ? "no tree is clearly faster in the model"
                        : "no tree is clearly faster even where messages are slow, so no model was asked for";
    if (settings->tree != 0)
        return "named by ESPALIER_TREE";
    for (int i = 0; i < lease->methods; i++)
        if (lease->order[i] != ESPI_METHOD_LIBRARY) {
            trees++;
            tried += lease->measured[1 + lease->order[i]] >= 0;
        }
    if (lease->method != ESPI_METHOD_LIBRARY) {
        if (settings->collectives == ESPI_MODE_ALWAYS)
            return "the fastest in the model (ESPALIER_COLLECTIVES=always)";
        return tree >= 0 && library >= 0 && tree < library ? "measured faster than the library" : "being measured";
    }
    if (trees == 0)
        return "no tree is clearly faster in the model";
    if (lease->unsteady > 1)
        return "block sizes change too much from lease to lease";
    return tried == trees ? "no tree was measured clearly faster" : "being measured, beside the trees";
}

/* `calls` by the method of the lease, but for those that it lent to the library (a lease never begins with one). */
static void count_calls(struct espi_lease_report *report, struct espi_stats_collective *record,
                        const struct espi_lease *lease, int64_t calls)
{
    int64_t library_calls = lease->library_calls - report->library_calls;
    espi_stats_collective_count(record, report->method, (uint64_t)(calls - library_calls), 0);
    if (library_calls > 0)
        espi_stats_collective_count(record, 0, (uint64_t)library_calls, 0);
    report->library_calls = lease->library_calls;
}

void espi_lease_report(struct espi_lease_report *report, const struct espi_lease *lease,
                       const struct espi_topology *places, const struct espi_settings *settings, const int64_t *sizes)
{
    struct espi_collective_facts facts = {.call = (enum espi_stats_call)lease->family, .ranks = places->size,
                                          .nodes = places->nodes, .root = lease->root, .method = 1 + lease->method};
    int64_t before = lease->calls - report->counted;
    bool modelled = places->nodes > 0; /* till then times are those of slow messages, see agreement.c */
    for (int i = 0; i < places->size; i++)
        if (__builtin_add_overflow(facts.bytes, sizes[i], &facts.bytes))
            facts.bytes = INT64_MAX;
    for (int m = 0; m < ESPI_METHODS; m++) {
        facts.predicted_ns[m] = lease->planned && modelled ? nanoseconds(lease->predicted[m]) : -1;
        facts.measured_ns[m] = lease->planned ? nanoseconds(lease->measured[m]) : -1;
    }
    snprintf(facts.why, sizeof facts.why, "%s", reason(lease, modelled, settings));
    struct espi_stats_collective *record = espi_stats_collective(&facts);
    count_calls(report, report->record ? report->record : record, lease, before);
    espi_stats_collective_count(record, 0, 0, lease->state == ESPI_LEASE_HOLDS);
    report->record = record;
    report->counted += before;
    report->method = facts.method;
}

void espi_lease_report_end(struct espi_lease_report *report, const struct espi_lease *lease,
                           const struct espi_topology *places, const struct espi_settings *settings,
                           const int64_t *sizes)
{
    if (!report->record && lease->calls > 0 && sizes)
        espi_lease_report(report, lease, places, settings, sizes);
    if (report->record)
        count_calls(report, report->record, lease, lease->calls - report->counted);
    report->counted = lease->calls;
}
