/* Best trees with a fixed root: F(i, j), i <= root <= j. The root keeps receiving finished ranges from its left
   or its right, each with its own best tree:
     right k+1..j:  max(F(i,k), T(k+1,j) + L) + alpha + beta*size(k+1..j)
     left  i..k:    max(T(i,k) + L, F(k+1,j)) + alpha + beta*size(i..k)
   The crossings and queues are those of free_root.c. */
#include <stdlib.h>

#include "commtree/table.h"

struct column {
    double *f; /* F(., j) by index */
    const double *t; /* T(., j) of the right triangle, by index; NULL for j = root */
    double back_value;
    int front, back;
    int ks, kr;
};

static double single_right(const struct espi_table *s, int root, int j, double b)
{
    return espi_max(s->own[root], b + s->latency) + s->alpha + (s->q[j + 1] - s->q[root + 1]);
}

static double single_left(const struct espi_table *s, int i, int root, double a)
{
    double sent = s->alpha + (s->q[root] - s->q[i]);
    return s->early ? espi_max(a + s->latency, s->own[root]) + sent : a + s->latency + sent + s->own[root];
}

/* One cell by trying every split. row[k - root] = F(i,k), left[k] = T(i,k). */
static double plain_cell(const struct espi_table *s, int root, int i, int j, const double *row,
                         const double *left, const struct column *c)
{
    double best = 1e308;
    for (int k = root; k < j; k++) {
        double b = c->t[k + 1];
        best = espi_min(best, k == i ? single_right(s, root, j, b)
                                     : espi_max(row[k - root], b + s->latency) + s->alpha +
                                           (s->q[j + 1] - s->q[k + 1]));
    }
    for (int k = i; k < root; k++) {
        best = espi_min(best, k + 1 == j ? single_left(s, i, root, left[k])
                                         : espi_max(left[k] + s->latency, c->f[k + 1]) + s->alpha +
                                               (s->q[k + 1] - s->q[i]));
    }
    return best;
}

espi_status espi_rectangle_fill(const struct espi_table *s, const struct espi_triangle *left,
                                const struct espi_triangle *right, int root, struct espi_rectangle *rect)
{
    size_t width = (size_t)(s->n - root), height = (size_t)root + 1;
    struct column *columns = malloc(width * sizeof *columns);
    double *row = malloc(width * sizeof *row), *least = malloc(width * sizeof *least);
    double *row_left = malloc(height * sizeof *row_left);
    int *least_k = malloc(width * sizeof *least_k);
    uint16_t *queues = s->plain ? NULL : malloc(width * height * sizeof *queues);
    const double *q = s->q, latency = s->latency;
    espi_status status = ESPI_ERR_MEMORY;
    rect->root = root;
    rect->n = s->n;
    rect->f = malloc(width * height * sizeof(double));
    if (!rect->f || !columns || !row || !least || !row_left || !least_k || (!queues && !s->plain)) {
        free(rect->f);
        rect->f = NULL;
        goto out;
    }
    for (int j = root; j < s->n; j++) {
        struct column *c = &columns[j - root];
        c->f = espi_rectangle_column(rect, j);
        c->t = j > root ? espi_column(right, j) - right->lo : NULL;
        c->front = 0;
        c->back = -1;
        c->ks = root;
        c->kr = s->ready ? j : j - 1; /* as in free_root.c */
    }
    for (int i = root; i >= 0; i--) {
        int front = 0, back = -1;
        double q0 = q[i];
        for (int k = i; k < root; k++) {
            if (k + 8 < root)
                __builtin_prefetch(&espi_column(left, k + 8)[i]);
            row_left[k] = espi_at(left, i, k);
        }
        for (int j = root; j < s->n; j++) {
            struct column *c = &columns[j - root];
            if (i == root && j == root) {
                c->f[i] = row[0] = 0;
                continue;
            }
            if (s->plain) {
                c->f[i] = row[j - root] = plain_cell(s, root, i, j, row, row_left, c);
                continue;
            }
            uint16_t *queue = queues + (c->f - rect->f);
            if (j + 6 < s->n) {
                __builtin_prefetch(&c[6].f[i], 1);
                __builtin_prefetch(&c[6].f[c[6].ks]);
                __builtin_prefetch(&c[6].t[c[6].kr]);
                __builtin_prefetch(queue + 6 * height + c[6].back + 1, 1);
            }
            double best = 1e308, end = q[j + 1];
            if (j > root) {
                if (i < root || j - 1 > root) {
                    double value = row[j - 1 - root] - q[j];
                    while (back >= front && least[back] >= value)
                        back--;
                    least[++back] = value;
                    least_k[back] = j - 1;
                }
                int kr = c->kr;
                while (kr > root && row[kr - 1 - root] >= c->t[kr] + latency)
                    kr--;
                c->kr = kr;
                while (front <= back && least_k[front] < kr)
                    front++;
                if (i == root)
                    best = single_right(s, root, j, c->t[root + 1]) - s->alpha;
                if (kr - 1 > root || (kr - 1 == root && i < root))
                    best = espi_min(best, c->t[kr] + latency + (end - q[kr]));
                if (front <= back)
                    best = espi_min(best, least[front] + end);
            }
            if (i < root) {
                int ks = c->ks, cf = c->front, cb = c->back;
                if (i + 1 < root || j > root) {
                    double value = row[j - root] + q[i + 1]; /* the row before still stands there */
                    if (cb >= cf && c->back_value >= value) {
                        cb--;
                        while (cb >= cf && c->f[queue[cb] + 1] + q[queue[cb] + 1] >= value)
                            cb--;
                    }
                    queue[++cb] = (uint16_t)i;
                    c->back_value = value;
                }
                while (ks > i && row_left[ks - 1] + latency >= c->f[ks])
                    ks--;
                while (cf <= cb && queue[cf] >= ks)
                    cf++;
                c->ks = ks;
                c->front = cf;
                c->back = cb;
                if (j == root)
                    best = espi_min(best, single_left(s, i, root, row_left[root - 1]) - s->alpha);
                if (ks < root && (ks + 1 < root || j > root))
                    best = espi_min(best, row_left[ks] + latency + (q[ks + 1] - q0));
                if (cf <= cb)
                    best = espi_min(best, c->f[queue[cf] + 1] + (q[queue[cf] + 1] - q0));
            }
            c->f[i] = row[j - root] = best + s->alpha;
        }
    }
    status = ESPI_OK;
out:
    free(columns);
    free(row);
    free(least);
    free(row_left);
    free(least_k);
    free(queues);
    return status;
}
