/*
 * Data that a process gives itself: every call that is one copy on a communicator of one rank, and the own block on
 * larger ones, between random layouts of equal signature; messages to oneself with others pending; refused arguments;
 * threads.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { CALLS = 15, THREADS = 3 };

static const char *const names[CALLS] = {"sendrecv",  "sendrecv_any", "sendrecv_c", "allgather",   "allgatherv",
                                         "alltoall",  "alltoallv",    "alltoallw",  "alltoallw_c", "gather",
                                         "gatherv_c", "scatter",      "scatterv",   "gatherv",     "allgatherv_c"};

/* One block of `sc` items to a place of `rc` items, on a communicator of one rank. */
static int transfer(int call, const void *from, int sc, MPI_Datatype st, void *onto, int rc, MPI_Datatype rt,
                    MPI_Comm comm, MPI_Status *status)
{
    int zero = 0;
    MPI_Count sl = sc, rl = rc;
    MPI_Aint far = 0;
    switch (call) {
    case 0: return MPI_Sendrecv(from, sc, st, 0, 5, onto, rc, rt, 0, 5, comm, status);
    case 1: return MPI_Sendrecv(from, sc, st, 0, 9, onto, rc, rt, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, status);
    case 2: return MPI_Sendrecv_c(from, sl, st, 0, 5, onto, rl, rt, 0, 5, comm, MPI_STATUS_IGNORE);
    case 3: return MPI_Allgather(from, sc, st, onto, rc, rt, comm);
    case 4: return MPI_Allgatherv(from, sc, st, onto, &rc, &zero, rt, comm);
    case 5: return MPI_Alltoall(from, sc, st, onto, rc, rt, comm);
    case 6: return MPI_Alltoallv(from, &sc, &zero, st, onto, &rc, &zero, rt, comm);
    case 7: return MPI_Alltoallw(from, &sc, &zero, &st, onto, &rc, &zero, &rt, comm);
    case 8: return MPI_Alltoallw_c(from, &sl, &far, &st, onto, &rl, &far, &rt, comm);
    case 9: return MPI_Gather(from, sc, st, onto, rc, rt, 0, comm);
    case 10: return MPI_Gatherv_c(from, sl, st, onto, &rl, &far, rt, 0, comm);
    case 11: return MPI_Scatter(from, sc, st, onto, rc, rt, 0, comm);
    case 12: return MPI_Scatterv(from, &sc, &zero, st, onto, rc, rt, 0, comm);
    case 13: return MPI_Gatherv(from, sc, st, onto, &rc, &zero, rt, 0, comm);
    default: return MPI_Allgatherv_c(from, sl, st, onto, &rl, &far, rt, comm);
    }
}

static void one(const struct family *f, int v, int w, int call, int times, MPI_Comm comm)
{
    struct side s, r;
    unsigned char *data = malloc(f->bytes + 1);
    MPI_Status status;
    memset(&status, 0x33, sizeof status);
    side_send(&s, f, v, 1, 0);
    side_recv(&r, f, w, 1, 1);
    wire(f, v, 1, 0, 0, data);
    expect(&r, f, w, block_at(f, w, 0), data);
    for (int k = 0; k < times; k++)
        CK(transfer(call, s.origin + block_at(f, v, 0), f->count[v], f->t[v].type, r.origin + block_at(f, w, 0),
                    f->count[w], f->t[w].type, comm, &status));
    check_side(&r, f, names[call], f->t[w].text);
    if (call < 2 && f->bytes > 0) {
        int count = -1, cancelled = 1;
        CK(MPI_Get_count(&status, MPI_BYTE, &count));
        CK(MPI_Test_cancelled(&status, &cancelled));
        check_value(f, names[call], "count", count);
        check_equal(f, names[call], "cancelled", cancelled, 0);
        check_equal(f, names[call], "source", status.MPI_SOURCE, 0);
        check_equal(f, names[call], "tag", status.MPI_TAG, call == 0 ? 5 : 9);
        check_value(f, names[call], "error", status.MPI_ERROR);
    }
    side_free(&s);
    side_free(&r);
    free(data);
}

static void all_calls(const struct family *f)
{
    for (int call = 0; call < CALLS; call++) {
        if (!wanted(names[call]))
            continue;
        for (int v = 0; v < FAMILY; v++)
            for (int w = 1; w < FAMILY; w++)
                one(f, v, w, call, 1, MPI_COMM_SELF);
        /* As often as auto wants to see it. */
        one(f, 1, 2, call, f->seed % 4 == 0 ? 1500 : 20, MPI_COMM_SELF);
    }
}

/* ---- messages to oneself among others ---- */

enum { ROWS = 40, COLUMNS = 30, CELLS = ROWS * COLUMNS };

static int cells[3][CELLS], landed[3][CELLS];
static MPI_Datatype by_column;

static void fill(void)
{
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < CELLS; i++) {
            cells[k][i] = 10000 * k + i;
            landed[k][i] = -1;
        }
}

/* Which of the three was received in `landed[k]`: transposed, or as it stood; -1 for anything else. */
static int arrived(int k)
{
    for (int m = 0; m < 3; m++) {
        int across = 1, along = 1;
        for (int i = 0; i < CELLS; i++) {
            across = across && landed[k][i] == cells[m][i % ROWS * COLUMNS + i / ROWS];
            along = along && landed[k][i] == cells[m][i];
        }
        if (across || along)
            return m;
    }
    return -1;
}

static void exchange(int m, int k, int tag, int recvtag)
{
    MPI_Status status;
    CK(MPI_Sendrecv(cells[m], 1, by_column, 0, tag, landed[k], CELLS, MPI_INT, 0, recvtag, MPI_COMM_SELF, &status));
    check_value(NULL, "order", "tag", status.MPI_TAG);
}

static void keeps_the_order(void)
{
    MPI_Request request;
    fill(); /* nothing pending */
    exchange(0, 0, 3, 3);
    check_equal(NULL, "order", "alone", arrived(0), 0);

    /* An earlier message is received first, and ours by a receive posted before. (Without that one MPICH waits for
       ever for somebody to receive ours.) */
    fill();
    MPI_Request posted;
    CK(MPI_Irecv(landed[1], CELLS, MPI_INT, 0, 3, MPI_COMM_SELF, &posted));
    CK(MPI_Isend(cells[2], CELLS, MPI_INT, 0, 8, MPI_COMM_SELF, &request));
    exchange(0, 0, 3, MPI_ANY_TAG);
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CK(MPI_Wait(&posted, MPI_STATUS_IGNORE));
    check_equal(NULL, "order", "earlier message", arrived(0), 2);
    check_equal(NULL, "order", "our message", arrived(1), 0);

    fill(); /* a message of another tag stays out of it */
    CK(MPI_Isend(cells[2], CELLS, MPI_INT, 0, 8, MPI_COMM_SELF, &request));
    exchange(0, 0, 3, 3);
    CK(MPI_Recv(landed[1], CELLS, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_equal(NULL, "order", "other tag", arrived(0), 0);
    check_equal(NULL, "order", "other tag, later", arrived(1), 2);

    fill(); /* a receive was posted before: our message is for it, and our receive for the message after */
    CK(MPI_Irecv(landed[1], CELLS, MPI_INT, 0, 3, MPI_COMM_SELF, &request));
    MPI_Request second, later;
    CK(MPI_Irecv(landed[2], CELLS, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &second));
    CK(MPI_Isend(cells[1], CELLS, MPI_INT, 0, 77, MPI_COMM_SELF, &later));
    CK(MPI_Wait(&second, MPI_STATUS_IGNORE));
    CK(MPI_Wait(&later, MPI_STATUS_IGNORE));
    CK(MPI_Irecv(landed[0], CELLS, MPI_INT, 0, 4, MPI_COMM_SELF, &second));
    CK(MPI_Sendrecv(cells[0], 1, by_column, 0, 3, NULL, 0, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_SELF,
                    MPI_STATUS_IGNORE));
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_equal(NULL, "order", "posted before", arrived(1), 0);
    CK(MPI_Cancel(&second));
    CK(MPI_Wait(&second, MPI_STATUS_IGNORE));

    fill(); /* posted before, and the call's own receive waits for a message sent in between */
    CK(MPI_Irecv(landed[1], CELLS, MPI_INT, 0, 3, MPI_COMM_SELF, &request));
    CK(MPI_Isend(cells[2], CELLS, MPI_INT, 0, 4, MPI_COMM_SELF, &later));
    CK(MPI_Sendrecv(cells[0], 1, by_column, 0, 3, landed[0], CELLS, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CK(MPI_Wait(&later, MPI_STATUS_IGNORE));
    check_equal(NULL, "order", "to the one posted before", arrived(1), 0);
    check_equal(NULL, "order", "from the one sent before", arrived(0), 2);
}

static void many_pending(void)
{
    for (int n = 0; n < 40; n++) {
        MPI_Request r[4];
        int a[4] = {-1, -1, -1, -1}, b[4] = {1, 2, 3, 4}, sends = n % 4;
        fill();
        for (int k = 0; k < sends; k++)
            CK(MPI_Isend(&b[k], 1, MPI_INT, 0, k % 2, MPI_COMM_SELF, &r[k]));
        exchange(n % 3, 0, 2, 2);
        check_equal(NULL, "pending", "ours", arrived(0), n % 3);
        for (int k = 0; k < sends; k++)
            CK(MPI_Recv(&a[k], 1, MPI_INT, 0, k % 2, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CK(wait_all(sends, r));
        for (int k = 0; k < sends; k++)
            check_equal(NULL, "pending", "theirs", a[k], b[k]);
    }
}

/* ---- what MPI refuses, or does in its own way ---- */

static void class_of(const char *what, int rc)
{
    int class = -1;
    MPI_Error_class(rc, &class);
    check_value(NULL, what, "class", class);
}

static void refused(MPI_Comm comm)
{
    MPI_Datatype loose;
    MPI_Status status;
    int one = 1, all = CELLS, less = CELLS - 1, none = 0, negative = -1;
    MPI_Datatype integer = MPI_INT, null = MPI_DATATYPE_NULL, column = by_column;
    static float other[CELLS];
    MPI_Type_contiguous(3, MPI_INT, &loose);
    for (int round = 0; round < 2; round++) {
        class_of("truncated",
                 MPI_Sendrecv(cells[0], 1, by_column, 0, 1, landed[0], less, MPI_INT, 0, 1, comm, &status));
        class_of("truncated too",
                 MPI_Alltoallw(cells[0], &one, &none, &column, landed[0], &less, &none, &integer, comm));
        class_of("negative",
                 MPI_Sendrecv(cells[0], negative, by_column, 0, 1, landed[0], all, MPI_INT, 0, 1, comm, &status));
        class_of("negative too",
                 MPI_Alltoallw(cells[0], &one, &none, &column, landed[0], &negative, &none, &integer, comm));
        class_of("null type", MPI_Sendrecv(cells[0], 1, by_column, 0, 1, landed[0], all, null, 0, 1, comm, &status));
        class_of("null type too", MPI_Gather(cells[0], 1, null, landed[0], all, MPI_INT, 0, comm));
        class_of("not committed", MPI_Gather(cells[0], 1, by_column, landed[0], CELLS / 3, loose, 0, comm));
        class_of("not committed too",
                 MPI_Sendrecv(cells[0], CELLS / 3, loose, 0, 1, landed[0], 1, by_column, 0, 1, comm, &status));
        class_of("root", MPI_Gather(cells[0], 1, by_column, landed[0], all, MPI_INT, 1, comm));
        class_of("rank", MPI_Sendrecv(cells[0], 1, by_column, 1, 1, landed[0], all, MPI_INT, 0, 1, comm, &status));
        class_of("tag", MPI_Sendrecv(cells[0], 1, by_column, 0, -7, landed[0], all, MPI_INT, 0, -7, comm, &status));
        class_of("null buffer", MPI_Gather(NULL, 1, by_column, landed[0], all, MPI_INT, 0, comm));
        class_of("same buffer", MPI_Gather(cells[0], 1, by_column, cells[0], all, MPI_INT, 0, comm));
        class_of("null buffer too", MPI_Allgather(cells[0], 1, by_column, NULL, all, MPI_INT, comm));
        class_of("no communicator", MPI_Gather(cells[0], 1, by_column, landed[0], all, MPI_INT, 0, MPI_COMM_NULL));
        fill(); /* other names for as many bytes: MPI's own business */
        class_of("signature", MPI_Gather(cells[0], 1, by_column, other, all, MPI_FLOAT, 0, comm));
        check_bytes(NULL, "signature", "bytes", other, sizeof other);
        class_of("signature too", MPI_Gather(cells[0], 1, by_column, landed[0], 4 * CELLS, MPI_BYTE, 0, comm));
        check_bytes(NULL, "signature too", "bytes", landed[0], sizeof landed[0]);
        class_of("in place", MPI_Gather(MPI_IN_PLACE, 1, by_column, landed[0], all, MPI_INT, 0, comm));
        class_of("room for more",
                 MPI_Sendrecv(cells[0], 1, by_column, 0, 1, landed[1], 3 * CELLS / 2, MPI_INT, 0, 1, comm, &status));
        check_equal(NULL, "room for more", "which", arrived(1), 0);
        class_of("nothing", MPI_Sendrecv(cells[0], 0, by_column, 0, 1, landed[0], all, MPI_INT, 0, 1, comm, &status));
        check_value(NULL, "nothing", "tag", status.MPI_TAG);
    }
    MPI_Type_free(&loose);
}

static void from_bottom(void)
{
    MPI_Datatype there;
    MPI_Aint at[2];
    int count[2] = {1, 1};
    MPI_Datatype types[2] = {by_column, by_column};
    fill();
    MPI_Get_address(cells[0], &at[0]);
    MPI_Get_address(cells[1], &at[1]);
    MPI_Type_create_struct(2, count, at, types, &there);
    MPI_Type_commit(&there);
    static int both[2 * CELLS];
    for (int k = 0; k < 3; k++) {
        memset(both, 0, sizeof both);
        CK(MPI_Sendrecv(MPI_BOTTOM, 1, there, 0, 1, both, 2 * CELLS, MPI_INT, 0, 1, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE));
        check_bytes(NULL, "bottom", "bytes", both, sizeof both);
        CK(MPI_Gather(both, 2 * CELLS, MPI_INT, MPI_BOTTOM, 1, there, 0, MPI_COMM_SELF));
        check_bytes(NULL, "bottom", "back", cells, sizeof cells);
    }
    MPI_Type_free(&there);
}

/* A handle that comes again for another layout must not meet the old program. */
static void recycled(void)
{
    for (int n = 1; n <= 60; n++) {
        MPI_Datatype type;
        MPI_Type_vector(CELLS / (4 * n) + 1, 2, 2 + n, MPI_INT, &type);
        MPI_Type_commit(&type);
        fill();
        CK(MPI_Gather(cells[0], 1, type, landed[0], 2 * (CELLS / (4 * n) + 1), MPI_INT, 0, MPI_COMM_SELF));
        check_bytes(NULL, "recycled", "bytes", landed, sizeof landed);
        MPI_Type_free(&type);
    }
}

/* ---- threads, each with a communicator of its own ---- */

static MPI_Comm thread_comm[THREADS];
static int thread_bad[THREADS];

static void *in_thread(void *data)
{
    int me = (int)(size_t)data, *to = malloc(CELLS * sizeof *to);
    for (int n = 0; n < 400; n++) {
        int call = (int)((unsigned)(n + me) % 12) + 3;
        memset(to, 0, CELLS * sizeof *to);
        if (transfer(call, cells[me], 1, by_column, to, CELLS, MPI_INT, thread_comm[me], NULL) != MPI_SUCCESS)
            thread_bad[me]++;
        for (int i = 0; i < CELLS; i++)
            thread_bad[me] += to[i] != cells[me][i % ROWS * COLUMNS + i / ROWS];
    }
    free(to);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    fill();
    for (size_t k = 0; k < THREADS; k++)
        MPI_Comm_dup(MPI_COMM_SELF, &thread_comm[k]);
    for (size_t k = 0; k < THREADS; k++)
        pthread_create(&thread[k], NULL, in_thread, (void *)k);
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        check_equal(NULL, "threads", "wrong", thread_bad[k], 0);
        MPI_Comm_free(&thread_comm[k]);
    }
}

int main(int argc, char **argv)
{
    int level;
    MPI_Datatype column, place;
    prog_start(&argc, &argv, getenv("OWN_BLOCKS_THREADS") != NULL);
    MPI_Query_thread(&level);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &place);
    MPI_Type_contiguous(COLUMNS, place, &by_column);
    MPI_Type_commit(&by_column);
    MPI_Type_free(&column);
    MPI_Type_free(&place);
    prog_families(1, all_calls);
    keeps_the_order();
    many_pending();
    refused(MPI_COMM_SELF);
    from_bottom();
    recycled();
    if (level == MPI_THREAD_MULTIPLE)
        threads();
    MPI_Type_free(&by_column);
    return prog_end("own_blocks");
}
