/*
 * Running a program. A loop over something that is not a block can be run turn by turn, or many turns of each of its
 * parts together: then the loop stands innermost, where it costs next to nothing (`run_turns`). So it is with a loop
 * over few blocks in one or two loops of their own (`run_few`).
 */
#include "base/often.h"
#include "pack/program.h"

static int64_t place_of(const struct espi_copy *c, int64_t j)
{
    return c->near != NULL ? c->near[j] : c->disp_from[j];
}

/* The same on the other side; `in_stream`: where that is if it is a stream. */
static int64_t place_onto(const struct espi_copy *c, int64_t j, int64_t in_stream)
{
    return c->near_onto != NULL ? c->near_onto[j] : c->disp_onto != NULL ? c->disp_onto[j] : in_stream;
}

/* All turns of `loop`, each of which runs `c`. */
static void run_turns(const struct espi_kernels *k, const struct espi_copy *c, const struct espi_copy_loop *loop,
                      char *layout, char *stream)
{
    switch (c->kind) {
    case ESPI_COPY_BLOCK:
        k->strip(c->bytes, loop, layout, stream);
        break;
    case ESPI_COPY_LIST:
        for (int64_t j = 0; j < c->count; j++)
            run_turns(k, c->child, loop, layout + place_of(c, j), stream + place_onto(c, j, j * c->child->bytes));
        break;
    case ESPI_COPY_PARTS:
        for (int64_t j = 0; j < c->count; j++)
            run_turns(k, c->sub[j], loop, layout + c->disp_from[j],
                      stream + (c->disp_onto != NULL ? c->disp_onto[j] : c->start[j]));
        break;
    case ESPI_COPY_LOOPS:
        if (c->levels == 1 && c->child->kind == ESPI_COPY_BLOCK) {
            k->grid(c->child->bytes, loop, &c->loop[0], layout, stream);
            break;
        }
        /* fall through */
    default:
        for (int64_t i = 0; i < loop->count; i++)
            espi_copy_run_with(k, c, layout + i * loop->from, stream + i * loop->onto);
    }
}

/* Two loops over blocks, or three, of which the first makes many turns and the others few: some of its turns
   innermost. No place is written twice but where the program's type names it twice, so any order will do. */
static void run_few(const struct espi_kernels *k, const struct espi_copy *c, const struct espi_copy_loop *loop,
                    int levels, char *layout, char *stream)
{
    const struct espi_copy_loop once = {1, 0, 0}, *middle = levels == 3 ? &loop[1] : &once;
    struct espi_copy_loop some = *loop;

    for (int64_t i = 0; i < loop->count; i += some.count) {
        some.count = loop->count - i < c->chunk ? loop->count - i : c->chunk;
        for (int64_t j = 0; j < middle->count; j++)
            k->grid(c->child->bytes, &loop[levels - 1], &some, layout + i * loop->from + j * middle->from,
                    stream + i * loop->onto + j * middle->onto);
    }
}

static void run_loops(const struct espi_kernels *k, const struct espi_copy *c, const struct espi_copy_loop *loop,
                      int levels, char *layout, char *stream)
{
    const bool blocks = c->child->kind == ESPI_COPY_BLOCK;

    if (espi_copy_is_few(c, levels, loop->count)) {
        run_few(k, c, loop, levels, layout, stream);
    } else if (blocks && levels == 1) {
        k->strip(c->child->bytes, loop, layout, stream);
    } else if (blocks && levels == 2) {
        k->grid(c->child->bytes, loop, loop + 1, layout, stream);
    } else if (levels > 1) {
        for (int64_t i = 0; i < loop->count; i++)
            run_loops(k, c, loop + 1, levels - 1, layout + i * loop->from, stream + i * loop->onto);
    } else if (c->chunk > 0) {
        struct espi_copy_loop some = *loop;
        for (int64_t i = 0; i < loop->count; i += some.count) {
            some.count = loop->count - i < c->chunk ? loop->count - i : c->chunk;
            run_turns(k, c->child, &some, layout + i * loop->from, stream + i * loop->onto);
        }
    } else {
        for (int64_t i = 0; i < loop->count; i++)
            espi_copy_run_with(k, c->child, layout + i * loop->from, stream + i * loop->onto);
    }
}

void espi_copy_nest_with(const struct espi_kernels *k, const struct espi_copy *c, int level, int64_t count,
                         char *layout, char *stream)
{
    const int levels = c->levels - level;
    struct espi_copy_loop loop[ESPI_COPY_LEVELS];

    if (count == c->loop[level].count && !(c->turned && level == 0)) {
        run_loops(k, c, &c->loop[level], levels, layout, stream);
        return;
    }
    for (int i = 0; i < levels; i++) {
        const int which = level == 0 ? c->order[i] : level + i;
        loop[i] = c->loop[which];
        if (which == level)
            loop[i].count = count;
    }
    run_loops(k, c, loop, levels, layout, stream);
}

static void run_list(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream,
                     int64_t begin, int64_t end)
{
    const struct espi_copy *child = c->child;

    if (child->kind == ESPI_COPY_BLOCK && c->near_onto != NULL)
        k->near_pairs(child->bytes, end - begin, c->near + begin, c->near_onto + begin, layout, stream);
    else if (child->kind == ESPI_COPY_BLOCK && c->disp_onto != NULL)
        k->far_pairs(child->bytes, end - begin, c->disp_from + begin, c->disp_onto + begin, layout, stream);
    else if (child->kind == ESPI_COPY_BLOCK && c->near != NULL)
        k->near(child->bytes, end - begin, c->near + begin, layout, stream);
    else if (child->kind == ESPI_COPY_BLOCK)
        k->far(child->bytes, end - begin, c->disp_from + begin, layout, stream);
    else
        for (int64_t j = begin; j < end; j++)
            espi_copy_run_with(k, child, layout + place_of(c, j),
                               stream + place_onto(c, j, (j - begin) * child->bytes));
}

static void run_runs(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream,
                     int64_t begin, int64_t end)
{
    if (c->run != NULL) {
        k->runs(end - begin, c->run + begin, layout, stream);
        return;
    }
    for (int64_t j = begin; j < end; j++)
        k->block(c->len[j], layout + place_of(c, j), stream + (c->start[j] - c->start[begin]));
}

static void run_buckets(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream,
                        int64_t begin, int64_t end)
{
    struct espi_copy_loop loop = c->loop[0];
    bool dense = c->child->kind == ESPI_COPY_BLOCK && loop.from == c->child->bytes && loop.onto == c->child->bytes;

    for (int64_t j = begin; j < end; j++) {
        char *onto = stream + (c->disp_onto != NULL ? c->disp_onto[j] : c->start[j] - c->start[begin]);
        loop.count = c->len[j];
        if (dense)
            k->block(loop.count * loop.from, layout + place_of(c, j), onto);
        else
            run_turns(k, c->child, &loop, layout + place_of(c, j), onto);
    }
}

void espi_copy_some_with(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream,
                         int64_t begin, int64_t end)
{
    switch (c->kind) {
    case ESPI_COPY_LIST:
        run_list(k, c, layout, stream, begin, end);
        break;
    case ESPI_COPY_RUNS:
        run_runs(k, c, layout, stream, begin, end);
        break;
    case ESPI_COPY_BUCKETS:
        run_buckets(k, c, layout, stream, begin, end);
        break;
    default:
        for (int64_t j = begin; j < end; j++)
            espi_copy_run_with(k, c->sub[j], layout + c->disp_from[j],
                               stream + (c->disp_onto != NULL ? c->disp_onto[j] : c->start[j] - c->start[begin]));
    }
}

ESPI_OFTEN void espi_copy_run_with(const struct espi_kernels *k, const struct espi_copy *c, char *layout,
                                   char *stream)
{
    if (c->kind == ESPI_COPY_BLOCK)
        k->block(c->bytes, layout, stream);
    else if (c->kind == ESPI_COPY_LOOPS && c->levels == 1 && c->child->kind == ESPI_COPY_BLOCK)
        k->strip(c->child->bytes, c->loop, layout, stream); /* most short ones: nothing else is asked */
    else if (c->kind == ESPI_COPY_LOOPS && c->levels == 2 && c->child->kind == ESPI_COPY_BLOCK && c->chunk == 0)
        k->grid(c->child->bytes, &c->loop[c->turned ? c->order[0] : 0], &c->loop[c->turned ? c->order[1] : 1], layout,
                stream);
    else if (c->kind == ESPI_COPY_LOOPS)
        espi_copy_nest_with(k, c, 0, c->loop[0].count, layout, stream);
    else
        espi_copy_some_with(k, c, layout, stream, 0, c->count);
}
