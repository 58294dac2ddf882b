/*
 * A board for the ranks of one node, on which each posts notes that the others can look for, without a word to
 * anybody and without waiting (board.c).
 */
#ifndef ESPI_MPI_BOARD_H
#define ESPI_MPI_BOARD_H

#include <stdbool.h>

/* Finds the board of the ranks that process `pid` has started. False: there is none. */
bool espi_board_find(long pid);

/* Posts a note of at most 32 characters, which stays until this process ends. False: somebody has posted it, or it
   can not be posted. At most 2. */
bool espi_board_post(const char *note);

/* Whether the note stands there. False for one that has posted none itself. */
bool espi_board_has(const char *note);

/* Takes this process's notes down. */
void espi_board_clear(void);

#endif
