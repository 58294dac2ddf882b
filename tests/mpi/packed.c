/*
 * Messages and local calls that pack programs carry out: an ordinary MPI program, which `compare` runs natively and
 * under Espalier. Every rank sends to the next in a ring and receives from the one before, rank 0 sending first, so
 * that both sides may block.
 *   packed PART   messages (the default), large, requests, persistent, local, self, wrong
 */
#include "packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG 21

enum how { SEND, SSEND, RSEND, BSEND, HOWS };
enum way { RECV, RECV_ANY, RECV_IGNORE, PROBE, MPROBE, IMPROBE, IRECV, WAYS };
/* What is sent: of the receiver's ITEMS all, two, none; another type of the signature, its base types; bytes
   that end within an item, though not within a base type, where MPICH 4.0.2 fails. */
enum what { ALL, FEW, NONE, TWIN, BASES, PACKED, PART, WHATS };
static const char *const how_name[HOWS] = {"Send", "Ssend", "Rsend", "Bsend"};
static const char *const way_name[WAYS] = {"Recv", "Recv any", "Recv ignore", "Probe", "Mprobe", "Improbe", "Irecv"};
static const char *const what_name[WHATS] = {"all", "few", "none", "twin", "bases", "packed", "part"};

static MPI_Comm aside; /* for what is not under test */
static int to, from, large;
static uint64_t salt; /* the same on all ranks */
static char now[120];

#define C(name, ...) (large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

/* ---- one message ---- */

struct sent {
    struct area area;
    unsigned char *stream;
    const void *data;
    int count;
    MPI_Datatype type;
};

static struct sent prepare(const struct layout *l, enum what what)
{
    struct sent s = {.count = what == FEW ? 2 : what == NONE ? 0 : ITEMS, .type = what == TWIN ? l->twin : l->type};
    int position = 0, bytes = l->size * ITEMS;
    s.area = area_new(s.type, mix(salt, (uint64_t)prog.me));
    s.data = s.area.origin;
    if (what < BASES)
        return s;
    s.stream = malloc((size_t)bytes);
    CK(C(Pack, s.area.origin, ITEMS, s.type, s.stream, bytes, large ? (void *)&(MPI_Count){0} : (void *)&position,
         prog.comm));
    s.data = s.stream;
    s.type = what == BASES && l->base != MPI_DATATYPE_NULL ? l->base : what == PACKED ? MPI_PACKED : MPI_BYTE;
    s.count = what == PART ? l->part : s.type == l->base ? l->bases * ITEMS : bytes;
    return s;
}

static void finish(struct sent *s)
{
    area_end(&s->area, now, "sent");
    free(s->stream);
}

static void send_it(enum how how, const struct sent *s)
{
    int size, detached;
    void *buffer, *back;
    switch (how) {
    case SEND:
        CK(C(Send, s->data, s->count, s->type, to, TAG, prog.comm));
        break;
    case SSEND:
        CK(C(Ssend, s->data, s->count, s->type, to, TAG, prog.comm));
        break;
    case RSEND:
        CK(MPI_Recv(&size, 1, MPI_INT, to, TAG, aside, MPI_STATUS_IGNORE));
        CK(C(Rsend, s->data, s->count, s->type, to, TAG, prog.comm));
        break;
    default:
        CK(MPI_Pack_size(s->count, s->type, prog.comm, &size));
        size += 4 * MPI_BSEND_OVERHEAD;
        buffer = malloc((size_t)size);
        CK(MPI_Buffer_attach(buffer, size));
        CK(C(Bsend, s->data, s->count, s->type, to, TAG, prog.comm));
        CK(MPI_Buffer_detach(&back, &detached));
        free(buffer);
    }
}

static void look(const struct layout *l, const MPI_Status *status)
{
    int n = -1, elements = -1, cancelled = -1;
    MPI_Count x = -1, n_c = -1;
    check_equal(NULL, now, "source", status->MPI_SOURCE, from);
    check_equal(NULL, now, "tag", status->MPI_TAG, TAG);
    check_value(NULL, now, "error", status->MPI_ERROR);
    MPI_Get_count(status, l->type, &n);
    MPI_Get_count_c(status, l->type, &n_c);
    MPI_Test_cancelled(status, &cancelled);
    check_value(NULL, now, "count", n);
    check_value(NULL, now, "count_c", n_c);
    check_value(NULL, now, "cancelled", cancelled);
    if (l->base != MPI_DATATYPE_NULL) { /* MPICH 4.0.2 divides by zero for others */
        MPI_Get_elements(status, l->type, &elements);
        MPI_Get_elements_x(status, l->type, &x);
        check_value(NULL, now, "elements", elements);
        check_value(NULL, now, "elements_x", x);
    }
    MPI_Get_count(status, MPI_BYTE, &n);
    check_value(NULL, now, "bytes", n);
}

static void receive(const struct layout *l, enum how how, enum way way)
{
    struct area area = area_new(l->type, mix(salt, (uint64_t)(100 + prog.me)));
    MPI_Status status = {.MPI_ERROR = 4711}, probed;
    MPI_Message message;
    MPI_Request request;
    int flag = 0;
    if (how == RSEND) { /* the receive is to be there before */
        CK(C(Irecv, area.origin, ITEMS, l->type, from, TAG, prog.comm, &request));
        CK(MPI_Send(&flag, 1, MPI_INT, from, TAG, aside));
        CK(MPI_Wait(&request, &status));
        area_end(&area, now, "received");
        return;
    }
    switch (way) {
    case RECV:
        CK(C(Recv, area.origin, ITEMS, l->type, from, TAG, prog.comm, &status));
        break;
    case RECV_ANY:
        CK(C(Recv, area.origin, ITEMS, l->type, MPI_ANY_SOURCE, MPI_ANY_TAG, prog.comm, &status));
        break;
    case RECV_IGNORE:
        CK(C(Recv, area.origin, ITEMS, l->type, from, MPI_ANY_TAG, prog.comm, MPI_STATUS_IGNORE));
        break;
    case PROBE:
        CK(MPI_Probe(MPI_ANY_SOURCE, TAG, prog.comm, &probed));
        CK(C(Recv, area.origin, ITEMS, l->type, probed.MPI_SOURCE, TAG, prog.comm, &status));
        break;
    case MPROBE:
        CK(MPI_Mprobe(from, MPI_ANY_TAG, prog.comm, &message, &probed));
        CK(C(Mrecv, area.origin, ITEMS, l->type, &message, &status));
        check_equal(NULL, now, "message", message == MPI_MESSAGE_NULL, 1);
        break;
    case IMPROBE:
        while (!flag)
            CK(MPI_Improbe(from, TAG, prog.comm, &flag, &message, &probed));
        CK(C(Mrecv, area.origin, ITEMS, l->type, &message, MPI_STATUS_IGNORE));
        break;
    default:
        CK(C(Irecv, area.origin, ITEMS, l->type, from, TAG, prog.comm, &request));
        CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    if (way != RECV_IGNORE && way != IMPROBE && way != IRECV)
        look(l, &status);
    area_end(&area, now, "received");
}

static void message(const struct layout *l, enum how how, enum way way, enum what what)
{
    struct sent s;
    salt = mix(salt, 1);
    snprintf(now, sizeof now, "%s: %s%s to %s, %s", l->name, how_name[how], large ? "_c" : "", way_name[way],
             what_name[what]);
    s = prepare(l, what);
    if (prog.me == 0) {
        send_it(how, &s);
        receive(l, how, way);
    } else {
        receive(l, how, way);
        send_it(how, &s);
    }
    finish(&s);
}

/* Both ways at once: the receiving side as above; or of base types, and then the sending side is derived. */
static void both_ways(const struct layout *l, enum what what, bool onto_bases)
{
    struct sent s;
    struct area area = area_new(l->type, mix(salt, (uint64_t)(200 + prog.me)));
    MPI_Status status = {.MPI_ERROR = 4711};
    const bool bases = onto_bases && l->base != MPI_DATATYPE_NULL;
    snprintf(now, sizeof now, "%s: Sendrecv%s, %s%s", l->name, large ? "_c" : "", what_name[what],
             bases ? " onto bases" : "");
    salt = mix(salt, 2);
    s = prepare(l, what);
    CK(C(Sendrecv, s.data, s.count, s.type, to, TAG, area.origin, bases ? l->bases * ITEMS : ITEMS,
         bases ? l->base : l->type, from, TAG, prog.comm, &status));
    look(l, &status);
    area_end(&area, now, "received");
    finish(&s);
}

static void replace(const struct layout *l)
{
    struct area area = area_new(l->type, mix(salt, (uint64_t)(300 + prog.me)));
    MPI_Status status = {.MPI_ERROR = 4711};
    snprintf(now, sizeof now, "%s: Sendrecv_replace%s", l->name, large ? "_c" : "");
    CK(C(Sendrecv_replace, area.origin, ITEMS, l->type, to, TAG, from, TAG, prog.comm, &status));
    look(l, &status);
    area_end(&area, now, "replaced");
}

/* ---- nobody on the other side ---- */

static void nobody(const struct layout *l)
{
    const int null = MPI_PROC_NULL;
    struct area a = area_new(l->type, salt), b = area_new(l->type, salt + 1);
    MPI_Status status = {.MPI_ERROR = 4711};
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    snprintf(now, sizeof now, "%s: nobody", l->name);
    CK(C(Send, a.origin, ITEMS, l->type, null, TAG, prog.comm));
    CK(C(Recv, b.origin, ITEMS, l->type, null, TAG, prog.comm, &status));
    check_equal(NULL, now, "source", status.MPI_SOURCE, null);
    check_equal(NULL, now, "tag", status.MPI_TAG, MPI_ANY_TAG);
    CK(C(Mrecv, b.origin, ITEMS, l->type, &message, &status));
    check_equal(NULL, now, "source of none", status.MPI_SOURCE, null);
    /* One side of an exchange, from the first rank to the last. */
    CK(C(Sendrecv, a.origin, ITEMS, l->type, prog.me ? null : to, TAG, b.origin, ITEMS, l->type,
         prog.me == 1 ? from : null, TAG, prog.comm, &status));
    check_value(NULL, now, "source of one", status.MPI_SOURCE);
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
}

/* ---- addresses ---- */

static void addresses(void)
{
    static double here[40], there[40];
    MPI_Aint at[3];
    MPI_Datatype one, type;
    MPI_Status status;
    MPI_Type_vector(7, 1, 3, MPI_DOUBLE, &one);
    MPI_Get_address(&here[2], &at[0]);
    MPI_Get_address(&there[1], &at[1]);
    MPI_Get_address(&here[30], &at[2]);
    MPI_Type_create_struct(3, (const int[]){1, 1, 4}, at, (const MPI_Datatype[]){one, one, MPI_DOUBLE}, &type);
    MPI_Type_commit(&type);
    for (int round = 0; round < 60; round++) {
        snprintf(now, sizeof now, "addresses");
        for (int i = 0; i < 40; i++) {
            here[i] = prog.me * 1000 + i + round;
            there[i] = prog.me * 1000 + 500 + i + round;
        }
        if (prog.me == 0)
            CK(MPI_Send(MPI_BOTTOM, 1, type, to, TAG, prog.comm));
        CK(MPI_Recv(MPI_BOTTOM, 1, type, from, TAG, prog.comm, &status));
        if (prog.me)
            CK(MPI_Send(MPI_BOTTOM, 1, type, to, TAG, prog.comm));
        check_bytes(NULL, now, "here", here, sizeof here);
        check_bytes(NULL, now, "there", there, sizeof there);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&one);
}

/* ---- lives ---- */

/* Handles come again for other layouts; a type is freed before the message is received. */
static void lives(void)
{
    static int data[4000], back[4000];
    for (int round = 0; round < 120; round++) {
        MPI_Datatype type, other;
        MPI_Request request;
        MPI_Type_vector(20, 1 + round % 3, 5 + round % 7, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_vector(20 + 20 * (round % 3), 1, 3, MPI_INT, &other);
        MPI_Type_commit(&other);
        for (int i = 0; i < 4000; i++) {
            data[i] = prog.me * 10000 + round * 13 + i;
            back[i] = -1;
        }
        snprintf(now, sizeof now, "lives");
        CK(MPI_Isend(data, 1, type, to, TAG, prog.comm, &request));
        MPI_Type_free(&type);
        MPI_Type_vector(2, 3, 100 + round, MPI_INT, &type);
        MPI_Type_commit(&type);
        CK(MPI_Recv(back, 1, other, from, TAG, prog.comm, MPI_STATUS_IGNORE));
        CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check_bytes(NULL, now, "received", back, sizeof back);
        MPI_Type_free(&other);
        if (prog.me == 0)
            CK(MPI_Send(data, 2, type, to, TAG, prog.comm));
        CK(MPI_Recv(back, 2, type, from, TAG, prog.comm, MPI_STATUS_IGNORE));
        if (prog.me)
            CK(MPI_Send(data, 2, type, to, TAG, prog.comm));
        MPI_Type_free(&type);
        check_bytes(NULL, now, "received by a handle of another type before", back, sizeof back);
    }
}

/* ---- the same between two groups ---- */

static void between_groups(void)
{
    MPI_Comm mine, both, all = prog.comm;
    const int first = prog.me == 0, me = prog.me;
    MPI_Comm_split(prog.comm, first, prog.me, &mine);
    MPI_Intercomm_create(mine, 0, prog.comm, first, 5, &both);
    for (int i = 0; i < LAYOUTS; i++)
        for (int peer = 1; peer < prog.ranks; peer++) { /* there and back between rank 0 and this one */
            if (me != 0 && me != peer)
                continue;
            const struct layout *l = &layouts[i];
            prog.comm = both;
            to = from = me == 0 ? peer - 1 : 0;
            message(l, SEND, RECV, ALL);
            message(l, SSEND, MPROBE, FEW);
            both_ways(l, TWIN, false);
            prog.comm = all;
        }
    prog.comm = all;
    MPI_Comm_free(&both);
    MPI_Comm_free(&mine);
}

/* Messages of 3 MB, for which there may be no buffer, and of less, one after another and both ways at once. */
static void large_messages(void)
{
    enum { DOUBLES = 600000, MOST = 200000 };
    double *data = malloc(DOUBLES * sizeof *data), *back = malloc(DOUBLES * sizeof *back);
    for (int round = 0; round < 9; round++) {
        const int n = round % 3 == 1 ? 20000 : MOST - round;
        MPI_Datatype type;
        MPI_Status status;
        MPI_Type_vector(n, 2, 3, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < DOUBLES; i++) {
            data[i] = prog.me + 0.5 * i + round;
            back[i] = -i;
        }
        snprintf(now, sizeof now, "large");
        if (round % 3 == 2) {
            CK(MPI_Sendrecv(data, 1, type, to, TAG, back, 1, type, from, TAG, prog.comm, &status));
        } else if (prog.me == 0) {
            CK(MPI_Send(data, 1, type, to, TAG, prog.comm));
            CK(MPI_Recv(back, 1, type, from, TAG, prog.comm, &status));
        } else {
            CK(MPI_Recv(back, 1, type, from, TAG, prog.comm, &status));
            CK(MPI_Send(data, 1, type, to, TAG, prog.comm));
        }
        check_bytes(NULL, now, "received", back, DOUBLES * sizeof *back);
        MPI_Type_free(&type);
    }
    free(data);
    free(back);
}

/* A type for each peer: derived ones alone, with integers, with pairs (which have gaps), and nothing for some. */
static void to_each(const struct layout *l)
{
    enum { MOST = 8 };
    for (int mix_of = 0; mix_of < 4; mix_of++) {
        int count[MOST], at[MOST];
        MPI_Datatype type[MOST];
        MPI_Aint lb, extent;
        /* A block that two ranks exchange has one type and count on both. */
        struct area a = area_new(l->type, mix(21, (uint64_t)prog.me)), b = area_new(l->type, 22);
        snprintf(now, sizeof now, "%s: Alltoallw, %d", l->name, mix_of);
        MPI_Type_get_extent(l->type, &lb, &extent);
        for (int r = 0; r < prog.ranks; r++) {
            const bool other = (r + prog.me) % 2 && mix_of > 0;
            type[r] = !other ? l->type : mix_of == 1 ? MPI_INT : mix_of == 2 ? MPI_SHORT_INT : l->twin;
            count[r] = mix_of == 3 && other ? 0 : 1;
            at[r] = (int)(other ? (ITEMS + 1) * extent + r * 8 : r * extent); /* apart from each other */
        }
        CK(MPI_Alltoallw(a.origin, count, at, type, b.origin, count, at, type, prog.comm));
        area_end(&a, now, "sent");
        area_end(&b, now, "received");
    }
}

static void messages(void)
{
    for (int i = 0; i < LAYOUTS; i++)
        for (large = 0; large < 2; large++) {
            const struct layout *l = &layouts[i];
            for (int what = 0; what < WHATS; what++) {
                for (int way = 0; way < WAYS; way++)
                    message(l, (enum how)((way + what) % 2), (enum way)way, (enum what)what);
                message(l, RSEND, IRECV, (enum what)what);
                message(l, BSEND, RECV, (enum what)what);
                both_ways(l, (enum what)what, false);
                both_ways(l, (enum what)what, true);
            }
            replace(l);
            nobody(l);
            to_each(l);
        }
    large = 0;
    addresses();
    lives();
    between_groups();
}

int main(int argc, char **argv)
{
    const char *part;
    prog_start(&argc, &argv, 0);
    part = argc > 1 && argv[argc - 1][0] != '-' && strchr(argv[argc - 1], '/') == NULL ? argv[argc - 1] : "messages";
    MPI_Comm_dup(MPI_COMM_WORLD, &aside);
    to = (prog.me + 1) % prog.ranks;
    from = (prog.me + prog.ranks - 1) % prog.ranks;
    layouts_make();
    if (strcmp(part, "local") == 0)
        part_local();
    else if (strcmp(part, "self") == 0)
        part_self();
    else if (strcmp(part, "requests") == 0)
        part_requests();
    else if (strcmp(part, "persistent") == 0)
        part_persistent();
    else if (strcmp(part, "wrong") == 0)
        part_wrong();
    else if (strcmp(part, "large") == 0)
        large_messages();
    else
        messages();
    layouts_free();
    MPI_Comm_free(&aside);
    return prog_end("packed");
}
