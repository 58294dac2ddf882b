#include "commtree/parts.h"

#include <stdlib.h>

/* The records in preorder; their `n` is filled from behind, when all below a rank is known. */
static espi_status list_records(const struct espi_commtree *tree, const int64_t *size,
                                struct espi_tree_record *records, int *at)
{
    int *stack = malloc((size_t)tree->n * sizeof *stack), depth = 1, filled = 0;
    if (!stack)
        return ESPI_ERR_MEMORY;
    stack[0] = tree->root;
    while (depth > 0) {
        int v = stack[--depth];
        at[v] = filled;
        records[filled++] = (struct espi_tree_record){size[v], v, 1};
        for (int e = tree->first[v + 1] - 1; e >= tree->first[v]; e--)
            stack[depth++] = tree->child[e];
    }
    free(stack);
    for (int x = filled - 1; x > 0; x--)
        records[at[tree->parent[records[x].rank]]].n += records[x].n;
    return ESPI_OK;
}

/* Whether each subtree is a range of the ranks that take part: `index` counts these, `ends` has the least and the
   greatest index of each subtree. */
static bool are_ranges(const struct espi_commtree *tree, const struct espi_tree_record *records, const int *at,
                       const int *index, int (*ends)[2])
{
    for (int x = tree->n - 1; x >= 0; x--) {
        int v = records[x].rank;
        ends[x][0] = ends[x][1] = index[v];
        for (int e = tree->first[v]; e < tree->first[v + 1]; e++) {
            const int *of = ends[at[tree->child[e]]];
            ends[x][0] = of[0] < ends[x][0] ? of[0] : ends[x][0];
            ends[x][1] = of[1] > ends[x][1] ? of[1] : ends[x][1];
        }
        if (ends[x][1] - ends[x][0] + 1 != records[x].n)
            return false;
    }
    return true;
}

espi_status espi_tree_parts(const struct espi_commtree *tree, const int64_t *size, struct espi_tree_record *records,
                            struct espi_tree_place *places)
{
    size_t p = (size_t)tree->p, n = (size_t)tree->n;
    int *at = malloc(p * sizeof *at), *index = malloc(p * sizeof *index), members = 0;
    int(*ends)[2] = malloc(n * sizeof *ends);
    espi_status status = at && index && ends ? list_records(tree, size, records, at) : ESPI_ERR_MEMORY;
    for (int v = 0; v < tree->p && status == ESPI_OK; v++) {
        bool absent = tree->parent[v] == ESPI_COMMTREE_ABSENT;
        index[v] = members;
        members += !absent;
        places[v] = (struct espi_tree_place){.parent = tree->parent[v]};
        if (!absent) {
            places[v].n = records[at[v]].n;
            places[v].children = tree->first[v + 1] - tree->first[v];
        }
        if (!absent && size[v] == 0 && v != tree->root)
            status = ESPI_ERR_ARGUMENT;
    }
    if (status == ESPI_OK && !are_ranges(tree, records, at, index, ends))
        status = ESPI_ERR_ARGUMENT;
    free(at);
    free(index);
    free(ends);
    return status;
}
