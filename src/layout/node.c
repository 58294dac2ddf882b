/* Constructors of type trees: domain checks, derived values, structural hash. */
#include "layout/layout.h"

#include <string.h>

#include "base/hash.h"

/* Four chains that do not wait for each other: hashing is most of what a tree over a long list costs. */
static uint64_t mix_array(uint64_t hash, int64_t n, const int64_t *values)
{
    uint64_t lane[4] = {hash, ~hash, hash ^ UINT64_C(0x6a09e667f3bcc908), hash ^ UINT64_C(0xbb67ae8584caa73b)};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        lane[0] = espi_mix(lane[0], (uint64_t)values[i]);
        lane[1] = espi_mix(lane[1], (uint64_t)values[i + 1]);
        lane[2] = espi_mix(lane[2], (uint64_t)values[i + 2]);
        lane[3] = espi_mix(lane[3], (uint64_t)values[i + 3]);
    }
    for (; i < n; i++) {
        lane[0] = espi_mix(lane[0], (uint64_t)values[i]);
    }
    return espi_mix(espi_mix(espi_mix(lane[0], lane[1]), lane[2]), lane[3]);
}

static struct espi_node *node_new(struct espi_arena *arena, enum espi_kind kind, int64_t count)
{
    struct espi_node *node = espi_arena_calloc(arena, 1, sizeof *node);
    if (node != NULL) {
        node->kind = kind;
        node->base = ESPI_BASE_NONE;
        node->count = count;
        node->hash = espi_mix(espi_mix(UINT64_C(0x45737061), (uint64_t)kind), (uint64_t)count);
    }
    return node;
}

/* Widens node's bounds by those of a non-empty child whose displacement 0 is moved to `at`. */
static espi_status cover_copy(struct espi_node *node, bool first, int64_t at, const struct espi_node *child)
{
    int64_t lb, ub;
    if (__builtin_add_overflow(at, child->true_lb, &lb) || __builtin_add_overflow(at, child->true_ub, &ub)) {
        return ESPI_ERR_OVERFLOW;
    }
    node->true_lb = first || lb < node->true_lb ? lb : node->true_lb;
    node->true_ub = first || ub > node->true_ub ? ub : node->true_ub;
    return ESPI_OK;
}

/* Widens by `count` > 0 copies at at, at + stride, ...; the outermost two decide. */
static espi_status cover_run(struct espi_node *node, bool first, int64_t at, int64_t count, int64_t stride,
                             const struct espi_node *child)
{
    int64_t last;
    if (__builtin_mul_overflow(count - 1, stride, &last) || __builtin_add_overflow(last, at, &last)) {
        return ESPI_ERR_OVERFLOW;
    }
    espi_status status = cover_copy(node, first, at, child);
    return status == ESPI_OK ? cover_copy(node, false, last, child) : status;
}

/* Entries and size of `copies` of the child. */
static espi_status multiply_entries(struct espi_node *node, int64_t copies, const struct espi_node *child)
{
    if (__builtin_mul_overflow(copies, child->entries, &node->entries) ||
        __builtin_mul_overflow(copies, child->size, &node->size)) {
        return ESPI_ERR_OVERFLOW;
    }
    return ESPI_OK;
}

static espi_status adopt_child(struct espi_node *node, const struct espi_node *child)
{
    node->has_struc = node->has_struc || child->has_struc;
    if (child->depth >= node->depth) {
        node->depth = child->depth + 1;
    }
    node->hash = espi_mix(node->hash, child->hash);
    return node->depth > ESPI_DEPTH_MAX ? ESPI_ERR_UNSUPPORTED : ESPI_OK;
}

espi_status espi_node_leaf(struct espi_arena *arena, espi_base base, const struct espi_node **out)
{
    const struct espi_base_info *info = espi_base_info(base);
    if (info == NULL) {
        return ESPI_ERR_ARGUMENT;
    }
    struct espi_node *node = node_new(arena, ESPI_LEAF, 1);
    if (node == NULL) {
        return ESPI_ERR_MEMORY;
    }
    node->base = base;
    node->entries = 1;
    node->size = info->size;
    node->true_ub = info->extent;
    node->depth = 1;
    node->hash = espi_mix(node->hash, base);
    *out = node;
    return ESPI_OK;
}

espi_status espi_node_vec(struct espi_arena *arena, int64_t count, int64_t stride, const struct espi_node *child,
                          const struct espi_node **out)
{
    if (count < 0 || child == NULL) {
        return ESPI_ERR_ARGUMENT;
    }
    struct espi_node *node = node_new(arena, ESPI_VEC, count);
    if (node == NULL) {
        return ESPI_ERR_MEMORY;
    }
    node->stride = stride;
    node->child = child;
    node->hash = espi_mix(node->hash, (uint64_t)stride);
    espi_status status = adopt_child(node, child);
    if (status == ESPI_OK) {
        status = multiply_entries(node, count, child);
    }
    if (status == ESPI_OK && node->entries > 0) {
        status = cover_run(node, true, 0, count, stride, child);
    }
    *out = status == ESPI_OK ? node : NULL;
    return status;
}

espi_status espi_node_idx(struct espi_arena *arena, int64_t count, const int64_t *disp,
                          const struct espi_node *child, const struct espi_node **out)
{
    if (count < 0 || child == NULL || (count > 0 && disp == NULL)) {
        return ESPI_ERR_ARGUMENT;
    }
    struct espi_node *node = node_new(arena, ESPI_IDX, count);
    if (node == NULL) {
        return ESPI_ERR_MEMORY;
    }
    node->disp = disp;
    node->child = child;
    node->hash = mix_array(node->hash, count, disp);
    espi_status status = adopt_child(node, child);
    if (status == ESPI_OK) {
        status = multiply_entries(node, count, child);
    }
    if (status == ESPI_OK && node->entries > 0) {
        int64_t least = disp[0], most = disp[0];
        for (int64_t i = 1; i < count; i++) {
            least = disp[i] < least ? disp[i] : least;
            most = disp[i] > most ? disp[i] : most;
        }
        status = cover_copy(node, true, least, child);
        if (status == ESPI_OK) {
            status = cover_copy(node, false, most, child);
        }
    }
    *out = status == ESPI_OK ? node : NULL;
    return status;
}

/* Both bucket kinds; bucket j starts at disp[j], or at j * stride1 where disp is NULL. */
static espi_status cover_buckets(struct espi_node *node, int64_t inner)
{
    const struct espi_node *child = node->child;
    int64_t copies = 0, least = 0, most = 0; /* of the copies' places: the outermost two decide */
    bool first = true;
    for (int64_t j = 0; j < node->count; j++) {
        int64_t at;
        if (node->len[j] < 0) {
            return ESPI_ERR_ARGUMENT;
        }
        if (node->len[j] == 0) {
            continue;
        }
        if (__builtin_add_overflow(copies, node->len[j], &copies)) {
            return ESPI_ERR_OVERFLOW;
        }
        if (child->entries == 0) {
            continue;
        }
        if (node->disp != NULL) {
            at = node->disp[j];
        } else if (__builtin_mul_overflow(j, node->stride, &at)) {
            return ESPI_ERR_OVERFLOW;
        }
        int64_t last;
        if (__builtin_mul_overflow(node->len[j] - 1, inner, &last) || __builtin_add_overflow(last, at, &last)) {
            return ESPI_ERR_OVERFLOW;
        }
        int64_t low = at < last ? at : last, high = at < last ? last : at;
        least = first || low < least ? low : least;
        most = first || high > most ? high : most;
        first = false;
    }
    if (!first) {
        espi_status status = cover_copy(node, true, least, child);
        if (status == ESPI_OK) {
            status = cover_copy(node, false, most, child);
        }
        if (status != ESPI_OK) {
            return status;
        }
    }
    return multiply_entries(node, copies, child);
}

espi_status espi_node_idxbuc(struct espi_arena *arena, int64_t count, int64_t stride, const int64_t *disp,
                             const int64_t *len, const struct espi_node *child, const struct espi_node **out)
{
    if (count < 0 || child == NULL || (count > 0 && (disp == NULL || len == NULL))) {
        return ESPI_ERR_ARGUMENT;
    }
    struct espi_node *node = node_new(arena, ESPI_IDXBUC, count);
    if (node == NULL) {
        return ESPI_ERR_MEMORY;
    }
    node->stride = stride;
    node->disp = disp;
    node->len = len;
    node->child = child;
    node->hash = mix_array(mix_array(espi_mix(node->hash, (uint64_t)stride), count, disp), count, len);
    espi_status status = adopt_child(node, child);
    if (status == ESPI_OK) {
        status = cover_buckets(node, stride);
    }
    *out = status == ESPI_OK ? node : NULL;
    return status;
}

espi_status espi_node_bucket(struct espi_arena *arena, int64_t count, int64_t stride1, int64_t stride2,
                             const int64_t *len, const struct espi_node *child, const struct espi_node **out)
{
    if (count < 0 || child == NULL || (count > 0 && len == NULL)) {
        return ESPI_ERR_ARGUMENT;
    }
    struct espi_node *node = node_new(arena, ESPI_BUCKET, count);
    if (node == NULL) {
        return ESPI_ERR_MEMORY;
    }
    node->stride = stride1;
    node->stride2 = stride2;
    node->len = len;
    node->child = child;
    node->hash = mix_array(espi_mix(espi_mix(node->hash, (uint64_t)stride1), (uint64_t)stride2), count, len);
    espi_status status = adopt_child(node, child);
    if (status == ESPI_OK) {
        status = cover_buckets(node, stride2);
    }
    *out = status == ESPI_OK ? node : NULL;
    return status;
}

espi_status espi_node_struc(struct espi_arena *arena, int64_t count, const int64_t *disp,
                            const struct espi_node *const *sub, const struct espi_node **out)
{
    if (count < 0 || (count > 0 && (disp == NULL || sub == NULL))) {
        return ESPI_ERR_ARGUMENT;
    }
    struct espi_node *node = node_new(arena, ESPI_STRUC, count);
    if (node == NULL) {
        return ESPI_ERR_MEMORY;
    }
    node->disp = disp;
    node->sub = sub;
    node->has_struc = true;
    node->depth = 1;
    node->hash = mix_array(node->hash, count, disp);
    espi_status status = ESPI_OK;
    for (int64_t j = 0; j < count && status == ESPI_OK; j++) {
        if (sub[j] == NULL) {
            status = ESPI_ERR_ARGUMENT;
            break;
        }
        status = adopt_child(node, sub[j]);
        if (status == ESPI_OK && sub[j]->entries > 0) {
            status = cover_copy(node, node->entries == 0, disp[j], sub[j]);
            if (__builtin_add_overflow(node->entries, sub[j]->entries, &node->entries) ||
                __builtin_add_overflow(node->size, sub[j]->size, &node->size)) {
                status = ESPI_ERR_OVERFLOW;
            }
        }
    }
    *out = status == ESPI_OK ? node : NULL;
    return status;
}
