/*
 * MPI_Type_create_subarray and _darray to trees: from the fastest dimension outwards, each dimension turns the tree
 * of one element into the tree of what this process has along that dimension, in increasing order of the index.
 */
#include "mpi/datatype/decode_nodes.h"

/* Along one dimension: where it starts and what stands there, in units of `unit` bytes. */
struct along {
    int64_t unit;             /* bytes between neighbours in this dimension */
    const struct espi_node *node;
    int64_t at;               /* bytes from the start of the whole array, kept out of the nodes until the end */
};

static espi_status next_dimension(struct along *a, int64_t size)
{
    return __builtin_mul_overflow(a->unit, size, &a->unit) ? ESPI_ERR_OVERFLOW : ESPI_OK;
}

static espi_status advance(struct along *a, int64_t index)
{
    int64_t bytes;

    return __builtin_mul_overflow(index, a->unit, &bytes) || __builtin_add_overflow(a->at, bytes, &a->at)
               ? ESPI_ERR_OVERFLOW
               : ESPI_OK;
}

espi_status espi_decode_subarray(struct espi_decoding *d, const struct espi_contents *c,
                                 const struct espi_child *child, const struct espi_node **out)
{
    struct along a = {child->extent, child->node, 0};
    int64_t n = c->ints[0], i, order = c->large ? c->ints[1] : c->ints[1 + 3 * n], base = c->large ? 0 : 1;
    espi_status status;

    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return ESPI_ERR_UNSUPPORTED;
    for (i = 0; i < n; i++) {
        int64_t dim = order == MPI_ORDER_C ? n - 1 - i : i;
        int64_t size = espi_contents_int(c, base + dim), part = espi_contents_int(c, base + n + dim);
        int64_t start = espi_contents_int(c, base + 2 * n + dim);

        status = espi_decode_run(d, part, a.unit, a.node, &a.node);
        if (status == ESPI_OK)
            status = advance(&a, start);
        if (status == ESPI_OK)
            status = next_dimension(&a, size);
        if (status != ESPI_OK)
            return status;
    }
    return espi_decode_shift(d, a.at, a.node, out);
}

/* Blocks of `k` elements dealt out to `procs` processes: what process `me` has of `size` elements. */
static espi_status cyclic(struct espi_decoding *d, struct along *a, int64_t size, int64_t k, int64_t procs,
                          int64_t me)
{
    int64_t round, first, full, rest, stride, last;
    const struct espi_node *one, *tail, **sub;
    int64_t *disp;
    espi_status status;

    if (k <= 0 || __builtin_mul_overflow(k, procs, &round) || __builtin_mul_overflow(k, me, &first))
        return ESPI_ERR_UNSUPPORTED;
    if (first >= size)
        return espi_decode_empty(d, &a->node);
    full = (size - first) / round;        /* rounds in which this process has its whole block for sure */
    rest = size - first - full * round;   /* what is left from the start of its last block on */
    rest = rest > k ? k : rest;
    if (rest == k) {
        full++;
        rest = 0;
    }
    if (__builtin_mul_overflow(round, a->unit, &stride))
        return ESPI_ERR_OVERFLOW;
    status = espi_decode_run(d, k, a->unit, a->node, &one);
    if (status == ESPI_OK && full > 0)
        status = espi_decode_run(d, full, stride, one, &one);
    if (status == ESPI_OK && rest > 0)
        status = espi_decode_run(d, rest, a->unit, a->node, &tail);
    if (status == ESPI_OK)
        status = advance(a, first);
    if (status != ESPI_OK)
        return status;
    if (rest == 0 || full == 0) {
        a->node = rest == 0 ? one : tail;
        return ESPI_OK;
    }
    if (one->entries == 0)
        return espi_decode_empty(d, &a->node);
    disp = espi_arena_alloc(d->arena, 2 * sizeof *disp);
    sub = espi_arena_alloc(d->arena, 2 * sizeof *sub);
    if (disp == NULL || sub == NULL)
        return ESPI_ERR_MEMORY;
    if (__builtin_mul_overflow(full, stride, &last))
        return ESPI_ERR_OVERFLOW;
    disp[0] = 0;
    disp[1] = last;
    sub[0] = one;
    sub[1] = tail;
    return espi_node_struc(d->arena, 2, disp, sub, &a->node);
}

espi_status espi_decode_darray(struct espi_decoding *d, const struct espi_contents *c, const struct espi_child *child,
                               const struct espi_node **out)
{
    struct along a = {child->extent, child->node, 0};
    int64_t rank = c->ints[1], n = c->ints[2], i, left, procs_below;
    const int *sizes = c->large ? NULL : c->ints + 3, *how = c->large ? c->ints + 3 : c->ints + 3 + n;
    const int *arg = how + n, *procs = arg + n;
    int64_t *coord;
    int order = procs[n];
    espi_status status;

    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return ESPI_ERR_UNSUPPORTED;
    coord = espi_arena_alloc(d->scratch, (size_t)n * sizeof *coord);
    if (coord == NULL)
        return ESPI_ERR_MEMORY;
    /* The process grid is in row-major order, whatever the order of the array. */
    left = rank;
    procs_below = c->ints[0];
    for (i = 0; i < n; i++) {
        if (procs[i] <= 0 || procs_below < procs[i])
            return ESPI_ERR_UNSUPPORTED;
        procs_below /= procs[i];
        coord[i] = left / procs_below;
        left %= procs_below;
    }
    for (i = 0; i < n; i++) {
        int64_t dim = order == MPI_ORDER_C ? n - 1 - i : i;
        int64_t size = sizes != NULL ? sizes[dim] : c->counts[dim], k = arg[dim];

        switch (how[dim]) {
        case MPI_DISTRIBUTE_NONE:
            status = cyclic(d, &a, size, size, 1, 0);
            break;
        case MPI_DISTRIBUTE_BLOCK: /* one round of the cyclic distribution */
            k = k == MPI_DISTRIBUTE_DFLT_DARG ? (size + procs[dim] - 1) / procs[dim] : k;
            status = cyclic(d, &a, size, k, procs[dim], coord[dim]);
            break;
        case MPI_DISTRIBUTE_CYCLIC:
            k = k == MPI_DISTRIBUTE_DFLT_DARG ? 1 : k;
            status = cyclic(d, &a, size, k, procs[dim], coord[dim]);
            break;
        default:
            return ESPI_ERR_UNSUPPORTED;
        }
        if (status == ESPI_OK)
            status = next_dimension(&a, size);
        if (status != ESPI_OK)
            return status;
    }
    return espi_decode_shift(d, a.at, a.node, out);
}
