/* The parts of packed_stress.c with requests that are persistent, freed, cancelled or asked for by several threads,
   and MPI_Sendrecv_replace. */
#include "packed_stress.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 4, CYCLES = 3, HELPERS = 2, FREE_TAG = TAG + 40 };
enum how { RSEND, IRSEND, ISEND, ISSEND, IBSEND, SEND_INIT, SSEND_INIT, BSEND_INIT, RSEND_INIT, HOWS };

/* One end of a message that is sent in each cycle, with other data each time. */
struct channel {
    int sender, from_type, to_type; /* variants of the family */
    int sent, room;                 /* blocks */
    enum how how;
    bool any, persistent, large; /* of the receive */
    bool frees_send, frees_receive; /* in the last cycle, while they are under way */
    struct side side;
    MPI_Request request;
    bool active;
};

static struct channel draw(struct worker *w)
{
    struct channel c = {.sender = (int)tg_below(&w->state, 2), .from_type = (int)tg_below(&w->state, FAMILY),
                        .to_type = 1 + (int)tg_below(&w->state, FAMILY - 1),
                        .room = 1 + (int)tg_below(&w->state, BLOCKS), .how = (enum how)tg_below(&w->state, HOWS),
                        .any = tg_below(&w->state, 2), .persistent = tg_below(&w->state, 3) > 0,
                        .large = tg_below(&w->state, 2), .frees_send = tg_below(&w->state, 5) == 0,
                        .frees_receive = tg_below(&w->state, 5) == 0, .request = MPI_REQUEST_NULL};
    c.sent = tg_below(&w->state, 3) ? c.room : (int)tg_below(&w->state, (uint64_t)c.room + 1);
    return c;
}

static bool is_persistent(const struct channel *c)
{
    return c->sender == me ? c->how >= SEND_INIT : c->persistent;
}

/* What the sender's data are made from in this cycle. */
static int rank_of(const struct channel *c, int cycle)
{
    return c->sender + 10 * cycle;
}

/* What is wanted of the blocks that are received: what is sent, or its complement. */
static void expect_all(const struct family *f, struct channel *c, int cycle, bool complement)
{
    unsigned char *bytes = malloc(f->bytes + 1);
    for (int b = 0; b < c->sent; b++) {
        wire(f, c->from_type, BLOCKS, rank_of(c, cycle), b, bytes);
        for (size_t i = 0; i < f->bytes && complement; i++)
            bytes[i] = (unsigned char)~bytes[i];
        expect(&c->side, f, c->to_type, block_at(f, c->to_type, b), bytes);
    }
    free(bytes);
}

/* The side as it is before the message of this cycle, and what is wanted after it. Where nothing but the memory
   tells that the message is there, none of its bytes is what it will be: or it would be used while it is written. */
static void refill(const struct family *f, struct channel *c, int cycle)
{
    struct side s;
    if (c->sender == me)
        side_send(&s, f, c->from_type, BLOCKS, rank_of(c, cycle));
    else
        side_recv(&s, f, c->to_type, BLOCKS, rank_of(c, cycle));
    memcpy(c->side.mem, s.mem, s.size);
    memcpy(c->side.want, s.want, s.size);
    if (c->sender != me && c->frees_receive) {
        expect_all(f, c, cycle, true);
        memcpy(c->side.mem, c->side.want, s.size);
    }
    if (c->sender != me)
        expect_all(f, c, cycle, false);
    side_free(&s);
}

#define C(name, ...) (c->large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

/* Makes the request; one that is not persistent is active then. */
static void make(struct worker *w, const struct family *f, struct channel *c, int tag)
{
    const int v = c->sender == me ? c->from_type : c->to_type, other = 1 - me;
    const int count = f->count[v] * (c->sender == me ? c->sent : c->room);
    void *data = c->side.origin;
    MPI_Request *r = &c->request;
    MPI_Datatype type;
    int code;
    MPI_Type_dup(f->t[v].type, &type); /* freed while the request lives */
    if (c->sender != me) {
        const int source = c->any ? MPI_ANY_SOURCE : other;
        code = c->persistent ? C(Recv_init, data, count, type, source, tag, w->comm, r)
                             : C(Irecv, data, count, type, source, tag, w->comm, r);
    } else {
        switch (c->how) {
        case RSEND:
            code = C(Rsend, data, count, type, other, tag, w->comm);
            break;
        case IRSEND:
            code = C(Irsend, data, count, type, other, tag, w->comm, r);
            break;
        case ISEND:
            code = C(Isend, data, count, type, other, tag, w->comm, r);
            break;
        case ISSEND:
            code = C(Issend, data, count, type, other, tag, w->comm, r);
            break;
        case IBSEND:
            code = C(Ibsend, data, count, type, other, tag, w->comm, r);
            break;
        case SEND_INIT:
            code = C(Send_init, data, count, type, other, tag, w->comm, r);
            break;
        case SSEND_INIT:
            code = C(Ssend_init, data, count, type, other, tag, w->comm, r);
            break;
        case BSEND_INIT:
            code = C(Bsend_init, data, count, type, other, tag, w->comm, r);
            break;
        default:
            code = C(Rsend_init, data, count, type, other, tag, w->comm, r);
        }
    }
    must(w, code == MPI_SUCCESS, "a request");
    MPI_Type_free(&type);
}

static void begin_message(struct worker *w, const struct family *f, struct channel *c, int tag)
{
    if (c->request == MPI_REQUEST_NULL)
        make(w, f, c, tag);
    if (is_persistent(c)) {
        if (tg_below(&w->own, 2))
            must(w, MPI_Start(&c->request) == MPI_SUCCESS, "MPI_Start");
        else
            must(w, MPI_Startall(1, &c->request) == MPI_SUCCESS, "MPI_Startall");
    }
    c->active = c->request != MPI_REQUEST_NULL;
    if (!c->active) /* MPI_Rsend */
        compare(w, f, &c->side, "what was sent in a channel changed");
}

/* ---- completion ---- */

static void look_at(struct worker *w, const struct family *f, struct channel *c, const MPI_Status *status)
{
    int got = -1;
    c->active = false;
    must(w, is_persistent(c) == (c->request != MPI_REQUEST_NULL), "a request after completion");
    if (c->sender != me && status != MPI_STATUS_IGNORE) {
        MPI_Get_count(status, MPI_BYTE, &got);
        must(w, status->MPI_SOURCE == 1 - me && got == (int)f->bytes * c->sent, "a status of a channel");
    }
    compare(w, f, &c->side, c->sender == me ? "what was sent in a channel changed" : "what a channel received");
}

struct asking {
    MPI_Request request;
    const struct side *side;
    bool good;
};

static void *ask(void *of)
{
    struct asking *a = of;
    MPI_Status status;
    int flag = 0, code = MPI_SUCCESS;
    while (!flag && code == MPI_SUCCESS) {
        code = MPI_Request_get_status(a->request, &flag, &status);
        sched_yield();
    }
    a->good = code == MPI_SUCCESS && memcmp(a->side->mem, a->side->want, a->side->size) == 0;
    return NULL;
}

/* Several threads ask for the status of one receive; each sees what was received as soon as it is told. */
static void ask_together(struct worker *w, struct channel *c)
{
    pthread_t thread[HELPERS];
    struct asking asking[HELPERS + 1];
    int begun = 0;
    for (int i = 0; i <= HELPERS; i++)
        asking[i] = (struct asking){c->request, &c->side, false};
    while (begun < HELPERS && pthread_create(&thread[begun], NULL, ask, &asking[begun]) == 0)
        begun++;
    ask(&asking[HELPERS]);
    for (int i = 0; i < begun; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i <= HELPERS; i++)
        must(w, asking[i].good || (i >= begun && i < HELPERS), "what threads saw that asked for a status");
}

/* Completes all that are active, in a way of this rank's own. */
static void complete(struct worker *w, const struct family *f, struct channel *c, int n)
{
    MPI_Request request[CHANNELS];
    MPI_Status status[CHANNELS], *first = tg_below(&w->own, 3) ? status : MPI_STATUS_IGNORE;
    int index[CHANNELS], left = 0, flag = 0, code = MPI_SUCCESS, some = 0;
    const int ending = (int)tg_below(&w->own, 8);
    for (int i = 0; i < n; i++) {
        request[i] = c[i].request;
        left += c[i].active;
        if (threads > 1 && c[i].active && c[i].sender != me && tg_below(&w->own, 6) == 0)
            ask_together(w, &c[i]);
    }
    while (left > 0 && code == MPI_SUCCESS) {
        some = 0;
        switch (ending) {
        case 0:
        case 1: /* MPI_Wait, MPI_Test: one after the other */
            index[0] = 0;
            while (!c[index[0]].active)
                index[0]++;
            if (ending == 0)
                code = MPI_Wait(&request[index[0]], first);
            else
                for (flag = 0; !flag && code == MPI_SUCCESS;)
                    code = MPI_Test(&request[index[0]], &flag, first);
            some = 1;
            break;
        case 2:
        case 3:
            if (ending == 2)
                code = MPI_Waitall(n, request, first);
            for (flag = ending == 2; !flag && code == MPI_SUCCESS;)
                code = MPI_Testall(n, request, &flag, first);
            for (int i = 0; i < n; i++) {
                c[i].request = request[i];
                if (c[i].active)
                    look_at(w, f, &c[i], first == MPI_STATUS_IGNORE ? first : &status[i]);
            }
            left = 0;
            break;
        case 4:
            code = MPI_Waitany(n, request, &index[0], first);
            some = 1;
            break;
        case 5:
            for (flag = 0; !flag && code == MPI_SUCCESS;)
                code = MPI_Testany(n, request, &index[0], &flag, first);
            some = 1;
            break;
        case 6:
            code = MPI_Waitsome(n, request, &some, index, first);
            break;
        default:
            code = MPI_Testsome(n, request, &some, index, first);
        }
        for (int k = 0; k < some && code == MPI_SUCCESS; k++) {
            struct channel *one = &c[index[k]];
            must(w, one->active, "a request that was not active is complete");
            one->request = request[index[k]];
            look_at(w, f, one, first == MPI_STATUS_IGNORE ? first : &status[k]);
        }
        left -= some > 0 ? some : 0;
        if (some < 0)
            code = MPI_ERR_OTHER;
    }
    must(w, code == MPI_SUCCESS, "a completion");
}

/* ---- requests that are freed ---- */

/* Progress, and a look at the requests that were freed. */
static void poll(struct worker *w)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, FREE_TAG + 1, w->comm, &flag, MPI_STATUS_IGNORE);
    MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
    sched_yield();
}

/* Whether all has arrived in memory that another thread may be writing. Not by memcmp, which reads a byte that
   differs again to say how, and calls all equal where it has become so meanwhile, whatever is behind it. */
static bool has_all(const struct side *s)
{
    const volatile unsigned char *mem = s->mem;
    for (size_t i = 0; i < s->size; i++)
        if (mem[i] != s->want[i])
            return false;
    return true;
}

/* The receiver of a message whose request was freed tells when it is there; the sender may use its data from then on.
   No call tells the receiver: it looks at its memory. */
static void settle(struct worker *w, const struct family *f, struct channel *c)
{
    double last = MPI_Wtime(), waited = 0;
    int token = 0;
    if (!c->frees_send && !c->frees_receive)
        return;
    if (c->sender == me) {
        must(w, MPI_Recv(&token, 1, MPI_INT, 1 - me, FREE_TAG, w->comm, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a token");
        poll(w); /* lets the send go, so that its buffer is free again */
        return;
    }
    while (c->frees_receive && !has_all(&c->side) && waited < 30) {
        poll(w);
        const double now = MPI_Wtime();
        waited += now - last < 0.1 ? now - last : 0.1; /* not what the machine slept meanwhile */
        last = now;
    }
    if (c->frees_receive)
        compare(w, f, &c->side, waited < 30 ? "what was received by a request that was freed"
                                            : "what should have come to a request that was freed in 30 s");
    must(w, MPI_Send(&token, 1, MPI_INT, 1 - me, FREE_TAG, w->comm) == MPI_SUCCESS, "a token");
}

void channels(struct worker *w, const struct family *f)
{
    const int n = 1 + (int)tg_below(&w->state, CHANNELS), cycles = 1 + (int)tg_below(&w->state, CYCLES);
    struct channel c[CHANNELS];
    bool ready = false;
    for (int i = 0; i < n; i++) {
        c[i] = draw(w);
        ready = ready || c[i].how == RSEND || c[i].how == IRSEND || c[i].how == RSEND_INIT;
        if (c[i].sender == me)
            side_send(&c[i].side, f, c[i].from_type, BLOCKS, me);
        else
            side_recv(&c[i].side, f, c[i].to_type, BLOCKS, me);
    }
    for (int cycle = 0; cycle < cycles; cycle++) {
        const bool receives_first = ready || tg_below(&w->own, 2);
        for (int i = 0; i < n; i++)
            refill(f, &c[i], cycle);
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < n; i++)
                if ((c[i].sender != me) == (receives_first == (pass == 0)))
                    begin_message(w, f, &c[i], TAG + 1 + i);
            if (ready && pass == 0)
                MPI_Barrier(w->comm);
        }
        for (int i = 0; i < n && cycle == cycles - 1; i++)
            if (c[i].active && (c[i].sender == me ? c[i].frees_send : c[i].frees_receive)) {
                must(w, MPI_Request_free(&c[i].request) == MPI_SUCCESS && c[i].request == MPI_REQUEST_NULL,
                     "MPI_Request_free");
                c[i].active = false;
            }
        complete(w, f, c, n);
    }
    for (int i = 0; i < n; i++)
        settle(w, f, &c[i]);
    for (int i = 0; i < n; i++) {
        if (c[i].request != MPI_REQUEST_NULL)
            must(w, MPI_Request_free(&c[i].request) == MPI_SUCCESS, "MPI_Request_free of an inactive one");
        side_free(&c[i].side);
    }
}

/* ---- the rest ---- */

void replace_one(struct worker *w, const struct family *f)
{
    /* One rank may send and receive by calls of its own, and less than there is room for. */
    const int plain = (int)tg_below(&w->state, 4), room = 1 + (int)tg_below(&w->state, BLOCKS), other = 1 - me;
    const int less = plain < 2 ? (int)tg_below(&w->state, (uint64_t)room + 1) : room;
    const int type[2] = {1 + (int)tg_below(&w->state, FAMILY - 1), 1 + (int)tg_below(&w->state, FAMILY - 1)};
    const int v = type[me], got = plain == other ? less : room, gives = plain == me ? less : room;
    struct side a, b;
    MPI_Request request[2];
    MPI_Status status = {.MPI_SOURCE = -7};
    unsigned char *bytes = malloc(f->bytes + 1);
    int count = f->count[v] * room, code;
    side_send(&a, f, v, BLOCKS, me);
    side_recv(&b, f, v, BLOCKS, me);
    struct side *r = plain == me ? &b : &a;
    for (int i = 0; i < got; i++) {
        wire(f, type[other], BLOCKS, other, i, bytes);
        expect(r, f, v, block_at(f, v, i), bytes);
    }
    if (plain == me) {
        code = MPI_Irecv(b.origin, count, f->t[v].type, other, TAG, w->comm, &request[0]);
        code |= MPI_Isend(a.origin, f->count[v] * gives, f->t[v].type, other, TAG, w->comm, &request[1]);
        code |= wait_all(2, request);
    } else {
        code = tg_below(&w->own, 2)
                   ? MPI_Sendrecv_replace(a.origin, count, f->t[v].type, other, TAG, MPI_ANY_SOURCE, TAG, w->comm,
                                          &status)
                   : MPI_Sendrecv_replace_c(a.origin, count, f->t[v].type, other, TAG, other, TAG, w->comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        must(w, status.MPI_SOURCE == other && count == (int)f->bytes * got, "a status of MPI_Sendrecv_replace");
    }
    must(w, code == MPI_SUCCESS, "MPI_Sendrecv_replace");
    compare(w, f, &a, "what was replaced");
    compare(w, f, &b, "what was received for MPI_Sendrecv_replace");
    free(bytes);
    side_free(&a);
    side_free(&b);
}

/* MPICH 4.0.2 keeps the types of receives that are cancelled, and packs some types wrongly once it has 520. */
void cancel_one(struct worker *w, const struct family *f)
{
    enum { CANCELS = 24 };
    if (w->cancels++ >= CANCELS / threads)
        return;
    const int v = 1 + (int)tg_below(&w->own, FAMILY - 1), count = f->count[v] * BLOCKS;
    const bool persistent = tg_below(&w->own, 2);
    struct side r;
    MPI_Request request;
    MPI_Status status;
    int code, cancelled = 0, flag = 0;
    side_recv(&r, f, v, BLOCKS, me);
    code = (persistent ? MPI_Recv_init : MPI_Irecv)(r.origin, count, f->t[v].type, 1 - me, TAG + 30, w->comm,
                                                    &request);
    for (int cycle = 0; cycle < (persistent ? 2 : 1); cycle++) {
        if (persistent)
            code |= MPI_Start(&request);
        code |= MPI_Test(&request, &flag, &status);
        must(w, !flag, "a receive that nothing was sent to");
        code |= MPI_Cancel(&request);
        if (tg_below(&w->own, 2))
            code |= MPI_Wait(&request, &status);
        else
            for (flag = 0; !flag && code == MPI_SUCCESS;)
                code = MPI_Test(&request, &flag, &status);
        MPI_Test_cancelled(&status, &cancelled);
        must(w, cancelled, "a receive was not cancelled");
    }
    if (persistent)
        code |= MPI_Request_free(&request);
    must(w, code == MPI_SUCCESS, "a receive that is cancelled");
    compare(w, f, &r, "what was not received");
    side_free(&r);
}
