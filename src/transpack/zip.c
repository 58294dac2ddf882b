/*
 * Both trees are taken apart from the root. Each is seen as `count` copies of a child, at constant steps or at a list
 * of displacements. Where the children have equally many entries, the copies correspond one to one and the children
 * are zipped. Else the side with the smaller child groups its copies by k, when k copies of it have as many entries
 * as one of the other's and all groups look alike; or both are grouped to their least common multiple; or the side
 * with the larger child is opened: its child's copies become its own. Each step makes a child smaller or the numbers
 * of entries equal.
 */
#include "transpack/zip.h"

#include <string.h>

struct zipper {
    struct espi_arena *arena;
    size_t left;  /* array elements and parts that may still be made */
    size_t steps; /* by which cuts may still be looked for; some 20 ms */
};
enum { STEPS_MOST = 1 << 26 };

/* count copies of child: at 0, stride, ... where disp is NULL. */
struct copies {
    int64_t count, stride;
    const int64_t *disp;
    const struct espi_node *child;
};

static espi_status zip_nodes(struct zipper *z, const struct espi_node *const side[2], const struct espi_node *out[2]);

/* n numbers; ESPI_ERR_LIMIT when they are too many. */
static espi_status new_numbers(struct zipper *z, int64_t n, int64_t **out)
{
    if (n < 0 || (uint64_t)n > z->left)
        return ESPI_ERR_LIMIT;
    z->left -= (size_t)n;
    *out = espi_arena_calloc(z->arena, (size_t)n, sizeof **out);
    return *out != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
}

static int64_t disp_at(const struct copies *c, int64_t j)
{
    return c->disp != NULL ? c->disp[j] : j * c->stride;
}

/* Any node but a struc. */
static espi_status as_copies(struct zipper *z, const struct espi_node *node, struct copies *c)
{
    int64_t copies = 0, at = 0, *disp;
    espi_status status;

    *c = (struct copies){node->count, node->stride, NULL, node->child};
    switch (node->kind) {
    case ESPI_LEAF:
        *c = (struct copies){1, 0, NULL, node};
        return ESPI_OK;
    case ESPI_VEC:
        return ESPI_OK;
    case ESPI_IDX:
        c->disp = node->disp;
        return ESPI_OK;
    default:
        break;
    }
    copies = node->entries / node->child->entries; /* not 0: the tree has entries */
    status = new_numbers(z, copies, &disp);
    if (status != ESPI_OK)
        return status;
    for (int64_t j = 0; j < node->count; j++) {
        int64_t first = node->kind == ESPI_BUCKET ? j * node->stride : node->disp[j];
        int64_t step = node->kind == ESPI_BUCKET ? node->stride2 : node->stride;
        for (int64_t k = 0; k < node->len[j]; k++)
            disp[at++] = first + k * step;
    }
    *c = (struct copies){copies, 0, disp, node->child};
    return ESPI_OK;
}

/* The node of the copies; of the child alone when there is but one at 0. */
static espi_status as_node(struct zipper *z, const struct copies *c, const struct espi_node **out)
{
    if (c->count == 1 && disp_at(c, 0) == 0) {
        *out = c->child;
        return ESPI_OK;
    }
    return c->disp != NULL ? espi_node_idx(z->arena, c->count, c->disp, c->child, out)
                           : espi_node_vec(z->arena, c->count, c->stride, c->child, out);
}

/* k copies become one. False: the groups differ. */
static espi_status group_copies(struct zipper *z, struct copies *c, int64_t k, bool *done)
{
    struct copies inner = {k, c->stride, NULL, c->child}, outer = {c->count / k, c->stride * k, NULL, NULL};
    int64_t *first, *relative;
    espi_status status;

    *done = false;
    if (c->disp != NULL) {
        for (int64_t j = k; j < c->count; j++)
            if (c->disp[j] - c->disp[j - j % k] != c->disp[j % k] - c->disp[0])
                return ESPI_OK;
        status = new_numbers(z, outer.count, &first);
        if (status == ESPI_OK)
            status = new_numbers(z, k, &relative);
        if (status != ESPI_OK)
            return status;
        for (int64_t j = 0; j < outer.count; j++)
            first[j] = c->disp[j * k];
        for (int64_t j = 0; j < k; j++)
            relative[j] = c->disp[j] - c->disp[0];
        inner.disp = relative;
        outer.disp = first;
    }
    status = as_node(z, &inner, &outer.child);
    *c = outer;
    *done = status == ESPI_OK;
    return status;
}

/* The copies of the child's child become the copies. */
static espi_status open_copies(struct zipper *z, struct copies *c)
{
    struct copies inner, all = {0, 0, NULL, NULL};
    int64_t *disp, at = 0;
    espi_status status = as_copies(z, c->child, &inner);

    if (status != ESPI_OK)
        return status;
    all.child = inner.child;
    if (__builtin_mul_overflow(c->count, inner.count, &all.count))
        return ESPI_ERR_LIMIT;
    if (c->disp == NULL && inner.disp == NULL && c->stride == inner.count * inner.stride) {
        all.stride = inner.stride;
        *c = all;
        return ESPI_OK;
    }
    status = new_numbers(z, all.count, &disp);
    if (status != ESPI_OK)
        return status;
    for (int64_t i = 0; i < c->count; i++)
        for (int64_t j = 0; j < inner.count; j++)
            disp[at++] = disp_at(c, i) + disp_at(&inner, j);
    all.disp = disp;
    *c = all;
    return ESPI_OK;
}

/* As many copies on both sides, of children with as many entries. */
static espi_status pair_copies(struct zipper *z, struct copies c[2], const struct espi_node *out[2])
{
    const struct espi_node *child[2] = {c[0].child, c[1].child}, *zipped[2];
    bool strided = c[0].disp == NULL && c[1].disp == NULL;
    espi_status status = zip_nodes(z, child, zipped);

    for (int s = 0; s < 2 && status == ESPI_OK; s++) {
        c[s].child = zipped[s];
        if (!strided && c[s].disp == NULL) {
            int64_t *disp;
            status = new_numbers(z, c[s].count, &disp);
            if (status != ESPI_OK)
                return status;
            for (int64_t j = 0; j < c[s].count; j++)
                disp[j] = j * c[s].stride;
            c[s].disp = disp;
        }
    }
    if (status != ESPI_OK)
        return status;
    if (c[0].count == 1 && disp_at(&c[0], 0) == 0 && disp_at(&c[1], 0) == 0) {
        out[0] = zipped[0];
        out[1] = zipped[1];
        return ESPI_OK;
    }
    for (int s = 0; s < 2 && status == ESPI_OK; s++)
        status = c[s].disp != NULL ? espi_node_idx(z->arena, c[s].count, c[s].disp, zipped[s], &out[s])
                                   : espi_node_vec(z->arena, c[s].count, c[s].stride, zipped[s], &out[s]);
    return status;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A cut of a node with buckets or parts is looked for from the first one on: of n parts against n buckets these would
   be n * n. ESPI_ERR_LIMIT: there were too many such steps. */
static espi_status slice_of(struct zipper *z, const struct espi_node *node, int64_t from, int64_t to,
                            const struct espi_node **part)
{
    const bool sought = node->kind == ESPI_STRUC || node->kind == ESPI_IDXBUC || node->kind == ESPI_BUCKET;
    const size_t steps = sought ? (size_t)node->count : 0;

    if (steps > z->steps)
        return ESPI_ERR_LIMIT;
    z->steps -= steps;
    return espi_node_slice(z->arena, node, from, to, 0, part);
}

/* Side s is a struc: the other is cut where its parts end. */
static espi_status cut_at_parts(struct zipper *z, const struct espi_node *const side[2], int s,
                                const struct espi_node *out[2])
{
    const struct espi_node *whole = side[s], **sub[2], *last[2] = {NULL, NULL}, *zipped[2] = {NULL, NULL};
    int64_t *disp[2], at = 0, n = 0;
    espi_status status = new_numbers(z, whole->count, &disp[s]);

    if (status == ESPI_OK)
        status = new_numbers(z, whole->count, &disp[1 - s]);
    if (status != ESPI_OK)
        return status;
    for (int t = 0; t < 2; t++) {
        sub[t] = espi_arena_calloc(z->arena, (size_t)whole->count, sizeof *sub[t]);
        if (sub[t] == NULL)
            return ESPI_ERR_MEMORY;
    }
    bool alike = side[1 - s]->kind == ESPI_STRUC && side[1 - s]->count == whole->count;
    for (int64_t j = 0; j < whole->count && alike; j++)
        alike = side[1 - s]->sub[j]->entries == whole->sub[j]->entries;
    for (int64_t j = 0; j < whole->count && status == ESPI_OK; j++) {
        const struct espi_node *part[2];
        part[s] = whole->sub[j];
        if (part[s]->entries == 0)
            continue;
        disp[s][n] = whole->disp[j];
        if (alike) {
            part[1 - s] = side[1 - s]->sub[j];
            disp[1 - s][n] = side[1 - s]->disp[j];
        } else {
            status = slice_of(z, side[1 - s], at, at + part[s]->entries, &part[1 - s]);
        }
        at += part[s]->entries;
        if (status == ESPI_OK && (part[0] != last[0] || part[1] != last[1]))
            status = zip_nodes(z, part, zipped);
        last[0] = part[0];
        last[1] = part[1];
        if (status == ESPI_OK) {
            sub[0][n] = zipped[0];
            sub[1][n++] = zipped[1];
        }
    }
    for (int t = 0; t < 2 && status == ESPI_OK; t++)
        status = espi_node_struc(z->arena, n, disp[t], sub[t], &out[t]);
    return status;
}

/* Makes the children of both sides equally large, as far as one step goes. */
static espi_status approach_sizes(struct zipper *z, struct copies c[2])
{
    int big = c[0].child->entries > c[1].child->entries ? 0 : 1, small = 1 - big;
    int64_t eb = c[big].child->entries, es = c[small].child->entries, common;
    bool done = false;
    espi_status status = ESPI_OK;

    if (eb % es == 0) {
        status = group_copies(z, &c[small], eb / es, &done);
    } else if (c[0].disp == NULL && c[1].disp == NULL) {
        common = es / common_divisor(eb, es) * eb; /* divides the number of entries, as both children's do */
        status = common < eb * c[big].count ? group_copies(z, &c[big], common / eb, &done) : ESPI_OK;
        if (status == ESPI_OK && done)
            status = group_copies(z, &c[small], common / es, &done);
    }
    if (status != ESPI_OK || done)
        return status;
    return c[big].child->kind == ESPI_STRUC ? ESPI_ERR_UNSUPPORTED : open_copies(z, &c[big]);
}

/* The larger children are struc, and cut what stands against them: copy by copy. */
static espi_status unroll_copies(struct zipper *z, const struct espi_node *const side[2], const struct copies c[2],
                                 const struct espi_node *out[2])
{
    int big = c[0].child->entries > c[1].child->entries ? 0 : 1;
    const struct espi_node **sub, *both[2] = {side[0], side[1]};
    int64_t *disp;
    espi_status status = new_numbers(z, c[big].count, &disp);

    if (status != ESPI_OK)
        return status;
    sub = espi_arena_calloc(z->arena, (size_t)c[big].count, sizeof *sub);
    if (sub == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0; j < c[big].count; j++) {
        disp[j] = disp_at(&c[big], j);
        sub[j] = c[big].child;
    }
    status = espi_node_struc(z->arena, c[big].count, disp, sub, &both[big]);
    return status == ESPI_OK ? cut_at_parts(z, both, big, out) : status;
}

static espi_status zip_nodes(struct zipper *z, const struct espi_node *const side[2], const struct espi_node *out[2])
{
    struct copies c[2];
    espi_status status = ESPI_OK;

    if (side[0]->entries != side[1]->entries)
        return ESPI_ERR_ARGUMENT;
    if (side[0]->kind == ESPI_LEAF && side[1]->kind == ESPI_LEAF) {
        out[0] = side[0];
        out[1] = side[1];
        return side[0]->base == side[1]->base ? ESPI_OK : ESPI_ERR_ARGUMENT;
    }
    if (z->left == 0)
        return ESPI_ERR_LIMIT;
    z->left--;
    for (int s = 0; s < 2; s++)
        if (side[s]->kind == ESPI_STRUC)
            return cut_at_parts(z, side, s, out);
    for (int s = 0; s < 2 && status == ESPI_OK; s++)
        status = as_copies(z, side[s], &c[s]);
    while (status == ESPI_OK && c[0].child->entries != c[1].child->entries)
        status = approach_sizes(z, c);
    if (status == ESPI_ERR_UNSUPPORTED)
        return unroll_copies(z, side, c, out);
    return status == ESPI_OK ? pair_copies(z, c, out) : status;
}

espi_status espi_zip(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                     size_t limit, const struct espi_node **out_from, const struct espi_node **out_onto)
{
    const struct espi_node *const side[2] = {from, onto};
    const struct espi_node *out[2] = {NULL, NULL};
    struct zipper z = {arena, limit, STEPS_MOST};
    espi_status status;

    if (from->entries == 0 && onto->entries == 0) {
        status = espi_node_struc(arena, 0, NULL, NULL, out_from);
        *out_onto = *out_from;
        return status;
    }
    status = zip_nodes(&z, side, out);
    if (status != ESPI_OK)
        return status;
    *out_from = out[0];
    *out_onto = out[1];
    return ESPI_OK;
}
