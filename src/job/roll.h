/*
 * The roll call of a job: which keys each rank puts into the launcher's store and which it reads, and what follows
 * (roll.c). Does every rank have an active core of this version? Do all know that they stand on one node? Which
 * settings has rank 0, and what else has it to say to all? Nothing here reads or writes.
 *
 * What a rank puts it puts before a barrier of the MPI library, in the library's own conversation with the launcher
 * (relay.h), and whoever reads a key reads it behind that barrier. So for each reader the store holds the same.
 */
#ifndef ESPI_JOB_ROLL_H
#define ESPI_JOB_ROLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/pmi_message.h"

enum {
    ESPI_ROLL_TEXT = 4096,     /* bytes of settings at most */
    ESPI_ROLL_SAID = 64,       /* room for what rank 0 says to all */
    ESPI_ROLL_EACH_MOST = 1024, /* ranks, where each has to read the keys of all */
    ESPI_ROLL_BARRIERS = 3     /* before so many barriers there is something to put */
};

/* What is known of some ranks: the least of what is known of each. */
enum espi_roll_level { ESPI_ROLL_ABSENT, ESPI_ROLL_PRESENT, ESPI_ROLL_ON_NODE };

/* What a rank has to say. */
struct espi_roll {
    int rank, size;             /* size >= 2 */
    enum espi_roll_level level; /* PRESENT; ON_NODE: the launcher has said that all ranks are on one node */
    uint64_t hash;              /* of its settings */
    const char *text;           /* on rank 0: settings for the others, `length` bytes; 0: the defaults */
    size_t length;              /* at most ESPI_ROLL_TEXT */
    char said[ESPI_ROLL_SAID];  /* on rank 0, for all: letters, digits and dots; "": nothing */
};

/* A question to the launcher. */
struct espi_roll_question {
    char key[ESPI_PMI_KEY];
    bool puts;
    char value[ESPI_PMI_VALUE]; /* if it puts */
};

/* What a rank asks for to know all: when MPI_Init is over, or as soon as the answer is there. */
struct espi_roll_ask {
    enum { ESPI_ROLL_WHOLE, ESPI_ROLL_GROUPS, ESPI_ROLL_RANKS, ESPI_ROLL_DONE } keys; /* that it asks for */
    int next;                   /* number of the key */
    bool first_known;           /* whether rank 0 has said something, which is `first_hash` */
    uint64_t first_hash;
    char first_said[ESPI_ROLL_SAID];
    enum espi_roll_level level; /* of all ranks, when done */
};
/* The key to ask for next; false: done. At first there are at most three until `first_known` or done; behind that, as
   many as there are groups, about the root of `size`, where the library has but two barriers, and as many as there
   are ranks, up to ESPI_ROLL_EACH_MOST, where it has one. */
bool espi_roll_ask_next(struct espi_roll_ask *ask, int size, char key[ESPI_PMI_KEY]);
/* The answer: `value` NULL: there is none. */
void espi_roll_ask_heard(struct espi_roll_ask *ask, int size, const char *value);

/* How far a rank has come in MPI_Init; zeroed at the start. */
struct espi_roll_talk {
    int barrier, step;
    bool puts;    /* what is being asked */
    bool refused; /* what it put was not taken */
    enum espi_roll_level level; /* of those it has asked for */
    struct espi_roll_ask ask;   /* goes on behind MPI_Init, unless done */
};

/* What is to be asked next before the library's barrier number `barrier` (1, 2, ...). False: nothing more. */
bool espi_roll_next(struct espi_roll_talk *talk, const struct espi_roll *roll, int barrier,
                    struct espi_roll_question *question);
/* How the launcher answered the question: whether it has stored or found the value, and which it has found. */
void espi_roll_heard(struct espi_roll_talk *talk, const struct espi_roll *roll, bool good, const char *value);

/* The settings that rank 0 has left: the key of their number of pieces, and of a piece; the number, -1: none; and a
   piece put behind the others, false: it is none. */
#define ESPI_ROLL_SETTINGS "espalier-settings"
void espi_roll_piece_key(int piece, char key[ESPI_PMI_KEY]);
int espi_roll_pieces(const char *value);
bool espi_roll_piece(const char *value, char *text, size_t size, size_t *length);

#endif
