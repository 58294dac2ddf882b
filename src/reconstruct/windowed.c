/* Beyond the exact methods: runs become symbols, windows of symbols are solved, and their parts again. */
#include <stdlib.h>
#include <string.h>

#include "reconstruct/parts.h"

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
static espi_status collect_runs(struct espi_arena *arena, const struct espi_typemap *map, struct sequence *sequence)
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
static void put_window(struct sequence *sequence, size_t *at, size_t from, size_t n, const struct espi_node *tree,
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

espi_status espi_reconstruct_windowed(struct espi_arena *arena, const struct espi_typemap *map,
                                      const struct espi_reconstruct_options *options, uint64_t work,
                                      const struct espi_node **out)
{
    uint64_t done = 0;
    struct sequence sequence = {0, malloc(map->n * sizeof *sequence.disp), malloc(map->n * sizeof *sequence.node)};
    espi_status status = ESPI_ERR_MEMORY;
    if (sequence.disp == NULL || sequence.node == NULL) {
        goto done;
    }
    status = collect_runs(arena, map, &sequence);
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
                put_window(&sequence, &kept, i, n, tree, &options->costs);
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
