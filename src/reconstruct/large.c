/* Beyond the exact methods: plain lists, a lower bound, and a bounded search. */
#include <stdlib.h>
#include <string.h>

#include "layout/memo.h"
#include "reconstruct/parts.h"

/* The entries [i, e) of one base type as a leaf or a list. */
static espi_status list(struct espi_arena *arena, const struct espi_typemap *map, size_t i, size_t e, int64_t origin,
                        const struct espi_node **out)
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
        return list(arena, map, 0, map->n, 0, out);
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
        espi_status status = list(arena, map, i, e, disp[at], &sub[at]);
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

static void see(struct bases *bases, espi_base base)
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
        see(bases, node->base);
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
static int64_t bound(int64_t kinds, bool single, const struct espi_reconstruct_options *options)
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
        size_t at = (size_t)((uint64_t)step * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slots - 1);
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
        see(&bases, map->base[i]);
    }
    int64_t least = bound(bases.kinds, map->n == 1, options);
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
    int64_t least = bound(bases.kinds, tree->entries == 1, options);
    int64_t steps = bound_of_steps(steps_of_tree(tree), options);
    return steps > least ? steps : least;
}

/* A sequence of finished trees. */
struct sequence {
    size_t n;
    int64_t *disp;
    const struct espi_node **node;
};

enum { WINDOW = 128, LAST_WINDOW = 1500 };

/* What solving n symbols costs, in units of 10 ns or so. */
static uint64_t work_of(size_t n)
{
    return (uint64_t)n * n * n / 400 + n;
}

/* What a symbol adds to a struc of all. */
static int64_t as_part(const struct espi_node *node, const struct espi_costs *costs)
{
    int64_t cost = espi_cost(node, costs);
    return cost > INT64_MAX - costs->struc_each ? INT64_MAX : cost + costs->struc_each;
}

/* Strided runs of three or more equal entries become one vec each; other entries stay leaves. */
static espi_status gather_runs(struct espi_arena *arena, const struct espi_typemap *map, struct sequence *sequence)
{
    const struct espi_node *leaf = NULL;
    espi_status status = ESPI_OK;
    for (size_t i = 0, e; i < map->n && status == ESPI_OK; i = e) {
        int64_t step = i + 1 < map->n ? map->disp[i + 1] - map->disp[i] : 0;
        for (e = i + 1; e < map->n && map->base[e] == map->base[i] && map->disp[e] - map->disp[e - 1] == step; e++) {
        }
        if (leaf == NULL || leaf->base != map->base[i]) {
            status = espi_node_leaf(arena, map->base[i], &leaf);
        }
        sequence->disp[sequence->n] = map->disp[i];
        sequence->node[sequence->n] = leaf;
        if (e - i >= 3 && status == ESPI_OK) {
            status = espi_node_vec(arena, (int64_t)(e - i), step, leaf, &sequence->node[sequence->n]);
        } else {
            e = i + 1;
        }
        sequence->n++;
    }
    return status;
}

/* Puts the tree of a window in the place of its n symbols, which begin at `from`; the children of a struc one by one.
   Where a struc of all would become dearer by that (only by less than a struc, and only where the tree is none), the
   symbols stay. */
static void put(struct sequence *sequence, size_t *at, size_t from, size_t n, const struct espi_node *tree,
                const struct espi_costs *costs)
{
    int64_t before = 0, part = tree->kind == ESPI_STRUC ? 0 : as_part(tree, costs);
    for (size_t k = from; k < from + n && before <= part; k++) {
        int64_t one = as_part(sequence->node[k], costs);
        before = before > INT64_MAX - one ? INT64_MAX : before + one;
    }
    if (before < part) {
        memmove(sequence->disp + *at, sequence->disp + from, n * sizeof *sequence->disp);
        memmove(sequence->node + *at, sequence->node + from, n * sizeof *sequence->node);
        *at += n;
        return;
    }
    if (tree->kind != ESPI_STRUC) {
        sequence->disp[*at] = 0;
        sequence->node[(*at)++] = tree;
        return;
    }
    for (int64_t j = 0; j < tree->count; j++) {
        sequence->disp[*at] = tree->disp[j];
        sequence->node[(*at)++] = tree->sub[j];
    }
}

espi_status espi_reconstruct_large(struct espi_arena *arena, const struct espi_typemap *map,
                                   const struct espi_reconstruct_options *options, uint64_t work,
                                   const struct espi_node **out)
{
    uint64_t done = 0;
    struct sequence sequence = {0, malloc(map->n * sizeof *sequence.disp), malloc(map->n * sizeof *sequence.node)};
    espi_status status = ESPI_ERR_MEMORY;
    if (sequence.disp == NULL || sequence.node == NULL) {
        goto done;
    }
    status = gather_runs(arena, map, &sequence);
    /* Rounds until the sequence fits one window, or nothing gets shorter, or the work is done. */
    for (size_t before = SIZE_MAX; status == ESPI_OK && sequence.n > LAST_WINDOW && sequence.n < before / 8 * 7;) {
        size_t kept = 0, i = 0;
        before = sequence.n;
        while (i < before && status == ESPI_OK) {
            size_t n = before - i < WINDOW ? before - i : WINDOW;
            const struct espi_node *tree;
            if (done > work) {
                memmove(sequence.disp + kept, sequence.disp + i, (before - i) * sizeof *sequence.disp);
                memmove(sequence.node + kept, sequence.node + i, (before - i) * sizeof *sequence.node);
                kept += before - i;
                break;
            }
            done += work_of(n);
            /* The window's first displacement becomes 0, so that equal windows give equal trees. */
            int64_t origin = sequence.disp[i], *disp = sequence.disp + i;
            size_t first = kept;
            for (size_t k = 0; k < n; k++) {
                disp[k] -= origin;
            }
            status = espi_solve_symbols(arena, n, disp, sequence.node + i, options, &tree);
            if (status == ESPI_OK) {
                put(&sequence, &kept, i, n, tree, &options->costs);
            }
            for (size_t k = first; k < kept; k++) {
                sequence.disp[k] += origin;
            }
            i += n;
        }
        sequence.n = kept;
    }
    if (status == ESPI_OK && sequence.n <= LAST_WINDOW && done <= work) {
        status = espi_solve_symbols(arena, sequence.n, sequence.disp, sequence.node, options, out);
    } else if (status == ESPI_OK) {
        int64_t *disp = espi_arena_calloc(arena, sequence.n, sizeof *disp);
        const struct espi_node **sub = espi_arena_calloc(arena, sequence.n, sizeof *sub);
        status = ESPI_ERR_MEMORY;
        if (disp != NULL && sub != NULL) {
            memcpy(disp, sequence.disp, sequence.n * sizeof *disp);
            memcpy(sub, sequence.node, sequence.n * sizeof *sub);
            status = espi_node_struc(arena, (int64_t)sequence.n, disp, sub, out);
        }
    }
    if (status == ESPI_ERR_LIMIT) { /* displacements too far apart for windows */
        status = espi_plain_list(arena, map, options, out);
    }
done:
    free(sequence.disp);
    free(sequence.node);
    return status;
}
