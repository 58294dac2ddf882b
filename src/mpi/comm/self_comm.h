/* The process's own communicator, for packing and for messages to itself. */
#ifndef ESPI_MPI_COMM_SELF_COMM_H
#define ESPI_MPI_COMM_SELF_COMM_H

#include <mpi.h>
#include <stdbool.h>

/* A private communicator of this process alone whose errors return; MPI_COMM_NULL when it can not be made, and
   without MPI_COMM_SELF (sessions only, also after MPI_Finalize). Made by the first call: MPICH has eight
   communicators ready, and one more than these costs a program the making of 1,024. Not while an MPI_Comm_idup is on
   its way, nor while another thread may use MPI_COMM_SELF: so a program's first idup, and a start under
   MPI_THREAD_MULTIPLE, come after such a call. Thread-safe. */
MPI_Comm espi_self_comm(void);
/* One for MPI_Pack and MPI_Unpack of arguments that are right, which look at it for errors alone: MPI_COMM_WORLD as
   long as the other is not made. So what goes wrong (no memory) goes where errors of datatypes go. MPI_COMM_NULL as
   above. */
MPI_Comm espi_self_for_packing(void);
/* Makes it, before the program can have used up what MPI has. */
void espi_self_start(void);
/* Frees it, while MPI still works. */
void espi_self_stop(void);

/* Whether MPI refuses a collective call that gives one buffer twice, in the place of MPI_IN_PLACE: it may have been
   told not to by its environment, or by MPI_T at any time, so it is asked each time. */
bool espi_self_refuses_alias(void);

/* Copies typed data within the process: `from_count` x `from_type` at `from` (which may be MPI_BOTTOM) to `to`, of
   equal signature. Returns an MPI error code. Thread-safe. */
int espi_self_copy(const void *from, MPI_Count from_count, MPI_Datatype from_type, void *to, MPI_Count to_count,
                   MPI_Datatype to_type);

#endif
