/* The text form of a program. */
#include <inttypes.h>

#include "pack/program.h"

enum { LINES_MOST = 200, SHOWN = 6, DEEPER = 2 };

struct printer {
    FILE *stream;
    int64_t lines;
};

static void begin_line(struct printer *p, int indent, int64_t at)
{
    p->lines++;
    fprintf(p->stream, "%*sat %" PRId64 ": ", indent, "", at);
}

static int64_t place_of(const struct espi_copy *c, int64_t j)
{
    return c->near != NULL ? c->near[j] : c->run != NULL ? c->run[j].at : c->disp_from[j];
}

static int64_t length_of(const struct espi_copy *c, int64_t j)
{
    return c->run != NULL ? c->run[j].bytes : c->len[j];
}

/* The first few displacements of a list, each with its length where that differs. */
static void places(struct printer *p, const struct espi_copy *c, int64_t at)
{
    for (int64_t j = 0; j < c->count && j < SHOWN; j++) {
        fprintf(p->stream, " %" PRId64, espi_sum(at, place_of(c, j)));
        if (c->kind != ESPI_COPY_LIST)
            fprintf(p->stream, "(%" PRId64 ")", length_of(c, j));
    }
    fprintf(p->stream, "%s", c->count > SHOWN ? " ..." : "");
}

static void step(struct printer *p, const struct espi_copy *c, int indent, int64_t at)
{
    if (p->lines == LINES_MOST)
        fprintf(p->stream, "%*s...\n", indent, "");
    if (p->lines >= LINES_MOST) {
        p->lines++;
        return;
    }
    if (c->kind == ESPI_COPY_PARTS) {
        for (int64_t j = 0; j < c->count && p->lines <= LINES_MOST; j++)
            step(p, c->sub[j], indent, espi_sum(at, c->disp_from[j]));
        return;
    }
    begin_line(p, indent, at);
    switch (c->kind) {
    case ESPI_COPY_BLOCK:
        fprintf(p->stream, "%" PRId64 " bytes\n", c->bytes);
        return;
    case ESPI_COPY_LOOPS:
        for (int i = 0; i < c->levels; i++)
            fprintf(p->stream, "%" PRId64 " times every %" PRId64 " bytes%s", c->loop[i].count, c->loop[i].from,
                    i + 1 < c->levels ? ", " : "");
        break;
    case ESPI_COPY_RUNS:
        fprintf(p->stream, "%" PRId64 " places (bytes):", c->count);
        places(p, c, at);
        fprintf(p->stream, "\n");
        return;
    case ESPI_COPY_BUCKETS:
        fprintf(p->stream, "%" PRId64 " places (times), each every %" PRId64 " bytes:", c->count, c->loop[0].from);
        places(p, c, at);
        break;
    default:
        fprintf(p->stream, "%" PRId64 " places:", c->count);
        places(p, c, at);
    }
    if (c->child->kind == ESPI_COPY_BLOCK) {
        fprintf(p->stream, ": %" PRId64 " bytes%s\n", c->child->bytes, c->turned ? ", loops turned" : "");
    } else {
        fprintf(p->stream, ":\n");
        step(p, c->child, indent + DEEPER, 0);
    }
}

bool espi_pack_print(const struct espi_pack *pack, int indent, FILE *stream)
{
    struct printer p = {stream, 0};
    step(&p, pack->item, indent, pack->at);
    return !ferror(stream);
}
