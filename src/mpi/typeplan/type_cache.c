/*
 * From handle to state to plan: the generations of types (handle_table.h), and when a type is looked at.
 *
 * Most of it is not done. When a type is made, its class (type_class.h) says how many uses need no look at all, and
 * these are made on credit, without the core. A look comes
 *   - at the second use of a class of which nothing is known: MPI is asked for size and extent;
 *   - when the uses of all types of the class have earned the first tier of planning (admission.h): the type is read
 *     back, and its plan is found by its layout, or made;
 *   - where types of the class have a better form, and this one's uses are going to save more than the look takes,
 *     which mostly recognizes a type made like the last one: then its plan is tied to the handle;
 *   - when the uses have earned the second tier.
 *
 * What must never serve another type with the same handle, a plan or a view of elements, is tied to the datatype by
 * an attribute, whose delete callback ends the generation of the slot if nothing did before. Not so under
 * MPI_THREAD_MULTIPLE: MPICH 4.0.2 gives up its lock around such a callback, and when a type that was freed with a
 * request pending ends inside the progress engine, another thread then enters UCX a second time and the process
 * dies. There generations end before MPI_Type_free alone, and a commit begins a new one unless it may be of the same
 * type once more; the attribute has no callback, and each use of what is tied asks whether it is still there (the
 * program may free and commit types in a library that calls MPI past the preload).
 *
 * `planning` is held over MPI calls, but only ever tried, and never in a callback. `telling` guards the classes where
 * calls may overlap, and is never held over one. What a use goes by is in type_way.c. */
#include "mpi/typeplan/type_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "job/nodes.h"
#include "kept.h"
#include "mpi/comm/self_comm.h"
#include "mpi/comm/world.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/element_view.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/core_distance.h"
#include "mpi/packed/stream_type.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/kept_types.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/tiers.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/unseen.h"

struct espi_type_service espi_type_service = {.planning = PTHREAD_MUTEX_INITIALIZER, .mode = ESPI_MODE_OFF};

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool registering;         /* types are registered; also where only reductions want to know them */
static int key = MPI_KEYVAL_INVALID;
static bool started_before;

void espi_types_lock_classes(void)
{
    if (!espi_type_service.attributes)
        pthread_mutex_lock(&telling);
}

void espi_types_unlock_classes(void)
{
    if (!espi_type_service.attributes)
        pthread_mutex_unlock(&telling);
}

struct espi_untold espi_types_tell(struct espi_type_slot *s)
{
    const bool planned = atomic_load_explicit(&s->plan, memory_order_relaxed) != NULL;
    struct espi_type_class *class = espi_slot_class(s);
    const struct espi_untold u = {atomic_load_explicit(&s->uses, memory_order_relaxed),
                             atomic_load_explicit(&s->items, memory_order_relaxed)};

    atomic_store_explicit(&s->uses, 0, memory_order_relaxed);
    atomic_store_explicit(&s->items, 0, memory_order_relaxed);
    s->made += (uint32_t)u.uses;
    if (class != NULL) {
        class->uses += u.uses;
        class->items += u.items;
        if (planned)
            espi_admission_gain(u.uses * class->gain_ns);
    }
    return u;
}

void espi_types_record(const struct espi_type_slot *s, struct espi_untold u)
{
    const struct espi_plan *plan = atomic_load_explicit(&s->plan, memory_order_relaxed);
    const struct espi_type_class *class = espi_slot_class(s);
    struct espi_stats_type *of = plan != NULL ? plan->record : class != NULL ? class->record : NULL;
    int64_t size = plan != NULL ? plan->size : class != NULL ? class->size : 0;

    if (of == NULL || u.uses == 0)
        return;
    espi_add_u64(&of->uses, u.uses);
    espi_add_u64(&of->elements, u.items);
    espi_add_u64(&of->bytes, u.items * (uint64_t)size);
}

/* Ends the generation of a slot that was known; the caller has taken `known` back. */
static void end(struct espi_type_slot *s)
{
    struct espi_plan *plan = atomic_load_explicit(&s->plan, memory_order_relaxed);
    struct espi_elements *elements = atomic_load_explicit(&s->elements, memory_order_relaxed);

    if (espi_slot_class(s) != NULL) {
        espi_types_lock_classes();
        if (plan != NULL)
            espi_tiers_saved(espi_slot_class(s), atomic_load_explicit(&plan->saved_ns, memory_order_relaxed));
        espi_types_record(s, espi_types_tell(s));
        espi_tiers_ended(espi_slot_class(s), s->made);
        espi_class_leave(espi_slot_class(s));
        espi_types_unlock_classes();
    }
    s->how = 0;
    if (plan == NULL && elements == NULL)
        return;
    atomic_store_explicit(&s->plan, NULL, memory_order_relaxed);
    atomic_store_explicit(&s->elements, NULL, memory_order_relaxed);
    if (plan != NULL)
        espi_plan_release(plan);
    free(elements);
}

/* The attribute's delete callback; its value is the generation. */
static int type_ends(MPI_Datatype type, int keyval, void *value, void *extra)
{
    struct espi_type_slot *s = espi_slot_of_any(type);
    const bool counted = espi_slot_of(type) == NULL; /* the stub has seen its end */

    (void)keyval;
    (void)extra;
    if (s != NULL && atomic_load(&s->generation) == (unsigned)(uintptr_t)value && espi_slot_end(s, type)) {
        end(s);
        if (!counted)
            espi_unseen_type_ends();
        espi_count_anywhere(ESPI_COUNT_types_ended, !counted);
    }
    return MPI_SUCCESS;
}

/* From here on what the slot holds ends with the datatype, if not before. */
bool espi_types_tie_slot(struct espi_type_slot *s, MPI_Datatype type)
{
    if (s->tied)
        return true;
    s->tied = espi_pmpi.Type_set_attr(type, key, (void *)(uintptr_t)atomic_load(&s->generation)) == MPI_SUCCESS;
    return s->tied;
}

bool espi_types_slot_is_tied(const struct espi_type_slot *s, MPI_Datatype type)
{
    void *value = NULL;
    int flag = 0;

    return espi_type_service.attributes ||
           (espi_pmpi.Type_get_attr(type, key, &value, &flag) == MPI_SUCCESS && flag &&
            (unsigned)(uintptr_t)value == atomic_load(&s->generation));
}

bool espi_types_on_credit(void)
{
    return espi_type_service.attributes && atomic_load_explicit(&registering, memory_order_relaxed);
}

/* The program is to have all low handles. Beside other threads, or inside of a call, these may be in use. */
static void give_types_back(bool inside)
{
    if (espi_type_service.attributes)
        espi_kept_stop();
    if (inside)
        return;
    atomic_store(&espi_hot->crowded, NULL);
    if (espi_own_types_close() && espi_type_service.attributes)
        espi_plans_give_types_back();
}

espi_status espi_types_start(const struct espi_settings *settings)
{
    int level = MPI_THREAD_MULTIPLE;

    espi_type_service.attributes = espi_pmpi.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
    espi_handle_table_lends = espi_type_service.attributes;
    if (!espi_type_service.attributes)
        espi_self_start(); /* now or never: other threads may call MPI from now on */
    if (started_before)
        espi_handle_table_forget();
    started_before = true;
    espi_type_service.check = settings->check;
    espi_type_service.silent = !espi_settings_tell(settings);
    espi_type_service.told = !espi_type_service.silent && settings->pack == ESPI_MODE_AUTO;
    espi_type_service.packing = (enum espi_mode)settings->pack;
    espi_type_service.one_node = espi_world.open && espi_job_on_one_node(espi_world.size);
    /* Now, as its number has to be below all of the program's: on a type with an attribute of a greater key than the
       one that is set MPICH 4.0.2 does not find that one, and sets it twice. (Of kept types, too.) */
    if (key == MPI_KEYVAL_INVALID &&
        espi_pmpi.Type_create_keyval(MPI_TYPE_NULL_COPY_FN,
                                     espi_type_service.attributes ? type_ends : MPI_TYPE_NULL_DELETE_FN, &key,
                                     NULL) != MPI_SUCCESS)
        return ESPI_ERR_MPI;
    espi_unseen_reset();
    espi_own_types_open(espi_type_service.attributes);
    espi_stream_types_open();
    espi_ways_start(true);
    espi_core_distance_forget();
    espi_admission_start(settings->budget_ms);
    espi_admission_number_ns = settings->pack == ESPI_MODE_OFF ? ESPI_NUMBER_NS : ESPI_NUMBER_PACKED_NS;
    espi_classes_reset();
    atomic_store(&espi_hot->crowded, espi_type_service.attributes ? give_types_back : NULL);
    if (espi_type_service.attributes && settings->keep_types != ESPI_MODE_OFF &&
        settings->datatypes != ESPI_MODE_OFF)
        espi_kept_start();
    atomic_store(&espi_type_service.mode, settings->datatypes);
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
    atomic_store(&espi_type_service.mode, ESPI_MODE_OFF);
    if (!atomic_exchange(&registering, false))
        return;
    espi_lock(&espi_type_service.planning);
    espi_kept_stop();
    atomic_store(&espi_hot->crowded, NULL);
    /* Types that outlive us are not known any more; what MPI tells of their end goes unheard. */
    espi_handle_table_each(forget);
    espi_plans_stop();
    if (key != MPI_KEYVAL_INVALID)
        espi_pmpi.Type_free_keyval(&key);
    espi_unlock(&espi_type_service.planning);
}

/* ---- generations ---- */

static void begin(MPI_Datatype type)
{
    struct espi_type_slot *s = espi_slot_room(type);
    int how = espi_types_mode();
    uint64_t hint = how == ESPI_MODE_OFF ? 0 : espi_hint_of_type(type), look;

    if (__builtin_expect(s == NULL, 0))
        return;
    if (__builtin_expect(hint % 2 == 0, 0))
        hint = 0; /* it passed unseen, and was freed where we did not see it */
    if (atomic_load_explicit(&s->known, memory_order_acquire))
        forget(s, type); /* it was freed where we did not see it */
    espi_types_lock_classes();
    struct espi_type_class *class = hint != 0 && espi_class_seen(hint) ? espi_class_enter(hint) : NULL;
    s->how = class != NULL ? (uint64_t)(uintptr_t)class : hint;
    look = espi_tiers_next_look(class, how, 0, false);
    const enum espi_settled settled = class == NULL                         ? ESPI_NOT_SETTLED
                                      : class->state == ESPI_CLASS_REFUSED ? ESPI_SETTLED_UNPLANNED
                                      : how == ESPI_MODE_AUTO && class->state == ESPI_CLASS_PLAIN
                                          ? ESPI_SETTLED_BEST
                                          : ESPI_NOT_SETTLED;
    const bool own = class != NULL && class->own;
    espi_types_unlock_classes();
    espi_unseen_watch(class, look, espi_type_service.attributes && espi_types_mode() != ESPI_MODE_ALWAYS);
    espi_slot_begin(s, type, (struct espi_slot_start){look, settled, own ? ESPI_PAIRED_SEEN : 0});
}

/* A type that is to pass unseen may have the handle of one that the stub has seen freed, and the core not. False: it
   is not to. */
static bool begin_unseen(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);
    const int may = atomic_load_explicit(&espi_hot->unseen, memory_order_relaxed);
    struct espi_type_slot *s;

    if (may <= 0 || at >= ESPI_CREDITS || !espi_type_service.attributes || espi_hint_of_type(type) != 0)
        return false;
    if ((s = espi_slot_of_any(type)) != NULL)
        forget(s, type);
    atomic_store_explicit(&espi_hot->unseen, may - 1, memory_order_relaxed);
    espi_passes_unseen_at(espi_hot, at);
    return true;
}

struct espi_type_slot *espi_types_awake(MPI_Datatype type)
{
    struct espi_type_slot *s = espi_slot_of(type);

    if (s != NULL || !espi_is_unseen(type) || !atomic_load_explicit(&registering, memory_order_relaxed))
        return s;
    atomic_store_explicit(&espi_hot->types[espi_credit_at((uint32_t)type)].hint, 0, memory_order_relaxed);
    begin(type);
    return espi_slot_of(type);
}

/* Whether the type was committed before, which is no news: another thread may use it meanwhile. Where the end of a
   type may pass unheard the handle may stand for another one by now. Then nothing is known that does harm, as long as
   nothing hangs on it by an attribute: of a class there are types that differ, anyway. */
static bool is_committed_again(MPI_Datatype type)
{
    const atomic_uchar *credit = espi_slot_credit(type);
    const unsigned char byte = credit != NULL ? atomic_load_explicit(credit, memory_order_relaxed) : 0;
    const struct espi_type_slot *s;

    if (byte == 0 || byte >= ESPI_CREDIT_ENDED)
        return false;
    return espi_type_service.attributes ||
           ((s = espi_slot_of(type)) != NULL && (!s->tied || espi_types_slot_is_tied(s, type)));
}

static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER; /* of types, where calls may overlap */

/* Not while a thread begins a type. */
static unsigned generation_of(const struct espi_type_slot *slot)
{
    pthread_mutex_lock(&beginning);
    const unsigned generation = atomic_load(&slot->generation);
    pthread_mutex_unlock(&beginning);
    return generation;
}

/* Begins a type that was committed, unless another thread has done so since then. */
static bool begin_first(struct espi_type_slot *slot, unsigned generation, MPI_Datatype type)
{
    bool first;

    pthread_mutex_lock(&beginning);
    first = atomic_load(&slot->generation) == generation;
    if (first)
        begin(type);
    pthread_mutex_unlock(&beginning);
    return first;
}

void espi_types_committed(struct espi_thread_state *thread_state, MPI_Datatype type)
{
    if (!atomic_load_explicit(&registering, memory_order_relaxed))
        return;
    struct espi_type_slot *slot = espi_type_service.attributes ? NULL : espi_slot_room(type);
    const unsigned generation = slot != NULL ? generation_of(slot) : 0;
    if (is_committed_again(type))
        return;
    if (espi_own_types_is_high(type))
        give_types_back(false);
    if (espi_hint_of_type(type) == ESPI_HINT_KEPT) /* by the handle of one that it has freed */
        return;
    if (espi_kept_commits(type)) /* counted, and it never ended */
        return;
    if (slot != NULL && !begin_first(slot, generation, type))
        return;
    if (slot == NULL && !begin_unseen(type))
        begin(type);
    espi_count(thread_state->stats, ESPI_COUNT_types_registered, 1);
}

void espi_types_duped(struct espi_thread_state *thread_state, MPI_Datatype old_type, MPI_Datatype new_type)
{
    const uint32_t at = espi_credit_at((uint32_t)new_type);

    if (!atomic_load_explicit(&registering, memory_order_relaxed) || espi_types_awake(old_type) == NULL)
        return;
    if (at < ESPI_CREDITS)
        atomic_store_explicit(&espi_hot->types[at].hint, espi_hint_of_type(old_type), memory_order_relaxed);
    begin(new_type);
    espi_count(thread_state->stats, ESPI_COUNT_types_registered, 1);
}

void espi_types_ending(struct espi_thread_state *thread_state, MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);
    struct espi_type_slot *s = espi_slot_of_any(type);
    bool counted; /* by the stub */

    if (at < ESPI_CREDITS && espi_unshare(&espi_hot->types[at]))
        return;
    if (espi_is_unseen(type)) {
        atomic_store_explicit(&espi_hot->types[at].credit, 0, memory_order_relaxed);
        espi_unseen_type_ends();
        if (thread_state != NULL)
            espi_count(thread_state->stats, ESPI_COUNT_types_ended, 1);
    }
    if (at < ESPI_CREDITS) {
        espi_kept_is_not_given(espi_hot, &espi_hot->types[at]);
        atomic_store_explicit(&espi_hot->types[at].hint, 0, memory_order_relaxed);
    }
    if (s == NULL)
        return;
    counted = atomic_load_explicit(espi_slot_credit(type), memory_order_relaxed) >= ESPI_CREDIT_ENDED;
    if (!espi_slot_end(s, type))
        return;
    end(s);
    if (counted)
        return;
    espi_unseen_type_ends();
    if (thread_state != NULL)
        espi_count(thread_state->stats, ESPI_COUNT_types_ended, 1);
}

const struct espi_elements *espi_elements_of(MPI_Datatype type)
{
    struct espi_type_slot *s;
    struct espi_elements *view, *other = NULL;
    if (!atomic_load_explicit(&registering, memory_order_relaxed) || (s = espi_types_awake(type)) == NULL)
        return NULL;
    view = atomic_load_explicit(&s->elements, memory_order_acquire);
    if (view != NULL && !espi_types_slot_is_tied(s, type))
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
        if (!espi_types_tie_slot(s, type)) {
            if (espi_type_service.attributes) { /* else another thread may have it */
                atomic_store(&s->elements, NULL);
                free(view);
            }
            return NULL;
        }
    }
    return view->base != MPI_DATATYPE_NULL ? view : NULL;
}

bool espi_types_known(struct espi_thread *thread, MPI_Datatype type)
{
    (void)thread;
    return espi_slot_of(type) != NULL || espi_is_unseen(type);
}

bool espi_types_tie(MPI_Datatype type)
{
    struct espi_type_slot *s = espi_slot_of(type);

    return s != NULL && espi_types_tie_slot(s, type);
}

bool espi_types_is_tied(MPI_Datatype type)
{
    struct espi_type_slot *s = espi_type_service.attributes ? NULL : espi_slot_of(type);

    return s == NULL || espi_types_slot_is_tied(s, type);
}
