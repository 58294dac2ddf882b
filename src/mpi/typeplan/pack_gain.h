/* Whether a pack program beats the library's engine: both by their models, engine_cost.h and pack/pack.h. */
#ifndef ESPI_MPI_TYPEPLAN_PACK_GAIN_H
#define ESPI_MPI_TYPEPLAN_PACK_GAIN_H

#include "mpi/typeplan/engine_cost.h"
#include "pack/pack.h"

/* Nanoseconds of a message of `count` items that is packed on one side, and unpacked on the other, by this program;
   `in_parts`: of one that the library, packing it, would cut into parts. */
double espi_pack_message_cost(const struct espi_engine *engine, const struct espi_pack *pack, int64_t count,
                              bool in_parts);

/* What the program saves where the engine takes `engine_ns`: for packing alone; for a message of one part; of several
   parts. 0: not clearly anything. */
double espi_pack_gain(const struct espi_pack *pack, int64_t count, double engine_ns);
double espi_pack_message_gain(const struct espi_engine *engine, const struct espi_pack *pack, int64_t count,
                              bool in_parts, double engine_ns);

#endif
