#include "mpi/lease.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/real.h"

enum { TRIAL = 4, SHORTEST_LEASE = 8, LONGEST_LEASE = 1024, UNSTEADY_MANY = 4, UNSTEADY_REST = 64 };

/* A method must be this much better in the model to be tried, and in measurements to be taken instead of the library. */
#define MODEL_MARGIN 0.95
#define MEASURED_MARGIN 0.98

/* What the root sends first. */
struct decision {
    int64_t length;
    int32_t method, slack, fresh, children; /* fresh: a tree follows; children: entries of its child array */
};

static double *at(double *table, int method)
{
    return &table[1 + method];
}

static bool is_gather(const struct espi_lease *lease)
{
    return lease->family == ESPI_LEASE_GATHERV || lease->family == ESPI_LEASE_GATHER;
}

/* ---- the root's side ---- */

static bool build(const struct espi_lease *lease, const struct espi_lease_comm *comm,
                  const struct espi_commtree_model *model, const int64_t *sizes, int method, struct espi_commtree *tree)
{
    struct espi_commtree_problem problem = {comm->size, sizes, lease->root, *model, (size_t)64 << 20};
    return espi_commtree_build_compact((enum espi_commtree_kind)method, &problem, tree) == ESPI_OK;
}

static void predict(struct espi_lease *lease, const struct espi_lease_comm *comm,
                    const struct espi_commtree_model *model, const int64_t *sizes)
{
    static const int kinds[] = {ESPI_COMMTREE_LINEAR, ESPI_COMMTREE_BINOMIAL, ESPI_COMMTREE_ADAPTIVE,
                                ESPI_COMMTREE_OPTIMAL};
    enum espi_commtree_op op = is_gather(lease) ? ESPI_COMMTREE_GATHER : ESPI_COMMTREE_SCATTER;
    for (int m = 0; m < ESPI_METHODS; m++)
        lease->predicted[m] = lease->measured[m] = -1;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct espi_commtree tree = ESPI_COMMTREE_INIT;
        double time;
        if (kinds[k] == ESPI_COMMTREE_OPTIMAL && comm->size > 2048)
            continue;
        if (build(lease, comm, model, sizes, kinds[k], &tree)) {
            if (tree.ordered && espi_commtree_time(&tree, sizes, model, op, &time) == ESPI_OK)
                *at(lease->predicted, kinds[k]) = time;
            espi_commtree_release(&tree);
        }
    }
    /* The library's own: one message after the other at the root (Gatherv, Scatterv), or a binomial tree. */
    *at(lease->predicted, ESPI_METHOD_LIBRARY) =
        *at(lease->predicted, lease->family == ESPI_LEASE_GATHERV || lease->family == ESPI_LEASE_SCATTERV
                                  ? ESPI_COMMTREE_LINEAR
                                  : ESPI_COMMTREE_BINOMIAL);
}

/* The methods to try, most promising first; the library is always among them. */
static void choose_candidates(struct espi_lease *lease, const struct espi_settings *settings)
{
    double library = *at(lease->predicted, ESPI_METHOD_LIBRARY), best = library;
    lease->methods = lease->trying = 0;
    if (settings->tree != 0) { /* forced by name: no library, no measurement */
        lease->order[lease->methods++] = settings->tree - 1;
        return;
    }
    for (int m = 0; m < ESPI_COMMTREE_KINDS; m++)
        if (*at(lease->predicted, m) >= 0 && *at(lease->predicted, m) < best)
            best = *at(lease->predicted, m);
    bool justified = best < MODEL_MARGIN * library || settings->collectives == ESPI_MODE_ALWAYS;
    /* The linear tree always: it is what the library does at best, with all receives posted at once, so trying it costs
       nothing, and the library may do worse than the model thinks (messages for empty blocks, say). */
    for (int m = 0; m < ESPI_COMMTREE_KINDS; m++)
        if (*at(lease->predicted, m) >= 0 && ((justified && *at(lease->predicted, m) <= 1.25 * best) ||
                                              (m == ESPI_COMMTREE_LINEAR && *at(lease->predicted, m) <= 1.25 * library)))
            lease->order[lease->methods++] = m;
    for (int i = 1; i < lease->methods; i++)
        for (int k = i; k > 0 && *at(lease->predicted, lease->order[k]) < *at(lease->predicted, lease->order[k - 1]); k--) {
            int other = lease->order[k];
            lease->order[k] = lease->order[k - 1];
            lease->order[k - 1] = other;
        }
    if (settings->collectives != ESPI_MODE_ALWAYS || lease->methods == 0)
        lease->order[lease->methods++] = ESPI_METHOD_LIBRARY;
    else
        lease->methods = 1;
}

static int fastest_method(struct espi_lease *lease)
{
    double library = *at(lease->measured, ESPI_METHOD_LIBRARY), best = -1;
    int method = lease->order[0];
    for (int i = 0; i < lease->methods; i++) {
        double time = *at(lease->measured, lease->order[i]);
        if (time >= 0 && (best < 0 || time < best)) {
            best = time;
            method = lease->order[i];
        }
    }
    if (method != ESPI_METHOD_LIBRARY && library >= 0 && best > MEASURED_MARGIN * library)
        method = ESPI_METHOD_LIBRARY;
    return method;
}

/* Sizes so different that what was measured says nothing any more. */
static bool is_other_problem(const int64_t *a, const int64_t *b, int p)
{
    double sum_a = 1, sum_b = 1, difference = 0;
    for (int i = 0; i < p; i++) {
        sum_a += (double)a[i];
        sum_b += (double)b[i];
        difference += a[i] > b[i] ? (double)(a[i] - b[i]) : (double)(b[i] - a[i]);
    }
    return difference > 0.25 * (sum_a < sum_b ? sum_a : sum_b);
}

/* Fills the decision, and the tree where a fresh one is needed. */
static void decide(struct espi_lease *lease, const struct espi_lease_comm *comm, const struct espi_commtree_model *model,
                   const struct espi_settings *settings, const int64_t *sizes, struct decision *decision,
                   struct espi_commtree *tree)
{
    bool first = !lease->planned, changed = lease->changed;
    int64_t length = lease->length;
    int method;
    size_t bytes = (size_t)comm->size * sizeof *sizes;
    if (first)
        lease->planned = malloc(bytes);
    *decision = (struct decision){SHORTEST_LEASE, ESPI_METHOD_LIBRARY, 0, 0, 0};
    if (!lease->planned)
        return;
    changed = !first && (changed || memcmp(lease->planned, sizes, bytes) != 0);
    lease->unsteady = changed ? lease->unsteady + 1 : 0;
    bool other = first || (changed && is_other_problem(lease->planned, sizes, comm->size));
    if (other) {
        predict(lease, comm, model, sizes);
        choose_candidates(lease, settings);
    }
    memcpy(lease->planned, sizes, bytes);
    if (other && lease->unsteady >= UNSTEADY_MANY && settings->tree == 0) {
        /* Nothing that could be learnt holds for long enough to be used. */
        lease->unsteady = 0;
        decision->length = UNSTEADY_REST;
        lease->trying = lease->methods;
        return;
    }
    if (lease->methods == 1) {
        method = lease->order[0];
        length = other ? SHORTEST_LEASE : length * 2;
    } else if (lease->trying < lease->methods) {
        method = lease->order[lease->trying++];
        length = TRIAL;
    } else {
        method = fastest_method(lease);
        length = length < SHORTEST_LEASE || changed ? SHORTEST_LEASE : length * 2;
    }
    decision->length = length < LONGEST_LEASE ? length : LONGEST_LEASE;
    decision->slack = changed || lease->plan.slack_percent ? 25 : 0;
    if (method != ESPI_METHOD_LIBRARY && (method != lease->method || changed || other || !lease->plan.ranks)) {
        if (!build(lease, comm, model, sizes, method, tree) || !tree->ordered) {
            espi_commtree_release(tree);
            return; /* the library */
        }
        decision->fresh = 1;
        decision->children = tree->first[comm->size];
    }
    decision->method = method;
}

/* ---- all ranks ---- */

/* All of a tree as bytes: sizes, parent, first, child. */
size_t espi_lease_tree_bytes(int size)
{
    size_t p = (size_t)size;
    return p * sizeof(int64_t) + (3 * p + 1) * sizeof(int32_t);
}

static int exchange_tree(const struct espi_lease *lease, const struct espi_lease_comm *comm, int children,
                         const struct espi_commtree *tree)
{
    size_t p = (size_t)comm->size;
    int32_t *numbers = (int32_t *)(comm->tree + p * sizeof(int64_t));
    if (comm->rank == lease->root) {
        memcpy(comm->tree, lease->planned, p * sizeof(int64_t));
        memcpy(numbers, tree->parent, p * sizeof(int32_t));
        memcpy(numbers + p, tree->first, (p + 1) * sizeof(int32_t));
        memcpy(numbers + 2 * p + 1, tree->child, (size_t)children * sizeof(int32_t));
    }
    return espi_real.Bcast(comm->tree, (int)espi_lease_tree_bytes(comm->size), MPI_BYTE, lease->root, comm->own);
}

static void adopt(struct espi_lease *lease, const struct espi_lease_comm *comm, int slack)
{
    size_t p = (size_t)comm->size;
    int32_t *numbers = (int32_t *)(comm->tree + p * sizeof(int64_t));
    struct espi_commtree tree = {.p = comm->size, .root = lease->root, .ordered = true, .parent = (int *)numbers,
                                 .first = (int *)(numbers + p), .child = (int *)(numbers + 2 * p + 1)};
    espi_treeplan_release(&lease->plan);
    espi_treeplan_make(&tree, (const int64_t *)comm->tree, comm->rank, slack, &lease->plan);
}

/* Every rank makes the same calls here, whatever happens to it. A rank that is short of memory for its plan says so in
   the vote at the end, and then all use the library. */
static void renew(struct espi_lease *lease, struct espi_lease_comm *comm, const struct espi_commtree_model *model,
                  const struct espi_settings *settings, const int64_t *sizes)
{
    struct decision decision = {0, ESPI_METHOD_LIBRARY, 0, 0, 0};
    struct espi_commtree tree = ESPI_COMMTREE_INIT;
    double slowest = -1, mine = lease->fastest;
    int rc = espi_real.Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, lease->root, comm->own);
    if (comm->rank == lease->root) {
        if (slowest >= 0 && !lease->changed) {
            double *known = at(lease->measured, lease->method);
            /* The latest word counts most, one slow lease does not turn everything over. */
            *known = *known < 0 ? slowest : 0.5 * (*known + slowest);
        }
        decide(lease, comm, model, settings, sizes, &decision, &tree);
    }
    if (!rc)
        rc = espi_real.Bcast(&decision, (int)sizeof decision, MPI_BYTE, lease->root, comm->own);
    if (decision.fresh) {
        int bad, any = 1;
        rc = exchange_tree(lease, comm, decision.children, &tree);
        if (!rc)
            adopt(lease, comm, decision.slack);
        bad = rc || !lease->plan.ranks;
        if (espi_real.Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, comm->own) || any)
            decision.method = ESPI_METHOD_LIBRARY;
    }
    espi_commtree_release(&tree);
    lease->method = rc ? ESPI_METHOD_LIBRARY : decision.method;
    lease->length = lease->remaining = decision.length > 0 ? decision.length : SHORTEST_LEASE;
    lease->changed = false;
    lease->fastest = -1;
}

int espi_lease_begin(struct espi_lease *lease, struct espi_lease_comm *comm, const struct espi_commtree_model *model,
                     const struct espi_settings *settings, const int64_t *sizes)
{
    lease->calls++;
    if (lease->calls == 1) {
        lease->method = ESPI_METHOD_LIBRARY;
        lease->fastest = -1;
        return lease->method;
    }
    if (lease->remaining == 0)
        renew(lease, comm, model, settings, sizes);
    else if (comm->rank == lease->root && lease->planned && !lease->changed)
        lease->changed = memcmp(lease->planned, sizes, (size_t)comm->size * sizeof *sizes) != 0;
    lease->remaining--;
    return lease->method;
}

void espi_lease_end(struct espi_lease *lease, double seconds)
{
    if (lease->calls > 1 && (lease->fastest < 0 || seconds < lease->fastest))
        lease->fastest = seconds;
}

void espi_lease_release(struct espi_lease *lease)
{
    espi_treeplan_release(&lease->plan);
    free(lease->planned);
    memset(lease, 0, sizeof *lease);
}
