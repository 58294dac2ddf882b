/*
 * A pack program for one call, of a type of which there is no plan.
 *
 * A block of a call without the library (mpi/exchange/exchange.h) that no program packs is packed by MPI as a whole,
 * and so element by element (engine_cost.h), where natively a long message goes in parts, of which the engine copies
 * long runs at once; and what MPI has packed is copied once more, into what the ranks share. Lists that a program
 * makes anew for each call, each time others, never earn a plan. To read such a list back and compile it takes about
 * as long as to make it; that is done where it is less than what MPI's packing takes more (bench/once).
 */
#ifndef ESPI_MPI_TYPEPLAN_PACK_ONCE_H
#define ESPI_MPI_TYPEPLAN_PACK_ONCE_H

#include <mpi.h>
#include <stdint.h>

#include "layout/layout.h"
#include "pack/pack.h"

/* For the programs of one side of a call; goes back with espi_pack_once_done, which frees them. Such calls exclude
   each other. */
struct espi_arena espi_pack_once_arena(void);
void espi_pack_once_done(struct espi_arena *arena);
/* At the end: gives the memory back. */
void espi_pack_once_stop(void);

/* The program, in such an arena, for `count` > 0 items of a committed type, or NULL: MPI packs them as fast, or
   nothing is known of the type, or it can not be said now. Calls MPI. */
const struct espi_pack *espi_pack_once(struct espi_arena *arena, MPI_Datatype type, int64_t count);

#endif
