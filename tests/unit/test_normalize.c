/* Normalization in place and the bounded method: same type map, never worse, no time or memory per entry. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "random.h"
#include "runner.h"
#include "reconstruct/parts.h"

static struct espi_arena arena;
static struct espi_reconstruct_options options;

static void setup(void)
{
    arena = ESPI_ARENA_INIT;
    espi_reconstruct_defaults(&options);
}

static void teardown(void)
{
    espi_arena_release(&arena);
}

static const struct espi_node *parse(const char *text)
{
    const struct espi_node *tree = NULL;
    ck_assert_msg(espi_parse(&arena, text, strlen(text), &tree, NULL) == ESPI_OK, "%s", text);
    return tree;
}

static void same_map(const struct espi_node *a, const struct espi_node *b)
{
    struct espi_typemap x = ESPI_TYPEMAP_INIT, y = ESPI_TYPEMAP_INIT;
    ck_assert_int_eq(espi_flatten(a, 0, 10000000, &x), ESPI_OK);
    ck_assert_int_eq(espi_flatten(b, 0, 10000000, &y), ESPI_OK);
    if (!espi_typemap_equal(&x, &y)) {
        espi_print_file(a, 20, stdout);
        printf("\n");
        espi_print_file(b, 20, stdout);
        ck_abort_msg("another type map");
    }
    espi_typemap_release(&x);
    espi_typemap_release(&y);
}

static void huge(const char *text, const char *wanted)
{
    struct espi_reconstruction result;
    char got[1000];
    ck_assert_int_eq(espi_normalize(&arena, parse(text), &options, &result), ESPI_OK);
    espi_print(result.tree, 0, got, sizeof got);
    ck_assert_str_eq(got, wanted);
    ck_assert_int_eq(espi_cost(result.tree, &options.costs), result.cost);
    ck_assert_int_le(result.lower_bound, result.cost);
    ck_assert_uint_lt(arena.bytes, 10 << 20);
    ck_assert_uint_lt(result.elapsed_ns, UINT64_C(2000000000));
}

START_TEST(huge_trees_are_never_flattened)
{
    huge("vec(1000000000,16,leaf(MPI_DOUBLE))", "vec(1000000000,16,leaf(MPI_DOUBLE))");
    huge("vec(1000000,800,vec(100,8,leaf(MPI_DOUBLE)))", "vec(100000000,8,leaf(MPI_DOUBLE))");
    huge("vec(1,5,vec(1000000,800,vec(100,8,vec(1,0,leaf(MPI_DOUBLE)))))", "vec(100000000,8,leaf(MPI_DOUBLE))");
    huge("vec(1000000,0,vec(1000,0,leaf(MPI_INT)))", "vec(1000000000,0,leaf(MPI_INT))");
    huge("idx(3,<0,8,16>,vec(1000000,1000,leaf(MPI_INT)))", "vec(3,8,vec(1000000,1000,leaf(MPI_INT)))");
    huge("struc(2,<8,0>,<vec(1000000,100,vec(1000,4,leaf(MPI_INT))),struc(1,<4>,<vec(1000000,100,leaf(MPI_INT))>)>)",
         "struc(2,<8,4>,<vec(1000000,100,vec(1000,4,leaf(MPI_INT))),vec(1000000,100,leaf(MPI_INT))>)");
    huge("struc(3,<0,9,18>,<vec(1000000,4,leaf(MPI_INT)),vec(1000,4000,vec(1000,4,leaf(MPI_INT))),"
         "vec(1000000,4,leaf(MPI_INT))>)",
         "vec(3,9,vec(1000000,4,leaf(MPI_INT)))");
    huge("vec(2,1000,vec(2,100000,vec(10000000,4,leaf(MPI_INT))))",
         "idx(4,<0,100000,1000,101000>,vec(10000000,4,leaf(MPI_INT)))");
    huge("vec(1000000,8,idx(1,<24>,leaf(MPI_INT)))", "idxbuc(1,8,<24>,<1000000>,leaf(MPI_INT))");
    huge("struc(3,<0,5,7>,<vec(0,1,leaf(MPI_INT)),vec(1000000,8,leaf(MPI_INT)),struc(0,<>,<>)>)",
         "idxbuc(1,8,<5>,<1000000>,leaf(MPI_INT))");
    options.set = ESPI_SET_BASIC;
    huge("idxbuc(2,8,<0,8000>,<1000,10000000>,leaf(MPI_INT))",
         "struc(2,<0,8000>,<vec(1000,8,leaf(MPI_INT)),vec(10000000,8,leaf(MPI_INT))>)");
}
END_TEST

START_TEST(shared_subtrees_are_done_once)
{
    const struct espi_node *tree = parse("struc(2,<0,20000>,<vec(1000,4,leaf(MPI_INT)),"
                                         "vec(1000,8,leaf(MPI_DOUBLE))>)");
    struct espi_reconstruction result;
    for (int level = 0; level < 30; level++) {
        const struct espi_node **sub = espi_arena_calloc(&arena, 3, sizeof *sub);
        int64_t *disp = espi_arena_calloc(&arena, 3, sizeof *disp);
        sub[0] = sub[2] = tree;
        sub[1] = parse("leaf(MPI_CHAR)");
        disp[1] = INT64_C(1) << (16 + level);
        disp[2] = disp[1] + 5 + random_in(0, 100);
        ck_assert_int_eq(espi_node_vec(&arena, 1, 0, tree, &sub[2]), ESPI_OK);
        sub[2] = sub[0];
        ck_assert_int_eq(espi_node_struc(&arena, level < 12 ? 3 : 1, disp, sub, &tree), ESPI_OK);
    }
    ck_assert_int_eq(espi_normalize(&arena, tree, &options, &result), ESPI_OK);
    same_map(tree, result.tree);
    ck_assert_int_le(result.cost, espi_cost(tree, &options.costs));
}
END_TEST

/* Parts that are shared and stand in turns dissolve into 2^42: the tree then stays as it is. */
START_TEST(shared_in_turns)
{
    const struct espi_node *both[2] = {parse("vec(2,8,leaf(MPI_INT))"), parse("vec(2,12,leaf(MPI_INT))")};
    struct espi_reconstruction result;
    for (int level = 0; level < 40; level++) {
        int64_t *disp = espi_arena_calloc(&arena, 2, sizeof *disp);
        const struct espi_node *next[2];
        for (int i = 0; i < 2; i++) {
            const struct espi_node **sub = espi_arena_calloc(&arena, 2, sizeof *sub);
            sub[0] = both[i];
            sub[1] = both[1 - i];
            ck_assert_int_eq(espi_node_struc(&arena, 2, disp, sub, &next[i]), ESPI_OK);
        }
        both[0] = next[0];
        both[1] = next[1];
    }
    ck_assert_int_eq(espi_normalize(&arena, both[0], &options, &result), ESPI_OK);
    ck_assert(espi_node_equal(result.tree, both[0]));
    ck_assert_uint_lt(arena.bytes, 1 << 28);
    char text[400];
    ck_assert_uint_ge(espi_print(result.tree, 12, text, sizeof text), sizeof text);
    ck_assert_uint_eq(strlen(text), sizeof text - 1);
}
END_TEST

/* With a tiny exact limit every random tree takes the way of a large one. */
START_TEST(random_trees_in_place)
{
    int better = 0;
    for (int round = 0; round < 4000; round++) {
        struct espi_reconstruction result, exact;
        const struct espi_node *tree = random_tree(&arena, (int)random_in(1, 6));
        options.costs = random_costs();
        options.set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
        options.exact_limit = (size_t)random_in(0, 20);
        options.budget_ns = 1; /* nothing large is flattened, nothing solved exactly */
        if (round % 2 == 0) {
            options.budget_ns = 1000000;
        }
        ck_assert_int_eq(espi_normalize(&arena, tree, &options, &result), ESPI_OK);
        same_map(tree, result.tree);
        ck_assert(espi_tree_in_set(result.tree, options.set));
        ck_assert_int_eq(espi_cost(result.tree, &options.costs), result.cost);
        ck_assert_int_le(result.lower_bound, result.cost);
        if (espi_tree_in_set(tree, options.set)) {
            ck_assert_int_le(result.cost, espi_cost(tree, &options.costs));
            better += result.cost < espi_cost(tree, &options.costs);
        }
        /* A tree may have empty buckets, which reconstruction does not use. */
        if (tree->entries <= 60 && options.set != ESPI_SET_EXTENDED) {
            options.exact_limit = 2000;
            options.budget_ns = 0;
            ck_assert_int_eq(espi_normalize(&arena, tree, &options, &exact), ESPI_OK);
            ck_assert(exact.exact || tree->entries == 0);
            ck_assert_int_le(exact.cost, result.cost);
            ck_assert_int_le(result.lower_bound, exact.cost);
        }
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(better, 500);
}
END_TEST

static void by_rules(const char *text, const char *wanted)
{
    options.exact_limit = 0;
    options.budget_ns = 1;
    huge(text, wanted);
    same_map(parse(text), parse(wanted));
}

/* Structs of parts that are alike need no search: the faces of several arrays, say. */
START_TEST(structs_of_alike_parts)
{
    by_rules("struc(3,<8,500,100>,<vec(90,8,leaf(MPI_INT)),vec(7,8,leaf(MPI_INT)),leaf(MPI_INT)>)",
             "idxbuc(3,8,<8,500,100>,<90,7,1>,leaf(MPI_INT))");
    by_rules("struc(2,<0,4000>,<vec(90,8,vec(3,4,leaf(MPI_INT))),vec(2,2000,vec(7,8,vec(3,4,leaf(MPI_INT))))>)",
             "idxbuc(3,8,<0,4000,6000>,<90,7,7>,vec(3,4,leaf(MPI_INT)))");
    by_rules("struc(3,<0,9,30>,<vec(300,8,leaf(MPI_INT)),vec(300,8,leaf(MPI_INT)),vec(300,8,leaf(MPI_INT))>)",
             "idx(3,<0,9,30>,vec(300,8,leaf(MPI_INT)))");
    by_rules("struc(3,<0,9,18>,<vec(300,8,leaf(MPI_INT)),vec(300,8,leaf(MPI_INT)),vec(300,8,leaf(MPI_INT))>)",
             "vec(3,9,vec(300,8,leaf(MPI_INT)))");
    by_rules("struc(4,<0,8,16,30>,<leaf(MPI_INT),leaf(MPI_INT),leaf(MPI_INT),leaf(MPI_INT)>)",
             "idx(4,<0,8,16,30>,leaf(MPI_INT))");
    /* Another stride, another thing, or too many runs in a part: none of it. */
    by_rules("struc(2,<0,4000>,<vec(90,8,leaf(MPI_INT)),vec(70,12,leaf(MPI_INT))>)",
             "struc(2,<0,4000>,<vec(90,8,leaf(MPI_INT)),vec(70,12,leaf(MPI_INT))>)");
    by_rules("struc(2,<0,4000>,<vec(90,8,leaf(MPI_INT)),vec(70,8,leaf(MPI_FLOAT))>)",
             "struc(2,<0,4000>,<vec(90,8,leaf(MPI_INT)),vec(70,8,leaf(MPI_FLOAT))>)");
    by_rules("struc(2,<0,4000>,<vec(90,8,leaf(MPI_INT)),vec(9,2000,vec(7,8,leaf(MPI_INT)))>)",
             "struc(2,<0,4000>,<vec(90,8,leaf(MPI_INT)),vec(9,2000,vec(7,8,leaf(MPI_INT)))>)");
    /* The same place again and again is a stride, too. */
    by_rules("struc(2,<0,4000>,<vec(90,0,leaf(MPI_INT)),vec(70,8,leaf(MPI_INT))>)",
             "struc(2,<0,4000>,<vec(90,0,leaf(MPI_INT)),vec(70,8,leaf(MPI_INT))>)");
    by_rules("struc(2,<0,4000>,<vec(70,8,leaf(MPI_INT)),vec(3,2000,vec(5,0,leaf(MPI_INT)))>)",
             "struc(2,<0,4000>,<vec(70,8,leaf(MPI_INT)),vec(3,2000,vec(5,0,leaf(MPI_INT)))>)");
    by_rules("struc(3,<0,4000,80>,<vec(90,0,leaf(MPI_INT)),vec(70,0,leaf(MPI_INT)),leaf(MPI_INT)>)",
             "idxbuc(3,0,<0,4000,80>,<90,70,1>,leaf(MPI_INT))");
    options.set = ESPI_SET_BASIC;
    by_rules("struc(2,<8,500>,<vec(90,8,leaf(MPI_INT)),vec(7,8,leaf(MPI_INT))>)",
             "struc(2,<8,500>,<vec(90,8,leaf(MPI_INT)),vec(7,8,leaf(MPI_INT))>)");
}
END_TEST

/* The same of any such structs, and of others that nearly are. */
START_TEST(random_structs_of_runs)
{
    int lists = 0;
    for (int round = 0; round < 4000; round++) {
        const int64_t strides[] = {random_in(0, 3) * 4, random_in(0, 1) * 8}, n = random_in(1, 6);
        const struct espi_node *leaf = NULL, *thing = NULL, *sub[6], *tree = NULL;
        struct espi_reconstruction result;
        int64_t disp[6];
        ck_assert_int_eq(espi_node_leaf(&arena, espi_base_find("MPI_INT", 7), &leaf), ESPI_OK);
        ck_assert_int_eq(espi_node_vec(&arena, random_in(1, 3), 4, leaf, &thing), ESPI_OK);
        for (int64_t j = 0; j < n; j++) {
            const int64_t other = random_in(0, 9) == 0;
            disp[j] = random_in(-500, 500);
            sub[j] = other ? leaf : thing;
            for (int64_t level = random_in(0, 2); level > 0; level--) {
                const int64_t count = random_in(1, 5), stride = random_in(0, 4) == 0 ? random_in(0, 50)
                                                                                     : strides[random_in(0, 7) == 0];
                ck_assert_int_eq(espi_node_vec(&arena, count, stride, sub[j], &sub[j]), ESPI_OK);
            }
        }
        ck_assert_int_eq(espi_node_struc(&arena, n, disp, sub, &tree), ESPI_OK);
        options.exact_limit = 0;
        options.budget_ns = 1;
        ck_assert_int_eq(espi_normalize(&arena, tree, &options, &result), ESPI_OK);
        same_map(tree, result.tree);
        ck_assert_int_le(result.cost, espi_cost(tree, &options.costs));
        lists += n > 1 && result.tree->kind == ESPI_IDXBUC;
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(lists, 200);
}
END_TEST

START_TEST(bounded_method_keeps_its_promises)
{
    for (int round = 0; round < 60; round++) {
        struct espi_typemap map = ESPI_TYPEMAP_INIT, again = ESPI_TYPEMAP_INIT;
        const struct espi_node *tree, *list;
        random_map(&map, round < 40 ? 40 : 30000);
        for (int64_t more = random_in(0, 9) == 0 ? 0 : random_in(0, round < 40 ? 9 : 20000); more > 0; more--) {
            ck_assert_int_eq(espi_typemap_append(&map, map.base[0], random_in(-1000000, 1000000)), ESPI_OK);
        }
        options.costs = random_costs();
        options.set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
        ck_assert_int_eq(espi_reconstruct_windowed(&arena, &map, &options, 10000000, &tree), ESPI_OK);
        ck_assert_int_eq(espi_plain_list(&arena, &map, &options, &list), ESPI_OK);
        ck_assert_int_eq(espi_flatten(tree, 0, map.n, &again), ESPI_OK);
        ck_assert(espi_typemap_equal(&map, &again));
        again.n = 0;
        ck_assert_int_eq(espi_flatten(list, 0, map.n, &again), ESPI_OK);
        ck_assert(espi_typemap_equal(&map, &again));
        ck_assert(espi_tree_in_set(tree, options.set));
        ck_assert_int_le(espi_lower_bound(&map, &options), espi_cost(tree, &options.costs));
        if (map.n <= (options.set == ESPI_SET_EXTENDED ? 10 : 40)) {
            ck_assert_int_ge(espi_cost(tree, &options.costs), oracle_cost(&map, options.set, &options.costs));
            ck_assert_int_le(espi_lower_bound(&map, &options), oracle_cost(&map, options.set, &options.costs));
        }
        espi_typemap_release(&map);
        espi_typemap_release(&again);
        espi_arena_release(&arena);
    }
}
END_TEST

/* Lists whose distances all differ: the bound is one word below them, from the map and from the tree. */
START_TEST(bounds_of_distances)
{
    struct espi_arena own = ESPI_ARENA_INIT;
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_reconstruct_options o;
    const struct espi_node *list;
    espi_reconstruct_defaults(&o);
    for (int64_t k = 0; k < 1000; k++) {
        ck_assert_int_eq(espi_typemap_append(&map, espi_base_find("MPI_INT", 7), 8 * k * k), ESPI_OK);
    }
    for (int set = ESPI_SET_BASIC; set <= ESPI_SET_EXTENDED; set++) {
        o.set = (enum espi_set)set;
        ck_assert_int_eq(espi_plain_list(&own, &map, &o, &list), ESPI_OK);
        ck_assert_int_eq(espi_cost(list, &o.costs), 1005);
        ck_assert_int_eq(espi_lower_bound(&map, &o), 1004);
        ck_assert_int_eq(espi_tree_lower_bound(list, &o), 1004);
    }
    espi_typemap_release(&map);
    espi_arena_release(&own);
}
END_TEST

/* A long struct within many lists of one, each of which copies what is below: given up, and the input stays. */
START_TEST(memory_is_limited)
{
    enum { PARTS = 50000, LEVELS = 200, MOST = 16 << 20 };
    static int64_t disp[PARTS];
    static const struct espi_node *part[PARTS];
    const struct espi_node *kinds[2], *tree;
    const int64_t one = 8;
    struct espi_reconstruction result;
    ck_assert_int_eq(espi_node_leaf(&arena, espi_base_find("MPI_INT", 7), &kinds[0]), ESPI_OK);
    ck_assert_int_eq(espi_node_leaf(&arena, espi_base_find("MPI_DOUBLE", 10), &kinds[1]), ESPI_OK);
    for (int i = 0; i < PARTS; i++) {
        disp[i] = 1024 * (int64_t)i;
        part[i] = kinds[i % 7 % 2];
    }
    ck_assert_int_eq(espi_node_struc(&arena, PARTS, disp, part, &tree), ESPI_OK);
    for (int i = 0; i < LEVELS; i++)
        ck_assert_int_eq(espi_node_idx(&arena, 1, &one, tree, &tree), ESPI_OK);
    const int64_t cost = espi_cost(tree, &options.costs);
    const size_t before = arena.bytes;
    ck_assert_int_eq(espi_normalize(&arena, tree, &options, &result), ESPI_OK);
    ck_assert_int_le(result.cost, cost);
    ck_assert_uint_lt(arena.bytes - before, MOST + 200 * (size_t)cost);
    same_map(result.tree, tree);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-normalize", 300, setup, teardown, huge_trees_are_never_flattened,
                     shared_subtrees_are_done_once, shared_in_turns, random_trees_in_place, structs_of_alike_parts,
                     random_structs_of_runs, bounded_method_keeps_its_promises, bounds_of_distances,
                     memory_is_limited);
}
