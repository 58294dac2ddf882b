/* Two trees of equal signature brought to one shape (transpacking without flattening). */
#ifndef ESPI_TRANSPACK_ZIP_H
#define ESPI_TRANSPACK_ZIP_H

#include "layout/layout.h"

/*
 * Gives two trees of the type maps of `from` and `onto` that differ in strides and displacements alone. Repetitions
 * are cut into factors that both sides have (a run of n n elements against n columns of n: two nested vec); lists
 * stay lists where the other side has as many copies of as many entries, and are opened copy by copy where not; parts
 * of a struc cut the other side. Time and memory in proportion to the trees and to what had to be opened, but for
 * cuts of nodes with many buckets or parts, each of which is looked for from the first one on. ESPI_ERR_ARGUMENT: the
 * signatures differ. ESPI_ERR_LIMIT: more than `limit` array elements and parts would be made, or cuts would take
 * more than some 20 ms.
 */
espi_status espi_zip(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                     size_t limit, const struct espi_node **out_from, const struct espi_node **out_onto);

#endif
