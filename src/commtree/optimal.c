/* Optimal ordered trees: fills the tables and walks them back. */
#include <float.h>
#include <stdlib.h>

#include "commtree/table.h"

/* Is the completion time of the best tree monotone in the range for this instance? See doc/gather-trees.md. */
static bool times_grow(const struct espi_compact *c, const struct espi_commtree_model *m)
{
    if (m->gamma == 0)
        return true;
    if (m->latency > 0 && !m->early_copy)
        return false;
    if (m->gamma <= m->beta)
        return true;
    /* Enough is that no block takes much longer to copy than its neighbour takes to send and copy. */
    for (int v = 0; v + 1 < c->n; v++) {
        double a = (double)c->size[v], b = (double)c->size[v + 1], excess = m->gamma - m->beta;
        if (excess * a > m->gamma * b || excess * b > m->gamma * a)
            return false;
    }
    return true;
}

/* The split that gives `want`, tried from both ends: where trees are deep the split is near an end, where they
   are flat the parts halve. If rounding hides it, the least. */
struct found {
    int k;
    bool to_left;
    double cost;
};

static bool try_split(struct found *best, int k, double right_sends, double left_sends, double enough)
{
    if (right_sends < best->cost)
        *best = (struct found){k, true, right_sends};
    if (left_sends < best->cost)
        *best = (struct found){k, false, left_sends};
    return best->cost <= enough;
}

static bool try_triangle(const struct espi_table *s, const struct espi_triangle *tri, int i, int k, int j,
                         double enough, struct found *best)
{
    double a = espi_at(tri, i, k), b = espi_at(tri, k + 1, j);
    return try_split(best, k, espi_right_sends(s, i, k, j, a, b), espi_left_sends(s, i, k, j, a, b), enough);
}

static struct found split_triangle(const struct espi_table *s, const struct espi_triangle *tri, int i, int j)
{
    struct found best = {i, true, DBL_MAX};
    double want = espi_at(tri, i, j), enough = want + 4 * DBL_EPSILON * want + s->slack;
    for (int x = i, y = j - 1; x <= y; x++, y--) {
        if (try_triangle(s, tri, i, x, j, enough, &best) || try_triangle(s, tri, i, y, j, enough, &best))
            break;
    }
    return best;
}

struct walk {
    const struct espi_table *s;
    const struct espi_triangle *left, *right;
    const struct espi_rectangle *rect;
};

/* k < root: the left range i..k sends; else the right range k+1..j does. */
static bool try_rectangle(const struct walk *w, int i, int k, int j, double enough, struct found *best)
{
    const struct espi_table *s = w->s;
    int root = w->rect->root;
    if (k < root) {
        double a = espi_at(w->left, i, k), b = espi_rectangle_column(w->rect, j)[k + 1];
        return try_split(best, k, DBL_MAX, espi_left_sends(s, i, k, j, a, b), enough);
    }
    double a = espi_rectangle_column(w->rect, k)[i], b = espi_at(w->right, k + 1, j);
    return try_split(best, k, espi_right_sends(s, i, k, j, a, b), DBL_MAX, enough);
}

static struct found split_rectangle(const struct walk *w, int i, int j)
{
    struct found best = {i, true, DBL_MAX};
    double want = espi_rectangle_column(w->rect, j)[i], enough = want + 4 * DBL_EPSILON * want + w->s->slack;
    for (int x = i, y = j - 1; x <= y; x++, y--) {
        if (try_rectangle(w, i, x, j, enough, &best) || try_rectangle(w, i, y, j, enough, &best))
            break;
    }
    return best;
}

/* Ranges still to be split, with the place in the parent's split that waits for them. */
struct todo {
    int i, j, parent;
    bool right;
};

static espi_status walk_back(const struct walk *w, int n, struct espi_joins *joins, int *leader)
{
    int nodes = 0, depth = 0;
    struct espi_split *split = malloc((size_t)n * sizeof *split);
    struct todo *stack = malloc(((size_t)n + 1) * sizeof *stack);
    int *scratch = malloc((size_t)n * sizeof *scratch);
    espi_status status = ESPI_ERR_MEMORY;
    if (!split || !stack || !scratch)
        goto out;
    stack[depth++] = (struct todo){0, n - 1, -1, false};
    while (depth) {
        struct todo r = stack[--depth];
        int value = r.i == r.j ? -1 - r.i : nodes;
        if (r.parent >= 0)
            *(r.right ? &split[r.parent].right : &split[r.parent].left) = value;
        if (value < 0)
            continue;
        struct found at;
        if (w->rect && r.i <= w->rect->root && w->rect->root <= r.j)
            at = split_rectangle(w, r.i, r.j);
        else
            at = split_triangle(w->s, w->rect && r.i > w->rect->root ? w->right : w->left, r.i, r.j);
        split[nodes].to_left = at.to_left;
        stack[depth++] = (struct todo){r.i, at.k, nodes, false};
        stack[depth++] = (struct todo){at.k + 1, r.j, nodes, true};
        nodes++;
    }
    espi_splits_join(split, nodes, 0, scratch, joins, leader);
    status = ESPI_OK;
out:
    free(split);
    free(stack);
    free(scratch);
    return status;
}

espi_status espi_table_joins(const struct espi_table *s, int root, struct espi_joins *joins, int *leader,
                             double *time)
{
    struct espi_triangle left = {0, 0, NULL}, right = {0, 0, NULL};
    struct espi_rectangle rect = {0, 0, NULL};
    struct walk w = {s, &left, &right, NULL};
    espi_status status;
    if (root == ESPI_COMMTREE_BEST) {
        status = espi_triangle_fill(s, 0, s->n, &left);
        if (status == ESPI_OK)
            *time = espi_at(&left, 0, s->n - 1);
    } else {
        status = espi_triangle_fill(s, 0, root, &left);
        if (status == ESPI_OK)
            status = espi_triangle_fill(s, root + 1, s->n, &right);
        if (status == ESPI_OK)
            status = espi_rectangle_fill(s, &left, &right, root, &rect);
        if (status == ESPI_OK)
            *time = espi_rectangle_column(&rect, s->n - 1)[0];
        w.rect = &rect;
    }
    if (status == ESPI_OK)
        status = walk_back(&w, s->n, joins, leader);
    free(rect.f);
    espi_triangle_release(&left);
    espi_triangle_release(&right);
    return status;
}

static size_t bytes_needed(const struct espi_compact *c, bool plain)
{
    if (c->root == ESPI_COMMTREE_BEST)
        return espi_triangle_bytes(c->n, plain);
    size_t left = (size_t)c->root, right = (size_t)(c->n - c->root);
    return espi_triangle_bytes(c->root, plain) + espi_triangle_bytes((int)right, plain) +
           (left + 1) * right * (sizeof(double) + sizeof(uint16_t));
}

espi_status espi_build_optimal(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                               struct espi_commtree *tree)
{
    const struct espi_commtree_model *m = &problem->model;
    int n = c->n, root = 0;
    struct espi_joins joins = {0, 0, NULL, NULL};
    double *q = NULL, *own = NULL, time;
    espi_status status = ESPI_ERR_MEMORY;
    bool plain = !times_grow(c, m);
    if (n > UINT16_MAX || (problem->max_bytes && bytes_needed(c, plain) > problem->max_bytes))
        return ESPI_ERR_LIMIT;
    q = malloc(((size_t)n + 1) * sizeof *q);
    own = malloc((size_t)n * sizeof *own);
    if (!q || !own || espi_joins_make(n, &joins) != ESPI_OK)
        goto out;
    q[0] = 0;
    for (int v = 0; v < n; v++) {
        q[v + 1] = m->beta * (double)c->prefix[v + 1];
        own[v] = m->gamma * (double)c->size[v];
    }
    double slack = 4 * DBL_EPSILON * (q[n] + m->alpha);
    struct espi_table s = {n, q, own, NULL, m->alpha, m->latency, m->early_copy, plain, slack};
    status = espi_table_joins(&s, c->root, &joins, &root, &time);
    if (status == ESPI_OK)
        status = espi_joins_tree(&joins, c, problem->p, root, true, tree);
out:
    free(q);
    free(own);
    espi_joins_release(&joins);
    return status;
}
