/* Descriptions of bytes, and packing them by hand: see layouts.h. */
#include "bench/layouts.h"

#include <string.h>

struct layout_part *layout_add_part(struct layout *l, int side, size_t at, size_t block)
{
    struct layout_piece *piece = &l->piece[side][0];
    struct layout_part *part = &piece->part[piece->parts++];
    int d;

    l->pieces = 1;
    part->at = at;
    part->block = block;
    for (d = 0; d < LAYOUT_LOOPS; d++)
        part->loop[d].count = 1;
    return part;
}

void layout_loop(struct layout_part *part, int d, int count, size_t stride)
{
    part->loop[d].count = count;
    part->loop[d].stride = stride;
}

/* One type for both sides, and the same bytes there. */
void layout_same_sides(struct layout *l)
{
    l->piece[LAYOUT_TO][0] = l->piece[LAYOUT_FROM][0];
    l->span[LAYOUT_TO] = l->span[LAYOUT_FROM];
    l->types[LAYOUT_FROM] = 1;
}

size_t layout_bytes(const struct layout_piece *piece)
{
    size_t sum = 0;
    int p, d;

    for (p = 0; p < piece->parts; p++) {
        const struct layout_part *part = &piece->part[p];
        size_t blocks = part->list != NULL ? (size_t)part->entries : 1;

        for (d = 0; part->list == NULL && d < LAYOUT_LOOPS; d++)
            blocks *= (size_t)part->loop[d].count;
        sum += blocks * part->block;
    }
    return sum;
}

/* `out` and `block` are constants where this is called, so that the compiler writes the copies out. */
static inline __attribute__((always_inline)) char *copy(const struct layout_part *part, char *buffer, char *packed,
                                                        size_t block, int out)
{
    char *first = buffer + part->at;
    int i, j, k;

    if (part->list != NULL) {
        for (i = 0; i < part->entries; i++, packed += block) {
            char *place = first + (size_t)part->list[i] * part->unit;

            memcpy(out ? place : packed, out ? packed : place, block);
        }
        return packed;
    }
    for (i = 0; i < part->loop[0].count; i++)
        for (j = 0; j < part->loop[1].count; j++) {
            char *place = first + (size_t)i * part->loop[0].stride + (size_t)j * part->loop[1].stride;

            for (k = 0; k < part->loop[2].count; k++, packed += block, place += part->loop[2].stride)
                memcpy(out ? place : packed, out ? packed : place, block);
        }
    return packed;
}

static inline __attribute__((always_inline)) void copy_piece(const struct layout_piece *piece, char *buffer,
                                                             char *packed, int out)
{
    int p;

    for (p = 0; p < piece->parts; p++) {
        const struct layout_part *part = &piece->part[p];

        switch (part->block) {
        case 4: packed = copy(part, buffer, packed, 4, out); break;
        case 8: packed = copy(part, buffer, packed, 8, out); break;
        case 12: packed = copy(part, buffer, packed, 12, out); break;
        case 16: packed = copy(part, buffer, packed, 16, out); break;
        case 24: packed = copy(part, buffer, packed, 24, out); break;
        case 40: packed = copy(part, buffer, packed, 40, out); break;
        default: packed = copy(part, buffer, packed, part->block, out);
        }
    }
}

void layout_pack(const struct layout_piece *piece, const char *buffer, char *packed)
{
    copy_piece(piece, (char *)buffer, packed, 0);
}

void layout_unpack(const struct layout_piece *piece, const char *packed, char *buffer)
{
    copy_piece(piece, buffer, (char *)packed, 1);
}
