/* Files that Espalier writes inside programs: never through a link that somebody else has planted, never on
   descriptors that the program has closed, never waiting for a reader. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "runner.h"

enum { SOMEBODY = 12345 };

static char folder[] = "/tmp/espalier-file-XXXXXX";

/* A name in the folder; two at a time. */
static const char *in_folder(const char *name)
{
    static char text[2][300];
    static int turn;
    turn = !turn;
    snprintf(text[turn], sizeof text[turn], "%s/%s", folder, name);
    return text[turn];
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static bool holds(const char *name, const char *text)
{
    char found[256] = "";
    FILE *file = fopen(name, "r");
    if (file == NULL)
        return false;
    size_t len = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    return len == strlen(text) && strcmp(found, text) == 0;
}

static enum espi_file_kind kind_of(const char *name)
{
    struct espi_file_place place;
    espi_file_find(name, &place);
    return place.kind;
}

/* ---- new files ---- */

START_TEST(a_new_file_is_new_and_ones_own)
{
    char fresh[2][400];
    struct stat status;
    const char *name = in_folder("new");
    static const mode_t masks[] = {0, 022, 077, 0777};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        int file[2];
        for (int k = 0; k < 2; k++) {
            file[k] = espi_file_new(name, 0666, fresh[k], sizeof fresh[k]);
            ck_assert_int_ge(file[k], 3);
            ck_assert_int_eq(fcntl(file[k], F_GETFD), FD_CLOEXEC);
            ck_assert_int_eq(fstat(file[k], &status), 0);
            ck_assert_uint_eq(status.st_mode & 07777, 0666 & ~masks[i]);
            ck_assert(strncmp(fresh[k], name, strlen(name)) == 0 && fresh[k][strlen(name)] == '~');
            ck_assert(espi_file_fill(file[k], "abc", 3));
        }
        umask(0);
        ck_assert_str_ne(fresh[0], fresh[1]);
        for (int k = 0; k < 2; k++) {
            chmod(fresh[k], 0600);
            ck_assert(holds(fresh[k], "abc"));
            unlink(fresh[k]);
        }
    }
    ck_assert_int_lt(espi_file_new(in_folder("no/such/folder"), 0666, fresh[0], sizeof fresh[0]), 0);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_lt(espi_file_new(name, 0666, fresh[0], strlen(name) + 5), 0);
    ck_assert_int_eq(errno, ENAMETOOLONG);
    ck_assert_int_ne(access(name, F_OK), 0);
}
END_TEST

/* What comes to pass in a process whose descriptors are closed: a bit for each that is wrong. */
static int in_closed_process(int closed, bool none_left)
{
    int wrong = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char fresh[400];
        struct rlimit few = {3, 3};
        for (int i = 0; i < 3; i++)
            if (closed >> i & 1)
                close(i);
        if (none_left)
            setrlimit(RLIMIT_NOFILE, &few);
        int file = espi_file_new(in_folder("closed"), 0600, fresh, sizeof fresh);
        wrong |= none_left ? (file >= 0 || errno != EMFILE) : file < 3;
        for (int i = 0; i < 3; i++)
            wrong |= ((fcntl(i, F_GETFD) < 0) != (closed >> i & 1)) << (i + 1);
        if (file >= 0)
            unlink(fresh);
        _exit(wrong);
    }
    ck_assert_int_eq(waitpid(child, &wrong, 0), child);
    return wrong;
}

START_TEST(descriptors_0_to_2_are_never_taken)
{
    for (int closed = 0; closed < 8; closed++)
        ck_assert_msg(in_closed_process(closed, false) == 0, "closed: %d", closed);
    ck_assert_int_eq(in_closed_process(7, true), 0);
    ck_assert_int_eq(in_closed_process(2, true), 0);
}
END_TEST

static atomic_bool stop;
static atomic_int written;

static void *chatter(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop))
        if (write(STDOUT_FILENO, "x", 1) == 1)
            atomic_fetch_add(&written, 1);
    return NULL;
}

/* Not for a moment either: another thread writes to its closed descriptor all the time. */
START_TEST(output_of_other_threads_stays_away)
{
    int status = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char fresh[400];
        pthread_t thread;
        int wrong = 0;
        close(STDOUT_FILENO);
        if (pthread_create(&thread, NULL, chatter, NULL) != 0)
            _exit(9);
        for (int i = 0; i < 3000; i++) {
            struct stat found;
            int file = espi_file_new(in_folder("threads"), 0600, fresh, sizeof fresh);
            wrong |= file < 3 || fstat(file, &found) != 0 || found.st_size != 0;
            close(file);
            unlink(fresh);
        }
        atomic_store(&stop, true);
        pthread_join(thread, NULL);
        _exit(wrong + 2 * (atomic_load(&written) > 0));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- where names lead ---- */

START_TEST(kinds_of_places)
{
    struct espi_file_place place;
    put(in_folder("plain"), "text");
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", in_folder("socket"));
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(file, (struct sockaddr *)&address, sizeof address), 0);
    close(file);
    ck_assert_int_eq(kind_of(in_folder("plain")), ESPI_FILE_PLAIN);
    ck_assert_int_eq(kind_of(in_folder("nothing")), ESPI_FILE_PLAIN);
    ck_assert_int_eq(kind_of("/dev/null"), ESPI_FILE_DEVICE);
    ck_assert_int_eq(kind_of(folder), ESPI_FILE_FOLDER);
    ck_assert_int_eq(kind_of(in_folder("pipe")), ESPI_FILE_REFUSED); /* and nobody waits for its reader */
    ck_assert_int_eq(kind_of(in_folder("socket")), ESPI_FILE_REFUSED);
    ck_assert_int_eq(kind_of(in_folder("plain/below")), ESPI_FILE_REFUSED);
    /* Names are seen from the folder of the moment. */
    ck_assert_int_eq(chdir(folder), 0);
    espi_file_find("plain", &place);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_str_eq(place.name, in_folder("plain"));
    char *name = malloc(2 * PATH_MAX);
    memset(name, 'n', 2 * PATH_MAX);
    name[2 * PATH_MAX - 1] = '\0';
    espi_file_find(name, &place);
    ck_assert_int_eq(place.kind, ESPI_FILE_REFUSED);
    ck_assert_int_eq(place.error, ENAMETOOLONG);
    free(name);
    unlink(in_folder("plain"));
    unlink(in_folder("pipe"));
    unlink(in_folder("socket"));
}
END_TEST

START_TEST(ones_own_links_are_followed)
{
    struct espi_file_place place;
    mkdir(in_folder("below"), 0700);
    put(in_folder("below/target"), "text");
    ck_assert_int_eq(symlink("below/one", in_folder("chain")), 0);
    ck_assert_int_eq(symlink("target", in_folder("below/one")), 0);
    ck_assert_int_eq(symlink(in_folder("below/new"), in_folder("dangling")), 0);
    ck_assert_int_eq(symlink("loop", in_folder("loop")), 0);
    espi_file_find(in_folder("chain"), &place);
    ck_assert_int_eq(place.kind, ESPI_FILE_PLAIN);
    ck_assert_str_eq(place.name, in_folder("below/target"));
    espi_file_find(in_folder("dangling"), &place);
    ck_assert_int_eq(place.kind, ESPI_FILE_PLAIN);
    ck_assert_str_eq(place.name, in_folder("below/new"));
    espi_file_find(in_folder("loop"), &place);
    ck_assert_int_eq(place.kind, ESPI_FILE_REFUSED);
    ck_assert_int_eq(place.error, ELOOP);
    if (geteuid() == 0) { /* root may make links of somebody else */
        ck_assert_int_eq(lchown(in_folder("chain"), SOMEBODY, SOMEBODY), 0);
        espi_file_find(in_folder("chain"), &place);
        ck_assert_int_eq(place.kind, ESPI_FILE_REFUSED);
        ck_assert_str_eq(place.why, "it is a symbolic link of another user");
        ck_assert_int_eq(lchown(in_folder("chain"), 0, 0), 0);
        ck_assert_int_eq(lchown(in_folder("below/one"), SOMEBODY, SOMEBODY), 0); /* nor the second of two */
        ck_assert_int_eq(kind_of(in_folder("chain")), ESPI_FILE_REFUSED);
    } else {
        puts("links of somebody else: only root can make them");
    }
    unlink(in_folder("chain"));
    unlink(in_folder("dangling"));
    unlink(in_folder("loop"));
    unlink(in_folder("below/one"));
    unlink(in_folder("below/target"));
    rmdir(in_folder("below"));
}
END_TEST

/* ---- devices and descriptors ---- */

static void do_nothing(int sig)
{
    (void)sig;
}

START_TEST(descriptors_by_name)
{
    struct espi_file_place place;
    char name[64], buf[70000];
    int file = open(in_folder("output"), O_RDWR | O_CREAT | O_TRUNC, 0600), ends[2];
    ck_assert_int_ge(file, 3);
    ck_assert_int_eq(write(file, "one ", 4), 4);
    static const char *const form[] = {"/dev/fd/%d", "/proc/self/fd/%d"};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, form[i], file);
        espi_file_find(name, &place);
        ck_assert_int_eq(place.kind, ESPI_FILE_DESCRIPTOR);
        ck_assert_int_eq(place.descriptor, file);
        ck_assert(espi_file_append(&place, "two ", 4));
    }
    ck_assert(holds(in_folder("output"), "one two two ")); /* it is not replaced, and its output stays */
    int twin = dup(STDOUT_FILENO);
    ck_assert_int_eq(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
    espi_file_find("/dev/stdout", &place);
    dup2(twin, STDOUT_FILENO);
    close(twin);
    ck_assert_int_eq(place.kind, ESPI_FILE_DESCRIPTOR);
    ck_assert_int_eq(place.descriptor, STDOUT_FILENO);
    ck_assert(!espi_file_append(&place, "three", 5)); /* another file by now */
    ck_assert_int_eq(errno, EBADF);

    espi_file_find(name, &place);
    close(file);
    ck_assert(!espi_file_append(&place, "three", 5));
    ck_assert_int_eq(errno, EBADF);
    ck_assert_int_eq(kind_of("/proc/self/exe"), ESPI_FILE_REFUSED);
    ck_assert_int_eq(kind_of("/proc/1/fd/1000000"), ESPI_FILE_PLAIN); /* nothing is there */
    unlink(in_folder("output"));

    /* A pipe that somebody reads; one that nobody does, while signals come all the time; one without a reader. */
    memset(buf, 'b', sizeof buf);
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    espi_file_find(name, &place);
    ck_assert_int_eq(place.kind, ESPI_FILE_DESCRIPTOR);
    pid_t child = fork();
    if (child == 0) {
        size_t got = 0;
        close(ends[1]);
        for (ssize_t n; (n = read(ends[0], buf, sizeof buf)) > 0;)
            got += (size_t)n;
        _exit(got != sizeof buf);
    }
    ck_assert(espi_file_append(&place, buf, sizeof buf));
    close(ends[1]);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    close(ends[0]);
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    espi_file_find(name, &place);
    struct sigaction act = {.sa_handler = do_nothing};
    sigaction(SIGALRM, &act, NULL);
    struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    bool good = espi_file_append(&place, buf, sizeof buf);
    int error = errno;
    setitimer(ITIMER_REAL, &never, NULL);
    ck_assert(!good);
    ck_assert_int_eq(error, EAGAIN);
    close(ends[0]);
    ck_assert(!espi_file_append(&place, buf, 1)); /* no SIGPIPE */
    ck_assert_int_eq(errno, EPIPE);
    close(ends[1]);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    espi_file_find(name, &place);
    ck_assert(espi_file_append(&place, buf, 1000));
    ck_assert_int_eq(read(ends[0], buf, sizeof buf), 1000);
    ck_assert(!espi_file_append(&place, buf, sizeof buf) || read(ends[0], buf, sizeof buf) > 0);
    close(ends[0]);
    ck_assert(!espi_file_append(&place, buf, 1));
    close(ends[1]);
}
END_TEST

START_TEST(devices)
{
    struct espi_file_place place;
    espi_file_find("/dev/null", &place);
    ck_assert(espi_file_append(&place, "text", 4));
    espi_file_find("/dev/full", &place);
    ck_assert(!espi_file_append(&place, "text", 4));
    ck_assert_int_eq(errno, ENOSPC);
    /* A pipe that has come into the place of the device: nobody waits for its reader. */
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    snprintf(place.name, sizeof place.name, "%s", in_folder("pipe"));
    ck_assert(!espi_file_append(&place, "text", 4));
    unlink(in_folder("pipe"));
    put(in_folder("victim"), "text");
    ck_assert_int_eq(symlink("victim", in_folder("pipe")), 0);
    ck_assert(!espi_file_append(&place, "more", 4));
    unlink(in_folder("pipe"));
    ck_assert_int_eq(symlink("/dev/null", in_folder("pipe")), 0); /* nor a link by now */
    ck_assert(!espi_file_append(&place, "more", 4));
    snprintf(place.name, sizeof place.name, "%s", in_folder("victim"));
    ck_assert(!espi_file_append(&place, "more", 4));
    ck_assert(holds(in_folder("victim"), "text"));
    unlink(in_folder("pipe"));
    unlink(in_folder("victim"));
}
END_TEST

int main(void)
{
    if (mkdtemp(folder) == NULL)
        return 99;
    int status = RUN_SUITE("test-file", 60, NULL, NULL, a_new_file_is_new_and_ones_own,
                           descriptors_0_to_2_are_never_taken, output_of_other_threads_stays_away, kinds_of_places,
                           ones_own_links_are_followed, descriptors_by_name, devices);
    rmdir(folder);
    return status;
}
