/* espalier place: which placement data take at every step of a composed operation. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/place.h"

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG };
enum { METHOD_TEXT = 60 };

static const char *const format_names[] = {"text", "json", "dot", "svg", NULL};
static const char *const planner_names[] = {"auto", "tree", "collapse", "search", NULL}; /* enum espi_place_way */

struct request {
    const char *file;
    bool cost_only;
    int planner, format;
    int64_t steps, megabytes;
};

static int take_file(const char *value, void *into)
{
    struct request *request = into;
    if (request->file != NULL)
        return cli_usage("expected one file, found '%s' after it", value);
    request->file = value;
    return CLI_OK;
}

#define MEMBER(name) .at = offsetof(struct request, name)

static const struct cli_spec spec = {
    .command = "place",
    .operands = "[FILE]",
    .summary = "Plans by which method each step of a composed operation is carried out and where its data are "
               "redistributed, at least cost. FILE (default: standard input) has placements, redistributions, "
               "operations with their methods, and the graph; doc/placement.md describes its form.",
    .rows =
        (const struct cli_row[]){
            {.option = {"--cost", NULL, "print the cost only, whatever --format says"},
             .take = cli_take_flag, MEMBER(cost_only)},
            {.option = {"--planner", "NAME", "auto (the default: the first of these that fits), tree (no value is "
                                             "used twice), collapse (tables over neighbours stay small) or search"},
             .take = cli_take_name, MEMBER(planner), .names = planner_names},
            {.option = {"--steps", "N", "search: end after N partial choices, with the best plan so far (default "
                                        "10000000)"},
             .take = cli_take_whole, MEMBER(steps), .least = 1, .most = INT64_MAX},
            {.option = {"--memory", "MB", "megabytes for tables (default 1024)"},
             .take = cli_take_whole, MEMBER(megabytes), .least = 1, .most = 1 << 20},
            {.option = {"--format", "FORMAT", "text (the default), json, or a picture: dot (for Graphviz) or svg"},
             .take = cli_take_name, MEMBER(format), .names = format_names},
            {.option = {NULL, NULL, NULL}},
        },
    .operand = take_file,
    .notes = "Prints: the least cost; how it was found; each node's operation, method, cost, and what the best plan\n"
             "costs that carries the node out by another method; then all redistributions.",
};

const char *place_label(const struct espi_place_file *file, int node, int method)
{
    return file->label[file->first_label[file->graph.node[node].op] + method];
}

const char *place_method_text(const struct espi_place_file *file, int node, int method, char *buf, size_t size)
{
    int arity = file->graph.op[file->graph.node[node].op].arity;
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i <= arity && at < size; i++) {
        int place = espi_place_wants(&file->graph, node, method, i);
        at += (size_t)snprintf(buf + at, size - at, "%s%s%s", i == 0 ? "" : " ", i == arity ? "-> " : "",
                               place == ESPI_PLACE_ANY ? "*" : file->placement[place]);
    }
    if (at >= size && size > 3) /* rather the end missing than the result unseen */
        strcpy(buf + size - 4, "...");
    return buf;
}

struct place_move place_find_move(const struct espi_place_file *file, const struct espi_place_plan *plan, int v,
                                  int i)
{
    const struct espi_place_graph *graph = &file->graph;
    int x = graph->node[v].first + i, u = graph->operand[x].from, to = espi_place_wants(graph, v, plan->method[v], i);
    struct place_move move = {.node = u, .from = espi_place_gives(graph, u, plan->method[u])};
    move.cost = espi_place_move(graph, x, move.from, to);
    move.to = to == ESPI_PLACE_ANY ? move.from : to;
    return move;
}

static void print_text(const struct espi_place_file *file, const struct espi_place_plan *plan)
{
    const struct espi_place_graph *graph = &file->graph;
    char text[METHOD_TEXT], cost[CLI_NUMBER], second[CLI_NUMBER];
    int width[4] = {4, 9, 6, 4};
    for (int v = 0; v < graph->nodes; v++) { /* the widths of the columns */
        const char *cell[4] = {file->node[v], file->op[graph->node[v].op],
                               place_method_text(file, v, plan->method[v], text, sizeof text),
                               cli_number(cost, espi_place_work(graph, v, plan->method[v]))};
        int label = (int)strlen(place_label(file, v, plan->method[v]));
        for (int c = 0; c < 4; c++) {
            int len = (int)strlen(cell[c]) + (c == 2 && label > 0 ? label + 2 : 0);
            width[c] = len > width[c] ? len : width[c];
        }
    }
    printf("cost     %s\nplanner  %s\n", cli_number(cost, plan->cost), espi_place_way_name(plan->way));
    if (plan->exact)
        printf("exact    yes\n");
    else
        printf("exact    no; no plan costs less than %s\n", cli_number(cost, plan->lower_bound));
    printf("\n%-*s  %-*s  %-*s  %*s  second best\n", width[0], "node", width[1], "operation", width[2], "method",
           width[3], "cost");
    for (int v = 0; v < graph->nodes; v++) {
        const char *label = place_label(file, v, plan->method[v]);
        int used = label[0] != '\0' ? printf("%-*s  %-*s  %s: %s", width[0], file->node[v], width[1],
                                             file->op[graph->node[v].op], label,
                                             place_method_text(file, v, plan->method[v], text, sizeof text))
                                    : printf("%-*s  %-*s  %s", width[0], file->node[v], width[1],
                                             file->op[graph->node[v].op],
                                             place_method_text(file, v, plan->method[v], text, sizeof text));
        bool other = plan->runner_up != NULL && !isinf(plan->runner_up[v]);
        printf("%*s  %*s  %s\n", width[0] + width[1] + width[2] + 4 - used, "", width[3],
               cli_number(cost, espi_place_work(graph, v, plan->method[v])),
               other ? cli_number(second, plan->runner_up[v]) : "-");
    }
    printf("\n");
    for (int v = 0; v < graph->nodes; v++) {
        for (int i = 0; i < graph->op[graph->node[v].op].arity; i++) {
            struct place_move move = place_find_move(file, plan, v, i);
            if (move.from != move.to || move.cost > 0)
                printf("redistribute %s for %s: %s to %s, %s\n",
                       file->node[move.node], file->node[v],
                       file->placement[move.from], file->placement[move.to], cli_number(cost, move.cost));
        }
    }
}

/* Names need no escapes: their letters are plain. */
static void print_json(const struct espi_place_file *file, const struct espi_place_plan *plan)
{
    const struct espi_place_graph *graph = &file->graph;
    char cost[CLI_NUMBER];
    printf("{\n  \"cost\": %s,\n  \"planner\": \"%s\",\n  \"exact\": %s,\n", cli_number(cost, plan->cost),
           espi_place_way_name(plan->way), plan->exact ? "true" : "false");
    printf("  \"lower_bound\": %s,\n  \"nodes\": [\n", cli_number(cost, plan->lower_bound));
    for (int v = 0; v < graph->nodes; v++) {
        int method = plan->method[v];
        printf("    {\"node\": \"%s\", \"operation\": \"%s\", \"method\": %d, \"label\": \"%s\", ", file->node[v],
               file->op[graph->node[v].op], method + 1, place_label(file, v, method));
        printf("\"result\": \"%s\", ", file->placement[espi_place_gives(graph, v, method)]);
        printf("\"cost\": %s, ", cli_number(cost, espi_place_work(graph, v, method)));
        if (plan->runner_up != NULL && !isinf(plan->runner_up[v]))
            printf("\"second_best\": %s,\n     \"operands\": [", cli_number(cost, plan->runner_up[v]));
        else
            printf("\"second_best\": null,\n     \"operands\": [");
        for (int i = 0; i < graph->op[graph->node[v].op].arity; i++) {
            struct place_move move = place_find_move(file, plan, v, i);
            printf("%s{\"node\": \"%s\", \"from\": \"%s\", \"to\": \"%s\", \"cost\": %s}", i > 0 ? ", " : "",
                   file->node[move.node], file->placement[move.from],
                   file->placement[move.to], cli_number(cost, move.cost));
        }
        printf("]}%s\n", v + 1 < graph->nodes ? "," : "");
    }
    printf("  ]\n}\n");
}

/* Whether the first n nodes can be carried out. */
static espi_status is_possible(const struct espi_place_graph *graph, const struct espi_place_options *options, int n,
                               bool *possible)
{
    struct espi_place_graph part = *graph;
    struct espi_place_plan plan;
    part.node = malloc((size_t)graph->nodes * sizeof *part.node);
    if (part.node == NULL)
        return ESPI_ERR_MEMORY;
    part.nodes = n;
    memcpy(part.node, graph->node, (size_t)n * sizeof *part.node);
    for (int v = 0; v < n; v++)
        part.node[v].uses = 0;
    for (int v = 0; v < n; v++) {
        for (int i = 0; i < graph->op[graph->node[v].op].arity; i++)
            part.node[graph->operand[graph->node[v].first + i].from].uses++;
    }
    espi_status status = espi_place_plan(&part, options, &plan);
    if (status == ESPI_OK) {
        *possible = !isinf(plan.cost);
        espi_place_plan_release(&plan);
    }
    free(part.node);
    return status;
}

/* Says which node is the first that cannot be carried out: operands come before their consumers. */
static int say_impossible(const struct espi_place_file *file, const struct espi_place_options *options)
{
    int low = 0, high = file->graph.nodes; /* `low` nodes are possible, `high` are not */
    bool possible;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        espi_status status = is_possible(&file->graph, options, middle, &possible);
        if (status != ESPI_OK)
            return cli_fail("no plan is possible: some redistribution is missing");
        *(possible ? &low : &high) = middle;
    }
    return cli_fail("no plan is possible: none of the methods of node %s can have its operands where it wants them",
                    file->node[high - 1]);
}

static int print_plan(const struct request *request, const struct espi_place_file *file,
                      const struct espi_place_plan *plan)
{
    char cost[CLI_NUMBER];
    if (request->cost_only) {
        printf("%s\n", cli_number(cost, plan->cost));
    } else if (request->format == FORMAT_TEXT) {
        print_text(file, plan);
    } else if (request->format == FORMAT_JSON) {
        print_json(file, plan);
    } else {
        if (file->graph.nodes > PLACE_PICTURE_NODES)
            return cli_fail("--format: expected at most %d nodes for a picture, found %d", PLACE_PICTURE_NODES,
                            file->graph.nodes);
        if ((request->format == FORMAT_DOT ? place_draw_dot : place_draw_svg)(stdout, file, plan) != ESPI_OK)
            return cli_fail("no memory for a picture");
    }
    return CLI_OK;
}

static int carry_out(const struct request *request, const struct espi_place_file *file)
{
    struct espi_place_options options = {.way = (enum espi_place_way)request->planner,
                                         .runner_up = !request->cost_only,
                                         .max_bytes = (size_t)request->megabytes << 20,
                                         .max_steps = (uint64_t)request->steps};
    struct espi_place_plan plan;
    espi_status status = espi_place_plan(&file->graph, &options, &plan);

    if (status == ESPI_ERR_LIMIT && request->planner == ESPI_PLACE_COLLAPSE)
        return cli_fail("--planner collapse: the graph needs larger tables; expected search or auto");
    if (status == ESPI_ERR_LIMIT)
        return cli_fail("no plan was found within --memory %" PRId64 " and --steps %" PRId64, request->megabytes,
                        request->steps);
    if (status == ESPI_ERR_ARGUMENT)
        return cli_fail("--planner tree: a value is used twice; expected collapse, search or auto");
    if (status != ESPI_OK)
        return cli_fail("%s", espi_status_text(status));
    options.runner_up = false;
    int code = isinf(plan.cost) ? say_impossible(file, &options) : print_plan(request, file, &plan);
    espi_place_plan_release(&plan);
    return code;
}

int espi_cli_place(int argc, char **argv)
{
    struct request request = {.steps = 10000000, .megabytes = 1024};
    struct espi_place_file_error error;
    struct espi_place_file file;
    struct cli_text text;

    int code = cli_take_all(&spec, argc, argv, &request);
    if (code != CLI_OK)
        return code;
    if (request.file == NULL)
        request.file = "-";
    const char *shown = strcmp(request.file, "-") == 0 ? "standard input" : request.file;
    if (!cli_read_text(request.file, &text))
        return CLI_FAILURE;
    espi_status status = espi_place_file_parse(text.data, text.len, &file, &error);
    free(text.data);
    if (status == ESPI_ERR_MEMORY)
        return cli_fail("no memory");
    if (status != ESPI_OK && error.line == 0)
        return cli_fail("%s: %s", shown, error.what);
    if (status != ESPI_OK)
        return cli_fail("%s:%zu: %s", shown, error.line, error.what);
    code = carry_out(&request, &file);
    espi_place_file_release(&file);
    return code;
}
