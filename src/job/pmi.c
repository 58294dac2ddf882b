/*
 * One line of text for each question, one for each answer, on the descriptor PMI_FD (PMI-1, which Hydra speaks).
 * Nobody but Hydra is asked (job/hydra.h).
 *
 * MPI's own client opens the conversation anew with "init" afterwards; Hydra answers that as often as it is asked.
 * Between our question and its answer the descriptor is ours: before MPI_Init nobody else uses it, and later this
 * thread is the one that is inside of MPI. Nothing may be left unread, for MPI's client would take it for an answer
 * to its own first question, and no rank may give up where another does not. So there is no limit to the time for an
 * answer: MPI waits for it on the same descriptor without one, too. Only when the wire is closed, or an answer is not
 * one to the question, no more is said (`broken`).
 *
 * An answer comes from a process that must first get a processor, while others are being started there (with four
 * ranks on two processors that takes 1 ms, and at times 5). Hydra reads what is there and answers line by line, so it
 * is asked several questions at once.
 */
#include "job/pmi.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "job/hydra.h"
#include "base/log.h"

#define LINE 2048 /* longest line of the protocol, with room: values are at most 1024 bytes */
#define NAME 256
enum { BATCH = 32 }; /* questions at once */

static int wire = -1; /* PMI_FD */
static bool broken;
static char space[NAME]; /* name of this job's key-value space, once the conversation is open */

static bool wait_for(short events)
{
    struct pollfd poll_fd = {wire, events, 0};
    int ready;
    do
        ready = poll(&poll_fd, 1, -1);
    while (ready < 0 && (errno == EINTR || errno == EAGAIN));
    return ready > 0;
}

static bool send_lines(const char *text)
{
    for (size_t length = strlen(text); length > 0;) {
        ssize_t sent = send(wire, text, length, MSG_NOSIGNAL);
        if (sent > 0) {
            text += sent;
            length -= (size_t)sent;
        } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(POLLOUT))
                return false;
        } else if (sent == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* What is there of a line: up to its end and not a byte further (what follows belongs to MPI). */
static ssize_t take_bytes(char *into, size_t room)
{
    ssize_t seen = recv(wire, into, room, MSG_PEEK | MSG_DONTWAIT);
    if (seen <= 0)
        return seen;
    const char *end = memchr(into, '\n', (size_t)seen);
    return recv(wire, into, end ? (size_t)(end - into) + 1 : (size_t)seen, MSG_DONTWAIT);
}

static bool read_line(char *line, size_t size)
{
    size_t used = 0;
    while (used < size) {
        if (!wait_for(POLLIN))
            return false;
        ssize_t got = take_bytes(line + used, size - used);
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
static bool copy_field(const char *line, const char *key, char *value, size_t size)
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
    return copy_field(answer, "rc", code, sizeof code) && strcmp(code, "0") == 0;
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
static bool ask_launcher(const char *lines, int count, struct listener *listener)
{
    char answer[LINE], command[NAME];
    bool good = true;
    broken = !send_lines(lines);
    for (int i = 0; i < count && !broken; i++) {
        broken = !read_line(answer, sizeof answer) || !copy_field(answer, "cmd", command, sizeof command) ||
                 strcmp(command, listener->command) != 0;
        good = !broken && listener->hears(listener, answer) && good;
    }
    if (broken)
        espi_log(ESPI_LOG_INFO, "the launcher does not answer the roll call as expected");
    return good && !broken;
}

/* After "init" comes the name of the space. */
static bool hears_start(struct listener *self, const char *answer)
{
    if (strcmp(self->command, "my_kvsname") == 0)
        return copy_field(answer, "kvsname", space, sizeof space);
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
    if (!succeeded(answer) || !copy_field(answer, "value", value, sizeof value) ||
        strncmp(value, self->begin, strlen(self->begin)) != 0)
        return false;
    if (self->value != NULL)
        snprintf(self->value, self->size, "%s", value);
    return true;
}

static bool open_conversation(void)
{
    struct listener start = {.command = "response_to_init", .hears = hears_start};
    struct espi_hydra hydra;
    if (space[0] != '\0' || broken)
        return !broken;
    if (!espi_hydra_find(&hydra))
        return false;
    wire = hydra.wire;
    if (ask_launcher("cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n", 2, &start))
        return true;
    space[0] = '\0';
    return false;
}

bool espi_pmi_put(const struct espi_pmi_pair *pairs, int count)
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
            good = ask_launcher(lines, asked, &puts);
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
static bool get_values(const char *base, bool numbered, int first, int end, struct listener *listener)
{
    char lines[BATCH * (NAME + 128)];
    int used = 0;
    for (int i = first; i < end; i++)
        used += numbered ? sprintf(lines + used, "cmd=get kvsname=%s key=%.64s%d\n", space, base, i)
                         : sprintf(lines + used, "cmd=get kvsname=%s key=%.64s\n", space, base);
    return ask_launcher(lines, end - first, listener);
}

bool espi_pmi_get(const char *key, char *value, size_t size)
{
    struct listener listener = {"get_result", hears_value, "", value, size};
    return open_conversation() && get_values(key, false, 0, 1, &listener);
}

bool espi_pmi_all(const char *base, int count, const char *begin)
{
    struct listener listener = {"get_result", hears_value, begin, NULL, 0};
    bool all = open_conversation();
    for (int first = 0; all && first < count; first += BATCH)
        all = get_values(base, true, first, first + BATCH < count ? first + BATCH : count, &listener);
    return all;
}
