#include "placement/affine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIMS = ESPI_PLACE_DIMS, MOST_NUMBER = 1000000 };

struct espi_place_affine espi_place_identity(int dims)
{
    struct espi_place_affine f = {{{0}}};
    for (int r = 0; r < dims; r++)
        f.a[r][r] = 1;
    return f;
}

bool espi_place_is_identity(const struct espi_place_affine *f, int dims)
{
    struct espi_place_affine identity = espi_place_identity(dims);
    return memcmp(f, &identity, sizeof identity) == 0;
}

bool espi_place_compose(const struct espi_place_affine *outer, const struct espi_place_affine *inner,
                        struct espi_place_affine *composed)
{
    bool wrong = false;
    for (int r = 0; r < DIMS; r++) {
        for (int c = 0; c <= DIMS; c++) {
            int64_t sum = c == DIMS ? outer->a[r][DIMS] : 0, product;
            for (int k = 0; k < DIMS; k++) {
                wrong = __builtin_mul_overflow(outer->a[r][k], inner->a[k][c], &product) || wrong;
                wrong = __builtin_add_overflow(sum, product, &sum) || wrong;
            }
            composed->a[r][c] = sum;
        }
    }
    return !wrong;
}

/* row a -= times * row b, in both */
static bool subtract_row(int64_t (*f)[DIMS], int64_t (*g)[DIMS], int a, int b, int64_t times)
{
    bool wrong = false;
    int64_t product;
    for (int c = 0; c < DIMS; c++) {
        wrong = __builtin_mul_overflow(times, f[b][c], &product) || wrong;
        wrong = __builtin_sub_overflow(f[a][c], product, &f[a][c]) || wrong;
        wrong = __builtin_mul_overflow(times, g[b][c], &product) || wrong;
        wrong = __builtin_sub_overflow(g[a][c], product, &g[a][c]) || wrong;
    }
    return !wrong;
}

static void exchange_rows(int64_t (*f)[DIMS], int a, int b)
{
    for (int c = 0; c < DIMS; c++) {
        int64_t kept = f[a][c];
        f[a][c] = f[b][c];
        f[b][c] = kept;
    }
}

/* By Euclid's algorithm in each column, with the same done to the identity in `g`. */
static bool reduce(int64_t (*f)[DIMS], int64_t (*g)[DIMS], int dims)
{
    for (int c = 0; c < dims; c++) {
        for (int r = c + 1; r < dims; r++) {
            while (f[r][c] != 0) {
                if (f[r][c] == INT64_MIN || f[c][c] == INT64_MIN)
                    return false;
                if (f[c][c] != 0 && !subtract_row(f, g, r, c, f[r][c] / f[c][c]))
                    return false;
                if (f[r][c] != 0) {
                    exchange_rows(f, r, c);
                    exchange_rows(g, r, c);
                }
            }
        }
        if (f[c][c] != 1 && f[c][c] != -1) /* the product of all is the determinant */
            return false;
        for (int r = 0; r < c; r++) {
            if (f[r][c] == INT64_MIN || !subtract_row(f, g, r, c, f[r][c] * f[c][c]))
                return false;
        }
    }
    return true;
}

bool espi_place_invert(const struct espi_place_affine *f, int dims, struct espi_place_affine *inverse)
{
    int64_t left[DIMS][DIMS] = {{0}}, right[DIMS][DIMS] = {{0}};
    bool wrong = false;

    for (int r = 0; r < dims; r++) {
        memcpy(left[r], f->a[r], sizeof left[r]);
        right[r][r] = 1;
    }
    if (!reduce(left, right, dims))
        return false;
    *inverse = (struct espi_place_affine){{{0}}};
    for (int r = 0; r < dims; r++) { /* x = A^-1 y - A^-1 b */
        int64_t sum = 0, product;
        for (int c = 0; c < dims; c++) {
            wrong = __builtin_mul_overflow(left[r][r], right[r][c], &inverse->a[r][c]) || wrong;
            wrong = __builtin_mul_overflow(inverse->a[r][c], f->a[c][DIMS], &product) || wrong;
            wrong = __builtin_sub_overflow(sum, product, &sum) || wrong;
        }
        inverse->a[r][DIMS] = sum;
    }
    return !wrong;
}

/* 1 or -1 where the linear parts of the rows are equal up to that sign; else 0. */
static int sign_between(const int64_t *a, const int64_t *b)
{
    int sign = 0;
    for (int c = 0; c < DIMS; c++) {
        if (a[c] == 0 && b[c] == 0)
            continue;
        int here = a[c] == b[c] ? 1 : a[c] != INT64_MIN && -a[c] == b[c] ? -1 : 0;
        if (here == 0 || (sign != 0 && here != sign))
            return 0;
        sign = here;
    }
    return sign != 0 ? sign : 1;
}

enum espi_place_change espi_place_compare(const struct espi_place_affine *f, const struct espi_place_affine *g,
                                          int rows)
{
    bool same = true, used[DIMS] = {false};
    if (memcmp(f, g, sizeof *f) == 0)
        return ESPI_PLACE_SAME;
    for (int r = 0; r < rows; r++)
        same = same && memcmp(f->a[r], g->a[r], DIMS * sizeof f->a[r][0]) == 0;
    if (same)
        return ESPI_PLACE_SHIFT;
    /* Equal up to a sign is an equivalence of rows: whichever of those that are left will do. */
    for (int r = 0; r < rows; r++) {
        int other = 0;
        while (other < rows && (used[other] || sign_between(f->a[r], g->a[other]) == 0))
            other++;
        if (other == rows)
            return ESPI_PLACE_GENERAL;
        used[other] = true;
    }
    return ESPI_PLACE_PERMUTE;
}

/* One term, "-2j", from text[at] on; where it ends, or 0. */
static size_t take_term(const char *text, size_t len, size_t at, bool first, const char *indices, int dims,
                        int64_t *row)
{
    int64_t number = 0;
    bool minus = text[at] == '-', digits = false, star = false;
    if (text[at] == '+' || text[at] == '-')
        at++;
    else if (!first)
        return 0;
    for (; at < len && text[at] >= '0' && text[at] <= '9'; at++) {
        number = 10 * number + (text[at] - '0');
        digits = true;
        if (number > MOST_NUMBER)
            return 0;
    }
    if (digits && at < len && text[at] == '*') {
        star = true;
        at++;
    }
    const char *index = at < len ? memchr(indices, text[at], (size_t)dims) : NULL;
    if (index == NULL && (!digits || star))
        return 0;
    int64_t *into = index != NULL ? &row[index - indices] : &row[DIMS];
    *into += (minus ? -1 : 1) * (digits ? number : 1);
    return *into > MOST_NUMBER || *into < -MOST_NUMBER ? 0 : at + (index != NULL);
}

int espi_place_parse_affine(const char *text, size_t len, const char *indices, int dims, struct espi_place_affine *f)
{
    int rows = 0;
    bool first = true;
    *f = (struct espi_place_affine){{{0}}};
    for (size_t at = 0; at < len;) {
        if (text[at] == ',') {
            if (first || at + 1 == len)
                return 0;
            rows++;
            first = true;
            at++;
            continue;
        }
        at = rows < DIMS ? take_term(text, len, at, first, indices, dims, f->a[rows]) : 0;
        if (at == 0)
            return 0;
        first = false;
    }
    return first ? 0 : rows + 1;
}

const char *espi_place_format_affine(const struct espi_place_affine *f, const char *indices, int dims, int rows,
                                     char *buf, size_t size)
{
    size_t at = 0;
    buf[0] = '\0';
    for (int r = 0; r < rows; r++) {
        bool first = true;
        at += at < size && r > 0 ? (size_t)snprintf(buf + at, size - at, ",") : 0;
        for (int c = 0; c <= dims; c++) {
            int64_t value = f->a[r][c < dims ? c : DIMS];
            bool one = c < dims && (value == 1 || value == -1);
            if ((value == 0 && (c < dims || !first)) || at >= size)
                continue;
            at += (size_t)snprintf(buf + at, size - at, "%s", value < 0 ? "-" : first ? "" : "+");
            if (at < size && !one)
                at += (size_t)snprintf(buf + at, size - at, "%" PRIu64,
                                       value < 0 ? -(uint64_t)value : (uint64_t)value);
            if (at < size && c < dims)
                at += (size_t)snprintf(buf + at, size - at, "%c", indices[c]);
            first = false;
        }
    }
    return buf;
}
