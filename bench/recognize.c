/*
 * What it takes to know a type that a program makes anew: to read it back as a tree (src/mpi/datatype/decode.h), and
 * to compare it with one that was made in the same way (construction.h), beside what making it takes.
 *
 *   recognize [--rounds N]     least of N (300), in nanoseconds; one rank
 */
#include "bench/bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/core/pmpi.h"
#include "mpi/datatype/construction.h"
#include "mpi/datatype/decode.h"

enum { PARTS = 9, BLOCKS = 15000 };

static MPI_Datatype vector(void)
{
    MPI_Datatype type;

    MPI_Type_vector(16, 16, 324, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype part_of_array(int more)
{
    const int sizes[3] = {12, 12, 12 + more}, part[3] = {6, 12, 12}, start[3] = {0, 0, 0};
    MPI_Datatype type;

    MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype subarray(void)
{
    return part_of_array(0);
}

static MPI_Datatype structure(void)
{
    MPI_Datatype part[PARTS], type;
    MPI_Aint at[PARTS];
    int ones[PARTS], i;

    for (i = 0; i < PARTS; i++) {
        part[i] = part_of_array(i);
        at[i] = 30000 * i;
        ones[i] = 1;
    }
    MPI_Type_create_struct(PARTS, ones, at, part, &type);
    for (i = 0; i < PARTS; i++)
        MPI_Type_free(&part[i]);
    return type;
}

static MPI_Datatype list(void)
{
    static int at[BLOCKS];
    MPI_Datatype type;
    int i;

    for (i = 0; i < BLOCKS && at[BLOCKS - 1] == 0; i++)
        at[i] = 6 * (i * 7 % BLOCKS);
    MPI_Type_create_indexed_block(BLOCKS, 3, at, MPI_FLOAT, &type);
    return type;
}

static const struct {
    const char *name;
    MPI_Datatype (*make)(void);
} rows[] = {{"vector", vector}, {"subarray", subarray}, {"struct of 9 subarrays", structure},
            {"indexed_block of 15000", list}};

static void row(const char *name, MPI_Datatype (*make)(void), int rounds)
{
    enum { MAKE, READ, COMPARE, TIMES };
    double least[TIMES] = {1e9, 1e9, 1e9};
    MPI_Datatype first = make();
    struct espi_construction *construction = espi_construction_of(first);
    int i, t;

    for (i = 0; i < rounds; i++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_decoded decoded;
        MPI_Datatype type;
        double at[TIMES + 1];

        at[0] = bench_now();
        type = make();
        at[1] = bench_now();
        if (espi_decode(&arena, type, 0, &decoded) != ESPI_OK)
            bench_die("recognize: %s can not be read back", name);
        at[2] = bench_now();
        if (construction == NULL || !espi_construction_is(construction, type))
            bench_die("recognize: %s is not recognized", name);
        at[3] = bench_now();
        for (t = 0; t < TIMES; t++)
            least[t] = at[t + 1] - at[t] < least[t] ? at[t + 1] - at[t] : least[t];
        espi_arena_release(&arena);
        MPI_Type_free(&type);
    }
    espi_construction_free(construction);
    MPI_Type_free(&first);
    printf("%s\t%.0f\t%.0f\t%.0f\n", name, 1e9 * least[MAKE], 1e9 * least[READ], 1e9 * least[COMPARE]);
}

int main(int argc, char **argv)
{
    int rounds = 300;
    size_t i;

    MPI_Init(&argc, &argv);
    if (argc == 3 && strcmp(argv[1], "--rounds") == 0 && atoi(argv[2]) > 0)
        rounds = atoi(argv[2]);
    else if (argc != 1)
        bench_die("recognize: the only option is --rounds N; see the file's head");
    if (espi_pmpi_load(RTLD_DEFAULT) != NULL)
        bench_die("recognize: the MPI library lacks a function");
    printf("#type\tmake\tread back\tcompare\n");
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        row(rows[i].name, rows[i].make, rounds);
    MPI_Finalize();
    return 0;
}
