/*
 * How ranks of a node begin trials of ways together (message_ways.h). Each says, for each power of two in size, in
 * memory that all share, the number of its last trial, and reads what those say that it has a message with. A rank
 * that is behind begins its next trial with that message. All begin the first one at about the same time, so a rank
 * for which it is the first one takes the number of another one that has just begun, and one more of a rank that
 * began before: that one then follows.
 *
 * Of messages of which it is to be found out whether they are better packed they also say what they have found, so
 * that both sides go on alike: where one packs and the other does not, a call takes as long as the slower one does.
 */
#ifndef ESPI_MPI_PACKED_TRIAL_NUMBERS_H
#define ESPI_MPI_PACKED_TRIAL_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/stats.h"

enum {
    ESPI_TRIAL_SIZES = 32,
    ESPI_TRIAL_NUMBERS = 127, /* from 1 on, and round again; 0: none was begun */
    ESPI_TRIAL_YOUNG = 128    /* said beside the number: with one of the last few messages */
};

/* From now on these are what ranks of MPI_COMM_WORLD say: ESPI_TRIAL_SIZES of them a rank, this one is `rank`. NULL:
   nothing is said any more. */
void espi_trial_numbers_share(atomic_uchar *said, int rank);
/* Whether they do, which the same call alone changes. */
extern bool espi_trial_numbers_are_shared;

/* Whether that is of a later trial than a number. */
static inline bool espi_trial_is_later(unsigned char said, unsigned char than)
{
    const unsigned ahead = ((unsigned)(said & ESPI_TRIAL_NUMBERS) - (than & ESPI_TRIAL_NUMBERS)) & ESPI_TRIAL_NUMBERS;

    return (said & ESPI_TRIAL_NUMBERS) != 0 && ahead > 0 && ahead <= ESPI_TRIAL_NUMBERS / 2;
}

/* The latest of what these ranks of MPI_COMM_WORLD say; 0: they have begun none. */
unsigned char espi_trial_latest(int size, const unsigned char *ranks, int n);
/* This rank's. */
void espi_trial_say(int size, unsigned char said);

/* ---- what was found ---- */

/* What messages take packed, and not packed, ns. */
struct espi_trial_finding {
    double packed, own;
};

enum { ESPI_TRIAL_FINDINGS = 16 };
/* From now on these are what ranks of MPI_COMM_WORLD have found: ESPI_TRIAL_FINDINGS of them a rank, this one is
   `rank`, each of other messages. NULL: nothing is said any more. */
void espi_trial_findings_share(_Atomic uint64_t *said, int rank);

/* This rank's of messages `what`, a hash. It stands until something is said of others in its place. Gives it as other
   ranks read it: whole nanoseconds, up to 16 ms. */
struct espi_trial_finding espi_trial_say_found(uint32_t what, const struct espi_trial_finding *found);
/* How many of these ranks of MPI_COMM_WORLD, but for this one, have said something of such messages; adds what. */
int espi_trial_found(uint32_t what, const unsigned char *ranks, int n, struct espi_trial_finding *sum);
/* Takes back what this rank has said of them. */
void espi_trial_take_back(uint32_t what);

/* ---- rounds ---- */

/* What was found is found anew from time to time (message_plan.h), by all ranks at once: they share a word of the
   round. From now on that is this one, 0 at first. NULL: there are no more rounds. The leader's (base/overlap.h), as
   what follows. */
void espi_trial_rounds_share(_Atomic uint64_t *word);
extern _Atomic uint64_t *espi_trial_round_word;
enum { ESPI_TRIAL_ROUND_AT = 48 };
static inline unsigned espi_trial_round(void)
{
    return (unsigned)(atomic_load_explicit(espi_trial_round_word, memory_order_relaxed) >> ESPI_TRIAL_ROUND_AT);
}
/* So many verdicts are to be found anew by this rank in this round. */
void espi_trial_round_finds(unsigned verdicts);
/* The time is `now`, ns: ends the round when it has lasted long enough, unless another rank has. */
void espi_trial_round_passes(uint64_t now);
/* A message whose type has a plan goes by, whatever becomes of it: of some the time is looked at. */
extern unsigned espi_trial_round_messages;
static inline void espi_trial_round_counts(void)
{
    enum { EACH = 256 };

    if (__builtin_expect(++espi_trial_round_messages % EACH == 0, 0))
        espi_trial_round_passes(espi_stats_now());
}

#endif
