#define _GNU_SOURCE
#include "relay_ends.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const struct espi_roll roll = {.rank = 1, .size = 3, .level = ESPI_ROLL_PRESENT, .hash = 5};
int wire, other;
struct espi_relay_ended ended;

int count_in(const char *folder)
{
    int count = 0;
    DIR *all = opendir(folder);
    ck_assert_ptr_nonnull(all);
    for (struct dirent *entry; (entry = readdir(all)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(all);
    return count;
}

static int lines_of(const char *file)
{
    int count = 0;
    FILE *stream = fopen(file, "re");
    ck_assert_ptr_nonnull(stream);
    for (int c; (c = getc(stream)) != EOF;)
        count += c == '\n';
    fclose(stream);
    return count;
}

struct state before;

/* Threads that have been joined leave the list a moment later. */
struct state look(void)
{
    struct state state = {count_in("/proc/self/fd"), 0, lines_of("/proc/self/maps"), fcntl(wire, F_GETFD),
                          fcntl(wire, F_GETFL)};
    for (int i = 0; i < 1000 && (state.threads = count_in("/proc/self/task")) > 1; i++)
        usleep(1000);
    return state;
}

void check_untouched(void)
{
    const struct state now = look();
    ck_assert_int_eq(now.descriptors, before.descriptors);
    ck_assert_int_eq(now.threads, before.threads);
    ck_assert_int_eq(now.flags, before.flags);
    ck_assert_int_eq(now.status, before.status);
    ck_assert_int_le(now.mappings, before.mappings);
}

void begin(void)
{
    static bool warm;
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    wire = pair[0];
    other = pair[1];
    if (!warm) { /* sanitizers keep memory of the first thread */
        warm = true;
        start();
        espi_relay_stop(&ended);
    }
    look();
    before = look();
}

void start(void)
{
    ck_assert(espi_relay_start(wire, &roll));
}

/* ---- the two sides ---- */

void say(int from, const char *text)
{
    const size_t length = strlen(text);
    ck_assert_int_eq(write(from, text, length), (ssize_t)length);
}

void hear(int at, const char *text)
{
    char heard[2048];
    size_t used = 0, length = strlen(text);
    while (used < length) {
        struct pollfd fd = {at, POLLIN, 0};
        ck_assert_int_eq(poll(&fd, 1, 60000), 1);
        ssize_t got = read(at, heard + used, length - used);
        ck_assert_msg(got > 0, "read %zd for '%s'", got, text);
        used += (size_t)got;
    }
    heard[used] = '\0';
    ck_assert_str_eq(heard, text);
}

void passes(const char *question, const char *answer)
{
    say(wire, question);
    hear(other, question);
    say(other, answer);
    hear(wire, answer);
}

void open_conversation(void)
{
    passes(INIT, GOOD);
    passes("cmd=get_my_kvsname\n", NAME);
}

void barrier(void)
{
    say(wire, "cmd=barrier_in\n");
    hear(other, OWN);
    say(other, "cmd=put_result rc=0\n");
    hear(other, "cmd=barrier_in\n");
    say(other, "cmd=barrier_out\n");
    hear(wire, "cmd=barrier_out\n");
}

bool ends_at(int fd)
{
    char byte;
    struct pollfd poll_fd = {fd, POLLIN, 0};
    return poll(&poll_fd, 1, 60000) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

void check_direct(void)
{
    passes("direct\n", "indeed\n");
    char byte;
    ck_assert(recv(wire, &byte, 1, MSG_DONTWAIT) < 0 && recv(other, &byte, 1, MSG_DONTWAIT) < 0);
}
