/* Questions to the launcher when MPI_Init is over (src/job/pmi.c); a process of the test answers them, as it should
   or in other ways. */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/pmi.h"
#include "runner.h"

enum manner { PLAIN, IN_BITS, LATE, MORE, NONSENSE, ASTRAY, NO_END, ENDS, ENDS_IN_ANSWER };

static int wire;
static pid_t launcher;
static enum espi_pmi_version version;

/* Key "kN" has a value of N letters; no other key is there. */
static void answer(const char *text, enum manner manner, int to)
{
    char key[64] = "", say[4000], value[2000] = "", all[4100];
    const bool two = version == ESPI_PMI_2;
    espi_pmi_field(version, text, "key", key, sizeof key);
    const int length = key[0] == 'k' ? atoi(key + 1) : 0;
    memset(value, 'v', (size_t)length);
    value[length] = '\0';
    if (manner == NONSENSE)
        sprintf(say, "what?");
    else if (manner == ASTRAY)
        sprintf(say, two ? "cmd=kvs-put-response;rc=0;found=TRUE;value=1;" : "cmd=put_result rc=0 value=1");
    else if (length > 0)
        sprintf(say, two ? "cmd=kvs-get-response;rc=0;found=TRUE;value=%s;" : "cmd=get_result rc=0 msg=x value=%s",
                value);
    else
        sprintf(say, two ? "cmd=kvs-get-response;rc=0;found=FALSE;" : "cmd=get_result rc=-1 msg=x value=unknown");
    if (two)
        sprintf(all, "%6zu%s", strlen(say), say);
    else
        sprintf(all, "%s%s", say, manner == NO_END ? "" : "\n");
    if (manner == NO_END)
        memset(all, two ? '9' : 'x', sizeof all - 1), all[sizeof all - 1] = '\0';
    if (manner == ENDS_IN_ANSWER)
        all[strlen(all) - 3] = '\0';
    if (manner == MORE)
        strcat(all, "for MPI\n");
    if (manner == LATE)
        usleep(300000);
    const size_t step = manner == IN_BITS ? 1 : strlen(all), whole = strlen(all);
    for (size_t i = 0; i < whole; i += step)
        if (write(to, all + i, step) != (ssize_t)step)
            _exit(0);
    if (manner == ENDS_IN_ANSWER)
        _exit(0);
}

static void answer_all(int at, enum manner manner)
{
    char text[4096];
    ssize_t got;
    while ((got = read(at, text, sizeof text - 1)) > 0) { /* what is read at once is one question, as for Slurm */
        text[got] = '\0';
        if (manner == ENDS)
            _exit(0);
        if (version == ESPI_PMI_1 ? strchr(text, '\n') != text + got - 1
                                  : espi_pmi_length(text) != (long)got - ESPI_PMI_DIGITS)
            _exit(3);
        text[strcspn(text, "\n")] = '\0';
        answer(version == ESPI_PMI_2 ? text + ESPI_PMI_DIGITS : text, manner, at);
    }
    _exit(0);
}

static void begin(enum espi_pmi_version spoken, enum manner manner)
{
    int pair[2];
    version = spoken;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    const pid_t parent = getpid();
    launcher = fork();
    if (launcher == 0) {
        close(pair[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            answer_all(pair[1], manner);
        _exit(0);
    }
    close(pair[1]);
    wire = pair[0];
    espi_pmi_open(wire, version, "space_1");
}

static bool nothing_is_left(void)
{
    char byte;
    return recv(wire, &byte, 1, MSG_DONTWAIT) < 0;
}

static void gets(int length)
{
    char key[16], value[1100];
    sprintf(key, "k%d", length);
    ck_assert(espi_pmi_get(key, value, sizeof value));
    ck_assert_uint_eq(strlen(value), length);
    ck_assert_uint_eq(strspn(value, "v"), length);
    ck_assert(!espi_pmi_get("missing", value, sizeof value));
}

static void converse(enum espi_pmi_version spoken, enum manner manner)
{
    char value[8];
    begin(spoken, manner);
    for (int length = 1; length <= 1024; length += length < 20 ? 1 : 99)
        gets(length);
    ck_assert(!espi_pmi_get("k8", value, sizeof value)); /* does not fit */
    ck_assert(espi_pmi_get("k7", value, sizeof value));
    ck_assert(nothing_is_left());
}

START_TEST(plain)
{
    converse(ESPI_PMI_1, PLAIN);
    converse(ESPI_PMI_2, PLAIN);
}
END_TEST

START_TEST(in_bits)
{
    converse(ESPI_PMI_1, IN_BITS);
    converse(ESPI_PMI_2, IN_BITS);
}
END_TEST

/* A descriptor that does not wait. */
START_TEST(no_waiting)
{
    for (version = ESPI_PMI_1; version <= ESPI_PMI_2; version++) {
        begin(version, LATE);
        ck_assert_int_eq(fcntl(wire, F_SETFL, O_NONBLOCK), 0);
        gets(3);
        ck_assert(nothing_is_left());
    }
}
END_TEST

static volatile sig_atomic_t interrupts;

static void interrupt(int number)
{
    (void)number;
    interrupts = interrupts + 1;
}

/* The launcher is waited for however long it takes, interrupts or not. */
START_TEST(late)
{
    const struct sigaction action = {.sa_handler = interrupt};
    const struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    for (version = ESPI_PMI_1; version <= ESPI_PMI_2; version++) {
        begin(version, LATE);
        ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
        ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
        gets(3);
        ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
        ck_assert(nothing_is_left());
        ck_assert_int_gt(interrupts, 0);
    }
}
END_TEST

/* What follows the answer belongs to MPI. */
START_TEST(more)
{
    char value[8], rest[16];
    for (version = ESPI_PMI_1; version <= ESPI_PMI_2; version++) {
        begin(version, MORE);
        ck_assert(espi_pmi_get("k3", value, sizeof value));
        ck_assert_int_eq(recv(wire, rest, sizeof rest, 0), 8);
        ck_assert_mem_eq(rest, "for MPI\n", 8);
        ck_assert(nothing_is_left());
    }
}
END_TEST

/* Nothing is learnt, then or later, and nothing hangs. */
START_TEST(refused)
{
    static const enum manner manners[] = {NONSENSE, ASTRAY, NO_END, ENDS, ENDS_IN_ANSWER};
    char value[8];
    int status;
    for (version = ESPI_PMI_1; version <= ESPI_PMI_2; version++)
        for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
            begin(version, manners[i]);
            ck_assert(!espi_pmi_get("k3", value, sizeof value) && !espi_pmi_get("k3", value, sizeof value));
        }
    begin(ESPI_PMI_1, PLAIN);
    gets(3);
    ck_assert(kill(launcher, SIGKILL) == 0 && waitpid(launcher, &status, 0) == launcher);
    ck_assert(!espi_pmi_get("k3", value, sizeof value));
}
END_TEST

/* Before there is a conversation. */
START_TEST(nobody)
{
    char value[8];
    ck_assert(!espi_pmi_get("k3", value, sizeof value));
    begin(ESPI_PMI_UNKNOWN, ENDS);
    ck_assert(!espi_pmi_get("k3", value, sizeof value));
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-pmi", 120, NULL, NULL, plain, in_bits, no_waiting, late, more, refused, nobody);
}
