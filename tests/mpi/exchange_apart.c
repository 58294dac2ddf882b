/*
 * Calls that go through shared memory if all ranks take part, as the first ones after MPI_Init. TEST_APART in the
 * environment says what is odd of one rank: `memory`, the first rank has none to share; `open`, the last one can not
 * find it; `threads`, the last one starts MPI with MPI_THREAD_MULTIPLE.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "bytes.h"

enum { RANKS_MOST = 20, LENGTH = 5000 };

#ifdef SYS_readlink
enum { READLINK = SYS_readlink };
#else
enum { READLINK = SYS_readlinkat };
#endif

/* The kernel refuses that call from here on. */
static void refuse(unsigned call)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
    };
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(77);
}

static void call(MPI_Comm comm, int length, const char *what)
{
    static int from[RANKS_MOST * LENGTH], to[RANKS_MOST * LENGTH];
    int size;

    CK(MPI_Comm_size(comm, &size));
    for (int i = 0; i < size * length; i++) {
        from[i] = 1000000 * prog.me + i;
        to[i] = -1;
    }
    CK(MPI_Alltoall(from, length, MPI_INT, to, length, MPI_INT, comm));
    check_bytes(NULL, "apart", what, to, (size_t)(size * length) * sizeof *to);
}

int main(int argc, char **argv)
{
    const char *apart = getenv("TEST_APART"), *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");
    const bool last = rank != NULL && size != NULL && atoi(rank) == atoi(size) - 1;
    MPI_Comm part;

    apart = apart != NULL ? apart : "";
    if (strcmp(apart, "memory") == 0 && rank != NULL && atoi(rank) == 0)
        refuse(SYS_memfd_create);
    if (strcmp(apart, "open") == 0 && last)
        refuse(READLINK);
    prog_start(&argc, &argv, strcmp(apart, "threads") == 0 && last);
    call(prog.comm, 3, "short"); /* ranks may come to it before others are through MPI_Init */
    CK(MPI_Comm_split(prog.comm, prog.me == 0, prog.me, &part));
    call(part, 3, "some");
    CK(MPI_Comm_free(&part));
    call(prog.comm, LENGTH, "long");
    return prog_end("exchange_apart");
}
