/*
 * Turns of the library's way among calls that go through shared memory, so that what these save can be told. Only
 * where a report is wanted; nothing is chosen by them.
 *
 * A rank in the library waits for the others there, so all ranks of a call must take the same turn, whatever MPI has
 * refused to one of them before. They agree in the call itself: a rank that wants a turn puts a piece that says so
 * before its blocks, to all others, and looks at the first piece of each of them. It takes the turn if all these ask
 * for the same. A rank asks only in calls in which it sends bytes to all others and receives bytes from all of them.
 * So one that asks sees the first pieces of all; and that of one which does not ask is a piece of its block, which
 * all that ask see. Either all see that all ask, or none does. A rank that does not ask passes such pieces over.
 * When to ask each rank counts by itself. Where it counts otherwise than the others, there is no turn.
 *
 * Ranks that have agreed begin together, so that what they time is the call, and no wait for a late one. So there are
 * turns of both ways.
 */
#ifndef ESPI_MPI_EXCHANGE_TURNS_H
#define ESPI_MPI_EXCHANGE_TURNS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "exchange/channel.h"

enum espi_exchange_turn { ESPI_TURN_LIBRARYS, ESPI_TURN_SHARED, ESPI_TURN_NONE };

/* From here on: whether there are turns. Nothing is known yet. */
void espi_exchange_turns_start(bool are);
extern bool espi_exchange_has_turns;

/* Counts a call. The turn that it is to be, if the others agree. Not where calls overlap. */
enum espi_exchange_turn espi_exchange_turn_wanted(MPI_Comm comm);

/* Asks n > 0 others, and waits for their first pieces. Whether all ask for that turn. */
bool espi_exchange_turn_agreed(enum espi_exchange_turn turn, struct espi_channel_end *const *to,
                               struct espi_channel_end *const *from, int n);

/* Calls of one kind, and what they took: in the last turns of each way. NULL: there are too many kinds. Not where
   calls overlap. */
struct espi_exchange_kind;
struct espi_exchange_kind *espi_exchange_kind(uint64_t key);
void espi_exchange_took(struct espi_exchange_kind *kind, enum espi_exchange_turn turn, uint64_t ns);
/* Nanoseconds that such a call saves, 0 if that is less than times stray; negative: it was not found out. */
double espi_exchange_kind_saves(const struct espi_exchange_kind *kind);
/* What a call saves beside what is credited for it elsewhere, ns; and what earlier ones of its kind did of which that
   was not known. */
uint64_t espi_exchange_kind_rest(struct espi_exchange_kind *kind, double credited);

#endif
