#include "mpi/calls/watched_call.h"

#include <mpi.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/status_bytes.h"
#include "mpi/packed/message_ways.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/core/handle_table.h"
#include "mpi/calls/short_message.h"
#include "words.h"

enum { BUFFER, COUNT, TYPE, PEER, TAG, COMM, STATUS };

/* Of one item; -1: MPI is not asked, as it may not know the handle. */
static int64_t size_of(MPI_Datatype type)
{
    MPI_Count size;

    if ((uint32_t)type >> 26 == 0x13) /* MPICH: a datatype that is built in, and its size in the second byte */
        return (uint32_t)type >> 8 & 0xff;
    if (espi_is_predefined((uint32_t)type) || espi_slot_of(type) == NULL) /* a pair, or no datatype at all */
        return -1;
    return espi_pmpi.Type_size_x(type, &size) == MPI_SUCCESS ? size : -1;
}

/* Its bytes; -1: it is not timed. */
static int64_t bytes_of(struct espi_comm_facts *facts, const espi_word *args, bool receives)
{
    const int64_t count = (int64_t)(int)args[COUNT], size = size_of((MPI_Datatype)args[TYPE]);

    if (count <= 0 || size <= 0 || count > INT32_MAX / size || (receives && args[STATUS] == 0) ||
        !espi_comm_look(facts, (MPI_Comm)args[COMM]) ||
        !espi_comm_has_peer(facts, (int)args[PEER], (int)args[TAG], receives) ||
        (int)args[PEER] == facts->rank || !espi_comm_is_near(facts, (int)args[PEER]))
        return -1;
    return count * size;
}

/* What fits the buffer exactly; else it is of another size. */
static espi_word receive_timed(const espi_word *args, espi_next next, int64_t bytes)
{
    MPI_Status own, *status = (MPI_Status *)args[STATUS] == MPI_STATUS_IGNORE ? &own : (MPI_Status *)args[STATUS];
    const espi_word changed[7] = {args[BUFFER], args[COUNT], args[TYPE],       args[PEER],
                                  args[TAG],    args[COMM],  (espi_word)status};
    struct espi_way_turn turn = espi_way_plain_turn(bytes, bytes <= ESPI_ENGINE_PART);
    const espi_word result = ESPI_CALL(next, 7, changed);

    espi_way_turn_end(&turn, (int)result == MPI_SUCCESS && espi_status_bytes(status) == bytes);
    return result;
}

static espi_word message(struct espi_thread_state *thread_state, const espi_word *args, espi_next next,
                         bool receives)
{
    const int64_t bytes = bytes_of(&thread_state->comm, args, receives);
    struct espi_way_turn turn = {0};

    if (bytes > 0 && receives)
        return receive_timed(args, next, bytes);
    if (receives)
        return ESPI_CALL(next, 7, args);
    if (bytes > 0)
        turn = espi_way_plain_turn(bytes, bytes <= ESPI_ENGINE_PART);
    const espi_word result = ESPI_CALL(next, 6, args);
    espi_way_turn_end(&turn, (int)result == MPI_SUCCESS);
    return result;
}

/* By the number of its arguments. */
#define CALL(n) static espi_word call_##n(espi_next next, const espi_word *args) { return ESPI_CALL(next, n, args); }
CALL(1) CALL(2) CALL(3) CALL(4) CALL(5) CALL(6) CALL(7) CALL(8) CALL(9) CALL(10) CALL(11) CALL(12) CALL(13)
static espi_word (*const calls[])(espi_next, const espi_word *) = {
    [1] = call_1, [2] = call_2, [3] = call_3,   [4] = call_4,   [5] = call_5,   [6] = call_6,  [7] = call_7,
    [8] = call_8, [9] = call_9, [10] = call_10, [11] = call_11, [12] = call_12, [13] = call_13};

espi_word espi_watched_call(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args,
                            espi_next next)
{
    const struct espi_api_row *row = &espi_api_rows[fn];

    espi_way_passed_by();
    return ESPI_IS_SHORT_MESSAGE(row->kind, row->args, row->large) ? message(thread_state, args, next, row->args == 7)
                                                                   : calls[row->args](next, args);
}
