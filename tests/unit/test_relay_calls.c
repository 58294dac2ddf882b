/*
 * The relay's place (src/job/relay_calls.c): the test's main thread is the library, this program its object, and
 * another thread the launcher. Whoever goes, and whatever is on its way then, nothing is lost, and each side hears
 * what it would natively.
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
#include "runner.h"

#define INIT "cmd=init pmi_version=1 pmi_subversion=1\n"
#define GOOD "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define ASK_NAME "cmd=get_my_kvsname\n"
#define NAME "cmd=my_kvsname kvsname=kvs_1\n"
#define OWN "cmd=put kvsname=kvs_1 key=espalier-1 value=espalier-world-" PACKAGE_VERSION "-0000000000000005-1\n"
#define STORED "cmd=put_result rc=0\n"
#define IN "cmd=barrier_in\n"
#define OUT "cmd=barrier_out\n"

static const struct espi_roll roll = {.rank = 1, .size = 5, .level = ESPI_ROLL_PRESENT, .hash = 5};
static int wire, other; /* the library's end, the launcher's */
static struct espi_relay_ended ended;

static void begin(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    wire = pair[0];
    other = pair[1];
    signal(SIGPIPE, SIG_IGN);
}

static void finish(void)
{
    close(wire);
    close(other);
}

static bool starts(void)
{
    return espi_relay_start(wire, &wire, &roll);
}

/* ---- the launcher ---- */

struct step {
    const char *hears, *says; /* NULL: nothing */
};
static struct step steps[16];
static int n_steps;
static pthread_t launcher;

/* By calls that are not led elsewhere even in the same object. What went wrong, or NULL. */
static void *launch(void *unused)
{
    for (int i = 0; i < n_steps; i++) {
        char heard[256];
        const size_t length = steps[i].hears != NULL ? strlen(steps[i].hears) : 0;
        if (length > 0 && (recv(other, heard, length, MSG_WAITALL) != (ssize_t)length ||
                           memcmp(heard, steps[i].hears, length) != 0))
            return &steps[i];
        if (steps[i].says != NULL && send(other, steps[i].says, strlen(steps[i].says), MSG_NOSIGNAL) < 0)
            return &steps[i];
    }
    return unused;
}

static void launcher_does(int n, const struct step *does)
{
    ck_assert_int_le(n, (int)(sizeof steps / sizeof *steps));
    memcpy(steps, does, (size_t)n * sizeof *steps);
    n_steps = n;
    ck_assert_int_eq(pthread_create(&launcher, NULL, launch, NULL), 0);
}
#define LAUNCHER(...) \
    launcher_does((int)(sizeof((struct step[]){__VA_ARGS__}) / sizeof(struct step)), (struct step[]){__VA_ARGS__})

static void launcher_ends(void)
{
    void *wrong;
    ck_assert_int_eq(pthread_join(launcher, &wrong), 0);
    ck_assert_msg(wrong == NULL, "the launcher has not heard '%s'",
                  wrong == NULL ? "" : ((struct step *)wrong)->hears);
}

/* ---- the library ---- */

static void say(const char *text)
{
    ck_assert_int_eq(write(wire, text, strlen(text)), (ssize_t)strlen(text));
}

/* In pieces of so many bytes at most; 0: of any size. */
static void hear_by(size_t piece, const char *text)
{
    char heard[1024];
    const size_t length = strlen(text);
    for (size_t used = 0; used < length;) {
        const size_t room = piece > 0 ? piece : length - used;
        ssize_t got = read(wire, heard + used, room);
        if (got < 0 && errno == EAGAIN) {
            struct pollfd fd = {wire, POLLIN, 0};
            ck_assert_int_eq(poll(&fd, 1, 60000), 1);
            continue;
        }
        ck_assert_msg(got > 0, "read %zd for '%s'", got, text);
        used += (size_t)got;
        ck_assert_uint_le(used, length);
        ck_assert(memcmp(heard, text, used) == 0);
    }
}

static void asks_by(size_t piece, const char *question, const char *answer)
{
    say(question);
    hear_by(piece, answer);
}

static void asks(const char *question, const char *answer)
{
    asks_by(0, question, answer);
}

static void opens(void)
{
    asks(INIT, GOOD);
    asks(ASK_NAME, NAME);
}

/* Nobody stands between. */
static void check_direct(void)
{
    char byte;
    LAUNCHER({"direct\n", "indeed\n"});
    asks("direct\n", "indeed\n");
    launcher_ends();
    ck_assert(recv(wire, &byte, 1, MSG_DONTWAIT) < 0 && recv(other, &byte, 1, MSG_DONTWAIT) < 0);
}

/* ---- tests ---- */

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
        ck_assert_msg(!espi_relay_start(wires[i], &wire, &roll), "%zu", i);
    ck_assert(!espi_relay_start(wire, &ends, &roll));
    ck_assert(!espi_relay_stop(&ended));
    check_direct();
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
    return RUN_SUITE("test-relay-calls", 120, NULL, NULL, ordinary, no_wires, over_tcp, others, launcher_goes,
                     library_goes, not_at_rest, waits_later, does_not_wait, exits, signals, streams);
}
