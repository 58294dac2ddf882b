/*
 * Between our question and its answer the descriptor is ours, as this thread is the one that is inside of MPI.
 * Nothing may be left unread, for MPI's client would take it for an answer to its own next question, and no rank may
 * give up where another does not. So there is no limit to the time for an answer: MPI waits for it on the same
 * descriptor without one, too. Only when the wire is closed, or an answer is not one to the question, no more is said
 * (`broken`).
 */
#include "job/pmi.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"

enum { ANSWER = 2048 }; /* longest answer, with room: values are at most 1,024 bytes */

static int wire = -1;
static enum espi_pmi_version version;
static char space[ESPI_PMI_SPACE];
static bool broken;

void espi_pmi_open(int descriptor, enum espi_pmi_version spoken, const char *name)
{
    wire = descriptor;
    version = spoken;
    snprintf(space, sizeof space, "%s", name);
    broken = false;
}

static bool wait_for(short events)
{
    struct pollfd poll_fd = {wire, events, 0};
    int ready;
    do
        ready = poll(&poll_fd, 1, -1);
    while (ready < 0 && (errno == EINTR || errno == EAGAIN));
    return ready > 0;
}

static bool would_wait(void)
{
    return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
}

static bool send_all(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(wire, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        } else if (sent == 0 || !would_wait() || !wait_for(POLLOUT)) {
            return false;
        }
    }
    return true;
}

/* What is there, up to the end of a line, if `line`, and not a byte further (what follows belongs to MPI). */
static ssize_t take_bytes(char *into, size_t room, bool line)
{
    ssize_t seen = recv(wire, into, room, MSG_PEEK | MSG_DONTWAIT);
    if (seen <= 0)
        return seen;
    const char *end = line ? memchr(into, '\n', (size_t)seen) : NULL;
    return recv(wire, into, end ? (size_t)(end - into) + 1 : (size_t)seen, MSG_DONTWAIT);
}

/* Reads `length` bytes, or the rest of a line of fewer; the number, 0: failed. */
static size_t read_bytes(char *into, size_t length, bool line)
{
    size_t used = 0;
    while (used < length) {
        if (!wait_for(POLLIN))
            return 0;
        ssize_t got = take_bytes(into + used, length - used, line);
        if (got == 0 || (got < 0 && !would_wait()))
            return 0;
        used += got > 0 ? (size_t)got : 0;
        if (line && used > 0 && into[used - 1] == '\n')
            return used;
    }
    return line ? 0 : used;
}

static bool read_answer(char answer[ANSWER])
{
    char digits[ESPI_PMI_DIGITS];
    size_t used;
    if (version == ESPI_PMI_1) {
        used = read_bytes(answer, ANSWER, true);
        if (used > 0)
            answer[used - 1] = '\0';
        return used > 0;
    }
    if (read_bytes(digits, sizeof digits, false) == 0)
        return false;
    long length = espi_pmi_length(digits);
    if (length <= 0 || length >= ANSWER || read_bytes(answer, (size_t)length, false) == 0)
        return false;
    answer[length] = '\0';
    return true;
}

bool espi_pmi_get(const char *key, char *value, size_t size)
{
    char question[ESPI_PMI_QUESTION], answer[ANSWER];
    if (wire < 0 || broken)
        return false;
    size_t length = espi_pmi_question(version, space, key, NULL, question);
    if (length == 0)
        return false;
    enum espi_pmi_heard heard = ESPI_PMI_ASTRAY;
    if (send_all(question, length) && read_answer(answer))
        heard = espi_pmi_found(version, answer, value, size);
    if (heard == ESPI_PMI_ASTRAY) {
        broken = true;
        espi_log(ESPI_LOG_INFO, "the launcher does not answer the roll call as expected");
    }
    return heard == ESPI_PMI_YES;
}
