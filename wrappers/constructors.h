/*
 * The constructors of datatypes, and how their arguments are read: for the stub, which hashes them (type_hint.h), and
 * the core, which compares them with those of a type that it has kept (src/mpi/typeplan/kept_types.h).
 */
#ifndef ESPI_WRAPPERS_CONSTRUCTORS_H
#define ESPI_WRAPPERS_CONSTRUCTORS_H

#include "abi.h"

/* How the arguments of a constructor are read, one character each, in their order:
     i     an int                          a     a number of eight bytes (MPI_Aint; MPI_Count in functions _c)
     #, *  the same: how long the arrays are
     I, A  arrays of such numbers
     t, T  a type, and an array of types
     o     where the new type goes; last
   MPI_Type_get_contents gives them back in this order: ints of i, #, I; addresses, or counts, of a, *, A; types.
   Empty: no constructor of this kind. Not pointers, which the loader would have to write in every process. */
static const char espi_constructors[ESPI_FN_COUNT][12] = {
    [ESPI_FN_Type_contiguous] = "ito",
    [ESPI_FN_Type_contiguous_c] = "ato",
    [ESPI_FN_Type_vector] = "iiito",
    [ESPI_FN_Type_vector_c] = "aaato",
    [ESPI_FN_Type_create_hvector] = "iiato",
    [ESPI_FN_Type_create_hvector_c] = "aaato",
    [ESPI_FN_Type_hvector] = "iiato",
    [ESPI_FN_Type_indexed] = "#IIto",
    [ESPI_FN_Type_indexed_c] = "*AAto",
    [ESPI_FN_Type_create_hindexed] = "#IAto",
    [ESPI_FN_Type_create_hindexed_c] = "*AAto",
    [ESPI_FN_Type_hindexed] = "#IAto",
    [ESPI_FN_Type_create_indexed_block] = "#iIto",
    [ESPI_FN_Type_create_indexed_block_c] = "*aAto",
    [ESPI_FN_Type_create_hindexed_block] = "#iAto",
    [ESPI_FN_Type_create_hindexed_block_c] = "*aAto",
    [ESPI_FN_Type_create_struct] = "#IATo",
    [ESPI_FN_Type_create_struct_c] = "*AATo",
    [ESPI_FN_Type_struct] = "#IATo",
    [ESPI_FN_Type_create_subarray] = "#IIIito",
    [ESPI_FN_Type_create_subarray_c] = "#AAAito",
    [ESPI_FN_Type_create_darray] = "ii#IIIIito",
    [ESPI_FN_Type_create_darray_c] = "ii#AIIIito",
    [ESPI_FN_Type_create_resized] = "taao",
    [ESPI_FN_Type_create_resized_c] = "taao",
};

/* Whether its numbers of eight bytes are counts and not addresses. */
static inline bool espi_constructor_is_large(enum espi_fn fn)
{
    static const bool is_large[ESPI_FN_COUNT] = {
#define ESPI_API(name, args, large, ...) [ESPI_FN_##name] = large,
#include "api.def"
#undef ESPI_API
    };
    return is_large[fn];
}

#endif
