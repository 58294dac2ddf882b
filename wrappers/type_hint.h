/*
 * How a type was made: a hash of the arguments of its constructor. The core draws conclusions from it
 * (src/mpi/typeplan/type_class.h); the stub computes it, since most types that are made serve to make another one, or
 * are used once, and calling the core for each would cost these programs more than they could ever gain.
 */
#ifndef ESPI_WRAPPERS_TYPE_HINT_H
#define ESPI_WRAPPERS_TYPE_HINT_H

#include "abi.h"

/* Elements of an array that are looked at, at most, so that a constructor costs the same however long its lists. */
enum { ESPI_HINT_SAMPLED = 8 };

/* Beside the hash, and the bit that makes it odd, a hint has the magnitude of the counts and displacements of the
   type and of all that it is made from: 2 to that power, about. Reading it back takes in proportion to that. */
static inline unsigned espi_hint_magnitude(uint64_t numbers)
{
    return 63 - (unsigned)__builtin_clzll(numbers | 1);
}

static inline uint64_t espi_hint_of(uint64_t hash, uint64_t numbers)
{
    return (hash & ~UINT64_C(0xff)) | (uint64_t)espi_hint_magnitude(numbers) << 1 | 1;
}

static inline uint64_t espi_hint_numbers(uint64_t hint)
{
    return UINT64_C(1) << (hint >> 1 & 63);
}

/*
 * The hint of a type that was made by this call: equal calls have equal ones; 0 where there is none, as that of a
 * type it is made from is not known. `types`: of all handles, by espi_credit_at. `*made` gets the argument that
 * points to the new type; NULL for a function that is no constructor of this kind. Reads the arguments, which MPI has
 * taken; asks MPI nothing.
 */
uint64_t espi_type_hint(enum espi_fn fn, const espi_word *args, const struct espi_handle_facts *types,
                        const uint32_t **made);

#endif
