/*
 * Types of persistent messages, which are decided on when their requests are made: so many starts are expected
 * (src/mpi/typeplan/type_look.c), and the models say what is done (type_look.h), as there are no turns.
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>

#include "base/overlap.h"
#include "mpi/calls/left_alone.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

enum { NUMBERS = 3000, STARTS = 64 };

static struct espi_thread_state *state;

static void begin(void)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.one_node = true;
    espi_type_service.packing = ESPI_MODE_AUTO;
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    espi_calls_overlap = false;
    state = espi_thread_state(&own_thread);
}

static void end(void)
{
    atomic_store(&espi_running, false);
    espi_calls_overlap = true;
    state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    espi_comm_cache_stop();
    espi_types_stop();
    espi_type_service.one_node = false;
}

/* A list that the service has seen committed. */
static MPI_Datatype list(int salt)
{
    MPI_Datatype type = irregular(NUMBERS, salt);

    espi_types_committed(state, type);
    return type;
}

/* One use. Whether there is a plan then. */
static bool is_planned_by(MPI_Datatype type, enum espi_packable use)
{
    const struct espi_way way = espi_types_way(&own_thread, type, 1, false, use);

    if (way.packed != NULL)
        espi_plan_release(way.packed);
    return atomic_load(&espi_slot_of(type)->plan) != NULL;
}

static bool stays(enum espi_fn fn, MPI_Datatype type)
{
    static char data[8];
    MPI_Request request;
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct asked asked = {row->large, false, row->kind, row->comm, row->root, fn};
    const espi_word args[7] = {(espi_word)data, 1, (espi_word)type, 0, 0, MPI_COMM_SELF, (espi_word)&request};

    return espi_left_alone(state, &asked, row->typed, 0, args);
}

/* The first request plans a long list; another first use, and a short type, which would lose nothing by it, does not.
   A partitioned message is the library's. One use is counted. */
START_TEST(planned_at_once)
{
    static const enum espi_packable uses[] = {ESPI_PACK_STARTED_SENT, ESPI_PACK_STARTED_RECEIVED, ESPI_PACK_KEPT_SENT,
                                              ESPI_PACK_MESSAGE};
    static const enum espi_fn fns[] = {ESPI_FN_Send_init, ESPI_FN_Recv_init, ESPI_FN_Isend, ESPI_FN_Send};

    for (int i = 0; i < 4; i++) {
        const bool starts = i < 2;
        begin();
        MPI_Datatype type = list(i);
        ck_assert_int_eq(stays(fns[i], type), !starts);
        ck_assert_int_eq(is_planned_by(type, uses[i]), starts);
        const struct espi_type_slot *slot = espi_slot_of(type);
        const struct espi_type_class *class = espi_slot_class(slot);
        if (starts) {
            ck_assert_uint_eq(class->uses, STARTS + 1);
            ck_assert_uint_eq(class->items, STARTS + 1);
            ck_assert_uint_eq(atomic_load(&atomic_load(&slot->plan)->record->uses), 1);
            struct espi_type_class *known = espi_slot_class(slot);
            known->ended = 1; /* one that has ended before */
            MPI_Datatype again = list(i);
            atomic_store(&espi_slot_of(again)->look, 1000);
            ck_assert(is_planned_by(again, uses[i]) && espi_slot_class(espi_slot_of(again)) == known);
            ck_assert_uint_le(known->uses, STARTS + 2);
            MPI_Type_free(&again);
        }
        MPI_Type_free(&type);
        end();
    }
}
END_TEST

/* What was found to be best as it is, or is never to be looked at, is left alone. */
START_TEST(settled)
{
    for (int never = 0; never < 2; never++) {
        begin();
        MPI_Datatype type = list(3 + never);
        struct espi_type_slot *slot = espi_slot_of(type);
        ck_assert(espi_types_waits(slot) && !stays(ESPI_FN_Send_init, type));
        atomic_store(&slot->settled, !never);
        atomic_store(&slot->look, ESPI_NEVER);
        ck_assert(!espi_types_waits(slot) && stays(ESPI_FN_Send_init, type));
        ck_assert(!is_planned_by(type, ESPI_PACK_STARTED_SENT));
        MPI_Type_free(&type);
        end();
    }
}
END_TEST

/* The plan of a list, which is planned by a request. */
static struct espi_plan *planned(int salt, MPI_Datatype *type)
{
    begin();
    *type = list(salt);
    ck_assert(is_planned_by(*type, ESPI_PACK_STARTED_SENT));
    return atomic_load(&espi_slot_of(*type)->plan);
}

/* A short one of which it is not sure that it gains by packing is left until others have found that out. */
START_TEST(short_ones)
{
    MPI_Datatype type;
    struct espi_plan *plan = planned(6, &type);
    plan->size = 800;
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 100);
    for (int found = 0; found < 2; found++) {
        for (int doubtful = 0; doubtful < 2; doubtful++) {
            plan->doubtful[ESPI_ALONE] = doubtful;
            ck_assert_int_eq(espi_plan_is_to_pack(plan, 1, ESPI_WHOLE, ESPI_PACK_STARTED_SENT, 1, 1),
                             !doubtful || found);
            ck_assert(espi_plan_is_to_pack(plan, 1, ESPI_WHOLE, ESPI_PACK_MESSAGE, 1, 1));
        }
        plan->found_of[ESPI_ALONE][0] = (struct espi_plan_found){.count = 1, .loses = false};
        plan->n_found[ESPI_ALONE] = 1;
    }
    plan->found_of[ESPI_ALONE][0].loses = true;
    plan->n_lost = 1;
    ck_assert(!espi_plan_is_to_pack(plan, 1, ESPI_WHOLE, ESPI_PACK_STARTED_RECEIVED, 1, 1));
    MPI_Type_free(&type);
    end();
}
END_TEST

/* A guess is good enough where packing saves most of what the library takes. */
START_TEST(without_turns)
{
    MPI_Datatype type;
    struct espi_plan *plan = planned(5, &type);
    plan->open[true] = ESPI_WAYS_EVEN;
    plan->engine_ns[ESPI_PARTS] = 1000;
    for (int saves = 400; saves <= 600; saves += 200) {
        atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], (uint64_t)saves);
        ck_assert_int_eq(espi_plan_is_to_pack(plan, 1, ESPI_PARTS, ESPI_PACK_STARTED_SENT, 1, 1), saves > 500);
        ck_assert_int_eq(espi_plan_is_to_pack(plan, 1, ESPI_PARTS, ESPI_PACK_STARTED_RECEIVED, 1, 1), saves > 500);
    }
    plan->open[true] = ESPI_WAYS_SURE;
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 400);
    ck_assert(espi_plan_is_to_pack(plan, 1, ESPI_PARTS, ESPI_PACK_STARTED_SENT, 1, 1));
    MPI_Type_free(&type);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/started", planned_at_once, settled, short_ones, without_turns);
}
