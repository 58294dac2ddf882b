#include "mpi/typeplan/engine_calibrate.h"

#include <mpi.h>
#include <stddef.h>

#include "base/cpu.h"
#include "base/table.h"
#include "mpi/comm/self_comm.h"
#include "mpi/core/pmpi.h"
#include "pack/pack.h"
#include "stats/stats.h"

enum { BLOCKS = 256, EACH = 2, ROUNDS = 8, DENSE = 4096 };

struct bench {
    double from[BLOCKS * (EACH + 1) + 1], packed[BLOCKS * EACH];
    MPI_Comm comm;
};

/* Least nanoseconds of packing `count` of a type. */
static double pack_ns(struct bench *b, MPI_Datatype type, int count)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t begun = espi_stats_now();
        int at = 0;
        if (espi_pmpi.Pack(b->from, count, type, b->packed, sizeof b->packed, &at, b->comm) != MPI_SUCCESS)
            return -1;
        begun = espi_stats_now() - begun;
        least = begun < least ? begun : least;
    }
    return (double)least;
}

/* Commits a type that was made, packs one, and frees it. */
static double take(struct bench *b, int made, MPI_Datatype *type)
{
    double ns = -1;

    if (made != MPI_SUCCESS)
        return ns;
    if (espi_pmpi.Type_commit(type) == MPI_SUCCESS)
        ns = pack_ns(b, *type, 1);
    espi_pmpi.Type_free(type);
    return ns;
}

/* A vector, as one kernel, and as a struct of its blocks, which the engine takes one by one. The blocks are of two
   types in turns, so that the library does not take them for one list. And a list of as many blocks, by turns a
   double nearer and farther, so that it is no vector. One type at a time: of three for a program MPICH has the room
   at hand, and more than these take it long (packed/stream_type.h). */
static bool measure(struct bench *b, struct espi_engine *engine)
{
    static int length[BLOCKS] ESPI_TABLE;
    static MPI_Aint at[BLOCKS] ESPI_TABLE;
    static MPI_Datatype types[BLOCKS] ESPI_TABLE;
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++) {
        length[i] = EACH;
        types[i] = i % 2 == 0 ? MPI_DOUBLE : MPI_INT64_T; /* of the same size */
        at[i] = (MPI_Aint)((size_t)i * (EACH + 1) * sizeof(double));
    }
    const double kernel = take(b, espi_pmpi.Type_create_hvector(BLOCKS, EACH, (EACH + 1) * sizeof(double), MPI_DOUBLE,
                                                                &type), &type);
    const double steps = take(b, espi_pmpi.Type_create_struct(BLOCKS, length, at, types, &type), &type);
    for (int i = 1; i < BLOCKS; i += 2)
        at[i] += (MPI_Aint)sizeof(double);
    const double list = take(b, espi_pmpi.Type_create_hindexed_block(BLOCKS, EACH, at, MPI_DOUBLE, &type), &type);
    const double empty = pack_ns(b, MPI_DOUBLE, 1), dense = pack_ns(b, MPI_DOUBLE, DENSE / (int)sizeof(double));
    engine->element = (kernel - empty) / (BLOCKS * EACH);
    engine->step = (steps - kernel) / BLOCKS;
    engine->copied = DENSE / (dense - empty);
    engine->listed = (list - kernel) / BLOCKS;
    return kernel > 0 && steps > 0 && list > 0 && empty > 0 && dense > empty;
}

/* What a pack program takes of what is predicted for it: of the same vector. 1: that is not known. */
static double program_ratio(struct bench *b)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *node;
    const struct espi_pack *pack;
    uint64_t least = UINT64_MAX, nothing = UINT64_MAX;
    double ratio = 1;
    espi_status status = espi_node_leaf(&arena, espi_base_find("MPI_DOUBLE", sizeof "MPI_DOUBLE" - 1), &node);

    if (status == ESPI_OK)
        status = espi_node_vec(&arena, EACH, sizeof(double), node, &node);
    if (status == ESPI_OK)
        status = espi_node_vec(&arena, BLOCKS, (EACH + 1) * sizeof(double), node, &node);
    if (status == ESPI_OK && espi_pack_compile(&arena, node, sizeof b->from, &pack) == ESPI_OK) {
        for (int i = 0; i < ROUNDS; i++) {
            const uint64_t begun = espi_stats_now(), then = espi_stats_now();
            espi_pack_run(pack, b->from, 1, b->packed);
            const uint64_t took = espi_stats_now() - then;
            least = took < least ? took : least;
            nothing = then - begun < nothing ? then - begun : nothing;
        }
        ratio = least > nothing ? (double)(least - nothing) / espi_pack_cost(pack, 1).warm_ns : 1;
    }
    espi_arena_release(&arena);
    return ratio;
}

/* Within a factor of ten of what was seen elsewhere: a disturbance, and not a machine, is outside of it. */
enum { OFF = 10 };
static bool is_sensible(double value, double usual)
{
    return value > usual / OFF && value < usual * OFF;
}

struct espi_engine espi_engine(void)
{
    static struct bench bench ESPI_TABLE;
    static struct espi_engine engine;
    static bool known;
    const struct espi_engine usual = ESPI_ENGINE_USUAL;

    if (known)
        return engine;
    const uint64_t begun = espi_stats_now();
    engine = usual;
    bench.comm = espi_self_for_packing();
    if (bench.comm == MPI_COMM_NULL)
        return usual;
    struct espi_engine seen;
    if (measure(&bench, &seen)) {
        const bool step = is_sensible(seen.step, usual.step), element = is_sensible(seen.element, usual.element),
                   copied = is_sensible(seen.copied, usual.copied);
        if (step)
            engine.step = seen.step;
        if (element)
            engine.element = seen.element;
        if (copied)
            engine.copied = seen.copied;
        /* What is less than times stray by is next to nothing. */
        if (seen.listed < usual.listed * OFF)
            engine.listed = seen.listed > usual.listed / OFF ? seen.listed : usual.listed / OFF;
        engine.measured = step && element && copied;
        const double ratio = program_ratio(&bench);
        if (engine.measured && is_sensible(ratio, 1))
            espi_pack_cost_scale(ratio);
    }
    engine.fetches = espi_cpu_is_intel();
    known = true;
    espi_count_anywhere(ESPI_COUNT_time_measure, espi_stats_now() - begun);
    return engine;
}
