/*
 * Planes of arrays: types that are one run of bytes and whose extent is longer, which Espalier sends and receives
 * where they stand. By all kinds of messages, short ones among them that are cut off or refused, by persistent
 * requests, with absolute addresses, in calls with a type for each block, alone and beside blocks with gaps, and by
 * two items, which are no run any more. Planes have 8 bytes to 80 kB, and are made anew now and then.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { PLANES = 5, LONGEST = 10000, RANKS_MOST = 4, TIMES = 24, LIVES = 3 };

enum { SHIFTS = 3 };
static double from[PLANES * LONGEST * RANKS_MOST + SHIFTS], to[PLANES * LONGEST * RANKS_MOST + SHIFTS];
static int n; /* doubles of a plane */

static MPI_Datatype plane(int which)
{
    const int sizes[2] = {PLANES, n}, part[2] = {1, n}, start[2] = {which, 0};
    MPI_Datatype type;

    CK(MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &type));
    CK(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype column(void)
{
    MPI_Datatype type;

    CK(MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type));
    CK(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype absolute(double *array, int which)
{
    MPI_Datatype run, type;
    MPI_Aint at;

    CK(MPI_Get_address(array + (size_t)which * (size_t)n, &at));
    CK(MPI_Type_create_hindexed_block(1, n, &at, MPI_DOUBLE, &run));
    CK(MPI_Type_create_resized(run, 0, (MPI_Aint)sizeof(double) * n * PLANES, &type));
    CK(MPI_Type_free(&run));
    CK(MPI_Type_commit(&type));
    return type;
}

static void fill(int call)
{
    const size_t all = (size_t)PLANES * (size_t)n * (size_t)prog.ranks + SHIFTS;

    for (size_t i = 0; i < all; i++) {
        from[i] = (double)i + 1e6 * prog.me + 1e-3 * call;
        to[i] = -1 - call;
    }
}

static void check(const char *what)
{
    check_bytes(NULL, what, "received", to, ((size_t)PLANES * (size_t)n * (size_t)prog.ranks + SHIFTS) * sizeof *to);
}

static void check_status(const char *what, MPI_Status *status, MPI_Datatype type)
{
    int count, elements;

    CK(MPI_Get_count(status, type, &count));
    CK(MPI_Get_elements(status, type, &elements));
    check_value(NULL, what, "count", count);
    check_value(NULL, what, "elements", elements);
    check_value(NULL, what, "tag", status->MPI_TAG);
}

/* Both ways between neighbours in a ring. */
static void messages(MPI_Datatype out, MPI_Datatype in, MPI_Datatype shorter, MPI_Datatype bottom[2], int call)
{
    const int next = (prog.me + 1) % prog.ranks, last = (prog.me + prog.ranks - 1) % prog.ranks;
    MPI_Request r[2];
    MPI_Message message;
    MPI_Status status;

    fill(call);
    CK(MPI_Sendrecv(from, 1, out, next, 1, to, 1, in, last, 1, prog.comm, &status));
    check_status("sendrecv", &status, in);
    check("sendrecv");
    fill(call);
    for (int step = 0; step < 2; step++) {
        if (prog.me % 2 == step)
            CK((call % 2 ? MPI_Send : MPI_Ssend)(from, 1, out, next, 2, prog.comm));
        if (last % 2 == step)
            CK(MPI_Recv(to, 1, in, last, MPI_ANY_TAG, prog.comm, call % 3 ? &status : MPI_STATUS_IGNORE));
    }
    check("send, recv");
    fill(call);
    CK(MPI_Irecv(to, 1, in, MPI_ANY_SOURCE, 3, prog.comm, &r[0]));
    CK(MPI_Isend(from, 1, out, next, 3, prog.comm, &r[1]));
    CK(MPI_Wait(&r[0], &status));
    CK(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
    check_status("isend, irecv", &status, in);
    check("isend, irecv");
    fill(call); /* what arrives is shorter than its receiver asks for */
    CK(MPI_Irecv(to, 1, in, last, 4, prog.comm, &r[0]));
    CK(MPI_Send(from, 1, shorter, next, 4, prog.comm));
    CK(MPI_Wait(&r[0], &status));
    check_status("short", &status, in);
    check("short");
    fill(call);
    CK(MPI_Isend(from, 1, out, next, 5, prog.comm, &r[0]));
    CK(MPI_Mprobe(last, 5, prog.comm, &message, &status));
    check_status("probed", &status, in);
    CK(MPI_Mrecv(to, 1, in, &message, &status));
    CK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    check_status("matched", &status, in);
    check("matched");
    fill(call); /* two items have a gap between them */
    CK(MPI_Sendrecv(from, prog.ranks > 1 ? 2 : 1, out, next, 6, to, prog.ranks > 1 ? 2 : 1, in, last, 6, prog.comm,
                    &status));
    check_status("two items", &status, in);
    check("two items");
    fill(call);
    CK(MPI_Irecv(MPI_BOTTOM, 1, bottom[1], last, 7, prog.comm, &r[0]));
    CK(MPI_Send(MPI_BOTTOM, 1, bottom[0], next, 7, prog.comm));
    CK(MPI_Wait(&r[0], &status));
    check_status("absolute", &status, bottom[1]);
    check("absolute");
    fill(call);
    CK(MPI_Sendrecv_replace(to, 1, in, next, 8, last, 8, prog.comm, &status));
    check("replaced");
}

static void buffered(MPI_Datatype out, MPI_Datatype in, int call)
{
    const int next = (prog.me + 1) % prog.ranks, last = (prog.me + prog.ranks - 1) % prog.ranks;
    const int room = n * (int)sizeof(double) + MPI_BSEND_OVERHEAD + 64;
    void *memory = malloc((size_t)room), *back;
    int size;

    fill(call);
    CK(MPI_Buffer_attach(memory, room));
    CK(MPI_Bsend(from, 1, out, next, 9, prog.comm));
    for (int i = 0; i < PLANES * n; i++)
        from[i] = 0; /* it has been copied */
    CK(MPI_Recv(to, 1, in, last, 9, prog.comm, MPI_STATUS_IGNORE));
    CK(MPI_Buffer_detach(&back, &size));
    free(memory);
    check("buffered");
}

static void persistent(MPI_Datatype out, MPI_Datatype in, int call)
{
    const int next = (prog.me + 1) % prog.ranks, last = (prog.me + prog.ranks - 1) % prog.ranks;
    MPI_Request r[2];

    CK(MPI_Recv_init(to, 1, in, last, 10, prog.comm, &r[0]));
    CK(MPI_Send_init(from, 1, out, next, 10, prog.comm, &r[1]));
    for (int start = 0; start < 3; start++) {
        fill(call + start);
        CK(MPI_Startall(2, r));
        CK(wait_all(2, r));
        check("persistent");
    }
    CK(MPI_Request_free(&r[0]));
    CK(MPI_Request_free(&r[1]));
}

/* A message that is longer than its receiver allows for: what MPI says of it. */
static void refused(MPI_Datatype out, MPI_Datatype shorter, int call)
{
    const int next = (prog.me + 1) % prog.ranks, last = (prog.me + prog.ranks - 1) % prog.ranks;
    MPI_Request r;
    MPI_Status status;
    int class = 0, outside = 0;

    fill(call);
    CK(MPI_Isend(from, 1, out, next, 11, prog.comm, &r));
    CK(MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_RETURN));
    MPI_Error_class(MPI_Recv(to, 1, shorter, last, 11, prog.comm, &status), &class);
    CK(MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_ARE_FATAL));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    check_equal(NULL, "refused", "class", class, MPI_ERR_TRUNCATE);
    for (int i = 0; i < PLANES * n; i++)
        outside += (i < 3 * n || i >= 4 * n) && to[i] != -1 - call;
    check_equal(NULL, "refused", "bytes outside of the plane", outside, 0);
}

/* Every rank gives each a plane, or a column instead; empty blocks among them. The same calls come with other
   buffers. */
static void joint(const MPI_Datatype planes[PLANES], MPI_Datatype gaps, int call)
{
    double *out = from + call % SHIFTS, *in = to + call / 2 % SHIFTS;
    int counts[2][RANKS_MOST], places[2][RANKS_MOST], ones[RANKS_MOST];
    MPI_Datatype types[2][RANKS_MOST];
    MPI_Request r;

    for (int mixed = 0; mixed < 3; mixed++) {
        for (int i = 0; i < prog.ranks; i++) {
            const int empty = mixed == 2 && (i + prog.me) % 3 == 1;
            counts[0][i] = counts[1][i] = !empty;
            ones[i] = 1;
            places[0][i] = places[1][i] = i * PLANES * n * (int)sizeof(double);
            types[0][i] = mixed == 1 && i == 0 ? gaps : planes[(i + 1) % PLANES];
            types[1][i] = mixed == 1 && i == 1 ? gaps : planes[(i + 3) % PLANES];
        }
        fill(call);
        CK(MPI_Alltoallw(out, counts[0], places[0], types[0], in, counts[1], places[1], types[1], prog.comm));
        check("alltoallw");
        fill(call);
        CK(MPI_Ialltoallw(out, counts[0], places[0], types[0], in, counts[1], places[1], types[1], prog.comm, &r));
        CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        check("ialltoallw");
    }
    fill(call);
    CK(MPI_Bcast(prog.me == 0 ? from : to, 1, planes[2], 0, prog.comm));
    check("bcast");
    fill(call);
    CK(MPI_Alltoall(from, 1, planes[0], to, 1, planes[4], prog.comm));
    check("alltoall");
    fill(call);
    for (int i = 0; i < prog.ranks; i++)
        places[0][i] = i;
    CK(MPI_Alltoallv(from, ones, places[0], planes[1], to, ones, places[0], planes[0], prog.comm));
    check("alltoallv");
    fill(call);
    CK(MPI_Gather(from, 1, planes[3], to, n, MPI_DOUBLE, 0, prog.comm));
    check("gather");
    fill(call);
    for (int i = 0; i < prog.ranks; i++) /* what is sent stands where it is received */
        types[0][i] = planes[2];
    for (int i = 0; i < prog.ranks; i++)
        places[0][i] = i * PLANES * n * (int)sizeof(double);
    CK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, to, ones, places[0], types[0], prog.comm));
    check("alltoallw in place");
}

static void lives(void)
{
    MPI_Datatype planes[PLANES], gaps, shorter, bottom[2];
    const int all = n;

    for (int life = 0; life < LIVES; life++) {
        for (int i = 0; i < PLANES; i++)
            planes[i] = plane(i);
        gaps = column();
        for (int i = 0; i < 2; i++)
            bottom[i] = absolute(i == 0 ? from : to, 1 + i);
        CK(MPI_Type_vector(1, n / 2 + n % 2, 7, MPI_DOUBLE, &shorter));
        CK(MPI_Type_commit(&shorter));
        for (int call = 0; call < (n < 2000 ? TIMES : TIMES / 2); call++) {
            messages(planes[1], planes[3], shorter, bottom, call);
            joint(planes, gaps, call);
            if (call % 8 == 7) {
                persistent(planes[0], planes[2], call);
                buffered(planes[4], planes[0], call);
            }
        }
        CK(MPI_Type_free(&shorter));
        if (n > 1) {
            MPI_Datatype half;
            CK(MPI_Type_create_hindexed_block(1, all / 2, &(MPI_Aint){(MPI_Aint)sizeof(double) * 3 * all},
                                              MPI_DOUBLE, &half));
            CK(MPI_Type_create_resized(half, 0, (MPI_Aint)sizeof(double) * PLANES * all, &shorter));
            CK(MPI_Type_free(&half));
            CK(MPI_Type_commit(&shorter));
            for (int call = 0; call < TIMES / 4; call++)
                refused(planes[1], shorter, call);
            CK(MPI_Type_free(&shorter));
        }
        for (int i = 0; i < PLANES; i++)
            CK(MPI_Type_free(&planes[i]));
        for (int i = 0; i < 2; i++)
            CK(MPI_Type_free(&bottom[i]));
        CK(MPI_Type_free(&gaps));
    }
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 25, 512, 1030, 3000, LONGEST};

    prog_start(&argc, &argv, 0);
    if (prog.ranks > RANKS_MOST) {
        fail(NULL, "slabs", "is for up to %d ranks", RANKS_MOST);
        return prog_end("slabs");
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        n = lengths[i];
        lives();
    }
    return prog_end("slabs");
}
