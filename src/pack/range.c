/*
 * A part of what a program makes: steps that lie in it whole are run as ever, and the two at its ends are entered.
 * Below them at most one step is cut at each level, as what is left of it is a begin or an end. Where a step begins
 * follows from a quotient, or from a binary search.
 */
#include "pack/program.h"

static void loops(const struct espi_kernels *k, const struct espi_copy *c, int level, char *layout, char *stream,
                  int64_t first, int64_t last);

/* One turn of the loop at `level`, or a part of it. */
static void turn(const struct espi_kernels *k, const struct espi_copy *c, int level, char *layout, char *stream,
                 int64_t first, int64_t last)
{
    if (level + 1 < c->levels)
        loops(k, c, level + 1, layout, stream, first, last);
    else
        espi_copy_range_with(k, c->child, layout, stream, first, last);
}

static void loops(const struct espi_kernels *k, const struct espi_copy *c, int level, char *layout, char *stream,
                  int64_t first, int64_t last)
{
    const struct espi_copy_loop *loop = &c->loop[level];
    const int64_t step = loop->onto;
    int64_t i = first / step, end = last / step;

    if (i == end) {
        turn(k, c, level, layout + i * loop->from, stream, first - i * step, last - i * step);
        return;
    }
    if (first > i * step) {
        turn(k, c, level, layout + i * loop->from, stream, first - i * step, step);
        i++;
    }
    if (i < end)
        espi_copy_nest_with(k, c, level, end - i, layout + i * loop->from, stream + (i * step - first));
    if (last > end * step)
        turn(k, c, level, layout + end * loop->from, stream + (end * step - first), 0, last - end * step);
}

/* Where child j of a list, of runs, of buckets or of parts begins in the stream. */
static int64_t start_of(const struct espi_copy *c, int64_t j)
{
    return c->start != NULL ? c->start[j] : j * c->child->bytes;
}

/*
 * The last child that does not begin behind byte `at`; `count` when that is the end of all. Where children are of
 * about one length it stands near its share of the bytes: from there bounds are sought in steps that double, so that
 * few lines of the array are read, and then the place between them by bisection.
 */
static int64_t child_at(const struct espi_copy *c, int64_t at)
{
    int64_t low, high, step = 4;
    if (c->start == NULL)
        return at / c->child->bytes;
    low = high = (int64_t)((double)at / (double)c->bytes * (double)c->count);
    low = high = low < c->count ? low : c->count;
    while (c->start[low] > at) {
        high = low - 1;
        low = low > step ? low - step : 0;
        step *= 2;
    }
    while (high < c->count && c->start[high] <= at) {
        low = high;
        high = high < c->count - step ? high + step : c->count;
        step *= 2;
    }
    if (c->start[high] <= at)
        return high;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (c->start[middle] <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static int64_t place_of(const struct espi_copy *c, int64_t j)
{
    return c->near != NULL ? c->near[j] : c->run != NULL ? c->run[j].at : c->disp_from[j];
}

/* A part of child j. */
static void part(const struct espi_kernels *k, const struct espi_copy *c, int64_t j, char *layout, char *stream,
                 int64_t first, int64_t last)
{
    layout += place_of(c, j);
    if (c->kind == ESPI_COPY_LIST) {
        espi_copy_range_with(k, c->child, layout, stream, first, last);
    } else if (c->kind == ESPI_COPY_RUNS) {
        k->block(last - first, layout + first, stream);
    } else if (c->kind == ESPI_COPY_PARTS) {
        espi_copy_range_with(k, c->sub[j], layout, stream, first, last);
    } else {
        struct espi_copy bucket = {.levels = 1, .child = c->child, .loop = {c->loop[0]}};
        bucket.loop[0].count = c->len[j];
        loops(k, &bucket, 0, layout, stream, first, last);
    }
}

static void children(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream,
                     int64_t first, int64_t last)
{
    int64_t j = child_at(c, first), end = child_at(c, last), at = start_of(c, j);

    if (j == end) {
        part(k, c, j, layout, stream, first - at, last - at);
        return;
    }
    if (first > at) {
        part(k, c, j, layout, stream, first - at, start_of(c, j + 1) - at);
        j++;
        at = start_of(c, j);
    }
    if (j < end)
        espi_copy_some_with(k, c, layout, stream + (at - first), j, end);
    at = start_of(c, end);
    if (last > at)
        part(k, c, end, layout, stream + (at - first), 0, last - at);
}

void espi_copy_range_with(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream,
                          int64_t first, int64_t last)
{
    if (first == last)
        return;
    if (first == 0 && last == c->bytes)
        espi_copy_run_with(k, c, layout, stream);
    else if (c->kind == ESPI_COPY_BLOCK)
        k->block(last - first, layout + first, stream);
    else if (c->kind == ESPI_COPY_LOOPS)
        loops(k, c, 0, layout, stream, first, last);
    else
        children(k, c, layout, stream, first, last);
}
