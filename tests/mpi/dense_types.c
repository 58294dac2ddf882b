/*
 * Types without gaps keep their bytes while Espalier builds types of its own: MPICH 4.0.2 packs them short when their
 * handles are high (src/mpi/datatype/own_types.h). A program with a few hundred types at a time, irregular lists
 * among them whose better forms take hundreds more. Each rank packs each dense type, and the ranks send them to each
 * other in turns with the lists. Prints `N passed, N failed`.
 *
 *   dense_types [TYPES]    dense types that live at a time, 200 unless told; natively up to some 500 are right
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTS = 6, BLOCKS = 6000, USES = 24, ROUNDS = 3, BYTES = 9000 };

static int passed, failed, rank;
static float from[8 * BLOCKS], to[8 * BLOCKS];
static char dense[BYTES], packed[BYTES + 64];

static void check(int good, const char *what, int which, MPI_Datatype type)
{
    good ? passed++ : failed++;
    if (!good && failed < 10)
        printf("rank %d: %s %d is wrong (handle %#x)\n", rank, what, which, (unsigned)type);
}

/* Every list has displacements of its own. */
static MPI_Datatype list_of(int number)
{
    static int at[BLOCKS];
    MPI_Datatype type;

    srand((unsigned)number + 1);
    for (int i = 0, next = 0; i < BLOCKS; i++, next += 3)
        at[i] = next += rand() % 3;
    MPI_Type_create_indexed_block(BLOCKS, 3, at, MPI_FLOAT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void use_list(int number, MPI_Datatype list)
{
    for (int i = 0; i < USES; i++) {
        if (rank == 0) {
            MPI_Send(from, 1, list, 1, number, MPI_COMM_WORLD);
        } else if (rank == 1) {
            memset(to, 0, sizeof to);
            MPI_Recv(to, 1, list, 0, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank != 1)
        return;
    srand((unsigned)number + 1);
    int good = 1;
    for (int i = 0, next = 0; i < BLOCKS; i++, next += 3) {
        next += rand() % 3;
        good = good && memcmp(&to[next], &from[next], 3 * sizeof *to) == 0;
    }
    check(good, "list", number, list);
}

static MPI_Datatype dense_of(int number)
{
    MPI_Datatype type;

    MPI_Type_contiguous(3 + number * 7 % (BYTES - 10), MPI_CHAR, &type);
    MPI_Type_commit(&type);
    return type;
}

static void pack_dense(int number, MPI_Datatype type)
{
    int position = 0, size;

    MPI_Type_size(type, &size);
    memset(packed, 0, sizeof packed);
    MPI_Pack(dense, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
    check(position == size && memcmp(packed, dense, (size_t)size) == 0 && packed[size] == 0, "dense", number, type);
}

int main(int argc, char **argv)
{
    const int types = argc > 1 ? atoi(argv[1]) : 200;
    MPI_Datatype *type, list[LISTS];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    type = malloc((size_t)types * sizeof *type);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        from[i] = (float)i;
    for (int i = 0; i < BYTES; i++)
        dense[i] = (char)(1 + i % 120);
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < LISTS; k++) {
            list[k] = list_of(round * LISTS + k);
            use_list(round * LISTS + k, list[k]);
            for (int i = k * types / LISTS; i < (k + 1) * types / LISTS; i++)
                type[i] = dense_of(i);
            for (int i = 0; i < (k + 1) * types / LISTS; i++)
                pack_dense(i, type[i]);
        }
        for (int k = 0; k < LISTS; k++) { /* lists end, and new dense types get their handles */
            MPI_Type_free(&list[k]);
            MPI_Type_free(&type[k]);
            type[k] = dense_of(types + k);
            pack_dense(types + k, type[k]);
        }
        for (int i = 0; i < types; i++)
            MPI_Type_free(&type[i]);
    }
    free(type);
    int all[2] = {passed, failed}, sum[2];
    MPI_Reduce(all, sum, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d passed, %d failed\n", sum[0], sum[1]);
    MPI_Finalize();
    return failed > 0;
}
