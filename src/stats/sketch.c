#include "stats/sketch.h"

#include "base/hash.h"
#include "base/saturate.h"

/* The rows take different bits of one hash, those that depend on most of the key. */
static unsigned place(unsigned row, uint64_t key)
{
    uint64_t hash = espi_mix(espi_mix(0, key), key >> 32);
    return (unsigned)(hash >> (64 - 9 * (row + 1))) % ESPI_SKETCH_WIDTH;
}
_Static_assert(ESPI_SKETCH_WIDTH == 1 << 9, "a row takes 9 bits");

void espi_sketch_add(struct espi_sketch *sketch, enum espi_weight what, uint64_t key, uint64_t value)
{
    for (unsigned row = 0; row < ESPI_SKETCH_ROWS; row++) {
        uint64_t *cell = &sketch->cell[what][row][place(row, key)];
        *cell = espi_add_saturated(*cell, value);
    }
}

void espi_sketch_bound(struct espi_sketch *sketch, uint64_t ranks)
{
    uint64_t most = UINT64_MAX / (ranks > 0 ? ranks : 1);
    for (int what = 0; what < ESPI_WEIGHTS; what++)
        for (int row = 0; row < ESPI_SKETCH_ROWS; row++)
            for (int i = 0; i < ESPI_SKETCH_WIDTH; i++)
                if (sketch->cell[what][row][i] > most)
                    sketch->cell[what][row][i] = most;
}

uint64_t espi_sketch_estimate(const struct espi_sketch *sketch, enum espi_weight what, uint64_t key)
{
    uint64_t least = UINT64_MAX;
    for (unsigned row = 0; row < ESPI_SKETCH_ROWS; row++) {
        uint64_t value = sketch->cell[what][row][place(row, key)];
        least = value < least ? value : least;
    }
    return least;
}
