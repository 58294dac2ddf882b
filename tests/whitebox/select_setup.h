/* What decides for a layout, with stand-ins for what MPI may refuse; types to decide for. */
#ifndef ESPI_TESTS_WHITEBOX_SELECT_SETUP_H
#define ESPI_TESTS_WHITEBOX_SELECT_SETUP_H

#include <mpi.h>

#include "mpi/core/pmpi.h"
#include "mpi/typeplan/select.h"

extern struct espi_pmpi real;     /* MPI's own */
extern struct espi_arena arena;   /* of trees, until the end of the test */
extern int commits;               /* in the last decision */
extern int failing;               /* the commit of this number fails; 0: none */
extern bool shorter;              /* committed types have a byte less */
extern MPI_Datatype instead;      /* a copy of this is what is committed; MPI_DATATYPE_NULL: what was asked for */

/* Types that were committed since the last decision and are not freed; whether one is among them. */
int alive_types(void);
bool is_alive(MPI_Datatype type);

/* Before and after each test. The clock stands. */
void begin(void);
void end(void);

struct decided {
    struct espi_selection s;
    struct espi_type_facts facts; /* texts live as long as the program */
    uint64_t counted[ESPI_COUNTER_COUNT];
    struct espi_decoded layout;
};

/* One item and tier 2 where the request does not say. Checks that exactly the better types that it gives are left
   over. */
struct decided decide(MPI_Datatype type, struct espi_plan_request request);
/* Decides in setting auto, and frees the type. */
struct decided of_auto(MPI_Datatype type, int64_t items, int tier);
/* Frees the better types. */
void let_go(struct decided *d);

/* Whether a type is what is built of this tree. */
bool is_built_of(MPI_Datatype type, const struct espi_node *tree, const struct espi_decoded *layout);
/* What the tier finds; 0: the tree of least cost. */
const struct espi_node *tree_found(const struct espi_node *tree, int tier);

/* Types, committed. n blocks of `length` of a base type, with gaps that repeat nowhere. */
MPI_Datatype irregular_list(int n, int length, MPI_Datatype base);
/* n doubles, each 24 bytes from the next. */
MPI_Datatype regular_list(int n);
/* Vectors in vectors; the innermost stands first. */
MPI_Datatype nested(int levels, const int *n, const MPI_Aint *stride, MPI_Datatype base);
/* A struct of 50 lists and vectors in turns, which together are one vector of 400 doubles, 24 bytes apart. */
MPI_Datatype lists_that_are_one(void);
/* sub^3 of size^3 doubles. */
MPI_Datatype subarray(int size, int sub, int start);
MPI_Datatype committed(MPI_Datatype type);

#endif
