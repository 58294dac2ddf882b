/* Graphs as text (espalier place).

   One statement a line, words between blanks; # begins a comment. Names are of letters, digits, _ and, but for the
   first byte, . + / -; at most 63 bytes.

       placements NAME...                          first; several lines add up
       table NAME                                  begins a table of redistributions; the first may go without a name
       move FROM TO COST [EACH]                    a redistribution by this table; * stands for all,
                                                   and a later line counts
       map NAME FROM:TO...                         a partial function from placements to placements
       operation NAME                              begins an operation
       method [LABEL:] OPERAND... -> RESULT COST [EACH]
                                                   its methods: placements; * for an operand that is taken as it is
                                                   left; ? for each placement in turn, the same in the whole line;
                                                   MAP(?) for what the map makes of that one
       node NAME OPERATION OPERAND... [size=SIZE]  operands are earlier nodes, NODE or NODE:TABLE; size 1 unless given

   COST and EACH are decimal numbers from 0 to 1e15: a redistribution of a value, and a method that makes one, cost
   COST + EACH * SIZE of the value. Staying in a placement costs nothing, which * does not change; a redistribution
   that no line names is impossible. An operand is redistributed by the first table unless it names another. */
#ifndef ESPI_PLACEMENT_FILE_H
#define ESPI_PLACEMENT_FILE_H

#include "base/arena.h"
#include "placement/placement.h"

#define ESPI_PLACE_FILE_ENTRIES (1 << 22) /* of all tables, and words of all methods */

struct espi_place_file {
    struct espi_place_graph graph;
    struct espi_arena arena; /* of the names */
    const char **placement, **table, **op, **node; /* names by index; the first table's may be "" */
    const char **label; /* of all methods, operation by operation; "" without one */
    int *first_label;   /* of each operation */
};

struct espi_place_file_error {
    size_t line; /* 0: the file as a whole */
    char what[200];
};

/* On success the caller owns the file. ESPI_ERR_SYNTAX: `error` says where and what was expected, also for what is
   too large; MEMORY. */
espi_status espi_place_file_parse(const char *text, size_t len, struct espi_place_file *file,
                                  struct espi_place_file_error *error);
void espi_place_file_release(struct espi_place_file *file);

#endif
