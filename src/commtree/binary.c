/* Optimal ordered binary trees: a rank has at most two children, received from left to right.

   U(i, j), the best tree of a range, is the least of
     root r inside: max(U(i,r-1) + c(i,r-1) + own(r), U(r+1,j)) + c(r+1,j)
     root i:        max(max(own(i), U(i+1,k)) + c(i+1,k), U(k+1,j)) + c(k+1,j), or one child i+1..j
     root j:        max(U(i,k) + c(i,k), U(k+1,j-1)) + c(k+1,j-1) + own(j), or one child i..j-1
   with c(i,j) the cost of sending that range. All three are of the form max(A(k), U(k+1,e)) + c(k+1,e) with A
   rising in k (for gamma <= beta) and U falling: before the crossing the last k is best, behind it A(k) -
   beta*sum(0..k) has a sliding minimum. As e grows everything moves right: O(n^2). Ranks without data may be among
   them. */
#include <float.h>
#include <stdlib.h>

#include "commtree/table.h"

struct binary {
    int n;
    double alpha, beta;
    const int64_t *sum; /* prefix sums of sizes */
    const double *own;
    const int *last;    /* the last index <= e with data, -1 if none */
    bool plain;
};

enum shape { INSIDE, FIRST, LAST, SHAPES };

static double send_cost(const struct binary *b, int i, int j)
{
    int64_t bytes = i > j ? 0 : b->sum[j + 1] - b->sum[i];
    return bytes ? b->alpha + b->beta * (double)bytes : 0;
}

static double best_of(const struct espi_triangle *tri, int i, int j)
{
    return i > j ? 0 : espi_at(tri, i, j);
}

/* Time of the first part when it ends at k: everything the root has done before the second part arrives. */
static double first_part(const struct binary *b, const struct espi_triangle *tri, enum shape shape, int i, int k)
{
    switch (shape) {
    case INSIDE:
        return best_of(tri, i, k - 1) + send_cost(b, i, k - 1) + b->own[k];
    case FIRST:
        return espi_max(b->own[i], best_of(tri, i + 1, k)) + send_cost(b, i + 1, k);
    default:
        return best_of(tri, i, k) + send_cost(b, i, k);
    }
}

/* Splits k of a shape: start .. end(j); the second part is k+1 .. e(j). */
static int shape_start(enum shape shape, int i)
{
    return shape == LAST ? i : i + 1;
}

static int shape_end(enum shape shape, int j)
{
    return shape == LAST ? j - 1 : j;
}

/* Sliding state of one shape in one row. */
struct family {
    double *first;          /* A(k) by k - lo, filled as far as `known` */
    double *least;          /* queue of A(k) - beta * sum */
    int *least_k;
    int front, back, known, pushed, cross;
};

static double family_best(const struct binary *b, const struct espi_triangle *tri, struct family *f, enum shape shape,
                          int i, int j)
{
    int start = shape_start(shape, i), e = shape_end(shape, j), lo = tri->lo;
    double best = DBL_MAX;
    if (e - 1 < start)
        return best;
    while (f->known < e - 1) {
        f->known++;
        f->first[f->known - lo] = first_part(b, tri, shape, i, f->known);
    }
    const double *u = espi_column(tri, e) - lo;
    if (b->plain) {
        for (int k = start; k < e; k++)
            best = espi_min(best, espi_max(f->first[k - lo], u[k + 1]) + send_cost(b, k + 1, e));
        return best;
    }
    while (f->cross < e - 1 && f->first[f->cross - lo] < u[f->cross + 1])
        f->cross++;
    /* Where nothing is to be sent these values are too large, but then `empty` below has a smaller one. */
    while (f->pushed < e - 1) {
        int k = ++f->pushed;
        double value = f->first[k - lo] - b->beta * (double)b->sum[k + 1];
        while (f->back >= f->front && f->least[f->back] >= value)
            f->back--;
        f->least[++f->back] = value;
        f->least_k[f->back] = k;
    }
    while (f->front <= f->back && f->least_k[f->front] < f->cross)
        f->front++;
    if (f->cross > start)
        best = u[f->cross] + send_cost(b, f->cross, e);
    if (f->front <= f->back)
        best = espi_min(best, f->least[f->front] + b->alpha + b->beta * (double)b->sum[e + 1]);
    /* The crossing is not behind it: from there on the second part's time is 0. */
    int empty = b->last[e] > start ? b->last[e] : start;
    if (empty < e)
        best = espi_min(best, espi_max(f->first[empty - lo], u[empty + 1]));
    return best;
}

static double one_child(const struct binary *b, const struct espi_triangle *tri, int i, int j, bool root_first)
{
    return root_first ? espi_max(b->own[i], best_of(tri, i + 1, j)) + send_cost(b, i + 1, j)
                      : best_of(tri, i, j - 1) + send_cost(b, i, j - 1) + b->own[j];
}

static espi_status fill_triangle(const struct binary *b, int lo, int hi, struct espi_triangle *tri)
{
    size_t n = (size_t)(hi > lo ? hi - lo : 0);
    struct family family[SHAPES] = {{0}};
    espi_status status = ESPI_ERR_MEMORY;
    tri->lo = lo;
    tri->hi = hi;
    tri->t = NULL;
    if (!n)
        return ESPI_OK;
    tri->t = malloc(n * (n + 1) / 2 * sizeof(double));
    bool got = tri->t != NULL;
    for (int x = 0; x < SHAPES; x++) {
        family[x].first = malloc(n * sizeof(double));
        family[x].least = malloc(n * sizeof(double));
        family[x].least_k = malloc(n * sizeof(int));
        got = got && family[x].first && family[x].least && family[x].least_k;
    }
    if (!got) {
        espi_triangle_release(tri);
        goto out;
    }
    for (int i = hi - 1; i >= lo; i--) {
        espi_column(tri, i)[i - lo] = 0;
        for (int x = 0; x < SHAPES; x++) {
            struct family *f = &family[x];
            f->front = 0;
            f->back = -1;
            f->known = f->pushed = shape_start((enum shape)x, i) - 1;
            f->cross = f->known + 1;
        }
        for (int j = i + 1; j < hi; j++) {
            double best = espi_min(one_child(b, tri, i, j, true), one_child(b, tri, i, j, false));
            best = espi_min(best, family_best(b, tri, &family[INSIDE], INSIDE, i, j));
            best = espi_min(best, family_best(b, tri, &family[FIRST], FIRST, i, j));
            best = espi_min(best, family_best(b, tri, &family[LAST], LAST, i, j) + b->own[j]);
            espi_column(tri, j)[i - lo] = best;
        }
    }
    status = ESPI_OK;
out:
    for (int x = 0; x < SHAPES; x++) {
        free(family[x].first);
        free(family[x].least);
        free(family[x].least_k);
    }
    return status;
}

/* A root with its one or two parts; an empty part has from > to. */
struct choice {
    double cost;
    int root, from[2], to[2];
};

static void offer_tree(struct choice *best, double value, int root, int from0, int to0, int from1, int to1)
{
    if (value < best->cost)
        *best = (struct choice){value, root, {from0, from1}, {to0, to1}};
}

static void choose_ends(const struct binary *b, const struct espi_triangle *tri, int i, int j, bool first, bool last,
                        struct choice *best)
{
    if (first) {
        offer_tree(best, one_child(b, tri, i, j, true), i, i + 1, j, 1, 0);
        for (int k = i + 1; k < j; k++)
            offer_tree(best,
                       espi_max(first_part(b, tri, FIRST, i, k), best_of(tri, k + 1, j)) + send_cost(b, k + 1, j),
                       i, i + 1, k, k + 1, j);
    }
    if (last) {
        offer_tree(best, one_child(b, tri, i, j, false), j, i, j - 1, 1, 0);
        for (int k = i; k < j - 1; k++)
            offer_tree(best,
                       espi_max(first_part(b, tri, LAST, i, k), best_of(tri, k + 1, j - 1)) +
                           send_cost(b, k + 1, j - 1) + b->own[j],
                       j, i, k, k + 1, j - 1);
    }
}

struct range {
    int i, j, parent;
};

static espi_status walk_back(const struct binary *b, const struct espi_triangle *left,
                             const struct espi_triangle *right, int fixed, const struct espi_compact *c, int p,
                             struct espi_commtree *tree)
{
    struct espi_joins joins;
    int depth = 0, top = -1;
    struct range *stack = malloc(((size_t)c->n + 1) * sizeof *stack);
    espi_status status = espi_joins_make(c->n, &joins);
    if (status != ESPI_OK || !stack) {
        free(stack);
        if (status == ESPI_OK)
            espi_joins_release(&joins);
        return ESPI_ERR_MEMORY;
    }
    stack[depth++] = (struct range){0, c->n - 1, -1};
    while (depth) {
        struct range r = stack[--depth];
        struct choice best = {DBL_MAX, r.i, {1, 1}, {0, 0}};
        const struct espi_triangle *tri = r.i < left->hi ? left : right;
        if (r.parent < 0 && fixed != ESPI_COMMTREE_BEST) {
            if (fixed == r.i && fixed < r.j)
                choose_ends(b, right, r.i, r.j, true, false, &best);
            else if (fixed == r.j && fixed > r.i)
                choose_ends(b, left, r.i, r.j, false, true, &best);
            else if (r.i < r.j)
                offer_tree(&best, 0, fixed, r.i, fixed - 1, fixed + 1, r.j);
        } else if (r.i < r.j) {
            choose_ends(b, tri, r.i, r.j, true, true, &best);
            for (int k = r.i + 1; k < r.j; k++)
                offer_tree(&best,
                           espi_max(first_part(b, tri, INSIDE, r.i, k), best_of(tri, k + 1, r.j)) +
                               send_cost(b, k + 1, r.j),
                           k, r.i, k - 1, k + 1, r.j);
        }
        if (r.parent >= 0)
            espi_join(&joins, best.root, r.parent);
        else
            top = best.root;
        /* The first part is popped, and so joined, first. */
        for (int x = 1; x >= 0; x--) {
            if (best.from[x] <= best.to[x])
                stack[depth++] = (struct range){best.from[x], best.to[x], best.root};
        }
    }
    status = espi_joins_tree(&joins, c, p, top, true, tree);
    free(stack);
    espi_joins_release(&joins);
    return status;
}

espi_status espi_build_binary(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                              struct espi_commtree *tree)
{
    const struct espi_commtree_model *m = &problem->model;
    size_t n = (size_t)c->n;
    struct espi_triangle left = {0, 0, NULL}, right = {0, 0, NULL};
    if (n > UINT16_MAX || (problem->max_bytes && n * (n + 1) / 2 * sizeof(double) + n * 100 > problem->max_bytes))
        return ESPI_ERR_LIMIT;
    double *own = malloc(n * sizeof *own);
    int *last = malloc(n * sizeof *last);
    espi_status status = own && last ? ESPI_OK : ESPI_ERR_MEMORY;
    if (status != ESPI_OK)
        goto out;
    for (int v = 0; v < c->n; v++) {
        own[v] = m->gamma * (double)c->size[v];
        last[v] = c->size[v] ? v : v ? last[v - 1] : -1;
    }
    struct binary b = {c->n, m->alpha + m->latency, m->beta, c->prefix, own, last, m->gamma > m->beta};
    if (c->root == ESPI_COMMTREE_BEST) {
        status = fill_triangle(&b, 0, c->n, &left);
    } else {
        status = fill_triangle(&b, 0, c->root, &left);
        if (status == ESPI_OK)
            status = fill_triangle(&b, c->root + 1, c->n, &right);
    }
    if (status == ESPI_OK)
        status = walk_back(&b, &left, &right, c->root, c, problem->p, tree);
out:
    free(own);
    free(last);
    espi_triangle_release(&left);
    espi_triangle_release(&right);
    return status;
}
