/*
 * A board for the ranks of one node, on which each posts notes that the others can look for, without a word to
 * anybody and without waiting (presence.c).
 */
#ifndef ESPI_JOB_PRESENCE_H
#define ESPI_JOB_PRESENCE_H

#include <stdbool.h>

/* Finds the board of the ranks that process `pid` has started. False: there is none. */
bool espi_presence_find(long pid);

/* Posts a note of at most 32 characters, which stays until this process ends. False: somebody has posted it, or it
   can not be posted. At most 2. */
bool espi_presence_post(const char *note);

/* Whether the note stands there. False for one that has posted none itself. */
bool espi_presence_has(const char *note);

/* Whether all of the notes `note(first)` to `note(end - 1)` stand there; `note(but)` is not looked for. */
bool espi_presence_has_all(const char *(*note)(int number), int first, int end, int but);

/* Takes this process's notes down. */
void espi_presence_clear(void);

#endif
