/*
 * The relay's place (src/job/relay_calls.c). Whoever goes, and whatever is on its way then, nothing is lost, and each
 * side hears what it would natively.
 */
#define _GNU_SOURCE
#include <config.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/relay_calls.h"
#include "relay_wire.h"
#include "runner.h"

static const struct espi_roll roll = {.rank = 1, .size = 5, .level = ESPI_ROLL_PRESENT, .hash = 5};
static struct espi_relay_ended ended;

static bool starts(void)
{
    return espi_relay_start(wire, &wire, &roll, NULL);
}

START_TEST(ordinary)
{
    for (int i = 0; i < 16; i++) {
        const size_t piece = i / 8; /* bytes that come one by one */
        begin();
        ck_assert_int_eq(fcntl(wire, F_SETFD, i & 1 ? FD_CLOEXEC : 0), 0);
        ck_assert_int_eq(fcntl(wire, F_SETFL, i & 2 ? O_NONBLOCK : 0), 0);
        ck_assert(starts());
        ck_assert(!starts()); /* there is one */
        LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME}, {OWN, STORED}, {IN, OUT}, {IN, OUT});
        asks_by(piece, INIT, GOOD);
        asks_by(piece, ASK_NAME, NAME);
        asks_by(piece, IN, OUT);
        if (i & 4)
            asks_by(piece, IN, OUT);
        ck_assert_int_eq(fcntl(wire, F_GETFD), i & 1 ? FD_CLOEXEC : 0);
        ck_assert_int_eq(fcntl(wire, F_GETFL), O_RDWR | (i & 2 ? O_NONBLOCK : 0));
        ck_assert(espi_relay_stop(&ended));
        if (!(i & 4))
            asks(IN, OUT);
        launcher_ends();
        ck_assert_int_eq(ended.version, ESPI_PMI_1);
        ck_assert_str_eq(ended.space, "kvs_1");
        ck_assert(!espi_relay_stop(&ended));
        check_direct();
        finish();
    }
}
END_TEST

/* What is no connected stream is left alone, and so is a library that does not speak by calls of its own. */
START_TEST(no_wires)
{
    int ends[2], datagrams[2];
    begin();
    ck_assert(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) == 0);
    const int listening = socket(AF_INET, SOCK_STREAM, 0), file = open("/dev/null", O_RDWR);
    const int wires[] = {-1, 1000, ends[0], ends[1], datagrams[0], listening, file};
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++)
        ck_assert_msg(!espi_relay_start(wires[i], &wire, &roll, NULL), "%zu", i);
    ck_assert(!espi_relay_start(wire, &ends, &roll, NULL));
    ck_assert(!espi_relay_stop(&ended));
    check_direct();
    finish();
}
END_TEST

/* ---- when all is known ---- */

#define VALUE(rank) "cmd=get_result rc=0 msg=x value=espalier-world-" PACKAGE_VERSION "-0000000000000005-2" rank "\n"
#define GET(rank) "cmd=get kvsname=kvs_1 key=espalier-" rank "\n"
static const struct espi_roll one_of_two = {.rank = 1, .size = 2, .level = ESPI_ROLL_ON_NODE, .hash = 5};
static _Atomic(int) times_known;
static int heard_before;

/* Were the barrier written already, the launcher would have heard it by then. */
static void note_known(const struct espi_roll_ask *ask)
{
    ck_assert_int_eq(ask->level, ESPI_ROLL_ON_NODE);
    ck_assert_str_eq(ask->first_said, "word");
    times_known++;
    usleep(50000);
    heard_before = times_heard;
}

START_TEST(known_before_the_barrier)
{
    begin();
    times_known = times_heard = 0;
    ck_assert(espi_relay_start(wire, &wire, &one_of_two, note_known));
    LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME}, {PUT_2, STORED}, {IN, OUT}, {GET("0"), VALUE("-word")},
             {GET("1"), VALUE("")}, {IN, OUT}, {IN, OUT});
    opens();
    asks(IN, OUT);
    ck_assert_int_eq(times_known, 0);
    asks(IN, OUT);
    ck_assert_int_eq(times_known, 1);
    ck_assert_int_eq(heard_before, 6); /* all but the barrier */
    asks(IN, OUT);
    ck_assert_int_eq(times_known, 1);
    launcher_ends();
    ck_assert(espi_relay_stop(&ended));
    check_direct();
    finish();
}
END_TEST

/* MPI_Init was over before. */
START_TEST(known_too_late)
{
    begin();
    times_known = times_heard = 0;
    ck_assert(espi_relay_start(wire, &wire, &one_of_two, note_known));
    LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME}, {PUT_2, STORED}, {IN, OUT});
    opens();
    asks(IN, OUT);
    launcher_ends();
    say(IN);
    ck_assert(!espi_relay_stop(&ended));
    LAUNCHER({GET("0"), VALUE("-word")}, {GET("1"), VALUE("")}, {IN, OUT});
    hear_by(0, OUT);
    launcher_ends();
    ck_assert_int_eq(times_known, 0);
    finish();
}
END_TEST

START_TEST(over_tcp)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || bind(server, (struct sockaddr *)&address, size) != 0 || listen(server, 1) != 0 ||
        getsockname(server, (struct sockaddr *)&address, &size) != 0)
        return; /* no loopback here */
    wire = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(wire, (struct sockaddr *)&address, size), 0);
    other = accept(server, NULL, NULL);
    ck_assert(starts());
    LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME}, {OWN, STORED}, {IN, OUT});
    opens();
    asks(IN, OUT);
    launcher_ends();
    ck_assert(espi_relay_stop(&ended));
    check_direct();
    finish();
}
END_TEST

/* Calls on other descriptors, of other threads and by other functions are nothing to it. */
static void *others_call(void *unused)
{
    say(IN);
    hear_by(0, OUT);
    return unused;
}

START_TEST(others)
{
    pthread_t thread;
    char bytes[8] = "";
    int ends[2];
    begin();
    ck_assert(pipe(ends) == 0 && starts());
    LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME}, {IN, OUT}, {OWN, STORED}, {IN, OUT});
    opens();
    ck_assert(write(ends[1], IN, 8) == 8 && read(ends[0], bytes, 8) == 8 && memcmp(bytes, IN, 8) == 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, others_call, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    asks(IN, OUT);
    launcher_ends();
    ck_assert(espi_relay_stop(&ended));
    check_direct();
    finish();
}
END_TEST

/* The launcher goes: an answer ends, a question fails, as they do natively. */
START_TEST(launcher_goes)
{
    char bytes[64];
    for (int half = 0; half < 2; half++)
        for (int when = 0; when < 3; when++) {
            begin();
            ck_assert(starts());
            LAUNCHER({INIT, GOOD}, {ASK_NAME, when > 0 ? NAME : "cmd=part"}, {when > 1 ? OWN : NULL, NULL},
                     {NULL, when > 0 ? "cmd=part" : NULL});
            asks(INIT, GOOD);
            asks(ASK_NAME, when > 0 ? NAME : "cmd=part");
            if (when > 1)
                say(IN);
            launcher_ends();
            ck_assert_int_eq(half ? shutdown(other, SHUT_WR) : close(other), 0);
            if (when == 1)
                hear_by(0, "cmd=part"); /* an answer to a question of ours is not the library's */
            ck_assert_int_eq(read(wire, bytes, sizeof bytes), 0);
            if (half) {
                say("x");
            } else {
                ck_assert_int_eq(write(wire, "x", 1), -1);
                ck_assert_int_eq(errno, EPIPE);
            }
            espi_relay_stop(&ended);
            ck_assert_int_eq(read(wire, bytes, sizeof bytes), 0);
            finish();
        }
}
END_TEST

/* The library gives the conversation up, and its number may lead elsewhere. */
START_TEST(library_goes)
{
    char byte;
    for (int instead = 0; instead < 3; instead++) {
        int pair[2] = {-1, -1};
        begin();
        ck_assert(starts());
        LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME});
        opens();
        ck_assert_int_eq(close(wire), 0);
        launcher_ends();
        ck_assert_int_eq(recv(other, &byte, 1, 0), 0);
        if (instead == 1)
            ck_assert_int_eq(open("/dev/null", O_RDWR), wire);
        else if (instead == 2)
            ck_assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pair[0] == wire);
        ck_assert(!espi_relay_stop(&ended));
        ck_assert(instead ? fcntl(wire, F_GETFD) == 0 : fcntl(wire, F_GETFD) < 0);
        if (instead)
            close(wire);
        if (instead == 2)
            close(pair[1]);
        close(other);
        begin();
        check_direct(); /* calls lead where they did */
        finish();
    }
}
END_TEST

/* What the library has not read, or waits for, is its own: nothing can be asked. */
START_TEST(not_at_rest)
{
    for (int how = 0; how < 2; how++) {
        begin();
        ck_assert(starts());
        LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME}, {how ? "cmd=get_maxes\n" : NULL, how ? NULL : "cmd=notice\n"});
        opens();
        if (how)
            say("cmd=get_maxes\n");
        launcher_ends();
        ck_assert(!espi_relay_stop(&ended));
        LAUNCHER({NULL, how ? "cmd=maxes\n" : NULL});
        hear_by(0, how ? "cmd=maxes\n" : "cmd=notice\n");
        launcher_ends();
        check_direct();
        finish();
    }
}
END_TEST

/* A barrier for which the library waits later only: the relay is there as long. */
START_TEST(waits_later)
{
    begin();
    ck_assert(starts());
    LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME}, {OWN, STORED}, {IN, OUT}, {"cmd=get_maxes\n", "cmd=maxes\n"});
    opens();
    say(IN);
    ck_assert(!espi_relay_stop(&ended) && !starts());
    hear_by(0, OUT);
    asks("cmd=get_maxes\n", "cmd=maxes\n");
    launcher_ends();
    ck_assert(espi_relay_stop(&ended) && starts());
    ck_assert(!espi_relay_stop(&ended)); /* not a word was said */
    check_direct();
    finish();
}
END_TEST

/* It does not wait for its barrier at all: all that it says is passed on. */
START_TEST(does_not_wait)
{
    begin();
    ck_assert(starts());
    LAUNCHER({INIT, GOOD}, {ASK_NAME, NAME}, {OWN, NULL}, {IN "cmd=more\n", NULL}, {"cmd=much\n", NULL});
    opens();
    say(IN);
    say("cmd=more\n");
    say("cmd=much\n");
    launcher_ends();
    ck_assert(espi_relay_stop(&ended)); /* it waits for nothing */
    finish();
    begin();
    ck_assert(starts());
    LAUNCHER({INIT, GOOD}, {ASK_NAME IN, NAME OUT});
    asks(INIT, GOOD);
    asks(ASK_NAME IN, NAME OUT);
    launcher_ends();
    espi_relay_stop(&ended);
    check_direct();
    finish();
}
END_TEST

/* "abort", and the process exits at once: the launcher has heard it. */
START_TEST(exits)
{
    for (int barrier = 0; barrier < 2; barrier++) {
        int status;
        char byte;
        begin();
        const pid_t pid = fork();
        if (pid == 0) {
            close(other);
            if (!starts() || write(wire, INIT, strlen(INIT)) < 0)
                _exit(1);
            if (barrier && write(wire, ASK_NAME IN, strlen(ASK_NAME IN)) < 0)
                _exit(2);
            if (write(wire, "cmd=abort\n", 10) != 10)
                _exit(3);
            exit(7);
        }
        close(wire);
        LAUNCHER({INIT, NULL}, {barrier ? ASK_NAME IN : NULL, NULL}, {"cmd=abort\n", NULL});
        launcher_ends();
        ck_assert_int_eq(recv(other, &byte, 1, 0), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        close(other);
    }
}
END_TEST

static void on_alarm(int number)
{
    (void)number;
}

/* A signal interrupts what it would natively: a read that waits; and no write is cut. */
START_TEST(signals)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    char bytes[16];
    begin();
    ck_assert(starts());
    ck_assert(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    ck_assert_int_eq(read(wire, bytes, sizeof bytes), -1);
    ck_assert_int_eq(errno, EINTR);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
    espi_relay_stop(&ended);
    check_direct();
    finish();
}
END_TEST

enum { MUCH = 3000000 };

static unsigned long sum_of(unsigned long sum, const char *bytes, ssize_t n)
{
    for (ssize_t i = 0; i < n; i++)
        sum = sum * 31 + (unsigned char)bytes[i];
    return sum;
}

/* Reads so much, and says as much. */
static void *echo_much(void *data)
{
    char bytes[5000];
    (void)data;
    for (long left = MUCH; left > 0;) {
        ssize_t got = recv(other, bytes, sizeof bytes, 0);
        if (got <= 0 || send(other, bytes, (size_t)got, MSG_NOSIGNAL) != got)
            break;
        left -= got;
    }
    return NULL;
}

/* Of an unknown protocol, in pieces of all sizes. */
START_TEST(streams)
{
    static char piece[40000], heard[40000];
    unsigned long sums[2] = {0, 0};
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        pthread_t thread;
        begin();
        ck_assert_int_eq(fcntl(wire, F_SETFL, nonblocking ? O_NONBLOCK : 0), 0);
        ck_assert(starts());
        ck_assert_int_eq(pthread_create(&thread, NULL, echo_much, NULL), 0);
        for (long done = 0, turn = 0; done < MUCH; turn++) {
            long size = 1 + turn * 977 % (long)sizeof piece;
            size = size < MUCH - done ? size : MUCH - done;
            for (long i = 0; i < size; i++)
                piece[i] = (char)((done + i) * 7 + turn);
            ck_assert_int_eq(write(wire, piece, (size_t)size), size);
            sums[0] = sum_of(sums[0], piece, size);
            for (long left = size; left > 0;) {
                ssize_t got = read(wire, heard, sizeof heard);
                if (got < 0 && errno == EAGAIN)
                    continue;
                ck_assert_int_gt(got, 0);
                sums[1] = sum_of(sums[1], heard, got);
                left -= got;
            }
            done += size;
        }
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_uint_eq(sums[0], sums[1]);
        ck_assert(!espi_relay_stop(&ended)); /* nothing can be asked */
        check_direct();
        finish();
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-relay-calls", 120, NULL, NULL, ordinary, no_wires,
                     known_before_the_barrier, known_too_late, over_tcp, others, launcher_goes,
                     library_goes, not_at_rest, waits_later, does_not_wait, exits, signals, streams);
}
