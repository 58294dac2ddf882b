/*
 * Long messages that a trial has left to the library (src/mpi/calls/message.c: espi_message_is_left): when they go
 * at once, and what is counted then; and those in calls with a side that is for nobody. They are begun and ended;
 * packed ones take longer than others.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/calls/message.h"
#include "mpi/calls/short_message.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

enum { BLOCKS = 3000, ROOM = 1 << 18, PACKED_NS = 200000 };

static char data[ROOM];
static MPI_Datatype type;
static struct espi_thread_state *state;
static const struct espi_api_row *const row = &espi_api_rows[ESPI_FN_Send];

static bool is_left(espi_word count, MPI_Datatype of, MPI_Comm comm)
{
    const espi_word args[6] = {(espi_word)data, count, (espi_word)of, 0, 0, (espi_word)comm};

    return espi_message_is_left(state, row, args);
}

/* Of MPI_Send: what it was given. */
static espi_word given[6];
static int sent;
static espi_word send(const espi_word a, const espi_word b, const espi_word c, const espi_word d, const espi_word e,
                      const espi_word f)
{
    memcpy(given, (const espi_word[6]){a, b, c, d, e, f}, sizeof given);
    sent++;
    return MPI_ERR_OTHER;
}

/* Whether it goes at once by the way of short messages, as the program has it, and with MPI's answer. */
static bool goes_at_once(espi_word count)
{
    const espi_word args[6] = {(espi_word)data, count, (espi_word)type, 0, 7, (espi_word)MPI_COMM_SELF};
    const int before = sent;
    espi_word result = -1;

    if (!espi_short_send(state, ESPI_FN_Send, args, (espi_next)send, &result)) {
        ck_assert_int_eq(sent, before);
        return false;
    }
    ck_assert(sent == before + 1 && result == MPI_ERR_OTHER && memcmp(given, args, sizeof given) == 0);
    return true;
}

/* A use that is looked at. */
static void look(void)
{
    struct espi_way way = espi_types_way(&own_thread, type, 1, false, ESPI_PACK_MESSAGE);

    if (way.packed != NULL)
        espi_plan_release(way.packed);
}

/* Sends an item the long way; whether it goes as its type. */
static bool goes_typed(void)
{
    const espi_word args[6] = {(espi_word)data, 1, (espi_word)type, 0, 0, (espi_word)MPI_COMM_SELF};
    espi_word changed[6];
    struct espi_message m;

    memcpy(changed, args, sizeof changed);
    if (!espi_message_begin(&m, state, row, args, changed)) { /* it is due to be looked at */
        look();
        return true;
    }
    const bool typed = m.turn.way == ESPI_WAY_TYPED;
    for (const uint64_t begun = espi_stats_now(); !typed && espi_stats_now() < begun + PACKED_NS;)
        ;
    ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
    return typed;
}

static struct espi_plan *plan_of_type(void)
{
    return atomic_load(&espi_slot_of(type)->plan);
}

/* A type with a plan, of which no model knows how its messages should go, to ranks that are near. */
static void begin(void)
{
    int blocklength[BLOCKS], displacement[BLOCKS];

    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_ALWAYS);
    espi_type_service.packing = ESPI_MODE_AUTO;
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    espi_calls_overlap = false;
    state = espi_thread_state(&own_thread);
    for (int i = 0; i < BLOCKS; i++) {
        blocklength[i] = 3;
        displacement[i] = 5 * i + i * i % 2;
    }
    MPI_Type_indexed(BLOCKS, blocklength, displacement, MPI_INT, &type);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    for (int i = 0; i < 4; i++)
        look();
    ck_assert_ptr_ne(plan_of_type(), NULL);
    atomic_store(&plan_of_type()->better[ESPI_PARTS], MPI_DATATYPE_NULL);
    plan_of_type()->open[true] = ESPI_WAYS_EVEN;
    ck_assert(espi_comm_look(&state->comm, MPI_COMM_SELF));
    state->comm.near = ESPI_NEAR_ALL;
}

static void end(void)
{
    atomic_store(&espi_running, false);
    espi_calls_overlap = true;
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
}

START_TEST(left)
{
    uint64_t uses, found;
    int sends = 0, typed = 0;

    begin();
    ck_assert(!is_left(1, type, MPI_COMM_SELF));
    for (; sends < 1000 && !is_left(1, type, MPI_COMM_SELF); sends++)
        typed += goes_typed();
    ck_assert_int_lt(sends, 300); /* there was a trial, and packed ones lost it */
    ck_assert(typed > 0 && typed < sends);
    uses = atomic_load(&espi_slot_of(type)->uses);
    found = counted(ESPI_COUNT_left_not_better);
    atomic_store(&plan_of_type()->saved_ns, 0);
    ck_assert(is_left(1, type, MPI_COMM_SELF));
    ck_assert_uint_eq(atomic_load(&espi_slot_of(type)->uses), uses + 1);
    ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better), found + 1);
    ck_assert_uint_eq(atomic_load(&plan_of_type()->saved_ns), 1); /* known, and nothing */
    ck_assert(goes_at_once(1));
    ck_assert_uint_eq(atomic_load(&espi_slot_of(type)->uses), uses + 2);
    ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better), found + 2);
    end();
}
END_TEST

/* All that may have changed since; what is not left is not counted. */
START_TEST(not_left)
{
    struct espi_plan *plan;

    begin();
    for (int i = 0; i < 1000 && !is_left(1, type, MPI_COMM_SELF); i++)
        goes_typed();
    plan = plan_of_type();
    const uint64_t found = counted(ESPI_COUNT_left_not_better);
    ck_assert(!is_left(2, type, MPI_COMM_SELF) && !is_left(0, type, MPI_COMM_SELF));
    ck_assert(!goes_at_once(2) && !goes_at_once(0));
    ck_assert(!is_left(-1, type, MPI_COMM_SELF) && !is_left(1, MPI_INT, MPI_COMM_SELF));
    ck_assert(!is_left(1, MPI_DATATYPE_NULL, MPI_COMM_SELF) && !is_left(1, type, MPI_COMM_WORLD));
    ck_assert(!is_left(1, type, MPI_COMM_NULL));
    atomic_store(&plan->better[ESPI_PARTS], MPI_INT);
    ck_assert(!is_left(1, type, MPI_COMM_SELF));
    atomic_store(&plan->better[ESPI_PARTS], MPI_DATATYPE_NULL);
    for (int open = -1; open < 2; open++) {
        plan->open[true] = (enum espi_ways_open)open;
        ck_assert(open == ESPI_WAYS_EVEN || !is_left(1, type, MPI_COMM_SELF));
    }
    plan->open[true] = ESPI_WAYS_EVEN;
    state->comm.near = ESPI_NEAR_SOME;
    ck_assert(!is_left(1, type, MPI_COMM_SELF) && !goes_at_once(1));
    state->comm.near = ESPI_NEAR_ALL;
    suite_another_leads(true);
    ck_assert(!is_left(1, type, MPI_COMM_SELF));
    suite_another_leads(false);
    espi_calls_overlap = true; /* this thread leads */
    ck_assert(is_left(1, type, MPI_COMM_SELF) && goes_at_once(1));
    espi_calls_overlap = false;
    plan->left_items = 0;
    ck_assert(!is_left(1, type, MPI_COMM_SELF) && !goes_at_once(1));
    plan->left_items = 1;
    atomic_fetch_add(espi_slot_credit(type), ESPI_CREDIT_ENDED); /* freed, as the stub has seen */
    ck_assert(!is_left(1, type, MPI_COMM_SELF));
    atomic_fetch_sub(espi_slot_credit(type), ESPI_CREDIT_ENDED);
    ck_assert(is_left(1, type, MPI_COMM_SELF));
    ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better), found + 3);
    atomic_fetch_add(&espi_comm_epoch, 1); /* a communicator has ended, perhaps this one */
    ck_assert(!is_left(1, type, MPI_COMM_SELF));
    end();
}
END_TEST

/* Where it is to be told that such messages wait less than the program's type would make them, they are not: each is
   counted with what it saves. */
START_TEST(told)
{
    begin();
    espi_type_service.told = true;
    for (int i = 0; i < 300; i++) {
        ck_assert(!is_left(1, type, MPI_COMM_SELF));
        goes_typed(); /* what goes as the program's type in its turn takes as long as what is packed */
    }
    const uint64_t before = plan_of_type()->record->saved_ps[ESPI_SAVED_ALONE];
    ck_assert(goes_typed());
    ck_assert_uint_gt(plan_of_type()->record->saved_ps[ESPI_SAVED_ALONE], before);
    espi_type_service.told = false;
    end();
}
END_TEST

/* A side of MPI_Sendrecv that is for nobody is MPI's, and the other is such a message of its own: it is tried as one,
   and left to the library. */
START_TEST(one_side)
{
    static const struct {
        int to, from;
        enum espi_way_call call;
    } each[] = {{0, 0, ESPI_WAY_BOTH}, {0, MPI_PROC_NULL, ESPI_WAY_SEND}, {MPI_PROC_NULL, 0, ESPI_WAY_RECEIVE}};
    static char onto[ROOM];
    struct espi_message m;

    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        int tried = 0, packed = 0, typed = 0;
        begin();
        const espi_word args[12] = {(espi_word)data, 1, (espi_word)type, each[i].to, 7, (espi_word)onto, 1,
                                    (espi_word)type, each[i].from, 7, (espi_word)MPI_COMM_SELF,
                                    (espi_word)MPI_STATUS_IGNORE};
        for (int call = 0; call < 300; call++) {
            espi_word changed[12];
            memcpy(changed, args, sizeof changed);
            if (!espi_message_begin(&m, state, &espi_api_rows[ESPI_FN_Sendrecv], args, changed)) {
                look();
                continue;
            }
            const bool is_packed[] = {changed[0] != args[0], changed[5] != args[5]};
            tried += m.turn.group != NULL;
            ck_assert(m.turn.group == NULL || m.turn.call == each[i].call);
            ck_assert(each[i].to == 0 || memcmp(changed, args, 5 * sizeof *args) == 0);
            ck_assert(each[i].from == 0 || memcmp(changed + 5, args + 5, 7 * sizeof *args) == 0);
            for (const uint64_t begun = espi_stats_now();
                 (is_packed[0] || is_packed[1]) && espi_stats_now() < begun + PACKED_NS;)
                ;
            packed += is_packed[0] || is_packed[1];
            typed = is_packed[0] || is_packed[1] ? 0 : typed + 1;
            ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
        }
        ck_assert(tried > 0 && packed > 0 && typed > 100); /* these are the last ones */
        end();
    }
}
END_TEST

/* What MPI refuses is not begun, also on the side that is for nobody; nor is what is for nobody at all. */
START_TEST(nobody)
{
    static char onto[ROOM];
    struct espi_message m;
    MPI_Datatype uncommitted;

    begin();
    MPI_Type_contiguous(3, MPI_INT, &uncommitted);
    for (int wrong = 0; wrong < 9; wrong++) {
        const int from = wrong == 2 ? -7 : wrong == 5 ? 0 : MPI_PROC_NULL, items = wrong == 4 ? -1 : wrong != 5;
        const MPI_Datatype there = wrong == 6 ? MPI_DATATYPE_NULL : wrong == 7 ? uncommitted : type;
        const espi_word args[12] = {(espi_word)data, 1, (espi_word)type, wrong == 3 ? MPI_PROC_NULL : 0, 7,
                                    wrong == 8 ? 0 : (espi_word)onto, (espi_word)items, (espi_word)there, from,
                                    wrong == 1 ? -5 : 7, (espi_word)MPI_COMM_SELF, (espi_word)MPI_STATUS_IGNORE};
        espi_word changed[12];
        memcpy(changed, args, sizeof changed);
        const bool begun = espi_message_begin(&m, state, &espi_api_rows[ESPI_FN_Sendrecv], args, changed);
        ck_assert_msg(begun == (wrong == 0 || wrong == 5), "case %d", wrong); /* 5: a side without items */
        if (begun)
            espi_message_end(&m, changed, MPI_SUCCESS);
        else
            ck_assert(memcmp(args, changed, sizeof args) == 0);
    }
    MPI_Type_free(&uncommitted);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/message_left", left, not_left, told, one_side, nobody);
}
