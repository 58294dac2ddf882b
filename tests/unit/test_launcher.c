/* The conversation with the launcher (src/mpi/launcher.c), which a process of the test plays. WAIT_MS is 300 here. */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include "mpi/launcher.h"
#include "player.h"
#include "runner.h"

static int wire;
static pid_t player;

static void play(int here, int there, enum manner manner, bool hydra)
{
    wire = here;
    player = player_start(&there, 1, manner);
    close(there);
    player_environment(wire, 1, 3, hydra ? 3 : -1, false);
}

static void begin(enum manner manner, bool hydra)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFD, 0), 0);
    play(ends[0], ends[1], manner, hydra);
}

static bool nothing_is_left(void)
{
    char byte;
    return recv(wire, &byte, 1, MSG_DONTWAIT) < 0;
}

static void set_pair(struct espi_launcher_pair *pair, const char *base, int number, const char *value)
{
    *pair = (struct espi_launcher_pair){0};
    snprintf(pair->key, sizeof pair->key, "%s%d", base, number);
    snprintf(pair->value, sizeof pair->value, "%s", value);
}

static void put_many(int count, const char *last)
{
    static struct espi_launcher_pair pairs[200];
    for (int i = 0; i < count; i++)
        set_pair(&pairs[i], "rank-", i, i == count - 1 ? last : "here-and-more");
    ck_assert(espi_launcher_put(pairs, count));
}

static void gets(const char *key, const char *wished)
{
    char value[1024];
    ck_assert(espi_launcher_get(key, value, sizeof value));
    ck_assert_str_eq(value, wished);
}

static void converse(void)
{
    char value[1024];
    struct espi_launcher_pair long_one = {"long", ""};
    memset(long_one.value, 'x', sizeof long_one.value - 1);
    put_many(100, "here");
    ck_assert(espi_launcher_put(&long_one, 1));
    gets("long", long_one.value);
    ck_assert(!espi_launcher_get("missing", value, sizeof value));
    ck_assert(espi_launcher_all("rank-", 1, "here") && espi_launcher_all("rank-", 100, "here"));
    ck_assert(!espi_launcher_all("rank-", 101, "here") && !espi_launcher_all("rank-", 200, "here"));
    ck_assert(!espi_launcher_all("rank-", 100, "here-")); /* the last one says less */
    ck_assert(espi_launcher_all("rank-", 99, "here-"));
    gets("long", long_one.value);
    gets("rank-98", "here-and-more");
}

static void see_how(bool hydra)
{
    char value[1024];
    ck_assert(nothing_is_left());
    ck_assert(espi_launcher_get("most", value, sizeof value));
    ck_assert_msg(hydra ? atoi(value) > 1 : atoi(value) == 1, "%s lines at once", value);
}

/* Each in a process of its own, as there is one conversation in a process. */
#define TALKS(name, manner, hydra)                                                                                   \
    START_TEST(name)                                                                                                 \
    {                                                                                                                \
        begin(manner, hydra);                                                                                        \
        converse();                                                                                                  \
        see_how(hydra);                                                                                              \
    }                                                                                                                \
    END_TEST
TALKS(at_once, PLAIN, true)
TALKS(one_by_one, PLAIN, false)
TALKS(bits_at_once, IN_BITS, true)
TALKS(bits_one_by_one, IN_BITS, false)
TALKS(decoys_at_once, DECOYS, true)
TALKS(decoys_one_by_one, DECOYS, false)
TALKS(long_space_at_once, LONG_SPACE, true)
TALKS(long_space_one_by_one, LONG_SPACE, false)

/* One key that is not there, or one value that is not as wished: at the beginning, at the end and inside of what is
   asked at once, which ends at no particular place. */
static void leave_gaps(bool hydra)
{
    static struct espi_launcher_pair pairs[200];
    enum { ALL = 100 };
    char base[32];
    begin(PLAIN, hydra);
    for (int gap = 0; gap < ALL; gap++) {
        int count = 0;
        snprintf(base, sizeof base, "without-%d-", gap);
        for (int i = 0; i < ALL; i++)
            if (i != gap || gap % 3 == 0)
                set_pair(&pairs[count++], base, i, i == gap ? "no" : "yes");
        if (gap >= 70 || gap % 8 < 2 || gap % 8 == 7) {
            ck_assert(espi_launcher_put(pairs, count));
            ck_assert_msg(espi_launcher_all(base, gap, "yes"), "the first %d", gap);
            ck_assert_msg(!espi_launcher_all(base, ALL, "yes"), "all but %d", gap);
            ck_assert_msg(!espi_launcher_all(base, gap + 1, "yes"), "the last one, %d", gap);
        }
    }
    ck_assert(espi_launcher_all("nobody", 0, "yes"));
    ck_assert(nothing_is_left());
}

START_TEST(gaps_at_once)
{
    leave_gaps(true);
}
END_TEST

START_TEST(gaps_one_by_one)
{
    leave_gaps(false);
}
END_TEST

/* More than is said at once, in lines of every length; each must arrive. */
START_TEST(much)
{
    static struct espi_launcher_pair pairs[64];
    char key[64];
    begin(PLAIN, true);
    for (int length = 1; length < 1000; length += length < 100 ? 9 : 50) {
        for (int i = 0; i < 64; i++) {
            int more = (length + i) % 1000;
            set_pair(&pairs[i], "key", i, "");
            memset(pairs[i].value, 'a' + length % 26, (size_t)(more > 0 ? more : 1));
        }
        ck_assert(espi_launcher_put(pairs, 64));
        for (int i = 0; i < 64; i++) {
            snprintf(key, sizeof key, "key%d", i);
            gets(key, pairs[i].value);
        }
    }
}
END_TEST

/* What is said at once ends at, just before and just behind the end of the room for it (8192 bytes now). */
START_TEST(to_the_end)
{
    static struct espi_launcher_pair pairs[9];
    const size_t frame = strlen("cmd=put kvsname=space_1 key=0 value=\n");
    begin(PLAIN, true);
    for (size_t sum = 8192 - 4; sum <= 8192 + 4; sum++) {
        size_t left = sum;
        for (int i = 0; i < 9; i++) {
            size_t length = (i < 8 ? sum / 9 : left) - frame;
            left -= length + frame;
            set_pair(&pairs[i], "", i, "");
            memset(pairs[i].value, 'a' + i, length);
        }
        ck_assert(espi_launcher_put(pairs, 9));
        gets("0", pairs[0].value);
        gets("8", pairs[8].value);
    }
    ck_assert(nothing_is_left());
}
END_TEST

/* What cannot be said is not, and nothing is said for it. */
START_TEST(nothing_to_say)
{
    begin(PLAIN, true);
    ck_assert(espi_launcher_put(NULL, 0));
    gets("all", "3");
}
END_TEST

/* A put that is refused is told, and the conversation goes on. */
static void put_again(bool hydra)
{
    struct espi_launcher_pair pairs[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}, {"c", "4"}};
    begin(SETTLED, hydra);
    ck_assert(!espi_launcher_put(pairs, 4));
    ck_assert(!espi_launcher_put(pairs, 2));
    ck_assert(!espi_launcher_put(pairs + 2, 2));
    ck_assert(nothing_is_left());
    gets("a", "1");
    gets("b", "2");
    gets("c", "4");
    struct espi_launcher_pair other = {"d", "5"};
    ck_assert(espi_launcher_put(&other, 1));
}

START_TEST(again_at_once)
{
    put_again(true);
}
END_TEST

START_TEST(again_one_by_one)
{
    put_again(false);
}
END_TEST

/* A descriptor that does not wait, with little room: what is said goes in parts. */
static void squeeze(enum manner manner, bool hydra)
{
    static struct espi_launcher_pair pairs[8];
    int little = 1;
    begin(manner, hydra);
    ck_assert_int_eq(setsockopt(wire, SOL_SOCKET, SO_SNDBUF, &little, sizeof little), 0);
    ck_assert_int_eq(fcntl(wire, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 8; i++) {
        set_pair(&pairs[i], "key", i, "");
        memset(pairs[i].value, 'a' + i, sizeof pairs[i].value - 1);
    }
    ck_assert(espi_launcher_put(pairs, 8));
    gets("key0", pairs[0].value);
    gets("key7", pairs[7].value);
    ck_assert(nothing_is_left());
}

START_TEST(little_room)
{
    squeeze(LATE, true);
}
END_TEST

START_TEST(little_room_in_bits)
{
    squeeze(IN_BITS, false);
}
END_TEST

/* Not a socket. */
static void by_terminal(bool hydra)
{
    struct termios raw;
    int there = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert(there >= 0 && grantpt(there) == 0 && unlockpt(there) == 0);
    int here = open(ptsname(there), O_RDWR | O_NOCTTY);
    ck_assert(here >= 0 && tcgetattr(here, &raw) == 0);
    cfmakeraw(&raw);
    ck_assert_int_eq(tcsetattr(here, TCSANOW, &raw), 0);
    play(here, there, PLAIN, hydra);
    converse();
}

START_TEST(terminal_at_once)
{
    by_terminal(true);
}
END_TEST

START_TEST(terminal_one_by_one)
{
    by_terminal(false);
}
END_TEST

static volatile sig_atomic_t interrupts;

static void interrupt(int number)
{
    (void)number;
    interrupts = interrupts + 1;
}

static void interrupt_often(void)
{
    const struct sigaction action = {.sa_handler = interrupt};
    const struct itimerval often = {{0, 5000}, {0, 5000}};
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
}

/* Hydra is waited for however long it takes, interrupts or not. */
START_TEST(late_hydra)
{
    char value[64];
    begin(LATE, true);
    interrupt_often();
    ck_assert(espi_launcher_get("most", value, sizeof value));
    ck_assert(nothing_is_left());
    ck_assert_int_gt(interrupts, 0);
}
END_TEST

/* Somebody unknown is not, and is never asked again, also when there is an answer now. */
START_TEST(late_stranger)
{
    char value[64];
    begin(WOKEN, false);
    interrupt_often();
    ck_assert(!espi_launcher_get("most", value, sizeof value));
    ck_assert_int_eq(kill(player, SIGUSR1), 0);
    while (nothing_is_left())
        usleep(1000);
    ck_assert(!espi_launcher_get("most", value, sizeof value) && !espi_launcher_all("rank-", 1, ""));
}
END_TEST

/* Unless there has been an answer. */
START_TEST(late_acquaintance)
{
    struct espi_launcher_pair pair = {"key", "value"};
    begin(LATER, false);
    ck_assert(espi_launcher_put(&pair, 1));
    gets("key", "value");
    ck_assert(nothing_is_left());
}
END_TEST

static void refuse(enum manner manner, bool hydra)
{
    struct espi_launcher_pair pair = {"key", "value"};
    char value[64];
    begin(manner, hydra);
    ck_assert(!espi_launcher_put(&pair, 1) && !espi_launcher_put(&pair, 1));
    ck_assert(!espi_launcher_get("key", value, sizeof value));
    ck_assert(!espi_launcher_all("key", 1, ""));
}

#define REFUSED(name, manner, hydra)                                                                                 \
    START_TEST(name)                                                                                                 \
    {                                                                                                                \
        refuse(manner, hydra);                                                                                       \
    }                                                                                                                \
    END_TEST
REFUSED(nonsense, NONSENSE, true)
REFUSED(nonsense_of_a_stranger, NONSENSE, false)
REFUSED(astray, ASTRAY, true)
REFUSED(astray_with_a_stranger, ASTRAY, false)
REFUSED(refused, REFUSES, true)
REFUSED(refused_by_a_stranger, REFUSES, false)
REFUSED(ended, ENDS, true)
REFUSED(ended_by_a_stranger, ENDS, false)
REFUSED(longer_space, LONGER_SPACE, true)
REFUSED(longer_space_of_a_stranger, LONGER_SPACE, false)

START_TEST(environment)
{
    struct espi_launcher l;
    begin(PLAIN, true);
    ck_assert(espi_launcher_find(&l) && l.wire == wire && l.rank == 1 && l.size == 3 && l.one_node && !l.spawned);
    setenv("MPI_LOCALNRANKS", "2", 1);
    setenv("PMI_SPAWNED", "1", 1);
    ck_assert(espi_launcher_find(&l) && !l.one_node && l.spawned);
    setenv("PMI_SPAWNED", "0", 1);
    ck_assert(espi_launcher_find(&l) && !l.spawned);
    setenv("PMI_RANK", "3", 1);
    ck_assert(!espi_launcher_find(&l));
    setenv("PMI_RANK", "1", 1);
    static const char *const wrong[] = {"", "x", "3 ", "-1", "99999999999999999999", "0", "1", "16777217"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("PMI_SIZE", wrong[i], 1);
        ck_assert_msg(!espi_launcher_find(&l), "PMI_SIZE=%s", wrong[i]);
    }
    setenv("PMI_SIZE", "3", 1);
    unsetenv("PMI_FD");
    ck_assert(!espi_launcher_find(&l));
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-launcher", 120, NULL, NULL, at_once, one_by_one, bits_at_once, bits_one_by_one,
                     decoys_at_once, decoys_one_by_one, long_space_at_once, long_space_one_by_one, gaps_at_once,
                     gaps_one_by_one, much, to_the_end, nothing_to_say, again_at_once, again_one_by_one, little_room,
                     little_room_in_bits, terminal_at_once, terminal_one_by_one, late_hydra, late_stranger,
                     late_acquaintance, nonsense, nonsense_of_a_stranger, astray, astray_with_a_stranger, refused,
                     refused_by_a_stranger, ended, ended_by_a_stranger, longer_space, longer_space_of_a_stranger,
                     environment);
}
