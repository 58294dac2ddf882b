/*
 * The model of the library's engine (src/mpi/typeplan/engine_cost.h) against a simulation (engine_sim.h). The model
 * takes averages where the simulation looks where each cut lies.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "engine_sim.h"
#include "mpi/core/pmpi.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/tree_size.h"
#include "mpi/typeplan/variants.h"
#include "random_types.h"
#include "suite.h"

enum { PART = ESPI_ENGINE_PART, LONG_RUN = 16384 };

static const struct espi_engine usual = ESPI_ENGINE_USUAL, counts_steps = {1, 0, 0, INFINITY, false, false},
                                counts_elements = {0, 1, 0, INFINITY, false, false},
                                counts_listed = {0, 0, 1, INFINITY, false, false},
                                counts_bytes = {0, 0, 0, 1, false, false};
static struct espi_arena arena;

/* ---- trees ---- */

static const struct espi_node *leaf(void)
{
    const struct espi_node *out;
    ck_assert_int_eq(espi_node_leaf(&arena, espi_base_find("MPI_DOUBLE", 10), &out), ESPI_OK);
    return out;
}

static const struct espi_node *vec(int64_t n, int64_t stride, const struct espi_node *child)
{
    const struct espi_node *out;
    ck_assert_int_eq(espi_node_vec(&arena, n, stride, child, &out), ESPI_OK);
    return out;
}

/* n numbers that rise by at least `gap`, from 0 on. */
static const int64_t *rising(int64_t n, int64_t gap)
{
    int64_t *at = espi_arena_alloc(&arena, (size_t)(n + 1) * sizeof *at);

    for (int64_t i = 0, next = 0; i < n; i++, next += gap + 8 * (int64_t)random_below(3))
        at[i] = next;
    return at;
}

static const int64_t *lengths(int64_t n, int64_t most)
{
    int64_t *len = espi_arena_alloc(&arena, (size_t)(n + 1) * sizeof *len);

    for (int64_t i = 0; i < n; i++)
        len[i] = 1 + (int64_t)random_below((uint64_t)most);
    return len;
}

static const struct espi_node *list(int64_t n, const struct espi_node *child)
{
    const struct espi_node *out;
    ck_assert_int_eq(espi_node_idx(&arena, n, rising(n, child->true_ub + 8), child, &out), ESPI_OK);
    return out;
}

static const struct espi_node *buckets(int64_t n, int64_t most, bool at_stride, const struct espi_node *child)
{
    const int64_t stride = child->true_ub + 8 * (int64_t)random_below(2), apart = most * stride + 8;
    const struct espi_node *out;

    if (at_stride)
        ck_assert_int_eq(espi_node_bucket(&arena, n, apart, stride, lengths(n, most), child, &out), ESPI_OK);
    else
        ck_assert_int_eq(espi_node_idxbuc(&arena, n, stride, rising(n, apart), lengths(n, most), child, &out),
                         ESPI_OK);
    return out;
}

/* n parts, each of them `of[i % kinds]`. */
static const struct espi_node *structure(int64_t n, int kinds, const struct espi_node *const *of)
{
    const struct espi_node **sub = espi_arena_alloc(&arena, (size_t)n * sizeof *sub), *out;
    int64_t *at = espi_arena_alloc(&arena, (size_t)n * sizeof *at), next = 0;

    for (int64_t i = 0; i < n; i++) {
        sub[i] = of[i % kinds];
        at[i] = next;
        next += sub[i]->true_ub + 8;
    }
    ck_assert_int_eq(espi_node_struc(&arena, n, at, sub, &out), ESPI_OK);
    return out;
}

static int64_t up_to(int64_t most)
{
    return 1 + (int64_t)random_below((uint64_t)most);
}

/* At most `depth` levels, of `most` children each at most. */
static const struct espi_node *random_tree(int depth, int64_t most, bool with_buckets)
{
    const struct espi_node *of[3];

    if (depth <= 1)
        return random_below(2) ? leaf() : vec(up_to(most), 8, leaf());
    for (int i = 0; i < 3; i++)
        of[i] = random_tree(depth - 1, most, with_buckets);
    switch (random_below(with_buckets ? 5 : 3)) {
    case 0:
        return vec(up_to(most), of[0]->true_ub + 8 * (int64_t)random_below(3), of[0]);
    case 1:
        return list(up_to(most), of[0]);
    case 2:
        return structure(up_to(most), 1 + (int)random_below(3), of);
    default:
        return buckets(up_to(most), 4, random_below(2) == 0, of[0]);
    }
}

/* ---- the model ---- */

static struct work model(const struct espi_node *tree, int64_t count, bool parts)
{
    return (struct work){espi_engine_cost(&counts_steps, tree, count, parts),
                         espi_engine_cost(&counts_elements, tree, count, parts),
                         espi_engine_cost(&counts_listed, tree, count, parts),
                         espi_engine_cost(&counts_bytes, tree, count, parts)};
}

static double time_of(struct work w)
{
    return w.steps * usual.step + w.elements * usual.element + w.listed * usual.listed + w.bytes / usual.copied;
}

/* ---- tests ---- */

static bool near(double a, double b, double share, double room)
{
    return fabs(a - b) <= share * (a > b ? a : b) + room;
}

/* As a whole the model is the simulation, but for the average that it takes of buckets. */
START_TEST(as_a_whole)
{
    int kernels = 0, walked = 0;

    for (int i = 0; i < 4000; i++) {
        const struct espi_node *tree = random_tree(2 + i % 5, 6, i % 2);
        int64_t count = up_to(5);
        struct work is = simulate(tree, count, false, 0), thought = model(tree, count, false);
        double share = i % 2 ? 0.3 : 1e-9, room = i % 2 ? 3 : 0;

        ck_assert_msg(near(is.steps, thought.steps, share, room), "%g steps, not %g", thought.steps, is.steps);
        ck_assert_msg(near(time_of(is), time_of(thought), share, room), "%g ns, not %g", time_of(thought),
                      time_of(is));
        ck_assert_msg(near(is.elements + is.bytes / 8, thought.elements + thought.bytes / 8, 1e-9, 0),
                      "%g elements, not %g", thought.elements + thought.bytes / 8, is.elements + is.bytes / 8);
        if (i % 2 == 0) {
            ck_assert_double_eq_tol(is.listed, thought.listed, 1e-6);
            ck_assert_double_eq_tol(is.bytes, thought.bytes, 1e-6);
        }
        kernels += is.steps <= 1;
        walked += is.steps > 1;
        espi_arena_release(&arena);
    }
    ck_assert(kernels > 400 && walked > 400);
}
END_TEST

/* In parts the model knows how many cuts there are, and not where they lie: wherever that is, on average. */
START_TEST(in_parts_on_average)
{
    enum { PHASES = 7 };
    double sum[2] = {0, 0}, worst = 0;
    int n = 0, far = 0;

    while (n < 2000) {
        const struct espi_node *tree = random_tree(2 + n % 4, 30, n % 2);
        int64_t count = up_to(1 + 100000 / (tree->size + 1));
        if (tree->entries <= 50000 && tree->size * count > 2 * PART) {
            double is = 0, thought = espi_engine_cost(&usual, tree, count, true);
            for (int i = 0; i < PHASES; i++)
                is += time_of(simulate(tree, count, true, i * PART / PHASES / 8 * 8)) / PHASES;
            double off = fmax(is, thought) / fmin(is, thought);
            worst = fmax(worst, off);
            far += off > 1.15;
            sum[0] += is;
            sum[1] += thought;
            n++;
        }
        espi_arena_release(&arena);
    }
    printf("engine_cost: %d trees in parts, off by a factor of %.2f at most, %d by more than 1.15, %.3f in all\n", n,
           worst, far, sum[1] / sum[0]);
    ck_assert(worst < 1.4 && far < n / 50 && near(sum[0], sum[1], 0.03, 0));
}
END_TEST

/* What the engine is known for: a list of 8,000 blocks is as many steps in parts; cut into chunks of 16, a step for
   each of these, and those that a cut goes through. */
START_TEST(long_list)
{
    const struct espi_node *tree = list(8000, vec(3, 8, leaf())), *cut, *flat = vec(24000, 24, leaf());
    double cuts = 192000.0 / PART;

    ck_assert_double_eq_tol(model(tree, 1, true).steps, 8000 + 2 * cuts, 1e-6);
    ck_assert_double_eq_tol(model(tree, 1, true).bytes, 192000, 1e-6);
    ck_assert_double_eq_tol(model(tree, 1, false).steps, 1, 1e-9);
    ck_assert_double_eq_tol(model(tree, 1, false).elements, 24000, 1e-6);
    ck_assert_int_eq(espi_variant_chunked(&arena, tree, 16, &cut), ESPI_OK);
    ck_assert_double_eq_tol(model(cut, 1, true).steps, 500 + 16 * cuts, 100);
    ck_assert_double_lt(espi_engine_cost(&usual, cut, 1, true), espi_engine_cost(&usual, tree, 1, true) / 4);
    ck_assert_double_gt(espi_engine_cost(&usual, cut, 1, false), espi_engine_cost(&usual, tree, 1, false));
    ck_assert_double_eq_tol(model(flat, 1, true).steps, 24000 + 2 * cuts, 1e-6);
    ck_assert_int_eq(espi_variant_copies(&arena, flat, ESPI_COPIES_ALL, &cut), ESPI_OK);
    ck_assert_double_eq_tol(model(cut, 1, true).steps, 1 + 4 * cuts, 1e-6); /* one block of copies */
    espi_arena_release(&arena);
}
END_TEST

/* A dense run is one memcpy; a long one inside of a list, too; one that fits a part has no cut. */
START_TEST(dense_runs)
{
    const struct espi_node *run = vec(100000, 8, leaf()), *few = list(5, vec(LONG_RUN / 8, 8, leaf())),
                           *shorter = list(5, vec(LONG_RUN / 8 - 1, 8, leaf()));

    ck_assert(model(run, 1, false).steps == 1 && model(run, 1, false).bytes == 800000);
    ck_assert(model(run, 1, false).elements == 0);
    ck_assert(model(few, 1, false).bytes == few->size && model(few, 1, false).elements == 0);
    ck_assert(model(shorter, 1, false).bytes == 0 && model(shorter, 1, false).elements == shorter->entries);
    for (int64_t n = PART / 8 - 1; n <= PART / 8; n++)
        ck_assert_double_eq(espi_engine_cost(&usual, vec(n, 24, leaf()), 1, true),
                            espi_engine_cost(&usual, vec(n, 24, leaf()), 1, false));
    ck_assert_double_gt(model(vec(PART / 8 + 1, 24, leaf()), 1, true).steps, PART / 8);
    espi_arena_release(&arena);
}
END_TEST

/* Up to three levels over a run are a kernel's; a fourth, or a struct anywhere, is gone through. */
START_TEST(nesting)
{
    const struct espi_node *tree = vec(4, 8, leaf());

    for (int level = 1; level <= 5; level++) {
        tree = vec(3, tree->true_ub + 8, tree);
        ck_assert_double_eq_tol(model(tree, 1, false).steps, level <= 3 ? 1 : level == 4 ? 4 : 13, 1e-9);
    }
    const struct espi_node *pair[2] = {vec(2, 16, leaf()), leaf()};
    ck_assert_double_eq_tol(model(structure(10, 2, pair), 1, false).steps, 11, 1e-9);
    ck_assert_double_eq_tol(model(vec(7, 4000, structure(10, 2, pair)), 1, false).steps, 78, 1e-9);
    espi_arena_release(&arena);
}
END_TEST

/* Parts of a struct that are one tree cost what as many copies of it do. */
START_TEST(shared)
{
    for (int i = 0; i < 300; i++) {
        const struct espi_node *one = random_tree(2 + i % 3, 8, true), *copy[6], *same, *apart;
        for (int k = 0; k < 6; k++) {
            char text[100000];
            ck_assert_uint_lt(espi_print(one, 0, text, sizeof text), sizeof text);
            ck_assert_int_eq(espi_parse(&arena, text, strlen(text), &copy[k], NULL), ESPI_OK);
        }
        same = structure(6, 1, &one);
        apart = structure(6, 6, copy);
        for (int parts = 0; parts < 2; parts++)
            for (int64_t count = 1; count < 1000; count *= 7)
                ck_assert_double_eq_tol(espi_engine_cost(&usual, same, count, parts),
                                        espi_engine_cost(&usual, apart, count, parts), 1e-3);
        ck_assert_double_eq_tol(espi_engine_least(&usual, same, 3, true), espi_engine_least(&usual, apart, 3, true),
                                1e-3);
        espi_arena_release(&arena);
    }
}
END_TEST

/* More items take longer, and so does each on a slower engine; nothing is faster than what is called the least, but
   that a kernel for dense items is thought to be as fast as memcpy. */
START_TEST(ordered)
{
    const struct espi_engine slower = {10, 0.3, 0.3, 30, false, false};

    for (int i = 0; i < 3000; i++) {
        const struct espi_node *tree = random_tree(2 + i % 5, 10, true), *cut;
        double last[2] = {0, 0};
        for (int64_t count = 1; count < 5000; count *= 3) {
            double now[2];
            for (int parts = 0; parts < 2; parts++) {
                now[parts] = espi_engine_cost(&usual, tree, count, parts);
                ck_assert_double_gt(now[parts], last[parts]);
                last[parts] = now[parts];
                ck_assert_double_ge(espi_engine_cost(&slower, tree, count, parts), now[parts]);
                ck_assert_double_ge(now[parts] * 1.05,
                                    espi_engine_least(&usual, tree, count, parts && tree->size * count > PART));
            }
        }
        if (espi_variant_chunked(&arena, tree, 4, &cut) == ESPI_OK) /* the same data */
            ck_assert_double_eq_tol(espi_engine_least(&usual, tree, 1, true), espi_engine_least(&usual, cut, 1, true),
                                    0.2 * espi_engine_least(&usual, tree, 1, true));
        espi_arena_release(&arena);
    }
}
END_TEST

/* Trees of as many nodes as there are atoms, of which neighbours are one and the same. */
START_TEST(deep)
{
    const struct espi_node *tree = vec(2, 16, leaf()), *wide = tree;

    for (int i = 0; i < 20; i++) {
        const struct espi_node *pair[2] = {tree, tree};
        tree = structure(2, 2, pair);
        wide = structure(5, 1, &wide);
    }
    ck_assert_double_eq_tol(model(tree, 1, false).steps, pow(2, 21) - 1, 1);
    ck_assert_double_gt(espi_engine_cost(&usual, tree, 1, true), espi_engine_cost(&usual, tree, 1, false));
    ck_assert_double_gt(espi_engine_cost(&usual, wide, 1, true), espi_engine_cost(&usual, wide, 1, false));
    ck_assert_double_gt(espi_engine_least(&usual, wide, 1, true), 0);
    espi_arena_release(&arena);
}
END_TEST

/* Nothing in it costs nothing; parts without data do no harm. */
START_TEST(empty)
{
    const struct espi_node *none = vec(0, 8, leaf()), *some[2] = {none, leaf()};

    for (int parts = 0; parts < 2; parts++) {
        ck_assert_double_eq(espi_engine_cost(&usual, none, 5, parts), 0);
        ck_assert_double_eq(espi_engine_cost(&usual, structure(3, 1, &none), 5, parts), 0);
        double cost = espi_engine_cost(&usual, structure(4, 2, some), 5000, parts);
        ck_assert(cost > 0 && isfinite(cost) && isfinite(espi_engine_least(&usual, structure(4, 2, some), 5, parts)));
    }
    espi_arena_release(&arena);
}
END_TEST

/* A list with lengths of `n` single doubles, `apart` bytes from one to the next. */
static double far_list(bool fetches, int64_t n, int64_t apart)
{
    struct espi_engine engine = counts_listed;
    int64_t *at = espi_arena_alloc(&arena, (size_t)n * sizeof *at);
    const struct espi_node *out;

    engine.fetches = fetches;
    for (int64_t i = 0; i < n; i++)
        at[i] = i * apart;
    ck_assert_int_eq(espi_node_idxbuc(&arena, n, 8, at, lengths(n, 1), leaf(), &out), ESPI_OK);
    return espi_engine_cost(&engine, out, 1, false);
}

/* Where fetching the blocks takes the time, a list is free; but not a short one, nor one without lengths. */
START_TEST(far_apart)
{
    enum { MANY = 512, FAR = 2048, LENGTHS = 4 };
    const int64_t less = (int64_t)FAR * MANY / (MANY - 1);

    ck_assert_double_eq(far_list(true, MANY, FAR + 8), 0);
    ck_assert_double_eq(far_list(false, MANY, FAR + 8), LENGTHS * MANY);
    ck_assert_double_eq(far_list(true, MANY - 1, FAR + 8), LENGTHS * (MANY - 1));
    ck_assert_double_eq(far_list(true, MANY, less - less % 8 - 8), LENGTHS * MANY);
    struct espi_engine engine = counts_listed;
    engine.fetches = true;
    const struct espi_node *out;
    ck_assert_int_eq(espi_node_idx(&arena, MANY, rising(MANY, FAR + 8), leaf(), &out), ESPI_OK);
    ck_assert_double_eq(espi_engine_cost(&engine, out, 1, false), MANY);
    espi_arena_release(&arena);
}
END_TEST

/* A struct of some thousand parts under some levels may be walked for its cost, but not under some hundred, each of
   which asks for all of it. */
START_TEST(deep_and_wide)
{
    enum { PARTS = 5000, LEVELS = 200, MOST = 131072 };
    static const struct espi_node *part[PARTS];
    const struct espi_node *tree, *kinds[2];
    const int64_t one = 8;
    ck_assert_int_eq(espi_node_vec(&arena, 2, 16, leaf(), &kinds[0]), ESPI_OK);
    ck_assert_int_eq(espi_node_vec(&arena, 3, 16, leaf(), &kinds[1]), ESPI_OK);
    for (int i = 0; i < PARTS; i++)
        part[i] = kinds[i % 2];
    ck_assert_int_eq(espi_node_struc(&arena, PARTS, rising(PARTS, 4096), part, &tree), ESPI_OK);
    for (int i = 0; i < LEVELS; i++) {
        ck_assert(i >= 4 || espi_tree_may_be_walked(tree, MOST));
        ck_assert_int_eq(espi_node_idx(&arena, 1, &one, tree, &tree), ESPI_OK);
    }
    ck_assert(!espi_tree_may_be_walked(tree, MOST));
    espi_arena_release(&arena);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "engine_cost", as_a_whole, in_parts_on_average, long_list, dense_runs, nesting,
                     shared, ordered, deep, empty, far_apart, deep_and_wide);
}
