#include "mpi/datatype/contents.h"

#include <stdlib.h>
#include <string.h>

#include "constructors.h"
#include "mpi/core/pmpi.h"

static int combiner_of(enum espi_fn fn)
{
    switch (fn) {
    case ESPI_FN_Type_contiguous:
    case ESPI_FN_Type_contiguous_c:
        return MPI_COMBINER_CONTIGUOUS;
    case ESPI_FN_Type_vector:
    case ESPI_FN_Type_vector_c:
        return MPI_COMBINER_VECTOR;
    case ESPI_FN_Type_create_hvector:
    case ESPI_FN_Type_create_hvector_c:
    case ESPI_FN_Type_hvector:
        return MPI_COMBINER_HVECTOR;
    case ESPI_FN_Type_indexed:
    case ESPI_FN_Type_indexed_c:
        return MPI_COMBINER_INDEXED;
    case ESPI_FN_Type_create_hindexed:
    case ESPI_FN_Type_create_hindexed_c:
    case ESPI_FN_Type_hindexed:
        return MPI_COMBINER_HINDEXED;
    case ESPI_FN_Type_create_indexed_block:
    case ESPI_FN_Type_create_indexed_block_c:
        return MPI_COMBINER_INDEXED_BLOCK;
    case ESPI_FN_Type_create_hindexed_block:
    case ESPI_FN_Type_create_hindexed_block_c:
        return MPI_COMBINER_HINDEXED_BLOCK;
    case ESPI_FN_Type_create_struct:
    case ESPI_FN_Type_create_struct_c:
    case ESPI_FN_Type_struct:
        return MPI_COMBINER_STRUCT;
    case ESPI_FN_Type_create_subarray:
    case ESPI_FN_Type_create_subarray_c:
        return MPI_COMBINER_SUBARRAY;
    case ESPI_FN_Type_create_darray:
    case ESPI_FN_Type_create_darray_c:
        return MPI_COMBINER_DARRAY;
    case ESPI_FN_Type_create_resized:
    case ESPI_FN_Type_create_resized_c:
        return MPI_COMBINER_RESIZED;
    default:
        return MPI_COMBINER_NAMED; /* no type that is kept */
    }
}

/* Whether a constructor of that kind can have made it: not MPI_Type_dup, say, whose hint is that of the original. */
static bool is_kind(int combiner)
{
    switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
    case MPI_COMBINER_RESIZED:
        return true;
    default:
        return false;
    }
}

size_t espi_contents_size(const struct espi_contents *c)
{
    return (size_t)c->addrs * sizeof(MPI_Aint) + (size_t)c->counts * sizeof(MPI_Count) +
           (size_t)c->ints * sizeof(int) + (size_t)c->types * sizeof(MPI_Datatype);
}

bool espi_contents_ask(MPI_Datatype type, size_t most, struct espi_contents *c)
{
    if (espi_pmpi.Type_get_envelope_c(type, &c->ints, &c->addrs, &c->counts, &c->types, &c->combiner) !=
            MPI_SUCCESS ||
        !is_kind(c->combiner) || espi_contents_size(c) > most || (c->bytes = malloc(espi_contents_size(c))) == NULL)
        return false;
    MPI_Aint *addrs = (MPI_Aint *)c->bytes;
    MPI_Count *counts = (MPI_Count *)(addrs + c->addrs);
    int *ints = (int *)(counts + c->counts);
    MPI_Datatype *types = (MPI_Datatype *)(ints + c->ints);
    if (espi_pmpi.Type_get_contents_c(type, c->ints, c->addrs, c->counts, c->types, ints, addrs, counts, types) !=
        MPI_SUCCESS) {
        free(c->bytes);
        return false;
    }
    for (MPI_Count i = 0; i < c->types; i++) {
        MPI_Datatype one = types[i]; /* MPI has counted a reference for us */
        if (!espi_is_predefined((uint32_t)one))
            espi_pmpi.Type_free(&one);
    }
    return true;
}

const MPI_Datatype *espi_contents_types(const struct espi_contents *c)
{
    return (const MPI_Datatype *)(c->bytes + (size_t)(c->addrs + c->counts) * sizeof(MPI_Count) +
                                  (size_t)c->ints * sizeof(int));
}

static bool is_next(const char **at, const void *value, size_t size)
{
    const bool same = size == 0 || memcmp(*at, value, size) == 0;

    *at += size;
    return same;
}

/* The lengths of arrays are compared before what stands in them, so that no more is read than there is. */
bool espi_contents_are_of(const struct espi_contents *c, enum espi_fn fn, const espi_word *args)
{
    const char *eights = c->bytes, /* addresses, or counts: there are never both */
        *ints = eights + (size_t)(c->addrs + c->counts) * sizeof(MPI_Count),
               *types = ints + (size_t)c->ints * sizeof(int);
    const bool large = c->counts > 0, is_large = espi_constructor_is_large(fn);
    bool same = c->combiner == combiner_of(fn) && (is_large ? c->addrs == 0 : !large);
    size_t n = 0;

    for (const char *how = espi_constructors[fn]; same && *how != 'o'; how++, args++) {
        const void *array = (const void *)*args;
        const int i = (int)*args;
        const int64_t a = *args;
        switch (*how) {
        case '#':
            n = i > 0 ? (size_t)i : 0;
            same = is_next(&ints, &i, sizeof i);
            break;
        case '*':
            n = a > 0 ? (size_t)a : 0;
            same = is_next(&eights, &a, sizeof a);
            break;
        case 'i':
            same = is_next(&ints, &i, sizeof i);
            break;
        case 'a':
            same = is_next(&eights, &a, sizeof a);
            break;
        case 'I':
            same = (array != NULL || n == 0) && is_next(&ints, array, n * sizeof(int));
            break;
        case 'A':
            same = (array != NULL || n == 0) && is_next(&eights, array, n * sizeof(MPI_Count));
            break;
        case 'T':
            same = (array != NULL || n == 0) && is_next(&types, array, n * sizeof(MPI_Datatype));
            break;
        default:
            same = is_next(&types, &i, sizeof i);
        }
    }
    return same;
}

/* The least type that the constructor makes. */
static MPI_Datatype make_least(int combiner)
{
    const int one = 1, zero = 0, block = MPI_DISTRIBUTE_BLOCK, usual = MPI_DISTRIBUTE_DFLT_DARG;
    const MPI_Aint nowhere = 0;
    const MPI_Datatype byte = MPI_BYTE;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        espi_pmpi.Type_contiguous(1, byte, &type);
        break;
    case MPI_COMBINER_VECTOR:
        espi_pmpi.Type_vector(1, 1, 1, byte, &type);
        break;
    case MPI_COMBINER_HVECTOR:
        espi_pmpi.Type_create_hvector(1, 1, 1, byte, &type);
        break;
    case MPI_COMBINER_INDEXED:
        espi_pmpi.Type_indexed(1, &one, &zero, byte, &type);
        break;
    case MPI_COMBINER_HINDEXED:
        espi_pmpi.Type_create_hindexed(1, &one, &nowhere, byte, &type);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        espi_pmpi.Type_create_indexed_block(1, 1, &zero, byte, &type);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        espi_pmpi.Type_create_hindexed_block(1, 1, &nowhere, byte, &type);
        break;
    case MPI_COMBINER_STRUCT:
        espi_pmpi.Type_create_struct(1, &one, &nowhere, &byte, &type);
        break;
    case MPI_COMBINER_SUBARRAY:
        espi_pmpi.Type_create_subarray(1, &one, &one, &zero, MPI_ORDER_C, byte, &type);
        break;
    case MPI_COMBINER_DARRAY:
        espi_pmpi.Type_create_darray(1, 0, 1, &one, &block, &usual, &one, MPI_ORDER_C, byte, &type);
        break;
    default:
        espi_pmpi.Type_create_resized(byte, 0, 1, &type);
    }
    return type;
}

/* By their combiners; MPI_DATATYPE_NULL where none was needed. */
enum { COMBINERS = 32 };
static MPI_Datatype uncommitted[COMBINERS];
static bool any_uncommitted;

MPI_Datatype espi_uncommitted(int combiner)
{
    if (combiner >= COMBINERS)
        return MPI_DATATYPE_NULL;
    for (int i = 0; i < COMBINERS && !any_uncommitted; i++)
        uncommitted[i] = MPI_DATATYPE_NULL;
    any_uncommitted = true;
    if (uncommitted[combiner] == MPI_DATATYPE_NULL)
        uncommitted[combiner] = make_least(combiner);
    return uncommitted[combiner];
}

void espi_uncommitted_end(void)
{
    for (int i = 0; i < COMBINERS && any_uncommitted; i++)
        if (uncommitted[i] != MPI_DATATYPE_NULL)
            espi_pmpi.Type_free(&uncommitted[i]);
    any_uncommitted = false;
}
