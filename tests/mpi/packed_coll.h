/* What the parts of packed_coll share. */
#ifndef ESPI_TESTS_MPI_PACKED_COLL_H
#define ESPI_TESTS_MPI_PACKED_COLL_H

#include "packed.h"

/* Room for `items` items of a type, with margins, of bytes that depend on `seed`. */
struct room {
    MPI_Datatype type;
    struct side side;
};
struct room room_new(MPI_Datatype type, int items, uint64_t seed);
/* Compares with the run without Espalier, and frees. */
void room_end(struct room *room, const char *call, const char *what);

/* Between two groups of ranks. */
void part_inter(void);
/* Calls that MPI refuses on all ranks. */
void part_wrong_coll(void);
/* Blocks that are shorter than the receiver says, in the first calls; and in later ones. */
void part_short(const struct layout *l);
void part_late(void);

#endif
