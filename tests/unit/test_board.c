/* Notes of several processes on one board (src/mpi/board.c). The maker of the wire is this program itself. */
#include <check.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/board.h"
#include "runner.h"

static int wires[2], come[2], go[2];

static void begin(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, wires), 0);
    ck_assert_int_eq(pipe(come), 0);
    ck_assert_int_eq(pipe(go), 0);
    ck_assert(espi_board_find(wires[0]));
}

/* A process that posts `note`, says so, waits, looks for `other` so many times, says so, waits, and leaves with the
   number of times that it was not there. */
static pid_t neighbour(const char *note, const char *other, int times)
{
    pid_t pid = fork();
    char byte = 0;
    if (pid != 0)
        return pid;
    espi_board_clear(); /* what it has from its parent */
    int missing = espi_board_post(note) ? 0 : 100;
    if (write(come[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
        missing = 101;
    for (int i = 0; i < times; i++)
        missing += !espi_board_has(other);
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

START_TEST(notes)
{
    begin();
    ck_assert(!espi_board_has("0")); /* nothing posted: nothing seen */
    ck_assert(espi_board_post("0"));
    ck_assert(espi_board_has("0") && !espi_board_has("1") && !espi_board_has("") && !espi_board_has("00"));
    pid_t pid = neighbour("1", "0", 1);
    wait_for(1);
    for (int i = 0; i < 5000; i++) /* nobody takes anything from a queue */
        ck_assert(espi_board_has("1"));
    ck_assert(!espi_board_post("1"));
    let_go(1);
    wait_for(1);
    let_go(1);
    ck_assert_int_eq(left_with(pid), 0);
    ck_assert(!espi_board_has("1"));
    ck_assert(espi_board_post("settings"));
    ck_assert(!espi_board_post("a third one"));
    ck_assert(espi_board_has("settings"));
    espi_board_clear();
    ck_assert(!espi_board_has("0"));
    ck_assert(espi_board_post("1"));
    ck_assert(!espi_board_has("0") && espi_board_has("1"));
    ck_assert(!espi_board_post("a note that is longer than any name of a socket can be, which has 108 characters "
                               "with the first one"));
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

/* Of another maker: a process that made its own wire. */
START_TEST(another_job)
{
    begin();
    ck_assert(espi_board_post("0"));
    pid_t pid = fork();
    if (pid == 0) {
        espi_board_clear();
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, wires) != 0 || !espi_board_find(wires[0]))
            _exit(1);
        _exit(!espi_board_post("0") ? 2 : !espi_board_has("0") ? 3 : 0);
    }
    ck_assert_int_eq(left_with(pid), 0);
}
END_TEST

START_TEST(no_wire)
{
    begin();
    ck_assert(espi_board_post("0"));
    ck_assert(!espi_board_find(come[0]) && !espi_board_find(-1) && !espi_board_find(1000));
    int tcp = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert(tcp < 0 || !espi_board_find(tcp));
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-board", 120, NULL, NULL, notes, at_once, another_job, no_wire);
}
