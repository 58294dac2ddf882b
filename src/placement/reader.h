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
    bool kind_known;     /* by the first statement */
    size_t *node_line;
    int functions;       /* AFFINE: placements so far */
    int operands;        /* POSITIONS */
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
/* Room for entry n of a list that grows in powers of two. */
bool place_need_entry(struct espi_arena *arena, void **list, int n, size_t size);
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
/* A method's parts: its label, its operands from word *first to the arrow; the result is behind it. */
espi_status place_split_method(struct reader *reader, struct word *label, int *first, int *arrow);
espi_status place_add_label(struct reader *reader, struct word label, int added);
/* size=SIZE as the line's last word, from word `from` on; *words is how many are left. */
espi_status place_take_size(struct reader *reader, int from, int *words, double *size);

/* statements_affine.c */
espi_status place_take_affine(struct reader *reader);
espi_status place_take_placement(struct reader *reader);
espi_status place_take_change(struct reader *reader);
espi_status place_take_affine_operation(struct reader *reader);
espi_status place_take_affine_method(struct reader *reader);
/* The carried graph in place of what was read. */
espi_status place_end_affine(struct reader *reader);

/* statements_positions.c */
espi_status place_take_positions(struct reader *reader);
espi_status place_take_spot(struct reader *reader);

#endif
