/*
 * Which types are looked at at their first use: the sample by which planning learns what kinds of types a program
 * makes again and again (type_class.h). Setting auto only; the others look at all types, or at none.
 *
 * The first types are all of the sample. Then a type is of it with a chance of one in so many (`share`), which stands
 * for a fixed share of all types until then. So the types of a kind that go by before the sample shows it are a fixed
 * share of all until then, and never more than some hundreds; and the sample costs ever less of a run, as for long it
 * grows with the logarithm of the number of types. A program with many types that nothing can be done for is what
 * this is for.
 *
 * While known layouts with better types are met at first uses (`heat`), all types are of the sample.
 */
#ifndef ESPI_MPI_TYPEPLAN_CLASS_SAMPLE_H
#define ESPI_MPI_TYPEPLAN_CLASS_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

enum {
    ESPI_LOOK_FIRST = ESPI_GRANT_NEW + 1, /* the use at which a type that is not of the sample is looked at */
    ESPI_SAMPLE_FIRST = 64,               /* so many types are of the sample, */
    ESPI_SAMPLE_SHARE = 32,  /* then one in so many; later one in an ESPI_SAMPLE_FIRST-th of all until then, */
    ESPI_SAMPLE_LEAST = 256  /* and always one in so many */
};

void espi_class_sample_reset(void);

/* For a type whose life begins in the core: the use at which it is looked at first. `stub`: the stub may begin lives
   without history; those that come before the next one of the sample are then left to it. */
uint64_t espi_class_sample_next(bool stub);
/* Nothing is looked at (setting off): all lives are left to the stub. */
void espi_class_sample_none(void);
/* Lives that were left to the stub, and that it has begun. */
uint64_t espi_class_sample_left(void);
/* Leaves no more of them to the stub. */
void espi_class_sample_recall(void);

/* How many types the one that was taken last stands for. */
uint64_t espi_class_sample_weight(void);

/* A known layout with a better type was met; a first use was looked at since. */
void espi_class_sample_heat(void);
void espi_class_sample_cool(void);

#endif
