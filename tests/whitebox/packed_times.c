/*
 * Times of pack programs in the program's own calls (src/mpi/packed/packed_times.h, src/mpi/calls/local_turns.h):
 * which calls are timed, what of them counts, and when packing is reversed, and when it stays. The times are the
 * test's: it takes the place of espi_stats_now, and of the constants that are measured once.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "mpi/core/thread_state.h"
#include "mpi/datatype/decode.h"
#include "mpi/packed/core_distance.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/calls/local_turns.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/pack_gain.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "stats/snapshot.h"
#include "suite.h"
#include "type_service.h"

uint64_t __wrap_espi_stats_now(void);
struct espi_engine __wrap_espi_engine(void);

enum { WINDOW = 8, PERIOD = 64, INTS = 24, ITEMS = 10, ASKED = 20, LIST = 64, LONG_LIST = 600 };

/* To ask for the time takes ASKED; every other look at it is one in which something has been done for `passes`, when
   the number of looks before such one is `before`. */
static uint64_t now = 1000, passes;
static int looks, before = 2;

uint64_t __wrap_espi_stats_now(void)
{
    now += ASKED;
    if (++looks > before) {
        now += passes;
        looks = 0;
    }
    return now;
}

static bool sensible = true;
static int engine_asked;

struct espi_engine __wrap_espi_engine(void)
{
    struct espi_engine usual = ESPI_ENGINE_USUAL;

    engine_asked++;
    usual.measured = sensible;
    return usual;
}

static int data[ITEMS * LIST * 8], stream[ITEMS * LIST * 2];

/* ---- what is timed, and what counts ---- */

static _Atomic uint64_t gain[ESPI_PACKABLES];
static struct espi_packed_times times;
static struct espi_arena arena;
static const struct espi_pack *pack;

/* A call of `count` items that takes so long; whether it was timed. */
static bool call(bool unpacks, int64_t count, uint64_t ns)
{
    const uint64_t was = now;

    passes = ns;
    looks = 0;
    espi_packed_move(&times, unpacks, pack, data, count, stream);
    return now != was;
}

static struct espi_type_facts facts_of(uint64_t key)
{
    struct espi_report report = ESPI_REPORT_INIT;
    struct espi_type_facts facts = {0};

    ck_assert_int_eq(espi_stats_collect(&report), ESPI_OK);
    for (size_t i = 0; i < report.types; i++)
        if (report.type[i].key == key)
            facts = report.type[i].facts;
    espi_report_release(&report);
    return facts;
}

static void begin(uint64_t key, int64_t limit)
{
    MPI_Datatype type;
    struct espi_decoded layout;

    MPI_Type_vector(INTS, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&arena, layout.tree, layout.extent, &pack), ESPI_OK);
    MPI_Type_free(&type);
    times = (struct espi_packed_times){.record = espi_stats_type(key), .count = ITEMS, .gain_ns = gain,
                                       .limit_ns = {limit, 0}};
    gain[ESPI_PACK_LOCAL] = gain[ESPI_PACK_MESSAGE] = 100;
    const struct espi_type_facts facts = {.improved = true};
    espi_stats_type_describe(times.record, &facts);
    before = 2;
}

START_TEST(sampled)
{
    begin(1001, 0);
    for (int i = 0; i < WINDOW; i++) {
        ck_assert_uint_eq(facts_of(1001).ns_measured.pack, 0);
        ck_assert(call(false, ITEMS, i == 5 ? 1000 : 100000));
    }
    ck_assert_uint_eq(facts_of(1001).ns_measured.pack, 1000 / ITEMS);
    ck_assert_uint_eq(facts_of(1001).ns_measured.unpack, 0);
    ck_assert(call(true, ITEMS, 10)); /* the other direction has a window of its own */
    for (int k = 0; k < WINDOW; k++) {
        for (int i = 0; i < PERIOD - 1; i++)
            ck_assert(!call(false, ITEMS, 1));
        ck_assert(call(false, k % 2 == 0 ? 2 * ITEMS : ITEMS, k % 2 == 0 ? 6000 : 3100)); /* 3,000, scaled */
    }
    ck_assert_uint_eq(facts_of(1001).ns_measured.pack, 3000 / ITEMS);
    /* Calls of other counts are none of it. */
    for (int k = 0; k < 4 * WINDOW; k++) {
        const int64_t count = k < 2 * WINDOW ? 1 : 2 * ITEMS + 1;
        for (int i = 0; i < PERIOD - 1; i++)
            ck_assert(!call(false, count, 1));
        ck_assert(call(false, count, 1));
    }
    ck_assert_uint_eq(facts_of(1001).ns_measured.pack, 3000 / ITEMS);
    espi_arena_release(&arena);
}
END_TEST

/* A whole window has to be above the limit, and not the first one. */
START_TEST(limits)
{
    const uint64_t reversed = counted(ESPI_COUNT_packs_reversed);

    begin(1002, 5000);
    for (int i = 0; i < WINDOW; i++) /* one after the other */
        call(true, ITEMS, 90000);
    for (int i = 0; i < WINDOW * PERIOD; i++)
        call(true, ITEMS, i == 4 * PERIOD - 1 ? 5000 : 90000);
    ck_assert_uint_eq(gain[ESPI_PACK_LOCAL], 100);
    for (int i = 0; i < WINDOW * PERIOD - 1; i++)
        call(true, ITEMS, 5001);
    ck_assert_uint_eq(counted(ESPI_COUNT_packs_reversed), reversed);
    ck_assert(!facts_of(1002).reversal[ESPI_PACKED_LOCALLY].is);
    call(true, ITEMS, 5001);
    ck_assert_uint_eq(gain[ESPI_PACK_LOCAL], 0);
    ck_assert_uint_eq(gain[ESPI_PACK_MESSAGE], 100); /* which has no limit */
    ck_assert_uint_eq(times.reversed, 1u << ESPI_PACK_LOCAL);
    for (int i = 0; i < 2 * WINDOW * PERIOD; i++)
        call(true, ITEMS, 9000);
    ck_assert_uint_eq(counted(ESPI_COUNT_packs_reversed), reversed + 1);
    const struct espi_type_facts facts = facts_of(1002);
    ck_assert(facts.reversal[ESPI_PACKED_LOCALLY].is && !facts.reversal[ESPI_PACKED_IN_MESSAGES].is);
    ck_assert(facts.reversal[ESPI_PACKED_LOCALLY].what == ESPI_SLOW_UNPACKING);
    ck_assert_uint_eq(facts.reversal[ESPI_PACKED_LOCALLY].ns_measured, 500);
    ck_assert_uint_eq(facts.reversal[ESPI_PACKED_LOCALLY].ns_most, 500);
    espi_arena_release(&arena);
}
END_TEST

/* ---- plans ---- */

static struct espi_arena layouts;

/* A list of `n` blocks of two doubles, one in three. */
static MPI_Datatype listed(int n)
{
    MPI_Datatype type;
    int at[LONG_LIST];

    for (int i = 0; i < n; i++)
        at[i] = 3 * i + i * i % 7 / 6;
    MPI_Type_create_indexed_block(n, 2, at, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static struct espi_plan *plan_of(MPI_Datatype type, int64_t count, enum espi_mode packing)
{
    static struct espi_decoded layout;
    struct espi_plan_request request = {.type = type, .layout = &layout, .mode = ESPI_MODE_AUTO, .packing = packing,
                                        .one_node = true, .count = count, .tier = 1};

    ck_assert_int_eq(espi_decode(&layouts, type, 0, &layout), ESPI_OK);
    struct espi_plan *plan = espi_plan_make(&request);
    ck_assert(plan != NULL && plan->pack != NULL);
    return plan;
}

/* A plan that packs does so until it is measured to be too slow, and improved it still does not. */
START_TEST(plans)
{
    for (int what = 0; what < 3; what++) { /* as ever; no sensible constants; all is to be packed */
        MPI_Datatype type = listed(LIST);
        sensible = what != 1;
        start(ESPI_MODE_AUTO);
        espi_type_service.packing = ESPI_MODE_AUTO;
        struct espi_plan *plan = plan_of(type, 1, what == 2 ? ESPI_MODE_ALWAYS : ESPI_MODE_AUTO);
        ck_assert(espi_plan_packs(plan, ESPI_PACK_MESSAGE, 0));
        const int64_t limit = plan->times.limit_ns[ESPI_PACK_MESSAGE];
        ck_assert_int_eq(limit > 0, what == 0);
        for (int k = 0; k < 2; k++) {
            passes = k == 0 ? (uint64_t)limit : 1000000;
            before = 2;
            looks = 0;
            for (int i = 0; i < 2 * WINDOW * PERIOD; i++)
                espi_packed_move(&plan->times, false, plan->pack, data, 1, stream);
            ck_assert_int_eq(espi_plan_packs(plan, ESPI_PACK_MESSAGE, 0), k == 0 || what != 0);
        }
        struct espi_decoded layout;
        ck_assert_int_eq(espi_decode(&layouts, type, 0, &layout), ESPI_OK);
        struct espi_plan_request again = {.type = type, .layout = &layout, .mode = ESPI_MODE_AUTO,
                                          .packing = ESPI_MODE_AUTO, .one_node = true, .count = 2, .tier = 2};
        espi_plan_improve(plan, &again);
        ck_assert_int_eq(espi_plan_packs(plan, ESPI_PACK_MESSAGE, 0), what != 0);
        espi_plan_release(plan);
        espi_types_stop();
        espi_plans_stop();
        espi_arena_release(&layouts);
        MPI_Type_free(&type);
    }
    sensible = true;
}
END_TEST

/* Nothing is measured for a type of one block, of which no form and no program is of use. */
START_TEST(blocks)
{
    for (int gaps = 0; gaps < 2; gaps++) {
        MPI_Datatype type;
        engine_asked = 0;
        start(ESPI_MODE_AUTO);
        espi_type_service.packing = ESPI_MODE_AUTO;
        MPI_Type_vector(LIST, 2, 2 + gaps, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        espi_types_committed(espi_thread_state(&own_thread), type);
        const uint64_t planned = counted(ESPI_COUNT_types_planned);
        for (int i = 0; i < 20000 && counted(ESPI_COUNT_types_planned) == planned; i++) {
            struct espi_way way = espi_types_way(&own_thread, type, 1, false, ESPI_PACK_MESSAGE);
            if (way.packed != NULL)
                espi_plan_release(way.packed);
        }
        ck_assert_uint_eq(counted(ESPI_COUNT_types_planned), planned + 1);
        ck_assert_int_eq(engine_asked > 0, gaps);
        MPI_Type_free(&type);
        espi_types_stop();
        espi_plans_stop();
    }
}
END_TEST

enum { DOUBLES = 2 * (int)sizeof(double) };

/* In calls of each kind each count by itself; what was found of one stays, whatever program there is; some are
   enough. */
static void doubtful_of_each_count(struct espi_plan *plan, struct espi_plan_request *request, int n)
{
    for (int calls = 0; calls < ESPI_MESSAGE_CALLS; calls++) {
        const bool is = plan->doubtful[calls];
        for (int64_t count = 1; count <= 2 * ESPI_COUNTS_TRIED && is; count++) {
            const bool fits = n * DOUBLES <= 8255 / count;
            ck_assert_int_eq(espi_plan_is_doubtful(plan, count, calls), fits && count <= ESPI_COUNTS_TRIED);
            if (fits && count <= ESPI_COUNTS_TRIED)
                plan->found_of[calls][plan->n_found[calls]++] = (struct espi_plan_found){.count = count};
            request->tier = 2;
            if (count == 2)
                espi_plan_improve(plan, request);
            ck_assert(!espi_plan_is_doubtful(plan, 1, calls) && !espi_plan_is_doubtful(plan, count, calls));
        }
    }
}

/* Of short messages that gain little by the models it is doubtful whether they do: within a node, and where it is to
   be chosen. Of those that gain much, or nothing, and of longer ones it is not; nor of a run of bytes. */
START_TEST(doubtful)
{
    int seen[2][2] = {{0}};

    for (int n = 2; n <= LONG_LIST; n += n / 4 + 1)
        for (int how = 0; how < 4; how++) {
            struct espi_decoded layout;
            MPI_Datatype type = listed(n), slab;
            MPI_Type_create_resized(MPI_DOUBLE, 0, 3 * n * (MPI_Aint)sizeof(double), &slab);
            MPI_Type_commit(&slab);
            start(ESPI_MODE_AUTO);
            struct espi_plan_request request = {
                .type = how == 3 ? slab : type, .layout = &layout, .mode = ESPI_MODE_AUTO,
                .packing = how == 1 ? ESPI_MODE_ALWAYS : ESPI_MODE_AUTO, .one_node = how != 2, .count = 1, .tier = 1};
            ck_assert_int_eq(espi_decode(&layouts, request.type, 0, &layout), ESPI_OK);
            struct espi_plan *plan = espi_plan_make(&request);
            const double saves = (double)plan->packed_ns[ESPI_PACK_MESSAGE],
                         most = ESPI_PACK_DOUBT_NS + plan->engine_ns[ESPI_PARTS] / ESPI_PACK_DOUBT_PART,
                         paired = most + ESPI_PACK_DOUBT_PAIRED_NS - ESPI_PACK_DOUBT_NS;
            const bool may = how == 0 && n * DOUBLES <= 8255 && saves > 0, is = may && saves < most;
            ck_assert_msg(plan->doubtful[ESPI_ALONE] == is, "%d blocks, %d: gains %g ns", n, how, saves);
            ck_assert(plan->doubtful[ESPI_PAIRED] == (may && saves < paired) && plan->doubtful[ESPI_KEPT] == may);
            seen[saves > 0][is] += how == 0;
            doubtful_of_each_count(plan, &request, n);
            espi_plan_release(plan);
            espi_types_stop();
            espi_plans_stop();
            espi_arena_release(&layouts);
            MPI_Type_free(&slab);
            MPI_Type_free(&type);
        }
    ck_assert_msg(seen[true][true] > 0 && seen[true][false] > 0, "%d, %d", seen[1][1], seen[1][0]);
}
END_TEST

/* ---- both ways ---- */

/* A call of which the program takes so long, or the library; what was done. Checks the data. */
static enum espi_local_done call_of(struct espi_plan *plan, enum espi_fn fn, MPI_Datatype type, uint64_t program,
                                  uint64_t library)
{
    const bool unpacks = fn == ESPI_FN_Unpack || fn == ESPI_FN_Unpack_c;
    struct espi_local_choice *c = &plan->local[unpacks];
    int at = 0;
    MPI_Count far = 0;
    const espi_word place = espi_api_rows[fn].large ? (espi_word)&far : (espi_word)&at;
    const espi_word packing[7] = {(espi_word)data, 1, (espi_word)type, (espi_word)stream, sizeof stream, place,
                                  MPI_COMM_SELF},
                    unpacking[7] = {(espi_word)stream, sizeof stream, place, (espi_word)data, 1, (espi_word)type,
                                    MPI_COMM_SELF};

    passes = espi_trial_turn(&c->trial) == ESPI_BY_CALL ? library : program;
    before = 1;
    looks = 0;
    memset(unpacks ? data : stream, 0, unpacks ? sizeof data : sizeof stream);
    for (int i = 0; i < LIST * 2; i++)
        if (unpacks)
            ((double *)stream)[i] = i;
    for (size_t i = 0; i < sizeof data / (sizeof(double)) && !unpacks; i++)
        ((double *)data)[i] = (double)i;
    const enum espi_local_done done =
        espi_local_call(plan, &espi_api_rows[fn], unpacks ? unpacking : packing, false);
    ck_assert_int_eq(espi_api_rows[fn].large ? (int)far : at, (int)plan->size);
    for (int i = 0; i < LIST; i++)
        for (int k = 0; k < 2; k++) {
            const int there = 3 * i + i * i % 7 / 6 + k;
            ck_assert(unpacks ? ((double *)data)[there] == 2 * i + k : ((double *)stream)[2 * i + k] == there);
        }
    return done;
}

/* The way that is faster stays, for MPI_Pack and for MPI_Unpack; a call by the program costs 30 ns more beside. */
START_TEST(both_ways)
{
    espi_calls_overlap = false;
    static const struct {
        uint64_t program, native;
        bool stays;
    } is[] = {{1000, 2000, true}, {1000, 1000, false}, {971, 1000, false}, {970, 1000, true}, {3000, 1000, false}};
    static const enum espi_fn fns[] = {ESPI_FN_Pack, ESPI_FN_Pack_c, ESPI_FN_Unpack, ESPI_FN_Unpack_c};

    for (int i = 0; i < (int)(sizeof is / sizeof *is); i++)
        for (int f = 0; f < 4; f++) {
            const bool unpacks = f >= 2;
            MPI_Datatype type = listed(LIST);
            start(ESPI_MODE_AUTO);
            espi_type_service.packing = ESPI_MODE_AUTO;
            struct espi_plan *plan = plan_of(type, 1, ESPI_MODE_AUTO);
            struct espi_local_choice *c = &plan->local[unpacks];
            c->state = ESPI_LOCAL_TRIED;
            plan->packed_ns[ESPI_PACK_LOCAL] = 10;
            const uint64_t reversed = counted(ESPI_COUNT_packs_reversed);
            const uint64_t saved = plan->record->saved_ps[ESPI_SAVED_ALONE];
            for (int n = 0; n < ESPI_TRIAL_HEAD_START + 2 * ESPI_TRIAL_TURNS - 1; n++) {
                ck_assert_int_eq(c->state, ESPI_LOCAL_TRIED);
                ck_assert_int_eq(call_of(plan, fns[f], type, is[i].program, is[i].native),
                                 n < ESPI_TRIAL_HEAD_START || n % 2 == 1 ? ESPI_LOCAL_PACKED : ESPI_LOCAL_BY_LIBRARY);
            }
            ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE] - saved,
                              (uint64_t)0 - ESPI_TRIAL_TURNS * 10 * 1000);
            ck_assert_int_eq(c->state, is[i].stays ? ESPI_LOCAL_PACKS : ESPI_LOCAL_LEFT);
            ck_assert_int_eq(call_of(plan, fns[f], type, is[i].program, is[i].native),
                             is[i].stays ? ESPI_LOCAL_PACKED : ESPI_LOCAL_BY_LIBRARY);
            ck_assert_int_eq(call_of(plan, fns[f], type, is[i].native, is[i].program),
                             is[i].stays ? ESPI_LOCAL_PACKED : ESPI_LOCAL_BY_LIBRARY);
            ck_assert_uint_eq(counted(ESPI_COUNT_packs_reversed), reversed + !is[i].stays);
            espi_plan_release(plan);
            espi_types_stop();
            espi_plans_stop();
            espi_arena_release(&layouts);
            MPI_Type_free(&type);
        }
}
END_TEST

/* Blocks of two types by turns, which the library takes one by one. */
static void alternate(int n, MPI_Datatype *type)
{
    static int length[LONG_LIST];
    static MPI_Aint at[LONG_LIST];
    static MPI_Datatype of[LONG_LIST];

    for (int i = 0; i < n; i++) {
        length[i] = 1;
        at[i] = 24 * i;
        of[i] = i % 2 == 0 ? MPI_DOUBLE : MPI_INT64_T;
    }
    MPI_Type_create_struct(n, length, at, of, type);
}

/* Tried where the models say that packing is less than four times as fast, and not where it is. */
START_TEST(near_enough)
{
    int tried = 0, sure = 0;

    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_AUTO;
    for (int n = 0; n < 49; n++) {
        MPI_Datatype type;
        if (n < 48)
            MPI_Type_vector(64 * (1 + n / 12), 1 + n % 12, 14, MPI_DOUBLE, &type);
        else
            alternate(LONG_LIST, &type);
        MPI_Type_commit(&type);
        struct espi_plan *plan = plan_of(type, 1, ESPI_MODE_AUTO);
        const uint64_t saves = plan->packed_ns[ESPI_PACK_LOCAL];
        const bool is_near = saves > 0 && 4 * (double)saves < 3 * (plan->engine_ns[ESPI_WHOLE] + 60);
        ck_assert_int_eq(plan->local[0].state, is_near ? ESPI_LOCAL_TRIED : ESPI_LOCAL_PACKS);
        ck_assert_int_eq(plan->local[1].state, plan->local[0].state);
        tried += is_near;
        sure += !is_near;
        espi_plan_release(plan);
        MPI_Type_free(&type);
    }
    ck_assert_msg(tried > 0 && sure > 0, "%d tried, %d not", tried, sure);
    espi_types_stop();
    espi_plans_stop();
    espi_arena_release(&layouts);
}
END_TEST

/* Feeds times of messages that are due; messages that passed. */
static int hand_over(int n, uint64_t ns)
{
    int passed = 0;

    for (; n > 0; passed++)
        if (espi_core_distance_is_due()) {
            espi_core_distance_took(ns + (uint64_t)n * 50 * (n % 3 > 0)); /* what disturbs makes it longer */
            n--;
        }
    return passed;
}

START_TEST(distance)
{
    espi_core_distance_forget();
    ck_assert_uint_eq(espi_core_distance_more(), 0);
    ck_assert_int_eq(hand_over(1, 1000), 1);
    ck_assert_uint_eq(espi_core_distance_more(), 640); /* at most */
    ck_assert_int_eq(hand_over(3, 330), 3);
    ck_assert_uint_ge(espi_core_distance_more(), 240);
    ck_assert_uint_le(espi_core_distance_more(), 280);
    ck_assert_int_eq(hand_over(4, 330), 4);
    const int seven = hand_over(7, 110); /* one in some, and not before a window is full */
    ck_assert(seven > 7 * 32 && seven < 7 * 96);
    ck_assert_uint_ge(espi_core_distance_more(), 240);
    ck_assert_int_gt(hand_over(1, 110), 32);
    ck_assert_uint_eq(espi_core_distance_more(), 0);
    const int waited = hand_over(100, 1000000);
    ck_assert(waited > 100 * 8 && waited < 100 * 32);
    ck_assert_uint_eq(espi_core_distance_more(), 0); /* those have waited */
    hand_over(8, 1500);
    ck_assert_uint_eq(espi_core_distance_more(), 640);
    ck_assert_uint_lt(espi_core_distance_more_of(128), 640);
    ck_assert_uint_gt(espi_core_distance_more_of(8000), 1280);
    ck_assert_uint_eq(espi_core_distance_more_of(1 << 20), espi_core_distance_more_of(1 << 30));
    espi_core_distance_forget();
    ck_assert_uint_eq(espi_core_distance_more(), 0);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "packed_times", sampled, limits, plans, blocks, doubtful, both_ways, near_enough,
                     distance);
}
