/* Properties of tables that shorter methods rest on. */
#include <math.h>

#include "placement/internal.h"

static bool is_same(struct espi_place_cost a, struct espi_place_cost b)
{
    return a.fixed == b.fixed && (a.each == b.each || isinf(a.fixed));
}

bool espi_place_is_discrete(const struct espi_place_graph *graph, int table, struct espi_place_cost *change)
{
    int s = graph->placements;

    *change = s > 1 ? espi_place_entry(graph, table, 1, 0) : (struct espi_place_cost){0, 0};
    for (int to = 0; to < s; to++) {
        for (int from = 0; from < s; from++) {
            struct espi_place_cost c = espi_place_entry(graph, table, from, to);
            if (from == to ? c.fixed != 0 || c.each != 0 : !is_same(c, *change))
                return false;
        }
    }
    return true;
}

static void find_way_round(const struct espi_place_graph *graph, int table, struct espi_place_metric *metric)
{
    int s = graph->placements;
    for (int to = 0; to < s; to++) {
        for (int by = 0; by < s; by++) {
            struct espi_place_cost second = espi_place_entry(graph, table, by, to);
            for (int from = 0; from < s; from++) {
                struct espi_place_cost first = espi_place_entry(graph, table, from, by);
                struct espi_place_cost both = {first.fixed + second.fixed, first.each + second.each};
                if (!espi_place_is_at_most(espi_place_entry(graph, table, from, to), both)) {
                    metric->triangle = false;
                    metric->from = from;
                    metric->by = by;
                    metric->to = to;
                    return;
                }
            }
        }
    }
}

void espi_place_table_metric(const struct espi_place_graph *graph, int table, struct espi_place_metric *metric)
{
    int s = graph->placements;

    *metric = (struct espi_place_metric){true, true, true, true, false, {0, 0}, -1, -1, -1};
    metric->discrete = espi_place_is_discrete(graph, table, &metric->change);
    for (int to = 0; to < s; to++) {
        for (int from = 0; from < s; from++) {
            struct espi_place_cost c = espi_place_entry(graph, table, from, to);
            bool free = c.fixed == 0 && c.each == 0;
            metric->symmetric = metric->symmetric && is_same(c, espi_place_entry(graph, table, to, from));
            metric->zero = metric->zero && (from != to || free);
            metric->separate = metric->separate && (from == to || !free);
        }
    }
    find_way_round(graph, table, metric);
}
