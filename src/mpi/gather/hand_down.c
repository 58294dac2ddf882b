#include "mpi/gather/hand_down.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/core/pmpi.h"

espi_status espi_whole_plan_make(const struct espi_commtree *tree, const int64_t *size,
                                 struct espi_whole_plan *whole)
{
    whole->records = malloc((size_t)tree->n * sizeof *whole->records);
    whole->places = malloc((size_t)tree->p * sizeof *whole->places);
    if (!whole->records || !whole->places)
        return ESPI_ERR_MEMORY;
    return espi_tree_parts(tree, size, whole->records, whole->places);
}

void espi_whole_plan_release(struct espi_whole_plan *whole)
{
    free(whole->records);
    free(whole->places);
    *whole = (struct espi_whole_plan){NULL, NULL};
}

/* plan->records holds the own part; each child's is a stretch of it. */
static int pass_on(const struct espi_subtree_plan *plan, MPI_Comm comm, MPI_Request *requests)
{
    const struct espi_tree_record *records = plan->records;
    int rc = MPI_SUCCESS, sent = 0, last;
    for (int k = 0, at = 1; k < plan->children && !rc; at += records[at].n, k++) {
        int64_t bytes = records[at].n * (int64_t)sizeof *records;
        rc = espi_tree_isend(records + at, bytes, MPI_BYTE, records[at].rank, ESPI_TAG_PLAN, comm, &requests[sent]);
        sent += !rc;
    }
    for (int k = 0; k < sent; k++)
        if ((last = espi_pmpi.Wait(&requests[k], MPI_STATUS_IGNORE)) && !rc)
            rc = last;
    return rc;
}

/* A rank without memory for its part could not pass on its children's. So all have said that they have it before the
   first part is sent. */
int espi_plan_hand_down(const struct espi_whole_plan *whole, MPI_Comm comm, int size, int rank, int root,
                        int slack_percent, struct espi_subtree_plan *plan)
{
    enum { INTS = sizeof(struct espi_tree_place) / sizeof(int32_t) };
    struct espi_tree_place place = {ESPI_COMMTREE_ABSENT, 0, 0};
    int64_t part;
    int rc = espi_pmpi.Scatter(whole->places, INTS, MPI_INT32_T, &place, INTS, MPI_INT32_T, root, comm);
    bool begun = !rc && espi_subtree_plan_begin(&place, size, rank, root, slack_percent, plan);
    MPI_Request *requests = malloc(((size_t)place.children + 1) * sizeof *requests);
    int bad = !begun || !requests, any = 1, voted = espi_pmpi.Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, comm);
    rc = rc ? rc : voted ? voted : any ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    part = plan->n * (int64_t)sizeof *plan->records;
    if (!rc && rank == root)
        memcpy(plan->records, whole->records, (size_t)part);
    else if (!rc && plan->member)
        rc = espi_tree_recv(plan->records, part, MPI_BYTE, plan->parent, ESPI_TAG_PLAN, comm, MPI_STATUS_IGNORE);
    if (!rc)
        rc = pass_on(plan, comm, requests);
    free(requests);
    if (!rc)
        espi_subtree_plan_finish(plan);
    else
        espi_subtree_plan_release(plan);
    return rc;
}
