#include "mpi/comm/world.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/table.h"
#include "mpi/core/device_memory.h"
#include "mpi/core/pmpi.h"
#include "job/all_present.h"
#include "job/nodes.h"
#include "mpi/comm/private_comm.h"
#include "mpi/comm/statistics.h"
#include "mpi/netmodel/netmodel.h"
#include "stats/stats.h"

struct espi_world espi_world = {.size = 1, .comm = MPI_COMM_NULL};
static struct espi_settings *world_settings;
static char shared[ESPI_ALL_PRESENT_TEXT] ESPI_TABLE; /* settings on their way; before MPI and in MPI_Init only */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the finding of `whole` */

/* Bytes in `shared`; 0 when they do not fit. */
static size_t put_in_shared(const struct espi_settings *settings)
{
    size_t length = espi_settings_write(settings, shared, sizeof shared);
    return length <= sizeof shared ? length : 0;
}

static uint64_t hash_of_shared(size_t length)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)shared[i]) * 1099511628211u;
    return hash;
}

void espi_world_announce(const struct espi_meeting *meeting, bool (*wanted)(const struct espi_settings *settings))
{
    static struct espi_meeting own;
    struct espi_settings settings;
    uint64_t hash = ESPI_ALL_PRESENT_DEFAULTS;
    size_t length = 0;
    espi_settings_defaults(&settings);
    if (espi_settings_given()) {
        const uint64_t defaults = hash_of_shared(put_in_shared(&settings));
        espi_settings_load_process(&settings, false);
        length = put_in_shared(&settings);
        hash = hash_of_shared(length);
        if (length == 0)
            return;
        if (hash == defaults) {
            hash = ESPI_ALL_PRESENT_DEFAULTS;
            length = 0;
        }
    }
    own = *meeting;
    if (!wanted(&settings))
        own.says = NULL;
    const void *library = (const void *)(uintptr_t)espi_pmpi.Initialized;
    espi_all_present_announce(library, hash, length > 0 ? shared : NULL, length, &own);
}

void espi_world_announced(void)
{
    espi_all_present_announced();
}

static bool (*is_last)(enum espi_fn fn);

void espi_world_start(bool (*stub_is_last)(enum espi_fn fn))
{
    is_last = stub_is_last;
}

bool espi_world_is_last(enum espi_fn fn)
{
    return is_last != NULL && is_last(fn);
}

bool espi_world_is_there(void)
{
    int begun = 0, ended = 0;
    return espi_pmpi.Initialized(&begun) == MPI_SUCCESS && begun && espi_pmpi.Finalized(&ended) == MPI_SUCCESS &&
           !ended;
}

/* A tool behind us sees gathers along trees nowhere; and what it makes of a call, on some ranks only perhaps, would
   come to us again. */
static bool are_calls_ours(void)
{
    static const enum espi_fn all[] = {
        ESPI_FN_Gather,    ESPI_FN_Gather_c,   ESPI_FN_Gatherv,    ESPI_FN_Gatherv_c, ESPI_FN_Scatter,
        ESPI_FN_Scatter_c, ESPI_FN_Scatterv,   ESPI_FN_Scatterv_c, ESPI_FN_Barrier,   ESPI_FN_Allreduce,
        ESPI_FN_Allreduce_c,
    };
    bool ours = true;
    for (size_t i = 0; i < sizeof all / sizeof *all && ours; i++)
        ours = espi_world_is_last(all[i]);
    return ours;
}

enum { FEW_ON_NODE = 64 };
static bool few_on_node; /* so many, all on one node: gathers and scatters are left to the library */

static bool make_private(void)
{
    if (espi_world.comm == MPI_COMM_NULL)
        espi_world.comm = espi_private_comm(MPI_COMM_WORLD, true);
    return espi_world.comm != MPI_COMM_NULL;
}

/* Where the launcher has not been asked: rank 0's settings by way of MPI. Every rank makes the same calls whatever
   goes wrong on it alone, and learns whether all could take the settings: later collective steps follow from them. */
static bool share_settings(struct espi_settings *settings)
{
    unsigned long long length = 0;
    if (espi_world.rank == 0)
        length = put_in_shared(settings);
    if (espi_pmpi.Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, espi_world.comm) != MPI_SUCCESS || length == 0 ||
        length > sizeof shared || espi_pmpi.Bcast(shared, (int)length, MPI_CHAR, 0, espi_world.comm) != MPI_SUCCESS)
        return false;
    int good = espi_world.rank == 0 || espi_settings_read(settings, shared, (size_t)length) == ESPI_OK, all = 0;
    if (!good)
        espi_log(ESPI_LOG_WARN, "rank %d could not read the settings of rank 0: ranks work alone", espi_world.rank);
    espi_log_set_level((enum espi_log_level)settings->log);
    return espi_pmpi.Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, espi_world.comm) == MPI_SUCCESS && all;
}

/* Rank 0's settings as it announced them, which only those ranks ask for that have others. */
static void take_settings(struct espi_settings *settings)
{
    size_t length = 0;
    if (!espi_all_present_settings(espi_world.rank, shared, sizeof shared, &length))
        return;
    if (length == 0) {
        struct espi_settings defaults;
        espi_settings_defaults(&defaults);
        length = put_in_shared(&defaults);
    }
    if (espi_settings_read(settings, shared, length) != ESPI_OK)
        espi_log(ESPI_LOG_WARN, "rank %d could not read the settings of rank 0", espi_world.rank);
    espi_log_set_level((enum espi_log_level)settings->log);
    espi_log(ESPI_LOG_DEBUG, "rank %d takes the settings of rank 0", espi_world.rank);
}

static void say_alone(void)
{
    espi_log(ESPI_LOG_INFO, "rank %d works alone: it is not known that every rank has Espalier", espi_world.rank);
    if (espi_world.rank == 0 && !espi_all_present_is_heard())
        espi_log(ESPI_LOG_INFO, "the launcher speaks neither PMI-1 nor PMI-2 with the ranks: no trees for gathers, a "
                                "statistics file for each rank; ESPALIER_WORLD=all (espalier run --all) tells that "
                                "every rank has Espalier");
}

bool espi_world_all_present(void)
{
    int known = atomic_load_explicit(&espi_world.all_present, memory_order_acquire);
    if (known != ESPI_ALL_PRESENT_UNKNOWN)
        return known == ESPI_ALL_PRESENT_YES;
    pthread_mutex_lock(&lock);
    known = atomic_load_explicit(&espi_world.all_present, memory_order_relaxed);
    if (known == ESPI_ALL_PRESENT_UNKNOWN) {
        known = espi_all_present(espi_world.size) ? ESPI_ALL_PRESENT_YES : ESPI_ALL_PRESENT_NO;
        if (known == ESPI_ALL_PRESENT_NO)
            say_alone();
        else
            espi_log(ESPI_LOG_DEBUG, "rank %d knows that every rank has Espalier", espi_world.rank);
        atomic_store_explicit(&espi_world.all_present, known, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return known == ESPI_ALL_PRESENT_YES;
}

/* What can be said of `all_present` at the start. Later the launcher may be asked only while no other thread can be
   inside of MPI. */
static void begin_all_present(struct espi_settings *settings)
{
    int level = MPI_THREAD_MULTIPLE;
    if (espi_world.size == 1)
        atomic_store(&espi_world.all_present, ESPI_ALL_PRESENT_YES);
    else if (settings->world == ESPI_WORLD_ALL)
        atomic_store(&espi_world.all_present,
                     make_private() && share_settings(settings) ? ESPI_ALL_PRESENT_YES : ESPI_ALL_PRESENT_NO);
    else if (espi_all_present_is_local() || espi_pmpi.Query_thread(&level) != MPI_SUCCESS ||
             level == MPI_THREAD_MULTIPLE)
        espi_world_all_present();
}

/* What has to be done together before the program's first call. It follows from rank 0's settings and, where all are
   present, from the place where all have announced themselves, so all do the same. */
static void begin_together(const struct espi_settings *settings)
{
    /* Few ranks that share memory: the library's own calls take microseconds, and trees have nothing to win. A model
       given by the user is heard. */
    const bool few = settings->collectives == ESPI_MODE_AUTO && settings->tree == 0 && !settings->model[0] &&
                     espi_world.size > 1 && espi_world.size < FEW_ON_NODE;
    int on_node = 1;
    few_on_node = few && settings->world != ESPI_WORLD_ALL && espi_world_all_present() && espi_all_present_on_node();
    const bool trees = (settings->collectives != ESPI_MODE_OFF || settings->tree != 0) && !few_on_node;
    /* Statistics need a word between the ranks at the end, when the program may have left no communicator to be
       made. */
    const bool statistics = settings->stats[0] != '\0' || settings->summary;
    if (espi_world.size == 1 || (!statistics && !trees) || !espi_world_all_present())
        return;
    if (!make_private()) {
        atomic_store(&espi_world.all_present, ESPI_ALL_PRESENT_NO);
        return;
    }
    if (trees) {
        int ours = are_calls_ours(), everywhere = 0;
        if (espi_pmpi.Allreduce(&ours, &everywhere, 1, MPI_INT, MPI_MIN, espi_world.comm) != MPI_SUCCESS ||
            !everywhere) {
            espi_log(ESPI_LOG_INFO,
                     "gathers and scatters are left to the library: another tool stands behind Espalier");
            return;
        }
        espi_world.node = espi_node_of(espi_world.comm, &on_node);
        few_on_node = few && on_node == espi_world.size;
        espi_world.trees = !few_on_node;
    }
}

void espi_world_open(struct espi_settings *settings)
{
    espi_pmpi.Comm_rank(MPI_COMM_WORLD, &espi_world.rank);
    espi_pmpi.Comm_size(MPI_COMM_WORLD, &espi_world.size);
    espi_settings_load_process(settings, espi_world.rank == 0);
    world_settings = settings;
    espi_world.node = espi_world.rank;
    take_settings(settings);
    espi_device_memory_look(settings, espi_world.rank == 0);
    begin_all_present(settings);
    begin_together(settings);
    espi_log(ESPI_LOG_DEBUG, "rank %d starts with%s, on node %d of the launcher's", espi_world.rank,
             espi_world.comm == MPI_COMM_NULL ? "out a word to other ranks" : " a communicator of its own",
             espi_job_node_of(espi_world.rank));
    espi_world.open = true;
    struct espi_stats_run run = {settings, "MPICH " MPICH_VERSION, NULL, espi_world.rank, espi_world.size,
                                 atomic_load(&espi_world.all_present) == ESPI_ALL_PRESENT_YES, few_on_node};
    espi_stats_open(&run);
}

/* In pieces, without memory of its own: a rank that ran short would answer otherwise than the rest. */
bool espi_world_covers(MPI_Comm comm)
{
    enum { PIECE = 256 };
    MPI_Group all = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    int size = 0, from[PIECE], to[PIECE];
    if (!espi_world.open || !espi_world_all_present())
        return false;
    bool covers = espi_pmpi.Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS &&
                  espi_pmpi.Comm_group(comm, &members) == MPI_SUCCESS &&
                  espi_pmpi.Group_size(members, &size) == MPI_SUCCESS;
    for (int done = 0; done < size && covers; done += PIECE) {
        int n = size - done < PIECE ? size - done : PIECE;
        for (int i = 0; i < n; i++)
            from[i] = done + i;
        covers = espi_pmpi.Group_translate_ranks(members, n, from, all, to) == MPI_SUCCESS;
        for (int i = 0; i < n && covers; i++)
            covers = to[i] != MPI_UNDEFINED;
    }
    if (members != MPI_GROUP_NULL)
        espi_pmpi.Group_free(&members);
    if (all != MPI_GROUP_NULL)
        espi_pmpi.Group_free(&all);
    return covers;
}

static atomic_bool idup_seen;

void espi_world_saw_idup(void)
{
    atomic_store(&idup_seen, true);
}

/* MPICH has about 2,000 communicators to give (context ids), and those are the program's. */
enum { PRIVATE_MOST = 64 };
static atomic_int private_alive;

MPI_Comm espi_world_private(MPI_Comm comm, bool able)
{
    int free_here = able && !atomic_load(&idup_seen) && atomic_load(&private_alive) < PRIVATE_MOST, free_to = 0;
    MPI_Comm own = MPI_COMM_NULL;
    if (!espi_world_covers(comm))
        return MPI_COMM_NULL;
    /* All members are in the same collective call on the same communicator: one more of them finds its fellows. */
    if (espi_pmpi.Allreduce(&free_here, &free_to, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS)
        free_to = 0;
    if (comm == MPI_COMM_WORLD && espi_world.comm != MPI_COMM_NULL)
        comm = espi_world.comm; /* whose errors return */
    if (free_to && (own = espi_private_comm(comm, false)) != MPI_COMM_NULL)
        atomic_fetch_add(&private_alive, 1);
    return own;
}

bool espi_world_private_free(MPI_Comm *own)
{
    if (*own == MPI_COMM_NULL || espi_pmpi.Comm_free(own) != MPI_SUCCESS)
        return false;
    atomic_fetch_sub(&private_alive, 1);
    return true;
}

static void write_statistics(void)
{
    const struct espi_stats_run run = {world_settings, "MPICH " MPICH_VERSION, NULL, espi_world.rank, espi_world.size,
                                       espi_world_all_present(), few_on_node};
    espi_statistics_write(&run, espi_world.comm);
}

void espi_world_close(void)
{
    if (!espi_world.open)
        return;
    espi_world.open = false;
    if (espi_stats_wanted())
        write_statistics();
    espi_stats_reset_run();
    if (espi_world.comm != MPI_COMM_NULL)
        espi_pmpi.Comm_free(&espi_world.comm);
}
