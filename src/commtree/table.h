/* The tables of the optimal ordered construction; doc/gather-trees.md has the recurrences and the proof.

   Indices are those of the ranks that take part. A table of best trees holds T(i, j), the least completion time of
   the range i..j with any root, column by column: T(., j) is contiguous and grows with i towards the end of the
   column. */
#ifndef ESPI_COMMTREE_TABLE_H
#define ESPI_COMMTREE_TABLE_H

#include "commtree/internal.h"

struct espi_table {
    int n;             /* indices of the whole problem */
    const double *q;   /* n+1: beta * (sum of sizes before) */
    const double *own; /* n: gamma * size, when an index alone may receive */
    const double *ready; /* n: when an index alone may send; NULL: at once */
    double alpha, latency;
    bool early, plain; /* plain: every split is tried */
    double slack;      /* rounding that a comparison of times must allow for */
};

/* Triangle of T over the indices lo..hi-1; at(i, j) with lo <= i <= j < hi. */
struct espi_triangle {
    int lo, hi;
    double *t;
};

static inline double *espi_column(const struct espi_triangle *tri, int j)
{
    size_t x = (size_t)(j - tri->lo);
    return tri->t + x * (x + 1) / 2;
}

static inline double espi_at(const struct espi_triangle *tri, int i, int j)
{
    return espi_column(tri, j)[i - tri->lo];
}

static inline double espi_ready(const struct espi_table *s, int i)
{
    return s->ready ? s->ready[i] : 0;
}

/* Cost of the range i..j when i..k receives k+1..j (from the left's view), and the other way round; `a` and `b` are
   the parts' times. A single rank that receives also copies. */
static inline double espi_right_sends(const struct espi_table *s, int i, int k, int j, double a, double b)
{
    double ready = i == k ? s->own[i] : a;
    return espi_max(ready, b + s->latency) + s->alpha + (s->q[j + 1] - s->q[k + 1]);
}

static inline double espi_left_sends(const struct espi_table *s, int i, int k, int j, double a, double b)
{
    double sent = s->alpha + (s->q[k + 1] - s->q[i]);
    if (k + 1 < j)
        return espi_max(a + s->latency, b) + sent;
    return s->early ? espi_max(a + s->latency, s->own[j]) + sent : a + s->latency + sent + s->own[j];
}

/* Bytes that a triangle over n indices takes with what filling it needs. */
size_t espi_triangle_bytes(int n, bool plain);
espi_status espi_triangle_fill(const struct espi_table *s, int lo, int hi, struct espi_triangle *tri);
void espi_triangle_release(struct espi_triangle *tri);

/* F(i, j) for i <= root <= j, column by column (root+1 entries each), from the triangles left and right of the
   root. */
struct espi_rectangle {
    int root, n;
    double *f;
};
static inline double *espi_rectangle_column(const struct espi_rectangle *rect, int j)
{
    return rect->f + (size_t)(j - rect->root) * ((size_t)rect->root + 1);
}
espi_status espi_rectangle_fill(const struct espi_table *s, const struct espi_triangle *left,
                                const struct espi_triangle *right, int root, struct espi_rectangle *rect);

/* All of it (optimal.c): appends the n-1 joins of the best tree over the indices, with root `root` or
   ESPI_COMMTREE_BEST; fills who leads it and its time. */
espi_status espi_table_joins(const struct espi_table *s, int root, struct espi_joins *joins, int *leader,
                             double *time);

#endif
