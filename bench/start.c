/*
 * What Espalier adds to the start and the end of a job: the same program is started in several ways in turns, and
 * what each took is compared with the native run of the same round.
 *
 *   start [--ranks N] [--rounds N] [--ways A,B,...] [PROGRAM [ARGUMENT...]]
 *
 * PROGRAM is bench/start_rank unless told; 4 ranks, 41 rounds. The ways, all unless named:
 *   native    the program alone
 *   control   the same again: what the comparison itself strays by
 *   exec      through /usr/bin/env, which becomes the program: what one more exec costs
 *   preload   with libespalier.so in LD_PRELOAD of the ranks, before what is there already
 *   zero      `espalier run`, ESPALIER=0: everything passes through
 *   off       `espalier run`, ESPALIER_DATATYPES=off and ESPALIER_COLLECTIVES=off
 *   run       `espalier run`
 *   stats     `espalier run --stats FILE`
 *   front     `espalier run` before the launcher, which hands its environment on
 *
 * `cpu` is user and system time of the job, launcher included, `wall` its time by the clock: medians in ms. `more` is
 * the median of the differences from the native run of the same round, in ms of `cpu` for each rank, with its
 * quartiles; `faults` the same for page faults that needed no disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAYS = 9, ROUNDS_MOST = 9999, ARGS_MOST = 256 };

static const char *const names[WAYS] = {"native", "control", "exec", "preload", "zero", "off", "run", "stats",
                                       "front"};

struct spent {
    double cpu, wall, faults;
};

static struct spent *spent[WAYS]; /* [way][round] */
static int ranks = 4, rounds = 41;
static char folder[PATH_MAX]; /* of the build */
static char stats[64];
static char *default_program[2];

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("start: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* The command line of a way; its texts live until the next call. */
static void command(int way, char **program, char **argv)
{
    static char number[16], espalier[PATH_MAX + 32], library[2 * PATH_MAX + 32];
    const char *others = getenv("LD_PRELOAD");
    int n = 0;
#define ADD(text) argv[n++] = (char *)(text)
    snprintf(number, sizeof number, "%d", ranks);
    snprintf(espalier, sizeof espalier, "%s/espalier", folder);
    if ((size_t)snprintf(library, sizeof library, "%s/.libs/libespalier.so%s%s", folder, others != NULL ? ":" : "",
                         others != NULL ? others : "") >= sizeof library)
        die("LD_PRELOAD is too long");
    if (way == 8) {
        ADD(espalier);
        ADD("run");
    }
    ADD(ESPALIER_MPIEXEC);
    ADD("-n");
    ADD(number);
    switch (way) {
    case 2:
        ADD("/usr/bin/env");
        break;
    case 3:
        ADD("-genv");
        ADD("LD_PRELOAD");
        ADD(library);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        ADD(espalier);
        ADD("run");
        if (way == 4) {
            ADD("--set");
            ADD("ESPALIER=0");
        } else if (way == 5) {
            ADD("--set");
            ADD("ESPALIER_DATATYPES=off");
            ADD("--set");
            ADD("ESPALIER_COLLECTIVES=off");
        } else if (way == 7) {
            ADD("--stats");
            ADD(stats);
        }
    }
    for (int i = 0; program[i] != NULL && n < ARGS_MOST - 1; i++)
        ADD(program[i]);
#undef ADD
    argv[n] = NULL;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void once(const char *name, char **argv, struct spent *out)
{
    extern char **environ;
    struct timespec begin, end;
    struct rusage used;
    posix_spawn_file_actions_t files;
    pid_t child;
    int status;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int error = posix_spawnp(&child, argv[0], &files, NULL, argv, environ);
    if (error != 0)
        die("%s: %s", argv[0], strerror(error));
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR)
            die("wait4: %s", strerror(errno));
    clock_gettime(CLOCK_MONOTONIC, &end);
    posix_spawn_file_actions_destroy(&files);
    if (status != 0)
        die("a run of way %s ended with status %d", name, status);
    out->cpu = (seconds(used.ru_utime) + seconds(used.ru_stime)) * 1e3;
    out->wall = (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    out->faults = (double)used.ru_minflt;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, int n, double q)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    double at = q * (n - 1);
    int low = (int)at;
    return low + 1 < n ? values[low] + (at - low) * (values[low + 1] - values[low]) : values[low];
}

static int number(const char *option, const char *text, int most)
{
    char *end;
    long value = text != NULL ? strtol(text, &end, 10) : 0;
    if (text == NULL || *end != '\0' || value < 1 || value > most)
        die("%s: expected 1 to %d", option, most);
    return (int)value;
}

static unsigned choose_ways(const char *list)
{
    unsigned chosen = 1; /* the native run is what others are compared with */
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ",");
        int way = 0;
        while (way < WAYS && (strlen(names[way]) != len || strncmp(names[way], list, len) != 0))
            way++;
        if (way == WAYS)
            die("no such way: %.*s", (int)len, list);
        chosen |= 1u << way;
        list += len + (list[len] == ',');
    }
    return chosen;
}

static void print(unsigned chosen)
{
    double *values = malloc((size_t)rounds * sizeof *values);
    if (values == NULL)
        die("no memory");
    printf("%-8s %9s %9s   %8s  %17s %9s\n", "#way", "cpu", "wall", "more", "quartiles", "faults");
    for (int way = 0; way < WAYS; way++) {
        if (!(chosen & 1u << way))
            continue;
        double cpu, wall, more[3];
        for (int i = 0; i < rounds; i++)
            values[i] = spent[way][i].cpu;
        cpu = quantile(values, rounds, 0.5);
        for (int i = 0; i < rounds; i++)
            values[i] = spent[way][i].wall;
        wall = quantile(values, rounds, 0.5);
        for (int i = 0; i < rounds; i++)
            values[i] = (spent[way][i].cpu - spent[0][i].cpu) / ranks;
        for (int k = 0; k < 3; k++)
            more[k] = quantile(values, rounds, 0.25 * (k + 1));
        for (int i = 0; i < rounds; i++)
            values[i] = (spent[way][i].faults - spent[0][i].faults) / ranks;
        printf("%-8s %9.2f %9.2f   %8.3f %8.3f %8.3f %9.0f\n", names[way], cpu, wall, more[1], more[0], more[2],
               quantile(values, rounds, 0.5));
    }
    free(values);
}

int main(int argc, char **argv)
{
    unsigned chosen = (1u << WAYS) - 1;
    char *line[ARGS_MOST], name[PATH_MAX + 32];
    int at = 1;

    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--ranks") == 0)
            ranks = number(argv[at], argv[at + 1], 1024);
        else if (strcmp(argv[at], "--rounds") == 0)
            rounds = number(argv[at], argv[at + 1], ROUNDS_MOST);
        else if (strcmp(argv[at], "--ways") == 0)
            chosen = choose_ways(argv[at + 1]);
        else
            die("unknown option %s: expected --ranks, --rounds or --ways", argv[at]);
    }
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    for (int up = 0; up < 2 && length > 0; up++) { /* BUILD/bench/start */
        folder[length] = '\0';
        char *slash = strrchr(folder, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    snprintf(name, sizeof name, "%s/bench/start_rank", folder);
    default_program[0] = name;
    snprintf(stats, sizeof stats, "/tmp/espalier-start-%ld.json", (long)getpid());
    for (int way = 0; way < WAYS; way++)
        if ((spent[way] = calloc((size_t)rounds, sizeof *spent[way])) == NULL)
            die("no memory");
    for (int round = -1; round < rounds; round++) /* what the first one took is overwritten */
        for (int turn = 0; turn < WAYS; turn++) {
            int way = (round & 1 ? WAYS - 1 - turn : turn) + (round > 0 ? round / 2 : 0);
            way %= WAYS;
            if (!(chosen & 1u << way))
                continue;
            command(way, at < argc ? argv + at : default_program, line);
            once(names[way], line, &spent[way][round < 0 ? 0 : round]);
        }
    unlink(stats);
    printf("#@ranks=%d\n#@rounds=%d\n", ranks, rounds);
    print(chosen);
    return 0;
}
