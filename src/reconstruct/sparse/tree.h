/* Making nodes from tables; see sparse.h. Displacements are relative to `origin`, 0 for the root of a map. */
#ifndef ESPI_RECONSTRUCT_SPARSE_TREE_H
#define ESPI_RECONSTRUCT_SPARSE_TREE_H

#include "reconstruct/sparse/sparse.h"

/* m copies of `child`, the j-th for the block of q entries at u + j q; ESPI_EDGE_LEAF: the child itself. */
espi_status espi_sparse_copies(struct espi_sparse *s, struct espi_arena *arena, enum espi_edge_kind kind, uint32_t u,
                               uint32_t q, uint32_t m, const struct espi_node *child, int64_t origin,
                               const struct espi_node **out);
/* The best tree of the block of q entries at u, starting at displacement 0; `family` as in struct espi_root. */
espi_status espi_sparse_block_node(struct espi_sparse *s, struct espi_arena *arena, uint32_t u, uint32_t q,
                                   uint32_t family, const struct espi_node **out);
/* The struct of a path of `len` entries from u. */
espi_status espi_sparse_parts(struct espi_sparse *s, struct espi_arena *arena, uint32_t u, uint32_t len,
                              const struct espi_edge *edge, int64_t origin, const struct espi_node **out);
/* The best tree of [u, u + len), starting at displacement 0. */
espi_status espi_sparse_segment(struct espi_sparse *s, struct espi_arena *arena, uint32_t u, uint32_t len,
                                const struct espi_node **out);

#endif
