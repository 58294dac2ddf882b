/*
 * One handler for every function of api.def that is SUBSTITUTE or COUNT, driven by its row.
 * A call without derived types costs a look at each type argument and a counter; everything else is derived.c.
 */
#include "mpi/dispatch.h"

#include <mpi.h>

#include "mpi/collective.h"
#include "mpi/comms.h"
#include "mpi/derived.h"
#include "mpi/init.h"
#include "mpi/mine.h"
#include "mpi/onto.h"
#include "mpi/pending.h"
#include "mpi/reduce.h"
#include "mpi/types.h"
#include "mpi/world.h"
#include "words.h"

/* Whether the call goes on as it is: its types are predefined, or ones that are used as they are for now. */
static inline __attribute__((always_inline)) bool nothing_to_do(struct espi_mine *mine, const struct espi_row *row,
                                                                const espi_word *args)
{
    struct espi_type_slot *slots[ESPI_MAX_TYPED];
    int64_t counts[ESPI_MAX_TYPED];
    int used = 0;
    for (const struct espi_typed *typed = row->typed; typed->shape != ESPI_SHAPE_NONE; typed++) {
        MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
        if (typed->shape == ESPI_SHAPE_W)
            return false;
        if (__builtin_expect(espi_type_is_predefined(type), 1))
            continue;
        if (typed->shape != ESPI_SHAPE_ONE || typed->count < 0 || typed->at_root || row->treatment == ESPI_API_COUNT)
            return false;
        counts[used] = row->large ? (int64_t)args[(int)typed->count] : (int64_t)(int)args[(int)typed->count];
        slots[used] = espi_types_quiet(type);
        if (counts[used] <= 0 || slots[used] == NULL)
            return false;
        used++;
    }
    for (int i = 0; i < used; i++)
        espi_types_used(mine->stats, slots[i], counts[i]);
    return true;
}

/* Specialized by the number of words, so that the call costs no second switch. */
#define ESPI_HANDLER(n)                                                                                              \
    static espi_word handle_##n(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)        \
    {                                                                                                                \
        if (__builtin_expect(!atomic_load_explicit(&espi_running, memory_order_acquire), 0) && !espi_start_late())   \
            return ESPI_CALL(next, n, args);                                                                         \
        struct espi_mine *mine = espi_mine(thread);                                                                  \
        if (__builtin_expect(!mine, 0))                                                                              \
            return ESPI_CALL(next, n, args);                                                                         \
        espi_count_call(mine->stats, fn);                                                                            \
        const struct espi_row *row = &espi_rows[fn];                                                                 \
        if (__builtin_expect(nothing_to_do(mine, row, args), 1))                                                     \
            return ESPI_CALL(next, n, args);                                                                         \
        espi_word changed[n];                                                                                        \
        __builtin_memcpy(changed, args, sizeof changed);                                                             \
        struct espi_derived derived = {thread, mine, row, args, changed, {0}, false};                                \
        espi_derived_begin(&derived);                                                                                \
        espi_word result = ESPI_CALL(next, n, changed);                                                              \
        if (__builtin_expect((int)result != MPI_SUCCESS, 0) && espi_derived_repeat(&derived, (int)result))           \
            result = ESPI_CALL(next, n, args);                                                                       \
        espi_derived_end(&derived);                                                                                  \
        return result;                                                                                               \
    }

ESPI_HANDLER(4)
ESPI_HANDLER(5)
ESPI_HANDLER(6)
ESPI_HANDLER(7)
ESPI_HANDLER(8)
ESPI_HANDLER(9)
ESPI_HANDLER(10)
ESPI_HANDLER(11)
ESPI_HANDLER(12)
ESPI_HANDLER(13)

static espi_word handle_type_commit(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    struct espi_mine *mine = espi_mine(thread);
    espi_word result = ESPI_CALL(next, 1, args);
    const MPI_Datatype *type = (const MPI_Datatype *)args[0];
    if ((int)result != MPI_SUCCESS || !mine ||
        (!atomic_load_explicit(&espi_running, memory_order_acquire) && !espi_start_late()))
        return result;
    espi_count_call(mine->stats, fn);
    if (!espi_type_is_predefined(*type))
        espi_types_committed(thread, *type);
    return result;
}

static espi_word handle_type_dup(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    struct espi_mine *mine = espi_mine(thread);
    espi_word result = ESPI_CALL(next, 2, args);
    if ((int)result != MPI_SUCCESS || !mine ||
        (!atomic_load_explicit(&espi_running, memory_order_acquire) && !espi_start_late()))
        return result;
    espi_count_call(mine->stats, fn);
    MPI_Datatype old_type = (MPI_Datatype)args[0], new_type = *(const MPI_Datatype *)args[1];
    if (!espi_type_is_predefined(new_type))
        espi_types_duped(thread, old_type, new_type);
    return result;
}

static espi_word handle_type_free(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    struct espi_mine *mine = espi_mine(thread);
    const MPI_Datatype *type = (const MPI_Datatype *)args[0];
    MPI_Datatype before = type ? *type : MPI_DATATYPE_NULL;
    if (!espi_type_is_predefined(before))
        espi_types_ending(thread, before);
    espi_word result = ESPI_CALL(next, 1, args);
    if ((int)result != MPI_SUCCESS || !mine || !atomic_load_explicit(&espi_running, memory_order_acquire))
        return result;
    espi_count_call(mine->stats, fn);
    return result;
}

static espi_word handle_comm_end(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const MPI_Comm *comm = (const MPI_Comm *)args[0];
    struct espi_mine *mine = espi_mine(thread);
    if (comm && mine && atomic_load_explicit(&espi_running, memory_order_acquire)) {
        espi_count_call(mine->stats, fn);
        espi_collective_comm_ends(thread, *comm);
        espi_comm_ends(*comm);
    }
    return ESPI_CALL(next, 1, args);
}

static espi_word handle_comm_idup(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    espi_world_saw_idup();
    return fn == ESPI_FN_Comm_idup ? ESPI_CALL(next, 3, args) : ESPI_CALL(next, 4, args);
}

static const espi_handler by_args[] = {[4] = handle_4,   [5] = handle_5,   [6] = handle_6,   [7] = handle_7,
                                       [8] = handle_8,   [9] = handle_9,   [10] = handle_10, [11] = handle_11,
                                       [12] = handle_12, [13] = handle_13};

static espi_word handle_own(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    return espi_onto_call(thread, fn, args, next, by_args[espi_rows[fn].args]);
}

static espi_word handle_leaving(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    espi_pending_note(&espi_rows[fn], args);
    return espi_generic_handler(fn)(thread, fn, args, next);
}

espi_handler espi_generic_handler(enum espi_fn fn)
{
    return espi_rows[fn].kind & ESPI_OWN ? handle_own : by_args[espi_rows[fn].args];
}

/* The functions treated as LIFE, by name. */
#define ESPI_LIFE_Comm_free handle_comm_end
#define ESPI_LIFE_Comm_disconnect handle_comm_end
#define ESPI_LIFE_Comm_idup handle_comm_idup
#define ESPI_LIFE_Comm_idup_with_info handle_comm_idup
#define ESPI_LIFE_Type_commit handle_type_commit
#define ESPI_LIFE_Type_dup handle_type_dup
#define ESPI_LIFE_Type_free handle_type_free
#define ESPI_LIFE_Init espi_handle_init
#define ESPI_LIFE_Init_thread espi_handle_init
#define ESPI_LIFE_Session_init espi_handle_session_init
#define ESPI_LIFE_Session_finalize espi_handle_session_finalize
#define ESPI_LIFE_Start espi_reduce_start
#define ESPI_LIFE_Startall espi_reduce_start
#define ESPI_LIFE_Wait espi_reduce_complete
#define ESPI_LIFE_Waitall espi_reduce_complete
#define ESPI_LIFE_Waitany espi_reduce_complete
#define ESPI_LIFE_Waitsome espi_reduce_complete
#define ESPI_LIFE_Test espi_reduce_complete
#define ESPI_LIFE_Testall espi_reduce_complete
#define ESPI_LIFE_Testany espi_reduce_complete
#define ESPI_LIFE_Testsome espi_reduce_complete
#define ESPI_LIFE_Request_get_status espi_reduce_complete
#define ESPI_LIFE_Request_free espi_reduce_complete

#define ESPI_HANDLER_SUBSTITUTE(name, n, kind)                                                                       \
    ((kind) & ESPI_LEAVES ? handle_leaving : (kind) & ESPI_OWN ? handle_own : handle_##n)
#define ESPI_HANDLER_COUNT(name, n, kind) ((kind) & ESPI_LEAVES ? handle_leaving : handle_##n)
#define ESPI_HANDLER_TREE(name, n, kind) espi_collective_call
#define ESPI_HANDLER_REDUCE(name, n, kind) espi_reduce_call
#define ESPI_HANDLER_LIFE(name, n, kind) ESPI_LIFE_##name
#define ESPI_HANDLER_GUARD(name, n, kind) 0
#define ESPI_HANDLER_LEAVE(name, n, kind) 0

const espi_handler espi_core_handlers[ESPI_FN_COUNT] = {
#define ESPI_API(name, args, large, treatment, kind, ...)                                                            \
    [ESPI_FN_##name] = ESPI_HANDLER_##treatment(name, args, kind),
#include "api.def"
#undef ESPI_API
};
