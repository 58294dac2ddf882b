/*
 * Thousands of types, one handle after the other, most of them freed after few uses and some used often: what is
 * packed and received is compared with a plain loop over the elements, and the number of each call is known, so that
 * run-lives can compare it with the statistics. One rank. Prints `N passed, N failed`, then the counts.
 *
 *   lives [threads]
 *
 * threads: by several at once, with nothing sent (MPICH 4.0.2 on UCX may die of that); 77: MPI does not let them.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES = 3000, LIVE = 40, ELEMENTS = 400, THREADS = 4, CROWD = 1000000 };

/* One thread's. */
struct work {
    int number, passed, failed;
    bool exchange;
    long commits, frees, packs, sizes, exchanges, others; /* others: sizes without a derived type */
};

struct life {
    MPI_Datatype type;
    int blocks, length, stride;
};

static void compare(struct work *w, const struct life *life, const int *source, const char *packed, int position)
{
    int at = 0, good = position == life->blocks * life->length * (int)sizeof(int);
    for (int b = 0; b < life->blocks; b++)
        for (int i = 0; i < life->length; i++, at += (int)sizeof(int))
            good = good && memcmp(packed + at, &source[b * life->stride + i], sizeof(int)) == 0;
    good ? w->passed++ : w->failed++;
}

static void use(struct work *w, const struct life *life, int number, const int *source)
{
    char packed[ELEMENTS * sizeof(int)];
    int position = 0, size, target[ELEMENTS];
    if (number % 5 == 0) {
        MPI_Pack_size(1, life->type, MPI_COMM_SELF, &size);
        w->sizes++;
        size >= life->blocks * life->length * (int)sizeof(int) ? w->passed++ : w->failed++;
    }
    if (w->exchange && number % 3 == 0) {
        memset(target, 0, sizeof target);
        MPI_Sendrecv(source, 1, life->type, 0, 7, target, 1, life->type, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        w->exchanges++;
        MPI_Pack(target, 1, life->type, packed, sizeof packed, &position, MPI_COMM_SELF);
    } else {
        MPI_Pack(source, 1, life->type, packed, sizeof packed, &position, MPI_COMM_SELF);
    }
    w->packs++;
    compare(w, life, source, packed, position);
}

static pthread_barrier_t all_there;

/* Short calls close upon each other: a count that two threads raise at once, each by itself, would be short. */
static void crowd(struct work *w, MPI_Datatype type)
{
    int size;
    for (int kind = 0; kind < 3; kind++) {
        pthread_barrier_wait(&all_there);
        for (int i = 0; i < CROWD; i++)
            if (kind == 0)
                MPI_Pack_size(1, MPI_INT, MPI_COMM_SELF, &size);
            else if (kind == 1)
                MPI_Pack_size(1, type, MPI_COMM_SELF, &size);
            else
                MPI_Type_commit(&type);
        *(kind == 0 ? &w->others : kind == 1 ? &w->sizes : &w->commits) += CROWD;
    }
}

static void *run(void *data)
{
    static const int often[] = {0, 1, 1, 1, 2, 3, 5, 6, 7, 8, 9, 17, 1, 1, 2, 300};
    struct work *w = data;
    struct life lives[LIVE] = {{0}};
    int source[ELEMENTS];
    unsigned turn = 12345 + (unsigned)w->number;
    for (int i = 0; i < ELEMENTS; i++)
        source[i] = 1 + i;
    for (int number = 0; number < TYPES; number++) {
        turn = turn * 1664525u + 1013904223u;
        struct life *life = &lives[turn >> 16 & 1 ? (turn >> 20) % LIVE : 0]; /* often the same handle */
        if (life->blocks > 0) {
            MPI_Type_free(&life->type);
            w->frees++;
        }
        life->blocks = 1 + (int)(turn >> 8) % 12;
        life->length = 1 + (int)(turn >> 12) % 5;
        life->stride = life->length + (int)(turn >> 18) % 20;
        MPI_Type_vector(life->blocks, life->length, life->stride, MPI_INT, &life->type);
        MPI_Type_commit(&life->type);
        w->commits++;
        if (number % 50 == 0) {
            MPI_Type_commit(&life->type); /* again */
            w->commits++;
        }
        for (int i = often[(turn >> 24) % (sizeof often / sizeof *often)]; i > 0; i--)
            use(w, life, number + i, source);
        struct life *other = &lives[(turn >> 5) % LIVE];
        if (other->blocks > 0)
            use(w, other, number, source);
    }
    if (!w->exchange)
        crowd(w, lives[0].type);
    for (int i = 0; i < LIVE; i++)
        if (lives[i].blocks > 0) {
            MPI_Type_free(&lives[i].type);
            w->frees++;
        }
    return NULL;
}

int main(int argc, char **argv)
{
    struct work work[THREADS] = {{0}}, all = {0};
    pthread_t thread[THREADS];
    int n = argc > 1 && strcmp(argv[1], "threads") == 0 ? THREADS : 1, provided;
    MPI_Init_thread(&argc, &argv, n > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (n > 1 && provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    pthread_barrier_init(&all_there, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        work[i].number = i;
        work[i].exchange = n == 1;
        if (i > 0 && pthread_create(&thread[i], NULL, run, &work[i]) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    run(&work[0]);
    for (int i = 0; i < n; i++) {
        if (i > 0)
            pthread_join(thread[i], NULL);
        all.passed += work[i].passed, all.failed += work[i].failed;
        all.commits += work[i].commits, all.frees += work[i].frees, all.packs += work[i].packs;
        all.sizes += work[i].sizes, all.exchanges += work[i].exchanges;
        all.others += work[i].others;
    }
    printf("%d passed, %d failed\n", all.passed, all.failed);
    printf("MPI_Type_commit %ld\nMPI_Type_free %ld\nMPI_Pack %ld\nMPI_Pack_size %ld\n", all.commits, all.frees,
           all.packs, all.sizes + all.others);
    if (all.exchanges > 0) /* what was not called is not listed */
        printf("MPI_Sendrecv %ld\n", all.exchanges);
    /* Each type once, however often it is committed; each side of each exchange is examined. */
    printf("types_registered %ld\ntypes_ended %ld\ncalls_examined %ld\nleft_passes %ld\n",
           all.frees, all.frees, all.packs + all.sizes + 2 * all.exchanges, all.sizes);
    MPI_Finalize();
    return all.failed != 0;
}
