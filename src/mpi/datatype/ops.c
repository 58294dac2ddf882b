/*
 * Which predefined operation the standard defines for which base type (MPI 4.0, section 6.9.2). Only such pairs are
 * handled: MPI says itself what it thinks of the others. (MPICH 4.0.2 aborts on MPI_LAND of MPI_FLOAT elements, where
 * it reports an error for a derived type; so it must not be asked with the base type.)
 */
#include "mpi/datatype/ops.h"

#include <string.h>

enum class {
    C_INTEGER = 1,
    F_INTEGER = 2,
    FLOATING = 4,
    LOGICAL = 8,
    COMPLEX = 16,
    BYTE = 32,
    MULTI = 64, /* MPI_AINT and its like */
    PAIR = 128
};

static const struct {
    const char *name;
    enum class class;
} classes[] = {
    {"MPI_INT", C_INTEGER},
    {"MPI_LONG", C_INTEGER},
    {"MPI_SHORT", C_INTEGER},
    {"MPI_UNSIGNED_SHORT", C_INTEGER},
    {"MPI_UNSIGNED", C_INTEGER},
    {"MPI_UNSIGNED_LONG", C_INTEGER},
    {"MPI_LONG_LONG", C_INTEGER},
    {"MPI_LONG_LONG_INT", C_INTEGER},
    {"MPI_UNSIGNED_LONG_LONG", C_INTEGER},
    {"MPI_SIGNED_CHAR", C_INTEGER},
    {"MPI_UNSIGNED_CHAR", C_INTEGER},
    {"MPI_INT8_T", C_INTEGER},
    {"MPI_INT16_T", C_INTEGER},
    {"MPI_INT32_T", C_INTEGER},
    {"MPI_INT64_T", C_INTEGER},
    {"MPI_UINT8_T", C_INTEGER},
    {"MPI_UINT16_T", C_INTEGER},
    {"MPI_UINT32_T", C_INTEGER},
    {"MPI_UINT64_T", C_INTEGER},
    {"MPI_INTEGER", F_INTEGER},
    {"MPI_INTEGER1", F_INTEGER},
    {"MPI_INTEGER2", F_INTEGER},
    {"MPI_INTEGER4", F_INTEGER},
    {"MPI_INTEGER8", F_INTEGER},
    {"MPI_FLOAT", FLOATING},
    {"MPI_DOUBLE", FLOATING},
    {"MPI_LONG_DOUBLE", FLOATING},
    {"MPI_REAL", FLOATING},
    {"MPI_DOUBLE_PRECISION", FLOATING},
    {"MPI_REAL4", FLOATING},
    {"MPI_REAL8", FLOATING},
    {"MPI_REAL16", FLOATING},
    {"MPI_LOGICAL", LOGICAL},
    {"MPI_C_BOOL", LOGICAL},
    {"MPI_CXX_BOOL", LOGICAL},
    {"MPI_COMPLEX", COMPLEX},
    {"MPI_DOUBLE_COMPLEX", COMPLEX},
    {"MPI_C_COMPLEX", COMPLEX},
    {"MPI_C_FLOAT_COMPLEX", COMPLEX},
    {"MPI_C_DOUBLE_COMPLEX", COMPLEX},
    {"MPI_C_LONG_DOUBLE_COMPLEX", COMPLEX},
    {"MPI_COMPLEX8", COMPLEX},
    {"MPI_COMPLEX16", COMPLEX},
    {"MPI_CXX_FLOAT_COMPLEX", COMPLEX},
    {"MPI_CXX_DOUBLE_COMPLEX", COMPLEX},
    {"MPI_CXX_LONG_DOUBLE_COMPLEX", COMPLEX},
    {"MPI_BYTE", BYTE},
    {"MPI_AINT", MULTI},
    {"MPI_OFFSET", MULTI},
    {"MPI_COUNT", MULTI},
    {"MPI_FLOAT_INT", PAIR},
    {"MPI_DOUBLE_INT", PAIR},
    {"MPI_LONG_INT", PAIR},
    {"MPI_SHORT_INT", PAIR},
    {"MPI_2INT", PAIR},
    {"MPI_LONG_DOUBLE_INT", PAIR},
    {"MPI_2REAL", PAIR},
    {"MPI_2DOUBLE_PRECISION", PAIR},
    {"MPI_2INTEGER", PAIR},
};

static const struct {
    MPI_Op op;
    unsigned classes;
} ops[] = {
    {MPI_MAX, C_INTEGER | F_INTEGER | FLOATING | MULTI},
    {MPI_MIN, C_INTEGER | F_INTEGER | FLOATING | MULTI},
    {MPI_SUM, C_INTEGER | F_INTEGER | FLOATING | COMPLEX | MULTI},
    {MPI_PROD, C_INTEGER | F_INTEGER | FLOATING | COMPLEX | MULTI},
    {MPI_LAND, C_INTEGER | LOGICAL},
    {MPI_LOR, C_INTEGER | LOGICAL},
    {MPI_LXOR, C_INTEGER | LOGICAL},
    {MPI_BAND, C_INTEGER | F_INTEGER | BYTE | MULTI},
    {MPI_BOR, C_INTEGER | F_INTEGER | BYTE | MULTI},
    {MPI_BXOR, C_INTEGER | F_INTEGER | BYTE | MULTI},
    {MPI_MINLOC, PAIR},
    {MPI_MAXLOC, PAIR},
    /* MPI_REPLACE and MPI_NO_OP are for one-sided communication alone. */
};

unsigned espi_reduce_ops_of(const char *base_name)
{
    unsigned class = 0, bits = 0;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (!strcmp(base_name, classes[i].name))
            class = classes[i].class;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].classes & class)
            bits |= 1u << i;
    return bits;
}

unsigned espi_reduce_op_bit(MPI_Op op)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (op == ops[i].op)
            return 1u << i;
    return 0;
}
