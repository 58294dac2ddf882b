/*
 * A message that the library packs goes in parts: while one side packs a part the other unpacks the one before, so
 * that it takes about what one side does. A message packed whole takes the one side, the copy, and the other side one
 * after another; what it saves is what the program does faster, three times over. Only one rank decides here, on what
 * it knows; that the other does as it does is likely, as it mostly has a type of the same kind, and what it costs if
 * not is within what is asked for below.
 *
 * Messages of one part are packed, copied and unpacked one after another either way.
 *
 * Data out of the caches cost both ways the same misses, those of a program being counted in espi_pack_cost; so they
 * are left out on either side, and the copy in between is what remains.
 */
#include "mpi/typeplan/pack_gain.h"

/* Beside packing: a buffer is taken and given back, a status read. */
enum { CALL_NS = 80 };
/* Clear is what saves so great a part of what the engine takes, and so many nanoseconds. */
enum { CLEAR = 16, CLEAR_MESSAGE = 8, CLEAR_NS = 30, CLEAR_MESSAGE_NS = 100 };

static double bytes_of(const struct espi_pack *pack, int64_t count)
{
    return (double)espi_pack_size(pack) * (double)count;
}

double espi_pack_message_cost(const struct espi_engine *engine, const struct espi_pack *pack, int64_t count,
                              bool in_parts)
{
    const double once = espi_pack_cost(pack, count).warm_ns + CALL_NS;

    return (in_parts ? 2 : 1) * once + bytes_of(pack, count) / engine->copied;
}

double espi_pack_gain(const struct espi_pack *pack, int64_t count, double engine_ns)
{
    const double gain = engine_ns - espi_pack_cost(pack, count).warm_ns;

    return gain > engine_ns / CLEAR + CLEAR_NS ? gain : 0;
}

double espi_pack_message_gain(const struct espi_engine *engine, const struct espi_pack *pack, int64_t count,
                              bool in_parts, double engine_ns)
{
    const double gain = engine_ns - espi_pack_message_cost(engine, pack, count, in_parts);

    return gain > engine_ns / CLEAR_MESSAGE + CLEAR_MESSAGE_NS ? gain : 0;
}
