/* An ordinary MPI program for odd surroundings: derived types in messages, gathers and scatters of unequal blocks, a
   sum. Prints checksums that depend on nothing but the number of ranks; ends with 1 when an element was wrong.

     ordinary [ROUNDS [WHAT...]]     how often everything is done (default 12), and further
       output=FILE    rank 0 adds its last line to FILE, too
       noise          each round writes a line to descriptor 1, whether that is open or not
       fsize=N        no file may be larger than N bytes, from MPI_Init on
       nofile         no more files may be opened, from MPI_Init on
       environ=none   the environment is empty before MPI_Init, as a null pointer;
       environ=odd    entries without a value, without a name, twice
*/
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "work.h"

static int rank, size, wrong;
static uint64_t sum = UINT64_C(14695981039346656037);

static void take(const int *data, int n)
{
    for (int i = 0; i < n; i++)
        sum = (sum ^ (uint32_t)data[i]) * UINT64_C(1099511628211);
}

/* Blocks of 3 + 5 * rank elements to `root` and back again, one more each. */
static void blocks(MPI_Comm comm, int root, int round)
{
    int me, all, total = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    int *counts = malloc((size_t)all * 2 * sizeof *counts), *displs = counts + all;
    for (int i = 0; i < all; i++) {
        counts[i] = 3 + 5 * i;
        displs[i] = total;
        total += counts[i];
    }
    int *own = malloc((size_t)counts[me] * sizeof *own), *both = malloc((size_t)total * sizeof *both);
    for (int i = 0; i < counts[me]; i++)
        own[i] = me * 1000 + i + round;
    memset(both, 0, (size_t)total * sizeof *both);
    MPI_Gatherv(own, counts[me], MPI_INT, both, counts, displs, MPI_INT, root, comm);
    for (int r = 0; me == root && r < all; r++)
        for (int i = 0; i < counts[r]; i++)
            wrong += both[displs[r] + i]++ != r * 1000 + i + round;
    MPI_Scatterv(both, counts, displs, MPI_INT, own, counts[me], MPI_INT, root, comm);
    for (int i = 0; i < counts[me]; i++)
        wrong += own[i] != me * 1000 + i + round + 1;
    take(own, counts[me]);
    MPI_Gather(&round, 1, MPI_INT, both, 1, MPI_INT, root, comm);
    MPI_Barrier(comm); /* where a tree can be agreed on */
    for (int r = 0; me == root && r < all; r++)
        wrong += both[r] != round;
    free(own);
    free(both);
    free(counts);
}

static const char *output;
static bool noise;

extern char **environ;

static void spoil_environment(bool none)
{
    static char *odd[10000] = {"ESPALIER", "ESPALIER_STATS", "=", "", "ESPALIER_=x", "=ESPALIER", "ESPALIER_LOG",
                               "ESPALIER_LOG=debugger", "ESPALIER_LOG=error", "HOME", "XDG_CACHE_HOME",
                               "ESPALIER_RUN_OPTIONS", "ESPALIER_RUN_OPTIONS=: :::x ", "PMI_RANK"};
    size_t n = 14;
    for (char **entry = environ; entry != NULL && *entry != NULL && n + 1 < sizeof odd / sizeof *odd; entry++)
        odd[n++] = *entry;
    environ = none ? NULL : odd;
}

/* What the arguments say, before MPI and then within it. */
static void obey(int argc, char **argv, bool begun)
{
    struct rlimit limit;
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "output=", 7) == 0)
            output = argv[i] + 7;
        noise = noise || strcmp(argv[i], "noise") == 0;
        if (!begun && strncmp(argv[i], "environ=", 8) == 0)
            spoil_environment(strcmp(argv[i] + 8, "none") == 0);
        if (begun && strncmp(argv[i], "fsize=", 6) == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0) {
            limit.rlim_cur = (rlim_t)atol(argv[i] + 6);
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        if (begun && strcmp(argv[i], "nofile") == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
            limit.rlim_cur = 0;
            setrlimit(RLIMIT_NOFILE, &limit);
        }
    }
}

/* Not one of the standard descriptors, should they be closed. */
static FILE *open_above(const char *name)
{
    int low = open(name, O_WRONLY | O_CREAT | O_APPEND, 0666), file = low < 0 ? -1 : fcntl(low, F_DUPFD, 10);
    if (low >= 0)
        close(low);
    return file < 0 ? NULL : fdopen(file, "a");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 12;
    FILE *file = NULL;
    MPI_Comm turned;
    obey(argc, argv, false);
    if (output != NULL)
        file = open_above(output);
    MPI_Init(&argc, &argv);
    obey(argc, argv, true);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong = work("ordinary");
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    for (int round = 0; round < rounds; round++) {
        blocks(MPI_COMM_WORLD, round % 2 ? size - 1 : 0, round);
        blocks(turned, size / 2, round);
        if (noise && write(STDOUT_FILENO, "noise\n", 6) < 0)
            continue;
    }
    MPI_Comm_free(&turned);
    unsigned long long tally[2] = {(unsigned long long)sum, (unsigned long long)wrong}, total[2] = {0, 0};
    MPI_Reduce(tally, total, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("ordinary: %d ranks, sum %016llx, wrong %llu\n", size, total[0], total[1]);
    if (rank == 0 && file != NULL)
        fprintf(file, "ordinary: %d ranks, sum %016llx, wrong %llu\n", size, total[0], total[1]);
    if (file != NULL)
        fclose(file);
    MPI_Finalize();
    return wrong != 0;
}
