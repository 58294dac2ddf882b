/*
 * Gathers and scatters on communicators of all kinds and fates: made, used and freed more often than MPICH has
 * context ids (so that one private communicator that is kept ends in an error), freed by MPI_Comm_disconnect, many at
 * once, intercommunicators, communicators of a session, error handlers of the program, several threads with a
 * communicator each. Arguments: rounds of making and freeing, and `left` to leave some communicators to MPI_Finalize,
 * `threads` for the threads alone. Prints `N passed, N failed` on rank 0.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, EACH = 3, MANY = 30, THREADS = 3 };

static int rank, size, handled;
static MPI_Comm handled_on;
static atomic_long passed, failed;

static void check(const char *what, int good)
{
    if (good)
        atomic_fetch_add(&passed, 1);
    else if (atomic_fetch_add(&failed, 1) < 10)
        printf("rank %d: %s\n", rank, what);
}

/* One gather and one scatter; block r has EACH + (r + salt) % 2 ints. */
static void both(MPI_Comm comm, int root, int salt, const char *what)
{
    int me, n, own[EACH + 1], all[MOST * (EACH + 1)], counts[MOST], displs[MOST], good = 1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int r = 0; r < n; r++)
        counts[r] = EACH + (r + salt) % 2, displs[r] = r * (EACH + 1);
    for (int i = 0; i < counts[me]; i++)
        own[i] = 1000 * salt + 10 * me + i;
    memset(all, 0xff, sizeof all);
    good = MPI_Gatherv(own, counts[me], MPI_INT, all, counts, displs, MPI_INT, root, comm) == MPI_SUCCESS;
    for (int r = 0; me == root && r < n; r++)
        for (int i = 0; i <= EACH; i++)
            good = good && all[displs[r] + i] == (i < counts[r] ? 1000 * salt + 10 * r + i : -1);
    memset(own, 0, sizeof own);
    good = MPI_Scatterv(all, counts, displs, MPI_INT, own, counts[me], MPI_INT, root, comm) == MPI_SUCCESS && good;
    for (int i = 0; i < counts[me]; i++)
        good = good && own[i] == 1000 * salt + 10 * me + i;
    check(what, good);
    MPI_Barrier(comm);
}

static void made_and_freed(int rounds)
{
    for (int k = 0; k < rounds; k++) {
        MPI_Comm comm;
        if (MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS) {
            check("no communicator left", 0);
            return;
        }
        for (int call = 0; call < 3; call++)
            both(comm, k % size, call == 2, "a communicator made again");
        if (k % 3 == 0)
            MPI_Comm_disconnect(&comm);
        else
            MPI_Comm_free(&comm);
    }
}

static void many_at_once(void)
{
    MPI_Comm comms[MANY];
    for (int k = 0; k < MANY; k++)
        MPI_Comm_split(MPI_COMM_WORLD, 0, k % 2 ? -rank : rank, &comms[k]);
    for (int call = 0; call < 4; call++)
        for (int k = 0; k < MANY; k++)
            both(comms[k], (k + call / 2) % size, call, "many communicators");
    for (int k = MANY - 1; k >= 0; k--)
        MPI_Comm_free(&comms[k]);
}

/* The low half gathers from the high half at its rank 0. */
static void between_groups(void)
{
    MPI_Comm half, inter;
    int low = rank < size / 2, own = 7 * rank, all[MOST], counts[MOST], displs[MOST], good = 1;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 5, &inter);
    for (int r = 0; r < MOST; r++)
        counts[r] = 1, displs[r] = r, all[r] = -1;
    for (int call = 0; call < 4; call++) {
        int root = !low ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        MPI_Gatherv(&own, 1, MPI_INT, all, counts, displs, MPI_INT, root, inter);
        for (int r = size / 2; rank == 0 && r < size; r++)
            good = good && all[r - size / 2] == 7 * r;
    }
    check("an intercommunicator", good);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    if (class == MPI_ERR_TRUNCATE)
        handled++;
    handled_on = *comm;
}

static void error_handlers(void)
{
    MPI_Comm comm;
    MPI_Errhandler own;
    int block[4] = {1, 2, 3, 4}, all[4 * MOST], counts[MOST], displs[MOST];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(comm, own);
    for (int call = 0; call < 5; call++) {
        for (int r = 0; r < size; r++)
            counts[r] = call == 3 && r == size - 1 ? 1 : 2, displs[r] = 4 * r;
        int rc = MPI_Gatherv(block, 2, MPI_INT, all, counts, displs, MPI_INT, 0, comm);
        check("the error code", (rc != MPI_SUCCESS) == (call == 3 && rank == 0));
    }
    check("calls of the error handler", handled == (rank == 0) && (rank > 0 || handled_on == comm));
    MPI_Errhandler_free(&own);
    MPI_Comm_free(&comm);
}

static void session(void)
{
    MPI_Session s;
    MPI_Group group;
    MPI_Comm comm;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) != MPI_SUCCESS)
        return;
    if (MPI_Group_from_session_pset(s, "mpi://WORLD", &group) == MPI_SUCCESS) {
        if (MPI_Comm_create_from_group(group, "org.espalier.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
            MPI_SUCCESS) {
            for (int call = 0; call < 5; call++)
                both(comm, 1, call / 3, "a communicator of a session");
            MPI_Comm_free(&comm);
        }
        MPI_Group_free(&group);
    }
    MPI_Session_finalize(&s);
}

static void *one_thread(void *of)
{
    MPI_Comm comm = *(MPI_Comm *)of;
    for (int call = 0; call < 60; call++)
        both(comm, call / 20 % size, call / 7 % 2, "a communicator of a thread");
    return NULL;
}

static void threads(void)
{
    MPI_Comm comms[THREADS];
    pthread_t thread[THREADS];
    for (int k = 0; k < THREADS; k++)
        MPI_Comm_split(MPI_COMM_WORLD, 0, k == 1 ? -rank : rank, &comms[k]);
    for (int k = 0; k < THREADS; k++)
        if (pthread_create(&thread[k], NULL, one_thread, &comms[k]))
            MPI_Abort(MPI_COMM_WORLD, 3);
    for (int k = 0; k < THREADS; k++)
        pthread_join(thread[k], NULL);
    for (int k = 0; k < THREADS; k++)
        MPI_Comm_free(&comms[k]);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20, level;
    int left = argc > 2 && strcmp(argv[2], "left") == 0, only = argc > 2 && strcmp(argv[2], "threads") == 0;
    MPI_Init_thread(&argc, &argv, only ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (only && level == MPI_THREAD_MULTIPLE) {
        for (int k = 0; k < rounds; k++)
            threads();
    } else {
        made_and_freed(rounds);
        many_at_once();
        between_groups();
        error_handlers();
        session();
    }
    for (int k = 0; left && k < 3; k++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int call = 0; call < 4; call++)
            both(comm, 0, 0, "a communicator that is never freed");
    }
    long sums[2], tally[2] = {passed, failed};
    MPI_Reduce(tally, sums, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sums[0], sums[1]);
    MPI_Finalize();
    return failed != 0;
}
