/* Collective calls between two groups, wrong ones, and blocks that are shorter than they should be. */
#include <stdlib.h>
#include <string.h>

#include "packed_coll.h"

enum { PEERS = 8 };

/* ---- between two groups ---- */

static void between(MPI_Comm both, bool first, const struct layout *l, int round)
{
    int here, there, me, counts[PEERS], places[PEERS];
    MPI_Comm_size(both, &here);
    MPI_Comm_remote_size(both, &there);
    MPI_Comm_rank(both, &me);
    const int most = (here > there ? here : there) * 2, rooted = round % 2;
    const bool roots = first == (rooted == 0); /* this group has the root, its last rank */
    const int root = roots ? (me == here - 1 ? MPI_ROOT : MPI_PROC_NULL) : there - 1;
    MPI_Datatype s = round % 3 ? l->type : l->twin, r = l->twin;
    struct room a = room_new(s, most, mix(prog.seed, (uint64_t)prog.me)), b = room_new(r, most, 5);
    for (int i = 0; i < PEERS; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    void *from = a.side.origin, *onto = b.side.origin;
    CK(MPI_Bcast(roots ? from : onto, 2, roots ? s : r, root, both));
    CK(MPI_Gather(from, 1, s, onto, 1, r, root, both));
    CK(MPI_Gatherv(from, 1, s, onto, counts, places, r, root, both));
    CK(MPI_Scatter(from, 1, s, onto, 1, r, root, both));
    CK(MPI_Scatterv(from, counts, places, s, onto, 1, r, root, both));
    CK(MPI_Allgather(from, 1, s, onto, 1, r, both));
    CK(MPI_Allgatherv(from, 1, s, onto, counts, places, r, both));
    CK(MPI_Alltoall(from, 1, s, onto, 1, r, both));
    CK(MPI_Alltoallv(from, counts, places, s, onto, counts, places, r, both));
    room_end(&b, "between groups", l->name);
    room_end(&a, "between groups", "sent");
}

void part_inter(void)
{
    MPI_Comm mine, both;
    const int first = prog.me == 0;
    MPI_Comm_split(prog.comm, first, prog.me, &mine);
    MPI_Intercomm_create(mine, 0, prog.comm, first, 5, &both);
    for (int round = 0; round < 6; round++)
        for (int i = 0; i < LAYOUTS - 1; i++) /* of the last one blocks overlap */
            between(both, first, &layouts[i], round);
    MPI_Comm_free(&both);
    MPI_Comm_free(&mine);
}

/* ---- wrong calls, on all ranks ---- */

static void class_is(const char *what, int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    check_value(NULL, "wrong", what, class);
}

static void wrong(const struct layout *l, MPI_Comm comm)
{
    const int p = prog.ranks, bad = p + 7;
    int one[PEERS], negative[PEERS], places[PEERS];
    MPI_Datatype types[PEERS], nulls[PEERS], gone;
    MPI_Request request = MPI_REQUEST_NULL;
    struct room a = room_new(l->type, 2 * p, 3), b = room_new(l->type, 2 * p, 4);
    void *from = a.side.origin, *onto = b.side.origin;
    for (int i = 0; i < PEERS; i++) {
        one[i] = 1;
        negative[i] = i == 0 ? -1 : 1;
        places[i] = i;
        types[i] = l->type;
        nulls[i] = MPI_DATATYPE_NULL;
    }
    MPI_Type_dup(l->type, &gone);
    MPI_Type_free(&gone);
    class_is("root", MPI_Bcast(from, 1, l->type, bad, comm));
    class_is("count", MPI_Bcast(from, -1, l->type, 0, comm));
    class_is("type", MPI_Bcast(from, 1, MPI_DATATYPE_NULL, 0, comm));
    class_is("freed", MPI_Bcast(from, 1, gone, 0, comm));
    class_is("communicator", MPI_Bcast(from, 1, l->type, 0, MPI_COMM_NULL));
    if (l->at_zero) {
        class_is("buffer", MPI_Bcast(NULL, 1, l->type, 0, comm));
        class_is("alltoall, buffer", MPI_Alltoall(from, 1, l->type, NULL, 1, l->type, comm));
        class_is("alltoall, sent", MPI_Alltoall(NULL, 1, l->type, onto, 1, l->type, comm));
        class_is("alltoallv, sent", MPI_Alltoallv(NULL, one, places, l->type, onto, one, places, l->type, comm));
    }
    class_is("gather, root", MPI_Gather(from, 1, l->type, onto, 1, l->type, -3, comm));
    class_is("gather, count", MPI_Gather(from, -1, l->type, onto, 1, l->type, 0, comm));
    class_is("allgather, count", MPI_Allgather(from, 1, l->type, onto, -1, l->type, comm));
    class_is("allgather, type", MPI_Allgather(from, 1, l->type, onto, 1, gone, comm));
    class_is("allgather, aliased",
             MPI_Allgather((char *)onto + (MPI_Aint)prog.me * l->size, 1, l->type, onto, 1, l->type, comm));
    class_is("allgatherv, aliased", MPI_Allgatherv((char *)onto + (MPI_Aint)prog.me * l->size, 1, l->type, onto, one,
                                                   places, l->type, comm));
    class_is("alltoall, aliased", MPI_Alltoall(onto, 1, l->type, onto, 1, l->type, comm));
    class_is("alltoallv, aliased", MPI_Alltoallv(onto, one, places, l->type, onto, one, places, l->type, comm));
    class_is("alltoallv, count", MPI_Alltoallv(from, one, places, l->type, onto, negative, places, l->type, comm));
    class_is("alltoallv, type",
             MPI_Alltoallv(from, one, places, l->type, onto, one, places, MPI_DATATYPE_NULL, comm));
    class_is("alltoallw, types", MPI_Alltoallw(from, one, places, types, onto, one, places, nulls, comm));
    class_is("alltoallw, count", MPI_Alltoallw(from, negative, places, types, onto, one, places, types, comm));
    class_is("allgatherv, count", MPI_Allgatherv(from, 1, l->type, onto, negative, places, l->type, comm));
    class_is("ialltoall, count", MPI_Ialltoall(from, -1, l->type, onto, 1, l->type, comm, &request));
    class_is("iallgather, type", MPI_Iallgather(from, 1, gone, onto, 1, l->type, comm, &request));
    class_is("no neighbours", MPI_Neighbor_alltoall(from, 1, l->type, onto, 1, l->type, comm));
    class_is("right", MPI_Alltoall(from, 1, l->type, onto, 1, l->type, comm));
    /* The request of a collective call may not be freed. */
    CK(MPI_Ialltoall(from, 1, l->type, onto, 1, l->type, comm, &request));
    class_is("freed request", MPI_Request_free(&request));
    if (request != MPI_REQUEST_NULL)
        CK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    room_end(&b, "wrong", l->name);
    room_end(&a, "wrong", "sent");
}

void part_wrong_coll(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(prog.comm, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* told of bad requests and communicators */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < LAYOUTS; i++)
            wrong(&layouts[i], comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

/* ---- short blocks ---- */

/* All ranks send `items` of the ITEMS that are to be received. MPICH lets it pass where each block is a message. */
static void send_items(const struct layout *l, int items, int which, struct room *b)
{
    struct room a = room_new(l->type, ITEMS * prog.ranks, mix(prog.seed, (uint64_t)prog.me));
    int sent[PEERS], received[PEERS], places[PEERS], far[PEERS];
    MPI_Datatype types[PEERS];
    MPI_Aint lb, extent;
    MPI_Type_get_extent(l->type, &lb, &extent);
    for (int i = 0; i < PEERS; i++) {
        sent[i] = i == prog.me ? ITEMS : items;
        received[i] = ITEMS;
        places[i] = i * ITEMS;
        far[i] = (int)(i * ITEMS * extent);
        types[i] = l->type;
    }
    void *from = a.side.origin, *onto = b->side.origin;
    const bool root = prog.me == 0;
    if (which == 0)
        CK(MPI_Alltoallv(from, sent, places, l->type, onto, received, places, l->type, prog.comm));
    else if (which == 1)
        CK(MPI_Alltoallw(from, sent, far, types, onto, received, far, types, prog.comm));
    else if (which == 2)
        CK(MPI_Gatherv(from, root ? ITEMS : items, l->type, onto, received, places, l->type, 0, prog.comm));
    else
        CK(MPI_Scatterv(from, sent, places, l->type, onto, ITEMS, l->type, 0, prog.comm));
    side_free(&a.side);
}

void part_short(const struct layout *l)
{
    for (int round = 0; round < 4; round++)
        for (int which = 0; which < 4; which++) {
            struct room b = room_new(l->type, ITEMS * prog.ranks, 8);
            send_items(l, round % 2 ? ITEMS : 3, which, &b);
            room_end(&b, "short", l->name);
        }
}

/* What has not arrived is as it was, whenever the first short block comes. */
void part_late(void)
{
    for (int i = 0; i < LAYOUTS - 1; i++) { /* of the last one blocks overlap */
        const struct layout *l = &layouts[i];
        const int tail = 3 * l->size;
        for (int round = 0; round < 40; round++) {
            struct room b = room_new(l->type, ITEMS * prog.ranks, 8);
            struct room before = room_new(l->type, ITEMS * prog.ranks, 8);
            const int items = round == 30 ? 1 : ITEMS, peer = (prog.me + 1) % prog.ranks;
            char *is = calloc(1, (size_t)tail), *was = calloc(1, (size_t)tail);
            MPI_Aint lb, extent, at;
            MPI_Type_get_extent(l->type, &lb, &extent);
            at = (peer * ITEMS + 1) * extent; /* behind the item that came from this peer */
            send_items(l, items, 0, &b);
            CK(MPI_Pack(b.side.origin + at, 3, l->type, is, tail, &(int){0}, prog.comm));
            CK(MPI_Pack(before.side.origin + at, 3, l->type, was, tail, &(int){0}, prog.comm));
            if (items == 1)
                check_equal(NULL, "late", l->name, memcmp(is, was, (size_t)tail) != 0, 0);
            else
                check_bytes(NULL, "late", l->name, b.side.mem, b.side.size);
            free(is);
            free(was);
            side_free(&b.side);
            side_free(&before.side);
        }
    }
}
