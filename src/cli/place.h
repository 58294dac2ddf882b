/* espalier place: pictures of plans (place_draw.c). */
#ifndef ESPI_CLI_PLACE_H
#define ESPI_CLI_PLACE_H

#include <stdio.h>

#include "placement/file.h"

enum { PLACE_PICTURE_NODES = 1000 }; /* the most that a picture shows */

/* A method in words, "rows dense -> rows", cut to `size` bytes. Returns buf. */
const char *place_method_text(const struct espi_place_file *file, int node, int method, char *buf, size_t size);
/* The label of a method; "" without one. */
const char *place_label(const struct espi_place_file *file, int node, int method);

/* What becomes of operand i of node v: the value of `node`, left in `from`, is taken in `to`. */
struct place_move {
    int node, from, to;
    double cost;
};
struct place_move place_find_move(const struct espi_place_file *file, const struct espi_place_plan *plan, int v,
                                  int i);

/* The graph with each node's operation and method; redistributions with placements and cost at their edges. Errors of
   the stream are the caller's to look for. ERR_MEMORY. */
espi_status place_draw_dot(FILE *out, const struct espi_place_file *file, const struct espi_place_plan *plan);
/* Nodes in rows by the longest way to them. */
espi_status place_draw_svg(FILE *out, const struct espi_place_file *file, const struct espi_place_plan *plan);

#endif
