/*
 * Stands between the MPI library and the launcher while MPI_Init goes on, passes on what they say, untouched, and
 * adds what the roll call of this rank has to say (relay.c). Bytes in, bytes out: reads and writes nothing itself.
 */
#ifndef ESPI_JOB_RELAY_H
#define ESPI_JOB_RELAY_H

#include "job/pmi_message.h"
#include "job/roll.h"

/* Bytes on their way to somebody. */
struct espi_relay_out {
    char *bytes;
    size_t used, room;
};
enum {
    /* What a number of bytes in can become, at most that number and this many out, on each side. */
    ESPI_RELAY_ADDS = ESPI_PMI_QUESTION + ESPI_PMI_BARRIER_MOST
};

/* One direction of the conversation, cut into messages. */
struct espi_relay_side {
    bool inside;       /* of a message */
    bool counted;      /* its length is `rest`; else it ends with a line */
    long rest;         /* bytes to come */
    char begin[ESPI_PMI_MAPPING + 128]; /* of it: what is to be looked at */
    size_t used;
};

struct espi_relay {
    const struct espi_roll *roll;
    enum espi_pmi_version version; /* known from the library's first message on */
    bool opened;                   /* that has been said */
    bool passes;                   /* only passes on from here */
    bool asking;                   /* a question of ours is out, and the library's barrier held back */
    bool gets;                     /* that question */
    unsigned long waiting;         /* questions of the library without an answer */
    unsigned long answers;         /* so many */
    int barriers;                  /* that it has come to */
    char space[ESPI_PMI_SPACE];    /* name of the job's key-value space, when known */
    char mapping[ESPI_PMI_MAPPING]; /* of ranks to nodes, when the library has asked for it */
    char held[ESPI_PMI_BARRIER_MOST]; /* of the library's message: perhaps a barrier */
    size_t held_used;
    struct espi_relay_side library, launcher;
    struct espi_roll_talk talk;
};

/* `roll` stays the caller's. NULL: says nothing of its own. */
void espi_relay_begin(struct espi_relay *relay, const struct espi_roll *roll);

/* What the library has said. Bytes for the launcher come to `launcher`. */
void espi_relay_said(struct espi_relay *relay, const char *bytes, size_t length, struct espi_relay_out *launcher);

/* What the launcher has said; bytes for each of the two. */
void espi_relay_answered(struct espi_relay *relay, const char *bytes, size_t length, struct espi_relay_out *launcher,
                         struct espi_relay_out *library);

/* No more words of our own; what was held back is passed on. */
void espi_relay_only_passes(struct espi_relay *relay, struct espi_relay_out *launcher);

/* Whether nobody waits for anything, as far as is known: the two may be left to themselves. */
bool espi_relay_is_quiet(const struct espi_relay *relay);

#endif
