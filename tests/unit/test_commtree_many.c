/* Trees of many ranks: groups of neighbours (grouped.c), and the parts of a tree that its ranks are told (parts.c).
   The last test hands plans down for up to 1,000,000 ranks, as src/mpi/gather/hand_down.c does, counts messages and
   bytes, and prints the table of doc/gather-calls.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commtree/parts.h"
#include "commtree_support.h"
#include "random.h"
#include "runner.h"

/* The simulated cluster of bench/results/trees-sim-512.tsv. */
static const struct espi_commtree_model cluster = {1e-6, 2.28e-10, 7.63e-14, 3.01e-6, true};

/* A tree over the ranks with data and the root, in which subtrees are ranges. The forms of trees of any size. */
static void check_tree(const struct espi_commtree *tree, const struct espi_commtree_problem *problem)
{
    struct espi_tree_record *records = malloc((size_t)tree->n * sizeof *records);
    struct espi_tree_place *places = malloc((size_t)tree->p * sizeof *places);
    int taking_part = 0;
    for (int v = 0; v < problem->p; v++)
        taking_part += problem->size[v] > 0 || v == problem->root;
    ck_assert_int_eq(tree->n, taking_part ? taking_part : 1);
    ck_assert(problem->root == ESPI_COMMTREE_BEST || tree->root == problem->root);
    ck_assert(tree->ordered);
    ck_assert_int_eq(espi_tree_parts(tree, problem->size, records, places), ESPI_OK);
    ck_assert_int_eq(records[0].n, tree->n);
    free(records);
    free(places);
}

static double grouped_time(const struct espi_commtree_problem *problem, const struct espi_commtree_levels *levels)
{
    struct espi_commtree tree;
    double time = -1;
    ck_assert_int_eq(espi_commtree_grouped(problem, levels, &tree), ESPI_OK);
    check_tree(&tree, problem);
    if (levels)
        ck_assert_int_eq(espi_commtree_time_levels(&tree, problem->size, levels, ESPI_COMMTREE_GATHER, &time),
                         ESPI_OK);
    else
        time = time_of(&tree, problem);
    espi_commtree_release(&tree);
    return time;
}

START_TEST(few_ranks_are_exact)
{
    static int64_t size[ESPI_COMMTREE_GROUPED_RANKS];
    for (int round = 0; round < 2000; round++) {
        int p = (int)random_in(1, round % 100 ? 40 : ESPI_COMMTREE_GROUPED_RANKS);
        struct espi_commtree_problem problem = random_problem(p, size, SMALL_GAMMA, round % 2);
        expect_time(grouped_time(&problem, NULL), build_time(ESPI_COMMTREE_OPTIMAL, &problem), "few ranks", &problem);
    }
}
END_TEST

/* Nothing is promised but a tree; how near the optimum it is says the test of distributions. */
START_TEST(any_problem_has_a_tree)
{
    static int64_t size[3000];
    static int node[3000];
    for (int round = 0; round < 60; round++) {
        int p = (int)random_in(1, 3000), width = (int)random_in(1, 700);
        enum gamma_kind gamma = round % 3 ? SMALL_GAMMA : ANY_GAMMA;
        struct espi_commtree_problem problem = random_problem(p, size, gamma, round % 2);
        struct espi_commtree_levels levels = {node, problem.model, problem.model};
        levels.within.alpha /= 3;
        for (int v = 0; v < p; v++)
            node[v] = round % 5 ? v / width : v % width;
        for (int k = 0; k < 3 && round % 4 == 0; k++)
            size[random_in(0, p - 1)] = random_in(1, 1 << 30);
        grouped_time(&problem, round % 2 ? &levels : NULL);
    }
}
END_TEST

START_TEST(no_data_at_all)
{
    static int64_t size[1000];
    struct espi_commtree_problem problem = {1000, size, 77, cluster, 0};
    ck_assert_double_eq(grouped_time(&problem, NULL), 0);
    problem.root = ESPI_COMMTREE_BEST;
    ck_assert_double_eq(grouped_time(&problem, NULL), 0);
}
END_TEST

START_TEST(wrong_arguments)
{
    int64_t size[3] = {1, 2, 3};
    struct espi_commtree_problem problem = {3, size, 5, cluster, 0};
    struct espi_commtree_levels levels = {NULL, cluster, cluster};
    struct espi_commtree tree;
    ck_assert_int_eq(espi_commtree_grouped(&problem, NULL, &tree), ESPI_ERR_ARGUMENT);
    problem.root = 1;
    ck_assert_int_eq(espi_commtree_grouped(&problem, &levels, &tree), ESPI_ERR_ARGUMENT);
    size[0] = INT64_MAX;
    ck_assert_int_eq(espi_commtree_grouped(&problem, NULL, &tree), ESPI_ERR_OVERFLOW);
}
END_TEST

/* Of each distribution the time is within a tenth of the optimum for tiny blocks, within a fiftieth for larger ones,
   and for more ranks than the optimal construction takes, of what the heuristics make and of the bound. */
START_TEST(near_the_optimum)
{
    static const int64_t bytes[] = {1, 1000, 10000};
    static int64_t size[2000];
    double worst[3] = {1, 1, 1};
    for (int d = 0; d < ESPI_DISTS; d++)
        for (int b = 0; b < 3; b++) {
            int p = (int)random_in(600, 2000);
            struct espi_commtree_problem problem = {p, size, (int)random_in(0, p - 1), cluster, 0};
            ck_assert_int_eq(espi_commtree_dist_fill((enum espi_commtree_dist)d, p, bytes[b], 5, random_next(), size),
                             ESPI_OK);
            double ratio = grouped_time(&problem, NULL) / build_time(ESPI_COMMTREE_OPTIMAL, &problem);
            worst[b] = ratio > worst[b] ? ratio : worst[b];
        }
    printf("groups against the optimum: blocks of 1, 1,000, 10,000 bytes: %.3f, %.3f, %.3f at most\n", worst[0],
           worst[1], worst[2]);
    ck_assert_double_le(worst[0], 1.15);
    ck_assert_double_le(worst[1], 1.02);
    ck_assert_double_le(worst[2], 1.02);
}
END_TEST

/* Nodes of 16: no worse than the optimal tree that knows no nodes. */
START_TEST(nodes_are_known)
{
    static int64_t size[1500];
    static int node[1500];
    for (int round = 0; round < 10; round++) {
        int p = (int)random_in(600, 1500);
        struct espi_commtree_problem problem = {p, size, (int)random_in(0, p - 1), cluster, 0};
        struct espi_commtree_levels levels = {node, cluster, cluster};
        struct espi_commtree flat;
        double time;
        levels.within.alpha /= 4;
        levels.within.latency /= 4;
        levels.within.beta /= 2;
        for (int v = 0; v < p; v++) {
            node[v] = v / 16;
            size[v] = random_in(1, 2000);
        }
        ck_assert_int_eq(espi_commtree_build(ESPI_COMMTREE_OPTIMAL, &problem, &flat), ESPI_OK);
        ck_assert_int_eq(espi_commtree_time_levels(&flat, size, &levels, ESPI_COMMTREE_GATHER, &time), ESPI_OK);
        espi_commtree_release(&flat);
        ck_assert_double_le(grouped_time(&problem, &levels), time);
    }
}
END_TEST

/* ---- parts ---- */

/* Each rank's part, looked up in the tree itself. */
START_TEST(parts_say_what_the_tree_says)
{
    static int64_t size[300];
    static const enum espi_commtree_kind kinds[] = {ESPI_COMMTREE_LINEAR, ESPI_COMMTREE_BINOMIAL,
                                                    ESPI_COMMTREE_ADAPTIVE, ESPI_COMMTREE_OPTIMAL};
    for (int round = 0; round < 400; round++) {
        int p = (int)random_in(1, 300);
        struct espi_commtree_problem problem = random_problem(p, size, SMALL_GAMMA, false);
        struct espi_commtree tree;
        struct espi_tree_record records[300];
        struct espi_tree_place places[300];
        int seen[300] = {0};
        ck_assert_int_eq(espi_commtree_build_compact(kinds[round % 4], &problem, &tree), ESPI_OK);
        ck_assert_int_eq(espi_tree_parts(&tree, size, records, places), ESPI_OK);
        for (int x = 0; x < tree.n; x++) {
            int v = records[x].rank, children = 0;
            seen[v]++;
            ck_assert_int_eq(records[x].size, size[v]);
            ck_assert_int_eq(records[x].n, places[v].n);
            ck_assert_int_eq(places[v].parent, tree.parent[v]);
            for (int at = x + 1; at < x + records[x].n; at += records[at].n, children++)
                ck_assert_int_eq(records[at].rank, tree.child[tree.first[v] + children]);
            ck_assert_int_eq(children, places[v].children);
            ck_assert_int_eq(children, tree.first[v + 1] - tree.first[v]);
        }
        for (int v = 0; v < p; v++) {
            ck_assert_int_eq(seen[v], tree.parent[v] != ESPI_COMMTREE_ABSENT);
            if (!seen[v])
                ck_assert(places[v].n == 0 && places[v].parent == ESPI_COMMTREE_ABSENT);
        }
        espi_commtree_release(&tree);
    }
}
END_TEST

START_TEST(parts_of_no_plan)
{
    int64_t size[4] = {1, 2, 3, 4};
    struct espi_tree_record records[4];
    struct espi_tree_place places[4];
    struct espi_commtree tree; /* 0 <- 1 <- 3, 0 <- 2: the subtree of 1 is no range */
    ck_assert_int_eq(espi_commtree_from_joins(4, 0, 3, (const int[]){3, 1, 2}, (const int[]){1, 0, 0}, false, &tree),
                     ESPI_OK);
    ck_assert_int_eq(espi_tree_parts(&tree, size, records, places), ESPI_ERR_ARGUMENT);
    espi_commtree_release(&tree);
    ck_assert_int_eq(espi_commtree_from_joins(4, 0, 3, (const int[]){2, 1, 3}, (const int[]){1, 0, 0}, true, &tree),
                     ESPI_OK);
    ck_assert_int_eq(espi_tree_parts(&tree, size, records, places), ESPI_OK);
    size[0] = 0; /* the root may be without data, */
    ck_assert_int_eq(espi_tree_parts(&tree, size, records, places), ESPI_OK);
    size[2] = 0; /* no other rank of the tree */
    ck_assert_int_eq(espi_tree_parts(&tree, size, records, places), ESPI_ERR_ARGUMENT);
    espi_commtree_release(&tree);
}
END_TEST

/* ---- plans handed down, counted ---- */

struct handed {
    int64_t messages, bytes, largest, from_root; /* from_root: messages that the root sends */
    int64_t rank_bytes, rank_messages;           /* of the rank other than the root that handles most */
    int depth;
};

/* Each rank takes its stretch of records from its parent, and sends each child that child's. */
static struct handed hand_down(const struct espi_commtree *tree, const struct espi_tree_record *records,
                               const struct espi_tree_place *places)
{
    struct handed sum = {0};
    int *deep = malloc((size_t)tree->p * sizeof *deep);
    deep[tree->root] = 0;
    for (int x = 0; x < tree->n; x++) {
        int v = records[x].rank;
        int64_t taken = x > 0 ? records[x].n : 0, passed = 0, messages = x > 0;
        for (int at = x + 1; at < x + records[x].n; at += records[at].n) {
            int64_t bytes = records[at].n * (int64_t)sizeof *records;
            ck_assert_int_eq(places[records[at].rank].parent, v); /* it knows whom to expect it from, */
            ck_assert_int_eq(places[records[at].rank].n, records[at].n); /* and how much */
            deep[records[at].rank] = deep[v] + 1;
            sum.depth = deep[v] + 1 > sum.depth ? deep[v] + 1 : sum.depth;
            sum.messages++;
            sum.bytes += bytes;
            sum.largest = bytes > sum.largest ? bytes : sum.largest;
            passed += bytes;
            messages++;
        }
        taken = taken * (int64_t)sizeof *records + passed;
        if (x == 0) {
            sum.from_root = messages;
        } else {
            sum.rank_bytes = taken > sum.rank_bytes ? taken : sum.rank_bytes;
            sum.rank_messages = messages > sum.rank_messages ? messages : sum.rank_messages;
        }
    }
    free(deep);
    return sum;
}

START_TEST(plans_at_scale)
{
    static const int ranks[] = {64, 512, 4096, 65536, 1000000};
    printf("plans handed down, skewed blocks of 1,000 bytes: ranks, messages, messages of the root, of another rank "
           "at most, depth, bytes in all, bytes of a rank in the mean, bytes of the largest message\n");
    for (size_t x = 0; x < sizeof ranks / sizeof *ranks; x++) {
        int p = ranks[x];
        int64_t *size = malloc((size_t)p * sizeof *size);
        struct espi_tree_record *records = malloc((size_t)p * sizeof *records);
        struct espi_tree_place *places = malloc((size_t)p * sizeof *places);
        struct espi_commtree_problem problem = {p, size, p / 2, cluster, 0};
        struct espi_commtree tree;
        double logarithm = log2(p);
        ck_assert_int_eq(espi_commtree_dist_fill(ESPI_DIST_SKEWED, p, 1000, 5, 1, size), ESPI_OK);
        ck_assert_int_eq(espi_commtree_grouped(&problem, NULL, &tree), ESPI_OK);
        ck_assert_int_eq(espi_tree_parts(&tree, size, records, places), ESPI_OK);
        struct handed sum = hand_down(&tree, records, places);
        printf("%d\t%lld\t%lld\t%lld\t%d\t%lld\t%lld\t%lld\n", p, (long long)sum.messages, (long long)sum.from_root,
               (long long)sum.rank_messages, sum.depth, (long long)sum.bytes, (long long)(sum.bytes / p),
               (long long)sum.largest);
        ck_assert_int_eq(sum.messages, p - 1); /* one for each edge */
        /* The parts of all ranks are their subtrees: a record for each rank above. A whole tree to each would be p
           records for each rank. */
        ck_assert_double_le((double)sum.bytes, 16 * (double)p * logarithm);
        espi_commtree_release(&tree);
        free(size);
        free(records);
        free(places);
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-commtree-many", 120, NULL, NULL, few_ranks_are_exact, any_problem_has_a_tree,
                     no_data_at_all, wrong_arguments, near_the_optimum, nodes_are_known, parts_say_what_the_tree_says,
                     parts_of_no_plan, plans_at_scale);
}
