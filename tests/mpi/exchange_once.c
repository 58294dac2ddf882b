/*
 * MPI_Alltoall and its kin with lists of bytes that are made anew for each call, each time others: their pack
 * programs are compiled for one call. Lists on either side or on both, one for all ranks or one for each, several
 * items of one; blocks that are cut off; and lists of which some would be no faster.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { RANKS_MOST = 16, CALLS = 40, BLOCKS = 64, ALL = 4 << 20 };

static unsigned char *from, *to;

/* `blocks` blocks of `each` items of a base type, with gaps that differ each time. */
static MPI_Datatype list_of(int blocks, int each, MPI_Datatype base)
{
    static uint64_t salt;
    int at[1024], next = 0;
    MPI_Datatype type;

    for (int i = 0; i < blocks; i++) {
        next += (int)(mix(prog.seed, ++salt) % (uint64_t)(each / 4 + 2));
        at[i] = next;
        next += each;
    }
    CK(MPI_Type_create_indexed_block(blocks, each, at, base, &type));
    CK(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype side_type(int is_list, int each)
{
    MPI_Datatype type;

    if (is_list)
        return list_of(BLOCKS, each, MPI_BYTE);
    CK(MPI_Type_contiguous(BLOCKS * each, MPI_BYTE, &type));
    CK(MPI_Type_commit(&type));
    return type;
}

static void refill(uint64_t salt)
{
    for (size_t i = 0; i < ALL / 8; i++)
        ((uint64_t *)from)[i] = mix(mix(prog.seed, salt), i + (uint64_t)prog.me * ALL);
    memset(to, 0, ALL);
}

/* One type for all blocks of a side. */
static void one_for_all(MPI_Comm comm, int lists, int count)
{
    const int each = 512;

    for (int call = 0; call < CALLS; call++) {
        MPI_Datatype s = side_type(lists & 1, each), r = side_type(lists & 2, each);
        refill((uint64_t)call);
        CK(MPI_Alltoall(from, count, s, to, count, r, comm));
        check_bytes(NULL, "once", "MPI_Alltoall", to, ALL);
        CK(MPI_Type_free(&s));
        CK(MPI_Type_free(&r));
    }
}

/* One for each; blocks for other ranks of 16 kB and less, and more. The last call is cut off on rank 0. */
static void one_for_each(MPI_Comm comm)
{
    int counts[2][RANKS_MOST], places[RANKS_MOST], class = MPI_SUCCESS;
    MPI_Datatype types[2][RANKS_MOST];

    for (int call = 0; call < CALLS; call++) {
        const int each = call % 4 == 3 ? 100 : 300 + call, cut = call == CALLS - 1;
        for (int i = 0; i < prog.ranks; i++) {
            places[i] = i * (ALL / prog.ranks / 64 * 64);
            counts[0][i] = 1;
            counts[1][i] = 1;
            types[0][i] = (call + i) % 3 ? list_of(BLOCKS, each, MPI_BYTE) : list_of(2 * each, BLOCKS / 2, MPI_BYTE);
            types[1][i] = list_of(BLOCKS, cut && prog.me == 0 ? each / 2 : each, MPI_BYTE);
        }
        refill((uint64_t)call + 1000);
        const int rc = MPI_Alltoallw(from, counts[0], places, types[0], to, counts[1], places, types[1], comm);
        if (rc != MPI_SUCCESS)
            MPI_Error_class(rc, &class);
        check_equal(NULL, "once", "class", class, cut && prog.me == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        if (!cut)
            check_bytes(NULL, "once", "MPI_Alltoallw", to, ALL);
        for (int i = 0; i < prog.ranks; i++) {
            CK(MPI_Type_free(&types[0][i]));
            CK(MPI_Type_free(&types[1][i]));
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    prog_start(&argc, &argv, 0);
    from = malloc(ALL);
    to = malloc(ALL);
    CK(MPI_Comm_dup(prog.comm, &comm));
    CK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int lists = 1; lists < 4; lists++)
        one_for_all(comm, lists, 1);
    one_for_all(comm, 3, 3);
    one_for_each(comm);
    CK(MPI_Comm_free(&comm));
    free(from);
    free(to);
    return prog_end("exchange_once");
}
