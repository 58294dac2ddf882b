/* Affine functions of array indices, in whole numbers: placements in general, skewed ones among them, and which
   element of an operand an operation reads. */
#ifndef ESPI_PLACEMENT_AFFINE_H
#define ESPI_PLACEMENT_AFFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ESPI_PLACE_DIMS = 4 }; /* the most indices, and the most rows */

/* Row r is the sum of a[r][c] * index c, and a[r][DIMS]. What is not used is 0, so that equal functions are equal in
   memory. */
struct espi_place_affine {
    int64_t a[ESPI_PLACE_DIMS][ESPI_PLACE_DIMS + 1];
};

/* How one placement of the same data differs from another: each kind contains those before it, and to differ by one
   of the first n kinds is an equivalence. */
enum espi_place_change {
    ESPI_PLACE_SAME,
    ESPI_PLACE_SHIFT,   /* by constants: everything moves equally far */
    ESPI_PLACE_PERMUTE, /* rows exchanged or mirrored, and shifted */
    ESPI_PLACE_GENERAL  /* by any other function: a skew, say */
};

struct espi_place_affine espi_place_identity(int dims);
bool espi_place_is_identity(const struct espi_place_affine *f, int dims);
/* outer(inner(x)); false on overflow. */
bool espi_place_compose(const struct espi_place_affine *outer, const struct espi_place_affine *inner,
                        struct espi_place_affine *composed);
/* The inverse of a function of `dims` indices with as many rows, which is in whole numbers if the determinant is 1 or
   -1; false otherwise, and on overflow. */
bool espi_place_invert(const struct espi_place_affine *f, int dims, struct espi_place_affine *inverse);
enum espi_place_change espi_place_compare(const struct espi_place_affine *f, const struct espi_place_affine *g,
                                          int rows);

/* Rows as text with commas between them, "i+2j-1,j", all indices being single letters. Terms are whole numbers,
   indices and their products ("2j", "2*j"). Parsing gives the number of rows, or 0 where the text is none or a number
   is too large: beyond a million. */
int espi_place_parse_affine(const char *text, size_t len, const char *indices, int dims, struct espi_place_affine *f);
/* Cut to `size` bytes; returns buf. */
const char *espi_place_format_affine(const struct espi_place_affine *f, const char *indices, int dims, int rows,
                                     char *buf, size_t size);

#endif
