/*
 * Base types with bytes that are no data: those behind the 10 of an MPI_LONG_DOUBLE, which MPICH leaves alone in some
 * layouts and writes in others, and gaps of pairs, which nobody may write. Data arrive, and all else is as it was;
 * the padding of a long double alone may be anything. An ordinary MPI program, run by `compare`.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { BASES = 6, LAYOUTS = 4, ROUNDS = 12, ELEMENTS = 40, DIGITS = 10, PADDED = 16, LEFT = 0xee };

/* Whether a byte of an element is data; `any`: it is padding, which may be written. */
static bool is_data(int base, int at, bool *any)
{
    static const struct { int first, second, length; } pair[BASES] = {
        [2] = {8, 8, 4}, [3] = {2, 4, 4}, [4] = {DIGITS, PADDED, 4}, [5] = {8, 8, 4}};
    *any = (base < 2 || (base == 4 && at < PADDED)) && at % PADDED >= DIGITS;
    if (base < 2)
        return !*any;
    return at < pair[base].first || (at >= pair[base].second && at < pair[base].second + pair[base].length);
}

static MPI_Datatype make(int layout, MPI_Datatype base)
{
    static const int at[6] = {9, 0, 3, 14, 5, 30};
    MPI_Datatype type;
    if (layout == 0)
        MPI_Type_contiguous(5, base, &type);
    else if (layout == 1)
        MPI_Type_vector(7, 1, 2, base, &type);
    else if (layout == 2)
        MPI_Type_vector(5, 3, 4, base, &type);
    else
        MPI_Type_create_indexed_block(6, 1, at, base, &type);
    MPI_Type_commit(&type);
    return type;
}

static bool is_element(int layout, int i)
{
    return layout == 0   ? i < 5
           : layout == 1 ? i < 14 && i % 2 == 0
           : layout == 2 ? i < 20 && i % 4 < 3
                         : i == 9 || i == 0 || i == 3 || i == 14 || i == 5 || i == 30;
}

/* In a pack of a message, and in one to the next rank. */
static void exchange(int base, int layout, MPI_Datatype type, int extent, int round)
{
    const int bytes = ELEMENTS * extent;
    unsigned char *from = malloc((size_t)bytes), *to = malloc((size_t)bytes), packed[8192];
    int at = 0, end = 0, wrong = 0;
    MPI_Status status;
    for (int i = 0; i < bytes; i++)
        from[i] = (unsigned char)(0x10 + (i + round) % 97);
    memset(to, LEFT, (size_t)bytes);
    if (round % 3 == 2) {
        CK(MPI_Pack(from, 1, type, packed, (int)sizeof packed, &at, MPI_COMM_WORLD));
        CK(MPI_Unpack(packed, at, &end, to, 1, type, MPI_COMM_WORLD));
    } else {
        CK(MPI_Sendrecv(from, 1, type, (prog.me + 1) % prog.ranks, 3, to, 1, type,
                        (prog.me + prog.ranks - 1) % prog.ranks, 3, MPI_COMM_WORLD, &status));
    }
    for (int i = 0; i < bytes; i++) {
        bool any = false, data = is_element(layout, i / extent) && is_data(base, i % extent, &any);
        any = any && is_element(layout, i / extent);
        wrong += !any && to[i] != (data ? from[i] : LEFT);
    }
    check_equal(NULL, "padding", "bytes that are wrong", wrong, 0);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    const MPI_Datatype bases[BASES] = {MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX, MPI_DOUBLE_INT,
                                       MPI_SHORT_INT,   MPI_LONG_DOUBLE_INT,       MPI_LONG_INT};
    prog_start(&argc, &argv, 0);
    for (int base = 0; base < BASES; base++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            MPI_Aint lb, extent;
            MPI_Datatype type = make(layout, bases[base]);
            MPI_Type_get_extent(bases[base], &lb, &extent);
            for (int round = 0; round < ROUNDS; round++)
                exchange(base, layout, type, (int)extent, round);
            MPI_Type_free(&type);
        }
    return prog_end("padding");
}
