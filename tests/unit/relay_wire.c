#define _GNU_SOURCE
#include "relay_wire.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int wire, other;

void begin(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    wire = pair[0];
    other = pair[1];
    signal(SIGPIPE, SIG_IGN);
}

void finish(void)
{
    close(wire);
    close(other);
}

/* ---- the launcher ---- */

static struct step steps[16];
static int n_steps;
static pthread_t launcher;
_Atomic(int) times_heard;

/* By calls that are not led elsewhere even in the same object. What went wrong, or NULL. */
static void *launch(void *unused)
{
    for (int i = 0; i < n_steps; i++) {
        char heard[256];
        const size_t length = steps[i].hears != NULL ? strlen(steps[i].hears) : 0;
        if (length > 0 && (recv(other, heard, length, MSG_WAITALL) != (ssize_t)length ||
                           memcmp(heard, steps[i].hears, length) != 0))
            return &steps[i];
        times_heard++;
        if (steps[i].says != NULL && send(other, steps[i].says, strlen(steps[i].says), MSG_NOSIGNAL) < 0)
            return &steps[i];
    }
    return unused;
}

void launcher_does(int n, const struct step *does)
{
    ck_assert_int_le(n, (int)(sizeof steps / sizeof *steps));
    memcpy(steps, does, (size_t)n * sizeof *steps);
    n_steps = n;
    ck_assert_int_eq(pthread_create(&launcher, NULL, launch, NULL), 0);
}

void launcher_ends(void)
{
    void *wrong;
    ck_assert_int_eq(pthread_join(launcher, &wrong), 0);
    ck_assert_msg(wrong == NULL, "the launcher has not heard '%s'",
                  wrong == NULL ? "" : ((struct step *)wrong)->hears);
}

/* ---- the library ---- */

void say(const char *text)
{
    ck_assert_int_eq(write(wire, text, strlen(text)), (ssize_t)strlen(text));
}

void hear_by(size_t piece, const char *text)
{
    char heard[1024];
    const size_t length = strlen(text);
    for (size_t used = 0; used < length;) {
        const size_t room = piece > 0 ? piece : length - used;
        ssize_t got = read(wire, heard + used, room);
        if (got < 0 && errno == EAGAIN) {
            struct pollfd fd = {wire, POLLIN, 0};
            ck_assert_int_eq(poll(&fd, 1, 60000), 1);
            continue;
        }
        ck_assert_msg(got > 0, "read %zd for '%s'", got, text);
        used += (size_t)got;
        ck_assert_uint_le(used, length);
        ck_assert(memcmp(heard, text, used) == 0);
    }
}

void asks_by(size_t piece, const char *question, const char *answer)
{
    say(question);
    hear_by(piece, answer);
}

void asks(const char *question, const char *answer)
{
    asks_by(0, question, answer);
}

void opens(void)
{
    asks(INIT, GOOD);
    asks(ASK_NAME, NAME);
}

void check_direct(void)
{
    char byte;
    LAUNCHER({"direct\n", "indeed\n"});
    asks("direct\n", "indeed\n");
    launcher_ends();
    ck_assert(recv(wire, &byte, 1, MSG_DONTWAIT) < 0 && recv(other, &byte, 1, MSG_DONTWAIT) < 0);
}
