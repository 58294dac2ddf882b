#include "mpi/typeplan/kept_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/table.h"
#include "constructors.h"
#include "kept.h"
#include "mpi/comm/world.h"
#include "mpi/core/pmpi.h"
#include "mpi/datatype/contents.h"
#include "mpi/datatype/own_types.h"
#include "mpi/typeplan/unseen.h"
#include "stats/stats.h"
#include "type_hint.h"

_Static_assert((uint32_t)MPI_DATATYPE_NULL == ESPI_NO_DATATYPE, "as the stub has it");

/* Bytes of the arguments of one and of all; and the handles that may be kept. */
enum { ONE_MOST = 4 << 20, BYTES_MOST = 16 << 20, LOW_HANDLES = 256 };
enum { BUCKETS = 128 };
/* MPICH has three types at hand for a program; see espi_kept_worth. */
enum { AT_HAND = 3 };
static const uint64_t direct_types = ((1 << AT_HAND) - 1) << ESPI_PAIR_TYPES;
/* Times that types were freed: whose last one is longer ago makes room for another. What was found to have none, or
   was refused, does not ask for it again until so many times later. */
enum { STALE = 1024, AGAIN = 32 };
/* So many times in a row one is kept in the place of another one of its hint, which is not made any more. After that
   none takes its place until it has not come for STALE times. */
enum { MISSES_MOST = 4 };

/* Beside what the stub knows of a kept type (abi.h), by number. */
static struct details {
    uint32_t serial; /* with the number: the value of its attribute */
    size_t size;     /* of the contents */
    struct espi_contents made;
} details[ESPI_KEPT_MOST] ESPI_TABLE;
static int end; /* no number was used from here on */

static unsigned char buckets[BUCKETS]; /* 1 + number */
static _Alignas(2048) uint64_t freed_before[ESPI_KEPT_COUNTS] ESPI_TABLE; /* espi_kept_is_often, by hints */
static bool any_freed; /* there are some */
static size_t bytes_in_all;
static bool wide;                 /* MPICH has made room for more types than it has at hand */
static int few = AT_HAND, in_use; /* entries that there may be if not; and that there are */
static int lacking;               /* types that were not kept for that */
static int key = MPI_KEYVAL_INVALID;
/* Since espi_kept_pay: types freed, and what those made again saved, but for what the stub has done alone. */
static uint64_t freed_here, saved_here;

static uint64_t uses(void)
{
    return atomic_load_explicit(&espi_hot->kept_uses, memory_order_relaxed);
}

static unsigned char *bucket_of(uint64_t hint)
{
    return &buckets[(hint >> 8) % BUCKETS];
}

static unsigned char *kept_at(uint32_t at)
{
    return &espi_hot->types[at].kept;
}

static unsigned char number_of(const struct espi_kept_type *e)
{
    return (unsigned char)(1 + (e - espi_hot->kept_types));
}

static struct details *details_of(const struct espi_kept_type *e)
{
    return &details[e - espi_hot->kept_types];
}

static struct espi_kept_type *entry_of(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);

    return at < ESPI_CREDITS ? espi_kept_at(espi_hot, at) : NULL;
}

static bool is_given(const struct espi_kept_type *e)
{
    return (*kept_at(espi_credit_at(e->type)) & ESPI_KEPT_GIVEN) != 0;
}

/* In the order of numbers: of equal types the program gets the same one first, in whatever order it frees them, and a
   struct of them is made from the same handles again. */
static void put_into_bucket(struct espi_kept_type *e)
{
    unsigned char *at = bucket_of(e->hint);

    while (*at != 0 && *at < number_of(e))
        at = &espi_hot->kept_types[*at - 1].next;
    e->next = *at;
    *at = number_of(e);
}

static void take_out_of_bucket(struct espi_kept_type *e)
{
    unsigned char *at = bucket_of(e->hint);

    while (*at != number_of(e))
        at = &espi_hot->kept_types[*at - 1].next;
    *at = e->next;
}

static uint64_t no_room_before; /* so many uses */

/* No type that the stub has counted comes to the core until there were so many uses. */
static void wait_until(uint64_t when)
{
    atomic_store_explicit(&espi_hot->kept_full, when, memory_order_relaxed);
}

/* Nothing is known of it any more; the type is as it was. */
static void forget(struct espi_kept_type *e)
{
    struct details *d = details_of(e);

    take_out_of_bucket(e);
    if (e->state == ESPI_KEPT_FREED) {
        espi_kept_count(&espi_hot->kept, -1);
        atomic_store_explicit(&espi_hot->types[espi_credit_at(e->type)].hint, 0, memory_order_relaxed);
    }
    espi_kept_is_not_given(espi_hot, &espi_hot->types[espi_credit_at(e->type)]);
    *kept_at(espi_credit_at(e->type)) = 0;
    bytes_in_all -= d->size;
    free(d->made.bytes);
    *d = (struct details){.serial = d->serial + 1};
    *e = (struct espi_kept_type){.state = ESPI_KEPT_GONE};
    in_use--;
    no_room_before = 0;
    wait_until(0);
}

static void give_to_mpi(struct espi_kept_type *e)
{
    MPI_Datatype type = (MPI_Datatype)e->type;
    const uint64_t direct = atomic_load_explicit(&espi_hot->direct, memory_order_relaxed);

    forget(e);
    atomic_store_explicit(&espi_hot->direct, direct & ~espi_direct_bit((uint32_t)type), memory_order_relaxed);
    espi_pmpi.Type_free(&type);
}

/* ---- the attribute ---- */

static void *attribute_of(const struct espi_kept_type *e)
{
    return (void *)((uintptr_t)details_of(e)->serial << 8 | number_of(e));
}

/* The type is no more. */
static int is_gone(MPI_Datatype type, int keyval, void *value, void *extra)
{
    struct espi_kept_type *e = &espi_hot->kept_types[((uintptr_t)value & 0xff) - 1];

    (void)keyval, (void)extra;
    if (e->state != ESPI_KEPT_GONE && attribute_of(e) == value) {
        forget(e);
        atomic_store_explicit(&espi_hot->types[espi_credit_at((uint32_t)type)].hint, 0, memory_order_relaxed);
    }
    return MPI_SUCCESS;
}

static bool tie(const struct espi_kept_type *e)
{
    return espi_pmpi.Type_set_attr((MPI_Datatype)e->type, key, attribute_of(e)) == MPI_SUCCESS;
}

/* ---- keeping ---- */

/* Times that a type is freed before it is kept. To keep one takes as long as four lives of a vector: its contents are
   asked for, an attribute is set, and MPI makes the next one in other memory. Of a list a life takes longer. */
static unsigned times_for(uint64_t hint)
{
    enum { LIST = 32, LONG_LIST = 128 };
    const uint64_t numbers = espi_hint_numbers(hint);

    return numbers < LIST ? 4 : numbers < LONG_LIST ? 3 : 2;
}

/* A type of this hint is freed for so many times at least. */
static bool is_freed_often(uint64_t hint)
{
    any_freed = true;
    return espi_kept_is_often(freed_before, hint, times_for(hint));
}

/* One that is kept, while types of its hint are others now: made from another type, or different in what the hint
   says nothing of. NULL: there is none. */
static struct espi_kept_type *missed(uint64_t hint)
{
    for (unsigned char i = *bucket_of(hint); i != 0; i = espi_hot->kept_types[i - 1].next) {
        struct espi_kept_type *e = &espi_hot->kept_types[i - 1];
        if (e->hint == hint && e->state == ESPI_KEPT_FREED && e->misses > 0)
            return e;
    }
    return NULL;
}

/* The stub counts the calls of its constructor (kept.h). */
static bool is_counted_unseen(MPI_Datatype type)
{
    MPI_Count ints, addrs, counts, types;
    int combiner;

    return espi_pmpi.Type_get_envelope_c(type, &ints, &addrs, &counts, &types, &combiner) == MPI_SUCCESS &&
           (combiner == MPI_COMBINER_CONTIGUOUS || combiner == MPI_COMBINER_VECTOR ||
            combiner == MPI_COMBINER_HVECTOR || combiner == MPI_COMBINER_RESIZED) &&
           counts == 0;
}

/* Whether so many lives would have saved what room for more types takes. */
static bool is_worth_room(int lives)
{
    static int worth;
    if (worth == 0 && lives >= espi_kept_worth(0))
        worth = espi_kept_worth(espi_page_ns());
    return worth > 0 && lives >= worth;
}

/* An entry that is free, perhaps instead of one that has not come again for long; NULL: there is none. */
static struct espi_kept_type *room(MPI_Datatype type)
{
    struct espi_kept_type *oldest = NULL, *free = NULL, *const all = espi_hot->kept_types;

    if (uses() < no_room_before)
        return NULL;
    for (struct espi_kept_type *e = all; e < all + end; e++)
        if (e->state == ESPI_KEPT_GONE)
            free = e;
        else if ((oldest == NULL || e->used < oldest->used) && !e->never && !is_given(e)) /* that must not be lost */
            oldest = e;
    if (in_use < (wide ? ESPI_KEPT_MOST : few))
        return free != NULL ? free : &all[end++];
    if (oldest != NULL && uses() - oldest->used >= STALE) {
        if (oldest->state == ESPI_KEPT_FREED)
            give_to_mpi(oldest);
        else
            forget(oldest);
        return oldest;
    }
    if (!wide) { /* each counts, and must be seen for it */
        if (!is_counted_unseen(type))
            espi_types_pay();
        wide = is_worth_room(++lacking);
        return NULL;
    }
    const uint64_t stale = oldest != NULL ? oldest->used + STALE : 0;
    no_room_before = stale < uses() + AGAIN ? uses() + AGAIN : stale; /* the look costs as much as some types */
    wait_until(no_room_before);
    return NULL;
}

/* The program is about to have one more type. If that would be too many for MPICH's first ones, and one of those is
   kept, it is given back. */
static void leave_room(void)
{
    struct espi_kept_type *oldest = NULL, *const all = espi_hot->kept_types;

    if (wide || (~atomic_load_explicit(&espi_hot->direct, memory_order_relaxed) & direct_types) != 0)
        return;
    for (struct espi_kept_type *e = all; e < all + end; e++)
        if (e->state == ESPI_KEPT_FREED && (oldest == NULL || e->used < oldest->used))
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

static size_t most_bytes(void)
{
    return bytes_in_all > BYTES_MOST - ONE_MOST ? BYTES_MOST - bytes_in_all : ONE_MOST;
}

/* What MPICH takes for such a type, less what we take: by rows of bench/layouts, whose types are made anew for each
   use or not at all, on an EPYC and a Xeon. It makes a subarray of other types, one for each dimension, looks at each
   type of a struct, and takes longer for lists with lengths. */
static uint32_t saved_ns(const struct espi_contents *c)
{
    enum { EACH = 150, DIMENSIONS = 50, LENGTHS = 3, PLACES = 2, TYPE = 6 };
    const uint64_t numbers = (uint64_t)(c->ints + c->addrs + c->counts);
    const bool lengths = c->combiner == MPI_COMBINER_INDEXED || c->combiner == MPI_COMBINER_HINDEXED ||
                         c->combiner == MPI_COMBINER_STRUCT;

    const uint64_t ns = c->combiner == MPI_COMBINER_SUBARRAY
                            ? EACH + DIMENSIONS * numbers
                            : EACH + (lengths ? LENGTHS : PLACES) * numbers + TYPE * (uint64_t)c->types;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* One that is kept already is freed where the program has a second reference to it. */
static bool is_kept_first(uint32_t *type, bool is_wanted)
{
    const MPI_Datatype handle = (MPI_Datatype)*type;
    const uint32_t at = espi_credit_at(*type);
    const uint64_t hint = atomic_load_explicit(&espi_hot->types[at].hint, memory_order_relaxed);
    struct espi_kept_type *e = entry_of(handle), *other;
    struct espi_contents made;
    unsigned char misses = 0;

    wide = wide || espi_handle_number(handle) >= 0;
    if (atomic_load_explicit(&espi_hot->types[at].shared, memory_order_relaxed) > 0)
        return false; /* the program has it still, and what forbids to keep it holds on */
    const bool is_never = *kept_at(at) == ESPI_KEPT_NEVER || (e != NULL && (e->state == ESPI_KEPT_FREED || e->never));
    if (*kept_at(at) == ESPI_KEPT_NEVER)
        *kept_at(at) = 0;
    else if (e != NULL && e->never)
        forget(e);
    if (is_never || hint % 2 == 0 || espi_handle_number(handle) >= LOW_HANDLES ||
        !(is_wanted || is_freed_often(hint)))
        return false;
    if ((other = missed(hint)) != NULL) {
        const bool stale = uses() - other->used >= STALE;
        if (other->misses > MISSES_MOST && !stale)
            return false;
        misses = stale ? 0 : other->misses;
        give_to_mpi(other);
    }
    if (e != NULL)
        forget(e); /* it is not what it was */
    if ((e = room(handle)) == NULL || !espi_contents_ask(handle, most_bytes(), &made))
        return false;
    if (!may_come_again(&made)) {
        free(made.bytes);
        return false;
    }
    *e = (struct espi_kept_type){.hint = hint, .type = (uint32_t)handle, .fn = ESPI_FN_COUNT,
                                 .state = ESPI_KEPT_LIVE, .misses = misses, .saved_ns = saved_ns(&made)};
    details_of(e)->made = made;
    details_of(e)->size = espi_contents_size(&made);
    put_into_bucket(e);
    in_use++;
    bytes_in_all += details_of(e)->size;
    *kept_at(at) = number_of(e);
    if (tie(e) && espi_kept_take(espi_hot, type))
        return true;
    forget(e);
    return false;
}

static bool freed(uint32_t *type)
{
    const uint32_t at = espi_credit_at(*type);
    const bool is_wanted = *kept_at(at) == ESPI_KEPT_WANTED, is_refused = *kept_at(at) == ESPI_KEPT_NEVER;

    freed_here++;
    if (is_wanted)
        *kept_at(at) = 0;
    if (espi_kept_take(espi_hot, type) || is_kept_first(type, is_wanted))
        return true;
    if (((is_wanted && wide) || is_refused) && !espi_kept_is_full(espi_hot))
        wait_until(uses() + AGAIN); /* as the next one may be refused, too */
    espi_hot_add(&espi_hot->kept_uses, 1);
    return false;
}

/* ---- giving back to the program ---- */

static uint32_t made_again(enum espi_fn fn, const espi_word *args, uint64_t hint)
{
    uint64_t key_now[ESPI_KEPT_WORDS];
    bool is_first = true; /* of its hint */

    for (unsigned char i = *bucket_of(hint); i != 0; i = espi_hot->kept_types[i - 1].next) {
        struct espi_kept_type *e = &espi_hot->kept_types[i - 1];
        if (e->hint != hint)
            continue;
        const bool may_be_known = is_first; /* else the stub would give equal ones in another order */
        is_first = false;
        if (e->state != ESPI_KEPT_FREED)
            continue;
        if (!espi_contents_are_of(&details_of(e)->made, fn, args)) {
            e->misses = (unsigned char)(e->misses + (e->misses <= MISSES_MOST));
            continue;
        }
        if (!espi_kept_key(fn, args, key_now)) {
            saved_here += e->saved_ns;
        } else if (may_be_known) { /* from now on by the stub, too */
            memcpy(e->key, key_now, sizeof e->key);
            e->fn = (uint16_t)fn;
            *espi_kept_place(espi_hot, espi_kept_hash(fn, e->key)) = number_of(e);
        }
        return espi_kept_give(espi_hot, e);
    }
    leave_room();
    return 0;
}

enum { LOOK_NS = 50 }; /* what it takes to look at a type that is freed, about */

bool espi_kept_pay(void)
{
    const bool pay = saved_here > 0 && saved_here >= LOOK_NS * freed_here;

    freed_here = saved_here = 0;
    return pay;
}

bool espi_kept_commits(MPI_Datatype type)
{
    return espi_kept_commit(espi_hot, (uint32_t)type);
}

bool espi_kept_is_uncommitted(MPI_Datatype type)
{
    const struct espi_kept_type *e = entry_of(type);

    return e != NULL && is_given(e);
}

MPI_Datatype espi_kept_refused(MPI_Datatype type)
{
    const struct espi_kept_type *e = entry_of(type);

    if (__builtin_expect(e == NULL || !is_given(e), 1))
        return type;
    const MPI_Datatype other = espi_uncommitted(details_of(e)->made.combiner);
    return other != MPI_DATATYPE_NULL ? other : type;
}

/* ---- */

void espi_kept_never(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);
    struct espi_kept_type *e = entry_of(type);

    if (at == ESPI_CREDITS || atomic_load_explicit(&espi_hot->freed, memory_order_relaxed) == NULL)
        return;
    if (e != NULL && e->state == ESPI_KEPT_LIVE) {
        e->never = true;
        return;
    }
    if (e != NULL)
        give_to_mpi(e);
    *kept_at(at) = ESPI_KEPT_NEVER;
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
    if (is_forbidden || !are_ours() || (key == MPI_KEYVAL_INVALID &&
        espi_pmpi.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, is_gone, &key, NULL) != MPI_SUCCESS))
        return;
    atomic_store(&espi_hot->made_again, made_again);
    atomic_store(&espi_hot->freed, freed);
}

void espi_kept_stop(void)
{
    if (espi_hot == NULL || atomic_exchange(&espi_hot->freed, NULL) == NULL)
        return;
    espi_uncommitted_end();
    for (struct espi_kept_type *e = espi_hot->kept_types; e < espi_hot->kept_types + end && in_use > 0; e++)
        if (e->state == ESPI_KEPT_FREED)
            give_to_mpi(e);
        else if (e->state == ESPI_KEPT_LIVE)
            forget(e);
    if (any_freed) /* memory that was never written costs nothing */
        memset(freed_before, 0, sizeof freed_before);
    any_freed = false;
    if (key != MPI_KEYVAL_INVALID)
        espi_pmpi.Type_free_keyval(&key);
}
