/*
 * MPI_Sendrecv to oneself on communicators of several ranks: alone, where it may be copied, and with messages and
 * receives pending, where it must not be: the message may be for another receive, and the receive for another
 * message. Each case has a communicator of its own, as what was once pending on one is remembered. Every rank does
 * the same for itself.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { ROWS = 12, COLUMNS = 10, CELLS = ROWS * COLUMNS, TIMES = 1500, TAG = 3, OTHER = 4 };

static int cells[3][CELLS], landed[3][CELLS];
static MPI_Datatype by_column;
static MPI_Comm comm, kept[64];
static int me, comms;
static char space[4096];

/* The communicators stay until the end, so that no handle comes again. */
static void fresh(void)
{
    CK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    kept[comms++] = comm;
}

static void fill(void)
{
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < CELLS; i++) {
            cells[k][i] = 10000 * k + 1000000 * me + i;
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

/* Sends message 0 to the place 0, as all the cases do. */
static void exchange(const char *what, int source, int recvtag)
{
    MPI_Status status;
    int count = -1, cancelled = 1;
    memset(&status, 0x44, sizeof status);
    CK(MPI_Sendrecv(cells[0], 1, by_column, me, TAG, landed[0], CELLS, MPI_INT, source, recvtag, comm, &status));
    CK(MPI_Get_count(&status, MPI_INT, &count));
    CK(MPI_Test_cancelled(&status, &cancelled));
    check_value(NULL, what, "tag", status.MPI_TAG);
    check_value(NULL, what, "error", status.MPI_ERROR);
    check_equal(NULL, what, "source", status.MPI_SOURCE, me);
    check_equal(NULL, what, "count", count, CELLS);
    check_equal(NULL, what, "cancelled", cancelled, 0);
}

static void went(const char *what, int place, int message)
{
    check_equal(NULL, what, place == 0 ? "in the call's receive" : "in the other receive", arrived(place), message);
}

static void receive(int place, int tag)
{
    CK(MPI_Recv(landed[place], CELLS, MPI_INT, me, tag, comm, MPI_STATUS_IGNORE));
}

static void alone(void)
{
    fresh();
    for (int n = 0; n < TIMES; n++) {
        fill();
        exchange("alone", me, n % 3 == 0 ? MPI_ANY_TAG : TAG);
        went("alone", 0, 0);
    }
    for (int n = 0; n < 20; n++) { /* between predefined types and back: nothing stays */
        fill();
        CK(MPI_Sendrecv(cells[1], CELLS, MPI_INT, me, TAG, landed[1], CELLS, MPI_INT, me, TAG, comm,
                        MPI_STATUS_IGNORE));
        exchange("alone again", me, TAG);
        went("alone again", 0, 0);
        went("alone again", 1, 1);
    }
}

/* Of many pieces, to where they lie as before: nothing is faster than MPI's own copy. */
static void large(void)
{
    enum { MANY = 30000 };
    MPI_Datatype run, gaps;
    int *from = malloc(2 * MANY * sizeof *from), *to = malloc(2 * MANY * sizeof *to);
    MPI_Status status;
    MPI_Type_contiguous(MANY, MPI_INT, &run);
    MPI_Type_vector(MANY / 2, 2, 3, MPI_INT, &gaps);
    MPI_Type_commit(&run);
    MPI_Type_commit(&gaps);
    fresh();
    for (int i = 0; i < 2 * MANY; i++)
        from[i] = i + me;
    for (int n = 0; n < 600; n++) {
        MPI_Datatype type = n % 2 == 0 ? run : gaps;
        memset(&status, 0x44, sizeof status);
        memset(to, n, 2 * MANY * sizeof *to);
        CK(MPI_Sendrecv(from, 1, type, me, TAG, to, n % 4 < 2 ? MANY : 1, n % 4 < 2 ? MPI_INT : type, me, TAG, comm,
                        &status));
        check_equal(NULL, "large", "source", status.MPI_SOURCE, me);
        check_bytes(NULL, "large", "bytes", to, 2 * MANY * sizeof *to);
    }
    MPI_Type_free(&run);
    MPI_Type_free(&gaps);
    free(from);
    free(to);
}

/* What leaves a receive pending that our message is for; our receive is then for message 2. */
static void posted(const char *what, int how)
{
    MPI_Request request, later;
    MPI_Count all = CELLS;
    fresh();
    for (int n = 0; n < 3; n++) {
        fill();
        switch (how) {
        case 0: CK(MPI_Irecv(landed[1], CELLS, MPI_INT, me, TAG, comm, &request)); break;
        case 1: CK(MPI_Irecv(landed[1], CELLS, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &request)); break;
        case 2: CK(MPI_Irecv_c(landed[1], all, MPI_INT, me, TAG, comm, &request)); break;
        case 3: CK(PMPI_Irecv(landed[1], CELLS, MPI_INT, me, TAG, comm, &request)); break;
        default:
            CK(MPI_Recv_init(landed[1], CELLS, MPI_INT, how == 4 ? me : MPI_ANY_SOURCE, TAG, comm, &request));
            CK(MPI_Start(&request));
            break;
        }
        CK(MPI_Isend(cells[2], CELLS, MPI_INT, me, OTHER, comm, &later));
        exchange(what, me, MPI_ANY_TAG);
        CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CK(MPI_Wait(&later, MPI_STATUS_IGNORE));
        went(what, 0, 2);
        went(what, 1, 0);
        if (how > 3)
            CK(MPI_Request_free(&request));
    }
}

/* A receive is pending, and the call has none of its own. */
static void posted_alone(void)
{
    MPI_Request request, later;
    fresh();
    fill();
    CK(MPI_Irecv(landed[1], CELLS, MPI_INT, me, TAG, comm, &request));
    CK(MPI_Irecv(landed[2], CELLS, MPI_INT, me, OTHER, comm, &later));
    CK(MPI_Sendrecv(cells[0], 1, by_column, me, TAG, landed[0], CELLS, MPI_INT, MPI_PROC_NULL, TAG, comm,
                    MPI_STATUS_IGNORE));
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    went("posted alone", 1, 0);
    CK(MPI_Cancel(&later));
    CK(MPI_Wait(&later, MPI_STATUS_IGNORE));
}

/* What leaves a message that our receive is for. */
static void sent(const char *what, int how)
{
    MPI_Request request = MPI_REQUEST_NULL;
    fresh();
    for (int n = 0; n < 3; n++) {
        fill();
        switch (how) {
        case 0: CK(MPI_Send(cells[2], CELLS, MPI_INT, me, TAG, comm)); break;
        case 1: CK(MPI_Isend(cells[2], 1, by_column, me, TAG, comm, &request)); break;
        case 2: CK(MPI_Bsend(cells[2], CELLS, MPI_INT, me, TAG, comm)); break;
        case 3: CK(MPI_Issend(cells[2], CELLS, MPI_INT, me, TAG, comm, &request)); break;
        case 4:
            CK(MPI_Send_init(cells[2], CELLS, MPI_INT, me, TAG, comm, &request));
            CK(MPI_Start(&request));
            break;
        case 5:
            CK(MPI_Sendrecv(cells[2], CELLS, MPI_INT, me, TAG, NULL, 0, MPI_INT, MPI_PROC_NULL, TAG, comm,
                            MPI_STATUS_IGNORE));
            break;
        default: { /* the message stays, as that call's receive is for another one */
            MPI_Request other;
            int token = 7, got = 0;
            CK(MPI_Isend(&token, 1, MPI_INT, me, OTHER, comm, &other));
            CK(MPI_Sendrecv(cells[2], CELLS, MPI_INT, me, TAG, &got, 1, MPI_INT, me, OTHER, comm, MPI_STATUS_IGNORE));
            CK(MPI_Wait(&other, MPI_STATUS_IGNORE));
            check_equal(NULL, what, "token", got, token);
            break;
        }
        }
        exchange(what, me, TAG);
        receive(1, TAG);
        CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (how == 4)
            CK(MPI_Request_free(&request));
        went(what, 0, 2);
        went(what, 1, 0);
    }
}

/* Both at once. */
static void both(void)
{
    MPI_Request request, later;
    fresh();
    fill();
    CK(MPI_Isendrecv(cells[1], CELLS, MPI_INT, me, OTHER, landed[1], CELLS, MPI_INT, me, TAG, comm, &request));
    exchange("both", me, MPI_ANY_TAG);
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    went("both", 0, 1);
    went("both", 1, 0);
    fill(); /* a receive of another tag stays out of it */
    CK(MPI_Irecv(landed[1], CELLS, MPI_INT, me, OTHER, comm, &later));
    exchange("apart", me, TAG);
    CK(MPI_Send(cells[2], CELLS, MPI_INT, me, OTHER, comm));
    CK(MPI_Wait(&later, MPI_STATUS_IGNORE));
    went("apart", 0, 0);
    went("apart", 1, 2);
}

/* Other ranks' messages have the same tag, and are none of it. */
static void others(void)
{
    int next = (me + 1) % prog.ranks, last = (me + prog.ranks - 1) % prog.ranks, token = 100 + me, got = -1;
    MPI_Request request;
    fresh();
    for (int n = 0; n < 20; n++) {
        fill();
        CK(MPI_Isend(&token, 1, MPI_INT, next, TAG, comm, &request));
        exchange("others", me, n % 2 == 0 ? TAG : MPI_ANY_TAG);
        CK(MPI_Recv(&got, 1, MPI_INT, last, TAG, comm, MPI_STATUS_IGNORE));
        CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        went("others", 0, 0);
        check_equal(NULL, "others", "token", got, 100 + last);
        CK(MPI_Barrier(comm));
        exchange("any source", MPI_ANY_SOURCE, TAG); /* after the barrier nothing else is there */
        CK(MPI_Barrier(comm));
    }
}

/* A message that is sent in a callback inside another call, where a library before MPI sees nothing of it. */
static MPI_Request hidden;

static int send_one(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)value;
    (void)extra;
    CK(MPI_Isend(cells[2], CELLS, MPI_INT, me, TAG, comm, &hidden));
    return MPI_SUCCESS;
}

static void in_a_callback(void)
{
    MPI_Datatype type;
    int key;
    CK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, send_one, &key, NULL));
    CK(MPI_Type_contiguous(2, MPI_INT, &type));
    CK(MPI_Type_commit(&type));
    CK(MPI_Type_set_attr(type, key, NULL));
    fresh();
    for (int n = 0; n < 20; n++) {
        fill();
        exchange("before the callback", me, TAG);
        went("before the callback", 0, 0);
    }
    fill();
    CK(MPI_Type_free(&type));
    exchange("callback", me, TAG);
    receive(1, TAG);
    CK(MPI_Wait(&hidden, MPI_STATUS_IGNORE));
    went("callback", 0, 2);
    went("callback", 1, 0);
    CK(MPI_Type_free_keyval(&key));
}

int main(int argc, char **argv)
{
    static const char *const receives[] = {"Irecv", "Irecv any source", "Irecv_c", "PMPI_Irecv", "Recv_init",
                                           "Recv_init any"};
    static const char *const sends[] = {"Send", "Isend", "Bsend", "Issend", "Send_init", "Sendrecv to nobody",
                                        "Sendrecv apart"};
    MPI_Datatype column, place;
    void *attached;
    int size;
    prog_start(&argc, &argv, getenv("OWN_MESSAGES_THREADS") != NULL);
    me = prog.me;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &place);
    MPI_Type_contiguous(COLUMNS, place, &by_column);
    MPI_Type_commit(&by_column);
    MPI_Type_free(&column);
    MPI_Type_free(&place);
    MPI_Buffer_attach(space, sizeof space);
    alone();
    large();
    for (int how = 0; how < 6; how++)
        posted(receives[how], how);
    posted_alone();
    for (int how = 0; how < 7; how++)
        sent(sends[how], how);
    both();
    others();
    in_a_callback();
    MPI_Buffer_detach(&attached, &size);
    while (comms > 0)
        MPI_Comm_free(&kept[--comms]);
    MPI_Type_free(&by_column);
    return prog_end("own_messages");
}
