/* From a communication tree to what one rank needs of it. */
#include "mpi/gather/subtree_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Nanoseconds: long for messages that are on their way, short for a person. */
enum { PATIENCE = 500000000 };

bool espi_subtree_plan_begin(const struct espi_tree_place *place, int p, int rank, int root, int slack_percent,
                             struct espi_subtree_plan *plan)
{
    size_t n = (size_t)place->n;
    *plan = (struct espi_subtree_plan){.p = p, .rank = rank, .root = root, .parent = place->parent,
                                       .member = place->parent != ESPI_COMMTREE_ABSENT, .n = place->n,
                                       .children = place->children, .slack_percent = slack_percent,
                                       .patience = PATIENCE};
    plan->ranks = malloc((n + 1) * sizeof *plan->ranks);
    plan->size = malloc((n + 1) * sizeof *plan->size);
    plan->records = malloc((n + 1) * sizeof *plan->records);
    plan->child = calloc((size_t)plan->children + 1, sizeof *plan->child);
    if (plan->ranks && plan->size && plan->records && plan->child)
        return true;
    espi_subtree_plan_release(plan);
    return false;
}

static int by_rank(const void *a, const void *b)
{
    const struct espi_tree_record *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Where a rank stands among the ranks of the plan. */
static int place_of(const struct espi_subtree_plan *plan, int rank)
{
    int low = 0, high = plan->n - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (plan->ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void espi_subtree_plan_finish(struct espi_subtree_plan *plan)
{
    struct espi_tree_record *records = plan->records;
    for (int k = 0, at = 1; k < plan->children; at += records[at].n, k++) {
        struct espi_subtree *sub = &plan->child[k];
        *sub = (struct espi_subtree){.rank = records[at].rank, .first = records[at].rank, .n = records[at].n};
        for (int i = at; i < at + sub->n; i++) {
            sub->bytes += records[i].size;
            sub->first = records[i].rank < sub->first ? records[i].rank : sub->first;
        }
    }
    qsort(records, (size_t)plan->n, sizeof *records, by_rank);
    for (int i = 0; i < plan->n; i++) {
        plan->ranks[i] = records[i].rank;
        plan->size[i] = records[i].size;
        plan->bytes += records[i].size;
    }
    for (int k = 0; k < plan->children; k++)
        plan->child[k].first = place_of(plan, plan->child[k].first);
    plan->own_at = place_of(plan, plan->rank);
    free(records);
    plan->records = NULL;
}

espi_status espi_subtree_plan_make(const struct espi_commtree *tree, const int64_t *size, int rank, int slack_percent,
                                   struct espi_subtree_plan *plan)
{
    struct espi_tree_record *records = malloc((size_t)tree->n * sizeof *records), *own = records;
    struct espi_tree_place *places = malloc((size_t)tree->p * sizeof *places);
    memset(plan, 0, sizeof *plan);
    espi_status status = records && places ? espi_tree_parts(tree, size, records, places) : ESPI_ERR_MEMORY;
    if (status == ESPI_OK && !espi_subtree_plan_begin(&places[rank], tree->p, rank, tree->root, slack_percent, plan))
        status = ESPI_ERR_MEMORY;
    if (status == ESPI_OK) {
        while (plan->member && own->rank != rank)
            own++;
        memcpy(plan->records, own, (size_t)plan->n * sizeof *own);
        espi_subtree_plan_finish(plan);
    }
    free(records);
    free(places);
    return status;
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
    free(plan->records);
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
