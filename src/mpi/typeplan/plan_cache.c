/*
 * Plans and their cache. Plans without a user stay for the next datatype of the same layout; the least recently
 * found of them goes when there are too many or they hold too many MPI types, the largest when they take too many
 * bytes. The lock is never held over an MPI call, because MPI calls back into this library with its own lock held.
 */
#include "mpi/typeplan/plan_cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/own_heap.h"

#include "mpi/datatype/construction.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/stream_type.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/plan_figures.h"
#include "mpi/typeplan/select.h"
#include "mpi/core/pmpi.h"

/* Plans without a user that stay, and their bytes: MPI gives the memory of a type back when it is freed. With half of
   the types that Espalier may hold, fewer stay. */
enum { UNUSED_MOST = 128, UNUSED_BYTES_MOST = 32 << 20 };
enum { TYPES_MOST = ESPI_OWN_TYPES_MOST / 2, LONG_TYPES_MOST = ESPI_OWN_LONG_TYPES_MOST / 2 };

/* How the last type of a class was made. Of one layout so many ways are remembered, the latest ones: an argument that
   has no effect (the place of an empty block) makes another class each time. */
enum { MADE_MOST = 16 };
struct made {
    uint64_t hint;
    struct espi_construction *construction;
    struct espi_plan_entry *entry;
    struct made *next; /* of the entry */
    UT_hash_handle hh;
};

struct espi_plan_entry {
    struct espi_plan plan;
    uint64_t key;
    struct espi_arena arena;   /* of the tree */
    struct espi_decoded layout;
    struct espi_plan_entry *prev, *next; /* in the order in which they were found last; of those that go: next */
    struct espi_own_types made_of; /* the substitutes */
    MPI_Datatype replaced[2 * ESPI_PURPOSES]; /* by better ones: freed with the plan */
    int n_replaced;
    struct made *made; /* which lead to this plan */
    UT_hash_handle hh;
};

atomic_uint espi_plans_epoch;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct espi_plan_entry *plans;
static struct espi_plan_entry *by_age;    /* the same, the least recently found one first */
static struct made *remembered;           /* by their hints */
static unsigned used, made_since;         /* plans that had a user when they were last looked through; made since */
static size_t bytes_since;                /* which take so many bytes */

uint64_t espi_plan_key(const struct espi_decoded *layout)
{
    return espi_mix(espi_mix(layout->tree->hash, (uint64_t)layout->lb), (uint64_t)layout->extent);
}

/* Takes a reference; so the plan stays, with what it has, while MPI is asked. Under the lock. */
static void hold_found(struct espi_plan_entry *e)
{
    espi_plan_hold(&e->plan);
    DL_DELETE(by_age, e);
    DL_APPEND(by_age, e);
}

static struct espi_plan_entry *find(uint64_t key, const struct espi_decoded *layout)
{
    struct espi_plan_entry *e;

    HASH_FIND(hh, plans, &key, sizeof key, e);
    return e != NULL && e->layout.lb == layout->lb && e->layout.extent == layout->extent &&
                   espi_node_equal(e->layout.tree, layout->tree)
               ? e
               : NULL;
}

struct espi_plan *espi_plan_find(const struct espi_decoded *layout)
{
    uint64_t key = espi_plan_key(layout);
    struct espi_plan_entry *e;

    espi_lock(&lock);
    e = find(key, layout);
    if (e != NULL)
        hold_found(e);
    espi_unlock(&lock);
    return e == NULL ? NULL : &e->plan;
}

const struct espi_decoded *espi_plan_layout(const struct espi_plan *plan)
{
    return &plan->entry->layout;
}

/* ---- how types were made ---- */

static void free_made(struct made *made)
{
    espi_construction_free(made->construction);
    espi_own_put(made);
}

/* Takes it out of the table and of its plan. Under the lock. */
static void take_out(struct made *made)
{
    struct made **at = &made->entry->made;

    while (*at != made)
        at = &(*at)->next;
    *at = made->next;
    HASH_DELETE(hh, remembered, made);
}

struct espi_plan *espi_plan_recognize(uint64_t hint, MPI_Datatype type)
{
    struct espi_plan_entry *e = NULL;
    struct made *made;

    espi_lock(&lock);
    HASH_FIND(hh, remembered, &hint, sizeof hint, made);
    if (made != NULL) {
        e = made->entry;
        hold_found(e);
    }
    espi_unlock(&lock);
    if (e == NULL || espi_construction_is(made->construction, type))
        return e == NULL ? NULL : &e->plan;
    espi_plan_release(&e->plan);
    return NULL;
}

/* The one beyond MADE_MOST; NULL: there is none. */
static struct made *one_too_many(const struct espi_plan_entry *e)
{
    struct made *made = e->made;

    for (int i = 0; i < MADE_MOST && made != NULL; i++)
        made = made->next;
    return made;
}

bool espi_plan_remember(struct espi_plan *plan, uint64_t hint, MPI_Datatype type)
{
    struct made *made = espi_own_get(sizeof *made), *old, *more = NULL;

    if (made == NULL)
        return false;
    *made = (struct made){.hint = hint, .construction = espi_construction_of(type), .entry = plan->entry};
    espi_lock(&lock);
    HASH_FIND(hh, remembered, &hint, sizeof hint, old);
    if (old != NULL)
        take_out(old);
    if (made->construction != NULL)
        HASH_ADD(hh, remembered, hint, sizeof made->hint, made);
    if (made->construction != NULL && made->hh.tbl != NULL) {
        made->next = made->entry->made;
        made->entry->made = made;
        made = NULL;
        if ((more = one_too_many(plan->entry)) != NULL)
            take_out(more);
    }
    espi_unlock(&lock);
    if (old != NULL)
        free_made(old);
    if (more != NULL)
        free_made(more);
    if (made != NULL)
        free_made(made);
    return made == NULL;
}

/* ---- */

/* A plan leaves the cache under the lock, if nobody refers to it. */
struct espi_plan *espi_plan_hold_at(_Atomic(struct espi_plan *) *place)
{
    struct espi_plan *plan;

    espi_lock(&lock);
    plan = atomic_load_explicit(place, memory_order_acquire);
    if (plan != NULL)
        espi_plan_hold(plan);
    espi_unlock(&lock);
    return plan;
}

void espi_plan_release_owner(void *plan)
{
    espi_plan_release(plan);
}

static void count_types(struct espi_plan_entry *e, const struct espi_selection *s)
{
    e->made_of.types += s->made_of.types;
    e->made_of.long_types += s->made_of.long_types;
    espi_own_types_add((long)s->made_of.types);
    espi_own_types_add_long((long)s->made_of.long_types);
}

/* A handle may serve both purposes, or have been replaced for one of them only. */
static void free_substitutes(struct espi_plan_entry *e)
{
    MPI_Datatype all[3 * ESPI_PURPOSES];
    int n = 0;

    for (int p = 0; p < ESPI_PURPOSES; p++)
        all[n++] = atomic_exchange(&e->plan.better[p], MPI_DATATYPE_NULL);
    for (int i = 0; i < e->n_replaced; i++)
        all[n++] = e->replaced[i];
    e->n_replaced = 0;
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (all[k] == all[i])
                all[k] = MPI_DATATYPE_NULL;
    espi_own_types_free(all, n, e->made_of);
    e->made_of = (struct espi_own_types){0, 0};
}

/* Out of the table already. */
static void free_all_made(struct espi_plan_entry *e)
{
    struct made *made, *next;

    for (made = e->made; made != NULL; made = next) {
        next = made->next;
        free_made(made);
    }
    e->made = NULL;
}

static void free_entry(struct espi_plan_entry *e)
{
    free_all_made(e);
    free_substitutes(e);
    espi_arena_release(&e->arena);
    espi_own_put(e);
}

/* Under the lock. */
static void leave_cache(struct espi_plan_entry *e, struct espi_plan_entry **gone)
{
    for (struct made *made = e->made; made != NULL; made = made->next)
        HASH_DELETE(hh, remembered, made);
    HASH_DELETE(hh, plans, e);
    DL_DELETE(by_age, e);
    LL_PREPEND(*gone, e);
}

static size_t bytes_of(const struct espi_plan_entry *e)
{
    size_t sum = e->arena.bytes;

    for (const struct made *made = e->made; made != NULL; made = made->next)
        sum += espi_construction_bytes(made->construction);
    return sum;
}

static bool is_unused(const struct espi_plan_entry *e)
{
    return atomic_load(&e->plan.users) == 0;
}

static struct espi_plan_entry *largest_unused(void)
{
    struct espi_plan_entry *e, *largest = NULL;

    DL_FOREACH(by_age, e)
        if (is_unused(e) && (largest == NULL || bytes_of(e) > bytes_of(largest)))
            largest = e;
    return largest;
}

/* Whether they are to be looked through again: where a program has thousands of types in use that takes longer than
   to make a plan. */
static bool is_due(void)
{
    enum { PART = 16 };

    return made_since > used / PART || bytes_since > UNUSED_BYTES_MOST / PART;
}

/* Takes plans without users out of the cache, if they are too many: the least recently found ones; then the largest,
   if they take too many bytes. A list of them. Under the lock. */
static struct espi_plan_entry *evict(void)
{
    struct espi_plan_entry *e, *next, *gone = NULL;
    long unused = 0, bytes = 0, types = 0, long_types = 0; /* they may end while this goes on: also below 0 */

    if (!is_due())
        return NULL;
    DL_FOREACH(by_age, e) {
        types += (long)e->made_of.types;
        long_types += (long)e->made_of.long_types;
        if (is_unused(e)) {
            unused++;
            bytes += (long)bytes_of(e);
        }
    }
    used = HASH_COUNT(plans) - (unsigned)unused;
    made_since = 0;
    bytes_since = 0;
    DL_FOREACH_SAFE(by_age, e, next) {
        if (unused <= UNUSED_MOST && types <= TYPES_MOST && long_types <= LONG_TYPES_MOST)
            break;
        if (!is_unused(e))
            continue;
        unused--;
        bytes -= (long)bytes_of(e);
        types -= (long)e->made_of.types;
        long_types -= (long)e->made_of.long_types;
        leave_cache(e, &gone);
    }
    while (bytes > UNUSED_BYTES_MOST && (e = largest_unused()) != NULL) {
        bytes -= (long)bytes_of(e);
        leave_cache(e, &gone);
    }
    return gone;
}

/* Straight from the program's own tree. Without memory for it, or nested too deeply: none. */
static const struct espi_pack *compile(struct espi_plan_entry *e, const struct espi_plan_request *request)
{
    const struct espi_pack *pack = NULL;
    uint64_t begun = espi_stats_now(), took;

    if (request->packing == ESPI_MODE_OFF || e->layout.tree->entries == 0)
        return NULL;
    espi_pack_compile(&e->arena, e->layout.tree, e->layout.extent, &pack);
    took = espi_stats_now() - begun;
    espi_count_anywhere(ESPI_COUNT_time_compile, took);
    espi_admission_book(took);
    return pack;
}

bool espi_plan_is_cut(const struct espi_plan *plan, int64_t count, int together)
{
    enum { UNCUT = 8184 }; /* of the shortest part, of a message to oneself */

    return plan->astride && count > 0 && plan->size > UNCUT / count / together;
}

struct espi_plan *espi_plan_make(struct espi_plan_request *request)
{
    struct espi_plan_entry *e = espi_own_get_zeroed(sizeof *e);
    struct espi_selection s;

    if (e == NULL)
        return NULL;
    e->layout = *request->layout;
    if (espi_node_copy(&e->arena, request->layout->tree, &e->layout.tree) != ESPI_OK) {
        espi_arena_release(&e->arena);
        espi_own_put(e);
        return NULL;
    }
    e->key = espi_plan_key(&e->layout);
    e->plan.entry = e;
    e->plan.size = e->layout.tree->size;
    e->plan.extent = e->layout.extent;
    e->plan.begins = e->layout.tree->true_lb;
    e->plan.astride = espi_node_is_astride(e->layout.tree);
    e->plan.record = espi_stats_type(e->key);
    request->pack = compile(e, request);
    e->plan.stands = request->pack != NULL && e->plan.extent != e->plan.size &&
                     espi_pack_is_run(request->pack, &(int64_t){0});
    request->programs = &e->arena;
    espi_select_variant(request, e->plan.record, &s);
    atomic_init(&e->plan.pack, request->pack);
    for (int p = 0; p < ESPI_PURPOSES; p++)
        atomic_init(&e->plan.better[p], s.better[p]);
    espi_plan_take_figures(&e->plan, request, &s);
    count_types(e, &s);
    atomic_init(&e->plan.users, 1);
    espi_lock(&lock);
    HASH_ADD(hh, plans, key, sizeof e->key, e);
    const bool added = e->hh.tbl != NULL;
    struct espi_plan_entry *gone = NULL, *old, *next;
    if (added) {
        DL_APPEND(by_age, e);
        made_since++;
        bytes_since += e->arena.bytes;
        gone = evict();
    }
    espi_unlock(&lock);
    LL_FOREACH_SAFE(gone, old, next)
        free_entry(old);
    if (!added) {
        free_entry(e);
        return NULL;
    }
    return &e->plan;
}

void espi_plan_improve(struct espi_plan *plan, struct espi_plan_request *request)
{
    struct espi_plan_entry *e = plan->entry;
    struct espi_selection s;

    request->again = true;
    request->was_better = plan->improved;
    request->pack = plan->pack;
    request->exact = plan->exact;
    request->programs = plan->tried ? NULL : &e->arena; /* once, when the tree is there */
    request->reversed = atomic_load(&plan->times.reversed);
    if (e->n_replaced + ESPI_PURPOSES > (int)(sizeof e->replaced / sizeof *e->replaced)) {
        plan->tier = request->tier; /* it has been improved often enough */
        plan->count = request->count;
        plan->last_short.count = 0;
        plan->left_items = 0;
        return;
    }
    espi_select_variant(request, plan->record, &s);
    if (request->pack != plan->pack) {
        espi_packed_times_again(&plan->times);
        plan->local[0].state = plan->local[1].state = ESPI_LOCAL_PACKS; /* so far */
        atomic_store_explicit(&plan->pack, request->pack, memory_order_release);
    }
    for (int p = 0; p < ESPI_PURPOSES; p++) {
        MPI_Datatype now = atomic_load(&plan->better[p]);
        if (now != MPI_DATATYPE_NULL)
            e->replaced[e->n_replaced++] = now;
        atomic_store_explicit(&plan->better[p], s.better[p], memory_order_release);
    }
    espi_plan_take_figures(plan, request, &s);
    count_types(e, &s);
    atomic_fetch_add_explicit(&espi_plans_epoch, 1, memory_order_release);
}

void espi_plans_give_types_back(void)
{
    struct espi_plan_entry *e, *next;

    HASH_ITER(hh, plans, e, next) {
        free_substitutes(e);
        for (int p = 0; p < ESPI_PURPOSES; p++)
            e->plan.gain_ns[p] = 0;
        e->plan.last_short.count = 0;
        e->plan.left_items = 0;
    }
    espi_stream_types_give_back();
}

void espi_plans_stop(void)
{
    struct espi_plan_entry *e, *next, *all;

    espi_lock(&lock);
    all = plans;
    plans = by_age = NULL;
    used = made_since = 0;
    bytes_since = 0;
    HASH_CLEAR(hh, remembered);
    espi_unlock(&lock);
    HASH_ITER(hh, all, e, next) {
        HASH_DELETE(hh, all, e);
        if (atomic_load(&e->plan.users) == 0) {
            free_entry(e);
        } else { /* types that outlive us still point here */
            free_substitutes(e);
            free_all_made(e);
        }
    }
    espi_own_types_end();
    espi_stream_types_close();
}
