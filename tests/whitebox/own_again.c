/*
 * Own blocks of calls that come again (src/mpi/selfcopy/call.c): which are found by what is remembered of the last
 * ones, and that it is not taken for others; and when a root copies its own. What is left of a call is the test's to
 * see.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/type_cache.h"
#include "suite.h"
#include "type_service.h"

enum { PEERS = 2, DOUBLES = 256, PLACES = 3, ROOM = 8192 };

static struct espi_thread_state *thread_state;
static double from[ROOM], onto[ROOM];
static int counts[2][PEERS], places[2][PEERS], seen[2]; /* seen: own counts that MPI got */

static espi_word next_call(espi_word a0, espi_word a1)
{
    (void)a0;
    (void)a1;
    return MPI_SUCCESS;
}

static espi_word left(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    (void)fn;
    (void)next;
    for (int side = 0; side < 2; side++)
        seen[side] = ((const int *)args[4 * side + 1])[0];
    return MPI_SUCCESS;
}

static MPI_Datatype strided(int length, int stride)
{
    MPI_Datatype type;

    MPI_Type_vector(DOUBLES / length, length, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    espi_types_committed(thread_state, type);
    return type;
}

static void free_type(MPI_Datatype type)
{
    espi_types_ending(thread_state, type);
    MPI_Type_free(&type);
}

static void begin(void)
{
    espi_settings_defaults(&espi_settings);
    espi_settings.datatypes = ESPI_MODE_ALWAYS;
    start(ESPI_MODE_ALWAYS);
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    espi_calls_overlap = false;
    thread_state = espi_thread_state(&own_thread);
    memset(&thread_state->pairs, 0, sizeof thread_state->pairs);
    ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
    thread_state->comm.peers = PEERS;
}

static void end(void)
{
    atomic_store(&espi_running, false);
    thread_state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    espi_selfcopy_stop();
    espi_comm_cache_stop();
    espi_types_stop();
}

static void fill(int shift)
{
    for (int i = 0; i < ROOM; i++) {
        from[i] = i + shift;
        onto[i] = -i;
    }
}

/* One call, whose own block has one item of each type at this place, in items. Whether it was found by what is
   remembered: then nobody looked the pair up. */
static bool is_found(MPI_Datatype sent, MPI_Datatype received, int place)
{
    espi_word args[] = {(espi_word)from, (espi_word)counts[0], (espi_word)places[0], sent, (espi_word)onto,
                        (espi_word)counts[1], (espi_word)places[1], received, MPI_COMM_SELF};
    const int missed = thread_state->pairs.again_missed;
    MPI_Aint lb, extent[2];
    char packed[DOUBLES * sizeof(double)], arrived[sizeof packed];
    int at = 0;

    fill(place);
    for (int side = 0; side < 2; side++) {
        counts[side][0] = counts[side][1] = 1;
        places[side][0] = place;
        MPI_Type_get_extent(side == 0 ? sent : received, &lb, &extent[side]);
    }
    seen[0] = seen[1] = -1;
    thread_state->pairs.again_missed = 1;
    ck_assert_int_eq((int)espi_selfcopy_call(&own_thread, ESPI_FN_Alltoallv, args, (espi_next)next_call, left),
                     MPI_SUCCESS);
    const bool found = thread_state->pairs.again_missed == 0;
    thread_state->pairs.again_missed = missed;
    ck_assert(seen[0] == 0 && seen[1] == 0); /* it was taken out */
    PMPI_Pack((char *)from + place * extent[0], 1, sent, packed, sizeof packed, &at, MPI_COMM_SELF);
    at = 0;
    PMPI_Pack((char *)onto + place * extent[1], 1, received, arrived, sizeof arrived, &at, MPI_COMM_SELF);
    ck_assert(memcmp(packed, arrived, sizeof packed) == 0);
    return found;
}

/* From the second call on, at another place from its second call on. */
START_TEST(second_time)
{
    begin();
    MPI_Datatype a = strided(2, 5), b = strided(4, 9);
    for (int place = 0; place < PLACES; place++)
        for (int n = 0; n < 3; n++)
            ck_assert_int_eq(is_found(a, b, place), n > 0);
    for (int place = 0; place < PLACES; place++)
        ck_assert(is_found(a, b, place)); /* as many are remembered */
    espi_calls_overlap = true; /* from here on, as a session may begin */
    ck_assert(!is_found(a, b, 0));
    espi_calls_overlap = false;
    espi_selfcopy_stop(); /* the plans are gone */
    ck_assert(!is_found(a, b, 0));
    ck_assert(is_found(a, b, 0));
    free_type(a);
    free_type(b);
    end();
}
END_TEST

/* Types made anew, whose handles are those of others, and more pairs than a thread remembers: each is itself. */
START_TEST(other_types)
{
    enum { PAIRS = 16, LIVES = 3 };

    begin();
    for (int life = 0; life < LIVES; life++) {
        MPI_Datatype type[PAIRS];
        for (int i = 0; i < PAIRS; i++)
            type[i] = strided(i % 2 == 0 ? 2 : 4, 8 + (i + life) % PAIRS);
        for (int i = 0; i < PAIRS; i++)
            for (int n = 0; n < 2; n++)
                ck_assert_int_eq(is_found(type[i], type[(i + 1) % PAIRS], 1), n > 0);
        for (int i = 0; i < PAIRS; i++)
            free_type(type[i]);
    }
    end();
}
END_TEST

/* Where other calls are made instead, nothing is looked for any more. */
START_TEST(forgotten)
{
    begin();
    MPI_Datatype a = strided(2, 5), b = strided(4, 9);
    const struct espi_api_row *row = &espi_api_rows[ESPI_FN_Alltoallv];
    is_found(a, b, 0);
    ck_assert(espi_selfcopy_may_be_again(&thread_state->pairs, row, MPI_COMM_SELF));
    ck_assert(!espi_selfcopy_may_be_again(&thread_state->pairs, row + 1, MPI_COMM_SELF));
    ck_assert(!espi_selfcopy_may_be_again(&thread_state->pairs, row, MPI_COMM_WORLD));
    for (int n = 0; n <= ESPI_SELFCOPY_MISSES; n++) {
        espi_word args[] = {(espi_word)from, (espi_word)counts[0], (espi_word)places[0], a, (espi_word)onto,
                            (espi_word)counts[1], (espi_word)places[1], b, MPI_COMM_SELF};
        counts[0][0] = counts[1][0] = 0; /* no own block */
        ck_assert(espi_selfcopy_may_be_again(&thread_state->pairs, row, MPI_COMM_SELF));
        espi_selfcopy_call(&own_thread, ESPI_FN_Alltoallv, args, (espi_next)next_call, left);
    }
    ck_assert(!espi_selfcopy_may_be_again(&thread_state->pairs, row, MPI_COMM_SELF));
    free_type(a);
    free_type(b);
    end();
}
END_TEST

static MPI_Datatype sent_type, received_type;
static bool is_there; /* what the root has for itself, when MPI is asked for the rest */

static bool has_come(void)
{
    char packed[DOUBLES * sizeof(double)], arrived[sizeof packed];
    int at = 0;

    PMPI_Pack(from, 1, sent_type, packed, sizeof packed, &at, MPI_COMM_SELF);
    at = 0;
    PMPI_Pack(onto, 1, received_type, arrived, sizeof arrived, &at, MPI_COMM_SELF);
    return memcmp(packed, arrived, sizeof packed) == 0;
}

static espi_word left_root(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const struct espi_buffer_args *one = &espi_api_rows[fn].typed[espi_api_rows[fn].typed[0].at_root ? 1 : 0];

    (void)thread;
    (void)next;
    ck_assert((void *)args[one->buffer] == MPI_IN_PLACE);
    is_there = has_come();
    return MPI_SUCCESS;
}

/* A root that waits for others has copied its own block before, and one for which they wait copies it after. */
START_TEST(at_root)
{
    begin();
    sent_type = strided(2, 5);
    received_type = strided(4, 9);
    const espi_word f = (espi_word)from, o = (espi_word)onto, c = (espi_word)counts[0], p = (espi_word)places[0],
                    s = sent_type, r = received_type, self = MPI_COMM_SELF;
    const struct {
        enum espi_fn fn;
        espi_word args[9];
        bool before;
    } calls[] = {{ESPI_FN_Gather, {f, 1, s, o, 1, r, 0, self}, true},
                 {ESPI_FN_Gatherv, {f, 1, s, o, c, p, r, 0, self}, true},
                 {ESPI_FN_Scatter, {f, 1, s, o, 1, r, 0, self}, false},
                 {ESPI_FN_Scatterv, {f, c, p, s, o, 1, r, 0, self}, false}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        espi_word args[9];
        memcpy(args, calls[i].args, sizeof args);
        fill(1);
        counts[0][0] = counts[0][1] = 1;
        places[0][0] = 0;
        ck_assert_int_eq((int)espi_selfcopy_call(&own_thread, calls[i].fn, args, (espi_next)next_call, left_root),
                         MPI_SUCCESS);
        ck_assert_msg(is_there == calls[i].before, "%s", espi_api_name(calls[i].fn));
        ck_assert(has_come());
        /* MPI_Scatter's root 0 copies its own last, where nobody waits for it; another one packs it before */
        const struct espi_api_row *row = &espi_api_rows[calls[i].fn];
        struct espi_comm_facts facts = {.peers = PEERS};
        ck_assert_int_eq(espi_selfcopy_place(&facts, row->typed, row->root),
                         calls[i].fn == ESPI_FN_Scatter ? ESPI_SELF_LATE : ESPI_SELF_APART);
        facts.rank = 1;
        ck_assert_int_eq(espi_selfcopy_place(&facts, row->typed, row->root), ESPI_SELF_APART);
        facts = (struct espi_comm_facts){.peers = 1};
        ck_assert_int_eq(espi_selfcopy_place(&facts, row->typed, row->root), ESPI_SELF_ALONE);
    }
    free_type(sent_type);
    free_type(received_type);
    end();
}
END_TEST

static espi_word refuse(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    (void)fn;
    (void)args;
    (void)next;
    is_there = has_come();
    return MPI_ERR_COUNT;
}

/* What MPI refuses for other blocks, or as the buffer is none, touches nothing. */
START_TEST(refused)
{
    begin();
    sent_type = strided(2, 5);
    received_type = strided(4, 9);
    thread_state->comm.rank = 1;
    espi_word nowhere[] = {(espi_word)from, 1, sent_type, 0, 1, received_type, 1, MPI_COMM_SELF},
              nowhere_v[] = {(espi_word)from, 1, sent_type, 0, (espi_word)counts[0], (espi_word)places[0],
                             received_type, 1, MPI_COMM_SELF},
              negative[] = {(espi_word)from, 1, sent_type, (espi_word)onto, (espi_word)counts[0],
                            (espi_word)places[0], received_type, 1, MPI_COMM_SELF};
    fill(1);
    counts[0][0] = -1;
    counts[0][1] = 1;
    places[0][0] = 1; /* item */
    places[0][1] = 0;
    is_there = true;
    ck_assert_int_eq((int)espi_selfcopy_call(&own_thread, ESPI_FN_Gatherv, negative, (espi_next)next_call, refuse),
                     MPI_ERR_COUNT);
    ck_assert(!is_there && !has_come());
    counts[0][0] = 1;
    places[0][0] = 0;
    places[0][1] = 1;
    ck_assert_int_eq((int)espi_selfcopy_call(&own_thread, ESPI_FN_Gather, nowhere, (espi_next)next_call, refuse),
                     MPI_ERR_COUNT);
    ck_assert_int_eq((int)espi_selfcopy_call(&own_thread, ESPI_FN_Gatherv, nowhere_v, (espi_next)next_call, refuse),
                     MPI_ERR_COUNT);
    free_type(sent_type);
    free_type(received_type);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "own_again", second_time, other_types, forgotten, at_root, refused);
}
