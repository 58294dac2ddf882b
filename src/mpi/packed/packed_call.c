#include "mpi/packed/packed_call.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "base/overlap.h"
#include "mpi/comm/self_comm.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/status_bytes.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/stream_type.h"
#include "stats/stats.h"

static _Atomic int64_t in_use; /* bytes of buffers */

static bool is_function(const struct espi_api_row *row, enum espi_fn fn, enum espi_fn large)
{
    return row == &espi_api_rows[fn] || row == &espi_api_rows[large];
}

static bool is_pack(const struct espi_api_row *row)
{
    return is_function(row, ESPI_FN_Pack, ESPI_FN_Pack_c);
}

/* A matched receive names no peer. One buffer may be for both ways. */
static bool receives(const struct espi_buffer_args *typed)
{
    return typed->dest < 0 || typed->source >= 0;
}

static bool sends(const struct espi_buffer_args *typed, const espi_word *args)
{
    return typed->dest >= 0 && (int)args[typed->dest] != MPI_PROC_NULL;
}

bool espi_packed_is_message(const struct espi_api_row *row, const struct espi_buffer_args *typed)
{
    return (row->kind & (ESPI_P2P | ESPI_PERSISTENT | ESPI_PARTITIONED)) == ESPI_P2P &&
           typed->shape == ESPI_SHAPE_ONE && !(row->kind & ESPI_BUFFERED) &&
           (typed->dest < 0 || typed->source < 0); /* not one buffer for both ways */
}

enum espi_packable espi_packable(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                                 const espi_word *args)
{
    if (is_pack(row) || is_function(row, ESPI_FN_Unpack, ESPI_FN_Unpack_c))
        return ESPI_PACK_LOCAL;
    if ((row->kind & (ESPI_P2P | ESPI_PARTITIONED)) != ESPI_P2P || typed->shape != ESPI_SHAPE_ONE)
        return ESPI_PACK_NOT;
    if (receives(typed) && args[row->args - 1] == 0) /* the status comes last, or the request */
        return ESPI_PACK_NOT;
    if (!sends(typed, args) &&
        (!receives(typed) || (typed->source >= 0 && (int)args[typed->source] == MPI_PROC_NULL)))
        return ESPI_PACK_NOT;
    if (row->kind & ESPI_BUFFERED)
        return ESPI_PACK_COPIED;
    return typed->dest >= 0 && typed->source >= 0 ? ESPI_PACK_REPLACED : ESPI_PACK_MESSAGE;
}

static int64_t count_of(const struct espi_api_row *row, const espi_word *args, const struct espi_buffer_args *typed)
{
    return row->large ? (int64_t)args[typed->count] : (int64_t)(int)args[typed->count];
}

/* Under ESPALIER_CHECK: what MPI packs is what the stream holds; if not, it holds that from then on. */
static bool packs_as_mpi(const void *data, int64_t count, MPI_Datatype type, void *stream, int64_t bytes)
{
    const MPI_Comm comm = espi_self_comm();
    int at = 0;
    bool same = true;
    void *own;

    if (comm == MPI_COMM_NULL || count > INT_MAX || bytes > INT_MAX || data == NULL) /* MPI_BOTTOM is refused */
        return true;
    if ((own = malloc((size_t)bytes)) == NULL)
        return true;
    memcpy(own, stream, (size_t)bytes); /* MPICH leaves the place of padding within base types alone */
    if (espi_pmpi.Pack(data, (int)count, type, own, (int)bytes, &at, comm) == MPI_SUCCESS) {
        same = at == bytes && memcmp(own, stream, (size_t)bytes) == 0;
        if (!same)
            memcpy(stream, own, (size_t)bytes);
        espi_count_anywhere(same ? ESPI_COUNT_checks_passed : ESPI_COUNT_checks_failed, 1);
    }
    free(own);
    return same;
}

/* The same for what was unpacked: packed again it is the stream. */
static void unpacks_as_mpi(void *data, int64_t count, MPI_Datatype type, const void *stream, int64_t bytes)
{
    void *again = malloc((size_t)bytes);
    int at = 0;

    if (again == NULL)
        return;
    memcpy(again, stream, (size_t)bytes);
    if (!packs_as_mpi(data, count, type, again, bytes) && bytes <= INT_MAX)
        espi_pmpi.Unpack(stream, (int)bytes, &at, data, (int)count, type, espi_self_comm());
    free(again);
}

void espi_packed_check(bool received, void *data, int64_t count, MPI_Datatype type, void *stream, int64_t bytes)
{
    if (received)
        unpacks_as_mpi(data, count, type, stream, bytes);
    else
        packs_as_mpi(data, count, type, stream, bytes);
}

/* Not MPI_Type_dup, which would run the program's attribute callbacks. */
MPI_Datatype espi_packed_type_copy(MPI_Datatype type)
{
    MPI_Datatype copy = MPI_DATATYPE_NULL;

    if (espi_pmpi.Type_contiguous(1, type, &copy) != MPI_SUCCESS)
        return MPI_DATATYPE_NULL;
    if (espi_own_types_is_high(copy) || espi_pmpi.Type_commit(&copy) != MPI_SUCCESS) /* MPICH may pack it wrongly */
        espi_pmpi.Type_free(&copy);
    return copy;
}

void espi_packed_type_back(MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL)
        espi_pmpi.Type_free(type);
}

/* ---- MPI_Pack, MPI_Unpack ---- */

/* Of a call. */
struct local {
    void *data;
    char *stream; /* where it begins or goes on */
    int64_t count, bytes, end;
};

/* False: it is not known to be right. */
static bool read_local(const struct espi_api_row *row, const espi_word *args, const struct espi_pack *pack,
                       struct local *l)
{
    const bool packing = is_pack(row);
    const struct espi_buffer_args *typed = &row->typed[0];
    const int size_at = packing ? 4 : 1;
    const void *position = (const void *)args[packing ? 5 : 2];
    const int64_t size = row->large ? (int64_t)args[size_at] : (int64_t)(int)args[size_at];

    l->data = (void *)args[typed->buffer];
    l->stream = (char *)args[packing ? 3 : 0];
    l->count = count_of(row, args, typed);
    if (l->data == NULL || l->stream == NULL || position == NULL ||
        __builtin_mul_overflow(espi_pack_size(pack), l->count, &l->bytes))
        return false;
    const int64_t at = row->large ? (int64_t)*(const MPI_Count *)position : *(const int *)position;
    if (at < 0 || l->bytes > size || at > size - l->bytes)
        return false;
    l->stream += at;
    l->end = at + l->bytes;
    return true;
}

bool espi_packed_local_is_good(const struct espi_api_row *row, const espi_word *args, const struct espi_pack *pack)
{
    struct local l;

    return read_local(row, args, pack, &l);
}

bool espi_packed_local(const struct espi_api_row *row, const espi_word *args, const struct espi_pack *pack,
                       struct espi_packed_times *times, bool check)
{
    const bool packing = is_pack(row);
    void *position = (void *)args[packing ? 5 : 2];
    struct local l;

    if (!read_local(row, args, pack, &l))
        return false;
    espi_packed_move(times, !packing, pack, l.data, l.count, l.stream);
    if (check)
        espi_packed_check(!packing, l.data, l.count, (MPI_Datatype)args[row->typed[0].type], l.stream, l.bytes);
    if (row->large)
        *(MPI_Count *)position = l.end;
    else
        *(int *)position = (int)l.end;
    return true;
}

/* ---- messages ---- */

void *espi_packed_buffer(int64_t bytes)
{
    const int64_t most = espi_settings.pack_mb << 20;
    void *stream;

    if (espi_add_64(&in_use, bytes) + bytes <= most && (stream = espi_pool_get((size_t)bytes)) != NULL)
        return stream;
    espi_add_64(&in_use, -bytes);
    return NULL;
}

void espi_packed_buffer_back(void *stream, int64_t bytes)
{
    espi_pool_put(stream);
    espi_add_64(&in_use, -bytes);
}

void espi_packed_sent(struct espi_packed_side *side)
{
    if (side->sent_as != MPI_DATATYPE_NULL)
        espi_stream_type_back(side->sent_as, side->bytes, side->split ? ESPI_STREAM_SPLIT : ESPI_STREAM_IN_ROW);
    side->sent_as = MPI_DATATYPE_NULL;
}

/* Bytes of the buffer. */
static int64_t room_of(const struct espi_packed_side *side)
{
    return side->bytes + side->split;
}

void espi_packed_close(struct espi_packed_side *side)
{
    espi_packed_sent(side);
    if (!side->stands)
        espi_packed_buffer_back(side->stream, room_of(side));
    side->pack = NULL;
}

/* Whether a program that counted with its own type has attached enough. */
static bool fits_buffer(const espi_word *args, const struct espi_buffer_args *typed, int64_t count, int comm,
                        int64_t bytes)
{
    MPI_Count room = 0;

    return espi_pmpi.Pack_size_c(count, (MPI_Datatype)args[typed->type], (MPI_Comm)args[comm], &room) ==
               MPI_SUCCESS && bytes <= room;
}

static inline __attribute__((always_inline)) void pack_side(const struct espi_packed_side *side, void *data,
                                                            int64_t count, MPI_Datatype type)
{
    if (side->stands)
        return;
    espi_packed_move(side->times, false, side->pack, data, count, side->stream);
    if (type != MPI_DATATYPE_NULL)
        espi_packed_check(false, data, count, type, side->stream, side->bytes);
    if (side->split)
        espi_stream_split(side->stream, side->bytes);
}

/* What MPI is to send or receive. */
static void hand_over(const struct espi_packed_side *side, const struct espi_buffer_args *typed, void *stream,
                      espi_word *changed)
{
    changed[typed->buffer] = (espi_word)stream;
    changed[typed->count] = side->sent_as != MPI_DATATYPE_NULL ? 1 : (espi_word)side->bytes;
    changed[typed->type] = (espi_word)(side->sent_as != MPI_DATATYPE_NULL ? side->sent_as : MPI_PACKED);
}

bool espi_packed_begin(struct espi_packed_call *call, int which, const struct espi_api_row *row,
                       const espi_word *args, espi_word *changed, const struct espi_pack *pack,
                       struct espi_packed_times *times, enum espi_message_way way, bool check)
{
    const struct espi_buffer_args *typed = &row->typed[which];
    struct espi_packed_side *side = &call->side[which];
    const int64_t count = count_of(row, args, typed), bytes = espi_pack_size(pack) * count; /* fits an int */
    void *data = (void *)args[typed->buffer];
    int64_t at;

    if ((row->kind & ESPI_BUFFERED) && !fits_buffer(args, typed, count, row->comm, bytes))
        return false;
    side->bytes = bytes;
    side->receives = receives(typed);
    side->stands = count == 1 && espi_pack_is_run(pack, &at);
    side->sent_as = MPI_DATATYPE_NULL;
    if (way == ESPI_WAY_CELLS && !side->receives && !(row->kind & ESPI_BUFFERED))
        side->sent_as = espi_stream_type_take(bytes, side->stands ? ESPI_STREAM_IN_ROW : ESPI_STREAM_SPLIT);
    side->split = side->sent_as != MPI_DATATYPE_NULL && !side->stands;
    if (side->stands) {
        side->stream = (void *)((uintptr_t)data + (uintptr_t)at);
    } else if ((side->stream = espi_packed_buffer(room_of(side))) == NULL) {
        espi_packed_sent(side);
        return false;
    }
    side->pack = pack;
    side->times = times;
    if (sends(typed, args) && !(row->kind & ESPI_PERSISTENT))
        pack_side(side, data, count, check ? (MPI_Datatype)args[typed->type] : MPI_DATATYPE_NULL);
    if (side->receives && !(row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT)) &&
        (MPI_Status *)changed[row->args - 1] == MPI_STATUS_IGNORE)
        changed[row->args - 1] = (espi_word)&call->status;
    hand_over(side, typed, side->stream, changed);
    return true;
}

void espi_packed_pack(const struct espi_packed_side *side, void *data, int64_t count, MPI_Datatype type)
{
    pack_side(side, data, count, type);
}

void espi_packed_unpack(const struct espi_packed_side *side, void *data, int64_t count, MPI_Datatype type,
                        const MPI_Status *status)
{
    if (side->stands)
        return;
    const int64_t bytes = espi_status_bytes(status);

    espi_packed_received(side->times, side->pack, side->stream, bytes, side->bytes, data, count);
    if (type != MPI_DATATYPE_NULL && bytes >= side->bytes)
        espi_packed_check(true, data, count, type, side->stream, side->bytes);
}

void espi_packed_end(struct espi_packed_call *call, const struct espi_api_row *row, const espi_word *args,
                     const espi_word *changed, int result, bool check)
{
    for (int i = 0; i < 2; i++) {
        struct espi_packed_side *side = &call->side[i];
        const struct espi_buffer_args *typed = &row->typed[i];
        if (side->pack == NULL)
            continue;
        if (side->receives && result == MPI_SUCCESS)
            espi_packed_unpack(side, (void *)args[typed->buffer], count_of(row, args, typed),
                               check ? (MPI_Datatype)args[typed->type] : MPI_DATATYPE_NULL,
                               (const MPI_Status *)changed[row->args - 1]);
        espi_packed_close(side);
    }
}
