/* A picture as SVG: the root on top, boxes of one level in one row, each box above the middle of what is below it. */
#include "cli/draw.h"

#include <stdlib.h>

/* Lengths in pixels, those of text for a font of fixed width, so that it fits its box in every viewer. */
#define FONT 12.0
#define GLYPH (FONT * 0.61)
#define LINE 16.0
#define PAD 8.0
#define GAP 20.0  /* between boxes beside each other */
#define DROP 44.0 /* between rows */
#define MARGIN 20.0
#define CAPTION 34.0

struct place {
    double x, y, width, height; /* of the box; x is its middle, y its top */
    double room;                /* width of the box and all below it */
    double from;                /* where that room begins */
    int level;
};

/* Characters of a text in UTF-8. */
static double text_width(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n * GLYPH;
}

static double larger_of(double a, double b)
{
    return a > b ? a : b;
}

/* Sizes from the last box to the first: children stand behind their parents. */
static void measure_boxes(const struct cli_picture *picture, struct place *place)
{
    for (int i = picture->n - 1; i >= 0; i--) {
        const struct cli_box *box = &picture->box[i];
        double below = 0;
        for (int line = 0; line < box->lines; line++) {
            place[i].width = larger_of(place[i].width, text_width(box->text[line]) + 2 * PAD);
        }
        place[i].height = box->lines * LINE + PAD;
        for (int child = box->first; child != CLI_DRAW_NONE; child = picture->box[child].next) {
            below += place[child].room + (child != box->first ? GAP : 0);
        }
        /* The text at the line down to the box stands right of its middle. */
        double edge = box->edge[0] != '\0' ? 2 * (text_width(box->edge) + PAD) : 0;
        place[i].room = larger_of(larger_of(place[i].width, edge), below);
    }
}

/* Places from the first box to the last; returns the height of it all. */
static double arrange_boxes(const struct cli_picture *picture, struct place *place, double *row)
{
    double total = 0;
    int levels = 0;
    for (int i = 0; i < picture->n; i++) {
        int parent = picture->box[i].parent;
        place[i].level = parent != CLI_DRAW_NONE ? place[parent].level + 1 : 0;
        levels = place[i].level + 1 > levels ? place[i].level + 1 : levels;
        row[place[i].level] = larger_of(row[place[i].level], place[i].height);
    }
    for (int level = 0; level < levels; level++) {
        double height = row[level];
        row[level] = total;
        total += height + (level + 1 < levels ? DROP : 0);
    }
    for (int i = 0; i < picture->n; i++) {
        const struct cli_box *box = &picture->box[i];
        double below = -GAP;
        for (int child = box->first; child != CLI_DRAW_NONE; child = picture->box[child].next) {
            below += place[child].room + GAP;
        }
        double at = place[i].from + (place[i].room - below) / 2;
        for (int child = box->first; child != CLI_DRAW_NONE; child = picture->box[child].next) {
            place[child].from = at;
            at += place[child].room + GAP;
        }
        place[i].x = place[i].from + place[i].room / 2;
        place[i].y = row[place[i].level];
    }
    return total;
}

static const char *fill_color(const struct cli_box *box)
{
    static const char *const by_kind[ESPI_KIND_COUNT] = {
        [ESPI_LEAF] = "#e8f5e3", [ESPI_VEC] = "#e3eefb",    [ESPI_IDX] = "#fdf1d8",
        [ESPI_IDXBUC] = "#fbe3d6", [ESPI_STRUC] = "#eeeeee", [ESPI_BUCKET] = "#f1e4f7",
    };
    return box->use == CLI_BOX_MORE ? "#ffffff" : by_kind[box->kind];
}

static void draw_line(FILE *out, const struct cli_picture *picture, const struct place *place, int i)
{
    const struct cli_box *box = &picture->box[i];
    const struct place *from = &place[box->parent], *to = &place[i];
    double turn = to->y - DROP / 2 - 8;
    /* Down, across, down, so that lines do not run through text. */
    fprintf(out, "<path d=\"M%.1f %.1fV%.1fH%.1fV%.1f\" fill=\"none\" stroke=\"#777777\"/>\n", from->x,
            from->y + from->height, turn, to->x, to->y);
    if (box->edge[0] != '\0') {
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"#333333\">%s</text>\n", to->x + 4, to->y - 6, box->edge);
    }
}

static void draw_box(FILE *out, const struct cli_box *box, const struct place *place)
{
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"%s\" "
            "stroke=\"#444444\"%s/>\n",
            place->x - place->width / 2, place->y, place->width, place->height, fill_color(box),
            box->use == CLI_BOX_NODE ? "" : " stroke-dasharray=\"4 3\"");
    for (int line = 0; line < box->lines; line++) {
        bool title = line == 0 && box->use == CLI_BOX_NODE;
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\"%s>%s</text>\n", place->x,
                place->y + (line + 1) * LINE - 1, title ? " font-weight=\"bold\"" : "", box->text[line]);
    }
}

espi_status cli_draw_svg(FILE *out, const struct espi_node *tree, const struct espi_node *onto,
                         const struct espi_costs *costs)
{
    struct cli_picture picture;
    struct place *place = NULL;
    double *row = NULL;
    espi_status status = cli_picture_make(&picture, tree, onto, costs);
    if (status != ESPI_OK) {
        goto done;
    }
    place = calloc((size_t)picture.n, sizeof *place);
    row = calloc((size_t)picture.n, sizeof *row);
    if (place == NULL || row == NULL) {
        status = ESPI_ERR_MEMORY;
        goto done;
    }
    measure_boxes(&picture, place);
    double wide = larger_of(place[0].room, text_width(picture.caption)) + 2 * MARGIN;
    place[0].from = (wide - place[0].room) / 2;
    double high = arrange_boxes(&picture, place, row) + CAPTION + 2 * MARGIN;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"%.0f\">\n<title>%s</title>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n<g transform=\"translate(0 %.1f)\">\n",
            wide, high, wide, high, FONT, picture.caption, wide / 2, MARGIN + LINE / 2, picture.caption,
            MARGIN + CAPTION);
    for (int i = 1; i < picture.n; i++) {
        draw_line(out, &picture, place, i);
    }
    for (int i = 0; i < picture.n; i++) {
        draw_box(out, &picture.box[i], &place[i]);
    }
    fprintf(out, "</g>\n</svg>\n");
    status = ferror(out) ? ESPI_ERR_IO : ESPI_OK;
done:
    free(place);
    free(row);
    cli_picture_release(&picture);
    return status;
}
