/*
 * A fuzz target for the texts that espalier place reads; scripts/dev/fuzz builds and runs it. The input is the file.
 * It is read, or refused with a message and a line of it. What was read is planned by every planner that can; their
 * costs must be the same, and those of the methods they name. Positions that are chosen must cost what is said, and
 * those that are given stay.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "fuzz.h"
#include "placement/file.h"

static bool is_near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static void check_plan(const struct espi_place_graph *graph, const struct espi_place_plan *plan)
{
    REQUIRE(plan->lower_bound <= plan->cost || is_near(plan->lower_bound, plan->cost));
    REQUIRE(!plan->exact || is_near(plan->lower_bound, plan->cost));
    for (int v = 0; v < graph->nodes; v++) {
        int methods = graph->op[graph->node[v].op].methods;
        if (isinf(plan->cost))
            REQUIRE(plan->method[v] == ESPI_PLACE_NONE);
        else
            REQUIRE(plan->method[v] >= 0 && plan->method[v] < methods);
        REQUIRE(plan->runner_up == NULL || plan->runner_up[v] >= plan->cost ||
                is_near(plan->runner_up[v], plan->cost) ||
                (plan->way == ESPI_PLACE_SEARCH && isnan(plan->runner_up[v])));
    }
    REQUIRE(isinf(plan->cost) || is_near(espi_place_total(graph, plan->method), plan->cost));
}

/* Names are such that every form of output can have them. */
static void check_names(const struct espi_place_file *file)
{
    char buf[ESPI_PLACE_NAME];
    for (int v = 0; v < file->graph.nodes && v < 20; v++) {
        for (int p = 0; p < file->graph.placements && p < 20; p++) {
            const char *name = espi_place_name(file, v, p, buf);
            REQUIRE(name[0] != '\0' && strpbrk(name, "\"\\<>&") == NULL);
        }
    }
}

static void check_positions(struct espi_place_positions *p)
{
    double cost, sum = 0;
    int64_t before = 0, after = 0, around = p->space == ESPI_PLACE_RING ? p->around[0] : INT64_MAX;
    for (int v = 0; v < p->nodes; v++)
        before += p->spot[0][v].fixed ? p->spot[0][v].at % around : 0;
    espi_status status = espi_place_positions_choose(p, (size_t)1 << 26, &cost);
    REQUIRE(status == ESPI_OK || status == ESPI_ERR_LIMIT || status == ESPI_ERR_OVERFLOW);
    if (status != ESPI_OK)
        return;
    for (int v = 0; v < p->nodes; v++) {
        sum += espi_place_positions_move(p, v);
        after += p->spot[0][v].fixed ? p->spot[0][v].at : 0;
    }
    REQUIRE(is_near(sum, cost));
    REQUIRE((after - before) % around == 0);
}

int fuzz_place(const uint8_t *data, size_t size)
{
    struct espi_place_file file;
    struct espi_place_file_error error;
    size_t lines = 1;
    double cost = -1;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    if (espi_place_file_parse((const char *)data, size, &file, &error) != ESPI_OK) {
        REQUIRE(error.line <= lines && error.what[0] != '\0');
        for (const char *c = error.what; *c != '\0'; c++)
            REQUIRE(*c >= ' ' && *c <= '~');
        return 0;
    }
    if (file.kind == ESPI_PLACE_FILE_POSITIONS) {
        check_positions(&file.positions);
        espi_place_file_release(&file);
        return 0;
    }
    check_names(&file);
    for (int way = ESPI_PLACE_TREE; way < ESPI_PLACE_WAYS; way++) {
        struct espi_place_options options = {.way = (enum espi_place_way)way, .runner_up = true,
                                             .max_bytes = (size_t)1 << 26, .max_entries = size % 7 == 0 ? 16 : 4096,
                                             .max_steps = 2000};
        struct espi_place_plan plan;
        if (way == ESPI_PLACE_TREE && file.graph.shared)
            continue;
        espi_status status = espi_place_plan(&file.graph, &options, &plan);
        REQUIRE(status == ESPI_OK || status == ESPI_ERR_LIMIT ||
                (way == ESPI_PLACE_CUT && status == ESPI_ERR_ARGUMENT));
        if (status != ESPI_OK)
            continue;
        check_plan(&file.graph, &plan);
        REQUIRE(cost < 0 || !plan.exact || is_near(cost, plan.cost));
        cost = plan.exact ? plan.cost : cost;
        espi_place_plan_release(&plan);
    }
    espi_place_file_release(&file);
    return 0;
}
