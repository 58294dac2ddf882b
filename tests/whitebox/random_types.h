/* Random MPI datatypes with what is known of them by construction, for the tests of src/mpi. */
#ifndef ESPI_TESTS_WHITEBOX_RANDOM_TYPES_H
#define ESPI_TESTS_WHITEBOX_RANDOM_TYPES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* The sequence of base types of a datatype, by construction. */
struct made {
    MPI_Datatype type;
    MPI_Datatype *bases;
    size_t n;
    int hollow; /* some part inside has no data: MPICH 4.0.2 dies (division by zero) when it packs such a type */
};

/* From ESPALIER_TEST_SEED, else fixed; printed once. */
void random_seed(const char *program);
uint64_t random_below(uint64_t n);
/* Where the sequence stands, and to go on from there once more. */
uint64_t random_state(void);
void random_again(uint64_t from);

/* A derived type of some constructor over a random child, at most `depth` deep; not committed. `which` picks the
   outermost constructor (0 .. MADE_KINDS-1), -1 any. */
enum { MADE_KINDS = 24 };
const char *made_name(int which);
struct made made_random(int which, int depth);
void made_free(struct made *made);

/* Where each byte of one packed item comes from, relative to the buffer address; found by packing markers. The caller
   frees it. NULL for a type without data, or one that spans more than 16 MiB. */
int64_t *packed_places(MPI_Datatype type, size_t *n);

#endif
