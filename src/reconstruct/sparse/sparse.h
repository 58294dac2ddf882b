/*
 * Sparse exact reconstruction: the parts of espi_reconstruct_sparse (internal to this folder).
 *
 * The method, its lemmas and their proofs stand in doc/reconstruction.md; comments here name the lemma they use.
 * Positions count entries of the type map. The symbol at position i stands for (base i, base i+1, difference of the
 * displacements i and i+1): blocks of at least two entries are equal exactly when their symbols are. A *square* (u,
 * q) is a pair of equal adjacent blocks [u, u+q) and [u+q, u+2q), q >= 2; the symbol at u+q-1 joins them and may be
 * anything. Squares (u, q), (u+q, q), ... form a *family*: all its blocks are equal.
 */
#ifndef ESPI_RECONSTRUCT_SPARSE_SPARSE_H
#define ESPI_RECONSTRUCT_SPARSE_SPARSE_H

#include "reconstruct/options.h"

#define ESPI_SPARSE_INF (INT64_MAX / 4)
#define ESPI_SPARSE_NONE UINT32_MAX

struct espi_square {
    uint32_t q;
    uint32_t family;
    uint32_t stride; /* number of the distance between the two blocks, unique to the family */
};

struct espi_family {
    uint32_t start;   /* position of its first square */
    uint32_t q;       /* entries of a block */
    uint32_t squares; /* blocks less one */
    uint32_t same;    /* the family that speaks for all with this block content */
    uint32_t period_run; /* a run of that period, of whose multiples squares were left out (Lemma 6), or NONE */
    uint32_t line;    /* for strided buckets over its blocks, or NONE */
    bool exact;       /* cost is what it costs, not a bound */
    bool solved;      /* least is C of the block, not a bound (of the family that speaks for it) */
    int64_t least;
    int64_t cost;     /* of its block in rows: C, or a lower bound of it and of what was left out in its favour */
    const struct espi_node *node;
};

/* A maximal stretch of positions lo <= i < hi where symbol i equals symbol i + q, at least q - 1 of them. */
struct espi_interval {
    uint32_t q, lo, hi;
    uint32_t run; /* the periodic run whose period q is a multiple of, if it lies in one; or NONE */
    uint32_t multiple; /* q over that period */
};

/* Symbols lo <= i < hi have the least period `period`, and not longer; at least two periods long. */
struct espi_period_run {
    uint32_t lo, hi, period;
    uint32_t most; /* periods of the longest block that has a square inside */
    bool drops;    /* squares of two and more periods are left out (Lemma 6) */
    int64_t spare; /* the blocks left out cost at least this or as much as one period */
    struct espi_period_part *part; /* its first periods as a map of their own, when that was needed */
};

/* What the running minima of one family (or of the leaves) hold while a row is filled. */
struct espi_minima {
    uint32_t stamp, last_stride;
    uint32_t idx_from, vec_from, any_from, bucket_from;
    int64_t idx, vec, any, bucket;
};

struct espi_by_stride {
    uint32_t stamp, from;
    int64_t least;
};

enum espi_edge_kind { ESPI_EDGE_LEAF, ESPI_EDGE_VEC, ESPI_EDGE_IDX, ESPI_EDGE_BUCKET, ESPI_EDGE_STRIDED };

/*
 * Strided buckets (Lemmas 10 to 12). A line is a chain of equal adjacent blocks: block k starts at entry
 * start + k q. Its strides, cut into runs of one stride, are its stretches; one of l strides has l + 1 blocks.
 *
 * How buckets of strides s1 and s2 come from stretch m (s2 is its stride) to the block after the break that follows:
 * either they were under way when m began (approach `before`, and the buckets that take it across m), or they begin
 * at block x of m, for x = last, last - step, last - 2 step, ... >= 0, with buckets, buckets + more,
 * buckets + 2 more, ... of them up to the break.
 */
struct espi_approach {
    int64_t s1;
    uint32_t before; /* number of an approach, or NONE */
    uint32_t across; /* of an approach to a stretch: buckets from there to the block after the next break */
    uint32_t last, step, buckets, more; /* last is NONE when none begin there */
};

struct espi_stretch {
    uint32_t at, length; /* first block, strides */
    uint32_t first, end; /* approaches to its first block with s2 = its stride that can go on through it */
    uint32_t join1; /* from the one before, s1 = this stride: a break, then single blocks; or NONE */
    uint32_t join2; /* from two before: the stretch between is the break; or NONE */
    uint8_t back;   /* the last stretch of its stride that buckets can come from: so many before it, 2 or 3; or 0 */
    bool single;    /* back is 2, and between is a single break: s1 may be anything */
    bool used;      /* as s2 of an edge that may be worth while */
};

struct espi_line {
    uint32_t start, q;
    uint32_t first, end; /* of its stretches */
};

/* A value and where the edges that reach it begin. */
struct espi_source {
    int64_t cost;
    uint32_t from;
};

/* Where a row stands on a line. Costs are those of paths to the first block of an edge, plus those of its buckets. */
struct espi_line_state {
    uint32_t stamp;
    uint32_t opened; /* the first stretch and block of this row */
    uint32_t opened_block;
    uint32_t now, at, end;     /* the present stretch, its first and last block */
    struct espi_source inside; /* with s2 the present stride: up to any block of this stretch */
    struct espi_source after;  /* with s2 the stride before: up to its second block */
    struct espi_source join1, join2;
    struct espi_source singles; /* up to its second block, one bucket more for each block after */
};

/* The last edge of a best path: kind of root, where it starts (relative), the family of its block (NONE: leaves). */
struct espi_edge {
    uint32_t from, family;
    uint32_t kind;
};

struct espi_sparse {
    const struct espi_typemap *map;
    uint32_t n;
    struct espi_costs costs;
    bool buckets;       /* idxbuc may be used */
    bool strided;       /* strided buckets may be used */
    int64_t even;       /* vec, or a strided bucket that is cheaper */
    enum espi_edge_kind even_kind;
    int64_t uniform;    /* least cost of a repetition of uniform stride over its block */
    bool runs_are_best; /* condition V: nothing is cheaper than a strided run of leaves */
    bool drop_periods;  /* use Lemma 6 ... */
    bool keep_whole;    /* ... but not for a run that is the whole map */
    bool failed;        /* it did not hold */
    bool thin;          /* list few squares of each interval: trees are found, nothing is proved */
    uint64_t work, work_limit;
    uint64_t ahead; /* work that may go into blocks before it is known whether they matter */
    struct espi_arena scratch;

    /* text */
    uint32_t *sym; /* n - 1 */
    uint32_t nsym;
    uint32_t *base_end; /* first position after the stretch of equal base types */
    uint32_t ntok;      /* runs of equal symbols ("tokens") */
    uint32_t *tok_at;   /* first position of each; tok_at[ntok] = n - 1 */
    uint32_t *tok_of;   /* token of position i < n - 1 */
    uint64_t *prefix, *power; /* rolling hash of the symbols; made when first needed */

    /* repetitions */
    struct espi_interval *intervals;
    size_t nintervals, intervals_cap;
    uint64_t in_intervals; /* squares in all of them */
    struct espi_period_run *runs;
    size_t nruns, runs_cap;
    uint32_t *run_list; /* per token: head of the list of runs that cover it */
    struct espi_run_link {
        uint32_t run, next;
    } *run_links;
    size_t nrun_links, run_links_cap;

    /* families, and squares by position: those at u are square[first[u]] .. square[first[u + 1] - 1], q ascending */
    struct espi_family *families;
    size_t nfamilies, families_cap;
    uint32_t *first;
    struct espi_square *square;
    size_t nsquares;
    uint32_t nstrides;

    /* lines: of the leaves, whose stretches are the tokens, when there are any; then those of families */
    struct espi_line *lines;
    size_t nlines, lines_cap;
    struct espi_stretch *stretches;
    size_t nstretches, stretches_cap;
    struct espi_approach *approaches;
    size_t napproaches, approaches_cap;
    struct espi_line_state *line_state; /* per line */
    struct espi_source *approach_value; /* per approach */
    bool leaf_line;

    uint32_t *blocks; /* hash table of contents: the families that speak for them */
    size_t nblocks;

    /* rows */
    uint32_t stamp;
    struct espi_minima *minima;          /* per family */
    struct espi_by_stride *by_stride;    /* per stride of a family */
    struct espi_by_stride *leaf_stride;  /* per symbol */
    struct espi_stride_slot {
        int64_t stride;
        uint32_t stamp, number;
    } *slots; /* hash table of strides; those of another stamp are free */
    size_t nslots, slot_mask;
    uint32_t slot_stamp;
    const struct espi_node *leaf; /* the last one made */
};

/* Adds to the work done; ESPI_ERR_LIMIT beyond the bound. */
espi_status espi_sparse_work(struct espi_sparse *s, uint64_t units);
/* Room for `need` elements of `size` bytes in a growing array. */
espi_status espi_sparse_grow(void *array_pointer, size_t *capacity, size_t need, size_t size);
/* Forgets all strides; room for n different ones. */
espi_status espi_sparse_strides(struct espi_sparse *s, uint32_t n);
/* The number kept with a stride, 0 at first; valid until espi_sparse_strides. */
uint32_t *espi_sparse_stride(struct espi_sparse *s, int64_t stride);

/* text.c: symbols, tokens, hashes. */
espi_status espi_sparse_text(struct espi_sparse *s);
espi_status espi_sparse_hashes(struct espi_sparse *s);
uint64_t espi_sparse_hash(const struct espi_sparse *s, uint32_t u, uint32_t len);
bool espi_sparse_same(const struct espi_sparse *s, uint32_t u, uint32_t v, uint32_t len);
/* Is the block a strided run of leaves (len >= 2)? */
bool espi_sparse_is_run(const struct espi_sparse *s, uint32_t u, uint32_t len);

/* repeats.c: all intervals whose blocks are not strided runs, and the periodic runs. */
espi_status espi_sparse_repeats(struct espi_sparse *s);
/* period.c: Lemma 6. A lower bound of a struct over k periods whose parts are shorter than two. */
int64_t espi_sparse_least_struct(const struct espi_sparse *s, uint64_t k, uint64_t period);
/* The family's block, of one period, costs `cost`: are blocks of more periods no cheaper? If one is, s->failed is
   set and the answer ESPI_ERR_LIMIT. */
espi_status espi_sparse_certify(struct espi_sparse *s, const struct espi_family *f, int64_t cost);
void espi_period_part_release(struct espi_period_part *part);

/* family.c: squares collected block length by block length, linked into families. */
struct espi_builder {
    uint32_t q;
    uint32_t *at;    /* list of positions */
    size_t n, cap;
    uint32_t *stamp; /* per position */
    uint32_t *owner; /* per position: period_run of the family */
    uint32_t *place; /* per position: square in all[] */
    uint32_t now;
    struct espi_flat {
        uint32_t u;
        struct espi_square square;
    } *all;
    size_t nall, all_cap;
};
espi_status espi_builder_start(struct espi_sparse *s, struct espi_builder *b);
void espi_builder_open(struct espi_builder *b, uint32_t q);
/* Adds the square (u, b->q), once; `run` as period_run of a family. */
espi_status espi_builder_add(struct espi_sparse *s, struct espi_builder *b, uint32_t u, uint32_t run);
espi_status espi_builder_close(struct espi_sparse *s, struct espi_builder *b);
/* Sorts the squares by position. */
espi_status espi_builder_finish(struct espi_sparse *s, struct espi_builder *b);
void espi_builder_release(struct espi_builder *b);

/* leafruns.c: families whose blocks are strided runs (Lemma 5). */
espi_status espi_sparse_leafruns(struct espi_sparse *s, struct espi_builder *b);
/* expand.c: families from the intervals; or from all squares there are, found by trying. */
espi_status espi_sparse_expand(struct espi_sparse *s, struct espi_builder *b);
espi_status espi_sparse_expand_all(struct espi_sparse *s, struct espi_builder *b);

/* row.c: path[l] = least cost of a struct path over [u, u + l), l <= len, every edge with its struc_each;
   edges into `edge` when it is not NULL (len + 1 of them). Reads the families' costs, exact or not. */
espi_status espi_sparse_row(struct espi_sparse *s, uint32_t u, uint32_t len, int64_t *path, struct espi_edge *edge);

/* line.c: the lines of all chains on which strided buckets may be worth while. */
espi_status espi_sparse_lines(struct espi_sparse *s);
/* strided.c: block k of the line, the first of a stretch or of a row, becomes a source (as in row.c;
   `stamp` tells rows and chains apart): brings the state of the line up to date. path[0] is at entry u. */
void espi_sparse_enter(struct espi_sparse *s, uint32_t line, uint32_t stamp, uint32_t k, uint32_t u,
                       const int64_t *path);

/* root.c: the best tree over [u, u + len) whose root is a leaf or repetition. */
struct espi_root {
    int64_t cost; /* ESPI_SPARSE_INF when there is none */
    enum espi_edge_kind kind;
    uint32_t q, family; /* family NONE when q is 1 */
};
espi_status espi_sparse_root(struct espi_sparse *s, uint32_t u, uint32_t len, struct espi_root *root);
/* Of the m >= 2 blocks of q at u: how often the most frequent stride occurs, and which it is. */
espi_status espi_sparse_mode(struct espi_sparse *s, uint32_t u, uint32_t q, uint32_t m, uint32_t *times,
                             int64_t *stride);
/* block.c: bounds for all families; then costs where they matter. */
espi_status espi_sparse_prepare(struct espi_sparse *s);
/* Finds the family that speaks for all with the same block. */
espi_status espi_sparse_find_same(struct espi_sparse *s, uint32_t family);
/* Makes the family's cost exact. */
espi_status espi_sparse_resolve(struct espi_sparse *s, uint32_t family);
/* Makes all costs along a path exact; *changed when one was not. */
espi_status espi_sparse_resolve_path(struct espi_sparse *s, const struct espi_edge *edge, uint32_t len,
                                     bool *changed);
struct espi_solution {
    int64_t cost;
    bool parts; /* a struct; else the root */
    struct espi_root root;
    int64_t *path; /* of the row, when one was needed */
    struct espi_edge *edge;
};
/* C(u, len) and what reaches it; or as soon as it is clear that C is `enough` at least, a lower bound of that
   height. */
espi_status espi_sparse_solve(struct espi_sparse *s, uint32_t u, uint32_t len, int64_t enough,
                              struct espi_solution *out);
void espi_solution_release(struct espi_solution *solution);

/* sparse.c: espi_reconstruct_sparse with that bound of work given (tests pass 0 as well). */
espi_status espi_sparse_reconstruct(struct espi_arena *arena, const struct espi_typemap *map,
                                    const struct espi_reconstruct_options *options, uint64_t work_limit,
                                    uint64_t ahead, struct espi_reconstruction *out);
/* Sets up *s; `drop_periods`: use Lemma 6. Nothing to be freed yet. */
void espi_sparse_start(struct espi_sparse *s, const struct espi_typemap *map,
                       const struct espi_reconstruct_options *options, uint64_t work_limit, uint64_t ahead,
                       bool drop_periods);
/* Everything before the tree, for a map; espi_sparse_finish frees what it made, also after a failure. */
espi_status espi_sparse_begin(struct espi_sparse *s);
void espi_sparse_finish(struct espi_sparse *s);

/* top.c: the tree of the whole map from the finished tables; its displacement 0 need not be 0 (Lemma 7). */
espi_status espi_sparse_tree(struct espi_sparse *s, struct espi_arena *arena, const struct espi_node **out);

#endif
