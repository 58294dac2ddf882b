/* Nodes of ranks: what a mapping of the launcher says against the same written out rank by rank. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "mpi/mapping.h"
#include "random.h"
#include "runner.h"

static void expect(const char *mapping, const int *nodes, int ranks)
{
    for (int rank = 0; rank < ranks; rank++)
        ck_assert_msg(espi_mapping_node(mapping, rank) == nodes[rank], "%s: rank %d on node %d, expected %d", mapping,
                      rank, espi_mapping_node(mapping, rank), nodes[rank]);
}

START_TEST(one_node)
{
    const int nodes[9] = {0};
    expect("(vector,(0,1,9))", nodes, 9);
    /* What Hydra says for any number of ranks on the host it was started on, if it was told no slots. */
    expect("(vector,(0,1,1))", nodes, 9);
    expect("(vector,(0,1,4))", nodes, 9);
}
END_TEST

START_TEST(several_nodes)
{
    expect("(vector,(0,3,2))", (int[]){0, 0, 1, 1, 2, 2}, 6);
    expect("(vector,(0,2,1),(2,1,3),(7,1,1))", (int[]){0, 1, 2, 2, 2, 7}, 6);
}
END_TEST

START_TEST(more_ranks_than_slots)
{
    expect("(vector,(0,2,1))", (int[]){0, 1, 0, 1, 0, 1, 0}, 7);
    expect("(vector,(0,1,1),(1,2,2))", (int[]){0, 1, 1, 2, 2, 0, 1, 1, 2, 2, 0}, 11);
    /* Spawned jobs: the rest of a node first, then all nodes from the first on. */
    expect("(vector,(1,1,1),(0,2,2))", (int[]){1, 0, 0, 1, 1, 0, 0, 1, 1, 0}, 10);
    expect("(vector,(3,1,1),(4,1,2))", (int[]){3, 4, 4, 3, 4, 4, 3}, 7);
}
END_TEST

START_TEST(not_understood)
{
    static const char *const texts[] = {
        "", "0", "(", "()", "vector", "(vector", "(vector)", "(vector,", "(vector,)", "(vector,())",
        "(vector,(0,1,1)",
        "(vector,(0,1,1)),", "(vector,(0,1,1)) ", " (vector,(0,1,1))", "(vector, (0,1,1))", "(vector,( 0,1,1))",
        "(vector,(0 ,1,1))", "(vector,(0, 1,1))", "(vector,(0,1,1),)", "(vector,(0,1,1)))", "(vector,(0,1,1)(1,1,1))",
        "(vector,(0,1,1)x", "(vector,(0,1,1)x)", "(vector,(0,1,1))x", "vector,(0,1,1)", "(Vector,(0,1,1))",
        "(vector(0,1,1))", "(matrix,(0,1,1))", "(vector,(0,1))", "(vector,(0,1,1,1))", "(vector,(,1,1))",
        "(vector,(0,,1))", "(vector,(0,1,))", "(vector,0,1,1)", "(vector,(0,1,1),(1,1)", "(vector,(0,1,1),(1,0,1))",
        "(vector,(-1,1,1))", "(vector,(0,-1,1))", "(vector,(0,1,-1))", "(vector,(+0,1,1))", "(vector,(0,+1,1))",
        "(vector,(0,0,1))", "(vector,(0,1,0))", "(vector,(00,1,1))", "(vector,(0,01,1))", "(vector,(0x0,1,1))",
        "(vector,(0,1,1e0))", "(vector,(0,1.0,1))", "(vector,(a,b,c))", "(vector,(0,1,1)\n)",
        "(vector,(0,1,10000000))", "(vector,(0,10000000,1))", "(vector,(10000000,1,1))", "(vector,(0,1,2147483648))",
        "(vector,(0,4294967297,1))", "(vector,(0,1,18446744073709551617))",
        "(vector,(0,1,99999999999999999999999999999999999999999999))", "(vector,(0,1,1),(0,1,10000000))",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int rank = 0; rank < 3; rank++)
            ck_assert_msg(espi_mapping_node(texts[i], rank) == -1, "'%s' was understood", texts[i]);
    ck_assert_int_eq(espi_mapping_node("(vector,(0,1,1))", -1), -1);
    ck_assert_int_eq(espi_mapping_node("(vector,(0,1,1))", INT_MIN), -1);
}
END_TEST

/* The largest rank, the largest numbers, sums of them beyond 32 bits. */
START_TEST(large)
{
    char text[4096] = "(vector";
    size_t used = strlen(text);
    ck_assert_int_eq(espi_mapping_node("(vector,(0,1,1))", INT_MAX), 0);
    ck_assert_int_eq(espi_mapping_node("(vector,(0,2,1))", INT_MAX), 1);
    ck_assert_int_eq(espi_mapping_node("(vector,(5,9999999,1))", 9999998), 10000003);
    ck_assert_int_eq(espi_mapping_node("(vector,(5,9999999,1))", 9999999), 5);
    ck_assert_int_eq(espi_mapping_node("(vector,(9999999,9999999,1))", 9999998), 19999997);
    ck_assert_int_eq(espi_mapping_node("(vector,(0,9999999,9999999))", INT_MAX), INT_MAX / 9999999);
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ",(%d,9999999,9999999)", i);
    snprintf(text + used, sizeof text - used, ")");
    ck_assert_int_eq(espi_mapping_node(text, 0), 0);
    ck_assert_int_eq(espi_mapping_node(text, INT_MAX), INT_MAX / 9999999);
}
END_TEST

enum { BLOCKS = 4, RANKS = 200 };

START_TEST(any_blocks)
{
    for (int round = 0; round < 2000; round++) {
        int n = 1 + (int)random_in(0, BLOCKS - 1), first[BLOCKS], count[BLOCKS], each[BLOCKS], nodes[RANKS], from = 0;
        char text[256];
        int used = snprintf(text, sizeof text, "(vector");
        for (int b = 0; b < n; b++) {
            first[b] = (int)random_in(0, 3);
            count[b] = (int)random_in(1, 5);
            each[b] = (int)random_in(1, 5);
            used += snprintf(text + used, sizeof text - (size_t)used, ",(%d,%d,%d)", first[b], count[b], each[b]);
        }
        snprintf(text + used, sizeof text - (size_t)used, ")");
        for (int rank = 0; rank < RANKS;) {
            for (int b = from; b < n; b++)
                for (int i = 0; i < count[b] * each[b] && rank < RANKS; i++)
                    nodes[rank++] = first[b] + i / each[b];
            for (from = 0; from < n && first[from] != 0; from++)
                ;
            from = from < n ? from : 0;
        }
        expect(text, nodes, RANKS);
        /* Cut off anywhere it says nothing; with a byte changed, nothing or a node. */
        size_t cut = (size_t)random_in(0, used);
        char part[sizeof text];
        memcpy(part, text, cut);
        part[cut] = '\0';
        ck_assert_msg(espi_mapping_node(part, 0) == -1, "'%s' was understood", part);
        memcpy(part, text, (size_t)used + 2);
        part[cut] = (char)random_in(1, 255);
        ck_assert_int_ge(espi_mapping_node(part, (int)random_in(0, INT_MAX)), -1);
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-mapping", 120, NULL, NULL, one_node, several_nodes, more_ranks_than_slots, not_understood,
                     large, any_blocks);
}
