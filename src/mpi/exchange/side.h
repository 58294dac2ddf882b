/* One side of a call that ranks exchange (side.c): its blocks, one for each rank or neighbour. */
#ifndef ESPI_MPI_EXCHANGE_SIDE_H
#define ESPI_MPI_EXCHANGE_SIDE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "exchange/segment.h"
#include "mpi/core/api_table.h"
#include "mpi/exchange/flow.h"
#include "stats/stats.h"

struct espi_plan;

struct espi_exchange_side {
    int blocks; /* at most ESPI_SEGMENT_PROCESSES */
    struct espi_exchange_block block[ESPI_SEGMENT_PROCESSES]; /* `bytes` 0: there is nothing in it */
    int64_t bytes;   /* of all */
    int64_t longest; /* of one */
    struct espi_plan *held[ESPI_SEGMENT_PROCESSES]; /* whose programs the blocks have */
    int n_held;
    struct espi_exchange_credit {
        struct espi_stats_type *record;
        uint64_t ps;
    } credit[ESPI_SEGMENT_PROCESSES]; /* what each of these is credited with; stays when they are let go */
    struct espi_arena once; /* programs for this call alone */
    uint64_t saved_ps; /* what its types are credited with */
};

/* Reads side number `which` of a call, whose `blocks` are set; it is not in place. False: MPI refuses the call. */
bool espi_exchange_side_read(struct espi_exchange_side *side, const struct espi_api_row *row, int which,
                             const espi_word *args);
/* Finds the pack programs of its types, which stay until espi_exchange_side_let_go, and counts their uses; `stats`
   may be NULL. */
void espi_exchange_side_plan(struct espi_exchange_side *side, const struct espi_api_row *row, int which,
                              struct espi_stats_thread *stats);

/* Long blocks for others, or from them, that would be packed by MPI get programs for this call (pack_once.h); `peer`,
   `own`: the rank that each block is for. After espi_exchange_side_plan. */
void espi_exchange_side_pack_once(struct espi_exchange_side *side, const unsigned char *peer, int own,
                                  struct espi_stats_thread *stats);

/* Counts the uses of its types in a call that is left to the library. */
void espi_exchange_side_left(const struct espi_exchange_side *side, const struct espi_api_row *row, int which,
                             struct espi_stats_thread *stats);

void espi_exchange_side_let_go(struct espi_exchange_side *side);

/* Takes such a part of what its types are credited with back: 0 to 1. */
void espi_exchange_side_take_back(const struct espi_exchange_side *side, double part);

/* Whether MPI refuses a call that gives one buffer twice. */
bool espi_exchange_is_aliased(const struct espi_api_row *row, const espi_word *args);

#endif
