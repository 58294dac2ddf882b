#include "mpi/packed/packed_collective.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/core/pmpi.h"

enum family { BCAST, GATHER, SCATTER, ALLGATHER, ALLGATHERV, ALLTOALL, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL, OTHER };

#define CASES(name, nonblocking)                                                                                     \
    case ESPI_FN_##name:                                                                                             \
    case ESPI_FN_##name##_c:                                                                                         \
    case ESPI_FN_##nonblocking:                                                                                      \
    case ESPI_FN_##nonblocking##_c:

static enum family family_of(const struct espi_api_row *row)
{
    switch ((enum espi_fn)(row - espi_api_rows)) {
    CASES(Bcast, Ibcast)
        return BCAST;
    CASES(Gather, Igather)
    CASES(Gatherv, Igatherv)
        return GATHER;
    CASES(Scatter, Iscatter)
    CASES(Scatterv, Iscatterv)
        return SCATTER;
    CASES(Allgather, Iallgather)
        return ALLGATHER;
    CASES(Allgatherv, Iallgatherv)
        return ALLGATHERV;
    CASES(Alltoall, Ialltoall)
    CASES(Alltoallv, Ialltoallv)
    CASES(Alltoallw, Ialltoallw)
        return ALLTOALL;
    CASES(Neighbor_allgather, Ineighbor_allgather)
    CASES(Neighbor_allgatherv, Ineighbor_allgatherv)
        return NEIGHBOR_ALLGATHER;
    CASES(Neighbor_alltoall, Ineighbor_alltoall)
    CASES(Neighbor_alltoallv, Ineighbor_alltoallv)
    CASES(Neighbor_alltoallw, Ineighbor_alltoallw)
        return NEIGHBOR_ALLTOALL;
    default:
        return OTHER;
    }
}

static bool is_root(const struct espi_api_row *row, const espi_word *args, const struct espi_comm_facts *facts)
{
    return row->root >= 0 && (int)args[row->root] == facts->rank;
}

/* The other side, if it means anything on this rank. */
static const struct espi_buffer_args *other_side(const struct espi_api_row *row, int side, bool root)
{
    const struct espi_buffer_args *other = &row->typed[side == 0];

    return side > 1 || other->shape == ESPI_SHAPE_NONE || (other->at_root && !root) ? NULL : other;
}

static bool has_block_for_each(enum family family, const struct espi_buffer_args *typed, int side)
{
    return typed->shape != ESPI_SHAPE_ONE || typed->at_root || family == ALLTOALL || family == NEIGHBOR_ALLTOALL ||
           (side == 1 && (family == ALLGATHER || family == NEIGHBOR_ALLGATHER));
}

/* What MPI_IN_PLACE on the other side means for this one. False: nothing that is allowed. */
static bool in_place(struct espi_collective_side *out, enum family family, int side, bool root, int rank)
{
    if (side == 0) /* the root keeps its own block */
        return family == SCATTER && root;
    if (family == ALLTOALL) /* what is sent stands where it is received */
        return out->sent = true;
    if (family != ALLGATHER && !(family == GATHER && root))
        return false;
    out->own = rank;
    out->own_sent = family == ALLGATHER;
    return true;
}

/* A message that the library packs and unpacks as a whole, once, and sends on as bytes. */
static enum espi_packable staged_use(const struct espi_api_row *row)
{
    return row->kind & ESPI_NONBLOCKING ? ESPI_PACK_SCHEDULED : ESPI_PACK_STAGED;
}

struct espi_collective_side espi_collective_side(const struct espi_api_row *row, int side, const espi_word *args,
                                                 const struct espi_comm_facts *facts, int peers)
{
    const struct espi_buffer_args *typed = &row->typed[side], *other;
    const enum family family = family_of(row);
    const bool root = is_root(row, args, facts), each = side < 2 && has_block_for_each(family, typed, side);
    struct espi_collective_side out = {.use = ESPI_PACK_NOT, .blocks = each ? peers : 1, .own = -1};

    if (family == OTHER || row->kind & ESPI_PERSISTENT || peers <= 0 || (!facts->inter && facts->peers <= 1) ||
        (facts->inter && typed->shape != ESPI_SHAPE_W) || (family == ALLGATHERV && side == 1))
        return out;
    out.sent = family == BCAST ? root : side == 0;
    out.received = !out.sent;
    other = other_side(row, side, root);
    if (other != NULL && (void *)args[other->buffer] == MPI_IN_PLACE &&
        !in_place(&out, family, side, root, facts->rank))
        return out;
    if (out.received && espi_packed_blocks_short_seen())
        return out;
    if (typed->shape != ESPI_SHAPE_ONE && (args[typed->count] == 0 || args[typed->count + 1] == 0))
        return out;
    out.use = family == BCAST                                            ? staged_use(row)
              : side == 0 && (family == ALLGATHER || family == ALLGATHERV) ? ESPI_PACK_COPIED
                                                                           : ESPI_PACK_BLOCKS;
    out.whole = family == BCAST || (side == 0 && family == ALLGATHERV); /* short of very long ones */
    return out;
}

static int64_t number_in(const struct espi_api_row *row, const espi_word *args, int position, int i)
{
    return row->large ? ((const MPI_Count *)args[position])[i] : ((const int *)args[position])[i];
}

/* MPICH looks for the own block in steps of the type's size, not of its extent. */
bool espi_collective_is_aliased(const struct espi_api_row *row, int side, const espi_word *args,
                                const struct espi_comm_facts *facts, int64_t size)
{
    const struct espi_buffer_args *other = other_side(row, side, is_root(row, args, facts));
    const struct espi_buffer_args *typed = &row->typed[side];
    const enum family family = family_of(row);
    int64_t shift = 0;

    if (other == NULL || (family != GATHER && family != SCATTER && family != ALLGATHER && family != ALLGATHERV) ||
        facts->inter || args[typed->type] != args[other->type])
        return false;
    const bool all_here = has_block_for_each(family, typed, side) || (family == ALLGATHERV && side == 1);
    const struct espi_buffer_args *all = all_here ? typed : other, *one = all_here ? other : typed;
    if (all->shape == ESPI_SHAPE_ONE)
        shift = (row->large ? (int64_t)args[all->count] : (int64_t)(int)args[all->count]) * facts->rank;
    else if (args[all->count + 1] != 0)
        shift = number_in(row, args, all->count + 1, facts->rank);
    return (uint64_t)args[one->buffer] == (uint64_t)args[all->buffer] + (uint64_t)shift * (uint64_t)size;
}

/* Where blocks begin, and how many items they have. False: the type's extent is not to be had, or a count is bad. */
static bool read_blocks(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                        const struct espi_collective_side *side, const espi_word *args,
                        struct espi_packed_block *blocks)
{
    const bool wide = row->large || (row->kind & ESPI_NEIGHBOUR && typed->shape == ESPI_SHAPE_W);
    const void *places = typed->shape == ESPI_SHAPE_ONE ? NULL : (const void *)args[typed->count + 1];
    MPI_Count lb, extent = 1;

    if (typed->shape != ESPI_SHAPE_W &&
        espi_pmpi.Type_get_extent_c((MPI_Datatype)args[typed->type], &lb, &extent) != MPI_SUCCESS)
        return false;
    for (int i = 0; i < side->blocks; i++) {
        struct espi_packed_block *b = &blocks[i];
        int64_t place;
        if (typed->shape == ESPI_SHAPE_ONE) {
            b->count = row->large ? (int64_t)args[typed->count] : (int64_t)(int)args[typed->count];
            if (__builtin_mul_overflow(b->count, (int64_t)i, &place))
                return false;
        } else {
            b->count = number_in(row, args, typed->count, i);
            place = wide ? ((const MPI_Aint *)places)[i] : ((const int *)places)[i];
        }
        if (b->count < 0 || __builtin_mul_overflow(place, (int64_t)extent, &place))
            return false;
        b->data = (char *)((uintptr_t)args[typed->buffer] + (uintptr_t)place);
        b->sent = i == side->own ? side->own_sent : side->sent;
        b->received = i != side->own && side->received;
    }
    return true;
}

/* What MPI sees where counts are in arrays: bytes, one block behind the other. NULL: no memory. */
static void *make_arrays(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                         const struct espi_packed_block *blocks, int n, espi_word *seen)
{
    const bool wide = row->large || (row->kind & ESPI_NEIGHBOUR && typed->shape == ESPI_SHAPE_W);
    const size_t count_size = row->large ? sizeof(MPI_Count) : sizeof(int),
                 place_size = wide ? sizeof(MPI_Aint) : sizeof(int);
    char *memory = malloc((size_t)n * (sizeof(MPI_Count) + sizeof(MPI_Aint) + sizeof(MPI_Datatype)));
    char *places = memory + (size_t)n * sizeof(MPI_Count);
    MPI_Datatype *types = (MPI_Datatype *)(places + (size_t)n * sizeof(MPI_Aint));
    int64_t at = 0;

    if (memory == NULL)
        return NULL;
    for (int i = 0; i < n; i++) {
        /* Of no use where it does not fit. */
        const int64_t bytes = (int64_t)((uint64_t)blocks[i].count * (uint64_t)blocks[i].size);
        const int few = (int)bytes, near = (int)at;
        memcpy(memory + (size_t)i * count_size, row->large ? (const void *)&bytes : &few, count_size);
        memcpy(places + (size_t)i * place_size, wide ? (const void *)&at : &near, place_size);
        types[i] = MPI_PACKED;
        at = (int64_t)((uint64_t)at + (uint64_t)bytes);
    }
    seen[0] = (espi_word)memory;
    seen[1] = (espi_word)places;
    seen[2] = (espi_word)types;
    return memory;
}

struct espi_packed_blocks *espi_collective_begin(const struct espi_api_row *row,
                                                 const struct espi_buffer_args *typed,
                                                 const struct espi_collective_side *side, const espi_word *args,
                                                 espi_word *changed, struct espi_packed_block *blocks, bool exact,
                                                 bool check)
{
    const bool one = typed->shape == ESPI_SHAPE_ONE;
    struct espi_packed_blocks *packed;
    espi_word seen[3] = {0, 0, (espi_word)MPI_PACKED};
    void *arrays = NULL;

    if (!read_blocks(row, typed, side, args, blocks) ||
        (!one && (arrays = make_arrays(row, typed, blocks, side->blocks, seen)) == NULL))
        return NULL;
    packed = espi_packed_blocks_begin(blocks, side->blocks, arrays, exact, check);
    if (packed == NULL) {
        free(arrays);
        return NULL;
    }
    if (one)
        seen[0] = (espi_word)(blocks[0].count * blocks[0].size);
    if (typed->shape != ESPI_SHAPE_W)
        seen[2] = (espi_word)MPI_PACKED;
    changed[typed->buffer] = (espi_word)espi_packed_blocks_stream(packed);
    changed[typed->count] = seen[0];
    if (!one)
        changed[typed->count + 1] = seen[1];
    changed[typed->type] = seen[2];
    return packed;
}
