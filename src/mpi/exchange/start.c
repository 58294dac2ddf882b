/*
 * Ranks open the memory in MPI_Init, before a barrier that they meet in (relay_calls.h): behind it, each has said in
 * that memory that it is there, or never will. At the end of its MPI_Init each that has says whether it takes part.
 * So whoever looks later sees the same words, once those are said that are still to come, and all come to the same
 * verdict, without a call of MPI. They look in the first call that wants to know. Who waits there for a word lets MPI
 * go on: the other rank's MPI_Init needs no more of it.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/table.h"
#include "job/all_present.h"
#include "mpi/comm/world.h"
#include "mpi/core/pmpi.h"
#include "mpi/exchange/ends.h"
#include "mpi/exchange/exchange.h"
#include "mpi/exchange/turns.h"
#include "mpi/packed/trial_numbers.h"
#include "mpi/typeplan/pack_once.h"

bool espi_exchange_is_on;
bool espi_exchange_is_crowded;
bool espi_exchange_fetches;
struct espi_exchange_peer espi_exchange_peers[ESPI_SEGMENT_PROCESSES] ESPI_TABLE;
static struct espi_segment segment;
static int own = -1; /* this rank, where it has said that it is there, */
static bool spoken;  /* and whether it takes part */
static bool wanted;  /* by settings; */
static bool tells;   /* and a report */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the finding of the verdict */
static atomic_int verdict;
enum { UNKNOWN, BY_ALL, NOT_BY_ALL };
static MPI_Request pending = MPI_REQUEST_NULL; /* that never completes; see espi_exchange_poll */

/* ---- progress ---- */

static int nothing_to_query(void *state, MPI_Status *status)
{
    (void)state, (void)status;
    return MPI_SUCCESS;
}

static int nothing_to_free(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int nothing_to_cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

/* Where MPI has no memory for it, the next best thing is used. */
static void begin_pending(void)
{
    if (espi_pmpi.Grequest_start(nothing_to_query, nothing_to_free, nothing_to_cancel, NULL, &pending) != MPI_SUCCESS)
        pending = MPI_REQUEST_NULL;
}

static void end_pending(void)
{
    if (pending != MPI_REQUEST_NULL && espi_pmpi.Grequest_complete(pending) == MPI_SUCCESS)
        espi_pmpi.Wait(&pending, MPI_STATUS_IGNORE);
    pending = MPI_REQUEST_NULL;
}

/* MPI_Test of a request that is not complete goes through all that is under way. MPI_Iprobe does not always: not on
   MPI_COMM_SELF and its kin, nor as long as it finds a message that waits (MPICH 4.0.2). */
void espi_exchange_poll(void)
{
    int flag;

    if (pending != MPI_REQUEST_NULL)
        espi_pmpi.Test(&pending, &flag, MPI_STATUS_IGNORE);
    else
        espi_pmpi.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* ---- meeting ---- */

/* Rank 0 makes the memory, and says where. */
static void say_where(int size, char said[ESPI_ROLL_SAID])
{
    struct espi_segment_key key;

    if (size < ESPI_SEGMENT_PROCESSES && espi_segment_make(&segment, size, &key))
        snprintf(said, ESPI_ROLL_SAID, "%" PRIx64 ".%" PRIx64 ".%" PRIx64, key.word, (uint64_t)key.process,
                 (uint64_t)key.file);
}

static bool open_where(int size, const char *said)
{
    struct espi_segment_key key;
    uint64_t process, file;
    int length = 0;

    if (sscanf(said, "%16" SCNx64 ".%16" SCNx64 ".%16" SCNx64 "%n", &key.word, &process, &file, &length) != 3 ||
        said[length] != '\0' || size >= ESPI_SEGMENT_PROCESSES)
        return false;
    key.process = (int64_t)process;
    key.file = (int64_t)file;
    return espi_segment_open(&segment, size, &key);
}

static void meet(int rank, int size, const char *said)
{
    if (rank != 0 ? !open_where(size, said) : segment.memory == NULL)
        return;
    espi_segment_say(&segment, rank, ESPI_SEGMENT_HERE);
    own = rank;
}

const struct espi_meeting espi_exchange_meeting = {say_where, meet};

/* ---- who takes part ---- */

bool espi_exchange_is_wanted(const struct espi_settings *settings)
{
    return settings->exchange != ESPI_EXCHANGE_OFF && settings->pack != ESPI_MODE_OFF &&
           settings->datatypes != ESPI_MODE_OFF && !settings->check && settings->world != ESPI_WORLD_ALL;
}

/* Whether nothing of this rank is in the way. */
static bool is_able(void)
{
    static const enum espi_fn calls[] = {
        ESPI_FN_Alltoall,           ESPI_FN_Alltoall_c,
        ESPI_FN_Alltoallv,          ESPI_FN_Alltoallv_c,
        ESPI_FN_Alltoallw,          ESPI_FN_Alltoallw_c,
        ESPI_FN_Neighbor_alltoall,  ESPI_FN_Neighbor_alltoall_c,
        ESPI_FN_Neighbor_alltoallv, ESPI_FN_Neighbor_alltoallv_c,
        ESPI_FN_Neighbor_alltoallw, ESPI_FN_Neighbor_alltoallw_c,
    };
    int level = MPI_THREAD_MULTIPLE;
    bool able = espi_pmpi.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        able = able && espi_world_is_last(calls[i]);
    return able;
}

/* Behind MPI_Init all have opened the memory that will. */
void espi_exchange_start(const struct espi_settings *settings)
{
    espi_segment_shared(&segment);
    wanted = espi_exchange_is_wanted(settings) && espi_world.size > 1 && espi_world.size < ESPI_SEGMENT_PROCESSES;
    if (own < 0)
        return;
    espi_exchange_is_on = wanted && own == espi_world.rank &&
                          segment.processes == espi_world.size && espi_world_all_present() &&
                          espi_all_present_on_node() && is_able();
    espi_segment_say(&segment, own, espi_exchange_is_on ? ESPI_SEGMENT_TAKES_PART : ESPI_SEGMENT_STAYS_OUT);
    spoken = true;
    if (!espi_exchange_is_on)
        return;
    /* long blocks may be read in another rank's memory */
    espi_exchange_fetches = settings->exchange == ESPI_EXCHANGE_AUTO;
    tells = espi_settings_tell(settings);
    _Static_assert((int)ESPI_SEGMENT_MARKS == (int)ESPI_TRIAL_SIZES, "one number for each size of messages");
    espi_trial_numbers_share(espi_segment_marks(&segment, 0), own);
    _Static_assert((int)ESPI_SEGMENT_NOTES == (int)ESPI_TRIAL_FINDINGS, "as many as are found at a time");
    espi_trial_findings_share(espi_segment_notes(&segment, 0), own);
    espi_trial_rounds_share(espi_segment_round(&segment));
}

void espi_exchange_begun(void)
{
    if (own >= 0 && !spoken)
        espi_segment_say(&segment, own, ESPI_SEGMENT_STAYS_OUT);
    spoken = true;
    if (espi_exchange_is_on)
        return;
    espi_segment_close(&segment);
    if (wanted && espi_all_present_on_node())
        espi_log(ESPI_LOG_INFO, "rank %d shares no memory, so MPI_Alltoall and its kin are the library's",
                 espi_world.rank);
}

/* ---- the verdict ---- */

/* Of the processors that any of the ranks may use. */
static bool are_fewer_than_ranks(void)
{
    cpu_set_t all, one;

    CPU_ZERO(&all);
    for (int rank = 0; rank < segment.processes; rank++) {
        if (sched_getaffinity((pid_t)espi_segment_process(&segment, rank).id, sizeof one, &one) != 0)
            return false; /* there are more than the set has, or a rank has ended */
        CPU_OR(&all, &all, &one);
    }
    return CPU_COUNT(&all) < segment.processes;
}

/* Waits for what it has to say yet. */
static bool takes_part(int rank)
{
    enum espi_segment_word said;

    while ((said = espi_segment_said(&segment, rank)) == ESPI_SEGMENT_HERE) {
        espi_exchange_poll();
        sched_yield();
    }
    return said == ESPI_SEGMENT_TAKES_PART;
}

static bool is_by_all(void)
{
    for (int rank = 0; rank < segment.processes; rank++)
        if (!takes_part(rank)) {
            espi_log(ESPI_LOG_INFO, "rank %d: MPI_Alltoall and its kin are the library's, as rank %d shares none",
                     own, rank);
            return false;
        }
    for (int rank = 0; rank < segment.processes; rank++) {
        *espi_exchange_to(rank) = espi_segment_channel(&segment, own, rank);
        *espi_exchange_from(rank) = espi_segment_channel(&segment, rank, own);
        *espi_exchange_process(rank) = espi_segment_process(&segment, rank);
    }
    espi_exchange_is_crowded = are_fewer_than_ranks();
    espi_exchange_turns_start(tells && !espi_exchange_is_crowded);
    return true;
}

bool espi_exchange_is_by_all(void)
{
    int known = atomic_load_explicit(&verdict, memory_order_acquire);

    if (__builtin_expect(known != UNKNOWN, 1))
        return known == BY_ALL;
    pthread_mutex_lock(&lock);
    known = atomic_load_explicit(&verdict, memory_order_relaxed);
    if (known == UNKNOWN) {
        begin_pending();
        known = is_by_all() ? BY_ALL : NOT_BY_ALL;
        atomic_store_explicit(&verdict, known, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return known == BY_ALL;
}

void espi_exchange_stop(void)
{
    espi_exchange_is_on = false;
    espi_exchange_turns_start(false);
    espi_trial_numbers_share(NULL, 0);
    espi_trial_findings_share(NULL, 0);
    espi_trial_rounds_share(NULL);
    espi_segment_close(&segment);
    espi_pack_once_stop();
    end_pending();
}
