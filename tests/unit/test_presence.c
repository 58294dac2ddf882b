/* Notes of several processes on one board (src/job/presence.c). It is that of this program itself. */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/presence.h"
#include "runner.h"

static int come[2], go[2];

static void begin(void)
{
    ck_assert_int_eq(pipe(come), 0);
    ck_assert_int_eq(pipe(go), 0);
    ck_assert(espi_presence_find(getpid()));
}

/* A process that posts `note`, says so, waits, looks for `other` so many times, says so, waits, and leaves with the
   number of times that it was not there. */
static pid_t neighbour(const char *note, const char *other, int times)
{
    pid_t pid = fork();
    char byte = 0;
    if (pid != 0)
        return pid;
    espi_presence_clear(); /* what it has from its parent */
    int missing = espi_presence_post(note) ? 0 : 100;
    if (write(come[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
        missing = 101;
    for (int i = 0; i < times; i++)
        missing += !espi_presence_has(other);
    if (write(come[1], "", 1) != 1 || read(go[0], &byte, 1) != 1) /* others may still look */
        missing = 101;
    _exit(missing < 127 ? missing : 127);
}

static void wait_for(int count)
{
    char byte;
    while (count-- > 0)
        ck_assert_int_eq(read(come[0], &byte, 1), 1);
}

static void let_go(int count)
{
    while (count-- > 0)
        ck_assert_int_eq(write(go[1], "", 1), 1);
}

static int left_with(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum { DESCRIPTORS = 256 };

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* The last descriptor that is a note, and its name behind the first byte; -1: there is none. */
static int find_note(char *name, size_t size)
{
    struct sockaddr_un address;
    int found = -1;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        socklen_t length = sizeof address;
        if (getsockname(fd, (struct sockaddr *)&address, &length) == 0 && address.sun_family == AF_UNIX &&
            length > offsetof(struct sockaddr_un, sun_path) + 1 && address.sun_path[0] == '\0') {
            snprintf(name, size, "%.*s", (int)(length - offsetof(struct sockaddr_un, sun_path) - 1),
                     address.sun_path + 1);
            found = fd;
        }
    }
    return found;
}

START_TEST(notes)
{
    begin();
    ck_assert(!espi_presence_has("0")); /* nothing posted: nothing seen */
    ck_assert(espi_presence_post("0"));
    ck_assert(espi_presence_has("0") && !espi_presence_has("1"));
    ck_assert(!espi_presence_has("") && !espi_presence_has("00"));
    pid_t pid = neighbour("1", "0", 1);
    wait_for(1);
    for (int i = 0; i < 5000; i++) /* nobody takes anything from a queue */
        ck_assert(espi_presence_has("1"));
    ck_assert(!espi_presence_post("1"));
    let_go(1);
    wait_for(1);
    let_go(1);
    ck_assert_int_eq(left_with(pid), 0);
    ck_assert(!espi_presence_has("1"));
    ck_assert(espi_presence_post("settings"));
    ck_assert(!espi_presence_post("a third one"));
    ck_assert(espi_presence_has("settings"));
    espi_presence_clear();
    ck_assert(!espi_presence_has("0"));
    ck_assert(espi_presence_post("1"));
    ck_assert(!espi_presence_has("0") && espi_presence_has("1"));
    ck_assert(!espi_presence_post("a note that is longer than any name of a socket can be, which has 108 characters "
                                  "with the first one"));
}
END_TEST

static const char *numbered(int number)
{
    static const char *const texts[] = {"0", "1", "2", "3"};
    return texts[number];
}

/* Several notes at once: none of them may be missing, but for that which is not looked for. */
START_TEST(all_of_them)
{
    char name[128];
    struct sockaddr_un peer;
    socklen_t size = sizeof peer;
    begin();
    ck_assert(!espi_presence_has_all(numbered, 0, 1, -1)); /* nothing posted: nothing seen */
    ck_assert(espi_presence_post("0"));
    int fd = find_note(name, sizeof name);
    pid_t one = neighbour("1", "0", 1), three = neighbour("3", "0", 1);
    wait_for(2);
    for (int i = 0; i < 2000; i++)
        ck_assert(espi_presence_has_all(numbered, 0, 4, 2) && !espi_presence_has_all(numbered, 0, 4, -1));
    ck_assert(espi_presence_has_all(numbered, 0, 2, -1) && espi_presence_has_all(numbered, 3, 4, 0));
    ck_assert(!espi_presence_has_all(numbered, 2, 4, 3) && !espi_presence_has_all(numbered, 1, 3, 1));
    ck_assert(espi_presence_has_all(numbered, 2, 2, 0) && espi_presence_has_all(numbered, 2, 3, 2));
    ck_assert(espi_presence_has_all(numbered, 0, 2, -1));
    ck_assert(getpeername(fd, (struct sockaddr *)&peer, &size) != 0 && errno == ENOTCONN);
    ck_assert(!espi_presence_has_all(numbered, 1, 4, -1));
    size = sizeof peer;
    ck_assert(getpeername(fd, (struct sockaddr *)&peer, &size) != 0 && errno == ENOTCONN);
    ck_assert(kill(one, SIGKILL) == 0 && kill(three, SIGKILL) == 0); /* two would take each other's leave */
    ck_assert(left_with(one) == -1 && left_with(three) == -1);
    ck_assert(!espi_presence_has_all(numbered, 0, 2, -1) && espi_presence_has_all(numbered, 0, 2, 1));
    espi_presence_clear();
    ck_assert(!espi_presence_has_all(numbered, 0, 1, -1));
}
END_TEST

/* No descriptor is kept but those of the notes, whatever goes wrong, and no other is closed. */
START_TEST(descriptors)
{
    int less[2];
    begin();
    ck_assert_int_eq(pipe(less), 0);
    ck_assert_int_eq(dup2(less[0], 0), 0); /* the lowest ones are somebody's, too */
    ck_assert_int_eq(dup2(less[0], 3), 3);
    const int before = open_descriptors();
    for (int i = 0; i < 3; i++) {
        ck_assert(espi_presence_find(getpid()));
        ck_assert_int_eq(open_descriptors(), before);
        ck_assert(espi_presence_post("0") && !espi_presence_post("0"));
        ck_assert_int_eq(open_descriptors(), before + 1);
        ck_assert(espi_presence_post("1") && !espi_presence_post("1") && !espi_presence_post("2"));
        ck_assert(!espi_presence_has("2") && espi_presence_has("1"));
        ck_assert_int_eq(open_descriptors(), before + 2);
        espi_presence_clear();
        espi_presence_clear();
        ck_assert_int_eq(open_descriptors(), before);
    }
    ck_assert_int_ge(fcntl(0, F_GETFD), 0);
    ck_assert_int_ge(fcntl(3, F_GETFD), 0);
}
END_TEST

/* Looking needs none. */
START_TEST(no_descriptors)
{
    int last = -1;
    begin();
    ck_assert(espi_presence_post("0"));
    for (int fd; (fd = dup(come[0])) >= 0;)
        last = fd;
    ck_assert_int_eq(errno, EMFILE);
    ck_assert(espi_presence_has("0") && !espi_presence_has("1") && !espi_presence_post("1"));
    close(last); /* what comes after a test may want one */
}
END_TEST

/* A note is as it was after a look: connected to nobody, so that anybody finds it, and closed when another program
   begins. */
START_TEST(untouched)
{
    char name[128];
    struct sockaddr_un peer;
    begin();
    ck_assert(espi_presence_post("0"));
    int fd = find_note(name, sizeof name);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    pid_t pid = neighbour("1", "0", 1);
    wait_for(1);
    for (int i = 0; i < 2; i++) {
        socklen_t size = sizeof peer;
        ck_assert(espi_presence_has(i == 0 ? "0" : "1"));
        ck_assert(getpeername(fd, (struct sockaddr *)&peer, &size) != 0 && errno == ENOTCONN);
    }
    let_go(1);
    wait_for(1);
    let_go(1);
    ck_assert_int_eq(left_with(pid), 0);
}
END_TEST

/* The longest note, and one that is longer by one: it is not the same without its last character. */
START_TEST(long_notes)
{
    char note[128], name[128];
    begin();
    ck_assert(espi_presence_post("x"));
    ck_assert_int_ge(find_note(name, sizeof name), 0);
    espi_presence_clear();
    const size_t room = sizeof((struct sockaddr_un *)0)->sun_path - 1 - (strlen(name) - 1);
    ck_assert_uint_gt(room, 32);
    memset(note, 'n', sizeof note);
    for (size_t length = 1; length <= room + 2; length++) {
        note[length] = '\0';
        bool fits = length < room;
        ck_assert_msg(espi_presence_post(note) == fits, "%zu of %zu", length, room);
        ck_assert_msg(espi_presence_has(note) == fits, "%zu of %zu", length, room);
        espi_presence_clear();
        ck_assert(espi_presence_post("y"));
        ck_assert(!espi_presence_has(note));
        espi_presence_clear();
        note[length] = 'n';
    }
}
END_TEST

/* The name has in it what only ranks of this job know: asked for here in another way. */
START_TEST(name_of_a_note)
{
    char command[200], name[128], words[256] = "";
    unsigned long space, maker, ticks, code, stack, true_space, true_ticks, true_code, true_stack;
    ck_assert_int_eq(prctl(PR_SET_NAME, "a) (b) 7 c"), 0);
    begin();
    ck_assert(espi_presence_post("note"));
    ck_assert_int_ge(find_note(name, sizeof name), 0);
    int found = sscanf(name, "espalier/%*[^/]/%lx/%lx/%lx/%lx/%lx/note", &space, &maker, &ticks, &code, &stack);
    ck_assert_msg(found == 5, "%s", name);
    snprintf(command, sizeof command,
             "cd /proc/%ld && stat -Lc %%i ns/pid && sed 's/.*) //' stat | cut -d ' ' -f 20,24,26", (long)getpid());
    FILE *shell = popen(command, "r");
    ck_assert_ptr_nonnull(shell);
    ck_assert_int_gt(fread(words, 1, sizeof words - 1, shell), 0);
    ck_assert_int_eq(pclose(shell), 0);
    found = sscanf(words, "%lu %lu %lu %lu", &true_space, &true_ticks, &true_code, &true_stack);
    ck_assert_msg(found == 4, "%s", words);
    ck_assert_uint_eq(space, true_space);
    ck_assert_int_eq((long)maker, (long)getpid());
    ck_assert_uint_eq(ticks, true_ticks);
    ck_assert_uint_eq(code, true_code);
    ck_assert_uint_eq(stack, true_stack);
    /* Not what everybody may know. */
    ck_assert(code > 1 && code <= (uintptr_t)find_note && stack > (uintptr_t)&maker);
}
END_TEST

/* Looks that meet: each looks with the socket that the other one looks for. */
START_TEST(at_once)
{
    pid_t pids[4];
    static const char *const names[] = {"0", "1", "2", "3"};
    begin();
    for (int i = 0; i < 4; i++)
        pids[i] = neighbour(names[i], names[(i + 1) % 4], 20000);
    wait_for(4);
    let_go(4);
    wait_for(4);
    let_go(4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(left_with(pids[i]), 0);
}
END_TEST

/* Of another process. */
START_TEST(another_job)
{
    begin();
    ck_assert(espi_presence_post("0"));
    pid_t pid = fork();
    if (pid == 0) {
        espi_presence_clear();
        if (!espi_presence_find(getpid()))
            _exit(1);
        _exit(!espi_presence_post("0") ? 2 : !espi_presence_has("0") ? 3 : 0);
    }
    ck_assert_int_eq(left_with(pid), 0);
}
END_TEST

START_TEST(nobody)
{
    begin();
    ck_assert(espi_presence_post("0"));
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(left_with(pid), 0);
    ck_assert(!espi_presence_find(pid) && !espi_presence_find(-1) && !espi_presence_find(0));
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-presence", 120, NULL, NULL, notes, all_of_them, descriptors, no_descriptors, untouched,
                     long_notes, name_of_a_note, at_once, another_job, nobody);
}
