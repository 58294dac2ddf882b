/* Pictures of trees. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "commtree/internal.h"

/* Bytes that each rank exchanges with its parent: what its subtree holds, or what all messages have. */
static espi_status message_bytes(const struct espi_commtree *tree, const struct espi_commtree_traffic *traffic,
                                 int64_t **held)
{
    int *order = malloc((size_t)tree->n * sizeof *order), filled = 1;
    *held = calloc((size_t)tree->p, sizeof **held);
    if (!order || !*held) {
        free(order);
        free(*held);
        *held = NULL;
        return ESPI_ERR_MEMORY;
    }
    order[0] = tree->root;
    for (int head = 0; head < filled; head++) {
        for (int e = tree->first[order[head]]; e < tree->first[order[head] + 1]; e++)
            order[filled++] = tree->child[e];
    }
    for (int x = filled - 1; x >= 0; x--) {
        int v = order[x];
        (*held)[v] += traffic->size ? traffic->size[v] : traffic->bytes;
        if (traffic->size && tree->parent[v] >= 0)
            (*held)[tree->parent[v]] += (*held)[v];
    }
    free(order);
    return ESPI_OK;
}

static void write_node(FILE *out, const struct espi_commtree_traffic *traffic, int v, const char *style)
{
    fprintf(out, "  %d [label=\"%d", v, v);
    if (traffic->size)
        fprintf(out, "\\n%" PRId64, traffic->size[v]);
    fprintf(out, "\"%s];\n", style);
}

espi_status espi_commtree_write_dot(FILE *out, const struct espi_commtree *tree,
                                    const struct espi_commtree_traffic *traffic)
{
    int64_t *held;
    espi_status status = message_bytes(tree, traffic, &held);
    if (status != ESPI_OK)
        return status;
    fprintf(out, "digraph tree {\n  node [shape=box];\n");
    write_node(out, traffic, tree->root, ", style=bold");
    for (int v = 0; v < tree->p; v++) {
        if (tree->parent[v] >= 0)
            write_node(out, traffic, v, "");
    }
    for (int v = 0; v < tree->p; v++) {
        for (int e = tree->first[v]; e < tree->first[v + 1]; e++)
            fprintf(out, "  %d -> %d [label=\"%d: %" PRId64 "\"];\n", v, tree->child[e], e - tree->first[v] + 1,
                    held[tree->child[e]]);
    }
    fprintf(out, "}\n");
    free(held);
    return ferror(out) ? ESPI_ERR_IO : ESPI_OK;
}

/* Whole numbers as such, others with ten digits. */
static const char *time_text(char buf[40], double time)
{
    if (fabs(time) < 1e18 && time == floor(time))
        snprintf(buf, 40, "%.0f", time);
    else
        espi_number_format(buf, 40, time, 10);
    return buf;
}

espi_status espi_commtree_write_svg(FILE *out, const struct espi_commtree *tree,
                                    const struct espi_commtree_traffic *traffic)
{
    static const char *const titles[2][2] = {{"Reduce to", "Gather to"}, {"Broadcast from", "Scatter from"}};
    static const char *const notes[2][2] = {{"reduce to", "gather to"}, {"broadcast from", "scatter from"}};
    size_t p = (size_t)tree->p;
    bool gather = traffic->op == ESPI_COMMTREE_GATHER, blocks = traffic->size != NULL;
    char text[2][40];
    double *start = calloc(p, sizeof *start), *finish = calloc(p, sizeof *finish), end = 0;
    int64_t *held = NULL;
    espi_status status = start && finish ? message_bytes(tree, traffic, &held) : ESPI_ERR_MEMORY;
    if (status == ESPI_OK)
        status = espi_commtree_schedule(tree, traffic, start, finish, &end);
    if (status != ESPI_OK)
        goto out;
    double wide = tree->p > 100 ? 1600.0 / tree->p : 16, high = 480, scale = end > 0 ? high / end : 0;
    double width = wide * tree->p + 40;
    if (width < 160)
        width = 160;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
            "font-size=\"10\">\n<title>%s rank %d in time %s</title>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, high + 60, titles[!gather][blocks], tree->root, time_text(text[0], end));
    for (int v = 0; v < tree->p; v++) {
        double x = 20 + wide * (v + 0.5), from = 30, to = 30 + high;
        if (tree->parent[v] == ESPI_COMMTREE_ABSENT)
            continue;
        if (wide >= 12 || v == tree->root)
            fprintf(out, "<text x=\"%.2f\" y=\"20\" text-anchor=\"middle\">%d</text>\n", x, v);
        /* A rank's line lasts as long as it takes part. */
        if (v != tree->root)
            *(gather ? &to : &from) = 30 + scale * (gather ? finish[v] : start[v]);
        fprintf(out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\"/>\n", x, from, x, to,
                v == tree->root ? "#000" : "#bbb");
        if (tree->parent[v] < 0 || (blocks && !held[v]))
            continue;
        double other = 20 + wide * (tree->parent[v] + 0.5);
        fprintf(out,
                "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"#06c\"><title>%d to %d: %" PRId64
                " bytes, %s to %s</title></line>\n",
                gather ? x : other, 30 + scale * start[v], gather ? other : x, 30 + scale * finish[v],
                gather ? v : tree->parent[v], gather ? tree->parent[v] : v, held[v], time_text(text[0], start[v]),
                time_text(text[1], finish[v]));
    }
    fprintf(out, "<text x=\"20\" y=\"%.0f\">%s rank %d: %s</text>\n</svg>\n", high + 50,
            notes[!gather][blocks], tree->root, time_text(text[0], end));
    status = ferror(out) ? ESPI_ERR_IO : ESPI_OK;
out:
    free(start);
    free(finish);
    free(held);
    return status;
}
