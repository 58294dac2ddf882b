/* espalier place: which placement data take at every step of a composed operation. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/place.h"

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG };

static const char *const format_names[] = {"text", "json", "dot", "svg", NULL};
/* enum espi_place_way */
static const char *const planner_names[] = {"auto", "tree", "collapse", "cut", "search", NULL};

struct request {
    const char *file;
    bool cost_only, second;
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
               "operations with their methods, and the graph; or an alignment by affine placements; or nodes with "
               "positions. doc/placement.md describes its forms.",
    .rows =
        (const struct cli_row[]){
            {.option = {"--cost", NULL, "print the cost only, whatever --format says"},
             .take = cli_take_flag, MEMBER(cost_only)},
            {.option = {"--planner", "NAME", "auto (the default: the first of these that fits), tree (no value is "
                                             "used twice), collapse (tables over neighbours stay small), cut "
                                             "(nodes have at most two methods, and costs are those of a cut) or "
                                             "search"},
             .take = cli_take_name, MEMBER(planner), .names = planner_names},
            {.option = {"--second", NULL, "say, too, what the best plan costs in which a node is carried out by "
                                          "another method, for each node"},
             .take = cli_take_flag, MEMBER(second)},
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
    .notes = "Prints: the least cost; how it was found; each node's operation, method and cost; then all\n"
             "redistributions. Of positions: the least cost, each node's position, and all moves.",
};

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

/* A picture, if it is one that can be looked at. */
static int draw(const struct request *request, const struct place_drawing *drawing)
{
    if (drawing->nodes > PLACE_PICTURE_NODES)
        return cli_fail("--format: expected at most %d nodes for a picture, found %d", PLACE_PICTURE_NODES,
                        drawing->nodes);
    if ((request->format == FORMAT_DOT ? place_draw_dot : place_draw_svg)(stdout, drawing) != ESPI_OK)
        return cli_fail("no memory for a picture");
    return CLI_OK;
}

static int print_plan(const struct request *request, const struct espi_place_file *file,
                      const struct espi_place_plan *plan)
{
    const struct place_planned planned = {file, plan};
    char cost[CLI_NUMBER];
    if (request->cost_only) {
        printf("%s\n", cli_number(cost, plan->cost));
    } else if (request->format == FORMAT_TEXT) {
        place_print_text(&planned, request->second);
    } else if (request->format == FORMAT_JSON) {
        place_print_json(&planned, request->second);
    } else {
        struct place_drawing drawing = place_drawing_of_plan(&planned);
        return draw(request, &drawing);
    }
    return CLI_OK;
}

static int choose_positions(const struct request *request, struct espi_place_file *file)
{
    struct espi_place_positions *positions = &file->positions;
    char text[CLI_NUMBER];
    double cost;

    if (request->planner != ESPI_PLACE_AUTO || request->second)
        return cli_fail("%s: expected a graph with placements, found positions",
                        request->second ? "--second" : "--planner");
    espi_status status = espi_place_positions_choose(positions, (size_t)request->megabytes << 20, &cost);
    if (status == ESPI_ERR_LIMIT)
        return cli_fail("positions were not found within --memory %" PRId64, request->megabytes);
    if (status == ESPI_ERR_OVERFLOW)
        return cli_fail("the shifts add up to more than 2^61");
    if (status != ESPI_OK)
        return cli_fail("%s", espi_status_text(status));
    if (request->cost_only) {
        printf("%s\n", cli_number(text, cost));
    } else if (request->format == FORMAT_TEXT) {
        place_print_positions(file, cost);
    } else if (request->format == FORMAT_JSON) {
        place_print_positions_json(file, cost);
    } else {
        struct place_drawing drawing = place_drawing_of_positions(file, cost);
        return draw(request, &drawing);
    }
    return CLI_OK;
}

static int carry_out(const struct request *request, const struct espi_place_file *file)
{
    struct espi_place_options options = {.way = (enum espi_place_way)request->planner,
                                         .runner_up = request->second && !request->cost_only,
                                         .max_bytes = (size_t)request->megabytes << 20,
                                         .max_steps = (uint64_t)request->steps};
    struct espi_place_plan plan;
    espi_status status = espi_place_plan(&file->graph, &options, &plan);

    if (status == ESPI_ERR_LIMIT && request->planner == ESPI_PLACE_COLLAPSE)
        return cli_fail("--planner collapse: the graph needs larger tables; expected search or auto");
    if (status == ESPI_ERR_LIMIT)
        return cli_fail("no plan was found within --memory %" PRId64 " and --steps %" PRId64, request->megabytes,
                        request->steps);
    if (status == ESPI_ERR_ARGUMENT && request->planner == ESPI_PLACE_TREE)
        return cli_fail("--planner tree: a value is used twice; expected collapse, search or auto");
    if (status == ESPI_ERR_ARGUMENT)
        return cli_fail("--planner cut: a node has more than two methods, or costs are not those of a cut; expected "
                        "collapse, search or auto");
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
    code = file.kind == ESPI_PLACE_FILE_POSITIONS ? choose_positions(&request, &file) : carry_out(&request, &file);
    espi_place_file_release(&file);
    return code;
}
