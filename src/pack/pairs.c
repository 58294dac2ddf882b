/* Lists and buckets that have places of their own on both sides. */
#include <string.h>

#include "pack/program.h"

/* The displacements of both sides in 32 bits, if they fit: a list is read once for each use, like data. Where both
   sides are alike it is one list. */
static espi_status keep_places(struct espi_compiler *p, struct espi_copy *c)
{
    const bool alike = memcmp(c->disp_from, c->disp_onto, (size_t)c->count * sizeof *c->disp_from) == 0;
    int64_t wrong = 0;

    for (int64_t j = 0; j < c->count; j++)
        wrong |= (c->disp_from[j] ^ (int32_t)c->disp_from[j]) | (c->disp_onto[j] ^ (int32_t)c->disp_onto[j]);
    if (wrong != 0)
        return ESPI_OK;
    int32_t *from = espi_arena_alloc(p->arena, (size_t)c->count * (alike ? 1 : 2) * sizeof *from);
    if (from == NULL)
        return ESPI_ERR_MEMORY;
    int32_t *onto = alike ? from : from + c->count;
    for (int64_t j = 0; j < c->count; j++) {
        from[j] = (int32_t)c->disp_from[j];
        onto[j] = (int32_t)c->disp_onto[j];
    }
    c->near = from;
    c->near_onto = onto;
    c->disp_from = c->disp_onto = NULL;
    return ESPI_OK;
}

espi_status espi_paired_list(struct espi_compiler *p, const struct espi_node *from, const struct espi_node *onto,
                             struct espi_piece *out)
{
    espi_status status = espi_copy_tree(p, from->child, onto->child, out);
    struct espi_copy *c = status == ESPI_OK ? espi_copy_make(p, ESPI_COPY_LIST) : NULL;

    if (c == NULL)
        return status != ESPI_OK ? status : ESPI_ERR_MEMORY;
    c->count = from->count;
    c->disp_from = from->disp;
    c->disp_onto = onto->disp;
    c->child = out->copy;
    c->bytes = from->size;
    c->pieces = espi_copy_times(c->count, c->child->pieces);
    out->copy = c;
    return keep_places(p, c);
}

espi_status espi_paired_buckets(struct espi_compiler *p, const struct espi_node *from, const struct espi_node *onto,
                                struct espi_piece *out)
{
    const struct espi_node *const side[2] = {from, onto};
    bool strided = from->kind == ESPI_BUCKET;
    const int64_t *disp[2] = {from->disp, onto->disp};
    struct espi_copy *c;
    int64_t copies = 0;
    espi_status status = espi_copy_tree(p, from->child, onto->child, out);
    const struct espi_copy *child = out->copy;
    if (status != ESPI_OK)
        return status;
    c = espi_copy_make(p, ESPI_COPY_BUCKETS);
    if (c == NULL)
        return ESPI_ERR_MEMORY;
    for (int s = 0; s < 2 && strided; s++) {
        int64_t *made = espi_arena_calloc(p->arena, (size_t)from->count, sizeof *made);
        if (made == NULL)
            return ESPI_ERR_MEMORY;
        for (int64_t j = 0; j < from->count; j++)
            made[j] = j * side[s]->stride;
        disp[s] = made;
    }
    for (int64_t j = 0; j < from->count; j++)
        copies = espi_copy_plus(copies, from->len[j]);
    c->count = from->count;
    c->loop[0] = (struct espi_copy_loop){0, strided ? from->stride2 : from->stride,
                                         strided ? onto->stride2 : onto->stride};
    c->disp_from = disp[0];
    c->disp_onto = disp[1];
    c->len = from->len;
    c->child = child;
    c->bytes = from->size;
    c->pieces = c->loop[0].from == child->bytes && c->loop[0].onto == child->bytes
                    ? c->count
                    : espi_copy_times(copies, child->pieces);
    out->copy = c;
    return ESPI_OK;
}
