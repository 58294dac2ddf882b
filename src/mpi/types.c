/*
 * Handle to state to plan.
 *
 * A state hangs on the program's datatype as an attribute, whose delete callback ends it however the type is freed, so a
 * recycled handle can not meet a stale plan. Not so under MPI_THREAD_MULTIPLE: MPICH 4.0.2 gives up its lock around such
 * a callback, and when a type that was freed with a request pending ends inside the progress engine, another thread then
 * enters UCX a second time and the process dies. There the state ends before MPI_Type_free (any language: the stub sees
 * PMPI_Type_free, too), and a commit always begins a new one. Looking a handle up: the thread's cache of one entry, valid while no type has
 * ended since (the epoch), else a hash table under a read lock.
 *
 * Locks: `table_lock` is never held over an MPI call, because the delete callback takes it while MPI holds its own lock.
 * `planning` is held over MPI calls, but only ever tried, and never in a callback.
 */
#include "mpi/types.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hash.h"

#include "mpi/budget.h"
#include "mpi/decode.h"
#include "mpi/kinds.h"
#include "mpi/measure.h"
#include "mpi/mine.h"
#include "mpi/model.h"
#include "mpi/plan.h"
#include "mpi/real.h"
#include "mpi/reduce.h"

#define NEVER UINT64_MAX

enum { NUMBERS_MOST = 1 << 22 }; /* counts and displacements of a type that is decoded */

struct state {
    struct espi_type_uses used; /* first: the thread's cache points to it */
    MPI_Datatype type;
    _Atomic(struct espi_plan *) plan;
    uint64_t noted_uses, noted_items; /* those that the plan's record has */
    _Atomic uint64_t look;        /* number of uses at which to look again whether planning is due; NEVER: settled */
    struct espi_kind_facts kind;
    bool kind_known;
    uint64_t told;                /* uses the kind was told of */
    _Atomic(struct espi_elements *) elements; /* for reductions, NULL: not yet looked at; its base is MPI_DATATYPE_NULL where they differ */
    UT_hash_handle hh;
};

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct state *table;
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;
atomic_uint espi_types_epoch = 1;
static atomic_int mode = ESPI_MODE_OFF; /* OFF also before start and after stop */
static atomic_bool registering;         /* types are registered; also where only reductions want to know them */
static int key = MPI_KEYVAL_INVALID;
static bool check, attributes;

/* Adds to the plan's record what was counted here since the last time. */
static void note_uses(struct state *s, struct espi_plan *plan)
{
    uint64_t uses = atomic_load_explicit(&s->used.uses, memory_order_relaxed) - s->noted_uses;
    uint64_t items = atomic_load_explicit(&s->used.items, memory_order_relaxed) - s->noted_items;

    s->noted_uses += uses;
    s->noted_items += items;
    atomic_fetch_add_explicit(&plan->record->uses, uses, memory_order_relaxed);
    atomic_fetch_add_explicit(&plan->record->elements, items, memory_order_relaxed);
    atomic_fetch_add_explicit(&plan->record->bytes, items * (uint64_t)plan->size, memory_order_relaxed);
}

/* Out of the table already. */
static void end(struct state *s)
{
    struct espi_plan *plan = atomic_load(&s->plan);

    if (plan != NULL) {
        note_uses(s, plan);
        espi_plan_release(plan);
    }
    free(atomic_load(&s->elements));
    free(s);
    espi_count_anywhere(ESPI_COUNT_types_ended, 1);
}

static void take_out(struct state *s) /* under the lock */
{
    HASH_DELETE(hh, table, s);
    atomic_fetch_add_explicit(&espi_types_epoch, 1, memory_order_release);
}

static int type_ends(MPI_Datatype type, int keyval, void *value, void *extra)
{
    struct state *s = value;

    (void)type;
    (void)keyval;
    (void)extra;
    pthread_rwlock_wrlock(&table_lock);
    take_out(s);
    pthread_rwlock_unlock(&table_lock);
    end(s);
    return MPI_SUCCESS;
}

espi_status espi_types_start(const struct espi_settings *settings)
{
    int level = MPI_THREAD_MULTIPLE;

    if (settings->datatypes == ESPI_MODE_OFF && settings->reduce == ESPI_MODE_OFF)
        return ESPI_OK;
    attributes = espi_real.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
    if (attributes && espi_real.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_ends, &key, NULL) != MPI_SUCCESS)
        return ESPI_ERR_MPI;
    check = settings->check;
    espi_budget_start(settings->budget_ms);
    espi_kinds_reset();
    espi_measure_start();
    atomic_store(&mode, settings->datatypes);
    atomic_store(&registering, true);
    return ESPI_OK;
}

void espi_types_stop(void)
{
    struct state *s, *next;

    atomic_store(&mode, ESPI_MODE_OFF);
    if (!atomic_exchange(&registering, false))
        return;
    pthread_mutex_lock(&planning);
    /* Types that outlive us keep their state until MPI ends them (if it will tell), but no plan. */
    pthread_rwlock_wrlock(&table_lock);
    HASH_ITER(hh, table, s, next) {
        struct espi_plan *plan = atomic_exchange(&s->plan, NULL);

        if (plan != NULL) {
            note_uses(s, plan);
            espi_plan_release(plan);
        }
        atomic_store(&s->look, atomic_load(&s->used.uses) + 1);
        if (!attributes) {
            HASH_DELETE(hh, table, s);
            free(s);
        }
    }
    atomic_fetch_add_explicit(&espi_types_epoch, 1, memory_order_release);
    pthread_rwlock_unlock(&table_lock);
    espi_plans_stop();
    espi_measure_stop();
    if (key != MPI_KEYVAL_INVALID)
        espi_real.Type_free_keyval(&key);
    pthread_mutex_unlock(&planning);
}

static struct state *find(MPI_Datatype type)
{
    struct state *s;

    pthread_rwlock_rdlock(&table_lock);
    HASH_FIND_INT(table, &type, s);
    pthread_rwlock_unlock(&table_lock);
    return s;
}

/* The thread's entry holds the state itself. The epoch is read first: an end in between makes the entry old. */
static inline struct state *look_up(struct espi_thread *thread, MPI_Datatype type)
{
    unsigned now = atomic_load_explicit(&espi_types_epoch, memory_order_acquire);
    struct state *s;

    if (thread->cached_handle == (espi_word)type && thread->cached_epoch == now)
        return (struct state *)thread->cached_better;
    s = find(type);
    if (s != NULL) {
        thread->cached_handle = (espi_word)type;
        thread->cached_better = (espi_word)s;
        thread->cached_settled = 0;
        thread->cached_epoch = now;
    }
    return s;
}

/* Ends the state of a handle, when there is one and no attribute does it. */
static void forget(MPI_Datatype type)
{
    struct state *s;

    pthread_rwlock_wrlock(&table_lock);
    HASH_FIND_INT(table, &type, s);
    if (s != NULL)
        take_out(s);
    pthread_rwlock_unlock(&table_lock);
    if (s != NULL)
        end(s);
}

static void add(MPI_Datatype type)
{
    struct state *s, *old;

    if (!attributes)
        forget(type); /* whatever it was, this is another life of the handle */
    else if (find(type) != NULL)
        return; /* committed again */
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return;
    s->type = type;
    atomic_init(&s->look, 1);
    pthread_rwlock_wrlock(&table_lock);
    HASH_FIND_INT(table, &type, old);
    if (old == NULL)
        HASH_ADD_INT(table, type, s);
    pthread_rwlock_unlock(&table_lock);
    if (old != NULL || s->hh.tbl == NULL) {
        free(s);
        return;
    }
    if (!attributes || espi_real.Type_set_attr(type, key, s) == MPI_SUCCESS) {
        espi_count_anywhere(ESPI_COUNT_types_registered, 1);
        return;
    }
    pthread_rwlock_wrlock(&table_lock);
    take_out(s);
    pthread_rwlock_unlock(&table_lock);
    free(s);
}

void espi_types_committed(struct espi_thread *thread, MPI_Datatype type)
{
    (void)thread;
    if (atomic_load_explicit(&registering, memory_order_relaxed) && !espi_handle_predefined(type))
        add(type);
}

void espi_types_duped(struct espi_thread *thread, MPI_Datatype old_type, MPI_Datatype new_type)
{
    if (atomic_load_explicit(&registering, memory_order_relaxed) && look_up(thread, old_type) != NULL)
        add(new_type);
}

void espi_types_ending(struct espi_thread *thread, MPI_Datatype type)
{
    if (atomic_load_explicit(&registering, memory_order_relaxed) && !attributes && look_up(thread, type) != NULL)
        forget(type);
}

const struct espi_elements *espi_elements_of(struct espi_thread *thread, MPI_Datatype type)
{
    struct state *s;
    struct espi_elements *view, *other = NULL;

    if (!atomic_load_explicit(&registering, memory_order_relaxed) || (s = look_up(thread, type)) == NULL)
        return NULL;
    view = atomic_load_explicit(&s->elements, memory_order_acquire);
    if (view == NULL) {
        view = calloc(1, sizeof *view);
        if (view == NULL)
            return NULL;
        espi_elements_look(type, view);
        /* Two threads may look at the same time; both find the same. */
        if (!atomic_compare_exchange_strong(&s->elements, &other, view)) {
            free(view);
            view = other;
        }
    }
    return view->base != MPI_DATATYPE_NULL ? view : NULL;
}

void espi_types_freed(struct espi_thread *thread, MPI_Datatype type)
{
    (void)thread;
    (void)type;
    espi_stats_slow_path();
}

/* Settles the state with a plan, or with none for good (NULL). With a plan the next looks only keep its record current. */
static void settle(struct state *s, struct espi_plan *plan)
{
    if (plan == NULL)
        atomic_store(&s->look, NEVER);
    atomic_store_explicit(&s->plan, plan, memory_order_release);
}

/* Decodes and finds or makes the plan. `fresh`: the first use, where only known layouts and those seen before count. */
static void consider(struct state *s, int how, bool fresh, uint64_t uses, uint64_t items)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded layout;
    struct espi_plan_request request = {s->type, &layout, (enum espi_mode)how, check, 1};
    struct espi_plan *plan = NULL;
    uint64_t begun = espi_stats_now(), took;
    espi_status status;

    status = espi_decode(&arena, s->type, NUMBERS_MOST, &layout);
    took = espi_stats_now() - begun;
    espi_count_anywhere(ESPI_COUNT_time_decode, took);
    espi_budget_book(took);
    if (status != ESPI_OK) {
        espi_count_anywhere(status == ESPI_ERR_LIMIT    ? ESPI_COUNT_plan_too_large
                            : status == ESPI_ERR_MEMORY ? ESPI_COUNT_plan_no_memory
                            : status == ESPI_ERR_MPI    ? ESPI_COUNT_plan_mpi_error
                                                        : ESPI_COUNT_plan_unsupported,
                            1);
        settle(s, NULL);
        goto done;
    }
    espi_count_anywhere(ESPI_COUNT_types_decoded, 1);
    plan = espi_plan_find(&layout);
    if (plan != NULL)
        espi_count_anywhere(ESPI_COUNT_types_known, 1);
    if (how == ESPI_MODE_AUTO && fresh) {
        bool seen = plan != NULL || espi_layout_seen(espi_plan_key(&layout));

        espi_kind_tried(s->kind.key, seen);
        if (!seen)
            goto done;
    }
    if (plan == NULL) {
        request.count = uses > 0 ? (int64_t)(items / uses) : 1;
        plan = espi_plan_make(&request);
    }
    if (plan != NULL)
        settle(s, plan);
done:
    espi_arena_release(&arena);
}

/* Whether the state has earned planning; books the uses since the last look with the kind. */
static bool earned(struct state *s, uint64_t uses, uint64_t items)
{
    uint64_t new_uses = uses - s->told, size = (uint64_t)s->kind.size, all_uses, all_bytes, estimate;
    uint64_t bytes = items * size;

    espi_kind_use(s->kind.key, new_uses, uses > 0 ? bytes / uses * new_uses : 0, &all_uses, &all_bytes);
    s->told = uses;
    estimate = espi_budget_estimate(s->kind.numbers, size);
    if (!espi_budget_earned(uses, espi_budget_spent(uses, bytes), estimate) &&
        !(espi_budget_earned(all_uses, espi_budget_spent(all_uses, all_bytes), estimate) &&
          (uses > 1 || espi_kind_hopeful(s->kind.key))))
        return false;
    if (!espi_budget_open(estimate)) {
        espi_count_anywhere(ESPI_COUNT_plan_budget, 1);
        return false;
    }
    return true;
}

/* The slow path of a use, the first, second, fourth, ... */
static __attribute__((noinline)) void look(struct state *s)
{
    uint64_t uses = atomic_load(&s->used.uses), items = atomic_load(&s->used.items);
    int how = atomic_load(&mode);
    struct espi_plan *plan;

    atomic_store(&s->look, uses < NEVER / 2 ? 2 * uses : NEVER);
    if (how == ESPI_MODE_OFF || pthread_mutex_trylock(&planning) != 0)
        return;
    plan = atomic_load(&s->plan);
    if (plan != NULL) {
        note_uses(s, plan);
    } else if (atomic_load(&mode) == how) {
        if (!s->kind_known)
            s->kind_known = espi_kind_ask(s->type, &s->kind);
        if (!s->kind_known)
            settle(s, NULL);
        else if (how == ESPI_MODE_ALWAYS || earned(s, uses, items))
            consider(s, how, uses == 1, uses, items);
    }
    pthread_mutex_unlock(&planning);
    espi_stats_slow_path();
}

MPI_Datatype espi_types_better(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole)
{
    struct espi_stats_thread *stats = espi_mine(thread)->stats;
    struct espi_plan *plan;
    MPI_Datatype better;
    struct state *s;
    uint64_t uses;

    if (atomic_load_explicit(&mode, memory_order_relaxed) == ESPI_MODE_OFF) {
        espi_count(stats, ESPI_COUNT_left_switched_off, 1);
        return type;
    }
    s = look_up(thread, type);
    if (s == NULL) {
        espi_count(stats, ESPI_COUNT_left_unknown_handle, 1);
        return type;
    }
    uses = atomic_load_explicit(&s->used.uses, memory_order_relaxed) + 1;
    atomic_store_explicit(&s->used.uses, uses, memory_order_relaxed);
    espi_bump(&s->used.items, (uint64_t)count);
    if (__builtin_expect(uses >= atomic_load_explicit(&s->look, memory_order_relaxed), 0))
        look(s);
    plan = atomic_load_explicit(&s->plan, memory_order_acquire);
    if (plan == NULL) {
        espi_count(stats, ESPI_COUNT_left_not_earned, 1);
        return type;
    }
    /* A message that fits one part is packed in one go. */
    whole = whole || count <= ESPI_MODEL_PART / (plan->size > 0 ? plan->size : 1);
    better = atomic_load_explicit(&plan->better[whole ? ESPI_WHOLE : ESPI_PARTS], memory_order_acquire);
    if (better == MPI_DATATYPE_NULL) {
        espi_count(stats, ESPI_COUNT_left_not_better, 1);
        if (atomic_load(&plan->better[ESPI_WHOLE]) == MPI_DATATYPE_NULL &&
            atomic_load(&plan->better[ESPI_PARTS]) == MPI_DATATYPE_NULL)
            thread->cached_settled = 1;
        return type;
    }
    espi_count(stats, ESPI_COUNT_bytes_substituted, (uint64_t)count * (uint64_t)plan->size);
    return better;
}

bool espi_types_known(struct espi_thread *thread, MPI_Datatype type)
{
    return look_up(thread, type) != NULL;
}
