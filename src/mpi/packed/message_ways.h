/*
 * Which way messages of several parts go, found out by the program's own calls.
 *
 * A message may be left to the library (TYPED), or be packed and travel as an item of a type that the library takes
 * for one with gaps (CELLS, stream_type.h), or as dense bytes (DENSE). Packed whole it loses that the library packs
 * while parts of it are on their way; and which way dense bytes go, and data with gaps, is up to the library, the
 * processors' distance, and the network. Models know only where the difference is large. So messages that are alike
 * go each way in turn at first, in calls that are timed, and then the way that took least.
 *
 * Alike are messages to ranks of the same node, or of others, between the same powers of two in size. They have one
 * choice for sending and receiving, and for all layouts: either alone would be chosen by what it leaves to the
 * others. Each rank chooses by itself; but what a way takes is seen only where both sides of a message are in the
 * same turn. Ranks that do alike have the same messages in the same order, and so the same turns if they begin a
 * trial with the same one, or nearly: the first calls of a run do not count anyhow. Within a node, where ranks share
 * memory, they do so (trial_numbers.h); else they begin trials at numbers of messages that are the same for all.
 *
 * A turn is a run of some calls, of which the first are not counted: what one way leaves in the caches is not what
 * the next one finds there in the long run. (Cells that were used a moment ago take half as long as others; and the
 * first 2 MB within a node go through cells without a trial, as their pages are touched for the first time then.) Of
 * nonblocking calls all that are under way at a time are one, a batch: what counts is the time in MPI's calls from
 * the first that makes a request to the last that completes one.
 *
 * A way that takes half as long again as another from the start, in sending and receiving together, or a seventh
 * after some times, is not gone any more. When all were gone some times, their medians are compared, between nodes,
 * where there are no cells, their means (way_trial.c). After that they are tried once more now and then, as
 * processors come nearer and go farther, and other messages with the network.
 *
 * Where statistics are wanted (`told`) messages have some turns as the program's type (OWN), also those that are far
 * better packed, those with a better type, and short ones of either kind, which have groups of their own. Models know
 * what packing takes, but not what it means for ranks that wait for each other. Nothing is chosen here by these
 * turns. What is gathered from many places on one side often lies dense on the other, where the call is the library's
 * (PLAIN): it waits for those that are in turns, and is timed beside them. What such calls wait less is told of the
 * messages whose turns these are, as often as there was one for each in the trial: after it they pass unseen.
 *
 * Short messages of which the models are not sure that they are better packed (`doubtful`) have such turns in any
 * run, in groups of their own, for each size and kind of pack program: by these it is decided (espi_way_takes), of
 * what is packed then once more from time to time (typeplan/message_plan.h).
 *
 * Where calls overlap (MPI_THREAD_MULTIPLE) all this is the leader's (base/overlap.h): of other threads nothing is
 * tried, and nothing is read or written here. Calls that are the library's are not watched there.
 */
#ifndef ESPI_MPI_PACKED_MESSAGE_WAYS_H
#define ESPI_MPI_PACKED_MESSAGE_WAYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* OWN: as the program's type, even if there is a better one for the library; no choice, see `told`. Of `doubtful`
   ones as they would go if they were not packed, so as the better type if there is one. */
enum espi_message_way { ESPI_WAY_TYPED, ESPI_WAY_CELLS, ESPI_WAY_DENSE, ESPI_WAY_OWN, ESPI_WAYS };
enum { ESPI_WAY_CHOICES = ESPI_WAY_OWN };

/* What is open to a message: EVEN: all of them; SURE: packing is far faster than the library; NONE: it is the
   library's. */
enum espi_ways_open { ESPI_WAYS_EVEN, ESPI_WAYS_SURE, ESPI_WAYS_NONE = -1 };

/* PLAIN: the library's, mostly as the data lie dense; no choice either, see `told`. */
enum espi_way_call { ESPI_WAY_SEND, ESPI_WAY_RECEIVE, ESPI_WAY_BOTH, ESPI_WAY_BLOCKS, ESPI_WAY_BATCH, ESPI_WAY_PLAIN,
                     ESPI_WAY_CALLS, ESPI_WAY_CALLS_CHOOSE = ESPI_WAY_PLAIN };

struct espi_way_question {
    enum espi_ways_open open;
    enum espi_way_call call;
    bool near;     /* the other rank is on this rank's node; of several, all are */
    bool packs;    /* what the models say, as long as nothing is known better */
    int64_t bytes; /* of the message; of blocks, of one of them */
    bool no_cells; /* packed it is dense bytes: it is of one part, or no message of its own */
    int n_others;  /* ranks of MPI_COMM_WORLD that it is known to be from or for, or may be; 0: they are not known */
    const unsigned char *others;
    bool told; /* what it saves is to be told: OWN is tried, too */
    bool typed; /* of one part, and goes as a better type, where others are packed */
    bool doubtful; /* of one part, and it is to be found out if it is better packed: OWN is tried, too */
    uint32_t alike; /* of doubtful ones: of as many bytes those are alike that have the same number here */
};

/* At the start: nothing is known. `tried`: messages have turns. */
void espi_ways_start(bool tried);
/* The way that messages like this one go, whatever is being tried. */
enum espi_message_way espi_way_of(const struct espi_way_question *question);

/* The same where a message is packed anyhow: cells, or dense bytes. */
enum espi_message_way espi_way_packed(const struct espi_way_question *question);

/* Whether that was found out; and whether such calls of its kind, packed ones or typed ones, have taken part in a
   trial that has come to its end. */
bool espi_way_is_known(const struct espi_way_question *question);
bool espi_way_was_tried(const struct espi_way_question *question);
/* Whether another rank may yet begin a trial of short messages like it that this rank is to follow, or has. */
bool espi_way_may_be_asked(const struct espi_way_question *question);

/* Whether a message like this one is left to the library, by what a trial has found, and no other trial is due. It is
   seen then. `found`: what such calls take so is known. */
bool espi_way_is_left(const struct espi_way_question *question, bool *found);

struct espi_way_group;
/* A message under way. */
struct espi_way_turn {
    struct espi_way_group *group; /* NULL: it is not timed */
    enum espi_message_way way, label; /* label: the way whose turn it is, which this message may not be able to go */
    enum espi_way_call call;
    bool counts;
    unsigned batch; /* number of the batch that it belongs to; 0: none */
    int64_t bytes;
    uint64_t begun, took; /* took: by MPI's call alone; 0: that was not timed */
};

/* Chooses the way of a message, and begins to time it. */
struct espi_way_turn espi_way_turn(const struct espi_way_question *question);
/* MPI's call comes next, and has returned: that alone is timed. For messages that go as the program's type in their
   turn (OWN): once it is decided that they stay so, they go without what is done for a turn. */
void espi_way_turn_calls(struct espi_way_turn *turn);
void espi_way_turn_called(struct espi_way_turn *turn);
/* The call is over (a batch goes on); `good`: without an error. */
void espi_way_turn_end(struct espi_way_turn *turn, bool good);

/* Whether calls that are the library's are to be seen: some trial goes on that is to tell what it finds. */
extern bool espi_ways_are_watched;
/* One was; after many without a turn in between they are not any more, until the next turn: perhaps there is none. */
void espi_way_passed_by(void);
/* Begins to time one within the node, if there is a trial of messages of so many bytes; `no_cells`: of one part. It
   goes as it is, and ends as others do. */
struct espi_way_turn espi_way_plain_turn(int64_t bytes, bool no_cells);

/* ---- batches ---- */

/* A request of the batch was made, or is over; numbers of other batches are passed over. */
void espi_way_batch_joined(unsigned batch);
void espi_way_batch_left(unsigned batch);
/* It will not come to its end as others do. */
void espi_way_batch_spoilt(unsigned batch);
/* The number of the batch that is going on; 0: none. Calls that complete requests are to be timed then. */
extern atomic_uint espi_way_batch;
/* Whether of such a call MPI's part alone counts, as it is the turn of the program's type; and what that took. */
bool espi_way_batch_is_own(void);
void espi_way_batch_called(uint64_t ns); /* also what unpacking others took meanwhile, which is in all its turns */
/* Such a call took so long, beside what was told of it; ends the batch when no request of it is left. */
void espi_way_batch_took(uint64_t ns);

/* ---- what was found (way_found.c) ---- */

/* What messages like this take, packed and as the program's type, ns; of those that are sent and received, if they
   were tried together, what both take. False: that was not found out, or other things that calls wait for make more
   difference. */
bool espi_way_takes(const struct espi_way_question *question, double *packed_ns, double *own_ns);
/* Tells that to other ranks of the node, and makes it the mean of what they and this one have found, so that both
   sides of a message decide alike. False: those that it is from or for, or may be, have yet to say what they have
   found; ask again with the next one, of which some pass until this is not waited for any more. */
bool espi_way_agrees(const struct espi_way_question *question, double *packed_ns, double *own_ns);
/* Messages like this, which are doubtful, are to be tried anew (`call` SEND: also those that are received); this rank
   says nothing of them until then. */
void espi_way_forget(const struct espi_way_question *question);

/* Nanoseconds that a message like this saves in such a call against being left to the library; negative: that was not
   found out. Where the other rank waits meanwhile that is what both sides of it take less. */
double espi_way_saves(const struct espi_way_question *question);
/* The same against going as the program's type, where that is told; negative also where other things that a call
   waits for make more difference. */
double espi_way_saves_in_all(const struct espi_way_question *question);
/* The mean of that over messages that are sent and that are received, as far as these were tried together. */
double espi_way_saves_of_both(const struct espi_way_question *question);
/* What one has saved that went `way`. */
double espi_way_saved_in_all(const struct espi_way_question *question, enum espi_message_way way);
/* Whether that is to be told, but no trial of such messages has come to its end as yet; nor, of short ones that are
   packed, one in which there were such. */
bool espi_way_will_be_told(const struct espi_way_question *question);

#endif
