/* What espalier place prints of a plan. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/place.h"

enum { METHOD_TEXT = 60 };

static int arity_of(const struct espi_place_graph *graph, int node)
{
    return graph->op[graph->node[node].op].arity;
}

/* The label of the plan's method of a node; "" without one. */
static const char *label_of(const struct place_planned *planned, int node)
{
    const struct espi_place_file *file = planned->file;
    return file->label[file->first_label[file->graph.node[node].op] + planned->plan->method[node]];
}

/* The plan's method of a node in words, "rows dense -> rows", cut to METHOD_TEXT bytes. Returns buf. */
static const char *method_text(const struct place_planned *planned, int node, char *buf)
{
    const struct espi_place_graph *graph = &planned->file->graph;
    int arity = arity_of(graph, node);
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i <= arity && at < METHOD_TEXT; i++) {
        char name[ESPI_PLACE_NAME];
        int place = espi_place_wants(graph, node, planned->plan->method[node], i);
        int whose = i < arity ? graph->operand[graph->node[node].first + i].from : node;
        at += (size_t)snprintf(buf + at, METHOD_TEXT - at, "%s%s%s", i == 0 ? "" : " ", i == arity ? "-> " : "",
                               place == ESPI_PLACE_ANY ? "*" : espi_place_name(planned->file, whose, place, name));
    }
    if (at >= METHOD_TEXT) /* rather the end missing than the result unseen */
        strcpy(buf + METHOD_TEXT - 4, "...");
    return buf;
}

/* What becomes of operand i of node v: the value of `node`, left in `from`, is taken in `to`. */
struct move {
    int node, from, to;
    double cost;
};

static struct move find_move(const struct place_planned *planned, int v, int i)
{
    const struct espi_place_graph *graph = &planned->file->graph;
    const int *method = planned->plan->method;
    int x = graph->node[v].first + i, u = graph->operand[x].from, to = espi_place_wants(graph, v, method[v], i);
    struct move move = {.node = u, .from = espi_place_gives(graph, u, method[u])};
    move.cost = espi_place_move(graph, x, move.from, to);
    move.to = to == ESPI_PLACE_ANY ? move.from : to;
    return move;
}

/* How sure it is that no plan costs less. */
static void print_exact(const struct place_planned *planned)
{
    char bound[CLI_NUMBER];
    bool named = planned->file->kind == ESPI_PLACE_FILE_AFFINE && !planned->file->carried.all;
    printf("exact    ");
    if (planned->plan->exact)
        printf("yes");
    else
        printf("no; no plan costs less than %s", cli_number(bound, planned->plan->lower_bound));
    printf("%s\n", named ? ", with named placements alone" : "");
}

void place_print_text(const struct place_planned *planned, bool second)
{
    const struct espi_place_file *file = planned->file;
    const struct espi_place_plan *plan = planned->plan;
    const struct espi_place_graph *graph = &file->graph;
    char text[METHOD_TEXT], cost[CLI_NUMBER];
    int width[4] = {4, 9, 6, 4};
    for (int v = 0; v < graph->nodes; v++) { /* the widths of the columns */
        const char *cell[4] = {file->node[v], file->op[graph->node[v].op], method_text(planned, v, text),
                               cli_number(cost, espi_place_work(graph, v, plan->method[v]))};
        int label = (int)strlen(label_of(planned, v));
        for (int c = 0; c < 4; c++) {
            int len = (int)strlen(cell[c]) + (c == 2 && label > 0 ? label + 2 : 0);
            width[c] = len > width[c] ? len : width[c];
        }
    }
    printf("cost     %s\nplanner  %s\n", cli_number(cost, plan->cost), espi_place_way_name(plan->way));
    print_exact(planned);
    printf("\n%-*s  %-*s  %-*s  %*s%s\n", width[0], "node", width[1], "operation", width[2], "method", width[3],
           "cost", second ? "  second best" : "");
    for (int v = 0; v < graph->nodes; v++) {
        const char *label = label_of(planned, v);
        int used = printf("%-*s  %-*s  %s%s%s", width[0], file->node[v], width[1], file->op[graph->node[v].op], label,
                          label[0] != '\0' ? ": " : "", method_text(planned, v, text));
        printf("%*s  %*s", width[0] + width[1] + width[2] + 4 - used, "", width[3],
               cli_number(cost, espi_place_work(graph, v, plan->method[v])));
        if (second)
            printf("  %s", plan->runner_up == NULL || isnan(plan->runner_up[v]) ? "?"
                           : isinf(plan->runner_up[v])                           ? "-"
                                                             : cli_number(cost, plan->runner_up[v]));
        printf("\n");
    }
    printf("\n");
    for (int v = 0; v < graph->nodes; v++) {
        for (int i = 0; i < arity_of(graph, v); i++) {
            struct move move = find_move(planned, v, i);
            char from[ESPI_PLACE_NAME], to[ESPI_PLACE_NAME];
            if (move.from != move.to || move.cost > 0)
                printf("redistribute %s for %s: %s to %s, %s\n", file->node[move.node], file->node[v],
                       espi_place_name(file, move.node, move.from, from),
                       espi_place_name(file, move.node, move.to, to), cli_number(cost, move.cost));
        }
    }
}

/* Names need no escapes: their letters are plain. */
void place_print_json(const struct place_planned *planned, bool second)
{
    const struct espi_place_file *file = planned->file;
    const struct espi_place_plan *plan = planned->plan;
    const struct espi_place_graph *graph = &file->graph;
    char cost[CLI_NUMBER], from[ESPI_PLACE_NAME], to[ESPI_PLACE_NAME];
    printf("{\n  \"cost\": %s,\n  \"planner\": \"%s\",\n  \"exact\": %s,\n", cli_number(cost, plan->cost),
           espi_place_way_name(plan->way), plan->exact ? "true" : "false");
    if (file->kind == ESPI_PLACE_FILE_AFFINE)
        printf("  \"named_alone\": %s,\n", file->carried.all ? "false" : "true");
    printf("  \"lower_bound\": %s,\n  \"nodes\": [\n", cli_number(cost, plan->lower_bound));
    for (int v = 0; v < graph->nodes; v++) {
        int method = plan->method[v];
        printf("    {\"node\": \"%s\", \"operation\": \"%s\", \"method\": %d, \"label\": \"%s\", ", file->node[v],
               file->op[graph->node[v].op], method + 1, label_of(planned, v));
        printf("\"result\": \"%s\", ", espi_place_name(file, v, espi_place_gives(graph, v, method), from));
        printf("\"cost\": %s,", cli_number(cost, espi_place_work(graph, v, method)));
        if (second && plan->runner_up != NULL && isfinite(plan->runner_up[v]))
            printf(" \"second_best\": %s,", cli_number(cost, plan->runner_up[v]));
        else if (second)
            printf(" \"second_best\": null,");
        printf("\n     \"operands\": [");
        for (int i = 0; i < arity_of(graph, v); i++) {
            struct move move = find_move(planned, v, i);
            printf("%s{\"node\": \"%s\", \"from\": \"%s\", \"to\": \"%s\", \"cost\": %s}", i > 0 ? ", " : "",
                   file->node[move.node], espi_place_name(file, move.node, move.from, from),
                   espi_place_name(file, move.node, move.to, to), cli_number(cost, move.cost));
        }
        printf("]}%s\n", v + 1 < graph->nodes ? "," : "");
    }
    printf("  ]\n}\n");
}

static int drawn_arity(const void *of, int node)
{
    const struct place_planned *planned = of;
    return arity_of(&planned->file->graph, node);
}

static int drawn_operand(const void *of, int node, int i)
{
    const struct espi_place_graph *graph = &((const struct place_planned *)of)->file->graph;
    return graph->operand[graph->node[node].first + i].from;
}

static void drawn_box(const void *of, int node, char line[PLACE_LINES][PLACE_LINE])
{
    const struct place_planned *planned = of;
    const struct espi_place_graph *graph = &planned->file->graph;
    const char *label = label_of(planned, node);
    char text[METHOD_TEXT], cost[CLI_NUMBER];
    snprintf(line[0], PLACE_LINE, "%s = %s", planned->file->node[node], planned->file->op[graph->node[node].op]);
    snprintf(line[1], PLACE_LINE, "%s%s%s", label, label[0] != '\0' ? ": " : "", method_text(planned, node, text));
    snprintf(line[2], PLACE_LINE, "%s", cli_number(cost, espi_place_work(graph, node, planned->plan->method[node])));
}

/* "rows", or what is redistributed at which cost. */
static void drawn_edge(const void *of, int node, int i, struct place_edge *edge)
{
    const struct place_planned *planned = of;
    struct move move = find_move(planned, node, i);
    char cost[CLI_NUMBER], from[ESPI_PLACE_NAME], to[ESPI_PLACE_NAME];
    edge->from = move.node;
    edge->moves = move.from != move.to;
    if (move.from == move.to && move.cost == 0)
        snprintf(edge->text, PLACE_LINE, "%s", espi_place_name(planned->file, move.node, move.from, from));
    else
        snprintf(edge->text, PLACE_LINE, "%s to %s: %s", espi_place_name(planned->file, move.node, move.from, from),
                 espi_place_name(planned->file, move.node, move.to, to), cli_number(cost, move.cost));
}

struct place_drawing place_drawing_of_plan(const struct place_planned *planned)
{
    return (struct place_drawing){planned,       planned->file->graph.nodes, planned->plan->cost, drawn_arity,
                                  drawn_operand, drawn_box,                  drawn_edge};
}
