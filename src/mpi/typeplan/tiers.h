/*
 * What types of a class are due to, and when: three tiers, as in a just-in-time compiler, each at its own price
 * (admission.h). Setting auto; always plans each type at its first use, off none.
 *   0  the program's own type. A class is counted from its second use on: MPI is asked for size and extent.
 *   1  rules that take linear time, and forms in chunks, when the uses of all types of the class have earned reading
 *      one of them back, and those of all classes what the first plan of a process takes beside. From then on each
 *      new type of the class has its plan where its uses will save more than a look at it takes, which mostly
 *      recognizes it: at the first use if the last types of the class mostly were used that often; else when this one
 *      has been.
 *   2  the least-cost tree, when the uses so far have lost against the best conceivable form what it costs to find.
 * No calls to MPI, no time, no state: all that decides is in the class, and in the budget (admission.h).
 */
#ifndef ESPI_MPI_TYPEPLAN_TIERS_H
#define ESPI_MPI_TYPEPLAN_TIERS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/typeplan/type_class.h"

enum {
    ESPI_TIERS_AGAIN = 64, /* uses between looks that only keep figures current, at first */
    ESPI_TIERS_PROVED = 2  /* types of a class that are recognized whether it pays or not, to know what that takes */
};

/* The number of uses of a type, from now on, at which to look at it; UINT64_MAX: never. `class` may be NULL: it is
   not known how the type was made. `made`: uses of this type so far; `planned`: a plan is tied to it. */
uint64_t espi_tiers_next_look(const struct espi_type_class *class, int mode, uint64_t made, bool planned);

/* The tier that a type of the class is to be planned by, now; 0: none. `known`: a plan is tied to this type, or was
   found to have nothing better. ESPI_TIERS_DENIED: planning was earned, but its budget is used up; the class is to
   ask again when it has been used twice as often. */
enum { ESPI_TIERS_DENIED = -1 };
int espi_tiers_due(struct espi_type_class *class, int mode, bool known);

/* A type of the class has ended after `made` uses: whether a look would have paid says what later ones are used for,
   as in a branch predictor. */
void espi_tiers_ended(struct espi_type_class *class, uint64_t made);

/* What a use of a type of the class is found to save, which depends on the calls; before, it is what messages or
   local calls would. In nanoseconds, and one more: 0: nothing is known; 1: it saves nothing, as where messages go as
   they are because that was found to be faster. */
void espi_tiers_saved(struct espi_type_class *class, uint64_t ns_and_1);

/* A type of the class was looked at. `took`: nanoseconds, or what a look will take where the next type is recognized;
   `anew`: what it took where this one was not; else 0. The first look of a class says nothing of the next one. */
void espi_tiers_looked(struct espi_type_class *class, uint64_t took, uint64_t anew);

/* What was found for a type of the class is known: its family learns it. */
void espi_tiers_learnt(struct espi_type_class *class);

#endif
