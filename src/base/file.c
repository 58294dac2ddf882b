#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "base/write_all.h"

enum { FIRST = 3, MOST_LINKS = 20, TRIES = 64, PATIENCE_MS = 1000 };

/* As many open()s as descriptors 0 to 2 are free would take them. Until the file is open they hold what can neither
   be written nor read, just as if they were still closed. */
int espi_file_open(const char *name, int flags, mode_t mode)
{
    int held[FIRST], n = 0, file = -1, error = 0;
    bool any_free = false;

    for (int i = 0; i < FIRST; i++)
        any_free = any_free || (fcntl(i, F_GETFD) < 0 && errno == EBADF);
    while (any_free && n < FIRST && error == 0) {
        held[n] = open("/", O_PATH | O_CLOEXEC);
        if (held[n] < 0)
            error = errno;
        else if (held[n++] >= FIRST)
            break;
    }
    if (error == 0) {
        file = open(name, flags | O_CLOEXEC | O_NOCTTY, mode);
        error = errno;
    }
    while (n > 0)
        close(held[--n]);
    if (file >= 0 && file < FIRST) { /* another thread has closed one meanwhile */
        int above = fcntl(file, F_DUPFD_CLOEXEC, FIRST);
        error = errno;
        close(file);
        file = above;
    }
    errno = error;
    return file;
}

/* ---- where a name leads ---- */

/* The number in /proc/PROCESS/fd/NUMBER; -1 for another name. */
static int descriptor_number(const char *name)
{
    const char *last = strrchr(name, '/');
    size_t len = last ? strlen(last + 1) : 0;
    if (len == 0 || len > 6 || strspn(last + 1, "0123456789") != len)
        return -1;
    return atoi(last + 1);
}

/* A link of the /proc file system leads to an open file, whatever its text says. */
static void find_descriptor(struct espi_file_place *place)
{
    struct stat there, here;
    int number = descriptor_number(place->name);
    if (number >= 0 && fstat(number, &here) == 0 && stat(place->name, &there) == 0 && there.st_dev == here.st_dev &&
        there.st_ino == here.st_ino) {
        place->kind = ESPI_FILE_DESCRIPTOR;
        place->descriptor = number;
        place->device = here.st_dev;
        place->inode = here.st_ino;
    } else {
        place->why = "it is not a regular file";
    }
}

/* Puts the link's target, seen from its folder, in the place of its name. */
static bool follow_link(int link, char *name)
{
    char target[PATH_MAX];
    const char *slash = strrchr(name, '/');
    ssize_t len = readlinkat(link, "", target, sizeof target);
    size_t folder = slash ? (size_t)(slash - name) + 1 : 0;
    if (len < 0)
        return false;
    if (len > 0 && target[0] == '/')
        folder = 0;
    if (len == 0 || folder + (size_t)len >= PATH_MAX) {
        errno = len == 0 ? ENOENT : ENAMETOOLONG;
        return false;
    }
    memcpy(name + folder, target, (size_t)len);
    name[folder + (size_t)len] = '\0';
    return true;
}

/* One step. The link is held by a descriptor, so that nobody can put another in its place between the look at its
   owner and the reading of its target. True: there is a further one. */
static bool take_step(struct espi_file_place *place)
{
    struct stat status;
    struct statfs system;
    bool further = false;
    int file = espi_file_open(place->name, O_PATH | O_NOFOLLOW, 0);

    if (file < 0) {
        if (errno == ENOENT)
            place->kind = ESPI_FILE_PLAIN;
        else
            place->error = errno;
        return false;
    }
    if (fstat(file, &status) != 0)
        place->error = errno;
    else if (S_ISREG(status.st_mode))
        place->kind = ESPI_FILE_PLAIN;
    else if (S_ISCHR(status.st_mode))
        place->kind = ESPI_FILE_DEVICE;
    else if (S_ISDIR(status.st_mode))
        place->kind = ESPI_FILE_FOLDER;
    else if (!S_ISLNK(status.st_mode))
        place->why = "it is not a regular file";
    else if (fstatfs(file, &system) == 0 && system.f_type == PROC_SUPER_MAGIC)
        find_descriptor(place);
    else if (status.st_uid != geteuid() && status.st_uid != 0)
        place->why = "it is a symbolic link of another user";
    else if (!(further = follow_link(file, place->name)))
        place->error = errno;
    close(file);
    return further;
}

bool espi_file_from_root(const char *name, char *whole)
{
    size_t len = strlen(name), folder = 0;
    if (name[0] != '/' && getcwd(whole, PATH_MAX) != NULL) {
        folder = strlen(whole);
        whole[folder++] = '/';
    }
    if (folder + len >= PATH_MAX)
        return false;
    memcpy(whole + folder, name, len + 1);
    return true;
}

void espi_file_find(const char *name, struct espi_file_place *place)
{
    int links = 0, saved_errno = errno;

    *place = (struct espi_file_place){.kind = ESPI_FILE_REFUSED, .descriptor = -1};
    if (!espi_file_from_root(name, place->name))
        place->error = ENAMETOOLONG;
    while (place->error == 0 && take_step(place))
        if (++links == MOST_LINKS)
            place->error = ELOOP;
    errno = saved_errno;
}

/* ---- writing ---- */

static uint32_t random_number(void)
{
    uint32_t number;
    struct timespec now = {0, 0};
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == (ssize_t)sizeof number)
        return number;
    /* Not to be guessed at once, and tried again: O_EXCL is what makes it safe. */
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 12) * 2654435761u + (uint32_t)(uintptr_t)&now;
}

int espi_file_new(const char *name, mode_t mode, char *fresh, size_t size)
{
    int file = -1;
    for (int i = 0; i < TRIES; i++) {
        int len = snprintf(fresh, size, "%s~%08x", name, (unsigned)random_number());
        if (len < 0 || (size_t)len >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        file = espi_file_open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (file >= 0 || errno != EEXIST)
            break;
    }
    return file;
}

bool espi_file_fill(int file, const void *data, size_t len)
{
    bool good = espi_write_all(file, data, len);
    int error = errno;
    if (close(file) != 0 && good) { /* a full disk may show only here */
        good = false;
        error = errno;
    }
    errno = error;
    return good;
}

/* Whether something can be written at once, or within the time; errno is EAGAIN when not. */
static bool wait_for_reader(int file)
{
    struct timespec begin, now;
    struct pollfd ready = {file, POLLOUT, 0};
    int64_t left = PATIENCE_MS;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        int found = poll(&ready, 1, (int)left);
        if (found > 0)
            return true; /* or the write will say what is wrong */
        clock_gettime(CLOCK_MONOTONIC, &now);
        left = PATIENCE_MS - ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000);
        if (left <= 0 || (found < 0 && errno != EINTR)) {
            errno = EAGAIN;
            return false;
        }
    }
}

/* In pieces that a pipe which is ready takes at once. */
static bool write_patiently(int file, const struct stat *status, const char *data, size_t len)
{
    while (len > 0) {
        size_t piece = S_ISREG(status->st_mode) || len < PIPE_BUF ? len : PIPE_BUF;
        if (!S_ISREG(status->st_mode) && !wait_for_reader(file))
            return false;
        if (S_ISSOCK(status->st_mode)) {
            ssize_t sent = send(file, data, piece, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR)
                continue;
            if (sent <= 0)
                return false;
            piece = (size_t)sent;
        } else if (!espi_write_all(file, data, piece)) {
            return false;
        }
        data += piece;
        len -= piece;
    }
    return true;
}

bool espi_file_append(const struct espi_file_place *place, const void *data, size_t len)
{
    struct stat status;
    if (place->kind == ESPI_FILE_DESCRIPTOR) {
        if (fstat(place->descriptor, &status) != 0)
            return false;
        if (status.st_dev != place->device || status.st_ino != place->inode) {
            errno = EBADF; /* the program uses the number for something else now */
            return false;
        }
        return write_patiently(place->descriptor, &status, data, len);
    }
    int file = espi_file_open(place->name, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOFOLLOW, 0);
    if (file < 0)
        return false;
    if (fstat(file, &status) != 0 || !S_ISCHR(status.st_mode)) {
        close(file);
        errno = ENODEV;
        return false;
    }
    return espi_file_fill(file, data, len);
}
