/* Graphs as text (espalier place).

   One statement a line, words between blanks; # begins a comment. Names are of letters, digits, _ and, but for the
   first byte, . + / -; at most 63 bytes.

   placements NAME...                          first; several lines add up table NAME
   begins a table of redistributions; the first may go without a name move FROM TO COST [EACH]                    a
   redistribution by this table; * stands for all, and a later line counts map NAME FROM:TO...
   a partial function from placements to placements operation NAME                              begins an operation
   method [LABEL:] OPERAND... -> RESULT COST [EACH] its methods: placements; * for an operand that is taken as it is
   left; ? for each placement in turn, the same in the whole line; MAP(?) for what the map makes of that one node NAME
   OPERATION OPERAND... [size=SIZE]  operands are earlier nodes, NODE or NODE:TABLE; size 1 unless given

   COST and EACH are decimal numbers from 0 to 1e15: a redistribution of a value, and a method that makes one, cost
   COST + EACH * SIZE of the value. Staying in a placement costs nothing, which * does not change; a redistribution
   that no line names is impossible. An operand is redistributed by the first table unless it names another.

   A file that begins with `affine` is an alignment instead (align.h):

   affine INDEX...                             one to four letters: the indices of all values placement NAME
   EXPRESSION                   coordinates of the processor, by commas: i+j,j; all before operations shift, permute,
   general COST [EACH]         what redistributions of each kind cost (affine.h) operation NAME [READ...]
   which element of each operand element i,j of the result is made of method [LABEL:] OPERAND... -> RESULT COST [EACH]
   placements; ? any, the same in the whole line; for operands also = with the result and * as it is left node NAME
   OPERATION OPERAND... [size=SIZE]

   One that begins with `positions` has spots (offsets.h):

   positions grid [AXES], ring LENGTH... or discrete node NAME [OPERAND[:SHIFT]...] [at=POSITION] [size=SIZE] moving a
   value costs SIZE a step; several axes by commas: 3,-1 */
#ifndef ESPI_PLACEMENT_FILE_H
#define ESPI_PLACEMENT_FILE_H

#include "base/arena.h"
#include "placement/align.h"
#include "placement/offsets.h"
#include "placement/placement.h"

#define ESPI_PLACE_FILE_ENTRIES (1 << 22) /* of all tables, and words of all methods */

enum espi_place_file_kind { ESPI_PLACE_FILE_GRAPH, ESPI_PLACE_FILE_AFFINE, ESPI_PLACE_FILE_POSITIONS };
enum { ESPI_PLACE_AXES = 8 };

/* Nodes with positions, each axis by itself: the cost of all is the sum over the axes. */
struct espi_place_positions {
    enum espi_place_space space;
    int axes, nodes;
    int64_t around[ESPI_PLACE_AXES];
    struct espi_place_spot *spot[ESPI_PLACE_AXES];
    int *first, *operand; /* of each node, its operands: operand[first[v]] .. operand[first[v + 1] - 1] */
};

/* For POSITIONS there are node names and `positions` only. For AFFINE `graph` is the carried one, and espi_place_name
   names its placements. */
struct espi_place_file {
    enum espi_place_file_kind kind;
    struct espi_place_graph graph;
    struct espi_arena arena; /* of the names */
    const char **placement, **table, **op, **node; /* names by index; the first table's may be "" */
    const char **label; /* of all methods, operation by operation; "" without one */
    int *first_label;   /* of each operation */
    char index[ESPI_PLACE_DIMS + 1];       /* AFFINE: the indices' letters; `placement` has the named placements */
    struct espi_place_alignment alignment; /* AFFINE, without its source */
    struct espi_place_carried carried;     /* AFFINE, without its graph */
    struct espi_place_positions positions;
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

enum { ESPI_PLACE_NAME = 128 };
/* The name of a placement of the graph, as one of a node's value; of one that has no name, what it is in terms of the
   indices, in `buf`. */
const char *espi_place_name(const struct espi_place_file *file, int node, int place, char buf[ESPI_PLACE_NAME]);

/* Chooses the positions that are not given, in file->positions. Errors as for espi_place_spots; then nothing is
   changed. */
espi_status espi_place_positions_choose(struct espi_place_positions *positions, size_t max_bytes, double *cost);
/* What moving a node's value to its consumer costs, summed up over the axes; 0 without a consumer. */
double espi_place_positions_move(const struct espi_place_positions *positions, int node);

#endif
