#include "mpi/typeplan/engine_cost.h"

/* A run of one base type without gaps: the engine takes it for contiguous and copies it by memcpy. */
static bool is_dense(const struct espi_node *node)
{
    return node->kind == ESPI_LEAF ||
           (node->kind == ESPI_VEC && node->child->kind == ESPI_LEAF && node->stride == node->child->size);
}

bool espi_engine_is_contiguous(const struct espi_node *node)
{
    for (; !is_dense(node); node = node->child)
        if (node->kind != ESPI_VEC || node->stride != node->child->size)
            return false;
    return true;
}

bool espi_engine_is_block(const struct espi_node *node, int64_t extent)
{
    return node->size == extent && espi_engine_is_contiguous(node);
}

bool espi_engine_cuts(const struct espi_node *tree, int64_t extent, int64_t count)
{
    return tree->size > ESPI_ENGINE_PART / count && !espi_engine_is_block(tree, extent);
}

/* Levels of nesting that a kernel has to see to; more than there are kernels for where a struct is inside. A dense
   run below a node becomes its block length. */
static int levels(const struct espi_node *node)
{
    int depth = 0;

    for (; !is_dense(node); node = node->child) {
        if (node->kind == ESPI_STRUC || ++depth > ESPI_ENGINE_NESTING)
            return ESPI_ENGINE_NESTING + 1;
    }
    return depth;
}

/* Runs so long that the engine makes a list of them first, and copies each by memcpy. To skip an entry of a list
   takes as long as to read so many displacements; a displacement with a length, as so many without. */
enum { LONG_RUN = 16384, SKIPPED = 4, LENGTHS = 4 };

/* Whether a list with lengths is so long, and its blocks on average so far apart, that fetching them takes all the
   time: no prefetcher of Intel's follows steps of more than 2 kB. What the list itself takes is hidden then, and its
   slower loop, which has fewer fetches under way at a time, is even the faster one. (Row rowcol of bench/layouts,
   medium, as a row and a vector took 1.2 to 1.4 of its time as that list on a Xeon whose second cache and second
   table of pages were short of room, and 0.9 to 1.0 where they were not.) */
static bool hides_list(const struct espi_engine *engine, const struct espi_node *node)
{
    enum { MANY = 512, FAR = 2048 };

    return engine->fetches && node->kind == ESPI_IDXBUC && node->count >= MANY &&
           ((uint64_t)node->true_ub - (uint64_t)node->true_lb) / (uint64_t)node->count > FAR;
}

static double kernel(const struct espi_engine *engine, const struct espi_node *node)
{
    const struct espi_node *run = node;
    double lists = 0, copies = 1; /* of the node that is looked at, in the whole */

    for (; !is_dense(run); run = run->child) {
        if (run->kind != ESPI_VEC && !hides_list(engine, run))
            lists += copies * (double)run->count * engine->listed * (run->kind == ESPI_IDX ? 1 : LENGTHS);
        copies *= run->child->entries > 0 ? (double)run->entries / (double)run->child->entries : 1;
    }
    return run == node || run->size >= LONG_RUN ? (double)node->size / engine->copied
                                                : (double)node->entries * engine->element + lists;
}

/* A node that is no struct, as the engine sees it: `blocks` children, each `each` copies of the child. Buckets are
   lists of blocks of different lengths, whose average stands for all. */
struct blocks {
    double n, each;
    bool dense; /* each is copied by memcpy */
};

static struct blocks blocks_of(const struct espi_node *node)
{
    const double copies = node->child->entries == 0 ? (double)node->count
                                                    : (double)node->entries / (double)node->child->entries;
    const double n = node->count > 0 ? (double)node->count : 1;
    const int64_t stride = node->kind == ESPI_IDXBUC ? node->stride : node->stride2;

    if (node->kind == ESPI_VEC || node->kind == ESPI_IDX)
        return (struct blocks){n, 1, is_dense(node->child)};
    return (struct blocks){n, copies / n, is_dense(node->child) && stride == node->child->size};
}

static double whole(const struct espi_engine *engine, const struct espi_node *node);

/* Copies of a child one after another (a block of a bucket): one kernel call where its levels and one more for the
   distance between them are not too many; else a step for each. Without the step that leads to the first. */
static double copies_cost(const struct espi_engine *engine, const struct espi_node *child, double copies)
{
    const bool one_call = copies <= 1 || levels(child) + 1 <= ESPI_ENGINE_NESTING;

    if (copies > 1 && is_dense(child)) /* in a kernel, element by element, where one would go by memcpy */
        return copies * (double)child->entries * engine->element;
    return copies * (whole(engine, child) + (one_call ? 0 : engine->step));
}

/* One of the blocks, without the step that leads to it. */
static double block_cost(const struct espi_engine *engine, const struct espi_node *node, struct blocks b)
{
    return b.dense ? b.each * (double)node->child->size / engine->copied : copies_cost(engine, node->child, b.each);
}

static double in_parts(const struct espi_engine *engine, const struct espi_node *node, double cuts);

/* A block in which `cuts` cuts lie. The engine finds its way into it by division. */
static double cut_block(const struct espi_engine *engine, const struct espi_node *node, struct blocks b, double cuts)
{
    const double cut = cuts < b.each ? cuts : b.each;

    if (b.dense)
        return cuts * engine->step + block_cost(engine, node, b);
    return 2 * cuts * engine->step + (cut < b.each ? copies_cost(engine, node->child, b.each - cut) : 0) +
           cut * in_parts(engine, node->child, cuts > b.each ? cuts / b.each : 1);
}

/* One item, as a whole, without the step that leads to it. */
static double whole(const struct espi_engine *engine, const struct espi_node *node)
{
    double sum = 0, one = 0;

    if (espi_engine_is_contiguous(node))
        return (double)node->size / engine->copied;
    if (levels(node) <= ESPI_ENGINE_NESTING)
        return kernel(engine, node);
    if (node->kind != ESPI_STRUC) {
        const struct blocks b = blocks_of(node);
        return b.n * (engine->step + block_cost(engine, node, b));
    }
    for (int64_t i = 0; i < node->count; i++) {
        one = i > 0 && node->sub[i] == node->sub[i - 1] ? one : engine->step + whole(engine, node->sub[i]);
        sum += one;
    }
    return sum;
}

/* One item in which `cuts` cuts lie: as many of its children as there are cuts are gone through in parts, too. To
   find where a part begins, buckets and structs are gone through from their start. */
static double in_parts(const struct espi_engine *engine, const struct espi_node *node, double cuts)
{
    double sum = 0, one = 0, n = (double)node->count, cut;

    if (is_dense(node))
        return cuts * engine->step + kernel(engine, node);
    if (node->kind != ESPI_STRUC) {
        const struct blocks b = blocks_of(node);
        cut = cuts < b.n ? cuts : b.n;
        return b.n * engine->step + (cut < b.n ? (b.n - cut) * block_cost(engine, node, b) : 0) +
               cut * cut_block(engine, node, b, cuts > b.n ? cuts / b.n : 1) +
               (node->kind == ESPI_VEC || node->kind == ESPI_IDX ? 0 : cuts * b.n / 2 * SKIPPED * engine->listed);
    }
    cut = cuts < n ? cuts / n : 1; /* the share of children that are cut */
    for (int64_t i = 0; i < node->count; i++) {
        if (i == 0 || node->sub[i] != node->sub[i - 1])
            one = engine->step + (cut < 1 ? (1 - cut) * whole(engine, node->sub[i]) : 0) +
                  cut * in_parts(engine, node->sub[i], cuts > n ? cuts / n : 1);
        sum += one;
    }
    return sum + cuts * n / 2 * SKIPPED * engine->listed;
}

double espi_engine_cost(const struct espi_engine *engine, const struct espi_node *tree, int64_t count, bool parts)
{
    double items = (double)count, cuts = (double)tree->size * items / ESPI_ENGINE_PART, cut;

    if (tree->entries == 0)
        return 0;
    if (!parts || cuts <= 1) {
        if (levels(tree) <= ESPI_ENGINE_NESTING && !espi_engine_is_contiguous(tree))
            return engine->step + items * kernel(engine, tree);
        return engine->step + items * whole(engine, tree);
    }
    cut = cuts < items ? cuts : items;
    return cuts * engine->step + (items - cut) * whole(engine, tree) +
           cut * in_parts(engine, tree, cuts > items ? cuts / items : 1);
}

/* Dense runs of one item. */
static double runs(const struct espi_node *node)
{
    double sum = 0, one = 0;

    if (espi_engine_is_contiguous(node))
        return 1;
    if (node->kind != ESPI_STRUC) {
        const struct blocks b = blocks_of(node);
        return b.dense ? b.n : b.n * b.each * runs(node->child);
    }
    for (int64_t i = 0; i < node->count; i++) {
        one = i > 0 && node->sub[i] == node->sub[i - 1] ? one : runs(node->sub[i]);
        sum += one;
    }
    return sum;
}

double espi_engine_least(const struct espi_engine *engine, const struct espi_node *tree, int64_t count, bool parts)
{
    double items = (double)count, bytes = (double)tree->size * items;
    double kernels = (double)tree->entries * items * engine->element;
    double copied = bytes / engine->copied + (runs(tree) * items - 1) * engine->step;

    return engine->step * (parts ? 1 + bytes / ESPI_ENGINE_PART : 1) + (copied < kernels ? copied : kernels);
}
