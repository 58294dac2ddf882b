/*
 * Types that the library takes for ones with gaps, although they have none: a packed message that leaves as an item
 * of one goes another way than dense bytes do.
 *
 * MPICH over UCX (ch4:ucx) sends what is dense and longer than a cell of shared memory (some 8,250 bytes) by
 * rendezvous: the receiver fetches it from the sender's memory through the kernel. What has gaps goes cell by cell,
 * in which both sides work at the same time. So it is, natively, for the program's own types; it is only the way that
 * is kept, with the pack program in the engine's place. Where cores are near each other cells take a third to a half
 * of the time; where they are far apart some 0.9 of it up to 16 kB, but up to twice as long above, when both ranks
 * send (`bench/streams`). Between nodes it is up to the network. Which way a message goes: message_ways.h.
 *
 * Where blocks stand one behind the other, or data where the program has them, the type is a block of MPI_PACKED
 * with room behind it, of which a second resizing takes the room away again: the library has it for one with gaps
 * from the first on, and nothing else changes. What the receiver says it receives does not matter.
 *
 * A message that we have packed ourselves may have a gap: its last byte stands one place further, and the type is one
 * datatype instead of three. MPICH has room for three of a program before it makes 1,024 more and links them all
 * (MPIR_DATATYPE_PREALLOC, MPIR_Handle_obj_alloc): 70 pages, which take 1 to 3 ms where page faults are slow. Many a
 * program keeps one type or two, and never asks for them.
 */
#ifndef ESPI_MPI_PACKED_STREAM_TYPE_H
#define ESPI_MPI_PACKED_STREAM_TYPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes of a message that fit a cell. Longer dense ones go by rendezvous. */
enum { ESPI_STREAM_CELL = 8255 };

/* From the start on there are such types, if the device is UCX. At the end there are none any more, and those that
   are kept are freed. Not while other threads are in calls. */
void espi_stream_types_open(void);
void espi_stream_types_close(void);

/* Frees the types that are in no call; further ones are made where espi_own_types_room allows it. */
void espi_stream_types_give_back(void);

/* Whether there may be one for a stream of so many bytes: there is room for one of either form, or there are some. */
bool espi_stream_may_go_in_cells(int64_t bytes);

enum espi_stream_form {
    ESPI_STREAM_SPLIT, /* one message, after espi_stream_split */
    ESPI_STREAM_IN_ROW
};

/* Moves the last byte of a message of `bytes` to the place behind it, which there must be. */
static inline void espi_stream_split(void *stream, int64_t bytes)
{
    ((char *)stream)[bytes] = ((char *)stream)[bytes - 1];
}

/* A committed type of so many bytes, which is one message, or one block of many; MPI_DATATYPE_NULL: there is none,
   and the message goes as bytes of MPI_PACKED. It is the caller's until it is given back, as what it was taken for:
   after the call that sends, or makes the request. */
MPI_Datatype espi_stream_type_take(int64_t bytes, enum espi_stream_form form);
void espi_stream_type_back(MPI_Datatype type, int64_t bytes, enum espi_stream_form form);

#endif
