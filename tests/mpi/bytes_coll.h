/* What the parts of bytes_coll share. */
#ifndef ESPI_TESTS_MPI_BYTES_COLL_H
#define ESPI_TESTS_MPI_BYTES_COLL_H

#include "bytes.h"

#define MOST 16

enum form { BLOCKING, BLOCKING_C, NONBLOCKING, NONBLOCKING_C, PERSISTENT, PERSISTENT_C, FORMS };

#define LIST(...) __VA_ARGS__

/* ARGS: arguments with int counts, in parentheses; LARGE: the same with MPI_Count. */
#define CALL(form, NAME, INAME, ARGS, LARGE)                                                                         \
    do {                                                                                                             \
        MPI_Request call_r = MPI_REQUEST_NULL;                                                                       \
        MPI_Status call_st;                                                                                          \
        switch (form) {                                                                                              \
        case BLOCKING: CK(MPI_##NAME(LIST ARGS)); break;                                                             \
        case BLOCKING_C: CK(MPI_##NAME##_c(LIST LARGE)); break;                                                      \
        case NONBLOCKING: CK(MPI_##INAME(LIST ARGS, &call_r)); CK(MPI_Wait(&call_r, &call_st)); break;               \
        case NONBLOCKING_C: CK(MPI_##INAME##_c(LIST LARGE, &call_r)); CK(MPI_Wait(&call_r, &call_st)); break;        \
        case PERSISTENT: CK(MPI_##NAME##_init(LIST ARGS, MPI_INFO_NULL, &call_r)); CK(start_wait(&call_r)); break;   \
        case PERSISTENT_C:                                                                                           \
            CK(MPI_##NAME##_init_c(LIST LARGE, MPI_INFO_NULL, &call_r));                                             \
            CK(start_wait(&call_r));                                                                                 \
            break;                                                                                                   \
        default: break;                                                                                              \
        }                                                                                                            \
    } while (0)

struct coll {
    const struct family *f;
    int sv, rv, root, me, p;
    enum form form;
    MPI_Comm comm;
    int sc, rc;
    MPI_Datatype st, rt;
    struct side s, r;
    unsigned char *bytes;
    /* block counts and displacements in extents (v) */
    int scounts[MOST], sdispls[MOST], rcounts[MOST], rdispls[MOST];
    MPI_Count scounts_c[MOST], rcounts_c[MOST];
    MPI_Aint sdispls_a[MOST], rdispls_a[MOST];
    MPI_Datatype stypes[MOST], rtypes[MOST];
};

/* The second half of a persistent call: one round only, since MPICH 4.0.2 gives up a reference to each derived type
 * at every completion of a persistent collective, but takes it once. */
int start_wait(MPI_Request *r);
/* Counts and displacements for the large-count forms. */
void widen(struct coll *c);
/* Compares the buffers of both sides with what they should hold, and frees them. */
void done(struct coll *c, const char *call);
/* Block b of rank `from`'s send buffer (of `blocks` blocks) arrives as block `as` of mine. */
void arrives(struct coll *c, int from, int blocks, int b, int as);

/* Forms with a type for each peer: one region per peer, in a buffer large enough for any variant. Rank `from` sends
 * to rank `to` with send_variant, and that rank receives it with recv_variant. */
int send_variant(int from, int to);
int recv_variant(int from, int to);
MPI_Aint region(const struct family *f);
void side_w(const struct coll *c, struct side *s, int peers, int rank, int recv);
void arrives_w(struct coll *c, int peers, int from, int slot_there, int variant_there, int slot, int variant);

void call_alltoallw(struct coll *c);
void call_ialltoallw_freed(struct coll *c);

/* The neighbourhood calls, on a graph that is made once. */
void make_graph(void);
void free_graph(void);
void call_neighbor_allgather(struct coll *c);
void call_neighbor_allgatherv(struct coll *c);
void call_neighbor_alltoall(struct coll *c);
void call_neighbor_alltoallv(struct coll *c);
void call_neighbor_alltoallw(struct coll *c);

#endif
