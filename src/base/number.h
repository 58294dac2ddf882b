/* Decimal numbers as text, with a point whatever the program's locale says. */
#ifndef ESPI_BASE_NUMBER_H
#define ESPI_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In both: the whole of text[0..len), in the same form wherever a user writes a number: at most a '-' before it; no
   '+', blank, base other than ten, "inf" or "nan". False leaves nothing of use in *value. */

/* A whole number that fits 64 bits ("12", "-7"). */
bool espi_whole_parse(const char *text, size_t len, int64_t *value);
/* A finite decimal number of at most 48 characters ("12", "0.5", "-1.2e-6"). */
bool espi_number_parse(const char *text, size_t len, double *value);
/* The shortest decimal form of at most `digits` (1 to 17) significant digits; buf is returned. "null" for a number
   that is not finite. */
const char *espi_number_format(char *buf, size_t size, double value, int digits);

#endif
