/*
 * What stays as it is: errors of reductions that the standard does not define, and user-defined operations, which get
 * the program's own datatype. Prints `N passed, N failed` on rank 0. Without Espalier the last two checks fail alone.
 */
#include <mpi.h>
#include <stdio.h>

static int rank;
static long passed, failed;
static MPI_Datatype expected_type;
static int calls_of_user;

static void check(const char *what, int good)
{
    good ? passed++ : failed++;
    if (!good)
        fprintf(stderr, "rank %d: %s\n", rank, what);
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    return class;
}

/* Not commutative, and it must see the program's handle: a 2 x 2 matrix product. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    long *a = in, *b = inout;
    calls_of_user++;
    check("a user-defined operation got another datatype", *type == expected_type);
    for (int i = 0; i < *count; i++, a += 4, b += 4) {
        long p = a[0] * b[0] + a[1] * b[2], q = a[0] * b[1] + a[1] * b[3];
        long r = a[2] * b[0] + a[3] * b[2], s = a[2] * b[1] + a[3] * b[3];
        b[0] = p, b[1] = q, b[2] = r, b[3] = s;
    }
}

/* Handles that are no types, with as many elements as reductions in pieces have: MPI tells the communicator of the
   call. An error of any other communicator would end the program. */
static void check_no_types(void)
{
    enum { MANY = 3000, RANKS = 8 };
    static int a[RANKS * MANY], b[RANKS * MANY];
    const MPI_Datatype none[2] = {MPI_DATATYPE_NULL, (MPI_Datatype)0x4c0000ff};
    int counts[RANKS];
    MPI_Comm comm;
    for (int i = 0; i < RANKS; i++)
        counts[i] = MANY;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < 2; i++) {
        check("Allreduce of no type", MPI_Allreduce(a, b, MANY, none[i], MPI_SUM, comm) != MPI_SUCCESS);
        check("Reduce of no type", MPI_Reduce(a, b, MANY, none[i], MPI_SUM, 0, comm) != MPI_SUCCESS);
        check("Reduce_scatter of no type", MPI_Reduce_scatter(a, b, counts, none[i], MPI_SUM, comm) != MPI_SUCCESS);
        check("Reduce_scatter_block of no type",
              MPI_Reduce_scatter_block(a, b, MANY, none[i], MPI_SUM, comm) != MPI_SUCCESS);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_free(&comm);
}

/* MPI_IN_PLACE where it says nothing, and no buffer at all: errors, of the communicator of the call or of the world,
   and nothing is read or written there. */
static void check_places(void)
{
    enum { MANY = 1000 };
    static int in[2 * MANY], out[2 * MANY];
    MPI_Datatype types[2];
    MPI_Comm one;
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(MANY, MPI_INT, &types[0]);
    MPI_Type_vector(MANY, 1, 2, MPI_INT, &types[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Type_commit(&types[i]);
        check("Reduce into place", MPI_Reduce(in, MPI_IN_PLACE, 1, types[i], MPI_SUM, 0, one) != MPI_SUCCESS);
        check("Scan into place", MPI_Scan(in, MPI_IN_PLACE, 1, types[i], MPI_SUM, one) != MPI_SUCCESS);
        check("Allreduce into place", MPI_Allreduce(in, MPI_IN_PLACE, 1, types[i], MPI_SUM, one) != MPI_SUCCESS);
        check("Reduce_local in place", MPI_Reduce_local(MPI_IN_PLACE, out, 1, types[i], MPI_SUM) != MPI_SUCCESS);
        check("Reduce_local of nothing", MPI_Reduce_local(NULL, out, 1, types[i], MPI_SUM) != MPI_SUCCESS);
        check("Allreduce of nothing",
              class_of(MPI_Allreduce(NULL, out, 1, types[i], MPI_SUM, one)) == MPI_ERR_BUFFER);
        for (int k = 0; k < 2 * MANY; k++)
            in[k] = k;
        check("Reduce to nothing", class_of(MPI_Reduce(in, NULL, 1, types[i], MPI_SUM, 0, one)) == MPI_ERR_BUFFER);
        check("Allreduce to itself", class_of(MPI_Allreduce(in, in, 1, types[i], MPI_SUM, one)) == MPI_ERR_BUFFER);
        check("Reduce_local to itself", MPI_Reduce_local(in, in, 1, types[i], MPI_SUM) != MPI_SUCCESS);
        check("an input was written", in[0] == 0 && in[2] == 2 && in[2 * (MANY - 1)] == 2 * (MANY - 1));
        MPI_Type_free(&types[i]);
    }
    MPI_Comm_free(&one);
}

/* Between groups MPICH does not ask whether one buffer is given twice. */
static void check_between(void)
{
    static int data[8];
    MPI_Comm half, between;
    MPI_Datatype gaps;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    MPI_Type_vector(4, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    check("one buffer between groups", MPI_Allreduce(data, data, 1, gaps, MPI_SUM, between) == MPI_SUCCESS);
    MPI_Type_free(&gaps);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

/* A sum in place at the last rank, of so many elements that MPICH 4.0.2 has a fault there. */
static int is_summed_in_place(int size)
{
    enum { MANY = 2000 };
    static int in[MANY], out[MANY];
    MPI_Datatype many;
    int good;
    for (int i = 0; i < MANY; i++)
        in[i] = out[i] = rank + i;
    MPI_Type_contiguous(MANY, MPI_INT, &many);
    MPI_Type_commit(&many);
    good = MPI_Reduce(rank == size - 1 ? MPI_IN_PLACE : in, out, 1, many, MPI_SUM, size - 1, MPI_COMM_WORLD) ==
           MPI_SUCCESS;
    for (int i = 0; i < MANY && rank == size - 1; i++)
        good = good && out[i] == size * (size - 1) / 2 + size * i;
    MPI_Type_free(&many);
    return good;
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    struct {
        int i;
        double d;
    } pair[2] = {{0, 0}, {0, 0}};
    int lens[2] = {1, 1};
    MPI_Aint at[2] = {0, (char *)&pair[0].d - (char *)&pair[0]};
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE}, mixed, doubles, floats, chars, uncommitted;
    MPI_Type_create_struct(2, lens, at, parts, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Type_contiguous(2, MPI_DOUBLE, &doubles);
    MPI_Type_commit(&doubles);
    MPI_Type_contiguous(2, MPI_FLOAT, &floats);
    MPI_Type_commit(&floats);
    MPI_Type_contiguous(2, MPI_CHAR, &chars);
    MPI_Type_commit(&chars);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    double a[64] = {1, 2}, b[64] = {3, 4};
    /* Where MPICH has more than one thing to complain about, which it names is its own affair. */
    check("mixed base types", class_of(MPI_Reduce_local(&pair[0], &pair[1], 1, mixed, MPI_SUM)) == MPI_ERR_OP);
    check("mixed base types, collective",
          class_of(MPI_Allreduce(&pair[0], &pair[1], 1, mixed, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_OP);
    check("bits of doubles", class_of(MPI_Reduce_local(a, b, 1, doubles, MPI_BAND)) == MPI_ERR_OP);
    check("and of floats", class_of(MPI_Reduce_local(a, b, 1, floats, MPI_LAND)) == MPI_ERR_OP);
    check("sum of characters", class_of(MPI_Reduce_local(a, b, 1, chars, MPI_SUM)) == MPI_ERR_OP);
    check("MINLOC of doubles", class_of(MPI_Reduce_local(a, b, 1, doubles, MPI_MINLOC)) == MPI_ERR_OP);
    check("REPLACE", class_of(MPI_Reduce_local(a, b, 1, doubles, MPI_REPLACE)) == MPI_ERR_OP);
    check("no operation", class_of(MPI_Reduce_local(a, b, 1, doubles, MPI_OP_NULL)) == MPI_ERR_OP);
    check("not committed", class_of(MPI_Reduce_local(a, b, 1, uncommitted, MPI_SUM)) != MPI_SUCCESS);
    check("no type", class_of(MPI_Reduce_local(a, b, 1, MPI_DATATYPE_NULL, MPI_SUM)) != MPI_SUCCESS);
    check("negative count", class_of(MPI_Allreduce(a, b, -1, doubles, MPI_SUM, MPI_COMM_WORLD)) != MPI_SUCCESS);
    check("no communicator", class_of(MPI_Allreduce(a, b, 1, doubles, MPI_SUM, MPI_COMM_NULL)) == MPI_ERR_COMM);
    check("no such root", class_of(MPI_Reduce(a, b, 1, doubles, MPI_SUM, size, MPI_COMM_WORLD)) == MPI_ERR_ROOT);

    check_no_types();
    check_places();
    if (size > 1)
        check_between();

    MPI_Op product;
    MPI_Op_create(multiply, 0, &product);
    MPI_Type_contiguous(4, MPI_LONG, &expected_type);
    MPI_Type_commit(&expected_type);
    long own[4] = {1, rank + 1, 0, 1}, all[4] = {0}, want[4] = {1, 0, 0, 1};
    own[2] = rank % 2;
    for (int r = 0; r < size; r++) {
        long m[4] = {1, r + 1, r % 2, 1}, t[4];
        t[0] = want[0] * m[0] + want[1] * m[2], t[1] = want[0] * m[1] + want[1] * m[3];
        t[2] = want[2] * m[0] + want[3] * m[2], t[3] = want[2] * m[1] + want[3] * m[3];
        for (int i = 0; i < 4; i++)
            want[i] = t[i];
    }
    check("user-defined operation fails",
          MPI_Allreduce(own, all, 1, expected_type, product, MPI_COMM_WORLD) == MPI_SUCCESS);
    check("user-defined operation, not in rank order",
          all[0] == want[0] && all[1] == want[1] && all[2] == want[2] && all[3] == want[3]);
    check("user-defined operation was not called", size == 1 || calls_of_user > 0);

    check("a dense type", MPI_Reduce_local(a, b, 1, doubles, MPI_SUM) == MPI_SUCCESS && b[0] == 4 && b[1] == 6);
    check("in place at the last rank", is_summed_in_place(size));
    MPI_Op_free(&product);
    MPI_Type_free(&expected_type);
    MPI_Type_free(&mixed);
    MPI_Type_free(&doubles);
    MPI_Type_free(&floats);
    MPI_Type_free(&chars);
    MPI_Type_free(&uncommitted);
    long counts[2] = {passed, failed}, sum[2];
    MPI_Reduce(counts, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sum[0], sum[1]);
    MPI_Finalize();
    return failed != 0;
}
