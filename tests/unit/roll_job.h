/* A job at the start of MPI, played in one process: ranks as state machines, each of them an MPI library that starts
   with a relay in front of it (src/job/relay.h), and one launcher for all. */
#ifndef ESPI_TESTS_ROLL_JOB_H
#define ESPI_TESTS_ROLL_JOB_H

#include "job/roll.h"

/* What is wrong with a rank. */
enum fault {
    NONE,
    NO_CORE,
    OTHER_VERSION,
    REFUSED, /* the launcher takes none of its puts */
    ASTRAY,  /* the launcher answers its puts with something else */
    ALONE,   /* it could not start its relay */
    LOST     /* the launcher answers with something else what it gets in MPI_Init */
};

struct job {
    int size, barriers; /* of the library */
    enum espi_pmi_version version;
    bool early;        /* what is put is there at once, not only behind the barrier (Hydra on one node) */
    int chunk;         /* bytes that come at once, at most; 0: all */
    int faulty;        /* a rank, -1: none */
    enum fault fault;
    int fault_barrier; /* before which the launcher does so */
    int off_node;      /* rank that does not know that all are on one node; -1: none */
    size_t settings;   /* of rank 0 */
};

/* Groups have so many ranks. */
int roll_job_group(int size);

/* Starts all ranks and asks many of them: each must come to what is wanted, and none may ask too often. */
void roll_job(const struct job *job, enum espi_roll_level wanted);

#endif
