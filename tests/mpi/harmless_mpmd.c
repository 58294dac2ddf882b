/*
 * The calls of tests/fortran/harmless_body.inc in C, so that some ranks of a run are this program and others a
 * Fortran one. Prints `N passed, N failed` where it is rank 0.
 */
#include <stdio.h>

#include "harmless.h"

enum { ROUNDS = 200 };

int main(int argc, char **argv)
{
    int me, np, passed = 0, failed = 0, counts[HL_MOST], displs[HL_MOST], own[8], all[HL_MOST * 8], got[8];
    MPI_Comm comm;
    hl_watch();
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &np);
    hl_rank = me;
#define CHECK(good) (*((good) ? &passed : &failed) += 1)
    for (int k = 1; k <= ROUNDS; k++) {
        int root = k / 7 % np, class = 0;
        hl_at("a round with Fortran", k);
        for (int r = 0; r < np; r++)
            counts[r] = 1 + (r + k / 5) % 4, displs[r] = 5 * r;
        for (int i = 0; i < 8; i++)
            own[i] = me * 1000000 + k * 100 + i + 1, got[i] = -1;
        for (int i = 0; i < HL_MOST * 8; i++)
            all[i] = -1;
        if (k % 13 == 7 && me == k % np) {
            class = hl_class(MPI_Gatherv(own, -1, MPI_INT, all, counts, displs, MPI_INT, root, comm));
            CHECK(class == MPI_ERR_COUNT);
        }
        for (int i = 0; me == root && k % 11 == 3 && i < counts[me]; i++)
            all[displs[me] + i] = own[i];
        MPI_Gatherv(me == root && k % 11 == 3 ? MPI_IN_PLACE : own, counts[me], MPI_INT, all, counts, displs,
                    MPI_INT, root, comm);
        for (int i = 0; me == root && i < 5 * np; i++)
            CHECK(all[i] == (i % 5 < counts[i / 5] ? i / 5 * 1000000 + k * 100 + i % 5 + 1 : -1));
        MPI_Scatterv(all, counts, displs, MPI_INT, got, counts[me], MPI_INT, root, comm);
        for (int i = 0; i < 8; i++)
            CHECK(got[i] == (i < counts[me] ? own[i] : -1));
        if (k % 2 == 0) {
            MPI_Gather(own, 3, MPI_INT, all, 3, MPI_INT, root, comm);
            for (int i = 0; me == root && i < 3 * np; i++)
                CHECK(all[i] == i / 3 * 1000000 + k * 100 + i % 3 + 1);
            MPI_Scatter(all, 3, MPI_INT, got, 3, MPI_INT, root, comm);
            for (int i = 0; i < 3; i++)
                CHECK(got[i] == own[i]);
        }
        if (k % 3 == 0)
            MPI_Barrier(comm);
        if (k % 5 == 0) {
            int one = me + k, total = 0;
            MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, comm);
            CHECK(total == np * (np - 1) / 2 + np * k);
        }
    }
    int both[2] = {passed, failed}, sums[2];
    hl_at("the end of a run with Fortran", 0);
    MPI_Comm_free(&comm);
    MPI_Reduce(both, sums, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    if (me == 0)
        printf("%d passed, %d failed\n", sums[0], sums[1]);
    return failed != 0;
}
