/* The part of packed_stress.c with collective calls: some at a time, of which each is blocking, nonblocking or
   persistent, by ranks whose types differ. */
#include "packed_stress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, CALLS = 3, ROUNDS = 40 };
enum what { BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
            NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW,
            WHATS };
enum form { BLOCKING, NONBLOCKING, PERSISTENT };

/* One call, drawn by both ranks alike. */
struct call {
    enum what what;
    enum form form;
    bool large, in_place, apart; /* apart: blocks that are received do not follow each other */
    int root;
    int rounds, round; /* a blocking call may come again, with other data */
    bool anew;         /* each time with types made anew */
    int sends[RANKS], receives[RANKS]; /* variants of the family */
    struct side s, r;
    MPI_Request request;
    /* Arguments; MPI may read them until the call is complete. */
    int n[2], counts[2][RANKS], places[2][RANKS], bytes[2][RANKS];
    MPI_Count large_counts[2][RANKS];
    MPI_Aint large_places[2][RANKS], far[2][RANKS];
    MPI_Datatype type[2], types[2][RANKS];
};

static bool is_any(enum what what, enum what first, enum what second, enum what third)
{
    return what == first || what == second || what == third;
}

static bool is_gather(const struct call *c)
{
    return c->what == GATHER || c->what == GATHERV;
}

static bool is_scatter(const struct call *c)
{
    return c->what == SCATTER || c->what == SCATTERV;
}

static bool is_allgather(const struct call *c)
{
    return c->what == ALLGATHER || c->what == ALLGATHERV ||
           is_any(c->what, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLGATHERV);
}

static void draw(struct worker *w, struct call *c)
{
    *c = (struct call){.what = (enum what)tg_below(&w->state, WHATS), .form = (enum form)tg_below(&w->state, 3),
                       .large = tg_below(&w->state, 2), .in_place = tg_below(&w->state, 4) == 0,
                       .apart = tg_below(&w->state, 2), .root = (int)tg_below(&w->state, RANKS),
                       .request = MPI_REQUEST_NULL};
    c->rounds = c->form == BLOCKING && tg_below(&w->state, 4) == 0 ? 1 + (int)tg_below(&w->state, ROUNDS) : 1;
    c->anew = tg_below(&w->state, 2);
    for (int rank = 0; rank < RANKS; rank++) {
        c->sends[rank] = (int)tg_below(&w->state, FAMILY);
        c->receives[rank] = 1 + (int)tg_below(&w->state, FAMILY - 1);
    }
    c->in_place = c->in_place && c->what >= GATHER && c->what < NEIGHBOR_ALLGATHER;
    if (c->what == ALLGATHERV || (c->in_place && is_any(c->what, ALLTOALL, ALLTOALLV, ALLTOALLW)))
        c->receives[1] = c->receives[0]; /* as MPICH wants it; as MPI does */
}

/* The block that stands for `rank` where blocks may be apart. */
static int place(const struct call *c, int rank)
{
    return c->apart ? (RANKS - rank) % BLOCKS : rank;
}

static bool has_places(const struct call *c)
{
    return is_any(c->what, GATHERV, SCATTERV, ALLGATHERV) || is_any(c->what, ALLTOALLV, ALLTOALLW, ALLTOALLW) ||
           is_any(c->what, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW);
}

/* The block of the side that is sent to `to` and the one that is received from `from`. */
static int block_to(const struct call *c, int to)
{
    return c->what == BCAST || is_gather(c) || is_allgather(c) ? 0 : has_places(c) ? place(c, to) : to;
}

static int block_from(const struct call *c, int from)
{
    return c->what == BCAST || is_scatter(c) ? 0 : has_places(c) ? place(c, from) : from;
}

/* Whether `from` sends a block to `to`. */
static bool is_sent(const struct call *c, int from, int to)
{
    if (c->what == BCAST)
        return from == c->root && to != from;
    if (is_gather(c))
        return to == c->root;
    return !is_scatter(c) || from == c->root;
}

/* Whether a rank gives MPI_IN_PLACE. */
static bool in_place(const struct call *c, int rank)
{
    return c->in_place && ((!is_gather(c) && !is_scatter(c)) || rank == c->root);
}

/* Both sides are filled as senders are: what is sent from where it is received was there before. */
static int rank_of(const struct call *c, int rank, int side)
{
    return rank + RANKS * (side + 2 * c->round);
}

static void sent_block(const struct family *f, const struct call *c, int from, unsigned char *bytes)
{
    if (in_place(c, from) && !is_scatter(c))
        wire(f, c->receives[from], BLOCKS, rank_of(c, from, 1), block_from(c, is_allgather(c) ? from : me), bytes);
    else
        wire(f, c->sends[from], BLOCKS, rank_of(c, from, 0), block_to(c, me), bytes);
}

/* The sides as they are before the call, and what is wanted after it. */
static void fill(const struct family *f, struct call *c)
{
    unsigned char *bytes = malloc(f->bytes + 1);
    side_send(&c->s, f, c->sends[me], BLOCKS, rank_of(c, me, 0));
    side_send(&c->r, f, c->receives[me], BLOCKS, rank_of(c, me, 1));
    for (int from = 0; from < RANKS; from++) {
        if (!is_sent(c, from, me) || (from == me && in_place(c, me)))
            continue;
        sent_block(f, c, from, bytes);
        expect(&c->r, f, c->receives[me], block_at(f, c->receives[me], block_from(c, from)), bytes);
    }
    free(bytes);
}

static void prepare(const struct family *f, struct call *c)
{
    const int variant[2] = {c->sends[me], c->receives[me]};
    for (int side = 0; side < 2; side++) {
        const int v = variant[side];
        MPI_Type_dup(f->t[v].type, &c->type[side]); /* freed while the call is under way */
        c->n[side] = f->count[v];
        for (int rank = 0; rank < RANKS; rank++) {
            const int block = side == 0 ? block_to(c, rank) : block_from(c, rank);
            c->large_counts[side][rank] = c->counts[side][rank] = f->count[v];
            c->large_places[side][rank] = c->places[side][rank] = f->count[v] * block;
            c->far[side][rank] = block_at(f, v, block);
            c->bytes[side][rank] = (int)c->far[side][rank];
            c->types[side][rank] = c->type[side];
        }
    }
}

/* Small counts and large ones have arrays of different types, of which each function takes its own. */
#define COUNTS(side) (c->large ? (void *)c->large_counts[side] : (void *)c->counts[side])
#define PLACES(side) (c->large ? (void *)c->large_places[side] : (void *)c->places[side])
#define FAR(side) (c->large ? (void *)c->far[side] : (void *)c->bytes[side])
#define EITHER(name, ...) (c->large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#define CALL(blocking, nonblocking, ...)                                                                             \
    code = c->form == BLOCKING      ? EITHER(blocking, __VA_ARGS__)                                                  \
           : c->form == NONBLOCKING ? EITHER(nonblocking, __VA_ARGS__, &c->request)                                  \
                                    : EITHER(blocking##_init, __VA_ARGS__, MPI_INFO_NULL, &c->request)
#define SEND s, c->n[0], c->type[0]
#define RECV r, c->n[1], c->type[1]
#define SENDV s, COUNTS(0), PLACES(0), c->type[0]
#define RECVV r, COUNTS(1), PLACES(1), c->type[1]
#define SENDW s, COUNTS(0), FAR(0), c->types[0]
#define RECVW r, COUNTS(1), FAR(1), c->types[1]

/* Carries the call out, or makes its request. */
static int make(struct worker *w, struct call *c)
{
    const bool place_s = in_place(c, me) && !is_scatter(c), place_r = in_place(c, me) && is_scatter(c);
    void *s = place_s ? MPI_IN_PLACE : c->s.origin, *r = place_r ? MPI_IN_PLACE : c->r.origin;
    const int own = c->what == BCAST && me != c->root;
    int code = MPI_ERR_OTHER;
    switch (c->what) {
    case BCAST:
        CALL(Bcast, Ibcast, own ? r : s, c->n[own], c->type[own], c->root, w->comm);
        break;
    case GATHER:
        CALL(Gather, Igather, SEND, RECV, c->root, w->comm);
        break;
    case GATHERV:
        CALL(Gatherv, Igatherv, SEND, RECVV, c->root, w->comm);
        break;
    case SCATTER:
        CALL(Scatter, Iscatter, SEND, RECV, c->root, w->comm);
        break;
    case SCATTERV:
        CALL(Scatterv, Iscatterv, SENDV, RECV, c->root, w->comm);
        break;
    case ALLGATHER:
        CALL(Allgather, Iallgather, SEND, RECV, w->comm);
        break;
    case ALLGATHERV:
        CALL(Allgatherv, Iallgatherv, SEND, RECVV, w->comm);
        break;
    case ALLTOALL:
        CALL(Alltoall, Ialltoall, SEND, RECV, w->comm);
        break;
    case ALLTOALLV:
        CALL(Alltoallv, Ialltoallv, SENDV, RECVV, w->comm);
        break;
    case ALLTOALLW:
        CALL(Alltoallw, Ialltoallw, SENDW, RECVW, w->comm);
        break;
    case NEIGHBOR_ALLGATHER:
        CALL(Neighbor_allgather, Ineighbor_allgather, SEND, RECV, w->graph);
        break;
    case NEIGHBOR_ALLGATHERV:
        CALL(Neighbor_allgatherv, Ineighbor_allgatherv, SEND, RECVV, w->graph);
        break;
    case NEIGHBOR_ALLTOALL:
        CALL(Neighbor_alltoall, Ineighbor_alltoall, SEND, RECV, w->graph);
        break;
    case NEIGHBOR_ALLTOALLV:
        CALL(Neighbor_alltoallv, Ineighbor_alltoallv, SENDV, RECVV, w->graph);
        break;
    default:
        CALL(Neighbor_alltoallw, Ineighbor_alltoallw, s, COUNTS(0), c->far[0], c->types[0], r, COUNTS(1), c->far[1],
             c->types[1], w->graph);
    }
    return code;
}

/* Completes what is under way, in a way of this rank's own; but persistent calls by MPI_Wait, as MPICH 4.0.2 takes
   them for other requests elsewhere. */
static int complete(struct worker *w, struct call *c, int n)
{
    MPI_Request request[CALLS];
    MPI_Status status[CALLS];
    const int ending = (int)tg_below(&w->own, 4);
    int code = MPI_SUCCESS, flag = 0, done, at[CALLS];
    for (int i = 0; i < n; i++) {
        request[i] = c[i].form == PERSISTENT ? MPI_REQUEST_NULL : c[i].request;
        if (c[i].form == PERSISTENT)
            code |= MPI_Wait(&c[i].request, status);
    }
    switch (ending) {
    case 0:
        code = MPI_Waitall(n, request, status);
        break;
    case 1:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Testall(n, request, &flag, status);
        break;
    case 2:
        for (done = 0; done != MPI_UNDEFINED && code == MPI_SUCCESS;)
            code = MPI_Waitany(n, request, &done, status);
        break;
    default:
        for (done = 0; done != MPI_UNDEFINED && code == MPI_SUCCESS;)
            code = MPI_Testsome(n, request, &done, at, status);
    }
    for (int i = 0; i < n; i++)
        if (c[i].form == NONBLOCKING)
            c[i].request = request[i];
    return code;
}

static void check(struct worker *w, const struct family *f, struct call *c)
{
    char text[80];
    snprintf(text, sizeof text, "what collective call %d, form %d, round %d, received", c->what, c->form, c->round);
    compare(w, f, &c->r, text);
    compare(w, f, &c->s, "what a collective call sent changed");
    side_free(&c->s);
    side_free(&c->r);
}

static void free_types(struct call *c)
{
    MPI_Type_free(&c->type[0]);
    MPI_Type_free(&c->type[1]);
}

/* All rounds of the call but for the last one are carried out; that one is made, and its types are freed. */
static void make_rounds(struct worker *w, const struct family *f, struct call *c)
{
    for (c->round = 0; c->round < c->rounds; c->round++) {
        if (c->round > 0)
            check(w, f, c);
        fill(f, c);
        if (c->round == 0 || c->anew)
            prepare(f, c);
        must(w, make(w, c) == MPI_SUCCESS, "a collective call");
        if (c->anew || c->round == c->rounds - 1)
            free_types(c);
    }
    c->round--;
}

/* Persistent ones, which go by the library, are started once: MPICH 4.0.2 lets go of their types at each start. */
void collectives(struct worker *w, const struct family *f)
{
    const int n = 1 + (int)tg_below(&w->state, CALLS);
    struct call c[CALLS];
    for (int i = 0; i < n; i++) {
        draw(w, &c[i]);
        make_rounds(w, f, &c[i]);
        if (c[i].form == PERSISTENT)
            must(w, MPI_Start(&c[i].request) == MPI_SUCCESS, "MPI_Start of a collective call");
    }
    must(w, complete(w, c, n) == MPI_SUCCESS, "completion of collective calls");
    for (int i = 0; i < n; i++) {
        must(w, (c[i].request != MPI_REQUEST_NULL) == (c[i].form == PERSISTENT), "a request of a collective call");
        if (c[i].request != MPI_REQUEST_NULL)
            must(w, MPI_Request_free(&c[i].request) == MPI_SUCCESS, "MPI_Request_free of a collective call");
        check(w, f, &c[i]);
    }
}

MPI_Comm graph_of(MPI_Comm comm)
{
    static const int all[RANKS] = {0, 1};
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(comm, RANKS, all, MPI_UNWEIGHTED, RANKS, all, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    return graph;
}
