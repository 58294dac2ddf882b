/* api.def as data: what the core knows of each function (api_table.c). */
#ifndef ESPI_MPI_CORE_API_TABLE_H
#define ESPI_MPI_CORE_API_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

enum espi_api_treatment { ESPI_API_SUBSTITUTE, ESPI_API_TREE, ESPI_API_EXCHANGE, ESPI_API_REDUCE, ESPI_API_SYNC,
                          ESPI_API_SYNC_REDUCE, ESPI_API_COUNT, ESPI_API_LIFE, ESPI_API_MAKE, ESPI_API_GUARD,
                          ESPI_API_LEAVE };

enum espi_shape { ESPI_SHAPE_NONE, ESPI_SHAPE_ONE, ESPI_SHAPE_V, ESPI_SHAPE_W };

/* One described buffer of a call. Positions of arguments, -1 where there is none. */
struct espi_buffer_args {
    unsigned char shape; /* enum espi_shape */
    bool at_root;
    signed char buffer, count, type;
    signed char dest, sendtag;   /* a peer that is sent to */
    signed char source, recvtag; /* a peer that is received from */
};

#define ESPI_MAX_BUFFERS 3

struct espi_api_row {
    unsigned char args, treatment;
    bool large;
    signed char comm, root;
    unsigned kind;
    struct espi_buffer_args typed[ESPI_MAX_BUFFERS + 1]; /* ends with ESPI_SHAPE_NONE */
};
extern const struct espi_api_row espi_api_rows[ESPI_FN_COUNT];
/* "MPI_Send", ...; `fn` is below ESPI_FN_COUNT. */
const char *espi_api_name(size_t fn);

#endif
