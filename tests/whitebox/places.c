/*
 * Which ranks share a node, and pairs of them to be measured (src/mpi/netmodel/): found by one rank for all, so for
 * many ranks, placed in any way, it must not take long. Compared with plain, slow versions where ranks are few.
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/netmodel/link_bench.h"
#include "mpi/netmodel/topology.h"
#include "random_types.h"
#include "suite.h"

enum { FEW = 60, MANY = 1000000 };

static struct espi_topology number(int size, int *memory, const int **leads)
{
    struct espi_topology places = {.size = size};
    *leads = espi_topology_number(memory, &places);
    return places;
}

/* Numbers as they are defined. */
static void check_numbers(int size, const int *name, const struct espi_topology *places, const int *leads)
{
    int nodes = 0, runs = 0;
    for (int i = 0; i < size; i++) {
        int first = 0, mates = 0;
        while (name[first] != name[i])
            first++;
        for (int k = 0; k < size; k++)
            mates += name[k] == name[i];
        ck_assert_int_eq(places->node[i], first < i ? places->node[first] : nodes);
        ck_assert_int_eq(places->mates[i], mates);
        ck_assert_int_eq(leads[i] != 0, first == i);
        nodes += first == i;
        runs += i == 0 || name[i] != name[i - 1];
    }
    ck_assert_int_eq(places->size, size);
    ck_assert_int_eq(places->nodes, nodes);
    ck_assert_int_eq(places->ranges, runs == nodes);
}

/* Pairs are of the level, disjoint, and there is one wherever there can be one. */
static void check_pairs(const struct espi_topology *places, enum espi_level level)
{
    int pair[4][2], most = 1 + (int)random_below(4), n = espi_link_pairs(places, level, most, pair);
    bool possible = level == ESPI_LEVEL_NODE ? places->nodes < places->size : places->nodes > 1;
    ck_assert_int_le(n, most);
    ck_assert_int_eq(n > 0, possible);
    for (int q = 0; q < n; q++) {
        int a = pair[q][0], b = pair[q][1];
        ck_assert(a != b && a >= 0 && b >= 0 && a < places->size && b < places->size);
        ck_assert_int_eq(places->node[a] == places->node[b], level == ESPI_LEVEL_NODE);
        for (int k = 0; k < q; k++)
            ck_assert(pair[k][0] != a && pair[k][0] != b && pair[k][1] != a && pair[k][1] != b);
    }
}

START_TEST(few_ranks)
{
    for (int round = 0; round < 3000; round++) {
        int size = 1 + (int)random_below(FEW), name[FEW], *memory = malloc(espi_topology_bytes(size));
        int width = 1 + (int)random_below(FEW), way = (int)random_below(4);
        const int *leads;
        for (int i = 0; i < size; i++)
            name[i] = way == 0 ? i / width * width : way == 1 ? i % width : (int)random_below((uint64_t)width);
        memcpy(memory, name, (size_t)size * sizeof *name);
        struct espi_topology places = number(size, memory, &leads);
        check_numbers(size, name, &places, leads);
        check_pairs(&places, ESPI_LEVEL_NODE);
        check_pairs(&places, ESPI_LEVEL_NET);
        free(memory);
    }
}
END_TEST

/* Would take days if each rank were compared with each other one. */
START_TEST(many_ranks)
{
    int *memory = malloc(espi_topology_bytes(MANY));
    const int *leads;
    for (int way = 0; way < 5; way++) {
        for (int i = 0; i < MANY; i++)
            memory[i] = way == 0   ? i / 64 * 64            /* in blocks, */
                        : way == 1 ? i % (MANY / 64)        /* in turns, */
                        : way == 2 ? i - (i == MANY - 1)    /* alone but for the last two, */
                        : way == 3 ? MANY - i               /* all alone, the names falling, */
                                   : (i == MANY - 1) * 5;   /* on one node but for the last */
        struct espi_topology places = number(MANY, memory, &leads);
        int nodes[] = {MANY / 64, MANY / 64, MANY - 1, MANY, 2};
        ck_assert_int_eq(places.nodes, nodes[way]);
        check_pairs(&places, ESPI_LEVEL_NODE);
        check_pairs(&places, ESPI_LEVEL_NET);
    }
    free(memory);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "places", few_ranks, many_ranks);
}
