/*
 * From MPI_Init to the end of MPI. MPI_Finalize is not wrapped: the end is the delete callback of an attribute on
 * MPI_COMM_SELF, which MPI calls first thing in it, whatever language called. Without MPI_COMM_WORLD (sessions only)
 * the end is the last MPI_Session_finalize.
 */
#include "mpi/entry/lifecycle.h"

#include <pthread.h>

#include "base/buffer_pool.h"
#include "base/log.h"
#include "base/overlap.h"
#include "base/own_heap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/device_memory.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/exchange/exchange.h"
#include "mpi/gather/comm_state.h"
#include "mpi/core/array_pool.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/core/pmpi.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/packed/stream_type.h"
#include "mpi/packed/trial_numbers.h"
#include "mpi/reduce/reduce.h"
#include "mpi/comm/self_comm.h"
#include "mpi/typeplan/kept_types.h"
#include "mpi/core/handle_table.h"
#include "mpi/calls/late_credit.h"
#include "mpi/calls/repeated.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/comm/world.h"
#include "stats/stats.h"
#include "words.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and starting and stopping */
static bool world_begun;  /* and not yet ended */
static bool world_ended;  /* MPI_COMM_WORLD comes only once */
static int sessions;
static atomic_bool had_session; /* perhaps one that MPI refused */

/* Elements of a reduction that are never too many to leave it to MPI. */
static uint64_t reduce_most(void)
{
    if (atomic_load(&espi_world.all_present) == ESPI_ALL_PRESENT_NO)
        return INT32_MAX;
    return (uint64_t)espi_reduce_never_large(espi_world.size > 0 ? espi_world.size : 1);
}

/* The stub has made the call, and counted it. */
static void type_was_committed(struct espi_thread *thread, uint32_t type)
{
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    if (thread_state && !espi_is_predefined(type))
        espi_types_committed(thread_state, (MPI_Datatype)type);
}

static bool has_requests(void)
{
    return atomic_load(&espi_reduce_requests) != 0 || atomic_load(&espi_packed_requests) != 0;
}

/* Which calls the stub may see to by itself. */
static void set_plain(bool running)
{
    int level = MPI_THREAD_MULTIPLE;

    if (!running) {
        espi_handle_table_plain(0, 0, NULL);
        return;
    }
    bool serial = espi_pmpi.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
    espi_calls_overlap = !serial || atomic_load(&had_session);
    unsigned flags = serial ? ESPI_PLAIN : ESPI_PLAIN_THREADS;

    if (!espi_world.trees)
        flags |= serial ? ESPI_PLAIN_TREE : ESPI_PLAIN_TREE_THREADS;
    if (!espi_exchange_is_on)
        flags |= serial ? ESPI_PLAIN_EXCHANGE : ESPI_PLAIN_EXCHANGE_THREADS;
    if (serial && espi_types_on_credit())
        flags |= ESPI_PLAIN_TYPES;
    flags |= ESPI_PLAIN_REQUESTS;
    atomic_store_explicit(&espi_hot->reduce_most, reduce_most(), memory_order_relaxed);
    atomic_store_explicit(&espi_hot->committed, type_was_committed, memory_order_relaxed);
    espi_handle_table_plain(0, flags, has_requests);
}

void espi_requests_go_back(void)
{
    if (atomic_load_explicit(&espi_running, memory_order_acquire))
        espi_handle_table_plain(~0u, ESPI_PLAIN_REQUESTS, has_requests);
}

void espi_stub_counts(uint64_t *counter, uint64_t *calls)
{
    uint64_t on_credit = atomic_load_explicit(&espi_hot->on_credit, memory_order_relaxed);
    uint64_t passed = atomic_load_explicit(&espi_hot->passed, memory_order_relaxed);
    uint64_t best = atomic_load_explicit(&espi_handle_table_settled[ESPI_SETTLED_BEST], memory_order_relaxed);
    uint64_t unplanned =
        atomic_load_explicit(&espi_handle_table_settled[ESPI_SETTLED_UNPLANNED], memory_order_relaxed);

    counter[ESPI_COUNT_types_registered] += atomic_load_explicit(&espi_hot->commits, memory_order_relaxed);
    counter[ESPI_COUNT_types_ended] += atomic_load_explicit(&espi_hot->frees, memory_order_relaxed);
    counter[ESPI_COUNT_types_again] += atomic_load_explicit(&espi_hot->kept_again, memory_order_relaxed);
    counter[ESPI_COUNT_again_saved] += atomic_load_explicit(&espi_hot->kept_saved, memory_order_relaxed);
    counter[ESPI_COUNT_calls_examined] += on_credit + passed;
    counter[espi_settings.datatypes == ESPI_MODE_OFF ? ESPI_COUNT_left_switched_off : ESPI_COUNT_left_not_earned] +=
        on_credit;
    counter[ESPI_COUNT_left_not_earned] -= best + unplanned; /* but for those of credit that is still out */
    counter[ESPI_COUNT_left_not_better] += best;
    counter[ESPI_COUNT_left_unplanned] += unplanned;
    counter[ESPI_COUNT_left_passes] += passed;
    for (int fn = 0; fn < ESPI_FN_COUNT; fn++)
        for (int i = 0; i < 2; i++)
            calls[fn] += atomic_load_explicit(&espi_entry_of(espi_hot, i, (enum espi_fn)fn)->calls,
                                              memory_order_relaxed);
}

/* Under the lock, with MPI usable and settings read. */
static void start_services(void)
{
    if (atomic_load_explicit(&espi_running, memory_order_relaxed)) {
        set_plain(true); /* the world came after a session */
        return;
    }
    espi_own_heap_open();
    espi_comm_cache_start(world_begun);
    espi_gather_comms_start();
    if (espi_types_start(&espi_settings) != ESPI_OK)
        espi_log(ESPI_LOG_WARN, "derived types are left alone: their service did not start");
    atomic_store_explicit(&espi_running, true, memory_order_release);
    set_plain(true);
}

static void stop_services(void)
{
    if (!atomic_load_explicit(&espi_running, memory_order_relaxed))
        return;
    set_plain(false);
    atomic_store_explicit(&espi_running, false, memory_order_release);
    espi_leads_at_the_end();
    espi_selfcopy_stop();
    espi_packed_requests_stop();
    espi_late_credits_end();
    espi_repeated_stop();
    espi_types_stop();
    espi_gather_comms_stop();
    espi_tree_sweep(true);
    espi_reduce_later_sweep();
    espi_self_stop();
    espi_comm_cache_stop();
    espi_array_pool_stop();
    espi_pool_release();
    espi_leads_no_more();
}

static int world_ends(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    pthread_mutex_lock(&lock);
    if (world_begun) {
        world_begun = false;
        world_ended = true;
        /* Sessions that live on keep the services; the world's statistics end here. */
        if (sessions == 0)
            stop_services();
        else
            espi_late_credits_end();
        espi_exchange_stop();
        espi_world_close();
    }
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

/* Under the lock. */
static bool watch_the_end(void)
{
    int key = MPI_KEYVAL_INVALID;
    if (espi_pmpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, world_ends, &key, NULL) != MPI_SUCCESS)
        return false;
    bool good = espi_pmpi.Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_SUCCESS;
    espi_pmpi.Comm_free_keyval(&key);
    return good;
}

static void begin_world(void)
{
    uint64_t begun = espi_stats_now();
    espi_pmpi_for_threads();
    pthread_mutex_lock(&lock);
    if (!world_begun && !world_ended) {
        /* Order: MPI deletes the attributes of MPI_COMM_SELF last set first; the program's own, set later, end
           before. */
        if (watch_the_end()) {
            world_begun = true;
            espi_world_open(&espi_settings);
            espi_exchange_start(&espi_settings);
            start_services();
        } else {
            espi_log(ESPI_LOG_WARN, "no attribute on MPI_COMM_SELF: every call passes through untouched");
        }
    }
    pthread_mutex_unlock(&lock);
    espi_count_anywhere(ESPI_COUNT_time_start, espi_stats_now() - begun);
}

/* A tool that stands behind us may call MPI in its MPI_Init, when MPI says that it has begun; and another thread. All
   ranks begin after theirs, and ask each other then. */
static atomic_bool in_init;

static bool start_late(void)
{
    if (atomic_load(&in_init) || !espi_world_is_there())
        return false;
    begin_world();
    return atomic_load_explicit(&espi_running, memory_order_acquire);
}

void espi_lifecycle_prepare(void)
{
    espi_runtime_starter(start_late);
    espi_stats_elsewhere(espi_stub_counts);
}

espi_word espi_handle_init(struct espi_thread *thread, enum espi_fn fn, espi_word *args,
                                          espi_next next)
{
    int begun = 1;
    (void)thread;
    /* After a session MPI has nothing left to wait for in MPI_Init, so that others could look before. */
    if (!atomic_load(&had_session) && espi_pmpi.Initialized(&begun) == MPI_SUCCESS && !begun)
        espi_world_announce(&espi_exchange_meeting, espi_exchange_is_wanted);
    atomic_store(&in_init, true);
    espi_word result = fn == ESPI_FN_Init ? ESPI_CALL(next, 2, args) : ESPI_CALL(next, 4, args);
    espi_world_announced();
    if ((int)result == MPI_SUCCESS)
        begin_world();
    espi_exchange_begun();
    atomic_store(&in_init, false);
    return result;
}

espi_word espi_handle_session_init(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    (void)fn;
    espi_kept_forbid();
    pthread_mutex_lock(&lock);
    atomic_store(&had_session, true);
    if (!espi_calls_overlap) { /* what is for one thread alone, or ends with the world */
        espi_stream_types_give_back();
        espi_trial_numbers_share(NULL, 0);
        espi_trial_findings_share(NULL, 0);
        espi_trial_rounds_share(NULL);
    }
    espi_calls_overlap = true;
    pthread_mutex_unlock(&lock);
    espi_word result = ESPI_CALL(next, 3, args);
    if ((int)result != MPI_SUCCESS)
        return result;
    espi_pmpi_for_threads();
    pthread_mutex_lock(&lock);
    sessions++;
    if (!atomic_load_explicit(&espi_running, memory_order_relaxed)) {
        espi_settings_load_process(&espi_settings, false);
        espi_device_memory_look(&espi_settings, false);
        start_services();
    }
    pthread_mutex_unlock(&lock);
    return result;
}

espi_word espi_handle_session_finalize(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    (void)fn;
    pthread_mutex_lock(&lock);
    const int ends = sessions > 0;
    sessions -= ends; /* before the call, in which the world may end, too, whose MPI_Finalize came before */
    const bool last = ends && sessions == 0 && !world_begun;
    if (last)
        stop_services();
    pthread_mutex_unlock(&lock);
    espi_word result = ESPI_CALL(next, 1, args);
    if ((int)result == MPI_SUCCESS)
        return result;
    pthread_mutex_lock(&lock); /* MPI refused: it lives on */
    sessions += ends;
    if (last)
        start_services();
    pthread_mutex_unlock(&lock);
    return result;
}
