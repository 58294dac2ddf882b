/* The anytime method: right trees, bounds that are bounds, no worse answer for more work. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "oracle.h"
#include "plain.h"
#include "random.h"
#include "runner.h"
#include "reconstruct/anytime.h"
#include "reconstruct/parts.h"

static struct espi_arena arena;
static struct espi_reconstruct_options options;

/* How near the bounds come, per amount of work. */
enum { STEPS = 6 };
static struct {
    double below, above; /* sums of lower / optimum and upper / optimum */
    int n, exact;
} gap[STEPS], thin;

static void setup(void)
{
    arena = ESPI_ARENA_INIT;
    espi_reconstruct_defaults(&options);
    for (int k = 0; k < STEPS; k++)
        gap[k].below = gap[k].above = gap[k].n = gap[k].exact = 0;
    thin.above = thin.n = thin.exact = 0;
}

static void teardown(void)
{
    espi_arena_release(&arena);
}

static void print_gaps(const char *what)
{
    for (int k = 0; k < STEPS; k++)
        if (gap[k].n > 0)
            printf("%s, step %d: %d answers, %d exact, mean lower bound %.4f and tree %.4f of the optimum\n", what, k,
                   gap[k].n, gap[k].exact, gap[k].below / gap[k].n, gap[k].above / gap[k].n);
    if (thin.n > 0)
        printf("%s, some of the repetitions: %d answers, %d best, mean tree %.4f of the optimum\n", what, thin.n,
               thin.exact, thin.above / thin.n);
}

/* All amounts of work, nothing solved ahead, against the optimum. */
static void hold(const struct espi_typemap *map, int64_t optimum)
{
    static const uint64_t per_entry[STEPS] = {4, 10, 30, 100, 1000, 100000};
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    int64_t lower = 0, upper = INT64_MAX;
    bool answered = false;
    for (int k = 0; k < STEPS; k++) {
        struct espi_reconstruction r;
        espi_status status = espi_anytime(&arena, map, &options, per_entry[k] * map->n, 0, &r);
        ck_assert(status == ESPI_OK || (status == ESPI_ERR_LIMIT && !answered));
        if (status != ESPI_OK)
            continue;
        answered = true;
        ck_assert_int_eq(espi_cost(r.tree, &options.costs), r.cost);
        ck_assert(espi_tree_in_set(r.tree, options.set));
        ck_assert_int_eq(espi_flatten(r.tree, 0, map->n, &again), ESPI_OK);
        ck_assert(espi_typemap_equal(map, &again));
        again.n = 0;
        ck_assert_int_le(r.lower_bound, optimum);
        ck_assert_int_ge(r.cost, optimum);
        ck_assert_int_ge(r.lower_bound, lower);
        ck_assert_int_le(r.cost, upper);
        ck_assert(r.exact == (r.cost == r.lower_bound));
        lower = r.lower_bound;
        upper = r.cost;
        gap[k].n++;
        gap[k].exact += r.exact;
        gap[k].below += optimum == 0 ? 1 : (double)lower / (double)optimum;
        gap[k].above += optimum == 0 ? 1 : (double)upper / (double)optimum;
    }
    ck_assert(answered);
    upper = INT64_MAX;
    for (int k = 0; k < STEPS; k++) { /* from some of the repetitions */
        struct espi_reconstruction r;
        uint64_t all;
        espi_status status = espi_reconstruct_thin(&arena, map, &options, per_entry[k] * map->n, &r, &all);
        ck_assert(status == ESPI_OK || (status == ESPI_ERR_LIMIT && upper == INT64_MAX));
        if (status != ESPI_OK)
            continue;
        ck_assert_int_eq(espi_cost(r.tree, &options.costs), r.cost);
        ck_assert(espi_tree_in_set(r.tree, options.set));
        ck_assert_int_eq(espi_flatten(r.tree, 0, map->n, &again), ESPI_OK);
        ck_assert(espi_typemap_equal(map, &again));
        again.n = 0;
        ck_assert(!r.exact && r.lower_bound == 0);
        ck_assert_int_ge(r.cost, optimum);
        ck_assert_int_le(r.cost, upper);
        upper = r.cost;
    }
    espi_typemap_release(&again);
    if (upper < INT64_MAX && optimum > 0) {
        thin.n++;
        thin.exact += upper == optimum;
        thin.above += (double)upper / (double)optimum;
    }
}

static int64_t optimum_of(const struct espi_typemap *map)
{
    struct espi_reconstruction r;
    ck_assert_int_eq(espi_reconstruct_sparse(&arena, map, &options, 0, &r), ESPI_OK);
    return r.cost;
}

/* All words of 12 steps of two sizes, of 8 steps of three, and of 10 entries of two base types; 0 and 8 first. */
START_TEST(all_small_maps)
{
    static const struct {
        int n, symbols, bases;
    } all[] = {{13, 2, 1}, {9, 3, 1}, {10, 1, 2}};
    for (int kind = 0; kind < 3; kind++) {
        int letters = all[kind].symbols * all[kind].bases;
        int64_t words = 1;
        for (int k = 0; k < all[kind].n; k++)
            words *= letters;
        for (int64_t word = 0; word < words; word++) {
            struct espi_typemap map = ESPI_TYPEMAP_INIT;
            int64_t rest = word, at = word % 4 == 0 ? 8 : 0;
            for (int k = 0; k < all[kind].n; k++, rest /= letters) {
                ck_assert_int_eq(espi_typemap_append(&map, (espi_base)(rest % letters % all[kind].bases), at),
                                 ESPI_OK);
                at += 8 * (1 + rest % letters / all[kind].bases);
            }
            options.set = (enum espi_set)(word % 3);
            hold(&map, optimum_of(&map));
            espi_typemap_release(&map);
            espi_arena_release(&arena);
        }
    }
    print_gaps("small");
}
END_TEST

START_TEST(random_maps)
{
    for (int round = 0; round < 3000; round++) {
        struct espi_typemap map = ESPI_TYPEMAP_INIT;
        int64_t n = round % 10 == 0 ? 600 : 80;
        if (round % 3 == 0)
            random_map(&map, n);
        else
            repetitive_map(&map, n);
        options.costs = round % 2 == 0 ? espi_costs_default : random_costs();
        options.set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
        int64_t optimum = optimum_of(&map);
        if (map.n <= (options.set == ESPI_SET_EXTENDED ? 12 : 40))
            ck_assert_int_eq(optimum, plain_cost(&map, options.set, &options.costs));
        hold(&map, optimum);
        espi_typemap_release(&map);
        espi_arena_release(&arena);
    }
    print_gaps("random");
}
END_TEST

static void fibonacci(struct espi_typemap *map, size_t n)
{
    unsigned char *word = malloc(n + 2);
    size_t len = 2, before = 1;
    ck_assert_ptr_nonnull(word);
    word[0] = 0;
    word[1] = 1;
    while (len < n) {
        size_t more = before < n - len ? before : n - len;
        for (size_t k = 0; k < more; k++)
            word[len + k] = word[k];
        before = len;
        len += more;
    }
    int64_t at = 0;
    for (size_t k = 0; k < n; k++) {
        ck_assert_int_eq(espi_typemap_append(map, 0, at), ESPI_OK);
        at += 8 + 8 * word[k];
    }
    free(word);
}

/* The hard word, through the front: each budget at least as good as the one before, far better than a list. */
START_TEST(budgets)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    int64_t upper = INT64_MAX, lower = 0;
    fibonacci(&map, 20000);
    for (uint64_t ms = 1; ms <= 1024; ms *= 4) {
        struct espi_reconstruction r;
        options.budget_ns = ms * 1000000;
        ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &r), ESPI_OK);
        printf("Fibonacci word of 20000, budget %4" PRIu64 " ms: tree %" PRId64 ", lower bound %" PRId64 "\n", ms,
               r.cost, r.lower_bound);
        ck_assert_int_le(r.cost, upper);
        ck_assert_int_ge(r.lower_bound, lower);
        ck_assert_int_le(r.lower_bound, r.cost);
        upper = r.cost;
        lower = r.lower_bound;
    }
    ck_assert_int_lt(upper, 1600);
    ck_assert_int_gt(lower, 700);
    espi_typemap_release(&map);
}
END_TEST

/* The same word where its repetitions are too many to be listed. */
START_TEST(some_of_the_repetitions)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT, again = ESPI_TYPEMAP_INIT;
    struct espi_reconstruction r;
    uint64_t all;
    fibonacci(&map, 2000);
    int64_t optimum = optimum_of(&map);
    ck_assert_int_eq(espi_reconstruct_thin(&arena, &map, &options, 1000000, &r, &all), ESPI_OK);
    printf("Fibonacci word of 2000: tree %" PRId64 ", optimum %" PRId64 "\n", r.cost, optimum);
    ck_assert_int_le(r.cost, optimum + optimum / 3);
    map.n = 0;
    fibonacci(&map, 300000);
    ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &r), ESPI_OK);
    printf("Fibonacci word of 300000: tree %" PRId64 "\n", r.cost);
    ck_assert_int_le(r.cost, 15000);
    ck_assert_int_eq(espi_cost(r.tree, &options.costs), r.cost);
    ck_assert_int_eq(espi_flatten(r.tree, 0, map.n, &again), ESPI_OK);
    ck_assert(espi_typemap_equal(&map, &again));
    espi_typemap_release(&map);
    espi_typemap_release(&again);
}
END_TEST

/* What is given is never made worse, whatever the budget. */
START_TEST(the_input_stays)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_reconstruction best, r;
    fibonacci(&map, 5000);
    ck_assert_int_eq(espi_reconstruct_sparse(&arena, &map, &options, 0, &best), ESPI_OK);
    options.budget_ns = 1000;
    ck_assert_int_eq(espi_reconstruct(&arena, &map, best.tree, &options, &r), ESPI_OK);
    ck_assert_int_eq(r.cost, best.cost);
    ck_assert_int_le(r.lower_bound, best.cost);
    espi_typemap_release(&map);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-anytime", 600, setup, teardown, all_small_maps, random_maps, budgets,
                     some_of_the_repetitions, the_input_stays);
}
