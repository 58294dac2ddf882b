/* Files with the block sizes of ranks, as espalier gather takes them. */
#ifndef ESPI_CLI_SIZEFILE_H
#define ESPI_CLI_SIZEFILE_H

#include <stdint.h>

/* Whole numbers from 0 up, in the order of the ranks, separated by blanks and line ends; # begins a comment. "-" is
   standard input. On success there is one at least, their sum fits 63 bits, and *size is the caller's to free.
   Returns an exit code; the error was printed, *size is then NULL. */
int cli_read_sizes(const char *file, int64_t **size, int *p);

#endif
