/*
 * Pack programs (src/pack) on the layouts of bench/layouts and a few more: loops as an application programmer writes
 * them (layouts_copy.c), memcpy of as many bytes as a floor, the program, and the program in ranges. All take turns
 * in one process; only packing and unpacking are timed, nothing is sent. Best run with real-time priority and pinned:
 *
 *   chrt -f 1 taskset -c 1 scripts/bench/bench --native --ranks 1 packing [--millis MS] [--row NAME]
 *                                                       [--level 0|1|2|3] [--cold MB] [--range KB] [--listed 1]
 *
 * --row: rows whose names begin so. --level: the instructions that are used at most (plain, AVX2, AVX-512, that and
 * lines asked for), and no stores past the caches. --cold: so much other memory is written before each use. Prints a
 * line per row and size: medians in microseconds, and ratios of the program to the loops (below 1 the program is
 * faster), of the ranges of 16 kB (or --range) to the program, and of the predicted time to the one measured; at the
 * end geometric means.
 *
 * --listed: what the second tier of plans gains. Each layout is given as a list of its blocks, as a program says it
 * that knows of no loops. In the place of the loops there is the program of that list; the other one is compiled from
 * its least-cost tree. Rows that have no list of equal blocks, or more than a million of them, are left out.
 */
#include "bench/packing_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack/program.h"
#include "reconstruct/reconstruct.h"

enum { FLOOR, HAND_PACK, PACK, PACK_PARTS, HAND_UNPACK, UNPACK, UNPACK_PARTS, WAYS };
enum { SAMPLES = 3000, ROUNDS_LEAST = 15 };

static int64_t range_bytes = 16384;
static bool listed, capped;

struct task {
    struct layout layout;
    struct espi_arena arena;
    const struct espi_pack *pack[LAYOUT_PIECES], *of_list[LAYOUT_PIECES];
    size_t at[LAYOUT_PIECES], bytes; /* of the pieces in the stream */
    char *data, *other, *stream, *stream2;
    enum espi_vectors level;
};

/* ---- trees ---- */

static const struct espi_node *node(espi_status status, const struct espi_node *const *made)
{
    if (status != ESPI_OK)
        bench_die("packing: %s", espi_status_text(status));
    return *made;
}

static const struct espi_node *tree_of_runs(struct espi_arena *arena, const struct layout *l)
{
    int64_t *at = espi_arena_calloc(arena, (size_t)l->n[0], sizeof *at);
    int64_t *length = espi_arena_calloc(arena, (size_t)l->n[0], sizeof *length);
    const struct espi_node *t = NULL, *b = NULL;

    for (int i = 0; i < l->n[0]; i++) {
        at[i] = l->list[i] * INT64_C(8);
        length[i] = l->list2[i];
    }
    b = node(espi_node_leaf(arena, espi_base_find("MPI_DOUBLE", 10), &b), &b);
    return node(espi_node_idxbuc(arena, l->n[0], 8, at, length, b, &t), &t);
}

static const struct espi_node *tree_of(struct espi_arena *arena, const struct layout_piece *piece)
{
    int64_t *at = espi_arena_calloc(arena, LAYOUT_PARTS, sizeof *at);
    const struct espi_node **sub = espi_arena_calloc(arena, LAYOUT_PARTS, sizeof *sub), *t = NULL, *b = NULL;

    for (int p = 0; p < piece->parts; p++) {
        const struct layout_part *part = &piece->part[p];
        b = node(espi_node_leaf(arena, espi_base_find("MPI_BYTE", 8), &b), &b);
        t = node(espi_node_vec(arena, (int64_t)part->block, 1, b, &t), &t);
        if (part->list != NULL) {
            int64_t *list = espi_arena_calloc(arena, (size_t)part->entries, sizeof *list);
            for (int i = 0; i < part->entries; i++)
                list[i] = part->list[i] * (int64_t)part->unit;
            b = node(espi_node_idx(arena, part->entries, list, t, &b), &b);
        } else {
            for (int d = LAYOUT_LOOPS - 1; d >= 0; d--)
                t = node(espi_node_vec(arena, part->loop[d].count, (int64_t)part->loop[d].stride, t, &b), &b);
        }
        sub[p] = b;
        at[p] = (int64_t)part->at;
    }
    return node(espi_node_struc(arena, piece->parts, at, sub, &t), &t);
}

/* ---- the same as lists of blocks ---- */

static void list_loops(const struct layout_part *part, int d, int64_t at, int64_t *list, int64_t *n)
{
    if (d == LAYOUT_LOOPS) {
        list[(*n)++] = at;
        return;
    }
    for (int i = 0; i < part->loop[d].count; i++)
        list_loops(part, d + 1, at + i * (int64_t)part->loop[d].stride, list, n);
}

static int64_t blocks_of(const struct layout_part *part)
{
    int64_t n = 1;

    for (int d = 0; d < LAYOUT_LOOPS; d++)
        n *= part->loop[d].count;
    return part->list != NULL ? part->entries : n;
}

/* NULL: its blocks are not equal, or too many. */
static const struct espi_node *list_of(struct espi_arena *arena, const struct layout_piece *piece)
{
    enum { MOST = 1000000 };
    const size_t block = piece->part[0].block;
    const char *name = block % 8 == 0 ? "MPI_DOUBLE" : block % 4 == 0 ? "MPI_FLOAT" : "MPI_BYTE";
    const int64_t size = block % 8 == 0 ? 8 : block % 4 == 0 ? 4 : 1;
    const struct espi_node *t = NULL, *b = NULL;
    int64_t *list, n = 0;

    for (int p = 0; p < piece->parts; p++) {
        n += blocks_of(&piece->part[p]);
        if (piece->part[p].block != block || n > MOST)
            return NULL;
    }
    list = espi_arena_calloc(arena, (size_t)n, sizeof *list);
    n = 0;
    for (int p = 0; p < piece->parts; p++) {
        const struct layout_part *part = &piece->part[p];
        if (part->list == NULL)
            list_loops(part, 0, (int64_t)part->at, list, &n);
        else
            for (int i = 0; i < part->entries; i++)
                list[n++] = (int64_t)part->at + part->list[i] * (int64_t)part->unit;
    }
    b = node(espi_node_leaf(arena, espi_base_find(name, strlen(name)), &b), &b);
    t = node(espi_node_vec(arena, (int64_t)block / size, size, b, &t), &t);
    return node(espi_node_idx(arena, n, list, t, &b), &b);
}

/* The least-cost tree, as the second tier finds it. */
static const struct espi_node *least_cost(struct espi_arena *arena, const struct espi_node *tree)
{
    struct espi_reconstruct_options options;
    struct espi_reconstruction found = {.tree = NULL};

    espi_reconstruct_defaults(&options);
    options.set = ESPI_SET_MPI;
    options.exact_limit = 400;
    options.budget_ns = 20000000;
    return node(espi_normalize(arena, tree, &options, &found), &found.tree);
}

/* ---- one use in each way ---- */

static void use(struct task *t, int way)
{
    for (int p = 0; p < t->layout.pieces; p++) {
        const struct layout_piece *piece = &t->layout.piece[LAYOUT_FROM][p];
        const struct espi_pack *pack = t->pack[p];
        const int64_t bytes = espi_pack_size(pack);
        char *data = t->data + piece->at, *stream = t->stream + t->at[p], *source = t->stream2 + t->at[p];

        switch (way) {
        case FLOOR: memcpy(stream, t->other + t->at[p], (size_t)bytes); break;
        case HAND_PACK:
            if (listed)
                espi_pack_run_at(t->level, t->of_list[p], data, 1, stream);
            else if (packing_has_runs(&t->layout))
                packing_pack_runs(&t->layout, data, stream);
            else
                layout_pack(piece, data, stream);
            break;
        case PACK:
            if (capped)
                espi_pack_run_at(t->level, pack, data, 1, stream);
            else
                espi_pack_run(pack, data, 1, stream);
            break;
        case HAND_UNPACK:
            if (listed)
                espi_unpack_run_at(t->level, t->of_list[p], source, data, 1);
            else if (packing_has_runs(&t->layout))
                packing_unpack_runs(&t->layout, source, data);
            else
                layout_unpack(piece, source, data);
            break;
        case UNPACK:
            if (capped)
                espi_unpack_run_at(t->level, pack, source, data, 1);
            else
                espi_unpack_run(pack, source, data, 1);
            break;
        default:
            for (int64_t first = 0, part; first < bytes; first += part) {
                part = bytes - first < range_bytes ? bytes - first : range_bytes;
                if (way == PACK_PARTS)
                    espi_pack_range_at(t->level, pack, data, 1, first, part, stream + first);
                else
                    espi_unpack_range_at(t->level, pack, source + first, data, 1, first, part);
            }
        }
    }
}

static void check(struct task *t)
{
    char *wanted = malloc(t->bytes + 1);
    if (wanted == NULL)
        bench_die("packing: no memory");
    for (size_t i = 0; i < t->layout.span[LAYOUT_FROM]; i++)
        t->data[i] = (char)((i * 2654435761u) >> 11);
    use(t, HAND_PACK);
    memcpy(wanted, t->stream, t->bytes);
    for (int way = PACK; way <= PACK_PARTS; way++) {
        memset(t->stream, 0, t->bytes);
        use(t, way);
        if (memcmp(wanted, t->stream, t->bytes) != 0)
            bench_die("packing: %s: way %d packs other bytes", t->layout.row->name, way);
    }
    for (int way = UNPACK; way <= UNPACK_PARTS; way++) {
        memset(t->data, 0x5a, t->layout.span[LAYOUT_FROM]);
        memcpy(t->stream2, wanted, t->bytes);
        use(t, way);
        use(t, HAND_PACK);
        if (memcmp(wanted, t->stream, t->bytes) != 0)
            bench_die("packing: %s: way %d unpacks other bytes", t->layout.row->name, way);
    }
    free(wanted);
}

static char *memory(size_t bytes)
{
    char *p = aligned_alloc(64, (bytes + 128) / 64 * 64);
    if (p == NULL)
        bench_die("packing: no memory");
    memset(p, 1, bytes);
    return p;
}

/* False: it is not for --listed. */
static bool open_task(struct task *t, const struct layout_row *row, int size, enum espi_vectors level)
{
    struct layout *l = &t->layout;

    memset(t, 0, sizeof *t);
    t->level = level;
    l->row = row;
    l->n = row->lengths[size];
    l->comm = MPI_COMM_WORLD;
    l->ranks = row->use == LAYOUT_NEIGHBORS ? 1 : 2; /* faces do not depend on it, but their communicator does */
    row->describe(l);
    for (int p = 0; p < l->pieces; p++) {
        const struct espi_node *tree = packing_has_runs(l) ? listed ? NULL : tree_of_runs(&t->arena, l)
                                       : listed    ? list_of(&t->arena, &l->piece[LAYOUT_FROM][p])
                                                   : tree_of(&t->arena, &l->piece[LAYOUT_FROM][p]);
        if (tree == NULL)
            return false;
        if (listed) {
            if (espi_pack_compile(&t->arena, tree, 0, &t->of_list[p]) != ESPI_OK)
                bench_die("packing: %s does not compile", row->name);
            tree = least_cost(&t->arena, tree);
        }
        if (espi_pack_compile(&t->arena, tree, 0, &t->pack[p]) != ESPI_OK)
            bench_die("packing: %s does not compile", row->name);
        t->at[p] = t->bytes;
        t->bytes += (size_t)espi_pack_size(t->pack[p]);
    }
    t->data = memory(l->span[LAYOUT_FROM]);
    t->other = memory(t->bytes);
    t->stream = memory(t->bytes);
    t->stream2 = memory(t->bytes);
    return true;
}

static void close_task(struct task *t)
{
    if (t->layout.comm != MPI_COMM_WORLD)
        MPI_Comm_free(&t->layout.comm);
    free(t->data);
    free(t->other);
    free(t->stream);
    free(t->stream2);
    free(t->layout.list);
    free(t->layout.list2);
    espi_arena_release(&t->arena);
}

static double log_sum[2];
static int rows_done;

static void bench(const struct layout_row *row, int size, enum espi_vectors level, double millis, size_t cold)
{
    static double sample[WAYS][SAMPLES];
    static char *flush;
    struct task t;
    double once[WAYS], end, predicted = 0;
    int n = 0, repeat[WAYS];

    flush = cold > 0 && flush == NULL ? memory(cold) : flush;
    if (!open_task(&t, row, size, level)) {
        close_task(&t);
        return;
    }
    t.level = capped || espi_pack_level((int64_t)t.bytes) > level ? level : espi_pack_level((int64_t)t.bytes);
    check(&t);
    for (int p = 0; p < t.layout.pieces; p++) {
        const struct espi_pack_cost cost = espi_pack_cost(t.pack[p], 1);
        predicted += (cold > 0 ? cost.cold_ns : cost.warm_ns) / 1000;
    }
    for (int way = 0; way < WAYS; way++) {
        for (int k = 0; k < 3; k++)
            use(&t, way);
        once[way] = bench_now();
        use(&t, way);
        once[way] = bench_now() - once[way];
        repeat[way] = cold > 0 ? 1 : (int)(10e-6 / (once[way] + 1e-9)) + 1;
    }
    end = bench_now() + millis / 1000;
    while (n < SAMPLES && (bench_now() < end || n < ROUNDS_LEAST)) {
        /* There and back, as each finds what the one before it has left. */
        for (int i = 0; i < WAYS; i++) {
            const int way = n % 2 == 0 ? i : WAYS - 1 - i;
            if (cold > 0)
                memset(flush, n, cold);
            else
                use(&t, way);
            double begun = bench_now();
            for (int k = 0; k < repeat[way]; k++)
                use(&t, way);
            sample[way][n] = (bench_now() - begun) / repeat[way];
        }
        n++;
    }
    printf("%s\t%d\t%zu", row->name, size, t.bytes);
    for (int way = 0; way < WAYS; way++) {
        once[way] = 1e6 * bench_quantile(sample[way], (size_t)n, 0.5);
        printf("\t%.3f", once[way]);
    }
    printf("\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", once[PACK] / once[HAND_PACK], once[UNPACK] / once[HAND_UNPACK],
           once[PACK_PARTS] / once[PACK], once[UNPACK_PARTS] / once[UNPACK], predicted / once[PACK]);
    fflush(stdout);
    log_sum[0] += log(once[PACK] / once[HAND_PACK]);
    log_sum[1] += log(once[UNPACK] / once[HAND_UNPACK]);
    rows_done++;
    close_task(&t);
}

int main(int argc, char **argv)
{
    double millis = 100;
    const char *only = "";
    enum espi_vectors level = espi_pack_level(1 << 20);
    size_t cold = 0;

    MPI_Init(&argc, &argv);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--millis") == 0)
            millis = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--row") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--level") == 0 && atoi(argv[i + 1]) <= (int)level) {
            level = (enum espi_vectors)atoi(argv[i + 1]);
            capped = true;
        } else if (strcmp(argv[i], "--cold") == 0)
            cold = (size_t)atoi(argv[i + 1]) << 20;
        else if (strcmp(argv[i], "--range") == 0)
            range_bytes = atoi(argv[i + 1]) * INT64_C(1024);
        else if (strcmp(argv[i], "--listed") == 0)
            listed = atoi(argv[i + 1]) != 0;
    }
    printf("row\tsize\tbytes\tmemcpy_us\thand_pack_us\tpack_us\tpack_range_us\thand_unpack_us\tunpack_us"
           "\tunpack_range_us\tpack/hand\tunpack/hand\tpack_range/pack\tunpack_range/unpack\tpredicted/pack\n");
    for (int row = 0; row < layout_row_count + packing_row_count; row++) {
        const struct layout_row *r = row < layout_row_count ? &layout_rows[row]
                                                            : &packing_rows[row - layout_row_count];
        for (int size = 0; size < 3; size++)
            if (strncmp(only, r->name, strlen(only)) == 0)
                bench(r, size, level, millis, cold);
    }
    if (rows_done > 0)
        printf("#geometric mean of program/hand: pack %.3f, unpack %.3f\n", exp(log_sum[0] / rows_done),
               exp(log_sum[1] / rows_done));
    MPI_Finalize();
    return 0;
}
