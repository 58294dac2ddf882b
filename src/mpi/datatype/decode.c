/*
 * MPI datatype to type tree. The walk asks MPI for envelope and contents (large-count form: it also answers for types
 * that were made by the int form), builds the node of the combiner over the child's node, and frees what MPI
 * returned. Array constructors only ever look at a child's extent, so explicit bounds inside need no node of their
 * own.
 */
#include "mpi/datatype/decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi.h"
#include "mpi/datatype/decode_nodes.h"
#include "mpi/core/pmpi.h"

enum { DEPTH = 256, SEEN = 8 };

/* Children of one struct are often the same few handles: decode each once. */
struct seen {
    MPI_Datatype type;
    struct espi_child child;
};

static espi_status decode_type(struct espi_decoding *d, MPI_Datatype type, int depth, const struct espi_node **out);

espi_status espi_decode_empty(struct espi_decoding *d, const struct espi_node **out)
{
    return espi_node_struc(d->arena, 0, NULL, NULL, out);
}

espi_status espi_decode_run(struct espi_decoding *d, int64_t count, int64_t stride, const struct espi_node *child,
                            const struct espi_node **out)
{
    if (count == 1) {
        *out = child;
        return ESPI_OK;
    }
    if (count <= 0 || child->entries == 0)
        return espi_decode_empty(d, out);
    return espi_node_vec(d->arena, count, stride, child, out);
}

espi_status espi_decode_shift(struct espi_decoding *d, int64_t disp, const struct espi_node *child,
                              const struct espi_node **out)
{
    int64_t *at;

    if (disp == 0 || child->entries == 0) {
        *out = child;
        return ESPI_OK;
    }
    at = espi_arena_alloc(d->arena, sizeof *at);
    if (at == NULL)
        return ESPI_ERR_MEMORY;
    *at = disp;
    return espi_node_idx(d->arena, 1, at, child, out);
}

/* `n` copies of the child one after another at its extent. */
static espi_status block(struct espi_decoding *d, int64_t n, const struct espi_child *c, const struct espi_node **out)
{
    return espi_decode_run(d, n, c->extent, c->node, out);
}

static espi_status vector(struct espi_decoding *d, const struct espi_contents *c, bool bytes,
                          const struct espi_child *child, const struct espi_node **out)
{
    int64_t count = espi_contents_int(c, 0), length = espi_contents_int(c, 1), stride;
    const struct espi_node *one;
    espi_status status;

    stride = bytes ? espi_contents_addr(c, 2, 0) : espi_contents_int(c, 2);
    if (!bytes && __builtin_mul_overflow(stride, child->extent, &stride))
        return ESPI_ERR_OVERFLOW;
    status = block(d, length, child, &one);
    return status != ESPI_OK ? status : espi_decode_run(d, count, stride, one, out);
}

/* Displacements of n blocks in bytes; those of length 0 are left out. `lengths` says where they stand, -1: none. */
struct blocks {
    int64_t n;
    int64_t *disp, *len;
    bool same; /* all lengths alike */
};

static espi_status read_blocks(struct espi_decoding *d, const struct espi_contents *c, int64_t n, int lengths,
                               int disps, int64_t unit, struct blocks *b)
{
    int64_t i, k = 0;

    b->n = 0;
    b->same = true;
    b->disp = espi_arena_alloc(d->arena, (size_t)n * sizeof(int64_t));
    b->len = lengths < 0 ? NULL : espi_arena_alloc(d->arena, (size_t)n * sizeof(int64_t));
    if (b->disp == NULL || (lengths >= 0 && b->len == NULL))
        return ESPI_ERR_MEMORY;
    if (lengths >= 0) {
        const int *ints = c->large ? NULL : c->ints + lengths;

        if (ints != NULL)
            for (i = 0; i < n; i++)
                b->len[i] = ints[i];
        else
            for (i = 0; i < n; i++)
                b->len[i] = c->counts[lengths + i];
        for (i = 1; i < n && b->len[i] == b->len[0]; i++)
            ;
        b->same = i >= n;
    }
    if (unit != 0) { /* in units of the child's extent, among the integers */
        for (i = 0; i < n; i++)
            if (__builtin_mul_overflow(espi_contents_int(c, disps + i), unit, &b->disp[i]))
                return ESPI_ERR_OVERFLOW;
    } else {
        for (i = 0; i < n; i++)
            b->disp[i] = espi_contents_addr(c, disps + i, i);
    }
    if (lengths < 0 || (b->same && (n == 0 || b->len[0] > 0))) {
        b->n = n;
        return ESPI_OK;
    }
    for (i = 0; i < n; i++) {
        if (b->len[i] > 0) {
            b->disp[k] = b->disp[i];
            b->len[k++] = b->len[i];
        }
    }
    b->n = k;
    for (i = 1; i < k && b->len[i] == b->len[0]; i++)
        ;
    b->same = i >= k;
    return ESPI_OK;
}

static espi_status list(struct espi_decoding *d, const struct blocks *b, int64_t length,
                        const struct espi_child *child, const struct espi_node **out)
{
    const struct espi_node *one;
    espi_status status;

    if (b->n == 0 || child->node->entries == 0)
        return espi_decode_empty(d, out);
    if (!b->same)
        return espi_node_idxbuc(d->arena, b->n, child->extent, b->disp, b->len, child->node, out);
    status = block(d, length, child, &one);
    if (status != ESPI_OK)
        return status;
    if (one->entries == 0)
        return espi_decode_empty(d, out);
    return b->n == 1 ? espi_decode_shift(d, b->disp[0], one, out) : espi_node_idx(d->arena, b->n, b->disp, one, out);
}

static espi_status indexed(struct espi_decoding *d, const struct espi_contents *c, bool bytes,
                           const struct espi_child *child, const struct espi_node **out)
{
    int64_t n = espi_contents_int(c, 0);
    struct blocks b;
    espi_status status;

    if (!bytes && child->extent == 0) { /* every displacement is 0; 0 as a unit would mean bytes */
        status = read_blocks(d, c, n, 1, (int)(1 + n), 1, &b);
        for (int64_t i = 0; status == ESPI_OK && i < b.n; i++)
            b.disp[i] = 0;
    } else {
        status = read_blocks(d, c, n, 1, (int)(1 + n), bytes ? 0 : child->extent, &b);
    }
    return status != ESPI_OK ? status : list(d, &b, b.n > 0 ? b.len[0] : 0, child, out);
}

static espi_status indexed_block(struct espi_decoding *d, const struct espi_contents *c, bool bytes,
                                 const struct espi_child *child, const struct espi_node **out)
{
    int64_t n = espi_contents_int(c, 0), length = espi_contents_int(c, 1);
    struct blocks b;
    espi_status status;

    status = read_blocks(d, c, n, -1, 2, bytes ? 0 : child->extent != 0 ? child->extent : 1, &b);
    if (status == ESPI_OK && !bytes && child->extent == 0)
        for (int64_t i = 0; i < b.n; i++)
            b.disp[i] = 0;
    return status != ESPI_OK ? status : list(d, &b, length, child, out);
}

static espi_status child_of(struct espi_decoding *d, MPI_Datatype type, int depth, struct espi_child *child)
{
    MPI_Count lb, extent;

    if (espi_pmpi.Type_get_extent_c(type, &lb, &extent) != MPI_SUCCESS)
        return ESPI_ERR_MPI;
    child->extent = extent;
    return decode_type(d, type, depth + 1, &child->node);
}

/* They say where a type begins and ends, which MPI tells of the whole, and have no data. MPI-3 took them out of the
   standard; MPICH has them, and programs from before (EPOCH) make types with them. */
static bool is_marker(MPI_Datatype type)
{
    return type == MPI_LB || type == MPI_UB;
}

static espi_status structure(struct espi_decoding *d, const struct espi_contents *c, int depth,
                             const struct espi_node **out)
{
    int64_t n = espi_contents_int(c, 0), k = 0, markers = 0, i, *disp;
    const struct espi_node **sub, *one;
    struct seen seen[SEEN];
    int used = 0, s;
    espi_status status;

    disp = espi_arena_alloc(d->arena, (size_t)n * sizeof *disp);
    sub = espi_arena_alloc(d->arena, (size_t)n * sizeof *sub);
    if (disp == NULL || sub == NULL)
        return ESPI_ERR_MEMORY;
    for (i = 0; i < n; i++) {
        int64_t length = espi_contents_int(c, 1 + i);

        if (is_marker(c->types[i]))
            markers++;
        if (length == 0 || is_marker(c->types[i]))
            continue;
        for (s = 0; s < used && s < SEEN && seen[s].type != c->types[i]; s++)
            ;
        if (s == used || s == SEEN) {
            s = used < SEEN ? used++ : (int)(i % SEEN);
            seen[s].type = c->types[i];
            status = child_of(d, c->types[i], depth, &seen[s].child);
            if (status != ESPI_OK)
                return status;
        }
        status = block(d, length, &seen[s].child, &one);
        if (status != ESPI_OK)
            return status;
        if (one->entries == 0)
            continue;
        disp[k] = espi_contents_addr(c, 1 + n + i, i);
        sub[k++] = one;
    }
    if (k == 0)
        return espi_decode_empty(d, out);
    /* what stands between markers is a struct for the library's engine, and takes as long as one */
    return k == 1 && markers == 0 ? espi_decode_shift(d, disp[0], sub[0], out)
                                  : espi_node_struc(d->arena, k, disp, sub, out);
}

static espi_status f90(const struct espi_decoding *d, const struct espi_contents *c, MPI_Datatype type,
                       const struct espi_node **out)
{
    const char *kind = c->combiner == MPI_COMBINER_F90_REAL      ? "REAL"
                       : c->combiner == MPI_COMBINER_F90_COMPLEX ? "COMPLEX"
                                                                 : "INTEGER";
    int n = c->combiner == MPI_COMBINER_F90_INTEGER ? 1 : 2, i;
    size_t at;
    char name[80];
    espi_base base;

    at = (size_t)snprintf(name, sizeof name, "MPI_F90_%s", kind);
    for (i = 0; i < n; i++) {
        long long number = espi_contents_int(c, i); /* digits or range; MPI_UNDEFINED is negative */

        at += (size_t)(number < 0 ? snprintf(name + at, sizeof name - at, "_any")
                                  : snprintf(name + at, sizeof name - at, "_%lld", number));
    }
    base = espi_base_of_f90(name, type);
    return base == ESPI_BASE_NONE ? ESPI_ERR_UNSUPPORTED : espi_node_leaf(d->arena, base, out);
}

/* A struct whose parts are all of one type. The library makes a list of it (Yaksa, MPICH 4.0.2), which its engine
   goes through by one kernel, and not part by part as through other structs. The arguments are those of
   MPI_Type_create_hindexed. */
static bool has_one_type(const struct espi_contents *c)
{
    int64_t i = 1;

    while (i < c->n_types && c->types[i] == c->types[0])
        i++;
    return i == c->n_types;
}

static espi_status combine(struct espi_decoding *d, const struct espi_contents *c, MPI_Datatype type, int depth,
                           const struct espi_node **out)
{
    struct espi_child child;
    espi_status status;

    switch (c->combiner) {
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return f90(d, c, type, out);
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_STRUCT_INTEGER:
        if (has_one_type(c))
            break;
        return structure(d, c, depth, out);
    default:
        if (c->n_types != 1)
            return ESPI_ERR_UNSUPPORTED;
        break;
    }
    status = child_of(d, c->types[0], depth, &child);
    if (status != ESPI_OK)
        return status;
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        *out = child.node;
        return ESPI_OK;
    case MPI_COMBINER_CONTIGUOUS:
        return block(d, espi_contents_int(c, 0), &child, out);
    case MPI_COMBINER_VECTOR:
        return vector(d, c, false, &child, out);
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HVECTOR_INTEGER:
        return vector(d, c, true, &child, out);
    case MPI_COMBINER_INDEXED:
        return indexed(d, c, false, &child, out);
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_INTEGER:
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_STRUCT_INTEGER:
        return indexed(d, c, true, &child, out);
    case MPI_COMBINER_INDEXED_BLOCK:
        return indexed_block(d, c, false, &child, out);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return indexed_block(d, c, true, &child, out);
    case MPI_COMBINER_SUBARRAY:
        return espi_decode_subarray(d, c, &child, out);
    case MPI_COMBINER_DARRAY:
        return espi_decode_darray(d, c, &child, out);
    default:
        return ESPI_ERR_UNSUPPORTED;
    }
}

/* Reads the contents into scratch memory; on success the caller owes MPI the freeing of c->types. */
static espi_status read_contents(struct espi_decoding *d, MPI_Datatype type, struct espi_contents *c)
{
    MPI_Count ints, addrs, counts, types;

    if (espi_pmpi.Type_get_envelope_c(type, &ints, &addrs, &counts, &types, &c->combiner) != MPI_SUCCESS)
        return ESPI_ERR_MPI;
    if (c->combiner == MPI_COMBINER_NAMED)
        return ESPI_ERR_UNSUPPORTED;
    d->elements += (size_t)ints + (size_t)addrs + (size_t)counts;
    if (d->limit != 0 && d->elements > d->limit)
        return ESPI_ERR_LIMIT;
    c->n_types = types;
    c->large = counts > 0;
    c->ints = espi_arena_alloc(d->scratch, (size_t)ints * sizeof *c->ints);
    c->addrs = espi_arena_alloc(d->scratch, (size_t)addrs * sizeof *c->addrs);
    c->counts = espi_arena_alloc(d->scratch, (size_t)counts * sizeof *c->counts);
    c->types = espi_arena_alloc(d->scratch, (size_t)types * sizeof *c->types);
    if (c->ints == NULL || c->addrs == NULL || c->counts == NULL || c->types == NULL)
        return ESPI_ERR_MEMORY;
    if (espi_pmpi.Type_get_contents_c(type, ints, addrs, counts, types, c->ints, c->addrs, c->counts, c->types) !=
        MPI_SUCCESS)
        return ESPI_ERR_MPI;
    return ESPI_OK;
}

static espi_status decode_type(struct espi_decoding *d, MPI_Datatype type, int depth, const struct espi_node **out)
{
    struct espi_contents c;
    espi_status status;
    espi_base base;
    int64_t i;
    size_t place = (uint32_t)type % (sizeof d->recent / sizeof *d->recent);

    if (espi_is_predefined((uint32_t)type)) {
        base = espi_base_of_handle(type);
        return base == ESPI_BASE_NONE ? ESPI_ERR_UNSUPPORTED : espi_node_leaf(d->arena, base, out);
    }
    if (depth > DEPTH)
        return ESPI_ERR_UNSUPPORTED;
    if (d->recent[place].node != NULL && d->recent[place].type == type) {
        *out = d->recent[place].node;
        return ESPI_OK;
    }
    status = read_contents(d, type, &c);
    if (status != ESPI_OK)
        return status;
    status = combine(d, &c, type, depth, out);
    for (i = 0; i < c.n_types; i++)
        if (!espi_is_predefined((uint32_t)c.types[i]))
            espi_pmpi.Type_free(&c.types[i]);
    if (status == ESPI_OK) {
        d->recent[place].type = type;
        d->recent[place].node = *out;
    }
    return status;
}

espi_status espi_decode(struct espi_arena *arena, MPI_Datatype type, size_t limit, struct espi_decoded *out)
{
    struct espi_arena scratch = ESPI_ARENA_INIT;
    struct espi_decoding d = {.arena = arena, .scratch = &scratch, .limit = limit};
    MPI_Count lb, extent, size;
    espi_status status;

    status = decode_type(&d, type, 0, &out->tree);
    espi_arena_release(&scratch);
    if (status != ESPI_OK)
        return status;
    if (espi_pmpi.Type_get_extent_c(type, &lb, &extent) != MPI_SUCCESS)
        return ESPI_ERR_MPI;
    out->lb = lb;
    out->extent = extent;
    /* A first check of the whole: what MPI itself says of size and data bounds. */
    if (espi_pmpi.Type_size_c(type, &size) != MPI_SUCCESS)
        return ESPI_ERR_MPI;
    if (size != out->tree->size)
        return ESPI_ERR_UNSUPPORTED;
    if (size > 0) {
        if (espi_pmpi.Type_get_true_extent_c(type, &lb, &extent) != MPI_SUCCESS)
            return ESPI_ERR_MPI;
        if (lb != out->tree->true_lb || lb + extent != out->tree->true_ub)
            return ESPI_ERR_UNSUPPORTED;
    }
    return ESPI_OK;
}
