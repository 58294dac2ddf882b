/* Bounds on every answer: the plain list, which none is to be worse than, and the least that a tree can cost. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "layout/memo.h"
#include "reconstruct/parts.h"

/* The entries [i, e) of one base type as a leaf or a list. */
static espi_status list_entries(struct espi_arena *arena, const struct espi_typemap *map, size_t i, size_t e,
                                int64_t origin, const struct espi_node **out)
{
    const struct espi_node *leaf;
    espi_status status = espi_node_leaf(arena, map->base[i], &leaf);
    if (status != ESPI_OK || (e == i + 1 && map->disp[i] == origin)) {
        *out = leaf;
        return status;
    }
    int64_t *disp = espi_arena_alloc(arena, (e - i) * sizeof *disp);
    if (disp == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (size_t k = i; k < e; k++) {
        disp[k - i] = map->disp[k] - origin;
    }
    return espi_node_idx(arena, (int64_t)(e - i), disp, leaf, out);
}

espi_status espi_plain_list(struct espi_arena *arena, const struct espi_typemap *map,
                            const struct espi_reconstruct_options *options, const struct espi_node **out)
{
    size_t children = 0, at = 0;
    (void)options;
    for (size_t i = 0; i < map->n; i++) {
        children += i == 0 || map->base[i] != map->base[i - 1];
    }
    if (children == 1) {
        return list_entries(arena, map, 0, map->n, 0, out);
    }
    int64_t *disp = espi_arena_calloc(arena, children, sizeof *disp);
    const struct espi_node **sub = espi_arena_calloc(arena, children, sizeof *sub);
    if (disp == NULL || sub == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (size_t i = 0, e; i < map->n; i = e, at++) {
        for (e = i + 1; e < map->n && map->base[e] == map->base[i]; e++) {
        }
        /* A leaf stands at its displacement; a list keeps its own, so that no difference can overflow. */
        disp[at] = e == i + 1 ? map->disp[i] : 0;
        espi_status status = list_entries(arena, map, i, e, disp[at], &sub[at]);
        if (status != ESPI_OK) {
            return status;
        }
    }
    return espi_node_struc(arena, (int64_t)children, disp, sub, out);
}

struct bases {
    int64_t kinds;
    uint64_t seen[(UINT16_MAX + 1) / 64];
};

static void see_base(struct bases *bases, espi_base base)
{
    uint64_t bit = UINT64_C(1) << (base % 64);
    bases->kinds += (bases->seen[base / 64] & bit) == 0;
    bases->seen[base / 64] |= bit;
}

static void see_tree(struct bases *bases, const struct espi_node *node, struct espi_memo *memo)
{
    while (node->entries > 0 && node->kind != ESPI_LEAF && node->kind != ESPI_STRUC) {
        node = node->child;
    }
    if (node->entries > 0 && node->kind == ESPI_LEAF) {
        see_base(bases, node->base);
    }
    if (node->kind == ESPI_STRUC && espi_memo_wanted(memo)) {
        if (espi_memo_find(memo, node) != NULL) {
            return;
        }
        espi_memo_add(memo, node);
    }
    for (int64_t j = 0; node->kind == ESPI_STRUC && j < node->count; j++) {
        if (j == 0 || node->sub[j] != node->sub[j - 1]) {
            see_tree(bases, node->sub[j], memo);
        }
    }
}

/* Every base type that occurs needs a leaf, and strucs that join k leaves have k children at least; two entries of
   one base type need a repetition or a struc of two children; no entries need a struc or a leaf that is not
   repeated. */
static int64_t bound_of_bases(int64_t kinds, bool single, const struct espi_reconstruct_options *options)
{
    const struct espi_costs *costs = &options->costs;
    int64_t least = costs->struc + 2 * costs->struc_each + costs->leaf;
    if (kinds == 0) {
        int64_t none = costs->vec < costs->idx ? costs->vec : costs->idx;
        none = costs->idxbuc < none ? costs->idxbuc : none;
        none = (costs->bucket < none ? costs->bucket : none) + costs->leaf;
        return costs->struc < none ? costs->struc : none;
    }
    if (single) {
        return costs->leaf;
    }
    if (kinds > 1) {
        return costs->struc + kinds * (costs->struc_each + costs->leaf);
    }
    least = costs->vec < least ? costs->vec : least;
    least = costs->idx + 2 * costs->idx_each < least ? costs->idx + 2 * costs->idx_each : least;
    if (options->set != ESPI_SET_BASIC && costs->idxbuc + costs->idxbuc_each < least) {
        least = costs->idxbuc + costs->idxbuc_each;
    }
    if (options->set == ESPI_SET_EXTENDED && costs->bucket + costs->bucket_each < least) {
        least = costs->bucket + costs->bucket_each;
    }
    return costs->leaf + least;
}

/*
 * Lemma 16 of doc/reconstruction.md: a map in which `steps` distances between neighbours of one pair of base
 * types differ costs at least leaf + a + r steps.
 */
static int64_t bound_of_steps(uint64_t steps, const struct espi_reconstruct_options *options)
{
    const struct espi_costs *c = &options->costs;
    int64_t each = c->struc_each + c->leaf, root = c->struc + c->struc_each + each, all;
    each = c->vec < each ? c->vec : each;
    root = c->vec < root ? c->vec : root;
    each = c->idx_each < each ? c->idx_each : each;
    root = c->idx + 2 * c->idx_each < root ? c->idx + 2 * c->idx_each : root;
    if (options->set != ESPI_SET_BASIC) {
        each = c->idxbuc_each < each ? c->idxbuc_each : each;
        root = c->idxbuc + c->idxbuc_each < root ? c->idxbuc + c->idxbuc_each : root;
    }
    if (options->set == ESPI_SET_EXTENDED) {
        each = c->bucket_each < each ? c->bucket_each : each;
        root = c->bucket + c->bucket_each < root ? c->bucket + c->bucket_each : root;
    }
    if (steps == 0 || __builtin_mul_overflow((int64_t)(steps - 1), each, &all) || all > INT64_MAX / 2) {
        return 0;
    }
    return c->leaf + root + all;
}

/* How many different distances d[k + 1] - d[k] there are, of neighbours with the base type of the first two when
   `base` is given; 0 when there is no memory to count them. */
static uint64_t different_steps(const int64_t *d, size_t n, const espi_base *base)
{
    size_t slots = 16;
    uint64_t steps = 0;
    while (slots < 2 * n) {
        slots *= 2;
    }
    struct step {
        int64_t step;
        bool used;
    } *table = n < 2 ? NULL : calloc(slots, sizeof *table);
    for (size_t k = 0; table != NULL && k + 1 < n; k++) {
        if (base != NULL && (base[k] != base[0] || base[k + 1] != base[1])) {
            continue;
        }
        int64_t step = (int64_t)((uint64_t)d[k + 1] - (uint64_t)d[k]);
        size_t at = espi_mix(0, (uint64_t)step) & (slots - 1);
        while (table[at].used && table[at].step != step) {
            at = (at + 1) & (slots - 1);
        }
        steps += !table[at].used;
        table[at].used = true;
        table[at].step = step;
    }
    free(table);
    return steps;
}

int64_t espi_lower_bound(const struct espi_typemap *map, const struct espi_reconstruct_options *options)
{
    struct bases bases = {0};
    for (size_t i = 0; i < map->n; i++) {
        see_base(&bases, map->base[i]);
    }
    int64_t least = bound_of_bases(bases.kinds, map->n == 1, options);
    int64_t steps = bound_of_steps(different_steps(map->disp, map->n, map->base), options);
    return steps > least ? steps : least;
}

/* The most different distances in one list of the chain of nodes from the root; all lists if it has no struc. */
static uint64_t steps_of_tree(const struct espi_node *node)
{
    uint64_t most = 0;
    for (; node != NULL && node->entries > 0 && node->kind != ESPI_LEAF && node->kind != ESPI_STRUC;
         node = node->child) {
        uint64_t steps = node->kind == ESPI_IDX ? different_steps(node->disp, (size_t)node->count, NULL) : 0;
        most = steps > most ? steps : most;
    }
    return most;
}

int64_t espi_tree_lower_bound(const struct espi_node *tree, const struct espi_reconstruct_options *options)
{
    struct bases bases = {0};
    struct espi_memo memo = {0};
    see_tree(&bases, tree, &memo);
    espi_memo_release(&memo);
    int64_t least = bound_of_bases(bases.kinds, tree->entries == 1, options);
    int64_t steps = bound_of_steps(steps_of_tree(tree), options);
    return steps > least ? steps : least;
}
