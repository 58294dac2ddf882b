/* A report as JSON; doc/statistics.md describes the form. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "stats/json.h"
#include "stats/report.h"

static void write_value(struct espi_json *json, const char *key, const char *unit, const struct espi_report_value *v)
{
    espi_json_begin(json, key, '{', true);
    if (unit != NULL)
        espi_json_string(json, "unit", unit);
    espi_json_count(json, "sum", v->sum);
    espi_json_count(json, "min", v->min);
    espi_json_count(json, "max", v->max);
    espi_json_count(json, "min_rank", v->min_rank);
    espi_json_count(json, "max_rank", v->max_rank);
    espi_json_end(json, '}');
}

static void write_counters(struct espi_json *json, const char *key, enum espi_counter_group group,
                           const struct espi_report *report)
{
    espi_json_begin(json, key, '{', false);
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        if (espi_counter_table[i].group == group)
            write_value(json, espi_counter_table[i].name, espi_counter_table[i].unit, &report->counter[i]);
    espi_json_end(json, '}');
}

static void write_model(struct espi_json *json, const char *key, const struct espi_report_model *model)
{
    if (!model->have) {
        espi_json_null(json, key);
        return;
    }
    espi_json_begin(json, key, '{', true);
    espi_json_string(json, "source", model->source);
    espi_json_real(json, "alpha", model->model.alpha);
    espi_json_real(json, "beta", model->model.beta);
    espi_json_real(json, "gamma", model->model.gamma);
    espi_json_real(json, "latency", model->model.latency);
    espi_json_end(json, '}');
}

static void write_header(struct espi_json *json, const struct espi_report *report)
{
    char when[32] = "unknown";
    time_t started = (time_t)report->started;
    struct tm utc;

    espi_json_string(json, "schema", ESPI_SCHEMA_NAME);
    espi_json_integer(json, "schema_version", ESPI_SCHEMA_VERSION);
    espi_json_string(json, "espalier", PACKAGE_VERSION);
    espi_json_string(json, "mpi", report->mpi);
    espi_json_bool(json, "complete", report->complete);
    espi_json_string(json, "scope", report->scope);
    espi_json_begin(json, "command", '[', true);
    for (size_t at = 0; at < report->command_len;) {
        size_t len = strnlen(report->command + at, report->command_len - at);
        if (len > 0 || at + 1 < report->command_len)
            espi_json_string_n(json, NULL, report->command + at, len);
        at += len + 1;
    }
    espi_json_end(json, ']');
    if (gmtime_r(&started, &utc) != NULL)
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    espi_json_string(json, "started", when);
    espi_json_count(json, "elapsed_ns", report->elapsed_ns);
    espi_json_count(json, "ranks", report->ranks);
    espi_json_count(json, "ranks_reporting", report->reporting);
    espi_json_count(json, "ranks_missing", report->missing);
    espi_json_begin(json, "hosts", '[', true);
    uint64_t elsewhere = report->reporting;
    for (size_t i = 0; i < report->hosts; i++) {
        espi_json_string(json, NULL, report->host[i].name);
        elsewhere -= report->host[i].ranks;
    }
    espi_json_end(json, ']');
    espi_json_begin(json, "hosts_not_listed", '{', true);
    espi_json_count(json, "ranks", elsewhere);
    espi_json_end(json, '}');
    espi_json_begin(json, "model", '{', false);
    for (int l = 0; l < ESPI_LEVELS; l++)
        write_model(json, espi_level_name((enum espi_level)l), &report->model[l]);
    espi_json_end(json, '}');
    espi_json_begin(json, "settings", '{', false);
    for (int i = 0; i < ESPI_SETTING_COUNT; i++) {
        char value[ESPI_SETTING_TEXT];
        espi_settings_value(&report->settings, (enum espi_setting)i, value, sizeof value);
        espi_json_begin(json, espi_setting_table[i].variable, '{', true);
        espi_json_string(json, "value", value);
        espi_json_string(json, "source", espi_source_text((enum espi_source)report->settings.source[i]));
        espi_json_end(json, '}');
    }
    espi_json_end(json, '}');
}

static void write_functions(struct espi_json *json, const struct espi_report *report)
{
    espi_json_begin(json, "functions", '{', false);
    for (size_t i = 0; i < report->functions; i++)
        if (report->calls[i].sum > 0 && report->function_name != NULL)
            write_value(json, report->function_name(i), NULL, &report->calls[i]);
    espi_json_end(json, '}');
}

static void write_cost(struct espi_json *json, const char *key, int64_t cost)
{
    if (cost < 0)
        espi_json_null(json, key);
    else
        espi_json_integer(json, key, cost);
}

static void write_ns_of(struct espi_json *json, const char *name, uint64_t ns)
{
    if (ns == 0)
        espi_json_null(json, name);
    else
        espi_json_count(json, name, ns);
}

static void write_ns(struct espi_json *json, const char *name, const uint64_t ns[4])
{
    static const char *const what[4] = {"before", "after", "next", "measured"};
    espi_json_begin(json, name, '{', true);
    for (int i = 0; i < 4; i++)
        write_ns_of(json, what[i], ns[i]);
    espi_json_end(json, '}');
}

static void write_reversals(struct espi_json *json, const struct espi_type_facts *facts)
{
    static const char *const where[2] = {"MPI_Pack and MPI_Unpack", "messages"},
                             *const what[ESPI_SLOWS] = {"packing", "unpacking", "whole calls"};
    espi_json_begin(json, "reversed", '[', false);
    for (int i = 0; i < 2; i++) {
        const struct espi_type_reversal *reversal = &facts->reversal[i];
        if (!reversal->is)
            continue;
        espi_json_begin(json, NULL, '{', true);
        espi_json_string(json, "in", where[i]);
        espi_json_string(json, "what", what[reversal->what]);
        espi_json_count(json, "measured_ns", reversal->ns_measured);
        espi_json_count(json, "most_ns", reversal->ns_most);
        espi_json_end(json, '}');
    }
    espi_json_end(json, ']');
}

static void write_type(struct espi_json *json, const struct espi_report_type *type)
{
    const struct espi_type_facts *facts = &type->facts;
    const enum espi_type_state state = espi_report_type_state(type);
    char key[24];

    snprintf(key, sizeof key, "%016llx", (unsigned long long)type->key);
    espi_json_begin(json, NULL, '{', false);
    espi_json_string(json, "layout", key);
    espi_json_bool(json, "improved", state == ESPI_TYPE_IMPROVED);
    espi_json_string(json, "state", espi_type_state_text(state));
    espi_json_string(json, "before", facts->before);
    espi_json_string(json, "after", facts->after);
    espi_json_string(json, "emission", facts->emission);
    espi_json_string(json, "why", facts->why);
    write_cost(json, "cost_before", facts->cost_before);
    write_cost(json, "cost_after", facts->cost_after);
    espi_json_bool(json, "exact", facts->exact);
    write_cost(json, "entries", facts->entries);
    espi_json_integer(json, "size", facts->size);
    espi_json_count(json, "uses", type->uses);
    espi_json_count(json, "uses_changed", type->changed);
    espi_json_count(json, "elements", type->elements);
    espi_json_count(json, "bytes", type->bytes);
    espi_json_count(json, "ranks", type->ranks);
    const struct espi_type_times *before = &facts->ns_before, *after = &facts->ns_after, *next = &facts->ns_next,
                                 *measured = &facts->ns_measured;
    write_ns(json, "pack_ns", (const uint64_t[]){before->pack, after->pack, next->pack, measured->pack});
    write_ns(json, "unpack_ns", (const uint64_t[]){before->unpack, after->unpack, next->unpack, measured->unpack});
    write_ns(json, "partial_ns",
             (const uint64_t[]){before->partial, after->partial, next->partial, measured->partial});
    write_reversals(json, facts);
    espi_json_count(json, "planning_ns", facts->ns_planning);
    espi_json_count(json, "saved_ns_estimate", type->saved_ns[ESPI_SAVED_ALONE]);
    espi_json_end(json, '}');
}

static void write_collective(struct espi_json *json, const struct espi_report_collective *collective)
{
    const struct espi_collective_facts *facts = &collective->facts;
    espi_json_begin(json, NULL, '{', false);
    espi_json_string(json, "call", espi_stats_call_name(facts->call));
    espi_json_integer(json, "ranks", facts->ranks);
    espi_json_integer(json, "nodes", facts->nodes);
    espi_json_integer(json, "root", facts->root);
    espi_json_integer(json, "bytes", facts->bytes);
    espi_json_count(json, "calls", espi_report_collective_calls(collective));
    espi_json_count(json, "leases", collective->leases);
    espi_json_count(json, "roots", collective->roots);
    espi_json_string(json, "method", espi_stats_method_name(facts->method));
    espi_json_string(json, "why", facts->why);
    espi_json_begin(json, "methods", '[', false);
    for (int m = 0; m < ESPI_STATS_METHODS; m++) {
        if (facts->predicted_ns[m] < 0 && facts->measured_ns[m] < 0 && collective->calls[m] == 0)
            continue;
        espi_json_begin(json, NULL, '{', true);
        espi_json_string(json, "method", espi_stats_method_name(m));
        write_cost(json, "predicted_ns", facts->predicted_ns[m]);
        write_cost(json, "measured_ns", facts->measured_ns[m]);
        espi_json_count(json, "calls", collective->calls[m]);
        espi_json_end(json, '}');
    }
    espi_json_end(json, ']');
    espi_json_end(json, '}');
}

espi_status espi_report_json(const struct espi_report *report, struct espi_buffer *out)
{
    struct espi_json json = {.out = out};

    espi_json_begin(&json, NULL, '{', false);
    write_header(&json, report);
    write_counters(&json, "counters", ESPI_GROUP_WORK, report);
    write_counters(&json, "left_alone", ESPI_GROUP_LEFT, report);
    write_counters(&json, "own_time", ESPI_GROUP_TIME, report);
    write_functions(&json, report);
    espi_json_begin(&json, "types", '[', false);
    for (size_t i = 0; i < report->types; i++)
        write_type(&json, &report->type[i]);
    espi_json_end(&json, ']');
    espi_json_begin(&json, "types_not_listed", '{', true);
    espi_json_count(&json, "types", report->other_types);
    espi_json_count(&json, "uses", report->other_uses);
    espi_json_count(&json, "bytes", report->other_bytes);
    espi_json_count(&json, "saved_ns_estimate", report->other_saved_ns[ESPI_SAVED_ALONE]);
    espi_json_end(&json, '}');
    espi_json_begin(&json, "collectives", '[', false);
    for (size_t i = 0; i < report->collectives; i++)
        write_collective(&json, &report->collective[i]);
    espi_json_end(&json, ']');
    espi_json_begin(&json, "collectives_not_listed", '{', true);
    espi_json_count(&json, "collectives", report->other_collectives);
    espi_json_count(&json, "calls", report->other_calls);
    espi_json_end(&json, '}');
    espi_json_end(&json, '}');
    return out->failed ? ESPI_ERR_MEMORY : ESPI_OK;
}
