/* Pictures of placement plans. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/place.h"

enum { BOX_TEXT = 28, BOX_WIDTH = 180, BOX_HEIGHT = 52, GAP_X = 24, GAP_Y = 64, MARGIN = 20 };

espi_status place_draw_dot(FILE *out, const struct place_drawing *drawing)
{
    char line[PLACE_LINES][PLACE_LINE], cost[CLI_NUMBER];
    fprintf(out, "digraph plan {\n  label=\"cost %s\";\n  node [shape=box];\n", cli_number(cost, drawing->cost));
    for (int v = 0; v < drawing->nodes; v++) {
        drawing->box(drawing->of, v, line);
        fprintf(out, "  %d [label=\"%s\\n%s%s%s\"];\n", v, line[0], line[1], line[2][0] != '\0' ? "\\n" : "",
                line[2]);
    }
    for (int v = 0; v < drawing->nodes; v++) {
        for (int i = 0; i < drawing->arity(drawing->of, v); i++) {
            struct place_edge edge;
            drawing->edge(drawing->of, v, i, &edge);
            fprintf(out, "  %d -> %d [label=\"%s\"%s];\n", edge.from, v, edge.text,
                    edge.moves ? ", style=bold, color=\"#c00\"" : "");
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

static espi_status make_rows(const struct place_drawing *drawing, struct rows *rows)
{
    size_t n = (size_t)drawing->nodes;
    rows->row = calloc(n, sizeof *rows->row);
    rows->column = calloc(n, sizeof *rows->column);
    rows->length = calloc(n, sizeof *rows->length);
    if (rows->row == NULL || rows->column == NULL || rows->length == NULL)
        return ESPI_ERR_MEMORY;
    for (int v = 0; v < drawing->nodes; v++) {
        for (int i = 0; i < drawing->arity(drawing->of, v); i++) {
            int above = rows->row[drawing->operand(drawing->of, v, i)];
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

static void write_box(FILE *out, const struct place_drawing *drawing, const struct rows *rows, int v)
{
    double x = middle_of(rows, v), y = top_of(rows, v);
    char line[PLACE_LINES][PLACE_LINE];
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#eef\" stroke=\"#000\"/>\n",
            x - BOX_WIDTH / 2.0, y, BOX_WIDTH, BOX_HEIGHT);
    drawing->box(drawing->of, v, line);
    for (int l = 0; l < PLACE_LINES && line[l][0] != '\0'; l++) {
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, y + 15 * (l + 1));
        write_cut(out, line[l]);
        fprintf(out, "</text>\n");
    }
}

static void write_edge(FILE *out, const struct rows *rows, int v, const struct place_edge *edge, double x)
{
    double from = middle_of(rows, edge->from), start = top_of(rows, edge->from) + BOX_HEIGHT, end = top_of(rows, v);
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%d\"/>\n", from,
            start, x, end, edge->moves ? "#c00" : "#888", edge->moves ? 2 : 1);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n", (from + x) / 2,
            (start + end) / 2, edge->moves ? "#c00" : "#666", edge->text);
}

espi_status place_draw_svg(FILE *out, const struct place_drawing *drawing)
{
    struct rows rows = {0, 0, NULL, NULL, NULL};
    char cost[CLI_NUMBER];
    espi_status status = make_rows(drawing, &rows);
    if (status == ESPI_OK) {
        fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                "font-size=\"11\">\n<title>A plan of cost %s</title>\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                rows.widest * (BOX_WIDTH + GAP_X) - GAP_X + 2 * MARGIN,
                rows.rows * (BOX_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN, cli_number(cost, drawing->cost));
        for (int v = 0; v < drawing->nodes; v++) {
            int arity = drawing->arity(drawing->of, v);
            for (int i = 0; i < arity; i++) {
                struct place_edge edge;
                drawing->edge(drawing->of, v, i, &edge);
                /* The operands arrive side by side. */
                write_edge(out, &rows, v, &edge, middle_of(&rows, v) + BOX_WIDTH * ((i + 1.0) / (arity + 1) - 0.5));
            }
        }
        for (int v = 0; v < drawing->nodes; v++)
            write_box(out, drawing, &rows, v);
        fprintf(out, "</svg>\n");
    }
    free(rows.row);
    free(rows.column);
    free(rows.length);
    return status;
}
