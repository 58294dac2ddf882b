/* Collectives between neighbours. */
#include "bytes_coll.h"

/* A directed ring: from the left and from the one before, to the right and the next. Made once. */
static MPI_Comm graph = MPI_COMM_NULL;
static int sources[2], targets[2], degree; /* a rank alone: 1, since the order of equal edges is MPI's own */

void make_graph(void)
{
    int p = prog.ranks, me = prog.me;
    degree = p == 1 ? 1 : 2;
    sources[0] = (me + p - 1) % p;
    sources[1] = (me + 2 * p - 2) % p;
    targets[0] = (me + 1) % p;
    targets[1] = (me + 2) % p;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources, MPI_UNWEIGHTED, degree, targets, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
}

void free_graph(void)
{
    MPI_Comm_free(&graph);
}

void call_neighbor_allgather(struct coll *c)
{
    side_send(&c->s, c->f, c->sv, 1, c->me);
    side_recv(&c->r, c->f, c->rv, 2, c->me);
    for (int i = 0; i < degree; i++)
        arrives(c, sources[i], 1, 0, i);
    CALL(c->form, Neighbor_allgather, Ineighbor_allgather,
         (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, graph),
         (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, graph));
    done(c, "Neighbor_allgather");
}

void call_neighbor_allgatherv(struct coll *c)
{
    side_send(&c->s, c->f, c->sv, 1, c->me);
    side_recv(&c->r, c->f, c->rv, 2, c->me);
    for (int i = 0; i < degree; i++) {
        c->rcounts[i] = c->rc;
        c->rdispls[i] = (1 - i) * c->rc;
        arrives(c, sources[i], 1, 0, 1 - i);
    }
    widen(c);
    CALL(c->form, Neighbor_allgatherv, Ineighbor_allgatherv,
         (c->s.origin, c->sc, c->st, c->r.origin, c->rcounts, c->rdispls, c->rt, graph),
         (c->s.origin, c->sc, c->st, c->r.origin, c->rcounts_c, c->rdispls_a, c->rt, graph));
    done(c, "Neighbor_allgatherv");
}

void call_neighbor_alltoall(struct coll *c)
{
    side_send(&c->s, c->f, c->sv, 2, c->me);
    side_recv(&c->r, c->f, c->rv, 2, c->me);
    for (int i = 0; i < degree; i++)
        arrives(c, sources[i], 2, i, i);
    CALL(c->form, Neighbor_alltoall, Ineighbor_alltoall,
         (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, graph),
         (c->s.origin, c->sc, c->st, c->r.origin, c->rc, c->rt, graph));
    done(c, "Neighbor_alltoall");
}

void call_neighbor_alltoallv(struct coll *c)
{
    side_send(&c->s, c->f, c->sv, 2, c->me);
    side_recv(&c->r, c->f, c->rv, 2, c->me);
    for (int i = 0; i < degree; i++) {
        c->scounts[i] = c->sc;
        c->rcounts[i] = c->rc;
        c->sdispls[i] = (1 - i) * c->sc;
        c->rdispls[i] = (1 - i) * c->rc;
        arrives(c, sources[i], 2, 1 - i, 1 - i);
    }
    widen(c);
    CALL(c->form, Neighbor_alltoallv, Ineighbor_alltoallv,
         (c->s.origin, c->scounts, c->sdispls, c->st, c->r.origin, c->rcounts, c->rdispls, c->rt, graph),
         (c->s.origin, c->scounts_c, c->sdispls_a, c->st, c->r.origin, c->rcounts_c, c->rdispls_a, c->rt, graph));
    done(c, "Neighbor_alltoallv");
}

void call_neighbor_alltoallw(struct coll *c)
{
    MPI_Aint step = region(c->f), sd[2], rd[2];
    side_w(c, &c->s, 2, c->me, 0);
    side_w(c, &c->r, 2, c->me, 1);
    for (int i = 0; i < degree; i++) {
        int sv = send_variant(c->me, i), rv = recv_variant(i, c->me);
        c->scounts[i] = c->f->count[sv];
        c->rcounts[i] = c->f->count[rv];
        c->stypes[i] = c->f->t[sv].type;
        c->rtypes[i] = c->f->t[rv].type;
        sd[i] = i * step;
        rd[i] = (1 - i) * step;
        arrives_w(c, 2, sources[i], i, send_variant(sources[i], i), 1 - i, rv);
    }
    widen(c);
    CALL(c->form, Neighbor_alltoallw, Ineighbor_alltoallw,
         (c->s.origin, c->scounts, sd, c->stypes, c->r.origin, c->rcounts, rd, c->rtypes, graph),
         (c->s.origin, c->scounts_c, sd, c->stypes, c->r.origin, c->rcounts_c, rd, c->rtypes, graph));
    done(c, "Neighbor_alltoallw");
}
