/* The copy that a shared tree drives: both sides are walked in step. */
#include "reconstruct/transpack.h"

#include <string.h>

static void copy_leaf(const struct espi_base_info *info, const char *source, char *target)
{
    /* Constant sizes become single moves. */
    switch (info->extent) {
    case 1:
        *target = *source;
        break;
    case 4:
        memcpy(target, source, 4);
        break;
    case 8:
        memcpy(target, source, 8);
        break;
    default:
        memcpy(target, source, info->extent);
        break;
    }
}

static void copy(const struct espi_node *from, const struct espi_node *onto, const char *source, char *target);

static void copy_run(const struct espi_node *from, const struct espi_node *onto, int64_t count, int64_t stride_from,
                     int64_t stride_onto, const char *source, char *target)
{
    if (from->kind == ESPI_LEAF) {
        const struct espi_base_info *info = espi_base_info(from->base);
        if (stride_from == (int64_t)info->extent && stride_onto == stride_from && count > 0) {
            memcpy(target, source, (size_t)count * info->extent);
            return;
        }
        for (int64_t k = 0; k < count; k++) {
            copy_leaf(info, source + k * stride_from, target + k * stride_onto);
        }
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        copy(from, onto, source + k * stride_from, target + k * stride_onto);
    }
}

static void copy(const struct espi_node *from, const struct espi_node *onto, const char *source, char *target)
{
    switch (from->kind) {
    case ESPI_LEAF:
        copy_leaf(espi_base_info(from->base), source, target);
        break;
    case ESPI_VEC:
        copy_run(from->child, onto->child, from->count, from->stride, onto->stride, source, target);
        break;
    case ESPI_IDX:
        for (int64_t j = 0; j < from->count; j++) {
            copy(from->child, onto->child, source + from->disp[j], target + onto->disp[j]);
        }
        break;
    case ESPI_IDXBUC:
        for (int64_t j = 0; j < from->count; j++) {
            copy_run(from->child, onto->child, from->len[j], from->stride, onto->stride, source + from->disp[j],
                     target + onto->disp[j]);
        }
        break;
    case ESPI_BUCKET:
        for (int64_t j = 0; j < from->count; j++) {
            copy_run(from->child, onto->child, from->len[j], from->stride2, onto->stride2,
                     source + j * from->stride, target + j * onto->stride);
        }
        break;
    case ESPI_STRUC:
        for (int64_t j = 0; j < from->count; j++) {
            copy(from->sub[j], onto->sub[j], source + from->disp[j], target + onto->disp[j]);
        }
        break;
    case ESPI_KIND_COUNT:
        break;
    }
}

void espi_transpack_copy(const struct espi_transpacking *transpacking, const void *source, void *target)
{
    copy(transpacking->from, transpacking->onto, source, target);
}
