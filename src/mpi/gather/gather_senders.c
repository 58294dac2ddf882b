/* MPI_Gatherv along a tree: the ranks that send, all but the root. See subtree_plan.h for the protocol. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/core/pmpi.h"
#include "mpi/gather/subtree_plan.h"

/* A piece of the message to the parent, in the order of the ranks. */
struct piece {
    char *at;
    int64_t bytes, room;
    void *late; /* memory of an announced piece */
};

/* Bytes that any MPI sends without waiting for the receiver, by far. */
enum { SENT_AT_ONCE = 1024 };

/* Sends `bytes` to the parent, announced where they may not fit. `away`: without waiting for it. */
static int send_up(const struct espi_subtree_plan *plan, MPI_Comm comm, const void *buf, int64_t count,
                   const struct espi_tree_type *type, int64_t bytes, int tag, bool away)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    void *memory = NULL;
    int rc = MPI_SUCCESS, last;
    if (bytes > espi_subtree_plan_room(plan, plan->parent, plan->n, plan->bytes) ||
        (tag == ESPI_TAG_SIZED && plan->parent == plan->root))
        rc = espi_tree_isend(NULL, 0, MPI_BYTE, plan->parent, ESPI_TAG_ANNOUNCE, comm, &request[0]);
    if (!rc && away && bytes > SENT_AT_ONCE)
        rc = espi_tree_send_away(buf, count, type, bytes, plan->parent, tag, comm);
    else if (!rc)
        rc = espi_tree_isend_block(buf, count, type, bytes, plan->parent, tag, comm, &request[1], &memory);
    for (int i = 0; i < 2; i++)
        if (request[i] != MPI_REQUEST_NULL && (last = espi_pmpi.Wait(&request[i], MPI_STATUS_IGNORE)) && !rc)
            rc = last;
    espi_pool_put(memory);
    return rc;
}

int espi_tree_receive_late(const struct espi_subtree *sub, MPI_Comm comm, void **memory, int64_t *bytes)
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
static char *join_pieces(struct piece *pieces, int n, char *memory, const int64_t *sizes, int64_t table,
                         int64_t *bytes,
                         void **joined)
{
    int64_t total = 0;
    bool late = false;
    for (int i = 0; i < n; i++) {
        late = late || pieces[i].late;
        total += pieces[i].bytes;
    }
    *bytes = sizes ? table + total : total;
    if (late && !(memory = *joined = espi_pool_get((size_t)(table + total))))
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
static int take_piece(const struct espi_subtree_plan *plan, MPI_Comm comm, struct espi_subtree *sub,
                      const MPI_Status *status, struct piece *piece, int64_t *sizes, bool *planned)
{
    int64_t table = (int64_t)sub->n * (int64_t)sizeof *sizes;
    int rc = MPI_SUCCESS;
    piece->bytes = 0;
    if (status->MPI_TAG == ESPI_TAG_FAILED)
        return MPI_ERR_OTHER;
    if (status->MPI_TAG == ESPI_TAG_GONE) {
        sub->gone = true;
        *sizes = ESPI_SIZE_GONE;
        *planned = false;
        return MPI_SUCCESS;
    }
    if (status->MPI_TAG == ESPI_TAG_ANNOUNCE) {
        rc = espi_tree_receive_late(sub, comm, &piece->late, &piece->bytes);
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

static bool inner_make(const struct espi_subtree_plan *plan, const struct espi_block *own, struct inner *in)
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
    int own_at = plan->own_at;
    for (int k = 0; k < plan->children; k++) {
        in->place[k] = plan->child[k].first > own_at ? 1 : 0;
        for (int i = 0; i < plan->children; i++)
            in->place[k] += plan->child[i].first < plan->child[k].first;
        in->own_place += plan->child[k].first < own_at;
        in->requests[k] = MPI_REQUEST_NULL;
        in->pieces[in->place[k]].room = espi_subtree_plan_room(plan, plan->rank, plan->child[k].n,
                                                               plan->child[k].bytes);
    }
    in->pieces[in->own_place].room = in->pieces[in->own_place].bytes = own->bytes;
    memcpy(in->sizes, plan->size, (size_t)table);
    in->sizes[own_at] = own->refused ? ESPI_SIZE_GONE : own->bytes;
    for (int i = 0; i < n; i++)
        room += in->pieces[i].room;
    in->memory = espi_pool_get((size_t)room);
    if (!in->memory)
        return false;
    /* Without slack the planned size is the room, so what arrives as planned need not move. */
    char *at = in->memory + table;
    for (int i = 0; i < n; i++, at += in->pieces[i - 1].room)
        in->pieces[i].at = at;
    return true;
}

static void inner_release(const struct espi_subtree_plan *plan, struct inner *in)
{
    for (int i = 0; in->pieces && i <= plan->children; i++)
        free(in->pieces[i].late);
    espi_pool_put(in->memory);
    free(in->pieces);
}

static int gather_inner(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own)
{
    const struct espi_tree_type packed = {.handle = MPI_PACKED, .dense = true};
    struct inner in;
    void *joined = NULL;
    int64_t bytes, table = (int64_t)plan->n * (int64_t)sizeof(int64_t);
    int rc = MPI_SUCCESS, last;
    if (!inner_make(plan, own, &in)) {
        for (int k = 0; k < plan->children; k++)
            if (!plan->child[k].gone && espi_tree_drop(plan->child[k].rank, comm) == ESPI_TAG_ANNOUNCE)
                espi_tree_drop(plan->child[k].rank, comm);
        inner_release(plan, &in);
        espi_tree_signal(plan->parent, ESPI_TAG_FAILED, comm);
        return MPI_ERR_NO_MEM;
    }
    for (int k = 0; k < plan->children && !rc; k++)
        if (!plan->child[k].gone)
            rc = espi_tree_irecv(in.pieces[in.place[k]].at, in.pieces[in.place[k]].room, MPI_PACKED,
                                 plan->child[k].rank, MPI_ANY_TAG, comm, &in.requests[k]);
    struct piece *own_piece = &in.pieces[in.own_place];
    if (!rc)
        rc = espi_tree_pack(own->buf, own->count, &own->type, own_piece->at, own->bytes, comm);
    /* Whatever failed: nothing may arrive in memory that is no longer ours, or in the next call. */
    last = espi_pmpi.Waitall(plan->children, in.requests, in.statuses);
    rc = rc ? rc : last;
    bool planned = in.sizes[plan->own_at] == plan->size[plan->own_at];
    for (int k = 0; k < plan->children && !last; k++) {
        struct espi_subtree *sub = &plan->child[k];
        if (sub->gone)
            in.statuses[k].MPI_TAG = ESPI_TAG_GONE;
        int bad = take_piece(plan, comm, sub, &in.statuses[k], &in.pieces[in.place[k]],
                             in.sizes + sub->first, &planned);
        rc = rc ? rc : bad;
    }
    if (!rc) {
        char *message = join_pieces(in.pieces, plan->children + 1, in.memory, planned ? NULL : in.sizes, table,
                                    &bytes,
                                    &joined);
        rc = MPI_ERR_NO_MEM;
        if (message)
            rc = send_up(plan, comm, message, bytes, &packed, bytes,
                         planned ? ESPI_TAG_DATA : ESPI_TAG_SIZED, own->refused);
        else
            espi_tree_signal(plan->parent, ESPI_TAG_FAILED, comm);
    } else {
        espi_tree_signal(plan->parent, ESPI_TAG_FAILED, comm);
    }
    inner_release(plan, &in);
    espi_pool_put(joined);
    return rc;
}

/* A block straight to the root. */
static int send_to_root(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own, int tag)
{
    MPI_Request request;
    void *memory;
    int rc = espi_tree_isend_block(own->buf, own->count, &own->type, own->bytes, plan->root, tag, comm, &request,
                                   &memory);
    if (!rc)
        rc = espi_pmpi.Wait(&request, MPI_STATUS_IGNORE);
    espi_pool_put(memory);
    return rc;
}

/* ---- a rank with children that was refused: see subtree_plan.h ---- */

/* The children's pieces of one call, without an own one. */
static int pass_set_on(struct espi_subtree_plan *plan, MPI_Comm comm)
{
    const struct espi_block none = {.type = {.handle = MPI_BYTE, .dense = true}, .refused = true};
    plan->ahead++;
    return gather_inner(plan, comm, &none);
}

static bool are_here(struct espi_subtree_plan *plan, MPI_Comm comm)
{
    bool here = true;
    for (int k = 0; k < plan->children && here; k++)
        here = plan->child[k].gone || espi_tree_has_come(plan, plan->child[k].rank, comm);
    return here;
}

int espi_tree_gather_spare(struct espi_subtree_plan *plan, MPI_Comm comm)
{
    int rc = MPI_SUCCESS;
    if (!plan->gone || plan->children == 0)
        return MPI_SUCCESS;
    while (!rc && plan->ahead < plan->spare && are_here(plan, comm))
        rc = pass_set_on(plan, comm);
    return rc;
}

static int gather_directly(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own)
{
    int rc = MPI_SUCCESS, last;
    for (plan->ahead--; !rc && plan->ahead < 0;)
        rc = pass_set_on(plan, comm);
    last = espi_tree_gather_spare(plan, comm);
    /* The root may still wait for a set that is not there yet. */
    if (!rc && own->bytes > 0)
        rc = espi_tree_send_away(own->buf, own->count, &own->type, own->bytes, plan->root, ESPI_TAG_DIRECT, comm);
    return rc ? rc : last;
}

/* ---- a rank ---- */

int espi_tree_gather(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                     const struct espi_blocks *blocks)
{
    int rc;
    if (plan->rank == plan->root)
        return own->refused ? MPI_SUCCESS : espi_tree_gather_root(plan, comm, own, blocks);
    if (plan->children > 0 && own->refused) {
        plan->gone = true;
        plan->spare++;
        return espi_tree_gather_spare(plan, comm);
    }
    if (plan->children > 0)
        return plan->gone ? gather_directly(plan, comm, own) : gather_inner(plan, comm, own);
    if (plan->gone || (plan->member && own->refused)) {
        rc = plan->gone ? MPI_SUCCESS : espi_tree_signal(plan->parent, ESPI_TAG_GONE, comm);
        plan->gone = true;
        return rc || own->refused || own->bytes == 0 ? rc : send_to_root(plan, comm, own, ESPI_TAG_DIRECT);
    }
    if (plan->member)
        return send_up(plan, comm, own->buf, own->count, &own->type, own->bytes, ESPI_TAG_DATA,
                       plan->parent != plan->root);
    return own->bytes == 0 ? MPI_SUCCESS : send_to_root(plan, comm, own, ESPI_TAG_DATA);
}
