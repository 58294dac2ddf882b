#include "mpi/typeplan/kept_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "constructors.h"
#include "mpi/comm/world.h"
#include "mpi/core/pmpi.h"
#include "mpi/datatype/contents.h"
#include "mpi/datatype/own_types.h"
#include "mpi/typeplan/unseen.h"
#include "stats/stats.h"

/* Entries at a time; bytes of the arguments of one and of all; and the handles that may be kept. */
enum { KEPT_MOST = 96, ONE_MOST = 4 << 20, BYTES_MOST = 16 << 20, LOW_HANDLES = 256 };
enum { NEVER = 255 }; /* in the place of a number: the type is not to be kept */
enum { BUCKETS = 128, FREED = 1 << 10 };
/* MPICH has three types at hand for a program. When they are not enough it makes room for 1,024, which takes some
   200 us. So as long as the program gets along with three, no more are kept than leave it those that it needs, unless
   so many that were made again could have been kept that they would have saved as much. */
enum { AT_HAND = 3, WORTH = 1200 };
static const uint64_t direct_types = ((1 << AT_HAND) - 1) << ESPI_PAIR_TYPES;
/* Times that types were freed or made again: whose last one is longer ago makes room for another. */
enum { STALE = 1024, AGAIN = 32 };
/* So many times in a row one is kept in the place of another one of its hint, which is not made any more. After that
   none takes its place until it has not come for STALE times. */
enum { MISSES_MOST = 4 };

enum state {
    GONE, /* the entry is free */
    LIVE, /* the program has it */
    KEPT  /* it has freed it */
};

static struct entry {
    uint64_t hint;
    MPI_Datatype type;
    unsigned char state, next; /* next: 1 + the next one that is kept, of the bucket */
    bool committed;            /* in an earlier life, so that MPI takes it for that */
    bool given;                /* LIVE and committed, but not by the program since it has it */
    bool never;                /* LIVE, and not to be kept */
    unsigned char misses;      /* types of its hint that were another one, since one was it */
    uint32_t serial;           /* with the number: the value of its attribute */
    uint64_t used;
    size_t size; /* of the contents */
    struct espi_contents made;
} entries[KEPT_MOST] ESPI_TABLE;
static struct entry *end = entries; /* none was used from here on */

static unsigned char buckets[BUCKETS]; /* 1 + number */
static _Alignas(2048) uint16_t freed_before[FREED] ESPI_TABLE; /* hints of types that were freed */
static bool any_freed; /* there are some */
static size_t bytes_in_all;
static uint64_t uses;        /* types freed or made again */
static bool wide;            /* MPICH has made room for more types than it has at hand */
static int few = AT_HAND, in_use; /* entries that there may be if not; and that there are */
static int lacking;          /* types that were not kept for that */
static int key = MPI_KEYVAL_INVALID;

/* Types freed or made again, and what the latter saved: of all times, those of longer ago at half and less. */
enum { LATELY_MOST = 1024 };
static struct lately {
    unsigned uses;
    uint64_t saved_ns;
} lately;

static unsigned char *bucket_of(uint64_t hint)
{
    return &buckets[(hint >> 8) % BUCKETS];
}

/* 1 + number; 0: none; or NEVER. */
static unsigned char *kept_at(uint32_t at)
{
    return &espi_hot->types[at].kept;
}

static unsigned char number_of(const struct entry *e)
{
    return (unsigned char)(1 + (e - entries));
}

static struct entry *entry_of(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);
    const unsigned char kept = at < ESPI_CREDITS ? *kept_at(at) : 0;

    return kept != 0 && kept != NEVER ? &entries[kept - 1] : NULL;
}

static void count_kept(int n)
{
    atomic_store_explicit(&espi_hot->kept, atomic_load_explicit(&espi_hot->kept, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* In the order of entries: of equal types the program gets the same one first, in whatever order it frees them, and a
   struct of them is made from the same handles again. */
static void put_into_bucket(struct entry *e)
{
    unsigned char *at = bucket_of(e->hint);

    while (*at != 0 && *at < number_of(e))
        at = &entries[*at - 1].next;
    e->next = *at;
    *at = number_of(e);
    count_kept(1);
}

static void take_out_of_bucket(struct entry *e)
{
    unsigned char *at = bucket_of(e->hint);

    while (*at != number_of(e))
        at = &entries[*at - 1].next;
    *at = e->next;
    count_kept(-1);
}

/* Nothing is known of it any more; the type is as it was. */
static void forget(struct entry *e)
{
    if (e->state == KEPT) {
        take_out_of_bucket(e);
        atomic_store_explicit(&espi_hot->types[espi_credit_at((uint32_t)e->type)].hint, 0, memory_order_relaxed);
    }
    *kept_at(espi_credit_at((uint32_t)e->type)) = 0;
    bytes_in_all -= e->size;
    free(e->made.bytes);
    *e = (struct entry){.state = GONE, .serial = e->serial + 1};
    in_use--;
}

static void give_to_mpi(struct entry *e)
{
    MPI_Datatype type = e->type;
    const uint64_t direct = atomic_load_explicit(&espi_hot->direct, memory_order_relaxed);

    forget(e);
    atomic_store_explicit(&espi_hot->direct, direct & ~espi_direct_bit((uint32_t)type), memory_order_relaxed);
    espi_pmpi.Type_free(&type);
}

/* ---- the attribute ---- */

static void *attribute_of(const struct entry *e)
{
    return (void *)((uintptr_t)e->serial << 8 | number_of(e));
}

/* The type is no more. */
static int is_gone(MPI_Datatype type, int keyval, void *value, void *extra)
{
    struct entry *e = &entries[((uintptr_t)value & 0xff) - 1];

    (void)keyval, (void)extra;
    if (e->state != GONE && attribute_of(e) == value) {
        forget(e);
        atomic_store_explicit(&espi_hot->types[espi_credit_at((uint32_t)type)].hint, 0, memory_order_relaxed);
    }
    return MPI_SUCCESS;
}

static bool tie(struct entry *e)
{
    if (key == MPI_KEYVAL_INVALID &&
        espi_pmpi.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, is_gone, &key, NULL) != MPI_SUCCESS)
        return false;
    return espi_pmpi.Type_set_attr(e->type, key, attribute_of(e)) == MPI_SUCCESS;
}

/* ---- keeping ---- */

static void count_use(void)
{
    uses++;
    if (++lately.uses == LATELY_MOST)
        lately = (struct lately){LATELY_MOST / 2, lately.saved_ns / 2};
}

/* Types of this hint were freed before. */
static bool is_freed_again(uint64_t hint)
{
    uint16_t *at = &freed_before[(hint >> 8) % FREED], tag = (uint16_t)(hint >> 32) | 1;
    const bool before = *at == tag;

    *at = tag;
    any_freed = true;
    return before;
}

/* One that is kept, while types of its hint are others now: made from another type, or different in what the hint
   says nothing of. NULL: there is none. */
static struct entry *missed(uint64_t hint)
{
    for (unsigned char i = *bucket_of(hint); i != 0; i = entries[i - 1].next)
        if (entries[i - 1].hint == hint && entries[i - 1].misses > 0)
            return &entries[i - 1];
    return NULL;
}

/* An entry that is free, perhaps instead of one that has not come again for long; NULL: there is none. */
static struct entry *room(void)
{
    static uint64_t none_before; /* no entry is stale until then */
    struct entry *oldest = NULL, *free = NULL;

    if (in_use == KEPT_MOST && uses < none_before)
        return NULL;
    for (struct entry *e = entries; e < end; e++)
        if (e->state == GONE)
            free = e;
        else if (!e->given && (oldest == NULL || e->used < oldest->used))
            oldest = e;
    if (in_use < (wide ? KEPT_MOST : few))
        return free != NULL ? free : end++;
    if (oldest != NULL && uses - oldest->used >= STALE) {
        free = oldest;
        if (oldest->state == KEPT)
            give_to_mpi(oldest);
        else
            forget(oldest);
        return free;
    }
    if (oldest != NULL) /* and perhaps later; the look costs as much as some types */
        none_before = oldest->used + STALE < uses + AGAIN ? uses + AGAIN : oldest->used + STALE;
    if (!wide) { /* each counts, and must be seen for it */
        espi_types_pay();
        if (++lacking == WORTH) {
            wide = true;
            lately = (struct lately){0};
        }
    }
    return NULL;
}

/* The program is about to have one more type. If that would be too many for MPICH's first ones, and one of those is
   kept, it is given back. */
static void leave_room(void)
{
    struct entry *oldest = NULL;

    if (wide || (~atomic_load_explicit(&espi_hot->direct, memory_order_relaxed) & direct_types) != 0)
        return;
    for (struct entry *e = entries; e < end; e++)
        if (e->state == KEPT && (oldest == NULL || e->used < oldest->used))
            oldest = e;
    if (oldest == NULL)
        return;
    give_to_mpi(oldest);
    few = in_use;
}

/* Whether the types that it is made from can come again as they are: else it never will. */
static bool may_come_again(const struct espi_contents *c)
{
    const MPI_Datatype *types = espi_contents_types(c);

    for (MPI_Count i = 0; i < c->types; i++)
        if (!espi_is_predefined((uint32_t)types[i]) && entry_of(types[i]) == NULL)
            return false;
    return true;
}

/* Takes it from the program, as MPI_Type_free does. */
static bool keep(struct entry *e, uint32_t *type)
{
    const uint32_t at = espi_credit_at(*type);
    const unsigned char credit = atomic_load_explicit(&espi_hot->types[at].credit, memory_order_relaxed);

    if (credit > 0 && credit < ESPI_CREDIT_ENDED) {
        e->committed = true;
        atomic_store_explicit(&espi_hot->types[at].credit, (unsigned char)(credit + ESPI_CREDIT_ENDED),
                              memory_order_relaxed);
        atomic_store_explicit(&espi_hot->frees, atomic_load_explicit(&espi_hot->frees, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&espi_hot->types[at].hint, ESPI_HINT_KEPT, memory_order_relaxed);
    e->state = KEPT;
    e->given = false;
    e->used = uses;
    put_into_bucket(e);
    *type = (uint32_t)MPI_DATATYPE_NULL;
    return true;
}

static size_t most_bytes(void)
{
    return bytes_in_all > BYTES_MOST - ONE_MOST ? BYTES_MOST - bytes_in_all : ONE_MOST;
}

/* One that is kept already is freed where the program has a second reference to it. */
static bool freed(uint32_t *type)
{
    const MPI_Datatype handle = (MPI_Datatype)*type;
    const uint32_t at = espi_credit_at(*type);
    const uint64_t hint = atomic_load_explicit(&espi_hot->types[at].hint, memory_order_relaxed);
    struct entry *e = entry_of(handle), *other;
    struct espi_contents made;
    unsigned char misses = 0;

    count_use();
    wide = wide || espi_handle_number(handle) >= 0;
    if (e != NULL && e->state == LIVE && e->hint == hint && !e->never)
        return keep(e, type);
    const bool is_never = *kept_at(at) == NEVER || (e != NULL && (e->state == KEPT || e->never));
    if (*kept_at(at) == NEVER)
        *kept_at(at) = 0;
    else if (e != NULL && e->never)
        forget(e);
    if (is_never || hint % 2 == 0 || !is_freed_again(hint) || espi_handle_number(handle) >= LOW_HANDLES)
        return false;
    if ((other = missed(hint)) != NULL) {
        const bool stale = uses - other->used >= STALE;
        if (other->misses > MISSES_MOST && !stale)
            return false;
        misses = stale ? 0 : other->misses;
        give_to_mpi(other);
    }
    if (e != NULL)
        forget(e); /* it is not what it was */
    if ((e = room()) == NULL || !espi_contents_ask(handle, most_bytes(), &made))
        return false;
    if (!may_come_again(&made)) {
        free(made.bytes);
        return false;
    }
    *e = (struct entry){.hint = hint, .type = handle, .state = LIVE, .misses = misses, .serial = e->serial,
                        .size = espi_contents_size(&made), .made = made};
    in_use++;
    bytes_in_all += e->size;
    *kept_at(at) = number_of(e);
    if (tie(e))
        return keep(e, type);
    forget(e);
    return false;
}

/* ---- giving back to the program ---- */

/* What MPICH takes for such a type, less what we take: by rows of bench/layouts, whose types are made anew for each
   use or not at all, on an EPYC and a Xeon. It makes a subarray of other types, one for each dimension, looks at each
   type of a struct, and takes longer for lists with lengths. */
static uint64_t saved_ns(const struct espi_contents *c)
{
    enum { EACH = 150, DIMENSIONS = 50, LENGTHS = 3, PLACES = 2, TYPE = 6 };
    const uint64_t numbers = (uint64_t)(c->ints + c->addrs + c->counts);
    const bool lengths = c->combiner == MPI_COMBINER_INDEXED || c->combiner == MPI_COMBINER_HINDEXED ||
                         c->combiner == MPI_COMBINER_STRUCT;

    if (c->combiner == MPI_COMBINER_SUBARRAY)
        return EACH + DIMENSIONS * numbers;
    return EACH + (lengths ? LENGTHS : PLACES) * numbers + TYPE * (uint64_t)c->types;
}

/* What it takes to look at a type that is freed, or made again, about. */
enum { LOOK_NS = 50 };

static uint32_t made_again(enum espi_fn fn, const espi_word *args, uint64_t hint)
{
    for (unsigned char i = *bucket_of(hint); i != 0; i = entries[i - 1].next) {
        struct entry *e = &entries[i - 1];
        if (e->hint != hint)
            continue;
        if (!espi_contents_are_of(&e->made, fn, args)) {
            e->misses = (unsigned char)(e->misses + (e->misses <= MISSES_MOST));
            continue;
        }
        take_out_of_bucket(e);
        e->misses = 0;
        e->state = LIVE;
        e->given = e->committed;
        count_use();
        e->used = uses;
        const uint64_t saved = saved_ns(&e->made);
        lately.saved_ns += saved;
        if (lately.saved_ns >= (uint64_t)LOOK_NS * lately.uses) /* else it is less than looks at all that end cost */
            espi_types_pay();
        espi_count_anywhere(ESPI_COUNT_types_again, 1);
        espi_count_anywhere(ESPI_COUNT_again_saved, saved);
        return (uint32_t)e->type;
    }
    leave_room();
    return 0;
}

bool espi_kept_commits(MPI_Datatype type)
{
    struct entry *e = entry_of(type);
    const bool given = e != NULL && e->given;

    if (given)
        e->given = false;
    return given;
}

bool espi_kept_is_uncommitted(MPI_Datatype type)
{
    const struct entry *e = entry_of(type);

    return e != NULL && e->given;
}

/* ---- types that are not committed ---- */

/* By their combiners; MPI_DATATYPE_NULL where none was needed. */
enum { COMBINERS = 32 };
static MPI_Datatype uncommitted[COMBINERS];
static bool any_uncommitted;

MPI_Datatype espi_kept_refused(MPI_Datatype type)
{
    const struct entry *e = entry_of(type);

    if (__builtin_expect(e == NULL || !e->given || e->made.combiner >= COMBINERS, 1))
        return type;
    for (int i = 0; i < COMBINERS && !any_uncommitted; i++)
        uncommitted[i] = MPI_DATATYPE_NULL;
    any_uncommitted = true;
    MPI_Datatype *least = &uncommitted[e->made.combiner];
    if (*least == MPI_DATATYPE_NULL)
        *least = espi_make_least(e->made.combiner);
    return *least != MPI_DATATYPE_NULL ? *least : type;
}

static void free_uncommitted(void)
{
    for (int i = 0; i < COMBINERS && any_uncommitted; i++)
        if (uncommitted[i] != MPI_DATATYPE_NULL)
            espi_pmpi.Type_free(&uncommitted[i]);
    any_uncommitted = false;
}

/* ---- */

void espi_kept_never(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);
    struct entry *e = entry_of(type);

    if (at == ESPI_CREDITS || atomic_load_explicit(&espi_hot->freed, memory_order_relaxed) == NULL)
        return;
    if (e != NULL && e->state == LIVE) {
        e->never = true;
        return;
    }
    if (e != NULL)
        give_to_mpi(e);
    *kept_at(at) = NEVER;
}

static bool is_forbidden;

/* Whether no other tool wants to see types being made and freed. */
static bool are_ours(void)
{
    bool ours = espi_world_is_last(ESPI_FN_Type_free) && espi_world_is_last(ESPI_FN_Type_commit);

    for (int fn = 0; fn < ESPI_FN_COUNT && ours; fn++)
        ours = espi_constructors[fn][0] == '\0' || espi_world_is_last((enum espi_fn)fn);
    return ours;
}

void espi_kept_forbid(void)
{
    is_forbidden = true;
    espi_kept_stop();
}

void espi_kept_start(void)
{
    if (is_forbidden || !are_ours())
        return;
    atomic_store(&espi_hot->made_again, made_again);
    atomic_store(&espi_hot->freed, freed);
}

void espi_kept_stop(void)
{
    if (espi_hot == NULL || atomic_exchange(&espi_hot->freed, NULL) == NULL)
        return;
    free_uncommitted();
    for (struct entry *e = entries; e < end && in_use > 0; e++)
        if (e->state == KEPT)
            give_to_mpi(e);
        else if (e->state == LIVE)
            forget(e);
    if (any_freed) /* memory that was never written costs nothing */
        memset(freed_before, 0, sizeof freed_before);
    any_freed = false;
    if (key != MPI_KEYVAL_INVALID)
        espi_pmpi.Type_free_keyval(&key);
}
