/* Pictures of type trees, and the boxes that both forms of picture show. */
#ifndef ESPI_CLI_DRAW_H
#define ESPI_CLI_DRAW_H

#include "layout/layout.h"

/* The folded tree with kind, parameters and cost of each node, the cost of the tree below it, and displacements at
   the parts of a struc. Long arrays, many parts and trees of very many nodes are shortened. ESPI_ERR_IO when the
   stream reports an error. With `onto` the two are the sides of a shared tree (espi_transpack), and each box has the
   strides and displacements of both. Graphviz: a node that is used again has several edges. */
espi_status cli_draw_dot(FILE *out, const struct espi_node *tree, const struct espi_node *onto,
                         const struct espi_costs *costs);
/* A complete SVG document in UTF-8; where a node is used again stands a small box with its number. */
espi_status cli_draw_svg(FILE *out, const struct espi_node *tree, const struct espi_node *onto,
                         const struct espi_costs *costs);

/* ---- what they share ---- */

enum { CLI_DRAW_LINES = 5, CLI_DRAW_TEXT = 256, CLI_DRAW_NONE = -1 };

enum cli_box_use {
    CLI_BOX_NODE,  /* a node */
    CLI_BOX_AGAIN, /* a node that has a box already, `same` */
    CLI_BOX_MORE   /* what is left out */
};

struct cli_box {
    enum cli_box_use use;
    enum espi_kind kind; /* of a node */
    int same;            /* box of the node that is used again */
    int number;          /* of a node that is used again; else 0 */
    int parent, first, next;               /* first child, next child of the parent; or CLI_DRAW_NONE */
    int lines;                             /* of text */
    char text[CLI_DRAW_LINES][CLI_DRAW_TEXT];
    char edge[CLI_DRAW_TEXT]; /* at the line from the parent; may be empty */
};

struct cli_picture {
    struct cli_box *box; /* from the root on, parents before children */
    int n, capacity;
    char caption[CLI_DRAW_TEXT];
};

/* Folds the tree and makes its boxes. Release also after a failure. */
espi_status cli_picture_make(struct cli_picture *picture, const struct espi_node *tree, const struct espi_node *onto,
                             const struct espi_costs *costs);
void cli_picture_release(struct cli_picture *picture);

#endif
