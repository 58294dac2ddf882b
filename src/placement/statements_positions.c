/* The statements of a text with positions. */
#include <string.h>

#include "base/number.h"
#include "placement/internal.h"
#include "placement/reader.h"

#define MOST_PLACE INT64_C(1000000000000000) /* of positions, shifts and lengths of rings */

static espi_status read_whole(struct reader *reader, struct word word, const char *what, int64_t least,
                              int64_t *value)
{
    if (espi_whole_parse(word.text, word.len, value) && *value >= least && *value <= MOST_PLACE)
        return ESPI_OK;
    return place_wrong(reader, "expected %s (a whole number from %s to 1e15), found '%s'", what,
                       least > 0 ? "1" : "-1e15", place_shown(reader, word));
}

espi_status place_take_positions(struct reader *reader)
{
    struct espi_place_positions *p = &reader->file->positions;
    struct word space = reader->words > 1 ? reader->word[1] : (struct word){"", 0};
    int more = reader->words - 2;
    espi_status status = ESPI_OK;
    int64_t axes = 1;

    if (p->axes > 0)
        return place_wrong(reader, "expected positions once");
    if (place_is(space, "ring")) {
        p->space = ESPI_PLACE_RING;
        if (more < 1 || more > ESPI_PLACE_AXES)
            return place_wrong(reader, "expected one to %d lengths, found %d", ESPI_PLACE_AXES, more);
        for (int x = 0; x < more && status == ESPI_OK; x++)
            status = read_whole(reader, reader->word[2 + x], "a length", 1, &p->around[x]);
        axes = more;
    } else if (place_is(space, "grid") && more <= 1) {
        p->space = ESPI_PLACE_LINE;
        status = more > 0 ? read_whole(reader, reader->word[2], "a number of axes", 1, &axes) : ESPI_OK;
        if (status == ESPI_OK && axes > ESPI_PLACE_AXES)
            return place_wrong(reader, "expected at most %d axes, found more", ESPI_PLACE_AXES);
    } else if (place_is(space, "discrete") && more == 0) {
        p->space = ESPI_PLACE_DISCRETE;
    } else {
        return place_wrong(reader, "expected grid [AXES], ring LENGTH... or discrete, found '%s'",
                           place_shown(reader, space));
    }
    p->axes = status == ESPI_OK ? (int)axes : 0;
    return status;
}

/* A position or a shift: one number for each axis, with commas between them. */
static espi_status read_tuple(struct reader *reader, struct word word, const char *what, int64_t *value)
{
    int axes = reader->file->positions.axes;
    struct word left = word;
    for (int x = 0; x < axes; x++) {
        const char *comma = memchr(left.text, ',', left.len);
        size_t len = comma != NULL && x + 1 < axes ? (size_t)(comma - left.text) : left.len;
        if (comma == NULL && x + 1 < axes)
            return place_wrong(reader, "expected %d numbers by commas for %s, found '%s'", axes, what,
                               place_shown(reader, word));
        espi_status status = read_whole(reader, (struct word){left.text, len}, what, -MOST_PLACE, &value[x]);
        if (status != ESPI_OK)
            return status;
        left = (struct word){left.text + len + 1, left.len - (x + 1 < axes ? len + 1 : len)};
    }
    return ESPI_OK;
}

/* OPERAND or OPERAND:SHIFT of node v; it is the one that takes its value. */
static espi_status take_operand(struct reader *reader, struct word word, int v)
{
    struct espi_place_positions *p = &reader->file->positions;
    const char *colon = memchr(word.text, ':', word.len);
    struct word name = {word.text, colon != NULL ? (size_t)(colon - word.text) : word.len};
    int64_t shift[ESPI_PLACE_AXES] = {0};
    int u;

    espi_status status = place_find_name(reader, KIND_NODE, name, &u);
    if (status == ESPI_OK && p->spot[0][u].parent >= 0)
        status = place_wrong(reader, "expected each value to be used once, found %s again",
                             place_shown(reader, name));
    if (status == ESPI_OK && colon != NULL)
        status = read_tuple(reader, (struct word){colon + 1, word.len - name.len - 1}, "a shift", shift);
    void *list = p->operand;
    if (status == ESPI_OK && !place_need_entry(&reader->file->arena, &list, reader->operands, sizeof *p->operand))
        status = ESPI_ERR_MEMORY;
    if (status != ESPI_OK)
        return status;
    p->operand = list;
    p->operand[reader->operands++] = u;
    for (int x = 0; x < p->axes; x++) {
        p->spot[x][u].parent = v;
        p->spot[x][u].shift = shift[x];
    }
    return ESPI_OK;
}

/* Room for node v and the end of its operands. */
static espi_status need_node(struct reader *reader, int v)
{
    struct espi_place_positions *p = &reader->file->positions;
    struct espi_arena *arena = &reader->file->arena;
    void *list = p->first;
    bool fits = v > 0 || place_need_entry(arena, &list, 0, sizeof *p->first);
    fits = fits && place_need_entry(arena, &list, v + 1, sizeof *p->first);
    p->first = list;
    for (int x = 0; x < p->axes && fits; x++) {
        list = p->spot[x];
        fits = place_need_entry(arena, &list, v, sizeof *p->spot[x]);
        p->spot[x] = list;
    }
    return fits ? ESPI_OK : ESPI_ERR_MEMORY;
}

espi_status place_take_spot(struct reader *reader)
{
    struct espi_place_positions *p = &reader->file->positions;
    int words = reader->words, v = p->nodes;
    int64_t at[ESPI_PLACE_AXES] = {0};
    double size;
    bool fixed = false;

    if (words < 2)
        return place_wrong(reader, "expected NAME OPERAND..., found nothing");
    espi_status status = place_take_size(reader, 2, &words, &size);
    struct word last = reader->word[words - 1];
    if (status == ESPI_OK && words > 2 && last.len >= 3 && memcmp(last.text, "at=", 3) == 0) {
        status = read_tuple(reader, (struct word){last.text + 3, last.len - 3}, "a position", at);
        fixed = true;
        words--;
    }
    if (status == ESPI_OK)
        status = need_node(reader, v);
    if (status != ESPI_OK)
        return status;
    p->first[v] = reader->operands;
    for (int x = 0; x < p->axes; x++)
        p->spot[x][v] = (struct espi_place_spot){-1, fixed, at[x], 0, size};
    for (int w = 2; w < words && status == ESPI_OK; w++)
        status = take_operand(reader, reader->word[w], v);
    if (status == ESPI_OK)
        status = place_add_name(reader, KIND_NODE, reader->word[1], v);
    if (status == ESPI_OK)
        p->first[++p->nodes] = reader->operands;
    return status;
}
