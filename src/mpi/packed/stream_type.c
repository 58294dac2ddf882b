#include "mpi/packed/stream_type.h"

#include <stdatomic.h>
#include <string.h>

#include "mpi/core/pmpi.h"
#include "mpi/datatype/own_types.h"

/* Room behind the block; datatypes that one is made of. */
enum { ROOM = 64, DATATYPES = 3 };

/* The types of the sizes that were sent last: size and handle in one word, so that taking one out of the table or
   putting one in is one exchange, and nobody else has what is taken. Sizes with the same place replace each other. */
enum { PLACES_LOG = 4, PLACES = 1 << PLACES_LOG };
static _Atomic uint64_t kept[PLACES];
static atomic_bool opened;
static atomic_int ours; /* types that there are, kept or in calls */

static _Atomic uint64_t *place_of(int64_t bytes)
{
    return &kept[(uint64_t)bytes * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACES_LOG)];
}

static MPI_Datatype type_in(uint64_t word)
{
    return (MPI_Datatype)(uint32_t)word;
}

static void let_go(MPI_Datatype type)
{
    espi_pmpi.Type_free(&type);
    espi_own_types_add(-DATATYPES);
    atomic_fetch_sub(&ours, 1);
}

static MPI_Datatype make(int64_t bytes)
{
    MPI_Datatype block, gap, type = MPI_DATATYPE_NULL;

    if (espi_own_types_room() < DATATYPES || espi_pmpi.Type_contiguous((int)bytes, MPI_PACKED, &block) != MPI_SUCCESS)
        return MPI_DATATYPE_NULL;
    if (espi_pmpi.Type_create_resized(block, 0, (MPI_Aint)bytes + ROOM, &gap) == MPI_SUCCESS) {
        if (espi_pmpi.Type_create_resized(gap, 0, (MPI_Aint)bytes, &type) != MPI_SUCCESS)
            type = MPI_DATATYPE_NULL;
        espi_pmpi.Type_free(&gap);
    }
    espi_pmpi.Type_free(&block);
    if (type == MPI_DATATYPE_NULL)
        return type;
    if (espi_own_types_is_high(type) || espi_pmpi.Type_commit(&type) != MPI_SUCCESS) {
        espi_pmpi.Type_free(&type);
    } else {
        espi_own_types_add(DATATYPES);
        atomic_fetch_add(&ours, 1);
    }
    return type;
}

bool espi_stream_may_go_in_cells(int64_t bytes)
{
    return bytes > ESPI_STREAM_CELL && bytes <= INT32_MAX - ROOM &&
           atomic_load_explicit(&opened, memory_order_relaxed) &&
           (espi_own_types_room() >= DATATYPES || atomic_load_explicit(&ours, memory_order_relaxed) > 0);
}

MPI_Datatype espi_stream_type_take(int64_t bytes)
{
    uint64_t word;

    if (!espi_stream_may_go_in_cells(bytes))
        return MPI_DATATYPE_NULL;
    word = atomic_exchange(place_of(bytes), 0);
    if (word >> 32 == (uint64_t)bytes)
        return type_in(word);
    if (word != 0)
        let_go(type_in(word));
    return make(bytes);
}

void espi_stream_type_back(MPI_Datatype type, int64_t bytes)
{
    const uint64_t word = atomic_load_explicit(&opened, memory_order_relaxed)
                              ? atomic_exchange(place_of(bytes), (uint64_t)bytes << 32 | (uint32_t)type)
                              : (uint32_t)type;

    if (word != 0)
        let_go(type_in(word));
}

void espi_stream_types_give_back(void)
{
    for (int i = 0; i < PLACES; i++) {
        const uint64_t word = atomic_exchange(&kept[i], 0);
        if (word != 0)
            let_go(type_in(word));
    }
}

/* The device is what decides how messages go. */
static bool is_ucx(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    return espi_pmpi.Get_library_version(text, &length) == MPI_SUCCESS && strstr(text, "ch4:ucx") != NULL;
}

void espi_stream_types_open(void)
{
    atomic_store(&opened, is_ucx());
}

void espi_stream_types_close(void)
{
    atomic_store(&opened, false);
    espi_stream_types_give_back();
}
