/*
 * MPI_THREAD_MULTIPLE: types that one thread uses while others commit them once more, which MPI allows at any time;
 * made of doubles, and over a type of MPI's own (MPI_Type_create_f90_real). Then types that all threads commit for
 * the first time at once, and use: each is one type. Prints `N passed, N failed`.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 3000, STEP = 9, LIVES = 60, USES = 60, OTHERS = 2, FIRST = 20000 };

static MPI_Datatype type;
static int at[BLOCKS];
static double from[BLOCKS * STEP], onto[BLOCKS * STEP];
static atomic_bool in_use, over;
static pthread_barrier_t step;

/* The type is there; and is used no more. */
static void meet(void)
{
    pthread_barrier_wait(&step);
}

static void *commit(void *unused)
{
    for (;;) {
        meet();
        if (atomic_load(&over))
            return unused;
        while (atomic_load(&in_use))
            MPI_Type_commit(&type);
        meet();
    }
}

static MPI_Datatype list(int life)
{
    MPI_Datatype base = MPI_DOUBLE, made;
    int place = 0;

    if (life % 2)
        MPI_Type_create_f90_real(15, 300, &base);
    for (int i = 0; i < BLOCKS; i++) {
        at[i] = place;
        place += 2 + (i * i + life * i) % 7;
    }
    MPI_Type_create_indexed_block(BLOCKS, 1, at, base, &made);
    MPI_Type_commit(&made);
    return made;
}

static void use(int life)
{
    MPI_Request request[2];
    MPI_Status status[2];

    for (int i = 0; i < BLOCKS * STEP; i++) {
        from[i] = i + life;
        onto[i] = -1;
    }
    MPI_Irecv(onto, 1, type, 0, 0, MPI_COMM_SELF, &request[0]);
    MPI_Isend(from, 1, type, 0, 0, MPI_COMM_SELF, &request[1]);
    MPI_Waitall(2, request, status);
}

static void *commit_first(void *unused)
{
    double packed[BLOCKS];

    for (int life = 0; life < FIRST; life++) {
        MPI_Datatype mine;
        int place = 0;
        meet();
        mine = type;
        MPI_Type_commit(&mine);
        MPI_Pack(from, 1, mine, packed, sizeof packed, &place, MPI_COMM_SELF);
        meet();
    }
    return unused;
}

static void first_commits(void)
{
    pthread_t others[OTHERS];

    for (int i = 0; i < OTHERS; i++)
        pthread_create(&others[i], NULL, commit_first, NULL);
    for (int life = 0; life < FIRST; life++) {
        MPI_Type_vector(10, 1, 2 + life % 5, MPI_DOUBLE, &type);
        meet();
        MPI_Type_commit(&type);
        meet();
        MPI_Type_free(&type);
    }
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
}

int main(int argc, char **argv)
{
    pthread_t others[OTHERS];
    int have, passed = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &have);
    pthread_barrier_init(&step, NULL, OTHERS + 1);
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&others[i], NULL, commit, NULL);
    for (int life = 0; life < LIVES; life++) {
        int good = 1;
        type = list(life);
        atomic_store(&in_use, true);
        meet();
        for (int i = 0; i < USES; i++)
            use(life);
        atomic_store(&in_use, false);
        meet();
        for (int i = 0; i < BLOCKS; i++)
            good = good && onto[at[i]] == at[i] + life && onto[at[i] + 1] == -1;
        passed += good;
        MPI_Type_free(&type);
    }
    atomic_store(&over, true);
    meet();
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
    first_commits();
    printf("%d passed, %d failed\n", passed, LIVES - passed);
    MPI_Finalize();
    return passed != LIVES;
}
