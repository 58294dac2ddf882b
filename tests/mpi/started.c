/*
 * Persistent messages whose requests are made before any other use of their types, as programs make them before their
 * time steps, and of types that are freed at once: lists of 400 bytes to 160 kB. They are started again and again,
 * with other data each time. With the argument `soon`: requests that are started once each, and freed.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { LONGEST = 20000, STRIDE = 5, TIMES = 12 };

static double from[LONGEST * STRIDE], to[LONGEST * STRIDE];

static MPI_Datatype list(int n)
{
    static int at[LONGEST];
    MPI_Datatype type;

    for (int i = 0; i < n; i++)
        at[i] = i * 3 + i % 3 + i * i % 7 % 2;
    CK(MPI_Type_create_indexed_block(n, 1, at, MPI_DOUBLE, &type));
    CK(MPI_Type_commit(&type));
    return type;
}

static void started(int n)
{
    const int next = (prog.me + 1) % prog.ranks, last = (prog.me + prog.ranks - 1) % prog.ranks;
    MPI_Datatype type = list(n);
    MPI_Request r[2];
    MPI_Status status[2];
    int count;

    CK(MPI_Recv_init(to, 1, type, last, n, prog.comm, &r[0]));
    CK(MPI_Send_init(from, 1, type, next, n, prog.comm, &r[1]));
    CK(MPI_Type_free(&type));
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < n * STRIDE; i++) {
            from[i] = i + 1e6 * prog.me + 1e-3 * t;
            to[i] = -1 - t;
        }
        if (t % 2 == 0) {
            CK(MPI_Startall(2, r));
            CK(MPI_Waitall(2, r, status));
        } else {
            CK(MPI_Start(&r[0]));
            CK(MPI_Start(&r[1]));
            CK(MPI_Wait(&r[1], &status[1]));
            CK(MPI_Wait(&r[0], &status[0]));
        }
        CK(MPI_Get_count(&status[0], MPI_DOUBLE, &count));
        check_value(NULL, "started", "count", count);
        check_bytes(NULL, "started", "received", to, (size_t)n * STRIDE * sizeof *to);
    }
    for (int i = 0; i < 2; i++)
        CK(MPI_Request_free(&r[i]));
}

/* Of rows of three bytes, which are far better packed on whatever processor: MPI copies them byte by byte. */
static void freed_soon(int lives)
{
    enum { ROWS = 2500, ROW = 3, APART = 5 };
    const int next = (prog.me + 1) % prog.ranks, last = (prog.me + prog.ranks - 1) % prog.ranks;
    MPI_Datatype type;
    MPI_Request r[2];
    MPI_Status status[2];

    CK(MPI_Type_vector(ROWS, ROW, APART, MPI_CHAR, &type));
    CK(MPI_Type_commit(&type));
    for (int life = 0; life < lives; life++) {
        fill_bytes(from, ROWS * APART, mix(prog.seed, (uint64_t)(100 * prog.me + life)));
        memset(to, 0x55, ROWS * APART);
        CK(MPI_Recv_init(to, 1, type, last, 3, prog.comm, &r[0]));
        CK(MPI_Send_init(from, 1, type, next, 3, prog.comm, &r[1]));
        CK(MPI_Startall(2, r));
        CK(MPI_Waitall(2, r, status));
        for (int i = 0; i < 2; i++)
            CK(MPI_Request_free(&r[i]));
        check_bytes(NULL, "freed soon", "received", to, ROWS * APART);
    }
    CK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    static const int lengths[] = {50, 500, 1000, 3750, LONGEST};

    prog_start(&argc, &argv, 0);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "soon") == 0) {
            freed_soon(100);
            return prog_end("started");
        }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        started(lengths[i]);
    return prog_end("started");
}
