/*
 * Prices of Espalier's work, and its budget (setting auto).
 *
 * The rule. What planning costs is estimated before it is done; what a better type could have saved of the native
 * uses so far is estimated from their number and bytes, rather too high. Work is done when the one reaches the other.
 * Whoever buys just when the rent paid reaches the price never pays more than twice what would have been best,
 * however long the program goes on: if it ends at once, planning took no longer than could have been saved before; if
 * it goes on, what was missed is one planning. To buy earlier makes programs slow that end early, and a program that
 * goes on does not notice. tiers.h has what is bought.
 *
 * In all, planning stays below a grant (ESPALIER_BUDGET_MS) plus 1 % of the processor time since the start and half
 * of what better types have saved. Of the grant only a tenth is for work that leads to nothing, so that a program
 * whose types are all good is not asked for the whole of it.
 */
#ifndef ESPI_MPI_TYPEPLAN_ADMISSION_H
#define ESPI_MPI_TYPEPLAN_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of `uses` native calls moving `bytes` bytes in all that a better type may save. The greater part of a
   call of a few bytes is none of that: what MPI does whatever the type. `dense`: the items have no gaps. Then MPI
   copies them as one block, which nothing beats, but for those of which it does not see that they are one. */
static inline uint64_t espi_admission_spent(uint64_t uses, uint64_t bytes, bool dense)
{
    return 30 * uses + (dense ? bytes / 16 : bytes / 2);
}

/* What a walk through a list of `numbers` counts and displacements may add to that where a use does not fit one part
   of a message (engine_cost.h). */
static inline uint64_t espi_admission_walked(uint64_t uses, uint64_t bytes, uint64_t numbers)
{
    enum { PART = 8000 };

    return uses > 0 && bytes / uses > PART ? 8 * numbers * uses : 0;
}

/* Nanoseconds for each number of a list: without and with pack programs. */
enum { ESPI_NUMBER_NS = 40, ESPI_NUMBER_PACKED_NS = 20 };
extern uint64_t espi_admission_number_ns; /* one of these; the first unless set */

/* Estimated nanoseconds of the first tier: reading a type back whose constructor has `numbers` counts and
   displacements, and compiling a pack program; or the rules, and building its form in chunks. Beside the numbers it
   is what it took lately, in the mean, and 2,500 at least: code and data are not in the caches where a program does
   other things in between, and each new page of memory takes ten microseconds on some virtual machines. (What a look
   at one more type of the class takes, whose plan is known, was measured at the looks before: type_look.c.) */
uint64_t espi_admission_rules(uint64_t numbers);
/* To read such a type back and to plan it took so long. */
void espi_admission_made(uint64_t numbers, uint64_t took);
extern bool espi_admission_learns; /* from that; tests in which uses are counted out beforehand say no */

/* Estimated nanoseconds of the second tier, the least-cost tree, for a type whose constructor has `numbers` counts
   and displacements and one element of which has `size` bytes. */
static inline uint64_t espi_admission_tree(uint64_t numbers, uint64_t size)
{
    return 1000000 + 300 * numbers + 500 * (size < 32768 ? size : 32768);
}

/* Estimated nanoseconds of planning a pair of such layouts for copies from one to the other: the pairs of bench/onto
   take half of it on average. */
static inline uint64_t espi_admission_estimate(uint64_t numbers, uint64_t size)
{
    return 60000 + 200 * numbers + 12 * (size < 32768 ? size : 32768);
}

/* Whether uses are so long that planning is nothing against them: the first may do with the plan, already. */
static inline bool espi_admission_is_little(uint64_t spent, uint64_t estimate)
{
    return spent / 8 >= estimate;
}

static inline bool espi_admission_earned(uint64_t uses, uint64_t spent, uint64_t estimate)
{
    return uses >= (espi_admission_is_little(spent, estimate) ? 1 : 4) && spent >= estimate;
}

/* Whether planning has begun in this process, or may. The first time takes some 250 us for what is done once: models
   are measured, pack programs tested, code and memory touched for the first time. So that is a price, too, which the
   uses of all types together have to have earned; `more` nanoseconds of theirs were not told of before. */
bool espi_admission_begins(uint64_t more);

/* Whether a plan was made since the start, before the one that is made now; notes that one. What the first one takes
   says nothing of the next: most of it is what is done once. */
bool espi_admission_was_warm(void);

/* Starts the clock. */
void espi_admission_start(int64_t grant_ms);
/* Whether work of about `estimate` nanoseconds fits in what is left. */
bool espi_admission_open(uint64_t estimate);
/* The same for dear work, which the grant is not for but for the tenth of it. */
bool espi_admission_open_dear(uint64_t estimate);
/* Books time that better types have saved. */
void espi_admission_gain(uint64_t ns);
/* Books work that was done. */
void espi_admission_book(uint64_t ns);
/* So much of it led to nothing. */
void espi_admission_idle(uint64_t ns);
/* Processor time of the calling thread: what work is booked by, as its budget comes from processor time. */
uint64_t espi_admission_clock(void);

#endif
