/* Chooses a tree by predicted time. */
#include <float.h>

#include "commtree/internal.h"

#define DEFAULT_OPTIMAL_RANKS 2048
#define PLAIN_RANKS 256 /* where the fast method does not hold, the plain one is cubic */

espi_status espi_commtree_choose(const struct espi_commtree_problem *problem, int optimal_ranks,
                                 struct espi_commtree *tree, struct espi_commtree_choice *choice)
{
    /* From simple to elaborate: on a tie the earlier one stays. */
    static const enum espi_commtree_kind order[] = {ESPI_COMMTREE_LINEAR, ESPI_COMMTREE_BINOMIAL,
                                                    ESPI_COMMTREE_ADAPTIVE, ESPI_COMMTREE_TWOSIZE,
                                                    ESPI_COMMTREE_OPTIMAL};
    struct espi_compact c;
    *tree = ESPI_COMMTREE_INIT;
    *choice = (struct espi_commtree_choice){ESPI_COMMTREE_LINEAR, DBL_MAX, 0, {0}};
    for (int k = 0; k < ESPI_COMMTREE_KINDS; k++)
        choice->predicted[k] = -1;
    espi_status status = espi_commtree_lower_bound(problem, &choice->bound);
    if (status == ESPI_OK)
        status = espi_compact_make(problem, false, &c);
    if (status != ESPI_OK)
        return status;
    int most = optimal_ranks > 0 ? optimal_ranks : DEFAULT_OPTIMAL_RANKS;
    if (!espi_commtree_monotone(&c, &problem->model) && most > PLAIN_RANKS)
        most = PLAIN_RANKS;
    bool optimal = c.n <= most;
    espi_compact_release(&c);
    for (size_t x = 0; x < sizeof order / sizeof *order; x++) {
        struct espi_commtree next;
        double time;
        if (order[x] == ESPI_COMMTREE_OPTIMAL && !optimal)
            continue;
        status = espi_commtree_build_compact(order[x], problem, &next);
        if (status == ESPI_ERR_LIMIT)
            continue;
        if (status != ESPI_OK)
            goto fail;
        status = espi_commtree_time(&next, problem->size, &problem->model, ESPI_COMMTREE_GATHER, &time);
        if (status != ESPI_OK) {
            espi_commtree_release(&next);
            goto fail;
        }
        choice->predicted[order[x]] = time;
        if (time < choice->time * (1 - 16 * DBL_EPSILON)) {
            espi_commtree_release(tree);
            *tree = next;
            choice->time = time;
            choice->kind = order[x];
        } else {
            espi_commtree_release(&next);
        }
    }
    return ESPI_OK;
fail:
    espi_commtree_release(tree);
    return status;
}
