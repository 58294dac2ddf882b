/*
 * Transpacking of trees. Zipped, the two have one shape; a third tree of that shape, over the numbers a + K b (see
 * transpack.c), is normalized, which makes it one of least cost, and is read back as two.
 */
#include "reconstruct/parts.h"
#include "transpack/transpack.h"
#include "transpack/pair_code.h"
#include "transpack/zip.h"

enum { MADE_MOST = 1 << 20 };

/* ---- the largest number of a tree, and the common divisor of all ---- */

static void take_number(struct espi_pair_side *side, int64_t number)
{
    uint64_t far = number < 0 ? -(uint64_t)number : (uint64_t)number;
    side->unit = (int64_t)espi_common_divisor((uint64_t)side->unit, far > INT64_MAX ? 1 : far);
    side->reach = far > INT64_MAX ? INT64_MAX : (int64_t)far > side->reach ? (int64_t)far : side->reach;
}

/* Of every node also how far it reaches: displacements of nodes and of those above them may cancel. */
static void survey_tree(struct espi_pair_side *side, const struct espi_node *node)
{
    int64_t reach;
    if (__builtin_sub_overflow(node->true_ub > 0 ? node->true_ub : 0, node->true_lb < 0 ? node->true_lb : 0, &reach))
        reach = INT64_MAX;
    side->reach = reach > side->reach ? reach : side->reach;
    if (node->kind == ESPI_LEAF)
        return;
    if (node->stride != 0 || node->stride2 != 0) {
        if (__builtin_mul_overflow(node->stride, node->count, &reach))
            reach = INT64_MAX;
        take_number(side, node->stride);
        take_number(side, node->stride2);
        if (node->kind == ESPI_VEC && reach != INT64_MAX)
            take_number(side, reach);
    }
    for (int64_t j = 0; j < node->count && node->disp != NULL; j++)
        take_number(side, node->disp[j]);
    if (node->kind != ESPI_STRUC)
        survey_tree(side, node->child);
    for (int64_t j = 0; j < node->count && node->kind == ESPI_STRUC; j++)
        if (j == 0 || node->sub[j] != node->sub[j - 1])
            survey_tree(side, node->sub[j]);
}

static espi_status measure_tree(struct espi_pair_side *side, const struct espi_node *node)
{
    *side = (struct espi_pair_side){0};
    survey_tree(side, node);
    if (side->reach == INT64_MAX)
        return ESPI_ERR_LIMIT;
    side->unit = side->unit == 0 ? 1 : side->unit;
    side->reach = side->reach / side->unit + 1;
    return ESPI_OK;
}

/* ---- the tree of coded numbers ---- */

static int64_t code_pair(const struct espi_pair_code *code, int64_t from, int64_t onto)
{
    return from / code->from.unit + code->factor * (onto / code->onto.unit);
}

static espi_status coded_array(struct espi_arena *arena, const struct espi_pair_code *code, int64_t n,
                               const int64_t *from, const int64_t *onto, const int64_t **out)
{
    int64_t *made = espi_arena_calloc(arena, (size_t)n, sizeof *made);
    if (made == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0; j < n; j++)
        made[j] = code_pair(code, from[j], onto[j]);
    *out = made;
    return ESPI_OK;
}

/* What zip makes: leaf, vec, idx and struc. */
static espi_status encode_tree(struct espi_arena *arena, const struct espi_pair_code *code,
                               const struct espi_node *from, const struct espi_node *onto,
                               const struct espi_node **out)
{
    const struct espi_node *child = NULL, **sub;
    const int64_t *disp = NULL;
    espi_status status = ESPI_OK;

    if (from->kind == ESPI_LEAF) {
        /* Coded numbers count units, in which an entry has no extent; only its name matters. */
        *out = from;
        return ESPI_OK;
    }
    if (from->disp != NULL)
        status = coded_array(arena, code, from->count, from->disp, onto->disp, &disp);
    if (status == ESPI_OK && from->kind != ESPI_STRUC)
        status = encode_tree(arena, code, from->child, onto->child, &child);
    if (status != ESPI_OK)
        return status;
    if (from->kind == ESPI_VEC)
        return espi_node_vec(arena, from->count, code_pair(code, from->stride, onto->stride), child, out);
    if (from->kind == ESPI_IDX)
        return espi_node_idx(arena, from->count, disp, child, out);
    sub = espi_arena_calloc(arena, (size_t)from->count, sizeof *sub);
    if (sub == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0; j < from->count && status == ESPI_OK; j++) {
        if (j > 0 && from->sub[j] == from->sub[j - 1] && onto->sub[j] == onto->sub[j - 1])
            sub[j] = sub[j - 1];
        else
            status = encode_tree(arena, code, from->sub[j], onto->sub[j], &sub[j]);
    }
    return status == ESPI_OK ? espi_node_struc(arena, from->count, disp, sub, out) : status;
}

/* ESPI_ERR_LIMIT when the numbers do not fit or the result is not what it should be. */
static espi_status least_tree(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                              const struct espi_reconstruct_options *options, struct espi_transpacking *out)
{
    struct espi_pair_code code;
    struct espi_reconstruction result;
    const struct espi_node *tree;
    int64_t wide, all;
    espi_status status = measure_tree(&code.from, from);

    if (status == ESPI_OK)
        status = measure_tree(&code.onto, onto);
    if (status != ESPI_OK)
        return status;
    if (__builtin_mul_overflow(code.from.reach, options->set == ESPI_SET_EXTENDED ? 4 * from->entries : 4, &wide) ||
        __builtin_add_overflow(wide, 1, &code.factor) ||
        __builtin_mul_overflow(code.factor, code.onto.reach + 1, &all) || all >= INT64_C(1) << 61)
        return ESPI_ERR_LIMIT;
    status = encode_tree(arena, &code, from, onto, &tree);
    if (status == ESPI_OK)
        status = espi_normalize(arena, tree, options, &result);
    if (status == ESPI_OK)
        status = espi_pair_read(arena, &code, result.tree, &out->from, &out->onto);
    if (status != ESPI_OK)
        return status;
    if (!espi_node_same_map(out->from, from) || !espi_node_same_map(out->onto, onto))
        return ESPI_ERR_LIMIT;
    out->cost = result.cost;
    out->lower_bound = result.lower_bound;
    out->exact = result.exact;
    return ESPI_OK;
}

static espi_status transpack_flat(struct espi_arena *arena, const struct espi_node *from,
                                  const struct espi_node *onto, const struct espi_reconstruct_options *options,
                                  size_t limit, struct espi_transpacking *out)
{
    struct espi_typemap map[2] = {ESPI_TYPEMAP_INIT, ESPI_TYPEMAP_INIT};
    espi_status status = espi_flatten(from, 0, limit, &map[0]);
    if (status == ESPI_OK)
        status = espi_flatten(onto, 0, limit, &map[1]);
    if (status == ESPI_OK)
        status = espi_transpack(arena, &map[0], &map[1], options, out);
    espi_typemap_release(&map[0]);
    espi_typemap_release(&map[1]);
    return status;
}

espi_status espi_transpack_trees(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                                 const struct espi_reconstruct_options *options, size_t flatten_limit,
                                 struct espi_transpacking *out)
{
    struct espi_reconstruct_options pair = *options;
    struct espi_transpacking zipped = {0};
    espi_status status;

    *out = (struct espi_transpacking){0};
    pair.costs = espi_transpack_costs(&options->costs);
    if (!espi_costs_valid(&options->costs) || !espi_costs_valid(&pair.costs) || from->entries != onto->entries)
        return ESPI_ERR_ARGUMENT;
    status = espi_zip(arena, from, onto, MADE_MOST, &zipped.from, &zipped.onto);
    if (status == ESPI_ERR_LIMIT || status == ESPI_ERR_OVERFLOW)
        return transpack_flat(arena, from, onto, options, flatten_limit, out);
    if (status != ESPI_OK)
        return status;
    zipped.cost = espi_cost(zipped.from, &pair.costs);
    zipped.lower_bound = espi_tree_lower_bound(zipped.from, &pair);
    status = least_tree(arena, zipped.from, zipped.onto, &pair, out);
    if (status == ESPI_ERR_MEMORY)
        return status;
    if (status != ESPI_OK || out->cost > zipped.cost)
        *out = zipped;
    out->exact = out->cost == out->lower_bound;
    return ESPI_OK;
}
