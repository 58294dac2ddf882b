/*
 * Running a program. A loop over something that is not a block can be run turn by turn, or many turns of each of its
 * parts together: then the loop stands innermost, where it costs next to nothing (`run_turns`).
 */
#include <string.h>

#include "pack/copy_program.h"

static void run_copy(const struct espi_copy *c, const char *source, char *target);

/* All turns of `loop`, each of which runs `c`. */
static void run_turns(const struct espi_copy *c, const struct espi_copy_loop *loop, const char *source, char *target)
{
    switch (c->kind) {
    case ESPI_COPY_BLOCK:
        espi_copy_strip(c->bytes, loop, source, target);
        break;
    case ESPI_COPY_LOOPS:
        if (c->levels == 1 && c->child->kind == ESPI_COPY_BLOCK) {
            espi_copy_grid(c->child->bytes, loop, &c->loop[0], source, target);
            break;
        }
        for (int64_t k = 0; k < loop->count; k++)
            run_copy(c, source + k * loop->from, target + k * loop->onto);
        break;
    case ESPI_COPY_LIST:
        for (int64_t j = 0; j < c->count; j++)
            run_turns(c->child, loop, source + c->disp_from[j], target + c->disp_onto[j]);
        break;
    case ESPI_COPY_BUCKETS:
        for (int64_t k = 0; k < loop->count; k++)
            run_copy(c, source + k * loop->from, target + k * loop->onto);
        break;
    case ESPI_COPY_PARTS:
        for (int64_t j = 0; j < c->count; j++)
            run_turns(c->sub[j], loop, source + c->disp_from[j], target + c->disp_onto[j]);
        break;
    }
}

static void run_loops(const struct espi_copy *c, int level, const char *source, char *target)
{
    const struct espi_copy_loop *loop = &c->loop[level];
    int left = c->levels - level;

    if (c->child->kind == ESPI_COPY_BLOCK && left == 1) {
        espi_copy_strip(c->child->bytes, loop, source, target);
    } else if (c->child->kind == ESPI_COPY_BLOCK && left == 2) {
        espi_copy_grid(c->child->bytes, loop, &c->loop[level + 1], source, target);
    } else if (left > 1) {
        for (int64_t k = 0; k < loop->count; k++)
            run_loops(c, level + 1, source + k * loop->from, target + k * loop->onto);
    } else if (c->chunk > 0) {
        struct espi_copy_loop some = *loop;
        for (int64_t k = 0; k < loop->count; k += some.count) {
            some.count = loop->count - k < c->chunk ? loop->count - k : c->chunk;
            run_turns(c->child, &some, source + k * loop->from, target + k * loop->onto);
        }
    } else {
        for (int64_t k = 0; k < loop->count; k++)
            run_copy(c->child, source + k * loop->from, target + k * loop->onto);
    }
}

static void run_buckets(const struct espi_copy *c, const char *source, char *target)
{
    struct espi_copy_loop loop = c->loop[0];
    bool dense = c->child->kind == ESPI_COPY_BLOCK && loop.from == c->child->bytes && loop.onto == c->child->bytes;

    for (int64_t j = 0; j < c->count; j++) {
        loop.count = c->len[j];
        if (dense)
            memcpy(target + c->disp_onto[j], source + c->disp_from[j], (size_t)(loop.count * loop.from));
        else
            run_turns(c->child, &loop, source + c->disp_from[j], target + c->disp_onto[j]);
    }
}

static void run_copy(const struct espi_copy *c, const char *source, char *target)
{
    switch (c->kind) {
    case ESPI_COPY_BLOCK:
        memcpy(target, source, (size_t)c->bytes);
        break;
    case ESPI_COPY_LOOPS:
        run_loops(c, 0, source, target);
        break;
    case ESPI_COPY_LIST:
        if (c->child->kind == ESPI_COPY_BLOCK) {
            espi_copy_list(c->child->bytes, c->count, c->disp_from, c->disp_onto, source, target);
            break;
        }
        for (int64_t j = 0; j < c->count; j++)
            run_copy(c->child, source + c->disp_from[j], target + c->disp_onto[j]);
        break;
    case ESPI_COPY_BUCKETS:
        run_buckets(c, source, target);
        break;
    case ESPI_COPY_PARTS:
        for (int64_t j = 0; j < c->count; j++)
            run_copy(c->sub[j], source + c->disp_from[j], target + c->disp_onto[j]);
        break;
    }
}

void espi_copy_run(const struct espi_copy *copy, const void *source, void *target)
{
    run_copy(copy, source, target);
}
