#include "base/write_all.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Both signals are blocked in this thread while we write; one that our write raised is taken back, one that was
   pending before stays pending. */
bool espi_write_all(int fd, const void *data, size_t len)
{
    const char *at = data;
    sigset_t ours, before, pending;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    bool blocked = pthread_sigmask(SIG_BLOCK, &ours, &before) == 0;
    sigemptyset(&pending);
    if (blocked)
        sigpending(&pending);

    int error = 0;
    while (len > 0) {
        ssize_t done = write(fd, at, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            error = done < 0 ? errno : EIO;
            break;
        }
        at += done;
        len -= (size_t)done;
    }

    if (blocked) {
        int raised = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
        if (raised != 0 && sigismember(&pending, raised) != 1) {
            struct timespec at_once = {0, 0};
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, raised);
            while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
                continue;
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    errno = error;
    return error == 0;
}
