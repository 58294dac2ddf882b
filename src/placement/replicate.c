/* Replication by a minimum cut, found by Dinic's algorithm for maximum flows.

   The source is on the side of what is kept once, the sink on that of what is replicated. An arc from the source to v
   is cut when v is replicated, one from v to the sink when it is not, one from u to v when u is kept once and v is
   replicated. */
#include "placement/replicate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "placement/internal.h"

struct arc {
    int to, next;
    double left; /* capacity that is not used; arc x and x ^ 1 are each other's way back */
};

struct network {
    int nodes, arcs;
    struct arc *arc;
    int *first, *level, *current, *queue; /* of each node */
    int *path;                            /* arcs from the source on */
};

static void add_arc(struct network *net, int from, int to, double capacity)
{
    for (int way = 0; way < 2; way++) {
        net->arc[net->arcs] = (struct arc){way == 0 ? to : from, net->first[way == 0 ? from : to],
                                           way == 0 ? capacity : 0};
        net->first[way == 0 ? from : to] = net->arcs++;
    }
}

/* Levels by the fewest arcs that still have room, from the source; whether the sink has one. */
static bool set_levels(struct network *net, int source, int sink)
{
    int head = 0, tail = 0;
    for (int v = 0; v < net->nodes; v++)
        net->level[v] = -1;
    net->level[source] = 0;
    net->queue[tail++] = source;
    while (head < tail) {
        int v = net->queue[head++];
        for (int x = net->first[v]; x >= 0; x = net->arc[x].next) {
            if (net->arc[x].left > 0 && net->level[net->arc[x].to] < 0) {
                net->level[net->arc[x].to] = net->level[v] + 1;
                net->queue[tail++] = net->arc[x].to;
            }
        }
    }
    return net->level[sink] >= 0;
}

/* The next path through rising levels, in net->path; its length, 0 when there is none left. */
static int find_path(struct network *net, int source, int sink)
{
    int length = 0, v = source;
    while (v != sink) {
        int x = net->current[v];
        while (x >= 0 && !(net->arc[x].left > 0 && net->level[net->arc[x].to] == net->level[v] + 1))
            x = net->arc[x].next;
        net->current[v] = x;
        if (x >= 0) {
            net->path[length++] = x;
            v = net->arc[x].to;
        } else if (length > 0) { /* a dead end: back, and past the arc that led here */
            v = net->arc[net->path[--length] ^ 1].to;
            net->current[v] = net->arc[net->current[v]].next;
        } else {
            return 0;
        }
    }
    return length;
}

/* The largest flow; INFINITY when there is no bound. */
static double push_all(struct network *net, int source, int sink)
{
    double flow = 0;
    while (set_levels(net, source, sink)) {
        memcpy(net->current, net->first, (size_t)net->nodes * sizeof *net->current);
        for (int length; (length = find_path(net, source, sink)) > 0;) {
            double room = INFINITY;
            for (int k = 0; k < length; k++)
                room = net->arc[net->path[k]].left < room ? net->arc[net->path[k]].left : room;
            if (isinf(room))
                return INFINITY;
            for (int k = 0; k < length; k++) {
                net->arc[net->path[k]].left -= room;
                net->arc[net->path[k] ^ 1].left += room;
            }
            flow += room;
        }
    }
    return flow;
}

static bool is_wrong(double cost)
{
    return !(cost >= 0);
}

espi_status espi_place_replicate(const struct espi_place_copies *node, int n, const struct espi_place_read *read,
                                 int reads, bool *replicated, double *cost)
{
    if (n < 0 || n > INT32_MAX / 16 || reads < 0 || reads > INT32_MAX / 16)
        return ESPI_ERR_ARGUMENT;
    for (int v = 0; v < n; v++) {
        if (is_wrong(node[v].once) || is_wrong(node[v].replicated))
            return ESPI_ERR_ARGUMENT;
    }
    for (int r = 0; r < reads; r++) {
        if (read[r].from < 0 || read[r].from >= n || read[r].to < 0 || read[r].to >= n || is_wrong(read[r].broadcast))
            return ESPI_ERR_ARGUMENT;
    }
    struct network net = {.nodes = n + 2};
    size_t nodes = (size_t)net.nodes, arcs = 4 * (size_t)n + 2 * (size_t)reads;
    net.arc = espi_place_array(arcs, sizeof *net.arc);
    int *all = espi_place_array(5 * nodes, sizeof *all);
    espi_status status = net.arc != NULL && all != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
    if (status == ESPI_OK) {
        net.first = all;
        net.level = all + nodes;
        net.current = all + 2 * nodes;
        net.queue = all + 3 * nodes;
        net.path = all + 4 * nodes;
        for (size_t v = 0; v < nodes; v++)
            net.first[v] = -1;
        for (int v = 0; v < n; v++) {
            add_arc(&net, n, v, node[v].replicated);
            add_arc(&net, v, n + 1, node[v].once);
        }
        for (int r = 0; r < reads; r++)
            add_arc(&net, read[r].from, read[r].to, read[r].broadcast);
        *cost = push_all(&net, n, n + 1);
        if (!isinf(*cost)) {
            /* What still reaches the sink must be replicated; all else can be kept once. The levels of a graph with
               its arcs turned around tell. */
            for (int x = 0; x < net.arcs; x += 2) {
                double left = net.arc[x].left;
                net.arc[x].left = net.arc[x + 1].left;
                net.arc[x + 1].left = left;
            }
            set_levels(&net, n + 1, n);
            for (int v = 0; v < n; v++)
                replicated[v] = net.level[v] >= 0;
        }
    }
    free(net.arc);
    free(all);
    return status;
}
