/* Base types, nodes, flatten, bounds, equality, hash, cost, printer and parser. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "layout/layout.h"
#include "random.h"
#include "runner.h"

static struct espi_arena arena;

static const struct espi_node *parse(const char *text)
{
    const struct espi_node *tree = NULL;
    struct espi_parse_error error = {0, 0, ""};
    espi_status status = espi_parse(&arena, text, strlen(text), &tree, &error);
    ck_assert_msg(status == ESPI_OK, "%s: %zu:%zu: %s", text, error.line, error.column, error.text);
    return tree;
}

static void reject(const char *text, espi_status status, size_t line, size_t column, const char *words)
{
    const struct espi_node *tree = NULL;
    struct espi_parse_error error = {0, 0, ""};
    ck_assert_int_eq(espi_parse(&arena, text, strlen(text), &tree, &error), status);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s: '%s' lacks '%s'", text, error.text, words);
    ck_assert_uint_eq(error.line, line);
    ck_assert_uint_eq(error.column, column);
    ck_assert_ptr_null(tree);
}

static const char *text_of(const struct espi_node *tree)
{
    size_t n = espi_print(tree, 0, NULL, 0);
    char *text = espi_arena_alloc(&arena, n + 1);
    ck_assert_uint_eq(espi_print(tree, 0, text, n + 1), n);
    ck_assert_uint_eq(strlen(text), n);
    return text;
}

/* The definition of each constructor, one entry at a time: the oracle for espi_flatten. */
static void flatten_plainly(const struct espi_node *node, int64_t at, struct espi_typemap *map)
{
    if (node->kind == ESPI_LEAF) {
        ck_assert_int_eq(espi_typemap_append(map, node->base, at), ESPI_OK);
        return;
    }
    for (int64_t j = 0; j < node->count; j++) {
        switch (node->kind) {
        case ESPI_VEC:
            flatten_plainly(node->child, at + j * node->stride, map);
            break;
        case ESPI_IDX:
            flatten_plainly(node->child, at + node->disp[j], map);
            break;
        case ESPI_STRUC:
            flatten_plainly(node->sub[j], at + node->disp[j], map);
            break;
        default:
            for (int64_t k = 0; k < node->len[j]; k++) {
                int64_t start = node->kind == ESPI_IDXBUC ? node->disp[j] : j * node->stride;
                int64_t step = node->kind == ESPI_IDXBUC ? node->stride : node->stride2;
                flatten_plainly(node->child, at + start + k * step, map);
            }
        }
    }
}

static void setup(void)
{
    arena = ESPI_ARENA_INIT;
}

static void teardown(void)
{
    espi_arena_release(&arena);
}

START_TEST(arena_gives_aligned_memory)
{
    for (size_t i = 0; i < 3000; i++) {
        unsigned char *p = espi_arena_calloc(&arena, i, 3);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
        size_t zeros = 0;
        while (zeros < 3 * i && p[zeros] == 0) {
            zeros++;
        }
        ck_assert_uint_eq(zeros, 3 * i);
        memset(p, 0xff, 3 * i);
    }
    ck_assert_ptr_null(espi_arena_calloc(&arena, SIZE_MAX / 2, 4));
    ck_assert_ptr_null(espi_arena_alloc(&arena, SIZE_MAX));
    espi_arena_release(&arena);
    ck_assert_uint_eq(arena.bytes, 0);
    ck_assert_ptr_nonnull(espi_arena_alloc(&arena, 0));
}
END_TEST

START_TEST(status_texts_differ)
{
    for (int a = ESPI_OK; a <= ESPI_ERR_MPI; a++) {
        for (int b = ESPI_OK; b < a; b++) {
            ck_assert_str_ne(espi_status_text((espi_status)a), espi_status_text((espi_status)b));
        }
    }
    ck_assert_str_eq(espi_status_text((espi_status)999), "unknown status");
}
END_TEST

START_TEST(base_types_are_found)
{
    for (size_t i = 0; i < espi_base_count(); i++) {
        const char *name = espi_base_info((espi_base)i)->name;
        ck_assert_uint_eq(espi_base_find(name, strlen(name)), i);
    }
    espi_base pair = espi_base_find("MPI_DOUBLE_INT", 14);
    ck_assert_uint_eq(espi_base_info(pair)->size, 12);
    ck_assert_uint_eq(espi_base_info(pair)->extent, 12);
    pair = espi_base_find("MPI_SHORT_INT", 13);
    ck_assert_uint_eq(espi_base_info(pair)->size, 6);
    ck_assert_uint_eq(espi_base_info(pair)->extent, 8);
    ck_assert_uint_eq(espi_base_find("MPI_LONG_LONG", 13), espi_base_find("MPI_LONG_LONG_INT", 17));
    ck_assert_uint_eq(espi_base_find("MPI_IN", 6), ESPI_BASE_NONE);
    ck_assert_uint_eq(espi_base_find("MPI_INT\0", 8), ESPI_BASE_NONE);
    ck_assert_uint_eq(espi_base_find("", 0), ESPI_BASE_NONE);
    ck_assert_ptr_null(espi_base_info(ESPI_BASE_NONE));
}
END_TEST

START_TEST(base_types_are_added)
{
    size_t n = espi_base_count();
    espi_base added = espi_base_add("F90_REAL_6_37", 4, 4);
    ck_assert_uint_eq(added, n);
    ck_assert_uint_eq(espi_base_add("F90_REAL_6_37", 4, 4), added);
    ck_assert_uint_eq(espi_base_add("F90_REAL_6_37", 8, 8), ESPI_BASE_NONE);
    ck_assert_uint_eq(espi_base_add("two words", 8, 8), ESPI_BASE_NONE);
    ck_assert_uint_eq(espi_base_add("", 8, 8), ESPI_BASE_NONE);
    ck_assert_uint_eq(espi_base_count(), n + 1);
    ck_assert_str_eq(text_of(parse("leaf( F90_REAL_6_37 )")), "leaf(F90_REAL_6_37)");
}
END_TEST

START_TEST(nodes_know_their_bounds)
{
    const struct espi_node *tree = parse("struc(3,<8,-4,100>,<vec(3,-16,leaf(MPI_DOUBLE)),leaf(MPI_INT),"
                                         "idx(0,<>,leaf(MPI_INT))>)");
    ck_assert_int_eq(tree->entries, 4);
    ck_assert_int_eq(tree->size, 28);
    ck_assert_int_eq(tree->true_lb, -24);
    ck_assert_int_eq(tree->true_ub, 16);
    ck_assert_int_eq(tree->depth, 3);
    ck_assert(tree->has_struc && !tree->sub[0]->has_struc);
    tree = parse("struc(0,<>,<>)");
    ck_assert_int_eq(tree->entries, 0);
    ck_assert_int_eq(tree->true_lb, 0);
    ck_assert_int_eq(tree->true_ub, 0);
    tree = parse("bucket(3,100,-8,<2,0,1>,leaf(MPI_DOUBLE))");
    ck_assert_int_eq(tree->entries, 3);
    ck_assert_int_eq(tree->true_lb, -8);
    ck_assert_int_eq(tree->true_ub, 208);
}
END_TEST

START_TEST(constructors_check_their_domain)
{
    const struct espi_node *leaf = parse("leaf(MPI_INT)"), *out;
    int64_t minus[] = {-1}, far[] = {INT64_MAX}, one[] = {1}, most[] = {INT64_MAX, 1};
    int64_t disp[] = {0, 0};
    const struct espi_node *sub[] = {leaf, NULL};
    ck_assert_int_eq(espi_node_leaf(&arena, ESPI_BASE_NONE, &out), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_vec(&arena, -1, 4, leaf, &out), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_vec(&arena, 1, 4, NULL, &out), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_vec(&arena, INT64_MAX, 4, leaf, &out), ESPI_ERR_OVERFLOW);
    ck_assert_int_eq(espi_node_vec(&arena, INT64_MAX, 0, leaf, &out), ESPI_ERR_OVERFLOW); /* its size */
    ck_assert_int_eq(espi_node_vec(&arena, 3, INT64_MIN, leaf, &out), ESPI_ERR_OVERFLOW);
    ck_assert_int_eq(espi_node_idx(&arena, 1, NULL, leaf, &out), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_idx(&arena, 1, far, leaf, &out), ESPI_ERR_OVERFLOW);
    ck_assert_int_eq(espi_node_idxbuc(&arena, 1, 4, one, minus, leaf, &out), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_idxbuc(&arena, 2, 0, disp, most, leaf, &out), ESPI_ERR_OVERFLOW);
    ck_assert_int_eq(espi_node_idxbuc(&arena, 1, INT64_MAX, one, far, leaf, &out), ESPI_ERR_OVERFLOW);
    ck_assert_int_eq(espi_node_bucket(&arena, 1, 4, 4, minus, leaf, &out), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_struc(&arena, 2, disp, sub, &out), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_struc(&arena, 1, far, sub, &out), ESPI_ERR_OVERFLOW);
}
END_TEST

START_TEST(depth_is_bounded)
{
    const struct espi_node *tree = parse("leaf(MPI_INT)");
    espi_status status = ESPI_OK;
    while (status == ESPI_OK && tree->depth < ESPI_DEPTH_MAX) {
        status = espi_node_vec(&arena, 1, 0, tree, &tree);
        ck_assert_int_eq(status, ESPI_OK);
    }
    const struct espi_node *deepest = tree;
    ck_assert_int_eq(espi_node_vec(&arena, 1, 0, deepest, &tree), ESPI_ERR_UNSUPPORTED);
    ck_assert(espi_node_equal(parse(text_of(deepest)), deepest));
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    ck_assert_int_eq(espi_flatten(deepest, 5, 1, &map), ESPI_OK);
    ck_assert_int_eq(map.disp[0], 5);
    espi_typemap_release(&map);
    char *deep = calloc(1, 200001);
    for (int i = 0; i < 20000; i++) {
        memcpy(deep + i * 9, "vec(1,0, ", 9);
    }
    ck_assert_int_eq(espi_parse(&arena, deep, strlen(deep), &tree, NULL), ESPI_ERR_UNSUPPORTED);
    free(deep);
}
END_TEST

START_TEST(huge_types_stay_small)
{
    const struct espi_node *tree = parse("vec(1000000000,16,leaf(MPI_DOUBLE))");
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    ck_assert_int_eq(tree->entries, 1000000000);
    ck_assert_int_eq(tree->true_ub, INT64_C(15999999992));
    ck_assert_int_eq(espi_flatten(tree, 0, 1000, &map), ESPI_ERR_LIMIT);
    ck_assert_uint_eq(map.n, 0);
    ck_assert_int_eq(espi_flatten(tree, INT64_MAX, SIZE_MAX, &map), ESPI_ERR_OVERFLOW);
    tree = parse("vec(9223372036854775807,1,struc(0,<>,<>))");
    ck_assert_int_eq(espi_flatten(tree, 0, 0, &map), ESPI_OK);
    ck_assert_uint_eq(map.n, 0);
}
END_TEST

START_TEST(costs_add_up)
{
    const struct espi_node *tree = parse("struc(2,<0,4000>,<vec(1000,4,leaf(MPI_INT)),vec(999,4000,leaf(MPI_INT))>)");
    struct espi_costs costs = espi_costs_default;
    size_t where = 99;
    ck_assert_int_eq(espi_cost(tree, &costs), 18);
    ck_assert_int_eq(espi_cost(parse("idx(3,<0,1,5>,leaf(MPI_INT))"), &costs), 8);
    ck_assert_int_eq(espi_cost(parse("idxbuc(2,4,<0,9>,<1,2>,leaf(MPI_INT))"), &costs), 10);
    ck_assert_int_eq(espi_cost(parse("bucket(2,4,8,<1,2>,leaf(MPI_INT))"), &costs), 9);
    ck_assert_int_eq(espi_costs_parse("leaf=10,idx_each=0,struc=999999999", &costs, NULL), ESPI_OK);
    ck_assert_int_eq(costs.leaf, 10);
    ck_assert_int_eq(costs.idx_each, 0);
    ck_assert_int_eq(costs.struc, ESPI_COST_MAX);
    ck_assert_int_eq(costs.vec, 4);
    ck_assert_int_eq(espi_costs_parse("vec=1,leav=2", &costs, &where), ESPI_ERR_SYNTAX);
    ck_assert_uint_eq(where, 6);
    ck_assert_int_eq(costs.vec, 4);
    ck_assert_int_eq(espi_costs_parse("vec=-1", &costs, &where), ESPI_ERR_SYNTAX);
    ck_assert_uint_eq(where, 4);
    ck_assert_int_eq(espi_costs_parse("vec=1000000000", &costs, NULL), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(espi_costs_parse("vec=1,", &costs, NULL), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(espi_costs_parse("", &costs, NULL), ESPI_ERR_SYNTAX);
}
END_TEST

START_TEST(parser_says_what_is_wrong)
{
    reject("", ESPI_ERR_SYNTAX, 1, 1, "end of the text");
    reject("leaf(MPI_INT) x", ESPI_ERR_SYNTAX, 1, 15, "end of the text, found 'x'");
    reject("loaf(MPI_INT)", ESPI_ERR_SYNTAX, 1, 1, "expected leaf, vec");
    reject("leaf(MPI_NONE)", ESPI_ERR_SYNTAX, 1, 6, "'MPI_NONE' is not a base type");
    reject("vec(2,\n  4;leaf(MPI_INT))", ESPI_ERR_SYNTAX, 2, 4, "expected ',', found ';'");
    reject("vec(-2,4,leaf(MPI_INT))", ESPI_ERR_SYNTAX, 1, 5, "negative");
    reject("vec(2,,leaf(MPI_INT))", ESPI_ERR_SYNTAX, 1, 7, "a stride");
    reject("vec(2,9223372036854775808,leaf(MPI_INT))", ESPI_ERR_OVERFLOW, 1, 7, "64 bits");
    reject("vec(3,9223372036854775807,leaf(MPI_INT))", ESPI_ERR_OVERFLOW, 1, 1, "64 bits");
    reject("idx(3,<0,4>,leaf(MPI_INT))", ESPI_ERR_SYNTAX, 1, 8, "expected 3 elements between '<' and '>', found 2");
    reject("idx(1,<0,4>,leaf(MPI_INT))", ESPI_ERR_SYNTAX, 1, 8, "found at least 2");
    reject("idx(1,<0,>,leaf(MPI_INT))", ESPI_ERR_SYNTAX, 1, 10, "a displacement");
    reject("idxbuc(1,4,<0>,<-1>,leaf(MPI_INT))", ESPI_ERR_SYNTAX, 1, 17, "negative");
    reject("struc(1,<0>,<>)", ESPI_ERR_SYNTAX, 1, 14, "found 0");
    reject("struc(1,<0>,<leaf(MPI_INT)", ESPI_ERR_SYNTAX, 1, 27, "end of the text");
    reject("idx(9000000000000000000,<0>,leaf(MPI_INT))", ESPI_ERR_SYNTAX, 1, 26, "found 1");
    reject("\x01", ESPI_ERR_SYNTAX, 1, 1, "byte 0x01");
}
END_TEST

START_TEST(printer_shortens)
{
    char text[80];
    const struct espi_node *tree = parse(" idx ( 4 , < 0 , -4 , 9 , 1 > , vec ( 2 ,8, leaf(MPI_INT) ) ) ");
    ck_assert_uint_eq(espi_print(tree, 2, text, sizeof text), strlen("idx(4,<0,-4,...>,vec(2,8,leaf(MPI_INT)))"));
    ck_assert_str_eq(text, "idx(4,<0,-4,...>,vec(2,8,leaf(MPI_INT)))");
    ck_assert_uint_eq(espi_print(tree, 0, text, 6), strlen("idx(4,<0,-4,9,1>,vec(2,8,leaf(MPI_INT)))"));
    ck_assert_str_eq(text, "idx(4");
    ck_assert_str_eq(text_of(parse("vec(1,-9223372036854775808,struc(0,<>,<>))")),
                     "vec(1,-9223372036854775808,struc(0,<>,<>))");
}
END_TEST

START_TEST(random_trees_hold_together)
{
    for (int round = 0; round < 3000; round++) {
        struct espi_typemap plain = ESPI_TYPEMAP_INIT, map = ESPI_TYPEMAP_INIT;
        const struct espi_node *tree = random_tree(&arena, (int)random_in(1, 5)), *copy;
        const char *text = text_of(tree);
        const struct espi_node *again = parse(text);
        int64_t shift = random_in(-100, 100), lb = 0, ub = 0, size = 0;
        ck_assert_msg(espi_node_equal(tree, again) && tree->hash == again->hash, "%s", text);
        ck_assert_int_eq(espi_node_copy(&arena, tree, &copy), ESPI_OK);
        ck_assert_msg(espi_node_equal(tree, copy), "%s", text);
        ck_assert_int_eq(espi_cost(tree, &espi_costs_default), espi_cost(copy, &espi_costs_default));
        flatten_plainly(tree, shift, &plain);
        if (plain.n > 0) {
            ck_assert_int_eq(espi_flatten(tree, shift, plain.n - 1, &map), ESPI_ERR_LIMIT);
        }
        ck_assert_int_eq(espi_flatten(tree, shift, plain.n, &map), ESPI_OK);
        ck_assert_msg(espi_typemap_equal(&plain, &map), "%s", text);
        for (size_t i = 0; i < plain.n; i++) {
            const struct espi_base_info *info = espi_base_info(plain.base[i]);
            int64_t begin = plain.disp[i] - shift, end = begin + info->extent;
            lb = i == 0 || begin < lb ? begin : lb;
            ub = i == 0 || end > ub ? end : ub;
            size += info->size;
        }
        ck_assert_msg(tree->entries == (int64_t)plain.n && tree->size == size, "%s", text);
        ck_assert_msg(tree->true_lb == lb && tree->true_ub == ub, "%s", text);
        const struct espi_node *other = random_tree(&arena, (int)random_in(1, 3));
        ck_assert_int_eq(espi_node_equal(tree, other), strcmp(text, text_of(other)) == 0);
        espi_typemap_release(&plain);
        espi_typemap_release(&map);
        if (round % 100 == 0) {
            espi_arena_release(&arena);
        }
    }
}
END_TEST

/* The plain way: every element of enough copies. */
static bool is_astride_plainly(const struct espi_node *tree)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    int64_t at = 0;
    bool astride = false;

    flatten_plainly(tree, 0, &map);
    for (int copy = 0; copy < 64; copy++)
        for (size_t i = 0; i < map.n; i++) {
            const int64_t size = espi_base_info(map.base[i])->size;
            astride = astride || size == 0 || ESPI_ASTRIDE_UNIT % size != 0 || at % size != 0;
            at += size;
        }
    espi_typemap_release(&map);
    return astride;
}

START_TEST(elements_astride_are_found)
{
    static const struct {
        const char *tree;
        bool astride;
    } known[] = {
        {"vec(1000,16,leaf(MPI_DOUBLE))", false},
        {"vec(1000,16,struc(2,<0,8>,<leaf(MPI_DOUBLE),leaf(MPI_INT)>))", true},
        {"vec(1000,16,struc(3,<0,8,12>,<leaf(MPI_DOUBLE),leaf(MPI_INT),leaf(MPI_INT)>))", false},
        {"struc(2,<0,8>,<leaf(MPI_INT),leaf(MPI_DOUBLE)>)", true},
        {"struc(2,<0,8>,<leaf(MPI_DOUBLE),leaf(MPI_INT)>)", true}, /* the second item */
        {"struc(2,<0,64>,<vec(4,8,leaf(MPI_INT)),vec(9,8,leaf(MPI_DOUBLE))>)", false},
        {"struc(2,<0,64>,<vec(3,8,leaf(MPI_INT)),vec(9,8,leaf(MPI_DOUBLE))>)", true},
        {"idxbuc(2,8,<0,99>,<1,2>,leaf(MPI_SHORT))", false},
        {"leaf(MPI_DOUBLE_INT)", true},
        {"struc(0,<>,<>)", false},
    };
    int found[2] = {0, 0};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_msg(espi_node_is_astride(parse(known[i].tree)) == known[i].astride, "%s", known[i].tree);
    for (int round = 0; round < 3000; round++) {
        const struct espi_node *tree = random_tree(&arena, (int)random_in(1, 4));
        const bool astride = is_astride_plainly(tree);
        ck_assert_msg(espi_node_is_astride(tree) == astride, "%s", text_of(tree));
        found[astride]++;
        if (round % 100 == 0)
            espi_arena_release(&arena);
    }
    ck_assert(found[0] > 100 && found[1] > 100);
}
END_TEST

START_TEST(copies_keep_sharing)
{
    const struct espi_node *sub[] = {parse("vec(2,8,leaf(MPI_CHAR))"), NULL}, *tree = NULL, *copy;
    int64_t disp[] = {0, 100};
    for (int level = 0; level < 60; level++) { /* 2^60 leaves when counted once per use */
        const struct espi_node **pair = espi_arena_calloc(&arena, 2, sizeof *pair);
        pair[0] = pair[1] = level == 0 ? sub[0] : tree;
        ck_assert_int_eq(espi_node_struc(&arena, 2, disp, pair, &tree), ESPI_OK);
    }
    ck_assert_int_eq(espi_node_copy(&arena, tree, &copy), ESPI_OK);
    ck_assert(espi_node_equal(tree, copy));
    ck_assert_ptr_eq(copy->sub[0], copy->sub[1]);
    ck_assert(!espi_node_is_astride(tree)); /* in less than an age */
    ck_assert_int_eq(espi_cost(tree, &espi_costs_default), INT64_MAX);
}
END_TEST

/* Trees of one type map are found to be that, and others not: as a whole, by samples where they are long, and of
   vectors alone by few. */
START_TEST(maps_are_compared)
{
    static const struct {
        const char *one, *other;
        bool same;
    } each[] = {
        {"vec(3000,16,leaf(MPI_DOUBLE))", "vec(30,1600,vec(100,16,leaf(MPI_DOUBLE)))", true},
        {"vec(2,80000,vec(5000,8,leaf(MPI_DOUBLE)))", "idx(2,<0,80000>,vec(5000,8,leaf(MPI_DOUBLE)))", true},
        {"idx(1,<64>,vec(99999,8,leaf(MPI_DOUBLE)))", "idx(1,<64>,vec(3,266664,vec(33333,8,leaf(MPI_DOUBLE))))",
         true},
        {"vec(2,80000,vec(5000,8,leaf(MPI_DOUBLE)))", "vec(2,80000,vec(5000,8,leaf(MPI_LONG)))", false},
        {"vec(100,8000,vec(100,16,leaf(MPI_DOUBLE)))", "vec(100,8000,vec(50,32,vec(2,8,leaf(MPI_DOUBLE))))", false},
        {"vec(3,100000,vec(7,9000,vec(1000,8,leaf(MPI_DOUBLE))))",
         "vec(3,100000,vec(1000,8,vec(7,9000,leaf(MPI_DOUBLE))))", false},
        {"struc(3,<0,100000,200000>,<vec(3000,8,leaf(MPI_DOUBLE)),vec(100,8,leaf(MPI_DOUBLE)),vec(3000,8,leaf("
         "MPI_DOUBLE))>)",
         "struc(3,<0,100008,200000>,<vec(3000,8,leaf(MPI_DOUBLE)),vec(100,8,leaf(MPI_DOUBLE)),vec(3000,8,leaf("
         "MPI_DOUBLE))>)",
         false},
        {"idxbuc(4,8,<0,800000,1600000,2400000>,<3000,50,3000,50>,leaf(MPI_DOUBLE))",
         "idxbuc(4,8,<0,800016,1600000,2400000>,<3000,50,3000,50>,leaf(MPI_DOUBLE))", false},
        {"vec(2,800000,vec(40000,8,leaf(MPI_DOUBLE)))", "idx(2,<0,800000>,vec(40000,8,leaf(MPI_DOUBLE)))", true},
        {"idx(3,<0,500000,800000>,vec(30000,8,leaf(MPI_DOUBLE)))",
         "idx(3,<0,400000,800000>,vec(30000,8,leaf(MPI_DOUBLE)))", false},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const struct espi_node *const a = parse(each[i].one), *const b = parse(each[i].other);
        ck_assert_msg(espi_node_same_map(a, b) == each[i].same && espi_node_same_map(b, a) == each[i].same, "%s",
                      each[i].one);
        ck_assert(espi_node_same_map(a, a) && espi_node_same_map(b, b));
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-layout", 60, setup, teardown, arena_gives_aligned_memory, status_texts_differ,
                     base_types_are_found, base_types_are_added, nodes_know_their_bounds,
                     constructors_check_their_domain, depth_is_bounded, huge_types_stay_small, costs_add_up,
                     parser_says_what_is_wrong, printer_shortens, random_trees_hold_together, copies_keep_sharing,
                     elements_astride_are_found, maps_are_compared);
}
