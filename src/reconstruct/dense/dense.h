/* The dense exact solver, inside src/reconstruct. Its problem is a little wider than a type map: an item is a base
   type or any finished tree (a symbol), with its own cost. */
#ifndef ESPI_RECONSTRUCT_DENSE_DENSE_H
#define ESPI_RECONSTRUCT_DENSE_DENSE_H

#include "reconstruct/options.h"

/* The same code for different vector units; tests hold them against each other. */
enum espi_dense_code {
    ESPI_DENSE_BEST, /* of this machine */
    ESPI_DENSE_PLAIN,
    ESPI_DENSE_AVX2,
    ESPI_DENSE_AVX512
};
bool espi_dense_can(enum espi_dense_code code);

struct espi_dense {
    /* The problem, set by the caller: */
    size_t n;
    const int64_t *disp;     /* n displacements; their span fits 62 bits */
    const uint32_t *symbol;  /* n symbols; equal symbols are equal items */
    const int64_t *weight;   /* cost of each symbol's tree */
    uint32_t symbols;        /* how many symbols exist */
    enum espi_set set;
    struct espi_costs costs;
    enum espi_dense_code code;
    int least_bits;          /* values are at least so wide: 0, 16, 32, 64 */
    /* The result, owned: */
    int bits;   /* width of a value in the tables */
    /* Of segment [i, e): least cost of a tree without struc at the root, plus struc_each. */
    void *edge;
    void *path; /* likewise: least cost of a path of such edges */
};

/* Fills the tables in O(n^3) time, 2 * n * n / 2 values of memory. ESPI_ERR_ARGUMENT for code that this machine can
   not run. */
espi_status espi_dense_solve(struct espi_dense *dense);
void espi_dense_release(struct espi_dense *dense);

/* For 0 <= i < e <= n; an edge that was never better than infinite is at least espi_dense_infinity. */
int64_t espi_dense_path(const struct espi_dense *dense, size_t i, size_t e);
/* The least cost of any tree of [i, e) that starts at 0. */
int64_t espi_dense_best(const struct espi_dense *dense, size_t i, size_t e);
int64_t espi_dense_edge(const struct espi_dense *dense, size_t i, size_t e);

/* path[k] = espi_dense_path of [i, i + k) for k = 0 .. e - i; and with these, where the last edge of a least path
   from i to e > i begins: the longest such edge. */
void espi_dense_paths(const struct espi_dense *dense, size_t i, size_t e, int64_t *path);
size_t espi_dense_last_edge(const struct espi_dense *dense, size_t i, size_t e, const int64_t *path);

/* Builds a least-cost tree of the whole sequence, displaced by disp[0] (Lemma 7). `item` holds a tree per symbol. */
espi_status espi_dense_build(const struct espi_dense *dense, struct espi_arena *arena,
                             const struct espi_node *const *item, const struct espi_node **out, int64_t *cost);

/* espi_reconstruct_dense with a choice of code and width. */
espi_status espi_reconstruct_dense_by(struct espi_arena *arena, const struct espi_typemap *map,
                                      const struct espi_reconstruct_options *options, enum espi_dense_code code,
                                      int least_bits, struct espi_reconstruction *out);

/* ---- strided buckets (buckets.c) over blocks that start at p[0], p[step], p[2 step], .. ---- */

struct espi_strided_buckets {
    int64_t count; /* 0: these blocks can not stand in strided buckets */
    int64_t stride1, stride2;
};
/* fewest[c] for 2 <= c <= m: the fewest buckets of the first c blocks, 0 when impossible; fewest[m + 1] = 0. Whoever
   can place c blocks can place fewer, so the first 0 ends the list. */
void espi_buckets_fewest(const int64_t *p, size_t step, size_t m, int64_t *fewest);
struct espi_strided_buckets espi_buckets_best(const int64_t *p, size_t step, size_t m);
void espi_buckets_lengths(const int64_t *p, size_t step, size_t m, const struct espi_strided_buckets *best,
                          int64_t *len);

#endif
