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
    void *late; /* memory of an announced piece */
};

static int position(const struct espi_treeplan *plan, int rank)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->ranks[plan->first + i] == rank)
            return plan->first + i;
    return -1;
}

/* Bytes that any MPI sends without waiting for the receiver, by far. */
enum { SENT_AT_ONCE = 1024 };

/* Sends `bytes` to the parent, announced where they may not fit. */
static int send_up(const struct espi_treeplan *plan, MPI_Comm comm, const void *buf, int64_t count, MPI_Datatype type,
                   bool dense, int64_t bytes, int tag)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int rc = MPI_SUCCESS, last;
    if (bytes > espi_treeplan_room(plan, plan->parent, plan->n, plan->bytes) ||
        (tag == ESPI_TAG_SIZED && plan->parent == plan->root))
        rc = espi_tree_isend(NULL, 0, MPI_BYTE, plan->parent, ESPI_TAG_ANNOUNCE, comm, &request[0]);
    if (!rc && plan->children == 0 && plan->parent != plan->root && bytes > SENT_AT_ONCE)
        rc = espi_tree_send_away(buf, count, type, dense, bytes, plan->parent, tag, comm);
    else if (!rc)
        rc = espi_tree_isend(buf, count, type, plan->parent, tag, comm, &request[1]);
    for (int i = 0; i < 2; i++)
        if (request[i] != MPI_REQUEST_NULL && (last = espi_real.Wait(&request[i], MPI_STATUS_IGNORE)) && !rc)
            rc = last;
    return rc;
}

/* The message that a child of n ranks has announced, in new memory. It is taken in any case. */
static int receive_late(const struct espi_subtree *sub, MPI_Comm comm, void **memory, int64_t *bytes)
{
    int tag = sub->n == 1 ? ESPI_TAG_DATA : ESPI_TAG_SIZED;
    *bytes = espi_tree_probe(sub->rank, tag, comm);
    if (*bytes < 0)
        return MPI_ERR_OTHER;
    *memory = malloc(*bytes > 0 ? (size_t)*bytes : 1);
    if (!*memory) {
        espi_tree_drop(sub->rank, comm);
        return MPI_ERR_NO_MEM;
    }
    return espi_tree_recv(*memory, *bytes, MPI_PACKED, sub->rank, tag, comm, MPI_STATUS_IGNORE);
}

/* ---- ranks with children ---- */

/* One stretch of memory with all pieces, the sizes in front where they are given. `memory` has room for them before
   the pieces, which may already lie there one behind the other. */
static char *join(struct piece *pieces, int n, char *memory, const int64_t *sizes, int64_t table, int64_t *bytes,
                  void **joined)
{
    int64_t total = 0;
    bool late = false;
    for (int i = 0; i < n; i++) {
        late = late || pieces[i].late;
        total += pieces[i].bytes;
    }
    *bytes = sizes ? table + total : total;
    if (late && !(memory = *joined = espi_scratch_get((size_t)(table + total))))
        return NULL;
    char *to = memory + table;
    for (int i = 0; i < n; i++) { /* pieces only move towards the front, so they never overwrite one to come */
        if (pieces[i].bytes > 0 && pieces[i].at != to)
            memmove(to, pieces[i].at, (size_t)pieces[i].bytes);
        to += pieces[i].bytes;
    }
    if (!sizes)
        return memory + table;
    memcpy(memory, sizes, (size_t)table);
    return memory;
}

/* What has come from a child: its place among the pieces, and the sizes of its blocks where they are not as
   planned. */
static int take_piece(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_subtree *sub,
                      const MPI_Status *status, struct piece *piece, int64_t *sizes, bool *planned)
{
    int64_t table = (int64_t)sub->n * (int64_t)sizeof *sizes;
    int rc = MPI_SUCCESS;
    piece->bytes = 0;
    if (status->MPI_TAG == ESPI_TAG_FAILED)
        return MPI_ERR_OTHER;
    if (status->MPI_TAG == ESPI_TAG_MISSING) {
        *sizes = -1;
        *planned = false;
        return MPI_SUCCESS;
    }
    if (status->MPI_TAG == ESPI_TAG_ANNOUNCE) {
        rc = receive_late(sub, comm, &piece->late, &piece->bytes);
        piece->at = piece->late;
        if (rc)
            return rc;
    } else {
        piece->bytes = espi_tree_received(status);
    }
    if (sub->n == 1) {
        *sizes = piece->bytes;
        *planned = *planned && *sizes == plan->size[sub->first];
    } else if (status->MPI_TAG != ESPI_TAG_DATA) {
        memcpy(sizes, piece->at, (size_t)table);
        piece->at += table;
        piece->bytes -= table;
        *planned = false;
    }
    return rc;
}

/* What a rank with children needs for one call. Pieces stand in the order of the ranks: children below this rank, its
   own block, children above it. Children of a subtree that is a range may be listed in any order, so places are found
   by rank. */
struct inner {
    struct piece *pieces;
    MPI_Request *requests;
    MPI_Status *statuses;
    int64_t *sizes; /* of the subtree's blocks */
    int *place, own_place;
    char *memory;
};

static bool inner_make(const struct espi_treeplan *plan, const struct espi_block *own, struct inner *in)
{
    int n = plan->children + 1;
    int64_t table = (int64_t)plan->n * (int64_t)sizeof(int64_t), room = table;
    *in = (struct inner){
        .pieces = malloc((size_t)n * (sizeof(struct piece) + sizeof(MPI_Request) + sizeof(MPI_Status) + sizeof(int)) +
                         (size_t)table)};
    if (!in->pieces)
        return false;
    in->sizes = (int64_t *)(in->pieces + n);
    in->statuses = (MPI_Status *)(in->sizes + plan->n);
    in->requests = (MPI_Request *)(in->statuses + n);
    in->place = (int *)(in->requests + n);
    memset(in->pieces, 0, (size_t)n * sizeof *in->pieces);
    int mine = position(plan, plan->rank);
    for (int k = 0; k < plan->children; k++) {
        in->place[k] = plan->child[k].first > mine ? 1 : 0;
        for (int i = 0; i < plan->children; i++)
            in->place[k] += plan->child[i].first < plan->child[k].first;
        in->own_place += plan->child[k].first < mine;
        in->requests[k] = MPI_REQUEST_NULL;
        in->pieces[in->place[k]].room = espi_treeplan_room(plan, plan->rank, plan->child[k].n, plan->child[k].bytes);
    }
    in->pieces[in->own_place].room = in->pieces[in->own_place].bytes = own->bytes;
    memcpy(in->sizes, plan->size + plan->first, (size_t)table);
    in->sizes[mine - plan->first] = own->refused ? -1 : own->bytes;
    for (int i = 0; i < n; i++)
        room += in->pieces[i].room;
    in->memory = espi_scratch_get((size_t)room);
    if (!in->memory)
        return false;
    /* Without slack the planned size is the room, so what arrives as planned need not move. */
    char *at = in->memory + table;
    for (int i = 0; i < n; i++, at += in->pieces[i - 1].room)
        in->pieces[i].at = at;
    return true;
}

static void inner_release(const struct espi_treeplan *plan, struct inner *in)
{
    for (int i = 0; in->pieces && i <= plan->children; i++)
        free(in->pieces[i].late);
    espi_scratch_put(in->memory);
    free(in->pieces);
}

static int gather_inner(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_block *own)
{
    struct inner in;
    void *joined = NULL;
    int64_t bytes, table = (int64_t)plan->n * (int64_t)sizeof(int64_t);
    int rc = MPI_SUCCESS, last;
    if (!inner_make(plan, own, &in)) {
        for (int k = 0; k < plan->children; k++)
            if (espi_tree_drop(plan->child[k].rank, comm) == ESPI_TAG_ANNOUNCE)
                espi_tree_drop(plan->child[k].rank, comm);
        inner_release(plan, &in);
        espi_tree_signal(plan->parent, ESPI_TAG_FAILED, comm);
        return MPI_ERR_NO_MEM;
    }
    for (int k = 0; k < plan->children && !rc; k++)
        rc = espi_tree_irecv(in.pieces[in.place[k]].at, in.pieces[in.place[k]].room, MPI_PACKED, plan->child[k].rank,
                             MPI_ANY_TAG, comm, &in.requests[k]);
    struct piece *mine = &in.pieces[in.own_place];
    if (!rc)
        rc = espi_tree_pack(own->buf, own->count, own->type, own->dense, mine->at, own->bytes, comm);
    /* Whatever failed: nothing may arrive in memory that is no longer ours, or in the next call. */
    last = espi_real.Waitall(plan->children, in.requests, in.statuses);
    rc = rc ? rc : last;
    bool planned = in.sizes[position(plan, plan->rank) - plan->first] == plan->size[position(plan, plan->rank)];
    for (int k = 0; k < plan->children && !last; k++) {
        const struct espi_subtree *sub = &plan->child[k];
        int bad = take_piece(plan, comm, sub, &in.statuses[k], &in.pieces[in.place[k]],
                             in.sizes + (sub->first - plan->first), &planned);
        rc = rc ? rc : bad;
    }
    if (!rc) {
        char *message = join(in.pieces, plan->children + 1, in.memory, planned ? NULL : in.sizes, table, &bytes,
                             &joined);
        rc = MPI_ERR_NO_MEM;
        if (message)
            rc = send_up(plan, comm, message, bytes, MPI_PACKED, true, bytes,
                         planned ? ESPI_TAG_DATA : ESPI_TAG_SIZED);
        else
            espi_tree_signal(plan->parent, ESPI_TAG_FAILED, comm);
    } else {
        espi_tree_signal(plan->parent, ESPI_TAG_FAILED, comm);
    }
    inner_release(plan, &in);
    espi_scratch_put(joined);
    return rc;
}

/* ---- the root ---- */

/* What the root receives from a child: straight into the blocks, or through memory of its own. */
struct arrival {
    const struct espi_subtree *sub;
    char *memory; /* NULL: straight */
};

/* Straight only where what may come unannounced fits. */
static int start_arrival(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                         struct arrival *a, MPI_Request *request)
{
    const struct espi_subtree *sub = a->sub;
    const int *ranks = plan->ranks + sub->first;
    int64_t room = espi_treeplan_room(plan, plan->rank, sub->n, sub->bytes);
    if (sub->n == 1 && espi_blocks_bytes(blocks, sub->rank) >= room)
        return espi_tree_irecv(espi_blocks_at(blocks, sub->rank), espi_blocks_count(blocks, sub->rank), blocks->type,
                               sub->rank, MPI_ANY_TAG, comm, request);
    bool straight = sub->n > 1;
    for (int i = 0; i < sub->n && straight; i++)
        straight = espi_blocks_bytes(blocks, ranks[i]) == plan->size[sub->first + i];
    if (straight && espi_blocks_joined(blocks, ranks, sub->n)) /* each has data, so they begin with the first */
        return espi_tree_irecv(espi_blocks_at(blocks, ranks[0]), room, MPI_PACKED, sub->rank, MPI_ANY_TAG, comm,
                               request);
    a->memory = espi_scratch_get((size_t)room);
    return a->memory ? espi_tree_irecv(a->memory, room, MPI_PACKED, sub->rank, MPI_ANY_TAG, comm, request)
                     : MPI_ERR_NO_MEM;
}

static int fill(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks, int rank,
                const char *from, int64_t bytes)
{
    return espi_tree_fill(from, bytes, espi_blocks_at(blocks, rank), espi_blocks_count(blocks, rank), blocks->type,
                          blocks->dense, espi_blocks_bytes(blocks, rank), plan->rank, comm);
}

/* One block straight from its owner, of any length. */
static int take_block(MPI_Comm comm, const struct espi_blocks *blocks, int rank, int tag)
{
    int64_t bytes = espi_tree_probe(rank, tag, comm);
    if (bytes < 0)
        return MPI_ERR_OTHER;
    if (bytes > espi_blocks_bytes(blocks, rank)) {
        espi_tree_drop(rank, comm);
        return MPI_ERR_TRUNCATE;
    }
    return espi_tree_recv(espi_blocks_at(blocks, rank), espi_blocks_count(blocks, rank), blocks->type, rank, tag,
                          comm, MPI_STATUS_IGNORE);
}

/* A rank whose call was refused: natively the root waits for its next one if it expects data of it, else not. */
static int take_missing(MPI_Comm comm, const struct espi_blocks *blocks, int rank)
{
    bool expected = espi_blocks_bytes(blocks, rank) > 0;
    int rc = espi_tree_signal(rank, expected ? ESPI_TAG_EXPECTED : ESPI_TAG_UNEXPECTED, comm);
    return rc || !expected ? rc : take_block(comm, blocks, rank, ESPI_TAG_DIRECT);
}

/* The blocks of a subtree of several ranks from a piece. Those behind one that is too long are filled as well. */
static int fill_all(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                    const struct espi_subtree *sub, const char *from, const int64_t *sizes)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < sub->n; i++) {
        int rank = plan->ranks[sub->first + i];
        int bad = sizes[i] < 0 ? take_missing(comm, blocks, rank) : fill(plan, comm, blocks, rank, from, sizes[i]);
        from += sizes[i] < 0 ? 0 : sizes[i];
        rc = rc ? rc : bad;
    }
    return rc;
}

static int finish_arrival(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                          const struct arrival *a, const MPI_Status *status);

/* Natively there is no message where there are no data: a piece without any is of a call that the root has not made
   (MPI refused it), if it expects some now. */
static bool expects_data(const struct espi_treeplan *plan, const struct espi_blocks *blocks,
                         const struct espi_subtree *sub)
{
    for (int i = 0; i < sub->n; i++)
        if (espi_blocks_bytes(blocks, plan->ranks[sub->first + i]) > 0)
            return true;
    return false;
}

/* The next piece of the same child. */
static int take_next(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                     const struct espi_subtree *sub)
{
    struct arrival a = {sub, NULL};
    MPI_Request request;
    MPI_Status status;
    int rc = start_arrival(plan, comm, blocks, &a, &request);
    if (!rc)
        rc = espi_real.Wait(&request, &status);
    if (!rc)
        rc = finish_arrival(plan, comm, blocks, &a, &status);
    espi_scratch_put(a.memory);
    return rc;
}

static bool is_without_data(const int64_t *sizes, int n)
{
    for (int i = 0; i < n; i++)
        if (sizes[i] != 0)
            return false;
    return true;
}

static int finish_arrival(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                          const struct arrival *a, const MPI_Status *status)
{
    const struct espi_subtree *sub = a->sub;
    int64_t bytes;
    void *late = NULL;
    if (status->MPI_TAG == ESPI_TAG_FAILED)
        return MPI_ERR_OTHER;
    if (status->MPI_TAG == ESPI_TAG_MISSING)
        return take_missing(comm, blocks, sub->rank);
    if (status->MPI_TAG == ESPI_TAG_DATA) {
        if (sub->n == 1 && espi_tree_received(status) == 0 && expects_data(plan, blocks, sub))
            return take_next(plan, comm, blocks, sub);
        if (!a->memory)
            return MPI_SUCCESS;
        if (sub->n > 1)
            return fill_all(plan, comm, blocks, sub, a->memory, plan->size + sub->first);
        return fill(plan, comm, blocks, sub->rank, a->memory, espi_tree_received(status));
    }
    if (sub->n == 1)
        return take_block(comm, blocks, sub->rank, ESPI_TAG_DATA);
    int rc = receive_late(sub, comm, &late, &bytes);
    if (!rc && is_without_data(late, sub->n) && expects_data(plan, blocks, sub)) {
        free(late);
        return take_next(plan, comm, blocks, sub);
    }
    if (!rc)
        rc = fill_all(plan, comm, blocks, sub, (char *)late + (size_t)sub->n * sizeof(int64_t), late);
    free(late);
    return rc;
}

/* In the order in which they come, so that copying goes on while others are under way. */
static int await_and_fill(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                          const struct arrival *arrivals, MPI_Request *requests, int n)
{
    int rc = MPI_SUCCESS, bad;
    for (int left = n; left > 0; left--) {
        int i = MPI_UNDEFINED;
        MPI_Status status;
        bad = espi_real.Waitany(n, requests, &i, &status);
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
static int await_all(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                     const struct arrival *arrivals, MPI_Request *requests, MPI_Status *statuses, int n)
{
    int rc = espi_real.Waitall(n, requests, statuses), bad;
    for (int i = 0; i < n && rc != MPI_ERR_IN_STATUS; i++)
        if (statuses[i].MPI_TAG != ESPI_TAG_DATA || arrivals[i].sub->n == 1) {
            bad = finish_arrival(plan, comm, blocks, &arrivals[i], &statuses[i]);
            rc = rc ? rc : bad;
        }
    return rc;
}

/* The blocks of the ranks that are not in the tree. */
static int take_others(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_blocks *blocks)
{
    int rc = MPI_SUCCESS;
    for (int r = 0, i = 0; r < plan->p && plan->members < plan->p; r++) {
        while (i < plan->members && plan->ranks[i] < r)
            i++;
        bool member = i < plan->members && plan->ranks[i] == r;
        if (!member && r != plan->rank && espi_blocks_bytes(blocks, r) > 0) {
            int bad = take_block(comm, blocks, r, ESPI_TAG_DATA);
            rc = rc ? rc : bad;
        }
    }
    return rc;
}

static int gather_root(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_block *own,
                       const struct espi_blocks *blocks)
{
    int n = plan->children, started = 0, rc = MPI_SUCCESS, last = MPI_SUCCESS;
    bool unpack = false;
    struct arrival *arrivals = malloc((size_t)(n + 1) *
                                      (sizeof *arrivals + sizeof(MPI_Request) + sizeof(MPI_Status)));
    MPI_Status *statuses = (MPI_Status *)(arrivals + n + 1);
    MPI_Request *requests = (MPI_Request *)(statuses + n + 1);
    if (!arrivals)
        rc = MPI_ERR_NO_MEM;
    for (; started < n && !rc; started += !rc) {
        arrivals[started] = (struct arrival){&plan->child[started], NULL};
        rc = start_arrival(plan, comm, blocks, &arrivals[started], &requests[started]);
        unpack = unpack || arrivals[started].memory;
    }
    if (!rc && !own->in_place)
        rc = espi_tree_copy(own->buf, own->count, own->type, espi_blocks_at(blocks, plan->rank),
                            espi_blocks_count(blocks, plan->rank), blocks->type,
                            own->dense && blocks->dense && own->bytes <= espi_blocks_bytes(blocks, plan->rank),
                            own->bytes, plan->rank, comm);
    /* All messages of this call are taken, whatever failed: they must not meet the next. */
    if (started > 0)
        last = unpack ? await_and_fill(plan, comm, blocks, arrivals, requests, started)
                      : await_all(plan, comm, blocks, arrivals, requests, statuses, started);
    rc = rc ? rc : last;
    for (int k = started; k < n; k++)
        if (espi_tree_drop(plan->child[k].rank, comm) == ESPI_TAG_ANNOUNCE)
            espi_tree_drop(plan->child[k].rank, comm);
    last = take_others(plan, comm, blocks);
    rc = rc ? rc : last;
    for (int i = 0; i < started; i++)
        espi_scratch_put(arrivals[i].memory);
    free(arrivals);
    return rc;
}

/* A block straight to the root. */
static int send_to_root(const struct espi_treeplan *plan, MPI_Comm comm, const struct espi_block *own, int tag)
{
    MPI_Request request;
    int rc = espi_tree_isend(own->buf, own->count, own->type, plan->root, tag, comm, &request);
    return rc ? rc : espi_real.Wait(&request, MPI_STATUS_IGNORE);
}

/* Whether the call, after a refused one, is the one that this rank still owes to the root. It has said that it owes
   something, and the root answers when it has come to that call. */
static bool is_owed(struct espi_treeplan *plan, MPI_Comm comm)
{
    MPI_Status status;
    if (plan->debt == ESPI_DEBT_ASKED &&
        espi_tree_recv(NULL, 0, MPI_BYTE, plan->root, MPI_ANY_TAG, comm, &status) == MPI_SUCCESS)
        plan->debt = status.MPI_TAG == ESPI_TAG_EXPECTED ? ESPI_DEBT_DATA : ESPI_DEBT_NONE;
    return plan->debt != ESPI_DEBT_NONE;
}

static int gather_owed(struct espi_treeplan *plan, MPI_Comm comm, const struct espi_block *own)
{
    if (own->refused || own->bytes == 0)
        return MPI_SUCCESS; /* nothing is sent natively */
    plan->debt = ESPI_DEBT_NONE;
    return send_to_root(plan, comm, own, ESPI_TAG_DIRECT);
}

int espi_tree_gather(struct espi_treeplan *plan, MPI_Comm comm, const struct espi_block *own,
                     const struct espi_blocks *blocks)
{
    if (plan->rank == plan->root)
        return own->refused ? MPI_SUCCESS : gather_root(plan, comm, own, blocks);
    if (is_owed(plan, comm))
        return gather_owed(plan, comm, own);
    if (plan->member && own->refused)
        plan->debt = ESPI_DEBT_ASKED;
    if (plan->children > 0)
        return gather_inner(plan, comm, own);
    if (plan->member && own->refused)
        return espi_tree_signal(plan->parent, ESPI_TAG_MISSING, comm);
    if (plan->member)
        return send_up(plan, comm, own->buf, own->count, own->type, own->dense, own->bytes, ESPI_TAG_DATA);
    return own->bytes == 0 ? MPI_SUCCESS : send_to_root(plan, comm, own, ESPI_TAG_DATA);
}
