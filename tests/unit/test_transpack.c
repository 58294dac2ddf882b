/* Transpacking: the shared tree has both maps and costs the least. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "random.h"
#include "runner.h"
#include "transpack/transpack.h"

enum { MOST = 24 };
#define NEVER (INT64_MAX / 4)

static struct espi_arena arena;
static struct espi_typemap from, onto;

static void setup(void)
{
    arena = ESPI_ARENA_INIT;
    from = onto = ESPI_TYPEMAP_INIT;
}

static void teardown(void)
{
    espi_arena_release(&arena);
    espi_typemap_release(&from);
    espi_typemap_release(&onto);
}

/* ---- the plain procedure on pairs: every segment, every repetition, every stride, every split; see oracle.c ---- */

static int64_t least[MOST][MOST + 1][2]; /* of segment [i, e) when it starts at (0, 0), or where the maps start */

static int64_t anywhere(size_t i, size_t e)
{
    return least[i][e][0] < least[i][e][1] ? least[i][e][0] : least[i][e][1];
}

static bool lower(int64_t *cost, int64_t value)
{
    if (value < *cost) {
        *cost = value;
        return true;
    }
    return false;
}

static bool same_step(size_t i, size_t j, size_t k, size_t l) /* from i to j as from k to l, on both sides */
{
    return from.disp[j] - from.disp[i] == from.disp[l] - from.disp[k] &&
           onto.disp[j] - onto.disp[i] == onto.disp[l] - onto.disp[k];
}

static bool try_segment(size_t i, size_t e, enum espi_set set, const struct espi_costs *costs)
{
    int64_t f[MOST + 1] = {0};
    bool changed = false;
    for (size_t q = 1; q <= e - i; q++) {
        size_t c = (e - i) / q;
        bool same = (e - i) % q == 0, strided = true;
        for (size_t k = q; k < e - i && same; k++) {
            same = from.base[i + k] == from.base[i + k % q] && same_step(i, i + k % q, i + k - k % q, i + k);
        }
        for (size_t k = 2; k < c; k++) {
            strided = strided && same_step(i, i + q, i + (k - 1) * q, i + k * q);
        }
        for (int s = 0; s < 2 && same; s++) {
            int64_t *here = &least[i][e][s];
            changed |= strided && lower(here, costs->vec + least[i][i + q][s]);
            changed |= lower(here, costs->idx + (int64_t)c * costs->idx_each + anywhere(i, i + q));
            for (size_t t = 1; t <= c && set != ESPI_SET_BASIC; t++) { /* the stride from block t - 1 to t; c: none */
                int64_t buckets = 1;
                for (size_t k = 1; k < c; k++) {
                    buckets += t == c || !same_step(i + (t - 1) * q, i + t * q, i + (k - 1) * q, i + k * q);
                }
                changed |= lower(here, costs->idxbuc + buckets * costs->idxbuc_each + anywhere(i, i + q));
            }
        }
    }
    for (size_t k = i + 1; k <= e; k++) {
        f[k - i] = NEVER;
        for (size_t j = i; j < k; j++) {
            lower(&f[k - i], f[j - i] + costs->struc_each + anywhere(j, k));
        }
    }
    changed |= lower(&least[i][e][0], costs->struc + f[e - i]);
    return lower(&least[i][e][1], costs->struc + f[e - i]) || changed;
}

static int64_t plain_cost(enum espi_set set, const struct espi_costs *costs)
{
    bool at_zero = from.disp[0] == 0 && onto.disp[0] == 0;
    for (size_t len = 1; len <= from.n; len++) {
        for (size_t i = 0; i + len <= from.n; i++) {
            least[i][i + len][0] = len == 1 ? costs->leaf : NEVER;
            least[i][i + len][1] = len == 1 && at_zero ? costs->leaf : NEVER;
            while (try_segment(i, i + len, set, costs)) {
            }
        }
    }
    return least[0][from.n][1];
}

/* ---- what must hold of every answer ---- */

static void same_shape(const struct espi_node *a, const struct espi_node *b)
{
    ck_assert(a->kind == b->kind && a->base == b->base && a->count == b->count);
    for (int64_t j = 0; j < a->count && a->len != NULL; j++) {
        ck_assert_int_eq(a->len[j], b->len[j]);
    }
    for (int64_t j = 0; j < a->count && a->kind == ESPI_STRUC; j++) {
        same_shape(a->sub[j], b->sub[j]);
    }
    if (a->child != NULL) {
        same_shape(a->child, b->child);
    }
}

static void has_map(const struct espi_node *node, const struct espi_typemap *map)
{
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    ck_assert_int_eq(espi_flatten(node, 0, map->n, &again), ESPI_OK);
    ck_assert(espi_typemap_equal(map, &again));
    espi_typemap_release(&again);
}

static struct espi_transpacking transpack(const struct espi_reconstruct_options *options)
{
    struct espi_transpacking result;
    struct espi_costs pair = espi_transpack_costs(&options->costs);
    ck_assert_int_eq(espi_transpack(&arena, &from, &onto, options, &result), ESPI_OK);
    same_shape(result.from, result.onto);
    has_map(result.from, &from);
    has_map(result.onto, &onto);
    ck_assert_int_eq(espi_cost(result.from, &pair), result.cost);
    ck_assert_int_le(result.lower_bound, result.cost);
    ck_assert(!result.exact || result.cost == result.lower_bound);
    return result;
}

static void check_exact(enum espi_set set, struct espi_costs costs)
{
    struct espi_reconstruct_options options;
    espi_reconstruct_defaults(&options);
    options.set = set;
    options.costs = costs;
    struct espi_costs pair = espi_transpack_costs(&costs);
    struct espi_transpacking result = transpack(&options);
    int64_t plain = plain_cost(set, &pair);
    if (!result.exact || result.cost != plain) {
        for (size_t i = 0; i < from.n; i++) {
            printf("%" PRId64 ">%" PRId64 " ", from.disp[i], onto.disp[i]);
        }
        espi_print_file(result.from, 0, stdout);
        ck_abort_msg("\nset %d, cost %" PRId64 ", the plain procedure has %" PRId64, set, result.cost, plain);
    }
}

/* All pairs of sequences of n displacements out of 0 .. values - 1. */
static void exhaust(int64_t n, int64_t values)
{
    int64_t all = 1;
    for (int64_t i = 0; i < 2 * n; i++) {
        all *= values;
    }
    for (int64_t code = 0; code < all; code++) {
        int64_t rest = code;
        from.n = onto.n = 0;
        for (int64_t i = 0; i < n; i++) {
            ck_assert_int_eq(espi_typemap_append(&from, 0, rest % values), ESPI_OK);
            rest /= values;
            ck_assert_int_eq(espi_typemap_append(&onto, 0, rest % values), ESPI_OK);
            rest /= values;
        }
        check_exact(ESPI_SET_MPI, espi_costs_default);
        espi_arena_release(&arena);
    }
}

START_TEST(every_short_pair)
{
    exhaust(1, 4);
    exhaust(2, 4);
    exhaust(3, 4);
    exhaust(4, 3);
    exhaust(6, 2);
}
END_TEST

/* `onto` gets the signature of `from` and displacements of its own, often with the same structure. */
static void random_pair(int64_t n)
{
    from.n = onto.n = 0;
    random_map(&from, n);
    int64_t how = random_in(0, 4), a = random_in(-3, 9), at = random_in(-50, 50), block = random_in(1, 4);
    for (size_t i = 0; i < from.n; i++) {
        int64_t d = from.disp[i];
        if (how == 1) {
            d = a * d + at;
        } else if (how == 2) {
            d = (int64_t)i * 8;
        } else if (how == 3) {
            d = ((int64_t)i / block) * 100 + ((int64_t)i % block) * a;
        } else if (how == 4) {
            d = random_in(0, 3);
        }
        ck_assert_int_eq(espi_typemap_append(&onto, from.base[i], d), ESPI_OK);
    }
    if (random_in(0, 1) == 1) {
        struct espi_typemap swap = from;
        from = onto;
        onto = swap;
    }
}

START_TEST(random_pairs_cost_the_least)
{
    for (int round = 0; round < 3000; round++) {
        random_pair(16);
        check_exact(ESPI_SET_MPI, random_costs());
        check_exact(ESPI_SET_BASIC, random_costs());
        espi_arena_release(&arena);
    }
}
END_TEST

START_TEST(extended_set)
{
    for (int round = 0; round < 1000; round++) {
        struct espi_reconstruct_options options;
        random_pair(40);
        espi_reconstruct_defaults(&options);
        int64_t narrower = transpack(&options).cost;
        options.set = ESPI_SET_EXTENDED;
        ck_assert_int_le(transpack(&options).cost, narrower);
        espi_arena_release(&arena);
    }
}
END_TEST

/* That compiled programs copy as such trees say is for test_copy.c. */
START_TEST(longer_pairs_in_every_set)
{
    for (int round = 0; round < 2000; round++) {
        struct espi_reconstruct_options options;
        random_pair(60);
        espi_reconstruct_defaults(&options);
        options.set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
        transpack(&options);
        espi_arena_release(&arena);
    }
}
END_TEST

/* A matrix is transposed by two nested vectors, however large. */
START_TEST(a_transposition)
{
    struct espi_reconstruct_options options;
    espi_reconstruct_defaults(&options);
    for (int64_t i = 0; i < 300; i++) {
        for (int64_t j = 0; j < 200; j++) {
            ck_assert_int_eq(espi_typemap_append(&from, 0, i * 200 + j), ESPI_OK);
            ck_assert_int_eq(espi_typemap_append(&onto, 0, j * 300 + i), ESPI_OK);
        }
    }
    struct espi_transpacking result = transpack(&options);
    ck_assert(result.exact);
    ck_assert_int_eq(result.cost, 5 + 5 + 2);
    ck_assert(result.from->kind == ESPI_VEC && result.from->stride == 200 && result.onto->stride == 1);
}
END_TEST

/* Addresses, distances that do not fit together, ends of the address space. */
START_TEST(far_displacements)
{
    static const int64_t places[][4] = {
        {0, 8, 16, 24},
        {INT64_C(140737488355328), INT64_C(140737488355336), INT64_C(140737488355344), INT64_C(140737488355400)},
        {0, INT64_C(1) << 40, INT64_C(1) << 41, 7},
        {-(INT64_C(1) << 61) - 3, -5, 0, (INT64_C(1) << 61) + 1},
        {INT64_MIN, 0, 5, INT64_MAX - 8},
        {INT64_MAX - 80, INT64_MAX - 72, INT64_MAX - 64, INT64_MAX - 56}};
    struct espi_reconstruct_options options;
    espi_reconstruct_defaults(&options);
    for (size_t a = 0; a < sizeof places / sizeof *places; a++) {
        for (size_t b = 0; b < sizeof places / sizeof *places; b++) {
            from.n = onto.n = 0;
            for (int k = 0; k < 4; k++) {
                ck_assert_int_eq(espi_typemap_append(&from, 0, places[a][k]), ESPI_OK);
                ck_assert_int_eq(espi_typemap_append(&onto, 0, places[b][k]), ESPI_OK);
            }
            struct espi_transpacking result = transpack(&options);
            ck_assert_int_le(result.cost, 2 + 3 + 4 * 2);
        }
    }
}
END_TEST

static const struct espi_node *parse(const char *text)
{
    const struct espi_node *node;
    struct espi_parse_error error;
    ck_assert_msg(espi_parse(&arena, text, strlen(text), &node, &error) == ESPI_OK, "%s", text);
    return node;
}

/* Of layouts without lists the rules alone find what the exact procedure finds, also beyond its limit. */
START_TEST(regular_trees_by_rules)
{
    static const struct {
        const char *from, *onto;
        int64_t words; /* two for each side's number of a vector, one for its count */
    } each[] = {
        {"vec(2,4096,vec(512,8,leaf(MPI_DOUBLE)))", "vec(2,4096,vec(512,8,leaf(MPI_DOUBLE)))", 2 + 5},
        {"vec(2,4096,vec(512,8,leaf(MPI_DOUBLE)))", "vec(1024,8,leaf(MPI_DOUBLE))", 2 + 5},
        {"vec(2,16384,vec(1024,8,leaf(MPI_DOUBLE)))", "vec(2,8192,vec(1024,8,leaf(MPI_DOUBLE)))", 2 + 10},
        {"vec(16,8192,vec(64,128,vec(16,8,leaf(MPI_DOUBLE))))",
         "vec(16,16384,vec(64,256,vec(16,8,leaf(MPI_DOUBLE))))", 2 + 10},
        {"vec(300,8,vec(200,2400,leaf(MPI_DOUBLE)))", "vec(60000,8,leaf(MPI_DOUBLE))", 2 + 10},
        {"vec(4,1000,vec(6,100,vec(3,8,leaf(MPI_DOUBLE))))", "vec(24,40,vec(3,8,leaf(MPI_DOUBLE)))", 2 + 15},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const struct espi_node *a = parse(each[i].from), *b = parse(each[i].onto);
        for (int by_rules = 0; by_rules < 2; by_rules++) {
            struct espi_reconstruct_options options;
            struct espi_transpacking result;
            espi_reconstruct_defaults(&options);
            options.exact_limit = by_rules ? 0 : 1 << 16;
            options.budget_ns = by_rules ? 1 : 0;
            ck_assert_int_eq(espi_transpack_trees(&arena, a, b, &options, 1 << 16, &result), ESPI_OK);
            ck_assert_int_eq(result.cost, each[i].words);
            same_shape(result.from, result.onto);
            from.n = onto.n = 0;
            ck_assert_int_eq(espi_flatten(a, 0, 1 << 16, &from), ESPI_OK);
            ck_assert_int_eq(espi_flatten(b, 0, 1 << 16, &onto), ESPI_OK);
            has_map(result.from, &from);
            has_map(result.onto, &onto);
        }
    }
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    struct espi_reconstruct_options options;
    struct espi_transpacking result;
    espi_reconstruct_defaults(&options);
    ck_assert_int_eq(transpack(&options).cost, 2); /* nothing onto nothing */
    ck_assert_int_eq(espi_typemap_append(&from, 0, 0), ESPI_OK);
    ck_assert_int_eq(espi_transpack(&arena, &from, &onto, &options, &result), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_typemap_append(&onto, 1, 0), ESPI_OK);
    ck_assert_int_eq(espi_transpack(&arena, &from, &onto, &options, &result), ESPI_ERR_ARGUMENT);
    onto.base[0] = 0;
    ck_assert_int_eq(transpack(&options).cost, 2);
    options.costs.vec = ESPI_COST_MAX;
    ck_assert_int_eq(espi_transpack(&arena, &from, &onto, &options, &result), ESPI_ERR_ARGUMENT);
}
END_TEST

/* Words of a node with two strides, or two displacements per entry, by hand. */
START_TEST(costs_of_pairs)
{
    struct espi_costs pair = espi_transpack_costs(&espi_costs_default);
    ck_assert_int_eq(pair.leaf, 2);
    ck_assert_int_eq(pair.vec, 5);
    ck_assert(pair.idx == 3 && pair.idx_each == 2);
    ck_assert(pair.idxbuc == 5 && pair.idxbuc_each == 3);
    ck_assert(pair.struc == 2 && pair.struc_each == 3);
    ck_assert(pair.bucket == 7 && pair.bucket_each == 1);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-transpack", 300, setup, teardown, costs_of_pairs, every_short_pair,
                     random_pairs_cost_the_least, extended_set, longer_pairs_in_every_set, a_transposition,
                     far_displacements, regular_trees_by_rules, bad_arguments_are_refused);
}
