/* Whether all ranks run under Espalier (src/job/all_present.c): processes of the test are the ranks, another program
   plays the launcher, and MPI_Init is a barrier. */
#define _GNU_SOURCE
#include <check.h>
#include <config.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/presence.h"
#include "job/pmi.h"
#include "job/all_present.h"
#include "player.h"
#include "random.h"
#include "runner.h"

enum { RANKS = 4, BEHIND = 64 };
#define VALUE "espalier-world-" PACKAGE_VERSION "-"

/* What a rank is told, and what it comes to. */
struct rank {
    bool absent; /* has no core */
    bool again;  /* announces itself twice, with other settings the second time */
    bool spawned;
    int here; /* ranks on its node, as the launcher says; -1: it says nothing */
    int size;
    uint64_t hash;
    char text[ESPI_ALL_PRESENT_TEXT + 1];
    size_t length;
    const char *taken_note; /* another process has posted it when this rank comes */
    bool all, other, local, on_board;
    char settings[ESPI_ALL_PRESENT_TEXT + BEHIND];
    size_t settings_length;
    int questions; /* to the launcher, beside those that open the conversation */
};
static struct rank *ranks;
static pid_t player;
static struct espi_pmi_pair foreign[16]; /* what somebody puts before rank 0 comes */
static int foreigners;

static void setup(void)
{
    ranks = mmap(NULL, RANKS * sizeof *ranks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(ranks != MAP_FAILED);
}

static void teardown(void)
{
    munmap(ranks, RANKS * sizeof *ranks);
}

enum place { ON_BOARD, IN_STORE, NOWHERE };
static const int ranks_here[] = {RANKS, RANKS - 1, -1}; /* which leads to these places */

/* All in one place with the same settings, not the defaults. */
static void begin(enum place place)
{
    foreigners = 0;
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (struct rank){.here = ranks_here[place], .size = RANKS, .hash = 5};
        ranks[i].length = (size_t)sprintf(ranks[i].text, "settings of rank %d", i);
    }
}

static void foresay(const char *key, const char *value)
{
    snprintf(foreign[foreigners].key, sizeof foreign->key, "%s", key);
    snprintf(foreign[foreigners++].value, sizeof foreign->value, "%s", value);
}

/* The ranks' side of it. */
static void barrier(const int *come, const int *go)
{
    char byte;
    if (write(come[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
        _exit(1);
}

static void occupy(const char *note)
{
    char byte;
    int ready[2];
    if (pipe(ready) != 0)
        _exit(1);
    pid_t parent = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || !espi_presence_find(player) || !espi_presence_post(note) || write(ready[1], "",
                                                                                                     1) != 1)
            _exit(1);
        pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        _exit(1);
}

static void be(struct rank *rank, int number, int wire, const int *come, const int *go)
{
    char value[64];
    player_environment(wire, number, rank->size, rank->here, rank->spawned);
    if (number == 0 && foreigners > 0 && !espi_pmi_put(foreign, foreigners))
        _exit(1);
    if (rank->taken_note != NULL)
        occupy(rank->taken_note);
    if (!rank->absent) {
        espi_all_present_announce(rank->hash, rank->text, rank->length);
        if (rank->again)
            espi_all_present_announce(rank->hash + 1, rank->text, rank->length);
    }
    barrier(come, go); /* MPI_Init */
    rank->other = espi_all_present_settings(number, rank->settings, ESPI_ALL_PRESENT_TEXT, &rank->settings_length);
    rank->local = espi_all_present_is_local();
    rank->on_board = espi_all_present_on_node();
    rank->all = espi_all_present(rank->size);
    barrier(come, go);
    rank->questions = espi_pmi_get("all", value, sizeof value) ? atoi(value) - 3 : -1;
    _exit(0);
}

static void run(int count, enum manner manner)
{
    int wires[RANKS], come[RANKS][2], go[RANKS][2], status;
    pid_t pids[RANKS];
    for (int i = 0; i < count; i++)
        ck_assert(pipe(come[i]) == 0 && pipe(go[i]) == 0);
    player = player_start(ESPI_PLAYER, wires, count, manner);
    for (int i = 0; i < count; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            be(&ranks[i], i, wires[i], come[i], go[i]);
    }
    char byte;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < count; i++)
            ck_assert_int_eq(read(come[i][0], &byte, 1), 1);
        for (int i = 0; i < count; i++)
            ck_assert_int_eq(write(go[i][1], "", 1), 1);
    }
    for (int i = 0; i < count; i++) {
        ck_assert(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
        for (int j = 0; j < BEHIND; j++)
            ck_assert_int_eq(ranks[i].settings[ESPI_ALL_PRESENT_TEXT + j], 0);
    }
    kill(player, SIGKILL);
    ck_assert_int_eq(waitpid(player, NULL, 0), player);
    for (int i = 0; i < count; i++) {
        close(wires[i]);
        for (int end = 0; end < 2; end++)
            close(come[i][end]), close(go[i][end]);
    }
}

static void check_alone(int count)
{
    for (int i = 0; i < count; i++)
        ck_assert_msg(!ranks[i].all && !ranks[i].other, "rank %d: all %d, other %d", i, ranks[i].all, ranks[i].other);
}

START_TEST(all_present)
{
    for (enum place place = ON_BOARD; place <= IN_STORE; place++) {
        begin(place);
        for (int i = 0; i < RANKS; i++) /* the first time counts */
            ranks[i].again = true;
        run(RANKS, PLAIN);
        for (int i = 0; i < RANKS; i++) {
            ck_assert(ranks[i].all && !ranks[i].other);
            ck_assert(ranks[i].local == (place == ON_BOARD) && ranks[i].on_board == (place == ON_BOARD));
            if (place == ON_BOARD) /* rank 0 leaves its settings, in one piece, and their number */
                ck_assert_int_eq(ranks[i].questions, i == 0 ? 2 : 0);
        }
    }
    begin(ON_BOARD);
    ranks[0].length = 0; /* the defaults: not a word */
    run(RANKS, PLAIN);
    for (int i = 0; i < RANKS; i++)
        ck_assert(ranks[i].all && !ranks[i].other && ranks[i].questions == 0);
}
END_TEST

START_TEST(one_absent)
{
    for (enum place place = ON_BOARD; place <= IN_STORE; place++)
        for (int absent = 0; absent < RANKS; absent++) {
            begin(place);
            ranks[absent].absent = true;
            run(RANKS, PLAIN);
            check_alone(RANKS);
            ck_assert(ranks[absent].local && !ranks[absent].on_board);
        }
}
END_TEST

/* They do not find each other, nor take settings. */
START_TEST(two_places)
{
    for (int board = 0; board < 2; board++)
        for (int one = 0; one < RANKS; one++) {
            begin(board ? ON_BOARD : IN_STORE);
            ranks[one].here = ranks_here[board ? IN_STORE : ON_BOARD];
            run(RANKS, PLAIN);
            check_alone(RANKS);
            for (int i = 0; i < RANKS; i++)
                ck_assert(ranks[i].on_board == ((i == one) != board) && ranks[i].local == ranks[i].on_board);
            begin(board ? ON_BOARD : IN_STORE);
            ranks[0].here = ranks_here[board ? IN_STORE : ON_BOARD];
            for (int i = 1; i < RANKS; i++)
                ranks[i].hash += (uint64_t)i;
            run(RANKS, PLAIN);
            check_alone(RANKS);
        }
}
END_TEST

/* A launcher that is not known to be Hydra is not asked, and nobody looks for anybody. */
START_TEST(unknown_launcher)
{
    begin(NOWHERE);
    for (int i = 1; i < RANKS; i++)
        ranks[i].hash += (uint64_t)i;
    run(RANKS, PLAIN);
    check_alone(RANKS);
    for (int i = 0; i < RANKS; i++)
        ck_assert(ranks[i].local && !ranks[i].on_board && ranks[i].questions == -1);
    for (enum place place = ON_BOARD; place <= IN_STORE; place++)
        for (int one = 0; one < RANKS; one++) {
            begin(place);
            ranks[one].here = ranks_here[NOWHERE];
            run(RANKS, PLAIN);
            check_alone(RANKS);
            ck_assert(ranks[one].local && !ranks[one].on_board && ranks[one].questions == -1);
        }
}
END_TEST

START_TEST(settings)
{
    static const size_t lengths[] = {0, 1, 399, 400, 401, 799, 800, 801, 4000, 4001, ESPI_ALL_PRESENT_TEXT};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (enum place place = ON_BOARD; place <= IN_STORE; place++) {
            begin(place);
            ranks[0].length = lengths[l];
            for (size_t i = 0; i < sizeof ranks[0].text; i++)
                ranks[0].text[i] = (char)random_in(0, 255);
            ranks[1].hash = random_next() | 8; /* not 5 */
            ranks[2].hash = 5 | 1ull << 63;
            if (l % 2)
                ranks[3].hash = ESPI_ALL_PRESENT_DEFAULTS;
            run(RANKS, PLAIN);
            for (int i = 0; i < RANKS; i++) {
                ck_assert(ranks[i].all && ranks[i].other == (i == 1 || i == 2 || (i == 3 && l % 2)));
                if (ranks[i].other) {
                    ck_assert_uint_eq(ranks[i].settings_length, lengths[l]);
                    ck_assert_mem_eq(ranks[i].settings, ranks[0].text, lengths[l]);
                }
            }
        }
}
END_TEST

START_TEST(defaults)
{
    for (enum place place = ON_BOARD; place <= IN_STORE; place++) {
        begin(place);
        for (int i = 0; i < RANKS; i++)
            if (i != 2)
                ranks[i].hash = ESPI_ALL_PRESENT_DEFAULTS;
        ranks[0].length = 0;
        run(RANKS, PLAIN);
        for (int i = 0; i < RANKS; i++)
            ck_assert(ranks[i].all && ranks[i].other == (i == 2) && ranks[i].settings_length == 0);
    }
}
END_TEST

/* In the store, that is not what rank 0 leaves there: nothing is taken. */
START_TEST(foreign_settings)
{
    static const char *const numbers[] = {"0", "-1", "12", "99999999999", "x", "2"};
    static const char *const pieces[] = {"zz", "a", "616", "61z"};
    char long_one[999], key[64];
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        begin(ON_BOARD);
        ranks[0].length = 0;
        ranks[1].hash = 6;
        foresay("espalier-settings", numbers[n]);
        for (int i = 0; i < (n == 5 ? 1 : 12); i++) {
            snprintf(key, sizeof key, "espalier-settings-%d", i);
            foresay(key, "61");
        }
        run(2, PLAIN);
        ck_assert_msg(!ranks[1].other, "%s pieces", numbers[n]);
    }
    for (size_t n = 0; n < sizeof pieces / sizeof *pieces; n++) {
        begin(ON_BOARD);
        ranks[0].length = 0;
        ranks[1].hash = 6;
        foresay("espalier-settings", "2");
        foresay("espalier-settings-0", "616263646566");
        foresay("espalier-settings-1", pieces[n]);
        run(2, PLAIN);
        ck_assert_msg(!ranks[1].other, "a piece %s", pieces[n]);
    }
    memset(long_one, '6', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    begin(ON_BOARD);
    ranks[0].length = 0;
    ranks[1].hash = 6;
    foresay("espalier-settings", "11");
    for (int i = 0; i < 11; i++) {
        snprintf(key, sizeof key, "espalier-settings-%d", i);
        foresay(key, long_one);
    }
    run(2, PLAIN);
    ck_assert(!ranks[1].other);
}
END_TEST

/* Another version of Espalier, or something else, in place of rank 0. */
START_TEST(foreign_rank)
{
    static const char *const values[] = {"espalier-world-0.0-0000000000000006", "yes", VALUE "0000000000000006"};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (enum place place = IN_STORE; place <= IN_STORE; place++) {
            bool like_us = v == sizeof values / sizeof *values - 1;
            begin(place);
            ranks[0].absent = true;
            foresay("espalier-0", values[v]);
            run(RANKS, PLAIN);
            for (int i = 1; i < RANKS; i++)
                ck_assert_msg(ranks[i].all == like_us && ranks[i].other == like_us, "%s", values[v]);
        }
}
END_TEST

/* What rank 0 puts is refused: it is as if it were not there, on the board, too. */
START_TEST(refused)
{
    begin(ON_BOARD);
    run(RANKS, REFUSES);
    check_alone(RANKS);
    ck_assert(!ranks[0].on_board && ranks[0].local && ranks[1].on_board);
    begin(IN_STORE);
    run(RANKS, REFUSES);
    check_alone(RANKS);
    for (int i = 0; i < RANKS; i++)
        ck_assert(ranks[i].local && !ranks[i].on_board);
}
END_TEST

/* Who cannot post a note goes to the store, and nobody finds all. */
START_TEST(note_is_taken)
{
    begin(ON_BOARD);
    ranks[0].taken_note = "settings-0000000000000005";
    run(RANKS, PLAIN);
    check_alone(RANKS);
    ck_assert(!ranks[0].on_board && !ranks[0].local && ranks[1].on_board);
    begin(ON_BOARD);
    ranks[0].taken_note = "0-settings";
    run(RANKS, PLAIN);
    ck_assert(!ranks[0].on_board && !ranks[0].local && !ranks[0].all);
    begin(ON_BOARD);
    ranks[0].taken_note = "0";
    ranks[0].hash = ESPI_ALL_PRESENT_DEFAULTS;
    ranks[0].length = 0;
    run(RANKS, PLAIN);
    ck_assert(!ranks[0].on_board && !ranks[0].local && !ranks[0].all);
    begin(ON_BOARD);
    ranks[1].taken_note = "1";
    run(2, PLAIN);
    ck_assert(!ranks[1].on_board && !ranks[1].local && !ranks[1].all);
}
END_TEST

/* Their numbers begin with 0 again, below the same proxy. */
START_TEST(spawned)
{
    begin(ON_BOARD);
    for (int i = 0; i < RANKS; i++)
        ranks[i].spawned = true;
    run(RANKS, PLAIN);
    for (int i = 0; i < RANKS; i++)
        ck_assert(ranks[i].all && !ranks[i].on_board && !ranks[i].local);
}
END_TEST

START_TEST(sizes)
{
    begin(ON_BOARD);
    ranks[0].size = ranks[0].here = 1; /* has nobody to ask */
    run(1, PLAIN);
    ck_assert(ranks[0].all && !ranks[0].on_board && ranks[0].local && ranks[0].questions == 0);
    for (int more = 0; more < 2; more++) {
        begin(ON_BOARD);
        ranks[0].size = ranks[0].here = ESPI_ALL_PRESENT_MAX + more;
        run(1, PLAIN);
        ck_assert(!ranks[0].all && ranks[0].local && ranks[0].on_board == (more == 0));
    }
    begin(ON_BOARD);
    ranks[0].length = sizeof ranks[0].text;
    run(RANKS, PLAIN);
    check_alone(RANKS);
    ck_assert(!ranks[0].on_board && ranks[1].on_board);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-all-present", 120, setup, teardown, all_present, one_absent, two_places,
                     unknown_launcher, settings,
                     defaults, foreign_settings, foreign_rank, refused, note_is_taken, spawned, sizes);
}
