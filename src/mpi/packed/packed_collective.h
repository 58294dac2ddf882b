/*
 * Collective calls of which a side is packed into a buffer of ours, or unpacked from one (packed_blocks.h). What the
 * library does must be the same on all ranks, of which each decides for itself; doc/pack-programs.md says what that
 * rests on, and which sides are left to the library for it.
 */
#ifndef ESPI_MPI_PACKED_PACKED_COLLECTIVE_H
#define ESPI_MPI_PACKED_PACKED_COLLECTIVE_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/api_table.h"
#include "mpi/packed/packed_blocks.h"
#include "mpi/packed/packed_call.h"

/* The blocks of one side: how many, and which are packed before the call and unpacked after it. */
struct espi_collective_side {
    enum espi_packable use; /* ESPI_PACK_NOT: this side is the library's */
    int blocks;             /* one for each peer, or one */
    int together;           /* so many of them the library may send or receive in one message */
    int own;                /* the one that a rank has for itself where it is treated in another way; else -1 */
    uint64_t nobody;        /* a bit for each block of a neighbour that is not there (comm_cache.h) */
    bool sent, received, own_sent;
    bool messages; /* each block is one of its own, of which MPI may see a type of its own */
    bool whole; /* the library goes through the type in one go */
};

/* Whether there are calls of this function of which a side may be packed. */
bool espi_collective_may_be_packed(const struct espi_api_row *row);

/* Side number `side` of a call with good arguments; `peers`: ranks or neighbours that this side names. */
void espi_collective_side(struct espi_collective_side *out, const struct espi_api_row *row, int side,
                          const espi_word *args, const struct espi_comm_facts *facts, int peers);

/* Whether there are calls of this function that MPI refuses for that. */
bool espi_collective_minds_alias(const struct espi_api_row *row);
/* Whether MPI would refuse the call because the own block is given twice. `size`: of one item of this side, whose
   type is derived. */
bool espi_collective_is_aliased(const struct espi_api_row *row, int side, const espi_word *args,
                                const struct espi_comm_facts *facts, int64_t size);

/* Items in all blocks of a side, and how many blocks have any; -1: too many, or a count is bad. */
int64_t espi_collective_items(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                              const struct espi_collective_side *side, const espi_word *args, int *filled);

/* Whether block i, of `count` items, may be sent or received where it stands: one run of bytes, at a place of its own
   that the arrays of the call can name. */
bool espi_collective_may_stand(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                               const espi_word *args, int i, const struct espi_pack *pack, int64_t count);

/* Room for the blocks of a side, of so many bytes in all: espi_packed_blocks_new. The caller fills program, size,
   extent (where all are of one type), type and owner of each. `stand`: all that are not empty may. */
struct espi_packed_blocks *espi_collective_new(const struct espi_buffer_args *typed,
                                               const struct espi_collective_side *side, int64_t bytes, bool stand);

/* Packs what is sent and writes into `changed` what MPI is to do. `way`: of blocks that are messages of several
   parts; not typed. `exact`, `check`: see packed_blocks.h. False: nothing was changed. */
bool espi_collective_begin(struct espi_packed_blocks *packed, const struct espi_api_row *row,
                           const struct espi_buffer_args *typed, const struct espi_collective_side *side,
                           const espi_word *args, espi_word *changed, enum espi_message_way way, bool exact,
                           bool check);

#endif
