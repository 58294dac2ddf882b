/* Pack programs against a plain list of the bytes that a type map names: whole, in ranges, at every level of
   instructions, between pages that may not be touched. */
#define _GNU_SOURCE
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "random.h"
#include "runner.h"
#include "test_pack.h"

enum { MOST = 1 << 18, SPAN_MOST = 1 << 22 };

struct espi_arena arena;

/* Allocations of this program fail when told to (--wrap). */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

static int granted = -1; /* allocations until they fail; negative: they do not */

static bool is_granted(void)
{
    if (granted > 0)
        granted--;
    else if (granted == 0)
        return false;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return is_granted() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return is_granted() ? __real_calloc(n, bytes) : NULL;
}

static void setup(void)
{
    arena = ESPI_ARENA_INIT;
}

static void teardown(void)
{
    espi_arena_release(&arena);
}

const struct espi_node *made(espi_status status, const struct espi_node *const *node)
{
    ck_assert_int_eq(status, ESPI_OK);
    return *node;
}

const struct espi_node *leaf(const char *name)
{
    const struct espi_node *node = NULL;
    espi_base base = espi_base_find(name, strlen(name));
    ck_assert(base != ESPI_BASE_NONE);
    return made(espi_node_leaf(&arena, base, &node), &node);
}

const struct espi_node *vec(int64_t count, int64_t stride, const struct espi_node *child)
{
    const struct espi_node *node = NULL;
    return made(espi_node_vec(&arena, count, stride, child, &node), &node);
}

int64_t *numbers(int64_t n)
{
    int64_t *values = espi_arena_calloc(&arena, (size_t)n + 1, sizeof *values);
    ck_assert_ptr_nonnull(values);
    return values;
}

/* ---- memory between pages that may not be touched ---- */

struct guarded {
    unsigned char *map, *first;
    size_t bytes, mapped;
};

/* `at_end`: the last byte stands right before a guard; else the first one right behind one. */
static struct guarded guarded(size_t bytes, bool at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    struct guarded g = {.bytes = bytes, .mapped = inner + 2 * page};
    g.map = mmap(NULL, g.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert(g.map != MAP_FAILED);
    if (inner > 0)
        ck_assert_int_eq(mprotect(g.map + page, inner, PROT_READ | PROT_WRITE), 0);
    g.first = g.map + page + (at_end ? inner - bytes : 0);
    return g;
}

static void release(struct guarded *g)
{
    munmap(g->map, g->mapped);
}

/* ---- what the type map says ---- */

struct oracle {
    int64_t *where; /* of each byte of the stream, counted from the layout's displacement 0 */
    int64_t n, low, high;
};

static void name_bytes(struct oracle *o, int64_t at, int64_t bytes)
{
    for (int64_t k = 0; k < bytes; k++)
        o->where[o->n++] = at + k;
    o->low = at < o->low ? at : o->low;
    o->high = at + bytes > o->high ? at + bytes : o->high;
}

/* False when there are too many bytes, or they lie too far apart. */
static bool oracle(const struct espi_node *tree, int64_t extent, int64_t count, struct oracle *o)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    *o = (struct oracle){.low = INT64_MAX, .high = INT64_MIN};
    if (tree->size > MOST || tree->size * count > MOST || espi_flatten(tree, 0, PACK_LIMIT, &map) != ESPI_OK)
        return false;
    o->where = numbers(tree->size * count);
    for (int64_t i = 0; i < count; i++)
        for (size_t e = 0; e < map.n; e++) {
            const struct espi_base_info *info = espi_base_info(map.base[e]);
            const int64_t at = i * extent + map.disp[e], gap = (int64_t)info->extent - info->size;
            if (gap > 0) {
                name_bytes(o, at, info->size - 4);
                name_bytes(o, at + info->extent - 4, 4);
            } else {
                name_bytes(o, at, info->size);
            }
        }
    espi_typemap_release(&map);
    ck_assert_int_eq(o->n, tree->size * count);
    if (o->n == 0)
        o->low = o->high = 0;
    return o->high - o->low <= SPAN_MOST;
}

/* ---- one layout in all ways ---- */

struct trial {
    const struct espi_pack *pack;
    const struct oracle *o;
    int64_t count;
    enum espi_vectors level;
    struct guarded data, stream;
    unsigned char *origin; /* where displacement 0 lies */
    unsigned char *wanted, *marks;
};

static void pack_and_compare(struct trial *t, int64_t first, int64_t bytes)
{
    unsigned char *stream = t->stream.first + t->stream.bytes - bytes;
    if (first == 0 && bytes == t->o->n)
        espi_pack_run_at(t->level, t->pack, t->origin, t->count, stream);
    else
        espi_pack_range_at(t->level, t->pack, t->origin, t->count, first, bytes, stream);
    if (memcmp(stream, t->wanted + first, (size_t)bytes) != 0)
        ck_abort_msg("packing %" PRId64 " of %" PRId64 " bytes from byte %" PRId64 " on, level %d", bytes, t->o->n,
                     first, (int)t->level);
}

static void unpack_and_compare(struct trial *t, int64_t first, int64_t bytes)
{
    unsigned char *stream = t->stream.first + t->stream.bytes - bytes;
    const int64_t low = t->o->low;
    memcpy(stream, t->wanted + first, (size_t)bytes);
    memset(t->data.first, 0x5a, t->data.bytes);
    memset(t->marks, 0, t->data.bytes);
    if (first == 0 && bytes == t->o->n)
        espi_unpack_run_at(t->level, t->pack, stream, t->origin, t->count);
    else
        espi_unpack_range_at(t->level, t->pack, stream, t->origin, t->count, first, bytes);
    /* A place that stands twice has one of its values. */
    for (int64_t i = first; i < first + bytes; i++)
        t->marks[t->o->where[i] - low] |= t->data.first[t->o->where[i] - low] == t->wanted[i] ? 3 : 1;
    for (size_t b = 0; b < t->data.bytes; b++)
        if (t->marks[b] != 3 && (t->marks[b] != 0 || t->data.first[b] != 0x5a))
            ck_abort_msg("unpacking %" PRId64 " of %" PRId64 " bytes from byte %" PRId64 " on, level %d: byte "
                         "%" PRId64 " %s",
                         bytes, t->o->n, first, (int)t->level, (int64_t)b + low,
                         t->marks[b] ? "is wrong" : "was in a gap");
}

static void all_ranges(struct trial *t, void (*check)(struct trial *, int64_t, int64_t))
{
    const int64_t n = t->o->n;
    check(t, 0, n);
    if (n > 0 && n <= 24) {
        for (int64_t first = 0; first < n; first++)
            for (int64_t bytes = 0; first + bytes <= n; bytes++)
                check(t, first, bytes);
    } else {
        for (int round = 0; round < 6 && n > 0; round++) {
            const int64_t first = random_in(0, n - 1);
            check(t, first, random_in(0, random_in(0, 1) ? n - first : (n - first) % 97));
        }
    }
}

/* The parts of a stream one after the other are the stream. */
static void in_parts(struct trial *t)
{
    const int64_t n = t->o->n;
    for (int64_t first = 0, bytes; first < n; first += bytes) {
        bytes = random_in(1, n / 3 + 1);
        bytes = bytes < n - first ? bytes : n - first;
        espi_pack_range_at(t->level, t->pack, t->origin, t->count, first, bytes, t->stream.first + first);
    }
    ck_assert(memcmp(t->stream.first, t->wanted, (size_t)n) == 0);
}

/* Returns whether bytes were compared. */
bool check_layout(const struct espi_node *tree, int64_t extent, int64_t count)
{
    struct oracle o;
    struct espi_arena scratch = ESPI_ARENA_INIT;
    struct trial t = {.o = &o, .count = count};
    const enum espi_vectors own = espi_cpu_vectors(), last = own == ESPI_VECTORS_AVX512 ? ESPI_VECTORS_PAST : own;

    ck_assert_int_eq(espi_pack_compile(&scratch, tree, extent, &t.pack), ESPI_OK);
    ck_assert_int_eq(espi_pack_size(t.pack), tree->size);
    if (!oracle(tree, extent, count, &o)) {
        espi_arena_release(&scratch);
        return false;
    }
    ck_assert_int_le(espi_pack_blocks(t.pack) * count, o.n);
    for (int at_end = 0; at_end < 2; at_end++) {
        t.data = guarded((size_t)(o.high - o.low), at_end);
        t.stream = guarded((size_t)o.n, at_end);
        t.origin = (unsigned char *)espi_place(t.data.first, -o.low);
        t.wanted = espi_arena_alloc(&scratch, (size_t)o.n);
        t.marks = espi_arena_alloc(&scratch, t.data.bytes);
        for (t.level = ESPI_VECTORS_PLAIN; t.level <= last; t.level++) {
            for (size_t b = 0; b < t.data.bytes; b++)
                t.data.first[b] = (unsigned char)random_next();
            for (int64_t i = 0; i < o.n; i++)
                t.wanted[i] = t.data.first[o.where[i] - o.low];
            all_ranges(&t, pack_and_compare);
            in_parts(&t);
            all_ranges(&t, unpack_and_compare);
        }
        release(&t.data);
        release(&t.stream);
    }
    espi_arena_release(&scratch);
    return o.n > 0;
}

START_TEST(random_trees)
{
    int compared = 0;
    for (int round = 0; round < 2500; round++) {
        const struct espi_node *tree = random_tree(&arena, (int)random_in(1, 6));
        const int64_t extent = random_in(0, 2) == 0 ? tree->true_ub - tree->true_lb : random_in(-300, 300);
        compared += check_layout(tree, extent, random_in(0, 3) == 0 ? random_in(0, 40) : random_in(0, 2));
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(compared, 600);
}
END_TEST

/* ---- larger layouts, as programs have them ---- */

static const char *const units[] = {"MPI_CHAR", "MPI_SHORT", "MPI_INT", "MPI_DOUBLE", "MPI_SHORT_INT",
                                    "MPI_DOUBLE_INT", "MPI_C_DOUBLE_COMPLEX", "MPI_DOUBLE", "MPI_INT"};

static const struct espi_node *block(void)
{
    const struct espi_node *unit = leaf(units[random_in(0, 8)]);
    static const int64_t lengths[] = {1, 1, 1, 2, 3, 4, 5, 6, 8, 11, 20, 40};
    return vec(lengths[random_in(0, 11)], unit->true_ub, unit);
}

/* Displacements in stretches: neighbours, equal distances, or neither; mostly without overlaps. */
static int64_t *places(int64_t n, int64_t size)
{
    int64_t *disp = numbers(n), at = random_in(-100, 100), left = 0, step = 0, kind = 0;
    for (int64_t j = 0; j < n; j++) {
        if (left-- == 0) {
            left = random_in(0, 3) == 0 ? random_in(30, 80) : random_in(0, 6);
            kind = random_in(0, 3);
            step = size + random_in(0, 30);
        }
        disp[j] = at;
        at += kind == 0 ? size : kind == 1 ? step : size + random_in(0, 1) * random_in(0, 50);
    }
    if (random_in(0, 4) == 0)
        for (int64_t j = n - 1; j > 0; j--) {
            const int64_t k = random_in(0, j), swap = disp[j];
            disp[j] = disp[k];
            disp[k] = swap;
        }
    return disp;
}

static const struct espi_node *any_layout(int depth)
{
    const struct espi_node *node = NULL, *child = depth > 0 ? any_layout(depth - 1) : block();
    const int64_t size = child->true_ub - child->true_lb, n = random_in(1, depth > 0 ? 12 : 200);
    switch (random_in(0, 5)) {
    case 0:
        return vec(n, size + random_in(0, 40), child);
    case 1:
        return vec(n, random_in(0, 1) ? -size : 8 * random_in(1, 40), vec(random_in(1, 30), 8 * n, child));
    case 2:
        return made(espi_node_idx(&arena, n, places(n, size), child, &node), &node);
    case 3: {
        int64_t *len = numbers(n), equal = random_in(0, 3), most = random_in(1, 8);
        for (int64_t j = 0; j < n; j++)
            len[j] = equal == 0 ? most : random_in(0, random_in(0, 9) == 0 ? 20 : most);
        return made(espi_node_idxbuc(&arena, n, size + random_in(0, 1) * 8, places(n, 4 * size), len, child, &node),
                    &node);
    }
    case 4: {
        int64_t *len = numbers(n);
        for (int64_t j = 0; j < n; j++)
            len[j] = j;
        return made(espi_node_bucket(&arena, n, n * size, size, len, child, &node), &node);
    }
    default: {
        const struct espi_node **sub = espi_arena_calloc(&arena, (size_t)n, sizeof *sub);
        const bool blocks = random_in(0, 1);
        int64_t *disp = numbers(n), at = 0;
        for (int64_t j = 0; j < n; j++) {
            sub[j] = j > 0 && random_in(0, 2) == 0 ? sub[j - 1] : blocks || depth == 0 ? block() : any_layout(0);
            disp[j] = at - sub[j]->true_lb;
            at += sub[j]->true_ub - sub[j]->true_lb + random_in(0, 1) * random_in(0, 20);
        }
        return made(espi_node_struc(&arena, n, disp, sub, &node), &node);
    }
    }
}

START_TEST(application_trees)
{
    int compared = 0;
    for (int round = 0; round < 1500; round++) {
        const struct espi_node *tree = any_layout((int)random_in(0, 2));
        static const int64_t fine[] = {1, 4, 8, 16, 24};
        const int64_t extent = random_in(0, 2) == 0 ? fine[random_in(0, 4)] : tree->true_ub + random_in(-20, 20);
        compared += check_layout(tree, extent, (int64_t[]){1, 1, 2, 3, 10, 70}[random_in(0, 5)]);
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(compared, 500);
}
END_TEST

/* All sizes of blocks in strips, lists and grids, so that each kernel meets each of its ends. */
START_TEST(block_sizes)
{
    static const int64_t ends[] = {256, 257, 320, 511, 512, 513, 700, 1023, 1024, 1025, 1100, 0};
    const int64_t *next = ends;
    for (int64_t size = 1; size > 0; size = size < 70 ? size + 1 : size + 23 < *ends ? size + 23 : *next++) {
        const struct espi_node *b = vec(size, 1, leaf("MPI_BYTE")), *node = NULL;
        const int most = size > 300 ? 3 : 9; /* or there are more bytes than are compared */
        for (int64_t n = 1; n < 5 * most; n += random_in(1, most)) {
            ck_assert(check_layout(vec(n, size + random_in(1, 9), b), 0, 1));
            ck_assert(check_layout(vec(n, size + 1, vec(random_in(1, most), (size + 1) * n, b)), 0, 1));
            ck_assert_int_eq(espi_node_idx(&arena, n, places(n, size), b, &node), ESPI_OK);
            check_layout(node, size, 2);
        }
        espi_arena_release(&arena);
    }
}
END_TEST

/* Columns of a matrix, one item each: the stream runs across the memory. */
START_TEST(transpositions)
{
    for (int round = 0; round < 60; round++) {
        const struct espi_node *unit = leaf((const char *[]){"MPI_CHAR", "MPI_SHORT", "MPI_INT", "MPI_DOUBLE",
                                                             "MPI_C_DOUBLE_COMPLEX"}[random_in(0, 4)]);
        /* Rows of whole lines, too, and more of them than a line has bytes. */
        const bool lines = random_in(0, 1);
        const int64_t pad = lines ? 0 : random_in(0, 2), rows = lines ? 16 * random_in(5, 6) : random_in(1, 70),
                      columns = lines ? 16 * random_in(1, 5) : random_in(1, 70);
        const struct espi_node *column = vec(rows, (columns + pad) * unit->size, unit), *node = NULL,
                               *part[] = {vec(random_in(1, 9), 8 * unit->size, unit),
                                          vec(columns, unit->size, column)};
        int64_t *disp = numbers(1);
        disp[1] = 72 * unit->size;
        ck_assert(check_layout(column, unit->size, columns));
        ck_assert_int_eq(espi_node_struc(&arena, 2, disp, part, &node), ESPI_OK);
        ck_assert(check_layout(node, 0, 1));
        ck_assert(check_layout(vec(columns, unit->size, column), (rows + 1) * (columns + pad) * unit->size, 2));
        espi_arena_release(&arena);
    }
}
END_TEST

/* Two trees of 41 nodes each for 2^40 entries, each of which has both below as its children. */
START_TEST(shared_and_deep)
{
    const struct espi_node *t = leaf("MPI_DOUBLE"), *u = vec(2, 24, t);
    const struct espi_pack *pack;
    char byte;
    for (int k = 0; k < 40; k++) {
        const struct espi_node *tu = NULL, *ut = NULL;
        const struct espi_node **sub = espi_arena_calloc(&arena, 4, sizeof *sub);
        int64_t *disp = numbers(4);
        sub[0] = sub[3] = t;
        sub[1] = sub[2] = u;
        disp[1] = disp[3] = k + 100;
        ck_assert_int_eq(espi_node_struc(&arena, 2, disp, sub, &tu), ESPI_OK);
        ck_assert_int_eq(espi_node_struc(&arena, 2, disp + 2, sub + 2, &ut), ESPI_OK);
        t = tu;
        u = ut;
    }
    ck_assert_int_eq(espi_pack_compile(&arena, t, 8, &pack), ESPI_OK);
    ck_assert_int_eq(espi_pack_size(pack), t->size);
    ck_assert_int_gt(espi_pack_blocks(pack), INT64_C(1) << 39);
    unsigned char *data = calloc(1, 10000);
    ck_assert_ptr_nonnull(data);
    data[t->true_ub - 1] = 77; /* the last byte of the last entry */
    espi_pack_range(pack, data, 1, t->size - 1, 1, &byte);
    free(data);
    t = leaf("MPI_INT");
    for (int k = 1; k < ESPI_DEPTH_MAX; k++) {
        const struct espi_node *node = NULL;
        int64_t *disp = numbers(3);
        disp[1] = 100 + k;
        disp[2] = 300 + 3 * k;
        if (k % 100 == 0)
            ck_assert_int_eq(espi_node_idx(&arena, 2, disp, t, &node), ESPI_OK);
        else
            ck_assert_int_eq(espi_node_idx(&arena, 1, disp + 1, t, &node), ESPI_OK);
        t = node;
    }
    ck_assert(check_layout(t, 8, 1));
}
END_TEST

/* Nodes that no compiler may join: lists of lists, a thousand levels of them. */
START_TEST(a_thousand_levels)
{
    const struct espi_node *t = leaf("MPI_INT"), *few = vec(2, 12, t);
    const struct espi_pack *pack;
    for (int k = 2; k < ESPI_DEPTH_MAX; k++) {
        const struct espi_node *node = NULL, **sub = espi_arena_calloc(&arena, 2, sizeof *sub);
        int64_t *disp = numbers(2);
        sub[0] = few;
        sub[1] = t;
        disp[1] = 24;
        ck_assert_int_eq(espi_node_struc(&arena, 2, disp, sub, &node), ESPI_OK);
        t = node;
    }
    ck_assert_int_eq(espi_pack_compile(&arena, t, 8, &pack), ESPI_OK);
    ck_assert(check_layout(t, t->true_ub, 2));
}
END_TEST

/* Each allocation fails once: compiling says so, and holds on to nothing. */
START_TEST(short_of_memory)
{
    int failed = 0;
    for (int round = 0; round < 60; round++) {
        const struct espi_node *tree = any_layout((int)random_in(0, 2));
        const struct espi_pack *pack = NULL;
        for (int allocations = 0; pack == NULL; allocations++) {
            struct espi_arena scratch = ESPI_ARENA_INIT;
            granted = allocations;
            const espi_status status = espi_pack_compile(&scratch, tree, 8, &pack);
            granted = -1;
            ck_assert(status == (pack == NULL ? ESPI_ERR_MEMORY : ESPI_OK));
            failed += pack == NULL;
            espi_arena_release(&scratch);
        }
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(failed, 150);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-pack", 300, setup, teardown, random_trees, application_trees, block_sizes, transpositions,
                     shared_and_deep, a_thousand_levels, short_of_memory, pack_case(0), pack_case(1), pack_case(2),
                     pack_case(3), pack_case(4), pack_case(5), pack_case(6), pack_case(PACK_CASES - 1));
}
