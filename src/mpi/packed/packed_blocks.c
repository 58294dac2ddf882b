#include "mpi/packed/packed_blocks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/packed/packed_call.h"

struct espi_packed_blocks {
    struct espi_packed_block *blocks;
    const MPI_Datatype *types; /* of the program */
    char *data;                /* of the program */
    int n;
    bool receives, wide; /* wide: the program's displacements have eight bytes */
    const void *places;  /* the program's displacements */
    char *stream;
    int64_t bytes;
    void *arrays; /* counts, displacements and types that MPI sees */
};

bool espi_packed_blocks_possible(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                                 const espi_word *args)
{
    for (const struct espi_buffer_args *any = row->typed; any->shape != ESPI_SHAPE_NONE; any++)
        if ((void *)args[any->buffer] == MPI_IN_PLACE) /* then what is received is sent, too */
            return false;
    return typed->shape == ESPI_SHAPE_W && row->kind & (ESPI_COLLECTIVE | ESPI_NEIGHBOUR) &&
           !(row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT)) && args[typed->buffer] != 0 &&
           args[typed->count + 1] != 0;
}

static char *place(const struct espi_packed_blocks *side, int i)
{
    return side->data + (side->wide ? ((const int64_t *)side->places)[i] : ((const int *)side->places)[i]);
}

/* Runs over all blocks: packs or unpacks each. */
static void move_all(const struct espi_packed_blocks *side, bool check)
{
    char *at = side->stream;

    for (int i = 0; i < side->n; i++) {
        const struct espi_packed_block *b = &side->blocks[i];
        const int64_t bytes = b->count * b->size;
        char *data = place(side, i);
        if (bytes > 0 && b->pack == NULL)
            memcpy(side->receives ? data : at, side->receives ? at : data, (size_t)bytes);
        else if (bytes > 0 && side->receives)
            espi_unpack_run(b->pack, at, data, b->count);
        else if (bytes > 0)
            espi_pack_run(b->pack, data, b->count, at);
        if (check && bytes > 0)
            espi_packed_check(side->receives, data, b->count, side->types[i], at, bytes);
        at += bytes;
    }
}

/* What MPI sees: bytes, one block behind the other. False: no memory. */
static bool make_arrays(struct espi_packed_blocks *side, const struct espi_api_row *row,
                        const struct espi_buffer_args *typed, espi_word *changed)
{
    const size_t n = (size_t)side->n, count_size = row->large ? sizeof(MPI_Count) : sizeof(int),
                 place_size = side->wide ? sizeof(MPI_Aint) : sizeof(int);
    char *memory = malloc(n * (sizeof(MPI_Count) + sizeof(MPI_Aint) + sizeof(MPI_Datatype)) + 1);
    char *places = memory + n * sizeof(MPI_Count);
    MPI_Datatype *types = (MPI_Datatype *)(places + n * sizeof(MPI_Aint));
    int64_t at = 0;

    if (memory == NULL)
        return false;
    for (int i = 0; i < side->n; i++) {
        const int64_t bytes = side->blocks[i].count * side->blocks[i].size;
        const int few = (int)bytes, near = (int)at;
        memcpy(memory + (size_t)i * count_size, row->large ? (const void *)&bytes : &few, count_size);
        memcpy(places + (size_t)i * place_size, side->wide ? (const void *)&at : &near, place_size);
        types[i] = MPI_PACKED;
        at += bytes;
    }
    side->arrays = memory;
    changed[typed->buffer] = (espi_word)side->stream;
    changed[typed->count] = (espi_word)memory;
    changed[typed->count + 1] = (espi_word)places;
    changed[typed->type] = (espi_word)types;
    return true;
}

struct espi_packed_blocks *espi_packed_blocks_begin(const struct espi_api_row *row,
                                                    const struct espi_buffer_args *typed, bool receives,
                                                    const espi_word *args, espi_word *changed,
                                                    struct espi_packed_block *blocks, int n, bool check)
{
    struct espi_packed_blocks *side = malloc(sizeof *side);
    int64_t bytes = 0, one;

    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(blocks[i].count, blocks[i].size, &one) || (bytes += one) > INT_MAX || one < 0)
            goto failed;
    if (side == NULL)
        return NULL;
    *side = (struct espi_packed_blocks){.blocks = blocks,
                                        .types = (const MPI_Datatype *)args[typed->type],
                                        .data = (char *)args[typed->buffer],
                                        .n = n,
                                        .receives = receives,
                                        .wide = row->large || row->kind & ESPI_NEIGHBOUR,
                                        .places = (const void *)args[typed->count + 1],
                                        .bytes = bytes};
    if ((side->stream = espi_packed_buffer(bytes)) == NULL)
        goto failed;
    if (!make_arrays(side, row, typed, changed)) {
        espi_packed_buffer_back(side->stream, bytes);
        goto failed;
    }
    if (!receives)
        move_all(side, check);
    return side;
failed:
    free(side);
    return NULL;
}

void espi_packed_blocks_end(struct espi_packed_blocks *side, int result, bool check, void (*release)(void *owner))
{
    if (side->receives && result == MPI_SUCCESS)
        move_all(side, check);
    espi_packed_buffer_back(side->stream, side->bytes);
    for (int i = 0; i < side->n; i++)
        if (side->blocks[i].owner != NULL)
            release(side->blocks[i].owner);
    free(side->arrays);
    free(side->blocks);
    free(side);
}
