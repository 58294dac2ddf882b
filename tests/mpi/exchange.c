/*
 * MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw and their neighbourhood forms on one node, which Espalier carries out
 * through memory that the ranks share: blocks of a byte up to many pieces, of lengths about those of a slot and of a
 * piece, dense or with gaps on either side, by types that are made once or anew, in place, with absolute addresses,
 * with large counts, on parts of the ranks in any order; blocks that are cut off; pairs that have nothing for each
 * other, and do not meet; and ranks that need the library to go on while they wait.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { RANKS_MOST = 16, LIVES = 12 };
enum form { ALLTOALL, ALLTOALLV, ALLTOALLW, FORMS };
enum layout { DENSE, GAPS, PAIRS, LAYOUTS };

/* `n` bytes, dense or with a gap behind each eight; n is a multiple of 8 where there are gaps. Pairs have a gap of
   four bytes in sixteen, and come by twelve. */
static MPI_Datatype make_type(enum layout layout, int n)
{
    MPI_Datatype type;

    if (layout == DENSE)
        CK(MPI_Type_contiguous(n, MPI_BYTE, &type));
    else if (layout == GAPS)
        CK(MPI_Type_vector(n / 8, 8, 12, MPI_BYTE, &type));
    else
        CK(MPI_Type_contiguous(n / 12, MPI_DOUBLE_INT, &type));
    CK(MPI_Type_commit(&type));
    return type;
}

/* Bytes in memory that a block may take. */
static size_t room(int n)
{
    return 2 * (size_t)n + 64;
}

struct arrays {
    int counts[RANKS_MOST], places[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];
    MPI_Count large[RANKS_MOST];
    MPI_Aint far[RANKS_MOST];
};

static void set(struct arrays *a, enum form form, int ranks, MPI_Datatype type, int bytes)
{
    MPI_Aint lb, extent;

    CK(MPI_Type_get_extent(type, &lb, &extent));
    for (int i = 0; i < ranks; i++) {
        a->counts[i] = 1;
        a->large[i] = 1;
        a->places[i] = form == ALLTOALLW ? i * bytes : i;
        a->far[i] = a->places[i];
        a->types[i] = type;
    }
    (void)extent;
}

static int call(enum form form, int large, const void *from, struct arrays *s, void *to, struct arrays *r,
                MPI_Comm comm)
{
    switch (form) {
    case ALLTOALL:
        return large ? MPI_Alltoall_c(from, 1, s->types[0], to, 1, r->types[0], comm)
                     : MPI_Alltoall(from, 1, s->types[0], to, 1, r->types[0], comm);
    case ALLTOALLV:
        return large ? MPI_Alltoallv_c(from, s->large, s->far, s->types[0], to, r->large, r->far, r->types[0], comm)
                     : MPI_Alltoallv(from, s->counts, s->places, s->types[0], to, r->counts, r->places, r->types[0],
                                     comm);
    default:
        return large ? MPI_Alltoallw_c(from, s->large, s->far, s->types, to, r->large, r->far, r->types, comm)
                     : MPI_Alltoallw(from, s->counts, s->places, s->types, to, r->counts, r->places, r->types, comm);
    }
}

/* One length, in all forms and pairs of layouts. */
static void lengths(int n, MPI_Comm comm)
{
    const size_t all = room(n) * (size_t)prog.ranks;
    unsigned char *from = malloc(all), *to = malloc(all);
    int ranks;

    MPI_Comm_size(comm, &ranks);
    for (int form = 0; form < FORMS; form++)
        for (int pair = 0; pair < LAYOUTS * LAYOUTS; pair++) {
            const enum layout out = pair % LAYOUTS, in = pair / LAYOUTS;
            struct arrays s, r;
            MPI_Datatype types[2];
            if ((n % 8 != 0 && (out == GAPS || in == GAPS)) || (out == PAIRS) != (in == PAIRS) ||
                (n % 12 != 0 && out == PAIRS))
                continue;
            types[0] = make_type(out, n);
            types[1] = make_type(in, n);
            set(&s, form, ranks, types[0], (int)room(n));
            set(&r, form, ranks, types[1], (int)room(n));
            for (int time = 0; time < 3; time++) {
                fill_bytes(from, all, mix(prog.seed, (uint64_t)(prog.me * 1000 + form * 100 + pair * 10 + time)));
                fill_bytes(to, all, 5);
                CK(call(form, time == 1, from, &s, to, &r, comm));
                check_bytes(NULL, "lengths", "received", to, all);
            }
            if (in != PAIRS) { /* MPICH 4.0.2 cuts them off */
                fill_bytes(to, all, mix(prog.seed, (uint64_t)prog.me));
                CK(call(form, 0, MPI_IN_PLACE, &s, to, &r, comm));
                check_bytes(NULL, "in place", "received", to, all);
            }
            MPI_Type_free(&types[0]);
            MPI_Type_free(&types[1]);
        }
    free(from);
    free(to);
}

/* Types that live for one call, of lengths that differ by pair. */
static void lives(MPI_Comm comm)
{
    enum { N = 48000 };
    unsigned char *from = malloc(N * 2 * RANKS_MOST), *to = malloc(N * 2 * RANKS_MOST);
    int ranks, me;

    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &me);
    for (int life = 0; life < LIVES; life++) {
        struct arrays s, r;
        for (int i = 0; i < ranks; i++) {
            const int longer = (life + me + i) % 3 == 0 ? 8 : 1000 * ((life + me + i) % 6); /* the same for both */
            s.counts[i] = r.counts[i] = longer > 0;
            s.places[i] = r.places[i] = i * 2 * N;
            s.types[i] = make_type((life + i) % 2 ? DENSE : GAPS, longer > 0 ? longer * 8 : 8);
            r.types[i] = make_type((life + me) % 2 ? GAPS : DENSE, longer > 0 ? longer * 8 : 8);
        }
        fill_bytes(from, (size_t)(N * 2) * (size_t)ranks, mix(prog.seed, (uint64_t)(life * 100 + prog.me)));
        fill_bytes(to, (size_t)(N * 2) * (size_t)ranks, 6);
        CK(MPI_Alltoallw(from, s.counts, s.places, s.types, to, r.counts, r.places, r.types, comm));
        check_bytes(NULL, "lives", "received", to, (size_t)(N * 2) * (size_t)ranks);
        for (int i = 0; i < ranks; i++) {
            MPI_Type_free(&s.types[i]);
            MPI_Type_free(&r.types[i]);
        }
    }
    free(from);
    free(to);
}

/* Absolute addresses, from MPI_BOTTOM on: of the type that is made at once and of one that is used often. */
static void absolute(MPI_Comm comm)
{
    enum { N = 40000, TIMES = 20 };
    static double from[RANKS_MOST][N], to[RANKS_MOST][N];
    struct arrays s, r;
    int ranks;

    MPI_Comm_size(comm, &ranks);
    for (int n = 3; n <= N; n *= 13) {
        for (int i = 0; i < ranks; i++) {
            MPI_Aint at[2];
            int length = n / 3;
            CK(MPI_Get_address(&from[i][1], &at[0]));
            at[1] = at[0] + (MPI_Aint)sizeof(double) * (length + 1);
            CK(MPI_Type_create_hindexed_block(2, length, at, MPI_DOUBLE, &s.types[i]));
            CK(MPI_Get_address(&to[i][2], &at[0]));
            at[1] = at[0] + (MPI_Aint)sizeof(double) * (length + 2);
            CK(MPI_Type_create_hindexed_block(2, length, at, MPI_DOUBLE, &r.types[i]));
            CK(MPI_Type_commit(&s.types[i]));
            CK(MPI_Type_commit(&r.types[i]));
            s.counts[i] = r.counts[i] = 1;
            s.places[i] = r.places[i] = 0;
        }
        for (int time = 0; time < TIMES; time++) {
            fill_bytes(from, sizeof from, mix(prog.seed, (uint64_t)(time * 100 + prog.me)));
            memset(to, 0, sizeof to);
            CK(MPI_Alltoallw(MPI_BOTTOM, s.counts, s.places, s.types, MPI_BOTTOM, r.counts, r.places, r.types, comm));
            check_bytes(NULL, "absolute", "received", to, sizeof to);
        }
        for (int i = 0; i < ranks; i++) {
            MPI_Type_free(&s.types[i]);
            MPI_Type_free(&r.types[i]);
        }
    }
}

/* To and from neighbours of a torus or a box, of whom one may be met twice, and be this rank itself. */
static void neighbours(int periodic, int dimensions, int n)
{
    int sizes[3] = {0, 0, 0}, periods[3] = {periodic, periodic, periodic}, edges = 2 * dimensions;
    const size_t all = room(n) * 6;
    unsigned char *from = malloc(all), *to = malloc(all);
    MPI_Comm comm;

    CK(MPI_Dims_create(prog.ranks, dimensions, sizes));
    CK(MPI_Cart_create(prog.comm, dimensions, sizes, periods, 0, &comm));
    for (int form = 0; form < FORMS; form++)
        for (int pair = 0; pair < 4; pair++) {
            MPI_Datatype types[2] = {make_type(pair % 2 ? GAPS : DENSE, n), make_type(pair / 2 ? GAPS : DENSE, n)};
            struct arrays s, r;
            set(&s, form, edges, types[0], (int)room(n));
            set(&r, form, edges, types[1], (int)room(n));
            for (int time = 0; time < 4; time++) {
                fill_bytes(from, all, mix(prog.seed, (uint64_t)(prog.me * 1000 + form * 100 + pair * 10 + time)));
                fill_bytes(to, all, 7);
                if (form == ALLTOALL)
                    CK(MPI_Neighbor_alltoall(from, 1, types[0], to, 1, types[1], comm));
                else if (form == ALLTOALLV && time % 2)
                    CK(MPI_Neighbor_alltoallv_c(from, s.large, s.far, types[0], to, r.large, r.far, types[1], comm));
                else if (form == ALLTOALLV)
                    CK(MPI_Neighbor_alltoallv(from, s.counts, s.places, types[0], to, r.counts, r.places, types[1],
                                              comm));
                else
                    CK(MPI_Neighbor_alltoallw(from, s.counts, s.far, s.types, to, r.counts, r.far, r.types, comm));
                check_bytes(NULL, "neighbours", "received", to, all);
                for (int i = 0; i < edges && time == 2; i++) /* the next time some have nothing for each other */
                    s.counts[i] = r.counts[i] = i / 2 != 0;
            }
            MPI_Type_free(&types[0]);
            MPI_Type_free(&types[1]);
        }
    MPI_Comm_free(&comm);
    free(from);
    free(to);
}

/* What arrives is longer than the receiver says: its error, and nobody else's; and the next call is right. */
static void cut_off(MPI_Comm comm, enum layout in, int n)
{
    MPI_Datatype types[2] = {make_type(DENSE, 1), make_type(in, n / 2)};
    unsigned char *from, *to;
    struct arrays s, r;
    int ranks, me, class = MPI_SUCCESS;

    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &me);
    from = malloc(room(n) * (size_t)ranks);
    to = malloc(room(n) * (size_t)ranks);
    set(&s, ALLTOALLW, ranks, types[0], (int)room(n));
    set(&r, ALLTOALLW, ranks, types[1], (int)room(n));
    for (int i = 0; i < ranks; i++) {
        s.counts[i] = i == 1 && me == 0 ? n : n / 2;
        s.types[i] = MPI_BYTE;
    }
    fill_bytes(from, room(n) * (size_t)ranks, (uint64_t)me);
    for (int time = 0; time < 3; time++) {
        const int rc = MPI_Alltoallw(from, s.counts, s.places, s.types, to, r.counts, r.places, r.types, comm);
        if (rc != MPI_SUCCESS)
            MPI_Error_class(rc, &class);
        check_equal(NULL, "cut off", "class", class, me == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    }
    s.counts[1] = n / 2;
    fill_bytes(to, room(n) * (size_t)ranks, 9);
    CK(MPI_Alltoallw(from, s.counts, s.places, s.types, to, r.counts, r.places, r.types, comm));
    check_bytes(NULL, "cut off", "then", to, room(n) * (size_t)ranks);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    free(from);
    free(to);
}

/* A rank in the call has a message to take, without which the other one does not come. */
static void goes_on(MPI_Comm comm)
{
    enum { N = 1 << 20 };
    static int data[N], got[N];
    int from[RANKS_MOST] = {0}, to[RANKS_MOST] = {0};
    MPI_Request request = MPI_REQUEST_NULL;

    for (int time = 0; time < 5 && prog.ranks > 1; time++) {
        fill_bytes(data, sizeof data, (uint64_t)time);
        if (prog.me == 0)
            CK(MPI_Irecv(got, N, MPI_INT, 1, 7, comm, &request));
        if (prog.me == 1)
            CK(MPI_Send(data, N, MPI_INT, 0, 7, comm));
        CK(MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm));
        if (prog.me == 0) {
            CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            check_equal(NULL, "goes on", "received", memcmp(data, got, sizeof data), 0);
        }
    }
}

/* The same where a message waits that nobody takes as yet, and what the other rank needs is this one's part in a
   one-sided call, or in a long message of a type with gaps. */
static void goes_on_behind(MPI_Comm comm)
{
    enum { N = 200000 };
    static double data[2 * N], got[2 * N], window[2];
    double from[RANKS_MOST] = {0}, to[RANKS_MOST] = {0}, one = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype gaps;
    MPI_Win win;

    if (prog.ranks < 2)
        return;
    CK(MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &gaps));
    CK(MPI_Type_commit(&gaps));
    CK(MPI_Win_create(window, sizeof window, sizeof *window, MPI_INFO_NULL, comm, &win));
    for (int time = 0; time < 4; time++) {
        fill_bytes(data, sizeof data, (uint64_t)time);
        if (prog.me == 0)
            CK(MPI_Send(&time, 1, MPI_INT, 1, 0, comm));
        MPI_Barrier(comm);
        if (prog.me == 1 && time % 2)
            CK(MPI_Isend(data, 1, gaps, 0, 5, comm, &request));
        if (prog.me == 0 && time % 2) {
            CK(MPI_Recv(got, 1, gaps, 1, 5, comm, MPI_STATUS_IGNORE));
        } else if (prog.me == 0) {
            CK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
            CK(MPI_Accumulate(&one, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, win));
            CK(MPI_Win_unlock(1, win));
        }
        CK(MPI_Alltoall(from, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, comm));
        if (prog.me == 1) {
            CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CK(MPI_Recv(to, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
        }
    }
    CK(MPI_Win_free(&win));
    CK(MPI_Type_free(&gaps));
}

/* One rank has nothing for any other; in place, and in a call with no types for it. */
static void nothing_here(MPI_Comm comm)
{
    int from[RANKS_MOST], to[RANKS_MOST], counts[RANKS_MOST], places[RANKS_MOST], bytes[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];
    const int none = prog.ranks - 1;

    for (int time = 0; time < 8; time++) {
        for (int i = 0; i < prog.ranks; i++) {
            from[i] = 100 * prog.me + i + time;
            to[i] = -from[i];
            counts[i] = prog.me != none && i != none;
            places[i] = i;
            bytes[i] = i * (int)sizeof(int);
            types[i] = MPI_INT;
        }
        if (time % 4 == 0)
            CK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, to, counts, places, MPI_INT, comm));
        else if (time % 4 == 1)
            CK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, to, counts, bytes, types, comm));
        else if (time % 4 == 2)
            CK(MPI_Alltoallw(from, counts, bytes, prog.me == none ? NULL : types, to, counts, bytes,
                             prog.me == none ? NULL : types, comm));
        else
            CK(MPI_Alltoallv(from, counts, places, MPI_INT, to, counts, places, MPI_INT, comm));
        check_bytes(NULL, "nothing here", "received", to, (size_t)prog.ranks * sizeof *to);
    }
}

/* Ranks 0 and 2 have nothing for each other: 2 comes when 0 has gone. */
static void apart(MPI_Comm comm)
{
    int from[RANKS_MOST], to[RANKS_MOST], counts[RANKS_MOST], places[RANKS_MOST], token = 0;
    MPI_Datatype types[RANKS_MOST];

    if (prog.ranks < 3)
        return;
    for (int time = 0; time < 5; time++) {
        for (int i = 0; i < prog.ranks; i++) {
            from[i] = 100 * prog.me + i + time;
            to[i] = -1;
            counts[i] = (prog.me == 0 && i <= 1) || (prog.me == 1 && i == 0) || (prog.me > 1 && i > 1);
            places[i] = i * (int)sizeof(int);
            types[i] = MPI_INT;
        }
        if (prog.me == 2)
            CK(MPI_Recv(&token, 1, MPI_INT, 0, 8, comm, MPI_STATUS_IGNORE));
        CK(MPI_Alltoallw(from, counts, places, types, to, counts, places, types, comm));
        if (prog.me == 0)
            CK(MPI_Send(&token, 1, MPI_INT, 2, 8, comm));
        check_bytes(NULL, "apart", "received", to, (size_t)prog.ranks * sizeof *to);
    }
}

/* Null buffers, and one buffer given twice, in calls that MPI refuses; and those that it takes. */
static void refused(MPI_Comm comm)
{
    int from[2 * RANKS_MOST] = {0}, to[2 * RANKS_MOST] = {0}, one[RANKS_MOST], places[RANKS_MOST], class;
    MPI_Datatype types[RANKS_MOST], open;
    struct {
        const char *what;
        int code;
    } tried[16];
    int n = 0;

    CK(MPI_Type_vector(1, 1, 2, MPI_INT, &open));
    for (int i = 0; i < RANKS_MOST; i++) {
        one[i] = 1;
        places[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
#define TRY(what, call) tried[n++] = (__typeof__(tried[0])){what, call}
    TRY("null from", MPI_Alltoall(NULL, 1, MPI_INT, to, 1, MPI_INT, comm));
    TRY("null to", MPI_Alltoall(from, 1, MPI_INT, NULL, 1, MPI_INT, comm));
    TRY("uncommitted", MPI_Alltoall(from, 1, open, to, 1, MPI_INT, comm));
    TRY("uncommitted to", MPI_Alltoall(from, 1, MPI_INT, to, 1, open, comm));
    TRY("twice", MPI_Alltoall(from, 1, MPI_INT, from, 1, MPI_INT, comm));
    TRY("v, twice", MPI_Alltoallv(from, one, one, MPI_INT, from, one, one, MPI_INT, comm));
    TRY("w, twice", MPI_Alltoallw(from, one, places, types, from, one, places, types, comm));
    TRY("in place to", MPI_Alltoall(from, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm));
    TRY("right", MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm));
    TRY("none", MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm));
    for (int i = 0; i < n; i++) {
        MPI_Error_class(tried[i].code, &class);
        check_value(NULL, "refused", tried[i].what, class);
    }
    MPI_Type_free(&open);
}

static void all(MPI_Comm comm)
{
    static const int bytes[] = {1,     8,     24,    40,     47,     48,     49,     56,      120,     4096,
                                32760, 32767, 32768, 32769,  32784, 65544, 131064, 131072,  131088, 300000};

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        lengths(bytes[i], comm);
    lives(comm);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, odd, backwards;

    prog_start(&argc, &argv, 0);
    all(prog.comm);
    CK(MPI_Comm_split(prog.comm, 0, -prog.me, &backwards));
    all(backwards);
    CK(MPI_Comm_split(prog.comm, prog.me % 2, prog.me, &odd));
    lengths(4096, odd);
    lives(odd);
    lives(backwards);
    absolute(prog.comm);
    for (int periodic = 0; periodic < 2; periodic++)
        for (int dimensions = 1; dimensions <= 3; dimensions++) {
            neighbours(periodic, dimensions, 8);
            neighbours(periodic, dimensions, 4096);
            neighbours(periodic, dimensions, 200000);
        }
    goes_on(prog.comm);
    goes_on_behind(prog.comm);
    apart(prog.comm);
    nothing_here(prog.comm);
    MPI_Comm_dup(prog.comm, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    refused(comm);
    if (prog.ranks > 1) {
        static const int bytes[] = {16, 96, 4096, 60000, 70000, 400000, 1200000};
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            cut_off(comm, DENSE, bytes[i]);
            cut_off(comm, GAPS, bytes[i]);
        }
    }
    MPI_Comm_free(&comm);
    MPI_Comm_free(&odd);
    MPI_Comm_free(&backwards);
    return prog_end("exchange");
}
