/*
 * Type maps and type trees: the vocabulary of Espalier (pure, no MPI).
 *
 * A type map is the ordered sequence of (base type, displacement in bytes). A type tree describes a type map by
 * constructor nodes:
 *   leaf(b)                         one base type b at displacement 0
 *   vec(c, s, L)                    c copies of L at 0, s, 2s, ...
 *   idx(c, <i..>, L)                c copies of L at i_0, i_1, ...
 *   idxbuc(c, s, <i..>, <a..>, L)   c buckets, the j-th at i_j with a_j copies of L at stride s
 *   struc(c, <i..>, <L..>)          L_0 at i_0, L_1 at i_1, ...
 *   bucket(c, s1, s2, <a..>, L)     c buckets at stride s1, the j-th with a_j copies of L at stride s2 (extended set)
 * Strides and displacements are bytes and may be negative. Arrays may be empty: struc(0, <>, <>).
 * Source of the notation: Ganian, Kalany, Szeider, Träff, "Polynomial-time construction of optimal MPI derived
 * datatype trees".
 */
#ifndef ESPI_LAYOUT_LAYOUT_H
#define ESPI_LAYOUT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/status.h"

/* ---- base types (basetype.c, basetypes.def) ---- */

typedef uint16_t espi_base; /* index into the table of base types */
#define ESPI_BASE_NONE ((espi_base)UINT16_MAX)

struct espi_base_info {
    const char *name; /* MPI's name, "MPI_DOUBLE" */
    uint32_t size;    /* bytes of data, as MPI_Type_size */
    uint32_t extent;  /* bytes from the first to past the last, as the true extent (differs for pair types) */
};

/* How many base types exist now. Ids 0 .. count-1 are valid. Thread-safe. */
size_t espi_base_count(void);
/* NULL for an unknown id. The result lives as long as the process. */
const struct espi_base_info *espi_base_info(espi_base base);
/* ESPI_BASE_NONE when no base type has that name (exact match over `len` bytes). */
espi_base espi_base_find(const char *name, size_t len);
/* Adds a base type that only this process has (an MPI_Type_create_f90_real, say); `name` is copied: a letter or '_',
   then letters, digits, '_' and '.'. A name that is known with the same size and extent gives the known id. Returns
   ESPI_BASE_NONE for any other name, or when the table is full. Thread-safe. */
espi_base espi_base_add(const char *name, uint32_t size, uint32_t extent);

/* ---- type maps (typemap.c) ---- */

struct espi_typemap {
    size_t n, capacity;
    int64_t *disp;   /* bytes; n entries */
    espi_base *base; /* n entries */
};

#define ESPI_TYPEMAP_INIT ((struct espi_typemap){0, 0, 0, 0})
/* Appends one entry; ESPI_ERR_MEMORY leaves the map as it was. */
espi_status espi_typemap_append(struct espi_typemap *map, espi_base base, int64_t disp);
espi_status espi_typemap_reserve(struct espi_typemap *map, size_t n);
bool espi_typemap_equal(const struct espi_typemap *a, const struct espi_typemap *b);
/* Frees the arrays; the map is empty and usable again. */
void espi_typemap_release(struct espi_typemap *map);

/* ---- type trees (node.c): immutable once made, live in an arena, may share children ---- */

/* Deeper trees are refused (ESPI_ERR_UNSUPPORTED), so that walking one by recursion is safe on any stack. */
#define ESPI_DEPTH_MAX 1000

enum espi_kind { ESPI_LEAF, ESPI_VEC, ESPI_IDX, ESPI_IDXBUC, ESPI_STRUC, ESPI_BUCKET, ESPI_KIND_COUNT };

struct espi_node {
    enum espi_kind kind;
    espi_base base;      /* leaf */
    bool has_struc;      /* a struc stands at or below this node */
    int depth;           /* nodes on the longest way down, this one included; 1 for a leaf */
    int64_t count;       /* c: copies (vec), length of the arrays (others); 1 for a leaf */
    int64_t stride;      /* s (vec, idxbuc), s1 (bucket) */
    int64_t stride2;     /* s2 (bucket) */
    const int64_t *disp; /* i (idx, idxbuc, struc) */
    const int64_t *len;  /* a (idxbuc, bucket) */
    const struct espi_node *child;      /* L of all kinds but leaf and struc */
    const struct espi_node *const *sub; /* struc: count children */
    /* Derived by the constructor functions: */
    int64_t entries;          /* length of the type map */
    int64_t size;             /* bytes of data */
    int64_t true_lb, true_ub; /* least displacement, largest end; 0 and 0 for an empty type map */
    uint64_t hash;            /* structural: equal trees have equal hashes, in every run */
};

/* Constructors. Arrays and children are not copied when they already live in `arena` or outlive it: the caller
   promises that they outlive the node. Each checks its domain (counts and lengths not negative, children not NULL)
   and 64-bit overflow of every derived value. */
espi_status espi_node_leaf(struct espi_arena *arena, espi_base base, const struct espi_node **out);
espi_status espi_node_vec(struct espi_arena *arena, int64_t count, int64_t stride, const struct espi_node *child,
                          const struct espi_node **out);
espi_status espi_node_idx(struct espi_arena *arena, int64_t count, const int64_t *disp,
                          const struct espi_node *child, const struct espi_node **out);
espi_status espi_node_idxbuc(struct espi_arena *arena, int64_t count, int64_t stride, const int64_t *disp,
                             const int64_t *len, const struct espi_node *child, const struct espi_node **out);
espi_status espi_node_struc(struct espi_arena *arena, int64_t count, const int64_t *disp,
                            const struct espi_node *const *sub, const struct espi_node **out);
espi_status espi_node_bucket(struct espi_arena *arena, int64_t count, int64_t stride1, int64_t stride2,
                             const int64_t *len, const struct espi_node *child, const struct espi_node **out);

/* Same shape, same parameters, same base types. */
bool espi_node_equal(const struct espi_node *a, const struct espi_node *b);
/* Elements of the lists in it, parts included, counted until there are `most`. Shared parts count wherever they
   occur, but for equal neighbours. */
int64_t espi_node_numbers(const struct espi_node *node, int64_t most);
/* Whether two trees have one type map, by samples of a long one. False also where memory is short. */
bool espi_node_same_map(const struct espi_node *a, const struct espi_node *b);
/* A deep copy whose arrays and children all live in `arena`; shared subtrees stay shared. */
espi_status espi_node_copy(struct espi_arena *arena, const struct espi_node *node, const struct espi_node **out);

/* ---- flatten (flatten.c) ---- */

/* Appends the type map of `node`, every displacement plus `shift`. ESPI_ERR_LIMIT when more than `limit` entries
   would stand in the map (nothing is appended then). */
espi_status espi_flatten(const struct espi_node *node, int64_t shift, size_t limit, struct espi_typemap *map);

/* ---- runs (run.c) ---- */

/* The base type that every entry of the type map has; ESPI_BASE_NONE when they differ or there is no entry. */
espi_base espi_node_single_base(const struct espi_node *node);
/* Whether the entries stand in this order at *start, *start + unit, *start + 2 unit, ...; *entries is their number.
   An empty type map is a run of 0 entries. `unit` > 0 bytes. */
bool espi_node_run(const struct espi_node *node, int64_t unit, int64_t *start, int64_t *entries);

/* ---- elements in the stream (astride.c) ---- */

/* Whether, of copies that stand one behind the other in the stream of their data, some element stands at no multiple
   of its own size, or has a size that does not divide ESPI_ASTRIDE_UNIT. If not, a cut of the stream at a multiple of
   that unit lies within none. */
enum { ESPI_ASTRIDE_UNIT = 16 };
bool espi_node_is_astride(const struct espi_node *node);

/* ---- slices (slice.c) ---- */

/* A tree for the entries from, from+1, ..., to-1 of node's type map (0 <= from <= to <= entries), each displacement
   plus `shift`. Its new nodes are O(depth) many; arrays and whole children are shared with `node`, which must outlive
   it. The tree is correct, not of least cost. */
espi_status espi_node_slice(struct espi_arena *arena, const struct espi_node *node, int64_t from, int64_t to,
                            int64_t shift, const struct espi_node **out);

/* ---- cost (cost.c) ---- */

/* Words per node kind; every constant may be set, none may be negative. */
struct espi_costs {
    int64_t leaf;                      /* 2 */
    int64_t vec;                       /* 4 */
    int64_t idx, idx_each;             /* 3, 1 per displacement */
    int64_t idxbuc, idxbuc_each;       /* 4, 2 per bucket */
    int64_t struc, struc_each;         /* 2, 2 per child */
    int64_t bucket, bucket_each;       /* 5, 1 per bucket */
};
extern const struct espi_costs espi_costs_default;
/* The largest constant that reconstruction accepts, so that no sum over a tree overflows on the way. */
#define ESPI_COST_MAX INT64_C(999999999)

/* The cost of a tree: shared subtrees are counted once per use, but visited once. Saturates at INT64_MAX. */
int64_t espi_cost(const struct espi_node *node, const struct espi_costs *costs);
/* Of this node alone, without its child or children. Saturates likewise. */
int64_t espi_cost_own(const struct espi_node *node, const struct espi_costs *costs);
/* Reads "leaf=2,vec=4,idx=3,idx_each=1,..."; keys left out keep their value, the largest value is ESPI_COST_MAX. On
   ESPI_ERR_SYNTAX `where` (may be NULL) gets the offset of the offending byte and *costs is untouched. */
espi_status espi_costs_parse(const char *text, struct espi_costs *costs, size_t *where);

/* ---- text form (print.c, parse.c) ---- */

/* The one-line text form, exactly readable by espi_parse; arrays are written in full when `shorten` is 0, else at
   most `shorten` elements, then "...". Returns the length that was or would have been written, as snprintf; of a
   shortened text that does not fit, some length that is not less than `size`. */
size_t espi_print(const struct espi_node *node, size_t shorten, char *buf, size_t size);
/* The same to a stream; false on a write error. */
bool espi_print_file(const struct espi_node *node, size_t shorten, FILE *stream);

struct espi_parse_error {
    size_t line, column; /* from 1 */
    char text[160];      /* what was expected, what was found */
};
/* Parses one tree in text form. White space and line breaks may stand between tokens. The count before an array may
   not disagree with it. Nodes live in `arena`. */
espi_status espi_parse(struct espi_arena *arena, const char *text, size_t len, const struct espi_node **out,
                       struct espi_parse_error *error);

#endif
