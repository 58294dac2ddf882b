#include "cli/gather.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MOST = ESPI_COMMTREE_KINDS };

/* The algorithms for one sort of work; the first ones are `all`. */
static const struct offer {
    const char *where; /* in error messages */
    int all, n, list[MOST];
} blocks_offer = {"", 5, 7, {ESPI_COMMTREE_LINEAR, ESPI_COMMTREE_BINARY, ESPI_COMMTREE_BINOMIAL,
                             ESPI_COMMTREE_ADAPTIVE, ESPI_COMMTREE_OPTIMAL, ESPI_COMMTREE_UNORDERED,
                             ESPI_COMMTREE_TWOSIZE}},
  links_offer = {" with --links", 4, 4, {ESPI_COMMTREE_LINEAR, ESPI_COMMTREE_BINOMIAL, ESPI_COMMTREE_ADAPTIVE,
                                         ESPI_COMMTREE_OPTIMAL}},
  equal_offer = {" for a broadcast or reduction", 4, 4, {ESPI_COMMTREE_LINEAR, ESPI_COMMTREE_BINOMIAL,
                                                         GATHER_ORDERED, ESPI_COMMTREE_OPTIMAL}};

static const struct offer *offer_of(const struct gather_work *work)
{
    return work->traffic.size == NULL ? &equal_offer : work->traffic.links != NULL ? &links_offer : &blocks_offer;
}

const char *gather_name(int algorithm)
{
    return algorithm == GATHER_ORDERED ? "ordered" : espi_commtree_kind_name((enum espi_commtree_kind)algorithm);
}

/* The algorithm of this name, if it is on offer; else -1. */
static int find_algorithm(const struct offer *offer, const char *name)
{
    enum espi_commtree_kind kind;
    int found = -1;
    if (strcmp(name, gather_name(GATHER_ORDERED)) == 0)
        found = GATHER_ORDERED;
    else if (espi_commtree_kind_parse(name, &kind))
        found = (int)kind;
    for (int x = 0; x < offer->n; x++) {
        if (offer->list[x] == found)
            return found;
    }
    return -1;
}

static int wrong_algorithm(const struct offer *offer, const char *found, size_t len)
{
    char all[160] = "";
    for (int x = 0; x < offer->n; x++) {
        strncat(all, x == 0 ? "" : ", ", sizeof all - strlen(all) - 1);
        strncat(all, gather_name(offer->list[x]), sizeof all - strlen(all) - 1);
    }
    return cli_usage("--algorithm: expected %s or all%s, found '%.*s'", all, offer->where, len > 40 ? 40 : (int)len,
                     found);
}

int gather_algorithms(const struct gather_work *work, const char *names, int list[GATHER_ALGORITHMS], int *n)
{
    const struct offer *offer = offer_of(work);
    *n = 0;
    for (const char *at = names;; at++) {
        size_t len = strcspn(at, ",");
        char name[24] = "";
        if (len < sizeof name)
            memcpy(name, at, len);
        if (*n + offer->all > GATHER_ALGORITHMS)
            return cli_usage("--algorithm: expected fewer names");
        if (strcmp(name, "all") == 0) {
            memcpy(list + *n, offer->list, (size_t)offer->all * sizeof *list);
            *n += offer->all;
        } else {
            list[*n] = find_algorithm(offer, name);
            if (list[*n] < 0)
                return wrong_algorithm(offer, at, len);
            ++*n;
        }
        at += len;
        if (*at == '\0')
            return CLI_OK;
    }
}

/* A broadcast or reduction. Linear and binomial trees do not depend on sizes, if there are any data; all roots are as
   good as rank 0. */
static espi_status build_equal(const struct gather_work *work, int algorithm, struct espi_commtree *tree)
{
    struct espi_commtree_problem problem = work->problem;
    size_t p = (size_t)problem.p;
    if (problem.root == ESPI_COMMTREE_BEST)
        problem.root = 0;
    if (algorithm == ESPI_COMMTREE_OPTIMAL || algorithm == GATHER_ORDERED)
        return espi_commtree_broadcast(problem.p, problem.root, &work->traffic, algorithm == GATHER_ORDERED, tree);
    int64_t *ones = malloc(p * sizeof *ones);
    if (ones == NULL)
        return ESPI_ERR_MEMORY;
    for (size_t v = 0; v < p; v++)
        ones[v] = 1;
    problem.size = ones;
    espi_status status = espi_commtree_build((enum espi_commtree_kind)algorithm, &problem, tree);
    free(ones);
    return status;
}

/* Trees that know nothing of links: with the best root, every rank with data is tried. */
static espi_status build_over_links(const struct gather_work *work, int algorithm, struct espi_commtree *tree)
{
    struct espi_commtree_problem problem = work->problem;
    double best = 0;
    int first = 0;
    bool any = false;
    if (algorithm == ESPI_COMMTREE_OPTIMAL)
        return espi_commtree_optimal_links(work->traffic.links, problem.size, problem.root, work->traffic.op, tree);
    while (first < problem.p && problem.size[first] == 0)
        first++;
    if (problem.root == ESPI_COMMTREE_BEST && first == problem.p)
        problem.root = 0;
    if (problem.root != ESPI_COMMTREE_BEST)
        return espi_commtree_build((enum espi_commtree_kind)algorithm, &problem, tree);
    *tree = ESPI_COMMTREE_INIT;
    for (int root = first; root < problem.p; root++) {
        struct espi_commtree next;
        double time;
        if (problem.size[root] == 0)
            continue;
        problem.root = root;
        espi_status status = espi_commtree_build((enum espi_commtree_kind)algorithm, &problem, &next);
        if (status == ESPI_OK)
            status = espi_commtree_schedule(&next, &work->traffic, NULL, NULL, &time);
        if (status == ESPI_OK && (!any || time < best)) {
            espi_commtree_release(tree);
            *tree = next;
            best = time;
            any = true;
            continue;
        }
        espi_commtree_release(&next);
        if (status != ESPI_OK) {
            espi_commtree_release(tree);
            return status;
        }
    }
    return ESPI_OK;
}

espi_status gather_build(const struct gather_work *work, int algorithm, struct espi_commtree *tree, double *time)
{
    const struct offer *offer = offer_of(work);
    espi_status status = offer == &equal_offer   ? build_equal(work, algorithm, tree)
                         : offer == &links_offer ? build_over_links(work, algorithm, tree)
                                                 : espi_commtree_build((enum espi_commtree_kind)algorithm,
                                                                       &work->problem, tree);
    if (status != ESPI_OK)
        return status;
    status = espi_commtree_schedule(tree, &work->traffic, NULL, NULL, time);
    if (status != ESPI_OK)
        espi_commtree_release(tree);
    return status;
}

espi_status gather_bound(const struct gather_work *work, double *bound)
{
    const struct espi_commtree_links *links = work->traffic.links;
    struct espi_commtree_problem problem = work->problem;
    struct espi_commtree tree;
    if (work->traffic.size == NULL) { /* the optimal tree is proved to be that */
        espi_status status = gather_build(work, ESPI_COMMTREE_OPTIMAL, &tree, bound);
        if (status == ESPI_OK)
            espi_commtree_release(&tree);
        return status;
    }
    if (links != NULL && links->p > 1) { /* no link is better than the best in everything */
        problem.model.alpha = links->alpha[1];
        problem.model.beta = links->beta[1];
        for (int i = 0; i < links->p; i++) {
            for (int j = 0; j < links->p; j++) {
                size_t at = (size_t)i * (size_t)links->p + (size_t)j;
                if (i != j && links->alpha[at] < problem.model.alpha)
                    problem.model.alpha = links->alpha[at];
                if (i != j && links->beta[at] < problem.model.beta)
                    problem.model.beta = links->beta[at];
            }
        }
    }
    return espi_commtree_lower_bound(&problem, bound);
}
