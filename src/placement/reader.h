/* Reading a graph's text: what its two files share. */
#ifndef ESPI_PLACEMENT_READER_H
#define ESPI_PLACEMENT_READER_H

#include "base/hash.h"
#include "placement/file.h"

enum kind { KIND_PLACEMENT, KIND_TABLE, KIND_MAP, KIND_OPERATION, KIND_NODE, KINDS };

struct symbol {
    UT_hash_handle hh;
    int index;
    const int *map; /* of a map: where each placement goes, or UNDEFINED; of a placement: always there, once used */
    char name[];
};
enum { UNDEFINED = -2 };

struct word {
    const char *text;
    size_t len;
};

struct reader {
    struct espi_place_file *file;
    struct espi_place_file_error *error;
    size_t line;
    struct word *word; /* of this line */
    int words, capacity;
    const int **row; /* of a method: the maps of its operands and result */
    int row_capacity;
    const int *any; /* a map to ANY, once used */
    int maps;
    bool op_begun;      /* an operation whose first method is still to come */
    struct word op;     /* its name */
    size_t op_line;
    size_t method_words; /* of all methods */
    int labels;
    struct symbol *symbols[KINDS];
    char shown[41];
};

/* file.c: helpers. SYNTAX with the message; a word for a message; ... */
espi_status place_wrong(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *place_shown(struct reader *reader, struct word word);
bool place_is(struct word word, const char *text);
bool place_is_name(struct word word);
/* Entry n of a list of names, which grows in powers of two; the old ones stay in the arena. */
bool place_add_to_list(struct espi_arena *arena, const char ***list, int n, const char *name);
espi_status place_add_name(struct reader *reader, enum kind kind, struct word word, int index);
espi_status place_find_name(struct reader *reader, enum kind kind, struct word word, int *index);
espi_status place_number(struct reader *reader, struct word word, const char *what, double *number);
/* COST [EACH], the last words of the line, from word `at` on. */
espi_status place_cost(struct reader *reader, int at, struct espi_place_cost *cost);

/* statements.c: each takes the line. */
espi_status place_take_placements(struct reader *reader);
espi_status place_take_table(struct reader *reader);
espi_status place_take_move(struct reader *reader);
espi_status place_take_map(struct reader *reader);
espi_status place_take_operation(struct reader *reader);
espi_status place_take_method(struct reader *reader);
espi_status place_take_node(struct reader *reader);
/* That the operation before has a method. */
espi_status place_end_operation(struct reader *reader);

#endif
