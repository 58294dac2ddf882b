/*
 * Arguments beside types, counts, ranks and tags: whether MPI takes them. A call of which it may refuse one is left
 * alone, so that the error is about what the program gave.
 */
#ifndef ESPI_MPI_CALLS_CALL_ARGS_H
#define ESPI_MPI_CALLS_CALL_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/core/api_table.h"

/* The buffer and the type of one side with `count` elements. */
bool espi_args_side_is_good(const espi_word *args, const struct espi_buffer_args *typed, int64_t count);
/* The buffers of both sides of a collective call. */
bool espi_args_buffers_differ(const struct espi_api_row *row, const espi_word *args);
/* Requests and messages. */
bool espi_args_handles_are_good(const struct espi_api_row *row, const espi_word *args);
/* Window and target of a one-sided call. */
bool espi_args_target_is_good(const struct espi_api_row *row, const espi_word *args);

/* The last of the sides that a call of this function has. */
const struct espi_buffer_args *espi_args_last_side(const struct espi_api_row *row);

#endif
