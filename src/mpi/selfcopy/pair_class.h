/*
 * Kinds of pairs of types: how both were made (type_class.h), and the counts. A program that makes the same types
 * again and again shows by its kind. The table is small and shared by all threads: where a new kind finds no room
 * near its place, it replaces the one there that was used least.
 */
#ifndef ESPI_MPI_SELFCOPY_PAIR_CLASS_H
#define ESPI_MPI_SELFCOPY_PAIR_CLASS_H

#include <stdbool.h>
#include <stdint.h>

/* What a copy gains is known from few calls, in which ranks wait for each other; and reading types back is not all
   that is done for it in a call whose types are new: blocks of 3 kB, new in each call, took 1.2 to 1.4 times as
   long as natively where a half of what seemed to be gained was spent (row pencil_01, small, K = 1, one process in
   six). */
enum { ESPI_KIND_TRIES_NS = 100000, ESPI_KIND_PART = 8 };

struct espi_pair_kind {
    uint64_t uses, bytes; /* of all its pairs */
    bool planned;         /* there was a plan for one of them: another one mostly has the same layouts */
    bool hopeful;         /* to read its types back took less than ESPI_KIND_TRIES_NS and an ESPI_KIND_PARTth of what
                             that gained */
    bool waits;           /* the budget was used up, and it was not used twice as often since */
};

/* Adds uses of a pair to its kind; what is known of the kind then. */
struct espi_pair_kind espi_pair_class_use(uint64_t key, uint64_t uses, uint64_t bytes);
/* Types of the kind were read back, which took so long; or copies have saved `gained_ns` since that was done. */
void espi_pair_class_tried(uint64_t key, uint64_t took_ns, uint64_t gained_ns);
/* A pair of the kind has a plan. */
void espi_pair_class_planned(uint64_t key);
/* The budget is used up. */
void espi_pair_class_denied(uint64_t key);

/* Notes that a layout was seen; true when it had been noted before. */
bool espi_layout_seen(uint64_t layout_key);

void espi_pair_classes_reset(void);

#endif
