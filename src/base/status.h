/* Status codes of every internal function that can fail. MPI's own codes never mix with these. */
#ifndef ESPI_BASE_STATUS_H
#define ESPI_BASE_STATUS_H

typedef enum espi_status {
    ESPI_OK = 0,
    ESPI_ERR_MEMORY,      /* no memory */
    ESPI_ERR_ARGUMENT,    /* an argument outside its domain */
    ESPI_ERR_OVERFLOW,    /* a displacement, count or size does not fit 64 bits */
    ESPI_ERR_LIMIT,       /* a budget or size limit was reached before the end */
    ESPI_ERR_UNSUPPORTED, /* correct input that this code does not handle */
    ESPI_ERR_SYNTAX,      /* text that does not parse */
    ESPI_ERR_IO,          /* a file could not be read or written; errno holds why */
    ESPI_ERR_MPI          /* an MPI call failed */
} espi_status;

/* A short English phrase, never NULL, statically allocated. */
const char *espi_status_text(espi_status status);

#endif
