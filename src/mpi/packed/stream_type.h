/*
 * As what a packed message leaves: its stream is dense, but a message to a rank on the same node is often faster when
 * the library takes it for one with gaps.
 *
 * MPICH over UCX (ch4:ucx) sends what is dense and longer than a cell of shared memory (some 8,250 bytes) by
 * rendezvous: the receiver fetches it from the sender's memory through the kernel. What has gaps goes cell by cell,
 * in which both sides work at the same time. So it is, natively, for the program's own types; it is only the way that
 * is kept, with the pack program in the engine's place. Where cores are near each other cells take a third to a half
 * of the time; where they are far apart some 0.9 of it up to 16 kB, but up to twice as long above, when both ranks
 * send (`bench/streams`). How far apart they are is not known. So longer messages are tried: the first blocking calls
 * go both ways in turns and are timed; of each way the least time counts, for sizes between the same powers of two.
 * Until that is decided, and without blocking calls for good, longer messages go as dense ones.
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

/* From the start on: whether messages of ours may go cell by cell, which they do where all ranks are known to be on
   `one_node`; what was tried is forgotten. At the end: none does any more, and the types are freed. Not while other
   threads are in calls. */
void espi_stream_types_open(bool one_node);
void espi_stream_types_close(void);

/* Frees the types that are in no call; further ones are made where espi_own_types_room allows it. */
void espi_stream_types_give_back(void);

/* Whether a stream of so many bytes goes cell by cell, or may come to do so. */
bool espi_stream_may_go_in_cells(int64_t bytes);

/* How the streams of a call go, of which the longest has so many bytes. `blocks`: the call does, and may be timed,
   from when all is packed until it returns. */
struct espi_stream_turn {
    int64_t bytes;
    uint64_t begun; /* 0: not yet, or it is over */
    bool in_cells, timed;
};
struct espi_stream_turn espi_stream_turn(int64_t bytes, bool blocks);
void espi_stream_turn_begin(struct espi_stream_turn *turn);
void espi_stream_turn_end(struct espi_stream_turn *turn);

/* A committed type of so many bytes, which is one message, or one block of many; MPI_DATATYPE_NULL: the message goes
   as bytes of MPI_PACKED. It is the caller's until it is given back: after the call that sends, or makes the
   request. */
MPI_Datatype espi_stream_type_take(const struct espi_stream_turn *turn, int64_t bytes);
void espi_stream_type_back(MPI_Datatype type, int64_t bytes);

#endif
