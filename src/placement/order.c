/* The order in which nodes are eliminated. */
#include <stdlib.h>
#include <string.h>

#include "placement/elimination.h"

struct around {
    int n, capacity;
    int *node; /* rising */
};

/* Candidates by the size of their table; entries that are no longer true are passed over. */
struct candidate {
    double entries;
    int node;
};

struct heap {
    size_t n, capacity;
    struct candidate *at;
};

static bool is_before(struct candidate a, struct candidate b)
{
    return a.entries != b.entries ? a.entries < b.entries : a.node < b.node;
}

static bool push(struct heap *heap, struct candidate candidate)
{
    if (heap->n == heap->capacity) {
        size_t capacity = heap->capacity > 0 ? 2 * heap->capacity : 64;
        struct candidate *grown = realloc(heap->at, capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        heap->at = grown;
        heap->capacity = capacity;
    }
    size_t x = heap->n++;
    for (; x > 0 && is_before(candidate, heap->at[(x - 1) / 2]); x = (x - 1) / 2)
        heap->at[x] = heap->at[(x - 1) / 2];
    heap->at[x] = candidate;
    return true;
}

static struct candidate pop(struct heap *heap)
{
    struct candidate first = heap->at[0], last = heap->at[--heap->n];
    size_t x = 0;
    for (size_t child = 1; child < heap->n; child = 2 * x + 1) {
        child += child + 1 < heap->n && is_before(heap->at[child + 1], heap->at[child]);
        if (!is_before(heap->at[child], last))
            break;
        heap->at[x] = heap->at[child];
        x = child;
    }
    heap->at[x] = last;
    return first;
}

/* Where a node stands, or would stand. */
static int find(const struct around *around, int node)
{
    int low = 0, high = around->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (around->node[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool add_neighbour(struct around *around, int node)
{
    int at = find(around, node);
    if (at < around->n && around->node[at] == node)
        return true;
    if (around->n == around->capacity) {
        int capacity = around->capacity > 0 ? 2 * around->capacity : 4;
        int *grown = realloc(around->node, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        around->node = grown;
        around->capacity = capacity;
    }
    memmove(around->node + at + 1, around->node + at, (size_t)(around->n - at) * sizeof *around->node);
    around->node[at] = node;
    around->n++;
    return true;
}

static void remove_neighbour(struct around *around, int node)
{
    int at = find(around, node);
    if (at < around->n && around->node[at] == node) {
        around->n--;
        memmove(around->node + at, around->node + at + 1, (size_t)(around->n - at) * sizeof *around->node);
    }
}

static double entries_around(const struct espi_place_graph *graph, const struct around *around)
{
    double entries = 1;
    for (int x = 0; x < around->n && entries < 1e300; x++)
        entries *= espi_place_methods(graph, around->node[x]);
    return entries;
}

static bool set_neighbours(const struct espi_place_graph *graph, struct around *around)
{
    for (int v = 0; v < graph->nodes; v++) {
        for (int i = 0; i < espi_place_arity(graph, v); i++) {
            int u = graph->operand[graph->node[v].first + i].from;
            if (espi_place_methods(graph, u) == 1 || espi_place_methods(graph, v) == 1)
                continue;
            if (!add_neighbour(&around[u], v) || !add_neighbour(&around[v], u))
                return false;
        }
    }
    return true;
}

/* Takes v out; its neighbours then stand in one table, if that is made. */
static bool take_out(const struct espi_place_elimination *e, struct around *around, struct heap *heap, int v)
{
    const struct around *mine = &around[v];
    for (int x = 0; x < mine->n; x++) {
        struct around *other = &around[mine->node[x]];
        remove_neighbour(other, v);
        for (int y = 0; y < mine->n && !e->wide; y++) {
            if (y != x && !add_neighbour(other, mine->node[y]))
                return false;
        }
        if (!push(heap, (struct candidate){entries_around(e->graph, other), mine->node[x]}))
            return false;
    }
    return true;
}

espi_status espi_place_find_order(struct espi_place_elimination *e)
{
    int n = e->graph->nodes, done = 0;
    struct around *around = calloc(n > 0 ? (size_t)n : 1, sizeof *around);
    struct heap heap = {0, 0, NULL};
    bool ok = around != NULL && set_neighbours(e->graph, around);

    for (int v = 0; ok && v < n; v++) {
        e->step[v] = -1;
        ok = push(&heap, (struct candidate){entries_around(e->graph, &around[v]), v});
    }
    while (ok && done < n) {
        struct candidate next = pop(&heap);
        /* What is true of the node now is in the heap, too, and comes later when it is more. */
        if (e->step[next.node] >= 0 || next.entries != entries_around(e->graph, &around[next.node]))
            continue;
        e->wide = e->wide || next.entries > (double)e->max_entries;
        e->step[next.node] = done;
        e->order[done++] = next.node;
        ok = take_out(e, around, &heap, next.node);
    }
    for (int v = 0; around != NULL && v < n; v++)
        free(around[v].node);
    free(around);
    free(heap.at);
    return ok ? ESPI_OK : ESPI_ERR_MEMORY;
}
