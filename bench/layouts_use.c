/* One use of a layout in each way: see layouts.h. */
#define _GNU_SOURCE
#include "bench/layouts.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT_CALL(name) .name = MPI_##name,
static const struct layout_calls seen = { LAYOUT_CALLS(LAYOUT_CALL) };
#undef LAYOUT_CALL
static struct layout_calls native;

const char *const layout_way_name[LAYOUT_WAYS] = { "native", "hand", "pack", "espalier", "contiguous" };

void layout_find_calls(void)
{
    /* A look-up in the library's own handle begins with that library, whatever was preloaded. */
    void *handle = dlopen(ESPALIER_MPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);

    if (handle == NULL)
        bench_die("layouts: no way to the functions of %s", ESPALIER_MPI_SONAME);
#define LAYOUT_CALL(name) \
    *(void **)&native.name = dlsym(handle, "PMPI_" #name); \
    if (native.name == NULL) \
        bench_die("layouts: %s has no PMPI_" #name, ESPALIER_MPI_SONAME);
    LAYOUT_CALLS(LAYOUT_CALL)
#undef LAYOUT_CALL
}

static void *memory(size_t bytes)
{
    void *p = malloc(bytes + 1);

    if (p == NULL)
        bench_die("layouts: out of memory");
    return p;
}

void layout_open(struct layout_run *run, const struct layout_row *row, int size)
{
    struct layout *l = &run->layout;
    int side, piece, way;

    memset(run, 0, sizeof *run);
    l->row = row;
    l->n = row->lengths[size];
    l->comm = MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, &l->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &l->ranks);
    row->describe(l);
    for (side = 0; side < LAYOUT_SIDES; side++) {
        for (piece = 0; piece < l->pieces; piece++) {
            l->piece[side][piece].bytes = layout_bytes(&l->piece[side][piece]);
            run->bytes[side][piece] = (int)l->piece[side][piece].bytes;
            run->place[side][piece] = (int)run->packed_bytes[side];
            run->packed_bytes[side] += l->piece[side][piece].bytes;
        }
        run->buffer[side] = memory(l->span[side]);
        run->packed[side] = memory(run->packed_bytes[side]);
        memset(run->buffer[side], 1, l->span[side]);
        memset(run->packed[side], 1, run->packed_bytes[side]);
    }
    for (way = 0; way < LAYOUT_WAYS; way++)
        for (side = 0; side < LAYOUT_SIDES; side++)
            for (piece = 0; piece < LAYOUT_PIECES; piece++)
                run->type[way][side][piece] = MPI_DATATYPE_NULL;
}

void layout_close(struct layout_run *run)
{
    int side;

    if (run->layout.comm != MPI_COMM_WORLD)
        MPI_Comm_free(&run->layout.comm);
    for (side = 0; side < LAYOUT_SIDES; side++) {
        free(run->buffer[side]);
        free(run->packed[side]);
    }
    free(run->layout.list);
    free(run->layout.list2);
}

static const struct layout_calls *calls(enum layout_way way)
{
    return way == LAYOUT_ESPALIER ? &seen : &native;
}

static int has_types(enum layout_way way)
{
    return way == LAYOUT_NATIVE || way == LAYOUT_PACK || way == LAYOUT_ESPALIER;
}

void layout_make(struct layout_run *run, enum layout_way way)
{
    const struct layout *l = &run->layout;
    MPI_Datatype made[LAYOUT_PIECES];
    int side, piece;

    if (!has_types(way))
        return;
    for (side = 0; side < LAYOUT_SIDES; side++) {
        if (l->types[side] > 0) {
            MPI_Aint base = 0;

            if (way != LAYOUT_PACK)
                MPI_Get_address(run->buffer[side], &base);
            l->row->make(l, calls(way), side, base, made);
        }
        for (piece = 0; piece < l->pieces; piece++)
            run->type[way][side][piece] = made[l->piece[side][piece].type];
    }
}

void layout_free(struct layout_run *run, enum layout_way way)
{
    const struct layout *l = &run->layout;
    int side, piece;

    if (!has_types(way))
        return;
    for (side = 0; side < LAYOUT_SIDES; side++)
        for (piece = 0; piece < l->types[side]; piece++)
            calls(way)->Type_free(&run->type[way][side][piece]);
}

static void pack(struct layout_run *run, enum layout_way way)
{
    const struct layout *l = &run->layout;
    int piece, at = 0;

    for (piece = 0; piece < l->pieces; piece++) {
        const struct layout_piece *p = &l->piece[LAYOUT_FROM][piece];

        if (way == LAYOUT_HAND)
            layout_pack(p, run->buffer[LAYOUT_FROM], run->packed[LAYOUT_FROM] + run->place[LAYOUT_FROM][piece]);
        else if (way == LAYOUT_PACK)
            native.Pack(run->buffer[LAYOUT_FROM] + p->at, 1,
                        run->type[way][LAYOUT_FROM][piece], run->packed[LAYOUT_FROM],
                        (int)run->packed_bytes[LAYOUT_FROM], &at, l->comm);
    }
}

static void unpack(struct layout_run *run, enum layout_way way)
{
    const struct layout *l = &run->layout;
    int piece, at = 0;

    for (piece = 0; piece < l->pieces; piece++) {
        const struct layout_piece *p = &l->piece[LAYOUT_TO][piece];

        if (way == LAYOUT_HAND)
            layout_unpack(p, run->packed[LAYOUT_TO] + run->place[LAYOUT_TO][piece], run->buffer[LAYOUT_TO]);
        else if (way == LAYOUT_PACK)
            native.Unpack(run->packed[LAYOUT_TO], (int)run->packed_bytes[LAYOUT_TO], &at,
                          run->buffer[LAYOUT_TO] + p->at, 1,
                          run->type[way][LAYOUT_TO][piece], l->comm);
    }
}

static int typed(enum layout_way way)
{
    return way == LAYOUT_NATIVE || way == LAYOUT_ESPALIER;
}

static void leave(struct layout_run *run, enum layout_way way)
{
    const struct layout *l = &run->layout;

    if (typed(way)) {
        calls(way)->Send(l->absolute ? MPI_BOTTOM : run->buffer[LAYOUT_FROM] + l->piece[LAYOUT_FROM][0].at, 1,
                         run->type[way][LAYOUT_FROM][0], 1 - l->rank, 0, l->comm);
        return;
    }
    pack(run, way);
    native.Send(run->packed[LAYOUT_FROM], (int)run->packed_bytes[LAYOUT_FROM],
                way == LAYOUT_PACK ? MPI_PACKED : MPI_BYTE, 1 - l->rank, 0, l->comm);
}

static void arrive(struct layout_run *run, enum layout_way way)
{
    const struct layout *l = &run->layout;

    if (typed(way)) {
        calls(way)->Recv(l->absolute ? MPI_BOTTOM : run->buffer[LAYOUT_TO] + l->piece[LAYOUT_TO][0].at, 1,
                         run->type[way][LAYOUT_TO][0], 1 - l->rank, 0, l->comm, MPI_STATUS_IGNORE);
        return;
    }
    native.Recv(run->packed[LAYOUT_TO], (int)run->packed_bytes[LAYOUT_TO],
                way == LAYOUT_PACK ? MPI_PACKED : MPI_BYTE, 1 - l->rank, 0, l->comm, MPI_STATUS_IGNORE);
    unpack(run, way);
}

static void collective_typed(struct layout_run *run, const struct layout_calls *c, enum layout_way way)
{
    static const int ones[LAYOUT_PIECES] = { 1, 1, 1, 1, 1, 1, 1, 1 }, zeros[LAYOUT_PIECES];
    static const MPI_Aint places[LAYOUT_PIECES];
    const struct layout *l = &run->layout;
    char *from = run->buffer[LAYOUT_FROM], *to = run->buffer[LAYOUT_TO];
    const MPI_Datatype *sent = run->type[way][LAYOUT_FROM], *received = run->type[way][LAYOUT_TO];

    if (l->row->use == LAYOUT_ALLTOALL)
        c->Alltoall(from, 1, sent[0], to, 1, received[0], l->comm);
    else if (l->row->use == LAYOUT_ALLTOALLW)
        c->Alltoallw(from, ones, zeros, sent, to, ones, zeros, received, l->comm);
    else
        c->Neighbor_alltoallw(from, ones, places, sent, to, ones, places, received, l->comm);
}

static void collective_packed(struct layout_run *run, enum layout_way way)
{
    const struct layout *l = &run->layout;
    const int *from = run->bytes[LAYOUT_FROM], *from_at = run->place[LAYOUT_FROM];
    const int *to = run->bytes[LAYOUT_TO], *to_at = run->place[LAYOUT_TO];

    pack(run, way);
    (l->row->use == LAYOUT_NEIGHBORS ? native.Neighbor_alltoallv : native.Alltoallv)(
        run->packed[LAYOUT_FROM], from, from_at, MPI_BYTE, run->packed[LAYOUT_TO], to, to_at, MPI_BYTE, l->comm);
    unpack(run, way);
}

void layout_use(struct layout_run *run, enum layout_way way)
{
    if (run->layout.row->use != LAYOUT_MESSAGE) {
        if (typed(way))
            collective_typed(run, calls(way), way);
        else
            collective_packed(run, way);
    } else if (run->layout.rank == 0) {
        leave(run, way);
        arrive(run, way);
    } else {
        arrive(run, way);
        leave(run, way);
    }
}

void layout_check(struct layout_run *run, enum layout_way way, int uses)
{
    static unsigned salt;
    const struct layout *l = &run->layout;
    enum layout_way other = way == LAYOUT_HAND ? LAYOUT_NATIVE : LAYOUT_HAND;
    size_t i, span = l->span[LAYOUT_TO];
    char *expected = memory(span);
    int u;

    salt++;
    for (i = 0; i < l->span[LAYOUT_FROM]; i++)
        run->buffer[LAYOUT_FROM][i] = (char)(((i + salt) * 2654435761u + (unsigned)l->rank * 40503u) >> 11);
    memset(run->buffer[LAYOUT_TO], 0x5a, span);
    layout_make(run, other);
    layout_use(run, other);
    layout_free(run, other);
    memcpy(expected, run->buffer[LAYOUT_TO], span);
    memset(run->buffer[LAYOUT_TO], 0x5a, span);
    layout_make(run, way);
    for (u = 0; u < uses; u++)
        layout_use(run, way);
    layout_free(run, way);
    for (i = 0; i < span; i++)
        if (run->buffer[LAYOUT_TO][i] != expected[i])
            bench_die("layouts: %s: byte %zu of what rank %d received by way of %s is wrong", l->row->name, i,
                      l->rank,
                      layout_way_name[way]);
    free(expected);
}
