/* Inside the generator: what typegen.c (maps, families of layouts) and typegrow.c (one function per combiner) share.
 * */
#ifndef ESPI_TESTS_MPI_TYPEGROW_H
#define ESPI_TESTS_MPI_TYPEGROW_H

#include "typegen.h"

struct tg_grow {
    uint64_t rng;
    int base;
    int disjoint;
};

long tg_between(struct tg_grow *g, long low, long high);
int tg_chance(struct tg_grow *g, int percent);
const char *tg_base_name(int base);
/* Number of a base type in the table. */
int tg_base_of(MPI_Datatype type);
/* One entry, or `copies` consecutive copies of `c` at byte `at`, to the end of the type map. */
void tg_add(struct tg_type *t, MPI_Aint disp, int base, int size);
void tg_put(struct tg_type *t, const struct tg_type *c, MPI_Aint at, long copies);
/* Fills in what the map implies, and the bounds MPI gives. */
void tg_settle(struct tg_type *t);
/* The text of a constructor over a child. */
void tg_note(struct tg_type *t, int large, const char *what, const struct tg_type *c);
/* Builds one tree, not committed; the caller owns it. */
void tg_grow_tree(struct tg_grow *g, int kind, int depth, size_t budget, struct tg_type *t);

#endif
