/* The statements of an alignment's text. While it is read the file's graph is the source. */
#include <string.h>

#include "placement/internal.h"
#include "placement/reader.h"

espi_status place_take_affine(struct reader *reader)
{
    struct espi_place_file *file = reader->file;
    if (file->alignment.dims > 0)
        return place_wrong(reader, "expected affine once");
    if (reader->words < 2 || reader->words > ESPI_PLACE_DIMS + 1)
        return place_wrong(reader, "expected one to %d indices, found %d", ESPI_PLACE_DIMS, reader->words - 1);
    for (int w = 1; w < reader->words; w++) {
        struct word word = reader->word[w];
        char c = word.text[0];
        if (word.len != 1 || !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) || strchr(file->index, c) != NULL)
            return place_wrong(reader, "expected a letter for each index, found '%s'", place_shown(reader, word));
        file->index[w - 1] = c;
    }
    file->alignment.dims = reader->words - 1;
    for (int c = 0; c < ESPI_PLACE_GENERAL; c++)
        file->alignment.change[c] = (struct espi_place_cost){INFINITY, 0};
    return ESPI_OK;
}

/* A word as a function of the indices. */
static espi_status read_function(struct reader *reader, struct word word, struct espi_place_affine *f, int *rows)
{
    const struct espi_place_file *file = reader->file;
    *rows = espi_place_parse_affine(word.text, word.len, file->index, file->alignment.dims, f);
    return *rows > 0 ? ESPI_OK
                     : place_wrong(reader, "expected sums of the indices %s, by commas (as 2%c-1), found '%s'",
                                   file->index, file->index[0], place_shown(reader, word));
}

espi_status place_take_placement(struct reader *reader)
{
    struct espi_place_file *file = reader->file;
    struct espi_place_affine f;
    int rows;

    if (file->graph.ops > 0 || reader->op_begun)
        return place_wrong(reader, "expected all placements before operations");
    if (reader->words != 3)
        return place_wrong(reader, "expected a name and an expression, found %d words", reader->words - 1);
    if (reader->functions == ESPI_PLACE_MOST_PLACEMENTS - 2)
        return place_wrong(reader, "expected at most %d placements, found more", ESPI_PLACE_MOST_PLACEMENTS - 2);
    espi_status status = read_function(reader, reader->word[2], &f, &rows);
    if (status == ESPI_OK && file->alignment.rows > 0 && rows != file->alignment.rows)
        status = place_wrong(reader, "expected %d coordinates, as before, found %d", file->alignment.rows, rows);
    if (status == ESPI_OK)
        status = place_add_name(reader, KIND_PLACEMENT, reader->word[1], reader->functions);
    if (status != ESPI_OK)
        return status;
    void *list = file->alignment.placement;
    if (!place_need_entry(&file->arena, &list, reader->functions, sizeof f))
        return ESPI_ERR_MEMORY;
    file->alignment.placement = list;
    file->alignment.placement[reader->functions++] = f;
    file->alignment.rows = rows;
    file->alignment.named = reader->functions;
    return ESPI_OK;
}

espi_status place_take_change(struct reader *reader)
{
    struct espi_place_cost cost;
    espi_status status = place_cost(reader, 1, &cost);
    int kind = place_is(reader->word[0], "shift") ? 0 : place_is(reader->word[0], "permute") ? 1 : 2;
    if (status == ESPI_OK)
        reader->file->alignment.change[kind] = cost;
    return status;
}

/* The element of an operand that is read: a function with an inverse. */
static espi_status take_read(struct reader *reader, struct word word, struct espi_place_affine *read)
{
    struct espi_place_affine inverse;
    int rows, dims = reader->file->alignment.dims;
    espi_status status = read_function(reader, word, read, &rows);
    if (status == ESPI_OK && rows != dims)
        return place_wrong(reader, "expected %d indices of the operand, found %d", dims, rows);
    if (status == ESPI_OK && !espi_place_invert(read, dims, &inverse))
        return place_wrong(reader, "expected every element to be read once (a determinant of 1 or -1), found '%s'",
                           place_shown(reader, word));
    return status;
}

espi_status place_take_affine_operation(struct reader *reader)
{
    struct espi_place_file *file = reader->file;
    int arity = reader->words - 2, op;

    if (reader->functions == 0)
        return place_wrong(reader, "expected a placement before operations");
    espi_status status = place_end_operation(reader);
    if (status != ESPI_OK)
        return status;
    if (arity < 0)
        return place_wrong(reader, "expected a name, found none");
    if (file->graph.ops == 0)
        status = espi_place_graph_init(&file->graph, reader->functions + 2);
    if (status == ESPI_OK)
        status = place_add_name(reader, KIND_OPERATION, reader->word[1], file->graph.ops);
    if (status != ESPI_OK)
        return status;
    void *list = file->alignment.read;
    struct espi_place_affine *read = espi_arena_calloc(&file->arena, (size_t)arity, sizeof *read);
    if (read == NULL || !place_need_entry(&file->arena, &list, file->graph.ops, sizeof *file->alignment.read))
        return ESPI_ERR_MEMORY;
    file->alignment.read = list;
    file->alignment.read[file->graph.ops] = read;
    for (int i = 0; i < arity && status == ESPI_OK; i++)
        status = take_read(reader, reader->word[2 + i], &read[i]);
    if (status == ESPI_OK)
        status = espi_place_add_op(&file->graph, arity, &op);
    reader->op_begun = true;
    reader->op = reader->word[1];
    reader->op_line = reader->line;
    return status;
}

static espi_status read_place(struct reader *reader, struct word word, bool operand, int *place)
{
    const struct espi_place_alignment *alignment = &reader->file->alignment;
    struct symbol *symbol;
    HASH_FIND(hh, reader->symbols[KIND_PLACEMENT], word.text, word.len, symbol);
    if (symbol != NULL)
        *place = symbol->index;
    else if (place_is(word, "?"))
        *place = espi_place_open(alignment);
    else if (operand && place_is(word, "="))
        *place = espi_place_aligned(alignment);
    else if (operand && place_is(word, "*"))
        *place = ESPI_PLACE_ANY;
    else
        return place_wrong(reader, "expected a placement%s ?, found '%s'", operand ? ", =, * or" : " or",
                           place_shown(reader, word));
    return ESPI_OK;
}

espi_status place_take_affine_method(struct reader *reader)
{
    struct espi_place_graph *graph = &reader->file->graph;
    struct espi_place_cost cost;
    struct word label;
    int first, arrow;

    espi_status status = place_split_method(reader, &label, &first, &arrow);
    if (status != ESPI_OK)
        return status;
    int arity = graph->op[graph->ops - 1].arity;
    if (arrow - first != arity)
        return place_wrong(reader, "expected %d operands, as the operation has, found %d", arity, arrow - first);
    int *row = espi_place_array((size_t)arity + 1, sizeof *row);
    status = row != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
    for (int i = 0; i <= arity && status == ESPI_OK; i++)
        status = read_place(reader, reader->word[i < arity ? first + i : arrow + 1], i < arity, &row[i]);
    if (status == ESPI_OK)
        status = place_cost(reader, arrow + 2, &cost);
    if (status == ESPI_OK)
        status = espi_place_add_method(graph, graph->ops - 1, row, row[arity], cost);
    free(row);
    if (status != ESPI_OK)
        return status;
    reader->op_begun = false;
    return place_add_label(reader, label, 1);
}

/* Names and labels of the carried operations and methods. */
static espi_status name_carried(struct reader *reader, const struct espi_place_graph *source)
{
    struct espi_place_file *file = reader->file;
    const struct espi_place_carried *carried = &file->carried;
    const char **op = NULL, **label = NULL;
    int *first = espi_place_array((size_t)source->ops, sizeof *first), labels = 0;
    espi_status status = first != NULL ? ESPI_OK : ESPI_ERR_MEMORY;

    for (int o = 0, at = 0; o < source->ops && first != NULL; at += source->op[o++].methods)
        first[o] = at;
    for (int o = 0; o < carried->graph.ops && status == ESPI_OK; o++) {
        int from = carried->op[o];
        bool fits = place_add_to_list(&file->arena, &op, o, file->op[from]);
        for (int j = 0; j < carried->graph.op[o].methods && fits; j++)
            fits = place_add_to_list(&file->arena, &label, labels++,
                                     file->label[first[from] + carried->method[o][j]]);
        status = fits ? ESPI_OK : ESPI_ERR_MEMORY;
    }
    free(first);
    file->op = op;
    file->label = label;
    return status;
}

espi_status place_end_affine(struct reader *reader)
{
    struct espi_place_file *file = reader->file;
    struct espi_place_graph source = file->graph;
    int wrong = 0;

    file->alignment.source = source;
    espi_status status = espi_place_carry(&file->alignment, ESPI_PLACE_FILE_ENTRIES, &file->arena, &file->carried,
                                          &wrong);
    if (status == ESPI_OK)
        status = name_carried(reader, &source);
    file->graph = file->carried.graph;
    espi_place_graph_release(&source);
    file->carried.graph = file->alignment.source = ESPI_PLACE_GRAPH_INIT;
    if (status == ESPI_ERR_SYNTAX) {
        reader->line = reader->node_line[wrong];
        return place_wrong(reader, "expected node %s to read the same elements on all ways, in numbers of 64 bits",
                           file->node[wrong]);
    }
    if (status == ESPI_ERR_LIMIT) {
        reader->line = 0;
        return place_wrong(reader, "expected at most %d placements as seen from one value, and methods of at most %d "
                           "of them in all, found more", ESPI_PLACE_MOST_PLACEMENTS, ESPI_PLACE_FILE_ENTRIES);
    }
    return status;
}
