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

static void fill(unsigned char *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(mix(seed, i / 8) >> i % 8 * 8);
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
        for (int i = 0; i < prog.ranks; i++) {
            out[i] = types[pair % ROWS];
            in[i] = types[pair / ROWS];
            counts[i] = 1 + (i == prog.me && pair % 2); /* the own block may be longer than all others */
            places[i] = i * (int)room;
        }
        for (int time = 0; time < 3; time++) {
            fill(from, all, mix(prog.seed, (uint64_t)(prog.me * 1000 + pair * 10 + time)));
            fill(to, all, 8);
            CK(MPI_Alltoallw(from, counts, places, out, to, counts, places, in, prog.comm));
            check_bytes(NULL, "rows", "received", to, all);
        }
    }
    for (int i = 0; i < ROWS; i++)
        MPI_Type_free(&types[i]);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    if (getenv("TEST_SEALED") != NULL)
        seal();
    prog_start(&argc, &argv, 0);
    rows(60000);
    rows(409600);
    return prog_end("exchange_rows");
}
