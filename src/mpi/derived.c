/*
 * Substitution for one call.
 *
 * Better types are put in only when the other arguments are ones that MPI will not refuse: an error must name the
 * program's own type. The few errors that can not be foreseen (at the target of one-sided calls) are
 * repeated with the program's arguments where the program reads them.
 */
#include "mpi/derived.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/comms.h"
#include "mpi/intern.h"
#include "mpi/real.h"
#include "mpi/types.h"

static bool peer_is_good(const struct espi_comm_facts *facts, const espi_word *args, int peer, int tag, bool receiving)
{
    if (peer < 0)
        return true;
    int rank = (int)args[peer], value = (int)args[tag];
    bool rank_good = (rank >= 0 && rank < facts->peers) || rank == MPI_PROC_NULL ||
                     (receiving && rank == MPI_ANY_SOURCE);
    bool tag_good = (value >= 0 && value <= facts->tag_ub) || (receiving && value == MPI_ANY_TAG);
    return rank_good && tag_good;
}

static bool root_is_good(const struct espi_comm_facts *facts, int root)
{
    return (root >= 0 && root < facts->peers) || (facts->inter && (root == MPI_ROOT || root == MPI_PROC_NULL));
}

static bool is_root(const struct espi_comm_facts *facts, int root)
{
    return facts->inter ? root == MPI_ROOT : root == facts->rank;
}

/* Number of elements of an array of counts or types: the sending side of a neighbourhood call counts neighbours that
   are sent to. */
static int array_length(const struct espi_row *row, const struct espi_comm_facts *facts, int side)
{
    if (row->kind & ESPI_NEIGHBOUR)
        return side == 0 ? facts->out : facts->in;
    return facts->peers;
}

static int64_t count_at(const struct espi_row *row, const espi_word *args, int position)
{
    return row->large ? (int64_t)args[position] : (int64_t)(int)args[position];
}

/* Element i of an array of counts. */
static int64_t count_in(const struct espi_row *row, const espi_word *args, int position, int i)
{
    if (row->large)
        return ((const MPI_Count *)args[position])[i];
    return ((const int *)args[position])[i];
}

/* Sum of an array of counts; -1 when one is negative. */
static int64_t count_sum(const struct espi_row *row, const espi_word *args, int position, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        int64_t count = count_in(row, args, position, i);
        if (count < 0 || __builtin_add_overflow(sum, count, &sum))
            return -1;
    }
    return sum;
}

static void one_type(struct espi_derived *d, const struct espi_typed *typed, int64_t count)
{
    MPI_Datatype type = (MPI_Datatype)d->args[(int)typed->type];
    if (count <= 0 || espi_type_is_predefined(type))
        return;
    espi_count(d->mine->stats, ESPI_COUNT_calls_examined, 1);
    MPI_Datatype better = espi_types_better(d->thread, type, count, d->row->kind & ESPI_LOCAL);
    if (better != type) {
        d->changed[(int)typed->type] = better;
        d->substituted = true;
    }
}

static void array_of_types(struct espi_derived *d, const struct espi_typed *typed, int side, int n)
{
    const MPI_Datatype *types = (const MPI_Datatype *)d->args[(int)typed->type];
    if (!types || !d->args[(int)typed->count])
        return;
    MPI_Datatype *copy = NULL;
    for (int i = 0; i < n; i++) {
        int64_t count = count_in(d->row, d->args, typed->count, i);
        if (count <= 0 || espi_type_is_predefined(types[i]))
            continue;
        espi_count(d->mine->stats, ESPI_COUNT_calls_examined, 1);
        MPI_Datatype better = espi_types_better(d->thread, types[i], count, false);
        if (better == types[i])
            continue;
        if (!copy) {
            copy = malloc((size_t)n * sizeof *copy);
            if (!copy)
                return;
            memcpy(copy, types, (size_t)n * sizeof *copy);
        }
        copy[i] = better;
    }
    if (!copy)
        return;
    const MPI_Datatype *use = copy;
    if (d->row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT)) {
        /* MPI may read the array until the operation is complete. */
        use = espi_intern_types(copy, n);
        free(copy);
        if (!use)
            return;
    } else {
        d->arrays[side] = copy;
    }
    d->changed[(int)typed->type] = (espi_word)use;
    d->substituted = true;
}

static void forget(struct espi_derived *d)
{
    memcpy(d->changed, d->args, d->row->args * sizeof *d->changed);
    d->substituted = false;
}

/* False: leave the whole call alone, so that MPI reports what is wrong with it. */
static bool examine(struct espi_derived *d, const struct espi_comm_facts *facts)
{
    const struct espi_row *row = d->row;
    const espi_word *args = d->args;
    if (row->root >= 0 && !root_is_good(facts, (int)args[row->root]))
        return false;
    for (int side = 0; row->typed[side].shape != ESPI_SHAPE_NONE; side++) {
        const struct espi_typed *typed = &row->typed[side];
        if (typed->buffer >= 0 && (void *)args[typed->buffer] == MPI_IN_PLACE)
            continue;
        if (typed->at_root && !is_root(facts, (int)args[row->root]))
            continue;
        if (!peer_is_good(facts, args, typed->dest, typed->sendtag, false) ||
            !peer_is_good(facts, args, typed->source, typed->recvtag, true))
            return false;
        int64_t count = 1;
        switch (typed->shape) {
        case ESPI_SHAPE_ONE:
            count = count_at(row, args, typed->count);
            if (count < 0)
                return false;
            one_type(d, typed, count);
            break;
        case ESPI_SHAPE_V:
            if (!args[typed->count])
                return array_length(row, facts, side) == 0;
            if (espi_type_is_predefined((MPI_Datatype)args[typed->type]))
                break;
            count = count_sum(row, args, typed->count, array_length(row, facts, side));
            if (count < 0)
                return false;
            one_type(d, typed, count);
            break;
        case ESPI_SHAPE_W:
            array_of_types(d, typed, side, array_length(row, facts, side));
            break;
        }
    }
    return true;
}

void espi_derived_begin(struct espi_derived *d)
{
    struct espi_comm_facts none = {MPI_COMM_NULL, 0, false, 0, 0, 0, 0, 0};
    const struct espi_comm_facts *facts = &none;
    if (d->row->treatment == ESPI_API_COUNT) {
        espi_count(d->mine->stats, ESPI_COUNT_calls_examined, 1);
        espi_count(d->mine->stats, ESPI_COUNT_left_passes, 1);
        return;
    }
    if (d->row->comm >= 0) {
        if (!espi_comm_look(&d->mine->comm, (MPI_Comm)d->args[d->row->comm])) {
            espi_count(d->mine->stats, ESPI_COUNT_left_bad_argument, 1);
            return;
        }
        facts = &d->mine->comm;
    }
    if (!examine(d, facts)) {
        espi_count(d->mine->stats, ESPI_COUNT_left_bad_argument, 1);
        forget(d);
    }
    if (d->substituted)
        espi_count(d->mine->stats, ESPI_COUNT_calls_substituted, 1);
}

/* Whether errors of this call are returned to the program: with another handler it has already been called. */
static bool error_is_returned(const struct espi_derived *d)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int code;
    if (d->row->kind & ESPI_RMA) {
        const struct espi_typed *target = d->row->typed;
        while (target[1].shape != ESPI_SHAPE_NONE)
            target++;
        code = espi_real.Win_get_errhandler((MPI_Win)d->args[target->type + 1], &handler);
    } else if (d->row->comm >= 0) {
        code = espi_real.Comm_get_errhandler((MPI_Comm)d->args[d->row->comm], &handler);
    } else {
        return false;
    }
    bool returned = code == MPI_SUCCESS && handler == MPI_ERRORS_RETURN;
    if (code == MPI_SUCCESS)
        espi_real.Errhandler_free(&handler);
    return returned;
}

bool espi_derived_repeat(struct espi_derived *d, int error)
{
    int class = MPI_SUCCESS;
    if (!d->substituted || espi_real.Error_class(error, &class) != MPI_SUCCESS)
        return false;
    switch (class) {
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
    case MPI_ERR_TAG:
    case MPI_ERR_COMM:
    case MPI_ERR_RANK:
    case MPI_ERR_ROOT:
    case MPI_ERR_ARG:
    case MPI_ERR_WIN:
    case MPI_ERR_DISP:
    case MPI_ERR_RMA_SYNC:
    case MPI_ERR_RMA_RANGE:
        break;
    default:
        return false;
    }
    if (!error_is_returned(d))
        return false;
    espi_count(d->mine->stats, ESPI_COUNT_calls_repeated, 1);
    return true;
}

void espi_derived_end(struct espi_derived *d)
{
    for (int side = 0; side < 2; side++)
        free(d->arrays[side]);
}
