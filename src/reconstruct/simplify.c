/* Rules of normalization on one node and its child. */
#include "reconstruct/normalize.h"

static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

int64_t *espi_normalizer_array(struct espi_normalizer *z, int64_t n)
{
    return (uint64_t)n > SIZE_MAX / sizeof(int64_t) ? NULL : espi_arena_calloc(z->arena, (size_t)n, sizeof(int64_t));
}

void espi_keep_cheaper(const struct espi_normalizer *z, const struct espi_node **best, const struct espi_node *other)
{
    if (*best == NULL || espi_cost(other, &z->options->costs) < espi_cost(*best, &z->options->costs)) {
        *best = other;
    }
}

espi_status espi_into_set(struct espi_normalizer *z, const struct espi_node *node, const struct espi_node **out)
{
    espi_status status = ESPI_OK;
    *out = node;
    if (node->kind == ESPI_BUCKET && z->options->set != ESPI_SET_EXTENDED) {
        int64_t *disp = espi_normalizer_array(z, node->count);
        if (disp == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (int64_t j = 0; j < node->count; j++) { /* an empty bucket may lie where no displacement reaches */
            disp[j] = node->len[j] == 0 ? 0 : j * node->stride;
        }
        status = espi_node_idxbuc(z->arena, node->count, node->stride2, disp, node->len, node->child, out);
        node = *out;
    }
    if (status == ESPI_OK && node->kind == ESPI_IDXBUC && z->options->set == ESPI_SET_BASIC) {
        const struct espi_node **sub = espi_arena_calloc(z->arena, (size_t)node->count, sizeof *sub);
        if (sub == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (int64_t j = 0; j < node->count && status == ESPI_OK; j++) {
            status = espi_node_vec(z->arena, node->len[j], node->stride, node->child, &sub[j]);
        }
        if (status == ESPI_OK) {
            status = espi_node_struc(z->arena, node->count, node->disp, sub, out);
        }
    }
    return status;
}

espi_status espi_strip_shift(struct espi_normalizer *z, const struct espi_node *node, const struct espi_node **out,
int64_t *d) {
    const struct espi_costs *costs = &z->options->costs;
    const struct espi_node *child;
    int64_t first, n = node->count, *disp;
    espi_status status;
    *out = node;
    *d = 0;
    if (node->kind == ESPI_VEC) {
        status = espi_strip_shift(z, node->child, &child, d);
        if (status == ESPI_OK && child != node->child) {
            status = espi_node_vec(z->arena, n, node->stride, child, out);
        }
        return status;
    }
    if ((node->kind != ESPI_IDX && node->kind != ESPI_IDXBUC) || n == 0) {
        return ESPI_OK;
    }
    first = node->disp[0];
    if (node->kind == ESPI_IDX && n == 1) {
        status = espi_strip_shift(z, node->child, out, d);
        *d = espi_sum(*d, first);
        return status;
    }
    if (node->kind == ESPI_IDXBUC && n == 1 && costs->vec <= costs->idxbuc + costs->idxbuc_each) {
        *d = first;
        return espi_node_vec(z->arena, node->len[0], node->stride, node->child, out);
    }
    if (first == 0) {
        return ESPI_OK;
    }
    disp = espi_normalizer_array(z, n);
    if (disp == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (int64_t j = 0; j < n; j++) {
        disp[j] = difference(node->disp[j], first);
    }
    *d = first;
    return node->kind == ESPI_IDX ? espi_node_idx(z->arena, n, disp, node->child, out)
                                  : espi_node_idxbuc(z->arena, n, node->stride, disp, node->len, node->child, out);
}

/* Rules on one vec and its normal child. */
espi_status espi_simplify_vec(struct espi_normalizer *z, int64_t count, int64_t stride, const struct espi_node *child,
                                const struct espi_node **best)
{
    const struct espi_node *tree;
    espi_status status;
    int64_t step;
    if (count == 1) {
        espi_keep_cheaper(z, best, child);
        return ESPI_OK;
    }
    if (child->kind == ESPI_VEC && !__builtin_mul_overflow(child->count, child->stride, &step) && step == stride) {
        status = espi_node_vec(z->arena, count * child->count, child->stride, child->child, &tree);
    } else {
        status = espi_node_vec(z->arena, count, stride, child, &tree);
    }
    if (status != ESPI_OK) {
        return status;
    }
    espi_keep_cheaper(z, best, tree);
    bool list = child->kind == ESPI_IDX && child->count == 1;
    bool bucket = child->kind == ESPI_IDXBUC && child->count == 1;
    if (z->options->set != ESPI_SET_BASIC && (list || bucket)) {
        /* Copies of one displaced thing, or of one displaced run that goes on in the next copy, are one bucket. */
        int64_t *disp = espi_normalizer_array(z, 1), *len = espi_normalizer_array(z, 1);
        int64_t copies_of = count, inner = stride;
        if (disp == NULL || len == NULL) {
            return ESPI_ERR_MEMORY;
        }
        if (bucket) {
            if (__builtin_mul_overflow(child->len[0], child->stride, &step) || step != stride) {
                return ESPI_OK;
            }
            copies_of = count * child->len[0];
            inner = child->stride;
        }
        disp[0] = child->disp[0];
        len[0] = copies_of;
        status = espi_node_idxbuc(z->arena, 1, inner, disp, len, child->child, &tree);
        if (status == ESPI_OK) {
            espi_keep_cheaper(z, best, tree);
        }
    }
    return status;
}

espi_status espi_displace(struct espi_normalizer *z, const struct espi_node *node, int64_t d,
                             const struct espi_node **out)
{
    const struct espi_node *tree, *child;
    espi_status status;
    int64_t n = node->kind == ESPI_LEAF || node->kind == ESPI_VEC || node->kind == ESPI_BUCKET ? 1 : node->count;
    int64_t *disp = espi_normalizer_array(z, n), *len = espi_normalizer_array(z, 1);
    if (d == 0 || disp == NULL || len == NULL) {
        *out = node;
        return d == 0 ? ESPI_OK : ESPI_ERR_MEMORY;
    }
    *out = NULL;
    disp[0] = d;
    for (int64_t j = 0; j < n && node->disp != NULL; j++) {
        disp[j] = espi_sum(node->disp[j], d);
    }
    switch (node->kind) {
    case ESPI_IDX:
        return espi_node_idx(z->arena, n, disp, node->child, out);
    case ESPI_IDXBUC:
        return espi_node_idxbuc(z->arena, n, node->stride, disp, node->len, node->child, out);
    case ESPI_STRUC:
        return espi_node_struc(z->arena, n, disp, node->sub, out);
    default:
        break;
    }
    status = espi_node_idx(z->arena, 1, disp, node, &tree);
    if (status == ESPI_OK) {
        espi_keep_cheaper(z, out, tree);
    }
    if (status == ESPI_OK && node->kind == ESPI_VEC) {
        status = espi_displace(z, node->child, d, &child);
        if (status == ESPI_OK) {
            status = espi_node_vec(z->arena, node->count, node->stride, child, &tree);
        }
        if (status == ESPI_OK) {
            espi_keep_cheaper(z, out, tree);
        }
        if (status == ESPI_OK && z->options->set != ESPI_SET_BASIC) {
            len[0] = node->count;
            status = espi_node_idxbuc(z->arena, 1, node->stride, disp, len, node->child, &tree);
            if (status == ESPI_OK) {
                espi_keep_cheaper(z, out, tree);
            }
        }
    }
    return status;
}

/* Rules on a list of any length: copies at one stride are a vec or one bucket, others perhaps few buckets. */
espi_status espi_simplify_list(struct espi_normalizer *z, int64_t c, const int64_t *at,
                               const struct espi_node *child, const struct espi_node **best)
{
    if (c == 1) {
        const struct espi_node *moved;
        espi_status first = espi_displace(z, child, at[0], &moved);
        if (first == ESPI_OK) {
            espi_keep_cheaper(z, best, moved);
        }
        return first;
    }
    int64_t stride = difference(at[1], at[0]), buckets = 1, bucket = 0;
    const struct espi_node *tree;
    espi_status status = ESPI_OK;
    for (int64_t k = 1; k < c; k++) {
        buckets += difference(at[k], at[k - 1]) != stride;
    }
    if (at[0] == 0 && buckets == 1) {
        return espi_simplify_vec(z, c, stride, child, best);
    }
    if (z->options->set != ESPI_SET_BASIC && buckets < c) {
        int64_t *disp = espi_normalizer_array(z, buckets), *len = espi_normalizer_array(z, buckets);
        if (disp == NULL || len == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (int64_t k = 0; k < c; k++) {
            if (k > 0 && difference(at[k], at[k - 1]) == stride) {
                len[bucket - 1]++;
            } else {
                disp[bucket] = at[k];
                len[bucket++] = 1;
            }
        }
        status = espi_node_idxbuc(z->arena, buckets, stride, disp, len, child, &tree);
        if (status == ESPI_OK) {
            espi_keep_cheaper(z, best, tree);
        }
    }
    return status;
}

/* A part of a struct as `runs` runs, `apart`, of `copies` copies of something at `stride`, which says nothing of one
   copy. */
struct run {
    int64_t copies, stride, runs, apart;
};

static bool is_run(struct run *r, const struct espi_node *part, const struct espi_node *of)
{
    *r = (struct run){1, 0, 1, 0};
    if (espi_node_equal(part, of)) {
        return true;
    }
    if (part->kind == ESPI_VEC && part->child->kind == ESPI_VEC && espi_node_equal(part->child->child, of)) {
        *r = (struct run){part->child->count, part->child->stride, part->count, part->stride};
        return true;
    }
    r->copies = part->count;
    r->stride = part->stride;
    return part->kind == ESPI_VEC && espi_node_equal(part->child, of);
}

/* A struct as one bucket list of `of`, where all of its parts are runs of that at one stride. Parts come in order and
   so do the runs in a part: the type map is the same. */
static espi_status struc_as_runs(struct espi_normalizer *z, int64_t n, const int64_t *disp,
                                 const struct espi_node *const *sub, const struct espi_node *of,
                                 const struct espi_node **best)
{
    const struct espi_node *tree;
    int64_t stride = 0, total = 0, k = 0, *at, *len;
    bool known = false; /* any stride, also 0, may be that of a part */
    struct run r;
    for (int64_t j = 0; j < n; j++) {
        if (!is_run(&r, sub[j], of) || (r.copies != 1 && known && r.stride != stride)) {
            return ESPI_OK;
        }
        stride = r.copies != 1 ? r.stride : stride;
        known = known || r.copies != 1;
        total = espi_sum(total, r.runs);
        if (total > 2 * n) { /* each is two words in a list, and a part and its vec were about six */
            return ESPI_OK;
        }
    }
    at = espi_normalizer_array(z, total);
    len = espi_normalizer_array(z, total);
    if (at == NULL || len == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (int64_t j = 0; j < n; j++) {
        (void)is_run(&r, sub[j], of);
        for (int64_t i = 0; i < r.runs; i++) {
            at[k] = espi_sum(disp[j], i * r.apart);
            len[k++] = r.copies;
        }
    }
    espi_status status = espi_node_idxbuc(z->arena, total, stride, at, len, of, &tree);
    if (status == ESPI_OK) {
        espi_keep_cheaper(z, best, tree);
    }
    return status;
}

espi_status espi_simplify_struc(struct espi_normalizer *z, int64_t n, const int64_t *disp,
                                const struct espi_node *const *sub, const struct espi_node **best)
{
    const struct espi_node *first = sub[0], *list;
    espi_status status;
    int64_t j = 1;
    while (j < n && espi_node_equal(sub[j], first)) {
        j++;
    }
    if (j == n) {
        status = espi_node_idx(z->arena, n, disp, first, &list);
        if (status == ESPI_OK) {
            espi_keep_cheaper(z, best, list);
            status = espi_simplify_list(z, n, disp, first, best);
        }
        if (status != ESPI_OK) {
            return status;
        }
    }
    for (j = 0; j < n && sub[j]->kind != ESPI_VEC; j++) {
    }
    if (z->options->set == ESPI_SET_BASIC || j == n) {
        return ESPI_OK;
    }
    status = struc_as_runs(z, n, disp, sub, sub[j]->child, best);
    if (status == ESPI_OK && sub[j]->child->kind == ESPI_VEC) {
        status = struc_as_runs(z, n, disp, sub, sub[j]->child->child, best);
    }
    return status;
}
