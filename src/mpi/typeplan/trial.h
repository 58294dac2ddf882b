/*
 * Which of the ways to move a block is the fastest on the program's own data: each of its first uses is made one of
 * the ways in turn and timed, until each was made some times, and long ones at least twice; the least time of each
 * counts, as whatever disturbs a use makes it longer. From then on a use now and then is timed, and when the chosen
 * way is found to be slower than the others were, again and again, all are tried once more. (Pure; a trial is used by
 * one thread at a time.)
 */
#ifndef ESPI_MPI_TYPEPLAN_TRIAL_H
#define ESPI_MPI_TYPEPLAN_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

/* By MPI as the program's call says; by MPI's copy within the process; by a copy program. */
enum espi_selfcopy_way { ESPI_BY_CALL, ESPI_BY_LOCAL, ESPI_BY_COPY, ESPI_SELFCOPY_WAYS };

enum {
    ESPI_TRIAL_TURNS = 5,     /* uses of each way, before one is chosen; of long ones it may be fewer */
    /* The same of a block that would be taken out of a call, where MPI's way takes less than so long: that is a call
       of its own then, whose code is cold at first. */
    ESPI_TRIAL_APART_TURNS = 24,
    ESPI_TRIAL_APART_NS = 2000,
    ESPI_TRIAL_HEAD_START = 4 /* uses before another way is tried, if the copy stays: there may be no more of them */
};

struct espi_trial {
    unsigned ways;     /* bits 1 << way: those to try, ESPI_BY_COPY among them */
    uint64_t apart_ns; /* what has to be saved at least by what is not MPI's first way */
    bool copy_stays;   /* the copy is what is done now: it is kept unless MPI's first way is clearly faster; */
    uint64_t beside_ns; /* or faster than it and what it takes more outside of its times. 0: no such thing */
    uint64_t least[ESPI_SELFCOPY_WAYS];
    unsigned turns[ESPI_SELFCOPY_WAYS];
    bool decided;
    enum espi_selfcopy_way way; /* that was chosen; ESPI_BY_CALL: nothing is clearly faster than MPI's first way */
    uint64_t saves_ns;          /* by it, at each use, as far as that is sure */
    uint64_t again_ns;          /* the least of MPI's first way since then, when it is warm; 0: not timed */
    uint64_t last_ns;           /* of the last use that was timed since */
    unsigned lost;              /* such uses, one after the other, that took longer than MPI's first way */
};

/* What the others of these ways are held against: the call, where it is tried, as that is what happens without us. */
static inline enum espi_selfcopy_way espi_trial_first(unsigned ways)
{
    return ways & 1u << ESPI_BY_CALL ? ESPI_BY_CALL : ESPI_BY_LOCAL;
}

/* The way of the next use, not decided as yet. */
enum espi_selfcopy_way espi_trial_turn(const struct espi_trial *trial);

/* A use took so long in this way. True: by that something was chosen, or is to be tried once more (not decided).
   Where another way was chosen, a use by MPI's first way only says what that saves. */
bool espi_trial_took(struct espi_trial *trial, enum espi_selfcopy_way way, uint64_t ns);

#endif
