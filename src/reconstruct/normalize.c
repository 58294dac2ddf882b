/*
 * Tree to least-cost tree without flattening what is too large for that. Every node is replaced, from below, by a
 * tree of the same type map that costs no more:
 *   - few entries: flattened and reconstructed exactly;
 *   - else the nodes on the way down are unfolded over the tree below them, taken as one symbol, as far as the number
 *     of copies allows, and that short sequence is reconstructed exactly; the best of these cuts is kept;
 *   - else by rules on one node and its child (count 1, vec of vec, vec of a one-entry list, lists at one stride), or
 *     its parts (structs of equal parts, or of runs of one thing at one stride).
 * Time is proportional to the tree's own size, not to its type map.
 */
#include <stdlib.h>
#include <string.h>

#include "reconstruct/normalize.h"
#include "reconstruct/reconstruct.h"

enum { FEW = 256 };
/* Parts that structs in structs may dissolve into in all: where parts are shared that is not bounded by the tree. */
enum { DISSOLVED_MOST = 1 << 21 };

/* Bytes that normal forms may take, and for each word of the input: each level of lists copies that below. */
enum { BYTES_LEAST = 16 << 20, BYTES_A_WORD = 128 };

/* The displacements of the direct copies of the child of a repetition node, in order; at most `limit`. */
static int64_t *copy_places(struct espi_normalizer *z, const struct espi_node *node, int64_t limit, int64_t *n)
{
    int64_t total = 0, at = 0;
    if (node->kind == ESPI_VEC || node->kind == ESPI_IDX) {
        total = node->count;
    } else {
        for (int64_t j = 0; j < node->count && total <= limit; j++) {
            if (__builtin_add_overflow(total, node->len[j], &total)) {
                total = INT64_MAX;
            }
        }
    }
    if (total > limit) {
        return NULL;
    }
    int64_t *disp = espi_normalizer_array(z, total);
    *n = total;
    for (int64_t j = 0; disp != NULL && j < node->count; j++) {
        if (node->kind == ESPI_VEC || node->kind == ESPI_IDX) {
            disp[at++] = node->kind == ESPI_VEC ? j * node->stride : node->disp[j];
        } else {
            for (int64_t k = 0; k < node->len[j]; k++) {
                disp[at++] = node->kind == ESPI_IDXBUC ? espi_sum(node->disp[j], k * node->stride)
                                                       : espi_sum(j * node->stride, k * node->stride2);
            }
        }
    }
    return disp;
}

/* The copies of what stands below `inner`, in outer copies of inner copies. */
static int64_t *product_places(struct espi_normalizer *z, const int64_t *outer, int64_t n,
                               const struct espi_node *inner, int64_t *total)
{
    int64_t m, *each = copy_places(z, inner, n == 0 ? 0 : FEW / n, &m), *all;
    if (each == NULL || (all = espi_normalizer_array(z, n * m)) == NULL) {
        return NULL;
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < m; k++) {
            all[j * m + k] = espi_sum(outer[j], each[k]);
        }
    }
    *total = n * m;
    return all;
}

static espi_status normal_form(struct espi_normalizer *z, const struct espi_node *node, const struct espi_node **out);

static espi_status normal_repetition(struct espi_normalizer *z, const struct espi_node *node,
                                     const struct espi_node **out)
{
    const struct espi_node *child, *below, *best = NULL, *tree;
    int64_t n = 0, m, d, *all = copy_places(z, node, FEW, &n), *at = NULL;
    espi_status status = normal_form(z, node->child, &child);
    if (status == ESPI_OK) {
        status = espi_strip_shift(z, child, &below, &d);
    }
    if (status != ESPI_OK) {
        return status;
    }
    if (node->kind == ESPI_IDX || node->kind == ESPI_IDXBUC) { /* the child's displacement moves into the list */
        at = espi_normalizer_array(z, node->count);
        if (at == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (int64_t j = 0; j < node->count; j++) {
            at[j] = espi_sum(node->disp[j], d);
        }
        child = below;
    }
    switch (node->kind) {
    case ESPI_VEC:
        status = espi_node_vec(z->arena, node->count, node->stride, child, &best);
        if (status == ESPI_OK) {
            status = espi_simplify_vec(z, node->count, node->stride, child, &best);
        }
        break;
    case ESPI_IDX:
        status = espi_node_idx(z->arena, node->count, at, child, &best);
        if (status == ESPI_OK) {
            status = espi_simplify_list(z, node->count, at, child, &best);
        }
        break;
    case ESPI_IDXBUC:
        status = espi_node_idxbuc(z->arena, node->count, node->stride, at, node->len, child, &best);
        break;
    default:
        status = espi_node_bucket(z->arena, node->count, node->stride, node->stride2, node->len, child, &best);
        break;
    }
    /* Cuts: this node alone over its child, then with the next node unfolded as well, and so on. */
    for (int64_t k = 0; all != NULL && k < n; k++) {
        all[k] = espi_sum(all[k], d);
    }
    while (status == ESPI_OK && all != NULL && n > 0 && espi_reconstruct_clock() < z->end) {
        const struct espi_node **symbol = espi_arena_calloc(z->arena, (size_t)n, sizeof *symbol);
        if (symbol == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (int64_t k = 0; k < n; k++) {
            symbol[k] = below;
        }
        status = espi_solve_symbols(z->arena, (size_t)n, all, symbol, z->options, &tree);
        if (status == ESPI_OK) {
            espi_keep_cheaper(z, &best, tree);
        } else if (status == ESPI_ERR_LIMIT) {
            status = ESPI_OK;
        }
        if (below->kind == ESPI_LEAF || below->kind == ESPI_STRUC) {
            break;
        }
        all = product_places(z, all, n, below, &m);
        n = m;
        below = below->child;
    }
    *out = best;
    return status;
}

static espi_status normal_struc(struct espi_normalizer *z, const struct espi_node *node, const struct espi_node **out)
{
    int64_t total = 0, at = 0;
    const struct espi_node *best, *tree;
    espi_status status;
    const struct espi_node **child = espi_arena_calloc(z->arena, (size_t)node->count, sizeof *child);
    if (child == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (int64_t j = 0; j < node->count; j++) {
        if (j > 0 && node->sub[j] == node->sub[j - 1]) {
            child[j] = child[j - 1];
        } else if ((status = normal_form(z, node->sub[j], &child[j])) != ESPI_OK) {
            return status;
        }
        total += child[j]->entries == 0 ? 0 : child[j]->kind == ESPI_STRUC ? child[j]->count : 1;
        z->dissolved += child[j]->kind == ESPI_STRUC ? child[j]->count : 0;
        if (total > INT32_MAX || z->dissolved > DISSOLVED_MOST) {
            return ESPI_ERR_LIMIT;
        }
    }
    /* A struc in a struc dissolves; empty children vanish. */
    const struct espi_node **sub = espi_arena_calloc(z->arena, (size_t)total, sizeof *sub);
    int64_t *disp = espi_normalizer_array(z, total);
    if (sub == NULL || disp == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (int64_t j = 0; j < node->count; j++) {
        bool nested = child[j]->kind == ESPI_STRUC;
        for (int64_t k = 0; k < (nested ? child[j]->count : 1) && child[j]->entries > 0; k++) {
            int64_t d;
            if ((status = espi_strip_shift(z, nested ? child[j]->sub[k] : child[j], &sub[at], &d)) != ESPI_OK) {
                return status;
            }
            disp[at++] = espi_sum(espi_sum(node->disp[j], d), nested ? child[j]->disp[k] : 0);
        }
    }
    status = espi_node_struc(z->arena, total, disp, sub, &best);
    if (status == ESPI_OK && total == 1) {
        status = espi_displace(z, sub[0], disp[0], &tree);
        if (status == ESPI_OK) {
            espi_keep_cheaper(z, &best, tree);
        }
    } else if (status == ESPI_OK && total > 1) {
        status = espi_simplify_struc(z, total, disp, sub, &best);
    }
    if (status == ESPI_OK && total > 1 && (uint64_t)total <= z->options->exact_limit &&
        espi_reconstruct_clock() < z->end) {
        status = espi_solve_symbols(z->arena, (size_t)total, disp, sub, z->options, &tree);
        if (status == ESPI_OK) {
            espi_keep_cheaper(z, &best, tree);
        } else if (status == ESPI_ERR_LIMIT) {
            status = ESPI_OK;
        }
    }
    *out = best;
    return status;
}

static espi_status normal_form(struct espi_normalizer *z, const struct espi_node *node, const struct espi_node **out)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_reconstruction small;
    espi_status status = ESPI_OK;
    if (node->kind == ESPI_LEAF) {
        *out = node;
        return ESPI_OK;
    }
    if (node->entries == 0) {
        return espi_node_struc(z->arena, 0, NULL, NULL, out);
    }
    struct espi_memo_slot *known = espi_memo_find(&z->memo, node);
    if (known != NULL) {
        *out = known->same;
        return ESPI_OK;
    }
    if (node->entries <= FEW && espi_reconstruct_clock() < z->end) {
        status = espi_flatten(node, 0, FEW, &map);
        if (status == ESPI_OK) {
            status = espi_reconstruct(z->arena, &map, NULL, z->options, &small);
            *out = small.tree;
        }
    } else {
        const struct espi_node *same;
        status = espi_into_set(z, node, &same);
        if (status == ESPI_OK) {
            status = same->kind == ESPI_STRUC ? normal_struc(z, same, out) : normal_repetition(z, same, out);
        }
    }
    espi_typemap_release(&map);
    known = status == ESPI_OK ? espi_memo_add(&z->memo, node) : NULL;
    if (known != NULL) { /* without memory for it the work is done again */
        known->same = *out;
    }
    return status == ESPI_OK && z->arena->bytes > z->most ? ESPI_ERR_LIMIT : status;
}

/* Shared parts count wherever they occur: of very many words there is no bound. */
static size_t most_bytes(const struct espi_arena *arena, const struct espi_node *input)
{
    const int64_t words = espi_cost(input, &espi_costs_default);

    return words > INT32_MAX ? SIZE_MAX : arena->bytes + BYTES_LEAST + (size_t)words * BYTES_A_WORD;
}

/* How many entries may be flattened: about a microsecond each for flattening and near-linear reconstruction. */
static size_t flatten_limit(const struct espi_reconstruct_options *options)
{
    size_t limit = options->budget_ns == 0 ? (size_t)1 << 18 : (size_t)(options->budget_ns / 2000);
    return limit > options->exact_limit ? limit : options->exact_limit;
}

espi_status espi_normalize(struct espi_arena *arena, const struct espi_node *input,
                           const struct espi_reconstruct_options *options, struct espi_reconstruction *out)
{
    uint64_t start = espi_reconstruct_clock();
    uint64_t budget = options->budget_ns > 0 ? options->budget_ns : 1000000000;
    struct espi_normalizer z = {.arena = arena, .options = options, .end = start + budget};
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    const struct espi_node *tree = NULL;
    espi_status status = ESPI_OK;
    *out = (struct espi_reconstruction){0};
    if (!espi_costs_valid(&options->costs)) {
        return ESPI_ERR_ARGUMENT;
    }
    bool small = (uint64_t)input->entries <= options->exact_limit;
    if (!small) {
        z.most = most_bytes(arena, input);
        status = normal_form(&z, input, &tree);
        espi_memo_release(&z.memo);
        if (status == ESPI_ERR_OVERFLOW || status == ESPI_ERR_LIMIT || status == ESPI_ERR_UNSUPPORTED) {
            tree = NULL; /* displacements at the ends of the address space, or too deep: the input stays */
            status = ESPI_OK;
        }
        if (status != ESPI_OK) {
            return status;
        }
        if (espi_tree_in_set(input, options->set) &&
            (tree == NULL || espi_cost(input, &options->costs) <= espi_cost(tree, &options->costs))) {
            status = espi_node_copy(arena, input, &tree);
        } else if (tree == NULL) {
            return ESPI_ERR_UNSUPPORTED;
        } else {
            status = espi_node_copy(arena, tree, &tree); /* parts of the input may still be in it */
        }
        if (status != ESPI_OK) {
            return status;
        }
        out->tree = tree;
        out->cost = espi_cost(tree, &options->costs);
        out->lower_bound = espi_tree_lower_bound(tree, options);
        out->exact = out->cost == out->lower_bound;
    }
    /* A chain of vec nodes over a leaf is not improved by its type map, whatever its length. */
    for (const struct espi_node *v = tree; v != NULL && !small; v = v->child) {
        if (v->kind == ESPI_LEAF) {
            out->elapsed_ns = espi_reconstruct_clock() - start;
            return ESPI_OK;
        }
        if (v->kind != ESPI_VEC) {
            break;
        }
    }
    if (small || (!out->exact && (uint64_t)input->entries <= flatten_limit(options))) {
        struct espi_reconstruction flat;
        status = espi_flatten(input, 0, (size_t)input->entries, &map);
        if (status == ESPI_OK) {
            status = espi_reconstruct(arena, &map, small ? input : tree, options, &flat);
        }
        if (status == ESPI_OK && (small || flat.exact || flat.cost < out->cost)) {
            *out = flat;
        } else if (!small) {
            status = ESPI_OK; /* no memory for the map, say: the normalized tree stands */
        }
        espi_typemap_release(&map);
    }
    if (status == ESPI_OK && espi_tree_in_set(input, options->set) && espi_cost(input, &options->costs) < out->cost) {
        status = espi_node_copy(arena, input, &out->tree); /* no entries and odd costs, or empty buckets */
        out->cost = espi_cost(input, &options->costs);
        /* The exact one is for buckets that hold something. */
        out->lower_bound = espi_tree_lower_bound(input, options);
        out->exact = out->cost == out->lower_bound;
    }
    out->elapsed_ns = espi_reconstruct_clock() - start;
    return status;
}
