/*
 * What messages of derived types cost beside packing, read off bench/layouts (MPICH 4.0.2 and UCX, two ranks on one
 * node whose cores are near each other; where they are farther apart the library's way loses more):
 *  - A message of one part (up to 8,255 bytes) costs TYPED_NS more on each side when its type has gaps, whatever
 *    the engine takes to pack it (far cores: twice that, core_distance.h). The engine packs it into the cell that
 *    it travels in, and unpacks it from there; ours is copied on both sides, which takes MOVED_NS a byte, as the
 *    lines of a cell come from the other core: with the loop over the items the library hides some of that. A
 *    message of several parts goes through cells of that size; without gaps it is fetched from the sender's memory,
 *    which takes FETCH_NS more to begin with. Where a packed one is sent as if it had gaps (stream_type.h) it goes
 *    through cells, too, and takes PARTS_NS less than the program's type beside packing: what the engine does for
 *    each part, and before the first one leaves (rows wrf, milc, mg and specfem of 12 to 200 kB with
 *    ESPALIER_PACK=off and =always).
 *  - In parts, one side packs while the other unpacks, so that such a message takes what one side does. Packed whole
 *    it takes the one side, the way, and the other side one after another. Only one rank decides here, on what it
 *    knows; that the other does as it does is likely, as it mostly has a type of the same kind.
 *  - All that is of AMD EPYCs. On an Intel Xeon (Sapphire Rapids) a message of one part costs 150 to 200 ns and not
 *    TYPED_NS, and what the engine takes is measured too high by up to 100 ns of its general code. So such messages
 *    that save less than ESPI_PACK_DOUBT_NS and a part of the engine's time are tried, and those that lose no more.
 *  - Between nodes a message of one part is packed before it leaves and unpacked when it is there, whoever packs, and
 *    nothing is copied more. Each side saves TYPED_FAR_NS there (rows mg, lu_y and lammps of 2 kB with
 *    ESPALIER_PACK=off and =always, between virtual hosts; vectors packed by hand and not, 128 to 8,192 bytes, one
 *    side or both). One of several parts is packed while the first ones are on their way; to pack it whole loses
 *    that, and dense bytes go another way than data with gaps. How much that makes says the network, not known here.
 *  - One item that is a single run of bytes has gaps for the library where its extent is not its size (a slab of an
 *    array, as a subarray; row slab of bench/layouts). As bytes, where they stand, it costs neither side anything
 *    beside the message: of one part STANDS_NS, at least, and the engine's time less on each. Several parts go by
 *    rendezvous then, with which near cores are slow (16 to 262 kB), and others, from 1 MB on, fast: that is tried.
 *    1 kB took 388 ns as a type and 180 as bytes within a node, 1 MB 94 and 59 us; between nodes 7.0 and 6.7 us, 262
 *    kB 266 and 70 us.
 *  - So what the models say of messages of several parts is a guess, but where the engine takes far longer than
 *    packing and the way of the bytes between cores that are far apart together, or far less than packing
 *    (espi_pack_open).
 *  - In calls with blocks for all a rank packs its own blocks and unpacks those of the others, whoever does it:
 *    nothing of that goes on at the same time, and packing is held against one side of the engine (fft2, halo3).
 *  - In collective calls, too, the library's general code for a short block with gaps is saved (BLOCK_NS), and there
 *    is one more copy. A call with blocks for all has at least two of them. Where only one side has gaps, the block
 *    that a rank has for itself is copied by the library in one go, and less is saved (HALF_NS); so it is in rooted
 *    calls, and where there is one block, as which those of a root with gaps on both sides count (bench/collectives,
 *    rows of 1,536 and 6,144 bytes, `sent` and `received` against `both`). The copy shows where blocks are dense (64
 *    doubles at a time, blocks of 98 kB: 0.87 of native's speed on near cores, 3 times as fast on far ones).
 *  - MPI_Sendrecv_replace copies what it sends into a buffer of its own. Packed, one part takes half as long again in
 *    some runs, and less than natively in others, as the two buffers happen to lie (AMD EPYC, whose copies are slow
 *    where source and destination are alike in their places within a page). So nothing is said to be gained.
 *  - MPI_Bcast is a chain: the library packs at the root into a buffer of its own, sends that on over all hops, and
 *    unpacks at the other ranks. Ours takes the place of its buffer, so nothing is copied more, and its general code
 *    for a type with gaps (STAGED_NS on each side) and its fresh buffer (FRESH_NS a byte) are saved, whatever the
 *    engine takes: 1.2 to 1.9 times as fast on two ranks and 1.0 to 1.3 on four, from 1,536 to 98,304 bytes
 *    (bench/composite, bench/collectives). In MPI_Ibcast they pay for the record of the request.
 *  - The lines of the caches that are touched are in the time of a program and not in that of the engine, which
 *    touches the same ones once for each message. So a program is preferred a little later than it could be.
 */
#include "mpi/typeplan/pack_gain.h"

#include "mpi/packed/stream_type.h"

/* Beside packing: a buffer is taken and given back, a status read. */
enum { CALL_NS = 100, TYPED_NS = 300, TYPED_FAR_NS = 200, STANDS_NS = 100 };
#define MOVED_NS 0.05
/* Packed whole, a message of several parts takes so much more to begin with, and so much less for each byte. */
enum { FETCH_NS = 3000 };
#define FETCHED_NS 0.015
/* But its stream is longer than the nearest caches: for each byte and side so much more than a program takes warm. By
   the rows at the border: wrf_y of 169 kB, which packing made 1.3 times slower, and lists, which it makes faster. */
#define STREAMED_NS 0.015
/* Where the stream goes cell by cell, too, it takes so much less than the program's type beside packing, and so much
   more for each byte, which is copied once more on both sides while cells travel. */
enum { PARTS_NS = 900 };
#define CELLS_NS 0.015
/* Far longer, far less; and what bytes take between cores that are far apart (bench/streams). What is less, but not
   far less, is tried: of mg_x, 131 kB, the model says that packing takes three times as long as the engine, and
   between far cores it took 0.83 of its time. */
enum { FAR_LONGER = 2, START_NS = 1000 };
#define FAR_LESS 0.33
#define AWAY_NS 0.12
/* Beside packing in a collective call, and for each byte that is copied once more. */
enum { COLLECTIVE_NS = 150, BLOCK_NS = 240, HALF_NS = 100, BLOCKS_LEAST = 2 };
#define COPIED_NS 0.05
/* What the library takes beside packing where it stages a message, and for each byte of its buffer: of a long one,
   whose pages malloc gets and gives back each time, more. */
enum { STAGED_NS = 200, MAPPED = 128 << 10 };
#define FRESH_NS 0.03
#define MAPPED_NS 0.09
/* For each line that is fetched by itself, more than the model of programs has for cold data: a row of 1,000 integers
   and a column of as many, 4 kB apart, was once measured to take 14.5 us. */
#define MISSED_NS 16
/* Clear is what saves so great a part of what the engine takes, and so many nanoseconds. */
enum { CLEAR = 16, CLEAR_MESSAGE = 8, CLEAR_NS = 30, CLEAR_MESSAGE_NS = 40,
       CLEAR_LONG_NS = 100, CLEAR_STAGED_NS = 60 };

double espi_pack_gain(const struct espi_pack *pack, int64_t count, double engine_ns)
{
    const double gain = engine_ns - espi_pack_cost(pack, count).warm_ns;

    return gain > engine_ns / CLEAR + CLEAR_NS ? gain : 0;
}

double espi_pack_run_gain(double engine_ns)
{
    return engine_ns + STANDS_NS;
}

static double gain_of_one_part(const struct espi_pack_cost *cost, double engine_ns)
{
    return engine_ns + TYPED_NS - cost->warm_ns - CALL_NS - MOVED_NS * (double)cost->bytes;
}

bool espi_pack_message_is_even(const struct espi_pack *pack, int64_t count, double engine_ns)
{
    const struct espi_pack_cost cost = espi_pack_cost(pack, count);

    return cost.blocks > 1 &&
           gain_of_one_part(&cost, engine_ns) + ESPI_PACK_DOUBT_NS + engine_ns / ESPI_PACK_DOUBT_PART > 0;
}

double espi_pack_message_gain(const struct espi_pack *pack, int64_t count, bool in_parts, bool near, bool dense,
                              double engine_ns)
{
    const struct espi_pack_cost cost = espi_pack_cost(pack, count);
    double gain;

    if (cost.blocks == 0 || (cost.blocks == 1 && dense)) /* without gaps: the library does what we would */
        return 0;
    if (cost.blocks == 1)
        return !in_parts ? espi_pack_run_gain(engine_ns) : near ? 0 : engine_ns / 2; /* a trial says it */
    if (!near && in_parts) /* a guess that is worth a trial */
        return engine_ns > 2 * cost.warm_ns ? (engine_ns - 2 * cost.warm_ns) / 2 : 0;
    if (!near)
        return espi_pack_gain(pack, count, engine_ns + TYPED_FAR_NS - CALL_NS);
    if (in_parts)
        gain = engine_ns - 2 * (cost.warm_ns + CALL_NS) +
               (espi_stream_may_go_in_cells(cost.bytes)
                    ? PARTS_NS - CELLS_NS * (double)cost.bytes
                    : -FETCH_NS + (FETCHED_NS - 2 * STREAMED_NS) * (double)cost.bytes);
    else
        gain = gain_of_one_part(&cost, engine_ns);
    return gain > engine_ns / CLEAR_MESSAGE + (in_parts ? CLEAR_LONG_NS : CLEAR_MESSAGE_NS) ? gain : 0;
}

enum espi_ways_open espi_pack_open(const struct espi_pack *pack, int64_t count, bool near, bool dense,
                                   double engine_ns)
{
    const struct espi_pack_cost cost = espi_pack_cost(pack, count);
    const double both = 2 * (cost.warm_ns + CALL_NS);

    if (cost.blocks <= 1 && dense)
        return ESPI_WAYS_NONE;
    if (!near || cost.blocks <= 1)
        return ESPI_WAYS_EVEN;
    if (engine_ns > FAR_LONGER * (both + START_NS + AWAY_NS * (double)cost.bytes))
        return ESPI_WAYS_SURE;
    return engine_ns + PARTS_NS < FAR_LESS * both ? ESPI_WAYS_NONE : ESPI_WAYS_EVEN;
}

double espi_pack_collective_gain(const struct espi_pack *pack, int64_t count, enum espi_packable use, bool in_parts,
                                 double engine_ns)
{
    const struct espi_pack_cost cost = espi_pack_cost(pack, count);
    /* of a call with blocks for all, and short ones, each bears its part of what the call costs */
    const bool each = use == ESPI_PACK_EACH || use == ESPI_PACK_EACH_HALF;
    const int sharers = !in_parts && (each || use == ESPI_PACK_BLOCKS || use == ESPI_PACK_HALF) ? BLOCKS_LEAST : 1;
    double gain = engine_ns - cost.warm_ns - COLLECTIVE_NS / sharers;

    if (cost.blocks <= 1 || (use == ESPI_PACK_REPLACED && !in_parts))
        return 0;
    if (in_parts && each && espi_stream_may_go_in_cells(cost.bytes)) {
        gain += PARTS_NS / 2 - CELLS_NS * (double)cost.bytes;
        return gain > engine_ns / CLEAR_MESSAGE + CLEAR_LONG_NS ? gain : 0;
    }
    if (espi_packs_blocks(use))
        gain += in_parts ? FETCHED_NS * (double)cost.bytes - cost.warm_ns - FETCH_NS
                         : (use == ESPI_PACK_BLOCKS || use == ESPI_PACK_EACH ? BLOCK_NS : HALF_NS);
    if (use == ESPI_PACK_STAGED) {
        gain += STAGED_NS + (cost.bytes < MAPPED ? FRESH_NS : MAPPED_NS) * (double)cost.bytes;
        return gain > engine_ns / CLEAR_MESSAGE + CLEAR_STAGED_NS ? gain : 0;
    }
    if (use != ESPI_PACK_SCHEDULED)
        gain -= COPIED_NS * (double)cost.bytes;
    return gain > engine_ns / CLEAR_MESSAGE + CLEAR_LONG_NS / sharers ? gain : 0;
}

int64_t espi_pack_limit(const struct espi_pack *pack, int64_t count, double gain_ns, double engine_ns)
{
    const struct espi_pack_cost cost = espi_pack_cost(pack, count);
    const double limit = cost.cold_ns + MISSED_NS * (double)(cost.lines < cost.blocks ? cost.lines : cost.blocks) +
                         gain_ns + engine_ns / CLEAR_MESSAGE + CLEAR_LONG_NS;

    return limit < 1e15 ? (int64_t)limit : (int64_t)1e15;
}

static void set_times(struct espi_type_times *times, bool parts, double ns)
{
    if (parts)
        times->partial = 1 + (uint64_t)(2 * ns);
    else
        times->pack = times->unpack = 1 + (uint64_t)ns;
}

void espi_pack_times(const struct espi_pack *pack, int64_t count, bool parts, double engine_ns,
                     struct espi_type_times *program, struct espi_type_times *next)
{
    set_times(program, parts, espi_pack_cost(pack, count).warm_ns / (double)count);
    set_times(next, parts, engine_ns / (double)count);
}
