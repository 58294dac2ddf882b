/*
 * A seeded generator of MPI datatypes that knows the type map of what it makes.
 *
 * Every combiner of MPI 4.0 can be asked for by kind; the rest of the tree is random, nested up to a given depth,
 * with zero counts and lengths, negative strides, lower bounds and extents. While a type is built by MPI calls, its
 * type map is written down by hand (the standard's definition of each constructor), which makes the oracle of all
 * programs here independent of any MPI implementation's engine and of Espalier. Only extents of inner types are asked
 * of MPI.
 *
 * The same seed and wish give the same type, so another rank's type can be made again from its seed.
 */
#ifndef ESPI_TESTS_MPI_TYPEGEN_H
#define ESPI_TESTS_MPI_TYPEGEN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum tg_kind {
    TG_BASE, TG_PAIR, TG_F90_REAL, TG_F90_COMPLEX, TG_F90_INTEGER,
    TG_DUP, TG_CONTIGUOUS, TG_VECTOR, TG_HVECTOR, TG_INDEXED, TG_HINDEXED, TG_INDEXED_BLOCK, TG_HINDEXED_BLOCK,
    TG_STRUCT, TG_SUBARRAY_C, TG_SUBARRAY_F, TG_DARRAY_C, TG_DARRAY_F, TG_RESIZED,
    TG_KINDS
};

extern const char *const tg_kind_name[TG_KINDS];

/* One element: `size` bytes of base type number `base` at `disp` bytes from the buffer address. */
struct tg_entry {
    MPI_Aint disp;
    int base;
    int size;
};

struct tg_type {
    MPI_Datatype type;   /* committed, unless predefined */
    int predefined;      /* must not be freed */
    size_t n, room;
    struct tg_entry *map; /* the type map, in order */
    MPI_Count lb, extent; /* as MPI says */
    MPI_Aint low, high;   /* least and largest byte of the map (high exclusive), 0 and 0 when empty */
    MPI_Count size;       /* bytes of data */
    char text[512];       /* what was built, for messages; may be cut short */
};

struct tg_wish {
    uint64_t seed;
    int kind;      /* outermost (or, where a wrapper was needed, next to outermost) combiner; TG_KINDS: any */
    int depth;     /* nesting of constructors, at least 1 for a constructor */
    size_t budget; /* entries of the type map at most */
    int base;      /* number of the only base type allowed, or -1: any, mixed */
    int disjoint;  /* aim for entries that do not overlap (a receive layout); tg_disjoint tells whether it worked */
};

/* splitmix64: next random number of a sequence. */
static inline uint64_t tg_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* A number from 0 to n - 1. */
uint64_t tg_below(uint64_t *state, uint64_t n);

/* Number of base types in the table, and one of them. */
int tg_bases(void);
MPI_Datatype tg_base(int base);

/* Builds and commits. Ownership of `t` goes to the caller: tg_free. */
void tg_make(const struct tg_wish *wish, struct tg_type *t);
/* Like tg_make, with seeds derived from the wish's until `copies` consecutive copies do not overlap and stay within
 * `span` bytes; where a single copy is disjoint but several are not, the type is resized. A plain layout after 40
 * attempts. */
void tg_make_receivable(const struct tg_wish *wish, int copies, MPI_Aint span, struct tg_type *t);
/* A layout with exactly the base types of `like` times `count`, in that order, at other places. Receivable. */
void tg_make_spread(uint64_t seed, const struct tg_type *like, int count, struct tg_type *t);
/* The same map and bounds under another handle (MPI_Type_dup). */
void tg_make_dup(const struct tg_type *like, struct tg_type *t);
void tg_free(struct tg_type *t);

/* Whether no byte occurs twice in `copies` consecutive copies. */
int tg_disjoint(const struct tg_type *t, int copies);
/* Least and largest (exclusive) byte touched by `count` copies. */
void tg_span(const struct tg_type *t, MPI_Count count, MPI_Aint *low, MPI_Aint *high);
/* Bytes of `count` copies in the order of the type map. Returns the number of bytes. */
size_t tg_pack(const struct tg_type *t, MPI_Count count, const unsigned char *origin, unsigned char *out);
/* Puts `bytes` bytes at the places of up to `count` copies. */
void tg_unpack(const struct tg_type *t, MPI_Count count, unsigned char *origin, const unsigned char *in,
               size_t bytes);

#endif
