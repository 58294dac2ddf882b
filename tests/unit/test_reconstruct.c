/* Exact reconstruction against the plain procedure, and its promises on any input. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "random.h"
#include "runner.h"
#include "reconstruct/parts.h"

static struct espi_arena arena;
static struct espi_typemap map;

static void setup(void)
{
    arena = ESPI_ARENA_INIT;
    map = ESPI_TYPEMAP_INIT;
}

static void teardown(void)
{
    espi_arena_release(&arena);
    espi_typemap_release(&map);
}

static void show(const struct espi_typemap *what)
{
    for (size_t i = 0; i < what->n; i++) {
        printf("%s%s@%" PRId64, i > 0 ? " " : "", espi_base_info(what->base[i])->name, what->disp[i]);
    }
    printf("\n");
}

/* What holds for every result: the map comes back, the cost is the tree's. */
static void check_result(const struct espi_typemap *m, const struct espi_reconstruct_options *options,
                         const struct espi_reconstruction *result)
{
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    ck_assert_int_eq(espi_flatten(result->tree, 0, m->n, &again), ESPI_OK);
    if (!espi_typemap_equal(m, &again)) {
        show(m);
        espi_print_file(result->tree, 0, stdout);
        ck_abort_msg("another type map");
    }
    espi_typemap_release(&again);
    ck_assert_int_eq(espi_cost(result->tree, &options->costs), result->cost);
    ck_assert_int_le(result->lower_bound, result->cost);
    ck_assert(!result->exact || result->lower_bound == result->cost);
    ck_assert(espi_tree_in_set(result->tree, options->set));
}

static void check_exact(const struct espi_typemap *m, enum espi_set set, struct espi_costs costs)
{
    struct espi_reconstruct_options options;
    struct espi_reconstruction result;
    espi_reconstruct_defaults(&options);
    options.set = set;
    options.costs = costs;
    ck_assert_int_eq(espi_reconstruct(&arena, m, NULL, &options, &result), ESPI_OK);
    ck_assert(result.exact);
    check_result(m, &options, &result);
    int64_t least = oracle_cost(m, set, &costs);
    if (least != result.cost) {
        show(m);
        espi_print_file(result.tree, 0, stdout);
        ck_abort_msg("\nset %d, cost %" PRId64 ", the plain procedure has %" PRId64, set, result.cost, least);
    }
    ck_assert_int_eq(espi_reconstruct_dense(&arena, m, &options, &result), ESPI_OK);
    check_result(m, &options, &result);
    ck_assert_int_eq(result.cost, least);
}

/* All sequences of n displacements from `values` differences, with `bases` base types. */
static void exhaust(size_t n, int64_t values, int64_t bases, int64_t start)
{
    static const char *const names[] = {"MPI_INT", "MPI_DOUBLE"};
    int64_t total = 1, choices = values * bases;
    for (size_t i = 0; i < n; i++) {
        total *= choices;
    }
    for (int64_t code = 0; code < total; code++) {
        int64_t rest = code, at = start;
        map.n = 0;
        for (size_t i = 0; i < n; i++, rest /= choices) {
            const char *name = names[rest % bases];
            at += i == 0 ? 0 : (rest / bases % values - 1) * 4;
            ck_assert_int_eq(espi_typemap_append(&map, espi_base_find(name, strlen(name)), at), ESPI_OK);
        }
        check_exact(&map, ESPI_SET_MPI, espi_costs_default);
        check_exact(&map, ESPI_SET_BASIC, espi_costs_default);
        check_exact(&map, ESPI_SET_MPI, random_costs());
        espi_arena_release(&arena);
    }
}

START_TEST(every_short_sequence)
{
    for (size_t n = 1; n <= 4; n++) {
        exhaust(n, 3, 2, 0);
        exhaust(n, 3, 2, -8);
    }
    for (size_t n = 5; n <= 7; n++) {
        exhaust(n, 3, 1, 0);
    }
    exhaust(6, 3, 1, 12);
}
END_TEST

/* The plain search for strided buckets takes long: short sequences only. */
START_TEST(strided_buckets)
{
    for (int round = 0; round < 2500; round++) {
        map.n = 0;
        random_map(&map, 10);
        check_exact(&map, ESPI_SET_EXTENDED, random_costs());
        if (round % 50 == 0) {
            espi_arena_release(&arena);
        }
    }
    for (size_t n = 3; n <= 6; n++) { /* every sequence of differences 0, 1, 2, at a price that makes buckets win */
        int64_t total = 1;
        for (size_t i = 1; i < n; i++) {
            total *= 4;
        }
        for (int64_t code = 0; code < total; code++) {
            struct espi_costs costs = espi_costs_default;
            int64_t rest = code, at = code % 3 == 0 ? 7 : 0;
            costs.bucket = 1;
            map.n = 0;
            for (size_t i = 0; i < n; i++) {
                ck_assert_int_eq(espi_typemap_append(&map, 0, at), ESPI_OK);
                at += rest % 4;
                rest /= 4;
            }
            check_exact(&map, ESPI_SET_EXTENDED, costs);
        }
    }
}
END_TEST

START_TEST(random_sequences)
{
    for (int round = 0; round < 6000; round++) {
        map.n = 0;
        random_map(&map, round % 10 == 0 ? 40 : 18);
        check_exact(&map, ESPI_SET_MPI, random_costs());
        check_exact(&map, ESPI_SET_BASIC, random_costs());
        if (round % 50 == 0) {
            espi_arena_release(&arena);
        }
    }
}
END_TEST

/* Parses a tree, flattens it, and checks the cost of its reconstruction and, unless NULL, its text. */
static void known(const char *text, int64_t cost, const char *wanted)
{
    const struct espi_node *tree;
    struct espi_reconstruct_options options;
    struct espi_reconstruction result;
    char got[4000];
    espi_reconstruct_defaults(&options);
    ck_assert_int_eq(espi_parse(&arena, text, strlen(text), &tree, NULL), ESPI_OK);
    map.n = 0;
    ck_assert_int_eq(espi_flatten(tree, 0, 100000, &map), ESPI_OK);
    ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &result), ESPI_OK);
    check_result(&map, &options, &result);
    espi_print(result.tree, 0, got, sizeof got);
    if (wanted != NULL) {
        ck_assert_str_eq(got, wanted);
    }
    ck_assert_int_eq(result.cost, cost);
}

START_TEST(known_layouts)
{
    const char *row_column = "struc(2,<0,4000>,<vec(1000,4,leaf(MPI_INT)),vec(999,4000,leaf(MPI_INT))>)";
    known("leaf(MPI_INT)", 2, "leaf(MPI_INT)");
    known("idx(1,<8>,leaf(MPI_INT))", 6, "idx(1,<8>,leaf(MPI_INT))");
    known("struc(0,<>,<>)", 2, "struc(0,<>,<>)");
    known(row_column, 18, row_column);
    known("vec(30,100,vec(20,8,leaf(MPI_DOUBLE)))", 10, "vec(30,100,vec(20,8,leaf(MPI_DOUBLE)))");
    known("vec(30,160,vec(20,8,leaf(MPI_DOUBLE)))", 6, "vec(600,8,leaf(MPI_DOUBLE))");
    known("vec(2000,0,leaf(MPI_INT))", 6, "vec(2000,0,leaf(MPI_INT))");
    known("vec(1500,-4,leaf(MPI_INT))", 6, "vec(1500,-4,leaf(MPI_INT))");
    /* Lemma 7: a bucket list takes the shift, or a list below the vec does. */
    known("idx(1,<64>,vec(9,8,leaf(MPI_INT)))", 8, "idxbuc(1,8,<64>,<9>,leaf(MPI_INT))");
    known("vec(5,1000,idx(4,<3,8,100,70>,leaf(MPI_INT)))", 13, "vec(5,1000,idx(4,<3,8,100,70>,leaf(MPI_INT)))");
    known("vec(5,100,idx(3,<4,9,12>,leaf(MPI_INT)))", 12, "vec(5,100,idx(3,<4,9,12>,leaf(MPI_INT)))");
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    struct espi_reconstruct_options options;
    struct espi_reconstruction result;
    espi_base base = espi_base_find("MPI_INT", 7);
    espi_reconstruct_defaults(&options);
    ck_assert_int_eq(espi_typemap_append(&map, base, 0), ESPI_OK);
    options.costs.vec = -1;
    ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &result), ESPI_ERR_ARGUMENT);
    options.costs.vec = ESPI_COST_MAX + 1;
    ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &result), ESPI_ERR_ARGUMENT);
    espi_reconstruct_defaults(&options);
    map.base[0] = ESPI_BASE_NONE;
    ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &result), ESPI_ERR_ARGUMENT);
    map.base[0] = base;
    map.disp[0] = INT64_MAX;
    ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &result), ESPI_ERR_OVERFLOW);
}
END_TEST

START_TEST(far_displacements_hold)
{
    struct espi_reconstruct_options options;
    struct espi_reconstruction result;
    espi_base base = espi_base_find("MPI_INT", 7);
    const int64_t far[] = {INT64_MIN, INT64_MAX - 8, 0, INT64_MIN + 4, INT64_MAX - 100};
    espi_reconstruct_defaults(&options);
    for (size_t n = 1; n <= 5; n++) {
        map.n = 0;
        for (size_t i = 0; i < n; i++) {
            ck_assert_int_eq(espi_typemap_append(&map, i == 4 ? espi_base_find("MPI_DOUBLE", 10) : base, far[i]),
                             ESPI_OK);
        }
        ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &result), ESPI_OK);
        check_result(&map, &options, &result);
    }
}
END_TEST

/* The extended set beyond the limit: exact within a bound of work, and where that is short, said not to be. */
START_TEST(extended_beyond_the_limit)
{
    for (int round = 0; round < 400; round++) {
        struct espi_reconstruct_options options;
        struct espi_reconstruction beyond, narrower, exact;
        espi_reconstruct_defaults(&options);
        options.costs = random_costs();
        map.n = 0;
        random_map(&map, 120);
        options.set = ESPI_SET_MPI;
        ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &narrower), ESPI_OK);
        options.set = ESPI_SET_EXTENDED;
        ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &exact), ESPI_OK);
        options.exact_limit = 3;
        ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &beyond), ESPI_OK);
        check_result(&map, &options, &beyond);
        ck_assert(exact.exact && beyond.exact);
        ck_assert_int_eq(exact.cost, beyond.cost);
        ck_assert_int_le(beyond.cost, narrower.cost);
        options.budget_ns = 1;
        ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &beyond), ESPI_OK);
        check_result(&map, &options, &beyond);
        ck_assert_int_le(exact.cost, beyond.cost);
        ck_assert_int_le(beyond.lower_bound, exact.cost);
        ck_assert(map.n <= 3 || beyond.exact == (beyond.cost == beyond.lower_bound));
        if (round % 50 == 0) {
            espi_arena_release(&arena);
        }
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-reconstruct", 300, setup, teardown, known_layouts, every_short_sequence, strided_buckets,
                     random_sequences, bad_arguments_are_refused, far_displacements_hold, extended_beyond_the_limit);
}
