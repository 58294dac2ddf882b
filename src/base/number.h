/* Decimal numbers as text, with a point whatever the program's locale says. */
#ifndef ESPI_BASE_NUMBER_H
#define ESPI_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* The whole of text[0..len) as a finite decimal number ("12", "0.5", "-1.2e-6"). */
bool espi_number_parse(const char *text, size_t len, double *value);
/* The shortest decimal form of at most `digits` (1 to 17) significant digits; buf is returned. "null" for a number
   that is not finite. */
const char *espi_number_format(char *buf, size_t size, double value, int digits);

#endif
