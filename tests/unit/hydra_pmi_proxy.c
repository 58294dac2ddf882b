/*
 * The process of player.h:
 *
 *     hydra_pmi_proxy MANNER COUNT SOCKET
 *
 * MANNER is the number of an enum manner, or the word hands-over. Makes COUNT wires and passes the ranks' ends to
 * whoever holds the other end of SOCKET, a descriptor, one with each byte.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "player.h"

enum { LINE = 2048, STORE = 8192 };

struct wire {
    int at, most, all;
    char text[1 << 16]; /* what has come and was not answered */
    size_t used;
};

static struct wire wires[PLAYER_WIRES];
static struct {
    char key[64], value[1024];
} store[STORE];
static int stored;
static char space[LINE] = "space_1";

static void say(int to, enum manner manner, const char *answer)
{
    size_t length = strlen(answer), step = manner == IN_BITS ? 1 : length;
    for (size_t i = 0; i < length; i += step)
        if (write(to, answer + i, step) != (ssize_t)step)
            _exit(1);
}

static const char *find(const char *key)
{
    for (int i = stored; i-- > 0;)
        if (strcmp(store[i].key, key) == 0)
            return store[i].value;
    return NULL;
}

/* Whether the launcher takes it. */
static bool put(const char *key, const char *value, enum manner manner)
{
    if (stored == STORE)
        _exit(3);
    if (manner == SETTLED && find(key) != NULL)
        return false;
    strcpy(store[stored].key, key);
    strcpy(store[stored++].value, value);
    return true;
}

/* "cmd=COMMAND kvsname=SPACE", and what follows it. */
static const char *about_space(const char *line, const char *command)
{
    char begin[LINE];
    int length = snprintf(begin, sizeof begin, "cmd=%s kvsname=%s", command, space);
    return strncmp(line, begin, (size_t)length) == 0 ? line + length : NULL;
}

static void answer_line(struct wire *wire, const char *line, enum manner manner)
{
    const char *decoy = manner == DECOYS ? "  cmdx=x rcx=7  xrc=7 =0 rc value valued=wrong r=0 kvsnames=wrong " : "";
    char answer[2 * LINE], key[64], value[1024], number[16];
    const char *rest, *found;
    if (manner == STUMBLES && wire->all <= 2 && strncmp(line, "cmd=init", 8) != 0)
        return;
    if (manner == NONSENSE || (manner == STUMBLES && wire->all <= 2)) {
        snprintf(answer, sizeof answer, "what?\n");
    } else if (manner == ASTRAY && strncmp(line, "cmd=init", 8) != 0 && strcmp(line, "cmd=get_my_kvsname") != 0) {
        snprintf(answer, sizeof answer, "cmd=barrier_out rc=0 value=value\n");
    } else if (strcmp(line, "cmd=init pmi_version=1 pmi_subversion=1") == 0) {
        snprintf(answer, sizeof answer, "cmd=response_to_init %s pmi_version=1 rc=%d\n", decoy,
                 manner == REFUSES ? -1 : 0);
    } else if (strcmp(line, "cmd=get_my_kvsname") == 0) {
        snprintf(answer, sizeof answer, "cmd=my_kvsname %s kvsname=%s\n", decoy, space);
    } else if ((rest = about_space(line, "put")) && sscanf(rest, " key=%63s value=%1023s", key, value) == 2) {
        snprintf(answer, sizeof answer, "cmd=put_result %s rc=%d msg=x\n", decoy, put(key, value, manner) ? 0 : -1);
    } else if ((rest = about_space(line, "get")) && sscanf(rest, " key=%63s", key) == 1) {
        snprintf(number, sizeof number, "%d", key[0] == 'm' ? wire->most : wire->all);
        found = strcmp(key, "most") == 0 || strcmp(key, "all") == 0 ? number : find(key);
        snprintf(answer, sizeof answer, "cmd=get_result %s rc=%d msg=x value=%s\n", decoy, found ? 0 : -1,
                 found ? found : "unknown");
    } else {
        _exit(2);
    }
    say(wire->at, manner, answer);
}

/* False: nobody is there any more. */
static bool answer_wire(struct wire *wire, enum manner manner)
{
    int lines = 0;
    if (manner == LATE)
        usleep(666000);
    ssize_t got = read(wire->at, wire->text + wire->used, sizeof wire->text - 1 - wire->used);
    if (got <= 0)
        return false;
    wire->used += (size_t)got;
    wire->text[wire->used] = '\0';
    for (char *p = wire->text; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    wire->most = lines > wire->most ? lines : wire->most;
    wire->all += lines;
    if (manner == ENDS && wire->all > 2)
        _exit(0);
    char *line = wire->text;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        answer_line(wire, line, manner);
    }
    wire->used = strlen(line);
    memmove(wire->text, line, wire->used);
    return true;
}

static void pass(int to, int descriptor)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof descriptor)];
    } control = {.head = {CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec byte = {"", 1};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    if (sendmsg(to, &message, 0) != 1)
        _exit(5);
    close(descriptor);
}

int main(int argc, char **argv)
{
    struct pollfd events[PLAYER_WIRES];
    if (argc != 4)
        return 6;
    const enum manner manner = strcmp(argv[1], "hands-over") == 0 ? HANDS_OVER : (enum manner)atoi(argv[1]);
    const int count = atoi(argv[2]), to = atoi(argv[3]);
    if (count < 0 || count > PLAYER_WIRES || manner >= MANNERS)
        return 6;
    alarm(300); /* never for longer than a test */
    if (manner == LONG_SPACE || manner == LONGER_SPACE)
        memset(space, 's', manner == LONG_SPACE ? 255 : 256);
    for (int i = 0; i < count; i++) {
        int ends[2];
        if (socketpair(AF_UNIX, (manner == DATAGRAMS ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0, ends) != 0)
            return 7;
        pass(to, ends[1]);
        if (manner == HANDS_OVER)
            pass(to, ends[0]);
        wires[i].at = ends[0];
        events[i] = (struct pollfd){ends[0], POLLIN, 0};
    }
    if (manner == DATAGRAMS || manner == HANDS_OVER) { /* until nobody listens to it */
        char byte;
        return read(to, &byte, 1) != 0;
    }
    close(to);
    for (int open = count; open > 0;) {
        if (poll(events, (nfds_t)count, -1) < 0)
            return 4;
        for (int i = 0; i < count; i++)
            if (events[i].fd >= 0 && events[i].revents != 0 && !answer_wire(&wires[i], manner)) {
                events[i].fd = -1;
                open--;
            }
    }
    return 0;
}
