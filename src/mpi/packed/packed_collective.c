#include "mpi/packed/packed_collective.h"

#include <limits.h>
#include <string.h>

#include "mpi/core/handle_table.h"
#include "mpi/core/pmpi.h"
#include "mpi/packed/stream_type.h"

enum family { OTHER, BCAST, GATHER, SCATTER, ALLGATHER, ALLGATHERV, ALLTOALL, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL };

#define FORMS(name, nonblocking, family)                                                                             \
    [ESPI_FN_##name] = (family), [ESPI_FN_##name##_c] = (family), [ESPI_FN_##nonblocking] = (family),                \
    [ESPI_FN_##nonblocking##_c] = (family),

static const unsigned char families[ESPI_FN_COUNT] = {
    FORMS(Bcast, Ibcast, BCAST)
    FORMS(Gather, Igather, GATHER)
    FORMS(Gatherv, Igatherv, GATHER)
    FORMS(Scatter, Iscatter, SCATTER)
    FORMS(Scatterv, Iscatterv, SCATTER)
    FORMS(Allgather, Iallgather, ALLGATHER)
    FORMS(Allgatherv, Iallgatherv, ALLGATHERV)
    FORMS(Alltoall, Ialltoall, ALLTOALL)
    FORMS(Alltoallv, Ialltoallv, ALLTOALL)
    FORMS(Alltoallw, Ialltoallw, ALLTOALL)
    FORMS(Neighbor_allgather, Ineighbor_allgather, NEIGHBOR_ALLGATHER)
    FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, NEIGHBOR_ALLGATHER)
    FORMS(Neighbor_alltoall, Ineighbor_alltoall, NEIGHBOR_ALLTOALL)
    FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, NEIGHBOR_ALLTOALL)
    FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOR_ALLTOALL)
};

static enum family family_of(const struct espi_api_row *row)
{
    return (enum family)families[row - espi_api_rows];
}

bool espi_collective_may_be_packed(const struct espi_api_row *row)
{
    return family_of(row) != OTHER && !(row->kind & ESPI_PERSISTENT);
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
    if (side == 0) { /* the root keeps its own block */
        out->own = rank;
        return family == SCATTER && root;
    }
    if (family == ALLTOALL) /* what is sent stands where it is received */
        return out->sent = true;
    if (family != ALLGATHER && !(family == GATHER && root))
        return false;
    out->own = rank;
    out->own_sent = family == ALLGATHER;
    return true;
}

/* MPICH 4.0 takes one degree for the other where it makes wide counts of the int ones of MPI_Neighbor_alltoallw, and
   so reads counts that are none where they differ. What happens then is not to depend on ours. */
static bool has_counts_confused(const struct espi_api_row *row, const struct espi_comm_facts *facts)
{
    return family_of(row) == NEIGHBOR_ALLTOALL && row->typed[0].shape == ESPI_SHAPE_W && !row->large &&
           facts->in != facts->out;
}

/* A message that the library packs and unpacks as a whole, once, and sends on as bytes (but espi_packs_across). */
static enum espi_packable staged_use(const struct espi_api_row *row)
{
    return row->kind & ESPI_NONBLOCKING ? ESPI_PACK_SCHEDULED : ESPI_PACK_STAGED;
}

static bool is_derived(const struct espi_buffer_args *typed, const espi_word *args)
{
    return typed->shape == ESPI_SHAPE_W
               ? args[typed->type] != 0 && !espi_is_predefined((uint32_t)*(const MPI_Datatype *)args[typed->type])
               : !espi_is_predefined((uint32_t)args[typed->type]);
}

/* Whether each block is a message of its own, of which MPI may see a type of its own. */
static bool is_message(enum family family, const struct espi_buffer_args *typed)
{
    return (family == ALLTOALL || family == NEIGHBOR_ALLTOALL) && typed->shape != ESPI_SHAPE_V;
}

/* Blocks that the library sends or receives as they are. Where both sides have gaps most is saved, but what a record
   of the request costs is about as much. A root has one block less than it looks like, and where both sides have gaps
   that one is packed, copied and unpacked, which saves nothing: few blocks are left to bear what the call costs. */
static enum espi_packable blocks_use(const struct espi_api_row *row, const espi_word *args, bool for_all,
                                     const struct espi_buffer_args *typed, const struct espi_buffer_args *other)
{
    const bool gaps = other != NULL && (void *)args[other->buffer] != MPI_IN_PLACE && is_derived(other, args),
               both = gaps && !(row->kind & ESPI_NONBLOCKING) && row->root < 0;

    if (!for_all || (gaps && row->root >= 0))
        return ESPI_PACK_BLOCK;
    if (is_message(family_of(row), typed))
        return both ? ESPI_PACK_EACH : ESPI_PACK_EACH_HALF;
    return both ? ESPI_PACK_BLOCKS : ESPI_PACK_HALF;
}

static int64_t number_in(const struct espi_api_row *row, const espi_word *args, int position, int i)
{
    return row->large ? ((const MPI_Count *)args[position])[i] : ((const int *)args[position])[i];
}

/* MPI_Allgatherv of less than so many bytes in all goes through a buffer of the library, with which both types are
   packed and unpacked in one go; else blocks are messages (MPICH 4.0.2: ALLGATHER_LONG_MSG_SIZE, and where the
   number of ranks is no power of two ALLGATHER_SHORT_MSG_SIZE). Types that are not known, and pairs, count as long.
   */
static bool goes_through_buffer(const struct espi_api_row *row, const espi_word *args, int peers)
{
    const struct espi_buffer_args *received = &row->typed[1];
    const MPI_Datatype type = (MPI_Datatype)args[received->type];
    const bool basic = (uint32_t)type >> 30 == 1; /* bits 8 to 15 of the handle are its size */
    MPI_Count size = (uint32_t)type >> 8 & 255;
    int64_t items = 0, bytes;

    if (args[received->count] == 0)
        return false;
    for (int i = 0; i < peers; i++)
        if (__builtin_add_overflow(items, number_in(row, args, received->count, i), &items))
            return false;
    if (!basic && (espi_slot_of(type) == NULL || espi_pmpi.Type_size_x(type, &size) != MPI_SUCCESS))
        return false;
    return !__builtin_mul_overflow(items, (int64_t)size, &bytes) &&
           bytes < ((peers & (peers - 1)) == 0 ? 512 << 10 : 80 << 10);
}

void espi_collective_side(struct espi_collective_side *out, const struct espi_api_row *row, int side,
                          const espi_word *args, const struct espi_comm_facts *facts, int peers)
{
    const struct espi_buffer_args *typed = &row->typed[side], *other;
    const enum family family = family_of(row);
    const bool root = is_root(row, args, facts), each = side < 2 && has_block_for_each(family, typed, side);

    out->use = ESPI_PACK_NOT;
    out->blocks = each ? peers : 1;
    /* Of neighbours' blocks each is a message; roots receive from ranks between, natively too, bytes. */
    out->together = side == 1 && family == ALLGATHER ? peers : 1;
    out->own = -1;
    out->sent = out->received = out->own_sent = out->messages = false;
    out->nobody = each && row->kind & ESPI_NEIGHBOUR ? facts->nobody : 0;
    out->whole = family == ALLGATHERV && !facts->inter && goes_through_buffer(row, args, peers);
    if (family == OTHER || row->kind & ESPI_PERSISTENT || peers <= 0 || (!facts->inter && facts->peers <= 1) ||
        (facts->inter && typed->shape != ESPI_SHAPE_W) || (family == ALLGATHERV && side == 1) ||
        has_counts_confused(row, facts))
        return;
    out->sent = family == BCAST ? root : side == 0;
    out->received = !out->sent;
    other = other_side(row, side, root);
    if (other != NULL && (void *)args[other->buffer] == MPI_IN_PLACE &&
        !in_place(out, family, side, root, facts->rank))
        return;
    if (out->received && espi_packed_blocks_short_seen())
        return;
    if (out->blocks > 64 && out->nobody != 0)
        return;
    if (typed->shape != ESPI_SHAPE_ONE && (args[typed->count] == 0 || args[typed->count + 1] == 0))
        return;
    if (family == BCAST)
        out->use = staged_use(row);
    else if ((side == 0 && (family == ALLGATHER || family == ALLGATHERV)) || (root && !each)) /* its own block */
        out->use = ESPI_PACK_COPIED;
    else
        out->use = blocks_use(row, args, each, typed, other);
    out->messages = each && is_message(family, typed);
    out->whole = out->whole || family == BCAST; /* short of very long ones */
}

bool espi_collective_minds_alias(const struct espi_api_row *row)
{
    const enum family family = family_of(row);

    return family == GATHER || family == SCATTER || family == ALLGATHER || family == ALLGATHERV;
}

/* MPICH looks for the own block in steps of the type's size, not of its extent. */
bool espi_collective_is_aliased(const struct espi_api_row *row, int side, const espi_word *args,
                                const struct espi_comm_facts *facts, int64_t size)
{
    const struct espi_buffer_args *other = other_side(row, side, is_root(row, args, facts));
    const struct espi_buffer_args *typed = &row->typed[side];
    const enum family family = family_of(row);
    int64_t shift = 0;

    if (other == NULL || !espi_collective_minds_alias(row) || facts->inter || args[typed->type] != args[other->type])
        return false;
    const bool all_here = has_block_for_each(family, typed, side) || (family == ALLGATHERV && side == 1);
    const struct espi_buffer_args *all = all_here ? typed : other, *one = all_here ? other : typed;
    if (all->shape == ESPI_SHAPE_ONE)
        shift = (row->large ? (int64_t)args[all->count] : (int64_t)(int)args[all->count]) * facts->rank;
    else if (args[all->count + 1] != 0)
        shift = number_in(row, args, all->count + 1, facts->rank);
    return (uint64_t)args[one->buffer] == (uint64_t)args[all->buffer] + (uint64_t)shift * (uint64_t)size;
}

int64_t espi_collective_items(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                              const struct espi_collective_side *side, const espi_word *args, int *filled)
{
    int64_t sum = 0, count;

    *filled = side->blocks;
    if (typed->shape == ESPI_SHAPE_ONE) {
        count = row->large ? (int64_t)args[typed->count] : (int64_t)(int)args[typed->count];
        return count < 0 || __builtin_mul_overflow(count, (int64_t)side->blocks, &sum) ? -1 : sum;
    }
    for (int i = 0; i < side->blocks; i++) {
        if ((count = number_in(row, args, typed->count, i)) < 0 || __builtin_add_overflow(sum, count, &sum))
            return -1;
        *filled -= count == 0;
    }
    return sum;
}

/* Where blocks begin, and how many items they have. False: a number is too large. */
static bool read_blocks(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                        const struct espi_collective_side *side, const espi_word *args,
                        struct espi_packed_block *blocks)
{
    const bool wide = row->large || (row->kind & ESPI_NEIGHBOUR && typed->shape == ESPI_SHAPE_W);
    const void *places = typed->shape == ESPI_SHAPE_ONE ? NULL : (const void *)args[typed->count + 1];

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
        if (b->count < 0 ||
            (typed->shape != ESPI_SHAPE_W && __builtin_mul_overflow(place, b->extent, &place)))
            return false;
        b->data = (char *)((uintptr_t)args[typed->buffer] + (uintptr_t)place);
        const bool nobody = i < 64 && (side->nobody >> i & 1) != 0; /* then nothing may be written */
        b->sent = !nobody && (i == side->own ? side->own_sent : side->sent);
        b->received = !nobody && i != side->own && side->received;
    }
    return true;
}

/* From the buffer on. Of an empty one: 0. */
static bool run_begins(const struct espi_api_row *row, const espi_word *args, const struct espi_buffer_args *typed,
                       int i, const struct espi_pack *pack, int64_t *at)
{
    const bool wide = row->large || row->kind & ESPI_NEIGHBOUR;
    const void *places = (const void *)args[typed->count + 1];
    int64_t from = 0;

    *at = 0;
    if (pack == NULL)
        return true;
    return espi_pack_is_run(pack, &from) &&
           !__builtin_add_overflow(wide ? ((const MPI_Aint *)places)[i] : ((const int *)places)[i], from, at) &&
           (wide || (*at >= INT_MIN && *at <= INT_MAX));
}

bool espi_collective_may_stand(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                               const espi_word *args, int i, const struct espi_pack *pack, int64_t count)
{
    int64_t at;

    return typed->shape == ESPI_SHAPE_W && count == 1 && run_begins(row, args, typed, i, pack, &at);
}

/* For each block: count, place, type. */
enum { ARRAYS_EACH = sizeof(MPI_Count) + sizeof(MPI_Aint) + sizeof(MPI_Datatype) };

/* What MPI sees where counts are in arrays: bytes, one block behind the other, or where they stand. */
static void fill_arrays(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                        const espi_word *args, struct espi_packed_blocks *packed, int n, bool in_cells,
                        espi_word *seen)
{
    const struct espi_packed_block *blocks = espi_packed_blocks_each(packed);
    char *memory = espi_packed_blocks_arrays(packed);
    const bool wide = row->large || (row->kind & ESPI_NEIGHBOUR && typed->shape == ESPI_SHAPE_W);
    const size_t count_size = row->large ? sizeof(MPI_Count) : sizeof(int),
                 place_size = wide ? sizeof(MPI_Aint) : sizeof(int);
    char *places = memory + (size_t)n * sizeof(MPI_Count);
    MPI_Datatype *types = (MPI_Datatype *)(places + (size_t)n * sizeof(MPI_Aint));
    int64_t at = 0;

    for (int i = 0; i < n; i++) {
        const int64_t bytes = blocks[i].count * blocks[i].size;
        if (espi_packed_blocks_stand(packed))
            run_begins(row, args, typed, i, blocks[i].pack, &at);
        const int few = (int)bytes, near = (int)at;
        memcpy(memory + (size_t)i * count_size, row->large ? (const void *)&bytes : &few, count_size);
        memcpy(places + (size_t)i * place_size, wide ? (const void *)&at : &near, place_size);
        types[i] = MPI_PACKED;
        at += bytes;
        if (!in_cells || !blocks[i].sent || blocks[i].received)
            continue;
        const MPI_Datatype type = espi_stream_type_take(bytes, ESPI_STREAM_IN_ROW);
        if (type == MPI_DATATYPE_NULL)
            continue;
        types[i] = type;
        if (row->large)
            ((MPI_Count *)memory)[i] = 1;
        else
            ((int *)memory)[i] = 1;
    }
    espi_packed_blocks_sent_as(packed, types, n);
    seen[0] = (espi_word)memory;
    seen[1] = (espi_word)places;
    seen[2] = typed->shape == ESPI_SHAPE_W ? (espi_word)types : (espi_word)MPI_PACKED;
}

/* The same where all blocks have one count: of those that are messages of their own, each is one item. */
static void see_one(const struct espi_collective_side *side, struct espi_packed_blocks *packed, int64_t bytes,
                    bool in_cells, espi_word *seen)
{
    MPI_Datatype *type = espi_packed_blocks_one_type(packed);

    seen[0] = (espi_word)bytes;
    if (!in_cells || !side->sent || side->received ||
        (*type = espi_stream_type_take(bytes, ESPI_STREAM_IN_ROW)) == MPI_DATATYPE_NULL)
        return;
    espi_packed_blocks_sent_as(packed, type, 1);
    seen[0] = 1;
    seen[2] = (espi_word)*type;
}

struct espi_packed_blocks *espi_collective_new(const struct espi_buffer_args *typed,
                                               const struct espi_collective_side *side, int64_t bytes,
                                               bool stand)
{
    return espi_packed_blocks_new(side->blocks, bytes,
                                  typed->shape == ESPI_SHAPE_ONE ? 0 : (size_t)side->blocks * ARRAYS_EACH, stand);
}

bool espi_collective_begin(struct espi_packed_blocks *packed, const struct espi_api_row *row,
                           const struct espi_buffer_args *typed, const struct espi_collective_side *side,
                           const espi_word *args, espi_word *changed, enum espi_message_way way, bool exact,
                           bool check)
{
    struct espi_packed_block *blocks = espi_packed_blocks_each(packed);
    const bool in_cells = way == ESPI_WAY_CELLS && side->messages;
    espi_word seen[3] = {0, 0, (espi_word)MPI_PACKED};

    if (!read_blocks(row, typed, side, args, blocks))
        return false;
    if (typed->shape == ESPI_SHAPE_ONE)
        see_one(side, packed, blocks[0].count * blocks[0].size, in_cells, seen);
    else
        fill_arrays(row, typed, args, packed, side->blocks, in_cells, seen);
    espi_packed_blocks_pack(packed, exact, check);
    if (!espi_packed_blocks_stand(packed))
        changed[typed->buffer] = (espi_word)espi_packed_blocks_stream(packed);
    changed[typed->count] = seen[0];
    if (typed->shape != ESPI_SHAPE_ONE)
        changed[typed->count + 1] = seen[1];
    changed[typed->type] = seen[2];
    return true;
}
