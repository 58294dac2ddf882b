/*
 * Short messages of which it is doubtful if they are better packed, in trials (src/mpi/packed/message_ways.h).
 * Programs are played, as in message_told.c.
 */
#include <math.h>

#include "mpi/packed/trial_numbers.h"
#include "suite.h"
#include "type_service.h"
#include "ways_setup.h"

/* Ns that a packed call costs outside of turns: one that sends or receives, one of blocks for all, one that does
   both, and one with a request; and that the other side may wait longer. */
enum { PACKED_CALL = 30, PACKED_BLOCKS = 150, PACKED_BOTH = 100, PACKED_KEPT = 50, ALONE = 200 };

/* They are tried as those are of which it is to be told, but nobody watches others for their sake. What both ways
   take is known then: of sending and receiving together, if these were tried together. */
START_TEST(doubtful)
{
    enum { COLD_SHORT = 128 };
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 1000, 700}, [ESPI_WAY_RECEIVE] = {0, 0, 2000, 2900},
                          [ESPI_WAY_BOTH] = {0, 0, 3000, 3300}, [ESPI_WAY_BLOCKS] = {0, 0, 3000, 3300}};
    struct espi_way_question send = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true),
                             receive = question(ESPI_WAYS_SURE, ESPI_WAY_RECEIVE, true),
                             both = question(ESPI_WAYS_SURE, ESPI_WAY_BOTH, true), longer = send;
    double packed = -1, own = -1;

    send.bytes = receive.bytes = both.bytes = 2000;
    send.no_cells = receive.no_cells = both.no_cells = true;
    send.doubtful = receive.doubtful = both.doubtful = true;
    send.told = receive.told = true;
    send.packs = receive.packs = true;
    begin(true);
    ck_assert(!espi_way_takes(&send, &packed, &own));
    run(&send, takes, COLD_SHORT / 2);
    run(&receive, takes, COLD_SHORT / 2);
    ck_assert_int_eq(gone[OWN], 0);
    for (int i = 0, own_sent = 0; i < 2 * TRIAL; i++) {
        const bool tried = espi_way_was_tried(&send);
        own_sent += call_once(&send, takes) == OWN;
        call_once(&receive, takes);
        ck_assert(!espi_ways_are_watched);
        ck_assert(!tried || own_sent >= TIMES_SHORT);
    }
    for (int call = 0; call < 2; call++) {
        ck_assert(espi_way_takes(call ? &receive : &send, &packed, &own));
        ck_assert(fabs(own - 3600) < 50 && fabs(packed - 3000 - 2 * PACKED_CALL) < 50);
    }
    ck_assert(!espi_way_takes(&both, &packed, &own) && !espi_way_takes(&longer, &packed, &own));
    run(&both, takes, TRIAL);
    ck_assert(espi_way_takes(&both, &packed, &own));
    ck_assert(fabs(own - 3300) < 1 && fabs(packed - 3000 - PACKED_BOTH) < 1);
    both.call = ESPI_WAY_BLOCKS;
    run(&both, takes, TRIAL);
    ck_assert(espi_way_takes(&both, &packed, &own));
    ck_assert(fabs(own - 3300) < 1 && fabs(packed - 3000 - PACKED_BLOCKS) < 1);
    ck_assert(espi_way_takes(&send, &packed, &own));
    send.bytes = 8200; /* nor has the longest of them a group in common with those of two parts */
    longer.bytes = 8300;
    run(&send, takes, COLD_SHORT + 2 * TRIAL);
    ck_assert(espi_way_takes(&send, &packed, &own) && espi_way_is_known(&send) && !espi_way_is_known(&longer));
    for (send.alike = 1; send.alike < 40; send.alike++) /* as many bytes, by other kinds of program */
        ck_assert(!espi_way_was_tried(&send) && !espi_way_takes(&send, &packed, &own));
}
END_TEST

/* They have turns of their own: whether others are to be told says nothing of them. */
START_TEST(doubtful_beside_told)
{
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 1000, 1100}}, others = {[ESPI_WAY_SEND] = {0, 0, 1000, 5000}};
    double packed, own;
    for (int bytes = 1; bytes <= 8255; bytes += bytes) {
        struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true), other = q;
        q.bytes = other.bytes = bytes;
        q.no_cells = other.no_cells = q.doubtful = other.told = true;
        q.told = bytes % 4 == 0; /* whether it is to be told itself, too */
        begin(true);
        for (int i = 0; i < 3 * TRIAL; i++) {
            call_once(&q, takes);
            call_once(&other, others);
            call_once(&other, others);
        }
        ck_assert(espi_way_takes(&q, &packed, &own));
        ck_assert_msg(fabs(own - 1100) < 1 && fabs(packed - 1000 - PACKED_CALL - ALONE) < 1, "%g, %g", own,
                      packed);
        ck_assert(espi_way_saves_in_all(&other) > 3900);
    }
}
END_TEST

/* Calls count as often as they come, those that come seldom not at all; and where other waiting makes more difference
   than packing nothing is known. */
START_TEST(doubtful_by_weight)
{
    script takes = {[ESPI_WAY_SEND] = {0, 0, 700, 1000}, [ESPI_WAY_RECEIVE] = {0, 0, 2200, 2000}};
    struct espi_way_question send = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true),
                             receive = question(ESPI_WAYS_SURE, ESPI_WAY_RECEIVE, true);
    double packed, own;

    send.bytes = receive.bytes = 2000;
    send.no_cells = receive.no_cells = send.doubtful = receive.doubtful = true;
    for (int each = 4; each <= 40; each *= 10) {
        begin(true);
        for (int i = 0; i < 1000 && !espi_way_was_tried(&send); i++) {
            call_once(&send, takes);
            if (i % each == 0)
                call_once(&receive, takes);
        }
        ck_assert(espi_way_takes(&send, &packed, &own));
        const double part = each < 40 ? 1. / each : 0, alone = each < 40 ? 0 : ALONE;
        ck_assert_msg(fabs(own - 1000 - part * 2000) < 100 &&
                          fabs(packed - 700 - part * 2200 - (1 + part) * PACKED_CALL - alone) < 20,
                      "%g, %g", own, packed);
    }
    static const struct {
        uint64_t least, strays;
        bool told;
    } cases[] = {{1000, 300, true}, {1000, 900, false}, {5000, 900, true}, {5000, 2000, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        begin(true);
        for (int i = 0; i < 4 * TRIAL; i++) {
            takes[ESPI_WAY_SEND][OWN] = cases[k].least + (i % 3 == 0 ? 0 : cases[k].strays);
            call_once(&send, takes);
        }
        ck_assert(espi_way_was_tried(&send));
        ck_assert_int_eq(espi_way_takes(&send, &packed, &own), cases[k].told);
    }
}
END_TEST

/* Where a type's messages take long now and then, that counts. */
START_TEST(doubtful_by_mean)
{
    script takes = {[ESPI_WAY_SEND] = {0, 0, 400, 0}};
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
    double packed, own;

    q.bytes = 3600;
    q.no_cells = q.doubtful = true;
    begin(true);
    for (int i = 0; i < 4 * TRIAL; i++) {
        takes[ESPI_WAY_SEND][OWN] = i % 3 == 0 ? 2000 : 620;
        call_once(&q, takes);
    }
    ck_assert(espi_way_was_tried(&q) && espi_way_takes(&q, &packed, &own));
    ck_assert_msg(own > 800 && packed < 700, "%g, %g", own, packed);
}
END_TEST

/* Those of each size are tried by themselves, some sizes at a time; and what is found of one is of that alone. */
START_TEST(doubtful_sizes)
{
    enum { SIZES = 20, LEAST = 300, STEP = 64, ROUNDS = 80000 };
    bool seen[SIZES] = {false};
    int all = 0;

    begin(true);
    for (int i = 0; i < ROUNDS; i++) {
        const int which = i % SIZES;
        struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
        if (seen[which]) /* they are not doubtful any more */
            continue;
        q.bytes = LEAST + STEP * which;
        q.no_cells = q.doubtful = true;
        ck_assert(!espi_way_was_tried(&q));
        const script takes = {[ESPI_WAY_SEND] = {0, 0, (uint64_t)(500 + 10 * which), (uint64_t)(900 - 10 * which)}};
        double packed, own;
        call_once(&q, takes);
        if (espi_way_was_tried(&q)) {
            ck_assert(espi_way_takes(&q, &packed, &own));
            ck_assert_msg(fabs(own - 900 + 10 * which) < 1 &&
                              fabs(packed - 500 - 10 * which - PACKED_CALL - ALONE) < 1, "%g, %g", own, packed);
            all++;
            seen[which] = true;
        }
    }
    ck_assert_int_eq(all, SIZES);
}
END_TEST

static struct espi_way_question doubt(enum espi_way_call call, int64_t bytes)
{
    struct espi_way_question q = question(ESPI_WAYS_SURE, call, true);

    q.bytes = bytes;
    q.no_cells = q.doubtful = true;
    return q;
}

/* Where no model says that they are better packed they are not, before it is their turn; also of those that have no
   group, as others are in it. */
START_TEST(not_before_its_turn)
{
    enum { COLD_SHORT = 128, OTHERS = 30 };
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 1000, 1000}};

    for (int packs = 0; packs < 2; packs++) {
        struct espi_way_question q = doubt(ESPI_WAY_SEND, 2000);
        q.packs = packs;
        begin(true);
        run(&q, takes, COLD_SHORT);
        ck_assert_int_eq(gone[OWN], packs ? 0 : COLD_SHORT);
        ck_assert_int_eq(gone[DENSE], packs ? COLD_SHORT : 0);
        int own = 0, all = 0;
        for (int i = 0; i < OTHERS; i++) {
            q.bytes = 3000 + 8 * i;
            own += call_once(&q, takes) == OWN;
            all++;
        }
        ck_assert_int_eq(own, packs ? 0 : all);
        q.bytes = 2000;
        run(&q, takes, TRIAL);
        ck_assert(gone[OWN] > 0 && gone[DENSE] > 0);
    }
}
END_TEST

/* One that is met while a batch of others goes on has no turn: it goes as before any. */
START_TEST(beside_a_batch)
{
    enum { COLD_SHORT = 128 };

    for (int packs = 0; packs < 2; packs++) {
        struct espi_way_question first = doubt(ESPI_WAY_BATCH, 2000), second = doubt(ESPI_WAY_BATCH, 3000);
        struct espi_way_turn turn;
        first.packs = second.packs = packs;
        begin(true);
        for (int i = 0; i < COLD_SHORT; i++) {
            ck_assert_ptr_null(espi_way_turn(&first).group);
            ck_assert_ptr_null(espi_way_turn(&second).group);
        }
        turn = espi_way_turn(&first);
        ck_assert(turn.group != NULL && turn.batch != 0);
        for (int i = 0; i < 3; i++) {
            const struct espi_way_turn other = espi_way_turn(&second);
            ck_assert(other.group == NULL && other.batch == 0 && other.way == (packs ? DENSE : OWN));
        }
    }
}
END_TEST

/* Of the program's type MPI's part alone counts, of what is packed the whole call. */
START_TEST(own_alone)
{
    enum { BEFORE = 300, CALL = 1000, AFTER = 200, COLD_SHORT = 128 };
    double packed, own;

    for (int call = ESPI_WAY_BOTH; call <= ESPI_WAY_BATCH; call += ESPI_WAY_BATCH - ESPI_WAY_BOTH) {
        const struct espi_way_question q = doubt((enum espi_way_call)call, 2000);
        begin(true);
        for (int i = 0; i < COLD_SHORT + TRIAL; i++) {
            struct espi_way_turn turn = espi_way_turn(&q);
            ck_assert(turn.batch == 0 || espi_way_batch_is_own() == (turn.way == OWN));
            espi_way_batch_joined(turn.batch);
            now += BEFORE;
            if (turn.way == OWN)
                espi_way_turn_calls(&turn);
            now += CALL;
            if (turn.way == OWN)
                espi_way_turn_called(&turn);
            now += AFTER;
            const bool is_own = espi_way_batch_is_own();
            espi_way_turn_end(&turn, true);
            if (turn.batch == 0)
                continue;
            espi_way_batch_called(CALL); /* MPI_Wait */
            espi_way_batch_left(turn.batch);
            espi_way_batch_took(is_own ? 0 : BEFORE + AFTER);
            ck_assert(espi_way_batch == 0 && !espi_way_batch_is_own());
            espi_way_batch_called(CALL); /* of no batch */
        }
        const int calls = call == ESPI_WAY_BATCH ? 2 : 1,
                  outside = call == ESPI_WAY_BATCH ? PACKED_KEPT : PACKED_BOTH;
        ck_assert(espi_way_takes(&q, &packed, &own));
        ck_assert_msg(fabs(own - calls * CALL) < 1 &&
                          fabs(packed - calls * (BEFORE + CALL + AFTER) - outside) < 1, "%g, %g", own, packed);
    }
}
END_TEST

static const struct espi_way_question *asked;
static double packed_ns, own_ns;

static bool agrees(double packed, double own)
{
    packed_ns = packed;
    own_ns = own;
    return espi_way_agrees(asked, &packed_ns, &own_ns);
}

static bool is_mean(double packed, double own)
{
    return fabs(packed_ns - packed) <= 1 && fabs(own_ns - own) <= 1;
}

/* Ranks that share memory tell each other what they have found, and decide by the mean of it; who hears nothing
   decides alone after a while. */
START_TEST(together)
{
    enum { WAITED_MOST = 32, RANKS = 3, OWN_RANK = 1, COLD_SHORT = 128, MOST = (1 << 24) - 2 };
    static const unsigned char ranks[RANKS] = {0, 1, 2};
    const script takes = {[ESPI_WAY_BOTH] = {0, 0, 800, 1000}};
    atomic_uchar said[RANKS * ESPI_TRIAL_SIZES] = {0};
    _Atomic uint64_t found[RANKS * ESPI_TRIAL_FINDINGS] = {0}, *own = &found[OWN_RANK * ESPI_TRIAL_FINDINGS];
    struct espi_way_question q = doubt(ESPI_WAY_BOTH, 2000), other = q;

    other.bytes = 2008;
    asked = &q;
    begin(true);
    ck_assert(agrees(900, 1000) && packed_ns == 900 && own_ns == 1000); /* nothing is shared */
    espi_trial_numbers_share(said, OWN_RANK);
    espi_trial_findings_share(found, OWN_RANK);
    ck_assert(agrees(900, 1000) && is_mean(900, 1000)); /* it is not known with whom */
    for (int i = 0; i < ESPI_TRIAL_FINDINGS; i++)
        ck_assert_uint_eq(own[i], 0);
    q.others = other.others = ranks;
    q.n_others = other.n_others = RANKS;
    run(&q, takes, COLD_SHORT + TRIAL);
    for (int i = 0; i < WAITED_MOST; i++)
        ck_assert(!agrees(900, 1000) && packed_ns == 900);
    ck_assert(agrees(900, 1000) && is_mean(900, 1000));

    begin(true);
    run(&q, takes, COLD_SHORT + TRIAL);
    ck_assert(!agrees(900, 1000));
    for (int i = 0; i < 2; i++) { /* one after the other says so, too */
        memcpy(&found[2 * i * ESPI_TRIAL_FINDINGS], own, ESPI_TRIAL_FINDINGS * sizeof *own);
        ck_assert(agrees(900, 1000) && is_mean(900, 1000));
    }
    ck_assert(agrees(1200, 700) && is_mean(1000, 900));
    asked = &other; /* of others nothing is said */
    ck_assert(!agrees(1, 1));
    asked = &q;
    q.call = ESPI_WAY_SEND; /* nor of other calls */
    ck_assert(!agrees(1, 1));
    q.call = ESPI_WAY_BOTH;
    ck_assert(agrees(1e12, 0) && is_mean((1800. + MOST) / 3, 2000. / 3));
    ck_assert(agrees(0, 1e12) && is_mean(1800. / 3, (2000. + MOST) / 3));
    espi_trial_findings_share(NULL, 0);
    espi_trial_numbers_share(NULL, 0);
    ck_assert(agrees(900, 1000) && packed_ns == 900);
}
END_TEST

/* What was found is forgotten of such calls alone: messages have turns once more, and nothing is said of them until
   then. */
START_TEST(forgotten)
{
    enum { COLD_SHORT = 128 };
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 800, 1000}, [ESPI_WAY_RECEIVE] = {0, 0, 800, 1000},
                          [ESPI_WAY_BOTH] = {0, 0, 800, 1000}};
    atomic_uchar said[ESPI_TRIAL_SIZES] = {0};
    _Atomic uint64_t found[ESPI_TRIAL_FINDINGS] = {0};
    static const unsigned char ranks[1] = {1};
    struct espi_way_question send = doubt(ESPI_WAY_SEND, 2000), receive = doubt(ESPI_WAY_RECEIVE, 2000),
                             both = doubt(ESPI_WAY_BOTH, 2000);

    begin(true);
    espi_trial_numbers_share(said, 0);
    espi_trial_findings_share(found, 0);
    send.others = receive.others = both.others = ranks;
    send.n_others = receive.n_others = both.n_others = 1;
    for (int i = 0; i < COLD_SHORT + 3 * TRIAL; i++) {
        call_once(&send, takes);
        call_once(&receive, takes);
        call_once(&both, takes);
    }
    ck_assert(espi_way_was_tried(&send) && espi_way_was_tried(&receive) && espi_way_was_tried(&both));
    for (int i = 0; i < 2; i++) {
        asked = i == 0 ? &send : &both;
        ck_assert(!agrees(900, 1000));
    }
    int before = 0, after = 0;
    for (int i = 0; i < ESPI_TRIAL_FINDINGS; i++)
        before += found[i] != 0;
    espi_way_forget(&send);
    ck_assert(!espi_way_was_tried(&send) && !espi_way_was_tried(&receive) && espi_way_was_tried(&both));
    for (int i = 0; i < ESPI_TRIAL_FINDINGS; i++)
        after += found[i] != 0;
    ck_assert_int_eq(before, 2);
    ck_assert_int_eq(after, 1);
    int own = 0;
    for (int i = 0; i < 2 * TRIAL && !espi_way_was_tried(&send); i++) {
        own += call_once(&send, takes) == OWN;
        if (i == TRIAL / 4)
            espi_way_forget(&send); /* what is being tried goes on */
    }
    ck_assert(espi_way_was_tried(&send) && own >= TIMES_SHORT);
    espi_way_forget(&both);
    call_once(&both, takes); /* a trial begins, for others */
    ck_assert(espi_way_was_tried(&send) && !espi_way_was_tried(&both));
    espi_way_forget(&send);
    ck_assert(!espi_way_was_tried(&send));
    espi_trial_findings_share(NULL, 0);
    espi_trial_numbers_share(NULL, 0);
}
END_TEST

/* A round lasts a second, and a fiftieth more for each verdict that is found anew by the rank that has most; whoever
   sees that first begins the next one for all. */
START_TEST(rounds)
{
    const uint64_t second = 1000000000, start = 5 * second, verdicts = 0xffff;
    const uint64_t one = (uint64_t)1 << ESPI_TRIAL_ROUND_AT;
    _Atomic uint64_t word = 7 * one;

    espi_trial_rounds_share(&word);
    ck_assert_uint_eq(espi_trial_round(), 7);
    espi_trial_round_finds(3);
    espi_trial_round_finds(4); /* before anybody has seen how late it is */
    espi_trial_round_passes(start);
    ck_assert_uint_eq(word & verdicts, 7);
    espi_trial_round_passes(start + second + 7 * second / 50 - 1);
    ck_assert_uint_eq(espi_trial_round(), 7);
    espi_trial_round_passes(start + second + 7 * second / 50);
    ck_assert(espi_trial_round() == 8 && (word & verdicts) == 0);
    const uint64_t second_start = start + second + 7 * second / 50;
    espi_trial_round_finds(2);
    word += 48; /* another rank has fifty */
    espi_trial_round_finds(3);
    ck_assert_uint_eq(word & verdicts, 50);
    espi_trial_round_passes(second_start + 2 * second - 1);
    ck_assert_uint_eq(espi_trial_round(), 8);
    espi_trial_round_passes(second_start + 2 * second);
    espi_trial_round_passes(second_start + 2 * second);
    ck_assert_uint_eq(espi_trial_round(), 9);
    word += one; /* another rank was first */
    espi_trial_round_passes(second_start + 3 * second - 1);
    ck_assert_uint_eq(espi_trial_round(), 10);
    espi_trial_round_passes(second_start + second); /* by a clock that is behind */
    ck_assert_uint_eq(espi_trial_round(), 10);
    espi_trial_round_passes(second_start + 3 * second);
    ck_assert_uint_eq(espi_trial_round(), 11);
    espi_trial_round_finds(100000);
    ck_assert_uint_eq(word & verdicts, verdicts);
    word |= UINT64_MAX - one + 1; /* numbers begin again */
    espi_trial_round_passes(second_start + 99999 * second);
    ck_assert_uint_eq(espi_trial_round(), 0);
    espi_trial_rounds_share(NULL); /* what was found stays as it is */
    ck_assert_uint_eq(espi_trial_round(), 0);
    espi_trial_round_passes(second_start + 999999 * second);
    ck_assert(espi_trial_round() == 0 && word >> ESPI_TRIAL_ROUND_AT == 0);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "message_doubts", doubtful, doubtful_beside_told, doubtful_by_weight,
                     doubtful_by_mean, doubtful_sizes, not_before_its_turn, beside_a_batch, own_alone,
                     together, forgotten, rounds);
}
