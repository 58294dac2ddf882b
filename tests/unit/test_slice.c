/* Slices and runs of random trees against the flattened type map. */
#include <check.h>
#include <stdlib.h>

#include "layout/layout.h"
#include "random.h"
#include "runner.h"

static struct espi_typemap flat(const struct espi_node *tree, int64_t shift)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    ck_assert_int_eq(espi_flatten(tree, shift, 100000, &map), ESPI_OK);
    return map;
}

START_TEST(slices_are_ranges_of_the_type_map)
{
    for (int round = 0; round < 4000; round++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        const struct espi_node *tree = random_tree(&arena, (int)random_in(1, 5)), *slice = NULL;
        int64_t from = random_in(0, tree->entries), to = random_in(from, tree->entries), shift = random_in(-50, 50);
        ck_assert_int_eq(espi_node_slice(&arena, tree, from, to, shift, &slice), ESPI_OK);
        struct espi_typemap whole = flat(tree, shift), part = flat(slice, 0);
        ck_assert_int_eq((int64_t)part.n, to - from);
        for (size_t i = 0; i < part.n; i++) {
            ck_assert_int_eq(part.disp[i], whole.disp[(size_t)from + i]);
            ck_assert_int_eq(part.base[i], whole.base[(size_t)from + i]);
        }
        espi_typemap_release(&whole);
        espi_typemap_release(&part);
        espi_arena_release(&arena);
    }
}
END_TEST

START_TEST(slices_outside_are_refused)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *leaf, *slice;
    ck_assert_int_eq(espi_node_leaf(&arena, 0, &leaf), ESPI_OK);
    ck_assert_int_eq(espi_node_slice(&arena, leaf, -1, 1, 0, &slice), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_slice(&arena, leaf, 0, 2, 0, &slice), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_node_slice(&arena, leaf, 1, 0, 0, &slice), ESPI_ERR_ARGUMENT);
    espi_arena_release(&arena);
}
END_TEST

/* A slice of a vector of 10^12 elements costs a few nodes. */
START_TEST(slices_of_huge_vectors_stay_small)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *leaf, *inner, *outer, *slice;
    ck_assert_int_eq(espi_node_leaf(&arena, 0, &leaf), ESPI_OK);
    ck_assert_int_eq(espi_node_vec(&arena, 1000000, 8, leaf, &inner), ESPI_OK);
    ck_assert_int_eq(espi_node_vec(&arena, 1000000, 9000000, inner, &outer), ESPI_OK);
    ck_assert_int_eq(espi_node_slice(&arena, outer, 999999, 2000001, 0, &slice), ESPI_OK);
    ck_assert_int_eq(slice->entries, 1000002);
    ck_assert_int_eq(slice->true_lb, 7999992);
    ck_assert_int_lt(espi_cost(slice, &espi_costs_default), 60);
    espi_arena_release(&arena);
}
END_TEST

/* The plain definition, on the type map. */
static bool is_run(const struct espi_typemap *map, int64_t unit)
{
    for (size_t i = 1; i < map->n; i++)
        if (map->disp[i] != map->disp[0] + (int64_t)i * unit)
            return false;
    return true;
}

/* Small strides, so that runs really occur (they are counted). */
static const struct espi_node *near_run(struct espi_arena *arena, int depth)
{
    const struct espi_node *out, *child;
    int64_t count = random_in(0, 3);
    if (depth <= 1) {
        ck_assert_int_eq(espi_node_leaf(arena, (espi_base)random_in(0, 1), &out), ESPI_OK);
        return out;
    }
    child = near_run(arena, depth - 1);
    int64_t step = random_in(0, 3) ? child->entries * 4 : random_in(-1, 3) * 4, at = random_in(0, 2) * 4;
    int64_t *disp = espi_arena_calloc(arena, 4, sizeof *disp), *len = espi_arena_calloc(arena, 4, sizeof *len);
    const struct espi_node **sub = espi_arena_calloc(arena, 4, sizeof *sub);
    for (int64_t j = 0; j < count; j++) {
        disp[j] = at;
        len[j] = random_in(0, 2);
        sub[j] = child;
        at += random_in(0, 7) ? step * (count % 2 ? len[j] : 1) : 4;
    }
    switch (random_in(0, 4)) {
    case 0:
        ck_assert_int_eq(espi_node_vec(arena, count, step, child, &out), ESPI_OK);
        break;
    case 1:
        ck_assert_int_eq(espi_node_idx(arena, count, disp, child, &out), ESPI_OK);
        break;
    case 2:
        ck_assert_int_eq(espi_node_idxbuc(arena, count, step, disp, len, child, &out), ESPI_OK);
        break;
    case 3:
        ck_assert_int_eq(espi_node_bucket(arena, count, 2 * step, step, len, child, &out), ESPI_OK);
        break;
    default:
        ck_assert_int_eq(espi_node_struc(arena, count, disp, sub, &out), ESPI_OK);
    }
    return out;
}

START_TEST(runs_and_bases_agree_with_the_type_map)
{
    int runs = 0, other = 0;
    for (int round = 0; round < 20000; round++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        const struct espi_node *tree = near_run(&arena, (int)random_in(1, 4));
        struct espi_typemap map = flat(tree, 0);
        int64_t start = 0, entries = 0;
        bool run = espi_node_run(tree, 4, &start, &entries);
        espi_base base = map.n ? map.base[0] : ESPI_BASE_NONE;
        for (size_t i = 1; i < map.n; i++)
            if (map.base[i] != base)
                base = ESPI_BASE_NONE;
        ck_assert_int_eq(run, is_run(&map, 4));
        ck_assert_int_eq(espi_node_single_base(tree), base);
        if (run && map.n) {
            ck_assert_int_eq(start, map.disp[0]);
            ck_assert_int_eq(entries, (int64_t)map.n);
        }
        map.n > 1 && run ? runs++ : other++;
        espi_typemap_release(&map);
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(runs, 200);
    ck_assert_int_gt(other, 200);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-slice", 120, NULL, NULL, slices_are_ranges_of_the_type_map, slices_outside_are_refused,
                     slices_of_huge_vectors_stay_small, runs_and_bases_agree_with_the_type_map);
}
