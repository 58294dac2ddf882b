/* Type maps as text, in the form that `espalier tree` reads. */
#ifndef ESPI_CLI_MAPFILE_H
#define ESPI_CLI_MAPFILE_H

#include "layout/layout.h"

struct cli_map_form {
    int64_t unit;    /* displacements count this many bytes */
    espi_base base;  /* of lines that name no type */
};

/* Appends the entries of a file ("-": standard input). CLI_OK, or the exit code after an error message with the line
   number. */
int cli_read_map(const char *file, const struct cli_map_form *form, struct espi_typemap *map);

#endif
