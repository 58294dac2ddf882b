/* From a tree to boxes with text. */
#include "cli/draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "layout/memo.h"
#include "reconstruct/fold.h"

enum {
    BOXES = 400,  /* a picture of more is no picture */
    PARTS = 10,   /* boxes below one struc */
    VALUES = 5,   /* of an array; all when there are not more than one more */
    OPEN = 3 * PARTS /* boxes kept back for ends of what was begun */
};

struct drawing {
    struct cli_picture *picture;
    const struct espi_costs *costs;
    struct espi_arena arena;
    struct espi_memo boxes; /* the box of a node */
};

/* Appends. The longest text there is has some 200 bytes: six numbers and words. */
static void add_text(char text[CLI_DRAW_TEXT], const char *pattern, ...) __attribute__((format(printf, 2, 3)));
static void add_text(char text[CLI_DRAW_TEXT], const char *pattern, ...)
{
    size_t len = strlen(text);
    va_list args;
    va_start(args, pattern);
    vsnprintf(text + len, CLI_DRAW_TEXT - len, pattern, args);
    va_end(args);
}

/* " 0, 8, 24, …, 96": long arrays show their first values and their last. */
static void format_array(char text[CLI_DRAW_TEXT], int64_t n, const int64_t *values)
{
    for (int64_t i = 0; i < n; i++) {
        if (n > VALUES + 1 && i == VALUES - 1) {
            add_text(text, ", …");
            i = n - 1;
        }
        add_text(text, "%s%" PRId64, i > 0 ? ", " : " ", values[i]);
    }
}

/* A stride, or with `onto` that of either side. */
static void format_stride(char text[CLI_DRAW_TEXT], int64_t stride, const int64_t *onto)
{
    add_text(text, " × stride %" PRId64, stride);
    if (onto != NULL) {
        add_text(text, " → %" PRId64, *onto);
    }
}

/* A line for where the copies go. */
static void describe_onto(struct cli_box *box, int *line, const struct espi_node *onto)
{
    if (onto != NULL) {
        add_text(box->text[*line], "→");
        format_array(box->text[(*line)++], onto->count, onto->disp);
    }
}

/* `onto`: the node's other side in a picture of a shared tree, or NULL. */
static void describe_node(struct cli_box *box, const struct espi_node *node, const struct espi_node *onto)
{
    int line = 1;
    const int64_t *stride = onto != NULL ? &onto->stride : NULL, *stride2 = onto != NULL ? &onto->stride2 : NULL;
    switch (node->kind) {
    case ESPI_LEAF:
        add_text(box->text[0], "leaf");
        add_text(box->text[line++], "%s", espi_base_info(node->base)->name);
        break;
    case ESPI_VEC:
        add_text(box->text[0], "vec");
        add_text(box->text[line], "%" PRId64, node->count);
        format_stride(box->text[line++], node->stride, stride);
        break;
    case ESPI_IDX:
        add_text(box->text[0], "idx");
        add_text(box->text[line], "%" PRId64 " × at", node->count);
        format_array(box->text[line++], node->count, node->disp);
        describe_onto(box, &line, onto);
        break;
    case ESPI_IDXBUC:
        add_text(box->text[0], "idxbuc");
        add_text(box->text[line], "%" PRId64 " bucket%s at", node->count, node->count == 1 ? "" : "s");
        format_array(box->text[line++], node->count, node->disp);
        describe_onto(box, &line, onto);
        add_text(box->text[line], "of");
        format_array(box->text[line], node->count, node->len);
        format_stride(box->text[line++], node->stride, stride);
        break;
    case ESPI_BUCKET:
        add_text(box->text[0], "bucket");
        add_text(box->text[line], "%" PRId64 " bucket%s", node->count, node->count == 1 ? "" : "s");
        format_stride(box->text[line++], node->stride, stride);
        add_text(box->text[line], "of");
        format_array(box->text[line], node->count, node->len);
        format_stride(box->text[line++], node->stride2, stride2);
        break;
    case ESPI_STRUC:
        add_text(box->text[0], "struc");
        add_text(box->text[line++], "%" PRId64 " part%s", node->count, node->count == 1 ? "" : "s");
        break;
    case ESPI_KIND_COUNT:
        break;
    }
    box->lines = line;
}

/* A new box below `parent`, behind `previous`; CLI_DRAW_NONE when memory is short. */
static int add_box(struct cli_picture *picture, int parent, int previous)
{
    if (picture->n == picture->capacity) {
        int capacity = picture->capacity == 0 ? 16 : 2 * picture->capacity;
        struct cli_box *box = realloc(picture->box, (size_t)capacity * sizeof *box);
        if (box == NULL) {
            return CLI_DRAW_NONE;
        }
        picture->box = box;
        picture->capacity = capacity;
    }
    int at = picture->n++;
    picture->box[at] = (struct cli_box){.parent = parent, .first = CLI_DRAW_NONE, .next = CLI_DRAW_NONE};
    if (previous != CLI_DRAW_NONE) {
        picture->box[previous].next = at;
    } else if (parent != CLI_DRAW_NONE) {
        picture->box[parent].first = at;
    }
    return at;
}

static espi_status add_node(struct drawing *d, const struct espi_node *node, const struct espi_node *onto, int parent,
                            int previous, int *out);

/* What `box` leaves out: `parts` parts of the struc, or with 0 its only child. */
static espi_status add_more(struct drawing *d, int box, int previous, int64_t parts, int64_t cost)
{
    int more = add_box(d->picture, box, previous);
    if (more == CLI_DRAW_NONE) {
        return ESPI_ERR_MEMORY;
    }
    struct cli_box *b = &d->picture->box[more];
    b->use = CLI_BOX_MORE;
    if (parts > 0) {
        add_text(b->text[0], "… %" PRId64 " more part%s", parts, parts == 1 ? "" : "s");
    } else {
        add_text(b->text[0], "… more levels");
    }
    add_text(b->text[1], "cost %" PRId64, cost);
    b->lines = 2;
    return ESPI_OK;
}

static espi_status add_parts(struct drawing *d, const struct espi_node *node, const struct espi_node *onto, int box)
{
    int previous = CLI_DRAW_NONE, shown = 0;
    for (int64_t j = 0, end; j < node->count; j = end) {
        end = j + 1;
        while (end < node->count && node->sub[end] == node->sub[j]) {
            end++;
        }
        if ((shown == PARTS - 1 && end < node->count) || d->picture->n >= BOXES - OPEN) {
            int64_t rest = 0;
            for (int64_t k = j, own = 0; k < node->count; k++) {
                own = k > j && node->sub[k] == node->sub[k - 1] ? own : espi_cost(node->sub[k], d->costs);
                rest = rest > INT64_MAX - own ? INT64_MAX : rest + own;
            }
            return add_more(d, box, previous, node->count - j, rest);
        }
        espi_status status = add_node(d, node->sub[j], onto != NULL ? onto->sub[j] : NULL, box, previous, &previous);
        if (status != ESPI_OK) {
            return status;
        }
        struct cli_box *b = &d->picture->box[previous];
        add_text(b->edge, "at");
        format_array(b->edge, end - j, node->disp + j);
        if (onto != NULL) {
            add_text(b->edge, " →");
            format_array(b->edge, end - j, onto->disp + j);
        }
        shown++;
    }
    return ESPI_OK;
}

static espi_status add_node(struct drawing *d, const struct espi_node *node, const struct espi_node *onto, int parent,
                            int previous, int *out)
{
    int at = add_box(d->picture, parent, previous);
    if (at == CLI_DRAW_NONE) {
        return ESPI_ERR_MEMORY;
    }
    *out = at;
    struct cli_box *box = &d->picture->box[at];
    struct espi_memo_slot *seen = espi_memo_find(&d->boxes, node);
    if (seen != NULL && node->kind != ESPI_LEAF) { /* a leaf says in full what it is */
        box->use = CLI_BOX_AGAIN;
        box->kind = node->kind;
        box->same = (int)seen->number[0];
        d->picture->box[box->same].number = 1;
        return ESPI_OK;
    }
    if (seen == NULL) {
        seen = espi_memo_add(&d->boxes, node);
        if (seen == NULL) {
            return ESPI_ERR_MEMORY;
        }
        seen->number[0] = at;
    }
    box->kind = node->kind;
    describe_node(box, node, onto);
    int64_t own = espi_cost_own(node, d->costs), whole = espi_cost(node, d->costs);
    if (own == whole) {
        add_text(box->text[box->lines++], "cost %" PRId64, own);
    } else {
        add_text(box->text[box->lines++], "cost %" PRId64 ", with all below %" PRId64, own, whole);
    }
    if (node->kind == ESPI_STRUC) {
        return add_parts(d, node, onto, at);
    }
    if (node->child != NULL && d->picture->n >= BOXES - OPEN) {
        return add_more(d, at, CLI_DRAW_NONE, 0, whole - own);
    }
    return node->child == NULL
               ? ESPI_OK
               : add_node(d, node->child, onto != NULL ? onto->child : NULL, at, CLI_DRAW_NONE, &previous);
}

espi_status cli_picture_make(struct cli_picture *picture, const struct espi_node *tree, const struct espi_node *onto,
                             const struct espi_costs *costs)
{
    struct drawing d = {.picture = picture, .costs = costs};
    struct espi_folded folded;
    int root, number = 0;
    *picture = (struct cli_picture){0};
    espi_status status = ESPI_OK;
    /* Folded, the two sides of a shared tree would no longer correspond: what is shared there is shown as shared. */
    if (onto == NULL) {
        status = espi_fold(&d.arena, tree, costs, &folded);
    } else {
        folded = (struct espi_folded){.tree = tree, .dag_cost = espi_cost(tree, costs)};
    }
    if (status == ESPI_OK) {
        status = add_node(&d, folded.tree, onto, CLI_DRAW_NONE, CLI_DRAW_NONE, &root);
    }
    if (status == ESPI_OK) {
        int64_t cost = espi_cost(tree, costs);
        add_text(picture->caption, "%" PRId64 " entr%s, cost %" PRId64, tree->entries,
                 tree->entries == 1 ? "y" : "ies", cost);
        if (folded.dag_cost != cost) {
            add_text(picture->caption, ", folded %" PRId64, folded.dag_cost);
        }
    }
    for (int i = 0; status == ESPI_OK && i < picture->n; i++) {
        struct cli_box *box = &picture->box[i];
        if (box->number != 0) {
            box->number = ++number;
            add_text(box->text[0], " #%d", number);
        } else if (box->use == CLI_BOX_AGAIN) { /* its node stands before it and has its number */
            add_text(box->text[0], "%s again", picture->box[box->same].text[0]);
            box->lines = 1;
        }
    }
    espi_memo_release(&d.boxes);
    espi_arena_release(&d.arena);
    return status;
}

void cli_picture_release(struct cli_picture *picture)
{
    free(picture->box);
    *picture = (struct cli_picture){0};
}
