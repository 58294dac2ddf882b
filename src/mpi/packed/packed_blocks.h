/*
 * One side of a collective call: its blocks, one for each peer or one in all, stand packed one behind the other in a
 * buffer of ours, and MPI sees bytes.
 *
 * MPI does not say how much has arrived in a collective call. A block that is shorter than the receiver says is an
 * error, which MPICH lets pass in calls where each block is a message: what arrived is in place then, and the rest of
 * the block as it was. Here a mark of eight bytes ends the room for a block before the call. In the first calls the
 * room holds what the block holds, so that a short block comes out right; later there are marks farther inside, too,
 * and of a short block the end of what arrived may be lost, but nothing is written that has not arrived (but for up
 * to seven bytes of the mark, where a block lacks less than it). Once a block was short, none are received this way.
 */
#ifndef ESPI_MPI_PACKED_PACKED_BLOCKS_H
#define ESPI_MPI_PACKED_PACKED_BLOCKS_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/packed/packed_times.h"
#include "pack/pack.h"

struct espi_packed_block {
    const struct espi_pack *pack; /* NULL: bytes that stand together */
    struct espi_packed_times *times; /* of the program; may be NULL */
    char *data;                   /* the user's */
    int64_t count, size;          /* items, and bytes of data of one */
    int64_t extent;               /* of an item */
    MPI_Datatype type;
    bool sent, received; /* packed before the call; unpacked after it */
    void *owner;         /* of the program `pack`; for the caller, may be NULL */
};
struct espi_packed_blocks; /* of a call that is under way */

/* Room for a side of n > 0 blocks of so many bytes in all, and for `arrays` bytes beside. The caller fills all
   that is of the blocks. NULL: no memory, or more than 2 GiB, or nothing at all. `stand`: all blocks are single runs
   of bytes, which MPI sends and receives where they stand: there is no room for them. */
struct espi_packed_blocks *espi_packed_blocks_new(int n, int64_t bytes, size_t arrays, bool stand);
bool espi_packed_blocks_stand(const struct espi_packed_blocks *side);
struct espi_packed_block *espi_packed_blocks_each(struct espi_packed_blocks *side);
void *espi_packed_blocks_arrays(struct espi_packed_blocks *side);
/* Types that blocks are sent with, one for each or one for all, which stay where they are: but for MPI_PACKED they
   are given back in the end (stream_type.h). A type for all blocks may stand where this says. */
void espi_packed_blocks_sent_as(struct espi_packed_blocks *side, const MPI_Datatype *types, int n);
MPI_Datatype *espi_packed_blocks_one_type(struct espi_packed_blocks *side);
/* Gives the room back; the owners are not asked. */
void espi_packed_blocks_drop(struct espi_packed_blocks *side);

/* When all is known of the blocks: packs what is sent. `exact`: the room for what is received holds what is there.
   `check`: what is done is compared with what MPI would do (ESPALIER_CHECK). */
void espi_packed_blocks_pack(struct espi_packed_blocks *side, bool exact, bool check);
/* Whether a block was short. */
bool espi_packed_blocks_short_seen(void);
/* NULL where blocks stand. */
void *espi_packed_blocks_stream(const struct espi_packed_blocks *side);
/* After the call succeeded: unpacks what was received. */
void espi_packed_blocks_unpack(struct espi_packed_blocks *side);
/* Gives everything back; each owner is let go by `release`. */
void espi_packed_blocks_close(struct espi_packed_blocks *side, void (*release)(void *owner));

#endif
