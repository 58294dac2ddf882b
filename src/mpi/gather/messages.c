/* Messages and local copies of a gather or scatter along a tree. */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/status_bytes.h"
#include "mpi/core/runtime.h"
#include "mpi/gather/subtree_plan.h"
#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/engine_cost.h"
#include "stats/stats.h"

int espi_tree_isend(const void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    if (count <= INT_MAX)
        return espi_pmpi.Isend(buf, (int)count, type, peer, tag, comm, request);
    return espi_pmpi.Isend_c(buf, count, type, peer, tag, comm, request);
}

int espi_tree_irecv(void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    if (count <= INT_MAX)
        return espi_pmpi.Irecv(buf, (int)count, type, peer, tag, comm, request);
    return espi_pmpi.Irecv_c(buf, count, type, peer, tag, comm, request);
}

int espi_tree_recv(void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status)
{
    if (count <= INT_MAX)
        return espi_pmpi.Recv(buf, (int)count, type, peer, tag, comm, status);
    return espi_pmpi.Recv_c(buf, count, type, peer, tag, comm, status);
}

int espi_tree_isend_block(const void *buf, int64_t count, const struct espi_tree_type *type, int64_t bytes, int peer,
                          int tag, MPI_Comm comm, MPI_Request *request, void **memory)
{
    *memory = type->staged && bytes > 0 ? espi_pool_get((size_t)bytes) : NULL;
    if (!*memory)
        return espi_tree_isend(buf, count, type->handle, peer, tag, comm, request);
    int rc = espi_tree_pack(buf, count, type, *memory, bytes, comm);
    if (!rc)
        rc = espi_tree_isend(*memory, bytes, MPI_PACKED, peer, tag, comm, request);
    if (rc) {
        espi_pool_put(*memory);
        *memory = NULL;
    }
    return rc;
}

int espi_tree_recv_block(void *buf, int64_t count, const struct espi_tree_type *type, int64_t room, int peer, int tag,
                         int rank, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    /* What comes as bytes may be cut within an element (espi_plan_is_cut), which MPI's engine does not survive. */
    const bool staged = type->staged || (!type->dense && room > ESPI_ENGINE_PART);
    void *memory = staged && room > 0 ? espi_pool_get((size_t)room) : NULL;
    if (!memory)
        return espi_tree_recv(buf, count, type->handle, peer, tag, comm, status);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    int rc = espi_tree_recv(memory, room, MPI_PACKED, peer, tag, comm, status);
    if (!rc)
        rc = espi_tree_fill(memory, espi_tree_received(status), buf, count, type, room, rank, comm);
    espi_pool_put(memory);
    return rc;
}

/* ---- messages that nobody waits for ---- */

struct away {
    struct away *next;
    MPI_Request request;
    int64_t bytes;
    char data[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards both; no MPI call under it */
static struct away *all_away;
static int64_t bytes_away;

enum { AWAY_MOST = 64 << 20 }; /* bytes */

static void keep_away(struct away *away)
{
    pthread_mutex_lock(&lock);
    away->next = all_away;
    all_away = away;
    bytes_away += away->bytes;
    pthread_mutex_unlock(&lock);
}

static struct away *take_all_away(int64_t *bytes)
{
    pthread_mutex_lock(&lock);
    struct away *list = all_away;
    *bytes = bytes_away;
    all_away = NULL;
    bytes_away = 0;
    pthread_mutex_unlock(&lock);
    return list;
}

void espi_tree_sweep(bool end)
{
    int64_t bytes;
    for (struct away *away = take_all_away(&bytes), *next; away; away = next) {
        int done = 0;
        next = away->next;
        if (espi_pmpi.Test(&away->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done)
            free(away);
        else if (end)
            espi_pmpi.Request_free(&away->request); /* MPI reads the copy until it arrives */
        else
            keep_away(away);
    }
}

static bool has_room_away(int64_t bytes)
{
    pthread_mutex_lock(&lock);
    bool room = bytes <= AWAY_MOST - bytes_away;
    pthread_mutex_unlock(&lock);
    return room;
}

int espi_tree_send_away(const void *buf, int64_t count, const struct espi_tree_type *type, int64_t bytes, int peer,
                        int tag, MPI_Comm comm)
{
    MPI_Request request;
    espi_tree_sweep(false);
    struct away *away = has_room_away(bytes) ? malloc(sizeof *away + (size_t)bytes) : NULL;
    if (!away) {
        int rc = espi_tree_isend(buf, count, type->handle, peer, tag, comm, &request);
        return rc ? rc : espi_pmpi.Wait(&request, MPI_STATUS_IGNORE);
    }
    int rc = espi_tree_pack(buf, count, type, away->data, bytes, comm);
    if (!rc)
        rc = espi_tree_isend(away->data, bytes, MPI_PACKED, peer, tag, comm, &away->request);
    away->bytes = bytes;
    if (rc)
        free(away);
    else
        keep_away(away);
    return rc;
}

bool espi_tree_has_come(struct espi_subtree_plan *plan, int peer, MPI_Comm comm)
{
    uint64_t begun = espi_stats_now(), waited = 0;
    int flag = 0;
    while (espi_pmpi.Iprobe(peer, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag &&
           (waited = espi_stats_now() - begun) < plan->patience)
        sched_yield();
    plan->patience -= waited < plan->patience ? waited : plan->patience;
    return flag;
}

int espi_tree_signal(int peer, int tag, MPI_Comm comm)
{
    return espi_pmpi.Send(NULL, 0, MPI_BYTE, peer, tag, comm);
}

int espi_tree_drop(int peer, MPI_Comm comm)
{
    MPI_Status status;
    if (espi_pmpi.Probe(peer, MPI_ANY_TAG, comm, &status) != MPI_SUCCESS)
        return -1;
    int tag = status.MPI_TAG;
    espi_pmpi.Recv(NULL, 0, MPI_BYTE, peer, tag, comm, MPI_STATUS_IGNORE); /* cut off: that is the aim */
    return tag;
}

int64_t espi_tree_probe(int peer, int tag, MPI_Comm comm)
{
    MPI_Status status;
    return espi_pmpi.Probe(peer, tag, comm, &status) == MPI_SUCCESS ? espi_tree_received(&status) : -1;
}

int64_t espi_tree_received(const MPI_Status *status)
{
    return espi_status_bytes(status);
}

static int send_to_oneself(const void *from, int64_t from_count, MPI_Datatype from_type, void *to, int64_t to_count,
                           MPI_Datatype to_type, MPI_Comm comm)
{
    int rank, code = espi_pmpi.Comm_rank(comm, &rank);

    return code != MPI_SUCCESS
               ? code
               : espi_tree_copy(from, from_count, from_type, to, to_count, to_type, false, 0, rank, comm);
}

int espi_tree_pack(const void *buf, int64_t count, const struct espi_tree_type *type, void *to, int64_t bytes,
                   MPI_Comm comm)
{
    if (bytes == 0)
        return MPI_SUCCESS;
    if (type->dense) {
        memcpy(to, buf, (size_t)bytes);
        return MPI_SUCCESS;
    }
    if (type->pack) {
        espi_pack_run(type->pack, buf, count, to);
        if (espi_settings.check)
            espi_packed_check(false, (void *)buf, count, type->handle, to, bytes);
        return MPI_SUCCESS;
    }
    if (buf == NULL) /* MPI_Pack does not know MPI_BOTTOM (MPICH 4.0.2) */
        return send_to_oneself(buf, count, type->handle, to, bytes, MPI_PACKED, comm);
    if (count <= INT_MAX && bytes <= INT_MAX) {
        int at = 0;
        return espi_pmpi.Pack(buf, (int)count, type->handle, to, (int)bytes, &at, comm);
    }
    MPI_Count at = 0;
    return espi_pmpi.Pack_c(buf, count, type->handle, to, bytes, &at, comm);
}

static int unpack(const void *from, int64_t bytes, void *buf, int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    if (buf == NULL) /* as in espi_tree_pack */
        return send_to_oneself(from, bytes, MPI_PACKED, buf, count, type, comm);
    if (count <= INT_MAX && bytes <= INT_MAX) {
        int at = 0;
        return espi_pmpi.Unpack(from, (int)bytes, &at, buf, (int)count, type, comm);
    }
    MPI_Count at = 0;
    return espi_pmpi.Unpack_c(from, bytes, &at, buf, count, type, comm);
}

int espi_tree_fill(const void *from, int64_t bytes, void *buf, int64_t count, const struct espi_tree_type *type,
                   int64_t room, int rank, MPI_Comm comm)
{
    if (bytes > room)
        return MPI_ERR_TRUNCATE;
    if (bytes == 0)
        return MPI_SUCCESS;
    if (type->dense) {
        memcpy(buf, from, (size_t)bytes);
        return MPI_SUCCESS;
    }
    if (type->pack) {
        espi_unpack_range(type->pack, from, buf, count, 0, bytes);
        if (espi_settings.check && bytes == room)
            espi_packed_check(true, buf, count, type->handle, (void *)from, bytes);
        return MPI_SUCCESS;
    }
    /* MPI_Unpack is promised to work for whole elements only (MPICH's stops where the bytes end, so it would do). */
    if (bytes == room)
        return unpack(from, bytes, buf, count, type->handle, comm);
    return espi_tree_copy(from, bytes, MPI_PACKED, buf, count, type->handle, false, bytes, rank, comm);
}

int espi_tree_copy(const void *from, int64_t from_count, MPI_Datatype from_type, void *to, int64_t to_count,
                   MPI_Datatype to_type, bool dense, int64_t bytes, int rank, MPI_Comm comm)
{
    if (dense) {
        if (bytes > 0)
            memcpy(to, from, (size_t)bytes);
        return MPI_SUCCESS;
    }
    /* Not MPI_Irecv and MPI_Wait: MPI_Wait reports errors through MPI_COMM_WORLD, not through `comm`. */
    return espi_pmpi.Sendrecv_c(from, from_count, from_type, rank, ESPI_TAG_DATA, to, to_count, to_type, rank,
                                ESPI_TAG_DATA, comm, MPI_STATUS_IGNORE);
}
