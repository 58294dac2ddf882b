/*
 * A note is the name of a listening socket in Linux's abstract name space: there from bind() on, found by connect(),
 * gone with the process however it ends. Nobody accepts the connections. (A note's text could not be read from a file
 * as well: files outlive processes that are killed.)
 *
 * The names of one job have in common what only its ranks on this node know of: the process that made the descriptor
 * to the launcher, Hydra's proxy of this node. A process number comes again, but not with the same time of start, and
 * name spaces of processes may share one of sockets, so all three are part of the name. Ranks that do not share them
 * do not see each other's notes, in both directions.
 */
#define _GNU_SOURCE
#include "mpi/board.h"

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { NOTES = 2, WAITING = 4096 };

static char job[72]; /* common beginning of the names */
static int posted[NOTES] = {-1, -1};

/* The time of start of a process, in ticks since the machine's: field 22 of its line in /proc, whose second one is a
   name in parentheses that may hold anything. */
static bool time_of_start(long pid, uint64_t *ticks)
{
    char name[48], line[1024];
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, line, sizeof line - 1);
    close(fd);
    if (length <= 0)
        return false;
    line[length] = '\0';
    const char *at = strrchr(line, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, " %" SCNu64, ticks) == 1;
}

bool espi_board_find(int wire)
{
    struct ucred maker;
    socklen_t size = sizeof maker;
    struct stat processes;
    uint64_t ticks;
    if (getsockopt(wire, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0 || size != sizeof maker || maker.pid <= 0 ||
        !time_of_start(maker.pid, &ticks) || stat("/proc/self/ns/pid", &processes) != 0)
        return false;
    int length = snprintf(job, sizeof job, "espalier/%s/%ju/%ld/%" PRIu64 "/", PACKAGE_VERSION,
                          (uintmax_t)processes.st_ino, (long)maker.pid, ticks);
    if (length >= (int)sizeof job)
        job[0] = '\0';
    return job[0] != '\0';
}

/* False: too long. */
static bool name_of(const char *note, struct sockaddr_un *name, socklen_t *size)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t room = sizeof name->sun_path - 1; /* a first byte of 0: abstract */
    int length = snprintf(name->sun_path + 1, room, "%s%s", job, note);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return job[0] != '\0' && (size_t)length < room;
}

bool espi_board_post(const char *note)
{
    struct sockaddr_un name;
    socklen_t size;
    int free_one = 0;
    while (free_one < NOTES && posted[free_one] >= 0)
        free_one++;
    if (free_one == NOTES || !name_of(note, &name, &size))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (bind(fd, (struct sockaddr *)&name, size) != 0 || listen(fd, WAITING) != 0) {
        close(fd);
        return false;
    }
    posted[free_one] = fd;
    return true;
}

bool espi_board_has(const char *note)
{
    struct sockaddr_un name;
    socklen_t size;
    struct ucred owner;
    if (!name_of(note, &name, &size))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool has = connect(fd, (struct sockaddr *)&name, size) == 0;
    size = sizeof owner;
    has = has && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 && owner.uid == geteuid();
    close(fd);
    return has;
}

void espi_board_clear(void)
{
    for (int i = 0; i < NOTES; i++) {
        if (posted[i] >= 0)
            close(posted[i]);
        posted[i] = -1;
    }
}
