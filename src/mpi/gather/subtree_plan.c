/* From a communication tree to what one rank needs of it. */
#include "mpi/gather/subtree_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Nanoseconds: long for messages that are on their way, short for a person. */
enum { PATIENCE = 500000000 };

/* Number of ranks and least rank of every subtree. Parents may have any number, so children are counted off: a rank
   is done when all its children are. */
static bool measure(const struct espi_commtree *tree, int *count, int *least, int *largest)
{
    int p = tree->p, *pending = malloc((size_t)p * 2 * sizeof *pending), *stack = pending + p, top = 0;
    if (!pending)
        return false;
    for (int v = 0; v < p; v++) {
        pending[v] = tree->first[v + 1] - tree->first[v];
        count[v] = tree->parent[v] == ESPI_COMMTREE_ABSENT ? 0 : 1;
        least[v] = largest[v] = v;
        if (count[v] && pending[v] == 0)
            stack[top++] = v;
    }
    while (top > 0) {
        int v = stack[--top], up = tree->parent[v];
        if (up < 0)
            continue;
        count[up] += count[v];
        least[up] = least[v] < least[up] ? least[v] : least[up];
        largest[up] = largest[v] > largest[up] ? largest[v] : largest[up];
        if (--pending[up] == 0)
            stack[top++] = up;
    }
    free(pending);
    return true;
}

espi_status espi_subtree_plan_make(const struct espi_commtree *tree, const int64_t *size, int rank, int slack_percent,
                                   struct espi_subtree_plan *plan)
{
    int p = tree->p, *count = NULL, *index = NULL;
    espi_status st = ESPI_ERR_MEMORY;
    memset(plan, 0, sizeof *plan);
    plan->p = p;
    plan->rank = rank;
    plan->root = tree->root;
    plan->parent = tree->parent[rank];
    plan->member = plan->parent != ESPI_COMMTREE_ABSENT;
    plan->slack_percent = slack_percent;
    plan->patience = PATIENCE;
    count = malloc((size_t)p * 3 * sizeof *count);
    index = malloc((size_t)p * sizeof *index);
    plan->ranks = malloc((size_t)p * sizeof *plan->ranks);
    plan->size = malloc((size_t)p * sizeof *plan->size);
    plan->children = plan->member ? tree->first[rank + 1] - tree->first[rank] : 0;
    plan->child = calloc((size_t)plan->children + 1, sizeof *plan->child);
    if (!count || !index || !plan->ranks || !plan->size || !plan->child)
        goto out;
    int *least = count + p, *largest = least + p;
    if (!measure(tree, count, least, largest))
        goto out;
    for (int v = 0; v < p; v++) {
        index[v] = plan->members;
        if (count[v]) {
            plan->ranks[plan->members] = v;
            plan->size[plan->members++] = size[v];
        }
    }
    st = ESPI_ERR_ARGUMENT;
    for (int v = 0; v < p; v++)
        if (count[v] && (index[largest[v]] - index[least[v]] + 1 != count[v] || (size[v] == 0 && v != tree->root)))
            goto out;
    st = ESPI_OK;
    if (!plan->member)
        goto out;
    plan->first = index[least[rank]];
    plan->n = count[rank];
    for (int k = 0; k < plan->children; k++) {
        int v = tree->child[tree->first[rank] + k];
        plan->child[k] = (struct espi_subtree){.rank = v, .first = index[least[v]], .n = count[v]};
        for (int i = 0; i < count[v]; i++)
            plan->child[k].bytes += plan->size[plan->child[k].first + i];
    }
    for (int i = 0; i < plan->n; i++)
        plan->bytes += plan->size[plan->first + i];
out:
    free(count);
    free(index);
    if (st)
        espi_subtree_plan_release(plan);
    return st;
}

void espi_subtree_plan_release(struct espi_subtree_plan *plan)
{
    for (struct espi_kept_part *part = plan->kept, *next; part; part = next) {
        next = part->next;
        free(part);
    }
    free(plan->ranks);
    free(plan->size);
    free(plan->child);
    memset(plan, 0, sizeof *plan);
}

/* The root receives into the program's memory: no more than planned is sent to it unannounced. */
int64_t espi_subtree_plan_room(const struct espi_subtree_plan *plan, int parent, int n, int64_t bytes)
{
    if (parent == plan->root || !plan->slack_percent)
        return bytes;
    return bytes + bytes / 100 * plan->slack_percent + 64 + (int64_t)sizeof(int64_t) * n;
}

int64_t espi_blocks_count(const struct espi_blocks *blocks, int rank)
{
    if (!blocks->counts)
        return blocks->each;
    return blocks->large ? (int64_t)((const MPI_Count *)blocks->counts)[rank] : ((const int *)blocks->counts)[rank];
}

int64_t espi_blocks_displ(const struct espi_blocks *blocks, int rank)
{
    if (!blocks->displs)
        return blocks->each * rank;
    return blocks->large ? (int64_t)((const MPI_Aint *)blocks->displs)[rank] : ((const int *)blocks->displs)[rank];
}

char *espi_blocks_at(const struct espi_blocks *blocks, int rank)
{
    return blocks->buf + espi_blocks_displ(blocks, rank) * blocks->extent;
}

bool espi_blocks_joined(const struct espi_blocks *blocks, const int *ranks, int n)
{
    char *next = NULL;
    if (!blocks->type.dense)
        return false;
    for (int i = 0; i < n; i++) {
        int64_t bytes = espi_blocks_bytes(blocks, ranks[i]);
        if (bytes == 0)
            continue;
        if (next && espi_blocks_at(blocks, ranks[i]) != next)
            return false;
        next = espi_blocks_at(blocks, ranks[i]) + bytes;
    }
    return true;
}
