/* A stand-in for espi_microbench that follows a script, so that what src/mpi/typeplan/select.c makes of times is seen
   exactly. */
#ifndef ESPI_TESTS_WHITEBOX_SCRIPTED_BENCH_H
#define ESPI_TESTS_WHITEBOX_SCRIPTED_BENCH_H

#include <mpi.h>

#include "mpi/typeplan/select.h"
#include "mpi/typeplan/microbench.h"

enum { STAND_MOST = 8, STAND_SCRATCH = 64 << 20, STAND_PART = 16384 };

/* What the stand-in answers; all 0 is the start of each test. */
extern struct script {
    uint64_t ns[STAND_MOST][ESPI_OPERATIONS];
    bool wrong[STAND_MOST];
    espi_status status;
    unsigned takes_ms;         /* processor time of it; 0: a tenth of one */
    unsigned refused;          /* bit k: the k-th check of bytes finds other bytes */
    espi_status check_status;  /* of those checks */
    int failing_commit;        /* the k-th MPI_Type_commit fails; 0: none */
    bool smaller;              /* MPI_Type_size reports less for committed types than they have */
    MPI_Datatype instead;      /* MPI_Type_commit gives a copy of this; MPI_DATATYPE_NULL: what was asked for */
} script;

/* What was asked of it in the last call of judge(). */
extern struct seen {
    int calls, checks;
    int n, count;
    size_t scratch;
    uint64_t budget;
    MPI_Datatype type[STAND_MOST];
    const struct espi_node *tree[STAND_MOST]; /* copies, until the next judge() */
    MPI_Count lb[STAND_MOST], extent[STAND_MOST], true_lb[STAND_MOST], true_extent[STAND_MOST];
} seen;

struct judged {
    struct espi_selection j;
    struct espi_type_facts facts; /* texts live as long as the program */
    uint64_t counted[ESPI_COUNTER_COUNT];
    struct espi_decoded layout; /* until the next judge() */
};

/* Of trees until the next judge(). */
extern struct espi_arena stand_arena;

/* A new script for each test. */
void stand_begin(void);

/* Judges a type as the planning does; checks that exactly the better types that it gives are left over. */
struct judged judge(MPI_Datatype type, enum espi_mode mode, int64_t count, bool check);
/* Frees the better types of a judgement, and `type` if it is not MPI_DATATYPE_NULL. */
void stand_free(struct judged *judged, MPI_Datatype *type);

/* In auto, without check, judged and freed: the number of the candidate that won for each purpose (0: none). */
struct wins {
    int whole, parts;
    uint64_t gain;
} wins(MPI_Datatype type, int64_t count);

/* The least-cost tree of the last layout, and trees in chunks (the tree itself when there is nothing to cut). */
const struct espi_node *stand_best(const struct judged *judged);
const struct espi_node *stand_cut(const struct espi_node *tree, int64_t chunk);
/* How many MPI types a tree with the bounds of the layout is made of. */
size_t stand_types(const struct espi_node *tree, const struct judged *judged);

/* Whether a type was built as `tree` is emitted, and has the bounds of the layout. */
bool stand_is(MPI_Datatype type, const struct espi_node *tree, const struct judged *judged);

/* n doubles, each 3 from the next, as a list and as a vector; committed. */
MPI_Datatype stand_list(int n);
MPI_Datatype stand_vector(int n);
/* n of `base`, `stride` bytes apart; committed. */
MPI_Datatype stand_far(int n, MPI_Aint stride, MPI_Datatype base);

#endif
