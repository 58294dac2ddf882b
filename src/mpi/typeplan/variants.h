/*
 * Trees that describe the same type map but run differently in MPICH.
 *
 * What makes MPICH 4.0.2 slow is known well enough to name candidates (select.c decides): an innermost list or
 * vector of small blocks is packed by one compiled loop when the whole of it is wanted, but block by block, through
 * general code, when a message takes only a part of it, which is what happens in every message above one shared
 * memory cell. Cut into chunks, all but the two chunks at the ends of a part are whole again. A chunk costs one
 * general step, too, so the best length lies between; and a very long list of chunks is cut again, because the way to
 * the first chunk of a part leads past all before it.
 */
#ifndef ESPI_MPI_TYPEPLAN_VARIANTS_H
#define ESPI_MPI_TYPEPLAN_VARIANTS_H

#include "layout/layout.h"

enum { ESPI_VARIANT_CHUNKS_MOST = 8192, ESPI_VARIANT_FAN = 128 };

/*
 * `tree` with innermost idx, idxbuc and vec nodes of more than 2 * `chunk` blocks of at most 256 bytes cut into
 * chunks:
 * vec as a vec of vec, lists as struc of lists; struc of more than ESPI_VARIANT_FAN lists made here are cut again.
 * The type map is the same, in the same order. Returns `tree` itself when nothing is to be cut. ESPI_ERR_LIMIT: more
 * than ESPI_VARIANT_CHUNKS_MOST chunks would be needed.
 */
espi_status espi_variant_chunked(struct espi_arena *arena, const struct espi_node *tree, int64_t chunk,
                                 const struct espi_node **out);

/*
 * `tree` with idx and idxbuc nodes as struc of vec nodes, where their blocks lie at one distance for long enough:
 * when pieces (such runs, and what is between them) are at most a quarter as many as blocks. Takes one pass over each
 * list. The type map is the same, in the same order. Returns `tree` itself when there is nothing to do.
 */
espi_status espi_variant_runs(struct espi_arena *arena, const struct espi_node *tree, const struct espi_node **out);

/* Which vec nodes become a block of copies: the innermost, the outermost, or all. */
enum espi_copies { ESPI_COPIES_INNERMOST, ESPI_COPIES_OUTERMOST, ESPI_COPIES_ALL };

/*
 * `tree` with vec(n, s, L) as idxbuc(1, s, <d>, <n>, L), which is emitted as one block of n copies of L at extent s:
 * the engine then finds its way into a part of it by division (engine_cost.h). The displacement of a one-entry list
 * below moves out into d. The type map is the same, in the same order. Returns `tree` itself when there is no such
 * node.
 */
espi_status espi_variant_copies(struct espi_arena *arena, const struct espi_node *tree, enum espi_copies which,
                                const struct espi_node **out);

#endif
