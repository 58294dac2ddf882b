/*
 * Collective calls of which pack programs see to some sides on some ranks: an ordinary MPI program, which `compare`
 * runs natively and under Espalier. What a rank sends and receives has one signature, but the types differ between
 * ranks, some of which have nothing to pack; counts go past the lengths at which the library changes its algorithms.
 *   packed_coll PART   calls (the default), inter, wrong, threads, short0 to short11, late
 */
#include "packed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packed_coll.h"

struct room room_new(MPI_Datatype type, int items, uint64_t seed)
{
    struct room room = {.type = type};
    MPI_Aint lb, extent, low, span;
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &low, &span);
    MPI_Aint far = (items - 1) * extent, first = low + (far < 0 ? far : 0), last = low + span + (far > 0 ? far : 0);
    side_raw(&room.side, first, last, seed);
    free(room.side.want); /* only runs are compared; dozens of rooms live at a time, and pages are dear */
    room.side.want = NULL;
    return room;
}

void room_end(struct room *room, const char *call, const char *what)
{
    check_bytes(NULL, call, what, room->side.mem, room->side.size);
    side_free(&room->side);
}

/* ---- one layout in all calls ---- */

enum { JOBS = 28, PEERS = 8 };
struct job {
    const char *name;
    struct room send, receive;
    int counts[2][PEERS], places[2][PEERS];
    MPI_Aint far[2][PEERS];
    MPI_Datatype types[2][PEERS];
    MPI_Request request;
};

/* A type of the layout's signature, and how many of it make an item. */
struct kind {
    MPI_Datatype type;
    int per;
};

/* By what a rank has there, and a number that varies. */
static struct kind kind_of(const struct layout *l, int rank, int salt)
{
    const int which = (rank + salt) % 3;
    if (which == 2 && l->base != MPI_DATATYPE_NULL)
        return (struct kind){l->base, l->bases};
    return (struct kind){which == 1 ? l->twin : l->type, 1};
}

struct world {
    MPI_Comm comm, ring;
    int me, p;
    uint64_t seed;
    bool nonblocking;
};

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

#define DO(call, icall, ...)                                                                                         \
    do {                                                                                                             \
        j->name = #call;                                                                                             \
        if (w->nonblocking)                                                                                          \
            CK(MPI_##icall(__VA_ARGS__, &j->request));                                                               \
        else                                                                                                         \
            CK(MPI_##call(__VA_ARGS__));                                                                             \
    } while (0)

/* Buffers for `n` peers, twice as long as the blocks; blocks are received in the order of descending ranks with gaps
   between them; in the v-forms those sent overlap. */
static struct job *prepare(struct world *w, struct job *j, struct kind s, struct kind r, int items, int n)
{
    const int send = items * s.per, receive = items * r.per;
    w->seed = mix(w->seed, 1);
    *j = (struct job){.request = MPI_REQUEST_NULL};
    j->send = room_new(s.type, 2 * n * send + 1, mix(w->seed, (uint64_t)w->me));
    j->receive = room_new(r.type, 2 * n * receive + 1, mix(w->seed, (uint64_t)w->me + 50));
    for (int i = 0; i < n; i++) {
        j->counts[0][i] = send;
        j->counts[1][i] = receive;
        j->places[0][i] = i % 2 * (send / 2);
        j->places[1][i] = (n - 1 - i) * 2 * receive;
        j->far[0][i] = extent_of(s.type) * j->places[0][i];
        j->far[1][i] = extent_of(r.type) * j->places[1][i];
        j->types[0][i] = s.type;
        j->types[1][i] = r.type;
    }
    return j;
}

/* A type for each peer, and nothing for some. Of layouts that may have a twin elsewhere both sides have one type. */
static struct job *prepare_w(struct world *w, struct job *j, const struct layout *l, int items, int salt)
{
    const struct kind one = {l->type, 1};
    prepare(w, j, one, one, items, w->p);
    for (int i = 0; i < w->p; i++)
        for (int side = 0; side < 2; side++) {
            j->types[side][i] = l->base == MPI_DATATYPE_NULL && (i + side) % 2 ? l->twin : l->type;
            j->counts[side][i] = (w->me + i + salt) % 4 == 3 ? 0 : items;
            j->places[side][i] = (int)j->far[side][i];
        }
    return j;
}

/* A call of each kind. Which type a rank has on either side follows from `salt`; MPI_Allgatherv is given one receive
   type on all ranks, as MPICH wants it. */
static int all_calls(struct world *w, struct job *jobs, const struct layout *l, int items, int salt)
{
    const struct kind s = kind_of(l, w->me, salt), r = kind_of(l, w->me, salt + 1 + salt / 3);
    const int root = salt % w->p, p = w->p, neighbours = 2;
    const struct kind all = {l->type, 1};
    const bool is_root = w->me == root;
    struct job *j;
    int n = 0;
#define NEXT(peers) j = prepare(w, &jobs[n++], s, r, items, peers)
#define SB j->send.side.origin
#define RB j->receive.side.origin
#define SEND SB, items * s.per, s.type
#define RECV RB, items * r.per, r.type
#define SENDV SB, j->counts[0], j->places[0], s.type
#define RECVV RB, j->counts[1], j->places[1], r.type
    NEXT(p);
    DO(Bcast, Ibcast, is_root ? SB : RB, items * (is_root ? s : r).per, (is_root ? s : r).type, root, w->comm);
    NEXT(p);
    DO(Gather, Igather, SEND, RECV, root, w->comm);
    NEXT(p);
    DO(Gather, Igather, is_root ? MPI_IN_PLACE : SB, items * s.per, s.type, RECV, root, w->comm);
    NEXT(p);
    DO(Gatherv, Igatherv, SEND, RECVV, root, w->comm);
    NEXT(p);
    DO(Gatherv, Igatherv, is_root ? MPI_IN_PLACE : SB, items * s.per, s.type, RECVV, root, w->comm);
    NEXT(p);
    DO(Scatter, Iscatter, SEND, RECV, root, w->comm);
    NEXT(p);
    DO(Scatter, Iscatter, SEND, is_root ? MPI_IN_PLACE : RB, items * r.per, r.type, root, w->comm);
    NEXT(p);
    DO(Scatterv, Iscatterv, SENDV, RECV, root, w->comm);
    NEXT(p);
    DO(Scatterv, Iscatterv, SENDV, is_root ? MPI_IN_PLACE : RB, items * r.per, r.type, root, w->comm);
    NEXT(p);
    DO(Allgather, Iallgather, SEND, RECV, w->comm);
    NEXT(p);
    DO(Allgather, Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, RECV, w->comm);
    NEXT(p);
    DO(Alltoall, Ialltoall, SEND, RECV, w->comm);
    NEXT(p);
    DO(Alltoall, Ialltoall, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, RECV, w->comm);
    NEXT(p);
    DO(Alltoallv, Ialltoallv, SENDV, RECVV, w->comm);
    NEXT(p);
    DO(Alltoallv, Ialltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, RECVV, w->comm);
    NEXT(neighbours);
    DO(Neighbor_allgather, Ineighbor_allgather, SEND, RECV, w->ring);
    NEXT(neighbours);
    DO(Neighbor_allgatherv, Ineighbor_allgatherv, SEND, RECVV, w->ring);
    NEXT(neighbours);
    DO(Neighbor_alltoall, Ineighbor_alltoall, SEND, RECV, w->ring);
    NEXT(neighbours);
    DO(Neighbor_alltoallv, Ineighbor_alltoallv, SENDV, RECVV, w->ring);
    NEXT(neighbours);
    DO(Neighbor_alltoallw, Ineighbor_alltoallw, SB, j->counts[0], j->far[0], j->types[0], RB, j->counts[1], j->far[1],
       j->types[1], w->ring);
    j = prepare(w, &jobs[n++], s, all, items, p);
    DO(Allgatherv, Iallgatherv, SEND, RB, j->counts[1], j->places[1], l->type, w->comm);
    j = prepare(w, &jobs[n++], s, all, items, p);
    DO(Allgatherv, Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, RB, j->counts[1], j->places[1], l->type, w->comm);
    if (extent_of(l->type) < 0)
        return n;
    for (int in_place = 0; in_place < 2; in_place++) {
        j = prepare_w(w, &jobs[n++], l, items, salt);
        DO(Alltoallw, Ialltoallw, in_place ? MPI_IN_PLACE : SB, j->counts[0], j->places[0], j->types[0], RB,
           j->counts[1], j->places[1], j->types[1], w->comm);
    }
    return n;
}

/* Completes nonblocking calls in one of several ways. */
static void complete(struct job *jobs, int n, int how)
{
    MPI_Request request[JOBS];
    MPI_Status status[JOBS];
    int left = n, done, at[JOBS], flag = 0;
    for (int i = 0; i < n; i++)
        request[i] = jobs[i].request;
    switch (how % 6) {
    case 0:
        CK(MPI_Waitall(n, request, status));
        break;
    case 1:
        while (!flag)
            CK(MPI_Testall(n, request, &flag, status));
        break;
    case 2:
        for (done = 0; done != MPI_UNDEFINED;)
            CK(MPI_Waitany(n, request, &done, status));
        break;
    case 3:
        for (done = 0; done != MPI_UNDEFINED;)
            CK(MPI_Waitsome(n, request, &done, at, status));
        break;
    case 4:
        for (int i = 0; i < n; i++)
            for (flag = 0; !flag;) /* tells of the end first */
                CK(MPI_Request_get_status(request[i], &flag, status));
        CK(MPI_Waitall(n, request, status));
        break;
    default:
        while (left > 0) {
            left = 0;
            for (int i = 0; i < n; i++)
                if (request[i] != MPI_REQUEST_NULL) {
                    CK(MPI_Test(&request[i], &flag, status));
                    left += !flag;
                }
        }
    }
}

static void one_layout(struct world *w, const struct layout *l, int items, int salt)
{
    struct job jobs[JOBS];
    w->nonblocking = salt % 2;
    int n = all_calls(w, jobs, l, items, salt);
    if (w->nonblocking)
        complete(jobs, n, salt / 2);
    for (int i = 0; i < n; i++) {
        char what[120];
        snprintf(what, sizeof what, "%s, %d items, %d", jobs[i].name ? jobs[i].name : "nothing", items, salt);
        room_end(&jobs[i].receive, l->name, what);
        room_end(&jobs[i].send, l->name, "sent");
    }
}

/* Blocks around the lengths at which MPICH goes another way. */
static void thresholds(struct world *w)
{
    const int bytes[] = {8, 264, 12304, 33000, 540000 / w->p / 8 * 8};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        struct layout l = {.name = "threshold", .base = MPI_DOUBLE, .bases = bytes[i] / 8, .size = bytes[i]};
        MPI_Type_vector(l.bases, 1, 2, MPI_DOUBLE, &l.type);
        MPI_Type_vector(l.bases, 1, -3, MPI_DOUBLE, &l.twin);
        MPI_Type_commit(&l.type);
        MPI_Type_commit(&l.twin);
        for (int salt = 0; salt < (bytes[i] > 100000 ? 2 : 6); salt++)
            one_layout(w, &l, 1, salt);
        MPI_Type_free(&l.type);
        MPI_Type_free(&l.twin);
    }
}

/* Types that end while calls with them are on their way. */
static void freed(struct world *w)
{
    struct job j[2];
    MPI_Datatype type[2];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 2; i++) {
            MPI_Type_vector(20 + round, 1, 3 + i, MPI_INT, &type[i]);
            MPI_Type_commit(&type[i]);
            prepare(w, &j[i], (struct kind){type[i], 1}, (struct kind){type[i], 1}, 3, w->p);
            CK(MPI_Ialltoall(j[i].send.side.origin, 3, type[i], j[i].receive.side.origin, 3, type[i], w->comm,
                             &j[i].request));
            MPI_Type_free(&type[i]);
            memset(&type[i], 0, sizeof type[i]);
        }
        complete(j, 2, round);
        for (int i = 0; i < 2; i++) {
            room_end(&j[i].receive, "freed", "received");
            room_end(&j[i].send, "freed", "sent");
        }
    }
}

/* Data at addresses, and nothing. */
static void addresses(struct world *w)
{
    static double here[60], there[600];
    MPI_Aint at[2];
    MPI_Datatype one, type, none;
    MPI_Type_vector(7, 1, 3, MPI_DOUBLE, &one);
    MPI_Type_commit(&one);
    MPI_Get_address(&here[2], &at[0]);
    MPI_Get_address(&here[30], &at[1]);
    MPI_Type_create_struct(2, (const int[]){1, 1}, at, (const MPI_Datatype[]){one, one}, &type);
    MPI_Type_commit(&type);
    MPI_Type_vector(0, 1, 3, MPI_DOUBLE, &none);
    MPI_Type_commit(&none);
    for (int round = 0; round < 8; round++) {
        const int root = round % w->p;
        int counts[PEERS], places[PEERS], two[PEERS];
        for (int i = 0; i < w->p; i++) {
            two[i] = 2;
            counts[i] = 14 * (i % 2);
            places[i] = 20 * i;
        }
        for (int i = 0; i < 60; i++)
            here[i] = w->me * 1000 + i + round;
        memset(there, 0x5a, sizeof there);
        CK(MPI_Bcast(MPI_BOTTOM, 1, type, root, w->comm));
        check_bytes(NULL, "addresses", "broadcast", here, sizeof here);
        CK(MPI_Gather(MPI_BOTTOM, 1, type, there, 14, MPI_DOUBLE, root, w->comm));
        check_bytes(NULL, "addresses", "gathered", there, sizeof there);
        CK(MPI_Allgather(MPI_BOTTOM, 1, type, there, 14, MPI_DOUBLE, w->comm));
        check_bytes(NULL, "addresses", "gathered by all", there, sizeof there);
        CK(MPI_Allgatherv(MPI_BOTTOM, w->me % 2, type, there, counts, places, MPI_DOUBLE, w->comm));
        check_bytes(NULL, "addresses", "gathered by all, v", there, sizeof there);
        CK(MPI_Scatter(there, 14, MPI_DOUBLE, MPI_BOTTOM, 1, type, root, w->comm));
        check_bytes(NULL, "addresses", "scattered", here, sizeof here);
        CK(MPI_Alltoall(there, 0, one, here, 0, type, w->comm));
        CK(MPI_Alltoall(there, 3, none, here, 3, none, w->comm));
        CK(MPI_Gatherv(there, 2, none, here, two, places, none, root, w->comm));
        CK(MPI_Bcast(NULL, 0, type, root, w->comm));
        check_bytes(NULL, "addresses", "nothing", here, sizeof here);
    }
    MPI_Type_free(&none);
    MPI_Type_free(&type);
    MPI_Type_free(&one);
}

static struct world world_new(MPI_Comm comm)
{
    struct world w = {.seed = prog.seed};
    MPI_Comm_dup(comm, &w.comm);
    MPI_Comm_rank(comm, &w.me);
    MPI_Comm_size(comm, &w.p);
    MPI_Cart_create(comm, 1, &w.p, (const int[]){1}, 0, &w.ring);
    return w;
}

static void world_free(struct world *w)
{
    MPI_Comm_free(&w->comm);
    MPI_Comm_free(&w->ring);
}

static void calls(void)
{
    struct world w = world_new(MPI_COMM_WORLD);
    for (int i = 0; i < LAYOUTS - 1; i++) /* of the last one blocks overlap */
        for (int salt = 0; salt < (layouts[i].size > 10000 ? 4 : 12); salt++)
            one_layout(&w, &layouts[i], 1 + salt % ITEMS, salt);
    thresholds(&w);
    freed(&w);
    addresses(&w);
    world_free(&w);
}

/* ---- several threads, each with communicators of its own ---- */

static void *thread(void *argument)
{
    struct world *w = argument;
    struct job jobs[JOBS];
    for (int salt = 0; salt < 24; salt++) {
        const struct layout *l = &layouts[salt * 5 % (LAYOUTS - 1)];
        w->nonblocking = salt % 2;
        int n = all_calls(w, jobs, l, 2, salt);
        if (w->nonblocking)
            complete(jobs, n, salt / 2);
        for (int i = 0; i < n; i++) { /* two threads have one file of digests: only what both would write */
            for (size_t k = 0; k < jobs[i].receive.side.size; k++)
                w->seed = k % 64 ? w->seed : mix(w->seed, jobs[i].receive.side.mem[k]);
            side_free(&jobs[i].send.side);
            side_free(&jobs[i].receive.side);
        }
    }
    return NULL;
}

static void threads(void)
{
    struct world w[2] = {world_new(MPI_COMM_WORLD), world_new(MPI_COMM_WORLD)};
    pthread_t other;
    w[1].seed = 77;
    pthread_create(&other, NULL, thread, &w[1]);
    thread(&w[0]);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++) {
        check_value(NULL, "threads", "received", (long long)w[i].seed);
        world_free(&w[i]);
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 && argv[argc - 1][0] != '-' && strchr(argv[argc - 1], '/') == NULL ? argv[argc - 1]
                                                                                                    : "calls";
    const bool several = strcmp(part, "threads") == 0;
    prog_start(&argc, &argv, several);
    layouts_make();
    if (several)
        threads();
    else if (strcmp(part, "inter") == 0)
        part_inter();
    else if (strcmp(part, "wrong") == 0)
        part_wrong_coll();
    else if (strncmp(part, "short", 5) == 0)
        part_short(&layouts[atoi(part + 5) % LAYOUTS]);
    else if (strcmp(part, "late") == 0)
        part_late();
    else
        calls();
    layouts_free();
    return prog_end("packed_coll");
}
