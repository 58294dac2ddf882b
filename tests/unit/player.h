/* A process that plays the launcher (for src/job/pmi.c): it keeps keys and values, and answers line by line
   whatever has come, as Hydra does. It runs a program of the name that Hydra's proxy has (hydra_pmi_proxy.c), and
   makes the wires, so it is taken for one. */
#ifndef ESPI_TESTS_PLAYER_H
#define ESPI_TESTS_PLAYER_H

#include <stdbool.h>
#include <sys/types.h>

enum manner {
    PLAIN,
    LATE,         /* two thirds of a second before it reads and answers what has come */
    IN_BITS,      /* byte by byte */
    DECOYS,       /* fields with names like those that count, and blanks */
    LONG_SPACE,   /* the space's name has 255 characters */
    LONGER_SPACE, /* 256 */
    SETTLED,      /* a key that is there is not put again */
    NONSENSE,
    STUMBLES,   /* nonsense in place of the first two answers */
    ASTRAY,     /* answers to other questions */
    REFUSES,    /* the conversation */
    ENDS,       /* with the third line */
    DATAGRAMS,  /* the wires are sockets of another kind; says nothing */
    HANDS_OVER, /* gives both ends of each wire away, and says nothing */
    MANNERS
};

enum { PLAYER_WIRES = 8 };

/* Plays on `count` wires with one store for all. Writes the ranks' ends to `wires` (HANDS_OVER: the launcher's ends
   as well, each behind its rank's). Returns its process, which ends when nobody has a wire any more. `program`:
   ESPI_PLAYER or another name of it. The key "most" has the number of lines that came at once, "all" that of all
   lines, on the wire where it is asked. */
pid_t player_start(const char *program, int *wires, int count, enum manner manner);

/* What the launcher says to a rank in its environment; ranks_here -1: nothing of those on this node. */
void player_environment(int wire, int rank, int size, int ranks_here, bool spawned);

#endif
