/*
 * Calls with a type for each peer (MPI_Alltoallw, MPI_Neighbor_alltoallw), blocking ones: all blocks of a side are
 * packed one behind the other into a buffer of ours, or unpacked from one, and MPI sees bytes.
 */
#ifndef ESPI_MPI_PACKED_PACKED_BLOCKS_H
#define ESPI_MPI_PACKED_PACKED_BLOCKS_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/core/api_table.h"
#include "pack/pack.h"

/* Whether a side of such a call may be packed at all. */
bool espi_packed_blocks_possible(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                                 const espi_word *args);

/* The blocks of one side; `size` bytes of data and `pack` of an item, NULL where the type is predefined. */
struct espi_packed_block {
    const struct espi_pack *pack;
    int64_t count, size;
    void *owner; /* of the program; for the caller */
};
struct espi_packed_blocks; /* of a call that is under way */

/* Packs what is sent and writes into `changed` what MPI is to do. Takes over `blocks` (from malloc, n of them). NULL:
   no memory, or the blocks are more than 2 GiB; nothing was changed, and `blocks` are the caller's still. */
struct espi_packed_blocks *espi_packed_blocks_begin(const struct espi_api_row *row,
                                                    const struct espi_buffer_args *typed, bool receives,
                                                    const espi_word *args, espi_word *changed,
                                                    struct espi_packed_block *blocks, int n, bool check);
/* After the call: unpacks what was received. Each owner is let go by `release`. */
void espi_packed_blocks_end(struct espi_packed_blocks *side, int result, bool check, void (*release)(void *owner));

#endif
