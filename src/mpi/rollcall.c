/*
 * The roll call uses the key-value store that the launcher keeps for MPI's own start (PMI-1, the wire protocol that
 * Hydra speaks on the descriptor PMI_FD): one line of text for each question, one for each answer.
 *
 * Before the real MPI_Init every rank that has the core puts a key of its own. MPI_Init on more than one rank
 * contains a barrier of that store (ranks exchange their addresses through it), so when it has returned, every key
 * that was ever going to be there is there, and each rank that looks sees the same set: the verdicts agree without a
 * word between ranks. A key that is missing is answered at once.
 *
 * MPI's own client opens the conversation anew with "init" afterwards; Hydra answers that as often as it is asked.
 * Between our question and its answer the descriptor is ours: before MPI_Init nobody else uses it, and at the end of
 * it this thread is still inside. Nothing is ever left unread: an answer that does not come in time makes every
 * later question unanswered too (`broken`), and the verdict false.
 */
#include "mpi/rollcall.h"

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "mpi/mapping.h"

#define LINE 2048 /* longest line of the protocol, with room: values are at most 1024 bytes */
#define NAME 256
#define WAIT_MS 20000 /* a launcher that is slower than this is taken for lost */

/* Behind them stand a hash of the settings and the number of the rank's node. */
#define VALUE_WORLD "espalier-world-" PACKAGE_VERSION "-"
#define VALUE_SESSIONS "espalier-sessions-" PACKAGE_VERSION "-"

static int wire = -1; /* PMI_FD; -1: no roll call */
static bool broken, announced;
static char space[NAME]; /* name of this job's key-value space */
static char mine[NAME];  /* what this rank has put there */

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool wait_for(short events, long until)
{
    for (;;) {
        long left = until - now_ms();
        struct pollfd poll_fd = {wire, events, 0};
        int ready = poll(&poll_fd, 1, left > 0 ? (int)left : 0);
        if (ready > 0)
            return true;
        if (ready == 0 || (errno != EINTR && errno != EAGAIN))
            return false;
    }
}

static bool send_line(const char *text, size_t length, long until)
{
    while (length > 0) {
        ssize_t sent = send(wire, text, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == ENOTSOCK)
            sent = write(wire, text, length);
        if (sent > 0) {
            text += sent;
            length -= (size_t)sent;
        } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(POLLOUT, until))
                return false;
        } else if (sent == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* What is there of a line: up to its end and not a byte further (what follows belongs to MPI). A socket shows what it
   has; of anything else one byte is taken. */
static ssize_t take(char *into, size_t room)
{
    ssize_t seen = recv(wire, into, room, MSG_PEEK | MSG_DONTWAIT);
    if (seen < 0 && errno == ENOTSOCK)
        return read(wire, into, 1);
    if (seen <= 0)
        return seen;
    const char *end = memchr(into, '\n', (size_t)seen);
    return recv(wire, into, end ? (size_t)(end - into) + 1 : (size_t)seen, MSG_DONTWAIT);
}

static bool read_line(char *line, size_t size, long until)
{
    size_t used = 0;
    while (used < size) {
        if (!wait_for(POLLIN, until))
            return false;
        ssize_t got = take(line + used, size - used);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK))
            return false;
        if (got < 0)
            continue;
        used += (size_t)got;
        if (line[used - 1] == '\n') {
            line[used - 1] = '\0';
            return true;
        }
    }
    return false;
}

/* Copies the value of `key` out of "cmd=... key=value ..."; values hold no blanks. */
static bool field(const char *line, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *at = line; *at;) {
        at += strspn(at, " ");
        size_t word = strcspn(at, " ");
        if (word > length && strncmp(at, key, length) == 0 && at[length] == '=') {
            size_t found = word - length - 1;
            if (found >= size)
                return false;
            memcpy(value, at + length + 1, found);
            value[found] = '\0';
            return true;
        }
        at += word;
    }
    return false;
}

/* One question, one answer whose cmd is `expected`. */
static bool ask(const char *question, const char *expected, char *answer, size_t size)
{
    char command[NAME];
    long until = now_ms() + WAIT_MS;
    if (broken)
        return false;
    if (!send_line(question, strlen(question), until) || !read_line(answer, size, until) ||
        !field(answer, "cmd", command, sizeof command) || strcmp(command, expected) != 0) {
        broken = true;
        espi_log(ESPI_LOG_INFO, "the launcher does not answer the roll call as expected");
        return false;
    }
    return true;
}

static bool succeeded(const char *answer)
{
    char code[32];
    return field(answer, "rc", code, sizeof code) && strcmp(code, "0") == 0;
}

/* Gets one key; false when it is not there. */
static bool get(const char *key, char *value, size_t size)
{
    char question[LINE], answer[LINE];
    snprintf(question, sizeof question, "cmd=get kvsname=%s key=%s\n", space, key);
    return ask(question, "get_result", answer, sizeof answer) && succeeded(answer) &&
           field(answer, "value", value, size);
}

static int number_in_environment(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return -1;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && value >= 0 && value <= 1 << 24 ? (int)value : -1;
}

void espi_rollcall_announce(bool sessions, uint64_t settings)
{
    char answer[LINE], question[LINE], value[LINE];
    int fd = number_in_environment("PMI_FD"), rank = number_in_environment("PMI_RANK");
    int size = number_in_environment("PMI_SIZE");
    if (announced || broken || fd < 0 || rank < 0 || size < 2 || size > ESPI_ROLLCALL_MAX)
        return; /* one rank has nobody to ask */
    wire = fd;
    if (!ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", answer, sizeof answer) ||
        !succeeded(answer) || !ask("cmd=get_my_kvsname\n", "my_kvsname", answer, sizeof answer) ||
        !field(answer, "kvsname", space, sizeof space))
        return;
    /* A rehearsal, too: whoever cannot get cannot be counted on later, and must not be counted by the others. */
    int node = get("PMI_process_mapping", value, sizeof value) ? espi_mapping_node(value, rank) : -1;
    if (broken)
        return;
    snprintf(mine, sizeof mine, "%s%016" PRIx64 "-%d", sessions ? VALUE_SESSIONS : VALUE_WORLD, settings,
             node >= 0 ? node : -1 - rank);
    snprintf(question, sizeof question, "cmd=put kvsname=%s key=espalier-%d value=%s\n", space, rank, mine);
    announced = ask(question, "put_result", answer, sizeof answer) && succeeded(answer) && !sessions;
}

bool espi_rollcall_all_present(int rank, int size, bool *alike)
{
    char key[64], value[LINE];
    *alike = true;
    if (size == 1)
        return true;
    if (!announced || broken || size > ESPI_ROLLCALL_MAX)
        return false;
    for (int other = 0; other < size; other++) {
        if (other == rank)
            continue;
        snprintf(key, sizeof key, "espalier-%d", other);
        if (!get(key, value, sizeof value) || strncmp(value, VALUE_WORLD, sizeof VALUE_WORLD - 1) != 0)
            return false;
        *alike = *alike && strcmp(value, mine) == 0;
    }
    return true;
}
