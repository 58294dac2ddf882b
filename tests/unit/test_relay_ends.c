/* Whoever goes while the relay stands (src/job/relay_thread.c), launcher, library or process, and whatever is on its
   way then: nothing is lost, and each end hears what it would natively. */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay_ends.h"
#include "runner.h"

/* The launcher goes: an answer ends, a question fails, as they do natively. */
START_TEST(launcher_goes)
{
    for (int half = 0; half < 2; half++)
        for (int when = 0; when < 4; when++) {
            begin();
            start();
            if (when > 0)
                open_conversation();
            if (when > 1)
                say(wire, "cmd=barrier_in\n");
            if (when > 2)
                hear(other, OWN);
            say(other, "cmd=part");
            if (when < 2)
                hear(wire, "cmd=part");
            ck_assert_int_eq(half ? shutdown(other, SHUT_WR) : close(other), 0);
            ck_assert(ends_at(wire));
            if (!half) {
                ck_assert_int_eq(send(wire, "x", 1, MSG_NOSIGNAL), -1);
                ck_assert_int_eq(errno, EPIPE);
            } else {
                ck_assert_int_eq(send(wire, "x", 1, MSG_NOSIGNAL), 1);
            }
            espi_relay_stop(&ended);
            before.descriptors -= !half;
            check_untouched();
            ck_assert(ends_at(wire));
            close(wire);
            if (half)
                close(other);
        }
}
END_TEST

/* The library gives the conversation up: so does the relay, and leaves its number alone. */
START_TEST(library_goes)
{
    for (int instead = 0; instead < 2; instead++) {
        begin();
        start();
        open_conversation();
        say(wire, "cmd=finalize\n");
        ck_assert(shutdown(wire, SHUT_RDWR) == 0 && close(wire) == 0);
        hear(other, "cmd=finalize\n");
        ck_assert(ends_at(other));
        if (instead)
            ck_assert_int_eq(open("/dev/null", O_RDWR), wire);
        ck_assert(!espi_relay_stop(&ended));
        ck_assert(instead ? fcntl(wire, F_GETFD) == 0 : fcntl(wire, F_GETFD) < 0);
        ck_assert_int_eq(count_in("/proc/self/fd"), before.descriptors - !instead);
        close(other);
        if (instead)
            close(wire);
    }
}
END_TEST

static int left_with(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* "abort", and the process exits at once: the launcher has heard it all the same. */
START_TEST(exits)
{
    static char text[30000];
    for (int i = 0; i < 40; i++) {
        const int how = i % 4;
        begin();
        memset(text, 'a', sizeof text - 1);
        text[how < 2 ? 20 : sizeof text - 2] = '\n';
        text[how < 2 ? 21 : sizeof text - 1] = '\0';
        const pid_t pid = fork();
        if (pid == 0) {
            close(other);
            if (!espi_relay_start(wire, &roll) || write(wire, INIT, strlen(INIT)) < 0)
                _exit(1);
            if (how == 1 && write(wire, "cmd=get_my_kvsname\ncmd=barrier_in\n", 34) != 34)
                _exit(2);
            if (write(wire, text, strlen(text)) != (ssize_t)strlen(text))
                _exit(3);
            exit(7);
        }
        close(wire);
        size_t used = 0;
        static char heard[40000];
        for (ssize_t got; (got = read(other, heard + used, sizeof heard - used)) > 0;)
            used += (size_t)got;
        ck_assert_int_eq(left_with(pid), 7);
        ck_assert_uint_eq(used, strlen(INIT) + (how == 1 ? 34 : 0) + strlen(text));
        ck_assert_mem_eq(heard + used - strlen(text), text, strlen(text));
        close(other);
    }
}
END_TEST

/* With a barrier held back, while the launcher does not answer ours. */
START_TEST(exits_in_barrier)
{
    begin();
    const pid_t pid = fork();
    if (pid == 0) {
        close(other);
        if (!espi_relay_start(wire, &roll) || write(wire, INIT, strlen(INIT)) < 0)
            _exit(1);
        char bytes[256];
        if (read(wire, bytes, sizeof bytes) < 0 || write(wire, "cmd=get_my_kvsname\n", 19) != 19 ||
            read(wire, bytes, sizeof bytes) < 0 || write(wire, "cmd=barrier_in\n", 15) != 15)
            _exit(2);
        usleep(200000); /* the put has gone its way, most probably */
        exit(7);
    }
    close(wire);
    hear(other, INIT);
    say(other, GOOD);
    hear(other, "cmd=get_my_kvsname\n");
    say(other, NAME);
    hear(other, OWN);
    hear(other, "cmd=barrier_in\n");
    ck_assert(ends_at(other));
    ck_assert_int_eq(left_with(pid), 7);
}
END_TEST

/* A launcher that reads nothing: the process exits after some time. */
START_TEST(exits_unheard)
{
    static char much[1 << 16];
    begin();
    const pid_t pid = fork();
    if (pid == 0) {
        if (!espi_relay_start(wire, &roll))
            _exit(1);
        memset(much, 'a', sizeof much);
        for (int i = 0; i < 64 && send(wire, much, sizeof much, MSG_DONTWAIT) > 0; i++)
            usleep(10000);
        exit(7);
    }
    ck_assert_int_eq(left_with(pid), 7);
}
END_TEST

/* Processes that are forked in the middle, and exit, and what has nothing to do with it. */
START_TEST(forks)
{
    begin();
    start();
    open_conversation();
    const pid_t pid = fork();
    if (pid == 0) {
        if (espi_relay_stop(&ended))
            _exit(1);
        exit(9);
    }
    ck_assert_int_eq(left_with(pid), 9);
    barrier();
    const pid_t sleeper = fork();
    if (sleeper == 0) {
        pause();
        _exit(0);
    }
    ck_assert(espi_relay_stop(&ended));
    check_untouched();
    check_direct();
    kill(sleeper, SIGKILL);
    ck_assert_int_eq(left_with(sleeper), -SIGKILL);
}
END_TEST

/* What the library has not read yet, or waits for: the relay stays, and nothing is lost. */
START_TEST(stays)
{
    for (int how = 0; how < 3; how++) {
        const pid_t pid = fork();
        if (pid == 0) {
            begin();
            start();
            open_conversation();
            if (how == 0) {
                say(other, "cmd=notice\n");
                struct pollfd fd = {wire, POLLIN, 0};
                ck_assert_int_eq(poll(&fd, 1, 60000), 1);
            } else {
                say(wire, "cmd=get_maxes\n");
                hear(other, "cmd=get_maxes\n");
            }
            ck_assert(!espi_relay_stop(&ended) && !espi_relay_stop(&ended));
            if (how == 0)
                hear(wire, "cmd=notice\n");
            if (how == 1) {
                say(other, "cmd=maxes\n");
                hear(wire, "cmd=maxes\n");
            }
            if (how < 2)
                passes("cmd=more\n", "cmd=less\n");
            ck_assert(!espi_relay_start(wire, &roll));
            exit(5);
        }
        ck_assert_int_eq(left_with(pid), 5);
    }
}
END_TEST

enum { MUCH = 3000000 };

static void *read_much(void *data)
{
    static char bytes[2][1 << 16];
    const int at = *(int *)data, which = at == wire;
    unsigned long sum = 0;
    for (long left = MUCH; left > 0;) {
        ssize_t got = read(at, bytes[which], sizeof bytes[which]);
        if (got <= 0)
            return NULL;
        for (ssize_t i = 0; i < got; i++)
            sum = sum * 31 + (unsigned char)bytes[which][i];
        left -= got;
    }
    return (void *)sum; // NOLINT: a number on its way
}

static void *write_much(void *data)
{
    static char bytes[2][1000];
    const int to = *(int *)data, which = to == wire;
    unsigned long sum = 0;
    for (long i = 0; i < MUCH; i++) {
        bytes[which][i % 1000] = (char)(i * 7 + i / 1000);
        sum = sum * 31 + (unsigned char)bytes[which][i % 1000];
        if (i % 1000 == 999 && write(to, bytes[which], 1000) != 1000)
            return NULL;
    }
    return (void *)sum; // NOLINT: a number on its way
}

/* An unknown protocol, both sides at once, nobody waiting for anybody. */
START_TEST(streams)
{
    pthread_t threads[4];
    void *sums[4];
    begin();
    start();
    say(wire, "HELO\n");
    hear(other, "HELO\n");
    ck_assert(pthread_create(&threads[0], NULL, write_much, &wire) == 0 &&
              pthread_create(&threads[1], NULL, write_much, &other) == 0 &&
              pthread_create(&threads[2], NULL, read_much, &other) == 0 &&
              pthread_create(&threads[3], NULL, read_much, &wire) == 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], &sums[i]), 0);
    ck_assert(sums[0] != NULL && sums[0] == sums[2] && sums[1] == sums[3]);
    ck_assert(!espi_relay_stop(&ended)); /* nothing can be asked */
    ck_assert_int_eq(look().descriptors, before.descriptors);
    check_direct();
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-relay-ends", 120, NULL, NULL, launcher_goes, library_goes, exits, exits_in_barrier,
                     exits_unheard, forks, stays, streams);
}
