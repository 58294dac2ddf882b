/* The conversation with the launcher (src/mpi/launcher.c), which a process of the test plays. WAIT_MS is 300 here. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mpi/launcher.h"
#include "runner.h"

enum manner { PLAIN, LATE, IN_BITS, NONSENSE, REFUSES, ENDS };

static int wire;

static void say(int to, enum manner manner, const char *answer)
{
    size_t length = strlen(answer);
    for (size_t i = 0; i < length; i += manner == IN_BITS ? 1 : length)
        if (write(to, answer + i, manner == IN_BITS ? 1 : length) < 0)
            _exit(1);
}

/* Reads what is there and answers line by line, as Hydra does. The key "most" has the number of lines that came at
   once. */
static void play(int at, enum manner manner)
{
    static char keys[256][64], values[256][1024], text[1 << 16], key[64], value[1024], answer[2048];
    int count = 0, most = 0, all = 0;
    size_t used = 0;
    for (ssize_t got; (got = read(at, text + used, sizeof text - 1 - used)) > 0;) {
        int lines = 0;
        used += (size_t)got;
        text[used] = '\0';
        for (char *p = text; (p = strchr(p, '\n')) != NULL; p++)
            lines++;
        most = lines > most ? lines : most;
        all += lines;
        if (manner == LATE)
            usleep(1000000);
        if (manner == ENDS && all > 2)
            _exit(0);
        char *line = text;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            if (manner == NONSENSE)
                snprintf(answer, sizeof answer, "what?\n");
            else if (strncmp(line, "cmd=init", 8) == 0)
                snprintf(answer, sizeof answer, "cmd=response_to_init pmi_version=1 rc=%d\n",
                         manner == REFUSES ? -1 : 0);
            else if (strcmp(line, "cmd=get_my_kvsname") == 0)
                snprintf(answer, sizeof answer, "cmd=my_kvsname kvsname=space_1\n");
            else if (sscanf(line, "cmd=put kvsname=space_1 key=%63s value=%1023s", key, value) == 2) {
                strcpy(keys[count], key);
                strcpy(values[count++], value);
                snprintf(answer, sizeof answer, "cmd=put_result rc=0 msg=success\n");
            } else if (sscanf(line, "cmd=get kvsname=space_1 key=%63s", key) == 1) {
                snprintf(answer, sizeof answer, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
                for (int i = 0; i < count; i++)
                    if (strcmp(keys[i], key) == 0)
                        snprintf(answer, sizeof answer, "cmd=get_result rc=0 msg=success value=%.1023s\n", values[i]);
                if (strcmp(key, "most") == 0)
                    snprintf(answer, sizeof answer, "cmd=get_result rc=0 msg=success value=%d\n", most);
            } else {
                _exit(2);
            }
            say(at, manner, answer);
        }
        used = strlen(line);
        memmove(text, line, used);
    }
    _exit(0);
}

static void begin(enum manner manner, bool hydra)
{
    int ends[2];
    char text[16];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    if (fork() == 0) {
        close(ends[0]);
        play(ends[1], manner);
    }
    close(ends[1]);
    wire = ends[0];
    snprintf(text, sizeof text, "%d", wire);
    setenv("PMI_FD", text, 1);
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "3", 1);
    unsetenv("PMI_SPAWNED");
    if (hydra)
        setenv("MPI_LOCALNRANKS", "3", 1);
    else
        unsetenv("MPI_LOCALNRANKS");
}

static bool nothing_is_left(void)
{
    char byte;
    return recv(wire, &byte, 1, MSG_DONTWAIT) < 0;
}

static void put_many(int count, const char *last)
{
    static struct espi_launcher_pair pairs[200];
    for (int i = 0; i < count; i++) {
        snprintf(pairs[i].key, sizeof pairs[i].key, "rank-%d", i);
        snprintf(pairs[i].value, sizeof pairs[i].value, "%s", i == count - 1 ? last : "here-and-more");
    }
    ck_assert(espi_launcher_put(pairs, count));
}

static void converse(enum manner manner, bool hydra)
{
    char value[1024];
    struct espi_launcher_pair long_one = {"long", ""};
    begin(manner, hydra);
    memset(long_one.value, 'x', sizeof long_one.value - 1);
    put_many(100, "here");
    ck_assert(espi_launcher_put(&long_one, 1));
    ck_assert(espi_launcher_get("long", value, sizeof value));
    ck_assert_str_eq(value, long_one.value);
    ck_assert(!espi_launcher_get("missing", value, sizeof value));
    ck_assert(espi_launcher_all("rank-", 1, "here") && espi_launcher_all("rank-", 100, "here"));
    ck_assert(!espi_launcher_all("rank-", 101, "here") && !espi_launcher_all("rank-", 200, "here"));
    ck_assert(!espi_launcher_all("rank-", 100, "here-")); /* the last one says less */
    ck_assert(espi_launcher_all("rank-", 99, "here-"));
    ck_assert(nothing_is_left());
    ck_assert(espi_launcher_get("most", value, sizeof value));
    ck_assert_msg(hydra ? atoi(value) > 1 : atoi(value) == 1, "%s lines at once", value);
}

/* Each in a process of its own, as there is one conversation in a process. */
#define TALKS(name, manner, hydra)                                                                                   \
    START_TEST(name)                                                                                                 \
    {                                                                                                                \
        converse(manner, hydra);                                                                                     \
    }                                                                                                                \
    END_TEST
TALKS(at_once, PLAIN, true)
TALKS(one_by_one, PLAIN, false)
TALKS(bits_at_once, IN_BITS, true)
TALKS(bits_one_by_one, IN_BITS, false)

/* Hydra is waited for however long it takes. */
START_TEST(late_hydra)
{
    char value[64];
    begin(LATE, true);
    ck_assert(espi_launcher_get("most", value, sizeof value));
    ck_assert(nothing_is_left());
}
END_TEST

/* Somebody unknown is not, and is never asked again. */
START_TEST(late_stranger)
{
    char value[64];
    begin(LATE, false);
    ck_assert(!espi_launcher_get("most", value, sizeof value));
    ck_assert(!espi_launcher_get("most", value, sizeof value) && !espi_launcher_all("rank-", 1, ""));
}
END_TEST

static void refuse(enum manner manner)
{
    struct espi_launcher_pair pair = {"key", "value"};
    char value[64];
    begin(manner, true);
    ck_assert(!espi_launcher_put(&pair, 1) && !espi_launcher_put(&pair, 1));
    ck_assert(!espi_launcher_get("key", value, sizeof value));
    ck_assert(!espi_launcher_all("key", 1, ""));
}

START_TEST(nonsense)
{
    refuse(NONSENSE);
}
END_TEST

START_TEST(refused)
{
    refuse(REFUSES);
}
END_TEST

START_TEST(ended)
{
    refuse(ENDS);
}
END_TEST

START_TEST(environment)
{
    struct espi_launcher l;
    begin(PLAIN, true);
    ck_assert(espi_launcher_find(&l) && l.wire == wire && l.rank == 1 && l.size == 3 && l.one_node && !l.spawned);
    setenv("MPI_LOCALNRANKS", "2", 1);
    setenv("PMI_SPAWNED", "1", 1);
    ck_assert(espi_launcher_find(&l) && !l.one_node && l.spawned);
    setenv("PMI_RANK", "3", 1);
    ck_assert(!espi_launcher_find(&l));
    setenv("PMI_RANK", "1", 1);
    static const char *const wrong[] = {"", "x", "3 ", "-1", "99999999999999999999", "0"};
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
    return RUN_SUITE("test-launcher", 120, NULL, NULL, at_once, one_by_one, bits_at_once, bits_one_by_one, late_hydra,
                     late_stranger, nonsense, refused, ended, environment);
}
