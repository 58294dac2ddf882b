/* One side of a collective call that goes the short way (collective.h): what becomes of its blocks. */
#ifndef ESPI_MPI_CALLS_CALL_SIDE_H
#define ESPI_MPI_CALLS_CALL_SIDE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/api_table.h"
#include "mpi/packed/packed_collective.h"
#include "mpi/typeplan/message_plan.h"

/* Types that a side may have; with more of them a look at each is a small part of the call. */
enum { ESPI_CALL_TYPES = 32 };

struct espi_call_side {
    struct espi_collective_side facts;
    bool seen; /* its arguments mean something on this rank; else there is nothing to do */
    int types; /* one, or one for each block; 0: nothing to do */
    int64_t bytes; /* in all blocks, where it is packed */
    int64_t longest; /* of blocks that are packed, and go as messages of several parts; 0: there are none */
    bool near;   /* all ranks are on one node */
    bool mixed;  /* blocks of which some might be packed, which are all left */
    bool joined; /* the models would not pack it, or not all of it: whether it is packed is found out */
    bool packed; /* else blocks with a plan are the library's because the way of long ones is that now */
    bool stands; /* packed, and all its blocks are single runs of bytes, which go where they stand */
    bool is_new; /* it was packed, and is one of the first sides of a plan (espi_plan_is_new) */
    int64_t count[ESPI_CALL_TYPES]; /* items of each type; 0: there is nothing to do for it */
    struct espi_blocks_plan found[ESPI_CALL_TYPES];
};

/* Finds it, of side number `which` of a call. Nothing is counted; plans are borrowed, in either case, until the next
   function. False: only the general way knows. */
bool espi_call_side_look(struct espi_call_side *s, struct espi_comm_facts *facts, const struct espi_api_row *row,
                         int which, const espi_word *args);

void espi_call_side_give_back(struct espi_call_side *s);

/* Whether MPI may refuse the call because of addresses, which packing changes. */
bool espi_call_may_be_aliased(const struct espi_api_row *row, const espi_word *args);

/* The types that a side names, one or one for each block. */
static inline const MPI_Datatype *espi_call_side_types(const struct espi_buffer_args *typed, const espi_word *args)
{
    return typed->shape == ESPI_SHAPE_W ? (const MPI_Datatype *)args[typed->type]
                                        : (const MPI_Datatype *)&args[typed->type];
}

static inline bool espi_call_side_is_in_place(const struct espi_buffer_args *typed, const espi_word *args)
{
    return (void *)args[typed->buffer] == MPI_IN_PLACE;
}

#endif
