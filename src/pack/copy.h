/* Programs that copy data from one layout to another in one go, compiled from a shared tree (transpacking). */
#ifndef ESPI_PACK_COPY_H
#define ESPI_PACK_COPY_H

#include "layout/layout.h"

struct espi_copy; /* immutable; lives in the arena that it was compiled in */

/*
 * Compiles two trees of one shape (struct espi_transpacking): from where the data lie, to where they go. The trees
 * are not needed afterwards, but their arrays of displacements and lengths are read by the program and must outlive
 * it. ESPI_ERR_ARGUMENT: the trees differ in shape or base types. ESPI_ERR_UNSUPPORTED: nested too deeply.
 */
espi_status espi_copy_compile(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                              const struct espi_copy **out);

/*
 * Copies; displacements count from `source` and `target`. The places written must not overlap those read. In which
 * order is not defined: where `onto` has a place twice (which MPI forbids for a receive buffer), one of the entries
 * stays. Gaps stay as they are, also those within a pair type. Thread-safe.
 */
void espi_copy_run(const struct espi_copy *copy, const void *source, void *target);

#endif
