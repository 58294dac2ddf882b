/*
 * The library speaks on the descriptor whose number is in PMI_FD, by read and write. For as long as MPI_Init takes,
 * its calls of these two lead here (import_slots.h): nobody else's do, and calls on other descriptors, or of other
 * threads, go straight on. Descriptors, their flags and what waits in them are the library's own all the time, so
 * that the launcher, whatever becomes of the process, sees what it sees natively.
 *
 * No call reads more of what the launcher says than the library asks for, so that nothing has to be kept for it. What
 * the library writes is written, but for a barrier before which the relay has something to ask: that goes on its way
 * in the library's next read, which waits for its answer.
 */
#include "job/relay_calls.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/import_slots.h"
#include "job/relay.h"

enum { CHUNK = 4096, READ = 0, WRITE = 1, CALLS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards starting and stopping */
static struct {
    bool stands;
    pthread_t thread;
    int wire;
    dev_t device; /* of the socket */
    ino_t inode;
    espi_relay_known known; /* NULL: not to be called any more */
    struct espi_relay relay;
} run; /* but for `stands`, that thread's */

static ssize_t relay_read(int fd, void *bytes, size_t size);
static ssize_t relay_write(int fd, const void *bytes, size_t size);

static struct espi_import imports[CALLS] = {
    [READ] = {.name = "read", .instead = (espi_function)relay_read, .next = (espi_function)read},
    [WRITE] = {.name = "write", .instead = (espi_function)relay_write, .next = (espi_function)write},
};

static ssize_t read_on(int fd, void *bytes, size_t size)
{
    return ((ssize_t(*)(int, void *, size_t))imports[READ].next)(fd, bytes, size);
}

static ssize_t write_on(int fd, const void *bytes, size_t size)
{
    return ((ssize_t(*)(int, const void *, size_t))imports[WRITE].next)(fd, bytes, size);
}

static bool is_ours(int fd)
{
    return fd == run.wire && pthread_equal(pthread_self(), run.thread);
}

static bool write_all(const struct espi_relay_out *out)
{
    for (size_t done = 0; done < out->used;) {
        ssize_t sent = write_on(run.wire, out->bytes + done, out->used - done);
        if (sent >= 0) {
            done += (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd fd = {run.wire, POLLOUT, 0};
            poll(&fd, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static ssize_t relay_write(int fd, const void *bytes, size_t size)
{
    if (!is_ours(fd))
        return write_on(fd, bytes, size);
    for (size_t done = 0; done < size;) {
        char said[CHUNK + ESPI_RELAY_ADDS];
        struct espi_relay_out launcher = {said, 0, sizeof said};
        const size_t length = size - done < CHUNK ? size - done : CHUNK;
        espi_relay_said(&run.relay, (const char *)bytes + done, length, &launcher);
        if (!write_all(&launcher))
            return -1;
        done += length;
    }
    return (ssize_t)size;
}

/* What is known is known by the answer that has just come; the barrier that it was asked before is yet to be
   written. */
static void tell_known(void)
{
    const espi_relay_known known = run.known;
    if (known == NULL || run.relay.talk.ask.keys != ESPI_ROLL_DONE)
        return;
    run.known = NULL;
    known(&run.relay.talk.ask);
}

static ssize_t relay_read(int fd, void *bytes, size_t size)
{
    if (!is_ours(fd) || size == 0)
        return read_on(fd, bytes, size);
    for (;;) {
        char heard[CHUNK], said[CHUNK + ESPI_RELAY_ADDS];
        struct espi_relay_out launcher = {said, 0, sizeof said}, library = {bytes, 0, size};
        ssize_t got = read_on(fd, heard, size < CHUNK ? size : CHUNK);
        if (got <= 0)
            return got;
        espi_relay_answered(&run.relay, heard, (size_t)got, &launcher, &library);
        tell_known();
        if (!write_all(&launcher))
            return -1;
        if (library.used > 0)
            return (ssize_t)library.used;
    }
}

/* A connected stream, which is noted. */
static bool note_wire(int fd)
{
    struct sockaddr_storage peer;
    socklen_t peer_size = sizeof peer, size;
    struct stat file;
    int type;
    size = sizeof type;
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0 || fstat(fd, &file) != 0)
        return false;
    run.wire = fd;
    run.device = file.st_dev;
    run.inode = file.st_ino;
    return true;
}

/* Nothing is on its way on the wire, and it is the same. */
static bool is_at_rest(void)
{
    struct stat file;
    int unread = 0;
    return fstat(run.wire, &file) == 0 && file.st_dev == run.device && file.st_ino == run.inode &&
           ioctl(run.wire, FIONREAD, &unread) == 0 && unread == 0 && espi_relay_is_quiet(&run.relay);
}

bool espi_relay_start(int wire, const void *library, const struct espi_roll *roll, espi_relay_known known)
{
    pthread_mutex_lock(&lock);
    bool good = !run.stands && note_wire(wire);
    if (good) {
        run.thread = pthread_self();
        run.known = known;
        espi_relay_begin(&run.relay, roll);
        good = run.stands = espi_imports_lead(library, imports, CALLS);
    }
    pthread_mutex_unlock(&lock);
    return good;
}

bool espi_relay_stop(struct espi_relay_ended *ended)
{
    pthread_mutex_lock(&lock);
    run.known = NULL; /* a barrier that the library still waits for may be behind those of other ranks */
    bool good = run.stands && is_at_rest() && run.relay.version != ESPI_PMI_UNKNOWN;
    if (good) {
        ended->version = run.relay.version;
        memcpy(ended->space, run.relay.space, sizeof ended->space);
        memcpy(ended->mapping, run.relay.mapping, sizeof ended->mapping);
        ended->ask = run.relay.talk.ask;
    }
    /* A library that has not waited for its barrier still has it to come; then the calls stay as they are. */
    if (run.stands && !run.relay.asking && run.relay.held_used == 0) {
        espi_imports_restore(imports, CALLS);
        run.stands = false;
    }
    pthread_mutex_unlock(&lock);
    return good;
}
