/*
 * Calls of MPI_Alltoall and its kin that ranks count otherwise than each other, and calls on a communicator that is
 * about to end. Where a report is wanted, as in this test, some calls are the library's; all ranks must agree on
 * them.
 */
#include "bytes.h"

#include <stdlib.h>

enum { RANKS_MOST = 16 };

/* Some calls of one kind. */
static void plain(MPI_Comm comm, const char *what, int times)
{
    int from[RANKS_MOST], to[RANKS_MOST];

    for (int time = 0; time < times; time++) {
        for (int i = 0; i < prog.ranks; i++) {
            from[i] = 100 * prog.me + i + time;
            to[i] = -1;
        }
        CK(MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm));
        for (int i = 0; i < prog.ranks; i++)
            check_equal(NULL, "plain", what, to[i], 100 * i + prog.me + time);
    }
}

/* Calls in which nobody waits for the rank to which MPI refuses them: ranks do not count the same calls. */
static void refused_alone(MPI_Comm comm)
{
    static const int none[RANKS_MOST];
    int data[1] = {0}, other[1];

    for (int time = 0; time < 60; time++) {
        MPI_Alltoallv(data, none, none, prog.me == 0 ? MPI_DATATYPE_NULL : MPI_INT, other, none, none, MPI_INT, comm);
        plain(comm, "after one was refused on a rank alone", 1 + time % 4);
    }
}

static int last_calls(MPI_Comm comm, int key, void *value, void *state)
{
    (void)key, (void)value, (void)state;
    plain(comm, "as the communicator ends", 10);
    return MPI_SUCCESS;
}

/* An attribute of the program's ends with its communicator, on which there are calls meanwhile. */
static void ends(MPI_Comm comm)
{
    int key;

    CK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_calls, &key, NULL));
    for (int life = 0; life < 3; life++) {
        MPI_Comm copy;
        CK(MPI_Comm_dup(comm, &copy));
        plain(copy, "before", 5 * life);
        CK(MPI_Comm_set_attr(copy, key, NULL));
        plain(copy, "after", 5 * life);
        CK(MPI_Comm_free(&copy));
    }
    CK(MPI_Comm_free_keyval(&key));
}

/* Neighbours of which one sends and the other receives: of what is not there MPI looks at nothing. */
static void one_way(MPI_Comm comm)
{
    const int ends = 0, gives = prog.me % 2 == 0;
    MPI_Comm row;

    CK(MPI_Cart_create(comm, 1, &prog.ranks, &ends, 0, &row));
    for (int time = 0; time < 40; time++) {
        int to[2] = {100 * prog.me + time, 100 * prog.me + time}, from[2] = {-1, -1};
        CK(MPI_Neighbor_alltoall(gives ? to : NULL, gives, gives ? MPI_INT : MPI_DATATYPE_NULL, gives ? NULL : from,
                                 !gives, MPI_INT, row));
        for (int i = 0; i < 2 && !gives; i++) {
            const int other = prog.me + (i == 0 ? -1 : 1);
            check_equal(NULL, "one way", "received", from[i], other < prog.ranks ? 100 * other + time : -1);
        }
    }
    CK(MPI_Comm_free(&row));
}

/* Calls in which one rank's buffers are none, of nothing: MPI takes them. */
static void nothing_in_place(MPI_Comm comm)
{
    static const int none[RANKS_MOST];
    const int around = 1;
    int to[2] = {0}, from[RANKS_MOST], class;
    MPI_Comm ring;
    MPI_Datatype empty;

    CK(MPI_Cart_create(comm, 1, &prog.ranks, &around, 0, &ring));
    CK(MPI_Type_contiguous(0, MPI_INT, &empty));
    CK(MPI_Type_commit(&empty));
    for (int time = 0; time < 40; time++) {
        void *const place = prog.me == time % prog.ranks ? MPI_IN_PLACE : from;
        CK(MPI_Neighbor_alltoall(place, 0, MPI_INT, from, 0, MPI_INT, ring));
        CK(MPI_Neighbor_alltoall(place, 1, empty, from, 1, empty, ring));
        CK(MPI_Neighbor_alltoall(to, 0, MPI_INT, place, 0, MPI_INT, ring));
        CK(MPI_Alltoallv(to, none, none, MPI_INT, place, none, none, MPI_INT, comm));
        plain(comm, "after calls of nothing", 1);
    }
    MPI_Error_class(MPI_Alltoall(NULL, 5, empty, NULL, 5, empty, comm), &class);
    check_value(NULL, "nothing", "class of a buffer that is given twice", class);
    MPI_Error_class(MPI_Alltoall(to, 1, empty, MPI_IN_PLACE, 1, empty, comm), &class);
    check_value(NULL, "nothing", "class of a buffer that is none", class);
    MPI_Type_free(&empty);
    MPI_Comm_free(&ring);
}

/* With nine ranks and more MPI sends short blocks together: one rank receives less than it says. */
static void unequal(MPI_Comm comm)
{
    enum { SHORT = 50, LONG = 100 };
    int *data = calloc(2 * LONG * RANKS_MOST, sizeof *data), class;

    if (prog.ranks >= 9) {
        MPI_Error_class(MPI_Alltoall(data, SHORT, MPI_INT, data + LONG * RANKS_MOST, prog.me == 0 ? LONG : SHORT,
                                     MPI_INT, comm), &class);
        check_value(NULL, "unequal", "class", class);
    }
    free(data);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    prog_start(&argc, &argv, 0);
    MPI_Comm_dup(prog.comm, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    one_way(comm);
    refused_alone(comm);
    ends(comm);
    nothing_in_place(comm);
    unequal(comm);
    MPI_Comm_free(&comm);
    return prog_end("exchange_odd");
}
