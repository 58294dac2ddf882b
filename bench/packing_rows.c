#include "bench/packing_rows.h"

#include <stdlib.h>
#include <string.h>

static void describe_transpose(struct layout *l)
{
    size_t n = (size_t)l->n[0], width = (size_t)l->n[1];
    struct layout_part *part = layout_add_part(l, LAYOUT_FROM, 0, width);

    layout_loop(part, 1, l->n[0], width);
    layout_loop(part, 2, l->n[0], n * width);
    l->span[LAYOUT_FROM] = n * n * width;
}

/* Grids of few doubles, as a lattice has at each site, or a loop of few: n = { grids, rows, columns }. */
static void describe_few(struct layout *l)
{
    const size_t row = 24 * (size_t)l->n[2] + 64, grid = row * (size_t)l->n[1] + 160;
    struct layout_part *part = layout_add_part(l, LAYOUT_FROM, 0, sizeof(double));

    layout_loop(part, 0, l->n[0], grid);
    layout_loop(part, 1, l->n[1], row);
    layout_loop(part, 2, l->n[2], 24);
    l->span[LAYOUT_FROM] = grid * (size_t)l->n[0];
}

/* Every other block of many: n = { blocks, bytes }. */
static void describe_blocks(struct layout *l)
{
    const size_t width = (size_t)l->n[1];
    struct layout_part *part = layout_add_part(l, LAYOUT_FROM, 0, width);

    layout_loop(part, 1, l->n[0], 2 * width);
    l->span[LAYOUT_FROM] = 2 * (size_t)l->n[0] * width;
}

/* Blocks in any order, anywhere in `n[2]` times as much memory. */
static void describe_scattered(struct layout *l)
{
    int n = l->n[0], i;
    size_t width = (size_t)l->n[1];
    unsigned long long random = 42;
    struct layout_part *part = layout_add_part(l, LAYOUT_FROM, 0, width);

    l->list = malloc((size_t)n * sizeof *l->list);
    if (l->list == NULL)
        bench_die("packing: no memory");
    for (i = 0; i < n; i++)
        l->list[i] = i * l->n[2];
    for (i = n - 1; i > 0; i--) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        int k = (int)((random >> 33) % (unsigned)(i + 1)), swap = l->list[i];
        l->list[i] = l->list[k];
        l->list[k] = swap;
    }
    part->list = l->list;
    part->entries = n;
    part->unit = width;
    l->span[LAYOUT_FROM] = (size_t)n * (size_t)l->n[2] * width;
}

/* Rows of an upper triangle: as many blocks as rows, of all lengths; one part each, of as many as there is room. */
static void describe_triangle(struct layout *l)
{
    size_t n = (size_t)l->n[0];

    for (int i = 0; i < LAYOUT_PARTS; i++)
        layout_add_part(l, LAYOUT_FROM, ((size_t)i * n + (size_t)i) * 8, (n - (size_t)i) * 8);
    l->span[LAYOUT_FROM] = n * LAYOUT_PARTS * 8;
}

/* Runs of 1 to n[1] doubles, as MPI_Type_indexed says them: places in `list`, lengths in `list2`. No part says so:
   what follows looks for the lengths. */
static void describe_runs(struct layout *l)
{
    int n = l->n[0], at = 0;
    unsigned long long random = 7;

    l->pieces = 1;
    l->list = malloc((size_t)n * sizeof *l->list);
    l->list2 = malloc((size_t)n * sizeof *l->list2);
    if (l->list == NULL || l->list2 == NULL)
        bench_die("packing: no memory");
    for (int i = 0; i < n; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        l->list[i] = at;
        l->list2[i] = 1 + (int)((random >> 33) % (unsigned)l->n[1]);
        at += l->list2[i] + 1 + (int)((random >> 50) % 4);
    }
    l->span[LAYOUT_FROM] = (size_t)at * 8;
}

int packing_has_runs(const struct layout *l)
{
    return l->row->describe == describe_runs;
}

void packing_pack_runs(const struct layout *l, const char *data, char *stream)
{
    for (int i = 0; i < l->n[0]; i++) {
        memcpy(stream, data + (size_t)l->list[i] * 8, (size_t)l->list2[i] * 8);
        stream += (size_t)l->list2[i] * 8;
    }
}

void packing_unpack_runs(const struct layout *l, const char *stream, char *data)
{
    for (int i = 0; i < l->n[0]; i++) {
        memcpy(data + (size_t)l->list[i] * 8, stream, (size_t)l->list2[i] * 8);
        stream += (size_t)l->list2[i] * 8;
    }
}

const struct layout_row packing_rows[] = {
    {"transpose_4", LAYOUT_MESSAGE, {{32, 4}, {300, 4}, {2000, 4}}, describe_transpose, NULL},
    {"transpose_8", LAYOUT_MESSAGE, {{16, 8}, {128, 8}, {1000, 8}}, describe_transpose, NULL},
    {"transpose_8_large", LAYOUT_MESSAGE, {{1024, 8}, {1500, 8}, {2500, 8}}, describe_transpose, NULL},
    {"transpose_16", LAYOUT_MESSAGE, {{16, 16}, {128, 16}, {1000, 16}}, describe_transpose, NULL},
    {"transpose_16_large", LAYOUT_MESSAGE, {{512, 16}, {1024, 16}, {1500, 16}}, describe_transpose, NULL},
    {"few_4x4", LAYOUT_MESSAGE, {{31, 4, 4}, {250, 4, 4}, {5000, 4, 4}}, describe_few, NULL},
    {"few_2x3", LAYOUT_MESSAGE, {{31, 2, 3}, {250, 2, 3}, {5000, 2, 3}}, describe_few, NULL},
    {"few_3", LAYOUT_MESSAGE, {{31, 1, 3}, {250, 1, 3}, {5000, 1, 3}}, describe_few, NULL},
    {"blocks_large", LAYOUT_MESSAGE, {{100000, 512}, {50000, 1024}, {12500, 4096}}, describe_blocks, NULL},
    {"scattered_8", LAYOUT_MESSAGE, {{500, 8, 3}, {10000, 8, 3}, {1000000, 8, 9}}, describe_scattered, NULL},
    {"scattered_24", LAYOUT_MESSAGE, {{500, 24, 3}, {10000, 24, 3}, {1000000, 24, 3}}, describe_scattered, NULL},
    {"scattered_60", LAYOUT_MESSAGE, {{500, 60, 3}, {10000, 60, 3}, {400000, 60, 3}}, describe_scattered, NULL},
    {"runs_short", LAYOUT_MESSAGE, {{100, 6}, {2000, 6}, {20000, 6}}, describe_runs, NULL},
    {"runs_long", LAYOUT_MESSAGE, {{100, 60}, {2000, 60}, {20000, 60}}, describe_runs, NULL},
    {"triangle", LAYOUT_MESSAGE, {{12}, {40}, {400}}, describe_triangle, NULL},
};
const int packing_row_count = (int)(sizeof packing_rows / sizeof *packing_rows);
