/* What the files of the decoder share; nothing for others. */
#ifndef ESPI_MPI_DATATYPE_DECODE_NODES_H
#define ESPI_MPI_DATATYPE_DECODE_NODES_H

#include <mpi.h>

#include "layout/layout.h"

struct espi_decoding {
    struct espi_arena *arena, *scratch; /* nodes and their arrays; what MPI returned */
    size_t limit, elements;
    /* Types that were decoded a short while ago: a type within a type may occur many times, and in those again. Each
       handle is that of the same type until the end, as the whole lives. */
    struct {
        MPI_Datatype type;
        const struct espi_node *node; /* NULL: none */
    } recent[64];
};

/* MPI_Type_get_contents_c. Types made by a large-count constructor keep all their numbers but a few ints in `counts`,
   in the order of the constructor's arguments; others have counts in `ints` and byte displacements in `addrs`. */
struct espi_contents {
    int combiner;
    bool large;
    int64_t n_types;
    int *ints;
    MPI_Aint *addrs;
    MPI_Count *counts;
    MPI_Datatype *types;
};

/* The i-th count, length or element displacement in the order of the constructor's arguments. */
static inline int64_t espi_contents_int(const struct espi_contents *c, int64_t i)
{
    return c->large ? c->counts[i] : c->ints[i];
}

/* A byte displacement or stride: argument number `i` of the large form, `addr` among the addresses of the other. */
static inline int64_t espi_contents_addr(const struct espi_contents *c, int64_t i, int64_t addr)
{
    return c->large ? c->counts[i] : c->addrs[addr];
}

struct espi_child {
    const struct espi_node *node;
    int64_t extent;
};

/* struc(0, <>, <>). */
espi_status espi_decode_empty(struct espi_decoding *d, const struct espi_node **out);
/* `count` copies at `stride`; the child itself for 1, the empty tree for 0 or an empty child. */
espi_status espi_decode_run(struct espi_decoding *d, int64_t count, int64_t stride, const struct espi_node *child,
                            const struct espi_node **out);
/* The child at `disp`. */
espi_status espi_decode_shift(struct espi_decoding *d, int64_t disp, const struct espi_node *child,
                              const struct espi_node **out);

/* decode_array.c */
espi_status espi_decode_subarray(struct espi_decoding *d, const struct espi_contents *c,
                                 const struct espi_child *child, const struct espi_node **out);
espi_status espi_decode_darray(struct espi_decoding *d, const struct espi_contents *c, const struct espi_child *child,
                               const struct espi_node **out);

#endif
