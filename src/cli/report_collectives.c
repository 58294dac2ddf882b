/* Gathers and scatters in `espalier report`: predicted and measured times, side by side, of one run and of two. */
#include "cli/report_collectives.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/report_shared.h"
#include "cli/statfile.h"
#include "commtree/model_file.h"

static double real_at(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *ns_text(char *buf, size_t size, const json_t *method, const char *key)
{
    const json_t *value = json_object_get(method, key);
    if (!json_is_integer(value))
        snprintf(buf, size, "-");
    else
        cli_time(buf, size, (double)json_integer_value(value));
    return buf;
}

static void print_models(const json_t *root, const char *indent)
{
    const json_t *models = json_object_get(root, "model");
    for (int l = 0; l < ESPI_LEVELS; l++) {
        const json_t *model = json_object_get(models, espi_level_name((enum espi_level)l));
        char alpha[32], latency[32];
        if (!json_is_object(model))
            continue;
        printf("%smodel %-4s  %s", indent, espi_level_name((enum espi_level)l),
               cli_time(alpha, sizeof alpha, real_at(model, "alpha") * 1e9));
        printf(" and a latency of %s per message, %.4g ns per byte, %.4g ns per byte copied (",
               cli_time(latency, sizeof latency, real_at(model, "latency") * 1e9), real_at(model, "beta") * 1e9,
               real_at(model, "gamma") * 1e9);
        report_print_text(stat_text(model, "source", "?"), 20);
        printf(")\n");
    }
}

static void print_title(const json_t *entry)
{
    char bytes[32];
    int64_t nodes = stat_number(entry, "nodes", NULL, NULL);
    report_print_text(stat_text(entry, "call", "?"), 40);
    printf(", %" PRId64 " ranks", stat_number(entry, "ranks", NULL, NULL));
    if (nodes > 0) /* 0: there was never a reason to find out */
        printf(" on %" PRId64 " node%s", nodes, nodes == 1 ? "" : "s");
    printf(", root %" PRId64 ", %s", stat_number(entry, "root", NULL, NULL),
           cli_bytes(bytes, sizeof bytes, (double)stat_number(entry, "bytes", NULL, NULL)));
}

static void print_plan(const char *label, const json_t *method)
{
    char text[32];
    printf("%s", label);
    report_print_text(stat_text(method, "method", "?"), 20);
    printf(", predicted %s", ns_text(text, sizeof text, method, "predicted_ns"));
    if (json_is_integer(json_object_get(method, "measured_ns")))
        printf(", measured %s", ns_text(text, sizeof text, method, "measured_ns"));
}

/* What holds, and the best of the other methods by the model. */
static void print_runner_up(const json_t *methods, const char *chosen)
{
    const json_t *held = NULL, *best = NULL;
    for (size_t i = 0; i < json_array_size(methods); i++) {
        const json_t *method = json_array_get(methods, i), *time = json_object_get(method, "predicted_ns");
        if (strcmp(stat_text(method, "method", "?"), chosen) == 0)
            held = method;
        else if (json_is_integer(time) &&
                 (!best || json_integer_value(time) < json_integer_value(json_object_get(best, "predicted_ns"))))
            best = method;
    }
    if (!held || !best)
        return;
    print_plan("       plan: ", held);
    print_plan("; runner-up: ", best);
    printf("\n");
}

static void print_entry(size_t index, const json_t *entry)
{
    const json_t *methods = json_object_get(entry, "methods");
    const char *chosen = stat_text(entry, "method", "?");
    int64_t roots = stat_number(entry, "roots", NULL, NULL), leases = stat_number(entry, "leases", NULL, NULL);
    printf("  %zu. ", index + 1);
    print_title(entry);
    printf("; %" PRId64 " calls, %" PRId64 " lease%s", stat_number(entry, "calls", NULL, NULL), leases,
           leases == 1 ? "" : "s");
    if (roots > 1)
        printf(", %" PRId64 " roots", roots);
    printf("\n       method        predicted     measured        calls\n");
    for (size_t i = 0; i < json_array_size(methods); i++) {
        const json_t *method = json_array_get(methods, i);
        const char *name = stat_text(method, "method", "?");
        char predicted[32], measured[32];
        printf("     %c ", strcmp(name, chosen) == 0 ? '*' : ' ');
        report_print_text(name, 20);
        printf("%*s %12s %12s %12" PRId64 "\n", strlen(name) < 10 ? 10 - (int)strlen(name) : 0, "",
               ns_text(predicted, sizeof predicted, method, "predicted_ns"),
               ns_text(measured, sizeof measured, method, "measured_ns"), stat_number(method, "calls", NULL, NULL));
    }
    print_runner_up(methods, chosen);
    printf("       because ");
    report_print_text(stat_text(entry, "why", "?"), 160);
    printf("\n");
}

void report_collectives(const json_t *root, int64_t top)
{
    const json_t *list = json_object_get(root, "collectives");
    size_t n = json_array_size(list);
    if (n == 0)
        return;
    printf("\nGathers and scatters (time of a call: predicted by the model, measured; * what holds now)\n");
    print_models(root, "  ");
    bool trees = false;
    for (size_t i = 0; i < n && (int64_t)i < top; i++) {
        print_entry(i, json_array_get(list, i));
        trees = trees || strcmp(stat_text(json_array_get(list, i), "method", "library"), "library") != 0;
    }
    if (trees)
        printf("  Along a tree a rank that passes data on waits for them; ESPALIER_COLLECTIVES=off leaves all to the "
               "library.\n");
    int64_t unlisted = stat_number(root, "collectives_not_listed", "collectives", NULL);
    int64_t more = (n > (size_t)top ? (int64_t)n - top : 0) + unlisted;
    if (more > 0)
        printf("  and %" PRId64 " more%s\n", more, unlisted > 0 ? ", counted once for each root" : "");
}

/* The same call in the other run: alike in everything, bytes within a factor of two. */
static const json_t *counterpart(const json_t *list, const json_t *entry)
{
    static const char *const same[] = {"ranks", "nodes", "root"};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *other = json_array_get(list, i);
        double a = (double)stat_number(entry, "bytes", NULL, NULL),
               b = (double)stat_number(other, "bytes", NULL, NULL);
        bool alike = strcmp(stat_text(entry, "call", "?"), stat_text(other, "call", "!")) == 0 && a <= 2 * b &&
                     b <= 2 * a;
        for (size_t k = 0; k < sizeof same / sizeof *same; k++)
            alike = alike && stat_number(entry, same[k], NULL, NULL) == stat_number(other, same[k], NULL, NULL);
        if (alike)
            return other;
    }
    return NULL;
}

/* The method that holds, and its measured time. */
static void print_held(const json_t *entry)
{
    const json_t *methods = json_object_get(entry, "methods");
    const char *chosen = stat_text(entry, "method", "?");
    char text[32] = "-";
    for (size_t i = 0; i < json_array_size(methods); i++)
        if (strcmp(stat_text(json_array_get(methods, i), "method", "!"), chosen) == 0)
            ns_text(text, sizeof text, json_array_get(methods, i), "measured_ns");
    report_print_text(chosen, 20);
    printf(" %s", text);
}

void report_compare_collectives(const json_t *a, const json_t *b, int64_t top)
{
    const json_t *in_a = json_object_get(a, "collectives"), *in_b = json_object_get(b, "collectives");
    int64_t shown = 0;
    if (json_array_size(in_a) + json_array_size(in_b) == 0)
        return;
    printf("\n  Gathers and scatters (A -> B: what held in the end, and the measured time of a call)\n");
    if (!json_equal(json_object_get(a, "model"), json_object_get(b, "model"))) {
        print_models(a, "  A: ");
        print_models(b, "  B: ");
    }
    for (size_t i = 0; i < json_array_size(in_a) && shown < top; i++, shown++) {
        const json_t *entry = json_array_get(in_a, i), *other = counterpart(in_b, entry);
        printf("  ");
        print_title(entry);
        printf(": ");
        print_held(entry);
        printf(" -> ");
        if (other)
            print_held(other);
        else
            printf("not in B");
        printf("\n");
    }
    for (size_t i = 0; i < json_array_size(in_b) && shown < top; i++) {
        const json_t *entry = json_array_get(in_b, i);
        if (counterpart(in_a, entry))
            continue;
        printf("  ");
        print_title(entry);
        printf(": not in A -> ");
        print_held(entry);
        printf("\n");
        shown++;
    }
}
