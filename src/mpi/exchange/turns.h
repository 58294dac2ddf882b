/*
 * Turns of the library's way among calls that go through shared memory, so that what these save can be told. Only
 * where a report is wanted; nothing is chosen by them.
 *
 * A rank in the library waits for the others there, so all ranks of a call must take the same turn, whatever has
 * come before: calls that MPI refused to one rank, or of which one rank has not read all. They agree in the call
 * itself, in two rounds of words, pieces that stand before the blocks. In the first a rank asks all others, and
 * says to each how many pieces it had read from it. In the second it says yes, if the first piece from each other
 * asks for the same turn of the same function among the same ranks, and that number is right. It takes the turn if
 * all say yes. A rank that does not ask, or does not say yes, goes on with its blocks; those are the no. Words
 * that nobody waits for are passed over (flow.c).
 *
 * A rank asks only in calls in which it sends bytes to all others and receives bytes from all, and when they have
 * read all that it has written before. Until it has said yes it waits for a short time at most, then the answer is
 * no: a rank that does not ask may have nothing to send any more, or may come later. After its yes it waits for
 * ranks that have asked in the call that they are in: each of them comes to say yes, or sends a block to all,
 * within that time, and has room for it. So nobody waits for one who waits for it.
 *
 * If one takes the turn, all do. A right number from Y says that Y is still in the call in which it asked: to come
 * to its end Y would have read more from X, and X would have written more before. So if X has the yes of all, each
 * has asked and said yes in the call that it is in; and whatever Y has read as the first piece of Z, with a right
 * number, is what Z asked in that call, which its yes follows. So Y has the yes of all, too.
 *
 * Ranks that have agreed begin together, so that what they time is the call, and no wait for a late one. So there are
 * turns of both ways.
 */
#ifndef ESPI_MPI_EXCHANGE_TURNS_H
#define ESPI_MPI_EXCHANGE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "exchange/channel.h"

enum espi_exchange_turn { ESPI_TURN_LIBRARYS, ESPI_TURN_SHARED, ESPI_TURN_NONE };

/* From here on: whether there are turns. Nothing is known yet. */
void espi_exchange_turns_start(bool are);
extern bool espi_exchange_has_turns;

/* Calls of one kind, and what they took: in the last turns of each way. NULL: there are too many kinds. Not where
   calls overlap. */
struct espi_exchange_kind;
struct espi_exchange_kind *espi_exchange_kind(uint64_t key);

/* Counts a call. The turn that it is to be, if the others agree: ranks count alike where the calls of one are of the
   same kind as those of another. */
enum espi_exchange_turn espi_exchange_turn_wanted(struct espi_exchange_kind *kind);

/* Asks n > 0 others, by the ends to and from each of them. Whether all take that turn. `call`: the same on all ranks,
   for a function among these ranks. */
bool espi_exchange_turn_agreed(enum espi_exchange_turn turn, struct espi_channel_end *const *to,
                               struct espi_channel_end *const *from, int n, uint64_t call);

void espi_exchange_took(struct espi_exchange_kind *kind, enum espi_exchange_turn turn, uint64_t ns);
/* Nanoseconds that such a call saves, 0 if that is less than times stray; negative: it was not found out. */
double espi_exchange_kind_saves(const struct espi_exchange_kind *kind);
/* What a call saves beside what is credited for it elsewhere, ns; and what earlier ones of its kind did of which that
   was not known. */
uint64_t espi_exchange_kind_rest(struct espi_exchange_kind *kind, double credited);
/* What calls of the kind were credited with and do not save, as far as it is not more than `most`, which this one can
   give back; ns. */
double espi_exchange_kind_takes_back(struct espi_exchange_kind *kind, double most);

#endif
