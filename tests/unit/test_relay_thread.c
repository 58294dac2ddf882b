/* The relay's thread and descriptors (src/job/relay_thread.c): nothing is left behind, and what cannot be had leaves
   all as it is. */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay_ends.h"
#include "runner.h"

/* ---- failures on demand ---- */

static int fail_map, fail_pair, fail_event, fail_move; /* the n-th call from now on; 0: none */
static int fail_threads;                               /* so many calls */

static bool fails(int *counter)
{
    return *counter > 0 && --*counter == 0;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data)
{
    if (fail_threads > 0)
        fail_threads--;
    else
        return __real_pthread_create(thread, attributes, run, data);
    return EAGAIN;
}

void *__real_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return fails(&fail_map) ? MAP_FAILED : __real_mmap(address, length, protection, flags, fd, offset);
}

int __real_socketpair(int domain, int type, int protocol, int pair[2]);
int __wrap_socketpair(int domain, int type, int protocol, int pair[2]);
int __wrap_socketpair(int domain, int type, int protocol, int pair[2])
{
    return fails(&fail_pair) ? (errno = EMFILE, -1) : __real_socketpair(domain, type, protocol, pair);
}

int __real_eventfd(unsigned initial, int flags);
int __wrap_eventfd(unsigned initial, int flags);
int __wrap_eventfd(unsigned initial, int flags)
{
    return fails(&fail_event) ? (errno = EMFILE, -1) : __real_eventfd(initial, flags);
}

int __real_dup3(int from, int to, int flags);
int __wrap_dup3(int from, int to, int flags);
int __wrap_dup3(int from, int to, int flags)
{
    return fails(&fail_move) ? (errno = EBADF, -1) : __real_dup3(from, to, flags);
}

/* ---- tests ---- */

START_TEST(ordinary)
{
    for (int i = 0; i < 16; i++) {
        begin();
        ck_assert_int_eq(fcntl(wire, F_SETFD, i & 1 ? FD_CLOEXEC : 0), 0);
        ck_assert_int_eq(fcntl(wire, F_SETFL, i & 2 ? O_NONBLOCK : 0), 0);
        before = look();
        start();
        ck_assert_int_eq(fcntl(wire, F_GETFD), i & 1 ? FD_CLOEXEC : 0);
        ck_assert_int_eq(fcntl(wire, F_GETFL), O_RDWR | (i & 2 ? O_NONBLOCK : 0));
        ck_assert(!espi_relay_start(wire, &roll)); /* there is one */
        open_conversation();
        barrier();
        if (i & 4)
            passes("cmd=barrier_in\n", "cmd=barrier_out\n");
        ck_assert(espi_relay_stop(&ended));
        ck_assert_int_eq(ended.version, ESPI_PMI_1);
        ck_assert_str_eq(ended.space, "kvs_1");
        ck_assert(!espi_relay_stop(&ended));
        check_untouched();
        check_direct();
        close(wire);
        close(other);
    }
}
END_TEST

/* Descriptors of the thread: high, closed on exec; and it hears no signals. */
START_TEST(discreet)
{
    char line[256], name[64];
    unsigned long long blocked = 0;
    int others = 0;
    bool there[300];
    begin();
    for (int fd = 0; fd < 300; fd++)
        there[fd] = fcntl(fd, F_GETFD) >= 0;
    start();
    for (int fd = 0; fd < 300; fd++)
        if (!there[fd] && fcntl(fd, F_GETFD) >= 0) {
            ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
            ck_assert_int_ge(fd, 200);
            others++;
        }
    ck_assert_int_eq(others, 3);
    ck_assert_int_eq(count_in("/proc/self/fd"), before.descriptors + 3);
    DIR *all = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        snprintf(name, sizeof name, "/proc/self/task/%.20s/status", entry->d_name);
        FILE *status = fopen(name, "re");
        ck_assert_ptr_nonnull(status);
        while (fgets(line, sizeof line, status) != NULL)
            sscanf(line, "SigBlk: %llx", &blocked);
        fclose(status);
    }
    closedir(all);
    for (int number = 1; number < 32; number++)
        ck_assert_msg(number == SIGKILL || number == SIGSTOP || (blocked >> (number - 1) & 1), "signal %d", number);
    sigset_t mine;
    ck_assert(sigprocmask(SIG_SETMASK, NULL, &mine) == 0 && !sigismember(&mine, SIGTERM));
    open_conversation();
    ck_assert(espi_relay_stop(&ended));
    check_untouched();
}
END_TEST

/* What is no connected stream is left alone. */
START_TEST(no_wires)
{
    int ends[2], datagrams[2];
    begin();
    ck_assert(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) == 0);
    const int listening = socket(AF_INET, SOCK_STREAM, 0), file = open("/dev/null", O_RDWR);
    const int wires[] = {-1, 1000, ends[0], ends[1], datagrams[0], listening, file};
    before = look();
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++)
        ck_assert_msg(!espi_relay_start(wires[i], &roll), "%zu", i);
    ck_assert(!espi_relay_stop(&ended));
    check_untouched();
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
    begin();
    wire = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(wire, (struct sockaddr *)&address, size), 0);
    other = accept(server, NULL, NULL);
    before = look();
    start();
    open_conversation();
    barrier();
    ck_assert(espi_relay_stop(&ended));
    check_untouched();
    check_direct();
}
END_TEST

/* Whatever cannot be had, MPI_Init goes its way as without. */
START_TEST(failures)
{
    int *const counters[] = {&fail_threads, &fail_map, &fail_pair, &fail_event, &fail_move};
    begin();
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        *counters[i] = counters[i] == &fail_threads ? 2 : 1; /* one more try */
        ck_assert_msg(!espi_relay_start(wire, &roll), "%zu", i);
        ck_assert_int_eq(*counters[i], 0);
        check_untouched();
        ck_assert(!espi_relay_stop(&ended));
        check_direct();
    }
    fail_threads = 1;
    start();
    open_conversation();
    ck_assert(espi_relay_stop(&ended));
    ck_assert_int_eq(look().threads, before.threads);
    ck_assert_int_eq(fail_threads, 0);
}
END_TEST

/* As many descriptors as it takes, and fewer; low ones where there are no high ones. */
START_TEST(descriptors_exhausted)
{
    struct rlimit limit;
    int started = 0;
    begin();
    int highest = wire > other ? wire : other;
    for (int fd = 3; fd < highest; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            ck_assert_int_eq(dup2(0, fd), fd);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    before = look();
    for (int more = 0; more < 8; more++) {
        struct rlimit little = {(rlim_t)(highest + 1 + more), limit.rlim_max};
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &little), 0);
        const bool good = espi_relay_start(wire, &roll);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        ck_assert_msg(good || started == 0, "%d more", more);
        started += good;
        if (good) {
            open_conversation();
            barrier();
        }
        ck_assert(espi_relay_stop(&ended) == good);
        check_untouched();
        check_direct();
    }
    ck_assert_int_gt(started, 0);
}
END_TEST

static void *start_here(void *data)
{
    return espi_relay_start(wire, &roll) ? data : NULL;
}

/* MPI_Init on one thread, and the process goes on in others. */
START_TEST(any_thread)
{
    pthread_t thread;
    void *good;
    begin();
    ck_assert_int_eq(pthread_create(&thread, NULL, start_here, &wire), 0);
    ck_assert(pthread_join(thread, &good) == 0 && good != NULL);
    open_conversation();
    barrier();
    ck_assert(espi_relay_stop(&ended));
    check_direct();
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-relay-thread", 120, NULL, NULL, ordinary, discreet, no_wires, over_tcp, failures,
                     descriptors_exhausted, any_thread);
}
