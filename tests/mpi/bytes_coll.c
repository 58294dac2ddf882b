/*
 * Collectives: every combiner x every call, in the blocking, nonblocking and persistent form, each with int and with
 * large counts. Send and receive types differ, block lengths differ between ranks in the v forms, types differ
 * between pairs of ranks in the w forms.
 */
#include <stdlib.h>

#include "bytes_coll.h"

static const char *const form_name[FORMS] = {"", "_c", " I", " I_c", " init", " init_c"};

int start_wait(MPI_Request *r)
{
    MPI_Status st;
    int rc = MPI_Start(r);
    if (rc == MPI_SUCCESS)
        rc = MPI_Wait(r, &st);
    return rc == MPI_SUCCESS ? MPI_Request_free(r) : rc;
}

void widen(struct coll *c)
{
    for (int i = 0; i < MOST; i++) {
        c->scounts_c[i] = c->scounts[i];
        c->rcounts_c[i] = c->rcounts[i];
        c->sdispls_a[i] = c->sdispls[i];
        c->rdispls_a[i] = c->rdispls[i];
    }
}

void done(struct coll *c, const char *call)
{
    check_side(&c->r, c->f, call, form_name[c->form]);
    check_side(&c->s, c->f, call, "sent buffer untouched");
    side_free(&c->s);
    side_free(&c->r);
}

void arrives(struct coll *c, int from, int blocks, int b, int as)
{
    wire(c->f, c->sv, blocks, from, b, c->bytes);
    expect(&c->r, c->f, c->rv, block_at(c->f, c->rv, as), c->bytes);
}

static void call_bcast(struct coll *c)
{
    int v = c->me == c->root ? c->sv : c->rv;
    int count = c->f->count[v];
    MPI_Datatype type = c->f->t[v].type;
    side_send(&c->s, c->f, c->sv, 1, c->me);
    side_recv(&c->r, c->f, c->rv, 1, c->me);
    if (c->me != c->root)
        arrives(c, c->root, 1, 0, 0);
    void *buf = c->me == c->root ? c->s.origin : c->r.origin;
    CALL(c->form, Bcast, Ibcast, (buf, count, type, c->root, c->comm), (buf, count, type, c->root, c->comm));
    done(c, "Bcast");
}

static void call_gather(struct coll *c)
{
    side_send(&c->s, c->f, c->sv, 1, c->me);
    side_recv(&c->r, c->f, c->rv, c->p, c->me);
    for (int i = 0; i < c->p && c->me == c->root; i++)
        arrives(c, i, 1, 0, i);
    CALL(c->form, Gather, Igather, (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, c->root, c->comm),
         (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, c->root, c->comm));
    done(c, "Gather");
}

static void call_scatter(struct coll *c)
{
    side_send(&c->s, c->f, c->sv, c->p, c->me);
    side_recv(&c->r, c->f, c->rv, 1, c->me);
    arrives(c, c->root, c->p, c->me, 0);
    CALL(c->form, Scatter, Iscatter, (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, c->root, c->comm),
         (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, c->root, c->comm));
    done(c, "Scatter");
}

/* The root's own block stays where it is. */
static void call_in_place(struct coll *c)
{
    int root = c->me == c->root;
    void *sb = root ? MPI_IN_PLACE : NULL, *rb;
    side_send(&c->s, c->f, c->sv, 1, c->me);
    side_recv(&c->r, c->f, c->rv, c->p, c->me);
    for (int i = 0; i < c->p && root; i++)
        if (i != c->me)
            arrives(c, i, 1, 0, i);
    if (!root)
        sb = c->s.origin;
    rb = c->r.origin;
    CALL(c->form, Gather, Igather, (sb, c->sc, c->st, rb, c->rc, c->rt, c->root, c->comm),
         (sb, c->sc, c->st, rb, c->rc, c->rt, c->root, c->comm));
    done(c, "Gather in place");
    /* Allgather: my block is there already, in the receive layout. */
    side_send(&c->s, c->f, c->sv, 1, c->me);
    side_recv(&c->r, c->f, c->rv, c->p, c->me);
    wire(c->f, c->sv, 1, c->me, 0, c->bytes);
    tg_unpack(&c->f->t[c->rv], c->rc, c->r.origin + block_at(c->f, c->rv, c->me), c->bytes, c->f->bytes);
    for (int i = 0; i < c->p; i++)
        arrives(c, i, 1, 0, i);
    rb = c->r.origin;
    CALL(c->form, Allgather, Iallgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rb, c->rc, c->rt, c->comm),
         (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rb, c->rc, c->rt, c->comm));
    done(c, "Allgather in place");
    /* Alltoall: what I have for others lies in the receive layout. */
    side_send(&c->s, c->f, c->sv, c->p, c->me);
    side_recv(&c->r, c->f, c->rv, c->p, c->me);
    for (int i = 0; i < c->p; i++) {
        wire(c->f, c->sv, c->p, c->me, i, c->bytes);
        tg_unpack(&c->f->t[c->rv], c->rc, c->r.origin + block_at(c->f, c->rv, i), c->bytes, c->f->bytes);
    }
    for (int i = 0; i < c->p; i++)
        arrives(c, i, c->p, c->me, i);
    CALL(c->form, Alltoall, Ialltoall, (MPI_IN_PLACE, 0, MPI_INT, c->r.origin, c->rc, c->rt, c->comm),
         (MPI_IN_PLACE, 0, MPI_INT, c->r.origin, c->rc, c->rt, c->comm));
    done(c, "Alltoall in place");
}

static void call_allgather(struct coll *c)
{
    side_send(&c->s, c->f, c->sv, 1, c->me);
    side_recv(&c->r, c->f, c->rv, c->p, c->me);
    for (int i = 0; i < c->p; i++)
        arrives(c, i, 1, 0, i);
    CALL(c->form, Allgather, Iallgather, (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, c->comm),
         (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, c->comm));
    done(c, "Allgather");
}

static void call_alltoall(struct coll *c)
{
    side_send(&c->s, c->f, c->sv, c->p, c->me);
    side_recv(&c->r, c->f, c->rv, c->p, c->me);
    for (int i = 0; i < c->p; i++)
        arrives(c, i, c->p, c->me, i);
    CALL(c->form, Alltoall, Ialltoall, (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, c->comm),
         (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, c->comm));
    done(c, "Alltoall");
}

/* Rank i has i % 3 blocks; the receive side takes them in reverse order of ranks. */
static int blocks_of(int rank)
{
    return rank % 3;
}

static int reversed(const struct coll *c, int rank)
{
    int at = 0;
    for (int i = c->p - 1; i > rank; i--)
        at += blocks_of(i);
    return at;
}

static void layout_v(struct coll *c)
{
    for (int i = 0; i < c->p; i++) {
        c->rcounts[i] = blocks_of(i) * c->rc;
        c->rdispls[i] = reversed(c, i) * c->rc;
        c->scounts[i] = blocks_of(i) * c->sc;
        c->sdispls[i] = reversed(c, i) * c->sc;
    }
    widen(c);
}

static void call_gatherv(struct coll *c)
{
    int n = blocks_of(c->me);
    layout_v(c);
    side_send(&c->s, c->f, c->sv, n, c->me);
    side_recv(&c->r, c->f, c->rv, 2 * c->p, c->me);
    for (int i = 0; i < c->p && c->me == c->root; i++)
        for (int b = 0; b < blocks_of(i); b++)
            arrives(c, i, blocks_of(i), b, reversed(c, i) + b);
    CALL(c->form, Gatherv, Igatherv,
         (c->s.origin, n * c->sc, c->st, c->r.origin, c->rcounts, c->rdispls, c->rt, c->root, c->comm),
         (c->s.origin, n * c->sc, c->st, c->r.origin, c->rcounts_c, c->rdispls_a, c->rt, c->root, c->comm));
    done(c, "Gatherv");
}

static void call_allgatherv(struct coll *c)
{
    int n = blocks_of(c->me);
    layout_v(c);
    side_send(&c->s, c->f, c->sv, n, c->me);
    side_recv(&c->r, c->f, c->rv, 2 * c->p, c->me);
    for (int i = 0; i < c->p; i++)
        for (int b = 0; b < blocks_of(i); b++)
            arrives(c, i, blocks_of(i), b, reversed(c, i) + b);
    CALL(c->form, Allgatherv, Iallgatherv,
         (c->s.origin, n * c->sc, c->st, c->r.origin, c->rcounts, c->rdispls, c->rt, c->comm),
         (c->s.origin, n * c->sc, c->st, c->r.origin, c->rcounts_c, c->rdispls_a, c->rt, c->comm));
    done(c, "Allgatherv");
}

static void call_scatterv(struct coll *c)
{
    int n = blocks_of(c->me);
    layout_v(c);
    side_send(&c->s, c->f, c->sv, 2 * c->p, c->me);
    side_recv(&c->r, c->f, c->rv, n, c->me);
    for (int b = 0; b < n; b++)
        arrives(c, c->root, 2 * c->p, reversed(c, c->me) + b, b);
    CALL(c->form, Scatterv, Iscatterv,
         (c->s.origin, c->scounts, c->sdispls, c->st, c->r.origin, n * c->rc, c->rt, c->root, c->comm),
         (c->s.origin, c->scounts_c, c->sdispls_a, c->st, c->r.origin, n * c->rc, c->rt, c->root, c->comm));
    done(c, "Scatterv");
}

/* Rank i sends (i + j) % 2 blocks to rank j, laid out at block j; received at block p - 1 - i. */
static void call_alltoallv(struct coll *c)
{
    for (int i = 0; i < c->p; i++) {
        c->scounts[i] = (c->me + i) % 2 * c->sc;
        c->rcounts[i] = (c->me + i) % 2 * c->rc;
        c->sdispls[i] = i * c->sc;
        c->rdispls[i] = (c->p - 1 - i) * c->rc;
    }
    widen(c);
    side_send(&c->s, c->f, c->sv, c->p, c->me);
    side_recv(&c->r, c->f, c->rv, c->p, c->me);
    for (int i = 0; i < c->p; i++)
        if ((c->me + i) % 2)
            arrives(c, i, c->p, c->me, c->p - 1 - i);
    CALL(c->form, Alltoallv, Ialltoallv,
         (c->s.origin, c->scounts, c->sdispls, c->st, c->r.origin, c->rcounts, c->rdispls, c->rt, c->comm),
         (c->s.origin, c->scounts_c, c->sdispls_a, c->st, c->r.origin, c->rcounts_c, c->rdispls_a, c->rt, c->comm));
    done(c, "Alltoallv");
}

static const struct call {
    const char *name;
    void (*run)(struct coll *c);
} calls[] = {
    {"Bcast", call_bcast}, {"Gather", call_gather}, {"Scatter", call_scatter}, {"in_place", call_in_place},
    {"Allgather", call_allgather}, {"Alltoall", call_alltoall}, {"Gatherv", call_gatherv},
    {"Allgatherv", call_allgatherv}, {"Scatterv", call_scatterv}, {"Alltoallv", call_alltoallv},
    {"Alltoallw", call_alltoallw}, {"Ialltoallw_freed", call_ialltoallw_freed},
    {"Neighbor_allgather", call_neighbor_allgather}, {"Neighbor_allgatherv", call_neighbor_allgatherv},
    {"Neighbor_alltoall", call_neighbor_alltoall}, {"Neighbor_alltoallv", call_neighbor_alltoallv},
    {"Neighbor_alltoallw", call_neighbor_alltoallw},
};

static void run(const struct family *f)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int form = 0; form < FORMS; form++) {
            struct coll c = {.f = f, .me = prog.me, .p = prog.ranks, .comm = prog.comm, .form = (enum form)form};
            if (!wanted(calls[i].name))
                continue;
            if (prog.ranks > 2 && form % 3 != ((int)i + f->kind) % 3) /* ranks that share a core take milliseconds */
                continue;
            c.sv = (form + f->kind) % FAMILY;
            c.rv = 1 + (form + (int)i) % (FAMILY - 1);
            c.root = (form + (int)i) % prog.ranks;
            c.sc = f->count[c.sv];
            c.rc = f->count[c.rv];
            c.st = f->t[c.sv].type;
            c.rt = f->t[c.rv].type;
            c.bytes = malloc(f->bytes + 1);
            calls[i].run(&c);
            free(c.bytes);
        }
}

int main(int argc, char **argv)
{
    prog_start(&argc, &argv, 0);
    make_graph();
    prog_families(2 * prog.ranks, run);
    free_graph();
    return prog_end("bytes_coll");
}
