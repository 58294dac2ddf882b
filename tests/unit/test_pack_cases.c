/* Single pack programs: what the compiler makes of lists, places that are far apart, long streams, addresses. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "random.h"
#include "test_pack.h"

/* What the compiler makes of lists, seen by what is left of the blocks. */
START_TEST(compiled)
{
    const struct espi_node *d = leaf("MPI_DOUBLE"), *node = NULL;
    const struct espi_pack *pack;
    int64_t *disp = numbers(1000), *len = numbers(1000);
    for (int j = 0; j < 1000; j++) {
        disp[j] = 8 * j;
        len[j] = 1;
    }
    ck_assert_int_eq(espi_node_idx(&arena, 1000, disp, d, &node), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&arena, node, 8000, &pack), ESPI_OK);
    ck_assert_int_eq(pack->item->kind, ESPI_COPY_BLOCK);
    ck_assert_int_eq(pack->many.kind, ESPI_COPY_BLOCK);
    for (int j = 0; j < 1000; j++)
        disp[j] = 48 + 24 * j;
    ck_assert_int_eq(espi_node_idx(&arena, 1000, disp, d, &node), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&arena, node, 24000, &pack), ESPI_OK);
    ck_assert_int_eq(pack->item->kind, ESPI_COPY_LOOPS);
    ck_assert_int_eq(pack->many.levels, 1);
    ck_assert_int_eq(pack->at, 48);
    /* First row and first column, as MPI_Type_indexed says it. */
    for (int j = 0; j < 1000; j++)
        disp[j] = 8000 * j;
    len[0] = 1000;
    ck_assert_int_eq(espi_node_idxbuc(&arena, 1000, 8, disp, len, d, &node), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&arena, node, 8, &pack), ESPI_OK);
    ck_assert_int_eq(pack->item->kind, ESPI_COPY_PARTS);
    ck_assert_int_eq(pack->item->count, 2);
    ck_assert_int_eq(espi_pack_blocks(pack), 999); /* the second row begins where the first ends */
    /* Structs of blocks of one size are lists. */
    const struct espi_node *sub[20];
    for (int j = 0; j < 20; j++) {
        sub[j] = d;
        disp[j] = 8 * j * j;
    }
    ck_assert_int_eq(espi_node_struc(&arena, 20, disp, sub, &node), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&arena, node, 8, &pack), ESPI_OK);
    ck_assert_int_eq(pack->item->kind, ESPI_COPY_LIST);
    ck_assert_int_eq(espi_pack_blocks(pack), 20);
}
END_TEST

/* One item that is a run of bytes, which may be sent where it stands, is known for one, and where it begins. */
START_TEST(runs)
{
    static const struct {
        const char *tree;
        bool is;
        int64_t at;
    } known[] = {{"leaf(MPI_DOUBLE)", true, 0},
                 {"vec(10,8,vec(5,0,leaf(MPI_DOUBLE)))", false, 0},
                 {"vec(10,80,vec(10,8,leaf(MPI_DOUBLE)))", true, 0},
                 {"idx(1,<-160>,vec(10,80,vec(10,8,leaf(MPI_DOUBLE))))", true, -160},
                 {"vec(10,88,vec(10,8,leaf(MPI_DOUBLE)))", false, 0},
                 {"struc(2,<100,108>,<leaf(MPI_DOUBLE),leaf(MPI_INT)>)", true, 100},
                 {"struc(2,<108,100>,<leaf(MPI_INT),leaf(MPI_DOUBLE)>)", false, 0},
                 {"idxbuc(2,8,<800,840>,<5,3>,leaf(MPI_DOUBLE))", true, 800},
                 {"vec(0,8,leaf(MPI_DOUBLE))", false, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct espi_node *node = NULL;
        const struct espi_pack *pack;
        int64_t at;
        ck_assert_int_eq(espi_parse(&arena, known[i].tree, strlen(known[i].tree), &node, NULL), ESPI_OK);
        ck_assert_int_eq(espi_pack_compile(&arena, node, 4096, &pack), ESPI_OK);
        ck_assert_msg(espi_pack_is_run(pack, &at) == known[i].is, "%s", known[i].tree);
        ck_assert(!known[i].is || at == known[i].at);
    }
}
END_TEST

/* Rows of one length, a constant step apart, for one item or several. */
START_TEST(rows)
{
    static const struct {
        const char *tree;
        int64_t extent, count;
        bool are;
        int64_t at, row, step;
    } known[] = {{"vec(10,88,vec(10,8,leaf(MPI_DOUBLE)))", 880, 1, true, 0, 80, 88},
                 {"vec(10,88,vec(10,8,leaf(MPI_DOUBLE)))", 880, 3, true, 0, 80, 88},
                 {"vec(10,88,vec(10,8,leaf(MPI_DOUBLE)))", 872, 3, false, 0, 0, 0},
                 {"vec(10,88,vec(10,8,leaf(MPI_DOUBLE)))", 872, 1, true, 0, 80, 88},
                 {"vec(10,-88,vec(10,8,leaf(MPI_DOUBLE)))", 80, 1, true, 0, 80, -88},
                 {"vec(10,8,leaf(MPI_DOUBLE))", 80, 1, true, 0, 80, 0},
                 {"vec(10,8,leaf(MPI_DOUBLE))", 80, 7, true, 0, 560, 0},
                 {"vec(10,8,leaf(MPI_DOUBLE))", 96, 7, true, 0, 80, 96},
                 {"idx(1,<-160>,vec(10,8,leaf(MPI_DOUBLE)))", 96, 7, true, -160, 80, 96},
                 {"vec(3,1000,vec(10,88,vec(10,8,leaf(MPI_DOUBLE))))", 3000, 1, false, 0, 0, 0},
                 {"idx(3,<0,24,56>,leaf(MPI_DOUBLE))", 64, 1, false, 0, 0, 0},
                 {"vec(0,8,leaf(MPI_DOUBLE))", 8, 1, false, 0, 0, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct espi_node *node = NULL;
        const struct espi_pack *pack;
        int64_t at, row, step;
        ck_assert_int_eq(espi_parse(&arena, known[i].tree, strlen(known[i].tree), &node, NULL), ESPI_OK);
        ck_assert_int_eq(espi_pack_compile(&arena, node, known[i].extent, &pack), ESPI_OK);
        ck_assert_msg(espi_pack_is_rows(pack, known[i].count, &at, &row, &step) == known[i].are, "%s", known[i].tree);
        ck_assert(!known[i].are || (at == known[i].at && row == known[i].row && step == known[i].step));
    }
}
END_TEST

/* Displacements, extents and counts beyond 2 and 4 GiB, in mappings of which only some pages are touched. */
START_TEST(far_apart)
{
    const int64_t giga = INT64_C(1) << 30, bytes = 16 * giga;
    unsigned char *map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const struct espi_node *d = leaf("MPI_DOUBLE"), *node = NULL;
    const struct espi_pack *pack;
    int64_t disp[6] = {5 * giga + 8, -giga, 3, 2 * giga, 5 * giga, 4 * giga - 3}, len[6] = {3, 1, 2, 5, 0, 4};
    unsigned char *origin = map + giga;
    int64_t stream[40], back[40];
    ck_assert(map != MAP_FAILED);
    for (int kind = 0; kind < 4; kind++) {
        if (kind == 0)
            ck_assert_int_eq(espi_node_idx(&arena, 6, disp, d, &node), ESPI_OK);
        else if (kind < 3)
            ck_assert_int_eq(espi_node_idxbuc(&arena, 6, kind == 1 ? 8 : 16, disp, len, d, &node), ESPI_OK);
        else
            node = vec(2, -giga, vec(3, 3 * giga, vec(2, 24, d)));
        struct espi_typemap entries = ESPI_TYPEMAP_INIT;
        ck_assert_int_eq(espi_flatten(node, 0, PACK_LIMIT, &entries), ESPI_OK);
        ck_assert_int_eq(espi_pack_compile(&arena, node, 6 * giga + 64, &pack), ESPI_OK);
        for (int64_t i = 0; i < 2; i++)
            for (size_t e = 0; e < entries.n; e++) {
                const int64_t value = (int64_t)random_next();
                memcpy(origin + entries.disp[e] + i * (6 * giga + 64), &value, 8);
                back[(size_t)i * entries.n + e] = value;
            }
        espi_pack_run(pack, origin, 2, stream);
        ck_assert(memcmp(stream, back, 16 * entries.n) == 0);
        for (size_t k = 0; k < 2 * entries.n; k++)
            stream[k] = ~stream[k];
        espi_unpack_range(pack, stream, origin, 2, 0, 8 * (int64_t)entries.n + 4);
        espi_unpack_range(pack, (char *)stream + 8 * entries.n + 4, origin, 2, 8 * (int64_t)entries.n + 4,
                          8 * (int64_t)entries.n - 4);
        espi_pack_run(pack, origin, 2, back);
        ck_assert(memcmp(stream, back, 16 * entries.n) == 0);
        espi_typemap_release(&entries);
    }
    munmap(map, (size_t)bytes);
}
END_TEST

/* Bytes behind the first 4 GiB of a stream are found; that stream is never made. */
START_TEST(long_streams)
{
    const int64_t n = INT64_C(3) << 30;
    const struct espi_node *tree = vec(n, 0, leaf("MPI_DOUBLE"));
    const struct espi_pack *pack;
    unsigned char part[20], data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    ck_assert_int_eq(espi_pack_compile(&arena, tree, 0, &pack), ESPI_OK);
    ck_assert_int_eq(espi_pack_size(pack), 8 * n);
    espi_pack_range(pack, data, 1000, 8 * n * 999 + 8 * n / 2 + 3, sizeof part, part);
    for (size_t k = 0; k < sizeof part; k++)
        ck_assert_uint_eq(part[k], (k + 3) % 8);
}
END_TEST

/* More than the processor's caches hold: such streams take stores of their own (level_avx512.c). */
START_TEST(past_the_caches)
{
    enum { BLOCK = 1500, STEP = 1600, MOST = 1 << 28, PART = 40000 };
    const int64_t n = (espi_cpu_cache() > 0 && espi_cpu_cache() < MOST ? espi_cpu_cache() : 0) / BLOCK + 10;
    const struct espi_node *tree = vec(n, STEP, vec(BLOCK, 1, leaf("MPI_BYTE")));
    const struct espi_pack *pack;
    unsigned char *data = malloc((size_t)(n * STEP)), *back = malloc((size_t)(n * STEP)),
                  *stream = malloc((size_t)(n * BLOCK));
    ck_assert(data != NULL && back != NULL && stream != NULL);
    for (int64_t b = 0; b < n * STEP; b++)
        data[b] = (unsigned char)(b * 2654435761u >> 16);
    ck_assert_int_eq(espi_pack_compile(&arena, tree, 0, &pack), ESPI_OK);
    espi_pack_run(pack, data, 1, stream);
    for (int way = 0; way < 3; way++) { /* at once, in parts, and from layout to layout */
        memset(back, 0x5a, (size_t)(n * STEP));
        if (way == 0)
            espi_unpack_run(pack, stream, back, 1);
        for (int64_t first = 0, bytes; way == 1 && first < n * BLOCK; first += bytes) {
            bytes = n * BLOCK - first < PART ? n * BLOCK - first : PART;
            espi_unpack_range(pack, stream + first, back, 1, first, bytes);
        }
        if (way == 2) {
            const struct espi_copy *copy;
            ck_assert_int_eq(espi_copy_compile(&arena, tree, tree, &copy), ESPI_OK);
            espi_copy_run(copy, data, back);
        }
        for (int64_t j = 0; j < n; j++) {
            ck_assert(memcmp(stream + j * BLOCK, data + j * STEP, BLOCK) == 0);
            ck_assert(memcmp(back + j * STEP, data + j * STEP, BLOCK) == 0);
            ck_assert(back[j * STEP + BLOCK] == 0x5a && back[j * STEP + STEP - 1] == 0x5a);
        }
    }
    free(data);
    free(back);
    free(stream);
}
END_TEST

/* MPI_BOTTOM: the tree holds addresses. */
START_TEST(absolute)
{
    double a[10], b[20], stream[15], back[15];
    const struct espi_node *sub[2] = {vec(5, 16, leaf("MPI_DOUBLE")), vec(10, 16, leaf("MPI_DOUBLE"))}, *node = NULL;
    int64_t disp[2] = {(int64_t)(intptr_t)a, (int64_t)(intptr_t)b};
    const struct espi_pack *pack;
    for (int k = 0; k < 20; k++)
        b[k] = k, a[k / 2] = 100 + k / 2;
    ck_assert_int_eq(espi_node_struc(&arena, 2, disp, sub, &node), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&arena, node, 0, &pack), ESPI_OK);
    espi_pack_run(pack, NULL, 1, stream);
    for (int k = 0; k < 15; k++)
        ck_assert(stream[k] == (k < 5 ? 100 + 2 * k : 2 * (k - 5)));
    espi_pack_range(pack, NULL, 1, 36, 60, back);
    ck_assert(memcmp(back, (char *)stream + 36, 60) == 0);
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    espi_unpack_run(pack, stream, NULL, 1);
    espi_pack_run(pack, NULL, 1, back);
    ck_assert(memcmp(back, stream, sizeof stream) == 0 && b[1] == 0);
}
END_TEST

/* Loops over few blocks, whose turns are run together, and with few turns, or more blocks, where they are not. A grid
   for each turn would be a kernel's call for each. */
START_TEST(few_blocks)
{
    static const int64_t turns[] = {7, 8, 9, 63, 64, 65, 129};
    int few = 0, others = 0;
    for (int round = 0; round < 600; round++) {
        const int64_t size = (int64_t[]){1, 4, 8, 12, 16, 33, 64, 70}[random_in(0, 7)], n = random_in(1, 6),
                      m = random_in(1, 7), step = size + random_in(1, 9), row = n * step + random_in(0, 30),
                      many = turns[random_in(0, 6)], far = m * row + random_in(0, 99);
        const struct espi_node *inner = vec(n, step, vec(size, 1, leaf("MPI_BYTE"))), *grid = vec(m, row, inner),
                               *nest = vec(many, random_in(0, 3) == 0 ? -far : far, grid);
        if (random_in(0, 2) == 0)
            nest = vec(random_in(1, 3), far * many + random_in(0, 50), nest);
        const struct espi_pack *pack;
        ck_assert_int_eq(espi_pack_compile(&arena, nest, far, &pack), ESPI_OK);
        const struct espi_copy *c = pack->item;
        if (c->kind == ESPI_COPY_LOOPS && c->chunk > 0 && c->levels == 3 && !c->turned) {
            few++;
            ck_assert(c->loop[1].count * c->loop[2].count <= 32 && c->loop[0].count >= 8 && c->child->bytes <= 64);
            ck_assert_int_eq(espi_pack_cost(pack, 1).calls,
                             3 * c->loop[1].count * ((c->loop[0].count + 63) / 64));
        }
        others += c->kind == ESPI_COPY_LOOPS && c->chunk == 0;
        check_layout(nest, nest->true_ub + random_in(-20, 20), (int64_t[]){1, 2, 9}[random_in(0, 2)]);
        check_layout(grid, far, many);
        check_layout(inner, row, many);
        espi_arena_release(&arena);
    }
    ck_assert_msg(few > 50 && others > 50, "%d, %d", few, others);
}
END_TEST

const TTest *pack_case(int number)
{
    const TTest *const cases[PACK_CASES] = {compiled,     runs,            rows,     far_apart,
                                            long_streams, past_the_caches, absolute, few_blocks};
    return cases[number];
}
