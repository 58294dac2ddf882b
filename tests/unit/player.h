/* A process of the test that plays the launcher (for src/mpi/launcher.c): it keeps keys and values, and answers line
   by line whatever has come, as Hydra does. */
#ifndef ESPI_TESTS_PLAYER_H
#define ESPI_TESTS_PLAYER_H

#include <stdbool.h>
#include <sys/types.h>

enum manner {
    PLAIN,
    LATE,         /* two thirds of a second before it reads and answers what has come */
    LATER,        /* the same after the first answer */
    WOKEN,        /* reads nothing before it gets SIGUSR1 */
    IN_BITS,      /* byte by byte */
    DECOYS,       /* fields with names like those that count, and blanks */
    LONG_SPACE,   /* the space's name has 255 characters */
    LONGER_SPACE, /* 256 */
    SETTLED,      /* a key that is there is not put again */
    NONSENSE,
    ASTRAY,       /* answers to other questions */
    REFUSES,
    ENDS
};

enum { PLAYER_WIRES = 8 };

/* Plays on `count` wires with one store for all. Returns its process. The key "most" has the number of lines that
   came at once, "all" that of all lines, on the wire where it is asked. */
pid_t player_start(const int *wires, int count, enum manner manner);

/* What the launcher says to a rank in its environment; ranks_here -1: nothing, it is unknown. */
void player_environment(int wire, int rank, int size, int ranks_here, bool spawned);

#endif
