/* The program as data, and the innermost loops. */
#ifndef ESPI_PACK_COPY_PROGRAM_H
#define ESPI_PACK_COPY_PROGRAM_H

#include "pack/copy.h"

enum espi_copy_kind {
    ESPI_COPY_BLOCK,   /* `bytes` bytes as they are */
    ESPI_COPY_LOOPS,   /* `child` in `levels` loops, one inside the other, the first outermost */
    ESPI_COPY_LIST,    /* `child` at `count` pairs of displacements */
    ESPI_COPY_BUCKETS, /* at the j-th pair of displacements, `len[j]` times `child` at the strides of `loop[0]` */
    ESPI_COPY_PARTS    /* `sub[j]` at the j-th pair of displacements */
};

/* Steps in bytes on either side. */
struct espi_copy_loop {
    int64_t count, from, onto;
};

enum { ESPI_COPY_LEVELS = 8 };

struct espi_copy {
    enum espi_copy_kind kind;
    int levels;
    int64_t bytes;  /* of a block */
    int64_t count;
    int64_t chunk;  /* of the innermost loop: this many turns are run together, part by part; 0: turn by turn */
    int64_t pieces; /* blocks in all, counted by walking: a measure of how fine-grained it is */
    struct espi_copy_loop loop[ESPI_COPY_LEVELS];
    const int64_t *disp_from, *disp_onto, *len;
    const struct espi_copy *child, *const *sub;
};

/* n blocks at constant steps. */
void espi_copy_strip(int64_t bytes, const struct espi_copy_loop *loop, const char *source, char *target);
/* The same in two loops, in any order. */
void espi_copy_grid(int64_t bytes, const struct espi_copy_loop *outer, const struct espi_copy_loop *inner,
                    const char *source, char *target);
/* n blocks at pairs of displacements. */
void espi_copy_list(int64_t bytes, int64_t n, const int64_t *from, const int64_t *onto, const char *source,
                    char *target);

#endif
