/* Whether a pack program beats the library's engine: both by their models, engine_cost.h and pack/pack.h. */
#ifndef ESPI_MPI_TYPEPLAN_PACK_GAIN_H
#define ESPI_MPI_TYPEPLAN_PACK_GAIN_H

#include <stdbool.h>

#include "mpi/packed/packed_call.h"
#include "pack/pack.h"
#include "stats/stats.h"

/* Nanoseconds that packing (or unpacking) `count` items by the program saves where the library's engine takes
   `engine_ns`. 0: not clearly anything. */
double espi_pack_gain(const struct espi_pack *pack, int64_t count, double engine_ns);

/* The same of a message, packed on one side and unpacked on the other by such programs; `engine_ns` is what packing
   takes on one side. `in_parts`: the library, packing it, cuts it into parts. `near`: the ranks are on one node. */
double espi_pack_message_gain(const struct espi_pack *pack, int64_t count, bool in_parts, bool near,
                              double engine_ns);

/* The same of one side of a collective call, whose blocks have `count` items each. */
double espi_pack_collective_gain(const struct espi_pack *pack, int64_t count, enum espi_packable use, bool in_parts,
                                 double engine_ns);

/* Times of one item, for the report: the program's, and what is next best where the library's engine takes
   `engine_ns` for `count` items; of packing and unpacking, or of both in a message of several parts. */
void espi_pack_times(const struct espi_pack *pack, int64_t count, bool parts, double engine_ns,
                     struct espi_type_times *program, struct espi_type_times *next);

#endif
