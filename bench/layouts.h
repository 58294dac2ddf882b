/*
 * bench/layouts: application layouts (layouts_rows.c, layouts_lists.c, layouts_joint.c), packing them by hand
 * (layouts_copy.c), one use of a layout in each way (layouts_use.c), and the times of these (layouts.c).
 */
#ifndef ESPI_LAYOUTS_H
#define ESPI_LAYOUTS_H

#include "bench/bench.h"

enum { LAYOUT_FROM, LAYOUT_TO, LAYOUT_SIDES };

enum {
    LAYOUT_PIECES = 8, /* blocks of a collective call: ranks, or neighbours */
    LAYOUT_PARTS = 9,  /* arrays of one type */
    LAYOUT_LOOPS = 3,
    LAYOUT_LENGTHS = 3 /* numbers that say how large a row is */
};

/* The calls of a program that builds types and uses them: one table per origin, as struct bench_calls. */
#define LAYOUT_CALLS(CALL) \
    CALL(Alltoall) \
    CALL(Alltoallv) \
    CALL(Alltoallw) \
    CALL(Neighbor_alltoallv) \
    CALL(Neighbor_alltoallw) \
    CALL(Pack) \
    CALL(Recv) \
    CALL(Send) \
    CALL(Unpack) \
    CALL(Type_commit) \
    CALL(Type_contiguous) \
    CALL(Type_create_hvector) \
    CALL(Type_create_indexed_block) \
    CALL(Type_create_resized) \
    CALL(Type_create_struct) \
    CALL(Type_create_subarray) \
    CALL(Type_free) \
    CALL(Type_indexed) \
    CALL(Type_vector)

struct layout_calls {
#define LAYOUT_CALL(name) __typeof__(&MPI_##name) name;
    LAYOUT_CALLS(LAYOUT_CALL)
#undef LAYOUT_CALL
};

/* Blocks of bytes in a buffer, in the order of the type map: along loops, the first the outermost, or along a
   list. */
struct layout_part {
    size_t at;    /* of the first block, or of what the list counts from */
    size_t block; /* bytes that stand together */
    struct {
        int count;
        size_t stride; /* bytes */
    } loop[LAYOUT_LOOPS];
    const int *list; /* places of blocks, or NULL */
    int entries;
    size_t unit; /* bytes that an entry of the list counts */
};

/* What one message, or one block of a collective call, carries on one side. */
struct layout_piece {
    struct layout_part part[LAYOUT_PARTS];
    int parts;
    size_t bytes;
    int at;   /* the buffer's argument, or the displacement in a collective call: bytes from the buffer's begin */
    int type; /* which of the side's types */
};

enum layout_use { LAYOUT_MESSAGE, LAYOUT_ALLTOALL, LAYOUT_ALLTOALLW, LAYOUT_NEIGHBORS };

struct layout {
    const struct layout_row *row;
    const int *n; /* LAYOUT_LENGTHS numbers */
    int rank, ranks;
    struct layout_piece piece[LAYOUT_SIDES][LAYOUT_PIECES];
    int pieces;
    int types[LAYOUT_SIDES]; /* made on each side; none on the second: those of the first serve */
    size_t span[LAYOUT_SIDES];
    int absolute; /* types hold addresses, and calls are given MPI_BOTTOM; but see layout_make */
    int *list, *list2;
    MPI_Comm comm;
};

struct layout_row {
    const char *name;
    enum layout_use use;
    int lengths[3][LAYOUT_LENGTHS]; /* small, medium, large */
    /* Says which bytes are meant. The lists that it makes belong to the layout. */
    void (*describe)(struct layout *);
    /* Makes and commits the types of one side as a program would that has its buffer at address `base`. */
    void (*make)(const struct layout *, const struct layout_calls *, int side, MPI_Aint base, MPI_Datatype *);
};

extern const struct layout_row layout_rows[];
extern const int layout_row_count;

/* A part of a message, with one block at `at`; a loop around blocks (the innermost has number LAYOUT_LOOPS - 1). */
struct layout_part *layout_add_part(struct layout *l, int side, size_t at, size_t block);
void layout_loop(struct layout_part *part, int number, int count, size_t stride);

/* One type for both sides, and the same bytes there. */
void layout_same_sides(struct layout *l);

/* The rows of layouts_lists.c and layouts_joint.c. */
#define LAYOUT_ROW(name) \
    void layout_describe_##name(struct layout *); \
    void layout_make_##name(const struct layout *, const struct layout_calls *, int side, MPI_Aint base, \
                            MPI_Datatype *);
LAYOUT_ROW(lammps)
LAYOUT_ROW(specfem)
LAYOUT_ROW(specfem_cm2)
LAYOUT_ROW(rowcol)
LAYOUT_ROW(fft2)
LAYOUT_ROW(pencil)
LAYOUT_ROW(halo)
#undef LAYOUT_ROW

/* Bytes that a piece carries. */
size_t layout_bytes(const struct layout_piece *piece);

/* Copies between a buffer and packed bytes, as a person would write it: loops for each array, with the length of a
   block known to the compiler where it is a usual one. */
void layout_pack(const struct layout_piece *piece, const char *buffer, char *packed);
void layout_unpack(const struct layout_piece *piece, const char *packed, char *buffer);

/* The ways to use a layout. */
enum layout_way { LAYOUT_NATIVE, LAYOUT_HAND, LAYOUT_PACK, LAYOUT_ESPALIER, LAYOUT_CONTIGUOUS, LAYOUT_WAYS };
extern const char *const layout_way_name[LAYOUT_WAYS];

/* A layout with its buffers, and the types of one way while they live. */
struct layout_run {
    struct layout layout;
    char *buffer[LAYOUT_SIDES], *packed[LAYOUT_SIDES];
    size_t packed_bytes[LAYOUT_SIDES];
    int bytes[LAYOUT_SIDES][LAYOUT_PIECES], place[LAYOUT_SIDES][LAYOUT_PIECES]; /* of packed pieces */
    MPI_Datatype type[LAYOUT_WAYS][LAYOUT_SIDES][LAYOUT_PIECES];
};

/* Fetches the library's own functions; once, before anything else of this part. */
void layout_find_calls(void);

/* Everything that a row of one size needs; collective. */
void layout_open(struct layout_run *run, const struct layout_row *row, int size);
void layout_close(struct layout_run *run);

/* The program's types by the calls of a way: made, and freed. Nothing for ways without types. Those for MPI_Pack hold
   no addresses: that of MPICH 4.0 refuses MPI_BOTTOM. */
void layout_make(struct layout_run *run, enum layout_way way);
void layout_free(struct layout_run *run, enum layout_way way);

/* One use: a message there and one back, or one collective call. */
void layout_use(struct layout_run *run, enum layout_way way);

/* Fills the send buffers anew, uses the way `uses` times with types of their own, and compares every byte received
   with what the loops by hand deliver (or, for these, what the library does); ends the job where one differs. */
void layout_check(struct layout_run *run, enum layout_way way, int uses);

#endif
