/*
 * What a program is predicted to take: a sum over inner loops, blocks and bytes, and over the cache lines of both
 * sides, each of which comes from the nearest cache that all of them fit in. The constants were fitted to
 * bench/packing on one core of an AMD EPYC (family 26); see doc/pack-programs.md.
 */
#include "pack/program.h"

#include <stdatomic.h>

/* Processors differ in speed, and one in the course of a day where it is a virtual machine's, by a factor of two. */
static _Atomic double scale = 1;

void espi_pack_cost_scale(double ratio)
{
    atomic_store_explicit(&scale, ratio, memory_order_relaxed);
}

/* Nanoseconds; what a second cache, a third one and memory add to a line. */
static const struct {
    double start, call, block, byte, second_line, third_line, far_line, far_start;
} ns = {.start = 6, .call = 5, .block = 0.27, .byte = 0.0065, .second_line = 0.15,
        .third_line = 0.55, .far_line = 2.1, .far_start = 150};

enum { FIRST_CACHE = 48 << 10, SECOND_CACHE = 1 << 20, THIRD_CACHE = 24 << 20 };

struct espi_pack_cost espi_pack_cost(const struct espi_pack *pack, int64_t count)
{
    struct espi_pack_cost cost = {0};
    struct espi_copy c;
    if (count <= 0 || pack->item->bytes == 0)
        return cost;
    c = count == 1 ? *pack->item : espi_pack_many(pack, count);
    cost.bytes = espi_copy_times(pack->item->bytes, count);
    cost.blocks = c.kind == ESPI_COPY_BLOCK ? 1 : espi_copy_times(pack->item->pieces, count);
    if (c.kind == ESPI_COPY_LOOPS)
        espi_copy_measure_loops(&c);
    else if (c.kind == ESPI_COPY_BLOCK)
        c.lines = cost.bytes / ESPI_LINE + (cost.bytes % ESPI_LINE != 0);
    cost.lines = c.lines;
    cost.calls = c.calls;
    cost.lists = c.lists;
    const double ratio = atomic_load_explicit(&scale, memory_order_relaxed),
                 footprint = (double)cost.lines * ESPI_LINE + (double)cost.bytes + (double)cost.lists,
                 lines = footprint / ESPI_LINE,
                 work = ns.start + ns.call * (double)cost.calls + ns.block * (double)cost.blocks +
                        ns.byte * (double)cost.bytes;
    cost.warm_ns = ratio * (work + lines * (footprint <= FIRST_CACHE    ? 0
                                            : footprint <= SECOND_CACHE ? ns.second_line
                                            : footprint <= THIRD_CACHE  ? ns.third_line
                                                                        : ns.far_line));
    cost.cold_ns = ratio * (work + ns.far_start + lines * ns.far_line);
    return cost;
}
