/* The parts of packed.c that need no other rank, or in which a call is wrong. */
#include "packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG 22

static char now[120];

/* ---- MPI_Pack and MPI_Unpack ---- */

/* Several calls in one buffer, from a place in its middle on: items of the type, one of the twin, the type once more.
   Unpacked in other portions, and a part of it once more. */
static void several(const struct layout *l, bool large)
{
    const int room = 7 * l->size + 100, begin = 13;
    unsigned char *stream = calloc(1, (size_t)room);
    struct area a = area_new(l->type, 1), b = area_new(l->twin, 2), c = area_new(l->type, 3);
    int at = begin, part = begin + l->size;
    MPI_Count at_c = begin, part_c = part;
    snprintf(now, sizeof now, "%s: packed%s", l->name, large ? "_c" : "");
    if (large) {
        CK(MPI_Pack_c(a.origin, 2, l->type, stream, room, &at_c, MPI_COMM_SELF));
        CK(MPI_Pack_c(b.origin, 1, l->twin, stream, room, &at_c, MPI_COMM_SELF));
        CK(MPI_Pack_c(a.origin, 0, l->type, stream, room, &at_c, MPI_COMM_SELF));
        CK(MPI_Pack_c(a.origin, 3, l->type, stream, room, &at_c, MPI_COMM_SELF));
        at = (int)at_c;
    } else {
        CK(MPI_Pack(a.origin, 2, l->type, stream, room, &at, prog.comm));
        CK(MPI_Pack(b.origin, 1, l->twin, stream, room, &at, prog.comm));
        CK(MPI_Pack(a.origin, 0, l->type, stream, room, &at, prog.comm));
        CK(MPI_Pack(a.origin, 3, l->type, stream, room, &at, prog.comm));
    }
    check_equal(NULL, now, "position", at, begin + 6 * l->size);
    check_bytes(NULL, now, "stream", stream, (size_t)room);
    if (large) {
        CK(MPI_Unpack_c(stream, room, &part_c, c.origin, 4, l->type, MPI_COMM_SELF));
        CK(MPI_Unpack_c(stream, part_c, &(MPI_Count){part_c - l->size}, b.origin, 1, l->twin, MPI_COMM_SELF));
        part = (int)part_c;
    } else {
        CK(MPI_Unpack(stream, room, &part, c.origin, 4, l->type, prog.comm));
        CK(MPI_Unpack(stream, part, &(int){part - l->size}, b.origin, 1, l->twin, prog.comm));
    }
    check_equal(NULL, now, "position after unpacking", part, begin + 5 * l->size);
    area_end(&a, now, "packed");
    area_end(&b, now, "unpacked into the twin");
    area_end(&c, now, "unpacked");
    free(stream);
}

static void returned(const char *what, int code, int position)
{
    int class = -1;
    MPI_Error_class(code, &class);
    check_value(NULL, now, what, class);
    check_value(NULL, now, "position", position);
}

/* What does not fit, and what is wrong, is left to MPI, whatever it makes of it: 4.0.2 looks at no size, and goes
   beyond the end. */
static void too_small(const struct layout *l)
{
    const int room = 4 * l->size, far = 9 * l->size + 100;
    unsigned char *stream = calloc(1, (size_t)far);
    struct area a = area_new(l->type, 4);
    MPI_Count at_c;
    int at;
    snprintf(now, sizeof now, "%s: too small", l->name);
    at = 0;
    returned("one byte", MPI_Pack(a.origin, 4, l->type, stream, room - 1, &at, prog.comm), at);
    at = l->size + 1;
    returned("in the middle", MPI_Pack(a.origin, 3, l->type, stream, room, &at, prog.comm), at);
    at = room;
    returned("at the end", MPI_Pack(a.origin, 1, l->type, stream, room, &at, prog.comm), at);
    at = 0;
    returned("nothing", MPI_Pack(a.origin, 1, l->type, stream, 0, &at, prog.comm), at);
    at = 0;
    returned("negative size", MPI_Pack(a.origin, 1, l->type, stream, -1, &at, prog.comm), at);
    at = 0;
    returned("negative count", MPI_Pack(a.origin, -1, l->type, stream, room, &at, prog.comm), at);
    at = 0;
    returned("no communicator", MPI_Pack(a.origin, 1, l->type, stream, room, &at, MPI_COMM_NULL), at);
    at = 0;
    if (l->at_zero)
        returned("no data", MPI_Pack(NULL, 1, l->type, stream, room, &at, prog.comm), at);
    returned("no position", MPI_Pack(a.origin, 1, l->type, stream, room, NULL, prog.comm), 0);
    at_c = 1;
    returned("large", MPI_Pack_c(a.origin, 4, l->type, stream, room, &at_c, prog.comm), (int)at_c);
    at = 0;
    returned("negative count to unpack", MPI_Unpack(stream, room, &at, a.origin, -1, l->type, prog.comm), at);
    at = 0;
    if (l->at_zero)
        returned("nowhere to unpack", MPI_Unpack(stream, room, &at, NULL, 1, l->type, prog.comm), at);
    at = 0;
    returned("no communicator to unpack", MPI_Unpack(stream, room, &at, a.origin, 1, l->type, MPI_COMM_NULL), at);
    check_bytes(NULL, now, "stream", stream, (size_t)far);
    area_end(&a, now, "data");
    free(stream);
}

void part_local(void)
{
    for (int round = 0; round < 8; round++)
        for (int i = 0; i < LAYOUTS; i++)
            several(&layouts[i], round % 2);
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < LAYOUTS; i++)
        too_small(&layouts[i]);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_ARE_FATAL);
}

/* ---- to oneself ---- */

static void exchange(MPI_Comm comm, MPI_Datatype sent, int sends, MPI_Datatype received, int receives)
{
    struct area a = area_new(sent, 5), b = area_new(received, 6);
    MPI_Status status = {.MPI_ERROR = 4711};
    int rank, n = 0;
    MPI_Comm_rank(comm, &rank);
    CK(MPI_Sendrecv(a.origin, sends, sent, rank, TAG, b.origin, receives, received, rank, TAG, comm, &status));
    MPI_Get_count(&status, received, &n);
    check_value(NULL, now, "count", n);
    check_value(NULL, now, "source", status.MPI_SOURCE);
    check_value(NULL, now, "error", status.MPI_ERROR);
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
}

static void to_oneself(const struct layout *l, MPI_Comm comm)
{
    const bool one = l->base != MPI_DATATYPE_NULL;
    const MPI_Datatype base = one ? l->base : MPI_BYTE;
    const int bases = one ? l->bases : l->size;
    struct area a = area_new(l->type, 7), b = area_new(l->twin, 8);
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int rank, n = 0;
    MPI_Comm_rank(comm, &rank);
    exchange(comm, l->type, ITEMS, l->type, ITEMS);
    exchange(comm, l->type, ITEMS, l->twin, ITEMS);
    exchange(comm, l->type, 2, l->twin, ITEMS);
    exchange(comm, l->type, 0, l->twin, ITEMS);
    struct area c = area_new(l->type, 9);
    unsigned char *flat = calloc(ITEMS, (size_t)l->size);
    CK(MPI_Sendrecv(c.origin, ITEMS, l->type, rank, TAG, flat, bases * ITEMS, base, rank, TAG, comm, &status));
    check_bytes(NULL, now, "onto bases", flat, (size_t)l->size * ITEMS);
    CK(MPI_Sendrecv(flat, bases * ITEMS, base, rank, TAG, b.origin, ITEMS, l->twin, rank, TAG, comm, &status));
    CK(MPI_Sendrecv_replace(c.origin, ITEMS, l->type, rank, TAG, rank, TAG, comm, &status));
    CK(MPI_Isend(a.origin, 3, l->type, rank, TAG, comm, &request));
    CK(MPI_Recv(b.origin, ITEMS, l->twin, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
    MPI_Get_count(&status, l->twin, &n);
    check_value(NULL, now, "count of what was pending", n);
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CK(MPI_Irecv(b.origin, ITEMS, l->twin, rank, TAG, comm, &request));
    CK(MPI_Ssend(a.origin, ITEMS, l->type, rank, TAG, comm));
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CK(MPI_Issend(a.origin, ITEMS, l->type, rank, TAG, comm, &request));
    CK(MPI_Mprobe(rank, TAG, comm, &message, MPI_STATUS_IGNORE));
    CK(MPI_Mrecv(c.origin, ITEMS, l->type, &message, MPI_STATUS_IGNORE));
    CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(flat);
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
    area_end(&c, now, "replaced");
}

void part_self(void)
{
    for (int round = 0; round < 6; round++)
        for (int i = 0; i < LAYOUTS; i++) {
            snprintf(now, sizeof now, "%s: to oneself", layouts[i].name);
            to_oneself(&layouts[i], round % 2 ? prog.comm : MPI_COMM_SELF);
        }
}

/* ---- wrong calls ---- */

static int to, from;

static void class_is(const char *what, int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    check_value(NULL, now, what, class);
}

/* A message that is too long, and the one after it, which is not. */
static void truncated(const struct layout *l, int way, MPI_Datatype sent, int count)
{
    struct area a = area_new(sent, mix(10, (uint64_t)prog.me)), b = area_new(l->type, 11), c = area_new(l->type, 12);
    MPI_Status status = {.MPI_ERROR = 4711}, next;
    MPI_Message message;
    MPI_Request request[2];
    int n = -1;
    snprintf(now, sizeof now, "%s: truncated, %d", l->name, way);
    CK(MPI_Isend(a.origin, count, sent, to, TAG, prog.comm, &request[0]));
    CK(MPI_Isend(a.origin, 2, l->type == sent ? sent : l->twin, to, TAG, prog.comm, &request[1]));
    if (way == 0) {
        class_is("Recv", MPI_Recv(b.origin, 2, l->type, from, TAG, prog.comm, &status));
    } else if (way == 1) {
        class_is("Recv without status", MPI_Recv(b.origin, 2, l->type, MPI_ANY_SOURCE, TAG, prog.comm,
                                                 MPI_STATUS_IGNORE));
    } else if (way == 2) {
        CK(MPI_Mprobe(from, TAG, prog.comm, &message, MPI_STATUS_IGNORE));
        class_is("Mrecv", MPI_Mrecv(b.origin, 2, l->type, &message, &status));
    } else {
        class_is("Sendrecv", MPI_Sendrecv(a.origin, 0, l->type, MPI_PROC_NULL, TAG, b.origin, 2, l->type, from, TAG,
                                          prog.comm, &status));
    }
    CK(MPI_Recv(c.origin, 2, l->type, from, TAG, prog.comm, &next));
    MPI_Get_count(&next, l->type, &n);
    check_value(NULL, now, "items of the next", n);
    check_value(NULL, now, "source", status.MPI_SOURCE);
    check_value(NULL, now, "tag", status.MPI_TAG);
    check_value(NULL, now, "error", status.MPI_ERROR);
    wait_all(2, request);
    area_end(&a, now, "sent");
    area_end(&b, now, "what was too long");
    area_end(&c, now, "the next");
}

static void wrong(const struct layout *l)
{
    struct area a = area_new(l->type, 13), b = area_new(l->type, 14);
    MPI_Datatype raw, gone;
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    snprintf(now, sizeof now, "%s: wrong", l->name);
    MPI_Type_contiguous(2, l->type, &raw); /* not committed */
    class_is("count", MPI_Send(a.origin, -1, l->type, to, TAG, prog.comm));
    class_is("count_c", MPI_Send_c(a.origin, -1, l->type, to, TAG, prog.comm));
    if (l->at_zero)
        class_is("buffer", MPI_Send(NULL, 1, l->type, to, TAG, prog.comm));
    class_is("rank", MPI_Ssend(a.origin, 1, l->type, prog.ranks, TAG, prog.comm));
    class_is("any rank", MPI_Send(a.origin, 1, l->type, MPI_ANY_SOURCE, TAG, prog.comm));
    class_is("root", MPI_Send(a.origin, 1, l->type, MPI_ROOT, TAG, prog.comm));
    class_is("tag", MPI_Rsend(a.origin, 1, l->type, to, -2, prog.comm));
    class_is("any tag", MPI_Send(a.origin, 1, l->type, to, MPI_ANY_TAG, prog.comm));
    class_is("communicator", MPI_Send(a.origin, 1, l->type, to, TAG, MPI_COMM_NULL));
    class_is("type", MPI_Send(a.origin, 1, MPI_DATATYPE_NULL, to, TAG, prog.comm));
    class_is("not committed", MPI_Send(a.origin, 1, raw, to, TAG, prog.comm));
    class_is("received count", MPI_Recv(b.origin, -3, l->type, from, TAG, prog.comm, &status));
    if (l->at_zero)
        class_is("received buffer", MPI_Recv(NULL, 1, l->type, from, TAG, prog.comm, &status));
    class_is("received rank", MPI_Recv(b.origin, 1, l->type, prog.ranks + 1, TAG, prog.comm, &status));
    class_is("received tag", MPI_Recv(b.origin, 1, l->type, from, -7, prog.comm, MPI_STATUS_IGNORE));
    class_is("received communicator", MPI_Recv(b.origin, 1, l->type, from, TAG, MPI_COMM_NULL, &status));
    class_is("received type", MPI_Recv(b.origin, 1, raw, from, TAG, prog.comm, &status));
    class_is("received status", MPI_Recv(b.origin, 1, l->type, from, TAG, prog.comm, NULL));
    class_is("message", MPI_Mrecv(b.origin, 1, l->type, &message, &status));
    class_is("no message", MPI_Mrecv(b.origin, 1, l->type, NULL, &status));
    class_is("exchange: rank", MPI_Sendrecv(a.origin, 1, l->type, to, TAG, b.origin, 1, l->type, -9, TAG, prog.comm,
                                            &status));
    class_is("exchange: type", MPI_Sendrecv(a.origin, 1, raw, to, TAG, b.origin, 1, l->type, from, TAG, prog.comm,
                                            &status));
    class_is("exchange: received type", MPI_Sendrecv(a.origin, 1, l->type, to, TAG, b.origin, 1, raw, from, TAG,
                                                     prog.comm, &status));
    class_is("exchange: count", MPI_Sendrecv(a.origin, 1, l->type, to, TAG, b.origin, -1, l->type, from, TAG,
                                             prog.comm, MPI_STATUS_IGNORE));
    class_is("replace: tag", MPI_Sendrecv_replace(a.origin, 1, l->type, to, -4, from, TAG, prog.comm, &status));
    MPI_Type_dup(l->type, &gone);
    MPI_Type_free(&gone);
    class_is("freed", MPI_Send(a.origin, 1, gone, to, TAG, prog.comm));
    MPI_Type_free(&raw);
    area_end(&a, now, "sent");
    area_end(&b, now, "received");
}

void part_wrong(void)
{
    to = (prog.me + 1) % prog.ranks;
    from = (prog.me + prog.ranks - 1) % prog.ranks;
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_RETURN);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < LAYOUTS; i++) {
            wrong(&layouts[i]);
            for (int way = 0; way < 4; way++) {
                truncated(&layouts[i], way, layouts[i].type, ITEMS);
                truncated(&layouts[i], way, layouts[i].twin, 3);
            }
        }
    MPI_Comm_set_errhandler(prog.comm, MPI_ERRORS_ARE_FATAL);
}
