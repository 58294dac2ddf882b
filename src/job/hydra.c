/*
 * A list of what is allowed, with one entry: all of the following hold, and what cannot be looked at does not hold.
 *
 * - The variables that Hydra gives each rank are there and fit each other.
 * - PMI_FD is a connected stream socket of this machine, and the process that made its other end is this user's.
 * - That process runs a program called hydra_pmi_proxy. In a container with user identities of its own (which share
 *   the machine's processes otherwise) the file of the program is not told, only the short name of the process.
 *
 * Every way in which Hydra starts ranks ends in such a proxy, one on each node: mpiexec alone, over ssh, inside an
 * allocation of Slurm or another batch system, from hydra_persist, by MPI_Comm_spawn. Not covered: mpiexec -pmi-port,
 * where ranks connect by TCP.
 */
#define _GNU_SOURCE
#include "job/hydra.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROXY "hydra_pmi_proxy" /* as long as the kernel's short names of processes can be */

static int number_in_environment(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return -1;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value >= 0 && value <= 1 << 24 ? (int)value : -1;
}

/* Whether /proc is there and has this process's own numbers: it may be that of another name space of processes. */
static bool proc_is_ours(void)
{
    char self[32], number[32];
    ssize_t length = readlink("/proc/self", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    snprintf(number, sizeof number, "%ld", (long)getpid());
    return strcmp(self, number) == 0;
}

static bool short_name_is_proxy(long pid)
{
    char text[sizeof PROXY + 8];
    snprintf(text, sizeof text, "/proc/%ld/comm", pid);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    return length == sizeof PROXY && memcmp(text, PROXY "\n", sizeof PROXY) == 0;
}

static bool runs_proxy(long pid)
{
    char link[32], file[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%ld/exe", pid);
    ssize_t length = readlink(link, file, sizeof file - 1);
    if (length < 0)
        return errno == EACCES && short_name_is_proxy(pid);
    file[length] = '\0';
    const char *name = strrchr(file, '/');
    return name != NULL && strcmp(name + 1, PROXY) == 0;
}

/* Whether a proxy is at the other end. (Sockets of other families have no maker that is known, and one in another
   name space of processes has the number 0.) */
static bool leads_to_proxy(int wire)
{
    struct ucred maker;
    int type;
    socklen_t size = sizeof maker, type_size = sizeof type;
    if (getsockopt(wire, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_STREAM ||
        getsockopt(wire, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0 || size != sizeof maker ||
        maker.uid != geteuid())
        return false;
    return maker.pid > 0 && proc_is_ours() && runs_proxy(maker.pid);
}

bool espi_hydra_find(int *wire)
{
    const int ranks_here = number_in_environment("MPI_LOCALNRANKS");
    const int number_here = number_in_environment("MPI_LOCALRANKID");
    const int rank = number_in_environment("PMI_RANK"), size = number_in_environment("PMI_SIZE");
    *wire = number_in_environment("PMI_FD");
    return rank >= 0 && rank < size && number_here >= 0 && number_here < ranks_here && ranks_here <= size &&
           leads_to_proxy(*wire);
}
