#include "mpi/typeplan/variants.h"

enum { BLOCK_MOST = 256 }; /* bytes; longer blocks are copied by memcpy, and the loop around does not matter */

struct cutting {
    struct espi_arena *arena;
    int64_t chunk, chunks;
};

static espi_status cut(struct cutting *c, const struct espi_node *node, const struct espi_node **out);

/* One base type, or a dense run of it: what an innermost list has as its blocks. */
static bool is_block(const struct espi_node *node)
{
    return node->kind == ESPI_LEAF ||
           (node->kind == ESPI_VEC && node->child->kind == ESPI_LEAF && node->stride == node->child->size);
}

static bool worth(const struct cutting *c, const struct espi_node *node)
{
    return node->count > 2 * c->chunk && node->child->size <= BLOCK_MOST && is_block(node->child);
}

/* Struc of `n` parts, in groups when they are many. */
static espi_status group(struct cutting *c, int64_t n, int64_t *disp, const struct espi_node **sub,
                         const struct espi_node **out)
{
    int64_t groups, each, i;
    espi_status status;

    while (n > ESPI_VARIANT_FAN) {
        groups = (n + ESPI_VARIANT_FAN / 4 - 1) / (ESPI_VARIANT_FAN / 4);
        int64_t *at = espi_arena_alloc(c->arena, (size_t)groups * sizeof *at);
        const struct espi_node **nodes = espi_arena_alloc(c->arena, (size_t)groups * sizeof *nodes);

        if (at == NULL || nodes == NULL)
            return ESPI_ERR_MEMORY;
        for (i = 0; i < groups; i++) {
            at[i] = 0;
            each = n - i * (ESPI_VARIANT_FAN / 4);
            each = each > ESPI_VARIANT_FAN / 4 ? ESPI_VARIANT_FAN / 4 : each;
            status = espi_node_struc(c->arena, each, disp + i * (ESPI_VARIANT_FAN / 4),
                                     sub + i * (ESPI_VARIANT_FAN / 4), &nodes[i]);
            if (status != ESPI_OK)
                return status;
        }
        n = groups;
        disp = at;
        sub = nodes;
    }
    return espi_node_struc(c->arena, n, disp, sub, out);
}

/* Chunks of an idx or idxbuc, each with its displacements counted from its first: equal chunks are built once. */
static espi_status cut_list(struct cutting *c, const struct espi_node *node, const struct espi_node **out)
{
    int64_t n = (node->count + c->chunk - 1) / c->chunk, i, k, *from_first, *disp;
    const struct espi_node **sub;
    espi_status status;

    c->chunks += n;
    if (c->chunks > ESPI_VARIANT_CHUNKS_MOST)
        return ESPI_ERR_LIMIT;
    from_first = espi_arena_alloc(c->arena, (size_t)node->count * sizeof *from_first);
    disp = espi_arena_alloc(c->arena, (size_t)n * sizeof *disp);
    sub = espi_arena_alloc(c->arena, (size_t)n * sizeof *sub);
    if (from_first == NULL || disp == NULL || sub == NULL)
        return ESPI_ERR_MEMORY;
    for (i = 0; i < n; i++) {
        int64_t first = i * c->chunk, each = node->count - first;

        each = each > c->chunk ? c->chunk : each;
        disp[i] = node->disp[first];
        for (k = 0; k < each; k++)
            if (__builtin_sub_overflow(node->disp[first + k], disp[i], &from_first[first + k]))
                return ESPI_ERR_OVERFLOW;
        status = node->kind == ESPI_IDX
                     ? espi_node_idx(c->arena, each, from_first + first, node->child, &sub[i])
                     : espi_node_idxbuc(c->arena, each, node->stride, from_first + first, node->len + first,
                                        node->child, &sub[i]);
        if (status != ESPI_OK)
            return status;
    }
    return group(c, n, disp, sub, out);
}

static espi_status cut_vec(struct cutting *c, const struct espi_node *node, const struct espi_node **out)
{
    int64_t full = node->count / c->chunk, rest = node->count % c->chunk, step, *disp;
    const struct espi_node *one, **sub;
    espi_status status;

    if (__builtin_mul_overflow(node->stride, c->chunk, &step))
        return ESPI_ERR_OVERFLOW;
    status = espi_node_vec(c->arena, c->chunk, node->stride, node->child, &one);
    if (status == ESPI_OK)
        status = espi_node_vec(c->arena, full, step, one, &one);
    if (status != ESPI_OK || rest == 0) {
        *out = one;
        return status;
    }
    disp = espi_arena_alloc(c->arena, 2 * sizeof *disp);
    sub = espi_arena_alloc(c->arena, 2 * sizeof *sub);
    if (disp == NULL || sub == NULL)
        return ESPI_ERR_MEMORY;
    disp[0] = 0;
    disp[1] = full * step;
    sub[0] = one;
    status = rest == 1 ? (sub[1] = node->child, ESPI_OK)
                       : espi_node_vec(c->arena, rest, node->stride, node->child, &sub[1]);
    return status != ESPI_OK ? status : espi_node_struc(c->arena, 2, disp, sub, out);
}

static espi_status with_child(struct cutting *c, const struct espi_node *node, const struct espi_node *child,
                              const struct espi_node **out)
{
    switch (node->kind) {
    case ESPI_VEC:
        return espi_node_vec(c->arena, node->count, node->stride, child, out);
    case ESPI_IDX:
        return espi_node_idx(c->arena, node->count, node->disp, child, out);
    case ESPI_IDXBUC:
        return espi_node_idxbuc(c->arena, node->count, node->stride, node->disp, node->len, child, out);
    default:
        return espi_node_bucket(c->arena, node->count, node->stride, node->stride2, node->len, child, out);
    }
}

static espi_status cut_struc(struct cutting *c, const struct espi_node *node, const struct espi_node **out)
{
    const struct espi_node **sub = NULL, *one;
    espi_status status;
    int64_t i, k;

    for (i = 0; i < node->count; i++) {
        if (i > 0 && node->sub[i] == node->sub[i - 1]) {
            one = sub != NULL ? sub[i - 1] : node->sub[i];
        } else {
            status = cut(c, node->sub[i], &one);
            if (status != ESPI_OK)
                return status;
        }
        if (one != node->sub[i] && sub == NULL) {
            sub = espi_arena_alloc(c->arena, (size_t)node->count * sizeof *sub);
            if (sub == NULL)
                return ESPI_ERR_MEMORY;
            for (k = 0; k < i; k++)
                sub[k] = node->sub[k];
        }
        if (sub != NULL)
            sub[i] = one;
    }
    if (sub == NULL) {
        *out = node;
        return ESPI_OK;
    }
    return espi_node_struc(c->arena, node->count, node->disp, sub, out);
}

static espi_status cut(struct cutting *c, const struct espi_node *node, const struct espi_node **out)
{
    const struct espi_node *child;
    espi_status status;

    *out = node;
    if (node->kind == ESPI_LEAF || is_block(node) || node->entries <= 2 * c->chunk)
        return ESPI_OK;
    if (node->kind == ESPI_STRUC)
        return cut_struc(c, node, out);
    if (node->kind == ESPI_VEC && worth(c, node))
        return cut_vec(c, node, out);
    if ((node->kind == ESPI_IDX || node->kind == ESPI_IDXBUC) && worth(c, node))
        return cut_list(c, node, out);
    status = cut(c, node->child, &child);
    if (status != ESPI_OK || child == node->child)
        return status;
    return with_child(c, node, child, out);
}

espi_status espi_variant_chunked(struct espi_arena *arena, const struct espi_node *tree, int64_t chunk,
                                 const struct espi_node **out)
{
    struct cutting c = {arena, chunk, 0};

    return chunk < 1 ? ESPI_ERR_ARGUMENT : cut(&c, tree, out);
}

/* ---- blocks of copies ---- */

static espi_status one_block(struct espi_arena *arena, int64_t n, int64_t stride, int64_t d,
                             const struct espi_node *child, const struct espi_node **out)
{
    int64_t *disp = espi_arena_alloc(arena, 2 * sizeof *disp);

    if (disp == NULL)
        return ESPI_ERR_MEMORY;
    disp[0] = d;
    disp[1] = n;
    return espi_node_idxbuc(arena, 1, stride, &disp[0], &disp[1], child, out);
}

static espi_status copies(struct espi_arena *arena, const struct espi_node *node, enum espi_copies which, bool top,
                          const struct espi_node **out);

static espi_status copies_of_vec(struct espi_arena *arena, const struct espi_node *node, enum espi_copies which,
                                 bool top, const struct espi_node **out)
{
    const struct espi_node *child;
    int64_t d = 0;
    bool convert;
    espi_status status = copies(arena, node->child, which, false, &child);

    if (status != ESPI_OK)
        return status;
    if (child->kind == ESPI_IDXBUC && child->count == 1) {
        d = child->disp[0];
        status = which == ESPI_COPIES_ALL && !is_block(child->child)
                     ? one_block(arena, child->len[0], child->stride, 0, child->child, &child)
                     : espi_node_vec(arena, child->len[0], child->stride, child->child, &child);
    } else if (child->kind == ESPI_IDX && child->count == 1) {
        d = child->disp[0];
        child = child->child;
    }
    if (status != ESPI_OK)
        return status;
    convert = which == ESPI_COPIES_ALL || (which == ESPI_COPIES_OUTERMOST ? top : is_block(child));
    if (convert)
        return one_block(arena, node->count, node->stride, d, child, out);
    if (child == node->child) {
        *out = node;
        return ESPI_OK;
    }
    status = espi_node_vec(arena, node->count, node->stride, child, out);
    if (status == ESPI_OK && d != 0) {
        int64_t *disp = espi_arena_alloc(arena, sizeof *disp);
        if (disp == NULL)
            return ESPI_ERR_MEMORY;
        *disp = d;
        status = espi_node_idx(arena, 1, disp, *out, out);
    }
    return status;
}

static espi_status copies(struct espi_arena *arena, const struct espi_node *node, enum espi_copies which, bool top,
                          const struct espi_node **out)
{
    struct cutting c = {arena, 0, 0};
    const struct espi_node *child, **sub;
    espi_status status = ESPI_OK;
    bool changed = false;

    *out = node;
    if (is_block(node))
        return ESPI_OK;
    if (node->kind == ESPI_VEC)
        return copies_of_vec(arena, node, which, top, out);
    if (node->kind != ESPI_STRUC) {
        status = copies(arena, node->child, which, top, &child);
        return status != ESPI_OK || child == node->child ? status : with_child(&c, node, child, out);
    }
    sub = espi_arena_alloc(arena, (size_t)node->count * sizeof *sub);
    if (sub == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t i = 0; i < node->count && status == ESPI_OK; i++) {
        if (i > 0 && node->sub[i] == node->sub[i - 1])
            sub[i] = sub[i - 1];
        else
            status = copies(arena, node->sub[i], which, true, &sub[i]);
        changed = changed || sub[i] != node->sub[i];
    }
    return status != ESPI_OK || !changed ? status : espi_node_struc(arena, node->count, node->disp, sub, out);
}

espi_status espi_variant_copies(struct espi_arena *arena, const struct espi_node *tree, enum espi_copies which,
                                const struct espi_node **out)
{
    return copies(arena, tree, which, true, out);
}

/* ---- runs at one distance ---- */

enum { RUN_LEAST = 4, RUN_SHARE = 4 };

static int64_t length_at(const struct espi_node *node, int64_t i)
{
    return node->kind == ESPI_IDX ? 1 : node->len[i];
}

/* Blocks from `i` on of one length and at one distance. */
static int64_t run_at(const struct espi_node *node, int64_t i)
{
    int64_t k = i + 1, step, next;

    if (k == node->count || __builtin_sub_overflow(node->disp[k], node->disp[i], &step))
        return 1;
    while (k < node->count && length_at(node, k) == length_at(node, i) &&
           !__builtin_add_overflow(node->disp[k - 1], step, &next) && node->disp[k] == next)
        k++;
    return k - i;
}

/* The end of the piece that begins with block `i`: a run, or all until the next run. */
static int64_t piece_end(const struct espi_node *node, int64_t i, bool *run)
{
    int64_t n = run_at(node, i);

    *run = n >= RUN_LEAST;
    if (*run)
        return i + n;
    /* The last block of what is too short for a run may begin the next one. */
    for (i += n > 1 ? n - 1 : 1; i < node->count && run_at(node, i) < RUN_LEAST; i++)
        ;
    return i;
}

/* Blocks first to end of a list as a tree that begins at displacement 0. */
static espi_status piece(struct espi_arena *arena, const struct espi_node *node, int64_t first, int64_t end, bool run,
                         const struct espi_node **out)
{
    const struct espi_node *block = node->child;
    int64_t n = end - first, *disp;
    espi_status status = ESPI_OK;

    if (run) {
        if (length_at(node, first) != 1)
            status = espi_node_vec(arena, node->len[first], node->stride, block, &block);
        return status != ESPI_OK ? status
                                 : espi_node_vec(arena, n, node->disp[first + 1] - node->disp[first], block, out);
    }
    disp = espi_arena_alloc(arena, (size_t)n * sizeof *disp);
    if (disp == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        if (__builtin_sub_overflow(node->disp[first + i], node->disp[first], &disp[i]))
            return ESPI_ERR_OVERFLOW;
    return node->kind == ESPI_IDX ? espi_node_idx(arena, n, disp, block, out)
                                  : espi_node_idxbuc(arena, n, node->stride, disp, node->len + first, block, out);
}

static espi_status list_as_runs(struct espi_arena *arena, const struct espi_node *node, const struct espi_node **out)
{
    const struct espi_node **sub;
    int64_t pieces = 0, i, *disp;
    bool run;
    espi_status status = ESPI_OK;

    *out = node;
    for (i = 0; i < node->count && pieces <= node->count / RUN_SHARE; i = piece_end(node, i, &run))
        pieces++;
    if (pieces > node->count / RUN_SHARE)
        return ESPI_OK;
    disp = espi_arena_alloc(arena, (size_t)pieces * sizeof *disp);
    sub = espi_arena_alloc(arena, (size_t)pieces * sizeof *sub);
    if (disp == NULL || sub == NULL)
        return ESPI_ERR_MEMORY;
    pieces = 0;
    for (int64_t end = i = 0; i < node->count && status == ESPI_OK; i = end) {
        end = piece_end(node, i, &run);
        disp[pieces] = node->disp[i];
        status = piece(arena, node, i, end, run, &sub[pieces++]);
    }
    if (status != ESPI_OK)
        return status;
    return pieces == 1 ? espi_node_idx(arena, 1, disp, sub[0], out)
                       : espi_node_struc(arena, pieces, disp, sub, out);
}

espi_status espi_variant_runs(struct espi_arena *arena, const struct espi_node *tree, const struct espi_node **out)
{
    struct cutting c = {arena, 0, 0};
    const struct espi_node *child, **sub;
    espi_status status = ESPI_OK;
    bool changed = false;

    *out = tree;
    if (tree->kind == ESPI_LEAF || is_block(tree))
        return ESPI_OK;
    if ((tree->kind == ESPI_IDX || tree->kind == ESPI_IDXBUC) && tree->count >= RUN_SHARE * RUN_LEAST)
        return list_as_runs(arena, tree, out);
    if (tree->kind != ESPI_STRUC) {
        status = espi_variant_runs(arena, tree->child, &child);
        return status != ESPI_OK || child == tree->child ? status : with_child(&c, tree, child, out);
    }
    sub = espi_arena_alloc(arena, (size_t)tree->count * sizeof *sub);
    if (sub == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t i = 0; i < tree->count && status == ESPI_OK; i++) {
        if (i > 0 && tree->sub[i] == tree->sub[i - 1])
            sub[i] = sub[i - 1];
        else
            status = espi_variant_runs(arena, tree->sub[i], &sub[i]);
        changed = changed || sub[i] != tree->sub[i];
    }
    return status != ESPI_OK || !changed ? status : espi_node_struc(arena, tree->count, tree->disp, sub, out);
}
