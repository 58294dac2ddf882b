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
   takes on one side. `in_parts`: the library, packing it, cuts it into parts. `near`: the ranks are on one node.
   `dense`: the extent of an item is its size. Where it is not, one item may be a single run of bytes all the same:
   such a message goes as these bytes, where they stand. */
double espi_pack_message_gain(const struct espi_pack *pack, int64_t count, bool in_parts, bool near, bool dense,
                              double engine_ns);

/* What a call of MPI_Pack or MPI_Unpack takes in the library beside its engine, and one that a program carries out
   does not (calls/short_local.h): at least. */
enum { ESPI_PACK_PASSED_NS = 60 };

/* A message of one part that saves less by the model above may lose in truth: by so much the library's general code
   differs between processors (pack_gain.c), and by such a part of its time the engine is faster than measured, or a
   program slower than the model says. Sent and received in one call neither side waits for the other's end, so that
   what stands around packing shows more. */
enum { ESPI_PACK_DOUBT_NS = 200, ESPI_PACK_DOUBT_PAIRED_NS = 500, ESPI_PACK_DOUBT_PART = 4 };

/* Whether such a message of one part, within a node, of which the model does not say that packing it saves anything,
   is to be tried all the same, as it says that less is lost than it may be wrong by. It is said to save so many ns
   then. */
enum { ESPI_PACK_TO_BE_TRIED = 1 };

/* What a record of a request costs that is kept for a packed message, by the models. */
enum { ESPI_PACK_KEPT_NS = 300 };
bool espi_pack_message_is_even(const struct espi_pack *pack, int64_t count, double engine_ns);

/* What one item saves that is a single run of bytes, in one part: it is not moved, and the library's general code for
   types with gaps is saved. */
double espi_pack_run_gain(double engine_ns);

/* Which ways are open to such a message of several parts (packed/message_ways.h): all of them where the models are
   not sure, which between nodes they never are, nor of a single run of bytes. `dense`: as above. */
enum espi_ways_open espi_pack_open(const struct espi_pack *pack, int64_t count, bool near, bool dense,
                                   double engine_ns);

/* The same as the first of one side of a collective call, whose blocks have `count` items each. */
double espi_pack_collective_gain(const struct espi_pack *pack, int64_t count, enum espi_packable use, bool in_parts,
                                 double engine_ns);

/* Nanoseconds that packing (or unpacking) `count` items may be measured to take at most, where by the models it saves
   `gain_ns` of the engine's `engine_ns`. Beyond that the engine would be clearly faster by its model, even if all
   data had to come from memory line by line, for which the engine would have to wait just as long. */
int64_t espi_pack_limit(const struct espi_pack *pack, int64_t count, double gain_ns, double engine_ns);

/* Times of one item, for the report: the program's, and what is next best where the library's engine takes
   `engine_ns` for `count` items; of packing and unpacking, or of both in a message of several parts. */
void espi_pack_times(const struct espi_pack *pack, int64_t count, bool parts, double engine_ns,
                     struct espi_type_times *program, struct espi_type_times *next);

#endif
