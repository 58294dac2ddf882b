/* What the parts of `espalier report` share. Reasons are worded in stats/counters.def, mpi/typeplan/select.c and
   mpi/gather/lease_report.c. */
#include "cli/report_shared.h"

#include <stdio.h>
#include <string.h>

#include "cli/statfile.h"
#include "stats/report.h"

void report_print_text(const char *text, size_t width)
{
    size_t len = strlen(text);
    bool cut = width > 0 && len > width;
    for (size_t i = 0; i < (cut ? width : len); i++)
        putchar((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i]);
    if (cut)
        printf("...");
}

void report_print_padded(const char *text, int width)
{
    report_print_text(text, 0);
    for (size_t len = strlen(text); len < (size_t)width; len++)
        putchar(' ');
}

void report_print_command(const json_t *root)
{
    const json_t *command = json_object_get(root, "command");
    for (size_t i = 0; i < json_array_size(command); i++) {
        const char *word = json_string_value(json_array_get(command, i));
        if (i > 0)
            putchar(' ');
        report_print_text(word != NULL ? word : "?", 200);
    }
}

bool report_is_of_one(const json_t *root)
{
    return stat_number(root, "ranks_reporting", NULL, NULL) == 1 && stat_number(root, "ranks", NULL, NULL) > 1;
}

const char *report_over_ranks(const json_t *root)
{
    const int64_t missing = stat_number(root, "ranks", NULL, NULL) - stat_number(root, "ranks_reporting", NULL, NULL);

    return report_is_of_one(root) ? "on this rank" : missing > 0 ? "over these ranks" : "over all ranks";
}

const char *report_type_state(const json_t *type)
{
    const bool improved = json_is_true(json_object_get(type, "improved"));

    return stat_text(type, "state", espi_type_state_text(improved ? ESPI_TYPE_IMPROVED : ESPI_TYPE_LEFT_ALONE));
}

double report_saving_of_types(const json_t *root)
{
    const json_t *types = json_object_get(root, "types");
    double sum = (double)stat_number(root, "types_not_listed", "saved_ns_estimate", NULL);
    for (size_t i = 0; i < json_array_size(types); i++)
        sum += (double)stat_number(json_array_get(types, i), "saved_ns_estimate", NULL, NULL);
    return sum;
}

double report_saving_of_blocks(const json_t *root)
{
    return (double)stat_number(root, "counters", "blocks_saved", "sum");
}

double report_saving_of_exchanges(const json_t *root)
{
    return (double)stat_number(root, "counters", "exchange_saved", "sum");
}

double report_saving_of_kept_types(const json_t *root)
{
    return (double)stat_number(root, "counters", "again_saved", "sum");
}

double report_own_time(const json_t *root)
{
    json_t *times = json_object_get(root, "own_time"), *value;
    const char *name;
    double sum = 0;
    json_object_foreach(times, name, value)
        sum += (double)stat_number(value, "sum", NULL, NULL);
    return sum;
}

const char *report_counter_help(const char *name)
{
    for (int k = 0; k < ESPI_COUNTER_COUNT; k++)
        if (strcmp(espi_counter_table[k].name, name) == 0)
            return espi_counter_table[k].help;
    return NULL;
}
