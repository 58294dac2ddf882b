/*
 * From handle to state to plan: the lives of types (handle_table.h), and when a type is looked at.
 *
 * Most of it is not done: a commit begins a life, a use counts (type_cache.h), a free ends it, a few nanoseconds
 * each. The first use of a type is looked at only for a sample of the types, to learn which kinds of types are made
 * again and again (class_sample.h). Later uses are looked at when enough were made to have earned planning.
 *
 * What must never serve another type with the same handle, a plan or a view of elements, is tied to the datatype by
 * an attribute, whose delete callback ends the life of the slot if nothing did before. Not so under
 * MPI_THREAD_MULTIPLE: MPICH 4.0.2 gives up its lock around such a callback, and when a type that was freed with a
 * request pending ends inside the progress engine, another thread then enters UCX a second time and the process
 * dies. There lives end before MPI_Type_free alone, and a commit always begins a new one; the attribute has no
 * callback, and each use of what is tied asks whether it is still there (the program may free and commit types in a
 * library that calls MPI past the preload).
 *
 * `planning` is held over MPI calls, but only ever tried, and never in a callback.
 */
#include "mpi/typeplan/type_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "mpi/typeplan/admission.h"
#include "mpi/datatype/decode.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/microbench.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/partial_pack_cost.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/core/pmpi.h"
#include "mpi/reduce/reduce.h"
#include "mpi/typeplan/class_sample.h"

enum { NUMBERS_MOST = 1 << 22 }; /* counts and displacements of a type that is decoded */

struct espi_type_detail {
    MPI_Datatype type;
    struct espi_class_facts kind;
    uint64_t weight;                  /* types that this one of the sample stands for */
    uint64_t told;                    /* uses that the kind was told of */
    uint64_t noted_uses, noted_items; /* those that the plan's record has */
};

static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;
static atomic_int mode = ESPI_MODE_OFF; /* OFF also before start and after stop */
static atomic_bool registering;         /* types are registered; also where only reductions want to know them */
static int key = MPI_KEYVAL_INVALID;
static bool check, attributes, started_before;

/* Adds to the plan's record what was counted here since the last time. */
static void note_uses(struct espi_type_slot *s, struct espi_plan *plan)
{
    struct espi_type_detail *d = s->detail;
    uint64_t uses = atomic_load_explicit(&s->uses, memory_order_relaxed) - d->noted_uses;
    uint64_t items = atomic_load_explicit(&s->items, memory_order_relaxed) - d->noted_items;

    d->noted_uses += uses;
    d->noted_items += items;
    atomic_fetch_add_explicit(&plan->record->uses, uses, memory_order_relaxed);
    atomic_fetch_add_explicit(&plan->record->elements, items, memory_order_relaxed);
    atomic_fetch_add_explicit(&plan->record->bytes, items * (uint64_t)plan->size, memory_order_relaxed);
    espi_admission_gain(uses * plan->gain_ns);
}

/* Tells the kind of the uses since the last time, as those of all types that this one stands for. */
static void tell_kind(const struct espi_type_slot *s, uint64_t *all_uses, uint64_t *all_bytes)
{
    struct espi_type_detail *d = s->detail;
    uint64_t uses = atomic_load_explicit(&s->uses, memory_order_relaxed), fresh = uses - d->told;
    uint64_t bytes = atomic_load_explicit(&s->items, memory_order_relaxed) * (uint64_t)d->kind.size;

    espi_class_use(d->kind.key, d->told == 0 ? d->weight : 0, fresh * d->weight,
                   uses > 0 ? bytes / uses * fresh * d->weight : 0, all_uses, all_bytes);
    d->told = uses;
}

/* Ends the life of a slot that was known; the caller has taken `known` back. */
static void end(struct espi_type_slot *s)
{
    struct espi_plan *plan = atomic_load_explicit(&s->plan, memory_order_relaxed);
    struct espi_elements *elements = atomic_load_explicit(&s->elements, memory_order_relaxed);
    struct espi_type_detail *d = s->detail;
    uint64_t uses, bytes;

    if (d == NULL && elements == NULL)
        return; /* and no plan without a look */
    atomic_store_explicit(&s->plan, NULL, memory_order_relaxed);
    atomic_store_explicit(&s->elements, NULL, memory_order_relaxed);
    if (plan != NULL) {
        note_uses(s, plan);
        espi_plan_release(plan);
    }
    if (d != NULL && d->told > 0)
        tell_kind(s, &uses, &bytes);
    free(elements);
    free(d);
    s->detail = NULL;
}

/* The attribute's delete callback; its value is the life. */
static int type_ends(MPI_Datatype type, int keyval, void *value, void *extra)
{
    struct espi_type_slot *s = espi_slot_of(type);

    (void)keyval;
    (void)extra;
    if (s != NULL && atomic_load(&s->life) == (unsigned)(uintptr_t)value && espi_slot_end(s, type)) {
        end(s);
        espi_count_anywhere(ESPI_COUNT_types_ended, 1);
    }
    return MPI_SUCCESS;
}

/* From here on what the slot holds ends with the datatype, if not before. */
static bool tie(struct espi_type_slot *s, MPI_Datatype type)
{
    if (s->tied)
        return true;
    /* Most processes tie no type. Without MPI_THREAD_MULTIPLE nobody else comes here meanwhile. */
    if (key == MPI_KEYVAL_INVALID &&
        espi_pmpi.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_ends, &key, NULL) != MPI_SUCCESS)
        return false;
    s->tied = espi_pmpi.Type_set_attr(type, key, (void *)(uintptr_t)atomic_load(&s->life)) == MPI_SUCCESS;
    return s->tied;
}

/* Whether the handle still is the type that was tied. */
static bool is_tied(const struct espi_type_slot *s, MPI_Datatype type)
{
    void *value = NULL;
    int flag = 0;

    return attributes || (espi_pmpi.Type_get_attr(type, key, &value, &flag) == MPI_SUCCESS && flag &&
                          (unsigned)(uintptr_t)value == atomic_load(&s->life));
}

bool espi_types_fresh(void)
{
    int how = atomic_load_explicit(&mode, memory_order_relaxed);

    return attributes && atomic_load_explicit(&registering, memory_order_relaxed) &&
           (how == ESPI_MODE_AUTO || how == ESPI_MODE_OFF);
}

espi_status espi_types_start(const struct espi_settings *settings)
{
    int level = MPI_THREAD_MULTIPLE;

    attributes = espi_pmpi.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
    if (started_before)
        espi_handle_table_forget();
    for (uint32_t at = 0; at < ESPI_PAIR_TYPES; at++) /* no life begins there, nothing is granted */
        atomic_store_explicit(&espi_hot->bytes[at], 1, memory_order_relaxed);
    started_before = true;
    check = settings->check;
    if (!attributes && key == MPI_KEYVAL_INVALID &&
        espi_pmpi.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL) != MPI_SUCCESS)
        return ESPI_ERR_MPI;
    espi_admission_start(settings->budget_ms);
    espi_classes_reset();
    espi_microbench_start();
    espi_class_sample_reset();
    atomic_store(&mode, settings->datatypes);
    atomic_store(&registering, true);
    return ESPI_OK;
}

static void forget(struct espi_type_slot *s, MPI_Datatype type)
{
    if (espi_slot_end(s, type))
        end(s);
}

void espi_types_stop(void)
{
    atomic_store(&mode, ESPI_MODE_OFF);
    if (!atomic_exchange(&registering, false))
        return;
    pthread_mutex_lock(&planning);
    /* Types that outlive us are not known any more; what MPI tells of their end goes unheard. */
    espi_handle_table_each(forget);
    espi_class_sample_recall();
    espi_plans_stop();
    espi_microbench_stop();
    if (key != MPI_KEYVAL_INVALID)
        espi_pmpi.Type_free_keyval(&key);
    pthread_mutex_unlock(&planning);
}

/* The use at which a type whose life begins is looked at first. */
static uint64_t first_look(void)
{
    int how = atomic_load_explicit(&mode, memory_order_relaxed);

    if (how == ESPI_MODE_OFF && attributes)
        espi_class_sample_none();
    return how == ESPI_MODE_AUTO ? espi_class_sample_next(attributes) : how == ESPI_MODE_OFF ? ESPI_LOOK_FIRST : 1;
}

static void begin(struct espi_thread_state *mine, MPI_Datatype type)
{
    struct espi_type_slot *s = espi_slot_room(type);

    if (__builtin_expect(s == NULL, 0))
        return;
    if (espi_slot_of(type) != NULL) {
        if (attributes)
            return; /* committed again */
        forget(s, type); /* whatever it was, this is another life of the handle */
    }
    espi_slot_begin(s, type, 0, first_look());
    espi_slot_grant(type);
    espi_count(mine->stats, ESPI_COUNT_types_registered, 1);
}

void espi_types_committed(struct espi_thread_state *mine, MPI_Datatype type)
{
    if (atomic_load_explicit(&registering, memory_order_relaxed))
        begin(mine, type);
}

void espi_types_duped(struct espi_thread_state *mine, MPI_Datatype old_type, MPI_Datatype new_type)
{
    if (atomic_load_explicit(&registering, memory_order_relaxed) && espi_slot_of(old_type) != NULL)
        begin(mine, new_type);
}

void espi_types_ending(struct espi_thread_state *mine, MPI_Datatype type)
{
    struct espi_type_slot *s = espi_slot_of(type);

    if (s == NULL || !espi_slot_end(s, type))
        return;
    if (s->detail != NULL || atomic_load_explicit(&s->elements, memory_order_relaxed) != NULL)
        end(s);
    if (mine != NULL)
        espi_count(mine->stats, ESPI_COUNT_types_ended, 1);
}

const struct espi_elements *espi_elements_of(MPI_Datatype type)
{
    struct espi_type_slot *s;
    struct espi_elements *view, *other = NULL;

    if (!atomic_load_explicit(&registering, memory_order_relaxed) || (s = espi_slot_of(type)) == NULL)
        return NULL;
    view = atomic_load_explicit(&s->elements, memory_order_acquire);
    if (view != NULL && !is_tied(s, type))
        return NULL;
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
        if (!tie(s, type))
            return NULL;
    }
    return view->base != MPI_DATATYPE_NULL ? view : NULL;
}

/* With a plan the next looks only keep its record current. */
static void settle(struct espi_type_slot *s, struct espi_plan *plan)
{
    if (plan == NULL || !tie(s, s->detail->type)) {
        if (plan != NULL)
            espi_plan_release(plan);
        atomic_store(&s->look, ESPI_NEVER);
        return;
    }
    atomic_store_explicit(&s->plan, plan, memory_order_release);
    atomic_store(&s->settled, atomic_load(&plan->better[ESPI_WHOLE]) == MPI_DATATYPE_NULL &&
                                  atomic_load(&plan->better[ESPI_PARTS]) == MPI_DATATYPE_NULL);
    if (plan->gain_ns > 0)
        espi_class_sample_heat();
}

/* Decodes and finds or makes the plan. `fresh`: the first use, where only known layouts and those seen before
   count. */
static void consider(struct espi_type_slot *s, int how, bool fresh, uint64_t uses, uint64_t items)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded layout;
    struct espi_type_detail *d = s->detail;
    struct espi_plan_request request = {d->type, &layout, (enum espi_mode)how, check, 1};
    struct espi_plan *plan = NULL;
    uint64_t begun = espi_stats_now(), took;
    espi_status status;

    status = espi_decode(&arena, d->type, NUMBERS_MOST, &layout);
    took = espi_stats_now() - begun;
    espi_count_anywhere(ESPI_COUNT_time_decode, took);
    espi_admission_book(took);
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
        espi_class_tried(d->kind.key, took, plan == NULL ? 0 : plan->gain_ns);
        if (plan == NULL || plan->gain_ns == 0)
            espi_admission_idle(took);
        if (plan == NULL && (!espi_layout_seen(espi_plan_key(&layout)) ||
                             !espi_admission_open(espi_admission_estimate(d->kind.numbers, (uint64_t)d->kind.size))))
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

/* Whether the first use shows that the type's kind has earned a look at its layout. */
static bool kind_earned(struct espi_type_slot *s, uint64_t estimate)
{
    uint64_t uses, bytes;

    tell_kind(s, &uses, &bytes);
    return espi_admission_earned(uses, espi_admission_spent(uses, bytes, s->detail->kind.dense), estimate) &&
           espi_class_hopeful(s->detail->kind.key) &&
           espi_admission_open(espi_admission_decode(s->detail->kind.numbers));
}

/* Whether the type has earned planning by itself. If not, sets the number of uses that it takes. */
static bool type_earned(struct espi_type_slot *s, uint64_t uses, uint64_t items, uint64_t estimate)
{
    const struct espi_class_facts *kind = &s->detail->kind;
    uint64_t spent = espi_admission_spent(uses, items * (uint64_t)kind->size, kind->dense), all_uses, all_bytes;

    if (!espi_admission_earned(uses, spent, estimate)) {
        uint64_t needed = espi_admission_uses(spent / uses, estimate);

        if (needed > 2 * uses)
            atomic_store(&s->look, needed);
        return false;
    }
    tell_kind(s, &all_uses, &all_bytes);
    if (!espi_admission_open(estimate)) {
        espi_count_anywhere(ESPI_COUNT_plan_budget, 1);
        return false;
    }
    return true;
}

static struct espi_type_detail *detail_of(struct espi_type_slot *s, MPI_Datatype type, uint64_t uses)
{
    struct espi_type_detail *d = s->detail;

    if (d != NULL)
        return d;
    d = calloc(1, sizeof *d);
    if (d == NULL || !espi_class_of(type, &d->kind)) {
        free(d);
        return NULL;
    }
    d->type = type;
    d->weight = uses == 1 ? espi_class_sample_weight() : 1;
    s->detail = d;
    return d;
}

/* The slow path of a use: the first (perhaps), the eighth, and when the number of uses has doubled or is what
   planning takes. */
static __attribute__((noinline)) void look(struct espi_type_slot *s, MPI_Datatype type)
{
    uint64_t uses = atomic_load(&s->uses), items = atomic_load(&s->items), estimate;
    int how = atomic_load(&mode);
    struct espi_plan *plan;

    atomic_store(&s->look, uses < ESPI_LOOK_FIRST / 2 ? ESPI_LOOK_FIRST
                           : uses < ESPI_NEVER / 2    ? 2 * uses
                                                      : ESPI_NEVER);
    if (how == ESPI_MODE_OFF || pthread_mutex_trylock(&planning) != 0)
        return;
    plan = atomic_load(&s->plan);
    if (plan != NULL) {
        note_uses(s, plan);
    } else if (atomic_load(&mode) == how) {
        struct espi_type_detail *d = detail_of(s, type, uses);

        estimate = d == NULL ? 0 : espi_admission_estimate(d->kind.numbers, (uint64_t)d->kind.size);
        if (d == NULL)
            settle(s, NULL);
        else if (how == ESPI_MODE_ALWAYS)
            consider(s, how, false, uses, items);
        else if (uses < ESPI_LOOK_FIRST ? kind_earned(s, estimate) : type_earned(s, uses, items, estimate))
            consider(s, how, uses < ESPI_LOOK_FIRST, uses, items);
        if (uses == 1)
            espi_class_sample_cool();
    }
    pthread_mutex_unlock(&planning);
    espi_stats_slow_path();
}

MPI_Datatype espi_types_better(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole)
{
    struct espi_stats_thread *stats = espi_thread_state(thread)->stats;
    struct espi_type_slot *s;
    struct espi_plan *plan;
    MPI_Datatype better;
    uint64_t uses;

    if (atomic_load_explicit(&mode, memory_order_relaxed) == ESPI_MODE_OFF) {
        espi_count(stats, ESPI_COUNT_left_switched_off, 1);
        return type;
    }
    s = espi_slot_of(type);
    if (s == NULL) {
        espi_count(stats, ESPI_COUNT_left_unknown_handle, 1);
        return type;
    }
    uses = atomic_load_explicit(&s->uses, memory_order_relaxed) + 1;
    atomic_store_explicit(&s->uses, uses, memory_order_relaxed);
    espi_bump(&s->items, (uint64_t)count);
    if (__builtin_expect(uses >= atomic_load_explicit(&s->look, memory_order_relaxed), 0))
        look(s, type);
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
        return type;
    }
    if (__builtin_expect(!is_tied(s, type), 0)) {
        espi_count(stats, ESPI_COUNT_left_unknown_handle, 1);
        return type;
    }
    espi_count(stats, ESPI_COUNT_bytes_substituted, (uint64_t)count * (uint64_t)plan->size);
    return better;
}

bool espi_types_known(struct espi_thread *thread, MPI_Datatype type)
{
    (void)thread;
    return espi_slot_of(type) != NULL;
}

bool espi_types_tie(MPI_Datatype type)
{
    struct espi_type_slot *s = espi_slot_of(type);

    return s != NULL && tie(s, type);
}

bool espi_types_is_tied(MPI_Datatype type)
{
    struct espi_type_slot *s = attributes ? NULL : espi_slot_of(type);

    return s == NULL || is_tied(s, type);
}
