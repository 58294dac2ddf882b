/*
 * Predefined operations on derived datatypes (MPI Forum ticket 34): MPI_SUM and its kin applied to the elements of a
 * type whose signature is one base type. Such calls are erroneous MPI; without Espalier they fail.
 *
 * Every handled call becomes the same call with elements and their base type, on every rank and in the same place,
 * so a rank that passes count x base type itself meets one that passes a derived type of equal signature. A dense
 * layout is passed as it stands; one with gaps is packed before and unpacked after. What a call does depends on its
 * own arguments alone, but for one thing: very large blocking calls agree on a way with bounded memory
 * (in_pieces.c).
 */
#ifndef ESPI_MPI_REDUCE_REDUCE_H
#define ESPI_MPI_REDUCE_REDUCE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "abi.h"
#include "mpi/datatype/element_view.h"
#include "mpi/typeplan/plan_cache.h"

/* ---- staging.c: from the program's layout to a contiguous buffer of elements, and back ---- */

/* `copies` copies of `type` at `buf` to or from copies * each elements at `elements`, by its pack program where that
   is given (not for a base type with padding). Returns an MPI error code. */
int espi_elements_pack(const struct espi_elements *view, const struct espi_pack *pack, const void *buf,
                       MPI_Count copies, MPI_Datatype type, void *elements);
int espi_elements_unpack(const struct espi_elements *view, const struct espi_pack *pack, const void *elements,
                         void *buf, MPI_Count copies, MPI_Datatype type);

/* ---- reduce.c ---- */

/* What a reduction is, whatever its form (blocking, nonblocking, persistent, _c). */
enum espi_reduction { ESPI_RED_REDUCE, ESPI_RED_ALL, ESPI_RED_EXSCAN, ESPI_RED_BLOCK, ESPI_RED_SCATTER,
                      ESPI_RED_LOCAL };

/* Handlers (abi.h): all reductions; MPI_Start, Startall; the calls that complete persistent requests. */
espi_word espi_reduce_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);
/* Whether MPI has carried a call out: what was returned says so; no, as this rank had no memory before MPI saw it,
   say, so that no other rank has learnt of it; yes, whatever has failed afterwards. */
enum espi_reduced { ESPI_REDUCED_AS_RETURNED, ESPI_REDUCED_NOT, ESPI_REDUCED };
/* The same as espi_reduce_call, and tells that. */
espi_word espi_reduce_told(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                           enum espi_reduced *done);
/* Elements of a result, one of `blocks` equal ones, that are below the limit of large calls whatever their type. */
int64_t espi_reduce_never_large(int blocks);

/* A reduction with gaps on its way: the program's side, and the contiguous buffers that take its place. */
struct espi_staged {
    struct espi_elements view;
    MPI_Datatype type;      /* the program's, or our own reference on it */
    struct espi_plan *plan; /* whose pack program moves the elements: our reference on it; NULL: MPI moves them */
    bool gives, gets;       /* whether this rank has an input and an output */
    const void *in;         /* the program's buffers; either may be MPI_BOTTOM */
    void *out;
    MPI_Count in_copies, out_copies;
    bool in_place;
    void *elements_in, *elements_out; /* of MPI's call; equal when in place */
};

/* Allocates the buffers; false when memory is short. Nothing is packed yet. */
bool espi_staged_allocate(struct espi_staged *staged);
int espi_staged_pack(struct espi_staged *staged);
int espi_staged_pack_output(struct espi_staged *staged); /* where that is input, too */
int espi_staged_unpack(struct espi_staged *staged);
void espi_staged_release(struct espi_staged *staged); /* all that it holds but `type` */

/* ---- in_pieces.c: very large blocking reductions ---- */

struct espi_large {
    enum espi_fn fn; /* the blocking int form: Reduce, Allreduce, Scan, Exscan, Reduce_scatter(_block) */
    MPI_Comm comm;
    MPI_Op op;
    int root, rank, size;
    MPI_Datatype base, type; /* the program's type; equal to base where that is what it passes */
    int64_t unit;            /* extent of base in bytes */
    int64_t elements;        /* that this rank gives; the same number on all ranks */
    MPI_Count copies;        /* of type, that hold these elements */
    const int64_t *blocks;   /* Reduce_scatter(_block): elements of each rank's result, in order; else NULL */
    const void *in;          /* the receive buffer when in place */
    void *out;
    bool in_place, gaps;
    bool padded;             /* base has padding */
    bool out_of_memory;      /* this rank can not do it in pieces */
};

/*
 * True when the call was carried out here, with *rc as its result: all ranks agreed to do it in pieces. False: it is
 * to be made as it stands. To be called by all ranks of a covered communicator (world.h) alike, that is for more than
 * ESPALIER_REDUCE_PIECE_KB of elements.
 */
bool espi_reduce_in_pieces(const struct espi_large *call, int *rc);
/* Reduce_local of a layout with gaps, always in pieces. Returns an MPI error code. */
int espi_reduce_local_in_pieces(const struct espi_large *call);

/* ---- nonblocking.c: nonblocking reductions with gaps ---- */

/* Before MPI's call: what one on this type needs besides its buffers. NULL: it is not to be had. */
struct espi_later *espi_reduce_later_new(MPI_Datatype type);
/* MPI's call failed. */
void espi_reduce_later_drop(struct espi_later *later);
/* After it: takes over `staged` and *request, that of MPI's call; *request becomes the request that the program waits
   for. Unpacking happens when it completes. */
void espi_reduce_later_begin(struct espi_later *later, const struct espi_staged *staged, MPI_Request *request);
/* Requests of both kinds, nonblocking and persistent, that completion calls have to look for. */
extern atomic_int espi_reduce_requests;
/* One more; the stub does not complete requests by itself from now on. */
void espi_reduce_request_made(void);
/* Frees what requests that are gone have left behind. Not inside of MPI. */
void espi_reduce_later_sweep(void);
/* Makes progress with this request, if it is one of a nonblocking reduction with gaps. */
void espi_reduce_later_advance(MPI_Request request);
/* Whether it is one of these; *inner is MPI's own request then. */
bool espi_reduce_later_inner(MPI_Request request, MPI_Request *inner);

/* ---- persistent.c: persistent reductions with gaps ---- */

/* Takes over `staged`; *request is MPI's and the program's. On an error both are gone. */
int espi_reduce_persist(struct espi_staged *staged, MPI_Request *request);
espi_word espi_reduce_start(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);
espi_word espi_reduce_complete(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);
/* MPI_Cancel, which MPI refuses for a reduction. */
espi_word espi_reduce_cancel(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);

#endif
