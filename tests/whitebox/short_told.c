/*
 * What short messages save, where that is to be told (src/mpi/calls/short_message.c, message.h): some of the first
 * ones go as the program's type, and from then on what the models say is counted as much more or less as that showed.
 * Messages are begun and ended, by a clock that is set; those of the program's type take longer.
 */
#include <check.h>
#include <math.h>
#include <mpi.h>
#include <string.h>

#include "base/overlap.h"
#include "clock.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/comm/world.h"
#include "mpi/calls/left_alone.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/core_distance.h"
#include "mpi/packed/trial_numbers.h"
#include "mpi/calls/late_credit.h"
#include "mpi/calls/message.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/calls/short_message.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

enum { COUNT = 3, ROOM = 1 << 16, OWN_NS = 30000, CALL_NS = 1000, MESSAGES = 1000 };

static char data[ROOM];
static MPI_Datatype type;
static struct espi_thread_state *state;

static espi_word sent(espi_word buffer)
{
    (void)buffer;
    return MPI_SUCCESS;
}

static int count = COUNT;

static const espi_word *args(void)
{
    static espi_word is[6];
    const espi_word now[6] = {(espi_word)data, (espi_word)count, (espi_word)type, 0, 0, (espi_word)MPI_COMM_SELF};

    memcpy(is, now, sizeof is);
    return is;
}

static bool goes_the_short_way(void)
{
    espi_word result;

    return espi_short_send(state, ESPI_FN_Send, args(), (espi_next)(void (*)(void))sent, &result);
}

static struct espi_plan *plan_of_type(void)
{
    return atomic_load(&espi_slot_of(type)->plan);
}

/* A use that is looked at. */
static void look(void)
{
    struct espi_way way = espi_types_way(&own_thread, type, COUNT, false, ESPI_PACK_MESSAGE);

    if (way.packed != NULL)
        espi_plan_release(way.packed);
}

static enum espi_message_way slow = ESPI_WAY_OWN; /* the way that takes so much more */
static uint64_t slow_ns = OWN_NS;

/* ESPI_WAYS: the use was looked at. */
static enum espi_message_way go_the_long_way(void)
{
    const int64_t users = atomic_load(&plan_of_type()->users);
    espi_word changed[6];
    struct espi_message m;

    memcpy(changed, args(), sizeof changed);
    if (!espi_message_begin(&m, state, &espi_api_rows[ESPI_FN_Send], args(), changed)) {
        look(); /* it is due */
        return ESPI_WAYS;
    }
    const enum espi_message_way way = m.turn.way;
    ck_assert_int_eq((MPI_Datatype)changed[2] == type, way == ESPI_WAY_OWN);
    const uint64_t took = CALL_NS + (way == slow ? slow_ns : 0);
    test_clock_passes(took, took);
    ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
    ck_assert_int_eq(atomic_load(&plan_of_type()->users), users);
    return way;
}

static uint64_t said_ps(void)
{
    return atomic_load(&plan_of_type()->record->saved_ps[ESPI_SAVED_ALONE]);
}

/* As it is elsewhere: whether there is a better type does not depend on this machine's times. */
struct espi_engine __wrap_espi_engine(void);
struct espi_engine __wrap_espi_engine(void)
{
    return ESPI_ENGINE_USUAL;
}

/* A type whose plan is known, and everything is packed. */
static void begin(bool told)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.told = told;
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_type_service.one_node = true;
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    espi_calls_overlap = false;
    state = espi_thread_state(&own_thread);
    type = regular_ints(3);
    for (int i = 0; i < 4; i++)
        look();
    ck_assert_ptr_ne(plan_of_type(), NULL);
    test_clock_stands();
    atomic_store(&plan_of_type()->packed_ns[ESPI_PACK_MESSAGE], 2000);
}

static void end(void)
{
    test_clock.set = false;
    slow = ESPI_WAY_OWN;
    slow_ns = OWN_NS;
    atomic_store(&espi_running, false);
    espi_calls_overlap = true;
    MPI_Type_free(&type);
    espi_late_credits_end();
    espi_comm_cache_stop();
    espi_types_stop();
    espi_type_service.one_node = espi_type_service.told = false;
}

/* Where nobody asks all go the short way from the first on, and the models are believed. */
START_TEST(not_told)
{
    begin(false);
    const uint64_t before = said_ps(),
                   modelled = espi_plan_saving(plan_of_type(), COUNT, ESPI_WHOLE, true, ESPI_PACK_MESSAGE).ps;
    ck_assert(goes_the_short_way() && goes_the_short_way());
    ck_assert_uint_eq(said_ps() - before, 2 * modelled);
    end();
}
END_TEST

START_TEST(told)
{
    int sends = 0, went[ESPI_WAYS + 1] = {0};

    begin(true);
    espi_core_distance.more_ns = 320; /* as first times show it; what is measured has it in it */
    for (; sends < MESSAGES && !goes_the_short_way(); sends++)
        went[go_the_long_way()]++;
    ck_assert_int_lt(sends, MESSAGES);
    ck_assert(went[ESPI_WAY_OWN] > 0 && went[ESPI_WAY_OWN] < sends / 2);
    espi_core_distance.more_ns = 0;
    const uint64_t before = said_ps(), uses = atomic_load(&espi_slot_of(type)->uses),
                   noted = espi_plan_saving(plan_of_type(), COUNT, ESPI_WHOLE, true, ESPI_PACK_MESSAGE).ps;
    ck_assert(goes_the_short_way());
    ck_assert_uint_eq(atomic_load(&espi_slot_of(type)->uses), uses + 1);
    const double is = (double)(said_ps() - before) / 1000, most = espi_plan_saves_at_most(plan_of_type(), COUNT);
    ck_assert_msg(most < OWN_NS / 2 && is > 0.99 * most && is < 1.01 * most, "%g ns, not %g", is, most);
    ck_assert_uint_eq(atomic_load(&plan_of_type()->saved_ns), 1 + noted / 1000); /* decisions go by the models */
    espi_core_distance.more_ns = 320;
    ck_assert(goes_the_short_way());
    ck_assert(fabs((double)(said_ps() - before) / 2000 - is) < 1);
    plan_of_type()->short_told = -1; /* other waiting makes more difference */
    plan_of_type()->last_short.count = 0;
    const uint64_t now = said_ps(),
                   modelled = espi_plan_saving(plan_of_type(), COUNT, ESPI_WHOLE, true, ESPI_PACK_MESSAGE).ps;
    ck_assert(goes_the_short_way());
    ck_assert(modelled > noted && said_ps() - now - modelled <= 1);
    espi_core_distance.more_ns = 0;
    ck_assert_int_eq(go_the_long_way(), ESPI_WAY_DENSE);
    end();
}
END_TEST

/* What the messages of the trial save, and those before it, is told at the end: as it was found; of longer ones,
   whose trial has not ended, the models are believed. */
START_TEST(told_later)
{
    enum { FEW = 20, LONGER = 8 * COUNT, MODELLED = 50 };
    int went[ESPI_WAYS + 1] = {0}, longer[ESPI_WAYS + 1] = {0};

    begin(true);
    struct espi_plan *plan = plan_of_type();
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], MODELLED);
    for (int sends = 0; sends < MESSAGES && !goes_the_short_way(); sends++) {
        const uint64_t before = said_ps();
        const enum espi_message_way way = go_the_long_way();
        went[way]++;
        ck_assert(way == ESPI_WAYS || said_ps() == before);
    }
    const double most = espi_plan_saves_at_most(plan, COUNT), each = most < OWN_NS ? most : OWN_NS;
    count = LONGER;
    for (int i = 0; i < FEW; i++)
        longer[go_the_long_way()]++;
    const double modelled =
        (double)espi_plan_saving(plan, LONGER, ESPI_WHOLE, true, ESPI_PACK_MESSAGE).ps / 1000;
    ck_assert(longer[ESPI_WAY_DENSE] > 0 && modelled < each / 4);
    const uint64_t before = said_ps();
    espi_late_credits_end();
    const double is = (double)(said_ps() - before) / 1000 - longer[ESPI_WAY_DENSE] * modelled,
                 one = is / (double)went[ESPI_WAY_DENSE];
    ck_assert_msg(one > 0.8 * each && one < 1.2 * each, "%g ns, not %g", one, each);
    const uint64_t after = said_ps();
    espi_late_credits_end(); /* each but once */
    ck_assert_uint_eq(said_ps(), after);
    count = COUNT;
    end();
}
END_TEST

/* Where the trial has not come to its end by then, the models are believed. */
START_TEST(never_told)
{
    enum { FEW = 20 };
    int went[ESPI_WAYS + 1] = {0};

    begin(true);
    const uint64_t modelled = espi_plan_saving(plan_of_type(), COUNT, ESPI_WHOLE, true, ESPI_PACK_MESSAGE).ps;
    for (int sends = 0; sends < FEW; sends++) {
        ck_assert(!goes_the_short_way());
        went[go_the_long_way()]++;
    }
    const uint64_t before = said_ps();
    espi_late_credits_end();
    ck_assert_int_gt(went[ESPI_WAY_DENSE], 0);
    ck_assert_uint_eq(said_ps() - before, (uint64_t)went[ESPI_WAY_DENSE] * modelled);
    end();
}
END_TEST

/* Within a node another rank may have its plan later, and begin a trial then, which is followed: what is told is what
   that one shows. Else there is one trial, also where its turns cost little and the next one would be due soon. */
START_TEST(asked_again)
{
    enum { WITHIN = 2048, MOST = 2 * WITHIN, TRIAL = 200, ASKED = 900, BESIDE = 60 /* ns: what packing costs */ };
    static const struct { uint64_t slow_ns, later_ns; } cases[] = {{OWN_NS, OWN_NS}, {OWN_NS, 3000}, {100, 100}};

    for (int which = 0; which < 3; which++) {
        static atomic_uchar said[2 * ESPI_TRIAL_SIZES]; /* by the rank that messages go to, and by this one */
        const uint64_t should = cases[which].later_ns, decided = counted(ESPI_COUNT_ways_decided);
        const bool asks = should != cases[which].slow_ns;
        int sends = 0, least = WITHIN + (asks ? ASKED : 0);
        memset(said, 0, sizeof said);
        begin(true);
        espi_trial_numbers_share(said, 1);
        espi_world.open = true;
        espi_world.size = 1;
        for (; sends < MOST && !goes_the_short_way(); sends++) {
            for (int size = 0; size < ESPI_TRIAL_SIZES && asks && sends == ASKED; size++)
                said[size] = ESPI_TRIAL_NUMBERS / 4;
            slow_ns = sends < ASKED ? cases[which].slow_ns : should;
            go_the_long_way();
        }
        ck_assert_msg(sends >= least && sends < least + TRIAL, "%d messages", sends);
        ck_assert_uint_eq(counted(ESPI_COUNT_ways_decided), decided + 1 + asks);
        const uint64_t ps = espi_plan_saving(plan_of_type(), COUNT, ESPI_WHOLE, true, ESPI_PACK_MESSAGE).ps;
        const double is = (double)plan_of_type()->short_told * (double)ps / 1000;
        ck_assert_msg(is > 0.99 * (double)should - BESIDE && is < 1.01 * (double)should, "%g ns", is);
        espi_trial_numbers_share(NULL, 0);
        espi_world.open = false;
        end();
    }
}
END_TEST

/* Where nothing is told, and where everything is to be packed, there are no such turns. */
START_TEST(wanted)
{
    static const enum espi_mode modes[] = {ESPI_MODE_OFF, ESPI_MODE_AUTO, ESPI_MODE_ALWAYS};

    for (int how = 0; how < 3; how++)
        for (int i = 0; i < 3; i++) {
            struct espi_settings settings;
            espi_settings_defaults(&settings);
            settings.pack = modes[i];
            settings.summary = how == 1;
            strcpy(settings.stats, how == 2 ? "file" : "");
            start(ESPI_MODE_AUTO);
            espi_types_stop();
            ck_assert_int_eq(espi_types_start(&settings), ESPI_OK);
            ck_assert_int_eq(espi_type_service.told, how > 0 && modes[i] == ESPI_MODE_AUTO);
            espi_types_stop();
        }
}
END_TEST

/* ---- messages of which the models are not sure that they are better packed ---- */

/* As `begin`, with such a plan. */
static struct espi_plan *begin_in_doubt(enum espi_message_way slower)
{
    begin(false);
    espi_type_service.packing = ESPI_MODE_AUTO;
    slow = slower;
    struct espi_plan *plan = plan_of_type();
    ck_assert(goes_the_short_way());
    ck_assert_int_eq(plan->count, COUNT);
    plan->doubtful[ESPI_ALONE] = true;
    plan->last_short.count = 0;
    return plan;
}

static bool is_in_doubt(const struct espi_plan *plan)
{
    return espi_plan_is_doubtful(plan, count, ESPI_ALONE);
}

/* Messages until that is settled; `in_all`: all go the long way. How many. */
static int settle(const struct espi_plan *plan, bool in_all, int went[ESPI_WAYS + 1])
{
    int sends = 0;

    for (; sends < MESSAGES && is_in_doubt(plan) && (in_all || !goes_the_short_way()) && is_in_doubt(plan); sends++)
        went[go_the_long_way()]++;
    ck_assert(sends < MESSAGES && !is_in_doubt(plan));
    return sends;
}

/* They are tried, whoever asks; then all go the short way, or none: the program's types go as they are, and soon
   without a plan. */
START_TEST(doubtful)
{
    for (int i = 0; i < 4; i++) {
        const bool in_all = i & 1, loses = i & 2;
        int went[ESPI_WAYS + 1] = {0};
        const uint64_t reversed = counted(ESPI_COUNT_packs_reversed);
        struct espi_plan *plan = begin_in_doubt(loses ? ESPI_WAY_DENSE : ESPI_WAY_OWN);
        espi_slot_class(espi_slot_of(type))->passed = -3;
        const int sends = settle(plan, in_all, went);
        ck_assert(went[ESPI_WAY_OWN] > 0 && went[ESPI_WAY_OWN] < sends / 2);
        ck_assert_uint_eq(counted(ESPI_COUNT_packs_reversed), reversed + loses);
        ck_assert_int_eq(goes_the_short_way(), !loses);
        ck_assert_int_eq(espi_plan_packs_message(plan, COUNT, ESPI_ALONE), !loses);
        const struct espi_type_reversal *said = &plan->record->reversal[ESPI_PACKED_IN_MESSAGES];
        ck_assert_int_eq(said->is, loses);
        ck_assert(!loses || (said->what == ESPI_SLOW_CALLS && said->ns_most < CALL_NS / COUNT &&
                             said->ns_measured > (CALL_NS + OWN_NS) / COUNT));
        for (int k = 0; k < ESPI_CLASS_PASSED_MOST && loses; k++) {
            ck_assert_int_eq(go_the_long_way(), ESPI_WAYS);
            ck_assert_ptr_eq(plan_of_type(), plan);
        }
        look();
        ck_assert(loses ? plan_of_type() == NULL : plan_of_type() == plan);
        end();
    }
}
END_TEST

/* What takes nearly as long is left, and what other waiting hides is believed to be as the models say. */
START_TEST(doubtful_and_close)
{
    int went[ESPI_WAYS + 1] = {0};
    struct espi_plan *plan = begin_in_doubt(ESPI_WAYS); /* both take as long */

    settle(plan, false, went);
    ck_assert(espi_plan_loses(plan, COUNT, ESPI_ALONE) && !espi_plan_packs_message(plan, COUNT, ESPI_ALONE));
    end();
    for (int saves = 250; saves <= 300; saves += 50) { /* of which 230 are spent outside of turns, perhaps */
        plan = begin_in_doubt(ESPI_WAY_OWN);
        slow_ns = (uint64_t)saves;
        settle(plan, false, went);
        ck_assert_int_eq(espi_plan_loses(plan, COUNT, ESPI_ALONE), saves == 250);
        end();
    }
    plan = begin_in_doubt(ESPI_WAY_DENSE);
    for (int sends = 0; sends < MESSAGES && is_in_doubt(plan) && !goes_the_short_way() && is_in_doubt(plan);
         sends++) {
        test_clock.each = sends % 4 == 0 ? 0 : 2000; /* what is waited for comes soon now and then */
        go_the_long_way();
    }
    test_clock.each = 0;
    ck_assert(!is_in_doubt(plan) && !espi_plan_loses(plan, COUNT, ESPI_ALONE));
    ck_assert(espi_plan_packs_message(plan, COUNT, ESPI_ALONE));
    end();
}
END_TEST

/* Whether a call of such messages goes on as it is, without the general way. */
static bool is_left_alone(enum espi_fn fn)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct asked asked = {row->large, false, row->kind, row->comm, row->root, fn};

    return espi_left_alone(state, &asked, row->typed, 0, args());
}

/* Each count is tried by itself, and some of them are enough. */
START_TEST(doubtful_of_a_count)
{
    enum { MORE = 2 * ESPI_COUNTS_TRIED };
    struct espi_plan *plan = begin_in_doubt(ESPI_WAY_DENSE);

    for (int i = 0; i < MORE; i++) {
        int went[ESPI_WAYS + 1] = {0};
        const bool tried = i < ESPI_COUNTS_TRIED, loses = i % 2 == 0;
        count = COUNT + i;
        slow = loses ? ESPI_WAY_DENSE : ESPI_WAY_OWN;
        espi_slot_class(espi_slot_of(type))->packs = true;
        ck_assert_int_eq(is_in_doubt(plan), tried);
        ck_assert_int_eq(settle(plan, false, went) > 0, tried);
        ck_assert_int_eq(espi_slot_class(espi_slot_of(type))->packs, i > 0); /* from then on some count is packed */
        espi_slot_class(espi_slot_of(type))->packs = true;
        ck_assert_int_eq(goes_the_short_way(), !tried || !loses);
        ck_assert_ptr_eq(espi_message_plan_leaves(type, count, ESPI_ALONE, true),
                         tried && loses ? espi_slot_of(type) : NULL);
        ck_assert_int_eq(is_left_alone(ESPI_FN_Send), tried && loses);
        ck_assert(!is_left_alone(ESPI_FN_Bsend)); /* which is packed another way */
    }
    for (int i = 0; i < MORE; i++)
        ck_assert_int_eq(espi_plan_packs_message(plan, COUNT + i, ESPI_ALONE), i >= ESPI_COUNTS_TRIED || i % 2 == 1);
    espi_slot_class(espi_slot_of(type))->packs = false; /* it is not to keep the plan */
    ck_assert_ptr_eq(espi_message_plan_leaves(type, COUNT, ESPI_ALONE, true), NULL);
    count = COUNT;
    end();
}
END_TEST

/* The next type's messages, which are alike, are judged by the same turns. */
START_TEST(doubtful_too)
{
    int went[ESPI_WAYS + 1] = {0};

    settle(begin_in_doubt(ESPI_WAY_DENSE), false, went);
    MPI_Datatype first = type;
    type = regular_ints(4);
    for (int i = 0; i < 4; i++) {
        espi_type_service.packing = ESPI_MODE_ALWAYS;
        look();
    }
    espi_type_service.packing = ESPI_MODE_AUTO;
    struct espi_plan *plan = plan_of_type();
    ck_assert(plan != NULL && plan != atomic_load(&espi_slot_of(first)->plan));
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 100);
    ck_assert(goes_the_short_way());
    plan->last_short.count = 0;
    plan->doubtful[ESPI_ALONE] = true;
    const uint64_t reversed = counted(ESPI_COUNT_packs_reversed);
    ck_assert(!goes_the_short_way() && !is_in_doubt(plan) && espi_plan_loses(plan, COUNT, ESPI_ALONE));
    ck_assert_uint_eq(counted(ESPI_COUNT_packs_reversed), reversed + 1);
    ck_assert(plan->alike != 0 && plan->alike == atomic_load(&espi_slot_of(first)->plan)->alike);
    plan->n_found[ESPI_ALONE] = plan->n_lost = 0;
    plan->alike++; /* what is packed in another way is not */
    ck_assert(!goes_the_short_way() && is_in_doubt(plan));
    MPI_Type_free(&first);
    end();
}
END_TEST

/* Where other calls are packed the plan stays for them; and a class whose types have the plan, too, without having
   been tried, comes to know that messages are not packed. */
START_TEST(doubtful_beside_others)
{
    int went[ESPI_WAYS + 1] = {0};
    struct espi_plan *plan = begin_in_doubt(ESPI_WAY_DENSE);
    struct espi_type_slot *slot = espi_slot_of(type);

    espi_class_note(slot, plan, ESPI_PACK_LOCAL, true);
    settle(plan, false, went);
    for (int i = 0; i < 3 * ESPI_CLASS_PASSED_MOST; i++)
        go_the_long_way();
    ck_assert_ptr_eq(plan_of_type(), plan);
    ck_assert(espi_slot_class(slot)->packs && !goes_the_short_way());
    espi_slot_class(slot)->packs_others = false; /* as another class that had messages packed */
    go_the_long_way();
    ck_assert(!espi_slot_class(slot)->packs);
    end();
}
END_TEST

/* Of other nodes' ranks the groups are others. */
START_TEST(several_nodes)
{
    begin(true);
    espi_type_service.one_node = false;
    ck_assert(goes_the_short_way());
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/short_told", not_told, told, told_later, never_told, asked_again, wanted,
                     doubtful, doubtful_and_close, doubtful_of_a_count, doubtful_too, doubtful_beside_others,
                     several_nodes);
}
