/*
 * Sessions: gathers on communicators made from groups, without MPI_Init and beside it; sessions and communicators
 * that are made again and again. Arguments: rounds (10), `world` to call MPI_Init as well. Prints `N passed, N
 * failed` on rank 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harmless.h"

static struct hl_call call;

static void use(MPI_Comm comm, int number)
{
    uint64_t state = hl_hash((uint64_t)number);
    MPI_Comm_rank(comm, &call.rank);
    MPI_Comm_size(comm, &call.size);
    call.comm = comm;
    for (int k = 0; k < 12; k++) {
        hl_at("a session", number * 100 + k);
        call.op = (enum hl_op)hl_random(&state, HL_OPS);
        call.root = number % call.size;
        call.salt = state;
        for (int r = 0; r < call.size; r++)
            call.counts[r] = call.op < HL_GATHER ? 2 * (int)hl_random(&state, 30) : 10;
        hl_good_call(&call, "a session");
        if (k % 5 == 2)
            MPI_Barrier(comm);
    }
}

static int one_round(int round)
{
    MPI_Session session;
    MPI_Group group, odd;
    MPI_Comm comm, of_odd, copy;
    int rc = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), size, ranks[HL_MOST], n = 0, me;
    if (rc != MPI_SUCCESS || MPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS)
        return 0;
    MPI_Group_size(group, &size);
    MPI_Group_rank(group, &me);
    rc = MPI_Comm_create_from_group(group, "org.espalier.harmless", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    hl_check(rc == MPI_SUCCESS, "a communicator from a group");
    if (rc == MPI_SUCCESS) {
        use(comm, 10 * round);
        MPI_Comm_dup(comm, &copy);
        use(copy, 10 * round + 1);
        for (int r = 1; r < size; r += 2)
            ranks[n++] = r;
        MPI_Group_incl(group, n, ranks, &odd);
        if (me % 2 == 1 && MPI_Comm_create_from_group(odd, "org.espalier.harmless.odd", MPI_INFO_NULL,
                                                      MPI_ERRORS_RETURN, &of_odd) == MPI_SUCCESS) {
            use(of_odd, 10 * round + 2);
            MPI_Comm_free(&of_odd);
        }
        MPI_Group_free(&odd);
        MPI_Comm_free(&comm);
        use(copy, 10 * round + 3);
        MPI_Comm_free(&copy);
    }
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return 1;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10, world = argc > 2 && strcmp(argv[2], "world") == 0, lived = 0;
    const char *rank = getenv("PMI_RANK");
    MPI_Session whole;
    if (world) {
        hl_start(&argc, &argv, MPI_THREAD_SINGLE);
    } else {
        hl_watch();
        hl_rank = rank ? atoi(rank) : 0;
        /* MPICH 4.0.2 does not live through a second start. */
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &whole);
    }
    for (int round = 0; round < rounds; round++) {
        lived += one_round(round);
        if (world)
            use(MPI_COMM_WORLD, 1000 + round);
    }
    hl_check(lived == rounds, "%d sessions of %d", lived, rounds);
    hl_release(&call);
    if (!world)
        MPI_Session_finalize(&whole);
    return world ? hl_end() : hl_end_alone();
}
