/*
 * Common part of packed*.c: datatypes that pack programs are made for, and areas of memory that they lie in. What a
 * rank has in an area afterwards is compared with the run without Espalier, gaps and margins included (bytes.h).
 */
#ifndef ESPI_TESTS_MPI_PACKED_H
#define ESPI_TESTS_MPI_PACKED_H

#include <mpi.h>
#include <stdbool.h>

#include "bytes.h"

struct layout {
    const char *name;
    MPI_Datatype type, twin; /* of one signature, at other places */
    MPI_Datatype base;       /* the one base type, or MPI_DATATYPE_NULL */
    int bases, size;         /* of one item */
    int part;                /* bytes of some items and some base types more */
    bool at_zero;            /* a null buffer is an error */
};
enum { LAYOUTS = 12 };
extern struct layout layouts[LAYOUTS];
void layouts_make(void);
void layouts_free(void);

enum { ITEMS = 4 }; /* that a receiver has room for */

/* Room for ITEMS + 2 items of a type, with margins. */
struct area {
    unsigned char *mem, *origin;
    size_t size;
};
/* Of bytes that depend on `seed`. */
struct area area_new(MPI_Datatype type, uint64_t seed);
/* Compares with the run without Espalier, and frees. */
void area_end(struct area *area, const char *call, const char *what);

/* The parts of the program. */
void part_wrong(void);
void part_local(void);
void part_self(void);
void part_requests(void);
void part_persistent(void);

#endif
