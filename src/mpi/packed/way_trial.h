/*
 * Messages that are alike, and trials of the ways that they may go (message_ways.h): whose turn it is, when there are
 * times enough, and what they say. Reads no clock and calls no MPI.
 */
#ifndef ESPI_MPI_PACKED_WAY_TRIAL_H
#define ESPI_MPI_PACKED_WAY_TRIAL_H

#include "mpi/packed/message_ways.h"
#include "mpi/packed/way_times.h"

struct espi_way_run {
    enum espi_message_way way;
    int left, gone; /* calls: to come, and that were made; 0, 0: there is none */
    int length;     /* of the last one that began */
};

struct espi_way_group {
    enum { ESPI_WAYS_FRESH, ESPI_WAYS_TRYING, ESPI_WAYS_DECIDED } state;
    enum espi_message_way way;      /* that is gone, but for turns */
    enum espi_message_way packed;   /* the better one of cells and dense bytes, for what is packed anyhow */
    bool near;                      /* of this trial */
    bool timed;                     /* it was decided by times before */
    unsigned open, met;             /* bits 1 << way: what is tried, and what messages there were might go, */
    unsigned can[ESPI_WAY_CALLS];   /* and what messages of this trial could go, by call; */
    unsigned given_up, by;          /* and what is given up; bits 1 << call: by times of these */
    struct espi_way_times times[ESPI_WAY_CALLS][ESPI_WAYS];
    struct espi_way_run run[ESPI_WAY_CALLS];
    const struct espi_way_pace *pace;
    unsigned turns[ESPI_WAY_CALLS]; /* calls in this trial */
    unsigned runs[ESPI_WAY_CALLS][ESPI_WAYS]; /* in this trial, */
    unsigned made[ESPI_WAY_CALLS][ESPI_WAYS];      /* and messages */
    bool together;                  /* ranks begin trials together (trial_numbers.h): */
    unsigned char number;           /* of the last one that began, which all that began it have in common */
    unsigned waited;                /* messages since its end that went by as others had yet to say what they found */
    unsigned restarts;              /* of this trial, to follow another rank */
    unsigned decided;               /* trials of this rank that have come to their end */
    uint64_t seen;                  /* messages so far; together: since a trial began */
    uint64_t next;                  /* with which of these to try again; 0: it was never decided */
    unsigned tried[ESPI_WAY_CALLS]; /* number of the last trial with such calls that has come to its end; 0: none */
    float found[ESPI_WAY_CALLS][ESPI_WAYS]; /* in that one, what a message takes; 0: not known */
    float mean[ESPI_WAY_CALLS][ESPI_WAYS];  /* the same, of its times without the greatest (espi_way_mean) */
    float least_own[ESPI_WAY_CALLS];        /* the same: the least of OWN */
    float weight[ESPI_WAY_CALLS];           /* the same: messages; 0: there were not times enough */
    float plain;               /* of the last trial: PLAIN calls for each message, 1 at most */
    enum espi_way_call latest; /* that had a turn */
    int64_t bytes;             /* of doubtful messages: of just so many, */
    uint32_t alike;            /* and of this number (espi_way_question); */
    unsigned others;           /* and other such ones since the last of them */
    unsigned meets[2];         /* bits 1 << call: in this trial there are messages that are packed where it is their
                                  turn, and [1] such as go as a better type then; */
    unsigned with[2];          /* there were in one that has come to its end: not the last, or ranks of which each
                                  has such ones in trials of its own would go on for ever */
    bool told;                 /* PLAIN calls are watched for the sake of this trial (message_ways.c) */
};

/* That of a message (message_ways.c). */
struct espi_way_group *espi_way_group_of(const struct espi_way_question *question);

/* A trial of messages of so many bytes begins; `near`: within the node; `ways`: bits 1 << way that are open to the
   first one. */
void espi_way_trial_begin(struct espi_way_group *group, int64_t bytes, bool near, unsigned ways);
/* The way whose turn it is in such calls; `counts`: such a call is to be timed. Ends the trial where nothing can come
   of it any more. */
enum espi_message_way espi_way_trial_next(struct espi_way_group *group, enum espi_way_call call, bool *counts);
/* The way of a call that is the library's: that of the last one of the others, for which another rank has its turn,
   or is one ahead. */
enum espi_message_way espi_way_trial_beside(struct espi_way_group *group, bool *counts);
/* A call took so long; the trial ends when it was the last one that was missing. */
void espi_way_trial_took(struct espi_way_group *group, enum espi_way_call call, enum espi_message_way way,
                         int64_t bytes, uint64_t ns);
/* Ends it with the times that there are. */
void espi_way_trial_decide(struct espi_way_group *group);

#endif
