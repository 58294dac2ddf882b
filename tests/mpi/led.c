/*
 * Messages, MPI_Pack and MPI_Unpack of threads that call MPI at the same time, with types that they share, so that
 * one leads and finds out what is better for it (src/base/overlap.h) while the others go on; then that one ends, and
 * others come. Requests of one thread are completed by another, too. What arrives is compared with what was sent, and
 * what lies between with what was there.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bytes.h"

enum { THREADS = 2, LIVES = 3, ROUNDS = 200, HANDED = 25, TYPES = 7, DOUBLES = 2600, STRIDE = 5 };
enum { ROOM = DOUBLES * STRIDE };

static int length[TYPES] = {40, 60, 300, 900, 1100, 1700, 2500}; /* the last three go in parts */
static MPI_Datatype type[TYPES];
static int place[TYPES][DOUBLES]; /* of each element */

struct worker {
    int number, wrong;
    MPI_Comm comm;
    double *from, *to, *packed;
    MPI_Request handed[2];
    MPI_Status status[2];
    struct worker *other;
    pthread_barrier_t *together;
};

static void make_types(void)
{
    for (int t = 0; t < TYPES; t++) {
        for (int i = 0; i < length[t]; i++)
            place[t][i] = t % 2 ? 4 * i + i * i % 7 % 3 : STRIDE * i;
        if (t % 2)
            CK(MPI_Type_create_indexed_block(length[t], 1, place[t], MPI_DOUBLE, &type[t]));
        else
            CK(MPI_Type_vector(length[t], 1, STRIDE, MPI_DOUBLE, &type[t]));
        CK(MPI_Type_commit(&type[t]));
    }
}

/* What a rank's thread sends in a round, at a place. */
static double value(const struct worker *w, int rank, int round, int at)
{
    return 1e7 * (rank + 1) + 1e6 * w->number + 16 * at + round % 16;
}

static void fill(struct worker *w, int t, int round)
{
    for (int i = 0; i < length[t] * STRIDE; i++) {
        w->from[i] = value(w, prog.me, round, i);
        w->to[i] = -1 - round;
    }
}

/* Whether data of that rank arrived, and nothing else. */
static void look(struct worker *w, int t, int round, int rank)
{
    int element = 0;

    for (int i = 0; i < length[t] * STRIDE; i++) {
        const bool there = element < length[t] && place[t][element] == i;
        w->wrong += w->to[i] != (there ? value(w, rank, round, i) : -1 - round);
        w->to[i] = -1 - round;
        element += there;
    }
}

static void one_round(struct worker *w, int t, int round)
{
    const int peer = 1 - prog.me;
    MPI_Request request[2];
    MPI_Status status[2];
    int at = 0;

    fill(w, t, round);
    if (prog.me == 0)
        CK(MPI_Send(w->from, 1, type[t], peer, 0, w->comm));
    CK(MPI_Recv(w->to, 1, type[t], peer, 0, w->comm, MPI_STATUS_IGNORE));
    look(w, t, round, peer);
    if (prog.me == 1)
        CK(MPI_Send(w->from, 1, type[t], peer, 0, w->comm));
    CK(MPI_Sendrecv(w->from, 1, type[t], peer, 1, w->to, 1, type[t], peer, 1, w->comm, &status[0]));
    look(w, t, round, peer);
    CK(MPI_Irecv(w->to, 1, type[t], peer, 2, w->comm, &request[0]));
    CK(MPI_Isend(w->from, 1, type[t], peer, 2, w->comm, &request[1]));
    CK(MPI_Waitall(2, request, status));
    look(w, t, round, peer);
    CK(MPI_Pack(w->from, 1, type[t], w->packed, ROOM * (int)sizeof(double), &at, w->comm));
    at = 0;
    CK(MPI_Unpack(w->packed, ROOM * (int)sizeof(double), &at, w->to, 1, type[t], w->comm));
    look(w, t, round, prog.me);
}

/* Each completes the requests of the other thread. */
static void hand_over(struct worker *w, int t, int round)
{
    const int peer = 1 - prog.me;

    fill(w, t, round);
    CK(MPI_Irecv(w->to, 1, type[t], peer, 3, w->comm, &w->handed[0]));
    CK(MPI_Isend(w->from, 1, type[t], peer, 3, w->comm, &w->handed[1]));
    pthread_barrier_wait(w->together);
    CK(MPI_Waitall(2, w->other->handed, w->other->status));
    pthread_barrier_wait(w->together);
    look(w, t, round, peer);
}

static void *work(void *of)
{
    struct worker *w = of;

    for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < TYPES; t++)
            one_round(w, t, round);
        if (round % HANDED == 0)
            hand_over(w, round / HANDED % TYPES, round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_barrier_t together;
    int wrong = 0;

    prog_start(&argc, &argv, 1);
    make_types();
    pthread_barrier_init(&together, NULL, THREADS);
    for (int life = 0; life < LIVES; life++) {
        struct worker worker[THREADS];
        pthread_t thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            worker[i] = (struct worker){.number = i, .other = &worker[1 - i], .together = &together};
            worker[i].from = malloc(ROOM * sizeof(double));
            worker[i].to = malloc(ROOM * sizeof(double));
            worker[i].packed = malloc(ROOM * sizeof(double));
            CK(MPI_Comm_dup(MPI_COMM_WORLD, &worker[i].comm));
        }
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&thread[i], NULL, work, &worker[i]) != 0)
                MPI_Abort(MPI_COMM_WORLD, 2);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(thread[i], NULL);
            wrong += worker[i].wrong;
            CK(MPI_Comm_free(&worker[i].comm));
            free(worker[i].from);
            free(worker[i].to);
            free(worker[i].packed);
        }
    }
    for (int t = 0; t < TYPES; t++)
        CK(MPI_Type_free(&type[t]));
    check_value(NULL, "led", "wrong", wrong);
    prog.failures += wrong;
    return prog_end("led");
}
