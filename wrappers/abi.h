/*
 * What the stub (libespalier.so, libc only) and the core (libespalier-core.so) know of each other.
 * No mpi.h here: every argument of every MPI function is an integer or a pointer, so it travels as one machine word
 * (the upper half of a word that holds an int is undefined), and passing it on is right for any MPI.
 */
#ifndef ESPI_WRAPPERS_ABI_H
#define ESPI_WRAPPERS_ABI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ESPI_ABI_VERSION 18
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
    ESPI_OWN = 1 << 13,    /* a rank may have a block for itself in it (self_copy.h) */
    ESPI_LEAVES = 1 << 14, /* may leave a message that nobody has received yet (self_sends.h) */
    ESPI_INNER = 1 << 15,  /* of the life of a handle: its handler is called inside of another call, too */
    ESPI_JOINT = 1 << 16,  /* what the core does with it must not differ between ranks, see entry_slow.c */
    ESPI_BUFFERED = 1 << 17 /* MPI copies the data into the buffer that the program has attached */
};

/* Per thread, owned by the stub (initial-exec TLS), lent to the core. */
struct espi_thread {
    uintptr_t frame; /* stack address of the outermost wrapped call; 0 outside of one */
    void *core;      /* the core's own per-thread state, NULL until it makes one */
    _Atomic uint64_t *calls; /* of the core, counts the thread's calls, by enum espi_fn; NULL where `core` is */
    bool inner;              /* the call is one inside of another, kind ESPI_INNER */
};

/* Calls in which the core has nothing to do but count, or not even that. Where the core says that it is so (struct
   espi_hot, `plain`), the stub sees to them by itself: the core's code and data need not be in the cache then. */
enum espi_plain {
    /* MPI calls do not overlap (no MPI_THREAD_MULTIPLE), so that counts may stand in one place for all threads: */
    ESPI_PLAIN = 1 << 0,       /* SUBSTITUTE without derived types or on credit; without derived types COUNT, and
                                  REDUCE of no more than `reduce_most` elements */
    ESPI_PLAIN_TREE = 1 << 1,  /* TREE without derived types or on credit */
    ESPI_PLAIN_TYPES = 1 << 2, /* COUNT with derived types, MAKE, commits, and MPI_Type_free */
    /* They may overlap, and are counted by thread; not for kind ESPI_LEAVES: */
    ESPI_PLAIN_THREADS = 1 << 3,      /* SUBSTITUTE and COUNT without derived types */
    ESPI_PLAIN_TREE_THREADS = 1 << 4, /* TREE without derived types */
    /* Either way: */
    ESPI_PLAIN_REQUESTS = 1 << 5, /* the calls that complete requests: none is the core's */
    /* As TREE; not where ranks share memory for these calls. */
    ESPI_PLAIN_EXCHANGE = 1 << 6,
    ESPI_PLAIN_EXCHANGE_THREADS = 1 << 7
};

enum { ESPI_PAIR_TYPES = 5 };

/* By MPICH's handle bits, without a look into any table: true for every datatype that the program can not have made
   itself (also MPI_DATATYPE_NULL, and words that are no datatype handle at all). */
static inline bool espi_is_predefined(uint32_t bits)
{
    /* Top two bits 1: built in. 2 and 3: an object, whose kind is in the next four bits (3: a datatype). The first
       five objects are the pair types MPI_FLOAT_INT to MPI_LONG_DOUBLE_INT. */
    return (bits & 0xbc000000u) != 0x8c000000u || bits - 0x8c000000u < ESPI_PAIR_TYPES;
}

/* MPICH's MPI_IN_PLACE (src/mpi/comm/comm_cache.c compares). */
#define ESPI_IN_PLACE ((espi_word)-1)

/* By MPICH's handle bits, too: true for every operation that the program may have made; MPI's own are built in. */
static inline bool espi_is_programs_operation(uint32_t bits)
{
    return bits >> 31 != 0;
}

/* The function that carries a call out: the next MPI_X (or PMPI_X, when the program called that) in the process. */
typedef void (*espi_next)(void);

/* Carries out the whole call, with `next`; `args` holds as many words as the row says. Its result is the call's.
   A call inside of another (kind ESPI_INNER) is not counted; `inner` tells the handler, which takes it back. */
typedef espi_word (*espi_handler)(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);

struct espi_core {
    unsigned version; /* ESPI_ABI_VERSION */
    /* ESPI_FN_COUNT entries that never change. NULL: the stub calls `next` itself, inside the guard. */
    const espi_handler *handlers;
};

/*
 * The credit of a datatype handle, one byte: how many uses the core need not see. Beside a hint of how the type was
 * made it is all that the stub knows of a type.
 *   0                   not known: not yet committed, or freed, or committed where the core did not see it
 *   1 + g, below 128    committed; g uses of at most 126 items go straight on
 *   128 + 1 + g         freed, and the core has not seen it; also while another type of this handle is not committed
 * The core writes it when a type is committed, and again whenever it sees a use. The stub counts it down, and adds
 * the 128 when the type is freed.
 *
 * Where types are made again and again, and none of the last ones was worth a look, the core lets a number of them
 * pass unseen (`unseen` of struct espi_hot): nothing is noted of their constructors, and from its commit on such a
 * type has ESPI_HINT_UNSEEN for a hint and all credit there is. The core begins to know it with the first use that it
 * sees.
 */
enum {
    ESPI_HINT_UNSEEN = 2, /* other hints are odd, or 0 */
    ESPI_HINT_KEPT = 4,   /* of the handle of a type that was freed, and is kept: see below */
    ESPI_CREDIT_ENDED = 128,
    ESPI_CREDIT_LEFT = 127, /* mask: 1 + uses that are left */
    ESPI_CREDIT_MOST = 126,
    /* Of MPICH's direct types (8, in two lines of the cache) and its 65,536 first indirect ones; others have none. */
    ESPI_CREDITS_DIRECT = 64,
    ESPI_CREDITS_INDIRECT = 64 * 4096,
    ESPI_CREDITS = ESPI_CREDITS_DIRECT + ESPI_CREDITS_INDIRECT,
    ESPI_CREDITS_EACH = 256, /* whose facts fill a page */
    ESPI_PENDING_BITS = 13,
    ESPI_COMMS = 16
};

/*
 * A type that the program frees is not always given back to MPI: where types are made in the same way again and
 * again, the core keeps some, and gives one to the program when it makes an equal one (kept_types.h). That is what
 * the stub asks in constructors while there are any, and before it frees a type.
 */
enum {
    ESPI_NO_DATATYPE = 0x0c000000, /* MPICH's MPI_DATATYPE_NULL (kept_types.c compares) */
    ESPI_KEPT_MOST = 96,     /* at a time */
    ESPI_KEPT_NUMBER = 127,  /* mask: 1 + the number of a type that is or was kept; 0: it was not, */
    ESPI_KEPT_NEVER = 127,   /* and is not to be; */
    ESPI_KEPT_WANTED = 126,  /* it is to be, as often as it was made */
    ESPI_KEPT_GIVEN = 128,   /* the program has it again, and has not committed it yet; MPI takes it for committed */
    ESPI_KEPT_PLACES = 2048, /* so that few of them share one */
    ESPI_KEPT_COUNTS = 256,
    ESPI_KEPT_WORDS = 3
};
enum espi_kept_state {
    ESPI_KEPT_GONE, /* there is none of this number */
    ESPI_KEPT_LIVE, /* the program has it */
    ESPI_KEPT_FREED /* it has freed it, and may have it again */
};
/* By number. Written where calls do not overlap: by the core, and by the stub (kept.h). */
struct espi_kept_type {
    _Alignas(64) uint64_t key[ESPI_KEPT_WORDS]; /* of the call that made it last, if that has one */
    uint64_t hint, used;    /* by kept_uses */
    uint32_t type, saved_ns; /* a life that MPI need not see to, about */
    uint16_t fn;            /* that made it last, if that has a key; ESPI_FN_COUNT: none */
    unsigned char state, misses; /* enum espi_kept_state; types of its hint that were another one, since one was it */
    bool committed;         /* in an earlier life, so that MPI takes it for that */
    bool never;             /* LIVE, and not to be kept */
    unsigned char next;     /* 1 + the next one of the core's bucket */
};
_Static_assert(sizeof(struct espi_kept_type) == 64, "a line of the cache");

/* Indirect handles from this number on say that the program has many types (src/mpi/datatype/own_types.h). */
enum { ESPI_CROWDED = 448 };
static inline bool espi_is_crowded(uint32_t bits)
{
    return bits >> 30 == 3 && bits - 0xcc000000u >= ESPI_CROWDED;
}

/* What the stub knows of blocks of a type that a rank gives itself (api.def: ESPI_OWN): flags. */
enum espi_own {
    ESPI_OWN_WATCHED = 1, /* the core is to see them */
    ESPI_OWN_SETTLED = 2  /* but it has decided on them, and leaves calls with other ranks as they are */
};

/* Of an intracommunicator that the core has looked at lately. */
struct espi_known_comm {
    _Atomic uint64_t rank;     /* its handle in the upper half, this process's rank in the lower one; 0: none */
    atomic_int peers, out, in; /* ranks, and neighbours of its topology */
};

/* Whether the handle is no datatype object by its bits; objects are derived, or pair types. */
static inline bool espi_is_no_object(uint32_t bits)
{
    return ((bits - 0x8c000000u) & 0xbc000000u) != 0;
}

/* The bit of a direct type; 0 for others. */
static inline uint64_t espi_direct_bit(uint32_t bits)
{
    const uint32_t object = bits - 0x8c000000u;
    return object < ESPI_CREDITS_DIRECT ? UINT64_C(1) << object : 0;
}

/* The index of the credit of a handle; ESPI_CREDITS: it has none, and is perhaps no object at all. Types that are
   made and freed one by one are direct, so those are asked for first. */
static inline uint32_t espi_credit_at(uint32_t bits)
{
    uint32_t object = bits - 0x8c000000u;
    if (object < ESPI_CREDITS_DIRECT)
        return object;
    object -= 1u << 30; /* indirect: block of 1024 in bits 12 to 25 */
    return object < ESPI_CREDITS_INDIRECT ? ESPI_CREDITS_DIRECT + object : ESPI_CREDITS;
}

/* Rows that programs call most; two by two in one line of the cache. */
#define ESPI_POPULAR_ROWS(ROW)                                                                                       \
    ROW(Type_commit, 1)                                                                                              \
    ROW(Type_free, 1)                                                                                                \
    ROW(Send, 6)                                                                                                     \
    ROW(Recv, 7)                                                                                                     \
    ROW(Isend, 7)                                                                                                    \
    ROW(Irecv, 7)                                                                                                    \
    ROW(Wait, 2)                                                                                                     \
    ROW(Waitall, 3)                                                                                                  \
    ROW(Sendrecv, 12)                                                                                                \
    ROW(Test, 3)                                                                                                     \
    ROW(Pack, 7)                                                                                                     \
    ROW(Testall, 4)                                                                                                  \
    ROW(Bcast, 5)                                                                                                    \
    ROW(Pack_size, 4)                                                                                                \
    ROW(Reduce, 7)                                                                                                   \
    ROW(Allreduce, 6)                                                                                                \
    ROW(Unpack, 7)
enum espi_popular {
#define ESPI_POPULAR_ROW(name, args) ESPI_POPULAR_##name,
    ESPI_POPULAR_ROWS(ESPI_POPULAR_ROW)
#undef ESPI_POPULAR_ROW
    ESPI_POPULAR_COUNT
};

struct espi_entry {
    _Alignas(32) _Atomic(espi_next) next; /* where calls go on to, NULL before the first */
    _Atomic uint64_t calls;               /* made by way of the stub alone */
    /* Not for PMPI_X: where plain calls go on to without a mark that the thread is inside of a call. NULL: they do
       not; the flags of struct espi_hot ask for more, or calls to PMPI_X may follow that are not the program's own:
       of another tool, which comes next; of MPI itself, for the requests of files. */
    _Atomic(espi_next) fast_next;
    _Atomic(espi_next) passthrough; /* where all calls go on to, as there is no core; NULL otherwise */
};

/* Of the datatype of a handle, at espi_credit_at. */
struct espi_handle_facts {
    _Atomic uint64_t hint; /* how it was made, type_hint.h; 0: not known */
    _Atomic uint32_t more; /* items of uses on credit, beside one for each */
    atomic_uchar credit;   /* see above */
    atomic_uchar own;      /* enum espi_own */
    unsigned char kept;    /* where calls do not overlap: ESPI_KEPT_NUMBER and flags */
    atomic_uchar shared;   /* references that the program has beside its own: to be freed, too */
};
_Static_assert(sizeof(struct espi_handle_facts) * ESPI_CREDITS_EACH == 4096, "facts fill pages");

/* What calls read and write, in few lines of the cache, most of it in one page: owned by the stub, and shared with
   the core. Counts are those of the flags without overlapping calls. */
struct espi_hot {
    _Alignas(4096) struct espi_entry popular[ESPI_POPULAR_COUNT]; /* MPI_X of these rows: see espi_entry_of */
    /* Of the core, or a table of nothing where calls pass through; NULL before the first call. */
    _Alignas(64) _Atomic(const espi_handler *) handlers;
    atomic_uint plain;       /* flags of enum espi_plain, 0 until the core sets them */
    atomic_int nested;       /* not 0 once a function of kind ESPI_LEAVES was called inside another one, where the
                                core does not see it */
    _Atomic uint64_t reduce_most; /* elements */
    _Atomic uint64_t on_credit;   /* uses */
    _Atomic uint64_t frees;       /* of types that the core knows or lets pass, where it did not see the call */
    _Atomic uint64_t commits;     /* of types that it lets pass */
    atomic_int unseen;            /* types that may still be committed unseen */
    _Atomic uint64_t passed;      /* COUNT with derived types */
    /* After MPI_Type_commit returned without error. */
    void (*_Atomic committed)(struct espi_thread *thread, uint32_t type);
    atomic_int kept, kept_given; /* types that are ESPI_KEPT_FREED; and ESPI_KEPT_GIVEN */
    /* Types freed where it is asked whether to keep them; of kept ones those that came again, and what that saved. */
    _Atomic uint64_t kept_uses, kept_again, kept_saved;
    _Atomic uint64_t kept_full; /* no room for one more until there were so many uses */
    _Atomic uint64_t direct; /* handles of direct types that are in use, or kept, as far as was seen: bits */
    /* Of a handle with a hint, before MPI_Type_free; may call MPI. Whether all is done, also the program's handle set
       to MPI_DATATYPE_NULL. NULL: no type is to be kept. */
    bool (*_Atomic freed)(uint32_t *type);
    /* The arguments of a constructor, and their hint. Returns a kept type that was made by equal ones, which is the
       program's from now on, and not committed as far as it knows; 0: there is none. May call MPI. */
    uint32_t (*_Atomic made_again)(enum espi_fn fn, const espi_word *args, uint64_t hint);
    /* A constructor has returned a handle from ESPI_CROWDED on; `inside` of another call. NULL: that is known. */
    void (*_Atomic crowded)(bool inside);
    _Alignas(64) struct espi_known_comm comms[ESPI_COMMS]; /* at espi_comm_at; not where calls overlap */
    _Alignas(64) struct espi_handle_facts types[ESPI_CREDITS]; /* of a program's first types in this page, too */
    struct espi_kept_type kept_types[ESPI_KEPT_MOST];
    unsigned char kept_places[ESPI_KEPT_PLACES]; /* 1 + number, at espi_kept_place; 0: none */
    uint64_t kept_counts[ESPI_KEPT_COUNTS];      /* espi_kept_is_often */
    atomic_bool committed_in[ESPI_CREDITS / ESPI_CREDITS_EACH + 1]; /* elsewhere all credit is 0 */
    struct espi_entry entries[2][ESPI_FN_COUNT]; /* [0] for MPI_X, [1] for PMPI_X */
    atomic_uchar pending[1 << ESPI_PENDING_BITS]; /* see self_sends.h */
};

/* MPI_Type_get_contents has given one more reference of a type. (Of more than 255 the last ones end it too early:
   what is known of it.) */
static inline void espi_share(struct espi_handle_facts *facts)
{
    unsigned char shared = atomic_load_explicit(&facts->shared, memory_order_relaxed);
    while (shared < UINT8_MAX && !atomic_compare_exchange_weak(&facts->shared, &shared, (unsigned char)(shared + 1)))
        ;
}

/* Whether what is freed is such a reference, so that the type lives on. */
static inline bool espi_unshare(struct espi_handle_facts *facts)
{
    unsigned char shared = atomic_load_explicit(&facts->shared, memory_order_relaxed);
    while (shared > 0 && !atomic_compare_exchange_weak(&facts->shared, &shared, (unsigned char)(shared - 1)))
        ;
    return shared > 0;
}

/* Without a locked instruction: one writer at a time. */
static inline void espi_hot_add(_Atomic uint64_t *value, uint64_t n)
{
    atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + n, memory_order_relaxed);
}

/* `fn` is mostly a constant, and so is the place then. */
static inline struct espi_entry *espi_entry_of(struct espi_hot *hot, bool profiling, enum espi_fn fn)
{
    if (!profiling)
        switch (fn) {
#define ESPI_POPULAR_ROW(name, args)                                                                                 \
    case ESPI_FN_##name:                                                                                             \
        return &hot->popular[ESPI_POPULAR_##name];
            ESPI_POPULAR_ROWS(ESPI_POPULAR_ROW)
#undef ESPI_POPULAR_ROW
        default:
            break;
        }
    return &hot->entries[profiling][fn];
}

/* Before the credit of this handle is not 0. */
static inline void espi_commits_at(struct espi_hot *hot, uint32_t at)
{
    atomic_store_explicit(&hot->committed_in[at / ESPI_CREDITS_EACH], true, memory_order_relaxed);
}

/* A type that is committed is to pass unseen. */
static inline void espi_passes_unseen_at(struct espi_hot *hot, uint32_t at)
{
    espi_commits_at(hot, at);
    atomic_store_explicit(&hot->types[at].hint, ESPI_HINT_UNSEEN, memory_order_relaxed);
    atomic_store_explicit(&hot->types[at].credit, 1 + ESPI_CREDIT_MOST, memory_order_relaxed);
}

/* Few pages for few communicators and ranks. Predefined communicators, MPICH's eight direct ones and the others stand
   apart. Ranks that share a place are no power of two apart, as neighbours in grids often are. */
static inline uint32_t espi_self_sends_at(uint32_t comm, int rank)
{
    return ((comm + (comm >> 30) * 8) * 97 + (uint32_t)rank) % (1u << ESPI_PENDING_BITS);
}

/* Predefined communicators and the program's first ones are numbered apart. */
static inline uint32_t espi_comm_at(uint32_t comm)
{
    return (comm + (comm >> 30)) % ESPI_COMMS;
}

struct espi_stub {
    unsigned version;
    void *mpi;                                       /* dlopen handle of the MPI library in this process */
    struct espi_thread *(*thread)(void);             /* of the calling thread */
    void (*log)(const char *message);                /* one line to stderr, for what must be said before settings */
    /* Whether no other tool stands between the stub and the MPI library for this function. */
    bool (*is_last)(enum espi_fn fn);
    void (*refresh)(void);                           /* to be called when `plain` of struct espi_hot has changed */
    struct espi_hot *hot;
};

/* The core's only export. Returns NULL, having said why once on stderr, when it can not work in this process. The
   stub calls it once per process, before any wrapped call is passed on, and never unloads the core. */
typedef const struct espi_core *(*espi_core_start_fn)(const struct espi_stub *stub);
#define ESPI_CORE_START "espi_core_start"

#endif
