/*
 * What a program is predicted to take: a sum over inner loops, blocks, bytes, and the cache lines that must come from
 * afar. The constants were fitted to bench/packing on one core; see doc/pack-programs.md.
 */
#include "pack/program.h"

static const struct {
    double start, call, block, byte, far_line, list_byte;
} ns = {.start = 8, .call = 4, .block = 0.45, .byte = 0.012, .far_line = 2.0, .list_byte = 0.03};

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
    cost.warm_ns = ns.start + ns.call * (double)cost.calls + ns.block * (double)cost.blocks +
                   ns.byte * (double)cost.bytes;
    cost.cold_ns = cost.warm_ns + ns.far_line * ((double)cost.lines + (double)cost.bytes / ESPI_LINE) +
                   ns.list_byte * (double)cost.lists;
    return cost;
}
