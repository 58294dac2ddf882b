/* Whether all ranks run under Espalier (src/job/all_present.c): processes of the test are the ranks, each with a
   small MPI library's start, and the test itself is their launcher. */
#define _GNU_SOURCE
#include <check.h>
#include <config.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/all_present.h"
#include "random.h"
#include "runner.h"

enum { RANKS = 5, FEW = 4, BEHIND = 64, STORE = 256 };
#define VALUE "espalier-world-" PACKAGE_VERSION "-"

/* What a rank is told, and what it comes to. */
struct rank {
    bool absent; /* has no core */
    bool again;  /* announces itself twice, with other settings the second time */
    bool no_wire;
    bool late; /* its library waits for its barrier when MPI_Init is over */
    int here; /* ranks on its node, as the launcher says; -1: it says nothing */
    int size, number;
    uint64_t hash;
    char text[ESPI_ALL_PRESENT_TEXT + 1];
    size_t length;
    bool known; /* as soon as MPI_Init is over */
    bool all, other, local, heard, on_node;
    char settings[ESPI_ALL_PRESENT_TEXT + BEHIND];
    size_t settings_length;
    int gets; /* that the launcher was asked, in MPI_Init and behind it */
};
static struct rank *ranks;
static int barriers; /* of the library */
static bool refuses; /* the launcher, rank 0's puts */
static struct {
    char key[64], value[1024];
} store[STORE];
static int stored;

static void setup(void)
{
    ranks = mmap(NULL, RANKS * sizeof *ranks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(ranks != MAP_FAILED);
}

static void teardown(void)
{
    munmap(ranks, RANKS * sizeof *ranks);
}

/* All on one node with the same settings, not the defaults. */
static void begin(void)
{
    stored = 0;
    barriers = 3;
    refuses = false;
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (struct rank){.here = RANKS, .size = RANKS, .number = i, .hash = 5};
        ranks[i].length = (size_t)sprintf(ranks[i].text, "settings of rank %d", i);
    }
}

/* ---- the launcher ---- */

static void put(const char *key, const char *value)
{
    ck_assert_int_lt(stored, STORE);
    snprintf(store[stored].key, sizeof store->key, "%s", key);
    snprintf(store[stored++].value, sizeof store->value, "%s", value);
}

/* The first one counts. */
static const char *get(const char *key)
{
    for (int i = 0; i < stored; i++)
        if (strcmp(store[i].key, key) == 0)
            return store[i].value;
    return NULL;
}

static int in_barrier;

static void answer(struct rank *rank, int wire, const char *line, const int *wires, int count)
{
    char say[2048] = "", key[64], value[1024];
    if (strncmp(line, "cmd=init ", 9) == 0) {
        sprintf(say, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    } else if (strcmp(line, "cmd=get_my_kvsname") == 0) {
        sprintf(say, "cmd=my_kvsname kvsname=space_1\n");
    } else if (strcmp(line, "cmd=barrier_in") == 0) {
        if (++in_barrier < count)
            return;
        in_barrier = 0;
        for (int i = 0; i < count; i++)
            ck_assert_int_eq(write(wires[i], "cmd=barrier_out\n", 16), 16);
        return;
    } else if (sscanf(line, "cmd=put kvsname=space_1 key=%63s value=%1023s", key, value) == 2) {
        const bool taken = !refuses || rank != &ranks[0];
        if (taken)
            put(key, value);
        sprintf(say, "cmd=put_result rc=%d msg=x\n", taken ? 0 : -1);
    } else if (sscanf(line, "cmd=get kvsname=space_1 key=%63s", key) == 1) {
        const char *found = get(key);
        rank->gets++;
        sprintf(say, "cmd=get_result rc=%d msg=x value=%s\n", found ? 0 : -1, found ? found : "unknown");
    } else {
        ck_abort_msg("'%s'", line);
    }
    ck_assert_int_eq(write(wire, say, strlen(say)), (ssize_t)strlen(say));
}

static void serve(const int *wires, int count)
{
    struct pollfd fds[RANKS];
    char line[4096];
    in_barrier = 0;
    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){wires[i], POLLIN, 0};
    for (int open = count; open > 0;) {
        ck_assert_int_gt(poll(fds, (nfds_t)count, 60000), 0);
        for (int i = 0; i < count; i++) {
            if (fds[i].fd < 0 || fds[i].revents == 0)
                continue;
            ssize_t got = read(wires[i], line, sizeof line - 1);
            if (got <= 0) {
                fds[i].fd = -1;
                open--;
                continue;
            }
            line[got] = '\0';
            ck_assert_ptr_eq(strchr(line, '\n'), line + got - 1); /* one at a time */
            line[got - 1] = '\0';
            answer(&ranks[i], wires[i], line, wires, count);
        }
    }
}

/* ---- the ranks ---- */

static void ask(int wire, const char *line)
{
    char bytes[1024];
    if (write(wire, line, strlen(line)) != (ssize_t)strlen(line) || read(wire, bytes, sizeof bytes) <= 0)
        _exit(2);
}

static void init(int wire)
{
    ask(wire, "cmd=init pmi_version=1 pmi_subversion=1\n");
    ask(wire, "cmd=get_my_kvsname\n");
    for (int i = 0; i < barriers; i++)
        ask(wire, "cmd=barrier_in\n");
}

static void init_late(int wire)
{
    ask(wire, "cmd=init pmi_version=1 pmi_subversion=1\n");
    ask(wire, "cmd=get_my_kvsname\n");
    if (write(wire, "cmd=barrier_in\n", 15) != 15)
        _exit(2);
}

static bool hear_late(int wire)
{
    char bytes[64];
    return read(wire, bytes, sizeof bytes) == 16 && memcmp(bytes, "cmd=barrier_out\n", 16) == 0;
}

static void set(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    if (value >= 0)
        setenv(name, text, 1);
    else
        unsetenv(name);
}

static void be(struct rank *rank, int wire)
{
    set("PMI_FD", rank->no_wire ? -1 : wire);
    set("PMI_RANK", rank->number);
    set("PMI_SIZE", rank->size);
    set("MPI_LOCALNRANKS", rank->here);
    unsetenv("SLURM_STEP_NUM_NODES");
    if (!rank->absent) {
        espi_all_present_announce(&barriers, rank->hash, rank->text, rank->length);
        if (rank->again)
            espi_all_present_announce(&barriers, rank->hash + 1, rank->text, rank->length);
    }
    if (rank->late)
        init_late(wire);
    else
        init(wire);
    espi_all_present_announced();
    if (rank->late && (!hear_late(wire) || espi_all_present(rank->size)))
        _exit(4);
    if (rank->late)
        _exit(0);
    const int number = rank->number;
    rank->known = espi_all_present_is_heard() && espi_all_present_is_local();
    rank->other = espi_all_present_settings(number, rank->settings, ESPI_ALL_PRESENT_TEXT, &rank->settings_length);
    rank->local = espi_all_present_is_local();
    rank->heard = espi_all_present_is_heard();
    rank->all = espi_all_present(rank->size);
    if (!espi_all_present_is_local() || espi_all_present(rank->size) != rank->all || espi_all_present(7))
        _exit(3);
    rank->on_node = espi_all_present_on_node();
    _exit(0);
}

static void run(int count)
{
    int wires[RANKS], status;
    pid_t pids[RANKS];
    const pid_t parent = getpid();
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        int pair[2];
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        wires[i] = pair[0];
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (int j = 0; j <= i; j++)
                close(wires[j]);
            if (getppid() == parent)
                be(&ranks[i], pair[1]);
            _exit(1);
        }
        close(pair[1]);
    }
    serve(wires, count);
    for (int i = 0; i < count; i++) {
        ck_assert(waitpid(pids[i], &status, 0) == pids[i]);
        ck_assert_msg(status == 0, "rank %d ends with %x", i, status);
        close(wires[i]);
        for (int j = 0; j < BEHIND; j++)
            ck_assert_int_eq(ranks[i].settings[ESPI_ALL_PRESENT_TEXT + j], 0);
    }
}

static void check_alone(int count)
{
    for (int i = 0; i < count; i++)
        ck_assert_msg(!ranks[i].all && !ranks[i].on_node, "rank %d: all %d", i, ranks[i].all);
}

/* ---- tests ---- */

START_TEST(all_present)
{
    for (int number = 1; number <= 5; number++) {
        begin();
        barriers = number;
        for (int i = 0; i < RANKS; i++) /* the first time counts */
            ranks[i].again = true;
        run(RANKS);
        for (int i = 0; i < RANKS; i++) {
            ck_assert(ranks[i].all && !ranks[i].other && ranks[i].on_node && ranks[i].heard);
            ck_assert(ranks[i].local == (number > 1) && ranks[i].known == (number > 2));
            ck_assert_int_le(ranks[i].gets, number == 1 ? RANKS + 2 : i == 0 ? RANKS : 1);
        }
    }
    for (int number = 1; number <= 4; number++) { /* few ranks ask a barrier earlier */
        begin();
        barriers = number;
        for (int i = 0; i < FEW; i++)
            ranks[i].here = ranks[i].size = FEW;
        run(FEW);
        for (int i = 0; i < FEW; i++) {
            ck_assert(ranks[i].all && !ranks[i].other && ranks[i].on_node && ranks[i].heard);
            ck_assert(ranks[i].local == (number > 1) && ranks[i].known == (number > 1));
            ck_assert_int_eq(ranks[i].gets, FEW);
        }
    }
    begin();
    barriers = 0; /* nothing could be put in time */
    run(RANKS);
    check_alone(RANKS);
}
END_TEST

START_TEST(one_absent)
{
    for (barriers = 1; barriers <= 3; barriers++)
        for (int absent = 0; absent < RANKS; absent++) {
            const int number = barriers;
            begin();
            barriers = number;
            if (absent % 2)
                ranks[absent].no_wire = true;
            else
                ranks[absent].absent = true;
            run(RANKS);
            check_alone(RANKS);
            for (int i = 0; i < RANKS; i++)
                ck_assert(ranks[i].heard == (i != absent) && !ranks[i].other);
            ck_assert(ranks[absent].local && ranks[absent].gets == 0);
        }
}
END_TEST

/* One that does not know where the others are; or on another node. */
START_TEST(nodes)
{
    static const int here[] = {-1, 1, RANKS - 1, RANKS + 1, 2};
    for (int one = 0; one < RANKS; one++) {
        begin();
        ranks[one].here = here[one];
        run(RANKS);
        for (int i = 0; i < RANKS; i++)
            ck_assert(ranks[i].all && !ranks[i].on_node);
    }
}
END_TEST

START_TEST(settings)
{
    static const size_t lengths[] = {1, 199, 200, 201, 399, 400, 401, 799, 800, 801, 4001, ESPI_ALL_PRESENT_TEXT};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int number = 1; number <= 3; number++) {
            begin();
            barriers = number;
            ranks[0].length = lengths[l];
            for (size_t i = 0; i < sizeof ranks[0].text; i++)
                ranks[0].text[i] = (char)random_in(0, 255);
            ranks[1].hash = random_next() | 8; /* not 5 */
            ranks[2].hash = 5 | 1ull << 63;
            if (l % 2)
                ranks[3].hash = ESPI_ALL_PRESENT_DEFAULTS;
            run(RANKS);
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

/* One whose library comes to its barrier late says nothing more, settings that it has announced included. */
START_TEST(late)
{
    begin();
    barriers = 1;
    ranks[0].late = true;
    ranks[0].length = 801; /* more than one piece */
    run(RANKS);
    for (int i = 1; i < RANKS; i++)
        ck_assert(!ranks[i].all && !ranks[i].other);
}
END_TEST

/* Rank 0's settings count for those who differ, whoever else is missing. */
START_TEST(settings_without_all)
{
    for (int number = 1; number <= 3; number++) {
        begin();
        barriers = number;
        ranks[1].hash = 6;
        ranks[3].absent = true;
        run(RANKS);
        check_alone(RANKS);
        for (int i = 0; i < RANKS; i++)
            ck_assert(ranks[i].other == (i == 1));
        ck_assert_mem_eq(ranks[1].settings, ranks[0].text, ranks[0].length);
    }
}
END_TEST

START_TEST(defaults)
{
    begin();
    for (int i = 0; i < RANKS; i++)
        if (i != 2)
            ranks[i].hash = ESPI_ALL_PRESENT_DEFAULTS;
    ranks[0].length = 0;
    run(RANKS);
    for (int i = 0; i < RANKS; i++)
        ck_assert(ranks[i].all && ranks[i].other == (i == 2) && ranks[i].settings_length == 0);
}
END_TEST

/* In the store, before rank 0 comes: nothing is taken. */
START_TEST(foreign_settings)
{
    static const char *const numbers[] = {"0", "-1", "99", "99999999999", "x", "2"};
    static const char *const pieces[] = {"zz", "a", "616", "61z"};
    char key[64];
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers + sizeof pieces / sizeof *pieces; n++) {
        const bool number = n < sizeof numbers / sizeof *numbers;
        begin();
        ranks[1].hash = 6;
        ranks[0].size = ranks[1].size = 2;
        ranks[0].here = ranks[1].here = 2;
        put("espalier-settings", number ? numbers[n] : "2");
        for (int i = 0; i < (n == 5 ? 1 : 30) && number; i++) {
            snprintf(key, sizeof key, "espalier-settings-%d", i);
            put(key, "61");
        }
        if (!number) {
            put("espalier-settings-0", "616263646566");
            put("espalier-settings-1", pieces[n - sizeof numbers / sizeof *numbers]);
        }
        ranks[0].length = n == 5 ? 1 : ranks[0].length;
        run(2);
        ck_assert_msg(!ranks[1].other, "case %zu", n);
        ck_assert(ranks[0].all && ranks[1].all);
    }
}
END_TEST

/* Another version of Espalier, or something else, in place of a rank. */
START_TEST(foreign_rank)
{
    static const char *const values[] = {"espalier-world-0.0-0000000000000006-2", "yes", VALUE "0000000000000006-2"};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (int one = 0; one < RANKS; one++) {
            const bool like_us = v == sizeof values / sizeof *values - 1;
            char key[64];
            begin();
            ranks[one].absent = true;
            sprintf(key, "espalier-%d", one);
            put(key, values[v]);
            run(RANKS);
            for (int i = 0; i < RANKS; i++)
                if (i != one)
                    ck_assert_msg(ranks[i].all == like_us, "%s for rank %d", values[v], one);
        }
}
END_TEST

/* What rank 0 puts is refused: it is as if it were not there, for itself, too. */
START_TEST(refused)
{
    for (int number = 1; number <= 3; number++) {
        begin();
        barriers = number;
        refuses = true;
        run(RANKS);
        check_alone(RANKS);
        for (int i = 0; i < RANKS; i++)
            ck_assert(ranks[i].heard && !ranks[i].other);
    }
}
END_TEST

START_TEST(sizes)
{
    begin();
    ranks[0].size = ranks[0].here = 1; /* has nobody to ask */
    run(1);
    ck_assert(ranks[0].all && ranks[0].local && ranks[0].gets == 0 && !ranks[0].heard);
    begin();
    ranks[0].size = -1;
    run(1);
    ck_assert(!ranks[0].heard);
    begin();
    ranks[0].number = RANKS;
    run(1);
    ck_assert(!ranks[0].heard);
    begin();
    ranks[0].length = sizeof ranks[0].text;
    run(RANKS);
    check_alone(RANKS);
    ck_assert(!ranks[0].heard && ranks[1].heard);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-all-present", 120, setup, teardown, all_present, one_absent, nodes, settings,
                     late, settings_without_all, defaults, foreign_settings, foreign_rank, refused, sizes);
}
