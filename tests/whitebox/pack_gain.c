/* When a pack program is said to save something (src/mpi/typeplan/pack_gain.h). */
#include <check.h>
#include <mpi.h>

#include "mpi/datatype/decode.h"
#include "mpi/typeplan/pack_gain.h"
#include "suite.h"

static struct espi_arena arena = ESPI_ARENA_INIT;

/* A program for `n` blocks of `length` integers, `stride` apart; frees the type. */
static const struct espi_pack *program(int n, int length, int stride)
{
    struct espi_decoded layout;
    const struct espi_pack *pack;
    MPI_Datatype type;

    MPI_Type_vector(n, length, stride, MPI_INT, &type);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&arena, layout.tree, layout.extent, &pack), ESPI_OK);
    MPI_Type_free(&type);
    return pack;
}

static const struct {
    int n, length, stride;
    int64_t count;
} shapes[] = {{10, 1, 2, 1}, {100, 2, 3, 1}, {100, 2, 3, 20}, {2000, 1, 5, 1}, {16, 64, 100, 1}, {16, 64, 100, 3}};

/* Which of the eight. */
static double gain(int which, const struct espi_pack *pack, int64_t count, double engine_ns)
{
    if (which >= 4)
        return espi_pack_collective_gain(pack, count,
                                         which < 6    ? ESPI_PACK_BLOCKS
                                         : which == 6 ? ESPI_PACK_STAGED
                                                      : ESPI_PACK_COPIED,
                                         which == 5, engine_ns);
    return which == 0 ? espi_pack_gain(pack, count, engine_ns)
                      : espi_pack_message_gain(pack, count, which == 2, which < 3, engine_ns);
}

/* The more the engine takes the more is saved; nothing of that is more than the engine takes (and what a message
   costs beside); what is saved is never a little, but that messages of one part promise less than they save. */
START_TEST(monotone)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int which = 0; which < 8; which++) {
            const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
            double last = 0;
            ck_assert(gain(which, pack, shapes[s].count, 0) >= 0);
            for (double ns = 1; ns < 1e9; ns *= 1.1) {
                double now = gain(which, pack, shapes[s].count, ns);
                ck_assert(now >= last && now <= ns + 1000);
                ck_assert(now == 0 || now >= (which == 0   ? ns / 16
                                              : which == 1 ? 1
                                              : which == 3 ? ns / 17 - 100
                                                           : ns / 8));
                last = now;
            }
            ck_assert(last > 0);
        }
    espi_arena_release(&arena);
}
END_TEST

/* The program is not preferred to an engine that takes about as long. */
START_TEST(not_clear)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
        const double own = espi_pack_cost(pack, shapes[s].count).warm_ns;
        ck_assert(espi_pack_gain(pack, shapes[s].count, own) == 0);
        ck_assert(espi_pack_gain(pack, shapes[s].count, own + 20) == 0);
        ck_assert(espi_pack_gain(pack, shapes[s].count, own * 1.05) == 0);
        ck_assert(espi_pack_gain(pack, shapes[s].count, 2 * own + 100) > 0);
        ck_assert(espi_pack_message_gain(pack, shapes[s].count, true, true, own) == 0);
        ck_assert(espi_pack_message_gain(pack, shapes[s].count, true, true, 2 * own) == 0);
    }
    espi_arena_release(&arena);
}
END_TEST

/* A message of several parts asks for more than the same message in one part would. */
START_TEST(parts)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
        for (double ns = 1; ns < 1e9; ns *= 1.1)
            ck_assert(gain(2, pack, shapes[s].count, ns) <= gain(1, pack, shapes[s].count, ns) &&
                      gain(3, pack, shapes[s].count, ns) <= gain(0, pack, shapes[s].count, ns) &&
                      espi_pack_message_gain(pack, shapes[s].count, true, false, ns) == 0);
    }
    espi_arena_release(&arena);
}
END_TEST

/* Messages without gaps the library sends as they are; several items may be what has the gap. */
START_TEST(dense)
{
    const struct espi_pack *pack = program(1, 5000, 5000);

    for (int which = 1; which < 8; which++) {
        ck_assert(gain(which, pack, 1, 1e6) == 0);
        ck_assert(gain(which, pack, 7, 1e6) == 0);
    }
    espi_arena_release(&arena);
}
END_TEST

/* A message in parts costs both sides their programs, and a stream beyond the caches: it wins where the engine takes
   clearly more than that, not before. */
START_TEST(streams)
{
    const struct espi_pack *pack = program(1690, 25, 80);
    const double once = 2 * (espi_pack_cost(pack, 1).warm_ns + 100) + 3000;

    ck_assert(espi_pack_message_gain(pack, 1, true, true, once * 8 / 7 + 500) == 0);
    ck_assert(espi_pack_message_gain(pack, 1, true, true, 2 * once + 10000) > 0);
    espi_arena_release(&arena);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "pack_gain", monotone, not_clear, parts, dense, streams);
}
