/*
 * As what a packed message leaves: its stream is dense, but a message to a rank on the same node is often faster when
 * the library takes it for one with gaps.
 *
 * MPICH over UCX (ch4:ucx) sends what is dense and longer than a cell of shared memory (8,248 bytes) by rendezvous:
 * the receiver fetches it from the sender's memory through the kernel, some 5 us and 0.14 ns a byte. What has gaps
 * goes cell by cell, in which both sides work at the same time: with blocks of a cell and more, some 1.5 us and
 * 0.06 ns a byte, where the cores are near each other (`bench/streams`). So it is, natively, for the program's own
 * types; it is only the way that is kept, with the pack program in the engine's place. On cores far from each other
 * both ways are about as fast.
 *
 * The type is a block of MPI_PACKED with room behind it, of which a second resizing takes the room away again: the
 * library has the type for one with gaps from the first on, and items of it stand one behind the other. What the
 * receiver says it receives does not matter.
 */
#ifndef ESPI_MPI_PACKED_STREAM_TYPE_H
#define ESPI_MPI_PACKED_STREAM_TYPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* From the start on, or from now: whether messages of ours may go cell by cell. False once for all at the end: frees
   the types. `one_node`: all ranks are known to be on one. Not while other threads are in calls. */
void espi_stream_types_open(bool one_node);
void espi_stream_types_close(void);

/* Frees the types that are in no call; further ones are made where espi_own_types_room allows it. */
void espi_stream_types_give_back(void);

/* Whether a stream of so many bytes would go cell by cell. */
bool espi_stream_goes_in_cells(int64_t bytes);

/* A committed type of so many bytes, which is one message, or one block of many; MPI_DATATYPE_NULL: the message goes
   as bytes of MPI_PACKED. It is the caller's until it is given back: after the call that sends, or makes the
   request. */
MPI_Datatype espi_stream_type_take(int64_t bytes);
void espi_stream_type_back(MPI_Datatype type, int64_t bytes);

#endif
