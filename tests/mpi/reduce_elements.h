/*
 * Elements for the reduction tests: every base type with the operations the standard defines for it, how an element
 * is written and read, and a plain fold. Nothing here calls a reduction.
 */
#ifndef ESPI_TESTS_REDUCE_ELEMENTS_H
#define ESPI_TESTS_REDUCE_ELEMENTS_H

#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum kind { SIGNED, UNSIGNED, FLOATING, CPLX, LOGIC, BITS, PAIR };
enum {
    ARITH = 1,
    ORDER = 2,
    LOGICAL = 4,
    BITWISE = 8,
    LOC = 16
};

struct base {
    const char *name;
    MPI_Datatype type;
    enum kind kind;
    int size;  /* bytes of the number, of one part of a complex, of the value of a pair */
    int second; /* where the index of a pair stands, and its size (that of the value for Fortran's pairs) */
    int second_size;
    unsigned ops;
};

/* Small integers stand for every value, so that folds are exact in any order and any base type. */
struct value {
    int64_t a, b; /* number and 0, real and imaginary part, value and index */
};

#define C_INT (ARITH | ORDER | LOGICAL | BITWISE)
#define F_INT (ARITH | ORDER | BITWISE)

#define BASES(X)                                              \
    X(MPI_SIGNED_CHAR, SIGNED, 1, 0, 0, C_INT)                \
    X(MPI_UNSIGNED_CHAR, UNSIGNED, 1, 0, 0, C_INT)            \
    X(MPI_SHORT, SIGNED, 2, 0, 0, C_INT)                      \
    X(MPI_UNSIGNED_SHORT, UNSIGNED, 2, 0, 0, C_INT)           \
    X(MPI_INT, SIGNED, 4, 0, 0, C_INT)                        \
    X(MPI_UNSIGNED, UNSIGNED, 4, 0, 0, C_INT)                 \
    X(MPI_LONG, SIGNED, 8, 0, 0, C_INT)                       \
    X(MPI_UNSIGNED_LONG, UNSIGNED, 8, 0, 0, C_INT)            \
    X(MPI_LONG_LONG, SIGNED, 8, 0, 0, C_INT)                  \
    X(MPI_UNSIGNED_LONG_LONG, UNSIGNED, 8, 0, 0, C_INT)       \
    X(MPI_INT8_T, SIGNED, 1, 0, 0, C_INT)                     \
    X(MPI_INT16_T, SIGNED, 2, 0, 0, C_INT)                    \
    X(MPI_INT32_T, SIGNED, 4, 0, 0, C_INT)                    \
    X(MPI_INT64_T, SIGNED, 8, 0, 0, C_INT)                    \
    X(MPI_UINT8_T, UNSIGNED, 1, 0, 0, C_INT)                  \
    X(MPI_UINT16_T, UNSIGNED, 2, 0, 0, C_INT)                 \
    X(MPI_UINT32_T, UNSIGNED, 4, 0, 0, C_INT)                 \
    X(MPI_UINT64_T, UNSIGNED, 8, 0, 0, C_INT)                 \
    X(MPI_INTEGER, SIGNED, 4, 0, 0, F_INT)                    \
    X(MPI_INTEGER1, SIGNED, 1, 0, 0, F_INT)                   \
    X(MPI_INTEGER2, SIGNED, 2, 0, 0, F_INT)                   \
    X(MPI_INTEGER4, SIGNED, 4, 0, 0, F_INT)                   \
    X(MPI_INTEGER8, SIGNED, 8, 0, 0, F_INT)                   \
    X(MPI_AINT, SIGNED, 8, 0, 0, F_INT)                       \
    X(MPI_OFFSET, SIGNED, 8, 0, 0, F_INT)                     \
    X(MPI_COUNT, SIGNED, 8, 0, 0, F_INT)                      \
    X(MPI_FLOAT, FLOATING, 4, 0, 0, ARITH | ORDER)            \
    X(MPI_DOUBLE, FLOATING, 8, 0, 0, ARITH | ORDER)           \
    X(MPI_LONG_DOUBLE, FLOATING, 16, 0, 0, ARITH | ORDER)     \
    X(MPI_REAL, FLOATING, 4, 0, 0, ARITH | ORDER)             \
    X(MPI_DOUBLE_PRECISION, FLOATING, 8, 0, 0, ARITH | ORDER) \
    X(MPI_REAL4, FLOATING, 4, 0, 0, ARITH | ORDER)            \
    X(MPI_REAL8, FLOATING, 8, 0, 0, ARITH | ORDER)            \
    X(MPI_C_FLOAT_COMPLEX, CPLX, 4, 0, 0, ARITH)              \
    X(MPI_C_DOUBLE_COMPLEX, CPLX, 8, 0, 0, ARITH)             \
    X(MPI_C_LONG_DOUBLE_COMPLEX, CPLX, 16, 0, 0, ARITH)       \
    X(MPI_COMPLEX, CPLX, 4, 0, 0, ARITH)                      \
    X(MPI_DOUBLE_COMPLEX, CPLX, 8, 0, 0, ARITH)               \
    X(MPI_COMPLEX8, CPLX, 4, 0, 0, ARITH)                     \
    X(MPI_COMPLEX16, CPLX, 8, 0, 0, ARITH)                    \
    X(MPI_LOGICAL, LOGIC, 4, 0, 0, LOGICAL)                   \
    X(MPI_C_BOOL, LOGIC, 1, 0, 0, LOGICAL)                    \
    X(MPI_CXX_BOOL, LOGIC, 1, 0, 0, LOGICAL)                  \
    X(MPI_BYTE, BITS, 1, 0, 0, BITWISE)                       \
    X(MPI_FLOAT_INT, PAIR, 4, 4, 4, LOC)                      \
    X(MPI_DOUBLE_INT, PAIR, 8, 8, 4, LOC)                     \
    X(MPI_LONG_INT, PAIR, 8, 8, 4, LOC)                       \
    X(MPI_SHORT_INT, PAIR, 2, 4, 4, LOC)                      \
    X(MPI_2INT, PAIR, 4, 4, 4, LOC)                           \
    X(MPI_LONG_DOUBLE_INT, PAIR, 16, 16, 4, LOC)              \
    X(MPI_2REAL, PAIR, 4, 4, 4, LOC)                          \
    X(MPI_2DOUBLE_PRECISION, PAIR, 8, 8, 8, LOC)              \
    X(MPI_2INTEGER, PAIR, 4, 4, 4, LOC)

/* Do value and index of this pair type hold floating-point numbers? */
static inline bool pair_value_floats(const struct base *b)
{
    return b->type == MPI_FLOAT_INT || b->type == MPI_DOUBLE_INT || b->type == MPI_LONG_DOUBLE_INT ||
           b->type == MPI_2REAL || b->type == MPI_2DOUBLE_PRECISION;
}

static inline bool pair_index_floats(const struct base *b)
{
    return b->type == MPI_2REAL || b->type == MPI_2DOUBLE_PRECISION;
}

static inline void put_int(unsigned char *p, int size, int64_t v)
{
    memcpy(p, &v, (size_t)size); /* little-endian machines only, as is MPICH's ABI here */
}

static inline int64_t get_int(const unsigned char *p, int size, bool is_signed)
{
    int64_t v = 0;
    memcpy(&v, p, (size_t)size);
    if (is_signed && size < 8 && (v >> (8 * size - 1) & 1))
        v |= (int64_t)(~UINT64_C(0) << (8 * size));
    return v;
}

static inline void put_float(unsigned char *p, int size, int64_t v)
{
    float f = (float)v;
    double d = (double)v;
    long double l = (long double)v;
    if (size == 4)
        memcpy(p, &f, 4);
    else if (size == 8)
        memcpy(p, &d, 8);
    else
        memcpy(p, &l, 10); /* the padding of a long double is nobody's value */
}

static inline int64_t get_float(const unsigned char *p, int size)
{
    float f;
    double d;
    long double l = 0;
    if (size == 4)
        return memcpy(&f, p, 4), (int64_t)f;
    if (size == 8)
        return memcpy(&d, p, 8), (int64_t)d;
    return memcpy(&l, p, 10), (int64_t)l;
}

static inline void put(const struct base *b, unsigned char *p, struct value v)
{
    switch (b->kind) {
    case FLOATING:
        put_float(p, b->size, v.a);
        break;
    case CPLX:
        put_float(p, b->size, v.a);
        put_float(p + b->size, b->size, v.b);
        break;
    case PAIR:
        pair_value_floats(b) ? put_float(p, b->size, v.a) : put_int(p, b->size, v.a);
        pair_index_floats(b) ? put_float(p + b->second, b->second_size, v.b)
                             : put_int(p + b->second, b->second_size, v.b);
        break;
    default:
        put_int(p, b->size, v.a);
    }
}

static inline struct value get(const struct base *b, const unsigned char *p)
{
    switch (b->kind) {
    case FLOATING:
        return (struct value){get_float(p, b->size), 0};
    case CPLX:
        return (struct value){get_float(p, b->size), get_float(p + b->size, b->size)};
    case PAIR:
        return (struct value){pair_value_floats(b) ? get_float(p, b->size) : get_int(p, b->size, true),
                              pair_index_floats(b) ? get_float(p + b->second, b->second_size)
                                                   : get_int(p + b->second, b->second_size, true)};
    default:
        return (struct value){get_int(p, b->size, b->kind == SIGNED), 0};
    }
}

struct operation {
    const char *name;
    MPI_Op op;
    unsigned class;
};

#define OPERATIONS(X)   \
    X(MPI_MAX, ORDER)   \
    X(MPI_MIN, ORDER)   \
    X(MPI_SUM, ARITH)   \
    X(MPI_PROD, ARITH)  \
    X(MPI_LAND, LOGICAL) \
    X(MPI_LOR, LOGICAL) \
    X(MPI_LXOR, LOGICAL) \
    X(MPI_BAND, BITWISE) \
    X(MPI_BOR, BITWISE) \
    X(MPI_BXOR, BITWISE) \
    X(MPI_MINLOC, LOC)  \
    X(MPI_MAXLOC, LOC)

/* `left` comes from the lower ranks. */
static inline struct value fold(const struct base *b, MPI_Op op, struct value left, struct value right)
{
    struct value r = {0, 0};
    if (op == MPI_MINLOC || op == MPI_MAXLOC) {
        if (left.a == right.a)
            return (struct value){left.a, left.b < right.b ? left.b : right.b};
        return (op == MPI_MINLOC) == (left.a < right.a) ? left : right;
    }
    if (op == MPI_MAX)
        r.a = left.a > right.a ? left.a : right.a;
    else if (op == MPI_MIN)
        r.a = left.a < right.a ? left.a : right.a;
    else if (op == MPI_SUM)
        r = (struct value){left.a + right.a, left.b + right.b};
    else if (op == MPI_PROD && b->kind == CPLX)
        r = (struct value){left.a * right.a - left.b * right.b, left.a * right.b + left.b * right.a};
    else if (op == MPI_PROD)
        r.a = left.a * right.a;
    else if (op == MPI_LAND)
        r.a = left.a && right.a;
    else if (op == MPI_LOR)
        r.a = left.a || right.a;
    else if (op == MPI_LXOR)
        r.a = !left.a != !right.a;
    else if (op == MPI_BAND)
        r.a = left.a & right.a;
    else if (op == MPI_BOR)
        r.a = left.a | right.a;
    else
        r.a = left.a ^ right.a;
    return r;
}

/* The element number e of rank r: small, so that sums over eight ranks and products of eight fit one byte. */
static inline struct value element(const struct base *b, MPI_Op op, unsigned seed, int r, int64_t e)
{
    uint64_t x = ((uint64_t)seed * 1000003u + (uint64_t)r * 7919u + (uint64_t)e * 104729u + 12345u);
    x ^= x >> 13, x *= UINT64_C(0x9E3779B97F4A7C15), x ^= x >> 29;
    int range = b->kind == LOGIC ? 2 : op == MPI_PROD ? 3 : 9;
    int64_t a = (int64_t)(x % (unsigned)range);
    if (op == MPI_PROD && b->kind != CPLX)
        a = x % 16 == 0 ? 2 : 1;
    return (struct value){a, b->kind == PAIR ? r : b->kind == CPLX ? (int64_t)(x >> 40 & 1) : 0};
}

#endif
