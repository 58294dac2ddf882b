/*
 * What the stub (libespalier.so, libc only) and the core (libespalier-core.so) know of each other.
 * No mpi.h here: every argument of every MPI function is an integer or a pointer, so it travels as one machine word
 * (the upper half of a word that holds an int is undefined), and passing it on is right for any MPI.
 */
#ifndef ESPI_WRAPPERS_BRIDGE_H
#define ESPI_WRAPPERS_BRIDGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ESPI_BRIDGE_VERSION 3
#define ESPI_MAX_ARGS 13

typedef intptr_t espi_word;

/* One number per row of api.def, in its order. */
enum espi_fn {
#define ESPI_API(name, args, ...) ESPI_FN_##name,
#include "api.def"
#undef ESPI_API
    ESPI_FN_COUNT
};

/* What a row's function is: flags. */
enum espi_api_kind {
    ESPI_P2P = 1 << 0,
    ESPI_COLLECTIVE = 1 << 1,
    ESPI_NEIGHBOUR = 1 << 2,
    ESPI_RMA = 1 << 3,
    ESPI_LOCAL = 1 << 4,
    ESPI_FILE = 1 << 5,
    ESPI_CONSTRUCTOR = 1 << 6,
    ESPI_QUERY = 1 << 7,
    ESPI_LIFE = 1 << 8,
    ESPI_NONBLOCKING = 1 << 9,
    ESPI_PERSISTENT = 1 << 10,
    ESPI_PARTITIONED = 1 << 11,
    ESPI_REDUCTION = 1 << 12,
    ESPI_OWN = 1 << 13,    /* a rank may have a block for itself in it (onto.h) */
    ESPI_LEAVES = 1 << 14, /* may leave a message that nobody has received yet (pending.h) */
    ESPI_ENDS = 1 << 15    /* ends the life of a handle: its handler is called inside of another call, too */
};

/* Per thread, owned by the stub (initial-exec TLS), lent to the core. */
struct espi_thread {
    uintptr_t frame; /* stack address of the outermost wrapped call; 0 outside of one */
    void *core;      /* the core's own per-thread state, NULL until it makes one */
    _Atomic uint64_t *calls; /* of the core, counts the thread's calls, by enum espi_fn; NULL where `core` is */
};

/* Calls in which the core has nothing to do but count. Where the core says that it is so (struct espi_stub, `plain`),
   the stub sees to them by itself: the core's code and data need not be in the cache then. */
enum espi_plain {
    ESPI_PLAIN = 1 << 0,      /* SUBSTITUTE and COUNT of api.def without derived types, but not of kind ESPI_LEAVES */
    ESPI_PLAIN_TREE = 1 << 1, /* TREE without derived types */
};

/* By MPICH's handle bits, without a look into any table: true for every datatype that the program can not have made
   itself (also MPI_DATATYPE_NULL, and words that are no datatype handle at all). */
static inline bool espi_is_predefined(uint32_t bits)
{
    /* Top two bits 1: built in. 2 and 3: an object, whose kind is in the next four bits (3: a datatype). The first
       five objects are the pair types MPI_FLOAT_INT to MPI_LONG_DOUBLE_INT. */
    return bits >> 31 == 0 || ((bits >> 26) & 0xf) != 3 || bits - 0x8c000000u < 5;
}

/* The function that carries a call out: the next MPI_X (or PMPI_X, when the program called that) in the process. */
typedef void (*espi_next)(void);

/* Carries out the whole call, with `next`; `args` holds as many words as the row says. Its result is the call's.
   `args` stand at `frame` but in a call inside of another (kind ESPI_ENDS), which is not counted. */
typedef espi_word (*espi_handler)(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);

struct espi_core {
    unsigned version; /* ESPI_BRIDGE_VERSION */
    /* ESPI_FN_COUNT entries that never change. NULL: the stub calls `next` itself, inside the guard. */
    const espi_handler *handlers;
};

struct espi_stub {
    unsigned version;
    void *mpi;                                       /* dlopen handle of the MPI library in this process */
    struct espi_thread *(*thread)(void);             /* of the calling thread */
    void (*log)(const char *message);                /* one line to stderr, for what must be said before settings */
    const int *nested; /* not 0 (read with __atomic) once a function of kind ESPI_LEAVES was called inside another
                          one, where the core does not see it */
    atomic_uint *plain; /* flags of enum espi_plain, 0 until the core sets them */
};

/* The core's only export. Returns NULL, having said why once on stderr, when it can not work in this process. The
   stub calls it once per process, before any wrapped call is passed on, and never unloads the core. */
typedef const struct espi_core *(*espi_core_start_fn)(const struct espi_stub *stub);
#define ESPI_CORE_START "espi_core_start"

#endif
