/* The sparse exact method against plain procedures and against the dense method. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "plain.h"
#include "random.h"
#include "runner.h"
#include "reconstruct/parts.h"
#include "reconstruct/sparse/sparse.h"

static struct espi_typemap map;
static int64_t done;

static void setup(void)
{
    map = ESPI_TYPEMAP_INIT;
    done = 0;
}

static void teardown(void)
{
    espi_typemap_release(&map);
    printf("  %" PRId64 " maps\n", done);
}

static void show(enum espi_set set, const struct espi_costs *c, const struct espi_node *tree)
{
    for (size_t i = 0; i < map.n; i++)
        printf("%s%s@%" PRId64, i > 0 ? " " : "", espi_base_info(map.base[i])->name, map.disp[i]);
    printf("\nset %d, leaf=%" PRId64 ",vec=%" PRId64 ",idx=%" PRId64 ",idx_each=%" PRId64 ",idxbuc=%" PRId64
           ",idxbuc_each=%" PRId64 ",struc=%" PRId64 ",struc_each=%" PRId64 ",bucket=%" PRId64
           ",bucket_each=%" PRId64 "\n",
           set, c->leaf, c->vec, c->idx, c->idx_each, c->idxbuc, c->idxbuc_each, c->struc, c->struc_each, c->bucket,
           c->bucket_each);
    espi_print_file(tree, 0, stdout);
    printf("\n");
}

/* The same answer is due however much is solved ahead of need: nothing, a little, or what the product allows. */
static espi_status solve(struct espi_arena *arena, const struct espi_reconstruct_options *options,
                         struct espi_reconstruction *result)
{
    static const uint64_t ahead[] = {0, 300, 5000000};
    return espi_sparse_reconstruct(arena, &map, options, 0, ahead[done % 3], result);
}

/* Solves `map`; checks that the tree is one of the map and of the cost that was told. */
static int64_t sparse_cost(enum espi_set set, const struct espi_costs *costs)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_reconstruct_options options;
    struct espi_reconstruction result;
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    espi_reconstruct_defaults(&options);
    options.set = set;
    options.costs = *costs;
    ck_assert_int_eq(solve(&arena, &options, &result), ESPI_OK);
    ck_assert_int_eq(espi_flatten(result.tree, 0, map.n, &again), ESPI_OK);
    if (!espi_typemap_equal(&map, &again)) {
        show(set, costs, result.tree);
        ck_abort_msg("another type map");
    }
    ck_assert_int_eq(espi_cost(result.tree, costs), result.cost);
    ck_assert(result.exact && result.lower_bound == result.cost);
    espi_typemap_release(&again);
    espi_arena_release(&arena);
    done++;
    return result.cost;
}

static int64_t dense_cost(enum espi_set set, const struct espi_costs *costs)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_reconstruct_options options;
    struct espi_reconstruction result;
    espi_reconstruct_defaults(&options);
    options.set = set;
    options.costs = *costs;
    ck_assert_int_eq(espi_reconstruct_dense(&arena, &map, &options, &result), ESPI_OK);
    espi_arena_release(&arena);
    return result.cost;
}

static void check(enum espi_set set, const struct espi_costs *costs, int64_t least, const char *who)
{
    int64_t cost = sparse_cost(set, costs);
    if (cost != least) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_reconstruct_options options;
        struct espi_reconstruction result;
        done--; /* solve as before */
        espi_reconstruct_defaults(&options);
        options.set = set;
        options.costs = *costs;
        ck_assert_int_eq(solve(&arena, &options, &result), ESPI_OK);
        show(set, costs, result.tree);
        ck_abort_msg("n = %zu: cost %" PRId64 ", the %s procedure has %" PRId64, map.n, cost, who, least);
    }
}

/* Every sequence of n entries with differences 1 .. values and `bases` base types, by the plain procedure. */
static void exhaust(size_t n, int64_t values, int64_t bases, int64_t start)
{
    espi_base base[2] = {espi_base_find("MPI_INT", 7), espi_base_find("MPI_DOUBLE", 10)};
    int64_t total = 1;
    for (size_t i = 0; i < n; i++)
        total *= (i > 0 ? values : 1) * bases;
    for (int64_t code = 0; code < total; code++) {
        int64_t rest = code, at = start;
        map.n = 0;
        for (size_t i = 0; i < n; i++) {
            if (i > 0) {
                at += 1 + rest % values;
                rest /= values;
            }
            ck_assert_int_eq(espi_typemap_append(&map, base[rest % bases], at), ESPI_OK);
            rest /= bases;
        }
        for (int set = ESPI_SET_BASIC; set <= ESPI_SET_EXTENDED; set++)
            check(set, &espi_costs_default, plain_cost(&map, set, &espi_costs_default), "plain");
    }
}

START_TEST(all_small_maps)
{
    for (size_t n = 1; n <= 14; n++)
        exhaust(n, 2, 1, 0);
    for (size_t n = 1; n <= 12; n++)
        exhaust(n, 2, 1, 5);
    for (size_t n = 1; n <= 9; n++)
        exhaust(n, 3, 1, 0);
    for (size_t n = 1; n <= 7; n++)
        exhaust(n, 2, 2, 0);
    for (size_t n = 1; n <= 6; n++)
        exhaust(n, 2, 2, -3);
}
END_TEST

START_TEST(random_small_maps_and_costs)
{
    for (int i = 0; i < 60000; i++) {
        struct espi_costs costs = random_costs();
        enum espi_set set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
        map.n = 0;
        if (i % 2)
            random_map(&map, 24);
        else
            repetitive_map(&map, 24);
        check(set, &costs, plain_cost(&map, set, &costs), "plain");
    }
}
END_TEST

START_TEST(random_maps_default_costs)
{
    for (int i = 0; i < 50000; i++) {
        enum espi_set set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
        map.n = 0;
        if (i % 2)
            random_map(&map, i % 5 ? 30 : 60);
        else
            repetitive_map(&map, i % 5 ? 30 : 60);
        check(set, &espi_costs_default, plain_cost(&map, set, &espi_costs_default), "plain");
    }
}
END_TEST

/* Runs of one stride with gaps, whose lengths are mostly multiples of a block length, one often long: how many pairs
   of blocks inside a run Lemma 5 has to keep. */
static void gaps(int64_t q, int64_t runs, int64_t longest)
{
    espi_base base = espi_base_find("MPI_INT", 7);
    int64_t at = 0, odd = random_in(0, 3) == 0 ? random_in(1, 3) : 2;
    map.n = 0;
    for (int64_t r = 0, big = random_in(0, runs - 1); r < runs; r++) {
        int64_t blocks = r == big ? random_in(1, longest) : random_in(1, 2);
        for (int64_t k = blocks * q + (random_in(0, 9) == 0); k > 0; k--, at += 1)
            ck_assert_int_eq(espi_typemap_append(&map, base, 4 * at), ESPI_OK);
        at += random_in(0, 3) > 0 ? odd : random_in(1, 4);
    }
}

START_TEST(runs_with_gaps)
{
    /* idx(8, .., vec(2, ..)), 17 words, against two vec in a struc, 18: the long run has 7 blocks */
    for (int64_t k = 0; k < 16; k++)
        ck_assert_int_eq(espi_typemap_append(&map, 0, 8 * (k < 14 ? k : k + 1)), ESPI_OK);
    check(ESPI_SET_BASIC, &espi_costs_default, 17, "paper");
    for (int i = 0; i < 20000; i++) {
        enum espi_set set = (enum espi_set)(i % 3);
        struct espi_costs costs = i % 4 == 0 ? espi_costs_default : random_costs();
        if (i % 4 > 1) { /* dear parts, cheap lists: condition V holds and long lists are worth while */
            costs = espi_costs_default;
            costs.struc_each = random_in(0, 12);
            costs.struc = random_in(0, 12);
            costs.idx_each = random_in(1, 3);
            costs.idxbuc_each = random_in(1, 9);
            costs.bucket = random_in(2, 9);
            costs.bucket_each = random_in(1, 4);
        }
        gaps(random_in(2, 4), random_in(2, 4), 8);
        check(set, &costs, plain_cost(&map, set, &costs), "plain");
    }
}
END_TEST

START_TEST(plain_agrees_with_the_plainer)
{
    for (int i = 0; i < 3000; i++) {
        struct espi_costs costs = random_costs();
        enum espi_set set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
        map.n = 0;
        if (i % 2)
            random_map(&map, 12);
        else
            repetitive_map(&map, 12);
        check(set, &costs, oracle_cost(&map, set, &costs), "plainest");
    }
}
END_TEST

START_TEST(longer_maps_against_dense)
{
    for (int i = 0; i < 600; i++) {
        struct espi_costs costs = i % 2 ? espi_costs_default : random_costs();
        enum espi_set set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
        map.n = 0;
        if (i % 3)
            repetitive_map(&map, i % 10 ? 150 : 400);
        else
            random_map(&map, i % 10 ? 150 : 400);
        check(set, &costs, dense_cost(set, &costs), "dense");
    }
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    return RUN_SUITE("test-sparse", 600, setup, teardown, all_small_maps, plain_agrees_with_the_plainer,
                     random_small_maps_and_costs, random_maps_default_costs, runs_with_gaps,
                     longer_maps_against_dense);
}
