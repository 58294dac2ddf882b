/* Positions on trees, by what each subtree costs as a function of where its value is wanted.

   Shifts are taken out first: with o(v) the sum of the shifts from v to its root, moves are between at + o(v) and the
   parent's at + o(parent), as all distances depend on differences only. */
#include "placement/offsets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "placement/internal.h"

#define FARTHEST (INT64_C(1) << 62)

/* A breakpoint of a convex function (LINE: the slope grows by `much`) or an exception to a constant one (DISCRETE: it
   is less by `much`). */
struct point {
    int64_t at;
    double much;
};

struct list {
    int n;
    struct point *point; /* by rising position */
};

struct work {
    struct espi_place_spot *spot;
    int n;
    int64_t around;
    int64_t *at;   /* positions without shifts, the given ones and those chosen */
    int64_t *moved; /* o(v) */
    size_t bytes, max_bytes;
    struct list *list; /* of each node, what its children need (and, DISCRETE, of those that are done) */
    int64_t *low, *high; /* LINE: a value stays where it is wanted between these */
    double *most;      /* DISCRETE: the largest saving */
    int64_t *candidate; /* RING: the fixed positions, rising */
    int candidates;
    double *table;     /* RING: what is below a node with its value at each candidate */
    double *delivered; /* RING: of one node, the same with its value wanted there */
};

static int64_t around_ring(int64_t at, int64_t around)
{
    at %= around;
    return at < 0 ? at + around : at;
}

static double distance(enum espi_place_space space, int64_t around, int64_t a, int64_t b)
{
    int64_t far = a > b ? a - b : b - a;
    if (space == ESPI_PLACE_DISCRETE)
        return far != 0;
    return (double)(space == ESPI_PLACE_RING && around - far < far ? around - far : far);
}

double espi_place_spot_move(enum espi_place_space space, int64_t around, const struct espi_place_spot *spot,
                            int node)
{
    int64_t from = spot[node].at + spot[node].shift, to = spot[spot[node].parent].at;
    if (space == ESPI_PLACE_RING) {
        from = around_ring(from, around);
        to = around_ring(to, around);
    }
    return spot[node].weight * distance(space, around, from, to);
}

static espi_status take_out_shifts(struct work *work, enum espi_place_space space)
{
    for (int v = work->n - 1; v >= 0; v--) {
        const struct espi_place_spot *spot = &work->spot[v];
        if (spot->parent != -1 && (spot->parent <= v || spot->parent >= work->n || !(spot->weight >= 0) ||
                                   isinf(spot->weight)))
            return ESPI_ERR_ARGUMENT;
        int64_t shift = spot->parent < 0 ? 0 : spot->shift, before = spot->parent < 0 ? 0 : work->moved[spot->parent];
        int64_t at = spot->fixed ? spot->at : 0;
        if (space == ESPI_PLACE_RING) {
            shift = around_ring(shift, work->around);
            at = around_ring(at, work->around);
        }
        if (shift > FARTHEST || shift < -FARTHEST || at > FARTHEST / 2 || at < -FARTHEST / 2)
            return ESPI_ERR_OVERFLOW;
        work->moved[v] = before + shift;
        if (space == ESPI_PLACE_RING)
            work->moved[v] = around_ring(work->moved[v], work->around);
        else if (work->moved[v] > FARTHEST / 2 || work->moved[v] < -FARTHEST / 2)
            return ESPI_ERR_OVERFLOW;
        work->at[v] = at + work->moved[v];
        if (space == ESPI_PLACE_RING)
            work->at[v] = around_ring(work->at[v], work->around);
    }
    return ESPI_OK;
}

/* Adds `more` to the sorted list. */
static espi_status merge(struct work *work, struct list *list, const struct point *more, int n)
{
    size_t wanted = ((size_t)list->n + (size_t)n) * sizeof(struct point);
    int a = 0, b = 0, m = 0;
    if (n == 0)
        return ESPI_OK;
    if (wanted > work->max_bytes - work->bytes)
        return ESPI_ERR_LIMIT;
    struct point *merged = malloc(wanted);
    if (merged == NULL)
        return ESPI_ERR_MEMORY;
    while (a < list->n || b < n) {
        bool first = b == n || (a < list->n && list->point[a].at <= more[b].at);
        struct point next = first ? list->point[a++] : more[b++];
        if (m > 0 && merged[m - 1].at == next.at)
            merged[m - 1].much += next.much;
        else
            merged[m++] = next;
    }
    work->bytes += wanted;
    work->bytes -= (size_t)list->n * sizeof(struct point);
    free(list->point);
    *list = (struct list){m, merged};
    work->bytes -= wanted - (size_t)m * sizeof(struct point);
    return ESPI_OK;
}

static void forget(struct work *work, struct list *list)
{
    work->bytes -= (size_t)list->n * sizeof(struct point);
    free(list->point);
    *list = (struct list){0, NULL};
}

/* Takes so much slope away from one end; the position at which that ends. */
static int64_t cut_end(struct list *list, double away, bool left)
{
    int x = left ? 0 : list->n - 1;
    int64_t at = list->point[x].at;
    while (away > 0 && x >= 0 && x < list->n) {
        struct point *point = &list->point[x];
        double part = point->much < away ? point->much : away;
        if (part > 0) /* what rounding has left of `away` finds points that are used up */
            at = point->at;
        point->much -= part;
        away -= part;
        x += left ? 1 : -1;
    }
    return at;
}

static void drop_empty(struct work *work, struct list *list)
{
    int m = 0;
    for (int x = 0; x < list->n; x++) {
        if (list->point[x].much > 0)
            list->point[m++] = list->point[x];
    }
    work->bytes -= (size_t)(list->n - m) * sizeof(struct point);
    list->n = m;
}

/* What v costs by where it is wanted is convex, with slopes from -weight to weight: the sum over its children, with
   steeper parts made straight. Its value stays where it is wanted between low and high, else at the nearer end. */
static espi_status go_up_line(struct work *work, int v, double weight)
{
    struct list *list = &work->list[v];
    int parent = work->spot[v].parent;
    espi_status status = ESPI_OK;
    double half = 0;

    for (int x = 0; x < list->n; x++)
        half += list->point[x].much / 2;
    work->low[v] = INT64_MIN;
    work->high[v] = INT64_MAX;
    if (work->spot[v].fixed) {
        work->low[v] = work->high[v] = work->at[v];
        forget(work, list);
        if (parent >= 0 && weight > 0)
            status = merge(work, &work->list[parent], &(struct point){work->at[v], 2 * weight}, 1);
        return status;
    }
    if (half > weight) {
        work->low[v] = cut_end(list, half - weight, true);
        work->high[v] = cut_end(list, half - weight, false);
        drop_empty(work, list);
        if (work->low[v] > work->high[v]) /* only by rounding */
            work->low[v] = work->high[v];
    }
    if (parent >= 0)
        status = merge(work, &work->list[parent], list->point, list->n);
    forget(work, list);
    return status;
}

/* What v costs is a constant but for some positions, where it is less: there, the sum over its children; and nowhere
   more than the least plus the weight. */
static espi_status go_up_discrete(struct work *work, int v, double weight)
{
    struct list *list = &work->list[v];
    int parent = work->spot[v].parent;
    double most = 0;

    if (work->spot[v].fixed) {
        forget(work, list);
        return parent < 0 || weight <= 0
                   ? ESPI_OK
                   : merge(work, &work->list[parent], &(struct point){work->at[v], weight}, 1);
    }
    for (int x = 0; x < list->n; x++) {
        if (list->point[x].much > most) {
            most = list->point[x].much;
            work->at[v] = list->point[x].at; /* the best, unless it is wanted elsewhere */
        }
    }
    work->most[v] = most;
    if (most > weight) {
        for (int x = 0; x < list->n; x++)
            list->point[x].much -= most - weight;
        drop_empty(work, list);
    }
    return parent < 0 ? ESPI_OK : merge(work, &work->list[parent], list->point, list->n);
}

static bool is_listed(const struct list *list, int64_t at)
{
    int low = 0, high = list->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (list->point[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->n && list->point[low].at == at;
}

static int compare_places(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Some best choice has every value at a fixed node's position: a group of values at one position and at no fixed one
   may move as a whole until it meets another, and its cost as a function of that bends downwards only (at the far
   side of the ring) or not at all, so that one of the two directions is not worse. */
static espi_status find_candidates(struct work *work)
{
    int m = 0;
    work->candidate = espi_place_array((size_t)work->n + 1, sizeof *work->candidate);
    if (work->candidate == NULL)
        return ESPI_ERR_MEMORY;
    for (int v = 0; v < work->n; v++) {
        if (work->spot[v].fixed)
            work->candidate[m++] = work->at[v];
    }
    if (m == 0)
        work->candidate[m++] = 0;
    qsort(work->candidate, (size_t)m, sizeof *work->candidate, compare_places);
    for (int x = 0; x < m; x++) {
        if (work->candidates == 0 || work->candidate[x] != work->candidate[work->candidates - 1])
            work->candidate[work->candidates++] = work->candidate[x];
    }
    size_t k = (size_t)work->candidates;
    if (((size_t)work->n + 1) > work->max_bytes / (k * sizeof(double)))
        return ESPI_ERR_LIMIT;
    work->table = calloc((size_t)work->n * k + 1, sizeof *work->table);
    work->delivered = calloc(k, sizeof *work->delivered);
    return work->table != NULL && work->delivered != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
}

/* Twice around in both directions: a value comes from its nearest better neighbour, or from where that came from. */
static void go_up_ring(struct work *work, int v, double weight)
{
    int k = work->candidates;
    double *own = work->table + (size_t)v * (size_t)k;
    if (work->spot[v].fixed) {
        for (int c = 0; c < k; c++)
            own[c] = work->candidate[c] == work->at[v] ? own[c] : INFINITY;
    }
    if (work->spot[v].parent < 0)
        return;
    memcpy(work->delivered, own, (size_t)k * sizeof *own);
    for (int direction = 1; direction >= -1; direction -= 2) {
        for (int x = 0, c = 0; x < 2 * k; x++) {
            int next = (c + direction + k) % k;
            double way = work->delivered[c] + weight * distance(ESPI_PLACE_RING, work->around, work->candidate[c],
                                                                work->candidate[next]);
            work->delivered[next] = way < work->delivered[next] ? way : work->delivered[next];
            c = next;
        }
    }
    double *parent = work->table + (size_t)work->spot[v].parent * (size_t)k;
    for (int c = 0; c < k; c++)
        parent[c] += work->delivered[c];
}

static int64_t choose_on_ring(const struct work *work, int v, double weight)
{
    const double *own = work->table + (size_t)v * (size_t)work->candidates;
    double best = INFINITY;
    int64_t at = work->candidate[0];
    for (int c = 0; c < work->candidates; c++) {
        int parent = work->spot[v].parent;
        double cost = own[c];
        if (parent >= 0)
            cost += weight * distance(ESPI_PLACE_RING, work->around, work->candidate[c], work->at[parent]);
        if (cost < best) {
            best = cost;
            at = work->candidate[c];
        }
    }
    return at;
}

/* From the root down: where a value is, given where it is wanted. */
static void choose(struct work *work, enum espi_place_space space, int v)
{
    int parent = work->spot[v].parent;
    double weight = parent < 0 ? 0 : work->spot[v].weight;
    if (work->spot[v].fixed)
        return;
    if (space == ESPI_PLACE_RING) {
        work->at[v] = choose_on_ring(work, v, weight);
        return;
    }
    int64_t wanted = parent < 0 ? 0 : work->at[parent];
    if (space == ESPI_PLACE_LINE) {
        if (parent < 0 && work->low[v] != INT64_MIN)
            wanted = work->low[v];
        work->at[v] = wanted < work->low[v] ? work->low[v] : wanted > work->high[v] ? work->high[v] : wanted;
    } else if (work->most[v] <= weight || is_listed(&work->list[v], wanted)) {
        work->at[v] = wanted;
    }
}

static espi_status prepare(struct work *work, enum espi_place_space space)
{
    size_t n = (size_t)work->n;
    work->at = calloc(n + 1, sizeof *work->at);
    work->moved = calloc(n + 1, sizeof *work->moved);
    work->list = calloc(n + 1, sizeof *work->list);
    work->low = calloc(n + 1, sizeof *work->low);
    work->high = calloc(n + 1, sizeof *work->high);
    work->most = calloc(n + 1, sizeof *work->most);
    if (work->at == NULL || work->moved == NULL || work->list == NULL || work->low == NULL || work->high == NULL ||
        work->most == NULL)
        return ESPI_ERR_MEMORY;
    espi_status status = take_out_shifts(work, space);
    return status == ESPI_OK && space == ESPI_PLACE_RING ? find_candidates(work) : status;
}

static void release(struct work *work)
{
    for (int v = 0; work->list != NULL && v < work->n; v++)
        free(work->list[v].point);
    free(work->at);
    free(work->moved);
    free(work->list);
    free(work->low);
    free(work->high);
    free(work->most);
    free(work->candidate);
    free(work->table);
    free(work->delivered);
}

espi_status espi_place_spots(enum espi_place_space space, int64_t around, struct espi_place_spot *spot, int n,
                             size_t max_bytes, double *cost)
{
    struct work work = {.spot = spot, .n = n, .around = around,
                        .max_bytes = max_bytes > 0 ? max_bytes : (size_t)1 << 30};
    if (n < 0 || (unsigned)space > ESPI_PLACE_RING ||
        (space == ESPI_PLACE_RING && (around < 1 || around > FARTHEST / 2)))
        return ESPI_ERR_ARGUMENT;
    espi_status status = prepare(&work, space);
    for (int v = 0; v < n && status == ESPI_OK; v++) {
        double weight = spot[v].parent < 0 ? 0 : spot[v].weight;
        if (space == ESPI_PLACE_RING)
            go_up_ring(&work, v, weight);
        else
            status = (space == ESPI_PLACE_LINE ? go_up_line : go_up_discrete)(&work, v, weight);
    }
    *cost = 0;
    for (int v = n - 1; v >= 0 && status == ESPI_OK; v--) {
        choose(&work, space, v);
        if (spot[v].parent >= 0)
            *cost += spot[v].weight * distance(space, around, work.at[v], work.at[spot[v].parent]);
    }
    for (int v = 0; v < n && status == ESPI_OK; v++) {
        spot[v].at = work.at[v] - work.moved[v];
        if (space == ESPI_PLACE_RING)
            spot[v].at = around_ring(spot[v].at, around);
    }
    release(&work);
    return status;
}
