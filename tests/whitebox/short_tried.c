/*
 * Short messages of which it is to be found out if they are better packed (src/mpi/calls/message.h), with the plans
 * that turns are to decide about. Messages are begun and ended, by a clock that is set; those of the program's type
 * take longer.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "base/overlap.h"
#include "clock.h"
#include "mpi/calls/message.h"
#include "mpi/calls/short_message.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/pack_gain.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/plan_figures.h"
#include "mpi/typeplan/select.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

enum { COUNT = 3, OWN_NS = 1500, CALL_NS = 1000 };

static char data[1 << 16];
static MPI_Datatype type;
static struct espi_thread_state *state;
static struct espi_plan *plan;
static MPI_Status status;
static MPI_Request request;

/* A type whose plan says that packing so many of them saves `packed_ns` in a message, and that it is doubtful. */
static void begin(uint64_t packed_ns)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.one_node = true;
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    espi_calls_overlap = false;
    state = espi_thread_state(&own_thread);
    type = regular_ints(3);
    plan = plan_made(type, COUNT, false, ESPI_PACK_MESSAGE);
    test_clock_stands();
    plan->count = COUNT;
    plan->forms_pending = false;
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], packed_ns);
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    for (int calls = 0; calls < ESPI_MESSAGE_CALLS; calls++)
        plan->doubtful[calls] = true;
    espi_slot_class(espi_slot_of(type))->packs = true;
}

static void end(void)
{
    test_clock.set = false;
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    atomic_store(&espi_running, false);
    espi_calls_overlap = true;
    state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
    espi_type_service.one_node = false;
}

/* A message; the type that it goes as, MPI_DATATYPE_NULL: it goes the general way. Those of the program's type take
   so much longer. */
static MPI_Datatype message(enum espi_fn fn, uint64_t own_ns)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const espi_word last = row->kind & ESPI_NONBLOCKING ? (espi_word)&request : (espi_word)&status;
    const espi_word args[7] = {(espi_word)data, COUNT, (espi_word)type, 0, 0, (espi_word)MPI_COMM_SELF, last};
    espi_word changed[7];
    struct espi_message m;

    memcpy(changed, args, sizeof changed);
    if (!espi_message_begin(&m, state, row, args, changed))
        return MPI_DATATYPE_NULL;
    const uint64_t took = CALL_NS + (changed[2] == args[2] ? own_ns : 0);
    test_clock_passes(took, took);
    ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
    return (MPI_Datatype)changed[2];
}

static int gone_packed, gone_typed, gone_own;

/* Messages there and back until it is found out. */
static void find_out(uint64_t own_ns, uint64_t strays)
{
    enum { MOST = 1000 };
    MPI_Datatype way;

    gone_packed = gone_typed = gone_own = 0;
    for (int i = 0; i < MOST && espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE); i++)
        for (int back = 0; back < 2; back++) {
            way = message(back ? ESPI_FN_Recv : ESPI_FN_Send, i % 3 == 0 ? own_ns : own_ns + strays);
            gone_packed += way == MPI_PACKED;
            gone_typed += way == MPI_INT;
            gone_own += way == type;
        }
    ck_assert(!espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE));
}

/* What turns say of calls of one kind says nothing of others, which have turns of their own. */
START_TEST(found_apart)
{
    begin(2000);
    find_out(OWN_NS, 0);
    ck_assert(!espi_plan_loses(plan, COUNT, ESPI_ALONE) && plan->tries[ESPI_ALONE]);
    for (int calls = ESPI_PAIRED; calls < ESPI_MESSAGE_CALLS; calls++)
        ck_assert(espi_plan_is_doubtful(plan, COUNT, calls) && plan->n_found[calls] == 0 && !plan->tries[calls]);
    end();
}
END_TEST

/* Where turns say nothing it stays as the models say; nothing is said to be reversed then. */
START_TEST(nothing_found)
{
    static const uint64_t packed_ns[] = {ESPI_PACK_TO_BE_TRIED, 2000};

    for (int gains = 0; gains < 2; gains++) {
        begin(packed_ns[gains]);
        const uint64_t reversed = counted(ESPI_COUNT_packs_reversed);
        find_out(OWN_NS, 5000);
        ck_assert_int_eq(espi_plan_loses(plan, COUNT, ESPI_ALONE), !gains);
        ck_assert_int_eq(espi_plan_packs_message(plan, COUNT, ESPI_ALONE), gains);
        ck_assert_uint_eq(plan->packed_ns[ESPI_PACK_MESSAGE], packed_ns[gains]);
        ck_assert_uint_eq(counted(ESPI_COUNT_packs_reversed), reversed);
        end();
    }
}
END_TEST

/* Of what no model says that it gains none is packed before its turn. What turns say is what they save from then
   on. */
START_TEST(learnt)
{
    begin(ESPI_PACK_TO_BE_TRIED);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(message(ESPI_FN_Send, OWN_NS), type);
    ck_assert_int_eq(message(ESPI_FN_Isend, OWN_NS), type);
    find_out(OWN_NS, 0);
    ck_assert(gone_packed > 0 && gone_own > 0 && gone_typed == 0);
    ck_assert(espi_plan_packs_message(plan, COUNT, ESPI_ALONE) && espi_plan_packs_message(plan, COUNT, ESPI_PAIRED));
    ck_assert(plan->packed_ns[ESPI_PACK_MESSAGE] > OWN_NS - 100 && plan->packed_ns[ESPI_PACK_MESSAGE] < OWN_NS);
    const uint64_t saved = plan->packed_ns[ESPI_PACK_MESSAGE];
    for (int reversed = 0; reversed < 2; reversed++) { /* it stays when the models are asked once more */
        const struct espi_plan_request again = {.layout = espi_plan_layout(plan),
                                                .one_node = true,
                                                .packing = ESPI_MODE_AUTO,
                                                .count = 2 * COUNT,
                                                .tier = 2,
                                                .reversed = reversed ? 1u << ESPI_PACK_MESSAGE : 0};
        espi_plan_take_figures(plan, &again, &(struct espi_selection){.packed_ns = {0}});
        const uint64_t now = plan->packed_ns[ESPI_PACK_MESSAGE];
        ck_assert(reversed ? now == 0 : now > 2 * saved - 4 && now < 2 * saved + 4);
    }
    end();

    begin(ESPI_PACK_TO_BE_TRIED);
    find_out(0, 0); /* packing saves nothing */
    ck_assert(espi_plan_loses(plan, COUNT, ESPI_ALONE));
    ck_assert_uint_eq(plan->packed_ns[ESPI_PACK_MESSAGE], ESPI_PACK_TO_BE_TRIED);
    end();
}
END_TEST

/* A better type is what is packed or not, before the turns and in them. */
START_TEST(rather_than_better)
{
    begin(ESPI_PACK_TO_BE_TRIED);
    atomic_store(&plan->better[ESPI_WHOLE], MPI_INT);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(message(ESPI_FN_Send, OWN_NS), MPI_INT);
    find_out(OWN_NS, 0);
    ck_assert(gone_packed > 0 && gone_typed > 0 && gone_own == 0);
    ck_assert(espi_plan_loses(plan, COUNT, ESPI_ALONE)); /* it takes as long as what is packed */
    ck_assert_int_eq(message(ESPI_FN_Send, OWN_NS), MPI_INT);
    end();
}
END_TEST

/* Calls that have no turns leave what is to be tried, until others have found it out. A run of bytes needs none. */
START_TEST(no_turns)
{
    begin(ESPI_PACK_TO_BE_TRIED);
    ck_assert_ptr_null(espi_message_plan_leaves(type, COUNT, ESPI_ALONE, true));
    ck_assert_ptr_eq(espi_message_plan_leaves(type, COUNT, ESPI_ALONE, false), espi_slot_of(type));
    ck_assert(!espi_message_plan_packs(type, COUNT));
    for (int found = 0; found < 2; found++) {
        ck_assert_int_eq(espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, ESPI_PACK_MESSAGE, COUNT, 1), found);
        ck_assert_int_eq(espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, ESPI_PACK_KEPT_SENT, COUNT, 1), found);
        for (int calls = 0; calls < ESPI_MESSAGE_CALLS; calls++) {
            plan->found_of[calls][0] = (struct espi_plan_found){.count = COUNT, .loses = false};
            plan->n_found[calls] = 1;
        }
    }
    ck_assert(espi_message_plan_packs(type, COUNT));
    for (int calls = 0; calls < ESPI_MESSAGE_CALLS; calls++)
        plan->n_found[calls] = 0;

    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 200); /* less than a record of a request costs */
    ck_assert(espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, ESPI_PACK_MESSAGE, COUNT, 1));
    ck_assert(!espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, ESPI_PACK_KEPT_SENT, COUNT, 1));
    ck_assert_int_eq(message(ESPI_FN_Send, OWN_NS), MPI_PACKED);
    ck_assert_int_eq(message(ESPI_FN_Isend, OWN_NS), type);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], ESPI_PACK_TO_BE_TRIED);
    for (int calls = 0; calls < ESPI_MESSAGE_CALLS; calls++)
        plan->doubtful[calls] = false;
    ck_assert(!espi_plan_packs_message(plan, 1, ESPI_ALONE));
    plan->stands = true;
    ck_assert(espi_plan_packs_message(plan, 1, ESPI_ALONE));
    plan->stands = false;
    end();
}
END_TEST

/* ---- once more in each round ---- */

static atomic_uchar said[ESPI_TRIAL_SIZES];
static _Atomic uint64_t notes[ESPI_TRIAL_FINDINGS];
static _Atomic uint64_t round_word;

static void begin_round(void)
{
    round_word += (uint64_t)1 << ESPI_TRIAL_ROUND_AT;
}

static void see_next_round(void)
{
    begin_round();
    espi_plan_see_round(plan);
}

static void share(void)
{
    espi_trial_numbers_share(said, 0);
    espi_trial_findings_share(notes, 0);
    espi_trial_rounds_share(&round_word);
}

/* As `begin`, where ranks share what they find. */
static void begin_shared(uint64_t packed_ns)
{
    begin(packed_ns);
    share();
}

static void end_shared(void)
{
    espi_trial_rounds_share(NULL);
    espi_trial_findings_share(NULL, 0);
    espi_trial_numbers_share(NULL, 0);
    end();
}

/* The next round, in which messages of the program's type take so much longer than packed ones. */
static void next_round(uint64_t own_ns)
{
    begin_round();
    ck_assert(!espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE));
    message(ESPI_FN_Send, own_ns);
    find_out(own_ns, 0);
}

static bool is_packed(void)
{
    return espi_message_plan_leaves(type, COUNT, ESPI_ALONE, true) == NULL &&
           message(ESPI_FN_Send, OWN_NS) == MPI_PACKED;
}

/* What was better packed is found out once more in each round; what loses goes as it is, and for good if it loses in
   the next one in which there are such messages. */
START_TEST(found_anew)
{
    begin_shared(2000);
    const struct espi_type_class *class = espi_slot_class(espi_slot_of(type));
    const uint64_t reversed = counted(ESPI_COUNT_packs_reversed), anew = counted(ESPI_COUNT_packs_found_anew);

    find_out(OWN_NS, 0);
    ck_assert(is_packed());
    for (int i = 0; i < 3; i++) {
        next_round(0);
        ck_assert(gone_packed > 0 && gone_own > 0 && gone_typed == 0);
        ck_assert(!is_packed() && espi_plan_loses(plan, COUNT, ESPI_ALONE) && class->packs);
        ck_assert_int_eq(plan->n_lost, 1);
        next_round(OWN_NS);
        ck_assert(is_packed() && class->packs);
        ck_assert_int_eq(plan->n_lost, 0);
    }
    ck_assert_int_eq(plan->n_found[ESPI_ALONE], 1);
    ck_assert_uint_eq(counted(ESPI_COUNT_packs_reversed), reversed);
    ck_assert_uint_eq(counted(ESPI_COUNT_packs_found_anew), anew + 6);
    next_round(0);
    begin_round(); /* without messages */
    next_round(0);
    ck_assert(espi_plan_loses(plan, COUNT, ESPI_ALONE) && !class->packs);
    ck_assert_uint_eq(counted(ESPI_COUNT_packs_reversed), reversed + 1);
    begin_round();
    message(ESPI_FN_Send, OWN_NS);
    ck_assert(!espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE));
    ck_assert_uint_eq(counted(ESPI_COUNT_packs_found_anew), anew + 8);
    end_shared();
}
END_TEST

/* What loses in its first trial does so for good; so does all where nothing is shared. */
START_TEST(found_once)
{
    begin_shared(2000);
    find_out(0, 0);
    see_next_round();
    ck_assert(!espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE) && espi_plan_loses(plan, COUNT, ESPI_ALONE));
    ck_assert(!espi_slot_class(espi_slot_of(type))->packs);
    end_shared();

    begin(2000);
    find_out(OWN_NS, 0);
    ck_assert(!plan->found_of[ESPI_ALONE][0].again);
    share();
    see_next_round();
    ck_assert(!espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE) && is_packed());
    end_shared();
}
END_TEST

/* A trial that says nothing leaves it as it was, and is none of two that lose. */
START_TEST(nothing_found_anew)
{
    begin_shared(2000);
    find_out(OWN_NS, 0);
    begin_round();
    message(ESPI_FN_Send, OWN_NS);
    find_out(OWN_NS, 5000);
    ck_assert(is_packed());
    next_round(0);
    for (int i = 0; i < 3; i++) {
        begin_round();
        message(ESPI_FN_Send, OWN_NS);
        find_out(OWN_NS, 5000);
        ck_assert(espi_plan_loses(plan, COUNT, ESPI_ALONE) && !is_packed());
    }
    next_round(OWN_NS);
    ck_assert(is_packed());
    end_shared();
}
END_TEST

/* What was learnt is forgotten with the last verdict that it comes from, and follows what is found. */
START_TEST(learnt_anew)
{
    begin_shared(ESPI_PACK_TO_BE_TRIED);
    find_out(OWN_NS, 0);
    const uint64_t before = plan->packed_ns[ESPI_PACK_MESSAGE];
    next_round(2 * OWN_NS);
    ck_assert(plan->packed_ns[ESPI_PACK_MESSAGE] > before + OWN_NS / 2);
    next_round(0);
    next_round(0);
    ck_assert_uint_eq(plan->packed_ns[ESPI_PACK_MESSAGE], ESPI_PACK_TO_BE_TRIED);
    ck_assert(plan->learnt_ns == 0);
    end_shared();
}
END_TEST

/* Calls that find nothing out go by the last verdict while others find it anew. */
START_TEST(meanwhile)
{
    begin_shared(2000);
    find_out(OWN_NS, 0);
    for (int lost = 0; lost < 2; lost++) {
        see_next_round();
        ck_assert(espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE));
        ck_assert_int_eq(espi_plan_is_undecided(plan, COUNT, ESPI_ALONE), lost);
        ck_assert_int_eq(espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, ESPI_PACK_STARTED_SENT, COUNT, 1), !lost);
        find_out(0, 0);
    }
    end_shared();

    begin_shared(200); /* less than a record of a request costs by the models */
    find_out(OWN_NS, 0);
    plan->found_of[ESPI_KEPT][0] = (struct espi_plan_found){.count = COUNT, .again = true};
    plan->n_found[ESPI_KEPT] = 1;
    for (int open = 0; open < 2; open++) {
        ck_assert_int_eq(espi_plan_is_doubtful(plan, COUNT, ESPI_KEPT), open);
        ck_assert(espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, ESPI_PACK_KEPT_SENT, COUNT, 1));
        see_next_round();
    }
    end_shared();
}
END_TEST

/* What is not doubtful any more while it is found anew stays as it was, and is looked at again if it is once more. */
START_TEST(without_doubt)
{
    begin_shared(2000);
    find_out(OWN_NS, 0);
    next_round(0);
    see_next_round();
    ck_assert(plan->found_of[ESPI_ALONE][0].open);
    plan->doubtful[ESPI_ALONE] = false;
    see_next_round();
    ck_assert(!plan->found_of[ESPI_ALONE][0].open && espi_plan_loses(plan, COUNT, ESPI_ALONE));
    message(ESPI_FN_Send, OWN_NS);
    ck_assert(!espi_slot_class(espi_slot_of(type))->packs);
    plan->doubtful[ESPI_ALONE] = true;
    see_next_round();
    ck_assert(plan->found_of[ESPI_ALONE][0].open);
    end_shared();
}
END_TEST

static espi_word sent(const void *buffer, espi_word n, espi_word what)
{
    (void)buffer;
    (void)n;
    ck_assert_int_eq((MPI_Datatype)what, MPI_PACKED);
    return MPI_SUCCESS;
}

static bool goes_the_short_way(void)
{
    const espi_word args[6] = {(espi_word)data, COUNT, (espi_word)type, 0, 0, (espi_word)MPI_COMM_SELF};
    espi_word result;

    return espi_short_send(state, ESPI_FN_Send, args, (espi_next)(void (*)(void))sent, &result);
}

/* The short way is for what is decided in this round; calls without turns have nothing to do with it. */
START_TEST(not_the_short_way)
{
    begin_shared(2000);
    ck_assert(!goes_the_short_way());
    find_out(OWN_NS, 0);
    ck_assert(goes_the_short_way() && goes_the_short_way());
    begin_round();
    ck_assert(!goes_the_short_way() && espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE) && !goes_the_short_way());
    find_out(OWN_NS, 0);
    ck_assert(goes_the_short_way());
    next_round(0);
    begin_round();
    ck_assert_ptr_eq(espi_message_plan_leaves(type, COUNT, ESPI_ALONE, false), espi_slot_of(type));
    ck_assert(!espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE));
    ck_assert_ptr_null(espi_message_plan_leaves(type, COUNT, ESPI_ALONE, true));
    ck_assert(espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE));
    ck_assert_ptr_eq(espi_message_plan_leaves(type, COUNT, ESPI_ALONE, false), espi_slot_of(type));
    end_shared();
}
END_TEST

static bool is_left(void)
{
    return espi_message_plan_leaves(type, COUNT, ESPI_ALONE, true) != NULL;
}

/* Messages that go so end the round when it has lasted for a second. */
static void end_round(bool (*goes)(void))
{
    enum { SEEN_AFTER = 256, SECOND = 1000000000 };
    const unsigned before = espi_trial_round();

    for (int i = 0; i < 2 * SEEN_AFTER; i++)
        ck_assert(goes());
    ck_assert_uint_eq(espi_trial_round(), before);
    test_clock_passes(2 * SECOND, 2 * SECOND);
    for (int i = 0; i < SEEN_AFTER && espi_trial_round() == before; i++)
        goes();
    ck_assert_uint_eq(espi_trial_round(), before + 1);
    ck_assert(!goes_the_short_way() && espi_plan_is_doubtful(plan, COUNT, ESPI_ALONE));
}

START_TEST(time_passes)
{
    begin_shared(2000);
    find_out(OWN_NS, 0);
    end_round(goes_the_short_way);
    find_out(OWN_NS, 0);
    end_round(is_packed);
    find_out(0, 0);
    end_round(is_left);
    find_out(OWN_NS, 0);
    ck_assert(is_packed());
    end_shared();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/short_tried", found_apart, nothing_found, learnt, rather_than_better,
                     no_turns, found_anew, found_once, nothing_found_anew, learnt_anew, meanwhile, without_doubt,
                     not_the_short_way,
                     time_passes);
}
