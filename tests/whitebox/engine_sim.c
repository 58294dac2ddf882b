#include "engine_sim.h"

#include "mpi/typeplan/engine_cost.h"

enum { PART = ESPI_ENGINE_PART, LONG_RUN = 16384 };

static struct work plus(struct work a, struct work b)
{
    return (struct work){a.steps + b.steps, a.elements + b.elements, a.listed + b.listed, a.bytes + b.bytes};
}

static struct work steps(double n)
{
    return (struct work){n, 0, 0, 0};
}

/* A run of one base type without gaps. */
static bool dense(const struct espi_node *node)
{
    return node->kind == ESPI_LEAF || (node->kind == ESPI_VEC && node->child->kind == ESPI_LEAF && node->stride == 8);
}

/* The same of any number of levels, which is one memcpy as a whole. */
static bool is_contiguous(const struct espi_node *node)
{
    return dense(node) ||
           (node->kind == ESPI_VEC && node->stride == node->child->size && is_contiguous(node->child));
}

static bool has_lengths(const struct espi_node *node)
{
    return node->kind == ESPI_IDXBUC || node->kind == ESPI_BUCKET;
}

/* Whether one kernel goes through it: at most so many levels over a run, no struct. */
static bool has_kernel(const struct espi_node *node, int most)
{
    int level = 0;

    for (; !dense(node); node = node->child)
        if (node->kind == ESPI_STRUC || ++level > most)
            return false;
    return true;
}

/* What lists a kernel reads: a length counts as much as three displacements. */
static double listed(const struct espi_node *node)
{
    double sum = 0;

    if (dense(node))
        return 0;
    for (int64_t i = 0; i < node->count; i++)
        sum += (node->kind == ESPI_VEC ? 0 : node->kind == ESPI_IDX ? 1 : 4) +
               (has_lengths(node) ? (double)node->len[i] : 1) * listed(node->child);
    return sum;
}

static struct work kernel(const struct espi_node *node)
{
    const struct espi_node *run = node;

    while (!dense(run))
        run = run->child;
    if (run == node || run->size >= LONG_RUN)
        return (struct work){0, 0, 0, (double)node->size};
    return (struct work){0, (double)node->entries, listed(node), 0};
}

static struct work whole(const struct espi_node *node);

/* n copies of a child at one distance. */
static struct work copies(const struct espi_node *child, int64_t n)
{
    struct work sum = {0, 0, 0, 0};

    if (n > 1 && dense(child))
        return (struct work){0, (double)(n * child->entries), 0, 0};
    for (int64_t k = 0; k < n; k++)
        sum = plus(sum, plus(whole(child), steps(n > 1 && !has_kernel(child, 2))));
    return sum;
}

/* Whether a child, or a block of them, is memory without gaps. */
static bool is_one_run(const struct espi_node *node)
{
    const int64_t stride = node->kind == ESPI_BUCKET ? node->stride2 : node->stride;

    return dense(node->child) && (!has_lengths(node) || stride == node->child->size);
}

/* The i-th child, or block of children, without the step that leads to it. */
static struct work block(const struct espi_node *node, int64_t i)
{
    const int64_t n = has_lengths(node) ? node->len[i] : 1;

    if (node->kind == ESPI_STRUC)
        return whole(node->sub[i]);
    if (is_one_run(node))
        return (struct work){0, 0, 0, (double)(n * node->child->size)};
    return copies(node->child, n);
}

static struct work whole(const struct espi_node *node)
{
    struct work sum = {0, 0, 0, 0};

    if (is_contiguous(node))
        return (struct work){0, 0, 0, (double)node->size};
    if (has_kernel(node, 3))
        return kernel(node);
    for (int64_t i = 0; i < node->count; i++)
        sum = plus(sum, plus(steps(1), block(node, i)));
    return sum;
}

/* Cuts that lie inside `size` bytes from place `from` of the message on. */
static int64_t cuts(int64_t from, int64_t size)
{
    return size > 0 ? (from + size - 1) / PART - from / PART : 0;
}

static struct work in_parts(const struct espi_node *node, int64_t from);

/* A block of copies in which cuts lie: to each the way is found by division; copies that are whole are no steps. */
static struct work cut_copies(const struct espi_node *child, int64_t n, int64_t from)
{
    struct work sum = steps(2.0 * (double)cuts(from, n * child->size));
    int64_t uncut = 0;

    for (int64_t k = 0; k < n; k++, from += child->size) {
        if (cuts(from, child->size) == 0)
            uncut++;
        else
            sum = plus(sum, in_parts(child, from));
    }
    return plus(sum, copies(child, uncut));
}

static struct work in_parts(const struct espi_node *node, int64_t from)
{
    struct work sum = {0, 0, 0, 0};

    if (cuts(from, node->size) == 0)
        return whole(node);
    if (dense(node))
        return plus(steps((double)cuts(from, node->size)), kernel(node));
    for (int64_t i = 0; i < node->count; i++) {
        const struct espi_node *child = node->kind == ESPI_STRUC ? node->sub[i] : node->child;
        const int64_t n = has_lengths(node) ? node->len[i] : 1;
        const double inside = (double)cuts(from, n * child->size);

        sum = plus(sum, steps(1));
        if (inside == 0)
            sum = plus(sum, block(node, i));
        else if (node->kind != ESPI_STRUC && is_one_run(node))
            sum = plus(sum, plus(steps(inside), block(node, i)));
        else if (node->kind == ESPI_STRUC)
            sum = plus(sum, in_parts(child, from));
        else
            sum = plus(sum, cut_copies(child, n, from));
        if (has_lengths(node) || node->kind == ESPI_STRUC) /* gone past to find where a part begins */
            sum.listed += 4 * (double)i * inside;
        from += n * child->size;
    }
    return sum;
}

struct work simulate(const struct espi_node *tree, int64_t count, bool parts, int64_t phase)
{
    struct work sum = steps(1);

    parts = parts && tree->size * count > PART;
    for (int64_t i = 0; i < count; i++)
        sum = plus(sum, parts ? in_parts(tree, phase + i * tree->size) : whole(tree));
    if (parts)
        sum.steps += (double)cuts(phase, tree->size * count);
    return sum;
}
