/*
 * Communicators by the thousand, of all kinds, with some gathers and barriers on each: freed at once, later, in
 * another order, by MPI_Comm_disconnect, or left. MPICH has some two thousand at a time, so that one that is kept
 * anywhere shows. Arguments: how many (1000), gathers on each (5). Prints `N passed, N failed` on rank 0.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harmless.h"

enum { HELD = 20, LEFT = 5, KINDS = 9 };

static MPI_Comm make(int kind, uint64_t *state)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group all, some;
    MPI_Request request;
    MPI_Info info;
    int ranks[HL_MOST], n = 0, periodic = 1, colour = (int)hl_random(state, 2);
    switch (kind) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        break;
    case 1: /* backwards */
        MPI_Comm_split(MPI_COMM_WORLD, 0, -hl_rank, &comm);
        break;
    case 2: /* two of them, or some ranks without */
        MPI_Comm_split(MPI_COMM_WORLD, hl_rank % 2 == colour ? 1 : colour ? MPI_UNDEFINED : 2, hl_rank, &comm);
        break;
    case 3:
    case 4:
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        for (int r = 0; r < hl_size; r++)
            if (hl_random(state, 3))
                ranks[n++] = r;
        MPI_Group_incl(all, n, ranks, &some);
        MPI_Group_rank(some, &n);
        if (kind == 3)
            MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
        else if (n != MPI_UNDEFINED)
            MPI_Comm_create_group(MPI_COMM_WORLD, some, 17, &comm);
        MPI_Group_free(&some);
        MPI_Group_free(&all);
        break;
    case 5:
        MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 6:
        MPI_Cart_create(MPI_COMM_WORLD, 1, &hl_size, &periodic, 1, &comm);
        break;
    case 7:
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
        break;
    default:
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
        MPI_Info_free(&info);
        break;
    }
    return comm;
}

/* The numbers depend on the communicator's number alone: members need not be all ranks. */
static void use(MPI_Comm comm, int number, int calls)
{
    static struct hl_call call;
    uint64_t state = hl_hash(hl_seed + (uint64_t)number * 17);
    int sum = -1;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &call.rank);
    MPI_Comm_size(comm, &call.size);
    call.comm = comm;
    for (int k = 0; k < calls; k++) {
        call.op = (enum hl_op)hl_random(&state, HL_OPS);
        call.root = (int)hl_random(&state, 4) % call.size;
        call.salt = state;
        for (int r = 0; r < call.size; r++)
            call.counts[r] = call.op < HL_GATHER ? 2 * (int)hl_random(&state, 30) : 10;
        hl_good_call(&call, "a communicator of many");
        if (k % 4 == 1)
            MPI_Barrier(comm);
        if (k % 4 == 3) {
            MPI_Allreduce(&k, &sum, 1, MPI_INT, MPI_SUM, comm);
            hl_check(sum == k * call.size, "a sum on a communicator of many");
        }
    }
}

int main(int argc, char **argv)
{
    int many = argc > 1 ? atoi(argv[1]) : 1000, calls = argc > 2 ? atoi(argv[2]) : 5;
    MPI_Comm held[HELD];
    for (int i = 0; i < HELD; i++)
        held[i] = MPI_COMM_NULL;
    hl_start(&argc, &argv, MPI_THREAD_SINGLE);
    uint64_t state = hl_seed;
    for (int n = 0; n < many; n++) {
        int at = (int)hl_random(&state, HELD), kind = (int)hl_random(&state, KINDS);
        hl_at("a communicator of many", n);
        /* Some live on, and are used again. */
        if (hl_random(&state, 3) == 0)
            use(held[at], n + many, calls);
        if (held[at] != MPI_COMM_NULL && n % 5 == 0)
            MPI_Comm_disconnect(&held[at]);
        else if (held[at] != MPI_COMM_NULL)
            MPI_Comm_free(&held[at]);
        held[at] = make(kind, &state);
        use(held[at], n, calls);
    }
    for (int i = LEFT; i < HELD; i++)
        if (held[i] != MPI_COMM_NULL)
            MPI_Comm_free(&held[i]);
    return hl_end();
}
