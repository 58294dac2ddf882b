/* Folding: the same tree, equal subtrees built once, both costs. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "runner.h"
#include "reconstruct/fold.h"
#include "reconstruct/parts.h"
#include "reconstruct/reconstruct.h"

static struct espi_arena arena;

static void teardown(void)
{
    espi_arena_release(&arena);
}

static const struct espi_node *parse(const char *text)
{
    const struct espi_node *tree = NULL;
    ck_assert_int_eq(espi_parse(&arena, text, strlen(text), &tree, NULL), ESPI_OK);
    return tree;
}

static struct espi_folded fold(const struct espi_node *tree)
{
    struct espi_folded folded;
    ck_assert_int_eq(espi_fold(&arena, tree, &espi_costs_default, &folded), ESPI_OK);
    ck_assert(espi_node_equal(folded.tree, tree));
    ck_assert_int_eq(folded.tree_cost, espi_cost(tree, &espi_costs_default));
    return folded;
}

#define TWENTY "idx(20,<0,3,7,12,14,21,22,29,37,41,50,53,61,66,67,80,86,95,97,111>,leaf(MPI_INT))"

/* The papers' figure: a list of twenty irregular displacements used four times. */
START_TEST(twenty_displacements_used_four_times)
{
    const struct espi_node *tree = parse("struc(4,<0,1000,5000,9000>,<" TWENTY ",vec(2,600," TWENTY "),"
                                         "vec(3,700," TWENTY "),idx(2,<0,901>," TWENTY ")>)");
    struct espi_folded f = fold(tree);
    ck_assert_int_eq(f.tree_cost, (2 + 2 * 4) + 4 * (3 + 20 + 2) + 4 + 4 + (3 + 2));
    ck_assert_int_eq(f.dag_cost, (2 + 2 * 4) + (3 + 20 + 2) + 4 + 4 + (3 + 2));
    ck_assert_uint_eq(f.nodes, 6);
    ck_assert_ptr_eq(f.tree->sub[0], f.tree->sub[1]->child);
    ck_assert_ptr_eq(f.tree->sub[0], f.tree->sub[2]->child);
    ck_assert_ptr_eq(f.tree->sub[0], f.tree->sub[3]->child);
}
END_TEST

/* The same list four times in a type map, with other things between, found again by reconstruction. */
START_TEST(found_in_a_type_map)
{
    const struct espi_node *tree =
        parse("struc(7,<0,1000,2000,3000,4000,5000,6000>,<" TWENTY ",vec(5,16,leaf(MPI_DOUBLE))," TWENTY
              ",vec(6,24,leaf(MPI_DOUBLE))," TWENTY ",vec(7,32,leaf(MPI_DOUBLE))," TWENTY ">)");
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_reconstruct_options options;
    struct espi_reconstruction result;
    espi_reconstruct_defaults(&options);
    ck_assert_int_eq(espi_flatten(tree, 0, 1000, &map), ESPI_OK);
    ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &result), ESPI_OK);
    struct espi_folded f = fold(result.tree);
    ck_assert_int_eq(f.tree_cost, (2 + 2 * 7) + 4 * (3 + 20 + 2) + 3 * (4 + 2));
    ck_assert_int_eq(f.dag_cost, (2 + 2 * 7) + (3 + 20 + 2) + 3 * 4 + 2);
    espi_typemap_release(&map);
}
END_TEST

START_TEST(small_cases)
{
    ck_assert_int_eq(fold(parse("leaf(MPI_INT)")).dag_cost, 2);
    ck_assert_int_eq(fold(parse("struc(0,<>,<>)")).dag_cost, 2);
    struct espi_folded f = fold(parse("struc(3,<0,4,8>,<leaf(MPI_INT),leaf(MPI_INT),leaf(MPI_FLOAT)>)"));
    ck_assert_int_eq(f.dag_cost, 8 + 2 + 2);
    ck_assert_uint_eq(f.nodes, 3);
    /* Equal but for one displacement: not the same. */
    f = fold(parse("struc(2,<0,40>,<idx(2,<0,8>,leaf(MPI_INT)),idx(2,<0,9>,leaf(MPI_INT))>)"));
    ck_assert_uint_eq(f.nodes, 4);
}
END_TEST

/* T(k) = T(k - 1), one element, T(k - 1), the two T(k - 1) being one node, or two that are equal: a run of 2^(k + 1)
   - 1 elements whose paths from the root to a leaf are as many. */
static const struct espi_node *doubling(int levels, bool twice)
{
    const struct espi_node *leaf = parse("leaf(MPI_INT)"), *below = leaf, *other = leaf;
    for (int level = 0; level < levels; level++) {
        const struct espi_node *made[2] = {NULL, NULL};
        for (int k = 0; k < (twice ? 2 : 1); k++) {
            const struct espi_node **sub = espi_arena_calloc(&arena, 3, sizeof *sub);
            int64_t *disp = espi_arena_calloc(&arena, 3, sizeof *disp);
            sub[0] = below;
            sub[1] = leaf;
            sub[2] = other;
            disp[1] = below->true_ub;
            disp[2] = disp[1] + 4;
            ck_assert_int_eq(espi_node_struc(&arena, 3, disp, sub, &made[k]), ESPI_OK);
        }
        below = made[0];
        other = twice ? made[1] : made[0];
    }
    return below;
}

/* Nothing may walk the paths: there are 2^59. */
START_TEST(time_is_that_of_the_different_nodes)
{
    enum { LEVELS = 58 };
    const struct espi_node *tree = doubling(LEVELS, false), *other = doubling(LEVELS, true), *copy;
    struct espi_reconstruct_options options;
    int64_t start, entries;
    ck_assert(espi_node_equal(tree, other));
    ck_assert(!espi_node_equal(tree, other->sub[0]));
    ck_assert_int_eq(espi_cost(doubling(20, true), &espi_costs_default), 8 * ((1 << 20) - 1) + 2 * ((1 << 21) - 1));
    ck_assert_int_eq(espi_cost(tree, &espi_costs_default), 12 * (INT64_C(1) << LEVELS) - 10);
    for (int twice = 0; twice < 2; twice++) {
        struct espi_folded f = fold(twice ? other : tree);
        ck_assert_uint_eq(f.nodes, LEVELS + 1);
        ck_assert_int_eq(f.dag_cost, 8 * LEVELS + 2);
        ck_assert_int_eq(f.tree_cost, 12 * (INT64_C(1) << LEVELS) - 10);
        ck_assert_int_eq(espi_node_single_base(twice ? other : tree), tree->sub[1]->base);
        ck_assert(espi_node_run(twice ? other : tree, 4, &start, &entries));
        ck_assert_int_eq(entries, (INT64_C(1) << (LEVELS + 1)) - 1);
        ck_assert(espi_tree_in_set(twice ? other : tree, ESPI_SET_BASIC));
        ck_assert_int_eq(espi_node_copy(&arena, twice ? other : tree, &copy), ESPI_OK);
        ck_assert(espi_node_equal(copy, tree));
    }
    espi_reconstruct_defaults(&options);
    ck_assert_int_le(espi_tree_lower_bound(other, &options), 10);
}
END_TEST

/* Nodes of a tree, one entry per use; the oracle compares all pairs. */
static void list(const struct espi_node *node, const struct espi_node **all, size_t *n)
{
    for (; node != NULL; node = node->child) {
        if (*n == 4000)
            return;
        all[(*n)++] = node;
        for (int64_t j = 0; node->kind == ESPI_STRUC && j < node->count; j++)
            list(node->sub[j], all, n);
    }
}

START_TEST(random_trees)
{
    static const struct espi_node *before[4000], *after[4000];
    for (int i = 0; i < 2000; i++) {
        size_t n = 0, m = 0, different = 0;
        const struct espi_node *tree = random_tree(&arena, 4);
        struct espi_folded f = fold(tree);
        list(tree, before, &n);
        list(f.tree, after, &m);
        ck_assert_uint_eq(n, m);
        for (size_t k = 0; k < n && n < 4000; k++) {
            bool first = true;
            for (size_t j = 0; j < k; j++) {
                ck_assert(espi_node_equal(before[j], before[k]) == (after[j] == after[k]));
                first = first && after[j] != after[k];
            }
            different += first;
        }
        if (n < 4000)
            ck_assert_uint_eq(different, f.nodes);
        ck_assert_int_le(f.dag_cost, f.tree_cost);
        espi_arena_release(&arena);
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-fold", 120, NULL, teardown, twenty_displacements_used_four_times, found_in_a_type_map,
                     small_cases, time_is_that_of_the_different_nodes, random_trees);
}
