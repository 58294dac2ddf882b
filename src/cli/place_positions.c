/* What espalier place prints of positions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/place.h"

/* A node's position, "3,-1", or the one where its value is wanted by its consumer. */
static const char *position_text(const struct espi_place_positions *p, int node, bool wanted, char buf[PLACE_LINE])
{
    size_t at = 0;
    for (int x = 0; x < p->axes && at < PLACE_LINE; x++) {
        const struct espi_place_spot *spot = &p->spot[x][node];
        int64_t value = wanted ? p->spot[x][spot->parent].at - spot->shift : spot->at;
        if (p->space == ESPI_PLACE_RING)
            value = (value % p->around[x] + p->around[x]) % p->around[x];
        at += (size_t)snprintf(buf + at, PLACE_LINE - at, "%s%" PRId64, x > 0 ? "," : "", value);
    }
    return buf;
}

static bool is_moved(const struct espi_place_positions *p, int node, char from[PLACE_LINE], char to[PLACE_LINE])
{
    return strcmp(position_text(p, node, false, from), position_text(p, node, true, to)) != 0;
}

void place_print_positions(const struct espi_place_file *file, double cost)
{
    const struct espi_place_positions *p = &file->positions;
    char text[CLI_NUMBER], from[PLACE_LINE], to[PLACE_LINE];
    int width[2] = {4, 8};
    for (int v = 0; v < p->nodes; v++) {
        int len[2] = {(int)strlen(file->node[v]), (int)strlen(position_text(p, v, false, from))};
        for (int c = 0; c < 2; c++)
            width[c] = len[c] > width[c] ? len[c] : width[c];
    }
    printf("cost  %s\n\n%-*s  %*s\n", cli_number(text, cost), width[0], "node", width[1], "position");
    for (int v = 0; v < p->nodes; v++)
        printf("%-*s  %*s%s\n", width[0], file->node[v], width[1], position_text(p, v, false, from),
               p->spot[0][v].fixed ? "  given" : "");
    printf("\n");
    for (int v = 0; v < p->nodes; v++) {
        for (int x = p->first[v]; x < p->first[v + 1]; x++) {
            int u = p->operand[x];
            if (is_moved(p, u, from, to))
                printf("move %s for %s: %s to %s, %s\n", file->node[u], file->node[v], from, to,
                       cli_number(text, espi_place_positions_move(p, u)));
        }
    }
}

/* Names need no escapes: their letters are plain. */
void place_print_positions_json(const struct espi_place_file *file, double cost)
{
    const struct espi_place_positions *p = &file->positions;
    char text[CLI_NUMBER], from[PLACE_LINE], to[PLACE_LINE];
    printf("{\n  \"cost\": %s,\n  \"nodes\": [\n", cli_number(text, cost));
    for (int v = 0; v < p->nodes; v++) {
        printf("    {\"node\": \"%s\", \"position\": [%s], \"given\": %s,\n     \"operands\": [", file->node[v],
               position_text(p, v, false, from), p->spot[0][v].fixed ? "true" : "false");
        for (int x = p->first[v]; x < p->first[v + 1]; x++) {
            int u = p->operand[x];
            position_text(p, u, false, from);
            printf("%s{\"node\": \"%s\", \"from\": [%s], \"to\": [%s], \"cost\": %s}", x > p->first[v] ? ", " : "",
                   file->node[u], from, position_text(p, u, true, to),
                   cli_number(text, espi_place_positions_move(p, u)));
        }
        printf("]}%s\n", v + 1 < p->nodes ? "," : "");
    }
    printf("  ]\n}\n");
}

static int drawn_arity(const void *of, int node)
{
    const struct espi_place_positions *p = &((const struct espi_place_file *)of)->positions;
    return p->first[node + 1] - p->first[node];
}

static int drawn_operand(const void *of, int node, int i)
{
    const struct espi_place_positions *p = &((const struct espi_place_file *)of)->positions;
    return p->operand[p->first[node] + i];
}

static void drawn_box(const void *of, int node, char line[PLACE_LINES][PLACE_LINE])
{
    const struct espi_place_file *file = of;
    snprintf(line[0], PLACE_LINE, "%s", file->node[node]);
    position_text(&file->positions, node, false, line[1]);
    snprintf(line[2], PLACE_LINE, "%s", file->positions.spot[0][node].fixed ? "given" : "");
}

static void drawn_edge(const void *of, int node, int i, struct place_edge *edge)
{
    const struct espi_place_file *file = of;
    char cost[CLI_NUMBER], from[PLACE_LINE], to[PLACE_LINE];
    edge->from = drawn_operand(of, node, i);
    edge->moves = is_moved(&file->positions, edge->from, from, to);
    if (edge->moves)
        snprintf(edge->text, PLACE_LINE, "%.150s to %.150s: %s", from, to,
                 cli_number(cost, espi_place_positions_move(&file->positions, edge->from)));
    else
        snprintf(edge->text, PLACE_LINE, "%s", from);
}

struct place_drawing place_drawing_of_positions(const struct espi_place_file *file, double cost)
{
    return (struct place_drawing){file,          file->positions.nodes, cost,      drawn_arity,
                                  drawn_operand, drawn_box,             drawn_edge};
}
