/*
 * In the place of src/mpi/typeplan/type_cache.c and what it uses: every committed type gets a substitute that is
 * nothing but a duplicate of it. A core with this shows whether calls with substituted types do, and report, what
 * they do natively, whatever the planning of types thinks worth while. In error texts MPICH names the combiner, so a
 * substitute would show as USER<dup>.
 */
#include "mpi/typeplan/kept_types.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/pack_once.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/unseen.h"

#include <pthread.h>

#include "mpi/selfcopy/recent_pairs.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/core/pmpi.h"
#include "stats/stats.h"

#define SLOTS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    MPI_Datatype type, copy;
} slots[SLOTS];
static int used;

espi_status espi_types_start(const struct espi_settings *settings)
{
    (void)settings;
    return ESPI_OK;
}

bool espi_types_on_credit(void)
{
    return false;
}

static MPI_Datatype take(MPI_Datatype type)
{
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    for (int i = 0; i < used; i++)
        if (slots[i].type == type) {
            copy = slots[i].copy;
            slots[i] = slots[--used];
            break;
        }
    return copy;
}

void espi_types_stop(void)
{
    pthread_mutex_lock(&lock);
    while (used > 0)
        espi_pmpi.Type_free(&slots[--used].copy);
    pthread_mutex_unlock(&lock);
}

MPI_Datatype espi_types_better(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole)
{
    (void)thread;
    (void)count;
    (void)whole;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < used; i++)
        if (slots[i].type == type) {
            type = slots[i].copy;
            break;
        }
    pthread_mutex_unlock(&lock);
    return type;
}

struct espi_way espi_types_way(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole,
                               enum espi_packable use)
{
    (void)use;
    return (struct espi_way){espi_types_better(thread, type, count, whole), NULL};
}

struct espi_way espi_types_blocks_way(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole,
                                      enum espi_packable use, int64_t each, int together)
{
    (void)each, (void)together;
    return espi_types_way(thread, type, count, whole, use);
}

struct espi_plan *espi_exchanged_plan(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count,
                                      int64_t each, bool soon, uint64_t *saved_ps)
{
    (void)stats, (void)type, (void)count, (void)each, (void)soon, (void)saved_ps;
    return NULL;
}

struct espi_arena espi_pack_once_arena(void)
{
    return ESPI_ARENA_INIT;
}

void espi_pack_once_done(struct espi_arena *arena)
{
    espi_arena_release(arena);
}

void espi_pack_once_stop(void)
{
}

const struct espi_pack *espi_pack_once(struct espi_arena *arena, MPI_Datatype type, int64_t count)
{
    (void)arena, (void)type, (void)count;
    return NULL;
}

void espi_exchanged_left(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count)
{
    (void)stats, (void)type, (void)count;
}

void espi_message_others(struct espi_way_question *question, struct espi_comm_facts *facts, int rank)
{
    (void)question, (void)facts, (void)rank;
}

enum espi_message_way espi_message_plan_way(enum espi_way_call call, int64_t bytes)
{
    (void)call, (void)bytes;
    return ESPI_WAY_DENSE;
}

void espi_plan_release_owner(void *plan)
{
    (void)plan;
}

atomic_uint espi_plans_epoch;

void espi_plan_credit(struct espi_plan *plan, int64_t count, enum espi_purpose purpose, bool packs,
                      enum espi_packable use)
{
    (void)plan, (void)count, (void)purpose, (void)packs, (void)use;
}

struct espi_plan_saving espi_plan_saving(const struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                                         bool packs, enum espi_packable use)
{
    (void)plan, (void)count, (void)purpose, (void)packs, (void)use;
    return (struct espi_plan_saving){0, ESPI_SAVED_ALONE};
}

bool espi_plan_packs_runs(struct espi_plan *plan, int64_t count)
{
    (void)plan, (void)count;
    return false;
}

void espi_kept_forbid(void)
{
}

bool espi_kept_is_uncommitted(MPI_Datatype type)
{
    (void)type;
    return false;
}

void espi_kept_never(MPI_Datatype type)
{
    (void)type;
}

MPI_Datatype espi_kept_refused(MPI_Datatype type)
{
    return type;
}

void espi_type_look(struct espi_type_slot *s, MPI_Datatype type, int64_t count, enum espi_packable use)
{
    (void)s, (void)type, (void)count, (void)use;
}

void espi_class_note_new(struct espi_type_slot *slot, enum espi_packable use, bool packs)
{
    (void)slot, (void)use, (void)packs;
}

void espi_plan_begin_round(struct espi_plan *plan)
{
    (void)plan;
}

void espi_message_plan_settle(struct espi_plan *plan, struct espi_type_slot *slot, int64_t count,
                              enum espi_message_calls calls, const struct espi_way_question *question)
{
    (void)plan, (void)slot, (void)count, (void)calls, (void)question;
}

struct espi_plan *espi_plan_hold_at(_Atomic(struct espi_plan *) *place)
{
    (void)place;
    return NULL;
}

bool espi_types_slot_is_tied(const struct espi_type_slot *slot, MPI_Datatype type)
{
    (void)slot, (void)type;
    return false;
}

struct espi_message_plan espi_message_plan(MPI_Datatype type, int64_t count, enum espi_packable use)
{
    (void)type;
    (void)count;
    (void)use;
    return (struct espi_message_plan){.plan = NULL};
}

struct espi_type_slot *espi_message_plan_leaves(MPI_Datatype type, int64_t count, enum espi_message_calls calls,
                                                bool has_turns)
{
    (void)type, (void)count, (void)calls, (void)has_turns;
    return NULL;
}

double espi_pack_run_gain(double engine_ns)
{
    return engine_ns;
}

struct espi_type_slot *espi_message_plan_starts_too_few(MPI_Datatype type, int64_t count)
{
    (void)type, (void)count;
    return NULL;
}

bool espi_message_plan_packs(MPI_Datatype type, int64_t count)
{
    (void)type;
    (void)count;
    return false;
}

void espi_message_plan_packed(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count,
                              enum espi_packable use, const struct espi_message_saving *saved)
{
    (void)stats, (void)found, (void)count, (void)use, (void)saved;
}

void espi_message_plan_typed(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count,
                             MPI_Datatype type, enum espi_packable use, const struct espi_message_saving *saved)
{
    (void)stats, (void)found, (void)count, (void)type, (void)use, (void)saved;
}

void espi_message_plan_own(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count)
{
    (void)stats, (void)found, (void)count;
}

/* So does every collective call. */
struct espi_type_service espi_type_service;

bool espi_blocks_plan(struct espi_blocks_plan *found, MPI_Datatype type, int64_t count, bool whole,
                      enum espi_packable use, int64_t each, int together, bool near)
{
    (void)near, (void)together;
    (void)found;
    (void)type;
    (void)count;
    (void)whole;
    (void)use;
    (void)each;
    return false;
}

void espi_blocks_plan_packed(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count,
                             int64_t bytes, double saved)
{
    (void)stats, (void)found, (void)count, (void)bytes, (void)saved;
}

void espi_blocks_plan_typed(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count,
                            int64_t bytes, MPI_Datatype type, double saved)
{
    (void)stats, (void)found, (void)count, (void)bytes, (void)type, (void)saved;
}

struct espi_plan *espi_blocks_plan_of_other(const struct espi_blocks_plan *found, int64_t count)
{
    (void)found, (void)count;
    return NULL;
}

void espi_blocks_plan_better(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count)
{
    (void)stats, (void)found, (void)count;
}

void espi_blocks_plan_left(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, MPI_Datatype type,
                           int64_t count, uint64_t kind)
{
    (void)stats, (void)found, (void)type, (void)count, (void)kind;
}

bool espi_types_goes_on(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count)
{
    (void)stats, (void)type, (void)count;
    return false;
}

atomic_bool espi_types_worth;

bool espi_types_known(struct espi_thread *thread, MPI_Datatype type)
{
    bool known = false;
    (void)thread;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < used; i++)
        known = known || slots[i].type == type;
    pthread_mutex_unlock(&lock);
    return known;
}

void espi_types_committed(struct espi_thread_state *thread_state, MPI_Datatype type)
{
    MPI_Datatype copy, old;
    (void)thread_state;
    if (espi_pmpi.Type_dup(type, &copy) != MPI_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    old = take(type);
    if (used < SLOTS) {
        slots[used].type = type;
        slots[used++].copy = copy;
    }
    pthread_mutex_unlock(&lock);
    if (old != MPI_DATATYPE_NULL)
        espi_pmpi.Type_free(&old);
}

void espi_types_duped(struct espi_thread_state *thread_state, MPI_Datatype old_type, MPI_Datatype new_type)
{
    bool known;
    pthread_mutex_lock(&lock);
    known = false;
    for (int i = 0; i < used; i++)
        known = known || slots[i].type == old_type;
    pthread_mutex_unlock(&lock);
    if (known)
        espi_types_committed(thread_state, new_type);
}

void espi_types_ending(struct espi_thread_state *thread_state, MPI_Datatype type)
{
    (void)thread_state;
    pthread_mutex_lock(&lock);
    MPI_Datatype copy = take(type);
    pthread_mutex_unlock(&lock);
    if (copy != MPI_DATATYPE_NULL)
        espi_pmpi.Type_free(&copy);
}

/* No reduction is touched. */
const struct espi_elements *espi_elements_of(MPI_Datatype type)
{
    (void)type;
    return NULL;
}

espi_word espi_selfcopy_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                             espi_handler substitute)
{
    return substitute(thread, fn, args, next);
}

bool espi_plan_is_cut(const struct espi_plan *plan, int64_t count, int together)
{
    (void)plan, (void)count, (void)together;
    return false;
}

void espi_selfcopy_stop(void)
{
}

void espi_selfcopy_forget(struct espi_selfcopy_cache *cache)
{
    (void)cache;
}

bool espi_selfcopy_look(struct espi_thread *thread, struct espi_selfcopy_block *block)
{
    (void)thread;
    (void)block;
    return false;
}

void espi_selfcopy_carry_out(struct espi_thread *thread, const struct espi_selfcopy_block *block)
{
    (void)thread;
    (void)block;
}

void espi_selfcopy_called(const struct espi_selfcopy_block *block, uint64_t ns)
{
    (void)block, (void)ns;
}
