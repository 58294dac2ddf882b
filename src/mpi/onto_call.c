/*
 * Calls in which a rank gives itself data.
 *
 * On a communicator of one rank the nine blocking collectives that move data are nothing but a copy. On larger ones
 * the block that a rank has for itself is taken out of MPI_Alltoallv and MPI_Alltoallw (its two counts become 0), and
 * of rooted calls at the root (MPI_IN_PLACE), and is copied after the call; what a rank does with its own block is no
 * business of the others'.
 *
 * MPI_Sendrecv to oneself is a message, which may be meant for a receive posted before, as messages sent before may
 * be meant for its receive. So the message is sent, and called back: MPI promises that a message that could be
 * cancelled has not been and will not be received, so no receive was waiting for it. That none of its own receive's
 * messages was pending is asked before. Only then the copy stands for both. MPICH can call back messages on
 * communicators of one rank, at the price of a few nanoseconds, and not on others, where the call is left alone.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/comms.h"
#include "mpi/dispatch.h"
#include "mpi/init.h"
#include "mpi/mine.h"
#include "mpi/onto.h"
#include "mpi/real.h"
#include "mpi/self.h"
#include "mpi/types.h"

/* Calling a message back costs about this much more than what MPI does for it beside the copy. */
enum { MESSAGE_NS = 450 };

static bool has_derived(const struct espi_row *row, const espi_word *args)
{
    for (const struct espi_typed *t = row->typed; t->shape != ESPI_SHAPE_NONE; t++)
        if (t->shape == ESPI_SHAPE_W || !espi_type_is_predefined((MPI_Datatype)args[(int)t->type]))
            return true;
    return false;
}

static int64_t number_at(const struct espi_row *row, const void *array, int i)
{
    return row->large ? ((const MPI_Count *)array)[i] : ((const int *)array)[i];
}

/* The own block's part of one side. The displacements of an array of blocks stand behind its counts. */
static bool read_side(struct espi_thread *thread, const struct espi_row *row, const espi_word *args,
                      const struct espi_typed *t, int rank, void **buffer, struct espi_onto_side *side)
{
    int64_t shift = 0, move;
    MPI_Count lb, extent;

    *buffer = (void *)args[(int)t->buffer];
    if (*buffer == MPI_IN_PLACE)
        return false;
    if (t->shape == ESPI_SHAPE_ONE) {
        side->type = (MPI_Datatype)args[(int)t->type];
        side->count = row->large ? (int64_t)args[(int)t->count] : (int64_t)(int)args[(int)t->count];
        if (t->at_root && __builtin_mul_overflow(side->count, (int64_t)rank, &shift))
            return false;
    } else {
        const void *counts = (const void *)args[(int)t->count], *places = (const void *)args[t->count + 1];
        if (counts == NULL || places == NULL || (t->shape == ESPI_SHAPE_W && (void *)args[(int)t->type] == NULL))
            return false;
        side->type = t->shape == ESPI_SHAPE_W ? ((const MPI_Datatype *)args[(int)t->type])[rank]
                                              : (MPI_Datatype)args[(int)t->type];
        side->count = number_at(row, counts, rank);
        shift = number_at(row, places, rank);
    }
    if (side->count <= 0 || side->type == MPI_DATATYPE_NULL)
        return false;
    if (shift != 0 && t->shape != ESPI_SHAPE_W) {
        if (!espi_type_is_predefined(side->type) && !espi_types_known(thread, side->type))
            return false;
        if (espi_real.Type_get_extent_c(side->type, &lb, &extent) != MPI_SUCCESS ||
            __builtin_mul_overflow(shift, (int64_t)extent, &move))
            return false;
        shift = move;
    }
    *buffer = (char *)((uintptr_t)*buffer + (uintptr_t)shift);
    return true;
}

/* ---- collectives ---- */

/* What of the call a rank does for itself alone. */
static bool is_apart(enum espi_fn fn, const struct espi_comm_facts *comm, const struct espi_row *row,
                     const espi_word *args)
{
    if (row->root >= 0)
        return (int)args[(int)row->root] == comm->rank;
    return comm->peers == 1 || fn == ESPI_FN_Alltoallv || fn == ESPI_FN_Alltoallv_c || fn == ESPI_FN_Alltoallw ||
           fn == ESPI_FN_Alltoallw_c;
}

/* Counts with a 0 in the place of the own one. */
static void *without_own(const struct espi_row *row, espi_word counts, int n, int rank)
{
    size_t each = row->large ? sizeof(MPI_Count) : sizeof(int);
    char *copy = malloc((size_t)n * each);
    if (copy != NULL) {
        memcpy(copy, (const void *)counts, (size_t)n * each);
        memset(copy + (size_t)rank * each, 0, each);
    }
    return copy;
}

static espi_word collective(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                            espi_handler substitute)
{
    const struct espi_row *row = &espi_rows[fn];
    struct espi_mine *mine = espi_mine(thread);
    const struct espi_comm_facts comm = mine->comm;
    struct espi_onto_block block = {0};
    void *counts[2] = {NULL, NULL}, *from, *onto;
    espi_word changed[ESPI_MAX_ARGS], result;

    if (!is_apart(fn, &comm, row, args) ||
        !read_side(thread, row, args, &row->typed[0], comm.rank, &from, &block.send) ||
        !read_side(thread, row, args, &row->typed[1], comm.rank, &onto, &block.receive) ||
        args[(int)row->typed[0].buffer] == args[(int)row->typed[1].buffer])
        return substitute(thread, fn, args, next);
    block.from = from;
    block.onto = onto;
    if (!espi_onto_look(thread, &block))
        return substitute(thread, fn, args, next);
    if (comm.peers == 1) {
        espi_count_call(mine->stats, fn);
        espi_count(mine->stats, ESPI_COUNT_calls_examined, 1);
        espi_onto_carry_out(thread, &block);
        return MPI_SUCCESS;
    }
    memcpy(changed, args, row->args * sizeof *args);
    if (row->root >= 0) {
        int own = row->typed[0].at_root ? 1 : 0;
        changed[(int)row->typed[own].buffer] = (espi_word)MPI_IN_PLACE;
    } else {
        for (int side = 0; side < 2; side++) {
            int at = row->typed[side].count;
            counts[side] = without_own(row, args[at], comm.peers, comm.rank);
            changed[at] = (espi_word)counts[side];
        }
        if (counts[0] == NULL || counts[1] == NULL) {
            free(counts[0]);
            free(counts[1]);
            return substitute(thread, fn, args, next);
        }
    }
    result = substitute(thread, fn, changed, next);
    free(counts[0]);
    free(counts[1]);
    if ((int)result == MPI_SUCCESS)
        espi_onto_carry_out(thread, &block);
    return result;
}

/* ---- MPI_Sendrecv ---- */

static bool call_back(MPI_Request *request)
{
    int complete = 0, cancelled = 0;
    MPI_Status status;
    return espi_real.Cancel(request) == MPI_SUCCESS && espi_real.Test(request, &complete, &status) == MPI_SUCCESS &&
           complete && espi_real.Test_cancelled(&status, &cancelled) == MPI_SUCCESS && cancelled;
}

/* Whether this MPI can, found out once. Not where several threads may be inside MPI: see measure.h. */
static bool can_call_back(void)
{
    static atomic_int known; /* 0: not yet, 1: yes, 2: no */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        int level = MPI_THREAD_MULTIPLE, byte = 0;
        MPI_Comm self = MPI_COMM_NULL;
        MPI_Request request;
        answer = 2;
        if (espi_real.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE)
            self = espi_self_comm();
        if (self != MPI_COMM_NULL && espi_real.Isend(&byte, 1, MPI_BYTE, 0, 0, self, &request) == MPI_SUCCESS) {
            if (call_back(&request))
                answer = 1;
            else
                espi_real.Recv(&byte, 1, MPI_BYTE, 0, 0, self, MPI_STATUS_IGNORE);
            if (request != MPI_REQUEST_NULL)
                espi_real.Request_free(&request);
        }
        atomic_store(&known, answer);
    }
    return answer == 1;
}

/* The message was on its way to another receive: so is what this call receives from another message. */
static espi_word receive_another(const struct espi_row *row, const espi_word *args, MPI_Request *request)
{
    void *buffer = (void *)args[5];
    MPI_Datatype type = (MPI_Datatype)args[7];
    MPI_Comm comm = (MPI_Comm)args[10];
    MPI_Status *status = (MPI_Status *)args[11];
    int source = (int)args[8], tag = (int)args[9], complete = *request == MPI_REQUEST_NULL;
    espi_word result = row->large ? espi_real.Recv_c(buffer, (MPI_Count)args[6], type, source, tag, comm, status)
                                  : espi_real.Recv(buffer, (int)args[6], type, source, tag, comm, status);
    while (!complete && espi_real.Test(request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        ;
    return result;
}

static espi_word sendrecv(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                          espi_handler substitute)
{
    const struct espi_row *row = &espi_rows[fn];
    struct espi_mine *mine = espi_mine(thread);
    int dest = (int)args[3], sendtag = (int)args[4], source = (int)args[8], recvtag = (int)args[9], pending = 1, rc;
    MPI_Comm comm = (MPI_Comm)args[10];
    MPI_Status *status = (MPI_Status *)args[11];
    struct espi_onto_block block = {0};
    void *from, *onto;
    MPI_Request request;

    if (mine->comm.peers != 1 || dest != 0 || (source != 0 && source != MPI_ANY_SOURCE) || sendtag < 0 ||
        sendtag > mine->comm.tag_ub || (recvtag != sendtag && recvtag != MPI_ANY_TAG) || status == NULL ||
        !read_side(thread, row, args, &row->typed[0], 0, &from, &block.send) ||
        !read_side(thread, row, args, &row->typed[1], 0, &onto, &block.receive))
        return substitute(thread, fn, args, next);
    block.from = from;
    block.onto = onto;
    if (!espi_onto_look(thread, &block) ||
        (espi_settings.datatypes == ESPI_MODE_AUTO && block.plan->gain_ns < MESSAGE_NS) || !can_call_back() ||
        espi_real.Iprobe(source, recvtag, comm, &pending, MPI_STATUS_IGNORE) != MPI_SUCCESS || pending)
        return substitute(thread, fn, args, next);
    rc = row->large ? espi_real.Isend_c(from, block.send.count, block.send.type, dest, sendtag, comm, &request)
                    : espi_real.Isend(from, (int)block.send.count, block.send.type, dest, sendtag, comm, &request);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!call_back(&request)) {
        espi_count_call(mine->stats, fn);
        return receive_another(row, args, &request);
    }
    espi_count_call(mine->stats, fn);
    espi_count(mine->stats, ESPI_COUNT_calls_examined, 1);
    espi_onto_carry_out(thread, &block);
    if (status != MPI_STATUS_IGNORE) { /* its MPI_ERROR stays as it was, as natively */
        status->MPI_SOURCE = 0;
        status->MPI_TAG = sendtag;
        espi_real.Status_set_cancelled(status, 0);
        espi_real.Status_set_elements_x(status, MPI_BYTE, block.plan->bytes);
    }
    return MPI_SUCCESS;
}

espi_word espi_onto_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                         espi_handler substitute)
{
    const struct espi_row *row = &espi_rows[fn];
    if (!has_derived(row, args) ||
        (!atomic_load_explicit(&espi_running, memory_order_acquire) && !espi_start_late()) ||
        espi_settings.datatypes == ESPI_MODE_OFF)
        return substitute(thread, fn, args, next);
    bool message = fn == ESPI_FN_Sendrecv || fn == ESPI_FN_Sendrecv_c;
    if (message && ((int)args[3] != 0 || ((int)args[8] != 0 && (int)args[8] != MPI_ANY_SOURCE)))
        return substitute(thread, fn, args, next); /* the only rank has number 0 */
    struct espi_mine *mine = espi_mine(thread);
    if (mine == NULL || !espi_comm_look(&mine->comm, (MPI_Comm)args[(int)row->comm]) || mine->comm.inter)
        return substitute(thread, fn, args, next);
    return message ? sendrecv(thread, fn, args, next, substitute) : collective(thread, fn, args, next, substitute);
}
