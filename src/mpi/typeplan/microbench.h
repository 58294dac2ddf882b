/* Times of MPI datatypes that describe the same bytes, on scratch memory. */
#ifndef ESPI_MPI_TYPEPLAN_MICROBENCH_H
#define ESPI_MPI_TYPEPLAN_MICROBENCH_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/layout.h"

enum espi_operation { ESPI_MEASURE_PACK, ESPI_MEASURE_UNPACK, ESPI_MEASURE_PARTIAL, ESPI_OPERATIONS };

/* Faster is what takes less time by more than one in so many; less may be noise, and is lost again in the handling of
   the call. */
enum { ESPI_MEASURE_CLEAR = 12 };

struct espi_candidate {
    MPI_Datatype type;
    const struct espi_node *tree;  /* what it was built from, for the model; NULL: not to be modelled */
    bool wrong;                    /* out: it packed or unpacked other bytes than the first */
    uint64_t ns[ESPI_OPERATIONS];  /* out: least time of one call; 0 = not measured */
};

/*
 * Packs, unpacks and sends to self (the type on both sides, so that MPI goes through it in parts) `count` items of
 * each of the n candidates, in turns. The first candidate is the program's own type; the bytes that the others
 * produce are compared with its. At most `scratch` bytes of memory, about `budget_ns` of time (a first round of all
 * is always made). ESPI_ERR_LIMIT: the buffers would be larger. Calls from several threads at once must be excluded.
 */
espi_status espi_microbench(struct espi_candidate *candidates, int n, int count, size_t scratch, uint64_t budget_ns);

/* Before the program can call MPI from other threads. Where it may do so later (MPI_THREAD_MULTIPLE), or without
   MPI_COMM_SELF, nothing is sent: MPICH 4.0.2 on UCX dies when several threads make progress at certain moments, and
   it must not be our calls that bring it to such a moment. ESPI_MEASURE_PARTIAL is then modelled
   (partial_pack_cost.h). */
void espi_microbench_start(void);

/* Nothing is measured any more. */
void espi_microbench_stop(void);

#endif
