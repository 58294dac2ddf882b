/* Predefined MPI datatypes and the base types of the layout vocabulary: both directions without a search. */
#include "mpi/datatype/decode.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "abi.h"
#include "base/table.h"
#include "mpi/core/pmpi.h"

/* Base types that have an MPI handle; beyond this many, Fortran types of exotic precision are left alone. */
enum { HANDLES = 1024, BUILTINS = 256 };

static const struct {
    char name[28]; /* not a pointer, which the loader would have to see to */
    MPI_Datatype handle;
} predefined[] = {
#define ROW(name) {#name, name}
    ROW(MPI_CHAR), ROW(MPI_SIGNED_CHAR), ROW(MPI_UNSIGNED_CHAR), ROW(MPI_BYTE), ROW(MPI_PACKED), ROW(MPI_WCHAR),
    ROW(MPI_SHORT), ROW(MPI_UNSIGNED_SHORT), ROW(MPI_INT), ROW(MPI_UNSIGNED), ROW(MPI_LONG), ROW(MPI_UNSIGNED_LONG),
    ROW(MPI_LONG_LONG_INT), ROW(MPI_UNSIGNED_LONG_LONG), ROW(MPI_FLOAT), ROW(MPI_DOUBLE), ROW(MPI_LONG_DOUBLE),
    ROW(MPI_C_BOOL), ROW(MPI_INT8_T), ROW(MPI_INT16_T), ROW(MPI_INT32_T), ROW(MPI_INT64_T), ROW(MPI_UINT8_T),
    ROW(MPI_UINT16_T), ROW(MPI_UINT32_T), ROW(MPI_UINT64_T), ROW(MPI_C_FLOAT_COMPLEX), ROW(MPI_C_DOUBLE_COMPLEX),
    ROW(MPI_C_LONG_DOUBLE_COMPLEX), ROW(MPI_AINT), ROW(MPI_COUNT), ROW(MPI_OFFSET), ROW(MPI_CXX_BOOL),
    ROW(MPI_CXX_FLOAT_COMPLEX), ROW(MPI_CXX_DOUBLE_COMPLEX), ROW(MPI_CXX_LONG_DOUBLE_COMPLEX), ROW(MPI_FLOAT_INT),
    ROW(MPI_DOUBLE_INT), ROW(MPI_LONG_INT), ROW(MPI_2INT), ROW(MPI_SHORT_INT), ROW(MPI_LONG_DOUBLE_INT),
    ROW(MPI_INTEGER), ROW(MPI_REAL), ROW(MPI_DOUBLE_PRECISION), ROW(MPI_COMPLEX), ROW(MPI_DOUBLE_COMPLEX),
    ROW(MPI_LOGICAL), ROW(MPI_CHARACTER), ROW(MPI_2INTEGER), ROW(MPI_2REAL), ROW(MPI_2DOUBLE_PRECISION),
    ROW(MPI_INTEGER1), ROW(MPI_INTEGER2), ROW(MPI_INTEGER4), ROW(MPI_INTEGER8), ROW(MPI_INTEGER16), ROW(MPI_REAL4),
    ROW(MPI_REAL8), ROW(MPI_REAL16), ROW(MPI_COMPLEX8), ROW(MPI_COMPLEX16), ROW(MPI_COMPLEX32),
#ifdef MPIX_C_FLOAT16
    ROW(MPIX_C_FLOAT16),
#endif
#undef ROW
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static espi_base of_builtin[BUILTINS], of_pair[ESPI_PAIR_TYPES];
static _Atomic(MPI_Datatype) handle_of[HANDLES] ESPI_TABLE;

/* A base type stands for a handle only when MPI and the vocabulary agree on its bytes. */
static bool same_bytes(espi_base base, MPI_Datatype type)
{
    const struct espi_base_info *info = espi_base_info(base);
    MPI_Count size, lb, extent;

    return info != NULL && espi_pmpi.Type_size_c(type, &size) == MPI_SUCCESS &&
           espi_pmpi.Type_get_true_extent_c(type, &lb, &extent) == MPI_SUCCESS && lb == 0 && size == info->size &&
           extent == info->extent;
}

static espi_base *slot_of(MPI_Datatype type)
{
    uint32_t bits = (uint32_t)type, pair = bits - 0x8c000000u;

    if (bits >> 26 == 0x4c000000u >> 26)
        return &of_builtin[bits & (BUILTINS - 1)];
    return pair < ESPI_PAIR_TYPES ? &of_pair[pair] : NULL;
}

static void fill_tables(void)
{
    size_t i;

    for (i = 0; i < BUILTINS; i++)
        of_builtin[i] = ESPI_BASE_NONE;
    for (i = 0; i < ESPI_PAIR_TYPES; i++)
        of_pair[i] = ESPI_BASE_NONE;
    for (i = 0; i < HANDLES; i++)
        atomic_init(&handle_of[i], MPI_DATATYPE_NULL);
    for (i = 0; i < sizeof predefined / sizeof predefined[0]; i++) {
        espi_base base = espi_base_find(predefined[i].name, strlen(predefined[i].name)), *slot;

        slot = slot_of(predefined[i].handle);
        if (slot == NULL || base >= HANDLES || *slot != ESPI_BASE_NONE || !same_bytes(base, predefined[i].handle))
            continue;
        *slot = base;
        atomic_store(&handle_of[base], predefined[i].handle);
    }
}

espi_base espi_base_of_handle(MPI_Datatype type)
{
    espi_base *slot, base;

    pthread_once(&once, fill_tables);
    slot = slot_of(type);
    base = slot == NULL ? ESPI_BASE_NONE : *slot;
    return base != ESPI_BASE_NONE && atomic_load(&handle_of[base]) == type ? base : ESPI_BASE_NONE;
}

MPI_Datatype espi_base_handle(espi_base base)
{
    pthread_once(&once, fill_tables);
    return base < HANDLES ? atomic_load(&handle_of[base]) : MPI_DATATYPE_NULL;
}

espi_base espi_base_of_f90(const char *name, MPI_Datatype type)
{
    static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
    MPI_Count size, lb, extent;
    espi_base base;

    pthread_once(&once, fill_tables);
    pthread_mutex_lock(&adding);
    base = espi_base_find(name, strlen(name));
    if (base == ESPI_BASE_NONE && espi_pmpi.Type_size_c(type, &size) == MPI_SUCCESS &&
        espi_pmpi.Type_get_true_extent_c(type, &lb, &extent) == MPI_SUCCESS && lb == 0 && size > 0 && size <= 64 &&
        extent == size) {
        base = espi_base_add(name, (uint32_t)size, (uint32_t)extent);
        if (base < HANDLES)
            atomic_store(&handle_of[base], type);
    }
    pthread_mutex_unlock(&adding);
    return base < HANDLES && atomic_load(&handle_of[base]) == type ? base : ESPI_BASE_NONE;
}
