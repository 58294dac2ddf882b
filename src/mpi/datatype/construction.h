/*
 * How a datatype was made: the constructor calls that lead to it, with all their arguments, as MPI gives them back
 * (envelope and contents) down to the predefined types.
 *
 * Two datatypes of the same construction have the same type map and bounds, as a constructor has no other input. To
 * compare a datatype with a construction takes about as long as MPI takes to copy its arguments out, a third to a
 * sixth of what it takes to read the same type back as a tree (bench/recognize).
 */
#ifndef ESPI_MPI_DATATYPE_CONSTRUCTION_H
#define ESPI_MPI_DATATYPE_CONSTRUCTION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct espi_construction;

/* That of a valid derived datatype; the caller frees it. NULL: memory is short, it is made of more than 64 other
   derived types or of more than 4 MiB of arguments, or MPI does not tell. */
struct espi_construction *espi_construction_of(MPI_Datatype type);

/* Whether the type was made in just that way. May say no where memory is short, or where parts that were one type
   then are several of the same construction now. */
bool espi_construction_is(const struct espi_construction *construction, MPI_Datatype type);

/* Bytes that it takes. */
size_t espi_construction_bytes(const struct espi_construction *construction);

void espi_construction_free(struct espi_construction *construction);

#endif
