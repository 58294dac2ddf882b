/* Times of messages between two ranks, taken carefully. Shared by the core and by espalier calibrate. */
#ifndef ESPI_MPI_NETMODEL_LINK_BENCH_H
#define ESPI_MPI_NETMODEL_LINK_BENCH_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "commtree/model_file.h"
#include "mpi/netmodel/topology.h"

#define ESPI_LINK_SIZES 24

/* How much is done. A time is the lower quartile of rounds, which go on until it has settled. */
struct espi_link_effort {
    int least, most;   /* rounds of one time */
    double settled;    /* relative change of the quartile over half as many rounds again that counts as none */
    double seconds;    /* for one time; at least `least` rounds are made */
    double all_seconds; /* for a pair; sizes that are left then are not measured, but the first two always */
    int again; /* how many times more a time is taken that shows a disturbance; the least counts */
    int sizes;
    int64_t size[ESPI_LINK_SIZES]; /* ascending */
};

struct espi_link_times {
    double one_way; /* half the round trip of a byte */
    double gap;     /* of each further message of a burst; 0 where none was seen */
    int sizes;      /* measured of effort->size */
    double time[ESPI_LINK_SIZES]; /* one way */
};

/* Ranks a and b of comm measure; called by these two. Only rank a fills `times`; `memory` has room for the largest
   size.
   Whatever is disturbed, both make the same calls. */
void espi_link_measure(MPI_Comm comm, int rank, int a, int b, const struct espi_link_effort *effort, char *memory,
                       struct espi_link_times *times);

/* Seconds per byte of a local copy of some 10 kB to 1 MB, in `memory` of `bytes` bytes (two halves). */
double espi_copy_measure(char *memory, int64_t bytes, int rounds);

/* Disjoint as far as there are enough ranks, spread over the communicator: pairs on the same node or on different
   ones, found by the rank that has the lists of `places` in O(size * most). Returns how many, at most `most`. */
int espi_link_pairs(const struct espi_topology *places, enum espi_level level, int most, int (*pair)[2]);

/* Waits without taking a processor away from those who measure. */
void espi_wait_quietly(MPI_Request *request);

#endif
