/*
 * Calls in which a pack program (src/pack) moves the data: MPI_Pack and MPI_Unpack, which it carries out, and
 * messages, which it packs into a buffer of ours or unpacks from one. Such a message travels as MPI_PACKED: the same
 * bytes, which match any signature, so that the other side may or may not do alike.
 */
#ifndef ESPI_MPI_PACKED_PACKED_CALL_H
#define ESPI_MPI_PACKED_PACKED_CALL_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/core/api_table.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/packed_times.h"
#include "pack/pack.h"

/* Calls in which a pack program may do the work: MPI_Pack and MPI_Unpack; messages, by way of a buffer. In collective
   calls, sides whose blocks the library sends or receives as they are: blocks for all, where the other side has gaps,
   too, or only this one, or one block; a side that it packs itself, into a buffer of its own, at once or later
   (nonblocking); and one that it copies to where it is received. Messages that the library copies besides count as
   those do. EACH: as blocks for all, but long ones may go cell by cell (stream_type.h). REPLACED: as one block, of
   MPI_Sendrecv_replace.
   Where that makes a difference, RECEIVED: a message that is not sent; KEPT: one whose request is to be kept;
   ONE_SIDED: as NOT, in a call that is. REDUCED, REDUCED_NOT: as LOCAL and as NOT, in a reduction, where nothing is
   saved, as it is an error without us. EXCHANGED: in a call without the library (exchange.h); SOON: of so many bytes
   that its type is to be planned at once. */
enum espi_packable { ESPI_PACK_LOCAL, ESPI_PACK_MESSAGE, ESPI_PACKABLES, ESPI_PACK_BLOCKS = ESPI_PACKABLES,
                     ESPI_PACK_HALF, ESPI_PACK_BLOCK, ESPI_PACK_STAGED, ESPI_PACK_SCHEDULED, ESPI_PACK_COPIED,
                     ESPI_PACK_EACH, ESPI_PACK_EACH_HALF, ESPI_PACK_REPLACED, ESPI_PACK_RECEIVED, ESPI_PACK_KEPT_SENT,
                     ESPI_PACK_KEPT_RECEIVED, ESPI_PACK_STARTED_SENT, ESPI_PACK_STARTED_RECEIVED,
                     ESPI_PACK_PAIRED_SENT, ESPI_PACK_PAIRED_RECEIVED, ESPI_PACK_ONE_SIDED, ESPI_PACK_REDUCED,
                     ESPI_PACK_REDUCED_NOT, ESPI_PACK_EXCHANGED, ESPI_PACK_EXCHANGED_SOON, ESPI_PACK_NOT = -1 };

static inline bool espi_packs_blocks(enum espi_packable use)
{
    return use == ESPI_PACK_BLOCKS || use == ESPI_PACK_HALF || use == ESPI_PACK_BLOCK || use == ESPI_PACK_EACH ||
           use == ESPI_PACK_EACH_HALF || use == ESPI_PACK_REPLACED;
}

/* Bytes may meet a side that goes by its type (see espi_plan_is_cut): also of what the library packs as a whole, as
   it sends that from a root other than rank 0 of the node to this one as it is, first. */
static inline bool espi_packs_across(enum espi_packable use)
{
    return use == ESPI_PACK_MESSAGE || use == ESPI_PACK_STAGED || use == ESPI_PACK_SCHEDULED ||
           espi_packs_blocks(use);
}

/* What a use is where that makes none. */
static inline enum espi_packable espi_packs_as(enum espi_packable use)
{
    if (use < ESPI_PACK_RECEIVED)
        return use;
    if (use == ESPI_PACK_REDUCED)
        return ESPI_PACK_LOCAL;
    return use == ESPI_PACK_ONE_SIDED || use == ESPI_PACK_REDUCED_NOT ? ESPI_PACK_NOT : ESPI_PACK_MESSAGE;
}

static inline bool espi_packs_reduced(enum espi_packable use)
{
    return use == ESPI_PACK_REDUCED || use == ESPI_PACK_REDUCED_NOT;
}

/* Of a persistent message. */
static inline bool espi_packs_started(enum espi_packable use)
{
    return use == ESPI_PACK_STARTED_SENT || use == ESPI_PACK_STARTED_RECEIVED;
}

static inline bool espi_packs_kept(enum espi_packable use)
{
    return use == ESPI_PACK_KEPT_SENT || use == ESPI_PACK_KEPT_RECEIVED;
}

/* The one of the first two by whose times a use is counted. */
static inline enum espi_packable espi_packs_like(enum espi_packable use)
{
    return use < ESPI_PACKABLES ? use : espi_packs_blocks(use) ? ESPI_PACK_MESSAGE : ESPI_PACK_LOCAL;
}

/* What may be done with one side of a call, by its function and its peer. */
enum espi_packable espi_packable(const struct espi_api_row *row, const struct espi_buffer_args *typed,
                                 const espi_word *args);

/* Whether calls of this function send or receive a message that may be packed, of this buffer, and do so at once: not
   persistent, nor copied by the library besides. */
bool espi_packed_is_message(const struct espi_api_row *row, const struct espi_buffer_args *typed);

/* Of such a side: as what it is used, exactly. */
static inline enum espi_packable espi_packed_message_use(const struct espi_api_row *row,
                                                         const struct espi_buffer_args *typed)
{
    const bool sent = typed->dest >= 0;

    if (row->kind & ESPI_PERSISTENT)
        return sent ? ESPI_PACK_STARTED_SENT : ESPI_PACK_STARTED_RECEIVED;
    if (row->kind & ESPI_NONBLOCKING)
        return sent ? ESPI_PACK_KEPT_SENT : ESPI_PACK_KEPT_RECEIVED;
    if (row->typed[1].shape != ESPI_SHAPE_NONE)
        return sent ? ESPI_PACK_PAIRED_SENT : ESPI_PACK_PAIRED_RECEIVED;
    return sent ? ESPI_PACK_MESSAGE : ESPI_PACK_RECEIVED;
}

/* One side of a call that is under way. */
struct espi_packed_side {
    const struct espi_pack *pack; /* NULL: the library sees to this side */
    struct espi_packed_times *times; /* of the program; may be NULL */
    void *stream; /* of the buffer pool, or: */
    int64_t bytes;
    bool receives;
    bool stands; /* one run of bytes: the stream is the program's memory, and nothing is packed or unpacked */
    bool split;  /* the stream's last byte stands one place further, for `sent_as` (espi_stream_split) */
    MPI_Datatype sent_as; /* until the call returns: of stream_type.h; MPI_DATATYPE_NULL: bytes of MPI_PACKED */
};
static inline bool espi_packed_receives(const struct espi_packed_side *side)
{
    return side->receives;
}
/* Packs what is to be sent. `type`: to compare with what MPI does (ESPALIER_CHECK), or MPI_DATATYPE_NULL. */
void espi_packed_pack(const struct espi_packed_side *side, void *data, int64_t count, MPI_Datatype type);
/* After a message was received with this status, which may be a shorter one: unpacks it. `type`: as above. */
void espi_packed_unpack(const struct espi_packed_side *side, void *data, int64_t count, MPI_Datatype type,
                        const MPI_Status *status);
/* After the call that sends, or has made the request for it: gives back what only that needed. */
void espi_packed_sent(struct espi_packed_side *side);
/* The same, and gives the buffer back. */
void espi_packed_close(struct espi_packed_side *side);

/* A buffer of so many bytes, for data on their way; NULL: no memory, or too much is in use (ESPALIER_PACK_MB). */
void *espi_packed_buffer(int64_t bytes);
void espi_packed_buffer_back(void *stream, int64_t bytes);
/* Under ESPALIER_CHECK, after packing, or unpacking: compares with what MPI does; where it differs, MPI's holds. */
void espi_packed_check(bool received, void *data, int64_t count, MPI_Datatype type, void *stream, int64_t bytes);
/* A type of the same layout for that, which lives when the program has freed its own; MPI_DATATYPE_NULL where there
   is none to be had, so that nothing is compared. */
MPI_Datatype espi_packed_type_copy(MPI_Datatype type);
/* Frees it; MPI_DATATYPE_NULL is allowed. */
void espi_packed_type_back(MPI_Datatype *type);

struct espi_packed_call {
    struct espi_packed_side side[2];
    MPI_Status status; /* where the program wants none */
};

/* Carries out MPI_Pack or MPI_Unpack. False: it is not known to be right, and nothing was done. `check`, here and
   below: what was done is compared with what MPI would have done (ESPALIER_CHECK). `times`, the same: of the program,
   or NULL. */
bool espi_packed_local(const struct espi_api_row *row, const espi_word *args, const struct espi_pack *pack,
                       struct espi_packed_times *times, bool check);

/* Whether it would. */
bool espi_packed_local_is_good(const struct espi_api_row *row, const espi_word *args, const struct espi_pack *pack);

/* Gets a buffer for this side of a message, unless it is a run of bytes that stands, packs what is sent (but for a
   persistent request, see packed_persistent.h), and writes into `changed` what MPI is to do. `way`: of one of several
   parts; not typed. False: no memory, or the program's buffer for MPI_Bsend need not have room for that; nothing was
   changed. */
bool espi_packed_begin(struct espi_packed_call *call, int side, const struct espi_api_row *row,
                       const espi_word *args, espi_word *changed, const struct espi_pack *pack,
                       struct espi_packed_times *times, enum espi_message_way way, bool check);
/* After a blocking call, with the arguments that it was made with: unpacks what was received. */
void espi_packed_end(struct espi_packed_call *call, const struct espi_api_row *row, const espi_word *args,
                     const espi_word *changed, int result, bool check);

#endif
