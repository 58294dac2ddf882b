/* Channels between processes (src/exchange): what is written is read, in order, whatever the lengths, and a writer
   waits where all slots are full alone; and the memory that they are in is found by whoever has its key. */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange/segment.h"
#include "random.h"
#include "runner.h"

enum { MESSAGES = 400, LONGEST = 200000 };

static unsigned char byte_of(int message, int64_t i)
{
    return (unsigned char)((uint64_t)(message * 131 + i) * 0x9e3779b97f4a7c15u >> 56);
}

static int64_t length_of(int message)
{
    static const int64_t some[] = {0, 1, 47, 48, 49, 4096, 32767, 32768, 32769, 131072, LONGEST};

    return message % 3 == 0 ? some[message / 3 % 11] : (int64_t)message * 37 % 1000;
}

/* One process: sends all messages on one channel and receives as many on another, a piece at a time. False: a byte is
   wrong. */
static bool exchange(struct espi_channel_end out, struct espi_channel_end in)
{
    int sent = 0, received = 0;
    int64_t done = 0, got = 0, total;

    while (sent < MESSAGES || received < MESSAGES) {
        const int64_t whole = length_of(sent), n = whole - done < out.room ? whole - done : out.room;
        char *room = sent < MESSAGES ? espi_channel_write(&out, n) : NULL;
        if (room != NULL) {
            for (int64_t i = 0; i < n; i++)
                room[i] = (char)byte_of(sent, done + i);
            espi_channel_written(&out, whole);
            done += n;
        }
        if (sent < MESSAGES && room != NULL && done == whole) {
            sent++;
            done = 0;
        }
        if (received < MESSAGES && espi_channel_has_piece(&in, &total)) {
            const int64_t m = total - got < in.room ? total - got : in.room;
            const char *piece = espi_channel_piece(&in, m);
            if (total != length_of(received))
                return false;
            for (int64_t i = 0; i < m; i++)
                if ((unsigned char)piece[i] != byte_of(received, got + i))
                    return false;
            espi_channel_read(&in);
            got += m;
            if (got == total) {
                received++;
                got = 0;
            }
        } else if (room == NULL) {
            sched_yield();
        }
    }
    return true;
}

START_TEST(bytes_arrive)
{
    struct espi_segment segment, other;
    struct espi_segment_key key;
    int status;

    ck_assert(espi_segment_make(&segment, 3, &key));
    const pid_t child = fork();
    if (child == 0) {
        const bool good = espi_segment_open(&other, 3, &key) &&
                          exchange(espi_segment_channel(&other, 2, 1), espi_segment_channel(&other, 1, 2));
        _exit(good ? 0 : 1);
    }
    const bool good = exchange(espi_segment_channel(&segment, 1, 2), espi_segment_channel(&segment, 2, 1));
    ck_assert(good);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    espi_segment_close(&segment);
}
END_TEST

/* Files may have so many bytes alone: no signal for a longer one. */
START_TEST(files_are_limited)
{
    struct rlimit before, few;
    struct espi_segment segment;
    struct espi_segment_key key;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    few = before;
    few.rlim_cur = 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
    ck_assert(!espi_segment_make(&segment, 3, &key));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq((int)(key.word != 0), 0);
    ck_assert_ptr_null(segment.memory);
}
END_TEST

START_TEST(marks_are_seen)
{
    enum { PROCESSES = ESPI_SEGMENT_PROCESSES };
    struct espi_segment segment, other;
    struct espi_segment_key key;
    int status;

    ck_assert(espi_segment_make(&segment, PROCESSES, &key));
    for (int i = 0; i < PROCESSES; i++)
        for (int k = 0; k < ESPI_SEGMENT_MARKS; k++)
            ck_assert_int_eq(espi_segment_marks(&segment, i)[k]++, 0);
    for (int i = 0; i < PROCESSES; i++)
        for (int k = 0; k < ESPI_SEGMENT_NOTES; k++)
            ck_assert_uint_eq(espi_segment_notes(&segment, i)[k]++, 0);
    atomic_store(&espi_segment_marks(&segment, PROCESSES - 1)[ESPI_SEGMENT_MARKS - 1], 77);
    atomic_store(&espi_segment_notes(&segment, PROCESSES - 1)[ESPI_SEGMENT_NOTES - 1], UINT64_C(1) << 60);
    ck_assert_uint_eq((*espi_segment_round(&segment))++, 0);
    const pid_t child = fork();
    if (child == 0) { /* the word at the beginning is as it was, and the others' are their own */
        const bool good = espi_segment_open(&other, PROCESSES, &key) &&
                          espi_segment_marks(&other, 1)[0] == 1 && espi_segment_notes(&other, 1)[0] == 1 &&
                          espi_segment_notes(&other, PROCESSES - 1)[ESPI_SEGMENT_NOTES - 1] == UINT64_C(1) << 60 &&
                          espi_segment_marks(&other, PROCESSES - 1)[ESPI_SEGMENT_MARKS - 1] == 77 &&
                          *espi_segment_round(&other) == 1;
        _exit(good ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const struct espi_channel_end first = espi_segment_channel(&segment, 0, 0);
    int64_t total;
    ck_assert(!espi_channel_has_piece(&first, &total));
    espi_segment_close(&segment);
}
END_TEST

START_TEST(slots_fill_up)
{
    struct espi_segment segment;
    struct espi_segment_key key;
    int64_t total = -1;

    ck_assert(espi_segment_make(&segment, 2, &key));
    struct espi_channel_end out = espi_segment_channel(&segment, 0, 1), in = espi_segment_channel(&segment, 0, 1);
    ck_assert(!espi_channel_has_piece(&in, &total));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ESPI_CHANNEL_SLOTS; i++) {
            ck_assert_ptr_ne(espi_channel_write(&out, 1), NULL);
            espi_channel_written(&out, 100 * round + i);
        }
        ck_assert_ptr_eq(espi_channel_write(&out, 1), NULL);
        for (int i = 0; i < ESPI_CHANNEL_SLOTS; i++) {
            ck_assert(espi_channel_has_piece(&in, &total));
            ck_assert_int_eq(total, 100 * round + i);
            espi_channel_read(&in);
        }
        ck_assert(!espi_channel_has_piece(&in, &total));
    }
    espi_segment_close(&segment);
}
END_TEST

/* No two channels share a byte, whatever their number. */
START_TEST(channels_are_apart)
{
    for (int n = 2; n <= ESPI_SEGMENT_PROCESSES; n += n < 20 ? 1 : 11) {
        struct espi_segment segment;
        struct espi_segment_key key;
        char *last = NULL;
        ck_assert(espi_segment_make(&segment, n, &key));
        for (int i = 0; i < n * n; i++) {
            const struct espi_channel_end end = espi_segment_channel(&segment, i / n, i % n);
            ck_assert_uint_eq((uintptr_t)end.channel % ESPI_CHANNEL_LINE, 0);
            ck_assert((char *)end.channel >= (last == NULL ? (char *)segment.memory + sizeof key.word : last));
            last = (char *)end.channel + espi_channel_size(end.room);
        }
        *(last - 1) = 1; /* it is there */
        espi_segment_close(&segment);
    }
}
END_TEST

START_TEST(others_are_not_opened)
{
    struct espi_segment segment, other;
    struct espi_segment_key key, wrong;

    ck_assert(espi_segment_make(&segment, 2, &key));
    ck_assert(espi_segment_open(&other, 2, &key));
    espi_segment_close(&other);
    wrong = key;
    wrong.word++;
    ck_assert(!espi_segment_open(&other, 2, &wrong));
    wrong = key;
    wrong.word = 0;
    ck_assert(!espi_segment_open(&other, 2, &wrong));
    wrong = key;
    wrong.file = STDIN_FILENO;
    ck_assert(!espi_segment_open(&other, 2, &wrong));
    wrong = key;
    wrong.process = 1 << 30;
    ck_assert(!espi_segment_open(&other, 2, &wrong));
    ck_assert(!espi_segment_open(&other, 3, &key)); /* of another size */
    ck_assert_ptr_eq(other.memory, NULL);
    espi_segment_shared(&segment);
    ck_assert(!espi_segment_open(&other, 2, &key)); /* those that would have done so */
    ck_assert_ptr_ne(segment.memory, NULL);
    espi_segment_close(&segment);
    espi_segment_close(&segment);
}
END_TEST

/* MPI opens more files behind it, to the last that the process may have. */
START_TEST(descriptors_are_left)
{
    struct espi_segment segment;
    struct espi_segment_key key;
    struct rlimit before, few;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 64;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    const int next = dup(STDOUT_FILENO);
    close(next);
    ck_assert(!espi_segment_make(&segment, 2, &key));
    ck_assert_ptr_null(segment.memory);
    ck_assert_uint_eq(key.word, 0);
    const int then = dup(STDOUT_FILENO);
    ck_assert_int_eq(then, next); /* none is lost */
    close(then);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}
END_TEST

/* One that was not made has no descriptor, and 0 is another one's. */
START_TEST(nothing_is_closed)
{
    struct espi_segment segment = {0};
    const int before = fcntl(0, F_GETFD), zero = before < 0 ? open("/dev/null", O_RDONLY) : 0;

    ck_assert_int_eq(zero, 0);
    espi_segment_shared(&segment);
    ck_assert_int_ge(fcntl(0, F_GETFD), 0);
    segment = (struct espi_segment){0};
    espi_segment_close(&segment);
    ck_assert_int_ge(fcntl(0, F_GETFD), 0);
}
END_TEST

START_TEST(words_are_seen)
{
    enum { PROCESSES = ESPI_SEGMENT_PROCESSES };
    struct espi_segment segment, other;
    struct espi_segment_key key;
    int status;

    ck_assert(espi_segment_make(&segment, PROCESSES, &key));
    const pid_t child = fork();
    if (child == 0) {
        const bool good = espi_segment_open(&other, PROCESSES, &key);
        if (good)
            espi_segment_say(&other, PROCESSES - 1, ESPI_SEGMENT_HERE);
        _exit(!good);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    espi_segment_say(&segment, 0, ESPI_SEGMENT_HERE);
    espi_segment_say(&segment, 0, ESPI_SEGMENT_TAKES_PART);
    for (int i = 0; i < PROCESSES; i++)
        ck_assert_int_eq(espi_segment_said(&segment, i), i == 0               ? ESPI_SEGMENT_TAKES_PART
                                                         : i < PROCESSES - 1 ? ESPI_SEGMENT_NOTHING
                                                                             : ESPI_SEGMENT_HERE);
    ck_assert_int_eq(espi_segment_process(&segment, PROCESSES - 1).id, child);
    ck_assert_int_eq(espi_segment_process(&segment, 0).id, getpid());
    ck_assert_uint_ne(espi_segment_process(&segment, 0).word, espi_segment_process(&segment, 1).word);
    espi_segment_close(&segment);
}
END_TEST

/* ---- reading another process's memory ---- */

enum { HELD = 1 << 21 };
static unsigned char held[HELD]; /* of the other process, at the same place after fork() */

static unsigned char byte_held(uint64_t i)
{
    return (unsigned char)(i * 0x9e3779b97f4a7c15u >> 56);
}

/* Says that it has filled its memory, and stays until it is told to go. */
static void hold(const struct espi_segment_key *key)
{
    struct espi_segment segment;
    int64_t total;

    if (!espi_segment_open(&segment, 2, key))
        _exit(1);
    espi_segment_say(&segment, 1, ESPI_SEGMENT_HERE);
    for (uint64_t i = 0; i < HELD; i++)
        held[i] = byte_held(i);
    struct espi_channel_end out = espi_segment_channel(&segment, 1, 0), in = espi_segment_channel(&segment, 0, 1);
    if (espi_channel_write(&out, 0) != NULL)
        espi_channel_written(&out, 0);
    while (!espi_channel_has_piece(&in, &total))
        sched_yield();
    _exit(0);
}

/* Rows that fit HELD, of so many bytes in all. */
static struct espi_rows some_rows(const void *memory, int64_t bytes)
{
    const int64_t row = random_in(0, 2) == 0 ? bytes : random_in(ESPI_FETCH_LEAST_ROW, 20000),
                  rows = (bytes + row - 1) / row, most = (HELD - row) / (rows > 1 ? rows - 1 : 1);

    if (most < row)
        return (struct espi_rows){(uintptr_t)memory, bytes, 0};
    const int64_t step = random_in(row, most < 3 * row ? most : 3 * row);
    if (random_in(0, 3) == 0) /* the last one lies first */
        return (struct espi_rows){(uintptr_t)memory + (uintptr_t)((rows - 1) * step), row, -step};
    return (struct espi_rows){(uintptr_t)memory, row, step};
}

static uintptr_t place_in(const struct espi_rows *rows, int64_t i)
{
    return rows->first + (uintptr_t)(i / rows->row * rows->step + i % rows->row);
}

/* Containers may forbid it to all. */
static bool is_allowed(void)
{
    char from = 1, to = 0;
    const struct iovec there = {&from, 1}, here = {&to, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

START_TEST(memory_is_read_where_it_lies)
{
    struct espi_segment segment;
    struct espi_segment_key key;
    int64_t total;
    int status;
    unsigned char *here = malloc(HELD), *wanted = malloc(HELD);

    if (!is_allowed())
        return;
    ck_assert(espi_segment_make(&segment, 2, &key));
    const pid_t child = fork();
    if (child == 0)
        hold(&key);
    struct espi_channel_end out = espi_segment_channel(&segment, 0, 1), in = espi_segment_channel(&segment, 1, 0);
    while (!espi_channel_has_piece(&in, &total))
        ck_assert_int_eq(waitpid(child, &status, WNOHANG), 0);
    struct espi_process process = espi_segment_process(&segment, 1), wrong = process;
    for (int i = 0; i < 300; i++) {
        const int64_t bytes = random_in(1, 1 << 20), first = random_in(0, bytes - 1),
                      most = bytes - first < ESPI_FETCH_MOST ? bytes - first : ESPI_FETCH_MOST,
                      n = i % 3 == 0 ? most : random_in(1, most);
        const struct espi_rows theirs = some_rows(held, bytes), ours = some_rows(here, bytes);
        memset(here, 7, HELD);
        memset(wanted, 7, HELD);
        for (int64_t k = first; k < first + n; k++)
            wanted[place_in(&ours, k) - (uintptr_t)here] = byte_held(place_in(&theirs, k) - (uintptr_t)held);
        ck_assert(espi_fetch(&process, &theirs, &ours, first, n));
        ck_assert_int_eq(memcmp(here, wanted, HELD), 0);
    }
    const struct espi_rows nowhere = {4096, 100, 0}, ours = {(uintptr_t)here, HELD, 0};
    const struct espi_rows theirs = {(uintptr_t)held, HELD, 0};
    ck_assert(!espi_fetch(&process, &nowhere, &ours, 0, 100));
    ck_assert(espi_fetch(&process, &theirs, &ours, 0, 100)); /* other memory still is */
    wrong.word++;
    ck_assert(!espi_fetch(&wrong, &theirs, &ours, 0, 100)); /* it is another process than was meant */
    wrong.word--;
    ck_assert(!espi_fetch(&wrong, &theirs, &ours, 0, 100)); /* and is not asked again */
    espi_channel_write(&out, 0);
    espi_channel_written(&out, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(!espi_fetch(&process, &theirs, &ours, 0, 100));
    espi_segment_close(&segment);
    free(here);
    free(wanted);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-exchange", 60, NULL, NULL, bytes_arrive, files_are_limited, descriptors_are_left,
                     marks_are_seen, nothing_is_closed, words_are_seen, slots_fill_up, channels_are_apart,
                     others_are_not_opened, memory_is_read_where_it_lies);
}
