/*
 * A note is the name of a datagram socket in Linux's abstract name space: there from bind() on, found by connect(),
 * which leaves nothing behind, and gone with the process however it ends (files outlive processes that are killed).
 *
 * The names of one job have in common what its ranks on this node alone know of: the process that made the descriptor
 * to the launcher, Hydra's proxy of this node. A process number comes again, but not with the same time of start, and
 * name spaces of processes may share one of sockets, so all three are part of the name. So that nobody else can post
 * notes in somebody's name, the address where the proxy's program begins is, too: only its user can read that. Ranks
 * that do not share all this do not see each other's notes, in both directions.
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

enum { NOTES = 2 };

static char job[88]; /* common beginning of the names */
static int posted[NOTES] = {-1, -1};

/* The beginning of a file that the kernel has about a process. */
static bool read_about(long pid, const char *what, char *line, size_t size)
{
    char name[48];
    snprintf(name, sizeof name, "/proc/%ld/%s", pid, what);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, line, size - 1);
    if (fd >= 0)
        close(fd);
    line[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* The time of start of a process, in ticks since the machine's: field 22 of its line, whose second one is a name in
   parentheses that may hold anything. */
static bool time_of_start(long pid, uint64_t *ticks)
{
    char line[1024];
    const char *at = read_about(pid, "stat", line, sizeof line) ? strrchr(line, ')') : NULL;
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, " %" SCNu64, ticks) == 1;
}

static bool first_address(long pid, uint64_t *address)
{
    char line[32];
    return read_about(pid, "maps", line, sizeof line) && sscanf(line, "%" SCNx64 "-", address) == 1;
}

bool espi_board_find(int wire)
{
    struct ucred maker;
    socklen_t size = sizeof maker;
    struct stat processes;
    uint64_t ticks, address;
    if (getsockopt(wire, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0 || size != sizeof maker || maker.pid <= 0 ||
        !time_of_start(maker.pid, &ticks) || !first_address(maker.pid, &address) ||
        stat("/proc/self/ns/pid", &processes) != 0)
        return false;
    int length = snprintf(job, sizeof job, "espalier/%s/%jx/%lx/%" PRIx64 "/%" PRIx64 "/", PACKAGE_VERSION,
                          (uintmax_t)processes.st_ino, (long)maker.pid, ticks, address);
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
bool espi_board_has(const char *note)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    struct sockaddr_un name;
    socklen_t size;
    if (posted[0] < 0 || !name_of(note, &name, &size))
        return false;
    bool has = connect(posted[0], (struct sockaddr *)&name, size) == 0;
    if (!has)
        return errno == EPERM;
    connect(posted[0], &nobody, sizeof nobody);
    return true;
}

void espi_board_clear(void)
{
    for (int i = 0; i < NOTES; i++) {
        if (posted[i] >= 0)
            close(posted[i]);
        posted[i] = -1;
    }
}
