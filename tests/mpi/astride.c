/*
 * Messages and blocks of several parts in which a cut lies within an element (structs of a double and an int): sent
 * by types that are used often, which Espalier would pack, and received by types that are made for one use, in many
 * ways, which it does not know. Where the sender packs, and the receiver does not, MPICH 4.0.2 takes the message for
 * truncated. And the other way round, and with elements that no cut meets.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { TIMES = 300, ITEMS_MOST = 40000, RANKS_MOST = 8 };

/* `n` items of sixteen bytes: a double and an int, or two ints behind the double. By a constructor of three. */
static MPI_Datatype make(int n, int whole, int way)
{
    const int one[3] = {1, 1, 1};
    const MPI_Aint at[3] = {0, 8, 12}, zero = 0;
    const MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_INT, MPI_INT};
    MPI_Datatype part, item, type, outer;

    CK(MPI_Type_create_struct(whole ? 3 : 2, one, at, parts, &part));
    CK(MPI_Type_create_resized(part, 0, 16, &item));
    if (way % 3 == 0)
        CK(MPI_Type_contiguous(n, item, &type));
    else if (way % 3 == 1)
        CK(MPI_Type_create_hvector(n, 1, 16, item, &type));
    else
        CK(MPI_Type_create_hindexed(1, &n, &zero, item, &type));
    CK(MPI_Type_create_resized(type, 0, 16 * (MPI_Aint)n + 16 * (way / 3 % 50), &outer));
    CK(MPI_Type_commit(&outer));
    MPI_Type_free(&part);
    MPI_Type_free(&item);
    MPI_Type_free(&type);
    return outer;
}

static unsigned char *from, *to;

/* From rank 0 to rank 1. `anew`: who makes types for one use. */
static void message(MPI_Datatype type, MPI_Datatype anew, int time, int sender_anew)
{
    MPI_Request request;
    MPI_Status status;
    int count;

    if (prog.me == 0) {
        const MPI_Datatype s = sender_anew ? anew : type;
        if (time % 3 == 0)
            CK(MPI_Send(from, 1, s, 1, 3, prog.comm));
        else if (time % 3 == 1)
            CK(MPI_Isend(from, 1, s, 1, 3, prog.comm, &request));
        else
            CK(MPI_Send_init(from, 1, s, 1, 3, prog.comm, &request));
        if (time % 3 == 2)
            CK(MPI_Start(&request));
        if (time % 3 != 0)
            CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (time % 3 == 2)
            CK(MPI_Request_free(&request));
    } else if (prog.me == 1) {
        CK(MPI_Recv(to, 1, sender_anew ? type : anew, 0, 3, prog.comm, &status));
        CK(MPI_Get_elements(&status, type, &count));
        check_value(NULL, "message", "elements", count);
    }
}

/* Rank 1 alone makes types anew. */
static void blocks(MPI_Datatype type, MPI_Datatype anew, int time, int n)
{
    const MPI_Datatype mine = prog.me == 1 ? anew : type;
    int counts[RANKS_MOST], places[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];

    for (int i = 0; i < prog.ranks; i++) {
        counts[i] = 1;
        places[i] = 16 * n * i;
        types[i] = mine;
    }
    if (time % 3 == 0)
        CK(MPI_Alltoallw(from, counts, places, types, to, counts, places, types, prog.comm));
    else if (time % 3 == 1)
        CK(MPI_Gather(from, 1, type, to, 1, mine, 1, prog.comm));
    else
        CK(MPI_Allgather(from, 1, type, to, 1, mine, prog.comm));
}

/* Blocks without a cut, of which MPI_Allgather sends several together, with one: all ranks have their fields in
   another order, and rank 0 makes its type for each call. */
static void blocks_together(void)
{
    enum { RECORDS = 385, RECORD = 40, CALLS = 200 };
    static const MPI_Aint at[4][4] = {{0, 1, 8, 16}, {20, 21, 0, 16}, {24, 25, 16, 32}, {16, 17, 8, 0}};
    const MPI_Datatype parts[4] = {MPI_CHAR, MPI_CHAR, MPI_DOUBLE, MPI_INT};
    const int one[4] = {1, 1, 1, 1};
    const size_t block = RECORDS * RECORD;
    MPI_Datatype fields, record, again, list;
    MPI_Request request;

    CK(MPI_Type_create_struct(4, one, at[prog.me % 4], parts, &fields));
    CK(MPI_Type_create_resized(fields, 0, RECORD, &record));
    CK(MPI_Type_commit(&record));
    for (int time = 0; time < CALLS; time++) {
        memset(to, 0, block * (size_t)prog.ranks);
        fill_bytes(to + block * (size_t)prog.me, block, mix(prog.seed, (uint64_t)(1000 * time + prog.me)));
        if (prog.me == 0) {
            CK(MPI_Type_create_resized(fields, 0, RECORD, &again));
            CK(MPI_Type_contiguous(RECORDS, again, &list));
            CK(MPI_Type_free(&again));
            CK(MPI_Type_commit(&list));
        }
        const int count = prog.me == 0 ? 1 : RECORDS;
        const MPI_Datatype type = prog.me == 0 ? list : record;
        if (time % 2 == 0) {
            CK(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, to, count, type, prog.comm, &request));
            CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            CK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, to, count, type, prog.comm));
        }
        check_bytes(NULL, "blocks together", "received", to, block * (size_t)prog.ranks);
        if (prog.me == 0)
            CK(MPI_Type_free(&list));
    }
    CK(MPI_Type_free(&record));
    CK(MPI_Type_free(&fields));
}

/* From the last rank, which has packed its type often before; the others meet theirs first. */
static void broadcasts(int n, int whole)
{
    enum { PACKS = 300, BROADCASTS = 20 };
    const int root = prog.ranks - 1, size = 17 * n;
    MPI_Datatype type = make(n, whole, 1);
    MPI_Request request;

    for (int i = 0; i < PACKS && prog.me == root; i++) {
        int at = 0;
        CK(MPI_Pack(from, 1, type, to, size, &at, MPI_COMM_SELF));
    }
    for (int time = 0; time < BROADCASTS; time++) {
        void *data = prog.me == root ? from : to;
        memset(to, 0, (size_t)size);
        if (time % 2 == 0) {
            CK(MPI_Bcast(data, 1, type, root, prog.comm));
        } else {
            CK(MPI_Ibcast(data, 1, type, root, prog.comm, &request));
            CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        check_bytes(NULL, "broadcast", "received", to, (size_t)size);
    }
    MPI_Type_free(&type);
}

/* To the own rank, where the library cuts a little earlier; the receiver's items have no gaps. */
static void to_oneself(MPI_Datatype type, int n, int time)
{
    const int one[2] = {1, 1};
    const MPI_Aint at[2] = {0, 8};
    const MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype part, item, dense;
    MPI_Request requests[2];
    MPI_Status statuses[2];

    CK(MPI_Type_create_struct(2, one, at, parts, &part));
    CK(MPI_Type_create_resized(part, 0, 12, &item));
    CK(MPI_Type_contiguous(n, item, &dense));
    CK(MPI_Type_commit(&dense));
    if (time % 4 == 0) {
        CK(MPI_Sendrecv(from, 1, type, prog.me, 4, to, 1, dense, prog.me, 4, prog.comm, MPI_STATUS_IGNORE));
    } else if (time % 4 == 1) {
        CK(MPI_Irecv(to, 1, dense, prog.me, 4, prog.comm, &requests[0]));
        CK(MPI_Send(from, 1, type, prog.me, 4, prog.comm));
        CK(MPI_Wait(&requests[0], statuses));
    } else if (time % 4 == 2) {
        CK(MPI_Irecv(to, 1, dense, prog.me, 4, prog.comm, &requests[0]));
        CK(MPI_Isend(from, 1, type, prog.me, 4, prog.comm, &requests[1]));
        CK(MPI_Waitall(2, requests, statuses));
    } else {
        CK(MPI_Alltoall(from, 1, type, to, 1, dense, prog.comm));
    }
    MPI_Type_free(&dense);
    MPI_Type_free(&item);
    MPI_Type_free(&part);
}

int main(int argc, char **argv)
{
    static const int items[] = {400, 690, 1100, 1500, 7000, 30000};

    prog_start(&argc, &argv, 0);
    const size_t all = 17 * (size_t)ITEMS_MOST * (size_t)prog.ranks;
    from = malloc(all);
    to = malloc(all);
    if (prog.ranks > 1)
        blocks_together();
    /* Of more ranks a root takes two blocks of another one for truncated, natively, too. */
    for (size_t i = 0; i < sizeof items / sizeof *items && prog.ranks > 1 && prog.ranks < 4; i++)
        for (int whole = 0; whole < 2; whole++) {
            const int n = items[i], times = n < 5000 ? TIMES : TIMES / 10;
            MPI_Datatype type;
            broadcasts(n, whole);
            type = make(n, whole, 0);
            fill_bytes(from, all, mix(prog.seed, (uint64_t)(prog.me + 100 * n + whole)));
            for (int time = 0; time < times; time++) {
                MPI_Datatype anew = make(n, whole, prog.me == 1 || time >= times / 2 ? time : 0);
                memset(to, 0, (size_t)(17 * n * prog.ranks));
                message(type, anew, time, time >= times / 2);
                check_bytes(NULL, "message", "received", to, (size_t)(17 * n * prog.ranks));
                MPI_Type_free(&anew);
            }
            for (int time = 0; time < times; time++) {
                MPI_Datatype anew = make(n, whole, time % 3);
                memset(to, 0, (size_t)(17 * n * prog.ranks));
                blocks(type, anew, time, n);
                check_bytes(NULL, "blocks", "received", to, (size_t)(17 * n * prog.ranks));
                MPI_Type_free(&anew);
            }
            MPI_Type_free(&type);
        }
    for (int n = 681; n < 690 && prog.ranks > 1; n += 2) {
        MPI_Datatype type = make(n, 0, 0);
        for (int time = 0; time < TIMES; time++) {
            memset(to, 0, (size_t)(17 * n * prog.ranks));
            to_oneself(type, n, time);
            check_bytes(NULL, "to oneself", "received", to, (size_t)(17 * n * prog.ranks));
        }
        MPI_Type_free(&type);
    }
    free(from);
    free(to);
    return prog_end("astride");
}
