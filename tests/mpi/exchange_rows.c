/*
 * Long blocks of MPI_Alltoallw on one node (tests/mpi/exchange.c has the short ones): rows that are long, or not so
 * long, on either side, in blocks of many pieces, which are read where they lie, or sent while the own block goes
 * along. With TEST_SEALED in the environment no process can read another one's memory.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "bytes.h"

enum { RANKS_MOST = 16 };

/* A system in which no process reads another one's memory, as containers may be: for the library, too, from
   the start on. */
static void seal(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0), /* which UCX tries before it reads */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
    };
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(77);
}

/* `n` bytes in rows, with gaps of half as many; the last row may be shorter. */
static MPI_Datatype make_type(int n, int row)
{
    const int one[2] = {1, n % row};
    const MPI_Aint places[2] = {0, (MPI_Aint)(n / row) * (row + row / 2)};
    MPI_Datatype type, parts[2] = {MPI_BYTE, MPI_BYTE};

    CK(MPI_Type_create_hvector(n / row, row, row + row / 2, MPI_BYTE, &parts[0]));
    CK(MPI_Type_create_struct(2, one, places, parts, &type));
    CK(MPI_Type_commit(&type));
    MPI_Type_free(&parts[0]);
    return type;
}

/* All pairs of layouts. */
static void rows(int n)
{
    static const int row[] = {8, 128, 400, 1024, 4096, 20000};
    enum { ROWS = sizeof row / sizeof *row };
    const size_t room = 4 * (size_t)n + 64, all = room * (size_t)prog.ranks;
    unsigned char *from = malloc(all), *to = malloc(all);
    MPI_Datatype types[ROWS], out[RANKS_MOST], in[RANKS_MOST];
    int counts[RANKS_MOST], places[RANKS_MOST];

    for (int i = 0; i < ROWS; i++)
        types[i] = make_type(n, row[i]);
    for (int pair = 0; pair < ROWS * ROWS; pair++) {
        for (int time = 0; time < 3; time++) {
            for (int i = 0; i < prog.ranks; i++) { /* alike for all ranks, or not */
                out[i] = types[(pair % ROWS + (time == 1 ? i : 0)) % ROWS];
                in[i] = types[(pair / ROWS + (time == 1 ? 2 * i : 0)) % ROWS];
                counts[i] = 1 + (i == prog.me && time == 2); /* the own block may be longer than all others */
                places[i] = i * (int)room;
            }
            fill_bytes(from, all, mix(prog.seed, (uint64_t)(prog.me * 1000 + pair * 10 + time)));
            fill_bytes(to, all, 8);
            CK(MPI_Alltoallw(from, counts, places, out, to, counts, places, in, prog.comm));
            check_bytes(NULL, "rows", "received", to, all);
        }
    }
    for (int i = 0; i < ROWS; i++)
        MPI_Type_free(&types[i]);
    free(from);
    free(to);
}

/* The same rank is the neighbour on both sides where there are two; and what is sent is received into. */
static void again(int n)
{
    const int periodic = 1;
    const size_t room = 2 * (size_t)n + 64, all = room * RANKS_MOST;
    const int one[2] = {1, 1};
    const MPI_Aint far[2] = {0, (MPI_Aint)room};
    unsigned char *from = malloc(all), *to = malloc(all);
    MPI_Datatype types[2] = {make_type(n, 8192), make_type(n, 400)};
    MPI_Comm ring;

    CK(MPI_Cart_create(prog.comm, 1, &prog.ranks, &periodic, 0, &ring));
    for (int time = 0; time < 4; time++) {
        const MPI_Datatype out[2] = {types[time % 2], types[0]}, in[2] = {types[0], types[time / 2]};
        fill_bytes(from, all, mix(prog.seed, (uint64_t)(prog.me * 100 + time)));
        fill_bytes(to, all, 7);
        CK(MPI_Neighbor_alltoallw(from, one, far, out, to, one, far, in, ring));
        check_bytes(NULL, "again", "received", to, all);
        CK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, n, MPI_BYTE, prog.comm));
        check_bytes(NULL, "again", "in place", to, all);
    }
    CK(MPI_Comm_free(&ring));
    for (int i = 0; i < 2; i++)
        MPI_Type_free(&types[i]);
    free(from);
    free(to);
}

/* The block for oneself is longer than its receiver says, and its end is in the middle of an element: MPICH's own
   copy would end the program (4.0.2). Of neighbours it is no error. */
static void own_cut_off(MPI_Comm comm, MPI_Comm ring)
{
    enum { ROWS = 300, STEP = 32 };
    static double from[ROWS * STEP / 8];
    static unsigned char to[2 * ROWS * STEP];
    int counts[RANKS_MOST] = {0}, places[RANKS_MOST] = {0}, class = MPI_SUCCESS;
    const int two[4] = {1, 1, 0, 0};
    const MPI_Aint one_place[4] = {0}, far[4] = {0, ROWS * STEP, 0, 0};
    MPI_Datatype types[2], out[RANKS_MOST], in[RANKS_MOST];

    CK(MPI_Type_create_hvector(ROWS, 3, STEP, MPI_DOUBLE, &types[0]));
    CK(MPI_Type_create_hvector(100, 23, 31, MPI_BYTE, &types[1]));
    for (int i = 0; i < RANKS_MOST; i++) {
        counts[i] = i == prog.me;
        out[i] = types[0];
        in[i] = types[1];
    }
    fill_bytes(from, sizeof from, (uint64_t)prog.me);
    for (int i = 0; i < 2; i++)
        CK(MPI_Type_commit(&types[i]));
    for (int time = 0; time < 12; time++) {
        fill_bytes(to, sizeof to, 9);
        MPI_Error_class(MPI_Alltoallw(from, counts, places, out, to, counts, places, in, comm), &class);
        check_value(NULL, "own cut off", "class", class);
        check_bytes(NULL, "own cut off", "received", to, sizeof to);
    }
    MPI_Error_class(MPI_Neighbor_alltoallw(from, two, one_place, out, to, two, far, in, ring), &class);
    check_value(NULL, "own cut off", "neighbours' class", class);
    check_bytes(NULL, "own cut off", "neighbours received", to, sizeof to);
    for (int i = 0; i < 2; i++)
        MPI_Type_free(&types[i]);
}

int main(int argc, char **argv)
{
    const int periodic[2] = {1, 1};
    MPI_Comm comm, ring;

    if (getenv("TEST_SEALED") != NULL)
        seal();
    prog_start(&argc, &argv, 0);
    rows(60000);
    rows(409600);
    again(409600);
    CK(MPI_Comm_dup(prog.comm, &comm));
    const int sizes[2] = {1, prog.ranks}; /* so that two neighbours are the rank itself */
    CK(MPI_Cart_create(prog.comm, 2, sizes, periodic, 0, &ring));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    own_cut_off(comm, ring);
    CK(MPI_Comm_free(&comm));
    CK(MPI_Comm_free(&ring));
    return prog_end("exchange_rows");
}
