/*
 * The library speaks on the descriptor whose number is in PMI_FD. A copy of it is kept, one end of a pair of sockets
 * takes its number, and a thread passes bytes on between the other end and the copy. Afterwards the copy gets the
 * number back. Flags of the file (O_NONBLOCK) are never touched, as other processes may share it; those of the
 * descriptor are kept.
 *
 * The thread blocks all signals, calls nothing that allocates, and has a stack of its own that is unmapped with it.
 * The descriptors have high numbers while there is room there, so that the library's own have the numbers they have
 * natively, and are closed on exec. A process that is forked in MPI_Init has none of it but the pair's end; that
 * matters only to one that would speak to the launcher in its parent's place.
 *
 * When the launcher closes the wire, the library's end is closed in the same way, when the library does, the wire.
 * A process that exits in MPI_Init (MPI has said "abort" then) waits in an exit handler until all of it has been
 * passed on, 2 s at most. If it dies otherwise, the kernel closes the wire as it does natively.
 */
#define _GNU_SOURCE
#include "job/relay_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "job/relay.h"

enum {
    CHUNK = 8192,
    HIGH = 200,      /* descriptors of ours are this or higher, where that is allowed */
    STACK = 1 << 21, /* the C library and sanitizers keep their own on it: 1 MiB with a thread sanitizer */
    EXIT_SECONDS = 2
};

struct buffer {
    char bytes[CHUNK + ESPI_RELAY_ADDS];
    size_t used;
};

struct run {
    int wire;         /* number that the library knows */
    int launcher;     /* copy of what it led to */
    int library;      /* our end of the pair */
    int wake;         /* an eventfd: the thread is to look at `drain` and `stop` */
    bool cloexec;     /* of the number */
    dev_t device;     /* of the library's end */
    ino_t inode;
    pid_t process;
    pthread_t thread;
    char *mapping;    /* this memory; the thread's stack first */
    size_t mapped, stack;
    atomic_bool drain, stop; /* wishes, */
    sem_t answered;   /* and that they are fulfilled; */
    bool ended;       /* or that it can not stop. */
    bool is_there;    /* before `stop`: the library has not closed its end */
    bool stays;
    bool library_open, launcher_open; /* may have more to say */
    bool library_told, launcher_told; /* that the other one has not */
    struct espi_relay relay;
    struct buffer to_library, to_launcher;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `running` */
static struct run *running;

/* ---- the thread ---- */

/* Writes what goes. False: nobody takes it any more. */
static bool write_buffer(int to, struct buffer *buffer)
{
    while (buffer->used > 0) {
        ssize_t sent = send(to, buffer->bytes, buffer->used, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (sent <= 0) {
            buffer->used = 0;
            return false;
        }
        buffer->used -= (size_t)sent;
        memmove(buffer->bytes, buffer->bytes + sent, buffer->used);
    }
    return true;
}

/* -1: nothing there. 0: the end. */
static ssize_t take(int from, char *bytes)
{
    ssize_t got;
    do
        got = recv(from, bytes, CHUNK, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return 0;
    return got;
}

static struct espi_relay_out out_of(struct buffer *buffer)
{
    return (struct espi_relay_out){buffer->bytes, buffer->used, sizeof buffer->bytes};
}

static void hear_library(struct run *run)
{
    char bytes[CHUNK];
    struct espi_relay_out launcher = out_of(&run->to_launcher);
    ssize_t got = take(run->library, bytes);
    if (got > 0) {
        espi_relay_said(&run->relay, bytes, (size_t)got, &launcher);
    } else if (got == 0) {
        run->library_open = false;
        espi_relay_only_passes(&run->relay, &launcher);
    }
    run->to_launcher.used = launcher.used;
}

static void hear_launcher(struct run *run)
{
    char bytes[CHUNK];
    struct espi_relay_out launcher = out_of(&run->to_launcher), library = out_of(&run->to_library);
    ssize_t got = take(run->launcher, bytes);
    if (got > 0) {
        espi_relay_answered(&run->relay, bytes, (size_t)got, &launcher, &library);
    } else if (got == 0) {
        run->launcher_open = false;
        espi_relay_only_passes(&run->relay, &launcher);
    }
    run->to_launcher.used = launcher.used;
    run->to_library.used = library.used;
}

/* Whether it takes nothing more, either. */
static bool has_gone(int peer)
{
    struct pollfd fd = {peer, 0, 0};
    return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLHUP | POLLERR)) != 0;
}

/* Tells each side that the other one says nothing more. To a library whose launcher has gone it is told for its
   questions, too: they shall fail as they do natively. */
static void pass_ends(struct run *run)
{
    if (!run->launcher_open && !run->library_told && run->to_library.used == 0) {
        shutdown(run->library, has_gone(run->launcher) ? SHUT_RDWR : SHUT_WR);
        run->library_told = true;
    }
    if (!run->library_open && !run->launcher_told && run->to_launcher.used == 0) {
        shutdown(run->launcher, SHUT_RDWR);
        run->launcher_told = true;
    }
}

/* All that the library has said until now, to the launcher. */
static void flush_library(struct run *run)
{
    struct espi_relay_out launcher = out_of(&run->to_launcher);
    espi_relay_only_passes(&run->relay, &launcher);
    run->to_launcher.used = launcher.used;
    for (int unread = 0;;) {
        struct pollfd fd = {run->launcher, POLLOUT, 0};
        if (!write_buffer(run->launcher, &run->to_launcher))
            return;
        if (run->to_launcher.used > 0)
            poll(&fd, 1, -1);
        else if (run->library_open && ioctl(run->library, FIONREAD, &unread) == 0 && unread > 0)
            hear_library(run);
        else
            return;
    }
}

/* Whether the two can be left to themselves: nothing is on its way, and the library has read all. */
static bool may_leave(struct run *run)
{
    int unsaid = 0, unread = 0;
    if (!run->is_there) {
        flush_library(run);
        return true;
    }
    return run->to_library.used == 0 && run->to_launcher.used == 0 && espi_relay_is_quiet(&run->relay) &&
           (ioctl(run->library, FIONREAD, &unsaid) != 0 || unsaid == 0) &&
           (ioctl(run->wire, FIONREAD, &unread) != 0 || unread == 0);
}

/* What the other threads want. True: the end. */
static bool hear_wishes(struct run *run)
{
    uint64_t wishes;
    if (read(run->wake, &wishes, sizeof wishes) != (ssize_t)sizeof wishes)
        return false;
    if (atomic_exchange(&run->drain, false)) {
        flush_library(run);
        sem_post(&run->answered);
    }
    if (!atomic_exchange(&run->stop, false))
        return false;
    run->ended = may_leave(run);
    sem_post(&run->answered);
    return run->ended;
}

static short wanted(bool reads, const struct buffer *to)
{
    return (short)((reads ? POLLIN : 0) | (to->used > 0 ? POLLOUT : 0));
}

/* Where more comes in than goes out, it is left where it is. */
static void *pass_on(void *data)
{
    struct run *run = data;
    for (;;) {
        const bool clear = run->to_launcher.used == 0;
        const short library = wanted(run->library_open && clear && !run->relay.asking, &run->to_library);
        const short launcher = wanted(run->launcher_open && clear && run->to_library.used == 0, &run->to_launcher);
        struct pollfd fds[] = {{run->wake, POLLIN, 0},
                               {library != 0 ? run->library : -1, library, 0},
                               {launcher != 0 ? run->launcher : -1, launcher, 0}};
        if (poll(fds, 3, -1) < 0)
            continue; /* the kernel is short of memory: that passes */
        if ((library & POLLIN) && fds[1].revents != 0)
            hear_library(run);
        if ((launcher & POLLIN) && fds[2].revents != 0 && run->to_launcher.used == 0)
            hear_launcher(run);
        write_buffer(run->library, &run->to_library);
        write_buffer(run->launcher, &run->to_launcher);
        pass_ends(run);
        if (fds[0].revents != 0 && hear_wishes(run))
            return NULL;
    }
}

/* ---- the others ---- */

/* Asks the thread, which posts `answered`. */
static void wake(struct run *run)
{
    const uint64_t one = 1;
    while (write(run->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Another thread may be about to stop it; then there is nothing that would be lost. */
static void at_exit(void)
{
    struct timespec until;
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    if (running != NULL && running->process == getpid() && clock_gettime(CLOCK_REALTIME, &until) == 0) {
        until.tv_sec += EXIT_SECONDS;
        atomic_store(&running->drain, true);
        wake(running);
        while (sem_timedwait(&running->answered, &until) != 0 && errno == EINTR)
            ;
    }
    pthread_mutex_unlock(&lock);
}

static int copy_high(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
    return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void close_one(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Everything but the thread. */
static void release(struct run *run)
{
    close_one(run->launcher);
    close_one(run->library);
    close_one(run->wake);
    sem_destroy(&run->answered);
    munmap(run->mapping, run->mapped);
}

/* Memory for it, with a stack in front, zeroed. */
static struct run *allocate(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t stack = (STACK + page - 1) / page * page, size = stack + sizeof(struct run);
    char *mapping = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    struct run *run = (struct run *)(void *)(mapping + stack);
    run->mapping = mapping;
    run->mapped = size;
    run->stack = stack;
    run->launcher = run->library = run->wake = -1;
    if (sem_init(&run->answered, 0, 0) == 0)
        return run;
    munmap(mapping, size);
    return NULL;
}

/* In a program with very large thread-local variables the stack is too small; the C library has larger ones. */
static bool start_thread(struct run *run)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    sigfillset(&all);
    bool good = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    if (good) {
        good = (pthread_attr_setstack(&attributes, run->mapping, run->stack) == 0 &&
                pthread_create(&run->thread, &attributes, pass_on, run) == 0) ||
               pthread_create(&run->thread, NULL, pass_on, run) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return good;
}

/* Descriptors; `end`: the library's. */
static bool open_all(struct run *run, int wire, int *end)
{
    int pair[2], flags = fcntl(wire, F_GETFD), status = fcntl(wire, F_GETFL);
    struct stat file;
    if (flags < 0 || status < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    *end = pair[0];
    run->wire = wire;
    run->cloexec = (flags & FD_CLOEXEC) != 0;
    run->library = copy_high(pair[1]);
    close(pair[1]);
    run->launcher = copy_high(wire);
    int event = eventfd(0, EFD_CLOEXEC);
    run->wake = event < 0 ? -1 : copy_high(event);
    close_one(event);
    if (run->library < 0 || run->launcher < 0 || run->wake < 0 || fstat(*end, &file) != 0 ||
        ((status & O_NONBLOCK) && fcntl(*end, F_SETFL, O_NONBLOCK) != 0)) {
        close(*end);
        return false;
    }
    run->device = file.st_dev;
    run->inode = file.st_ino;
    return true;
}

static bool is_stream(int fd)
{
    struct sockaddr_storage peer;
    socklen_t peer_size = sizeof peer, size;
    int type;
    size = sizeof type;
    return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0;
}

/* With the thread. False: it has ended, or will never come. */
static bool ask_to_stop(struct run *run)
{
    struct stat file;
    run->is_there = fstat(run->wire, &file) == 0 && file.st_dev == run->device && file.st_ino == run->inode;
    atomic_store(&run->stop, true);
    wake(run);
    while (sem_wait(&run->answered) != 0)
        ;
    return run->ended;
}

/* Gives the number to another descriptor, which is closed. */
static bool move(int from, int number, bool cloexec)
{
    int got;
    do
        got = dup3(from, number, cloexec ? O_CLOEXEC : 0);
    while (got < 0 && (errno == EINTR || errno == EBUSY));
    return got >= 0;
}

/* Under the lock. */
static bool start(int wire, const struct espi_roll *roll)
{
    static bool watches;
    int end;
    if (running != NULL || !is_stream(wire) || (!watches && atexit(at_exit) != 0))
        return false;
    watches = true;
    struct run *run = allocate();
    if (run == NULL)
        return false;
    run->process = getpid();
    run->library_open = run->launcher_open = true;
    espi_relay_begin(&run->relay, roll);
    bool good = open_all(run, wire, &end);
    if (good) {
        good = start_thread(run);
        if (good && !move(end, wire, run->cloexec)) {
            good = false;
            ask_to_stop(run);
            pthread_join(run->thread, NULL);
        }
        close(end);
    }
    if (good)
        running = run;
    else
        release(run);
    return good;
}

bool espi_relay_start(int wire, const struct espi_roll *roll)
{
    pthread_mutex_lock(&lock);
    bool good = start(wire, roll);
    pthread_mutex_unlock(&lock);
    return good;
}

bool espi_relay_stop(struct espi_relay_ended *ended)
{
    struct run *run;
    bool good = false;
    *ended = (struct espi_relay_ended){.version = ESPI_PMI_UNKNOWN};
    pthread_mutex_lock(&lock);
    run = running;
    if (run != NULL && run->process == getpid() && !run->stays) {
        run->stays = !ask_to_stop(run);
        if (run->stays) {
            pthread_detach(run->thread);
        } else {
            running = NULL;
            pthread_join(run->thread, NULL);
            good = run->is_there && move(run->launcher, run->wire, run->cloexec) && run->relay.version !=
                                                                                       ESPI_PMI_UNKNOWN;
            if (good) {
                ended->version = run->relay.version;
                memcpy(ended->space, run->relay.space, sizeof ended->space);
            }
            release(run);
        }
    }
    pthread_mutex_unlock(&lock);
    return good;
}
