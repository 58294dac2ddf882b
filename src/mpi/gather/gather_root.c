/* The root of an MPI_Gatherv along a tree. See subtree_plan.h for the protocol. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/core/pmpi.h"
#include "mpi/gather/subtree_plan.h"

/* What the root receives from a child: straight into the blocks, or through memory of its own. */
struct arrival {
    struct espi_subtree *sub;
    char *memory; /* NULL: straight */
};

/* Straight only where what may come unannounced fits, and the block is not to be unpacked by a program. */
static int start_arrival(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                         struct arrival *a, MPI_Request *request)
{
    const struct espi_subtree *sub = a->sub;
    const int *ranks = plan->ranks + sub->first;
    int64_t room = espi_subtree_plan_room(plan, plan->rank, sub->n, sub->bytes);
    if (sub->n == 1 && !blocks->type.staged && espi_blocks_bytes(blocks, sub->rank) >= room)
        return espi_tree_irecv(espi_blocks_at(blocks, sub->rank), espi_blocks_count(blocks, sub->rank),
                               blocks->type.handle, sub->rank, MPI_ANY_TAG, comm, request);
    bool straight = sub->n > 1;
    for (int i = 0; i < sub->n && straight; i++)
        straight = espi_blocks_bytes(blocks, ranks[i]) == plan->size[sub->first + i];
    if (straight && espi_blocks_joined(blocks, ranks, sub->n)) /* each has data, so they begin with the first */
        return espi_tree_irecv(espi_blocks_at(blocks, ranks[0]), room, MPI_PACKED, sub->rank, MPI_ANY_TAG, comm,
                               request);
    a->memory = espi_pool_get((size_t)room);
    return a->memory ? espi_tree_irecv(a->memory, room, MPI_PACKED, sub->rank, MPI_ANY_TAG, comm, request)
                     : MPI_ERR_NO_MEM;
}

static int fill_block(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks, int rank,
                      const char *from, int64_t bytes)
{
    return espi_tree_fill(from, bytes, espi_blocks_at(blocks, rank), espi_blocks_count(blocks, rank), &blocks->type,
                          espi_blocks_bytes(blocks, rank), plan->rank, comm);
}

/* One block straight from its owner, of any length; `own`: this rank. */
static int take_block(int own, MPI_Comm comm, const struct espi_blocks *blocks, int rank, int tag)
{
    int64_t bytes = espi_tree_probe(rank, tag, comm);
    if (bytes < 0)
        return MPI_ERR_OTHER;
    if (bytes > espi_blocks_bytes(blocks, rank)) {
        espi_tree_drop(rank, comm);
        return MPI_ERR_TRUNCATE;
    }
    return espi_tree_recv_block(espi_blocks_at(blocks, rank), espi_blocks_count(blocks, rank), &blocks->type,
                                espi_blocks_bytes(blocks, rank), rank, tag, own, comm, MPI_STATUS_IGNORE);
}

/* Natively the root waits for the next call of a rank that was refused if it expects data of it, else not. */
static int take_direct(int own, MPI_Comm comm, const struct espi_blocks *blocks, int rank)
{
    return espi_blocks_bytes(blocks, rank) > 0 ? take_block(own, comm, blocks, rank, ESPI_TAG_DIRECT) : MPI_SUCCESS;
}

/* The blocks of a subtree of several ranks from a piece. Those behind one that is too long are filled as well. */
static int fill_blocks(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                       const struct espi_subtree *sub, const char *from, const int64_t *sizes)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < sub->n; i++) {
        int rank = plan->ranks[sub->first + i];
        int bad = sizes[i] < 0 ? take_direct(plan->rank, comm, blocks, rank)
                               : fill_block(plan, comm, blocks, rank, from, sizes[i]);
        from += sizes[i] < 0 ? 0 : sizes[i];
        rc = rc ? rc : bad;
    }
    return rc;
}

static int finish_arrival(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                          const struct arrival *a, const MPI_Status *status);

/* Natively there is no message where there are no data: a piece without any is of a call that the root has not made
   (MPI refused it), if it expects some now. */
static bool is_of_other_call(const struct espi_subtree_plan *plan, const struct espi_blocks *blocks,
                             const struct espi_subtree *sub, const int64_t *sizes)
{
    bool expects = false;
    for (int i = 0; i < sub->n; i++) {
        if (sizes[i] > 0)
            return false;
        expects = expects || (sizes[i] == 0 && espi_blocks_bytes(blocks, plan->ranks[sub->first + i]) > 0);
    }
    return expects;
}

/* The next piece of a child that sends its own block directly: always announced, where it does not fail. */
static int take_piece(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                      struct espi_subtree *sub)
{
    static const int tags[2] = {ESPI_TAG_ANNOUNCE, ESPI_TAG_FAILED};
    struct arrival a = {sub, NULL};
    MPI_Status status;
    int flag = 0, rc = MPI_SUCCESS;
    for (int i = 0; !flag && !rc; i = !i)
        rc = espi_pmpi.Iprobe(sub->rank, tags[i], comm, &flag, &status);
    if (!rc)
        rc = espi_tree_recv(NULL, 0, MPI_BYTE, sub->rank, status.MPI_TAG, comm, &status);
    return rc ? rc : finish_arrival(plan, comm, blocks, &a, &status);
}

/* The next piece of the same child. */
static int take_next(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                     struct espi_subtree *sub)
{
    struct arrival a = {sub, NULL};
    MPI_Request request;
    MPI_Status status;
    if (sub->direct)
        return take_piece(plan, comm, blocks, sub);
    int rc = start_arrival(plan, comm, blocks, &a, &request);
    if (!rc)
        rc = espi_pmpi.Wait(&request, &status);
    if (!rc)
        rc = finish_arrival(plan, comm, blocks, &a, &status);
    espi_pool_put(a.memory);
    return rc;
}

static int finish_arrival(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                          const struct arrival *a, const MPI_Status *status)
{
    struct espi_subtree *sub = a->sub;
    int64_t bytes;
    void *late = NULL;
    if (status->MPI_TAG == ESPI_TAG_FAILED)
        return MPI_ERR_OTHER;
    if (status->MPI_TAG == ESPI_TAG_GONE) {
        sub->gone = true;
        return take_direct(plan->rank, comm, blocks, sub->rank);
    }
    if (status->MPI_TAG == ESPI_TAG_DATA) {
        if (sub->n == 1 && espi_tree_received(status) == 0 && espi_blocks_bytes(blocks, sub->rank) > 0)
            return take_next(plan, comm, blocks, sub);
        if (!a->memory)
            return MPI_SUCCESS;
        if (sub->n > 1)
            return fill_blocks(plan, comm, blocks, sub, a->memory, plan->size + sub->first);
        return fill_block(plan, comm, blocks, sub->rank, a->memory, espi_tree_received(status));
    }
    if (sub->n == 1)
        return take_block(plan->rank, comm, blocks, sub->rank, ESPI_TAG_DATA);
    int rc = espi_tree_receive_late(sub, comm, &late, &bytes);
    for (int i = 0; !rc && i < sub->n; i++)
        sub->direct = sub->direct || (((int64_t *)late)[i] < 0 && plan->ranks[sub->first + i] == sub->rank);
    if (!rc && is_of_other_call(plan, blocks, sub, late)) {
        free(late);
        return take_next(plan, comm, blocks, sub);
    }
    if (!rc)
        rc = fill_blocks(plan, comm, blocks, sub, (char *)late + (size_t)sub->n * sizeof(int64_t), late);
    free(late);
    return rc;
}

/* In the order in which they come, so that copying goes on while others are under way. */
static int await_and_fill(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                          const struct arrival *arrivals, MPI_Request *requests, int n)
{
    int rc = MPI_SUCCESS, bad;
    for (int left = n; left > 0; left--) {
        int i = MPI_UNDEFINED;
        MPI_Status status;
        bad = espi_pmpi.Waitany(n, requests, &i, &status);
        if (i == MPI_UNDEFINED)
            return rc ? rc : bad;
        if (!bad)
            bad = finish_arrival(plan, comm, blocks, &arrivals[i], &status);
        rc = rc ? rc : bad;
    }
    return rc;
}

/* Hardly anything to be done with any of them: one call, which many requests need (Waitany looks at all of them each
   time). */
static int await_all(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                     const struct arrival *arrivals, MPI_Request *requests, MPI_Status *statuses, int n)
{
    int rc = espi_pmpi.Waitall(n, requests, statuses), bad;
    for (int i = 0; i < n && rc != MPI_ERR_IN_STATUS; i++)
        if (statuses[i].MPI_TAG != ESPI_TAG_DATA || arrivals[i].sub->n == 1) {
            bad = finish_arrival(plan, comm, blocks, &arrivals[i], &statuses[i]);
            rc = rc ? rc : bad;
        }
    return rc;
}

/* The blocks of the ranks that are not in the tree. */
static int take_others(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks)
{
    int rc = MPI_SUCCESS;
    for (int r = 0, i = 0; r < plan->p && plan->n < plan->p; r++) {
        while (i < plan->n && plan->ranks[i] < r)
            i++;
        bool member = i < plan->n && plan->ranks[i] == r;
        if (!member && r != plan->rank && espi_blocks_bytes(blocks, r) > 0) {
            int bad = take_block(plan->rank, comm, blocks, r, ESPI_TAG_DATA);
            rc = rc ? rc : bad;
        }
    }
    return rc;
}

/* Whether a child was still waited for in this call, without knowing of any refused one. */
static bool was_started(const struct arrival *arrivals, int n, const struct espi_subtree *sub)
{
    for (int i = 0; i < n; i++)
        if (arrivals[i].sub == sub)
            return true;
    return false;
}

int espi_tree_gather_root(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                          const struct espi_blocks *blocks)
{
    int n = plan->children, k = 0, started = 0, rc = MPI_SUCCESS, last = MPI_SUCCESS;
    bool unpack = false;
    struct arrival *arrivals = malloc((size_t)(n + 1) *
                                      (sizeof *arrivals + sizeof(MPI_Request) + sizeof(MPI_Status)));
    MPI_Status *statuses = (MPI_Status *)(arrivals + n + 1);
    MPI_Request *requests = (MPI_Request *)(statuses + n + 1);
    if (!arrivals)
        rc = MPI_ERR_NO_MEM;
    for (; k < n && !rc; k += !rc) {
        arrivals[started] = (struct arrival){&plan->child[k], NULL};
        if (plan->child[k].gone || plan->child[k].direct)
            continue;
        rc = start_arrival(plan, comm, blocks, &arrivals[started], &requests[started]);
        unpack = unpack || arrivals[started].memory;
        started += !rc;
    }
    if (!rc && !own->in_place)
        rc = espi_tree_copy(own->buf, own->count, own->type.handle, espi_blocks_at(blocks, plan->rank),
                            espi_blocks_count(blocks, plan->rank), blocks->type.handle,
                            own->type.dense && blocks->type.dense &&
                                own->bytes <= espi_blocks_bytes(blocks, plan->rank),
                            own->bytes, plan->rank, comm);
    /* All messages of this call are taken, whatever failed: they must not meet the next. */
    if (started > 0)
        last = unpack ? await_and_fill(plan, comm, blocks, arrivals, requests, started)
                      : await_all(plan, comm, blocks, arrivals, requests, statuses, started);
    rc = rc ? rc : last;
    for (int i = 0; i < k; i++)
        if ((plan->child[i].gone || plan->child[i].direct) && !was_started(arrivals, started, &plan->child[i])) {
            last = plan->child[i].gone ? take_direct(plan->rank, comm, blocks, plan->child[i].rank)
                                       : take_piece(plan, comm, blocks, &plan->child[i]);
            rc = rc ? rc : last;
        }
    for (; k < n; k++)
        if (!plan->child[k].gone && !plan->child[k].direct &&
            espi_tree_drop(plan->child[k].rank, comm) == ESPI_TAG_ANNOUNCE)
            espi_tree_drop(plan->child[k].rank, comm);
    last = take_others(plan, comm, blocks);
    rc = rc ? rc : last;
    for (int i = 0; i < started; i++)
        espi_pool_put(arrivals[i].memory);
    free(arrivals);
    return rc;
}
