#include "mpi/calls/call_args.h"

#include "mpi/core/pmpi.h"
#include "mpi/typeplan/type_cache.h"

/* Whether MPI accepts the buffer and the type of one side with `count` elements: a null type is an error, and so is a
   null buffer, unless it is MPI_BOTTOM and the type holds addresses. */
bool espi_args_side_is_good(const espi_word *args, const struct espi_buffer_args *typed, int64_t count)
{
    MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    if (type == MPI_DATATYPE_NULL)
        return false;
    if (count == 0 || typed->buffer < 0 || args[typed->buffer])
        return true;
    MPI_Aint low = 0, extent = 0;
    return !espi_type_is_predefined(type) &&
           espi_pmpi.Type_get_true_extent(type, &low, &extent) == MPI_SUCCESS && low != 0;
}

/* A collective does not take one buffer for both of its sides, but where counts or types are others, and among
   neighbours (which are no ESPI_COLLECTIVE): data may go from one part of an array to another. */
bool espi_args_buffers_differ(const struct espi_api_row *row, const espi_word *args)
{
    const struct espi_buffer_args *a = &row->typed[0], *b = &row->typed[1];
    if (!(row->kind & ESPI_COLLECTIVE) || a->shape == ESPI_SHAPE_NONE || b->shape == ESPI_SHAPE_NONE ||
        a->buffer < 0 || b->buffer < 0 ||
        (a->shape == ESPI_SHAPE_W && (args[a->count] != args[b->count] || args[a->type] != args[b->type])))
        return true;
    return args[a->buffer] != args[b->buffer] || !args[a->buffer];
}

/* Where the call gives something back (request) or takes it (message): not nowhere. */
bool espi_args_handles_are_good(const struct espi_api_row *row, const espi_word *args)
{
    if (row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT) && !args[row->args - 1])
        return false;
    if (row->kind & ESPI_P2P && row->comm < 0) { /* a matched receive: buffer, count, type, message */
        const MPI_Message *message = (const MPI_Message *)args[3];
        return message && *message != MPI_MESSAGE_NULL;
    }
    return true;
}

const struct espi_buffer_args *espi_args_last_side(const struct espi_api_row *row)
{
    const struct espi_buffer_args *typed = row->typed;
    while (typed[1].shape != ESPI_SHAPE_NONE)
        typed++;
    return typed;
}

/* One-sided calls: ..., target rank, target displacement, target count, target type, ... */
bool espi_args_target_is_good(const struct espi_api_row *row, const espi_word *args)
{
    const struct espi_buffer_args *target = espi_args_last_side(row);
    int rank = (int)args[target->count - 2], size = 0;
    MPI_Win win = (MPI_Win)args[target->type + 1];
    MPI_Group group;
    if (win == MPI_WIN_NULL || espi_pmpi.Win_get_group(win, &group) != MPI_SUCCESS)
        return false;
    int code = espi_pmpi.Group_size(group, &size);
    espi_pmpi.Group_free(&group);
    return code == MPI_SUCCESS && ((rank >= 0 && rank < size) || rank == MPI_PROC_NULL);
}
