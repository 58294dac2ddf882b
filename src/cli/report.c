/* espalier report: one run for a person. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "cli/cli.h"
#include "cli/report_collectives.h"
#include "cli/report_compare.h"
#include "cli/report_shared.h"
#include "cli/statfile.h"
#include "stats/report.h"

struct request {
    const char *file[2];
    int64_t top;
};

static int take_file(const char *value, void *into)
{
    struct request *request = into;
    if (request->file[1] != NULL)
        return cli_usage("expected one or two files, found '%s' after them", value);
    request->file[request->file[0] != NULL] = value;
    return CLI_OK;
}

static const struct cli_spec spec = {
    .command = "report",
    .operands = "FILE [FILE2]",
    .summary = "Explains a statistics file (ESPALIER_STATS, espalier run --stats): what was changed, what it gained, "
               "what it cost, and why things were left alone. With two files: what differs.",
    .rows =
        (const struct cli_row[]){
            {.option = {"--top", "N", "show at most N types, N gathers and scatters and N functions (default 10)"},
             .take = cli_take_whole, .at = offsetof(struct request, top), .most = 1000000},
            {.option = {NULL, NULL, NULL}},
        },
    .operand = take_file,
};

static void print_ranks(const json_t *root)
{
    size_t hosts = json_array_size(json_object_get(root, "hosts"));
    int64_t elsewhere = stat_number(root, "hosts_not_listed", "ranks", NULL);
    int64_t missing = stat_number(root, "ranks_missing", NULL, NULL);

    printf("%" PRId64 " of %" PRId64 " ranks on %s%zu host%s", stat_number(root, "ranks_reporting", NULL, NULL),
           stat_number(root, "ranks", NULL, NULL), elsewhere > 0 ? "more than " : "", hosts, hosts == 1 ? "" : "s");
    if (missing > 0)
        printf("\n  missing    %" PRId64 " rank%s had no memory left for a part of this", missing,
               missing == 1 ? "" : "s");
}

/* A whole run's file of one rank among others, though nobody asked for a file of each (%r). */
static bool worked_alone(const json_t *root)
{
    const json_t *file = json_object_get(json_object_get(root, "settings"), "ESPALIER_STATS");
    const bool asked = strstr(stat_text(file, "value", ""), "%r") != NULL;
    return report_is_of_one(root) && !asked && json_is_true(json_object_get(root, "complete"));
}

static void print_header(const char *name, json_t *root)
{
    char text[32];
    json_t *settings = json_object_get(root, "settings"), *value;
    const char *key;

    printf("Espalier report of ");
    report_print_text(name, 0);
    printf("\n\n  program    ");
    report_print_command(root);
    printf("\n  run        ");
    report_print_text(stat_text(root, "started", "at an unknown time"), 0);
    printf(", %s, ", cli_time(text, sizeof text, (double)stat_number(root, "elapsed_ns", NULL, NULL)));
    print_ranks(root);
    printf("\n  versions   Espalier ");
    report_print_text(stat_text(root, "espalier", "?"), 0);
    printf(", ");
    report_print_text(stat_text(root, "mpi", "?"), 0);
    printf("\n  scope      ");
    report_print_text(stat_text(root, "scope", "?"), 0);
    if (worked_alone(root))
        printf(" alone, as it was not known that every rank has Espalier: LAUNCHERS in the manual page");
    else if (!json_is_true(json_object_get(root, "complete")))
        printf("; NOT COMPLETE: the run had not ended when this was written");
    printf("\n  settings   ");
    int shown = 0;
    json_object_foreach(settings, key, value) {
        if (strcmp(stat_text(value, "source", ""), "default") == 0)
            continue;
        printf("%s", shown++ > 0 ? ", " : "");
        report_print_text(key, 0);
        printf("=");
        report_print_text(stat_text(value, "value", "?"), 0);
        printf(" (");
        report_print_text(stat_text(value, "source", "?"), 0);
        printf(")");
    }
    printf("%s\n", shown == 0 ? "all as by default" : "");
}

static void print_tree(const char *label, const char *tree, int64_t cost)
{
    printf("     %s ", label);
    report_print_text(tree, 160);
    if (cost >= 0 && tree[0] != '(')
        printf("   cost %" PRId64, cost);
    printf("\n");
}

/* What is told of a type: a member of its record, and what it is called. */
enum { TIMES = 3 };
static const char *const timed[TIMES][2] = {
    {"pack_ns", "pack"}, {"unpack_ns", "unpack"}, {"partial_ns", "sent and received"}};

static void print_each(const json_t *type)
{
    bool any = false, improved = json_is_true(json_object_get(type, "improved"));
    char before[32], after[32];
    for (size_t i = 0; i < TIMES; i++) {
        int64_t b = stat_number(type, timed[i][0], "before", NULL), a = stat_number(type, timed[i][0], "after", NULL);
        int64_t next = stat_number(type, timed[i][0], "next", NULL);
        int64_t measured = improved ? stat_number(type, timed[i][0], "measured", NULL) : 0;
        bool predicted = b > 0 && (!improved || a > 0);
        if (!predicted && measured <= 0)
            continue;
        printf("%s%s", any ? "; " : "     by the model: ", timed[i][1]);
        if (predicted)
            printf(" %s", cli_time(before, sizeof before, (double)b));
        if (predicted && improved)
            printf(" -> %s (%.2fx)", cli_time(after, sizeof after, (double)a), (double)b / (double)a);
        if (predicted && improved && next > 0)
            printf(", next best %s", cli_time(before, sizeof before, (double)next));
        if (measured > 0)
            printf("%s measured %s", predicted ? "," : "", cli_time(before, sizeof before, (double)measured));
        any = true;
    }
    printf("%s\n", any ? "" : "     no times");
}

static void print_reversals(const json_t *type)
{
    const json_t *all = json_object_get(type, "reversed");
    char measured[32], most[32];
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        printf("     was packed in ");
        report_print_text(stat_text(one, "in", "?"), 60);
        printf(": ");
        report_print_text(stat_text(one, "what", "?"), 60);
        printf(" measured %s, more than the %s up to which it is better; left to the library since\n",
               cli_time(measured, sizeof measured, (double)stat_number(one, "measured_ns", NULL, NULL)),
               cli_time(most, sizeof most, (double)stat_number(one, "most_ns", NULL, NULL)));
    }
}

static void print_type(size_t index, const json_t *type)
{
    char text[32], each[32];
    const bool improved = json_is_true(json_object_get(type, "improved"));
    const char *state = report_type_state(type);
    const bool in_vain = !improved && strcmp(state, espi_type_state_text(ESPI_TYPE_LEFT_ALONE)) != 0;
    const json_t *cost_before = json_object_get(type, "cost_before");
    const json_t *cost_after = json_object_get(type, "cost_after");

    printf("  %zu. ", index + 1);
    report_print_text(state, 60);
    printf("; %" PRId64 " uses on %" PRId64 " rank%s, ", stat_number(type, "uses", NULL, NULL),
           stat_number(type, "ranks", NULL, NULL), stat_number(type, "ranks", NULL, NULL) == 1 ? "" : "s");
    printf("%s moved; ", cli_bytes(text, sizeof text, (double)stat_number(type, "bytes", NULL, NULL)));
    if (json_is_integer(json_object_get(type, "entries")))
        printf("%" PRId64 " %s, ", stat_number(type, "entries", NULL, NULL),
               stat_number(type, "entries", NULL, NULL) == 1 ? "entry" : "entries");
    printf("%s each\n", cli_bytes(each, sizeof each, (double)stat_number(type, "size", NULL, NULL)));
    /* Of a type that was left alone, or left to the library in the end, nothing came after. */
    print_tree(improved ? "before" : "own   ", stat_text(type, "before", "(not decoded)"),
               json_is_integer(cost_before) ? json_integer_value(cost_before) : -1);
    const char *after = stat_text(type, "after", "");
    if (after[0] != '\0' && strcmp(after, stat_text(type, "before", "")) != 0)
        print_tree(improved ? "after " : "found ", after,
                   json_is_integer(cost_after) ? json_integer_value(cost_after) : -1);
    if (json_is_string(json_object_get(type, "emission"))) {
        printf("     built as ");
        report_print_text(stat_text(type, "emission", ""), 160);
        printf("\n");
    }
    print_each(type);
    print_reversals(type);
    if (json_is_string(json_object_get(type, "why"))) {
        printf("     %sbecause ", in_vain ? "planned " : "");
        report_print_text(stat_text(type, "why", ""), 160);
        printf("\n");
    }
}

static int64_t counter_sum(const json_t *root, const char *counter)
{
    return stat_number(root, "counters", counter, "sum");
}

/* Lines that most runs have no use for: only where there was something to count. */
static void print_other_changes(const json_t *root)
{
    int64_t along = counter_sum(root, "tree_calls"), library = counter_sum(root, "tree_library");
    int64_t dense = counter_sum(root, "reduce_dense"), packed = counter_sum(root, "reduce_packed");
    int64_t passed = counter_sum(root, "checks_passed"), failed = counter_sum(root, "checks_failed");
    int64_t programs = counter_sum(root, "calls_packed"), exchanged = counter_sum(root, "calls_exchanged");
    int64_t again = counter_sum(root, "types_again");
    int64_t copied = counter_sum(root, "blocks_copied"), tried = counter_sum(root, "blocks_tried");
    char text[32];
    if (again > 0)
        printf("  made again: %" PRId64 " types, which were kept since the program had freed them\n", again);
    if (programs > 0)
        printf("  packed: %" PRId64 " of the uses by pack programs (%s)\n", programs,
               cli_bytes(text, sizeof text, (double)counter_sum(root, "bytes_packed")));
    if (exchanged > 0)
        printf("  exchanged: %" PRId64 " calls of MPI_Alltoall and its kin through shared memory (%s)\n", exchanged,
               cli_bytes(text, sizeof text, (double)counter_sum(root, "bytes_exchanged")));
    if (dense > 0 || packed > 0)
        printf("  reductions: %" PRId64 " calls with a predefined operation on a derived type (%" PRId64
               " with gaps, %" PRId64 " in pieces);\n              erroneous MPI, these fail without Espalier\n",
               espi_add_signed_saturated(dense, packed), packed, counter_sum(root, "reduce_pieces"));
    if (copied > 0 || tried > 0)
        printf("  own blocks: %" PRId64 " copied from layout to layout (%s); %" PRId64
               " timed, by MPI and by the copy, to choose:\n              the copy %" PRId64
               " times, MPI's way %" PRId64 " times, reversed %" PRId64 " times\n",
               copied, cli_bytes(text, sizeof text, (double)counter_sum(root, "bytes_copied")), tried,
               counter_sum(root, "pairs_kept"), stat_number(root, "left_alone", "pairs_no_faster", "sum"),
               counter_sum(root, "pairs_reversed"));
    if (along > 0 || library > 0)
        printf("  gathers and scatters: %" PRId64 " calls along a tree, %" PRId64 " left to the library, by %" PRId64
               " leases\n",
               along, library, counter_sum(root, "tree_leases"));
    if (passed > 0 || failed > 0)
        printf("  checks: %" PRId64 " passed, %" PRId64 " %s\n", passed, failed,
               failed > 0 ? "FAILED (what they found wrong was not used; please report this)" : "failed");
}

static void print_changes(const json_t *root, int64_t top)
{
    char text[32];
    const json_t *types = json_object_get(root, "types");
    size_t n = json_array_size(types);

    printf("\nWhat was changed (counts are sums over the ranks)\n");
    printf("  types: %" PRId64 " seen, %" PRId64 " layouts planned, a better form for %" PRId64 "\n",
           stat_number(root, "counters", "types_registered", "sum"),
           stat_number(root, "counters", "types_planned", "sum"),
           stat_number(root, "counters", "types_improved", "sum"));
    printf("  calls: %" PRId64 " uses of derived types, %" PRId64 " with a better type (%s)\n",
           stat_number(root, "counters", "calls_examined", "sum"),
           stat_number(root, "counters", "calls_substituted", "sum"),
           cli_bytes(text, sizeof text, (double)stat_number(root, "counters", "bytes_substituted", "sum")));
    print_other_changes(root);
    for (size_t i = 0; i < n && (int64_t)i < top; i++)
        print_type(i, json_array_get(types, i));
    int64_t unlisted = stat_number(root, "types_not_listed", "types", NULL);
    int64_t more = (n > (size_t)top ? (int64_t)n - top : 0) + unlisted;
    if (more > 0)
        printf("  and %" PRId64 " more%s\n", more, unlisted > 0 ? ", counted once for each rank" : "");
}

/* The rank with an extreme of a value that is not the same on all ranks; `otherwise` where none is known. */
static void print_which(const json_t *value, const char *key, const char *otherwise)
{
    const json_t *rank = json_object_get(value, key);
    if (json_is_integer(rank) && stat_number(value, "min", NULL, NULL) != stat_number(value, "max", NULL, NULL))
        printf(" on rank %" PRId64, (int64_t)json_integer_value(rank));
    else
        printf("%s", otherwise);
}

static void print_balance(json_t *root)
{
    char text[32];
    json_t *times = json_object_get(root, "own_time"), *value;
    const char *name;
    const double types = report_saving_of_types(root), blocks = report_saving_of_blocks(root);
    const double exchanged = report_saving_of_exchanges(root), kept = report_saving_of_kept_types(root),
                 own = report_own_time(root);
    const char *where = report_over_ranks(root);
    double all = (double)stat_number(root, "elapsed_ns", NULL, NULL) *
                 (double)stat_number(root, "ranks_reporting", NULL, NULL);

    printf("\nWhat it gained\n");
    if (types == 0 && blocks == 0 && exchanged == 0 && kept == 0)
        printf("  nothing\n");
    if (types != 0)
        printf("  about %s %s, %s, in the uses of these types\n", cli_time(text, sizeof text, types), where,
               counter_sum(root, "ways_decided") > 0 ? "by turns in the run, else by the engine's model"
                                                     : "by the engine's model");
    if (blocks != 0)
        printf("  about %s %s, by times of both ways, in blocks that ranks gave themselves\n",
               cli_time(text, sizeof text, blocks), where);
    if (exchanged != 0)
        printf("  about %s %s, by turns of both ways, in calls through shared memory\n",
               cli_time(text, sizeof text, exchanged), where);
    if (kept != 0)
        printf("  about %s %s, by their number and length, in types that were made again\n",
               cli_time(text, sizeof text, kept), where);
    printf("\nWhat it cost\n  %s %s", cli_time(text, sizeof text, own), where);
    if (all > 0)
        printf(" (%.3g %% of %s time)", 100 * own / all, report_is_of_one(root) ? "its" : "their");
    printf("\n");
    json_object_foreach(times, name, value) {
        int64_t sum = stat_number(value, "sum", NULL, NULL);
        if (sum == 0)
            continue;
        printf("  ");
        report_print_padded(strncmp(name, "time_", 5) == 0 ? name + 5 : name, 16);
        printf(" %10s in all,", cli_time(text, sizeof text, (double)sum));
        printf(" %10s at most",
               cli_time(text, sizeof text, (double)stat_number(value, "max", NULL, NULL)));
        print_which(value, "max_rank", " in one rank");
        printf("\n");
    }
}

/* Sorting of members by their sum, largest first, then by name. */
struct member {
    const char *name;
    const json_t *value;
    int64_t sum;
};

static int by_sum(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum > y->sum ? -1 : 1;
    return strcmp(x->name, y->name);
}

static size_t sorted_members(json_t *object, struct member **out)
{
    const char *name;
    json_t *value;
    size_t n = 0;
    struct member *list = calloc(json_object_size(object) + 1, sizeof *list);
    if (list != NULL)
        json_object_foreach(object, name, value) {
            int64_t sum = stat_number(value, "sum", NULL, NULL);
            if (sum != 0)
                list[n++] = (struct member){name, value, sum};
        }
    if (n > 1)
        qsort(list, n, sizeof *list, by_sum);
    *out = list;
    return n;
}

static void print_left_alone(json_t *root)
{
    struct member *list;
    size_t n = sorted_members(json_object_get(root, "left_alone"), &list);

    printf("\nWhy things were left alone\n");
    if (n == 0)
        printf("  nothing was\n");
    for (size_t i = 0; i < n; i++) {
        const char *help = report_counter_help(list[i].name);
        char unit[24];
        snprintf(unit, sizeof unit, "%s", stat_text(list[i].value, "unit", ""));
        size_t length = strlen(unit);
        if (list[i].sum == 1 && length > 1 && unit[length - 1] == 's')
            unit[length - 1] = '\0'; /* 1 call, 2 calls */
        printf("  %12" PRId64 " ", list[i].sum);
        report_print_text(unit, 20);
        printf(": ");
        report_print_text(help != NULL ? help : list[i].name, 0);
        printf("\n");
    }
    free(list);
}

static void print_functions(json_t *root, int64_t top)
{
    struct member *list;
    size_t n = sorted_members(json_object_get(root, "functions"), &list);

    if (n > 0)
        printf("\nCalls (%s; least and most of one rank)\n", report_over_ranks(root));
    for (size_t i = 0; i < n && (int64_t)i < top; i++) {
        printf("  %12" PRId64 "  ", list[i].sum);
        report_print_text(list[i].name, 60);
        printf(" (%" PRId64, stat_number(list[i].value, "min", NULL, NULL));
        print_which(list[i].value, "min_rank", "");
        printf(" to %" PRId64, stat_number(list[i].value, "max", NULL, NULL));
        print_which(list[i].value, "max_rank", "");
        printf(")\n");
    }
    free(list);
}

int espi_cli_report(int argc, char **argv)
{
    struct request request = {{NULL, NULL}, 10};
    const char *const *name = request.file;

    int code = cli_take_all(&spec, argc, argv, &request);
    if (code != CLI_OK)
        return code;
    if (name[0] == NULL)
        return cli_usage("expected a statistics file");
    json_t *root = stat_load(name[0]);
    if (root == NULL)
        return CLI_FAILURE;
    if (name[1] != NULL) {
        json_t *other = stat_load(name[1]);
        code = other != NULL ? report_compare(name[0], root, name[1], other, request.top) : CLI_FAILURE;
        json_decref(other);
    } else {
        print_header(name[0], root);
        print_changes(root, request.top);
        report_collectives(root, request.top);
        print_balance(root);
        print_left_alone(root);
        print_functions(root, request.top);
    }
    json_decref(root);
    return code;
}
