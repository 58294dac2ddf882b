/*
 * The shared tree by reconstruction of one map of numbers. A pair (a, b) is written as f(a, b) = a + K b. f is
 * linear, so a tree over pairs is a tree over these numbers, and strides and displacements of the one are those of
 * the other. Reconstruction compares differences of displacements (and sums of two); with |a| <= A for every
 * displacement and difference in `from` and K > 4 A, such values are equal exactly when both parts of the pairs are:
 * a nonzero a - a' = K (b' - b) would have to be at least K, but |a - a'| <= 3 A. So the least cost over numbers is
 * the least cost over pairs, and each stride and displacement s of the tree is read back as the a with |a| <= A and s
 * - a a multiple of K. Strided buckets compare multiples of a stride as well: there A is taken n times as large.
 */
#include "transpack/transpack.h"

#include <stdlib.h>
#include <string.h>

#include "layout/memo.h"
#include "reconstruct/parts.h"
#include "transpack/pair_code.h"

struct reader {
    struct espi_arena *arena;
    const struct espi_pair_code *code;
    struct espi_memo known; /* both sides of a node */
};

struct espi_costs espi_transpack_costs(const struct espi_costs *costs)
{
    struct espi_costs pair = *costs;
    pair.vec++;
    pair.idx_each++;
    pair.idxbuc++;
    pair.idxbuc_each++;
    pair.struc_each++;
    pair.bucket += 2;
    return pair;
}

uint64_t espi_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ESPI_ERR_LIMIT when the distances are too large. */
static espi_status measure_map(struct espi_pair_side *side, const struct espi_typemap *map, bool from_first)
{
    const int64_t far = INT64_C(1) << 60;
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    uint64_t unit = 0;
    *side = (struct espi_pair_side){.map = map, .origin = from_first ? map->disp[0] : 0};
    for (size_t i = 0; i < map->n; i++) {
        int64_t d;
        if (__builtin_sub_overflow(map->disp[i], side->origin, &d) || d > far || d < -far) {
            return ESPI_ERR_LIMIT;
        }
        lo = d < lo ? d : lo;
        hi = d > hi ? d : hi;
        unit = espi_common_divisor(unit, (uint64_t)(d < 0 ? -d : d));
    }
    side->unit = unit == 0 ? 1 : (int64_t)unit;
    side->reach = (hi > 0 ? hi : 0) - (lo < 0 ? lo : 0); /* at most 2^61; differences and values lie within it */
    side->reach /= side->unit;
    return ESPI_OK;
}

static espi_status encode_maps(struct espi_pair_code *code, const struct espi_typemap *from,
                               const struct espi_typemap *onto, bool from_first, enum espi_set set,
                               struct espi_typemap *coded)
{
    int64_t wide, all;
    espi_status status = measure_map(&code->from, from, from_first);
    if (status == ESPI_OK) {
        status = measure_map(&code->onto, onto, from_first);
    }
    if (status != ESPI_OK) {
        return status;
    }
    if (__builtin_mul_overflow(code->from.reach, set == ESPI_SET_EXTENDED ? 4 * (int64_t)from->n : 4, &wide) ||
        __builtin_add_overflow(wide, 1, &code->factor) ||
        __builtin_mul_overflow(code->factor, code->onto.reach + 1, &all) || all >= INT64_C(1) << 61) {
        return ESPI_ERR_LIMIT;
    }
    status = espi_typemap_reserve(coded, from->n);
    for (size_t i = 0; i < from->n && status == ESPI_OK; i++) {
        int64_t a = (from->disp[i] - code->from.origin) / code->from.unit;
        int64_t b = (onto->disp[i] - code->onto.origin) / code->onto.unit;
        status = espi_typemap_append(coded, from->base[i], a + code->factor * b);
    }
    return status;
}

static void decode_pair(const struct espi_pair_code *code, int64_t value, int64_t *from, int64_t *onto)
{
    int64_t a = value % code->factor;
    if (a > code->factor / 2) {
        a -= code->factor;
    } else if (a < -(code->factor / 2)) {
        a += code->factor;
    }
    *from = (int64_t)((uint64_t)a * (uint64_t)code->from.unit);
    *onto = (int64_t)((uint64_t)((value - a) / code->factor) * (uint64_t)code->onto.unit);
}

static espi_status decode_array(struct reader *r, int64_t n, const int64_t *values, int64_t **from, int64_t **onto)
{
    *from = espi_arena_calloc(r->arena, (size_t)n, sizeof **from);
    *onto = espi_arena_calloc(r->arena, (size_t)n, sizeof **onto);
    if (*from == NULL || *onto == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        decode_pair(r->code, values[i], &(*from)[i], &(*onto)[i]);
    }
    return ESPI_OK;
}

static espi_status read_node(struct reader *r, const struct espi_node *coded, const struct espi_node **from,
                             const struct espi_node **onto);

static espi_status read_struc(struct reader *r, const struct espi_node *coded, const struct espi_node **from,
                              const struct espi_node **onto)
{
    int64_t *disp_from, *disp_onto;
    const struct espi_node **sub_from = espi_arena_calloc(r->arena, (size_t)coded->count, sizeof *sub_from);
    const struct espi_node **sub_onto = espi_arena_calloc(r->arena, (size_t)coded->count, sizeof *sub_onto);
    espi_status status = decode_array(r, coded->count, coded->disp, &disp_from, &disp_onto);
    if (sub_from == NULL || sub_onto == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (int64_t j = 0; j < coded->count && status == ESPI_OK; j++) {
        if (j > 0 && coded->sub[j] == coded->sub[j - 1]) {
            sub_from[j] = sub_from[j - 1];
            sub_onto[j] = sub_onto[j - 1];
        } else {
            status = read_node(r, coded->sub[j], &sub_from[j], &sub_onto[j]);
        }
    }
    if (status == ESPI_OK) {
        status = espi_node_struc(r->arena, coded->count, disp_from, sub_from, from);
    }
    return status == ESPI_OK ? espi_node_struc(r->arena, coded->count, disp_onto, sub_onto, onto) : status;
}

/* Every kind but leaf and struc. */
static espi_status read_copies(struct reader *r, const struct espi_node *coded, const struct espi_node **from,
                               const struct espi_node **onto)
{
    const struct espi_node *child[2], **out[2] = {from, onto};
    int64_t stride[2], stride2[2], *disp[2] = {NULL, NULL};
    espi_status status = read_node(r, coded->child, &child[0], &child[1]);
    decode_pair(r->code, coded->stride, &stride[0], &stride[1]);
    decode_pair(r->code, coded->stride2, &stride2[0], &stride2[1]);
    if (status == ESPI_OK && coded->disp != NULL) {
        status = decode_array(r, coded->count, coded->disp, &disp[0], &disp[1]);
    }
    for (int s = 0; s < 2 && status == ESPI_OK; s++) {
        switch (coded->kind) {
        case ESPI_VEC:
            status = espi_node_vec(r->arena, coded->count, stride[s], child[s], out[s]);
            break;
        case ESPI_IDX:
            status = espi_node_idx(r->arena, coded->count, disp[s], child[s], out[s]);
            break;
        case ESPI_IDXBUC:
            status = espi_node_idxbuc(r->arena, coded->count, stride[s], disp[s], coded->len, child[s], out[s]);
            break;
        default:
            status = espi_node_bucket(r->arena, coded->count, stride[s], stride2[s], coded->len, child[s], out[s]);
            break;
        }
    }
    return status;
}

static espi_status read_node(struct reader *r, const struct espi_node *coded, const struct espi_node **from,
                             const struct espi_node **onto)
{
    struct espi_memo_slot *known = espi_memo_find(&r->known, coded);
    espi_status status;
    if (known != NULL) {
        *from = known->pair[0];
        *onto = known->pair[1];
        return ESPI_OK;
    }
    if (coded->kind == ESPI_LEAF) {
        *from = *onto = coded;
        status = ESPI_OK;
    } else if (coded->kind == ESPI_STRUC) {
        status = read_struc(r, coded, from, onto);
    } else {
        status = read_copies(r, coded, from, onto);
    }
    if (status != ESPI_OK) {
        return status;
    }
    known = espi_memo_add(&r->known, coded);
    if (known == NULL) {
        return ESPI_ERR_MEMORY;
    }
    known->pair[0] = *from;
    known->pair[1] = *onto;
    return ESPI_OK;
}

espi_status espi_pair_read(struct espi_arena *arena, const struct espi_pair_code *code, const struct espi_node *coded,
                           const struct espi_node **from, const struct espi_node **onto)
{
    struct reader reader = {.arena = arena, .code = code};
    espi_status status = read_node(&reader, coded, from, onto);
    espi_memo_release(&reader.known);
    return status;
}

/* The tree under a list of one, where it does not start at its origin. */
static espi_status displace_tree(struct espi_arena *arena, int64_t by, const struct espi_node **node)
{
    int64_t *disp = espi_arena_calloc(arena, 1, sizeof *disp);
    if (disp == NULL) {
        return ESPI_ERR_MEMORY;
    }
    disp[0] = by;
    return espi_node_idx(arena, 1, disp, *node, node);
}

static espi_status has_map(const struct espi_node *node, const struct espi_typemap *map, bool *same)
{
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    espi_status status = (uint64_t)node->entries == map->n ? espi_flatten(node, 0, map->n, &again) : ESPI_ERR_LIMIT;
    *same = status == ESPI_OK && espi_typemap_equal(map, &again);
    espi_typemap_release(&again);
    return status == ESPI_ERR_MEMORY ? status : ESPI_OK;
}

/* By one map of numbers, from 0 or from the first entry. ESPI_ERR_LIMIT when the pairs do not fit. */
static espi_status by_numbers(struct espi_arena *arena, const struct espi_typemap *from,
                              const struct espi_typemap *onto, bool from_first,
                              const struct espi_reconstruct_options *options, struct espi_transpacking *out)
{
    struct espi_pair_code code;
    struct espi_typemap coded = ESPI_TYPEMAP_INIT;
    struct espi_reconstruction result;
    bool moved = false, right = false;
    espi_status status = encode_maps(&code, from, onto, from_first, options->set, &coded);
    if (status == ESPI_OK) {
        status = espi_reconstruct(arena, &coded, NULL, options, &result);
    }
    if (status == ESPI_OK) {
        status = espi_pair_read(arena, &code, result.tree, &out->from, &out->onto);
    }
    if (status == ESPI_OK && from_first && (from->disp[0] != 0 || onto->disp[0] != 0)) {
        moved = true;
        status = displace_tree(arena, from->disp[0], &out->from);
        if (status == ESPI_OK) {
            status = displace_tree(arena, onto->disp[0], &out->onto);
        }
    }
    if (status == ESPI_OK) {
        status = has_map(out->from, from, &right);
        if (status == ESPI_OK && right) {
            status = has_map(out->onto, onto, &right);
        }
        if (status == ESPI_OK && !right) {
            status = ESPI_ERR_LIMIT;
        }
    }
    if (status == ESPI_OK) {
        /* A tree that starts elsewhere costs no less than one that starts at 0 (Lemma 7). */
        out->cost = result.cost + (moved ? options->costs.idx + options->costs.idx_each : 0);
        out->lower_bound = result.lower_bound;
        out->exact = out->cost == out->lower_bound;
    }
    espi_typemap_release(&coded);
    return status;
}

espi_status espi_transpack(struct espi_arena *arena, const struct espi_typemap *from, const struct espi_typemap *onto,
                           const struct espi_reconstruct_options *options, struct espi_transpacking *out)
{
    struct espi_reconstruct_options pair = *options;
    struct espi_transpacking lists;
    *out = (struct espi_transpacking){0};
    if (from->n != onto->n || (from->n > 0 && memcmp(from->base, onto->base, from->n * sizeof *from->base) != 0)) {
        return ESPI_ERR_ARGUMENT;
    }
    pair.costs = espi_transpack_costs(&options->costs);
    if (!espi_costs_valid(&options->costs) || !espi_costs_valid(&pair.costs)) {
        return ESPI_ERR_ARGUMENT;
    }
    if (from->n == 0) {
        struct espi_reconstruction result;
        espi_status status = espi_reconstruct(arena, from, NULL, &pair, &result);
        *out = (struct espi_transpacking){result.tree, result.tree, result.cost, result.lower_bound, result.exact};
        return status;
    }
    espi_status status = by_numbers(arena, from, onto, false, &pair, out);
    if (status == ESPI_ERR_LIMIT) {
        status = by_numbers(arena, from, onto, true, &pair, out);
    }
    if (status != ESPI_ERR_LIMIT && (status != ESPI_OK || out->exact)) {
        return status;
    }
    /* One entry that is not at 0 is exact by then, and lists of more have one shape for one signature. */
    bool none = status != ESPI_OK;
    status = espi_plain_list(arena, from, &pair, &lists.from);
    if (status == ESPI_OK) {
        status = espi_plain_list(arena, onto, &pair, &lists.onto);
    }
    if (status != ESPI_OK) {
        return status;
    }
    lists.cost = espi_cost(lists.from, &pair.costs);
    lists.lower_bound = none ? espi_lower_bound(from, &pair) : out->lower_bound;
    lists.exact = lists.cost == lists.lower_bound;
    if (none || lists.cost < out->cost) {
        *out = lists;
    }
    return ESPI_OK;
}
