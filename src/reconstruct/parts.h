/* What the files of src/reconstruct know of each other. */
#ifndef ESPI_RECONSTRUCT_PARTS_H
#define ESPI_RECONSTRUCT_PARTS_H

#include "reconstruct/options.h"

/* ---- checks.c ---- */

/* Nanoseconds of a clock that never goes back. */
uint64_t espi_reconstruct_clock(void);
/* Whether every node of the tree belongs to the set. */
bool espi_tree_in_set(const struct espi_node *node, enum espi_set set);
/* Whether every constant lies in 0 .. ESPI_COST_MAX. */
bool espi_costs_valid(const struct espi_costs *costs);
/* Whether the difference of any two displacements, plus an extent, fits 62 bits, so that no subtree of the map can
   overflow. False is rare: displacements from both ends of the address space. */
bool espi_span_fits(const struct espi_typemap *map);

/* ---- ways ---- */

/* The dense exact method on its own, for any n: O(n^3) time, 2 * n * n / 2 values of 2, 4 or 8 bytes.
   ESPI_ERR_MEMORY or ESPI_ERR_LIMIT when that is too much. */
espi_status espi_reconstruct_dense(struct espi_arena *arena, const struct espi_typemap *map,
                                   const struct espi_reconstruct_options *options, struct espi_reconstruction *out);

/* The sparse exact method on its own (doc/reconstruction.md): work where blocks really repeat, near-linear on
   practical layouts, memory in proportion to n and to the repetitions found. ESPI_ERR_LIMIT when `work_limit` units
   of work (0: some 4e9; a unit is a few nanoseconds) do not suffice, which for n <= 2000 does not happen. Equal
   subtrees of the result are one node. */
espi_status espi_reconstruct_sparse(struct espi_arena *arena, const struct espi_typemap *map,
                                    const struct espi_reconstruct_options *options, uint64_t work_limit,
                                    struct espi_reconstruction *out);

/* A least-cost tree of the sequence node[0] at disp[0], node[1] at disp[1], ... among those that keep these n trees
   whole (n > 0). ESPI_ERR_LIMIT when the displacements are too far apart for that. */
espi_status espi_solve_symbols(struct espi_arena *arena, size_t n, const int64_t *disp,
                               const struct espi_node *const *node, const struct espi_reconstruct_options *options,
                               const struct espi_node **out);

/* A proved lower bound in O(n) time. */
int64_t espi_lower_bound(const struct espi_typemap *map, const struct espi_reconstruct_options *options);
/* The same from any tree of the map. */
int64_t espi_tree_lower_bound(const struct espi_node *tree, const struct espi_reconstruct_options *options);
/* The list of the map as it is: idx over one base type, else a struc of leaves and lists. Never fails but for memory
   and for a map that no tree can hold. */
espi_status espi_plain_list(struct espi_arena *arena, const struct espi_typemap *map,
                            const struct espi_reconstruct_options *options, const struct espi_node **out);
/* The method for maps whose repetitions can not even be listed within the budget, for any n: runs become symbols,
   windows of symbols are solved exactly, their results again. It works for some `work` units of 10 ns or so; more
   work never gives a dearer tree. */
espi_status espi_reconstruct_windowed(struct espi_arena *arena, const struct espi_typemap *map,
                                      const struct espi_reconstruct_options *options, uint64_t work,
                                      const struct espi_node **out);

#endif
