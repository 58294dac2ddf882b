/* Zipped trees have the two type maps, and compiled programs copy what the maps say, whatever the shapes. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pack/copy.h"
#include "pack/program.h"
#include "random.h"
#include "runner.h"
#include "transpack/transpack.h"
#include "transpack/zip.h"

enum { SPACE = 1 << 20, LIMIT = 1 << 20 };

static struct espi_arena arena;
static unsigned char source[SPACE], target[SPACE], wanted[SPACE];

static void setup(void)
{
    arena = ESPI_ARENA_INIT;
    for (size_t k = 0; k < SPACE; k++)
        source[k] = (unsigned char)random_next();
}

static void teardown(void)
{
    espi_arena_release(&arena);
}

static const struct espi_node *made(espi_status status, const struct espi_node *const *node)
{
    ck_assert_int_eq(status, ESPI_OK);
    return *node;
}

static const struct espi_node *leaf(const char *name)
{
    const struct espi_node *node = NULL;
    espi_base base = espi_base_find(name, strlen(name));
    ck_assert(base != ESPI_BASE_NONE);
    return made(espi_node_leaf(&arena, base, &node), &node);
}

static const struct espi_node *vec(int64_t count, int64_t stride, const struct espi_node *child)
{
    const struct espi_node *node = NULL;
    return made(espi_node_vec(&arena, count, stride, child, &node), &node);
}

/* Where the next copy fits behind a node, at random with a gap. */
static int64_t behind(const struct espi_node *node)
{
    return node->true_ub - node->true_lb + (random_in(0, 2) == 0 ? random_in(1, 24) : 0);
}

/* `n` entries over `unit` (n a multiple of its entries), whose copies do not overlap: nested at random. */
static const struct espi_node *layout(int64_t n, const struct espi_node *unit)
{
    const struct espi_node *child, *node = NULL;
    int64_t all = n / unit->entries, c, *disp, at = random_in(-40, 40);
    if (all == 1 && random_in(0, 3) > 0)
        return unit;
    do {
        c = random_in(1, all);
    } while (all % c != 0);
    child = layout(n / c, unit);
    switch (random_in(0, 4)) {
    case 0: /* across: copies stand between each other's entries */
        if (child->kind == ESPI_VEC && child->stride > 0 && child->count > 1) {
            int64_t step = child->child->true_ub - child->child->true_lb;
            if (child->stride >= step * c)
                return vec(c, step, child);
            return vec(c, step, vec(child->count, step * c + random_in(0, 8), child->child));
        }
        return vec(c, behind(child), child);
    case 1:
        return vec(c, -behind(child), child);
    case 2:
        disp = espi_arena_calloc(&arena, (size_t)c, sizeof *disp);
        for (int64_t j = 0; j < c; j++) {
            disp[j] = at;
            at += behind(child);
        }
        for (int64_t j = c - 1; j > 0 && at % 2 == 0; j--) {
            int64_t k = random_in(0, j), swap = disp[j];
            disp[j] = disp[k];
            disp[k] = swap;
        }
        return made(espi_node_idx(&arena, c, disp, child, &node), &node);
    case 3: {
        int64_t buckets = 0, left = c, *len = espi_arena_calloc(&arena, (size_t)c + 1, sizeof *len);
        int64_t stride = behind(child);
        disp = espi_arena_calloc(&arena, (size_t)c + 1, sizeof *disp);
        while (left > 0) {
            disp[buckets] = at;
            len[buckets] = random_in(0, left);
            at += len[buckets] * stride + random_in(0, 9);
            left -= len[buckets++];
            if (buckets == c)
                len[buckets - 1] += left, left = 0;
        }
        return made(espi_node_idxbuc(&arena, buckets, stride, disp, len, child, &node), &node);
    }
    default:
        return vec(c, behind(child), child);
    }
}

/* A struc of a few values, not overlapping. */
static const struct espi_node *record(bool packed, const int *which, int n)
{
    static const char *const names[] = {"MPI_DOUBLE", "MPI_INT", "MPI_CHAR", "MPI_SHORT_INT", "MPI_DOUBLE_INT",
                                        "MPI_SHORT"};
    int64_t *disp = espi_arena_calloc(&arena, (size_t)n, sizeof *disp), at = 0;
    const struct espi_node **sub = espi_arena_calloc(&arena, (size_t)n, sizeof *sub), *node = NULL;
    for (int j = 0; j < n; j++) {
        sub[j] = leaf(names[which[j]]);
        disp[j] = at;
        at += sub[j]->true_ub + (packed ? 0 : random_in(0, 10));
    }
    return made(espi_node_struc(&arena, n, disp, sub, &node), &node);
}

/* Marks the places of a map; false when one is marked already or too far away. Gaps of pair types are no places. */
static bool mark(const struct espi_typemap *map, unsigned char *marks)
{
    memset(marks, 0, SPACE);
    for (size_t i = 0; i < map->n; i++) {
        int64_t at = SPACE / 2 + map->disp[i], size = espi_base_info(map->base[i])->extent;
        if (at < 0 || at + size > SPACE)
            return false;
        for (int64_t k = 0; k < size; k++)
            if (marks[at + k]++)
                return false;
    }
    return true;
}

static void put(unsigned char *to, const unsigned char *from, espi_base base)
{
    const struct espi_base_info *info = espi_base_info(base);
    if (strcmp(info->name, "MPI_SHORT_INT") == 0) {
        memcpy(to, from, sizeof(short));
        memcpy(to + info->extent - sizeof(int), from + info->extent - sizeof(int), sizeof(int));
    } else {
        memcpy(to, from, info->size);
    }
}

static bool copies_right(const struct espi_node *a, const struct espi_node *b, const struct espi_typemap *from,
                         const struct espi_typemap *onto)
{
    const struct espi_copy *program;
    struct espi_arena scratch = ESPI_ARENA_INIT;
    ck_assert_int_eq(espi_copy_compile(&scratch, a, b, &program), ESPI_OK);
    memset(target, 0x5a, sizeof target);
    memset(wanted, 0x5a, sizeof wanted);
    for (size_t i = 0; i < from->n; i++)
        put(wanted + SPACE / 2 + onto->disp[i], source + SPACE / 2 + from->disp[i], from->base[i]);
    espi_copy_run(program, source + SPACE / 2, target + SPACE / 2);
    espi_arena_release(&scratch);
    return memcmp(target, wanted, sizeof target) == 0;
}

static void has_map(const struct espi_node *node, const struct espi_typemap *map)
{
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    ck_assert_int_eq(espi_flatten(node, 0, LIMIT, &again), ESPI_OK);
    ck_assert(espi_typemap_equal(map, &again));
    espi_typemap_release(&again);
}

/* Everything that must hold of a pair of layouts. Returns whether bytes were compared. */
static bool check_pair(const struct espi_node *a, const struct espi_node *b)
{
    struct espi_typemap from = ESPI_TYPEMAP_INIT, onto = ESPI_TYPEMAP_INIT;
    const struct espi_node *za, *zb;
    struct espi_reconstruct_options options;
    struct espi_transpacking t;
    bool compared = false;

    ck_assert_int_eq(espi_flatten(a, 0, LIMIT, &from), ESPI_OK);
    ck_assert_int_eq(espi_flatten(b, 0, LIMIT, &onto), ESPI_OK);
    ck_assert_int_eq(espi_zip(&arena, a, b, LIMIT, &za, &zb), ESPI_OK);
    has_map(za, &from);
    has_map(zb, &onto);
    espi_reconstruct_defaults(&options);
    options.set = (enum espi_set)random_in(ESPI_SET_BASIC, ESPI_SET_EXTENDED);
    ck_assert_int_eq(espi_transpack_trees(&arena, a, b, &options, LIMIT, &t), ESPI_OK);
    has_map(t.from, &from);
    has_map(t.onto, &onto);
    if (from.n > 0 && from.n <= 200) {
        struct espi_costs pair = espi_transpack_costs(&options.costs);
        struct espi_transpacking flat;
        ck_assert_int_eq(espi_transpack(&arena, &from, &onto, &options, &flat), ESPI_OK);
        ck_assert_int_eq(espi_cost(t.from, &pair), t.cost);
        if (flat.exact)
            ck_assert_int_ge(t.cost, flat.cost);
        if (flat.exact && t.exact)
            ck_assert_int_eq(t.cost, flat.cost);
    }
    if (mark(&onto, wanted) && mark(&from, target)) {
        compared = true;
        if (!copies_right(za, zb, &from, &onto) || !copies_right(t.from, t.onto, &from, &onto)) {
            espi_print_file(a, 0, stdout);
            printf("\n");
            espi_print_file(b, 0, stdout);
            ck_abort_msg("\nother bytes than the maps say");
        }
    }
    espi_typemap_release(&from);
    espi_typemap_release(&onto);
    return compared;
}

START_TEST(nests_of_one_type)
{
    static const int64_t lengths[] = {1, 2, 6, 12, 24, 30, 36, 64, 100, 144, 720};
    static const char *const names[] = {"MPI_DOUBLE", "MPI_INT", "MPI_CHAR", "MPI_SHORT", "MPI_SHORT_INT",
                                        "MPI_C_DOUBLE_COMPLEX", "MPI_DOUBLE_INT"};
    int compared = 0;
    for (int round = 0; round < 2500; round++) {
        const struct espi_node *unit = leaf(names[random_in(0, 6)]);
        int64_t n = lengths[random_in(0, 10)];
        compared += check_pair(layout(n, unit), layout(n, unit));
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(compared, 1200);
}
END_TEST

START_TEST(records)
{
    int compared = 0;
    for (int round = 0; round < 2000; round++) {
        int which[6], n = (int)random_in(2, 6);
        int64_t copies = (int64_t[]){1, 2, 4, 6, 12, 40, 60}[random_in(0, 6)];
        for (int j = 0; j < n; j++)
            which[j] = (int)random_in(0, 5);
        const struct espi_node *a = layout(copies * n, record(false, which, n));
        const struct espi_node *b = layout(copies * n, record(random_in(0, 1), which, n));
        compared += check_pair(a, b);
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(compared, 700);
}
END_TEST

/* Particles, from an array of records to one array per value: in the order of the type map the values take turns. */
START_TEST(records_to_arrays)
{
    const int64_t n = 1000;
    int which[4] = {0, 0, 1, 2};
    const struct espi_node *rec = record(false, which, 4), *node = NULL;
    int64_t *disp = espi_arena_calloc(&arena, 4, sizeof *disp);
    const struct espi_node **sub = espi_arena_calloc(&arena, 4, sizeof *sub);
    for (int j = 0; j < 4; j++) {
        sub[j] = rec->sub[j];
        disp[j] = j * 16 * n;
    }
    ck_assert_int_eq(espi_node_struc(&arena, 4, disp, sub, &node), ESPI_OK);
    const struct espi_node *from = vec(n, rec->true_ub + 3, rec), *mixed = vec(n, 16, node), *za, *zb;
    ck_assert(check_pair(from, mixed));
    ck_assert(check_pair(mixed, from));
    ck_assert_int_eq(espi_zip(&arena, from, mixed, 100, &za, &zb), ESPI_OK);
    ck_assert(za->kind == ESPI_VEC && za->count == n);
}
END_TEST

/* All sizes of blocks, and sizes of matrix around those of tiles. */
START_TEST(transpositions)
{
    static const char *const names[] = {"MPI_CHAR", "MPI_SHORT", "MPI_INT", "MPI_DOUBLE", "MPI_C_DOUBLE_COMPLEX"};
    for (int k = 0; k < 5; k++) {
        const struct espi_node *unit = leaf(names[k]);
        int64_t size = unit->size;
        for (int round = 0; round < 40; round++) {
            int64_t rows = random_in(1, 140), columns = random_in(1, 140), pad = random_in(0, 2) * size;
            const struct espi_node *a = vec(rows, columns * size + pad, vec(columns, size, unit));
            const struct espi_node *b = vec(rows, size, vec(columns, rows * size + pad, unit)), *za, *zb;
            if (a->true_ub > SPACE / 2 || b->true_ub > SPACE / 2)
                continue;
            ck_assert(check_pair(a, b));
            ck_assert(check_pair(b, a));
            ck_assert_int_eq(espi_zip(&arena, a, b, 100, &za, &zb), ESPI_OK);
        }
    }
}
END_TEST

/* Two loops over blocks, of whatever counts and steps: those of the target are such that no place comes twice. */
START_TEST(grids)
{
    int compared = 0;
    static const int64_t sizes[] = {1, 2, 4, 8, 12, 16, 24, 32, 40, 5};
    for (int round = 0; round < 6000; round++) {
        int64_t bytes = sizes[random_in(0, 9)], n[2] = {random_in(1, 9), random_in(1, 9)}, start[2] = {0, 0}, span[2];
        if (random_in(0, 2) > 0)
            n[random_in(0, 1)] = random_in(1, 600);
        if (random_in(0, 9) == 0)
            n[0] = random_in(60, 140), n[1] = random_in(60, 140);
        int inner = (int)random_in(0, 1), same = (int)random_in(0, 3) == 0 ? inner : 1 - inner;
        struct espi_copy_loop loop[2] = {{.count = n[0]}, {.count = n[1]}};
        loop[inner].onto = bytes + random_in(0, 1) * random_in(0, 40);
        loop[1 - inner].onto = loop[inner].onto * n[inner] + random_in(0, 1) * random_in(0, 40);
        loop[same].from = random_in(0, 2) == 0 ? random_in(0, 80) : bytes;
        loop[1 - same].from = random_in(0, 2) == 0 ? random_in(0, 80) : loop[same].from * n[same];
        for (int k = 0; k < 2; k++) {
            if (random_in(0, 5) == 0)
                loop[k].from = -loop[k].from;
            if (random_in(0, 5) == 0)
                loop[k].onto = -loop[k].onto;
            start[0] -= loop[k].from < 0 ? (n[k] - 1) * loop[k].from : 0;
            start[1] -= loop[k].onto < 0 ? (n[k] - 1) * loop[k].onto : 0;
        }
        for (int k = 0; k < 2; k++)
            span[k] = (n[0] - 1) * llabs(k ? loop[0].onto : loop[0].from) +
                      (n[1] - 1) * llabs(k ? loop[1].onto : loop[1].from) + bytes;
        if (span[0] > SPACE || span[1] > SPACE)
            continue;
        compared++;
        memset(target, 0x5a, sizeof target);
        memset(wanted, 0x5a, sizeof wanted);
        for (int64_t i = 0; i < n[0]; i++)
            for (int64_t k = 0; k < n[1]; k++)
                memcpy(wanted + start[1] + i * loop[0].onto + k * loop[1].onto,
                       source + start[0] + i * loop[0].from + k * loop[1].from, (size_t)bytes);
        espi_kernels_of(espi_cpu_vectors(), false)
            ->grid(bytes, &loop[0], &loop[1], (char *)source + start[0], (char *)target + start[1]);
        ck_assert_msg(memcmp(target, wanted, sizeof target) == 0,
                      "%" PRId64 " bytes, %" PRId64 " (%" PRId64 " to %" PRId64 ") times %" PRId64 " (%" PRId64
                      " to %" PRId64 ")",
                      bytes, n[0], loop[0].from, loop[0].onto, n[1], loop[1].from, loop[1].onto);
    }
    ck_assert_int_gt(compared, 5000);
}
END_TEST

/* No work in proportion to the entries. */
START_TEST(huge)
{
    const int64_t n = 30000;
    const struct espi_node *unit = leaf("MPI_DOUBLE"), *za, *zb;
    const struct espi_node *a = vec(n * n, 8, unit), *b = vec(n, 8, vec(n, 8 * n, unit));
    struct espi_reconstruct_options options;
    struct espi_transpacking t;
    ck_assert_int_eq(espi_zip(&arena, a, b, 100, &za, &zb), ESPI_OK);
    ck_assert_int_eq(za->depth, 3);
    espi_reconstruct_defaults(&options);
    ck_assert_int_eq(espi_transpack_trees(&arena, a, b, &options, 0, &t), ESPI_OK);
    ck_assert_int_eq(t.cost, 5 + 5 + 2);
    /* Steps of 6 against steps of 4, a billion times: twelve at a time. */
    a = vec(200000000, 100, vec(6, 8, unit));
    b = vec(300000000, 64, vec(4, 16, unit));
    ck_assert_int_eq(espi_zip(&arena, a, b, 100, &za, &zb), ESPI_OK);
    ck_assert_int_eq(za->count, 100000000);
    ck_assert_int_eq(za->entries, a->entries);
}
END_TEST

/* A struc of parts against buckets that they cut: looked for from the first bucket on each time, up to so many
   steps. */
START_TEST(cut_buckets)
{
    enum { MOST = 40000 };
    static int64_t at[2][MOST], length[MOST];
    static const struct espi_node *parts[MOST];
    const struct espi_node *i = leaf("MPI_INT"), *buckets = NULL, *whole = NULL, *za, *zb;

    for (int n = 1000; n <= MOST; n *= 40) { /* lengths 1, 3, 1, 3, ... against 2, 2, 2, ... */
        for (int k = 0; k < n; k++) {
            length[k] = k % 2 == 0 ? 1 : 3;
            at[0][k] = 20 * k;
            at[1][k] = 24 * k;
            parts[k] = vec(2, 4 + 4 * (k % 2), i);
        }
        ck_assert_int_eq(espi_node_idxbuc(&arena, n, 4, at[0], length, i, &buckets), ESPI_OK);
        ck_assert_int_eq(espi_node_struc(&arena, n, at[1], parts, &whole), ESPI_OK);
        ck_assert_int_eq(espi_zip(&arena, whole, buckets, LIMIT, &za, &zb), n == MOST ? ESPI_ERR_LIMIT : ESPI_OK);
    }
}
END_TEST

/* `n` blocks of `unit` at places of their own, `by` bytes from the origin, or under a loop. */
static const struct espi_node *scattered(int64_t n, const struct espi_node *unit, int64_t by)
{
    int64_t *disp = espi_arena_calloc(&arena, (size_t)n, sizeof *disp), at = by;
    const struct espi_node *node = NULL;

    for (int64_t j = 0; j < n; j++, at += unit->size + random_in(0, 40))
        disp[j] = at;
    for (int64_t j = n - 1; j > 0; j--) {
        const int64_t k = random_in(0, j), place = disp[j];
        disp[j] = disp[k];
        disp[k] = place;
    }
    return made(espi_node_idx(&arena, n, disp, unit, &node), &node);
}

/* Places in 32 bits where they fit; one list where both sides are alike. */
START_TEST(lists_of_two_sides)
{
    static const int64_t far[] = {0, 0, 5000000000, -5000000000, INT32_MAX - 400, INT32_MIN};

    for (int round = 0; round < 3000; round++) {
        const int64_t n = random_in(2, 120), by[2] = {far[random_in(0, 5)], far[random_in(0, 5)]},
                      turns = (int64_t[]){1, 2, 9, 40}[random_in(0, 3)];
        const struct espi_node *unit = vec((int64_t[]){1, 2, 3, 4, 8, 12, 16, 20, 64, 100}[random_in(0, 9)], 1,
                                           leaf("MPI_CHAR"));
        const bool alike = random_in(0, 2) == 0;
        const struct espi_node *a = scattered(n, unit, by[0]), *b = alike ? a : scattered(n, unit, by[1]);
        const int64_t first[2] = {a->true_lb, b->true_lb}, step[2] = {a->true_ub - a->true_lb,
                                                                      b->true_ub - b->true_lb};
        const struct espi_copy *program, *list;

        if (turns * step[0] > SPACE || turns * step[1] > SPACE)
            continue;
        ck_assert_int_eq(espi_copy_compile(&arena, turns > 1 ? vec(turns, step[0], a) : a,
                                           turns > 1 ? vec(turns, step[1], b) : b, &program), ESPI_OK);
        list = turns > 1 ? program->child : program;
        ck_assert_int_eq(list->kind, ESPI_COPY_LIST);
        const bool fits = first[0] >= INT32_MIN && first[1] >= INT32_MIN &&
                          first[0] + step[0] - unit->size <= INT32_MAX &&
                          first[1] + step[1] - unit->size <= INT32_MAX;
        ck_assert_int_eq(list->near != NULL, fits);
        ck_assert_int_eq(list->near_onto != NULL, fits);
        ck_assert(!fits || (list->near == list->near_onto) ==
                               (memcmp(a->disp, b->disp, (size_t)n * sizeof *a->disp) == 0));
        memset(target, 0x5a, sizeof target);
        memset(wanted, 0x5a, sizeof wanted);
        for (int64_t i = 0; i < turns; i++)
            for (int64_t j = 0; j < n; j++)
                memcpy(wanted + (b->disp[j] - first[1]) + i * step[1], source + (a->disp[j] - first[0]) + i * step[0],
                       (size_t)unit->size);
        espi_copy_run(program, (const void *)((uintptr_t)source - (uintptr_t)first[0]),
                      (void *)((uintptr_t)target - (uintptr_t)first[1]));
        ck_assert_msg(memcmp(target, wanted, sizeof target) == 0, "round %d", round);
        espi_arena_release(&arena);
    }
}
END_TEST

START_TEST(bad_pairs)
{
    const struct espi_node *za, *zb, *i = leaf("MPI_INT"), *d = leaf("MPI_DOUBLE");
    const struct espi_copy *program;
    int64_t irregular[64];
    for (int k = 0; k < 64; k++)
        irregular[k] = k * k * 8;
    ck_assert_int_eq(espi_zip(&arena, vec(4, 8, i), vec(4, 8, d), LIMIT, &za, &zb), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_zip(&arena, vec(4, 8, i), vec(5, 8, i), LIMIT, &za, &zb), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_copy_compile(&arena, vec(4, 8, i), vec(5, 8, i), &program), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_copy_compile(&arena, vec(4, 8, i), vec(4, 8, d), &program), ESPI_ERR_ARGUMENT);
    const struct espi_node *list = NULL;
    ck_assert_int_eq(espi_node_idx(&arena, 64, irregular, i, &list), ESPI_OK);
    ck_assert_int_eq(espi_zip(&arena, list, vec(64, 8, i), 10, &za, &zb), ESPI_ERR_LIMIT);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-copy", 300, setup, teardown, nests_of_one_type, records, records_to_arrays, transpositions,
                     grids, huge, cut_buckets, lists_of_two_sides, bad_pairs);
}
