/* MPI_THREAD_MULTIPLE: several threads make, commit, use and free types at once, each on its own communicator. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 200

struct job {
    pthread_t thread;
    MPI_Comm comm;
    int number, wrong;
};

static void *run(void *data)
{
    struct job *job = data;
    int rank, size, from[256], to[256];
    MPI_Comm_rank(job->comm, &rank);
    MPI_Comm_size(job->comm, &size);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Datatype type;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int displacements[16], lengths[16], right = (rank + 1) % size, left = (rank + size - 1) % size;
        for (int i = 0; i < 16; i++) {
            lengths[i] = 1 + (round + job->number) % 3;
            displacements[i] = i * (8 + round % 8);
        }
        MPI_Type_indexed(16, lengths, displacements, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < 256; i++) {
            from[i] = rank * 1000 + round + i;
            to[i] = -1;
        }
        MPI_Irecv(to, 1, type, left, 0, job->comm, &requests[0]);
        MPI_Isend(from, 1, type, right, 0, job->comm, &requests[1]);
        MPI_Type_free(&type); /* while the requests are pending */
        MPI_Waitall(2, requests, statuses);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < lengths[i]; j++)
                job->wrong += to[displacements[i] + j] != left * 1000 + round + displacements[i] + j;
        if (round % 50 == 0) { /* communicators come and go, too */
            MPI_Comm copy;
            MPI_Comm_dup(job->comm, &copy);
            MPI_Type_vector(4, 1, 3, MPI_INT, &type);
            MPI_Type_commit(&type);
            MPI_Bcast(to, 1, type, 0, copy);
            MPI_Type_free(&type);
            MPI_Comm_free(&copy);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct job jobs[THREADS];
    int provided, rank, wrong = 0, total = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < THREADS; i++) {
        jobs[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&jobs[i].thread, NULL, run, &jobs[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        wrong += jobs[i].wrong;
        MPI_Comm_free(&jobs[i].comm);
    }
    MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("threads: wrong %d\n", total);
    MPI_Finalize();
    return wrong != 0;
}
