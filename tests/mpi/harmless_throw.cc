// C++ exceptions thrown by error handlers: out of a send, out of a refused gather, which is then called again, out of a
// refused reduction and barrier; caught in main or below it. Then all ranks gather and synchronize from deeper and
// shallower stacks. Lives natively. Argument: rounds (40). Prints `N passed, N failed` on rank 0.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "harmless.h"

namespace {

struct wrong : std::runtime_error {
    explicit wrong(int c) : std::runtime_error("MPI"), code(c) {}
    int code;
};

int unwound;
struct frame {
    ~frame() { unwound++; }
};

MPI_Comm comm;
hl_call call;

} // namespace

extern "C" {
static void handler(MPI_Comm *, int *code, ...)
{
    throw wrong(hl_class(*code));
}
}

template <typename F> __attribute__((noinline)) static void below(int depth, F f)
{
    frame here;
    volatile char room[300];
    room[0] = static_cast<char>(depth);
    if (depth > 0)
        below(depth - 1, f);
    else
        f();
    room[1] = room[0];
}

static void provoke(int how)
{
    int data = 1, sum = 0;
    switch (how % 5) {
    case 0:
        MPI_Send(&data, 1, MPI_INT, hl_size + 3, 1, comm);
        break;
    case 1:
        hl_prepare(&call);
        call.own = call.own_room;
        call.own_count = -1;
        hl_issue(&call);
        break;
    case 2:
        MPI_Allreduce(&data, &sum, 1, MPI_INT, MPI_OP_NULL, comm);
        break;
    case 3:
        MPI_Barrier(MPI_COMM_NULL);
        break;
    default:
        hl_prepare(&call);
        call.given_root = -9;
        hl_issue(&call);
        break;
    }
}

int main(int argc, char **argv)
{
    static const int classes[] = {MPI_ERR_RANK, MPI_ERR_COUNT, MPI_ERR_OP, MPI_ERR_COMM, MPI_ERR_ROOT};
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 40;
    MPI_Errhandler own;
    hl_start(&argc, &argv, MPI_THREAD_SINGLE);
    uint64_t state = hl_seed;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &own);
    for (MPI_Comm to : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
        MPI_Comm_set_errhandler(to, own);
    call.comm = comm;
    call.rank = hl_rank;
    call.size = hl_size;
    for (int round = 0; round < rounds; round++) {
        const int depth = static_cast<int>(hl_random(&state, 40));
        hl_at("a round of exceptions", round);
        call.root = round / 10 % hl_size;
        for (int k = 0; k < 10; k++) {
            call.op = static_cast<hl_op>(hl_random(&state, HL_OPS));
            call.salt = state;
            for (int r = 0; r < hl_size; r++)
                call.counts[r] = call.op < HL_GATHER ? 2 * static_cast<int>(hl_random(&state, 50)) : 14;
            // One rank, or all: the call after it is the repaired one.
            if (k == 4 && (round % 3 == 0 || hl_rank == round % hl_size)) {
                unwound = 0;
                try {
                    below(depth, [round] { provoke(round); });
                    hl_check(0, "round %d: nothing was thrown", round);
                } catch (const wrong &w) {
                    hl_check(w.code == classes[round % 5], "round %d: class %d", round, w.code);
                }
                hl_check(unwound == depth + 1, "round %d: %d frames unwound of %d", round, unwound, depth + 1);
            }
            below(static_cast<int>(hl_random(&state, 40)), [] { hl_good_call(&call, "after an exception"); });
        }
        if (round % 2)
            MPI_Barrier(comm);
    }
    for (MPI_Comm to : {MPI_COMM_WORLD, MPI_COMM_SELF})
        MPI_Comm_set_errhandler(to, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own);
    MPI_Comm_free(&comm);
    hl_release(&call);
    return hl_end();
}
