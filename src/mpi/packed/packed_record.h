/*
 * Records of messages and collective calls that are under way: what is to be unpacked, into which memory, and the
 * buffer that stands for it. The program gets MPI's own request; its record is found by that handle, in one table.
 *
 * Whoever looks at a record holds it, over the MPI call that tells of the request. A record is let go by the call
 * that ends it, and its memory by the last one that holds it.
 *
 * A handle may be another thread's request as soon as MPI has ended the one that had it, before that is noticed here.
 * So a call that may end the request claims its record, which nobody finds then, and puts it back if the request is
 * still there. A persistent request ends with MPI_Request_free alone, and its record is found until then.
 *
 * Nothing is locked over an MPI call, as error handlers may leave one for good. What such a call has claimed is lost,
 * and its buffers stay in use (MPI may still write there): no more than ESPALIER_PACK_MB in all.
 */
#ifndef ESPI_MPI_PACKED_PACKED_RECORD_H
#define ESPI_MPI_PACKED_PACKED_RECORD_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "mpi/packed/packed_blocks.h"
#include "mpi/packed/packed_call.h"
#include "stats/stats.h"

/* Records that are there: as long as it is 0 nothing is to be done where requests are started or completed. */
extern atomic_int espi_packed_requests;

/* One side of a message: `count` items at `data`, of the program. Without a pack program (side.pack is NULL) the
   library sees to it, and only its end is to be seen. */
struct espi_packed_message {
    struct espi_packed_side side;
    unsigned batch; /* that it belongs to (message_ways.h); 0: none */
    void *data;
    int64_t count;
    MPI_Datatype type; /* espi_packed_type_copy, to compare with (ESPALIER_CHECK); or MPI_DATATYPE_NULL */
    void *owner;       /* of the pack program; let go by `release` */
};

/* Lets go what it has; it has joined its batch, or none. */
void espi_packed_message_close(struct espi_packed_message *message, void (*release)(void *owner));

/* What a start of a persistent message adds to the statistics of its type, beside items and bytes. */
struct espi_packed_start_use {
    struct espi_stats_type *record;
    enum espi_stats_saved where;
    uint64_t saved_ps;
};

struct espi_packed_request {
    pthread_mutex_t lock; /* of what is said to be guarded by it; held while data are packed and unpacked */
    MPI_Request handle;
    bool persistent;
    struct espi_packed_start_use start_use;
    struct espi_packed_message message;
    struct espi_packed_blocks *blocks[2]; /* of a collective call, in the place of a message */
    void (*release)(void *owner);
    /* Guarded by `lock`: */
    atomic_uint cycle; /* of a persistent request: starts. Read without the lock, too */
    bool active;       /* started, and not known to be complete */
    bool unpacked;     /* in this cycle */
    bool ended;        /* buffer and owner are gone */
    /* The rest belongs to packed_record.c: */
    int holds;
    bool listed;
    struct espi_packed_request *next;
};

/* Memory for one, before the call is made; NULL when it is short. */
struct espi_packed_request *espi_packed_request_new(void);
/* NULL is allowed. */
void espi_packed_request_drop(struct espi_packed_request *request);

/* After its other fields were filled: it is found by its handle from now on. */
void espi_packed_record_enter(struct espi_packed_request *record);

/* The record of this handle, held until it is let go; NULL: there is none. `cycle`: the one that it is in. */
struct espi_packed_request *espi_packed_record_hold(MPI_Request handle, unsigned *cycle);
void espi_packed_record_let_go(struct espi_packed_request *record);

/* The same, claimed until it is given back or ended: nobody else finds it. That of a persistent request is claimed
   with `persistent` only, else held; the same is said when it is given back. */
struct espi_packed_request *espi_packed_record_claim(MPI_Request handle, bool persistent, unsigned *cycle);
void espi_packed_record_back(struct espi_packed_request *record, bool persistent);
/* The request of a record that is claimed is ended: lets buffer and owner go. */
void espi_packed_record_end(struct espi_packed_request *record);

static inline bool espi_packed_record_is_collective(const struct espi_packed_request *record)
{
    return record->blocks[0] != NULL || record->blocks[1] != NULL;
}

/* Whether there is something to be unpacked when it is complete. */
bool espi_packed_record_receives(const struct espi_packed_request *record);

/* A persistent request is inactive after that cycle. */
void espi_packed_record_inactive(struct espi_packed_request *record, unsigned cycle);
/* Whether it may be active. */
bool espi_packed_record_is_active(struct espi_packed_request *record);

/* MPI gave this status for a request that is complete: unpacks what was received in that cycle, unless that was done.
   `status` is of no meaning where no message is received. */
void espi_packed_record_finish(struct espi_packed_request *record, unsigned cycle, const MPI_Status *status);

/* MPI goes on with a message whose request is freed; so must we: keeps a record that is claimed, and its request,
   until espi_packed_record_sweep finds the message complete. A message that is there already is unpacked at once:
   natively nothing is written any more from here on. */
void espi_packed_record_keep(struct espi_packed_request *record);
/* Looks after the messages that are kept: all that are received, and some of those that are sent. */
void espi_packed_record_sweep(void);

/* While MPI still works: lets all go that nobody will ask for any more. */
void espi_packed_requests_stop(void);

#endif
