/*
 * The program's derived types and what is known of them: what dispatch.c and init.c call.
 * Every handle given here is a datatype handle by its bits and not a predefined one; it may still be garbage, freed or
 * not committed, and is then left alone. All functions are thread-safe (MPI_THREAD_MULTIPLE).
 */
#ifndef ESPI_MPI_TYPES_H
#define ESPI_MPI_TYPES_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "base/status.h"
#include "bridge.h"
#include "stats/stats.h"

/* By MPICH's handle bits, without a look into any table: true for every type that the program can not have made
   itself (also MPI_DATATYPE_NULL, and words that are no datatype handle at all). */
static inline bool espi_type_is_predefined(MPI_Datatype type)
{
    uint32_t bits = (uint32_t)type;
    /* Top two bits 1: built in. 2 and 3: an object, whose kind is in the next four bits (3: a datatype). The first
       five objects are the pair types MPI_FLOAT_INT to MPI_LONG_DOUBLE_INT. */
    return bits >> 31 == 0 || ((bits >> 26) & 0xf) != 3 || bits - 0x8c000000u < 5;
}

/* After MPI is initialized, once; again after espi_types_stop when MPI lives on in a session. */
espi_status espi_types_start(const struct espi_settings *settings);
/* While MPI still works: frees every substitute. Afterwards espi_types_better gives back what it is given. */
void espi_types_stop(void);

/* The type to hand to MPI in the place of `type` for one use of `count` elements (> 0; over all ranks for an array of
   counts; 1 where it is not known). `whole`: a local pack or unpack, which MPI does in one go; messages go in parts, and
   another type may be best there. Gives back `type` itself when nothing better is known. */
MPI_Datatype espi_types_better(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole);

/* Whether the type is known to be valid and committed. */
bool espi_types_known(struct espi_thread *thread, MPI_Datatype type);

/* How often a type is used; the beginning of its state. Written without locked instructions: threads that share a type
   may lose a few. */
struct espi_type_uses {
    _Atomic uint64_t uses, items;
};
extern atomic_uint espi_types_epoch; /* raised when a type ends */

/* The short way for a type that was planned and is best as it is: true when that is so, with the use counted; false says
   nothing. It spares such calls what a substitution needs to know. */
static inline bool espi_types_settled(struct espi_thread *thread, MPI_Datatype type, int64_t count)
{
    if (!thread->cached_settled || thread->cached_handle != (espi_word)type || count < 0 ||
        thread->cached_epoch != atomic_load_explicit(&espi_types_epoch, memory_order_acquire))
        return false;
    struct espi_type_uses *uses = (struct espi_type_uses *)thread->cached_better;
    espi_bump(&uses->uses, 1);
    espi_bump(&uses->items, (uint64_t)count);
    return true;
}

/* After the call returned MPI_SUCCESS. */
void espi_types_committed(struct espi_thread *thread, MPI_Datatype type);
void espi_types_duped(struct espi_thread *thread, MPI_Datatype old_type, MPI_Datatype new_type);
/* Before MPI_Type_free: without attributes (MPI_THREAD_MULTIPLE) this ends what is known of the handle, which another
   thread may get for a new type as soon as MPI has freed it. */
void espi_types_ending(struct espi_thread *thread, MPI_Datatype type);
/* `type` is the handle that was valid before; what hangs on it ended in the attribute's delete callback. */
void espi_types_freed(struct espi_thread *thread, MPI_Datatype type);

#endif
