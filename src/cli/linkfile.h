/* Reading the constants of links that differ. */
#ifndef ESPI_CLI_LINKFILE_H
#define ESPI_CLI_LINKFILE_H

#include "commtree/commtree.h"

enum { CLI_LINKS_RANKS = 1024 }; /* the most that a file can be for */

/* Lines "FROM TO ALPHA BETA" for p ranks: FROM and TO are ranks or `*` for all, ALPHA and BETA the constants of a
   message from the one to the other. A later line counts; # begins a comment. Every pair of different ranks must have
   constants. CLI_OK, the caller frees the two arrays of p*p; or an exit code, the error was printed. */
int cli_read_links(const char *file, int p, double **alpha, double **beta);

#endif
