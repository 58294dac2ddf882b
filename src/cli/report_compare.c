#include "cli/report_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "cli/cli.h"
#include "cli/report_collectives.h"
#include "cli/report_shared.h"
#include "cli/statfile.h"

static void print_times(const char *label, double a, double b)
{
    char x[32], y[32];
    printf("  %-24s %12s %12s", label, cli_time(x, sizeof x, a), cli_time(y, sizeof y, b));
    if (a > 0 && b > 0)
        printf("   %.3g", b / a);
    printf("\n");
}

static void print_help(const char *name)
{
    const char *help = report_counter_help(name);
    if (help != NULL)
        printf("\n      %s", help);
    printf("\n");
}

/* Members of one object whose sums differ, in the order of the first file, then those that only the second has.
   Returns how many. */
static int compare_members(const json_t *a, const json_t *b, const char *object)
{
    json_t *in_a = json_object_get(a, object), *in_b = json_object_get(b, object), *value;
    const char *name;
    int shown = 0;
    json_object_foreach(in_a, name, value) {
        int64_t x = stat_number(value, "sum", NULL, NULL), y = stat_number(b, object, name, "sum");
        if (x == y)
            continue;
        shown++;
        printf("  ");
        report_print_padded(name, 24);
        printf(" %12" PRId64 " %12" PRId64 "   %+" PRId64, x, y,
               espi_subtract_signed_saturated(y, x));
        print_help(name);
    }
    json_object_foreach(in_b, name, value) {
        int64_t y = stat_number(value, "sum", NULL, NULL);
        if (json_object_get(in_a, name) != NULL || y == 0)
            continue;
        shown++;
        printf("  ");
        report_print_padded(name, 24);
        printf(" %12s %12" PRId64 "   %+" PRId64, "-", y, y);
        print_help(name);
    }
    return shown;
}

static void compare_settings(const json_t *a, const json_t *b)
{
    json_t *in_a = json_object_get(a, "settings"), *in_b = json_object_get(b, "settings"), *value;
    const char *name;
    int shown = 0;

    printf("\n  Settings that differ (A -> B)\n");
    json_object_foreach(in_b, name, value) {
        const char *x = stat_text(json_object_get(in_a, name), "value", "(unknown)");
        const char *y = stat_text(value, "value", "");
        if (strcmp(x, y) == 0)
            continue;
        printf("  ");
        report_print_text(name, 60);
        printf(": ");
        report_print_text(*x != '\0' ? x : "(not set)", 200);
        printf(" -> ");
        report_print_text(*y != '\0' ? y : "(not set)", 200);
        printf("\n");
        shown++;
    }
    if (shown == 0)
        printf("  none\n");
}

static const json_t *find_type(const json_t *root, const char *layout)
{
    const json_t *types = json_object_get(root, "types");
    for (size_t i = 0; i < json_array_size(types); i++) {
        const json_t *type = json_array_get(types, i);
        if (strcmp(stat_text(type, "layout", ""), layout) == 0)
            return type;
    }
    return NULL;
}

static void print_state(const char *label, const json_t *type)
{
    printf("%s ", label);
    report_print_text(type == NULL ? "not among the types listed" : report_type_state(type), 60);
    if (type != NULL)
        printf(", %" PRId64 " uses", stat_number(type, "uses", NULL, NULL));
}

static void compare_type(const json_t *x, const json_t *y)
{
    printf("  ");
    report_print_text(stat_text(x != NULL ? x : y, "before", "(not decoded)"), 70);
    print_state("\n      A:", x);
    print_state("; B:", y);
    printf("\n");
}

static void compare_types(const json_t *a, const json_t *b, int64_t top)
{
    const json_t *in_a = json_object_get(a, "types"), *in_b = json_object_get(b, "types");
    int64_t shown = 0;
    for (size_t i = 0; i < json_array_size(in_a); i++) {
        const json_t *x = json_array_get(in_a, i), *y = find_type(b, stat_text(x, "layout", ""));
        int64_t uses_x = stat_number(x, "uses", NULL, NULL), uses_y = stat_number(y, "uses", NULL, NULL);
        if (y != NULL && strcmp(report_type_state(x), report_type_state(y)) == 0 && uses_x == uses_y)
            continue;
        if (shown++ < top)
            compare_type(x, y);
    }
    for (size_t i = 0; i < json_array_size(in_b); i++) {
        const json_t *y = json_array_get(in_b, i);
        if (find_type(a, stat_text(y, "layout", "")) == NULL && shown++ < top)
            compare_type(NULL, y);
    }
    if (shown == 0)
        printf("  none: the same types in the same state, used as often\n");
    else if (shown > top)
        printf("  and %" PRId64 " more\n", shown - top);
}

int report_compare(const char *name_a, const json_t *a, const char *name_b, const json_t *b, int64_t top)
{
    printf("Espalier report of two runs: A is ");
    report_print_text(name_a, 0);
    printf(", B is ");
    report_print_text(name_b, 0);
    printf("\n\n  A: ");
    report_print_command(a);
    printf(", %" PRId64 " ranks, ", stat_number(a, "ranks", NULL, NULL));
    report_print_text(stat_text(a, "started", "?"), 0);
    printf("\n  B: ");
    report_print_command(b);
    printf(", %" PRId64 " ranks, ", stat_number(b, "ranks", NULL, NULL));
    report_print_text(stat_text(b, "started", "?"), 0);
    printf("\n");
    if (!json_is_true(json_object_get(a, "complete")) || !json_is_true(json_object_get(b, "complete")))
        printf("  %s NOT COMPLETE: the run had not ended when it was written\n",
               json_is_true(json_object_get(a, "complete")) ? "B is"
               : json_is_true(json_object_get(b, "complete")) ? "A is" : "A and B are");
    compare_settings(a, b);
    const char *all = "over all ranks";
    const bool whole = strcmp(report_over_ranks(a), all) == 0 && strcmp(report_over_ranks(b), all) == 0;
    printf("\n  %-24s %12s %12s   B / A\n", "Times", "A", "B");
    print_times("run", (double)stat_number(a, "elapsed_ns", NULL, NULL),
                (double)stat_number(b, "elapsed_ns", NULL, NULL));
    print_times(whole ? "gained over all ranks" : "gained over their ranks",
                report_saving_of_types(a) + report_saving_of_blocks(a) + report_saving_of_exchanges(a) +
                    report_saving_of_kept_types(a),
                report_saving_of_types(b) + report_saving_of_blocks(b) + report_saving_of_exchanges(b) +
                    report_saving_of_kept_types(b));
    print_times(whole ? "cost over all ranks" : "cost over their ranks", report_own_time(a), report_own_time(b));
    printf("\n  %-24s %12s %12s   B - A\n", "Counts that differ", "A", "B");
    if (compare_members(a, b, "counters") + compare_members(a, b, "left_alone") == 0)
        printf("  none\n");
    printf("\n  %-24s %12s %12s   B - A\n", "Calls that differ", "A", "B");
    if (compare_members(a, b, "functions") == 0)
        printf("  none\n");
    printf("\n  Types that differ (what became of them, how often they were used)\n");
    compare_types(a, b, top);
    report_compare_collectives(a, b, top);
    return CLI_OK;
}
