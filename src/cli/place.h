/* espalier place: what its files share. */
#ifndef ESPI_CLI_PLACE_H
#define ESPI_CLI_PLACE_H

#include <stdio.h>

#include "placement/file.h"

enum {
    PLACE_PICTURE_NODES = 1000, /* the most that a picture shows */
    PLACE_LINES = 3,            /* of text in a box */
    PLACE_LINE = 3 * ESPI_PLACE_NAME
};

/* ---- pictures (place_draw.c) ---- */

struct place_edge {
    int from; /* the node whose value it is */
    bool moves;
    char text[PLACE_LINE];
};

/* Nodes with operands, whatever they are. */
struct place_drawing {
    const void *of;
    int nodes;
    double cost;
    int (*arity)(const void *of, int node);
    int (*operand)(const void *of, int node, int i); /* the node */
    void (*box)(const void *of, int node, char line[PLACE_LINES][PLACE_LINE]);
    void (*edge)(const void *of, int node, int i, struct place_edge *edge);
};

/* Boxes, and edges with what is redistributed. Errors of the stream are the caller's to look for. ERR_MEMORY. */
espi_status place_draw_dot(FILE *out, const struct place_drawing *drawing);
/* Nodes in rows by the longest way to them. */
espi_status place_draw_svg(FILE *out, const struct place_drawing *drawing);

/* ---- plans (place_plan.c) ---- */

struct place_planned {
    const struct espi_place_file *file;
    const struct espi_place_plan *plan;
};
/* With second best plans if `second`. */
void place_print_text(const struct place_planned *planned, bool second);
void place_print_json(const struct place_planned *planned, bool second);
struct place_drawing place_drawing_of_plan(const struct place_planned *planned);

/* ---- positions (place_positions.c) ---- */

void place_print_positions(const struct espi_place_file *file, double cost);
void place_print_positions_json(const struct espi_place_file *file, double cost);
struct place_drawing place_drawing_of_positions(const struct espi_place_file *file, double cost);

#endif
