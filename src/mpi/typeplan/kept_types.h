/*
 * Types that the program has freed, kept for when it makes them again.
 *
 * Many programs make the types of a message when they send it, and free them afterwards, with the same arguments
 * each time (ScaLAPACK, halo exchanges of libraries). Making, committing and freeing a vector takes MPICH some
 * hundred nanoseconds, a list some more for each of its numbers; finding out that it is the type of before, and
 * tying it to its plan, takes us as long again. So a type that was often made the same way is not given back to
 * MPI when the program frees it. The next constructor call with equal arguments returns it, with its plan, and MPI
 * is asked nothing. doc/kept-types.md says the same to users.
 *
 * Here it is decided which types are kept. Lives of those whose constructor has no array are the stub's (kept.h in
 * wrappers/).
 *
 * This can be, as a datatype never changes: what it is follows from the arguments of its constructor.
 *   - They are compared in full, with those that MPI gives back (MPI_Type_get_contents) when a type is kept first. A
 *     type among them is compared by its handle. That is enough, as MPICH keeps the types that another one was made
 *     from as long as that one lives, and a handle serves no other type as long as its own lives. (So types that
 *     others are made from have to be kept, too, committed or not.)
 *   - What an attribute of ours is missed from was freed where we do not see it, and its handle may be that of
 *     another type: nothing is concluded from it any more.
 *   - A type with a name is not kept, nor one that MPI_Type_get_contents has given to the program, as part of
 *     another: it has two references to that then (espi_kept_never). From when a program makes a key for attributes
 *     of types on, none is kept: attributes have callbacks, of types that others are made from, too, and Fortran
 *     sets them where we do not see it.
 *   - A type may not be used before it is committed, also where it was committed in an earlier life. Calls that look
 *     at their types have MPI refuse them (espi_kept_refused). Those with an array of types, MPI_Accumulate and its
 *     kin, files, reductions by the program's own operations, and calls of no elements do not: a program that errs
 *     there is not told. (Uses of a type that was freed are not refused
 *     by MPICH, either.)
 *   - A type in use by a request or a window is freed and made again as MPI would have it: these have references.
 *
 * Not where calls overlap, nor where another tool stands between us and the library; for handles below LOW_HANDLES,
 * as MPICH's handles are not without effect (datatype/own_types.h), and until the program has many types. Some are
 * kept at a time, and the one that was used longest ago is given back for another.
 */
#ifndef ESPI_MPI_TYPEPLAN_KEPT_TYPES_H
#define ESPI_MPI_TYPEPLAN_KEPT_TYPES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

/* From now on types are kept. Calls do not overlap until espi_kept_stop. */
void espi_kept_start(void);
/* While MPI still works: gives all back, and keeps none any more. */
void espi_kept_stop(void);
/* The same, for good: also if it was not started yet. */
void espi_kept_forbid(void);

/* Whether what came again here since the last time was worth the looks at all that were freed here. */
bool espi_kept_pay(void);

/* When MPICH's three types at hand are not enough it makes room for 1,024, which takes 70 pages of memory, and those
   that are kept take some 40 more. So as long as the program gets along with three, no more are kept than leave it
   those that it needs, unless so many lives could have been saved that they would have paid these pages: 400 at
   least, and some thousands on virtual machines where a page takes ten microseconds. */
static inline int espi_kept_worth(int64_t page_ns)
{
    enum { LEAST = 400, MOST = 16384, PAGES = 110, LIFE_NS = 150 };
    const int64_t lives = page_ns < MOST * LIFE_NS / PAGES ? page_ns * PAGES / LIFE_NS : MOST;

    return lives < LEAST ? LEAST : (int)lives;
}

/* The type is not to be kept in this life. */
void espi_kept_never(MPI_Datatype type);

/* A type that was given to the program again is committed by it: true once in each of its lives. */
bool espi_kept_commits(MPI_Datatype type);
/* Whether it has been given again, and that is still to come. */
bool espi_kept_is_uncommitted(MPI_Datatype type);

/* What MPI is to be given in the place of the type: the type; or, where the program has it again and has not
   committed it, one of the same constructor that is not committed. */
MPI_Datatype espi_kept_refused(MPI_Datatype type);

#endif
