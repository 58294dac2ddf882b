/*
 * Kinds of pairs of types: how both were made (type_class.h), and the counts. A program that makes the same types
 * again and again shows by its kind. The table is small and shared by all threads; entries that meet in one slot
 * replace each other, which only delays planning.
 */
#ifndef ESPI_MPI_SELFCOPY_PAIR_CLASS_H
#define ESPI_MPI_SELFCOPY_PAIR_CLASS_H

#include <stdbool.h>
#include <stdint.h>

enum { ESPI_KIND_TRIES_NS = 100000 };

/* Adds new types and uses to a kind; gives its totals. */
void espi_pair_class_use(uint64_t key, uint64_t types, uint64_t uses, uint64_t bytes, uint64_t *all_uses,
                    uint64_t *all_bytes);

/* Whether another decode of a fresh type of this kind is worth trying: not after ESPI_KIND_TRIES_NS that led to
   nothing. */
bool espi_pair_class_hopeful(uint64_t key);
/* Such a decode took so long; each use of the type will save `gain_ns` (0: no known layout, or it has no better
   type). */
void espi_pair_class_tried(uint64_t key, uint64_t took_ns, uint64_t gain_ns);

/* Notes that a layout was seen; true when it had been noted before. */
bool espi_layout_seen(uint64_t layout_key);

void espi_pair_classes_reset(void);

#endif
