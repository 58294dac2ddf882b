/* MPI_Scatterv along a tree. See subtree_plan.h for the protocol. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/core/pmpi.h"
#include "mpi/gather/subtree_plan.h"

/* What a rank sends on: requests of all messages, and the memory that they use. */
struct sending {
    MPI_Request *requests;
    void **memory;
    int n, most;
};

static bool sending_make(struct sending *s, int messages)
{
    *s = (struct sending){NULL, NULL, 0, messages + 1};
    s->requests = malloc((size_t)s->most * sizeof *s->requests);
    s->memory = calloc((size_t)s->most, sizeof *s->memory);
    return s->requests && s->memory;
}

/* Messages that leave together share the way out of this rank, and the one with the longest way to go, which was sent
   first, would arrive with the last. So a large one for a subtree is finished before the next begins. */
enum { ALONE = 1 << 16 };

static int await_if_large(struct sending *s, const struct espi_subtree *sub, int64_t bytes)
{
    return sub->n > 1 && bytes >= ALONE ? espi_pmpi.Wait(&s->requests[s->n - 1], MPI_STATUS_IGNORE) : MPI_SUCCESS;
}

static int sending_finish(struct sending *s, int rc)
{
    for (int i = 0, last; i < s->n; i++)
        if ((last = espi_pmpi.Wait(&s->requests[i], MPI_STATUS_IGNORE)) && !rc)
            rc = last;
    for (int i = 0; s->memory && i < s->most; i++)
        espi_pool_put(s->memory[i]);
    free(s->requests);
    free(s->memory);
    return rc;
}

/* A block that goes to its owner alone. */
static int send_block(struct sending *s, const struct espi_blocks *blocks, int rank, int tag, MPI_Comm comm)
{
    int rc = espi_tree_isend_block(espi_blocks_at(blocks, rank), espi_blocks_count(blocks, rank), &blocks->type,
                                   espi_blocks_bytes(blocks, rank), rank, tag, comm, &s->requests[s->n],
                                   &s->memory[s->n]);
    if (!rc)
        s->n++;
    return rc;
}

static int send_message(struct sending *s, const void *buf, int64_t count, MPI_Datatype type, int peer, int tag,
                        MPI_Comm comm)
{
    int rc = espi_tree_isend(buf, count, type, peer, tag, comm, &s->requests[s->n]);
    if (!rc)
        s->n++;
    return rc;
}

/* Sizes go ahead of the data for a subtree of several ranks in which one is not as planned. `sizes` runs parallel to
   plan->ranks + sub->first and must live until the sending is finished. */
static bool as_planned(const struct espi_subtree_plan *plan, const struct espi_subtree *sub, const int64_t *sizes)
{
    return memcmp(plan->size + sub->first, sizes, (size_t)sub->n * sizeof *sizes) == 0;
}

/* ---- the root ---- */

/* A rank without children that is to have no data expects no message, as natively: its call may even be refused. */
static bool is_sent_to(const struct espi_subtree *sub, const int64_t *sizes)
{
    return sub->n > 1 || sizes[0] > 0;
}

static int send_subtree(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_blocks *blocks,
                        const struct espi_subtree *sub, const int64_t *sizes, struct sending *s)
{
    const int *ranks = plan->ranks + sub->first;
    int64_t bytes = 0, at = 0;
    int rc = MPI_SUCCESS, from = 0;
    if (!is_sent_to(sub, sizes))
        return MPI_SUCCESS;
    if (sub->n == 1)
        return send_block(s, blocks, sub->rank, ESPI_TAG_DATA, comm);
    for (int i = 0; i < sub->n; i++)
        bytes += sizes[i];
    if (!as_planned(plan, sub, sizes) &&
        (rc = send_message(s, sizes, (int64_t)sub->n * (int64_t)sizeof *sizes, MPI_BYTE, sub->rank,
                           ESPI_TAG_ANNOUNCE, comm)))
        return rc;
    if (espi_blocks_joined(blocks, ranks, sub->n)) {
        while (from < sub->n - 1 && sizes[from] == 0)
            from++;
        rc = send_message(s, espi_blocks_at(blocks, ranks[from]), bytes, MPI_PACKED, sub->rank, ESPI_TAG_DATA, comm);
        return rc ? rc : await_if_large(s, sub, bytes);
    }
    char *memory = espi_pool_get((size_t)bytes);
    if (!memory)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < sub->n && !rc; at += sizes[i++])
        rc = espi_tree_pack(espi_blocks_at(blocks, ranks[i]), espi_blocks_count(blocks, ranks[i]), &blocks->type,
                            memory + at, sizes[i], comm);
    s->memory[s->n] = memory; /* at most one per message */
    if (!rc)
        rc = send_message(s, memory, bytes, MPI_PACKED, sub->rank, ESPI_TAG_DATA, comm);
    return rc ? rc : await_if_large(s, sub, bytes);
}

/* Messages of the root: to its children, and to ranks that are not in the tree but have data in this call. */
static bool is_other(const struct espi_subtree_plan *plan, const struct espi_blocks *blocks, int rank, int *at)
{
    while (*at < plan->n && plan->ranks[*at] < rank)
        (*at)++;
    return !(*at < plan->n && plan->ranks[*at] == rank) && espi_blocks_bytes(blocks, rank) > 0;
}

static int copy_own(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                    const struct espi_blocks *blocks)
{
    return espi_tree_copy(espi_blocks_at(blocks, plan->rank), espi_blocks_count(blocks, plan->rank),
                          blocks->type.handle, own->buf, own->count, own->type.handle,
                          own->type.dense && blocks->type.dense &&
                              espi_blocks_bytes(blocks, plan->rank) <= own->bytes,
                          espi_blocks_bytes(blocks, plan->rank), plan->rank, comm);
}

/* Nobody who is to have no data waits for the root. */
static int release_children(struct espi_subtree_plan *plan, MPI_Comm comm)
{
    int rc = MPI_SUCCESS;
    if (plan->released)
        return MPI_SUCCESS;
    plan->released = true;
    for (int k = 0; k < plan->children; k++) {
        int bad = espi_tree_signal(plan->child[k].rank, ESPI_TAG_RELEASE, comm);
        rc = rc ? rc : bad;
    }
    return rc;
}

/* After a refused call: without the tree. */
static int scatter_directly(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                            const struct espi_blocks *blocks)
{
    struct sending s;
    int rc = MPI_SUCCESS, last;
    if (!sending_make(&s, plan->p))
        rc = MPI_ERR_NO_MEM;
    for (int r = 0; r < plan->p && !rc; r++)
        if (r != plan->rank && espi_blocks_bytes(blocks, r) > 0)
            rc = send_block(&s, blocks, r, ESPI_TAG_DIRECT, comm);
    if (!rc && !own->in_place)
        rc = copy_own(plan, comm, own, blocks);
    last = sending_finish(&s, MPI_SUCCESS);
    return rc ? rc : last;
}

static int scatter_root(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                        const struct espi_blocks *blocks)
{
    struct sending s;
    int rc = MPI_SUCCESS, last, k = plan->children - 1, r = 0, at = 0;
    int64_t *sizes = malloc((size_t)plan->n * sizeof *sizes);
    if (!sending_make(&s, 2 * plan->children + plan->p - plan->n) || !sizes)
        rc = MPI_ERR_NO_MEM;
    for (int i = 0; i < plan->n && !rc; i++)
        sizes[i] = espi_blocks_bytes(blocks, plan->ranks[i]);
    /* The child that a gather hears last has the longest way to go: it is served first. */
    for (; k >= 0 && !rc; k -= !rc)
        rc = send_subtree(plan, comm, blocks, &plan->child[k], sizes + plan->child[k].first, &s);
    for (; r < plan->p && !rc; r += !rc)
        if (is_other(plan, blocks, r, &at))
            rc = send_block(&s, blocks, r, ESPI_TAG_DATA, comm);
    if (!rc && !own->in_place)
        rc = copy_own(plan, comm, own, blocks);
    for (; k >= 0; k--) /* whoever got nothing would wait for ever */
        if (plan->child[k].n > 1 || espi_blocks_bytes(blocks, plan->child[k].rank) > 0)
            espi_tree_signal(plan->child[k].rank, ESPI_TAG_FAILED, comm);
    for (; r < plan->p; r++)
        if (is_other(plan, blocks, r, &at))
            espi_tree_signal(r, ESPI_TAG_FAILED, comm);
    last = sending_finish(&s, MPI_SUCCESS);
    free(sizes);
    return rc ? rc : last;
}

/* ---- ranks with children ---- */

/* The data of the subtree in *memory, and the sizes of its blocks. Takes what the parent sends in any case; with
   `released`, an error, there is none. */
static int receive_subtree(const struct espi_subtree_plan *plan, MPI_Comm comm, int64_t *sizes, char **memory,
                           bool *released)
{
    int64_t table = (int64_t)plan->n * (int64_t)sizeof *sizes, total = 0;
    int64_t room = plan->bytes > table ? plan->bytes : table;
    MPI_Status status;
    *memory = espi_pool_get((size_t)room);
    if (!*memory) {
        if (espi_tree_drop(plan->parent, comm) == ESPI_TAG_ANNOUNCE)
            espi_tree_drop(plan->parent, comm);
        return MPI_ERR_NO_MEM;
    }
    memcpy(sizes, plan->size, (size_t)table);
    int rc = espi_tree_recv(*memory, room, MPI_PACKED, plan->parent, MPI_ANY_TAG, comm, &status);
    if (rc || status.MPI_TAG == ESPI_TAG_DATA)
        return rc;
    if (status.MPI_TAG == ESPI_TAG_RELEASE)
        *released = true;
    if (status.MPI_TAG == ESPI_TAG_FAILED || *released)
        return MPI_ERR_OTHER;
    memcpy(sizes, *memory, (size_t)table);
    for (int i = 0; i < plan->n; i++)
        total += sizes[i];
    if (total > room) {
        espi_pool_put(*memory);
        *memory = espi_pool_get((size_t)total);
        if (!*memory) {
            espi_tree_drop(plan->parent, comm);
            return MPI_ERR_NO_MEM;
        }
    }
    rc = espi_tree_recv(*memory, total, MPI_PACKED, plan->parent, MPI_ANY_TAG, comm, &status);
    return rc || status.MPI_TAG == ESPI_TAG_DATA ? rc : MPI_ERR_OTHER;
}

/* The own part of a refused call, for a call to come. */
static int keep_part(struct espi_subtree_plan *plan, const char *from, int64_t bytes)
{
    struct espi_kept_part **end = &plan->kept, *part;
    if (bytes == 0)
        return MPI_SUCCESS;
    part = malloc(sizeof *part + (size_t)bytes);
    if (!part)
        return MPI_ERR_NO_MEM;
    memcpy(part->data, from, (size_t)bytes);
    part->bytes = bytes;
    part->next = NULL;
    while (*end)
        end = &(*end)->next;
    *end = part;
    return MPI_SUCCESS;
}

static int take_kept_part(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own)
{
    struct espi_kept_part *part = plan->kept;
    plan->kept = part->next;
    int rc = espi_tree_fill(part->data, part->bytes, own->buf, own->count, &own->type, own->bytes, plan->rank, comm);
    free(part);
    return rc;
}

static int receive_directly(const struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own)
{
    if (own->refused || own->bytes == 0)
        return MPI_SUCCESS;
    return espi_tree_recv_block(own->buf, own->count, &own->type, own->bytes, plan->root, ESPI_TAG_DIRECT,
                                plan->rank, comm, MPI_STATUS_IGNORE);
}

/* A refused call waits for nobody. */
static int pass_on(struct sending *s, const struct espi_block *own, const void *buf, int64_t bytes, int peer, int tag,
                   MPI_Comm comm)
{
    const struct espi_tree_type packed = {.handle = MPI_PACKED, .dense = true};
    return own->refused ? espi_tree_send_away(buf, bytes, &packed, bytes, peer, tag, comm)
                        : send_message(s, buf, bytes, MPI_PACKED, peer, tag, comm);
}

static int scatter_inner(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own)
{
    struct sending s;
    int rc = MPI_SUCCESS, last, k = plan->children - 1;
    int64_t *sizes = malloc(2 * (size_t)plan->n * sizeof *sizes), *offsets = sizes ? sizes + plan->n : NULL, at = 0;
    char *memory = NULL;
    bool released = false;
    if (!sending_make(&s, 2 * plan->children) || !sizes) {
        rc = MPI_ERR_NO_MEM;
        if (espi_tree_drop(plan->parent, comm) == ESPI_TAG_ANNOUNCE)
            espi_tree_drop(plan->parent, comm);
    } else {
        rc = receive_subtree(plan, comm, sizes, &memory, &released);
    }
    if (released) {
        sending_finish(&s, MPI_SUCCESS);
        espi_pool_put(memory);
        free(sizes);
        release_children(plan, comm);
        return receive_directly(plan, comm, own);
    }
    for (int i = 0; i < plan->n && !rc; at += sizes[i++])
        offsets[i] = at;
    for (; k >= 0 && !rc; k -= !rc) {
        const struct espi_subtree *sub = &plan->child[k];
        int64_t *below = sizes + sub->first, bytes = 0;
        for (int i = 0; i < sub->n; i++)
            bytes += below[i];
        if (!is_sent_to(sub, below))
            continue;
        if (sub->n > 1 && !as_planned(plan, sub, below))
            rc = pass_on(&s, own, below, (int64_t)sub->n * (int64_t)sizeof *below, sub->rank, ESPI_TAG_ANNOUNCE,
                         comm);
        if (!rc)
            rc = pass_on(&s, own, memory + offsets[sub->first], bytes, sub->rank, ESPI_TAG_DATA, comm);
        if (!rc && !own->refused)
            rc = await_if_large(&s, sub, bytes);
    }
    if (!rc && own->refused)
        rc = keep_part(plan, memory + offsets[plan->own_at], sizes[plan->own_at]);
    else if (!rc)
        rc = espi_tree_fill(memory + offsets[plan->own_at], sizes[plan->own_at], own->buf, own->count, &own->type,
                            own->bytes, plan->rank, comm);
    for (; k >= 0; k--)
        espi_tree_signal(plan->child[k].rank, ESPI_TAG_FAILED, comm);
    last = sending_finish(&s, MPI_SUCCESS);
    espi_pool_put(memory);
    free(sizes);
    return rc ? rc : last;
}

/* ---- a rank with children that was refused: see subtree_plan.h ---- */

/* What is the children's of one call; the own part is kept. */
static int pass_set_on(struct espi_subtree_plan *plan, MPI_Comm comm)
{
    const struct espi_block none = {.type = {.handle = MPI_BYTE, .dense = true}, .refused = true};
    plan->ahead++;
    return scatter_inner(plan, comm, &none);
}

int espi_tree_scatter_spare(struct espi_subtree_plan *plan, MPI_Comm comm)
{
    int rc = MPI_SUCCESS;
    if (!plan->gone || plan->children == 0)
        return MPI_SUCCESS;
    while (!rc && !plan->released && plan->ahead < plan->spare && espi_tree_has_come(plan, plan->parent, comm))
        rc = pass_set_on(plan, comm);
    return rc;
}

static int scatter_kept(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own)
{
    int rc = MPI_SUCCESS, last;
    plan->ahead--;
    while (!rc && !plan->released && (plan->ahead < 0 || (own->bytes > 0 && !plan->kept)))
        rc = pass_set_on(plan, comm);
    if (!rc && own->bytes > 0)
        rc = plan->kept ? take_kept_part(plan, comm, own) : receive_directly(plan, comm, own);
    last = espi_tree_scatter_spare(plan, comm);
    return rc ? rc : last;
}

/* ---- a rank ---- */

int espi_tree_scatter(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                      const struct espi_blocks *blocks)
{
    MPI_Status status;
    if (plan->rank == plan->root)
        return own->refused     ? release_children(plan, comm)
               : plan->released ? scatter_directly(plan, comm, own, blocks)
                                : scatter_root(plan, comm, own, blocks);
    if (plan->children > 0 && own->refused) {
        plan->gone = true;
        plan->spare++;
        return espi_tree_scatter_spare(plan, comm);
    }
    if (plan->gone)
        return scatter_kept(plan, comm, own);
    if (plan->released)
        return receive_directly(plan, comm, own);
    if (plan->children > 0)
        return scatter_inner(plan, comm, own);
    if (own->refused || own->bytes == 0)
        return MPI_SUCCESS;
    int rc = espi_tree_recv_block(own->buf, own->count, &own->type, own->bytes,
                                  plan->member ? plan->parent : plan->root, MPI_ANY_TAG, plan->rank, comm, &status);
    if (!rc && status.MPI_TAG == ESPI_TAG_RELEASE) {
        plan->released = true;
        return receive_directly(plan, comm, own);
    }
    return rc || status.MPI_TAG == ESPI_TAG_DATA || status.MPI_TAG == ESPI_TAG_DIRECT ? rc : MPI_ERR_OTHER;
}
