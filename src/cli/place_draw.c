/* Pictures of placement plans. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/place.h"

enum { BOX_TEXT = 28, BOX_WIDTH = 180, BOX_HEIGHT = 52, GAP_X = 24, GAP_Y = 64, MARGIN = 20 };

static int arity_of(const struct espi_place_graph *graph, int v)
{
    return graph->op[graph->node[v].op].arity;
}

/* "rows", or what is redistributed at which cost. */
static void edge_text(const struct espi_place_file *file, const struct place_move *edge, const char *arrow, char *buf,
                      size_t size)
{
    char cost[CLI_NUMBER];
    if (edge->from == edge->to && edge->cost == 0)
        snprintf(buf, size, "%s", file->placement[edge->from]);
    else
        snprintf(buf, size, "%s %s %s: %s", file->placement[edge->from], arrow, file->placement[edge->to],
                 cli_number(cost, edge->cost));
}

espi_status place_draw_dot(FILE *out, const struct espi_place_file *file, const struct espi_place_plan *plan)
{
    const struct espi_place_graph *graph = &file->graph;
    char text[200], cost[CLI_NUMBER];
    fprintf(out, "digraph plan {\n  label=\"cost %s\";\n  node [shape=box];\n", cli_number(cost, plan->cost));
    for (int v = 0; v < graph->nodes; v++) {
        const char *label = place_label(file, v, plan->method[v]);
        fprintf(out, "  %d [label=\"%s = %s\\n%s%s%s\\n%s\"];\n", v, file->node[v], file->op[graph->node[v].op],
                label, label[0] != '\0' ? ": " : "", place_method_text(file, v, plan->method[v], text, 60),
                cli_number(cost, espi_place_work(graph, v, plan->method[v])));
    }
    for (int v = 0; v < graph->nodes; v++) {
        for (int i = 0; i < arity_of(graph, v); i++) {
            struct place_move edge = place_find_move(file, plan, v, i);
            edge_text(file, &edge, "to", text, sizeof text);
            fprintf(out, "  %d -> %d [label=\"%s\"%s];\n", edge.node, v, text,
                    edge.from != edge.to ? ", style=bold, color=\"#c00\"" : "");
        }
    }
    fprintf(out, "}\n");
    return ESPI_OK;
}

/* Rows: each node below all its operands; in a row in the order of the nodes. */
struct rows {
    int rows, widest;
    int *row, *column, *length; /* of nodes; of rows */
};

static espi_status make_rows(const struct espi_place_graph *graph, struct rows *rows)
{
    size_t n = (size_t)graph->nodes;
    rows->row = calloc(n, sizeof *rows->row);
    rows->column = calloc(n, sizeof *rows->column);
    rows->length = calloc(n, sizeof *rows->length);
    if (rows->row == NULL || rows->column == NULL || rows->length == NULL)
        return ESPI_ERR_MEMORY;
    for (int v = 0; v < graph->nodes; v++) {
        for (int i = 0; i < arity_of(graph, v); i++) {
            int above = rows->row[graph->operand[graph->node[v].first + i].from];
            rows->row[v] = above >= rows->row[v] ? above + 1 : rows->row[v];
        }
        rows->rows = rows->row[v] >= rows->rows ? rows->row[v] + 1 : rows->rows;
        rows->column[v] = rows->length[rows->row[v]]++;
        if (rows->length[rows->row[v]] > rows->widest)
            rows->widest = rows->length[rows->row[v]];
    }
    return ESPI_OK;
}

/* The middle of a box, each row being centred. */
static double middle_of(const struct rows *rows, int v)
{
    double free = (rows->widest - rows->length[rows->row[v]]) * (BOX_WIDTH + GAP_X) / 2.0;
    return MARGIN + free + rows->column[v] * (BOX_WIDTH + GAP_X) + BOX_WIDTH / 2.0;
}

static double top_of(const struct rows *rows, int v)
{
    return MARGIN + rows->row[v] * (BOX_HEIGHT + GAP_Y);
}

/* Cut to a box, with the only byte that names and arrows have and XML does not take. */
static void write_cut(FILE *out, const char *text)
{
    for (int i = 0; text[i] != '\0'; i++) {
        if (i == BOX_TEXT - 2 && text[i + 1] != '\0' && text[i + 2] != '\0') {
            fprintf(out, "...");
            return;
        }
        if (text[i] == '>')
            fprintf(out, "&gt;");
        else
            fputc(text[i], out);
    }
}

static void write_box(FILE *out, const struct espi_place_file *file, const struct espi_place_plan *plan,
                      const struct rows *rows, int v)
{
    double x = middle_of(rows, v), y = top_of(rows, v);
    const char *label = place_label(file, v, plan->method[v]);
    char line[200], method[60], cost[CLI_NUMBER];
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#eef\" stroke=\"#000\"/>\n",
            x - BOX_WIDTH / 2.0, y, BOX_WIDTH, BOX_HEIGHT);
    for (int l = 0; l < 3; l++) {
        if (l == 0)
            snprintf(line, sizeof line, "%s = %s", file->node[v], file->op[file->graph.node[v].op]);
        else if (l == 1)
            snprintf(line, sizeof line, "%s%s%s", label, label[0] != '\0' ? ": " : "",
                     place_method_text(file, v, plan->method[v], method, sizeof method));
        else
            snprintf(line, sizeof line, "%s", cli_number(cost, espi_place_work(&file->graph, v, plan->method[v])));
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, y + 15 * (l + 1));
        write_cut(out, line);
        fprintf(out, "</text>\n");
    }
}

static void write_edge(FILE *out, const struct espi_place_file *file, const struct rows *rows, int v,
                       const struct place_move *edge, double x)
{
    double from = middle_of(rows, edge->node), start = top_of(rows, edge->node) + BOX_HEIGHT, end = top_of(rows, v);
    bool moves = edge->from != edge->to;
    char text[200];
    edge_text(file, edge, "to", text, sizeof text);
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%d\"/>\n", from,
            start, x, end, moves ? "#c00" : "#888", moves ? 2 : 1);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n", (from + x) / 2,
            (start + end) / 2, moves ? "#c00" : "#666", text);
}

espi_status place_draw_svg(FILE *out, const struct espi_place_file *file, const struct espi_place_plan *plan)
{
    const struct espi_place_graph *graph = &file->graph;
    struct rows rows = {0, 0, NULL, NULL, NULL};
    char cost[CLI_NUMBER];
    espi_status status = make_rows(graph, &rows);
    if (status == ESPI_OK) {
        fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                "font-size=\"11\">\n<title>A plan of cost %s</title>\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                rows.widest * (BOX_WIDTH + GAP_X) - GAP_X + 2 * MARGIN,
                rows.rows * (BOX_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN, cli_number(cost, plan->cost));
        for (int v = 0; v < graph->nodes; v++) {
            int arity = arity_of(graph, v);
            for (int i = 0; i < arity; i++) {
                struct place_move edge = place_find_move(file, plan, v, i);
                /* The operands arrive side by side. */
                write_edge(out, file, &rows, v, &edge,
                           middle_of(&rows, v) + BOX_WIDTH * ((i + 1.0) / (arity + 1) - 0.5));
            }
        }
        for (int v = 0; v < graph->nodes; v++)
            write_box(out, file, plan, &rows, v);
        fprintf(out, "</svg>\n");
    }
    free(rows.row);
    free(rows.column);
    free(rows.length);
    return status;
}
