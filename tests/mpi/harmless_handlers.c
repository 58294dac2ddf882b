/*
 * MPI_THREAD_MULTIPLE: a thread makes communicators and uses a derived type on each, while another one sets the error
 * handlers of MPI_COMM_WORLD and MPI_COMM_SELF, finds them set, and has errors for them. Argument: rounds (2000).
 * Prints `N passed, N failed` on rank 0.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "harmless.h"

static atomic_int stop;
static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static void *communicators(void *vector)
{
    int data[64], got[64];
    for (int k = 0; !atomic_load(&stop); k++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        for (int i = 0; i < 64; i++)
            data[i] = k + i, got[i] = -1;
        for (int n = 0; n < 2; n++)
            MPI_Sendrecv(data, 1, *(MPI_Datatype *)vector, 0, 0, got, 32, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
        hl_check(got[0] == k && got[31] == k + 62, "a message to oneself, %d", k);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 2000, data = 0, expected = 0;
    const MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Datatype vector;
    MPI_Errhandler own;
    pthread_t thread;
    hl_start(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_Type_vector(32, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Comm_create_errhandler(handler, &own);
    if (pthread_create(&thread, NULL, communicators, &vector))
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int k = 0; k < rounds; k++) {
        MPI_Comm comm = comms[k % 2];
        MPI_Errhandler set = k % 3 == 0 ? MPI_ERRORS_ARE_FATAL : k % 3 == 1 ? MPI_ERRORS_RETURN : own, is;
        hl_at("an error handler is set", k);
        MPI_Comm_set_errhandler(comm, set);
        usleep((unsigned)k % 50); /* time for the other thread */
        MPI_Comm_get_errhandler(comm, &is);
        hl_check(is == set, "another error handler, %d", k);
        if (is != MPI_ERRORS_ARE_FATAL && is != MPI_ERRORS_RETURN)
            MPI_Errhandler_free(&is);
        if (k % 3 == 0)
            continue;
        expected += k % 3 == 2;
        hl_check(hl_class(MPI_Send(&data, 1, MPI_INT, -77, 0, comm)) == MPI_ERR_RANK, "no error, %d", k);
        hl_check(handled == expected, "the handler was called %d times, %d", handled, k);
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own);
    MPI_Type_free(&vector);
    return hl_end();
}
