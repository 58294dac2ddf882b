/* The summary of ESPALIER_SUMMARY=1: a dozen lines for a person, each with the prefix of our messages. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stats/report.h"

#define SUMMARY_TYPES 5   /* busiest types that are named */
#define SUMMARY_REASONS 5 /* most frequent reasons that are named */

/* "1.234 ms"; whole numbers only, so that the program's locale does not matter. */
static void time_text(char *buf, size_t size, uint64_t ns)
{
    static const struct {
        uint64_t per;
        const char *unit;
    } scale[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
    for (size_t i = 0; i < sizeof scale / sizeof scale[0]; i++)
        if (ns >= scale[i].per) {
            uint64_t milli = ns / (scale[i].per / 1000);
            snprintf(buf, size, "%" PRIu64 ".%03" PRIu64 " %s", milli / 1000, milli % 1000, scale[i].unit);
            return;
        }
    snprintf(buf, size, "%" PRIu64 " ns", ns);
}

static void summarize_types(const struct espi_report *report, struct espi_buffer *out)
{
    for (size_t i = 0; i < report->types && i < SUMMARY_TYPES; i++) {
        const struct espi_report_type *type = &report->type[i];
        char before[32], after[32];
        espi_buffer_format(out, "espalier:   %.48s%s", type->facts.before ? type->facts.before : "(no text)",
                           type->facts.before && strlen(type->facts.before) > 48 ? "..." : "");
        espi_buffer_format(out, ": %" PRIu64 " uses, %" PRIu64 " bytes", type->uses, type->bytes);
        const bool packs = type->facts.ns_after.pack != 0; /* else it is better in messages only */
        const uint64_t was = packs ? type->facts.ns_before.pack : type->facts.ns_before.partial;
        const uint64_t is = packs ? type->facts.ns_after.pack : type->facts.ns_after.partial;
        const enum espi_type_state state = espi_report_type_state(type);
        if (state == ESPI_TYPE_IMPROVED) {
            time_text(before, sizeof before, was);
            time_text(after, sizeof after, is);
            if (was != 0 && is != 0)
                espi_buffer_format(out, ", %s %s -> %s", packs ? "pack" : "message", before, after);
        } else if (state != ESPI_TYPE_LEFT_ALONE) {
            espi_buffer_format(out, ", %s", espi_type_state_text(state));
        } else {
            espi_buffer_format(out, ", left alone: %s", type->facts.why ? type->facts.why : "no reason given");
        }
        espi_buffer_text(out, "\n");
    }
}

static void summarize_reasons(const struct espi_report *report, struct espi_buffer *out)
{
    bool named[ESPI_COUNTER_COUNT] = {false};
    for (int k = 0; k < SUMMARY_REASONS; k++) {
        int most = -1;
        for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
            if (espi_counter_table[i].group == ESPI_GROUP_LEFT && !named[i] && report->counter[i].sum > 0 &&
                (most < 0 || report->counter[i].sum > report->counter[most].sum))
                most = i;
        if (most < 0)
            return;
        named[most] = true;
        espi_buffer_format(out, "espalier:   left alone %" PRIu64 " %s: %s\n", report->counter[most].sum,
                           espi_counter_table[most].unit, espi_counter_table[most].help);
    }
}

espi_status espi_report_summary(const struct espi_report *report, struct espi_buffer *out)
{
    const struct espi_report_value *c = report->counter;
    char text[32];
    uint64_t own = 0;
    int64_t gain;

    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        if (espi_counter_table[i].group == ESPI_GROUP_TIME)
            own += c[i].sum;
    gain = (int64_t)(espi_report_types_saved(report) / 2); /* halves: no overflow */
    time_text(text, sizeof text, report->elapsed_ns);
    espi_buffer_format(out, "espalier: summary of %s (%" PRIu64 " of %" PRIu64 " ranks), %s\n", report->scope,
                       report->reporting, report->ranks, text);
    espi_buffer_format(out, "espalier:   types: %" PRIu64 " seen, %" PRIu64
                       " layouts planned, a better form for %" PRIu64 "\n",
                       c[ESPI_COUNT_types_registered].sum, c[ESPI_COUNT_types_planned].sum,
                       c[ESPI_COUNT_types_improved].sum);
    espi_buffer_format(out, "espalier:   calls: %" PRIu64 " uses of derived types, %" PRIu64 " with a better type (%"
                       PRIu64 " bytes)\n", c[ESPI_COUNT_calls_examined].sum, c[ESPI_COUNT_calls_substituted].sum,
                       c[ESPI_COUNT_bytes_substituted].sum);
    if (c[ESPI_COUNT_calls_packed].sum > 0)
        espi_buffer_format(out, "espalier:   packed: %" PRIu64 " of them by pack programs (%" PRIu64 " bytes)\n",
                           c[ESPI_COUNT_calls_packed].sum, c[ESPI_COUNT_bytes_packed].sum);
    if (c[ESPI_COUNT_calls_exchanged].sum > 0)
        espi_buffer_format(out, "espalier:   exchanged: %" PRIu64 " calls of MPI_Alltoall and its kin through shared"
                           " memory (%" PRIu64 " bytes)\n", c[ESPI_COUNT_calls_exchanged].sum,
                           c[ESPI_COUNT_bytes_exchanged].sum);
    if (c[ESPI_COUNT_reduce_dense].sum + c[ESPI_COUNT_reduce_packed].sum > 0)
        espi_buffer_format(out, "espalier:   reductions: %" PRIu64 " calls with a predefined operation on a derived"
                           " type (errors without Espalier)\n",
                           c[ESPI_COUNT_reduce_dense].sum + c[ESPI_COUNT_reduce_packed].sum);
    if (c[ESPI_COUNT_tree_calls].sum + c[ESPI_COUNT_tree_library].sum > 0)
        espi_buffer_format(out, "espalier:   gathers and scatters: %" PRIu64 " calls along a tree, %" PRIu64
                           " left to the library\n", c[ESPI_COUNT_tree_calls].sum, c[ESPI_COUNT_tree_library].sum);
    if (c[ESPI_COUNT_blocks_copied].sum > 0)
        espi_buffer_format(out, "espalier:   own blocks: %" PRIu64 " copied from layout to layout (%" PRIu64
                           " bytes)\n", c[ESPI_COUNT_blocks_copied].sum, c[ESPI_COUNT_bytes_copied].sum);
    gain += (int64_t)(c[ESPI_COUNT_blocks_saved].sum / 2) + (int64_t)(c[ESPI_COUNT_exchange_saved].sum / 2) +
            (int64_t)(c[ESPI_COUNT_again_saved].sum / 2);
    time_text(text, sizeof text, gain > 0 ? 2 * (uint64_t)gain : 0);
    espi_buffer_format(out, "espalier:   saved by estimate %s in %s ranks;", text,
                       report->reporting == report->ranks ? "all" : "these");
    time_text(text, sizeof text, own);
    espi_buffer_format(out, " Espalier's own time %s\n", text);
    summarize_types(report, out);
    summarize_reasons(report, out);
    return out->failed ? ESPI_ERR_MEMORY : ESPI_OK;
}
