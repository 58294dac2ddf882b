/*
 * How many MPI datatypes Espalier may hold, and where in MPICH's pool of handles they may lie.
 *
 * In MPICH 4.0.2 a handle's number is not without effect: typerep_do_pack
 * (src/mpi/datatype/typerep/src/typerep_yaksa_pack.c) takes bits 8 to 15 of a derived handle for the size of an
 * element, and packs types without gaps short of a multiple of it. Bits that say 0 or 1 do no harm: those of the
 * first 512 handles. A program that never holds more types must not get beyond by types of ours. So
 *   - forms of up to ESPI_OWN_FORM_MOST datatypes take handles as they come, ESPI_OWN_TYPES_MOST in all;
 *   - longer ones, and those for which the first have left no room, are built, and freed, while the low handles are
 *     reserved for the program (below). What the pool got back last it gives out first, so that the program's next
 *     types have the handles that they would have had. Only what has gaps is built so: a form without any would
 *     itself be packed short;
 *   - one that a call under way still uses when it is to be freed is kept until that call is over;
 *   - none is built once the program has a handle from ESPI_OWN_TYPES_HIGH on, and all are given back when a
 *     constructor returns the first one, or it is committed (espi_plans_give_types_back; also the program's own that
 *     are kept for it, typeplan/kept_types.h), but not where another thread may be about to use one.
 * What is left is a program whose constructors are not seen, or pass unseen, and that makes more than 60 types beyond
 * without a commit; one with calls under way that use more than 32 forms whose plans are gone; one that natively
 * comes near 512 while messages under way use stream types (packed/stream_type.h), which count, but are not given
 * back before; and under MPI_THREAD_MULTIPLE one with more than 512 less ESPI_OWN_TYPES_MOST.
 */
#ifndef ESPI_MPI_DATATYPE_OWN_TYPES_H
#define ESPI_MPI_DATATYPE_OWN_TYPES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/datatype/emit.h"

enum { ESPI_OWN_TYPES_MOST = 128, ESPI_OWN_FORM_MOST = 32, ESPI_OWN_TYPES_HIGH = 448, ESPI_LOW_HANDLES = 512 };
/* The same for long forms. */
enum { ESPI_OWN_LONG_TYPES_MOST = 60000, ESPI_OWN_LONG_FORM_MOST = 20000 };

/* A derived handle's number in MPICH's pool (HANDLE_KIND_INDIRECT: blocks of 1,024 in bits 12 to 25); -1 for the few
   that stand before. */
static inline int espi_handle_number(MPI_Datatype type)
{
    const uint32_t bits = (uint32_t)type;

    return bits >> 30 == 3 ? (int)((bits >> 12 & 0x3fff) << 10 | (bits & 0xfff)) : -1;
}

static inline bool espi_own_types_is_high(MPI_Datatype type)
{
    return espi_handle_number(type) >= ESPI_OWN_TYPES_HIGH;
}

/* Datatypes that one more form may be made of, and one more long form: 0 where other threads may call MPI while low
   handles are reserved. */
size_t espi_own_types_room(void);
size_t espi_own_types_long_room(void);

/* Datatypes that forms are made of. */
struct espi_own_types {
    size_t types, long_types; /* those of long forms apart */
};

/* Datatypes were made to stay (n > 0), or are freed now; of long forms, until espi_own_types_free. */
void espi_own_types_add(long n);
void espi_own_types_add_long(long n);

/* All low handles that are free, as datatypes without data: some 30 us. Where MPI makes no type, fewer. */
struct espi_low_handles {
    MPI_Datatype type[ESPI_LOW_HANDLES + 16];
    int n;
};
void espi_low_handles_reserve(struct espi_low_handles *low);
/* The pool is then as it was, but for what was made or freed meanwhile. */
void espi_low_handles_release(struct espi_low_handles *low);

/* Builds a form of `tree` as espi_emit does; `have` are the caller's and not added yet. It is a long one where there
   is no room for others. ESPI_ERR_LIMIT: there is none at all, or MPI would pack it wrongly. */
espi_status espi_own_types_build(const struct espi_node *tree, int64_t lb, int64_t extent,
                                 struct espi_own_types have, struct espi_emitted *out, bool *is_long);

/* Frees n forms, which were added as `of`; MPI_DATATYPE_NULL among them is passed over. One that MPI still uses
   stays, and all of `of` counts, until MPI is found to be done with it: at a later call, or by espi_own_types_end. */
void espi_own_types_free(const MPI_Datatype *types, int n, struct espi_own_types of);
/* MPI ends. */
void espi_own_types_end(void);

/* There is room from now on; for long forms, too, or not. */
void espi_own_types_open(bool for_long);
/* The program has a high handle: there is no room from now on. False: that was known. */
bool espi_own_types_close(void);

#endif
