/* Best trees of all ranges, any root.

   T(i, j) is the least over the split k of
     R(k) = max(T(i,k), T(k+1,j) + L) + alpha + beta*size(k+1..j)     the right part sends
     S(k) = max(T(i,k) + L, T(k+1,j)) + alpha + beta*size(i..k)       the left part sends
   except that a part of one rank that receives copies its block. Where T grows with the range, the first maximum is
   its second term up to a crossing point kr and its first from there on, so that the best k before kr is kr-1 and
   the best one behind it is a range minimum of T(i,k) - beta*sum(0..k). Likewise for S with its crossing ks: ks
   itself, or a range minimum of T(k+1,j) + beta*sum(0..k) before it. As j grows, or i falls, both ends of both
   ranges move in one direction only, so crossing points and range minima (monotone queues: one for the row, one for
   each column) take amortised constant time: O(n^2) in all. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "commtree/table.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* State of a column while rows are filled from the bottom up. queue[front..back] are splits k whose values
   T(k+1,j) + q[k+1] fall from front to back in k and rise in value order: the front has the least. */
struct column {
    double *t; /* T(., j) by index */
    uint16_t *queue;
    double back_value; /* of queue[back], always the split pushed last */
    int front, back;
    int ks, kr;        /* crossings, counted from lo */
};

size_t espi_triangle_bytes(int n, bool plain)
{
    size_t cells = (size_t)n * ((size_t)n + 1) / 2;
    return cells * (sizeof(double) + (plain ? 0 : sizeof(uint16_t))) + (size_t)n * (sizeof(struct column) + 32);
}

void espi_triangle_release(struct espi_triangle *tri)
{
    free(tri->t);
    tri->t = NULL;
}

static void *table_memory(size_t bytes)
{
    void *memory = NULL;
    if (bytes < 4 * HUGE_PAGE)
        return malloc(bytes);
    if (posix_memalign(&memory, HUGE_PAGE, bytes) != 0)
        return NULL;
    /* Only a hint: page faults are a fifth of the time without it. */
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

/* The cells of row i from column i+2 on, O(1) each on average. `shared`: without latency the two crossings agree. */
static inline __attribute__((always_inline)) void fast_row(const struct espi_table *s, int lo, int i, int hi,
                                                           double *row, struct column *columns, double *least,
                                                           uint16_t *least_k, bool shared)
{
    const double *q = s->q, *own = s->own;
    const double latency = shared ? 0 : s->latency, q0 = q[i], own_i = own[i];
    int front = 0, back = -1;
    for (int j = i + 2; j < hi; j++) {
        struct column *c = &columns[j - lo];
        double *t = c->t; /* t[k - lo] */
        uint16_t *queue = c->queue;
        if (j + 6 < hi) { /* each column is a stream of its own, too many for the hardware to follow */
            __builtin_prefetch(&c[6].t[i - lo], 1);
            __builtin_prefetch(&c[6].t[c[6].kr]);
            __builtin_prefetch(&c[6].queue[c[6].back + 1], 1);
        }
        /* Split j-1 enters the row's queue, split i the column's. */
        double value = row[j - 1 - lo] - q[j];
        while (back >= front && least[back] >= value)
            back--;
        least[++back] = value;
        least_k[back] = (uint16_t)(j - 1 - lo);
        double below = row[j - lo]; /* T(i+1, j), still there from the row before */
        value = below + q[i + 1];
        int cf = c->front, cb = c->back;
        if (cb >= cf && c->back_value >= value) {
            cb--;
            while (cb >= cf && t[queue[cb] + 1] + q[queue[cb] + 1 + lo] >= value)
                cb--;
        }
        queue[++cb] = (uint16_t)(i - lo);
        c->back_value = value;
        /* Crossings move left. */
        int kr = c->kr, first = i - lo;
        while (kr > first && row[kr - 1] >= t[kr] + latency)
            kr--;
        int ks = kr;
        if (!shared) {
            ks = c->ks;
            while (ks > first && row[ks - 1] + latency >= t[ks])
                ks--;
            c->ks = ks;
        }
        c->kr = kr;
        while (cf <= cb && queue[cf] >= ks)
            cf++;
        while (front <= back && least_k[front] < kr)
            front++;
        c->front = cf;
        c->back = cb;
        /* What depends on the cell before, row[j-1], comes last: the chain from cell to cell is what takes time. */
        double end = q[j + 1], best = espi_max(own_i, below + latency) + (end - q[i + 1]);
        if (kr - 1 > first)
            best = espi_min(best, t[kr] + latency + (end - q[kr + lo]));
        if (cf <= cb)
            best = espi_min(best, t[queue[cf] + 1] + (q[queue[cf] + 1 + lo] - q0));
        if (ks + 1 + lo < j)
            best = espi_min(best, row[ks] + latency + (q[ks + 1 + lo] - q0));
        double alone = row[j - 1 - lo] + latency;
        double late = (s->early ? espi_max(alone, own[j]) : alone + own[j]) + (q[j] - q0);
        if (front <= back)
            late = espi_min(late, least[front] + end);
        best = espi_min(best, late) + s->alpha;
        row[j - lo] = best;
        t[first] = best;
    }
}

static void plain_row(const struct espi_table *s, int lo, int i, int hi, double *row, struct column *columns)
{
    for (int j = i + 2; j < hi; j++) {
        double *t = columns[j - lo].t;
        const double *q = s->q;
        double first = espi_ready(s, i), last = espi_ready(s, j);
        double best = espi_min(espi_right_sends(s, i, i, j, first, t[i + 1 - lo]),
                               espi_left_sends(s, i, j - 1, j, row[j - 1 - lo], last));
        best = espi_min(best, espi_left_sends(s, i, i, j, first, t[i + 1 - lo]));
        best = espi_min(best, espi_right_sends(s, i, j - 1, j, row[j - 1 - lo], last));
        for (int k = i + 1; k < j - 1; k++) {
            double a = row[k - lo], b = t[k + 1 - lo];
            double r = espi_max(a, b + s->latency) + (q[j + 1] - q[k + 1]);
            double l = espi_max(a + s->latency, b) + (q[k + 1] - q[i]);
            best = espi_min(best, espi_min(l, r) + s->alpha);
        }
        row[j - lo] = best;
        t[i - lo] = best;
    }
}

espi_status espi_triangle_fill(const struct espi_table *s, int lo, int hi, struct espi_triangle *tri)
{
    size_t n = (size_t)(hi - lo), cells = n * (n + 1) / 2;
    struct column *columns = NULL;
    uint16_t *queues = NULL, *least_k = NULL;
    double *row = NULL, *least = NULL;
    espi_status status = ESPI_ERR_MEMORY;
    tri->lo = lo;
    tri->hi = hi;
    tri->t = NULL;
    if (n == 0)
        return ESPI_OK;
    if (n > UINT16_MAX)
        return ESPI_ERR_LIMIT;
    tri->t = table_memory(cells * sizeof(double));
    queues = s->plain ? NULL : table_memory(cells * sizeof *queues);
    columns = malloc(n * sizeof *columns);
    row = malloc(n * sizeof *row);
    least = malloc(n * sizeof *least);
    least_k = malloc(n * sizeof *least_k);
    if (!tri->t || !columns || !row || !least || !least_k || (!queues && !s->plain)) {
        espi_triangle_release(tri);
        goto out;
    }
    for (int j = lo; j < hi; j++) {
        struct column *c = &columns[j - lo];
        c->t = espi_column(tri, j);
        c->queue = queues ? queues + (c->t - tri->t) : NULL;
        c->front = 0;
        c->back = -1;
        c->ks = j - 1 - lo;
        c->kr = s->ready ? j - lo : j - 1 - lo; /* T(i, j-1) >= T(j, j) + L, unless index j has to be waited for */
        c->t[j - lo] = espi_ready(s, j);
    }
    for (int i = hi - 2; i >= lo; i--) {
        row[i - lo] = espi_ready(s, i);
        row[i + 1 - lo] = espi_min(espi_right_sends(s, i, i, i + 1, 0, espi_ready(s, i + 1)),
                                   espi_left_sends(s, i, i, i + 1, espi_ready(s, i), 0));
        columns[i + 1 - lo].t[i - lo] = row[i + 1 - lo];
        if (s->plain)
            plain_row(s, lo, i, hi, row, columns);
        else if (s->latency == 0)
            fast_row(s, lo, i, hi, row, columns, least, least_k, true);
        else
            fast_row(s, lo, i, hi, row, columns, least, least_k, false);
    }
    status = ESPI_OK;
out:
    free(columns);
    free(queues);
    free(row);
    free(least);
    free(least_k);
    return status;
}
