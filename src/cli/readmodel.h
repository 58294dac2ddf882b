/* Reading model files for the command line. */
#ifndef ESPI_CLI_READMODEL_H
#define ESPI_CLI_READMODEL_H

#include "commtree/model_file.h"

/* The constants of `level` ("node", "net"; NULL: those of the network where the file has them, else of the node) in a
   model file. Returns an exit code; the error was printed. */
int cli_read_model(const char *file, const char *level, struct espi_commtree_model *model);

/* Whether the file of ESPALIER_MODEL is one; said where it is not. Only a regular file is read: what a pipe holds is
   for the program. CLI_OK or CLI_FAILURE. */
int cli_check_model(const char *file);

#endif
