/*
 * One rank's part in a gather or scatter along a communication tree, and how it is carried out.
 *
 * Subtrees are ranges of the ranks that take part, so the blocks of a subtree travel as one piece in the order of the
 * ranks. A tree is correct for any counts, not only those it was planned for, and for counts that do not agree: no
 * receive of it can be cut off (MPI_Wait reports that through MPI_COMM_WORLD, whatever the program's communicator
 * says).
 * - The root knows all counts of the call, every other rank its own.
 * - Gather: a piece in which every block has its planned size travels alone (ESPI_TAG_DATA), and so does a single
 *   block for which there is room. A piece of several blocks in which one is not as planned has the sizes in front
 *   (ESPI_TAG_SIZED). What may not fit, and any ESPI_TAG_SIZED to the root, which receives straight into the
 *   program's memory, is announced by an empty message (ESPI_TAG_ANNOUNCE) and received when its length is known. So
 *   the root sees which block is longer than its room, exactly as if it had received it from its owner.
 * - Scatter: where the sizes in a subtree of several ranks are not the planned ones, the sizes go ahead of the data
 *   (ESPI_TAG_ANNOUNCE). Blocks too long are seen where they end, by a blocking receive or a comparison.
 * - Ranks that are not in the tree (they had no data when it was planned) exchange their data with the root directly.
 * - A rank without children waits for nobody but the root: what it sends to another parent is copied first where that
 *   parent might have to be waited for.
 * Refused ranks (found in call.c, carried out in gather_senders.c, gather_root.c, scatter.c):
 * - A rank whose arguments MPI refuses has sent and received nothing natively, and its next call pairs with what the
 *   others are at then. Gather: a rank without children says that it is gone (ESPI_TAG_GONE, or that size); its data,
 *   of this call if there are any yet and of all others, go straight to the root (ESPI_TAG_DIRECT), who waits for
 *   them where it expects some: just as natively.
 *   A rank with children passes their data on without its own, which from then on also go between it and the root
 *   directly (gather: ESPI_SIZE_GONE in its place), or are kept until a call of its own takes them (scatter). Whether
 *   the others have made the call that was refused here, or make only the next one, it does not know: of r refused
 *   calls between 0 and r. So after g good calls it has passed on at least g sets of its children's data, for which
 *   it waits, and at most g + r, those beyond g (`spare`) only when they are there: in its calls, before it
 *   synchronizes, or, as long as it has patience, a little later.
 * - A refused root. Gather: it does nothing; pieces without any data that it finds later where it expects some are of
 *   the refused call, in which natively there was no message. Scatter: nobody waits for it natively but those who are
 *   to have data. It says down the tree that it is used no more (ESPI_TAG_RELEASE), and from then on sends to each
 *   rank that is to have data directly (ESPI_TAG_DIRECT).
 * Messages of one call never mix with those of the next: they travel on a private communicator, and between two ranks
 * in order.
 */
#ifndef ESPI_MPI_GATHER_SUBTREE_PLAN_H
#define ESPI_MPI_GATHER_SUBTREE_PLAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "commtree/parts.h"
#include "pack/pack.h"

enum espi_tag {
    ESPI_TAG_DATA = 1,
    ESPI_TAG_ANNOUNCE,
    ESPI_TAG_SIZED,
    ESPI_TAG_FAILED,
    ESPI_TAG_GONE,
    ESPI_TAG_DIRECT,
    ESPI_TAG_RELEASE,
    ESPI_TAG_PLAN /* hand_down.h */
};

/* In the place of the size of a block. */
enum { ESPI_SIZE_GONE = -1 };

/* ---- subtree_plan.c: pure bookkeeping ---- */

struct espi_subtree {
    int rank;        /* that leads it: the peer of the messages */
    int first, n;    /* its ranks are ranks[first] .. ranks[first + n - 1] of the plan */
    int64_t bytes;   /* planned */
    bool gone;       /* its one rank */
    bool direct;     /* at the root: the rank that leads it is gone, so that its own block may come before a piece */
};

/* The part of an inner rank that came in a refused call of a scatter. */
struct espi_kept_part {
    struct espi_kept_part *next;
    int64_t bytes;
    char data[];
};

/* What one rank keeps of a tree: its own subtree, which at the root is all of it. */
struct espi_subtree_plan {
    int p, rank, root;
    bool member;      /* of the tree */
    int parent;       /* -1 at the root */
    int n, own_at;    /* ranks of the subtree, and the place of this one among them */
    int64_t bytes;    /* planned, of the subtree */
    int slack_percent; /* room beyond the planned bytes in a gather, for counts that vary */
    int *ranks;       /* n, rising; not NULL once there is a plan */
    int64_t *size;    /* planned bytes of each of them */
    struct espi_tree_record *records; /* n, while the plan is being made */
    int children;
    struct espi_subtree *child; /* in the order of a gather */
    struct espi_kept_part *kept; /* the oldest first */
    bool gone;                   /* this rank was refused; then, if it has children: */
    int64_t ahead, spare;        /* sets passed on beyond its own calls, and how many there may be, as said above */
    uint64_t patience;           /* ns that refused calls, all together, may still wait for others */
    bool released;               /* a scatter goes from the root to each rank */
};

/* A plan in two steps, of which only the first needs memory: room for a rank in this place of a tree of p ranks,
   false where memory is short; and, when plan->records holds the records of its subtree (parts.h), the plan, which
   needs them no longer. */
bool espi_subtree_plan_begin(const struct espi_tree_place *place, int p, int rank, int root, int slack_percent,
                             struct espi_subtree_plan *plan);
void espi_subtree_plan_finish(struct espi_subtree_plan *plan);
/* Both, from a tree whose subtrees are ranges (tree->ordered) and the sizes it was made for; errors of
   espi_tree_parts. The plan copies what it needs. */
espi_status espi_subtree_plan_make(const struct espi_commtree *tree, const int64_t *size, int rank, int slack_percent,
                                   struct espi_subtree_plan *plan);
void espi_subtree_plan_release(struct espi_subtree_plan *plan);
/* Bytes that `parent` leaves room for in a gather, for a subtree of n ranks and `bytes` planned bytes. */
int64_t espi_subtree_plan_room(const struct espi_subtree_plan *plan, int parent, int n, int64_t bytes);

/* ---- a call ---- */

/* A type of the program's, and how its data become contiguous bytes. */
struct espi_tree_type {
    MPI_Datatype handle;          /* or that of a better one */
    bool dense;                   /* packed bytes equal the bytes in memory */
    const struct espi_pack *pack; /* the program that packs it; NULL: MPI does */
    bool staged; /* `pack` also packs a block that travels alone, into memory of ours, in the place of MPI's engine */
};

/* The p blocks at the root: what a gather fills and a scatter reads. */
struct espi_blocks {
    char *buf;
    struct espi_tree_type type;
    int64_t extent, size; /* of the type in bytes */
    bool large;           /* arrays of MPI_Count and MPI_Aint, not of int */
    const void *counts, *displs; /* NULL: `each` for every rank, one block behind the other */
    int64_t each;
};
int64_t espi_blocks_count(const struct espi_blocks *blocks, int rank);
int64_t espi_blocks_displ(const struct espi_blocks *blocks, int rank);
static inline int64_t espi_blocks_bytes(const struct espi_blocks *blocks, int rank)
{
    return espi_blocks_count(blocks, rank) * blocks->size;
}
char *espi_blocks_at(const struct espi_blocks *blocks, int rank);

/* A rank's own block. */
struct espi_block {
    void *buf;
    int64_t count, bytes;
    struct espi_tree_type type;
    bool in_place;        /* at the root: nothing is to be copied */
    bool refused;         /* there is none, nor at the root any blocks: MPI refuses the arguments */
};

/* Carry out one call; collective over `comm`, all with the same tree. `blocks` matters at the root only. Return an
   MPI error code; ranks without an error have done their part. */
int espi_tree_gather(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                     const struct espi_blocks *blocks);
int espi_tree_scatter(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                      const struct espi_blocks *blocks);

/* To be called before a rank waits for others: passes on the spare sets that are there. */
int espi_tree_gather_spare(struct espi_subtree_plan *plan, MPI_Comm comm);
int espi_tree_scatter_spare(struct espi_subtree_plan *plan, MPI_Comm comm);

/* ---- parts of a gather ---- */

/* The message that a child of n ranks has announced, in new memory. It is taken in any case. */
int espi_tree_receive_late(const struct espi_subtree *sub, MPI_Comm comm, void **memory, int64_t *bytes);
/* The root's (gather_root.c). */
int espi_tree_gather_root(struct espi_subtree_plan *plan, MPI_Comm comm, const struct espi_block *own,
                          const struct espi_blocks *blocks);

/* ---- messages.c: messages and memory of a call ---- */

int espi_tree_isend(const void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request *request);
int espi_tree_irecv(void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request *request);
/* Receives a block into a room of `room` bytes, by way of memory of ours where the type says so; `rank` is the
   caller's in `comm`. Truncated as by espi_tree_recv. */
int espi_tree_recv_block(void *buf, int64_t count, const struct espi_tree_type *type, int64_t room, int peer, int tag,
                         int rank, MPI_Comm comm, MPI_Status *status);
/* For what may be truncated: an error is reported to `comm`, that of an espi_tree_irecv to MPI_COMM_WORLD. */
int espi_tree_recv(void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status);
/* The same of a block of `bytes` that travels alone: packed into *memory, of the buffer pool, where the type says so
   and there is some; else *memory is NULL. It must live until the request is complete. */
int espi_tree_isend_block(const void *buf, int64_t count, const struct espi_tree_type *type, int64_t bytes, int peer,
                          int tag, MPI_Comm comm, MPI_Request *request, void **memory);
/* espi_tree_isend and its completion, without waiting for the receiver: of a copy, which is given back later. Waits
   where too much is under way already. */
int espi_tree_send_away(const void *buf, int64_t count, const struct espi_tree_type *type, int64_t bytes, int peer,
                        int tag, MPI_Comm comm);
/* Gives back what has arrived; `end`: and forgets the rest, as MPI ends. */
void espi_tree_sweep(bool end);
/* Whether a message of the peer is there, or comes as long as the plan has patience. */
bool espi_tree_has_come(struct espi_subtree_plan *plan, int peer, MPI_Comm comm);
/* An empty message of that tag, and its completion. */
int espi_tree_signal(int peer, int tag, MPI_Comm comm);
/* Takes the next message of a peer, of any tag and length, and forgets it; returns its tag, -1 if there was an
   error. */
int espi_tree_drop(int peer, MPI_Comm comm);
/* Length of the next message of a peer with that tag; waits for it. Negative: an error. */
int64_t espi_tree_probe(int peer, int tag, MPI_Comm comm);
/* Bytes of a message received as MPI_PACKED. */
int64_t espi_tree_received(const MPI_Status *status);
/* `count` x `type` at `buf` to `bytes` contiguous bytes. */
int espi_tree_pack(const void *buf, int64_t count, const struct espi_tree_type *type, void *to, int64_t bytes,
                   MPI_Comm comm);
/* `bytes` contiguous bytes into a block of `room` bytes as a message would be received: MPI_ERR_TRUNCATE, and nothing
   written, where it is longer; a shorter one fills what it fills. `rank` is the caller's in `comm`. */
int espi_tree_fill(const void *from, int64_t bytes, void *buf, int64_t count, const struct espi_tree_type *type,
                   int64_t room, int rank, MPI_Comm comm);
/* The root's own block, from `from` to `to`. */
int espi_tree_copy(const void *from, int64_t from_count, MPI_Datatype from_type, void *to, int64_t to_count,
                   MPI_Datatype to_type, bool dense, int64_t bytes, int rank, MPI_Comm comm);
/* Whether the blocks of a range of ranks stand one behind the other, so that a piece is a stretch of memory. */
bool espi_blocks_joined(const struct espi_blocks *blocks, const int *ranks, int n);

#endif
