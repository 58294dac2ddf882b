/* What all ranks of MPI_COMM_WORLD do together (world.c). */
#ifndef ESPI_MPI_COMM_WORLD_H
#define ESPI_MPI_COMM_WORLD_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/settings.h"
#include "job/all_present.h"
#include "abi.h"

enum espi_all_present_known { ESPI_ALL_PRESENT_UNKNOWN, ESPI_ALL_PRESENT_NO, ESPI_ALL_PRESENT_YES };

struct espi_world {
    bool open;     /* between espi_world_open and espi_world_close */
    int rank, size;
    int node;      /* lowest rank of MPI_COMM_WORLD on the same node; known where `trees` */
    bool trees;    /* gathers and scatters may go along trees */
    atomic_int all_present; /* enum espi_all_present_known; see espi_world_all_present */
    MPI_Comm comm; /* private, of the ranks of MPI_COMM_WORLD; MPI_COMM_NULL until there is a use for it */
};
extern struct espi_world espi_world;

/* `is_last`: of struct espi_stub. */
void espi_world_start(bool (*is_last)(enum espi_fn fn));
/* Whether no other tool stands between us and the MPI library for this function. */
bool espi_world_is_last(enum espi_fn fn);
/* Whether MPI_Init was called and MPI_Finalize was not; sessions may begin before, and live on. */
bool espi_world_is_there(void);
/* Right before the real MPI_Init, which then tells the others that this rank has the core. Ranks on one node meet in
   it as far as rank 0's settings want that. */
void espi_world_announce(const struct espi_meeting *meeting, bool (*wanted)(const struct espi_settings *settings));
/* Right after it, whatever it returned. */
void espi_world_announced(void);
/* After the real MPI_Init, on every rank that has the core. Puts rank 0's settings into `settings`, if it has the
   core, too. Never waits for a rank that does not take part. */
void espi_world_open(struct espi_settings *settings);
/* Whether every rank of MPI_COMM_WORLD has the core, so that rank 0's settings hold on all: the same answer on all,
   of whom each may ask at another time, once the world is open. The first time may ask the launcher for keys (see
   job/roll.h); where several threads may be inside of MPI, that has been done in espi_world_open. */
bool espi_world_all_present(void);
/* Whether every member of `comm` (a valid intracommunicator) is known to have the core: the answer is the same on all
   of them. Only then may anything collective be done that the program did not ask for. */
bool espi_world_covers(MPI_Comm comm);
/* A private communicator of the members of `comm`, errors returned; MPI_COMM_NULL, on all of them alike, when not all
   have the core, one is not `able`, has 64 of them already or has seen MPI_Comm_idup, or MPI has none left.
   Collective over `comm`.
   (While an idup is pending, MPICH 4.0.2 can hang in the making of another communicator, see
   tests/mpi/idup_pending.c, so none is made behind the program's back.) */
MPI_Comm espi_world_private(MPI_Comm comm, bool able);
/* Frees one; collective over it. False: there was none, or MPI refused. */
bool espi_world_private_free(MPI_Comm *own);
/* The program has called MPI_Comm_idup or a kin of it. */
void espi_world_saw_idup(void);
/* Before MPI_COMM_WORLD ends: collective where whole. Writes the statistics. */
void espi_world_close(void);

#endif
