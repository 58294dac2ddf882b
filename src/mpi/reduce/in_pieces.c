/*
 * Very large reductions with gaps, in pieces, so that the buffers stay bounded.
 *
 * All ranks must cut alike, also one that passes count x base type itself and needs no buffer at all. The number of
 * elements is the same on all ranks by the standard's matching rules; so above a limit on their bytes
 * (ESPALIER_REDUCE_PIECE_KB; piece_limit in reduce.c) every rank, whatever it passes, first takes part in one small
 * agreement: does anybody have gaps? If nobody has, the call goes on untouched. This is done only where every rank of
 * the communicator is known to run Espalier, and only by blocking calls.
 *
 * Two pieces are under way at a time: while MPI reduces one, the next is packed and the one before is unpacked. A
 * piece is a range of elements; for a layout with gaps it is a slice of the type tree (layout/slice.c), emitted as a
 * datatype.
 */
#include <stdlib.h>

#include "base/settings.h"
#include "mpi/datatype/decode.h"
#include "mpi/datatype/emit.h"
#include "mpi/core/runtime.h"
#include "mpi/core/pmpi.h"
#include "mpi/reduce/reduce.h"
#include "mpi/comm/world.h"

/* One piece on its way. */
struct piece {
    MPI_Request request;
    MPI_Datatype type;   /* of the slice; MPI_DATATYPE_NULL where there are no gaps */
    char *memory[2];     /* elements in and out, where there is a tree */
    int64_t count;       /* elements; 0: the slot is free */
    int64_t to;          /* element of the output where its result begins */
    bool gets;
};

struct cut {
    const struct espi_large *call;
    struct espi_arena arena;
    const struct espi_node *tree; /* all copies; NULL: the program's own buffers serve */
    int64_t piece;                /* elements of one */
    struct piece slot[2];
};

/* Does anybody have gaps, and is everybody ready? */
static int agree_on_pieces(const struct espi_large *call, bool ready, bool *gaps, bool *all_ready)
{
    int here[2] = {call->gaps, !ready}, any[2] = {0, 0}, rc = MPI_SUCCESS;
    MPI_Comm own = espi_world_private(call->comm, true);
    if (own != MPI_COMM_NULL) {
        rc = espi_pmpi.Allreduce(here, any, 2, MPI_INT, MPI_LOR, own);
        espi_world_private_free(&own);
    }
    *gaps = any[0] != 0;
    *all_ready = any[1] == 0;
    return rc;
}

/* The elements from, from + 1, ... of the program's layout as one datatype. */
static int describe_slice(const struct cut *cut, int64_t from, int64_t count, MPI_Datatype *type)
{
    const struct espi_node *slice;
    struct espi_emitted emitted;
    struct espi_arena arena = ESPI_ARENA_INIT;
    int rc = MPI_ERR_NO_MEM;
    if (!espi_node_slice(&arena, cut->tree, from, from + count, 0, &slice) &&
        !espi_emit(slice, slice->true_lb, slice->true_ub - slice->true_lb, SIZE_MAX, &emitted)) {
        *type = emitted.type;
        rc = MPI_SUCCESS;
    }
    espi_arena_release(&arena);
    return rc;
}

enum way { PACK, UNPACK };

/* Moves elements from, ... between a buffer of the program (which may be MPI_BOTTOM) and contiguous memory. */
static int move_elements(const struct cut *cut, enum way way, const void *buf, int64_t from, int64_t count,
                         char *memory)
{
    const struct espi_large *call = cut->call;
    struct espi_elements view = {.base = call->base, .each = count, .unit = call->unit, .padded = call->padded};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int rc = describe_slice(cut, from, count, &type);
    if (rc)
        return rc;
    rc = way == PACK ? espi_elements_pack(&view, NULL, buf, 1, type, memory)
                     : espi_elements_unpack(&view, NULL, memory, (void *)buf, 1, type);
    espi_pmpi.Type_free(&type);
    return rc;
}

/* Puts elements from, ... of the input on their way; the result goes to `to`, ... of the output. */
static int start_piece(struct cut *cut, struct piece *piece, int64_t from, int64_t to, int64_t count, int root)
{
    const struct espi_large *call = cut->call;
    const void *in = (const char *)call->in + from * call->unit;
    void *out = (char *)call->out + to * call->unit;
    bool to_root = call->fn == ESPI_FN_Reduce || call->blocks;
    int rc;
    piece->to = to;
    piece->gets = to_root ? call->rank == root : call->fn != ESPI_FN_Exscan || call->rank > 0;
    if (cut->tree) {
        if ((rc = move_elements(cut, PACK, call->in, from, count, piece->memory[0])))
            return rc;
        in = piece->memory[0], out = piece->memory[1];
    } else if (call->in_place) {
        in = MPI_IN_PLACE;
    }
    if (to_root)
        rc = espi_pmpi.Ireduce_c(in, out, count, call->base, call->op, root, call->comm, &piece->request);
    else if (call->fn == ESPI_FN_Allreduce)
        rc = espi_pmpi.Iallreduce_c(in, out, count, call->base, call->op, call->comm, &piece->request);
    else if (call->fn == ESPI_FN_Scan)
        rc = espi_pmpi.Iscan_c(in, out, count, call->base, call->op, call->comm, &piece->request);
    else
        rc = espi_pmpi.Iexscan_c(in, out, count, call->base, call->op, call->comm, &piece->request);
    if (!rc)
        piece->count = count; /* there is a request to wait for */
    return rc;
}

static int finish_piece(const struct cut *cut, struct piece *piece)
{
    int rc = MPI_SUCCESS;
    if (piece->count > 0) {
        rc = espi_pmpi.Wait(&piece->request, MPI_STATUS_IGNORE);
        if (!rc && cut->tree && piece->gets)
            rc = move_elements(cut, UNPACK, cut->call->out, piece->to, piece->count, piece->memory[1]);
    }
    piece->count = 0;
    return rc;
}

/* One block of elements in pieces, two at a time. A result never overwrites input that is still to be packed: it goes
   to where the input stood, or (Reduce_scatter in place) before it. */
static int run_block(struct cut *cut, int64_t from, int64_t to, int64_t count, int root)
{
    int rc = MPI_SUCCESS, turn = 0, last;
    for (int64_t done = 0; done < count && !rc; done += cut->piece, turn ^= 1) {
        int64_t n = count - done < cut->piece ? count - done : cut->piece;
        rc = finish_piece(cut, &cut->slot[turn]);
        if (!rc)
            rc = start_piece(cut, &cut->slot[turn], from + done, to + done, n, root);
    }
    for (int i = 0; i < 2; i++)
        if ((last = finish_piece(cut, &cut->slot[turn ^ i])) && !rc)
            rc = last;
    return rc;
}

static int run_pieces(struct cut *cut)
{
    const struct espi_large *call = cut->call;
    int64_t before = 0;
    int rc = MPI_SUCCESS;
    if (!call->blocks)
        return run_block(cut, 0, 0, call->elements, call->root);
    for (int r = 0; r < call->size && !rc; before += call->blocks[r++])
        rc = run_block(cut, before, 0, call->blocks[r], r);
    return rc;
}

/* Memory for two pieces, and the tree of the program's buffer where it is needed: where there are gaps; for the
   scattering calls, whose results do not stand where the input stood; and for Reduce in place, with which MPICH 4.0.2
   crashes at roots other than 0. */
static int prepare_pieces(struct cut *cut)
{
    const struct espi_large *call = cut->call;
    struct espi_decoded decoded;
    int64_t bytes = espi_settings.reduce_piece_kb * 1024 / 4;
    cut->piece = bytes / call->unit > 0 ? bytes / call->unit : 1;
    if (cut->piece > call->elements)
        cut->piece = call->elements;
    if (call->out_of_memory)
        return MPI_ERR_NO_MEM;
    if (!call->gaps && !call->blocks && !(call->in_place && call->fn == ESPI_FN_Reduce))
        return MPI_SUCCESS;
    if (espi_decode(&cut->arena, call->type, 0, &decoded) ||
        espi_node_vec(&cut->arena, call->copies, decoded.extent, decoded.tree, &cut->tree))
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (!(cut->slot[i].memory[k] = calloc((size_t)cut->piece, (size_t)call->unit)))
                return MPI_ERR_NO_MEM;
    return MPI_SUCCESS;
}

static void release_pieces(struct cut *cut)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            free(cut->slot[i].memory[k]);
    espi_arena_release(&cut->arena);
}

bool espi_reduce_in_pieces(const struct espi_large *call, int *rc)
{
    struct cut cut = {.call = call, .arena = ESPI_ARENA_INIT};
    bool pieces = false;
    /* A rank that is short of memory must not leave the others waiting, so it says so before anything is agreed. */
    bool ready = prepare_pieces(&cut) == MPI_SUCCESS, all_ready;
    *rc = agree_on_pieces(call, ready, &pieces, &all_ready);
    pieces = pieces && all_ready;
    if (!*rc && pieces)
        *rc = run_pieces(&cut);
    release_pieces(&cut);
    return pieces || *rc;
}

int espi_reduce_local_in_pieces(const struct espi_large *call)
{
    struct cut cut = {.call = call, .arena = ESPI_ARENA_INIT};
    int rc = prepare_pieces(&cut);
    char **memory = cut.slot[0].memory;
    for (int64_t from = 0, n; from < call->elements && !rc; from += n) {
        n = call->elements - from < cut.piece ? call->elements - from : cut.piece;
        rc = move_elements(&cut, PACK, call->in, from, n, memory[0]);
        if (!rc)
            rc = move_elements(&cut, PACK, call->out, from, n, memory[1]);
        if (!rc)
            rc = espi_pmpi.Reduce_local_c(memory[0], memory[1], n, call->base, call->op);
        if (!rc)
            rc = move_elements(&cut, UNPACK, call->out, from, n, memory[1]);
    }
    release_pieces(&cut);
    return rc;
}
