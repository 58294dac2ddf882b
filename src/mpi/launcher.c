/*
 * One line of text for each question, one for each answer, on the descriptor PMI_FD (PMI-1, which Hydra speaks).
 *
 * MPI's own client opens the conversation anew with "init" afterwards; Hydra answers that as often as it is asked.
 * Between our question and its answer the descriptor is ours: before MPI_Init nobody else uses it, and later this
 * thread is the one that is inside of MPI. Nothing may be left unread, for MPI's client would take it for an answer
 * to its own first question, and no rank may give up where another does not. So there is no limit to the time for an
 * answer: MPI waits for it on the same descriptor without one, too. Only somebody who has never answered anything,
 * and of whom it is not known that it is Hydra, is given up (`broken`).
 *
 * An answer comes from a process that must first get a processor, while others are being started there (with four
 * ranks on two processors that takes 1 ms, and at times 5). So Hydra, which reads what is there and answers line by
 * line, is asked several questions at once. It is known by the ranks of the node that it counts; others are asked one
 * by one.
 */
#include "mpi/launcher.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/log.h"

#define LINE 2048 /* longest line of the protocol, with room: values are at most 1024 bytes */
#define NAME 256
#ifndef WAIT_MS
#define WAIT_MS 20000 /* for the first answer of somebody unknown */
#endif
enum { BATCH = 32 };  /* questions at once */

static int wire = -1; /* PMI_FD */
static bool broken, answered;
static char space[NAME]; /* name of this job's key-value space, once the conversation is open */

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
        int ready = poll(&poll_fd, 1, until < 0 ? -1 : left > 0 ? (int)left : 0);
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

static bool succeeded(const char *answer)
{
    char code[32];
    return field(answer, "rc", code, sizeof code) && strcmp(code, "0") == 0;
}

static ESPI_EVERY_RUN int number_in_environment(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return -1;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && value >= 0 && value <= 1 << 24 ? (int)value : -1;
}

ESPI_EVERY_RUN bool espi_launcher_find(struct espi_launcher *launcher)
{
    *launcher = (struct espi_launcher){
        .wire = number_in_environment("PMI_FD"),
        .rank = number_in_environment("PMI_RANK"),
        .size = number_in_environment("PMI_SIZE"),
        .one_node = false,
        .spawned = number_in_environment("PMI_SPAWNED") > 0,
    };
    launcher->one_node = launcher->size > 0 && number_in_environment("MPI_LOCALNRANKS") == launcher->size;
    return launcher->wire >= 0 && launcher->rank >= 0 && launcher->size > launcher->rank;
}

/* What is to be done with answers. */
struct listener {
    const char *command; /* of the answers */
    bool (*hears)(struct listener *self, const char *answer); /* whether it is as wished */
    const char *begin; /* for `hears` */
    char *value;
    size_t size;
};

/* Asks `count` questions, a line each, and hears as many answers. False: one was not as wished, or the launcher does
   not answer as it should. */
static bool ask(const char *lines, int count, struct listener *listener)
{
    const bool hydra = getenv("MPI_LOCALNRANKS") != NULL;
    char answer[LINE], command[NAME];
    bool good = !broken;
    for (int i = 0; i < count && !broken; i++) {
        const long until = hydra || answered ? -1 : now_ms() + WAIT_MS;
        size_t length = hydra ? strlen(lines) : strcspn(lines, "\n") + 1;
        if (i == 0 || !hydra)
            broken = !send_line(lines, length, until);
        lines += hydra ? 0 : length;
        broken = broken || !read_line(answer, sizeof answer, until) ||
                 !field(answer, "cmd", command, sizeof command) || strcmp(command, listener->command) != 0;
        if (broken)
            espi_log(ESPI_LOG_INFO, "the launcher does not answer the roll call as expected");
        answered = !broken;
        good = !broken && listener->hears(listener, answer) && good;
    }
    return good;
}

/* After "init" comes the name of the space. */
static bool hears_start(struct listener *self, const char *answer)
{
    if (strcmp(self->command, "my_kvsname") == 0)
        return field(answer, "kvsname", space, sizeof space);
    self->command = "my_kvsname";
    return succeeded(answer);
}

static bool hears_success(struct listener *self, const char *answer)
{
    (void)self;
    return succeeded(answer);
}

static bool hears_value(struct listener *self, const char *answer)
{
    char value[LINE];
    if (!succeeded(answer) || !field(answer, "value", value, sizeof value) ||
        strncmp(value, self->begin, strlen(self->begin)) != 0)
        return false;
    if (self->value != NULL)
        snprintf(self->value, self->size, "%s", value);
    return true;
}

static bool open_conversation(void)
{
    struct listener start = {.command = "response_to_init", .hears = hears_start};
    struct espi_launcher launcher;
    if (space[0] != '\0' || broken)
        return !broken;
    if (!espi_launcher_find(&launcher))
        return false;
    wire = launcher.wire;
    if (ask("cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n", 2, &start))
        return true;
    space[0] = '\0';
    return false;
}

bool espi_launcher_put(const struct espi_launcher_pair *pairs, int count)
{
    char lines[BATCH * 256];
    struct listener puts = {.command = "put_result", .hears = hears_success};
    int asked = 0;
    size_t used = 0;
    bool good = open_conversation();
    for (int i = 0; good && i <= count; i++) {
        char line[LINE];
        size_t length = 0;
        if (i < count)
            length = (size_t)snprintf(line, sizeof line, "cmd=put kvsname=%s key=%s value=%s\n", space, pairs[i].key,
                                      pairs[i].value);
        if (length >= sizeof line)
            return false;
        if (asked > 0 && (i == count || used + length >= sizeof lines)) {
            good = ask(lines, asked, &puts);
            asked = 0;
            used = 0;
        }
        memcpy(lines + used, line, length);
        used += length;
        lines[used] = '\0';
        asked++;
    }
    return good;
}

/* The values of `base`, with the numbers from `first` to before `end` behind it if `numbered`. */
static bool get(const char *base, bool numbered, int first, int end, struct listener *listener)
{
    char lines[BATCH * (NAME + 128)];
    int used = 0;
    for (int i = first; i < end; i++)
        used += numbered ? sprintf(lines + used, "cmd=get kvsname=%s key=%.64s%d\n", space, base, i)
                         : sprintf(lines + used, "cmd=get kvsname=%s key=%.64s\n", space, base);
    return ask(lines, end - first, listener);
}

bool espi_launcher_get(const char *key, char *value, size_t size)
{
    struct listener listener = {"get_result", hears_value, "", value, size};
    return open_conversation() && get(key, false, 0, 1, &listener);
}

bool espi_launcher_all(const char *base, int count, const char *begin)
{
    struct listener listener = {"get_result", hears_value, begin, NULL, 0};
    bool all = open_conversation();
    for (int first = 0; all && first < count; first += BATCH)
        all = get(base, true, first, first + BATCH < count ? first + BATCH : count, &listener);
    return all;
}
