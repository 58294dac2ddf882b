/* The conversation with the launcher (src/job/pmi.c), which another process plays. Whom it may be held with at
   all is tested in test_hydra.c. */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/pmi.h"
#include "player.h"
#include "runner.h"

static int wire;
static pid_t player;

static void begin(enum manner manner)
{
    player = player_start(ESPI_PLAYER, &wire, 1, manner);
    player_environment(wire, 1, 3, 3, false);
}

static bool nothing_is_left(void)
{
    char byte;
    return recv(wire, &byte, 1, MSG_DONTWAIT) < 0;
}

static void set_pair(struct espi_pmi_pair *pair, const char *base, int number, const char *value)
{
    *pair = (struct espi_pmi_pair){0};
    snprintf(pair->key, sizeof pair->key, "%s%d", base, number);
    snprintf(pair->value, sizeof pair->value, "%s", value);
}

static void put_many(int count, const char *last)
{
    static struct espi_pmi_pair pairs[200];
    for (int i = 0; i < count; i++)
        set_pair(&pairs[i], "rank-", i, i == count - 1 ? last : "here-and-more");
    ck_assert(espi_pmi_put(pairs, count));
}

static void gets(const char *key, const char *wished)
{
    char value[1024];
    ck_assert(espi_pmi_get(key, value, sizeof value));
    ck_assert_str_eq(value, wished);
}

static void converse(void)
{
    char value[1024];
    struct espi_pmi_pair long_one = {"long", ""};
    memset(long_one.value, 'x', sizeof long_one.value - 1);
    put_many(100, "here");
    ck_assert(espi_pmi_put(&long_one, 1));
    gets("long", long_one.value);
    ck_assert(!espi_pmi_get("missing", value, sizeof value));
    ck_assert(espi_pmi_all("rank-", 1, "here") && espi_pmi_all("rank-", 100, "here"));
    ck_assert(!espi_pmi_all("rank-", 101, "here") && !espi_pmi_all("rank-", 200, "here"));
    ck_assert(!espi_pmi_all("rank-", 100, "here-")); /* the last one says less */
    ck_assert(espi_pmi_all("rank-", 99, "here-"));
    gets("long", long_one.value);
    gets("rank-98", "here-and-more");
}

/* Each in a process of its own, as there is one conversation in a process. */
#define TALKS(name, manner)                                                                                          \
    START_TEST(name)                                                                                                 \
    {                                                                                                                \
        char most[64];                                                                                               \
        begin(manner);                                                                                               \
        converse();                                                                                                  \
        ck_assert(nothing_is_left());                                                                                \
        ck_assert(espi_pmi_get("most", most, sizeof most));                                                          \
        ck_assert_msg(atoi(most) > 1, "%s lines at once", most);                                                     \
    }                                                                                                                \
    END_TEST
TALKS(plain, PLAIN)
TALKS(bits, IN_BITS)
TALKS(decoys, DECOYS)
TALKS(long_space, LONG_SPACE)

/* One key that is not there, or one value that is not as wished: at the beginning, at the end and inside of what is
   asked at once, which ends at no particular place. */
START_TEST(gaps)
{
    static struct espi_pmi_pair pairs[200];
    enum { ALL = 100 };
    char base[32];
    begin(PLAIN);
    for (int gap = 0; gap < ALL; gap++) {
        int count = 0;
        snprintf(base, sizeof base, "without-%d-", gap);
        for (int i = 0; i < ALL; i++)
            if (i != gap || gap % 3 == 0)
                set_pair(&pairs[count++], base, i, i == gap ? "no" : "yes");
        if (gap >= 70 || gap % 8 < 2 || gap % 8 == 7) {
            ck_assert(espi_pmi_put(pairs, count));
            ck_assert_msg(espi_pmi_all(base, gap, "yes"), "the first %d", gap);
            ck_assert_msg(!espi_pmi_all(base, ALL, "yes"), "all but %d", gap);
            ck_assert_msg(!espi_pmi_all(base, gap + 1, "yes"), "the last one, %d", gap);
        }
    }
    ck_assert(espi_pmi_all("nobody", 0, "yes"));
    ck_assert(nothing_is_left());
}
END_TEST

/* More than is said at once, in lines of every length; each must arrive. */
START_TEST(much)
{
    static struct espi_pmi_pair pairs[64];
    char key[64];
    begin(PLAIN);
    for (int length = 1; length < 1000; length += length < 100 ? 9 : 50) {
        for (int i = 0; i < 64; i++) {
            int more = (length + i) % 1000;
            set_pair(&pairs[i], "key", i, "");
            memset(pairs[i].value, 'a' + length % 26, (size_t)(more > 0 ? more : 1));
        }
        ck_assert(espi_pmi_put(pairs, 64));
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
    static struct espi_pmi_pair pairs[9];
    const size_t frame = strlen("cmd=put kvsname=space_1 key=0 value=\n");
    begin(PLAIN);
    for (size_t sum = 8192 - 4; sum <= 8192 + 4; sum++) {
        size_t left = sum;
        for (int i = 0; i < 9; i++) {
            size_t length = (i < 8 ? sum / 9 : left) - frame;
            left -= length + frame;
            set_pair(&pairs[i], "", i, "");
            memset(pairs[i].value, 'a' + i, length);
        }
        ck_assert(espi_pmi_put(pairs, 9));
        gets("0", pairs[0].value);
        gets("8", pairs[8].value);
    }
    ck_assert(nothing_is_left());
}
END_TEST

/* What cannot be said is not, and nothing is said for it. */
START_TEST(nothing_to_say)
{
    begin(PLAIN);
    ck_assert(espi_pmi_put(NULL, 0));
    gets("all", "3");
}
END_TEST

/* A put that is refused is told, and the conversation goes on. */
START_TEST(put_again)
{
    struct espi_pmi_pair pairs[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}, {"c", "4"}};
    begin(SETTLED);
    ck_assert(!espi_pmi_put(pairs, 4));
    ck_assert(!espi_pmi_put(pairs, 2));
    ck_assert(!espi_pmi_put(pairs + 2, 2));
    ck_assert(nothing_is_left());
    gets("a", "1");
    gets("b", "2");
    gets("c", "4");
    struct espi_pmi_pair other = {"d", "5"};
    ck_assert(espi_pmi_put(&other, 1));
}
END_TEST

/* A descriptor that does not wait, with little room: what is said goes in parts. */
static void squeeze(enum manner manner)
{
    static struct espi_pmi_pair pairs[8];
    int little = 1;
    begin(manner);
    ck_assert_int_eq(setsockopt(wire, SOL_SOCKET, SO_SNDBUF, &little, sizeof little), 0);
    ck_assert_int_eq(fcntl(wire, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 8; i++) {
        set_pair(&pairs[i], "key", i, "");
        memset(pairs[i].value, 'a' + i, sizeof pairs[i].value - 1);
    }
    ck_assert(espi_pmi_put(pairs, 8));
    gets("key0", pairs[0].value);
    gets("key7", pairs[7].value);
    ck_assert(nothing_is_left());
}

START_TEST(little_room)
{
    squeeze(LATE);
}
END_TEST

START_TEST(little_room_in_bits)
{
    squeeze(IN_BITS);
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
    begin(LATE);
    interrupt_often();
    ck_assert(espi_pmi_get("most", value, sizeof value));
    ck_assert(nothing_is_left());
    ck_assert_int_gt(interrupts, 0);
}
END_TEST

/* Nothing is put or learnt, and nothing hangs; MPI comes to its own end with such a launcher. */
#define REFUSED(name, manner)                                                                                        \
    START_TEST(name)                                                                                                 \
    {                                                                                                                \
        struct espi_pmi_pair pair = {"key", "value"};                                                                \
        char value[64];                                                                                              \
        begin(manner);                                                                                               \
        ck_assert(!espi_pmi_put(&pair, 1) && !espi_pmi_put(&pair, 1));                                               \
        ck_assert(!espi_pmi_get("key", value, sizeof value));                                                        \
        ck_assert(!espi_pmi_all("key", 1, ""));                                                                      \
    }                                                                                                                \
    END_TEST
REFUSED(nonsense, NONSENSE)
REFUSED(once_nonsense, STUMBLES)
REFUSED(astray, ASTRAY)
REFUSED(refused, REFUSES)
REFUSED(ended, ENDS)
REFUSED(longer_space, LONGER_SPACE)

/* A launcher that ends later: whoever talked to it before does not wait for it. */
START_TEST(killed)
{
    struct espi_pmi_pair pair = {"key", "value"};
    char value[64];
    int status;
    begin(PLAIN);
    ck_assert(espi_pmi_put(&pair, 1));
    ck_assert_int_eq(kill(player, SIGKILL), 0);
    ck_assert_int_eq(waitpid(player, &status, 0), player);
    ck_assert(!espi_pmi_put(&pair, 1) && !espi_pmi_get("key", value, sizeof value));
    ck_assert(!espi_pmi_all("key", 1, ""));
}
END_TEST

/* A launcher that is not known is not asked. */
START_TEST(stranger)
{
    struct espi_pmi_pair pair = {"key", "value"};
    char value[64];
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    player_environment(ends[0], 1, 3, 3, false);
    ck_assert(!espi_pmi_put(&pair, 1) && !espi_pmi_get("key", value, sizeof value));
    ck_assert(!espi_pmi_all("key", 1, ""));
    wire = ends[1];
    ck_assert(nothing_is_left());
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-pmi", 120, NULL, NULL, plain, bits, decoys, long_space, gaps, much, to_the_end,
                     nothing_to_say, put_again, little_room, little_room_in_bits, late_hydra, nonsense,
                     once_nonsense, astray, refused, ended, longer_space, killed, stranger);
}
