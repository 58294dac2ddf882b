#define _GNU_SOURCE
#include <sched.h>
#include <string.h>

#include "base/log.h"
#include "base/table.h"
#include "job/all_present.h"
#include "mpi/comm/world.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/yielding_wait.h"
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
static MPI_Request pending = MPI_REQUEST_NULL; /* that never completes; see espi_exchange_poll */

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

/* MPI_Test of a request that is not complete goes through all that is under way. MPI_Iprobe does not always: not on
   MPI_COMM_SELF and its kin, nor as long as it finds a message that waits (MPICH 4.0.2). */
void espi_exchange_poll(void)
{
    int flag;

    espi_pmpi.Test(&pending, &flag, MPI_STATUS_IGNORE);
}

static void end_pending(void)
{
    if (pending != MPI_REQUEST_NULL && espi_pmpi.Grequest_complete(pending) == MPI_SUCCESS)
        espi_pmpi.Wait(&pending, MPI_STATUS_IGNORE);
    pending = MPI_REQUEST_NULL;
}

/* What all ranks come to know of each other: whether one is not good, and which processors one of them may use. */
struct together {
    uint64_t bad, processors[CPU_SETSIZE / 64];
};

static struct together this_rank(bool good)
{
    struct together own = {.bad = !good};
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) /* more than the set has */
        memset(&set, -1, sizeof set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            own.processors[i / 64] |= UINT64_C(1) << i % 64;
    return own;
}

static bool are_fewer(const struct together *all, int size)
{
    int processors = 0;

    for (int i = 0; i < CPU_SETSIZE / 64; i++)
        processors += __builtin_popcountll(all->processors[i]);
    return processors < size;
}

/* Rank 0 makes the memory. Every rank makes the same calls, whatever it is able to. */
static bool share_memory(int rank, int size, bool able)
{
    static struct espi_segment_key key; /* static: MPI may still be at them where waiting fails */
    static struct together own, all;

    key = (struct espi_segment_key){0, 0, -1};
    int good = able && espi_pmpi.Grequest_start(nothing_to_query, nothing_to_free, nothing_to_cancel, NULL,
                                                &pending) == MPI_SUCCESS;

    if (rank == 0 && good)
        good = espi_segment_make(&segment, size, &key);
    MPI_Request request;
    const int told = espi_pmpi.Ibcast(&key, (int)sizeof key, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    if (espi_wait_yielding(told, &request) != MPI_SUCCESS)
        good = false;
    if (rank != 0 && good)
        good = espi_segment_open(&segment, size, &key);
    if (good)
        espi_segment_introduce(&segment, rank);
    own = this_rank(good);
    all = (struct together){.bad = 1};
    const int asked = espi_pmpi.Iallreduce(&own, &all, (int)(sizeof own / sizeof own.bad), MPI_UINT64_T, MPI_BOR,
                                           MPI_COMM_WORLD, &request);
    if (espi_wait_yielding(asked, &request) != MPI_SUCCESS || all.bad) {
        espi_segment_close(&segment);
        end_pending();
        return false;
    }
    espi_segment_shared(&segment);
    espi_exchange_is_crowded = are_fewer(&all, size);
    return true;
}

/* Whether this rank may take part, as far as the others can not know. */
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

void espi_exchange_start(const struct espi_settings *settings)
{
    const int rank = espi_world.rank, size = espi_world.size;

    if (settings->exchange == ESPI_EXCHANGE_OFF || settings->pack == ESPI_MODE_OFF ||
        settings->datatypes == ESPI_MODE_OFF || settings->check || settings->world == ESPI_WORLD_ALL || size < 2 ||
        size >= ESPI_SEGMENT_PROCESSES || !espi_world_all_present() || !espi_all_present_on_node())
        return;
    if (!share_memory(rank, size, is_able())) {
        espi_log(ESPI_LOG_INFO, "rank %d: the ranks share no memory, so MPI_Alltoall and its kin are the library's",
                 rank);
        return;
    }
    for (int other = 0; other < size; other++) {
        *espi_exchange_to(other) = espi_segment_channel(&segment, rank, other);
        *espi_exchange_from(other) = espi_segment_channel(&segment, other, rank);
        *espi_exchange_process(other) = espi_segment_process(&segment, other);
    }
    /* long blocks may be read in another rank's memory */
    espi_exchange_fetches = settings->exchange == ESPI_EXCHANGE_AUTO;
    espi_exchange_turns_start(espi_settings_tell(settings) && !espi_exchange_is_crowded);
    espi_exchange_is_on = true;
    _Static_assert((int)ESPI_SEGMENT_MARKS == (int)ESPI_TRIAL_SIZES, "one number for each size of messages");
    espi_trial_numbers_share(espi_segment_marks(&segment, 0), rank);
}

void espi_exchange_stop(void)
{
    espi_exchange_is_on = false;
    espi_exchange_turns_start(false);
    espi_trial_numbers_share(NULL, 0);
    espi_segment_close(&segment);
    espi_pack_once_stop();
    end_pending();
}
