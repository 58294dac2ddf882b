/*
 * Short messages that go as a better type (src/mpi/calls/message.h), as they are not better packed: which do, what
 * is counted, and what they are told to save. Messages are begun and ended, by a clock that is set; those of the
 * program's type take longer.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "base/overlap.h"
#include "clock.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/calls/late_credit.h"
#include "mpi/calls/left_alone.h"
#include "mpi/calls/message.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/calls/short_message.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

enum { COUNT = 3, GAIN_NS = 100, OWN_NS = 1500, CALL_NS = 1000 };

static char data[1 << 16], more[1 << 16];
static MPI_Datatype type;
static struct espi_thread_state *state;
static struct espi_plan *plan;
static MPI_Status status;
static MPI_Request request;

/* A type whose plan says that messages of one part are not better packed, but as MPI_INT, which saves GAIN_NS. */
static void begin(bool told)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.told = told;
    espi_type_service.one_node = true;
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    espi_calls_overlap = false;
    state = espi_thread_state(&own_thread);
    type = regular_ints(3);
    plan = plan_made(type, COUNT, false, ESPI_PACK_MESSAGE);
    test_clock_stands();
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 0);
    atomic_store(&plan->better[ESPI_WHOLE], MPI_INT);
    plan->gain_ns[ESPI_WHOLE] = (uint64_t)(GAIN_NS * plan->count);
}

static void end(void)
{
    test_clock.set = false;
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    atomic_store(&espi_running, false);
    espi_calls_overlap = true;
    state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    espi_late_credits_end();
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
    espi_type_service.one_node = espi_type_service.told = false;
}

static uint64_t said_ps(void)
{
    return atomic_load(&plan->record->saved_ps[ESPI_SAVED_ALONE]);
}

/* A message; the type that it goes as, MPI_DATATYPE_NULL: it goes the general way. Those of the program's type take
   so much longer. */
static MPI_Datatype message(enum espi_fn fn, MPI_Datatype of, uint64_t own_ns)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const espi_word last = row->kind & ESPI_NONBLOCKING ? (espi_word)&request : (espi_word)&status;
    const espi_word args[7] = {(espi_word)data, COUNT, (espi_word)of, 0, 0, (espi_word)MPI_COMM_SELF, last};
    const int64_t users = atomic_load(&plan->users);
    espi_word changed[7];
    struct espi_message m;

    memcpy(changed, args, sizeof changed);
    if (!espi_message_begin(&m, state, row, args, changed)) {
        ck_assert(memcmp(changed, args, sizeof changed) == 0);
        return MPI_DATATYPE_NULL;
    }
    const uint64_t took = CALL_NS + (changed[2] == args[2] ? own_ns : 0);
    test_clock_passes(took, took);
    ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
    ck_assert_int_eq(atomic_load(&plan->users), users);
    for (int i = 0; i < 7; i++)
        ck_assert(i == 2 || changed[i] == args[i] || (MPI_Datatype)changed[2] == MPI_PACKED);
    return (MPI_Datatype)changed[2];
}

/* Whether MPI_Send goes the way of those that are packed. */
static espi_word sent(espi_word buffer)
{
    (void)buffer;
    return MPI_SUCCESS;
}

static bool goes_packed(void)
{
    const espi_word args[6] = {(espi_word)data, COUNT, (espi_word)type, 0, 0, (espi_word)MPI_COMM_SELF};
    espi_word result;

    return espi_short_send(state, ESPI_FN_Send, args, (espi_next)(void (*)(void))sent, &result);
}

/* By the models, where nobody asks. */
START_TEST(goes_as_better)
{
    static const enum espi_fn fns[] = {ESPI_FN_Send, ESPI_FN_Ssend, ESPI_FN_Recv, ESPI_FN_Isend, ESPI_FN_Irecv};

    begin(false);
    for (size_t i = 0; i < sizeof fns / sizeof fns[0]; i++) {
        const uint64_t substituted = counted(ESPI_COUNT_calls_substituted), uses = espi_slot_of(type)->uses,
                       bytes = counted(ESPI_COUNT_bytes_substituted), said = said_ps();
        ck_assert(!goes_packed() && !espi_message_plan_packs(type, COUNT));
        ck_assert_int_eq(message(fns[i], type, OWN_NS), MPI_INT);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_substituted), substituted + 1);
        ck_assert_uint_eq(counted(ESPI_COUNT_bytes_substituted), bytes + (uint64_t)(COUNT * plan->size));
        ck_assert_uint_eq(espi_slot_of(type)->uses, uses + 1);
        ck_assert_uint_eq(said_ps(), said + 1000 * COUNT * GAIN_NS);
        ck_assert_uint_eq(plan->saved_ns, 1 + COUNT * GAIN_NS);
    }
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert_int_eq(message(ESPI_FN_Send, type, OWN_NS), MPI_DATATYPE_NULL);
    end();
}
END_TEST

/* Those whose request costs what packing gains, unless it is to be tried, and those that lose by it. */
START_TEST(rather_than_packed)
{
    begin(false);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 200 * (uint64_t)plan->count / COUNT);
    ck_assert(espi_plan_packs_message(plan, COUNT, ESPI_ALONE) && !espi_plan_packs_kept(plan, COUNT));
    ck_assert_int_eq(message(ESPI_FN_Irecv, type, OWN_NS), MPI_INT);
    ck_assert_int_eq(message(ESPI_FN_Send, type, OWN_NS), MPI_PACKED);
    ck_assert(espi_message_plan_packs(type, COUNT));
    plan->doubtful[ESPI_KEPT] = true;
    ck_assert(espi_plan_packs_kept(plan, COUNT));
    for (int i = 0; i < ESPI_COUNTS_TRIED; i++)
        plan->found_of[ESPI_KEPT][i] = (struct espi_plan_found){.count = COUNT + i, .loses = i == 1};
    plan->n_found[ESPI_KEPT] = ESPI_COUNTS_TRIED;
    ck_assert(espi_plan_packs_kept(plan, COUNT) && !espi_plan_packs_kept(plan, COUNT - 1)); /* which the models say */
    plan->found_of[ESPI_KEPT][0].loses = true;
    plan->n_lost = 1;
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(message(ESPI_FN_Irecv, type, OWN_NS), MPI_INT);
    plan->n_found[ESPI_KEPT] = plan->n_lost = 0;
    plan->doubtful[ESPI_KEPT] = false;
    plan->found_of[ESPI_ALONE][plan->n_found[ESPI_ALONE]++] = (struct espi_plan_found){.count = COUNT, .loses = true};
    plan->n_lost++;
    ck_assert_int_eq(message(ESPI_FN_Send, type, OWN_NS), MPI_INT);
    plan->n_found[ESPI_ALONE] = plan->n_lost = 0;
    espi_slot_class(espi_slot_of(type))->packs = false; /* this one would be packed, and note it */
    ck_assert_int_eq(message(ESPI_FN_Send, type, OWN_NS), MPI_DATATYPE_NULL);
    end();
}
END_TEST

/* ---- those that go as they are ---- */

static bool is_left(enum espi_message_calls calls)
{
    struct espi_type_slot *slot = espi_message_plan_leaves(type, COUNT, calls, true);

    ck_assert(slot == NULL || slot == espi_slot_of(type));
    return slot != NULL;
}

/* Whether a call goes on as it is, without the general way; one with two sides, to and from `peer`. */
static bool stays(enum espi_fn fn, int peer)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct asked asked = {row->large, false, row->kind, row->comm, row->root, fn};
    const espi_word one[7] = {(espi_word)data, COUNT, (espi_word)type, 0, 0, MPI_COMM_SELF, (espi_word)&request},
                    two[12] = {(espi_word)data, COUNT, (espi_word)type, (espi_word)peer, 0, (espi_word)more, COUNT,
                               (espi_word)type, (espi_word)peer, 0, MPI_COMM_SELF, (espi_word)&status};

    const espi_word both_ways[9] = {(espi_word)data, COUNT, (espi_word)type, (espi_word)peer, 0, (espi_word)peer, 0,
                                    MPI_COMM_SELF, (espi_word)&status};

    return espi_left_alone(state, &asked, row->typed, row->kind & ESPI_OWN ? ESPI_PAIRED_MESSAGE : 0,
                           row->args == 12 ? two : row->args == 9 ? both_ways : one);
}

/* The plan is for some calls, and others go on as they are: those that keep a record of the request, as packing
   gains less than that, or calls of a kind that turns have shown to lose by it. */
START_TEST(left_in_some_calls)
{
    begin(false);
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 200 * (uint64_t)plan->count / COUNT);
    plan->forms_pending = false;
    espi_slot_class(espi_slot_of(type))->packs = true;
    for (int loses = 0; loses < 2; loses++) {
        ck_assert(is_left(ESPI_ALONE) == loses && !is_left(ESPI_PAIRED) && is_left(ESPI_KEPT));
        ck_assert(stays(ESPI_FN_Send, 0) == loses && stays(ESPI_FN_Isend, 0) && stays(ESPI_FN_Irecv, 0));
        ck_assert(!stays(ESPI_FN_Bsend, 0) && !stays(ESPI_FN_Bsend_init, 0) && !stays(ESPI_FN_Sendrecv, 1));
        ck_assert(stays(ESPI_FN_Send_init, 0) == loses && stays(ESPI_FN_Recv_init, 0) == loses);
        plan->found_of[ESPI_ALONE][0] = (struct espi_plan_found){.count = COUNT, .loses = true};
        plan->n_found[ESPI_ALONE] = plan->n_lost = 1;
    }
    ck_assert(espi_message_plan_leaves(type, COUNT + 1, ESPI_ALONE, true) == NULL);
    ck_assert(espi_plan_packs_message(plan, COUNT, ESPI_KEPT) && espi_plan_packs_message(plan, COUNT, ESPI_PAIRED));

    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 2000);
    ck_assert(!is_left(ESPI_KEPT) && is_left(ESPI_ALONE));
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 0);
    ck_assert(is_left(ESPI_PAIRED) && !stays(ESPI_FN_Sendrecv_replace, 1)); /* which is judged as a block is */
    atomic_store(&plan->better[ESPI_WHOLE], MPI_INT); /* as which they go */
    ck_assert(!is_left(ESPI_ALONE) && !is_left(ESPI_PAIRED));
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    plan->forms_pending = true; /* that are looked for after some such uses */
    ck_assert(!is_left(ESPI_ALONE));
    plan->forms_pending = false;
    espi_slot_class(espi_slot_of(type))->packs = false; /* it is not known yet what becomes of the class */
    ck_assert(!is_left(ESPI_ALONE));
    espi_slot_class(espi_slot_of(type))->packs = true;
    plan->stands = true;
    ck_assert(!is_left(ESPI_ALONE));
    plan->stands = false;
    ck_assert(is_left(ESPI_ALONE) && espi_message_plan_leaves(type, 8255 / plan->size + 1, ESPI_ALONE, true) == NULL);
    atomic_store(&espi_slot_of(type)->look, espi_slot_of(type)->uses + 1);
    ck_assert(!is_left(ESPI_ALONE));
    atomic_store(&espi_slot_of(type)->look, 1 << 20);
    plan->n_found[ESPI_ALONE] = plan->n_lost = 0;
    end();
}
END_TEST

/* A message to another rank is none to the own one: none of them is looked at as such. */
START_TEST(to_others)
{
    enum { CALLS = 200 };
    int looked_at = 0;

    begin(false);
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    plan->forms_pending = false;
    espi_slot_class(espi_slot_of(type))->packs = true;
    for (int i = 0; i < CALLS; i++) {
        ck_assert(stays(ESPI_FN_Sendrecv, 1) && stays(ESPI_FN_Sendrecv, MPI_PROC_NULL));
        looked_at += !stays(ESPI_FN_Sendrecv, 0);
    }
    ck_assert_int_gt(looked_at, 0);
    end();
}
END_TEST

/* A call that only sends, as its other side is for nobody, is of the kind of those with one side. */
START_TEST(one_way)
{
    begin(false);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 2000);
    plan->found_of[ESPI_PAIRED][0] = (struct espi_plan_found){.count = COUNT, .loses = true};
    plan->n_found[ESPI_PAIRED] = plan->n_lost = 1;
    for (int nobody = 0; nobody < 2; nobody++) {
        const espi_word args[12] = {(espi_word)data, COUNT, (espi_word)type, 0, 0, (espi_word)more, COUNT,
                                    (espi_word)type, (espi_word)(nobody ? MPI_PROC_NULL : 0), 0, MPI_COMM_SELF,
                                    (espi_word)&status};
        espi_word changed[12];
        struct espi_message m;
        memcpy(changed, args, sizeof changed);
        espi_slot_class(espi_slot_of(type))->packs = true;
        ck_assert(espi_message_begin(&m, state, &espi_api_rows[ESPI_FN_Sendrecv], args, changed));
        ck_assert_int_eq((MPI_Datatype)changed[2], nobody ? MPI_PACKED : MPI_INT);
        ck_assert_int_eq(m.calls, nobody ? ESPI_ALONE : ESPI_PAIRED);
        ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
    }
    plan->n_found[ESPI_PAIRED] = plan->n_lost = 0;
    end();
}
END_TEST

/* Some of them go as the program's type, where a report is wanted, and what the others save is told by that, not by
   the models: those before that was known, too, at the end. */
START_TEST(told)
{
    enum { MESSAGES = 1000 };
    uint64_t better = 0, own = 0, last = 0;

    begin(true);
    const double most = espi_plan_saves_at_most(plan, COUNT);
    ck_assert(most > OWN_NS);
    const uint64_t begun = said_ps();
    for (int i = 0; i < MESSAGES; i++) {
        const uint64_t before = said_ps();
        const MPI_Datatype as = message(ESPI_FN_Send, type, OWN_NS);
        ck_assert(as == MPI_INT || as == type);
        better += as == MPI_INT;
        own += as == type;
        last = said_ps() - before;
    }
    ck_assert(own > 10 && own < MESSAGES / 4);
    ck_assert_msg(last > 1000 * (OWN_NS - 2) && last <= 1000 * OWN_NS, "%lu ps", (unsigned long)last);
    espi_late_credits_end();
    const double each = (double)(said_ps() - begun) / 1000 / (double)better;
    ck_assert_msg(each > OWN_NS - 2 && each <= OWN_NS, "%g ns", each); /* packing, and what it costs, is none of it */
    ck_assert_uint_eq(plan->saved_ns, 1 + COUNT * GAIN_NS); /* decisions go by the models */
    end();
}
END_TEST

/* What was found of such ones says nothing of packed ones that come later: they have a trial, of their own, but only
   one, also where others have had one since. */
START_TEST(told_before_packed)
{
    enum { MESSAGES = 1000, MANY = 100000, PACKED_NS = 500, BESIDE = 60 /* ns: what packing costs */ };
    const uint64_t packed_ns = 2000;
    int own = 0, packed = 0;

    begin(true);
    for (int i = 0; i < MESSAGES; i++)
        message(ESPI_FN_Send, type, OWN_NS);
    espi_late_credits_end();
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], packed_ns * (uint64_t)plan->count / COUNT);
    uint64_t before = said_ps();
    while (own + packed < MESSAGES && !goes_packed()) {
        const MPI_Datatype as = message(ESPI_FN_Send, type, PACKED_NS);
        ck_assert(as == MPI_PACKED || as == type);
        own += as == type;
        packed += as == MPI_PACKED;
    }
    ck_assert_int_gt(own, 10);
    ck_assert_int_lt(own + packed, MESSAGES);
    espi_late_credits_end();
    const double each = (double)(said_ps() - before) / 1000 / (packed + 1);
    ck_assert_msg(each > PACKED_NS - BESIDE && each <= PACKED_NS, "%g ns", each);
    before = said_ps();
    ck_assert(goes_packed());
    const double is = (double)(said_ps() - before) / 1000;
    ck_assert_msg(is > PACKED_NS - BESIDE && is <= PACKED_NS, "%g ns", is);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 0);
    const uint64_t decided = counted(ESPI_COUNT_ways_decided);
    for (int i = 0; i < MANY && counted(ESPI_COUNT_ways_decided) == decided; i++)
        ck_assert_int_ne(message(ESPI_FN_Send, type, OWN_NS), MPI_PACKED);
    ck_assert_uint_gt(counted(ESPI_COUNT_ways_decided), decided);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], packed_ns * (uint64_t)plan->count / COUNT);
    plan->short_told = 0;
    plan->last_short.count = 0;
    ck_assert(goes_packed());
    end();
}
END_TEST

/* Until their own trial has come to its end the models tell of packed ones. */
START_TEST(told_by_models)
{
    enum { MESSAGES = 1000, FEW = 20, PACKED_NS = 2000, MODEL_NS = PACKED_NS + COUNT * GAIN_NS };
    int packed = 0;

    begin(true);
    for (int i = 0; i < MESSAGES; i++)
        message(ESPI_FN_Send, type, OWN_NS);
    espi_late_credits_end();
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], PACKED_NS * (uint64_t)plan->count / COUNT);
    const uint64_t before = said_ps(), decided = counted(ESPI_COUNT_ways_decided);
    for (int i = 0; i < FEW; i++)
        packed += message(ESPI_FN_Send, type, OWN_NS) == MPI_PACKED;
    espi_late_credits_end();
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_decided), decided);
    ck_assert_int_gt(packed, 0);
    const double each = (double)(said_ps() - before) / 1000 / packed;
    ck_assert_msg(each > MODEL_NS - 2 && each < MODEL_NS + 2, "%g ns", each);
    end();
}
END_TEST

/* And what was found of packed ones says nothing of those that go as a better type later. */
START_TEST(told_after_packed)
{
    enum { MESSAGES = 1000, PACKED_NS = 500 };
    int better = 0;

    begin(true);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 2000 * (uint64_t)plan->count / COUNT);
    for (int i = 0; i < MESSAGES && !goes_packed(); i++)
        ck_assert_int_ne(message(ESPI_FN_Send, type, PACKED_NS), MPI_INT);
    espi_late_credits_end();
    const uint64_t decided = counted(ESPI_COUNT_ways_decided), before = said_ps();
    ck_assert_uint_gt(decided, 0);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 0);
    for (int i = 0; i < MESSAGES; i++)
        better += message(ESPI_FN_Send, type, OWN_NS) == MPI_INT;
    ck_assert_uint_gt(counted(ESPI_COUNT_ways_decided), decided);
    espi_late_credits_end();
    const double each = (double)(said_ps() - before) / 1000 / better;
    ck_assert_msg(each > OWN_NS - 2 && each <= OWN_NS, "%g ns", each);
    end();
}
END_TEST

/* Of several parts, which no model would pack. */
static MPI_Datatype long_column(void)
{
    MPI_Datatype column;

    MPI_Type_vector(3000, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    espi_types_committed(state, column);
    return column;
}

/* One side is found out by turns, beside which the other one stays as it is: as a better type, or the program's. */
START_TEST(beside_doubtful)
{
    enum { MESSAGES = 1000 };
    for (int how = 0; how < 8; how++) {
        const bool is_better = how < 2, is_quiet = how / 2 == 2, is_long = how / 2 == 3;
        int went[2] = {0}, calls = 0;
        begin(how % 2);
        MPI_Datatype sides[2] = {type, is_long ? long_column() : regular_ints(5)};
        struct espi_plan *other = plan_made(sides[1], COUNT, false, ESPI_PACK_MESSAGE);
        atomic_store(&other->packed_ns[ESPI_PACK_MESSAGE], 0);
        atomic_store(&other->better[ESPI_WHOLE], is_better ? MPI_DOUBLE : MPI_DATATYPE_NULL);
        other->open[0] = other->open[1] = ESPI_WAYS_NONE;
        if (is_long)
            atomic_store(&other->better[ESPI_PARTS], MPI_DATATYPE_NULL);
        else
            espi_slot_class(espi_slot_of(sides[1]))->passed = ESPI_CLASS_PASSED_MOST; /* nothing new of it */
        if (is_quiet)
            atomic_store(&espi_slot_of(sides[1])->plan, NULL);
        const uint64_t uses = espi_slot_of(sides[1])->uses;
        atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
        atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 150 * (uint64_t)plan->count / COUNT);
        plan->doubtful[ESPI_PAIRED] = true;
        for (int i = 0; i < MESSAGES && espi_plan_found(plan, COUNT, ESPI_PAIRED) == NULL; i++) {
            const espi_word args[12] = {(espi_word)data, COUNT, (espi_word)sides[0], 0, 0, (espi_word)more, COUNT,
                                        (espi_word)sides[1], 0, 0, MPI_COMM_SELF, (espi_word)&status};
            espi_word changed[12];
            struct espi_message m;
            memcpy(changed, args, sizeof changed);
            changed[5] = 0; /* MPI_BOTTOM, which it refuses for such a type */
            ck_assert(!espi_message_begin(&m, state, &espi_api_rows[ESPI_FN_Sendrecv], changed, changed));
            memcpy(changed, args, sizeof changed);
            if (!espi_message_begin(&m, state, &espi_api_rows[ESPI_FN_Sendrecv], args, changed))
                continue;
            ck_assert_int_eq((MPI_Datatype)changed[7], is_better ? MPI_DOUBLE : sides[1]);
            calls++;
            went[(MPI_Datatype)changed[2] == type]++;
            test_clock_passes(CALL_NS, CALL_NS);
            ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
        }
        ck_assert(went[0] > 10 && went[1] > 10 && espi_plan_found(plan, COUNT, ESPI_PAIRED) != NULL);
        ck_assert_uint_eq(espi_slot_of(sides[1])->uses, uses + (uint64_t)calls);
        atomic_store(&espi_slot_of(sides[1])->plan, other);
        atomic_store(&other->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
        plan->n_found[ESPI_PAIRED] = plan->n_lost = 0;
        MPI_Type_free(&sides[1]);
        end();
    }
}
END_TEST

/* Of other nodes' ranks nothing is told. */
START_TEST(several_nodes)
{
    begin(true);
    espi_type_service.one_node = false;
    for (int i = 0; i < 400; i++) {
        const uint64_t before = said_ps();
        ck_assert_int_eq(message(ESPI_FN_Send, type, OWN_NS), MPI_INT);
        ck_assert_uint_eq(said_ps(), before + 1000 * COUNT * GAIN_NS);
    }
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/short_typed", goes_as_better, rather_than_packed, told,
                     told_before_packed, told_by_models, told_after_packed, beside_doubtful, several_nodes,
                     left_in_some_calls, to_others, one_way);
}
