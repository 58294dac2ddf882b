/* When a pack program is said to save something (src/mpi/typeplan/pack_gain.h). */
#include <check.h>
#include <mpi.h>

#include "mpi/core/api_table.h"
#include "mpi/datatype/decode.h"
#include "mpi/packed/stream_type.h"
#include "mpi/typeplan/pack_gain.h"
#include "placement/placement.h"
#include "suite.h"
#include "type_service.h"

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

/* Of the ways below, from 4 on. */
static const struct {
    enum espi_packable use;
    bool in_parts;
} blocks[] = {{ESPI_PACK_BLOCKS, false},    {ESPI_PACK_BLOCKS, true}, {ESPI_PACK_STAGED, false},
              {ESPI_PACK_COPIED, false},    {ESPI_PACK_SCHEDULED, false}, {ESPI_PACK_HALF, false},
              {ESPI_PACK_BLOCK, false},     {ESPI_PACK_EACH, false}, {ESPI_PACK_EACH_HALF, false},
              {ESPI_PACK_EACH, true},       {ESPI_PACK_EACH_HALF, true}};
enum { MESSAGE_IN_PARTS = 2, BLOCKS_FROM = 4, EACH = 11, EACH_HALF, EACH_IN_PARTS, EACH_HALF_IN_PARTS, WAYS };

static double gain(int which, const struct espi_pack *pack, int64_t count, double engine_ns)
{
    if (which >= BLOCKS_FROM)
        return espi_pack_collective_gain(pack, count, blocks[which - BLOCKS_FROM].use,
                                         blocks[which - BLOCKS_FROM].in_parts, engine_ns);
    return which == 0 ? espi_pack_gain(pack, count, engine_ns)
                      : espi_pack_message_gain(pack, count, which == MESSAGE_IN_PARTS, which < 3, true, engine_ns);
}

/* Whether messages may go cell by cell. */
static void set_cells(bool open)
{
    if (open)
        start_cells();
    else
        espi_stream_types_close();
}

/* The more the engine takes the more is saved; nothing of that is more than the engine takes (and what a message
   costs beside); what is saved is never a little, but that messages of one part promise less than they save. */
START_TEST(monotone)
{
    for (size_t s = 0; s < 2 * sizeof shapes / sizeof *shapes; s++)
        for (int which = 0; which < WAYS; which++) {
            const struct espi_pack *pack = program(shapes[s / 2].n, shapes[s / 2].length, shapes[s / 2].stride);
            double last = 0;
            set_cells(s % 2);
            ck_assert(gain(which, pack, shapes[s / 2].count, 0) >= 0);
            for (double ns = 1; ns < 1e9; ns *= 1.1) {
                double now = gain(which, pack, shapes[s / 2].count, ns);
                ck_assert(now >= last && now <= ns + 1000);
                ck_assert(now == 0 || now >= (which == 0   ? ns / 16
                                              : which == 1 ? 1
                                              : which == 3 ? ns / 17 - 100
                                                           : ns / 8));
                last = now;
            }
            ck_assert(last > 0);
        }
    set_cells(false);
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
        ck_assert(espi_pack_message_gain(pack, shapes[s].count, true, true, true, own) == 0);
        ck_assert(espi_pack_message_gain(pack, shapes[s].count, true, true, true, 2 * own) == 0);
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
            ck_assert(gain(2, pack, shapes[s].count, ns) <= gain(1, pack, shapes[s].count, ns));
    }
    espi_arena_release(&arena);
}
END_TEST

/* A short message saves the library's general code for a type with gaps wherever it goes, less between nodes, where
   nothing is copied once more. */
START_TEST(short_messages)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
        const struct espi_pack_cost cost = espi_pack_cost(pack, shapes[s].count);
        const double near = espi_pack_message_gain(pack, shapes[s].count, false, true, true, cost.warm_ns),
                     far = espi_pack_message_gain(pack, shapes[s].count, false, false, true, cost.warm_ns);
        if (cost.warm_ns < 1000 && cost.bytes < 4096)
            ck_assert_msg(near > 0 && far > 0 && far < near, "%d blocks: %g near, %g far", shapes[s].n, near, far);
        ck_assert(espi_pack_message_gain(pack, shapes[s].count, false, false, true, cost.warm_ns - 90) == 0);
    }
    espi_arena_release(&arena);
}
END_TEST

/* Which ways are open: within a node all of them, between two engines' times that say more; between nodes always. */
START_TEST(open_ways)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
        const struct espi_pack_cost cost = espi_pack_cost(pack, shapes[s].count);
        const double both = 2 * (cost.warm_ns + 100), away = 0.12 * (double)cost.bytes + 1000;
        ck_assert_int_eq(espi_pack_open(pack, shapes[s].count, true, false, 2.01 * (both + away)), ESPI_WAYS_SURE);
        ck_assert_int_eq(espi_pack_open(pack, shapes[s].count, true, false, 1.99 * (both + away)), ESPI_WAYS_EVEN);
        ck_assert_int_eq(espi_pack_open(pack, shapes[s].count, true, false, both), ESPI_WAYS_EVEN);
        if (0.32 * both > 901)
            ck_assert_int_eq(espi_pack_open(pack, shapes[s].count, true, false, 0.32 * both - 900), ESPI_WAYS_NONE);
        for (double ns = 1; ns < 1e9; ns *= 10) {
            ck_assert_int_eq(espi_pack_open(pack, shapes[s].count, false, false, ns), ESPI_WAYS_EVEN);
            const double guess = espi_pack_message_gain(pack, shapes[s].count, true, false, true, ns);
            ck_assert(ns > 2 * cost.warm_ns ? guess > 0 && guess < ns / 2 + 1 : guess == 0);
        }
    }
    const struct espi_pack *solid = program(1, 50000, 50000);
    for (double ns = 1; ns < 1e9; ns *= 10) {
        ck_assert_int_eq(espi_pack_open(solid, 1, true, true, ns), ESPI_WAYS_NONE);
        ck_assert_int_eq(espi_pack_open(solid, 1, true, false, ns), ESPI_WAYS_EVEN);
        ck_assert_int_eq(espi_pack_open(solid, 1, false, true, ns), ESPI_WAYS_NONE);
        ck_assert_int_eq(espi_pack_open(solid, 1, false, false, ns), ESPI_WAYS_EVEN);
    }
    espi_arena_release(&arena);
}
END_TEST

/* Messages without gaps the library sends as they are; several items may be what has the gap. */
START_TEST(dense)
{
    const struct espi_pack *pack = program(1, 5000, 5000);

    for (int which = 2; which < 2 * WAYS; which++) {
        set_cells(which % 2);
        ck_assert(gain(which / 2, pack, 1, 1e6) == 0);
        ck_assert(gain(which / 2, pack, 7, 1e6) == 0);
    }
    set_cells(false);
    espi_arena_release(&arena);
}
END_TEST

/* Short messages that save nothing by the model, or not clearly, are even as long as they lose less than it may be
   wrong by; what it says to save something is. */
START_TEST(even)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
        const struct espi_pack_cost cost = espi_pack_cost(pack, shapes[s].count);
        /* engine + 300 - warm - 100 - bytes / 20 + 200 + engine / 4 is 0 there */
        const double border = (cost.warm_ns + (double)cost.bytes / 20 - 400) / 1.25;
        ck_assert_int_eq(espi_pack_message_is_even(pack, shapes[s].count, border - 1), false);
        ck_assert_int_eq(espi_pack_message_is_even(pack, shapes[s].count, border + 1), true);
        for (double ns = 1; ns < 1e6; ns *= 1.5)
            ck_assert(espi_pack_message_gain(pack, shapes[s].count, false, true, true, ns) == 0 ||
                      espi_pack_message_is_even(pack, shapes[s].count, ns));
    }
    ck_assert(!espi_pack_message_is_even(program(1, 500, 500), 1, 1e6)); /* a run goes where it stands */
    espi_arena_release(&arena);
}
END_TEST

/* One run of bytes whose extent is not its size: it goes where it stands, short ones always. */
START_TEST(runs)
{
    const struct espi_pack *pack = program(1, 500, 500);

    for (int near = 0; near < 2; near++)
        for (double ns = 1; ns < 1e6; ns *= 10) {
            ck_assert(espi_pack_message_gain(pack, 1, false, near, false, ns) == espi_pack_run_gain(ns));
            ck_assert(espi_pack_run_gain(ns) > ns);
            ck_assert(espi_pack_message_gain(pack, 1, false, near, true, ns) == 0);
            ck_assert(espi_pack_message_gain(pack, 1, true, near, false, ns) == (near ? 0 : ns / 2));
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

    ck_assert(espi_pack_message_gain(pack, 1, true, true, true, once * 8 / 7 + 500) == 0);
    ck_assert(espi_pack_message_gain(pack, 1, true, true, true, 2 * once + 10000) > 0);
    espi_arena_release(&arena);
}
END_TEST

/* Where messages may go cell by cell, long ones gain more, and so do blocks of collective calls that are messages;
   nothing else gains more or less. */
START_TEST(cells)
{
    int longer = 0;

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
        const bool is_long = espi_pack_cost(pack, shapes[s].count).bytes > 8255;
        longer += is_long;
        for (int which = 0; which < WAYS; which++) {
            const bool in_cells =
                is_long && (which == MESSAGE_IN_PARTS || which == EACH_IN_PARTS || which == EACH_HALF_IN_PARTS);
            bool more = false;
            for (double ns = 1; ns < 1e6; ns *= 1.1) {
                const double closed = gain(which, pack, shapes[s].count, ns);
                set_cells(true);
                const double open = gain(which, pack, shapes[s].count, ns);
                set_cells(false);
                ck_assert(in_cells ? open >= closed : open == closed);
                more = more || open > closed;
            }
            ck_assert_int_eq(more, in_cells);
        }
    }
    ck_assert_int_eq(longer, 2);
    espi_arena_release(&arena);
}
END_TEST

/* MPI_Sendrecv_replace of one part gains nothing that is sure; of several, as another block. */
START_TEST(replaced)
{
    const struct espi_api_row *row = &espi_api_rows[ESPI_FN_Sendrecv_replace];
    const espi_word args[9] = {1, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_SELF, 1};

    ck_assert_int_eq(espi_packable(row, &row->typed[0], args), ESPI_PACK_REPLACED);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
        for (double ns = 1; ns < 1e6; ns *= 1.1) {
            ck_assert(espi_pack_collective_gain(pack, shapes[s].count, ESPI_PACK_REPLACED, false, ns) == 0);
            ck_assert(espi_pack_collective_gain(pack, shapes[s].count, ESPI_PACK_REPLACED, true, ns) ==
                      espi_pack_collective_gain(pack, shapes[s].count, ESPI_PACK_BLOCK, true, ns));
        }
    }
    espi_arena_release(&arena);
}
END_TEST

/* A message that the library stages is packed where the engine takes no longer than the program, since its own buffer
   is saved; a short one only where the engine takes longer, and one of a nonblocking call never for that. */
START_TEST(staged)
{
    const struct espi_pack *pack = program(100, 2, 3);
    const double own = espi_pack_cost(pack, 20).warm_ns, one = espi_pack_cost(pack, 1).warm_ns;

    ck_assert(gain(6, pack, 20, own) > 0 && gain(8, pack, 20, own) == 0);
    ck_assert(gain(6, pack, 20, own) < own + 1000);
    ck_assert(gain(6, program(2, 1, 3), 1, 1) == 0);
    for (double ns = 1; ns < 1e6; ns *= 1.1)
        ck_assert(gain(6, pack, 1, ns) >= gain(8, pack, 1, ns) && gain(8, pack, 1, ns) >= gain(7, pack, 1, ns));
    ck_assert(gain(6, pack, 1, 2 * one + 100) > 0);
    espi_arena_release(&arena);
}
END_TEST

/* The method that a chain of pack, move and unpack is planned with: 1 for dense. `typed` and `packed` are what moving
   takes, `once` each end that is packed. */
static int planned(double typed, double packed, double once, int ends)
{
    static const int in[2] = {0, 1};
    struct espi_place_graph graph = ESPI_PLACE_GRAPH_INIT;
    struct espi_place_plan plan = ESPI_PLACE_PLAN_INIT;
    const double cost[2] = {typed, packed};
    struct espi_place_operand of = {0, 0};
    int op, at, method;

    ck_assert_int_eq(espi_place_graph_init(&graph, 2), ESPI_OK);
    ck_assert_int_eq(espi_place_add_table(&graph, &of.table), ESPI_OK);
    espi_place_set_move(&graph, 0, 0, 1, (struct espi_place_cost){once, 0});
    espi_place_set_move(&graph, 0, 1, 0, (struct espi_place_cost){once, 0});
    espi_place_add_op(&graph, 0, &op);
    espi_place_add_method(&graph, op, NULL, 0, (struct espi_place_cost){0, 0});
    espi_place_add_node(&graph, op, NULL, 1, &of.from);
    espi_place_add_op(&graph, 1, &op);
    for (int p = 0; p < 2; p++)
        espi_place_add_method(&graph, op, &in[p], p, (struct espi_place_cost){cost[p], 0});
    ck_assert_int_eq(espi_place_add_node(&graph, op, &of, 1, &at), ESPI_OK);
    of.from = at;
    espi_place_add_op(&graph, 1, &op); /* in the program's layout again, or wherever it is */
    at = ends == 2 ? 0 : ESPI_PLACE_ANY;
    espi_place_add_method(&graph, op, &at, 0, (struct espi_place_cost){0, 0});
    at = of.from;
    ck_assert_int_eq(espi_place_add_node(&graph, op, &of, 1, &method), ESPI_OK);
    ck_assert_int_eq(espi_place_plan(&graph, NULL, &plan), ESPI_OK);
    method = plan.method[at];
    espi_place_plan_release(&plan);
    espi_place_graph_release(&graph);
    return method;
}

/* Chains as doc/placement.md has them, with the margin among the costs of the dense way: the planner chooses
   alike. */
START_TEST(chains)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const struct espi_pack *pack = program(shapes[s].n, shapes[s].length, shapes[s].stride);
        const struct espi_pack_cost cost = espi_pack_cost(pack, shapes[s].count);
        const double w = cost.warm_ns, bytes = (double)cost.bytes;
        for (double ns = 1; ns < 1e6; ns *= 1.07) {
            const double margin = ns / 8;
            ck_assert_int_eq(gain(1, pack, shapes[s].count, ns) > 0,
                             planned(ns + 300, 100 + 0.05 * bytes + margin + 40, w, 1));
            ck_assert_int_eq(gain(2, pack, shapes[s].count, ns) > 0,
                             planned(ns, 200 + 3000 + 0.015 * bytes + margin + 100, w, 2));
            ck_assert_int_eq(gain(6, pack, shapes[s].count, ns) > 0,
                             planned(ns + 200 + 0.03 * bytes, 150 + margin + 60, w, 1));
            ck_assert_int_eq(gain(8, pack, shapes[s].count, ns) > 0, planned(ns, 150 + margin + 100, w, 1));
            ck_assert_int_eq(gain(4, pack, shapes[s].count, ns) > 0,
                             planned(ns + 240, 75 + 0.05 * bytes + margin + 50, w, 1));
            ck_assert_int_eq(gain(9, pack, shapes[s].count, ns) > 0,
                             planned(ns + 100, 75 + 0.05 * bytes + margin + 50, w, 1));
            ck_assert_int_eq(gain(10, pack, shapes[s].count, ns) > 0,
                             planned(ns + 100, 150 + 0.05 * bytes + margin + 100, w, 1));
            ck_assert_int_eq(gain(EACH, pack, shapes[s].count, ns) > 0,
                             planned(ns + 240, 75 + 0.05 * bytes + margin + 50, w, 1));
            ck_assert_int_eq(gain(EACH_HALF, pack, shapes[s].count, ns) > 0,
                             planned(ns + 100, 75 + 0.05 * bytes + margin + 50, w, 1));
            for (int which = EACH_IN_PARTS; which <= EACH_HALF_IN_PARTS; which++)
                ck_assert_int_eq(gain(which, pack, shapes[s].count, ns) > 0,
                                 planned(ns, 150 + 3000 + 0.035 * bytes + margin + 100, w, 2));
            if (bytes <= 8255)
                continue;
            set_cells(true);
            ck_assert_int_eq(gain(MESSAGE_IN_PARTS, pack, shapes[s].count, ns) > 0,
                             planned(ns + 900, 200 + 0.015 * bytes + margin + 100, w, 2));
            for (int which = EACH_IN_PARTS; which <= EACH_HALF_IN_PARTS; which++)
                ck_assert_int_eq(gain(which, pack, shapes[s].count, ns) > 0,
                                 planned(ns + 450, 150 + 0.015 * bytes + margin + 100, w, 1));
            set_cells(false);
        }
    }
    espi_arena_release(&arena);
}
END_TEST

/* What the report shows is of one item, and of both sides where a message goes in parts. */
START_TEST(times)
{
    const struct espi_pack *pack = program(100, 2, 3);
    struct espi_type_times own = {0}, next = {0};
    const double ns = espi_pack_cost(pack, 20).warm_ns / 20;

    espi_pack_times(pack, 20, false, 20000, &own, &next);
    ck_assert(own.pack == own.unpack && own.pack == 1 + (uint64_t)ns && own.partial == 0);
    ck_assert(next.pack == 1001 && next.unpack == 1001 && next.partial == 0);
    espi_pack_times(pack, 20, true, 20000, &own, &next);
    ck_assert(own.partial == 1 + (uint64_t)(2 * ns) && next.partial == 2001 && next.pack == 1001);
    espi_arena_release(&arena);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "pack_gain", monotone, not_clear, parts, short_messages, even, open_ways, dense,
                     runs, streams, cells, staged, replaced, chains, times);
}
