/* MPI_Gatherv along a tree. See treeplan.h for the protocol. */
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "mpi/real.h"
#include "mpi/treeplan.h"

/* A piece of the message to the parent, in the order of the ranks. */
struct piece {
    char *at;
    int64_t bytes, room;
    bool announced; /* `late` holds it */
    void *late;
};

static int64_t position(const struct espi_treeplan *plan, int rank)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->ranks[plan->first + i] == rank)
            return plan->first + i;
    return -1;
}

/* Sends `bytes` to the parent, announced where it has less room than that. */
static int send_up(const struct espi_treeplan *plan, MPI_Comm comm, const void *buf, int64_t count, MPI_Datatype type,
                   int64_t bytes)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int rc = MPI_SUCCESS, last;
    if (plan->parent != plan->root && bytes > espi_treeplan_room(plan, plan->bytes))
        rc = espi_tree_isend(&bytes, sizeof bytes, MPI_BYTE, plan->parent, ESPI_TAG_ANNOUNCE, comm, &request[0]);
    if (!rc)
        rc = espi_tree_isend(buf, count, type, plan->parent, ESPI_TAG_DATA, comm, &request[1]);
    for (int i = 0; i < 2; i++)
        if (request[i] != MPI_REQUEST_NULL && (last = espi_real.Wait(&request[i], MPI_STATUS_IGNORE)) && !rc)
            rc = last;
    return rc;
}

/* The second message of a child that announced one. */
static int receive_late(struct piece *piece, int child, MPI_Comm comm)
{
    int64_t bytes;
    MPI_Request request;
    memcpy(&bytes, piece->at, sizeof bytes);
    piece->late = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (!piece->late)
        return MPI_ERR_NO_MEM;
    int rc = espi_tree_irecv(piece->late, bytes, MPI_PACKED, child, ESPI_TAG_DATA, comm, &request);
    if (!rc)
        rc = espi_real.Wait(&request, MPI_STATUS_IGNORE);
    piece->at = piece->late;
    piece->bytes = bytes;
    return rc;
}

/* One stretch of memory with all pieces: `memory` itself when they lie there one behind the other. */
static char *join(struct piece *pieces, int n, char *memory, int64_t *bytes, void **joined)
{
    int64_t total = 0;
    bool together = true, moved = false;
    for (int i = 0; i < n; i++) {
        together = together && (pieces[i].bytes == 0 || pieces[i].at == memory + total);
        moved = moved || pieces[i].late;
        total += pieces[i].bytes;
    }
    *bytes = total;
    if (together)
        return memory;
    char *to = memory;
    if (moved && !(to = *joined = espi_scratch_get((size_t)total)))
        return NULL;
    total = 0;
    for (int i = 0; i < n; i++) { /* pieces only move towards the front, so they never overwrite one to come */
        memmove(to + total, pieces[i].at, (size_t)pieces[i].bytes);
        total += pieces[i].bytes;
    }
    return to;
}

static int gather_inner(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_block *own)
{
    /* Pieces stand in the order of the ranks: children below this rank, its own block, children above it. Children of a
       subtree that is a range may be listed in any order, so places are found by rank. */
    int n = plan->children + 1, rc = MPI_SUCCESS;
    size_t small = (size_t)n * (sizeof(struct piece) + sizeof(MPI_Request) + sizeof(MPI_Status) + 2 * sizeof(int));
    struct piece *pieces = malloc(small);
    char *memory = NULL, *message;
    void *joined = NULL;
    int64_t room = 0, bytes, mine = position(plan, plan->rank);
    if (!pieces)
        return MPI_ERR_NO_MEM;
    MPI_Request *requests = (MPI_Request *)(pieces + n);
    MPI_Status *statuses = (MPI_Status *)(requests + n);
    int *place = (int *)(statuses + n), *order = place + n;
    memset(pieces, 0, (size_t)n * sizeof *pieces);
    for (int k = 0; k < plan->children; k++) {
        place[k] = plan->child[k].first > mine ? 1 : 0;
        for (int i = 0; i < plan->children; i++)
            place[k] += plan->child[i].first < plan->child[k].first;
        requests[k] = MPI_REQUEST_NULL;
    }
    int own_place = 0;
    for (int k = 0; k < plan->children; k++)
        own_place += plan->child[k].first < mine;
    for (int k = 0; k < plan->children; k++)
        order[place[k]] = k;
    order[own_place] = -1;
    for (int i = 0; i < n; i++) {
        pieces[i].room = order[i] < 0 ? own->bytes : espi_treeplan_room(plan, plan->child[order[i]].bytes);
        room += pieces[i].room;
    }
    memory = espi_scratch_get((size_t)room);
    if (!memory) {
        free(pieces);
        return MPI_ERR_NO_MEM;
    }
    room = 0;
    for (int i = 0; i < n; i++) {
        pieces[i].at = memory + room;
        /* Without slack the planned size is the room (but for tiny pieces), so what arrives as planned need not move. */
        room += pieces[i].room;
    }
    for (int k = 0; k < plan->children && !rc; k++)
        rc = espi_tree_irecv(pieces[place[k]].at, pieces[place[k]].room, MPI_PACKED, plan->child[k].rank, MPI_ANY_TAG, comm,
                             &requests[k]);
    pieces[own_place].bytes = own->bytes;
    if (!rc)
        rc = espi_tree_pack(own->buf, own->count, own->type, own->dense, pieces[own_place].at, own->bytes, comm);
    /* Whatever failed: nothing may arrive in memory that is no longer ours. */
    int waited = espi_real.Waitall(plan->children, requests, statuses);
    if (!rc)
        rc = waited;
    for (int k = 0; k < plan->children && !rc; k++) {
        struct piece *piece = &pieces[place[k]];
        if (statuses[k].MPI_TAG == ESPI_TAG_ANNOUNCE)
            rc = receive_late(piece, plan->child[k].rank, comm);
        else
            piece->bytes = espi_tree_received(&statuses[k]);
    }
    if (!rc) {
        message = join(pieces, n, memory, &bytes, &joined);
        rc = message ? send_up(plan, comm, message, bytes, MPI_PACKED, bytes) : MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++)
        free(pieces[i].late);
    espi_scratch_put(joined);
    espi_scratch_put(memory);
    free(pieces);
    return rc;
}

/* What the root receives: straight into the blocks, or through memory of its own. */
struct arrival {
    int rank, first, n; /* blocks of the plan's ranks[first .. first+n-1]; n 0: the block of `rank`, not in the tree */
    char *memory;       /* NULL: straight */
    int64_t bytes;
};

static int start_arrival(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                         struct arrival *a, MPI_Request *request)
{
    const int *ranks = plan->ranks + a->first;
    a->memory = NULL;
    a->bytes = 0;
    if (a->n <= 1)
        return espi_tree_irecv(espi_blocks_at(blocks, a->rank), espi_blocks_count(blocks, a->rank), blocks->type, a->rank,
                               ESPI_TAG_DATA, comm, request);
    for (int i = 0; i < a->n; i++)
        a->bytes += espi_blocks_bytes(blocks, ranks[i]);
    if (espi_blocks_joined(blocks, ranks, a->n)) {
        int from = 0;
        while (from < a->n - 1 && espi_blocks_bytes(blocks, ranks[from]) == 0)
            from++;
        return espi_tree_irecv(espi_blocks_at(blocks, ranks[from]), a->bytes, MPI_PACKED, a->rank, ESPI_TAG_DATA, comm,
                               request);
    }
    if (!(a->memory = espi_scratch_get((size_t)a->bytes)))
        return MPI_ERR_NO_MEM;
    return espi_tree_irecv(a->memory, a->bytes, MPI_PACKED, a->rank, ESPI_TAG_DATA, comm, request);
}

static int finish_arrival(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                          const struct arrival *a)
{
    int64_t at = 0;
    int rc = MPI_SUCCESS;
    for (int i = 0; a->memory && i < a->n && !rc; i++) {
        int rank = plan->ranks[a->first + i];
        int64_t bytes = espi_blocks_bytes(blocks, rank);
        rc = espi_tree_unpack(a->memory + at, bytes, espi_blocks_at(blocks, rank), espi_blocks_count(blocks, rank),
                              blocks->type, blocks->dense, comm);
        at += bytes;
    }
    return rc;
}

/* In the order in which they come, so that copying goes on while others are under way. */
static int await_and_unpack(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                            const struct arrival *arrivals, MPI_Request *requests, int n)
{
    int rc = MPI_SUCCESS, last;
    for (int left = n; left > 0; left--) {
        int i = MPI_UNDEFINED;
        last = espi_real.Waitany(n, requests, &i, MPI_STATUS_IGNORE);
        if (i == MPI_UNDEFINED)
            break;
        if (!last)
            last = finish_arrival(plan, comm, blocks, &arrivals[i]);
        rc = rc ? rc : last;
    }
    return rc;
}

/* Nothing to be done with any of them: one call, which many requests need (Waitany looks at all of them each time). */
static int await_all(MPI_Request *requests, MPI_Status *statuses, int n)
{
    int rc = espi_real.Waitall(n, requests, statuses);
    for (int i = 0; rc == MPI_ERR_IN_STATUS && i < n; i++)
        if (statuses[i].MPI_ERROR != MPI_SUCCESS)
            rc = statuses[i].MPI_ERROR;
    return rc;
}

static int gather_root(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_block *own,
                       const struct espi_blocks *blocks)
{
    int most = plan->children + plan->p - plan->members, n = 0, rc = MPI_SUCCESS, last;
    bool unpack = false;
    struct arrival *arrivals = malloc((size_t)(most + 1) * (sizeof *arrivals + sizeof(MPI_Request) + sizeof(MPI_Status)));
    if (!arrivals)
        return MPI_ERR_NO_MEM;
    MPI_Request *requests = (MPI_Request *)(arrivals + most + 1);
    MPI_Status *statuses = (MPI_Status *)(requests + most + 1);
    for (int k = 0; k < plan->children; k++)
        arrivals[n++] = (struct arrival){plan->child[k].rank, plan->child[k].first, plan->child[k].n, NULL, 0};
    for (int r = 0, i = 0; r < plan->p; r++) {
        while (i < plan->members && plan->ranks[i] < r)
            i++;
        bool member = i < plan->members && plan->ranks[i] == r;
        if (!member && r != plan->rank && espi_blocks_bytes(blocks, r) > 0)
            arrivals[n++] = (struct arrival){r, 0, 0, NULL, 0};
    }
    for (int i = 0; i < n; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < n && !rc; i++) {
        rc = start_arrival(plan, comm, blocks, &arrivals[i], &requests[i]);
        unpack = unpack || arrivals[i].memory;
    }
    if (!rc && !own->in_place)
        rc = espi_tree_copy(own->buf, own->count, own->type, espi_blocks_at(blocks, plan->rank),
                            espi_blocks_count(blocks, plan->rank), blocks->type,
                            own->dense && blocks->dense && own->bytes <= espi_blocks_bytes(blocks, plan->rank), own->bytes,
                            plan->rank, comm);
    /* Everything that was started ends here, whatever failed: messages of this call must not meet the next. */
    last = unpack ? await_and_unpack(plan, comm, blocks, arrivals, requests, n) : await_all(requests, statuses, n);
    rc = rc ? rc : last;
    for (int i = 0; i < n; i++)
        espi_scratch_put(arrivals[i].memory);
    free(arrivals);
    return rc;
}

int espi_tree_gather(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_block *own,
                     const struct espi_blocks *blocks)
{
    MPI_Request request;
    int rc;
    if (plan->rank == plan->root)
        return gather_root(plan, comm, own, blocks);
    if (plan->children > 0)
        return gather_inner(plan, comm, own);
    if (plan->member)
        return send_up(plan, comm, own->buf, own->count, own->type, own->bytes);
    if (own->bytes == 0)
        return MPI_SUCCESS;
    rc = espi_tree_isend(own->buf, own->count, own->type, plan->root, ESPI_TAG_DATA, comm, &request);
    return rc ? rc : espi_real.Wait(&request, MPI_STATUS_IGNORE);
}
