#include "commtree/method_select.h"

#include <string.h>

enum {
    TRIAL = 6,
    WARM = 2,
    WARM_TURNS = 1,
    WARM_FIRST = 3,
    ROUNDS = 4,
    SHORTEST = 8,
    LONGEST = 1024,
    LONGEST_QUIET = 4096
};
enum { FIRST_INTERVAL = 64, LAST_INTERVAL = 16384, FIRST_BACKOFF = 4096, LAST_BACKOFF = 1 << 20, MOST_EMPTY = 3 };

/* Ratios of medians that are enough: where calls take all the same time, and where they do not. In between it falls
   with the spread (half of all calls lie within it). */
#define CLEAR 0.98
#define CLEAR_IF_NOISY 0.92

static void sort(double *to, const double *from, int n)
{
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && to[k - 1] > from[i]; k--)
            to[k] = to[k - 1];
        to[k] = from[i];
    }
}

static double middle(const double *sorted, int n)
{
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

double espi_method_select_median(const double *seconds, int n)
{
    double sorted[ESPI_JUDGE_KEPT];
    sort(sorted, seconds, n);
    return middle(sorted, n);
}

/* The sum of ranks of b is some standard deviations below what it would be if both came from one source. Eight and
   eight come to 3.36 at most. */
static bool is_below(const double *a, int na, const double *b, int nb, double deviations)
{
    double wins = 0;
    for (int i = 0; i < na; i++)
        for (int k = 0; k < nb; k++)
            wins += b[k] < a[i] ? 1 : b[k] > a[i] ? 0 : 0.5;
    double excess = wins - 0.5 * na * nb;
    return excess > 0 && excess * excess >= deviations * deviations * na * nb * (na + nb + 1) / 12;
}

/* Sorted times without the longest eighth, which are others' doing. */
static double mean_of_most(const double *sorted, int n)
{
    double sum = 0;
    int most = n - n / 8;
    for (int i = 0; i < most; i++)
        sum += sorted[i];
    return sum / most;
}

static enum espi_verdict verdict_interleaved(const double *a, int na, const double *b, int nb, int rounds,
                                             double clear, double noise)
{
    double ratio = middle(b, nb) / middle(a, na), means = mean_of_most(b, nb) / mean_of_most(a, na);
    double worse = ratio > means ? ratio : means;
    if (worse < clear && is_below(a, na, b, nb, 3.3)) /* asked up to ROUNDS times */
        return ESPI_VERDICT_CHANGE;
    /* What may still turn out well: within the spread at first, less each time. */
    double hope = 1 + noise / rounds - 0.02 * (rounds - 1);
    return rounds < ROUNDS && worse < (hope < 1.2 ? hope : 1.2) ? ESPI_VERDICT_MORE : ESPI_VERDICT_KEEP;
}

enum espi_verdict espi_method_select_verdict(const struct espi_method_times *incumbent,
                                             const struct espi_method_times *challenger, int rounds, bool agreed,
                                             bool interleaved)
{
    double a[ESPI_JUDGE_KEPT], b[ESPI_JUDGE_KEPT];
    int na = incumbent->n, nb = challenger->n;
    if (na < 4 || nb < 4)
        return rounds < ROUNDS ? ESPI_VERDICT_MORE : ESPI_VERDICT_KEEP;
    sort(a, incumbent->s, na);
    sort(b, challenger->s, nb);
    double ratio = middle(b, nb) / middle(a, na), gap = a[0] - b[nb - 1];
    double spread = (a[na - 1] - a[0]) + (b[nb - 1] - b[0]);
    double noise = 0.5 * ((a[3 * na / 4] - a[na / 4]) / middle(a, na) + (b[3 * nb / 4] - b[nb / 4]) / middle(b, nb));
    double clear = CLEAR - 2 * noise > CLEAR_IF_NOISY ? CLEAR - 2 * noise : CLEAR_IF_NOISY;
    if (interleaved)
        return verdict_interleaved(a, na, b, nb, rounds, clear, noise);
    if (!(ratio <= 1) || (rounds > 1 && ratio > CLEAR))
        return ESPI_VERDICT_KEEP;
    if (ratio < CLEAR && gap > 0 && (gap >= 3 * spread || ratio < (rounds > 1 ? 0.6 : 0.35)))
        return ESPI_VERDICT_CHANGE;
    if (rounds > 2 && agreed && ratio < clear && is_below(a, na, b, nb, 3))
        return ESPI_VERDICT_CHANGE;
    return rounds < ROUNDS && agreed ? ESPI_VERDICT_MORE : ESPI_VERDICT_KEEP;
}

static void add(struct espi_method_times *times, const double *seconds, int n)
{
    for (int i = 0; i < n && times->n < ESPI_JUDGE_KEPT; i++)
        times->s[times->n++] = seconds[i];
}

void espi_method_select_start(struct espi_method_select *judge, int n)
{
    memset(judge, 0, sizeof *judge);
    judge->n = n < ESPI_JUDGE_MOST ? n : ESPI_JUDGE_MOST;
    judge->state = n > 1 ? ESPI_JUDGE_CONTEST : ESPI_JUDGE_LIBRARY;
    judge->challenger = 1;
    judge->agreed = true;
    judge->backoff = n > 1 ? FIRST_BACKOFF : INT64_MAX;
    judge->used[0] = true;
    judge->now = -1;
    for (int i = 0; i < ESPI_JUDGE_MOST; i++)
        judge->latest[i] = -1;
}

bool espi_method_select_settled(const struct espi_method_select *judge)
{
    return judge->state != ESPI_JUDGE_CONTEST;
}

static struct espi_method_lease trial(struct espi_method_select *judge, int candidate)
{
    int skip = judge->used[candidate] ? WARM : WARM_FIRST;
    judge->used[candidate] = true;
    judge->now = candidate;
    judge->length = skip + TRIAL;
    return (struct espi_method_lease){candidate, skip, judge->length, false, false};
}

/* The library and another in turns. */
static struct espi_method_lease interleave(struct espi_method_select *judge, int candidate)
{
    int skip = judge->used[candidate] ? WARM_TURNS : WARM_FIRST;
    judge->used[candidate] = judge->interleaved = true;
    judge->now = candidate;
    judge->length = skip + ESPI_JUDGE_SAMPLES;
    return (struct espi_method_lease){candidate, skip, judge->length, false, true};
}

static struct espi_method_lease hold_library(struct espi_method_select *judge)
{
    bool anew = judge->state != ESPI_JUDGE_LIBRARY || judge->now != 0;
    judge->state = ESPI_JUDGE_LIBRARY;
    judge->now = judge->incumbent = 0;
    if (anew)
        judge->since = 0;
    judge->length = anew ? SHORTEST : judge->length * 4 < LONGEST_QUIET ? judge->length * 4 : LONGEST_QUIET;
    judge->since += judge->length;
    return (struct espi_method_lease){0, 0, judge->length, true, false};
}

static struct espi_method_lease hold_tree(struct espi_method_select *judge, bool anew)
{
    judge->state = ESPI_JUDGE_TREE;
    judge->now = judge->incumbent;
    judge->length = anew ? SHORTEST : judge->length * 2 < LONGEST ? judge->length * 2 : LONGEST;
    judge->since += judge->length;
    return (struct espi_method_lease){judge->incumbent, 1, judge->length, false, false};
}

static struct espi_method_lease give_up(struct espi_method_select *judge)
{
    judge->backoff = judge->backoff < LAST_BACKOFF ? judge->backoff * 4 : judge->backoff;
    return hold_library(judge);
}

/* Calls by the tree after which a trial of the library costs no more than a twenty-fifth of them; twice as many each
   time that the tree was confirmed. The first come soon: what a trial in one go says need not hold among a program's
   other calls. */
static void set_interval(struct espi_method_select *judge, int64_t least)
{
    double library = judge->latest[0], tree = judge->latest[judge->incumbent];
    double calls = library > tree && tree > 0 ? (library / tree - 1) * (TRIAL + WARM) * 25 : 0;
    judge->interval = calls < (double)least ? least : calls < LAST_INTERVAL ? (int64_t)calls : LAST_INTERVAL;
    if (judge->interval > LAST_INTERVAL)
        judge->interval = LAST_INTERVAL;
    judge->since = 0;
}

static void next_challenger(struct espi_method_select *judge)
{
    if (judge->incumbent == 0)
        judge->of_incumbent.n = 0; /* in turns with one of them only */
    judge->challenger++;
    judge->rounds = 0;
    judge->agreed = true;
    judge->of_challenger.n = 0;
}

static struct espi_method_lease contest(struct espi_method_select *judge, const double *seconds, int n)
{
    bool interleaved_now = judge->incumbent == 0;
    if (interleaved_now && (judge->now < 0 || n == 0))
        return interleave(judge, judge->challenger);
    if (!interleaved_now && n == 0)
        return trial(judge, judge->now);
    if (!interleaved_now && judge->now == judge->incumbent) {
        add(&judge->of_incumbent, seconds, n);
        return trial(judge, judge->challenger);
    }
    if (!interleaved_now)
        add(&judge->of_challenger, seconds, n);
    judge->rounds++;
    judge->agreed = judge->agreed && judge->latest[judge->challenger] < CLEAR * judge->latest[judge->incumbent];
    switch (espi_method_select_verdict(&judge->of_incumbent, &judge->of_challenger, judge->rounds, judge->agreed,
                                       interleaved_now)) {
    case ESPI_VERDICT_CHANGE:
        judge->incumbent = judge->challenger;
        judge->of_incumbent = judge->of_challenger;
        if (interleaved_now)
            judge->of_incumbent.n = 0; /* says nothing of calls in a row */
        next_challenger(judge);
        break;
    case ESPI_VERDICT_KEEP:
        next_challenger(judge);
        break;
    default:
        return interleaved_now ? interleave(judge, judge->challenger) : trial(judge, judge->incumbent);
    }
    if (judge->challenger < judge->n && judge->incumbent == 0)
        return interleave(judge, judge->challenger);
    if (judge->challenger < judge->n) /* what is held need not be measured again if it just was, by calls in a row */
        return trial(judge, interleaved_now ? judge->incumbent : judge->challenger);
    if (judge->incumbent == 0)
        return give_up(judge);
    set_interval(judge, FIRST_INTERVAL);
    return hold_tree(judge, true);
}

static struct espi_method_lease contest_anew(struct espi_method_select *judge)
{
    judge->state = ESPI_JUDGE_CONTEST;
    judge->incumbent = judge->rounds = judge->challenger = 0;
    judge->of_incumbent.n = 0;
    judge->now = -1;
    next_challenger(judge);
    return contest(judge, NULL, 0);
}

/* Times of a lease in turns, of both methods. Returns n, or 0 where some are missing: which is whose is not known
   then. */
static int take_turns(struct espi_method_select *judge, const double *seconds, int n)
{
    struct espi_method_times both[2] = {{0}, {0}};
    if (n < ESPI_JUDGE_SAMPLES)
        return 0;
    for (int k = 0; k < n; k++)
        add(&both[espi_method_turn(k) ? 0 : 1], &seconds[k], 1);
    judge->latest[0] = espi_method_select_median(both[0].s, both[0].n);
    judge->latest[judge->now] = espi_method_select_median(both[1].s, both[1].n);
    if (judge->state == ESPI_JUDGE_CONTEST) {
        add(&judge->of_incumbent, both[0].s, both[0].n);
        add(&judge->of_challenger, both[1].s, both[1].n);
    }
    return n;
}

struct espi_method_lease espi_method_select_next(struct espi_method_select *judge, const double *seconds, int n)
{
    double library = judge->latest[0];
    n = judge->now < 0 || n < 0 ? 0 : n < ESPI_JUDGE_SAMPLES ? n : ESPI_JUDGE_SAMPLES;
    if (judge->interleaved)
        n = take_turns(judge, seconds, n);
    else if (n > 0)
        judge->latest[judge->now] = espi_method_select_median(seconds, n);
    judge->interleaved = false;
    judge->empty = n > 0 || judge->now < 0 || judge->state == ESPI_JUDGE_LIBRARY ? 0 : judge->empty + 1;
    if (judge->empty > MOST_EMPTY) {
        judge->empty = 0;
        return give_up(judge);
    }
    switch (judge->state) {
    case ESPI_JUDGE_CONTEST:
        return contest(judge, seconds, n);
    case ESPI_JUDGE_TREE:
        if (judge->since >= judge->interval || (n > 0 && judge->latest[judge->incumbent] > library)) {
            judge->state = ESPI_JUDGE_CHECK;
            return interleave(judge, judge->incumbent);
        }
        return hold_tree(judge, false);
    case ESPI_JUDGE_CHECK:
        if (n > 0 && judge->latest[0] <= judge->latest[judge->incumbent])
            return give_up(judge);
        if (n > 0)
            set_interval(judge, 2 * judge->interval);
        return hold_tree(judge, true);
    default:
        return judge->now == 0 && judge->since >= judge->backoff ? contest_anew(judge) : hold_library(judge);
    }
}
