/* The statements of a graph's text. */
#include <stdlib.h>
#include <string.h>

#include "placement/internal.h"
#include "placement/reader.h"

espi_status place_take_placements(struct reader *reader)
{
    struct espi_place_graph *graph = &reader->file->graph;
    int n = graph->placements;

    if (graph->tables > 0 || graph->ops > 0 || reader->maps > 0 || reader->op_begun)
        return place_wrong(reader, "expected all placements before anything else");
    if (reader->words < 2)
        return place_wrong(reader, "expected names of placements");
    if (n + reader->words - 1 > ESPI_PLACE_MOST_PLACEMENTS)
        return place_wrong(reader, "expected at most %d placements, found more", ESPI_PLACE_MOST_PLACEMENTS);
    for (int w = 1; w < reader->words; w++) {
        espi_status status = place_add_name(reader, KIND_PLACEMENT, reader->word[w], n++);
        if (status != ESPI_OK)
            return status;
    }
    return espi_place_graph_init(graph, n);
}

static espi_status begin_table(struct reader *reader)
{
    size_t s = (size_t)reader->file->graph.placements;
    int index;
    if (((size_t)reader->file->graph.tables + 1) * s * s > ESPI_PLACE_FILE_ENTRIES)
        return place_wrong(reader, "expected tables of at most %d entries in all, found more",
                           ESPI_PLACE_FILE_ENTRIES);
    return espi_place_add_table(&reader->file->graph, &index);
}

/* The first table needs no name. */
static espi_status need_table(struct reader *reader)
{
    static const char *const unnamed[] = {""};
    if (reader->file->graph.tables > 0)
        return ESPI_OK;
    const char **list = espi_arena_alloc(&reader->file->arena, sizeof *list);
    if (list == NULL)
        return ESPI_ERR_MEMORY;
    *list = unnamed[0];
    reader->file->table = list;
    return begin_table(reader);
}

espi_status place_take_table(struct reader *reader)
{
    if (reader->words != 2)
        return place_wrong(reader, "expected one name, found %d", reader->words - 1);
    espi_status status = place_add_name(reader, KIND_TABLE, reader->word[1], reader->file->graph.tables);
    return status == ESPI_OK ? begin_table(reader) : status;
}

/* The placements first .. last that a word stands for. */
static espi_status find_range(struct reader *reader, struct word word, int *first, int *last)
{
    if (place_is(word, "*")) {
        *first = 0;
        *last = reader->file->graph.placements - 1;
        return ESPI_OK;
    }
    espi_status status = place_find_name(reader, KIND_PLACEMENT, word, first);
    *last = *first;
    return status;
}

espi_status place_take_move(struct reader *reader)
{
    struct espi_place_graph *graph = &reader->file->graph;
    struct espi_place_cost cost;
    int from[2], to[2];

    if (reader->words < 3)
        return place_wrong(reader, "expected FROM TO COST, found %d of the three", reader->words - 1);
    espi_status status = find_range(reader, reader->word[1], &from[0], &from[1]);
    if (status == ESPI_OK)
        status = find_range(reader, reader->word[2], &to[0], &to[1]);
    if (status == ESPI_OK)
        status = place_cost(reader, 3, &cost);
    if (status == ESPI_OK)
        status = need_table(reader);
    bool single = !place_is(reader->word[1], "*") && !place_is(reader->word[2], "*");
    for (int p = from[0]; status == ESPI_OK && p <= from[1]; p++) {
        for (int q = to[0]; status == ESPI_OK && q <= to[1]; q++) {
            if (p != q || single)
                status = espi_place_set_move(graph, graph->tables - 1, p, q, cost);
        }
    }
    return status;
}

espi_status place_take_map(struct reader *reader)
{
    struct symbol *symbol;
    int s = reader->file->graph.placements;

    if (reader->words < 3)
        return place_wrong(reader, "expected a name and FROM:TO");
    if ((size_t)(reader->maps + 1) * (size_t)s > ESPI_PLACE_FILE_ENTRIES)
        return place_wrong(reader, "expected fewer maps");
    espi_status status = place_add_name(reader, KIND_MAP, reader->word[1], reader->maps);
    if (status != ESPI_OK)
        return status;
    reader->maps++;
    HASH_FIND(hh, reader->symbols[KIND_MAP], reader->word[1].text, reader->word[1].len, symbol);
    int *map = espi_arena_alloc(&reader->file->arena, (size_t)s * sizeof *map);
    if (map == NULL)
        return ESPI_ERR_MEMORY;
    for (int p = 0; p < s; p++)
        map[p] = UNDEFINED;
    symbol->map = map;
    for (int w = 2; w < reader->words; w++) {
        struct word pair = reader->word[w];
        const char *colon = memchr(pair.text, ':', pair.len);
        int from, to;
        if (colon == NULL)
            return place_wrong(reader, "expected FROM:TO, found '%s'", place_shown(reader, pair));
        size_t len = (size_t)(colon - pair.text);
        status = place_find_name(reader, KIND_PLACEMENT, (struct word){pair.text, len}, &from);
        if (status == ESPI_OK)
            status = place_find_name(reader, KIND_PLACEMENT, (struct word){colon + 1, pair.len - len - 1}, &to);
        if (status != ESPI_OK)
            return status;
        if (map[from] != UNDEFINED)
            return place_wrong(reader, "expected each placement once, found %s again",
                               place_shown(reader, (struct word){pair.text, len}));
        map[from] = to;
    }
    return ESPI_OK;
}

espi_status place_end_operation(struct reader *reader)
{
    if (!reader->op_begun)
        return ESPI_OK;
    reader->line = reader->op_line;
    return place_wrong(reader, "expected a method of operation %s, found none", place_shown(reader, reader->op));
}

espi_status place_take_operation(struct reader *reader)
{
    espi_status status = place_end_operation(reader);
    if (status != ESPI_OK)
        return status;
    if (reader->words != 2)
        return place_wrong(reader, "expected one name, found %d", reader->words - 1);
    status = place_add_name(reader, KIND_OPERATION, reader->word[1], reader->file->graph.ops);
    reader->op_begun = true; /* it is made with its first method, which says how many operands it has */
    reader->op = reader->word[1];
    reader->op_line = reader->line;
    return status;
}

/* What one word of a method stands for, as a map of the placement that ? is. Constants are maps, too. */
static espi_status read_place(struct reader *reader, struct word word, bool operand, const int **map, bool *varies)
{
    int s = reader->file->graph.placements, place = ESPI_PLACE_ANY;
    struct symbol *symbol = NULL;

    if (place_is(word, "?")) {
        *map = NULL;
        *varies = true;
        return ESPI_OK;
    }
    if (word.len > 3 && memcmp(word.text + word.len - 3, "(?)", 3) == 0) {
        HASH_FIND(hh, reader->symbols[KIND_MAP], word.text, word.len - 3, symbol);
        if (symbol == NULL)
            return place_wrong(reader, "expected a map of the lines before, found '%s'", place_shown(reader, word));
        *map = symbol->map;
        *varies = true;
        return ESPI_OK;
    }
    if (!operand || !place_is(word, "*")) {
        HASH_FIND(hh, reader->symbols[KIND_PLACEMENT], word.text, word.len, symbol);
        if (symbol == NULL)
            return place_wrong(reader, "expected a placement, ?, MAP(?)%s, found '%s'",
                               operand ? " or *" : "", place_shown(reader, word));
        place = symbol->index;
    }
    /* A constant's map is kept with its placement, as it has as many entries as there are placements. */
    const int *kept = symbol != NULL ? symbol->map : reader->any;
    if (kept == NULL) {
        int *fresh = espi_arena_alloc(&reader->file->arena, (size_t)s * sizeof *fresh);
        if (fresh == NULL)
            return ESPI_ERR_MEMORY;
        for (int p = 0; p < s; p++)
            fresh[p] = place;
        kept = fresh;
        if (symbol != NULL)
            symbol->map = kept;
        else
            reader->any = kept;
    }
    *map = kept;
    return ESPI_OK;
}

static espi_status need_row(struct reader *reader, int n)
{
    if (n > reader->row_capacity) {
        const int **grown = realloc(reader->row, (size_t)n * sizeof *grown);
        if (grown == NULL)
            return ESPI_ERR_MEMORY;
        reader->row = grown;
        reader->row_capacity = n;
    }
    return ESPI_OK;
}

/* The method or methods that reader->row describes. */
static espi_status add_methods(struct reader *reader, int arity, bool varies, struct espi_place_cost cost, int *added)
{
    struct espi_place_graph *graph = &reader->file->graph;
    int s = graph->placements, op = graph->ops - 1;

    reader->method_words += (size_t)(varies ? s : 1) * ((size_t)arity + 1);
    if (reader->method_words > ESPI_PLACE_FILE_ENTRIES)
        return place_wrong(reader, "expected methods of at most %d placements in all, found more",
                           ESPI_PLACE_FILE_ENTRIES);
    *added = 1;
    if (varies)
        return espi_place_add_relation(graph, op, reader->row, cost, added);
    int *row = espi_place_array((size_t)arity + 1, sizeof *row);
    if (row == NULL)
        return ESPI_ERR_MEMORY;
    for (int i = 0; i <= arity; i++)
        row[i] = reader->row[i][0];
    espi_status status = espi_place_add_method(graph, op, row, row[arity], cost);
    free(row);
    return status;
}

espi_status place_add_label(struct reader *reader, struct word label, int added)
{
    struct espi_place_file *file = reader->file;
    char *text = "";
    if (label.len > 0) {
        text = espi_arena_calloc(&file->arena, 1, label.len + 1);
        if (text == NULL)
            return ESPI_ERR_MEMORY;
        memcpy(text, label.text, label.len);
    }
    for (; added > 0; added--) {
        if (!place_add_to_list(&file->arena, &file->label, reader->labels++, text))
            return ESPI_ERR_MEMORY;
    }
    return ESPI_OK;
}

espi_status place_split_method(struct reader *reader, struct word *label, int *first, int *arrow)
{
    *label = (struct word){"", 0};
    *first = 1;
    if (!reader->op_begun && reader->file->graph.ops == 0)
        return place_wrong(reader, "expected an operation before its methods");
    if (reader->words > 1 && reader->word[1].len > 1 && reader->word[1].text[reader->word[1].len - 1] == ':') {
        *label = (struct word){reader->word[1].text, reader->word[1].len - 1};
        if (!place_is_name(*label))
            return place_wrong(reader, "expected a label (letters, digits, _ . + / -), found '%s'",
                               place_shown(reader, *label));
        *first = 2;
    }
    for (*arrow = *first; *arrow < reader->words && !place_is(reader->word[*arrow], "->");)
        ++*arrow;
    return *arrow + 2 > reader->words ? place_wrong(reader, "expected OPERAND... -> RESULT COST") : ESPI_OK;
}

espi_status place_take_method(struct reader *reader)
{
    struct espi_place_graph *graph = &reader->file->graph;
    struct espi_place_cost cost;
    struct word label;
    int first, arrow, index, added = 0;
    bool varies = false;

    espi_status status = place_split_method(reader, &label, &first, &arrow);
    if (status != ESPI_OK)
        return status;
    int arity = arrow - first;
    status = need_row(reader, arity + 1);
    for (int i = 0; i <= arity && status == ESPI_OK; i++)
        status = read_place(reader, reader->word[i < arity ? first + i : arrow + 1], i < arity, &reader->row[i],
                            &varies);
    if (status == ESPI_OK)
        status = place_cost(reader, arrow + 2, &cost);
    if (status == ESPI_OK && reader->op_begun) {
        status = espi_place_add_op(graph, arity, &index);
        reader->op_begun = status != ESPI_OK;
    }
    if (status != ESPI_OK)
        return status;
    const struct espi_place_op *op = &graph->op[graph->ops - 1];
    if (op->arity != arity)
        return place_wrong(reader, "expected %d operands, as the method before has, found %d", op->arity, arity);
    status = add_methods(reader, arity, varies, cost, &added);
    return status == ESPI_OK ? place_add_label(reader, label, added) : status;
}

/* NODE or NODE:TABLE. */
static espi_status read_operand(struct reader *reader, struct word word, struct espi_place_operand *operand)
{
    const char *colon = memchr(word.text, ':', word.len);
    size_t len = colon != NULL ? (size_t)(colon - word.text) : word.len;
    espi_status status = place_find_name(reader, KIND_NODE, (struct word){word.text, len}, &operand->from);
    operand->table = 0;
    if (status == ESPI_OK && colon != NULL)
        status = place_find_name(reader, KIND_TABLE, (struct word){colon + 1, word.len - len - 1}, &operand->table);
    return status;
}

espi_status place_take_size(struct reader *reader, int from, int *words, double *size)
{
    struct word last = reader->word[*words - 1];
    *size = 1;
    if (*words <= from || last.len < 5 || memcmp(last.text, "size=", 5) != 0)
        return ESPI_OK;
    --*words;
    return place_number(reader, (struct word){last.text + 5, last.len - 5}, "a size", size);
}

espi_status place_take_node(struct reader *reader)
{
    struct espi_place_graph *graph = &reader->file->graph;
    int words = reader->words, op, index;
    double size;

    espi_status status = place_end_operation(reader);
    if (status == ESPI_OK)
        status = place_take_size(reader, 3, &words, &size);
    if (status == ESPI_OK && words < 3)
        status = place_wrong(reader, "expected NAME OPERATION OPERAND..., found %d words", words - 1);
    if (status == ESPI_OK)
        status = place_find_name(reader, KIND_OPERATION, reader->word[2], &op);
    if (status == ESPI_OK)
        status = need_table(reader);
    if (status != ESPI_OK)
        return status;
    int arity = graph->op[op].arity;
    if (words - 3 != arity)
        return place_wrong(reader, "expected %d operands of %s, found %d", arity, reader->file->op[op], words - 3);
    struct espi_place_operand *operand = espi_place_array((size_t)arity, sizeof *operand);
    if (operand == NULL)
        return ESPI_ERR_MEMORY;
    for (int i = 0; i < arity && status == ESPI_OK; i++)
        status = read_operand(reader, reader->word[3 + i], &operand[i]);
    if (status == ESPI_OK)
        status = place_add_name(reader, KIND_NODE, reader->word[1], graph->nodes);
    void *lines = reader->node_line;
    if (status == ESPI_OK && !place_need_entry(&reader->file->arena, &lines, graph->nodes, sizeof *reader->node_line))
        status = ESPI_ERR_MEMORY;
    reader->node_line = lines;
    if (status == ESPI_OK)
        status = espi_place_add_node(graph, op, operand, size, &index);
    if (status == ESPI_OK)
        reader->node_line[index] = reader->line;
    free(operand);
    return status;
}
