/* Inside of the stub (libespalier.so). */
#ifndef ESPI_WRAPPERS_STUB_H
#define ESPI_WRAPPERS_STUB_H

#include <stdatomic.h>
#include <stdbool.h>

#include "abi.h"

#define ESPI_HIDDEN __attribute__((visibility("hidden")))

extern ESPI_HIDDEN struct espi_hot espi_hot;
/* initial-exec: no call, no allocation, safe wherever MPI may be entered. */
extern ESPI_HIDDEN __thread struct espi_thread espi_here __attribute__((tls_model("initial-exec")));

/* Decides, once per process, between the core and passing through. Returns the table now in espi_hot.handlers. */
ESPI_HIDDEN const espi_handler *espi_start(void);
/* A call that its entry does not see to: `args` in the entry's own frame, as many as the row says; `caller`: where
   the entry returns to (entry_slow.c). */
ESPI_HIDDEN espi_word espi_entry_slow(bool profiling, enum espi_fn fn, espi_word *args, const void *caller);
/* The same for a call of MPI_X with derived types. `next`: where plain calls go on to, so that the core is there;
   NULL: they do not. */
ESPI_HIDDEN espi_word espi_entry_derived(enum espi_fn fn, espi_next next, espi_word *args, const void *caller);
/* The same for a collective call with derived types, which may go on as it is (on_credit.h). */
struct espi_credit_row;
ESPI_HIDDEN espi_word espi_entry_collective(bool profiling, enum espi_fn fn, const struct espi_credit_row *row,
                                            espi_word *args, const void *caller);
/* The same for a constructor (MAKE), of which mostly no more is to be done than to note how the type was made.
   `often`: of a type that is to be kept. `next`: where plain calls go on to; NULL: they do not. */
ESPI_HIDDEN espi_word espi_entry_make(bool profiling, bool often, enum espi_fn fn, espi_next next, espi_word *args,
                                      const void *caller);
/* A constructor has returned a high number, perhaps `inside` of another call: a program that has many types must not
   be brought to higher handles by types that the core holds. */
ESPI_HIDDEN void espi_tells_crowded(bool inside);
/* Where types are kept, outside of another call, before one with this key (kept.h), of a type `from`.
   ESPI_KEPT_AGAIN: `*made` is the type that such a call made, and that the program had freed. ESPI_KEPT_OFTEN: what
   it makes is to be kept. */
enum espi_kept_made { ESPI_KEPT_UNKNOWN, ESPI_KEPT_OFTEN, ESPI_KEPT_AGAIN };
ESPI_HIDDEN enum espi_kept_made espi_kept_makes(enum espi_fn fn, const uint64_t key[ESPI_KEPT_WORDS], uint32_t from,
                                                uint32_t *made);
/* The same for MPI_Type_free of a type that may be kept. */
ESPI_HIDDEN espi_word espi_entry_free(bool profiling, espi_next next, espi_word *args, const void *caller);
/* Finds and remembers the next definition of a function; never NULL: where there is none, a function that returns an
   error. */
ESPI_HIDDEN espi_next espi_find_next(bool profiling, enum espi_fn fn);
/* Whether MPI_X goes on to the MPI library at once; and whether the call that the thread is in, which returns to
   `caller`, was not made by the MPI library, nor by a tool that had it from us. */
ESPI_HIDDEN bool espi_is_last(enum espi_fn fn);
ESPI_HIDDEN bool espi_is_programs(bool profiling, enum espi_fn fn, const void *caller);
/* Sets `fast_next` and `passthrough` of all entries by what holds now: the flags `plain`, the table of handlers. */
ESPI_HIDDEN void espi_refresh(void);

/* Beside the flags of enum espi_plain: the function may make a request for which MPI calls itself, from inside of the
   functions that complete it (nonblocking input and output). */
enum { ESPI_PLAIN_NO_MORE = 1 << 8 };

/* What is lent to the core; the table of handlers where every call passes through; and the flags (enum espi_plain)
   without which no call of a function is short. */
extern ESPI_HIDDEN struct espi_stub espi_self;
extern ESPI_HIDDEN const espi_handler espi_nothing[ESPI_FN_COUNT];
extern ESPI_HIDDEN const unsigned short espi_short_flags[ESPI_FN_COUNT];

#endif
