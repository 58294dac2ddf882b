/* Collectives with a type for each peer. */
#include <string.h>

#include "bytes_coll.h"

int send_variant(int from, int to)
{
    return (from + 2 * to) % FAMILY;
}

int recv_variant(int from, int to)
{
    return 1 + (from * 3 + to) % (FAMILY - 1);
}

MPI_Aint region(const struct family *f)
{
    MPI_Aint low, high, least = 0, most = 0;
    for (int v = 0; v < FAMILY; v++) {
        tg_span(&f->t[v], f->count[v], &low, &high);
        least = low < least ? low : least;
        most = high > most ? high : most;
    }
    return (most - least + 15) / 8 * 8;
}

void side_w(const struct coll *c, struct side *s, int peers, int rank, int recv)
{
    MPI_Aint low, high, least = 0, most = 0;
    for (int v = 0; v < FAMILY; v++) {
        tg_span(&c->f->t[v], c->f->count[v], &low, &high);
        least = low < least ? low : least;
        most = high > most ? high : most;
    }
    side_raw(s, least, most + peers * region(c->f), mix(c->f->seed, (uint64_t)(recv * 100 + rank + 9000)));
}

void arrives_w(struct coll *c, int peers, int from, int slot_there, int variant_there, int slot, int variant)
{
    struct side s;
    side_w(c, &s, peers, from, 0);
    tg_pack(&c->f->t[variant_there], c->f->count[variant_there], s.origin + slot_there * region(c->f), c->bytes);
    expect(&c->r, c->f, variant, slot * region(c->f), c->bytes);
    side_free(&s);
}

void call_alltoallw(struct coll *c)
{
    MPI_Aint step = region(c->f);
    side_w(c, &c->s, c->p, c->me, 0);
    side_w(c, &c->r, c->p, c->me, 1);
    for (int i = 0; i < c->p; i++) {
        int sv = send_variant(c->me, i), rv = recv_variant(i, c->me);
        c->scounts[i] = c->f->count[sv];
        c->rcounts[i] = c->f->count[rv];
        c->stypes[i] = c->f->t[sv].type;
        c->rtypes[i] = c->f->t[rv].type;
        c->sdispls[i] = (int)(i * step);
        c->rdispls[i] = (int)(i * step);
        arrives_w(c, c->p, i, c->me, send_variant(i, c->me), i, rv);
    }
    widen(c);
    CALL(c->form, Alltoallw, Ialltoallw,
         (c->s.origin, c->scounts, c->sdispls, c->stypes, c->r.origin, c->rcounts, c->rdispls, c->rtypes, c->comm),
         (c->s.origin, c->scounts_c, c->sdispls_a, c->stypes, c->r.origin, c->rcounts_c, c->rdispls_a, c->rtypes,
          c->comm));
    done(c, "Alltoallw");
}

/* The array of types is overwritten and the types freed as soon as the call returns. */
void call_ialltoallw_freed(struct coll *c)
{
    MPI_Aint step = region(c->f);
    MPI_Request r;
    side_w(c, &c->s, c->p, c->me, 0);
    side_w(c, &c->r, c->p, c->me, 1);
    for (int i = 0; i < c->p; i++) {
        int sv = send_variant(c->me, i), rv = recv_variant(i, c->me);
        c->scounts[i] = c->f->count[sv];
        c->rcounts[i] = c->f->count[rv];
        MPI_Type_dup(c->f->t[sv].type, &c->stypes[i]);
        MPI_Type_dup(c->f->t[rv].type, &c->rtypes[i]);
        c->sdispls[i] = (int)(i * step);
        c->rdispls[i] = (int)(i * step);
        arrives_w(c, c->p, i, c->me, send_variant(i, c->me), i, rv);
    }
    CK(MPI_Ialltoallw(c->s.origin, c->scounts, c->sdispls, c->stypes, c->r.origin, c->rcounts, c->rdispls, c->rtypes,
                      c->comm, &r));
    MPI_Datatype stypes[MOST], rtypes[MOST];
    memcpy(stypes, c->stypes, sizeof stypes);
    memcpy(rtypes, c->rtypes, sizeof rtypes);
    for (int i = 0; i < c->p; i++) { /* the arrays must stay until completion, the types need not */
        MPI_Type_free(&stypes[i]);
        MPI_Type_free(&rtypes[i]);
    }
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    done(c, "Ialltoallw freed");
}
