#include "mpi/calls/substitute_array.h"

#include <stdlib.h>

#include "mpi/core/array_pool.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/packed_blocks.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/unseen.h"

int64_t espi_count_in(const struct espi_api_row *row, const espi_word *args, int position, int i)
{
    if (row->large)
        return ((const MPI_Count *)args[position])[i];
    return ((const int *)args[position])[i];
}

/* The ways of an array of types, one block each; NULL: no memory. `packed`: pack programs are to see to all. */
static struct espi_way *ways_of(struct espi_substitution *d, const struct espi_buffer_args *typed, int side,
                                bool whole, int n, bool *packed)
{
    const MPI_Datatype *types = (const MPI_Datatype *)d->args[(int)typed->type];
    const enum espi_packable use = side < 2 ? d->collective[side].use : ESPI_PACK_NOT;
    struct espi_way *ways = malloc((size_t)n * sizeof *ways);
    int programs = 0, others = 0;
    for (int i = 0; ways && i < n; i++) {
        int64_t count = espi_count_in(d->row, d->args, typed->count, i);
        ways[i] = (struct espi_way){types[i], NULL};
        if (count <= 0)
            continue;
        if (espi_type_is_predefined(types[i])) {
            others += types[i] == MPI_DATATYPE_NULL || !espi_is_no_object((uint32_t)types[i]); /* pairs have gaps */
            continue;
        }
        if (espi_types_goes_on(d->thread_state->stats, types[i], count)) {
            others++;
            continue;
        }
        espi_count(d->thread_state->stats, ESPI_COUNT_calls_examined, 1);
        ways[i] = espi_types_blocks_way(d->thread, types[i], count, whole, use, count, 1);
        programs += ways[i].packed != NULL;
        others += ways[i].packed == NULL;
    }
    *packed = programs > 0 && others == 0;
    return ways;
}

/* Bytes of the block of number i, and of one item. -1: more than there can be. */
static int64_t bytes_of(const struct espi_substitution *d, const struct espi_buffer_args *typed, int i,
                        const struct espi_way *way, int64_t *size)
{
    const int64_t count = espi_count_in(d->row, d->args, typed->count, i);
    MPI_Count asked = 0;
    int64_t bytes;
    *size = way->packed ? way->packed->size : 0;
    if (!way->packed && count > 0 && espi_pmpi.Type_size_x(way->type, &asked) == MPI_SUCCESS)
        *size = asked;
    return __builtin_mul_overflow(count, *size, &bytes) ? -1 : bytes;
}

/* False: some block is not as it should be, or there is no memory. */
static bool pack_blocks(struct espi_substitution *d, const struct espi_buffer_args *typed, int side, int n,
                        const struct espi_way *ways)
{
    int64_t bytes = 0, packed_bytes = 0, longest = 0, one, size;
    int programs = 0;
    bool is_new = false;
    for (int i = 0; i < n; i++) {
        one = bytes_of(d, typed, i, &ways[i], &size);
        if (one < 0 || __builtin_add_overflow(bytes, one, &bytes))
            return false;
        longest = one > longest ? one : longest;
        packed_bytes += ways[i].packed ? one : 0;
        programs += ways[i].packed != NULL;
        is_new = (ways[i].packed && espi_plan_is_new(ways[i].packed)) || is_new;
    }
    struct espi_packed_blocks *packed = espi_collective_new(typed, &d->collective[side], bytes, false);
    for (int i = 0; packed && i < n; i++) {
        bytes_of(d, typed, i, &ways[i], &size);
        espi_packed_blocks_each(packed)[i] =
            (struct espi_packed_block){.pack = ways[i].packed ? ways[i].packed->pack : NULL,
                                       .times = ways[i].packed ? &ways[i].packed->times : NULL,
                                       .size = size,
                                       .type = ((const MPI_Datatype *)d->args[(int)typed->type])[i],
                                       .owner = ways[i].packed};
    }
    if (!packed || !espi_substitute_request(d) ||
        !espi_collective_begin(packed, d->row, typed, &d->collective[side], d->args, d->changed,
                               espi_message_plan_way(ESPI_WAY_BLOCKS, longest), is_new, espi_settings.check)) {
        if (packed)
            espi_packed_blocks_drop(packed);
        return false;
    }
    d->blocks[side] = packed;
    espi_count(d->thread_state->stats, ESPI_COUNT_calls_packed, (uint64_t)programs);
    espi_count(d->thread_state->stats, ESPI_COUNT_bytes_packed, (uint64_t)packed_bytes);
    return true;
}

/* Types that are better than the program's, in an array of their own. */
static void better_types(struct espi_substitution *d, const struct espi_buffer_args *typed, int side, int n,
                         const struct espi_way *ways)
{
    const MPI_Datatype *types = (const MPI_Datatype *)d->args[(int)typed->type];
    MPI_Datatype *copy;
    int changed = 0;
    for (int i = 0; i < n; i++)
        changed += ways[i].type != types[i];
    if (changed == 0 || !(copy = malloc((size_t)n * sizeof *copy)))
        return;
    for (int i = 0; i < n; i++)
        copy[i] = ways[i].type;
    const MPI_Datatype *use = copy;
    if (d->row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT)) {
        /* MPI may read the array until the operation is complete. */
        use = espi_pooled_array(copy, (size_t)n * sizeof *copy);
        free(copy);
        if (!use)
            return;
    } else {
        d->arrays[side] = copy;
    }
    d->changed[(int)typed->type] = (espi_word)use;
    d->substituted += changed;
}

/* Block i goes by a better type, if there is one; if not it was left alone. */
static void not_packed(struct espi_substitution *d, const struct espi_buffer_args *typed, int i,
                       struct espi_way *way, enum espi_counter why)
{
    const MPI_Datatype own = ((const MPI_Datatype *)d->args[(int)typed->type])[i];
    const uint64_t count = (uint64_t)espi_count_in(d->row, d->args, typed->count, i);
    if (way->type == own)
        espi_count(d->thread_state->stats, why, 1);
    else
        espi_count(d->thread_state->stats, ESPI_COUNT_bytes_substituted, count * (uint64_t)way->packed->size);
    espi_plan_release(way->packed);
    way->packed = NULL;
}

void espi_substitute_array(struct espi_substitution *d, const struct espi_buffer_args *typed, int side, bool whole,
                           int n)
{
    bool packed = false;
    struct espi_way *ways;
    if (!d->args[(int)typed->type] || !d->args[(int)typed->count] || n <= 0 ||
        !(ways = ways_of(d, typed, side, whole, n, &packed)))
        return;
    if (!packed || !pack_blocks(d, typed, side, n, ways)) {
        for (int i = 0; i < n; i++)
            if (ways[i].packed)
                not_packed(d, typed, i, &ways[i], packed ? ESPI_COUNT_left_no_buffer : ESPI_COUNT_left_not_better);
        better_types(d, typed, side, n, ways);
    }
    free(ways);
}

void espi_substitute_array_end(struct espi_substitution *d, int result)
{
    for (int side = 0; side < 2; side++) {
        if (!d->blocks[side])
            continue;
        if (result == MPI_SUCCESS)
            espi_packed_blocks_unpack(d->blocks[side]);
        espi_packed_blocks_close(d->blocks[side], espi_plan_release_owner);
        d->blocks[side] = NULL;
    }
}
