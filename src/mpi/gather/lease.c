#include "mpi/gather/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mpi/core/pmpi.h"
#include "mpi/gather/hand_down.h"

enum { SHORTEST_LEASE = 8, LONGEST_LEASE = 1024, UNSTEADY_MANY = 4, UNSTEADY_REST = 64, UNSTEADY_LONG = 4096 };

/* How much better a tree must be in the model to be tried: with few ranks little is to be won and the model says
   little; where ranks share memory it knows nothing of copies and processors. */
enum { FEW = 64 };
#define MARGIN 0.95
#define MARGIN_FEW 0.85
#define MARGIN_ONE_NODE 0.5

/* What the root sends first. */
struct decision {
    int64_t length, stride;
    int32_t state; /* enum espi_lease_state */
    int32_t method, slack;
    int32_t fresh; /* a plan follows, see hand_down.h */
    int32_t unmeasured, skip, interleaved; /* of the next lease, see method_select.h */
};
static const struct decision by_library = {.length = SHORTEST_LEASE, .stride = 1, .state = ESPI_LEASE_HOLDS,
                                           .method = ESPI_METHOD_LIBRARY, .unmeasured = 1};

static double *at(double *table, int method)
{
    return &table[1 + method];
}

/* ---- the root's side ---- */

/* The best tree that takes no longer to find than the ranks can wait in a synchronization (planning_seconds), for any
   number of them. */
static bool build_best(const struct espi_commtree_problem *problem, const struct espi_lease_comm *comm,
                       struct espi_commtree *tree)
{
    return (comm->mixed ? espi_commtree_two_level(problem, comm->levels, tree)
                        : espi_commtree_grouped(problem, comm->levels, tree)) == ESPI_OK;
}

/* What that takes the root, roughly (bench/commtree). */
static double planning_seconds(int size)
{
    double parts = size < 2 * ESPI_COMMTREE_GROUPED_RANKS ? size : 2 * ESPI_COMMTREE_GROUPED_RANKS;
    return 1e-8 * parts * parts + 2e-7 * size;
}

static bool build(const struct espi_lease *lease, const struct espi_lease_comm *comm,
                  const struct espi_commtree_model *model, const int64_t *sizes, int method,
                  struct espi_commtree *tree)
{
    struct espi_commtree_problem problem = {comm->size, sizes, lease->root, *model, (size_t)64 << 20};
    if (method == ESPI_COMMTREE_OPTIMAL)
        return build_best(&problem, comm, tree);
    return espi_commtree_build_compact((enum espi_commtree_kind)method, &problem, tree) == ESPI_OK;
}

static void predict(struct espi_lease *lease, const struct espi_lease_comm *comm,
                    const struct espi_commtree_model *model, const int64_t *sizes)
{
    static const int kinds[] = {ESPI_COMMTREE_LINEAR, ESPI_COMMTREE_BINOMIAL, ESPI_COMMTREE_ADAPTIVE,
                                ESPI_COMMTREE_OPTIMAL};
    enum espi_commtree_op op = espi_family_gathers(lease->family) ? ESPI_COMMTREE_GATHER : ESPI_COMMTREE_SCATTER;
    for (int m = 0; m < ESPI_METHODS; m++)
        lease->predicted[m] = lease->measured[m] = -1;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct espi_commtree tree = ESPI_COMMTREE_INIT;
        double time;
        if (build(lease, comm, model, sizes, kinds[k], &tree)) {
            espi_status timed = comm->levels ? espi_commtree_time_levels(&tree, sizes, comm->levels, op, &time)
                                             : espi_commtree_time(&tree, sizes, model, op, &time);
            if (tree.ordered && timed == ESPI_OK)
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

static bool is_new(struct espi_lease *lease, double time)
{
    for (int i = 0; i < lease->methods; i++)
        if (lease->order[i] != ESPI_METHOD_LIBRARY && *at(lease->predicted, lease->order[i]) == time)
            return false;
    return true;
}

/* The methods to try: the library, then trees, the most promising first. Of trees of equal time, mostly the same
   tree, one is tried. */
static void choose_candidates(struct espi_lease *lease, const struct espi_lease_comm *comm,
                              const struct espi_settings *settings, const int64_t *sizes)
{
    double library = *at(lease->predicted, ESPI_METHOD_LIBRARY), best = library;
    double margin = comm->one_node ? MARGIN_ONE_NODE : comm->size < FEW ? MARGIN_FEW : MARGIN;
    bool always = settings->collectives == ESPI_MODE_ALWAYS;
    lease->methods = 0;
    if (settings->tree != 0) { /* forced by name: no library, no measurement */
        lease->order[lease->methods++] = settings->tree - 1;
        return;
    }
    for (int m = 0; m < ESPI_COMMTREE_KINDS; m++)
        if (*at(lease->predicted, m) >= 0 && *at(lease->predicted, m) < best)
            best = *at(lease->predicted, m);
    lease->order[lease->methods++] = ESPI_METHOD_LIBRARY;
    /* Many empty blocks: a library that sends messages for them as well does worse than the model says of it. */
    int empty = 0;
    for (int i = 0; i < comm->size; i++)
        empty += sizes[i] == 0;
    bool many_empty = comm->size >= FEW && empty >= comm->size / 4 && !comm->one_node;
    for (int m = 0; m < ESPI_COMMTREE_KINDS; m++) {
        double time = *at(lease->predicted, m);
        bool better = always || time < margin * library || (many_empty && m == ESPI_COMMTREE_LINEAR);
        if (time >= 0 && time <= 1.25 * best && better && is_new(lease, time))
            lease->order[lease->methods++] = m;
    }
    for (int i = 2; i < lease->methods; i++)
        for (int k = i; k > 1 && *at(lease->predicted, lease->order[k]) < *at(lease->predicted, lease->order[k - 1]);
             k--) {
            int other = lease->order[k];
            lease->order[k] = lease->order[k - 1];
            lease->order[k - 1] = other;
        }
    if (always && lease->methods > 1) {
        lease->order[0] = lease->order[1];
        lease->methods = 1;
    }
}

static const char *name_of(int method)
{
    return method == ESPI_METHOD_LIBRARY ? "library" : espi_commtree_kind_name((enum espi_commtree_kind)method);
}

static void log_decision(const struct espi_lease *lease, const struct espi_lease_comm *comm,
                         const struct decision *decision)
{
    static const char *const families[] = {"Gatherv", "Scatterv", "Gather", "Scatter"};
    char text[512];
    size_t n = 0;
    text[0] = 0;
    for (int m = ESPI_METHOD_LIBRARY; m < ESPI_COMMTREE_KINDS && n < sizeof text; m++)
        if (lease->predicted[1 + m] >= 0)
            n += (size_t)snprintf(text + n, sizeof text - n, " %s %.1f/%.1f", name_of(m),
                                  lease->predicted[1 + m] * 1e6, lease->measured[1 + m] * 1e6);
    espi_log(ESPI_LOG_DEBUG,
             "MPI_%s, root %d of %d, after %lld calls: %s for %lld times %lld synchronizations%s; us "
             "predicted/measured:%s",
             families[lease->family], lease->root, comm->size, (long long)lease->calls,
             decision->state == ESPI_LEASE_HOLDS ? name_of(decision->method) : "no lease",
             (long long)decision->length, (long long)decision->stride,
             lease->select.state == ESPI_SELECT_CONTEST ? " (trial)"
             : lease->select.state == ESPI_SELECT_CHECK ? " (check)" : "", text);
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

static bool is_forced(const struct espi_lease *lease)
{
    return lease->methods == 1 && lease->order[0] != ESPI_METHOD_LIBRARY;
}

/* The turns of a tree that take twenty times what making it took. */
static int64_t turns_worth_planning(struct espi_lease *lease, int size, int method)
{
    double measured = *at(lease->measured, method), call = measured > 0 ? measured : *at(lease->predicted, method);
    double turns = call > 0 ? 20 * planning_seconds(size) / call : 0;
    return turns < LONGEST_LEASE ? (int64_t)turns : LONGEST_LEASE;
}

/* The plan that is to be handed down; false: none can be made. */
static bool plan_anew(struct espi_lease *lease, const struct espi_lease_comm *comm,
                      const struct espi_commtree_model *model, const int64_t *sizes, int method,
                      struct espi_whole_plan *whole)
{
    struct espi_commtree tree = ESPI_COMMTREE_INIT;
    bool good = build(lease, comm, model, sizes, method, &tree) && tree.ordered &&
                espi_whole_plan_make(&tree, sizes, whole) == ESPI_OK;
    espi_commtree_release(&tree);
    return good;
}

/* Fills the decision, and the plan where a fresh one is needed. `seconds`: of n calls of the lease that ended. */
static void decide(struct espi_lease *lease, const struct espi_lease_comm *comm,
                   const struct espi_commtree_model *model, const struct espi_settings *settings,
                   const int64_t *sizes, const double *seconds, int n, struct decision *decision,
                   struct espi_whole_plan *whole)
{
    bool first = !lease->planned, changed = lease->changed;
    size_t bytes = (size_t)comm->size * sizeof *sizes;
    if (first)
        lease->planned = malloc(bytes);
    *decision = by_library;
    if (!lease->planned)
        return;
    changed = !first && (changed || memcmp(lease->planned, sizes, bytes) != 0);
    bool other = first || (changed && is_other_problem(lease->planned, sizes, comm->size));
    lease->outdated = lease->outdated || changed || other;
    lease->unsteady = other && !first ? lease->unsteady + 1 : 0;
    if (other) {
        predict(lease, comm, model, sizes);
        choose_candidates(lease, comm, settings, sizes);
        espi_method_select_start(&lease->select, lease->methods);
        n = 0;
    }
    memcpy(lease->planned, sizes, bytes);
    if (lease->methods == 1 && !is_forced(lease)) {
        decision->state = ESPI_LEASE_WAITS; /* for other sizes */
        return;
    }
    if (lease->unsteady >= UNSTEADY_MANY && !is_forced(lease)) {
        /* Nothing that could be learnt holds for long enough to be used. */
        decision->length = lease->rest = lease->rest * 2 < UNSTEADY_REST  ? UNSTEADY_REST
                                         : lease->rest * 2 < UNSTEADY_LONG ? lease->rest * 2
                                                                            : UNSTEADY_LONG;
        return;
    }
    lease->rest = lease->unsteady ? lease->rest : 0;
    if (is_forced(lease)) {
        decision->method = lease->order[0];
        decision->length = other || changed ? SHORTEST_LEASE : lease->length * 2;
        decision->unmeasured = 0;
        decision->skip = 1;
    } else {
        struct espi_method_lease next = espi_method_select_next(&lease->select, seconds, n);
        decision->method = lease->order[next.candidate];
        decision->length = lease->select.state == ESPI_SELECT_TREE && changed ? SHORTEST_LEASE : next.length;
        decision->unmeasured = next.unmeasured;
        decision->skip = next.skip;
        decision->interleaved = next.interleaved;
    }
    if (decision->method != ESPI_METHOD_LIBRARY && decision->length > LONGEST_LEASE)
        decision->length = LONGEST_LEASE;
    decision->slack = changed || lease->plan.slack_percent ? 25 : 0;
    if (decision->method != ESPI_METHOD_LIBRARY &&
        (decision->method != lease->planned_for || lease->outdated || !lease->plan.ranks)) {
        lease->planned_for = decision->method;
        lease->outdated = false;
        if (!plan_anew(lease, comm, model, sizes, decision->method, whole)) {
            espi_method_select_start(&lease->select, 1);
            *decision = by_library;
            return;
        }
        decision->fresh = 1;
        int64_t turns = turns_worth_planning(lease, comm->size, decision->method);
        if (changed && !decision->interleaved && decision->length < turns)
            decision->length = turns;
    }
}

bool espi_lease_asks(struct espi_lease *lease, const struct espi_lease_comm *comm,
                     const struct espi_commtree_model *model, const struct espi_settings *settings,
                     const int64_t *sizes)
{
    size_t bytes = (size_t)comm->size * sizeof *sizes;
    bool first = !lease->planned;
    if (first)
        lease->planned = malloc(bytes);
    if (!lease->planned)
        return false;
    /* Another root may have been heard before, so what was found is found again. */
    if (first || is_other_problem(lease->planned, sizes, comm->size)) {
        memcpy(lease->planned, sizes, bytes);
        predict(lease, comm, model, sizes);
        choose_candidates(lease, comm, settings, sizes);
    }
    return lease->methods > 1 || is_forced(lease);
}

/* ---- all ranks ---- */

/* Of the turn that begins after so many synchronizations: its number among those that are counted; negative: before
   them. */
static int64_t counted_number(const struct espi_lease *lease, int64_t syncs)
{
    return (syncs - lease->begun) / lease->stride - lease->skip;
}

bool espi_is_in_step(int64_t calls, MPI_Comm comm)
{
    long long own[2] = {calls, -calls}, most[2] = {1, 0};
    return espi_pmpi.Allreduce(own, most, 2, MPI_LONG_LONG, MPI_MAX, comm) == MPI_SUCCESS && most[0] == -most[1];
}

enum { IRREGULAR = ESPI_SELECT_SAMPLES, MOST_CALLS, LEAST_CALLS, COLLECTED };
enum { NOT_IN_STEP = -1, REFUSED = -2 };

/* At the root: the times of all ranks that were measured in the lease that ended; returns how many, or one of the
   above. */
static int collect(struct espi_lease *lease, const struct espi_lease_comm *comm, double *seconds)
{
    double own[COLLECTED], most[COLLECTED], of[2][ESPI_SELECT_SAMPLES];
    int n = 0, each[2] = {0, 0};
    memcpy(own, lease->sample, sizeof lease->sample);
    own[IRREGULAR] = lease->irregular;
    own[MOST_CALLS] = (double)(lease->calls - lease->calls_before);
    own[LEAST_CALLS] = -own[MOST_CALLS];
    if (espi_pmpi.Reduce(own, most, COLLECTED, MPI_DOUBLE, MPI_MAX, lease->root, comm->own) ||
        comm->rank != lease->root)
        return 0;
    if (most[MOST_CALLS] + most[LEAST_CALLS] > 0)
        return NOT_IN_STEP;
    if (most[IRREGULAR] > 0)
        return REFUSED;
    if (lease->drifted || lease->unmeasured)
        return 0;
    for (int i = 0; i < ESPI_SELECT_SAMPLES; i++) {
        int whose = lease->interleaved && espi_method_turn(i);
        if (most[i] >= 0)
            seconds[n++] = of[whose][each[whose]++] = most[i];
    }
    if (each[0] > 0)
        *at(lease->measured, lease->method) = espi_method_select_median(of[0], each[0]);
    if (each[1] > 0)
        *at(lease->measured, ESPI_METHOD_LIBRARY) = espi_method_select_median(of[1], each[1]);
    return n;
}

/* Every rank makes the same calls here, whatever happens to it. Where one is short of memory for its plan all use the
   library. */
void espi_lease_renew(struct espi_lease *lease, struct espi_lease_comm *comm, const struct espi_commtree_model *model,
                      const struct espi_settings *settings, const int64_t *sizes, int64_t syncs, int64_t expected)
{
    struct decision decision = by_library;
    struct espi_whole_plan whole = {NULL, NULL};
    double seconds[ESPI_SELECT_SAMPLES];
    int n = collect(lease, comm, seconds);
    if (comm->rank == lease->root) {
        if (n >= 0) {
            decide(lease, comm, model, settings, sizes, seconds, n, &decision, &whole);
        } else if (n == REFUSED) {
            decision.state = ESPI_LEASE_ENDED;
        } else { /* as it is */
            decision.method = lease->now;
            decision.length = 2 * lease->length < LONGEST_LEASE ? 2 * lease->length : LONGEST_LEASE;
        }
        lease->irregular_seen = n < 0;
        decision.stride = expected;
        if (espi_log_enabled(ESPI_LOG_DEBUG))
            log_decision(lease, comm, &decision);
    }
    int rc = espi_pmpi.Bcast(&decision, (int)sizeof decision, MPI_BYTE, lease->root, comm->own);
    if (decision.fresh) {
        espi_subtree_plan_release(&lease->plan);
        rc = espi_plan_hand_down(&whole, comm->own, comm->size, comm->rank, lease->root, decision.slack,
                                 &lease->plan);
        if (rc == MPI_ERR_NO_MEM) {
            rc = MPI_SUCCESS;
            decision = by_library;
            espi_method_select_start(&lease->select, 1);
        }
    }
    espi_whole_plan_release(&whole);
    lease->state = rc ? ESPI_LEASE_ENDED : (enum espi_lease_state)decision.state;
    lease->method = rc ? ESPI_METHOD_LIBRARY : decision.method;
    lease->begun = syncs;
    lease->length = decision.length > 0 ? decision.length : SHORTEST_LEASE;
    lease->stride = decision.stride > 0 ? decision.stride : 1;
    lease->unmeasured = decision.unmeasured;
    lease->skip = decision.skip;
    lease->interleaved = !rc && decision.interleaved && lease->method != ESPI_METHOD_LIBRARY;
    lease->changed = lease->drifted = false;
    for (int i = 0; i < ESPI_SELECT_SAMPLES; i++)
        lease->sample[i] = -1;
    lease->measured_calls = 0;
    lease->seconds = 0;
    lease->now = lease->method; /* the calls are in step, or this was so before */
    if (lease->skip == 0)
        espi_lease_turn(lease, comm, syncs);
}

/* The same turns on all ranks are measured, spread over the lease. */
static void keep_sample(struct espi_lease *lease, int64_t turn)
{
    int64_t step = (lease->length - lease->skip + ESPI_SELECT_SAMPLES - 1) / ESPI_SELECT_SAMPLES;
    if (!lease->unmeasured && turn >= 0 && turn < lease->length - lease->skip && turn % step == 0 &&
        lease->measured_calls > 0)
        lease->sample[turn / step] = lease->seconds / (double)lease->measured_calls;
}

void espi_lease_turn(struct espi_lease *lease, const struct espi_lease_comm *comm, int64_t syncs)
{
    int64_t turn = counted_number(lease, syncs);
    if ((syncs - lease->begun) % lease->stride != 0)
        return;
    keep_sample(lease, turn - 1);
    lease->seconds = 0;
    lease->measured_calls = 0;
    if (!lease->interleaved)
        return;
    int next = turn >= 0 && espi_method_turn(turn) ? ESPI_METHOD_LIBRARY : lease->method;
    if (next == lease->now)
        return;
    if (espi_is_in_step(lease->calls - lease->calls_before, comm->own)) {
        lease->now = next;
        return;
    }
    lease->interleaved = false; /* the rest of it as it is now, and nothing can be learnt */
    lease->unmeasured = true;
    lease->method = lease->now;
}

void espi_lease_compare(struct espi_lease *lease, int size, const int64_t *sizes)
{
    if (lease->drifted || !lease->planned || memcmp(lease->planned, sizes, (size_t)size * sizeof *sizes) == 0)
        return;
    lease->changed = true;
    lease->drifted = is_other_problem(lease->planned, sizes, size);
}

void espi_lease_release(struct espi_lease *lease)
{
    espi_subtree_plan_release(&lease->plan);
    free(lease->planned);
    lease->planned = NULL;
    lease->state = ESPI_LEASE_ENDED;
    lease->now = lease->method = ESPI_METHOD_LIBRARY;
}
