#include "placement/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "placement/reader.h"

espi_status place_wrong(struct reader *reader, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(reader->error->what, sizeof reader->error->what, format, list);
    va_end(list);
    reader->error->line = reader->line;
    return ESPI_ERR_SYNTAX;
}

const char *place_shown(struct reader *reader, struct word word)
{
    size_t len = word.len < sizeof reader->shown ? word.len : sizeof reader->shown - 1;
    for (size_t i = 0; i < len; i++)
        reader->shown[i] = word.text[i] >= ' ' && word.text[i] <= '~' ? word.text[i] : '?';
    reader->shown[len] = '\0';
    return reader->shown;
}

bool place_is(struct word word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.text, text, word.len) == 0;
}

bool place_is_name(struct word word)
{
    for (size_t i = 0; i < word.len; i++) {
        char c = word.text[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!plain && (i == 0 || (c != '.' && c != '+' && c != '/' && c != '-')))
            return false;
    }
    return word.len > 0 && word.len <= 63;
}

static const char *const kind_names[] = {"placement", "table", "map", "operation", "node"};

bool place_need_entry(struct espi_arena *arena, void **list, int n, size_t size)
{
    if ((n & (n - 1)) != 0)
        return true;
    void *grown = espi_arena_alloc(arena, (n > 0 ? 2 * (size_t)n : 1) * size);
    if (grown == NULL)
        return false;
    if (n > 0)
        memcpy(grown, *list, (size_t)n * size);
    *list = grown;
    return true;
}

bool place_add_to_list(struct espi_arena *arena, const char ***list, int n, const char *name)
{
    void *grown = *list;
    if (!place_need_entry(arena, &grown, n, sizeof **list))
        return false;
    *list = grown;
    (*list)[n] = name;
    return true;
}

espi_status place_add_name(struct reader *reader, enum kind kind, struct word word, int index)
{
    struct symbol *old;
    if (!place_is_name(word))
        return place_wrong(reader, "expected a name for the %s (letters, digits, _ . + / -), found '%s'",
                           kind_names[kind], place_shown(reader, word));
    HASH_FIND(hh, reader->symbols[kind], word.text, word.len, old);
    if (old != NULL)
        return place_wrong(reader, "%s %s is there already", kind_names[kind], place_shown(reader, word));
    struct espi_arena *arena = &reader->file->arena;
    struct symbol *symbol = espi_arena_calloc(arena, 1, sizeof *symbol + word.len + 1);
    if (symbol == NULL)
        return ESPI_ERR_MEMORY;
    memcpy(symbol->name, word.text, word.len);
    symbol->index = index;
    HASH_ADD_KEYPTR(hh, reader->symbols[kind], symbol->name, word.len, symbol);
    if (symbol->hh.tbl == NULL)
        return ESPI_ERR_MEMORY;
    const char ***const lists[] = {&reader->file->placement, &reader->file->table, NULL, &reader->file->op,
                                   &reader->file->node};
    bool listed = lists[kind] == NULL || place_add_to_list(arena, lists[kind], index, symbol->name);
    return listed ? ESPI_OK : ESPI_ERR_MEMORY;
}

espi_status place_find_name(struct reader *reader, enum kind kind, struct word word, int *index)
{
    struct symbol *symbol;
    HASH_FIND(hh, reader->symbols[kind], word.text, word.len, symbol);
    if (symbol == NULL)
        return place_wrong(reader, "expected %s %s of the lines before, found '%s'",
                           kind == KIND_OPERATION ? "an" : "a", kind_names[kind], place_shown(reader, word));
    *index = symbol->index;
    return ESPI_OK;
}

espi_status place_number(struct reader *reader, struct word word, const char *what, double *number)
{
    if (espi_number_parse(word.text, word.len, number) && *number >= 0 && *number <= ESPI_PLACE_MOST_COST)
        return ESPI_OK;
    return place_wrong(reader, "expected %s (a number from 0 to 1e15), found '%s'", what, place_shown(reader, word));
}

espi_status place_cost(struct reader *reader, int at, struct espi_place_cost *cost)
{
    *cost = (struct espi_place_cost){0, 0};
    if (reader->words <= at || reader->words > at + 2)
        return place_wrong(reader, "expected COST or COST EACH at the end of the line, found %d words",
                           reader->words > at ? reader->words - at : 0);
    espi_status status = place_number(reader, reader->word[at], "a cost", &cost->fixed);
    if (status == ESPI_OK && reader->words > at + 1)
        status = place_number(reader, reader->word[at + 1], "a cost per unit of size", &cost->each);
    return status;
}

static espi_status add_word(struct reader *reader, struct word word)
{
    if (reader->words == reader->capacity) {
        int capacity = reader->capacity > 0 ? 2 * reader->capacity : 16;
        struct word *grown = realloc(reader->word, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return ESPI_ERR_MEMORY;
        reader->word = grown;
        reader->capacity = capacity;
    }
    reader->word[reader->words++] = word;
    return ESPI_OK;
}

static espi_status cut_line(struct reader *reader, const char *text, size_t len)
{
    const char *comment = memchr(text, '#', len);
    reader->words = 0;
    len = comment != NULL ? (size_t)(comment - text) : len;
    for (size_t at = 0; at < len;) {
        size_t end = at;
        while (end < len && (text[end] == '\0' || strchr(" \t\r\v\f", text[end]) == NULL))
            end++;
        if (end > at) {
            if (reader->words > 2 * ESPI_PLACE_MOST_OPERANDS)
                return place_wrong(reader, "expected at most %d words", 2 * ESPI_PLACE_MOST_OPERANDS);
            espi_status status = add_word(reader, (struct word){text + at, end - at});
            if (status != ESPI_OK)
                return status;
        }
        at = end + 1;
    }
    return ESPI_OK;
}

#define GRAPH (1 << ESPI_PLACE_FILE_GRAPH)
#define AFFINE (1 << ESPI_PLACE_FILE_AFFINE)
#define POSITIONS (1 << ESPI_PLACE_FILE_POSITIONS)

static const struct statement {
    const char *name;
    int kinds; /* of files that have it */
    espi_status (*take)(struct reader *);
} statements[] = {
    {"placements", GRAPH, place_take_placements}, {"table", GRAPH, place_take_table},
    {"move", GRAPH, place_take_move},             {"map", GRAPH, place_take_map},
    {"operation", GRAPH, place_take_operation},   {"method", GRAPH, place_take_method},
    {"node", GRAPH | AFFINE, place_take_node},    {"affine", AFFINE, place_take_affine},
    {"placement", AFFINE, place_take_placement},  {"shift", AFFINE, place_take_change},
    {"permute", AFFINE, place_take_change},       {"general", AFFINE, place_take_change},
    {"operation", AFFINE, place_take_affine_operation},
    {"method", AFFINE, place_take_affine_method}, {"positions", POSITIONS, place_take_positions},
    {"node", POSITIONS, place_take_spot},
};

/* The kind of a file, by its first word. */
static espi_status take_kind(struct reader *reader)
{
    static const char *const words[] = {"placements", "affine", "positions"}; /* enum espi_place_file_kind */
    for (int kind = 0; kind < 3; kind++) {
        if (place_is(reader->word[0], words[kind])) {
            reader->file->kind = (enum espi_place_file_kind)kind;
            reader->kind_known = true;
            return ESPI_OK;
        }
    }
    return place_wrong(reader, "expected placements before anything else (or affine or positions), found '%s'",
                       place_shown(reader, reader->word[0]));
}

static espi_status take_line(struct reader *reader)
{
    static const char *const expected[] = {"placements, table, move, map, operation, method or node",
                                           "placement, shift, permute, general, operation, method or node",
                                           "node"};
    espi_status status = reader->kind_known ? ESPI_OK : take_kind(reader);
    if (status != ESPI_OK)
        return status;
    for (size_t x = 0; x < sizeof statements / sizeof *statements; x++) {
        if ((statements[x].kinds >> reader->file->kind & 1) != 0 && place_is(reader->word[0], statements[x].name))
            return statements[x].take(reader);
    }
    return place_wrong(reader, "expected %s, found '%s'", expected[reader->file->kind],
                       place_shown(reader, reader->word[0]));
}

static espi_status take_end(struct reader *reader)
{
    espi_status status = place_end_operation(reader);
    if (status != ESPI_OK)
        return status;
    struct espi_place_file *file = reader->file;
    bool positions = file->kind == ESPI_PLACE_FILE_POSITIONS;
    if ((positions ? file->positions.nodes : file->graph.nodes) == 0) {
        reader->line = 0;
        return place_wrong(reader, "expected a node, found none");
    }
    status = file->kind == ESPI_PLACE_FILE_AFFINE ? place_end_affine(reader) : ESPI_OK;
    if (status != ESPI_OK)
        return status;
    reader->line = 0;
    file->first_label = espi_arena_alloc(&file->arena, (size_t)file->graph.ops * sizeof *file->first_label);
    if (file->first_label == NULL)
        return ESPI_ERR_MEMORY;
    for (int o = 0, at = 0; o < file->graph.ops; at += file->graph.op[o++].methods)
        file->first_label[o] = at;
    return ESPI_OK;
}

espi_status espi_place_file_parse(const char *text, size_t len, struct espi_place_file *file,
                                  struct espi_place_file_error *error)
{
    struct reader reader = {.file = file, .error = error};
    espi_status status = ESPI_OK;

    *file = (struct espi_place_file){.arena = ESPI_ARENA_INIT};
    *error = (struct espi_place_file_error){0, ""};
    for (size_t at = 0; at < len && status == ESPI_OK;) {
        const char *stop = memchr(text + at, '\n', len - at);
        size_t length = stop != NULL ? (size_t)(stop - text) - at : len - at;
        reader.line++;
        status = cut_line(&reader, text + at, length);
        if (status == ESPI_OK && reader.words > 0)
            status = take_line(&reader);
        at += length + 1;
    }
    if (status == ESPI_OK)
        status = take_end(&reader);
    for (int k = 0; k < KINDS; k++)
        HASH_CLEAR(hh, reader.symbols[k]);
    free(reader.word);
    free(reader.row);
    if (status == ESPI_ERR_LIMIT || status == ESPI_ERR_ARGUMENT)
        status = place_wrong(&reader, "expected less of everything: this is too large");
    if (status != ESPI_OK)
        espi_place_file_release(file);
    return status;
}

void espi_place_file_release(struct espi_place_file *file)
{
    espi_place_graph_release(&file->graph);
    espi_arena_release(&file->arena);
    *file = (struct espi_place_file){.arena = ESPI_ARENA_INIT};
}

const char *espi_place_name(const struct espi_place_file *file, int node, int place, char buf[ESPI_PLACE_NAME])
{
    const struct espi_place_alignment *alignment = &file->alignment;
    struct espi_place_affine f;
    if (file->kind == ESPI_PLACE_FILE_GRAPH)
        return file->placement[place];
    if (!espi_place_seen(&file->carried, node, place, &f))
        return "beyond 64 bits";
    for (int p = 0; p < alignment->named; p++) {
        if (memcmp(&f, &alignment->placement[p], sizeof f) == 0)
            return file->placement[p];
    }
    return espi_place_format_affine(&f, file->index, alignment->dims, alignment->rows, buf, ESPI_PLACE_NAME);
}
