/*
 * Attribute delete functions that use the communicator which is being freed, on all ranks alike; the next one often
 * has the same handle, and other ranks or another order of them. Argument `multiple`: at MPI_THREAD_MULTIPLE. Prints
 * `N passed, N failed` on rank 0.
 */
#include <stdio.h>
#include <string.h>

#include "harmless.h"

enum { ITEMS = 2000 };

static int op, seen;

/* Every number says from where it comes, and where it goes. */
static void alltoall(MPI_Comm comm, const char *what)
{
    int from[HL_MOST], to[HL_MOST], rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++) {
        from[i] = 100 * rank + i;
        to[i] = -1;
    }
    MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        hl_check(to[i] == 100 * i + rank, "MPI_Alltoall %s: %d from %d", what, to[i], i);
}

/* Blocks with gaps, each at a place of its own. */
static void alltoallw(MPI_Comm comm, const char *what)
{
    static int from[HL_MOST * 2 * ITEMS], to[HL_MOST * 2 * ITEMS];
    int counts[HL_MOST], places[HL_MOST], rank, size, wrong = 0;
    MPI_Datatype types[HL_MOST], column;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Type_vector(ITEMS, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = i * 2 * ITEMS * (int)sizeof(int);
        types[i] = column;
    }
    for (int i = 0; i < size * 2 * ITEMS; i++) {
        from[i] = 100 * rank + i / (2 * ITEMS);
        to[i] = -1;
    }
    MPI_Alltoallw(from, counts, places, types, to, counts, places, types, comm);
    for (int i = 0; i < size * 2 * ITEMS; i++)
        wrong += to[i] != (i % 2 ? -1 : 100 * (i / (2 * ITEMS)) + rank);
    hl_check(wrong == 0, "MPI_Alltoallw %s: %d wrong", what, wrong);
    MPI_Type_free(&column);
}

static void gather(MPI_Comm comm, const char *what)
{
    static struct hl_call call;
    memset(&call, 0, sizeof call);
    MPI_Comm_rank(comm, &call.rank);
    MPI_Comm_size(comm, &call.size);
    call.comm = comm;
    call.op = op % 2 ? HL_GATHER : HL_GATHERV;
    call.derived = op % 4 / 2;
    call.salt = hl_seed;
    for (int r = 0; r < call.size; r++)
        call.counts[r] = 10;
    hl_good_call(&call, what);
}

static void sums(MPI_Comm comm, const char *what)
{
    int own[HL_MOST], counts[HL_MOST], rank, size, sum = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++) {
        own[i] = i;
        counts[i] = 1;
    }
    MPI_Reduce_scatter(own, &sum, counts, MPI_INT, MPI_SUM, comm);
    hl_check(sum == rank * size, "MPI_Reduce_scatter %s: %d", what, sum);
    MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, comm);
    hl_check(sum == size * size, "MPI_Allreduce %s: %d", what, sum);
    MPI_Barrier(comm);
}

static void (*const uses[])(MPI_Comm, const char *) = {alltoall, alltoallw, gather, sums};
enum { USES = sizeof uses / sizeof *uses };

static int dies(MPI_Comm comm, int key, void *value, void *state)
{
    (void)key, (void)value, (void)state;
    seen++;
    uses[op % USES](comm, "of a communicator that is being freed");
    return MPI_SUCCESS;
}

/* Backwards, or without the last rank of all. */
static void next(int smaller)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, smaller && hl_rank == hl_size - 1, smaller ? hl_rank : -hl_rank, &comm);
    for (int use = 0; use < USES; use++)
        uses[use](comm, smaller ? "of the next, which is smaller" : "of the next, backwards");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int key, lives = 0;
    hl_start(&argc, &argv,
             argc > 1 && strcmp(argv[1], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, dies, &key, NULL);
    for (op = 0; op < 16; op++)
        for (int way = 0; way < 4; way++) {
            MPI_Comm comm;
            hl_at("a communicator that is being freed", op);
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            if (way >= 2) /* before the program's attribute there is one of a tool, perhaps */
                uses[op % USES](comm, "before");
            MPI_Comm_set_attr(comm, key, NULL);
            if (way == 3)
                uses[op / USES](comm, "with an attribute");
            if (op % 3 == 0)
                MPI_Comm_disconnect(&comm);
            else
                MPI_Comm_free(&comm);
            lives++;
            next(way % 2);
        }
    hl_check(seen == lives, "%d delete functions for %d communicators", seen, lives);
    MPI_Comm_free_keyval(&key);
    return hl_end();
}
