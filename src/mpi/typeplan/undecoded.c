#include "mpi/typeplan/undecoded.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "mpi/core/pmpi.h"

static const char *constructor_of(MPI_Datatype type)
{
    MPI_Count ints, addresses, counts, types;
    int combiner = MPI_COMBINER_NAMED;

    espi_pmpi.Type_get_envelope_c(type, &ints, &addresses, &counts, &types, &combiner);
    switch (combiner) {
#define NAME(combiner, name)                                                                                         \
    case MPI_COMBINER_##combiner:                                                                                    \
        return name
    NAME(DUP, "MPI_Type_dup");
    NAME(CONTIGUOUS, "MPI_Type_contiguous");
    NAME(VECTOR, "MPI_Type_vector");
    NAME(HVECTOR, "MPI_Type_create_hvector");
    NAME(INDEXED, "MPI_Type_indexed");
    NAME(HINDEXED, "MPI_Type_create_hindexed");
    NAME(INDEXED_BLOCK, "MPI_Type_create_indexed_block");
    NAME(HINDEXED_BLOCK, "MPI_Type_create_hindexed_block");
    NAME(STRUCT, "MPI_Type_create_struct");
    NAME(SUBARRAY, "MPI_Type_create_subarray");
    NAME(DARRAY, "MPI_Type_create_darray");
    NAME(RESIZED, "MPI_Type_create_resized");
#undef NAME
    default:
        return "another constructor";
    }
}

struct espi_stats_type *espi_undecoded_record(const struct espi_type_class *class, MPI_Datatype type,
                                              enum espi_counter why)
{
    struct espi_stats_type *record = espi_stats_type(espi_mix(class->hint, why));
    char text[120];
    struct espi_type_facts facts = {.before = text, .why = espi_counter_table[why].help, .cost_before = -1,
                                    .cost_after = -1, .entries = -1, .size = class->size};

    snprintf(text, sizeof text, "(not decoded: %s, %" PRIu64 " numbers)", constructor_of(type), class->numbers);
    espi_stats_type_describe(record, &facts);
    return record;
}
