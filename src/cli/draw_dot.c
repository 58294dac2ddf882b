/* A picture for Graphviz. */
#include "cli/draw.h"

espi_status cli_draw_dot(FILE *out, const struct espi_node *tree, const struct espi_node *onto,
                         const struct espi_costs *costs)
{
    struct cli_picture picture;
    espi_status status = cli_picture_make(&picture, tree, onto, costs);
    if (status == ESPI_OK) {
        fprintf(out, "digraph tree {\n  label=\"%s\";\n  labelloc=t;\n  node [shape=box];\n", picture.caption);
    }
    /* No text has a character that would need escaping: names of base types are words. */
    for (int i = 0; status == ESPI_OK && i < picture.n; i++) {
        const struct cli_box *box = &picture.box[i];
        if (box->use != CLI_BOX_AGAIN) {
            fprintf(out, "  n%d [label=\"", i);
            for (int line = 0; line < box->lines; line++) {
                fprintf(out, "%s%s", line > 0 ? "\\n" : "", box->text[line]);
            }
            fprintf(out, "\"%s];\n", box->use == CLI_BOX_MORE ? ", style=dashed" : "");
        }
    }
    for (int i = 1; status == ESPI_OK && i < picture.n; i++) {
        const struct cli_box *box = &picture.box[i];
        fprintf(out, "  n%d -> n%d", box->parent, box->use == CLI_BOX_AGAIN ? box->same : i);
        fprintf(out, box->edge[0] != '\0' ? " [label=\"%s\"];\n" : "%s;\n", box->edge);
    }
    if (status == ESPI_OK) {
        fprintf(out, "}\n");
        status = ferror(out) ? ESPI_ERR_IO : ESPI_OK;
    }
    cli_picture_release(&picture);
    return status;
}
