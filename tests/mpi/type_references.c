/*
 * Types that live on although MPI_Type_free was called with their handle: a second reference was freed, which
 * MPI_Type_get_contents had given to the program, or to MPI itself for a file. And small predefined types that are
 * duplicated where there are hundreds of derived ones. That a type is still known shows in sums of its elements,
 * which MPI alone refuses. Prints `N passed, N failed`.
 *
 *   type_references [multiple]    at MPI_THREAD_MULTIPLE
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ITEMS = 100, USES = 300, MANY = 700, LARGE = 200, MORE = 140 };

static int rank, size, passed, failed;

static void use(MPI_Datatype type, const char *when)
{
    static double own[2 * ITEMS * LARGE], sum[2 * ITEMS * LARGE];
    char packed[2 * ITEMS * sizeof *own];
    int good = 1;

    for (int i = 0; i < USES; i++) {
        int at = 0;
        MPI_Pack(own, 1, type, packed, sizeof packed, &at, MPI_COMM_WORLD);
    }
    for (int count = 1; count <= LARGE; count += LARGE - 1) { /* more than what goes on credit, too */
        for (int i = 0; i < 2 * ITEMS * LARGE; i++) {
            own[i] = rank + i;
            sum[i] = -1;
        }
        good = good && MPI_Allreduce(own, sum, count, type, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS;
        good = good && sum[2] == size * (size - 1) / 2 + 2 * size && sum[1] == -1;
    }
    good ? passed++ : failed++;
    if (!good)
        printf("rank %d: %s\n", rank, when);
}

/* An item of a type that was made from it. */
static MPI_Datatype part_of(MPI_Datatype outer)
{
    MPI_Datatype part;
    MPI_Aint stride;
    int ints[2];

    MPI_Type_get_contents(outer, 2, 1, 1, ints, &stride, &part);
    return part;
}

static void write_file(MPI_Datatype outer)
{
    static double data[4 * ITEMS];
    MPI_File file;
    char name[64];

    snprintf(name, sizeof name, "type_references.%d.data", rank);
    if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS)
        return;
    MPI_File_write(file, data, 1, outer, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, 0, MPI_DOUBLE, outer, "native", MPI_INFO_NULL);
    MPI_File_write(file, data, ITEMS, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* Of so many types one has a handle that is a predefined type's but for the kind of object. */
static void duplicate_small(void)
{
    static const MPI_Datatype small[] = {MPI_CHAR, MPI_BYTE, MPI_SHORT, MPI_PACKED};
    static double data[MANY * MORE], sum[MANY];
    MPI_Datatype many[MANY], copy;
    int met = 0;
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;

    for (int i = 0; i < MANY; i++) {
        MPI_Type_contiguous(2 + i % 7, MPI_DOUBLE, &many[i]);
        MPI_Type_commit(&many[i]);
    }
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 4; k++) {
            if (((unsigned)many[i] ^ (unsigned)small[k]) << 6 != 0)
                continue;
            for (int use = 0; use < 1000 * USES; use++) {
                MPI_Sendrecv(data, 1, many[i], to, 3, sum, 1, many[i], from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (use % USES != 0 || use < 990 * USES)
                    continue;
                if (rank == 0) {
                    MPI_Type_dup(small[k], &copy);
                    MPI_Type_free(&copy);
                }
                MPI_Sendrecv(data, MORE, many[i], to, 3, data + 8 * MORE, MORE, many[i], from, 3, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE); /* more items than go on credit */
            }
            MPI_Allreduce(data, sum, 1, many[i], MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS ? passed++ : failed++;
            met++;
        }
    met > 0 ? passed++ : failed++;
    for (int i = 0; i < MANY; i++)
        MPI_Type_free(&many[i]);
}

int main(int argc, char **argv)
{
    MPI_Datatype type, outer, parts[3];
    int level;

    MPI_Init_thread(&argc, &argv,
                    argc > 1 && strcmp(argv[1], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_vector(ITEMS, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Type_create_hvector(2, 1, 2 * ITEMS * sizeof(double), type, &outer);
    MPI_Type_commit(&outer);
    use(type, "at first");
    for (int i = 0; i < 3; i++)
        parts[i] = part_of(outer);
    use(type, "with references");
    for (int i = 0; i < 3; i++) {
        MPI_Type_free(&parts[i]);
        use(type, "after a reference was freed");
    }
    if (rank == 0)
        write_file(outer);
    use(type, "after one rank wrote a file");
    duplicate_small();
    MPI_Type_free(&outer);
    MPI_Type_free(&type);
    MPI_Type_contiguous(3, MPI_INT, &type); /* of the same handle, perhaps */
    MPI_Type_commit(&type);
    int at = 0, numbers[3] = {1, 2, 3}, packed[3] = {0, 0, 0};
    MPI_Pack(numbers, 1, type, packed, sizeof packed, &at, MPI_COMM_WORLD);
    at == (int)sizeof numbers && packed[2] == 3 ? passed++ : failed++;
    MPI_Type_free(&type);
    printf("%d passed, %d failed\n", passed, failed);
    MPI_Finalize();
    return failed > 0;
}
