/* Whom Espalier takes for a rank of Hydra's (src/job/hydra.c): what is missing or different in each single thing is
   not, and nothing is read or written to find out. The proxy is played by a program of its name. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/hydra.h"
#include "player.h"
#include "runner.h"

static int found;
static int wire;
static pid_t player;

static void begin(const char *program, bool datagrams)
{
    player = player_start(program, &wire, datagrams);
    player_environment(wire, 1, 3, 3);
}

static bool found_at(int descriptor)
{
    player_environment(descriptor, 1, 3, 3);
    return espi_hydra_find(&found);
}

static void set(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* What a process comes to that is left to itself: 0 where `look` holds, 1 where not, SKIPPED where the machine does
   not let it do that. */
enum { SKIPPED = 77 };
static int apart(int (*look)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(look());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void check_apart(const char *what, int (*look)(void))
{
    int code = apart(look);
    if (code == SKIPPED)
        printf("not looked at, as this machine does not allow it: %s\n", what);
    else
        ck_assert_msg(code == 0, "%s: %d", what, code);
}

START_TEST(known)
{
    begin(ESPI_PLAYER, false);
    ck_assert(espi_hydra_find(&found));
    ck_assert_int_eq(found, wire);
    player_environment(wire, 2, 3, 2);
    ck_assert(espi_hydra_find(&found));
    player_environment(wire, 0, 1, 1);
    ck_assert(espi_hydra_find(&found));
}
END_TEST

/* Each variable: values that are none, or do not fit the others. */
START_TEST(environment)
{
    static const char *const none[] = {
        NULL, "", "x", "3 ", "0x1", "-1", "99999999999999999999", "16777217", "-4294967295"};
    static const struct {
        const char *name, *values[4];
    } wrong[] = {{"PMI_FD", {"1000000"}},
                 {"PMI_RANK", {"3", "4"}},
                 {"PMI_SIZE", {"0", "1", "2"}}, /* 2: fewer than on this node */
                 {"MPI_LOCALNRANKS", {"0", "1", "4"}},
                 {"MPI_LOCALRANKID", {"3", "4"}}};
    begin(ESPI_PLAYER, false);
    for (size_t v = 0; v < sizeof wrong / sizeof *wrong; v++) {
        for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
            ck_assert(found_at(wire));
            set(wrong[v].name, none[i]);
            ck_assert_msg(!espi_hydra_find(&found), "%s=%s", wrong[v].name, none[i] ? none[i] : "(none)");
        }
        for (size_t i = 0; i < 4 && wrong[v].values[i] != NULL; i++) {
            ck_assert(found_at(wire));
            set(wrong[v].name, wrong[v].values[i]);
            ck_assert_msg(!espi_hydra_find(&found), "%s=%s", wrong[v].name, wrong[v].values[i]);
        }
    }
}
END_TEST

/* Descriptors of all kinds. What can be read from them is still there afterwards, at the same place. */
START_TEST(other_files)
{
    char name[] = "test-hydra-XXXXXX", byte[2];
    int pipes[2], ends[2];
    begin(ESPI_PLAYER, false);
    int file = mkstemp(name);
    ck_assert(file >= 0 && unlink(name) == 0 && write(file, "content", 7) == 7 && lseek(file, 3, SEEK_SET) == 3);
    ck_assert(!found_at(file) && lseek(file, 0, SEEK_CUR) == 3 && lseek(file, 0, SEEK_END) == 7);
    ck_assert(pipe(pipes) == 0 && write(pipes[1], "x", 1) == 1);
    ck_assert(!found_at(pipes[0]) && !found_at(pipes[1]));
    ck_assert(fcntl(pipes[0], F_SETFL, O_NONBLOCK) == 0 && read(pipes[0], byte, 2) == 1);
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/ptmx", "/"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        int device = open(devices[i], O_RDONLY | O_NOCTTY);
        ck_assert_msg(device >= 0 && !found_at(device), "%s", devices[i]);
    }
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    for (int i = 0; i < 3; i++) { /* of the program's own */
        ck_assert(socketpair(AF_UNIX, types[i], 0, ends) == 0 && write(ends[1], "x", 1) == 1);
        ck_assert(!found_at(ends[0]) && recv(ends[0], byte, 2, MSG_DONTWAIT) == 1);
        int alone = socket(AF_UNIX, types[i], 0);
        ck_assert(alone >= 0 && !found_at(alone));
    }
    close(ends[0]);
    ck_assert(!found_at(ends[0]) && !found_at(-1));
    ck_assert(found_at(wire));
}
END_TEST

static void connect_to_itself(int family, struct sockaddr *address, socklen_t size, socklen_t room)
{
    int listener = socket(family, SOCK_STREAM, 0), end = socket(family, SOCK_STREAM, 0);
    if (listener < 0 || end < 0 || bind(listener, address, size) != 0) {
        printf("no sockets of family %d here\n", family);
        return;
    }
    ck_assert(listen(listener, 1) == 0 && getsockname(listener, address, &room) == 0);
    ck_assert(!found_at(listener));
    ck_assert(connect(end, address, room) == 0 && !found_at(end));
    ck_assert(!found_at(accept(listener, NULL, NULL)));
}

START_TEST(other_sockets)
{
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un unix_name = {.sun_family = AF_UNIX};
    connect_to_itself(AF_INET, (struct sockaddr *)&tcp, sizeof tcp, sizeof tcp);
    connect_to_itself(AF_UNIX, (struct sockaddr *)&unix_name, sizeof(sa_family_t), sizeof unix_name); /* any name */
    begin(ESPI_PLAYER, true); /* of the proxy, but no stream */
    ck_assert(!espi_hydra_find(&found));
}
END_TEST

/* Names that begin with the right one, end with it, or have it in their folder. The short name of a process is cut,
   so that it is the right one for the first. */
START_TEST(other_programs)
{
    static const char *const endings[] = {"2", "/hydra", "/xhydra_pmi_proxy", "/hydra_pmi_proxy"};
    char folder[] = ESPI_PLAYER ".XXXXXX", program[sizeof folder + 32];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < 4; i++) {
        snprintf(program, sizeof program, "%s%s", folder, endings[i]);
        ck_assert_int_eq(link(ESPI_PLAYER, program), 0);
        begin(program, false);
        ck_assert_msg(espi_hydra_find(&found) == (i == 3), "%s", program);
        ck_assert_int_eq(unlink(program), 0);
    }
    ck_assert(!espi_hydra_find(&found)); /* its file is gone now */
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* A process that has ended, and one that has been waited for, too. */
START_TEST(gone)
{
    siginfo_t info;
    begin(ESPI_PLAYER, false);
    ck_assert(espi_hydra_find(&found));
    ck_assert_int_eq(kill(player, SIGKILL), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)player, &info, WEXITED | WNOWAIT), 0);
    ck_assert(!espi_hydra_find(&found));
    ck_assert_int_eq(waitpid(player, NULL, 0), player);
    ck_assert(!espi_hydra_find(&found));
}
END_TEST

static int as_nobody(void)
{
    if (geteuid() != 0 || setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
        return SKIPPED;
    return espi_hydra_find(&found);
}

static bool write_file(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return good;
}

/* User identities of its own, with this user in it, and mounts. */
static bool leave(void)
{
    char user[64], group[64];
    snprintf(user, sizeof user, "%d %d 1", (int)geteuid(), (int)geteuid());
    snprintf(group, sizeof group, "%d %d 1", (int)getegid(), (int)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_file("/proc/self/setgroups", "deny") &&
           write_file("/proc/self/uid_map", user) && write_file("/proc/self/gid_map", group);
}

/* There the proxy's program is not told. */
static int enter_container(void)
{
    char link[64], file[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)player);
    return leave() && readlink(link, file, sizeof file) < 0 && errno == EACCES ? 0 : SKIPPED;
}

static int in_container(void)
{
    int code = enter_container();
    return code != 0 ? code : !espi_hydra_find(&found);
}

static int in_container_with_another(void)
{
    int code = enter_container();
    return code != 0 ? code : espi_hydra_find(&found);
}

/* A name space of processes of its own: of the proxy there is no number in it. */
static int among_others(void)
{
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return SKIPPED;
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(espi_hydra_find(&found));
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* An empty folder in place of /proc, and then one that has in it what is asked for. */
static int without_proc(void)
{
    char folder[64], exe[80], number[32];
    if ((geteuid() == 0 ? unshare(CLONE_NEWNS) != 0 : !leave()) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return SKIPPED;
    if (mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        return SKIPPED;
    if (espi_hydra_find(&found))
        return 2;
    snprintf(folder, sizeof folder, "/proc/%d", (int)player);
    snprintf(exe, sizeof exe, "%s/exe", folder);
    snprintf(number, sizeof number, "%d", (int)getpid());
    if (mkdir(folder, 0755) != 0 || symlink("/bin/hydra_pmi_proxy", exe) != 0 || espi_hydra_find(&found))
        return 3;
    if (symlink("4711111", "/proc/self") != 0 || espi_hydra_find(&found)) /* those of another name space */
        return 4;
    if (unlink("/proc/self") != 0 || symlink(number, "/proc/self") != 0 || !espi_hydra_find(&found))
        return 5;
    static const char *const wrong[] = {"hydra_pmi_proxy", "/bin/hydra_pmi_proxy (deleted)", "/bin/hydra_pmi_proxy/",
                                        "/bin/hydra_pmi_proxy/x", "/"};
    for (int i = 0; i < 5; i++)
        if (unlink(exe) != 0 || symlink(wrong[i], exe) != 0 || espi_hydra_find(&found))
            return 6 + i;
    char *long_one = malloc(4096); /* the last name of it is not all there */
    memset(long_one, '/', 4095);
    memcpy(long_one + 4095 - strlen("hydra_pmi_proxy"), "hydra_pmi_proxy", sizeof "hydra_pmi_proxy");
    if (unlink(exe) != 0 || symlink(long_one, exe) != 0 || !espi_hydra_find(&found))
        return 20;
    return 0;
}

START_TEST(elsewhere)
{
    char folder[] = ESPI_PLAYER ".XXXXXX", program[sizeof folder + 32];
    begin(ESPI_PLAYER, false);
    check_apart("another user", as_nobody);
    check_apart("a container", in_container);
    check_apart("another name space of processes", among_others);
    check_apart("no /proc", without_proc);
    ck_assert(espi_hydra_find(&found));
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/hydra_pmi_prox2", folder); /* as long */
    ck_assert_int_eq(link(ESPI_PLAYER, program), 0);
    begin(program, false);
    check_apart("a container, and another launcher", in_container_with_another);
    ck_assert(unlink(program) == 0 && rmdir(folder) == 0);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-hydra", 120, NULL, NULL, known, environment, other_files, other_sockets, other_programs,
                     gone, elsewhere);
}
