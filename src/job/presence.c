/*
 * A note is the name of a datagram socket in Linux's abstract name space: there from bind() on, found by connect(),
 * which leaves nothing behind, and gone with the process however it ends (files outlive processes that are killed).
 *
 * The names of one job have in common what its ranks on this node alone know of: the process that has started them,
 * Hydra's proxy of this node. A process number comes again, but not with the same time of start, and name spaces of
 * processes may share one of sockets, so all three are part of the name. So that nobody else can post notes in
 * somebody's name, the addresses of the proxy's code and stack are, too: only its user can read those. Ranks that do
 * not share all this do not see each other's notes, in both directions.
 */
#define _GNU_SOURCE
#include "job/presence.h"

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { NOTES = 2 };

static char job[88] = ""; /* common beginning of the names */
static int posted[NOTES] = {-1, -1};

/* What tells one process from all others. */
struct process {
    uint64_t ticks;       /* its time of start, since the machine's */
    uint64_t code, stack; /* addresses */
};

/* From the kernel's line about a process: fields 22, 26 and 28. The second one is a name in parentheses that may hold
   anything. Whoever may not look into the process reads 1 and 0 for the addresses. */
static bool look_at(long pid, struct process *process)
{
    uint64_t field[29] = {0};
    char line[1024];
    snprintf(line, sizeof line, "/proc/%ld/stat", pid);
    int fd = open(line, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    line[length > 0 ? length : 0] = '\0';
    char *at = strrchr(line, ')');
    for (int i = 3; at != NULL && i <= 28; i++) {
        at = strchr(at + 1, ' ');
        if (at != NULL && i >= 22)
            field[i] = strtoull(at, NULL, 10);
    }
    *process = (struct process){field[22], field[26], field[28]};
    return at != NULL && process->code > 1 && process->stack > 1;
}

/* The number of this process's name space of processes. */
static bool name_space(uint64_t *number)
{
    char name[64];
    ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return sscanf(name, "pid:[%" SCNu64 "]", number) == 1;
}

bool espi_presence_find(long pid)
{
    struct process process;
    uint64_t space;
    if (!look_at(pid, &process) || !name_space(&space))
        return false;
    int length = snprintf(job, sizeof job, "espalier/%s/%" PRIx64 "/%lx/%" PRIx64 "/%" PRIx64 "/%" PRIx64 "/",
                          PACKAGE_VERSION, space, pid, process.ticks, process.code, process.stack);
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

bool espi_presence_post(const char *note)
{
    struct sockaddr_un name;
    socklen_t size;
    int free_one = 0;
    while (free_one < NOTES && posted[free_one] >= 0)
        free_one++;
    if (free_one == NOTES || !name_of(note, &name, &size))
        return false;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (bind(fd, (struct sockaddr *)&name, size) != 0) {
        close(fd);
        return false;
    }
    posted[free_one] = fd;
    return true;
}

/* By a socket that is there already, as descriptors may have run out. A name whose socket is connected to somebody
   else at that moment is found, too: it refuses. */
static bool look_for(const char *note)
{
    struct sockaddr_un name;
    socklen_t size;
    return posted[0] >= 0 && name_of(note, &name, &size) &&
           (connect(posted[0], (struct sockaddr *)&name, size) == 0 || errno == EPERM);
}

/* After having looked. */
static void look_away(void)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    if (posted[0] >= 0)
        connect(posted[0], &nobody, sizeof nobody);
}

bool espi_presence_has(const char *note)
{
    bool has = look_for(note);
    if (has)
        look_away();
    return has;
}

bool espi_presence_has_all(const char *(*note)(int number), int first, int end, int but)
{
    bool all = true, looked = false;
    for (int i = first; i < end && all; i++)
        if (i != but)
            looked = (all = look_for(note(i))) || looked;
    if (looked)
        look_away();
    return all;
}

void espi_presence_clear(void)
{
    for (int i = 0; i < NOTES; i++) {
        if (posted[i] >= 0)
            close(posted[i]);
        posted[i] = -1;
    }
}
