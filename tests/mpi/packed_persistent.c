/* The part of packed.c with persistent requests and buffered sends: each way to start, to complete and to give up
   such messages, several times, with data that change in between, also where some of them fail. */
#include "packed.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG 24

enum { MESSAGES = 4, CYCLES = 4 };
enum how { SEND, SSEND, RSEND, BSEND, HOWS };
static const char *const how_name[HOWS] = {"Send_init", "Ssend_init", "Rsend_init", "Bsend_init"};
enum ending { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, ASKED, ENDINGS };
static const char *const ending_name[ENDINGS] = {"Wait", "Test", "Waitall", "Testall", "Waitany",
                                                 "Testany", "Waitsome", "Testsome", "Request_get_status"};

static int to, from, large;
static char now[160];

#define C(name, ...) (large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

/* A status that says nothing of a message but what every run must say. */
static void note(const char *what, const MPI_Status *status, MPI_Datatype type)
{
    int n = -1, cancelled = -1;
    if (status == MPI_STATUS_IGNORE)
        return;
    MPI_Get_count(status, type, &n);
    MPI_Test_cancelled(status, &cancelled);
    check_value(NULL, now, what, n);
    check_value(NULL, now, "source", status->MPI_SOURCE);
    check_value(NULL, now, "tag", status->MPI_TAG);
    check_value(NULL, now, "cancelled", cancelled);
}

static void refill(struct area *area, uint64_t seed)
{
    for (size_t i = 0; i < area->size; i++) {
        if (i % 8 == 0)
            seed = mix(seed, i);
        area->mem[i] = (unsigned char)(seed >> (i % 8 * 8));
    }
}

static void look(const struct area *area, const char *what)
{
    check_bytes(NULL, now, what, area->mem, area->size);
}

/* Of a type that is freed at once: the request is to keep what it needs. */
static MPI_Request send_init(enum how how, const void *data, int count, MPI_Datatype type, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype own;
    MPI_Type_dup(type, &own);
    switch (how) {
    case SEND:
        CK(C(Send_init, data, count, own, to, tag, prog.comm, &request));
        break;
    case SSEND:
        CK(C(Ssend_init, data, count, own, to, tag, prog.comm, &request));
        break;
    case RSEND:
        CK(C(Rsend_init, data, count, own, to, tag, prog.comm, &request));
        break;
    default:
        CK(C(Bsend_init, data, count, own, to, tag, prog.comm, &request));
    }
    MPI_Type_free(&own);
    return request;
}

static MPI_Request recv_init(void *data, int count, MPI_Datatype type, int source, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype own;
    MPI_Type_dup(type, &own);
    CK(C(Recv_init, data, count, own, source, tag, prog.comm, &request));
    MPI_Type_free(&own);
    return request;
}

/* Completes all n, which are active. `type`: what the status of a receive is asked with, or MPI_DATATYPE_NULL. */
static void complete(enum ending ending, int n, MPI_Request *request, const MPI_Datatype *type, bool ignore)
{
    MPI_Status all[2 * MESSAGES], *first = ignore ? MPI_STATUS_IGNORE : all;
    int index[2 * MESSAGES], done = 0, flag = 0, some;
    for (int i = 0; i < n && ending == ASKED; i++) {
        for (flag = 0; !flag;)
            CK(MPI_Request_get_status(request[i], &flag, first));
        if (type[i] != MPI_DATATYPE_NULL)
            note("asked", first, type[i]);
    }
    for (int i = 0; i < n && (ending == WAIT || ending == TEST || ending == ASKED); i++) {
        for (flag = ending != TEST; !flag;)
            CK(MPI_Test(&request[i], &flag, first));
        if (ending != TEST)
            CK(MPI_Wait(&request[i], first));
        if (type[i] != MPI_DATATYPE_NULL)
            note("count", first, type[i]);
    }
    if (ending == WAITALL)
        CK(MPI_Waitall(n, request, first));
    while (ending == TESTALL && !flag)
        CK(MPI_Testall(n, request, &flag, first));
    for (int i = 0; i < n && !ignore && (ending == WAITALL || ending == TESTALL); i++)
        if (type[i] != MPI_DATATYPE_NULL)
            note("count", &all[i], type[i]);
    for (int which = -1; (ending == WAITANY || ending == TESTANY) && done < n; done += which >= 0) {
        if (ending == WAITANY)
            CK(MPI_Waitany(n, request, &which, first));
        else
            CK(MPI_Testany(n, request, &which, &flag, first));
        which = which == MPI_UNDEFINED ? -1 : which;
    }
    while ((ending == WAITSOME || ending == TESTSOME) && done < n) {
        if (ending == WAITSOME)
            CK(MPI_Waitsome(n, request, &some, index, first));
        else
            CK(MPI_Testsome(n, request, &some, index, first));
        done += some > 0 ? some : 0;
    }
    for (int i = 0; i < n; i++)
        check_equal(NULL, now, "no request", request[i] == MPI_REQUEST_NULL, 0);
}

/* What all these calls say of requests that are inactive, with none that is active and with one. */
static void inactive(int n, MPI_Request *request)
{
    MPI_Status all[2 * MESSAGES + 1];
    MPI_Request one[2 * MESSAGES + 1];
    int index[2 * MESSAGES + 1], which = 4711, flag = -1, some = -1, data = 0, got = 0;
    memset(all, 0, sizeof all);
    for (int i = 0; i < n; i++) {
        CK(MPI_Wait(&request[i], &all[0]));
        note("inactive, Wait", &all[0], MPI_BYTE);
        CK(MPI_Request_get_status(request[i], &flag, &all[0]));
        check_value(NULL, now, "inactive, asked", flag);
        note("inactive, asked", &all[0], MPI_BYTE);
    }
    CK(MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE));
    check_value(NULL, now, "inactive, Test", flag);
    CK(MPI_Waitall(n, request, all));
    note("inactive, Waitall", &all[n - 1], MPI_BYTE);
    CK(MPI_Testany(n, request, &which, &flag, &all[0]));
    check_value(NULL, now, "inactive, Testany", which);
    check_value(NULL, now, "inactive, flag of Testany", flag);
    CK(MPI_Testsome(n, request, &some, index, all));
    check_value(NULL, now, "inactive, Testsome", some);
    memcpy(one, request, (size_t)n * sizeof *one);
    CK(MPI_Irecv(&got, 1, MPI_INT, from, TAG - 1, prog.comm, &one[n]));
    CK(MPI_Send(&data, 1, MPI_INT, to, TAG - 1, prog.comm));
    CK(MPI_Waitany(n + 1, one, &which, &all[0]));
    check_value(NULL, now, "inactive, Waitany", which);
}

/* Messages of the type (one shorter than its buffer), of its twin and of integers, both ways, again and again. */
static void cycles(const struct layout *l, enum how how, enum ending ending, bool ignore)
{
    const MPI_Datatype sent[MESSAGES] = {l->type, MPI_INT, l->twin, l->type};
    const MPI_Datatype received[MESSAGES] = {l->twin, MPI_INT, l->twin, l->type};
    const int count[MESSAGES] = {ITEMS, 10, 2, 1};
    struct area a[MESSAGES], b[MESSAGES];
    MPI_Request request[2 * MESSAGES];
    MPI_Datatype type[2 * MESSAGES];
    large = (how + ending) % 2;
    snprintf(now, sizeof now, "%s: %s%s, %s%s", l->name, how_name[how], large ? "_c" : "", ending_name[ending],
             ignore ? ", no status" : "");
    for (int i = 0; i < MESSAGES; i++) {
        a[i] = area_new(sent[i], 1);
        b[i] = area_new(received[i], 2);
        request[2 * i] = recv_init(b[i].origin, received[i] == MPI_INT ? 10 : ITEMS, received[i],
                                   i % 2 ? MPI_ANY_SOURCE : from, TAG + i);
        request[2 * i + 1] = send_init(how, a[i].origin, count[i], sent[i], TAG + i);
        type[2 * i] = received[i];
        type[2 * i + 1] = MPI_DATATYPE_NULL;
    }
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        for (int i = 0; i < MESSAGES; i++) {
            refill(&a[i], mix((uint64_t)cycle, (uint64_t)(prog.me * MESSAGES + i)));
            refill(&b[i], mix(77, (uint64_t)(cycle + i)));
        }
        for (int i = 0; i < MESSAGES; i++)
            CK(MPI_Start(&request[2 * i]));
        if (how == RSEND)
            MPI_Barrier(prog.comm);
        if (cycle % 2) {
            for (int i = 0; i < MESSAGES; i++)
                CK(MPI_Start(&request[2 * i + 1]));
        } else {
            MPI_Request sends[MESSAGES];
            for (int i = 0; i < MESSAGES; i++)
                sends[i] = request[2 * i + 1];
            CK(MPI_Startall(MESSAGES, sends));
        }
        complete(ending, 2 * MESSAGES, request, type, ignore);
        for (int i = 0; i < MESSAGES; i++) {
            look(&a[i], "sent");
            look(&b[i], "received");
        }
        if (cycle == 1)
            inactive(2 * MESSAGES, request);
    }
    for (int i = 0; i < 2 * MESSAGES; i++) {
        CK(MPI_Request_free(&request[i]));
        check_equal(NULL, now, "freed", request[i] == MPI_REQUEST_NULL, 1);
    }
    for (int i = 0; i < MESSAGES; i++) {
        area_end(&a[i], now, "sent");
        area_end(&b[i], now, "received");
    }
}

static void class_is(const char *what, int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    check_value(NULL, now, what, class);
}

/* A message that is too long for a persistent receive, and one that is not; then both once more, good. */
static void too_long(const struct layout *l, int how)
{
    struct area a = area_new(l->type, (uint64_t)prog.me), b = area_new(l->type, 79), c = area_new(l->type, 80);
    MPI_Request request[2], sends[2];
    MPI_Status status[2] = {{.MPI_ERROR = 0}};
    int flag = 0, code = MPI_SUCCESS, which = -1, some = 0, index[2];
    snprintf(now, sizeof now, "%s: persistent, too long, %d", l->name, how);
    request[0] = recv_init(b.origin, 2, l->type, from, TAG);
    request[1] = recv_init(c.origin, ITEMS, l->type, from, TAG);
    for (int cycle = 0; cycle < 3; cycle++) {
        CK(MPI_Startall(2, request));
        sends[0] = send_init(SEND, a.origin, cycle ? cycle : 3, l->type, TAG);
        sends[1] = send_init(SEND, a.origin, ITEMS, l->type, TAG);
        CK(MPI_Startall(2, sends));
        if (cycle > 0) {
            CK(MPI_Waitall(2, request, status));
            note("items after what was too long", &status[0], l->type);
        } else if (how == 0) {
            code = MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        } else if (how == 1) {
            while (!flag && code == MPI_SUCCESS)
                code = MPI_Test(&request[0], &flag, &status[0]);
        } else if (how < 4) {
            code = MPI_Waitall(2, request, how == 2 ? MPI_STATUSES_IGNORE : status);
            class_is("class of one", status[0].MPI_ERROR);
            class_is("class of the other", status[1].MPI_ERROR);
        } else if (how == 4) {
            code = MPI_Waitany(1, request, &which, &status[0]);
        } else if (how == 5) {
            code = MPI_Waitsome(1, request, &some, index, status);
            class_is("class of one", status[0].MPI_ERROR);
        } else {
            while (!flag && code == MPI_SUCCESS)
                code = MPI_Request_get_status(request[0], &flag, &status[0]);
            class_is("asked", code);
            code = MPI_Wait(&request[0], &status[0]);
        }
        class_is("class", code);
        CK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
        CK(wait_all(2, sends));
        CK(MPI_Request_free(&sends[0]));
        CK(MPI_Request_free(&sends[1]));
        look(&b, "received, too long");
        look(&c, "received, good");
        refill(&c, 81);
    }
    CK(MPI_Request_free(&request[0]));
    CK(MPI_Request_free(&request[1]));
    area_end(&a, now, "sent");
    area_end(&b, now, "received, too long");
    area_end(&c, now, "received, good");
}

static jmp_buf landing;

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    class_is("class that a handler is told", *code);
    longjmp(landing, 1);
}

/* An error handler leaves the call that finds a message too long, for good: by MPI_Wait or by MPI_Waitall, of a
   receive that is persistent or not. The others, and those that are started again, are as ever. */
static void jumped(const struct layout *l, int which)
{
    static MPI_Request request[3], sends[3];
    struct area a = area_new(l->type, (uint64_t)prog.me), b = area_new(l->type, 85), c = area_new(l->type, 86);
    MPI_Errhandler handler;
    const bool persistent = which % 2, all = which > 1;
    snprintf(now, sizeof now, "%s: left by a jump, %d", l->name, which);
    MPI_Comm_create_errhandler(jump, &handler);
    request[0] = recv_init(b.origin, 2, l->type, from, TAG);
    if (persistent)
        CK(MPI_Start(&request[0]));
    else
        CK(MPI_Irecv(b.origin, 2, l->type, from, TAG, prog.comm, &request[2]));
    request[1] = recv_init(c.origin, ITEMS, l->type, from, TAG + 1);
    CK(MPI_Start(&request[1]));
    CK(MPI_Isend(a.origin, 3, l->type, to, TAG, prog.comm, &sends[0]));
    CK(MPI_Isend(a.origin, ITEMS, l->type, to, TAG + 1, prog.comm, &sends[1]));
    CK(wait_all(2, sends));
    MPI_Comm_set_errhandler(prog.comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(landing) == 0) {
        MPI_Request *first = &request[persistent ? 0 : 2], both[2] = {*first, request[1]};
        if (all)
            wait_all(2, both);
        else
            MPI_Wait(first, MPI_STATUS_IGNORE);
        check_equal(NULL, now, "the handler was not called", 0, 1);
    }
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    CK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
    look(&b, "received, too long");
    look(&c, "received beside it");
    for (int round = 0; round < 2; round++) {
        refill(&b, 87);
        CK(MPI_Start(&request[0]));
        CK(MPI_Irecv(c.origin, ITEMS, l->type, from, TAG + 1, prog.comm, &request[2]));
        CK(MPI_Isend(a.origin, 2, l->type, to, TAG, prog.comm, &sends[0]));
        CK(MPI_Isend(a.origin, 1, l->type, to, TAG + 1, prog.comm, &sends[1]));
        CK(MPI_Wait(&request[2], MPI_STATUS_IGNORE));
        CK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
        CK(wait_all(2, sends));
        look(&b, "received later");
        look(&c, "received later beside it");
    }
    CK(MPI_Request_free(&request[0]));
    CK(MPI_Request_free(&request[1]));
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
    area_end(&c, now, "received beside it");
}

/* Requests that are freed while they are active, sends and receives, and without ever having been; receives that are
   cancelled, and started again. */
static void given_up(const struct layout *l, enum how how)
{
    struct area a = area_new(l->type, (uint64_t)prog.me), b = area_new(l->type, 81), c = area_new(l->twin, 82);
    MPI_Request send = send_init(how, a.origin, ITEMS, l->type, TAG + 5), receive, other, unused;
    MPI_Status status;
    int flag = 0;
    snprintf(now, sizeof now, "%s: given up, %s", l->name, how_name[how]);
    unused = send_init(how, a.origin, ITEMS, l->twin, TAG);
    receive = recv_init(b.origin, ITEMS, l->type, from, TAG + 9);
    CK(MPI_Start(&receive));
    CK(MPI_Cancel(&receive));
    CK(MPI_Wait(&receive, &status));
    MPI_Test_cancelled(&status, &flag); /* nothing else is said */
    check_value(NULL, now, "was cancelled", flag);
    look(&b, "cancelled");
    MPI_Barrier(prog.comm); /* nobody's message may come before */
    CK(MPI_Start(&receive));
    CK(MPI_Sendrecv(a.origin, 2, l->type, to, TAG + 9, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, prog.comm, &status));
    CK(MPI_Wait(&receive, &status));
    note("started after it was cancelled", &status, l->type);
    look(&b, "received after all");
    CK(MPI_Request_free(&receive));
    CK(MPI_Request_free(&unused));

    receive = recv_init(c.origin, ITEMS, l->twin, from, TAG + 5);
    CK(MPI_Start(&receive));
    MPI_Barrier(prog.comm); /* for MPI_Rsend_init */
    CK(MPI_Start(&send));
    CK(MPI_Request_free(&send));
    CK(MPI_Request_free(&receive));
    check_equal(NULL, now, "freed", send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL, 1);
    /* What comes later from the same rank comes after it. */
    CK(MPI_Irecv(b.origin, ITEMS, l->type, from, TAG + 5, prog.comm, &other));
    CK(MPI_Send(a.origin, 3, l->type, to, TAG + 5, prog.comm));
    CK(MPI_Wait(&other, &status));
    MPI_Barrier(prog.comm); /* so that all that was sent has been received */
    CK(MPI_Test(&other, &flag, &status));
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
    area_end(&c, now, "received by a request that was freed");
}

/* MPI_Bsend and MPI_Ibsend into a buffer that has just the room that MPI asks for, and one that has less. */
static void buffered(const struct layout *l, int which)
{
    struct area a = area_new(l->type, (uint64_t)prog.me), b = area_new(l->type, 83);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int room, gone, code;
    void *buffer, *back;
    large = which % 2;
    snprintf(now, sizeof now, "%s: buffered, %d", l->name, which);
    CK(MPI_Pack_size(ITEMS, l->type, prog.comm, &room));
    room += MPI_BSEND_OVERHEAD;
    for (int lacks = 0; lacks < 2; lacks++) {
        /* MPICH looks for a place of its own for the message beside what it notes of it. */
        room -= lacks * (room - MPI_BSEND_OVERHEAD < 200 ? room - MPI_BSEND_OVERHEAD : 200);
        buffer = malloc((size_t)room);
        CK(MPI_Buffer_attach(buffer, room));
        if (which < 2) {
            code = C(Bsend, a.origin, ITEMS, l->type, to, TAG + 7, prog.comm);
        } else if (which < 4) {
            code = C(Ibsend, a.origin, ITEMS, l->type, to, TAG + 7, prog.comm, &request);
            if (code == MPI_SUCCESS)
                CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            request = send_init(BSEND, a.origin, ITEMS, l->type, TAG + 7);
            code = MPI_Start(&request);
            if (code == MPI_SUCCESS)
                CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CK(MPI_Request_free(&request));
        }
        refill(&a, mix(9, (uint64_t)prog.me)); /* the buffer has it */
        class_is(lacks ? "class without room" : "class with room", code);
        if (!lacks) {
            CK(MPI_Recv(b.origin, ITEMS, l->type, from, TAG + 7, prog.comm, &status));
            note("buffered", &status, l->type);
        }
        MPI_Barrier(prog.comm);
        CK(MPI_Buffer_detach(&back, &gone));
        free(buffer);
    }
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
}

/* One buffer for both ways: messages of another type and length, nobody on a side, and one that is too long. */
static void replace(const struct layout *l, int which)
{
    struct area a = area_new(l->type, mix(11, (uint64_t)prog.me)), b = area_new(l->twin, (uint64_t)prog.me),
                c = area_new(l->twin, 84);
    MPI_Status status = {.MPI_ERROR = 4711};
    MPI_Request request[2];
    large = which % 2;
    snprintf(now, sizeof now, "%s: replaced, %d", l->name, which);
    if (which < 4) {
        const int room = which == 3 ? 2 : ITEMS, sent = which == 3 ? ITEMS : which == 0 ? 1 : which == 1 ? 0 : 3;
        CK(MPI_Isend(b.origin, sent, l->twin, to, TAG + 8, prog.comm, &request[0]));
        CK(MPI_Irecv(c.origin, ITEMS, l->twin, from, TAG + 9, prog.comm, &request[1]));
        class_is("class", C(Sendrecv_replace, a.origin, room, l->type, to, TAG + 9, MPI_ANY_SOURCE, TAG + 8,
                            prog.comm, &status));
        if (which < 3)
            note("items", &status, l->type);
        CK(wait_all(2, request));
    } else { /* in an open chain */
        const int next = prog.me + 1 < prog.ranks ? to : MPI_PROC_NULL, before = prog.me > 0 ? from : MPI_PROC_NULL;
        CK(C(Sendrecv_replace, a.origin, 2, l->type, next, TAG, before, TAG, prog.comm,
             which == 4 ? MPI_STATUS_IGNORE : &status));
        if (which > 4)
            note("items of a chain", &status, l->type);
        CK(C(Sendrecv_replace, a.origin, 2, l->type, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG, prog.comm, &status));
        note("items from nobody", &status, l->type);
    }
    area_end(&a, now, "replaced");
    area_end(&b, now, "sent");
    area_end(&c, now, "received");
}

void part_persistent(void)
{
    int bytes = 1 << 23, gone;
    char *buffer = malloc((size_t)bytes);
    void *back;
    to = (prog.me + 1) % prog.ranks;
    from = (prog.me + prog.ranks - 1) % prog.ranks;
    CK(MPI_Buffer_attach(buffer, bytes));
    for (int i = 0; i < LAYOUTS; i++) {
        for (int ending = 0; ending < ENDINGS; ending++)
            for (int ignore = 0; ignore < 2; ignore++)
                cycles(&layouts[i], (enum how)((i + ending + ignore) % HOWS), (enum ending)ending, ignore);
        for (int how = 0; how < HOWS; how++)
            given_up(&layouts[i], (enum how)how);
    }
    CK(MPI_Buffer_detach(&back, &gone));
    free(buffer);
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPI_Start and Request_get_status report there */
    for (int i = 0; i < LAYOUTS; i++) {
        for (int how = 0; how < 7; how++)
            too_long(&layouts[i], how);
        for (int which = 0; which < 4; which++)
            jumped(&layouts[i], which);
        for (int which = 0; which < 6; which++)
            buffered(&layouts[i], which);
        for (int which = 0; which < 6; which++)
            replace(&layouts[i], which);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_ARE_FATAL);
}
