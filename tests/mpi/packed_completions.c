/* The part of packed.c with requests: each way to complete or to give up nonblocking messages, among others of
   predefined types, with and without statuses, also where some of them fail. */
#include "packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG 23

enum { MESSAGES = 5, BIG = 400000, SHORT = 4096 };
enum ending { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, ASKED, ENDINGS };
static const char *const ending_name[ENDINGS] = {"Wait", "Test", "Waitall", "Testall", "Waitany",
                                                 "Testany", "Waitsome", "Testsome", "Request_get_status"};

static int to, from;
static char now[120];

static void note(const MPI_Status *status, MPI_Datatype type)
{
    int n = -1;
    if (status == MPI_STATUS_IGNORE)
        return;
    MPI_Get_count(status, type, &n);
    check_value(NULL, now, "source", status->MPI_SOURCE);
    check_value(NULL, now, "tag", status->MPI_TAG);
    check_value(NULL, now, "count", n);
}

/* Completes them all. `type`: for each the type that its status is asked with, or MPI_DATATYPE_NULL. */
static void complete(enum ending ending, int n, MPI_Request *request, const MPI_Datatype *type, bool ignore)
{
    MPI_Status all[2 * MESSAGES], *first = ignore ? MPI_STATUS_IGNORE : all;
    int index[2 * MESSAGES], done = 0, flag = 0, some;
    for (int i = 0; i < n && ending == ASKED; i++) {
        for (flag = 0; !flag;)
            CK(MPI_Request_get_status(request[i], &flag, first));
        if (type[i] != MPI_DATATYPE_NULL)
            note(first, type[i]);
    }
    for (int i = 0; i < n && (ending == WAIT || ending == TEST || ending == ASKED); i++) {
        for (flag = ending != TEST; !flag;)
            CK(MPI_Test(&request[i], &flag, first));
        if (ending != TEST)
            CK(MPI_Wait(&request[i], first));
        if (type[i] != MPI_DATATYPE_NULL)
            note(first, type[i]);
    }
    if (ending == WAITALL)
        CK(MPI_Waitall(n, request, first));
    while (ending == TESTALL && !flag)
        CK(MPI_Testall(n, request, &flag, first));
    for (int i = 0; i < n && !ignore && (ending == WAITALL || ending == TESTALL); i++)
        if (type[i] != MPI_DATATYPE_NULL)
            note(&all[i], type[i]);
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
        check_equal(NULL, now, "request", request[i] == MPI_REQUEST_NULL, 1);
}

/* Messages of the type (one shorter than its buffer), of its twin and of integers, both ways. */
static void some(const struct layout *l, enum ending ending, bool ignore, bool ssend)
{
    const MPI_Datatype sent[MESSAGES] = {l->type, MPI_INT, l->twin, l->type, l->twin};
    const MPI_Datatype received[MESSAGES] = {l->twin, MPI_INT, l->twin, l->type, l->type};
    const int count[MESSAGES] = {ITEMS, 10, 2, 1, 0};
    struct area a[MESSAGES], b[MESSAGES];
    MPI_Request request[2 * MESSAGES];
    MPI_Datatype type[2 * MESSAGES];
    snprintf(now, sizeof now, "%s: %s%s%s", l->name, ending_name[ending], ignore ? ", no status" : "",
             ssend ? ", synchronous" : "");
    for (int i = 0; i < MESSAGES; i++) {
        a[i] = area_new(sent[i], mix((uint64_t)prog.me, (uint64_t)i));
        b[i] = area_new(received[i], mix(77, (uint64_t)i));
        CK(MPI_Irecv(b[i].origin, received[i] == MPI_INT ? 10 : ITEMS, received[i], from, TAG + i, prog.comm,
                     &request[2 * i]));
        CK((ssend ? MPI_Issend : MPI_Isend)(a[i].origin, count[i], sent[i], to, TAG + i, prog.comm,
                                            &request[2 * i + 1]));
        type[2 * i] = received[i];
        type[2 * i + 1] = MPI_DATATYPE_NULL;
    }
    complete(ending, 2 * MESSAGES, request, type, ignore);
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

/* A message of integers is too long for its buffer, while one of a derived type, which is sent, is not received yet,
   and one is received. */
static void failing(MPI_Datatype big, const struct layout *l, int how, bool ignore)
{
    enum { LATE, TOO_LONG, GOOD, N };
    static int data[3 * BIG], back[3 * BIG], shorts[50];
    struct area a = area_new(l->type, (uint64_t)prog.me), b = area_new(l->type, 78);
    MPI_Request request[N], sends[2];
    MPI_Status status[N] = {{.MPI_ERROR = 0}};
    int flag = 0, code = MPI_SUCCESS, failed = 0, index[N], some;
    snprintf(now, sizeof now, "%s: one of several fails, %d%s", l->name, how, ignore ? ", no status" : "");
    for (int i = 0; i < 3 * BIG; i++) {
        data[i] = prog.me * 100 + i;
        back[i] = -1;
    }
    CK(MPI_Issend(data, 1, big, to, TAG, prog.comm, &request[LATE]));
    CK(MPI_Irecv(shorts, 1, MPI_INT, from, TAG + 1, prog.comm, &request[TOO_LONG]));
    CK(MPI_Irecv(b.origin, ITEMS, l->type, from, TAG + 2, prog.comm, &request[GOOD]));
    CK(MPI_Isend(data, 50, MPI_INT, to, TAG + 1, prog.comm, &sends[0]));
    CK(MPI_Isend(a.origin, 3, l->type, to, TAG + 2, prog.comm, &sends[1]));
    const int n = how < 2 ? GOOD : N; /* without and with the good one */
    while (!failed) {
        if (how % 2)
            code = MPI_Testsome(n, request, &some, index, ignore ? MPI_STATUSES_IGNORE : status);
        else
            code = MPI_Testall(n, request, &flag, ignore ? MPI_STATUSES_IGNORE : status);
        failed = code != MPI_SUCCESS;
    }
    class_is("class", code);
    CK(MPI_Recv(back, 1, big, from, TAG, prog.comm, MPI_STATUS_IGNORE));
    CK(MPI_Wait(&request[LATE], MPI_STATUS_IGNORE));
    check_equal(NULL, now, "what failed is ended", request[TOO_LONG] == MPI_REQUEST_NULL, 1);
    CK(MPI_Wait(&request[GOOD], MPI_STATUS_IGNORE));
    wait_all(2, sends);
    check_bytes(NULL, now, "late", back, sizeof back);
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
}

/* Memory that is got next is zero, if it is as long as MPI's list of so many requests. */
static void clear_next(int n)
{
    void *block[4];
    for (int i = 0; i < 4; i++) {
        block[i] = malloc((size_t)n * sizeof(void *));
        if (block[i] != NULL)
            memset(block[i], 0, (size_t)n * sizeof(void *));
        __asm__ volatile("" : : "r"(block[i]) : "memory"); /* not left out */
    }
    for (int i = 0; i < 4; i++)
        free(block[i]);
}

/* MPI_Waitall of more requests than MPICH looks at at a time. It ends none of those behind the one that fails, though
   it may say so of those that it has not looked at; they are waited for. One request is null from the start.
   `preset`: bytes of the statuses before; -1: no statuses. */
static void many(const struct layout *l, int bad, int preset, bool persistent)
{
    enum { MANY = 100, ABSENT = 1 };
    struct area a = area_new(l->type, (uint64_t)prog.me), b[MANY];
    MPI_Request request[MANY];
    MPI_Status all[MANY], status;
    snprintf(now, sizeof now, "%s: number %d of many fails, statuses %d%s", l->name, bad, preset,
             persistent ? ", persistent" : "");
    for (int i = 0; i < MANY; i++) {
        b[i] = area_new(l->type, mix(84, (uint64_t)i));
        request[i] = MPI_REQUEST_NULL;
        if (i != ABSENT)
            CK((persistent ? MPI_Recv_init : MPI_Irecv)(b[i].origin, 2, l->type, from, TAG + i, prog.comm,
                                                        &request[i]));
        if (i != ABSENT && persistent)
            CK(MPI_Start(&request[i]));
    }
    for (int i = 0; i < MANY; i++)
        if (i != ABSENT)
            CK(MPI_Send(a.origin, i == bad ? 3 : 1 + i % 2, l->type, to, TAG + i, prog.comm));
    memset(all, preset, sizeof all);
    clear_next(MANY);
    class_is("class", MPI_Waitall(MANY, request, preset < 0 ? MPI_STATUSES_IGNORE : all));
    for (int i = 0; i < MANY; i++) {
        if (i <= bad) /* of those behind it MPI_Waitall may end some or none */
            check_value(NULL, now, "is there", request[i] != MPI_REQUEST_NULL);
        CK(MPI_Wait(&request[i], &status));
        if (i <= bad)
            note(&status, l->type);
        if (request[i] != MPI_REQUEST_NULL)
            CK(MPI_Request_free(&request[i]));
        area_end(&b[i], now, "received");
    }
    area_end(&a, now, "sent");
}

/* What is too long itself. */
static void too_long(const struct layout *l, int how)
{
    struct area a = area_new(l->type, (uint64_t)prog.me), b = area_new(l->type, 79), c = area_new(l->type, 80);
    MPI_Request request[2], sends[2];
    MPI_Status status[2] = {{.MPI_ERROR = 0}};
    int flag = 0, code = MPI_SUCCESS, which = -1;
    snprintf(now, sizeof now, "%s: too long, %d", l->name, how);
    CK(MPI_Irecv(b.origin, 2, l->type, from, TAG, prog.comm, &request[0]));
    CK(MPI_Irecv(c.origin, ITEMS, l->type, from, TAG, prog.comm, &request[1]));
    CK(MPI_Isend(a.origin, 3, l->type, to, TAG, prog.comm, &sends[0]));
    CK(MPI_Isend(a.origin, ITEMS, l->type, to, TAG, prog.comm, &sends[1]));
    switch (how) {
    case 0:
        code = MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        break;
    case 1:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Test(&request[0], &flag, &status[0]);
        break;
    case 2:
    case 3:
        code = MPI_Waitall(2, request, how == 2 ? MPI_STATUSES_IGNORE : status);
        class_is("class of one", status[0].MPI_ERROR);
        class_is("class of the other", status[1].MPI_ERROR);
        break;
    case 4:
        code = MPI_Waitany(1, request, &which, &status[0]);
        break;
    default:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Request_get_status(request[0], &flag, &status[0]);
        class_is("asked", code);
        code = MPI_Wait(&request[0], &status[0]);
    }
    class_is("class", code);
    CK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
    wait_all(2, sends);
    area_end(&a, now, "sent");
    area_end(&b, now, "received, too long");
    area_end(&c, now, "received, good");
}

/* Sends whose requests are freed, and receives that are cancelled; the handles come again. */
static void given_up(const struct layout *l)
{
    struct area a = area_new(l->type, (uint64_t)prog.me), b = area_new(l->type, 81), c = area_new(l->twin, 82);
    MPI_Request request;
    MPI_Status status;
    int cancelled = -1;
    snprintf(now, sizeof now, "%s: given up", l->name);
    CK(MPI_Irecv(b.origin, ITEMS, l->type, from, TAG + 9, prog.comm, &request));
    CK(MPI_Cancel(&request));
    CK(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &cancelled);
    check_value(NULL, now, "cancelled", cancelled);
    CK(MPI_Isend(a.origin, ITEMS, l->type, to, TAG, prog.comm, &request));
    CK(MPI_Request_free(&request));
    check_equal(NULL, now, "freed", request == MPI_REQUEST_NULL, 1);
    CK(MPI_Irecv(c.origin, ITEMS, l->twin, MPI_ANY_SOURCE, TAG, prog.comm, &request));
    CK(MPI_Wait(&request, &status));
    note(&status, l->twin);
    MPI_Barrier(prog.comm); /* so that what was sent may go */
    area_end(&a, now, "sent");
    area_end(&b, now, "cancelled");
    area_end(&c, now, "received");
}

/* A receive whose request is freed when its message is there, as a later one has come. */
static void given_up_late(const struct layout *l)
{
    struct area a = area_new(l->type, (uint64_t)prog.me), b = area_new(l->twin, 83);
    MPI_Request request;
    int size, last = 0;
    MPI_Type_size(l->type, &size);
    if (size * ITEMS <= SHORT) { /* else it might come in later */
        snprintf(now, sizeof now, "%s: given up late", l->name);
        CK(MPI_Irecv(b.origin, ITEMS, l->twin, from, TAG, prog.comm, &request));
        CK(MPI_Send(a.origin, ITEMS, l->type, to, TAG, prog.comm));
        CK(MPI_Send(&last, 1, MPI_INT, to, TAG + 1, prog.comm));
        CK(MPI_Recv(&last, 1, MPI_INT, from, TAG + 1, prog.comm, MPI_STATUS_IGNORE));
        CK(MPI_Cancel(&request));
        CK(MPI_Request_free(&request));
    }
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
}

void part_requests(void)
{
    MPI_Datatype big;
    to = (prog.me + 1) % prog.ranks;
    from = (prog.me + prog.ranks - 1) % prog.ranks;
    for (int i = 0; i < LAYOUTS; i++) {
        for (int ending = 0; ending < ENDINGS; ending++)
            for (int ignore = 0; ignore < 2; ignore++)
                some(&layouts[i], (enum ending)ending, ignore, (ending + i) % 2);
        given_up(&layouts[i]);
        given_up_late(&layouts[i]);
    }
    MPI_Type_vector(BIG, 1, 3, MPI_INT, &big);
    MPI_Type_commit(&big);
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < LAYOUTS; i++)
        for (int how = 0; how < 6; how++)
            too_long(&layouts[i], how);
    for (int how = 0; how < 4; how++)
        for (int ignore = 0; ignore < 2; ignore++)
            failing(big, &layouts[how], how, ignore);
    for (int i = 0; i < 2; i++)
        for (int persistent = 0; persistent < 2; persistent++) {
            many(&layouts[i], 3, 0, persistent);
            many(&layouts[i], 40, 0x5a, persistent);
            many(&layouts[i], 3, -1, persistent);
        }
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&big);
}
