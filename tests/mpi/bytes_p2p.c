/* Point-to-point calls: every combiner x every way to send and receive, in a ring (a rank alone talks to itself). */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define TAG 11

static MPI_Comm aside; /* for messages that are not under test */

struct ring {
    const struct family *f;
    int to, from, sv, rv, large;
    MPI_Datatype st, rt;
    int sc, rc;
    struct side s, r;
};

static void open_ring(struct ring *g, const struct family *f, int sv, int rv, int large)
{
    memset(g, 0, sizeof *g);
    g->f = f;
    g->to = (prog.me + 1) % prog.ranks;
    g->from = (prog.me + prog.ranks - 1) % prog.ranks;
    g->sv = sv;
    g->rv = rv;
    g->large = large;
    g->st = f->t[sv].type;
    g->rt = f->t[rv].type;
    g->sc = f->count[sv];
    g->rc = f->count[rv];
    side_send(&g->s, f, sv, 1, prog.me);
    side_recv(&g->r, f, rv, 1, prog.me);
    unsigned char *bytes = malloc(f->bytes + 1);
    wire(f, sv, 1, g->from, 0, bytes);
    expect(&g->r, f, rv, 0, bytes);
    free(bytes);
}

static void close_ring(struct ring *g, const char *call)
{
    char detail[32] = {(char)('0' + g->sv), '>', (char)('0' + g->rv), g->large ? 'c' : '-', '\0'};
    check_side(&g->r, g->f, call, detail);
    check_side(&g->s, g->f, call, "sent buffer untouched");
    side_free(&g->s);
    side_free(&g->r);
}

/* Status queries of what arrived, with the receive type. */
static void look(const struct ring *g, const char *call, MPI_Status *st)
{
    int n, elements = 0;
    MPI_Count x = 0, n_c;
    MPI_Get_count(st, g->rt, &n);
    if (g->f->base >= 0 && g->f->bytes && g->rv == 2) { /* MPICH 4.0.2 divides by zero for other kinds */
        MPI_Get_elements(st, g->rt, &elements);
        MPI_Get_elements_x(st, g->rt, &x);
    }
    MPI_Get_count_c(st, g->rt, &n_c);
    check_equal(g->f, call, "source", st->MPI_SOURCE, g->from);
    check_equal(g->f, call, "tag", st->MPI_TAG, TAG);
    check_value(g->f, call, "get_count", n);
    check_value(g->f, call, "get_count_c", n_c);
    check_value(g->f, call, "get_elements", elements);
    check_value(g->f, call, "get_elements_x", x);
    MPI_Get_count(st, MPI_BYTE, &n);
    check_equal(g->f, call, "bytes", n, (long long)g->f->bytes);
}

#define C(name, ...) (g->large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

static int irecv(struct ring *g, MPI_Request *r)
{
    return C(Irecv, g->r.origin, g->rc, g->rt, g->from, TAG, prog.comm, r);
}

static int isend(struct ring *g, MPI_Request *r)
{
    return C(Isend, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm, r);
}

static void call_send(struct ring *g)
{
    MPI_Request r;
    MPI_Status st;
    CK(irecv(g, &r));
    CK(C(Send, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, &st));
    look(g, "Send", &st);
}

static void call_recv(struct ring *g)
{
    MPI_Request r;
    MPI_Status st;
    CK(isend(g, &r));
    CK(C(Recv, g->r.origin, g->rc, g->rt, g->from, TAG, prog.comm, &st));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    look(g, "Recv", &st);
}

static void call_recv_any(struct ring *g)
{
    MPI_Request r;
    MPI_Status st;
    CK(isend(g, &r));
    CK(C(Recv, g->r.origin, g->rc, g->rt, MPI_ANY_SOURCE, MPI_ANY_TAG, prog.comm, &st));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    look(g, "Recv any", &st);
}

static void call_ssend(struct ring *g)
{
    MPI_Request r;
    CK(irecv(g, &r));
    CK(C(Ssend, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

/* Returns when the receiver of what I send has posted its receive. Cheaper than a barrier on few cores. */
static void ready(const struct ring *g)
{
    MPI_Sendrecv(NULL, 0, MPI_INT, g->from, 1, NULL, 0, MPI_INT, g->to, 1, aside, MPI_STATUS_IGNORE);
}

static void call_rsend(struct ring *g)
{
    MPI_Request r;
    CK(irecv(g, &r));
    ready(g);
    CK(C(Rsend, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void with_buffer(struct ring *g, void (*what)(struct ring *g))
{
    int size, detached;
    void *buffer, *back;
    MPI_Pack_size(g->sc, g->st, prog.comm, &size);
    size = size * 4 + 8 * MPI_BSEND_OVERHEAD;
    buffer = malloc((size_t)size);
    CK(MPI_Buffer_attach(buffer, size));
    what(g);
    CK(MPI_Buffer_detach(&back, &detached));
    free(buffer);
}

static void do_bsend(struct ring *g)
{
    MPI_Request r;
    CK(irecv(g, &r));
    CK(C(Bsend, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void call_bsend(struct ring *g)
{
    with_buffer(g, do_bsend);
}

/* Types are freed while both requests are pending, and the freed handles are taken by other layouts at once. */
static void call_freed(struct ring *g)
{
    MPI_Request r[2];
    MPI_Datatype keep[2] = {g->st, g->rt}, other[2];
    MPI_Type_dup(keep[0], &g->st);
    MPI_Type_dup(keep[1], &g->rt);
    CK(irecv(g, &r[0]));
    CK(MPI_Type_free(&g->rt));
    MPI_Type_vector(3, 1, 5, MPI_CHAR, &other[0]);
    MPI_Type_commit(&other[0]);
    ready(g);
    CK(isend(g, &r[1]));
    CK(MPI_Type_free(&g->st));
    MPI_Type_vector(7, 2, 3, MPI_SHORT, &other[1]);
    MPI_Type_commit(&other[1]);
    CK(wait_all(2, r));
    MPI_Type_free(&other[0]);
    MPI_Type_free(&other[1]);
    g->st = keep[0];
    g->rt = keep[1];
}

static void do_imodes(struct ring *g)
{
    MPI_Request r[2];
    for (int mode = 0; mode < 3; mode++) {
        memcpy(g->r.mem, g->r.want, g->r.size); /* the second and third time land on the same bytes */
        CK(irecv(g, &r[0]));
        ready(g);
        if (mode == 0)
            CK(C(Issend, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm, &r[1]));
        else if (mode == 1)
            CK(C(Ibsend, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm, &r[1]));
        else
            CK(C(Irsend, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm, &r[1]));
        CK(wait_all(2, r));
    }
}

static void call_imodes(struct ring *g)
{
    with_buffer(g, do_imodes);
}

static void call_sendrecv(struct ring *g)
{
    MPI_Status st;
    CK(C(Sendrecv, g->s.origin, g->sc, g->st, g->to, TAG, g->r.origin, g->rc, g->rt, g->from, TAG, prog.comm, &st));
    look(g, "Sendrecv", &st);
}

/* Receives into what it sends from: only the receive variant, on both ends. MPI_Isendrecv and MPI_Isendrecv_replace
 * are left out altogether, since MPICH 4.0.2 frees the derived types given to them once too often. */
static void call_replace(struct ring *g)
{
    unsigned char *bytes = malloc(g->f->bytes + 1);
    side_free(&g->r);
    side_send(&g->r, g->f, g->rv, 1, prog.me);
    wire(g->f, g->rv, 1, g->from, 0, bytes);
    expect(&g->r, g->f, g->rv, 0, bytes);
    free(bytes);
    CK(C(Sendrecv_replace, g->r.origin, g->rc, g->rt, g->to, TAG, g->from, TAG, prog.comm, MPI_STATUS_IGNORE));
}

static void call_mprobe(struct ring *g)
{
    MPI_Request r, r2;
    MPI_Message m;
    MPI_Status st;
    int flag = 0;
    CK(isend(g, &r));
    CK(MPI_Mprobe(g->from, TAG, prog.comm, &m, &st));
    look(g, "Mprobe", &st);
    CK(C(Mrecv, g->r.origin, g->rc, g->rt, &m, &st));
    look(g, "Mrecv", &st);
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CK(isend(g, &r));
    while (!flag)
        CK(MPI_Improbe(g->from, TAG, prog.comm, &flag, &m, &st));
    CK(C(Imrecv, g->r.origin, g->rc, g->rt, &m, &r2));
    CK(MPI_Wait(&r2, &st));
    look(g, "Imrecv", &st);
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CK(isend(g, &r));
    CK(MPI_Probe(g->from, TAG, prog.comm, &st));
    look(g, "Probe", &st);
    CK(C(Recv, g->r.origin, g->rc, g->rt, g->from, TAG, prog.comm, &st));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void do_persistent(struct ring *g)
{
    for (int mode = 0; mode < 4; mode++) {
        if (prog.ranks > 2 && mode != (g->f->kind + g->sv) % 4)
            continue;
        MPI_Request r[2];
        MPI_Datatype keep[2] = {g->st, g->rt};
        MPI_Type_dup(keep[0], &g->st);
        MPI_Type_dup(keep[1], &g->rt);
        CK(C(Recv_init, g->r.origin, g->rc, g->rt, g->from, TAG, prog.comm, &r[0]));
        if (mode == 0)
            CK(C(Send_init, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm, &r[1]));
        else if (mode == 1)
            CK(C(Ssend_init, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm, &r[1]));
        else if (mode == 2)
            CK(C(Bsend_init, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm, &r[1]));
        else
            CK(C(Rsend_init, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm, &r[1]));
        CK(MPI_Type_free(&g->st)); /* the requests live on */
        CK(MPI_Type_free(&g->rt));
        g->st = keep[0];
        g->rt = keep[1];
        for (int round = 0; round < 3; round++) {
            memset(g->r.mem, 0x5a, g->r.size);
            memcpy(g->r.mem, g->r.want, g->r.size / 2);
            CK(MPI_Start(&r[0]));
            if (mode == 3)
                ready(g);
            CK(MPI_Start(&r[1]));
            CK(wait_all(2, r));
        }
        CK(MPI_Request_free(&r[0]));
        CK(MPI_Request_free(&r[1]));
    }
    /* The second half was overwritten, so only the data can be right there: give the gaps their bytes back. */
    unsigned char *bytes = malloc(g->f->bytes + 1);
    tg_pack(&g->f->t[g->rv], g->rc, g->r.origin, bytes);
    memcpy(g->r.mem, g->r.want, g->r.size);
    expect(&g->r, g->f, g->rv, 0, bytes);
    tg_unpack(&g->f->t[g->rv], g->rc, g->r.origin, bytes, g->f->bytes);
    wire(g->f, g->sv, 1, g->from, 0, bytes);
    expect(&g->r, g->f, g->rv, 0, bytes);
    free(bytes);
}

static void call_persistent(struct ring *g)
{
    with_buffer(g, do_persistent);
}

/* One partition per count on both sides only where the counts agree, else one partition of everything. */
static void call_partitioned(struct ring *g)
{
    MPI_Request r[2];
    int parts = g->sc == g->rc && g->f->t[g->sv].size == g->f->t[g->rv].size ? g->sc : 1;
    CK(MPI_Psend_init(g->s.origin, parts, g->sc / parts, g->st, g->to, TAG, prog.comm, MPI_INFO_NULL, &r[0]));
    CK(MPI_Precv_init(g->r.origin, parts, g->rc / parts, g->rt, g->from, TAG, prog.comm, MPI_INFO_NULL, &r[1]));
    for (int round = 0; round < 2; round++) {
        CK(MPI_Startall(2, r));
        for (int p = parts; p-- > 0;)
            CK(MPI_Pready(p, r[0]));
        CK(wait_all(2, r));
    }
    CK(MPI_Request_free(&r[0]));
    CK(MPI_Request_free(&r[1]));
}

/* Absolute addresses in the type, MPI_BOTTOM as buffer. */
static void call_bottom(struct ring *g)
{
    MPI_Request r;
    MPI_Datatype keep[2] = {g->st, g->rt};
    MPI_Aint at[2];
    int one = 1, sc = g->sc, rc = g->rc;
    MPI_Get_address(g->s.origin, &at[0]);
    MPI_Get_address(g->r.origin, &at[1]);
    MPI_Type_create_hindexed(1, &sc, &at[0], keep[0], &g->st);
    MPI_Type_create_struct(1, &rc, &at[1], &keep[1], &g->rt);
    MPI_Type_commit(&g->st);
    MPI_Type_commit(&g->rt);
    CK(C(Irecv, MPI_BOTTOM, one, g->rt, g->from, TAG, prog.comm, &r));
    CK(C(Send, MPI_BOTTOM, one, g->st, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MPI_Type_free(&g->st);
    MPI_Type_free(&g->rt);
    g->st = keep[0];
    g->rt = keep[1];
}

/* The packed form goes either way. */
static void call_packed(struct ring *g)
{
    int bytes = (int)g->f->bytes, position = 0, size;
    unsigned char *want = malloc(g->f->bytes + 1), *have, *packed;
    MPI_Request r;
    MPI_Pack_size(g->sc, g->st, prog.comm, &size);
    have = calloc(1, (size_t)size + 1);
    packed = calloc(1, (size_t)size + 1);
    CK(MPI_Irecv(have, size, MPI_PACKED, g->from, TAG, prog.comm, &r));
    CK(C(Send, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    wire(g->f, g->sv, 1, g->from, 0, want);
    check_equal(g->f, "packed", "as sent", memcmp(want, have, g->f->bytes), 0);
    CK(MPI_Pack(g->s.origin, g->sc, g->st, packed, size, &position, prog.comm));
    check_equal(g->f, "packed", "position", position, bytes);
    CK(irecv(g, &r));
    CK(MPI_Send(packed, position, MPI_PACKED, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    free(want);
    free(have);
    free(packed);
}

/* Room for more than what is sent: the rest of the buffer stays, the status tells how much came. */
static void call_short(struct ring *g)
{
    MPI_Status st;
    MPI_Request r;
    side_free(&g->r);
    side_recv(&g->r, g->f, g->rv, 3, prog.me);
    unsigned char *bytes = malloc(g->f->bytes + 1);
    wire(g->f, g->sv, 1, g->from, 0, bytes);
    expect(&g->r, g->f, g->rv, 0, bytes);
    free(bytes);
    CK(C(Irecv, g->r.origin, 3 * g->rc, g->rt, g->from, TAG, prog.comm, &r));
    CK(C(Send, g->s.origin, g->sc, g->st, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, &st));
    look(g, "short", &st);
}

/* Fewer elements than one item of the receive type: half a type arrives. */
static void call_partial(struct ring *g)
{
    const struct tg_type *t = &g->f->t[2];
    unsigned char *bytes = malloc(g->f->bytes + 1), *sent = malloc(g->f->bytes + 1);
    size_t half = 0;
    int n, elements;
    MPI_Status st;
    MPI_Request r;
    for (size_t i = 0; i < t->n / 2; i++)
        half += (size_t)t->map[i].size;
    side_free(&g->r);
    side_recv(&g->r, g->f, 2, 1, prog.me);
    wire(g->f, g->sv, 1, g->from, 0, bytes);
    tg_pack(&g->f->t[g->sv], g->sc, g->s.origin, sent);
    tg_unpack(t, 1, g->r.want + g->r.before, bytes, half);
    CK(C(Irecv, g->r.origin, 1, t->type, g->from, TAG, prog.comm, &r));
    CK(MPI_Send(sent, (int)half, MPI_PACKED, g->to, TAG, prog.comm));
    CK(MPI_Wait(&r, &st));
    MPI_Get_count(&st, t->type, &n);
    check_value(g->f, "partial", "get_count", n);
    if (g->f->base >= 0 && g->f->bytes) {
        MPI_Get_elements(&st, t->type, &elements);
        check_equal(g->f, "partial", "get_elements", elements, (long long)(t->n / 2));
    }
    free(bytes);
    free(sent);
}

static const struct call {
    const char *name;
    void (*run)(struct ring *g);
} calls[] = {
    {"Send", call_send}, {"Recv", call_recv}, {"Recv_any", call_recv_any}, {"Ssend", call_ssend},
    {"Rsend", call_rsend}, {"Bsend", call_bsend}, {"freed", call_freed}, {"Issend_Ibsend_Irsend", call_imodes},
    {"Sendrecv", call_sendrecv}, {"Sendrecv_replace", call_replace},
    {"Mprobe", call_mprobe}, {"persistent", call_persistent},
    {"partitioned", call_partitioned}, {"bottom", call_bottom}, {"packed", call_packed}, {"short", call_short},
    {"partial", call_partial},
};

static void run(const struct family *f)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int pair = 0; pair < 4; pair++) {
            static const int from[] = {0, 1, 2, 0}, to[] = {1, 2, 3, 3};
            struct ring g;
            if (!wanted(calls[i].name) || (pair == 3 && i % 2))
                continue;
            if (prog.ranks > 2 && pair != ((int)i + f->kind) % 4) /* ranks that share a core take long */
                continue;
            open_ring(&g, f, from[pair], to[pair], (pair + (int)i) % 2);
            calls[i].run(&g);
            close_ring(&g, calls[i].name);
        }
}

int main(int argc, char **argv)
{
    prog_start(&argc, &argv, 0);
    MPI_Comm_dup(prog.comm, &aside);
    prog_families(4, run);
    MPI_Comm_free(&aside);
    return prog_end("bytes_p2p");
}
