/*
 * Thousands of types, one handle after the other, most of them freed after few uses and some used often: what is
 * packed and received is compared with a plain loop over the elements, and the number of each call is known, so that
 * run-lives can compare it with the statistics. One rank. Prints `N passed, N failed`, then the counts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES = 3000, LIVE = 40, ELEMENTS = 400 };

static int passed, failed;
static long commits, frees, packs, sizes, exchanges;

struct life {
    MPI_Datatype type;
    int blocks, length, stride;
};

static void compare(const struct life *life, const int *source, const char *packed, int position)
{
    int at = 0, good = position == life->blocks * life->length * (int)sizeof(int);
    for (int b = 0; b < life->blocks; b++)
        for (int i = 0; i < life->length; i++, at += (int)sizeof(int))
            good = good && memcmp(packed + at, &source[b * life->stride + i], sizeof(int)) == 0;
    good ? passed++ : failed++;
}

static void use(const struct life *life, int number, const int *source)
{
    char packed[ELEMENTS * sizeof(int)];
    int position = 0, size, target[ELEMENTS];
    if (number % 5 == 0) {
        MPI_Pack_size(1, life->type, MPI_COMM_SELF, &size);
        sizes++;
        size >= life->blocks * life->length * (int)sizeof(int) ? passed++ : failed++;
    }
    if (number % 3 == 0) {
        memset(target, 0, sizeof target);
        MPI_Sendrecv(source, 1, life->type, 0, 7, target, 1, life->type, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        exchanges++;
        MPI_Pack(target, 1, life->type, packed, sizeof packed, &position, MPI_COMM_SELF);
    } else {
        MPI_Pack(source, 1, life->type, packed, sizeof packed, &position, MPI_COMM_SELF);
    }
    packs++;
    compare(life, source, packed, position);
}

int main(int argc, char **argv)
{
    static const int often[] = {0, 1, 1, 1, 2, 3, 5, 6, 7, 8, 9, 17, 1, 1, 2, 300};
    struct life lives[LIVE] = {{0}};
    int source[ELEMENTS];
    unsigned turn = 12345;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < ELEMENTS; i++)
        source[i] = 1 + i;
    for (int number = 0; number < TYPES; number++) {
        turn = turn * 1664525u + 1013904223u;
        struct life *life = &lives[turn >> 16 & 1 ? (turn >> 20) % LIVE : 0]; /* often the same handle */
        if (life->blocks > 0) {
            MPI_Type_free(&life->type);
            frees++;
        }
        life->blocks = 1 + (int)(turn >> 8) % 12;
        life->length = 1 + (int)(turn >> 12) % 5;
        life->stride = life->length + (int)(turn >> 18) % 20;
        MPI_Type_vector(life->blocks, life->length, life->stride, MPI_INT, &life->type);
        MPI_Type_commit(&life->type);
        commits++;
        if (number % 50 == 0) {
            MPI_Type_commit(&life->type); /* again */
            commits++;
        }
        for (int i = often[(turn >> 24) % (sizeof often / sizeof *often)]; i > 0; i--)
            use(life, number + i, source);
        struct life *other = &lives[(turn >> 5) % LIVE];
        if (other->blocks > 0)
            use(other, number, source);
    }
    for (int i = 0; i < LIVE; i++)
        if (lives[i].blocks > 0) {
            MPI_Type_free(&lives[i].type);
            frees++;
        }
    printf("%d passed, %d failed\n", passed, failed);
    printf("MPI_Type_commit %ld\nMPI_Type_free %ld\nMPI_Pack %ld\nMPI_Pack_size %ld\nMPI_Sendrecv %ld\n", commits,
           frees, packs, sizes, exchanges);
    /* Each type once; each side of each exchange is examined. */
    printf("types_registered %ld\ntypes_ended %ld\ncalls_examined %ld\nleft_passes %ld\n", frees, frees,
           packs + sizes + 2 * exchanges, sizes);
    MPI_Finalize();
    return failed != 0;
}
