#include "mpi/treejudge.h"

#include <string.h>

enum { TRIAL = 6, WARM = 2, WARM_FIRST = 3, ROUNDS = 4, SHORTEST = 8, LONGEST = 1024, LONGEST_QUIET = 4096 };
enum { FIRST_INTERVAL = 64, LAST_INTERVAL = 16384, FIRST_PATIENCE = 4096, LAST_PATIENCE = 1 << 20, MOST_EMPTY = 3 };

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

double espi_treejudge_median(const double *seconds, int n)
{
    double sorted[ESPI_JUDGE_KEPT];
    sort(sorted, seconds, n);
    return middle(sorted, n);
}

/* The sum of ranks of b is three standard deviations below what it would be if both came from one source. */
static bool is_below(const double *a, int na, const double *b, int nb)
{
    double wins = 0;
    for (int i = 0; i < na; i++)
        for (int k = 0; k < nb; k++)
            wins += b[k] < a[i] ? 1 : b[k] > a[i] ? 0 : 0.5;
    double excess = wins - 0.5 * na * nb;
    return excess > 0 && excess * excess >= 9.0 * na * nb * (na + nb + 1) / 12;
}

enum espi_verdict espi_treejudge_verdict(const struct espi_judge_times *held,
                                         const struct espi_judge_times *challenger, int rounds, bool agreed)
{
    double a[ESPI_JUDGE_KEPT], b[ESPI_JUDGE_KEPT];
    int na = held->n, nb = challenger->n;
    if (na < 4 || nb < 4)
        return rounds < ROUNDS ? ESPI_VERDICT_MORE : ESPI_VERDICT_KEEP;
    sort(a, held->s, na);
    sort(b, challenger->s, nb);
    double ratio = middle(b, nb) / middle(a, na), gap = a[0] - b[nb - 1];
    double spread = (a[na - 1] - a[0]) + (b[nb - 1] - b[0]);
    double noise = 0.5 * ((a[3 * na / 4] - a[na / 4]) / middle(a, na) + (b[3 * nb / 4] - b[nb / 4]) / middle(b, nb));
    if (!(ratio <= 1) || (rounds > 1 && ratio > CLEAR))
        return ESPI_VERDICT_KEEP;
    if (ratio < CLEAR && gap > 0 && (gap >= 3 * spread || ratio < (rounds > 1 ? 0.6 : 0.35)))
        return ESPI_VERDICT_CHANGE;
    double clear = CLEAR - 2 * noise > CLEAR_IF_NOISY ? CLEAR - 2 * noise : CLEAR_IF_NOISY;
    if (rounds > 2 && agreed && ratio < clear && is_below(a, na, b, nb))
        return ESPI_VERDICT_CHANGE;
    return rounds < ROUNDS && agreed ? ESPI_VERDICT_MORE : ESPI_VERDICT_KEEP;
}

static void add(struct espi_judge_times *times, const double *seconds, int n)
{
    for (int i = 0; i < n && times->n < ESPI_JUDGE_KEPT; i++)
        times->s[times->n++] = seconds[i];
}

void espi_treejudge_start(struct espi_treejudge *judge, int n)
{
    memset(judge, 0, sizeof *judge);
    judge->n = n < ESPI_JUDGE_MOST ? n : ESPI_JUDGE_MOST;
    judge->state = n > 1 ? ESPI_JUDGE_CONTEST : ESPI_JUDGE_LIBRARY;
    judge->challenger = 1;
    judge->agreed = true;
    judge->patience = n > 1 ? FIRST_PATIENCE : INT64_MAX;
    judge->used[0] = true;
    judge->now = -1;
    for (int i = 0; i < ESPI_JUDGE_MOST; i++)
        judge->latest[i] = -1;
}

bool espi_treejudge_settled(const struct espi_treejudge *judge)
{
    return judge->state != ESPI_JUDGE_CONTEST;
}

static struct espi_judge_lease trial(struct espi_treejudge *judge, int candidate)
{
    int skip = judge->used[candidate] ? WARM : WARM_FIRST;
    judge->used[candidate] = true;
    judge->now = candidate;
    judge->length = skip + TRIAL;
    return (struct espi_judge_lease){candidate, skip, judge->length, false};
}

static struct espi_judge_lease hold_library(struct espi_treejudge *judge)
{
    bool anew = judge->state != ESPI_JUDGE_LIBRARY || judge->now != 0;
    judge->state = ESPI_JUDGE_LIBRARY;
    judge->now = judge->held = 0;
    if (anew)
        judge->since = 0;
    judge->length = anew ? SHORTEST : judge->length * 4 < LONGEST_QUIET ? judge->length * 4 : LONGEST_QUIET;
    judge->since += judge->length;
    return (struct espi_judge_lease){0, 0, judge->length, true};
}

static struct espi_judge_lease hold_tree(struct espi_treejudge *judge, bool anew)
{
    judge->state = ESPI_JUDGE_TREE;
    judge->now = judge->held;
    judge->length = anew ? SHORTEST : judge->length * 2 < LONGEST ? judge->length * 2 : LONGEST;
    judge->since += judge->length;
    return (struct espi_judge_lease){judge->held, 1, judge->length, false};
}

static struct espi_judge_lease give_up(struct espi_treejudge *judge)
{
    judge->patience = judge->patience < LAST_PATIENCE ? judge->patience * 4 : judge->patience;
    return hold_library(judge);
}

/* Calls by the tree after which a trial of the library costs no more than a twenty-fifth of them; twice as many each
   time that the tree was confirmed. The first come soon: what a trial in one go says need not hold among a program's
   other calls. */
static void set_interval(struct espi_treejudge *judge, int64_t least)
{
    double library = judge->latest[0], tree = judge->latest[judge->held];
    double calls = library > tree && tree > 0 ? (library / tree - 1) * (TRIAL + WARM) * 25 : 0;
    judge->interval = calls < (double)least ? least : calls < LAST_INTERVAL ? (int64_t)calls : LAST_INTERVAL;
    if (judge->interval > LAST_INTERVAL)
        judge->interval = LAST_INTERVAL;
    judge->since = 0;
}

static void next_challenger(struct espi_treejudge *judge)
{
    judge->challenger++;
    judge->rounds = 0;
    judge->agreed = true;
    judge->of_challenger.n = 0;
}

static struct espi_judge_lease contest(struct espi_treejudge *judge, const double *seconds, int n)
{
    if (judge->now < 0 || (n == 0 && judge->now == judge->held))
        return trial(judge, judge->held);
    if (n == 0)
        return trial(judge, judge->now);
    if (judge->now == judge->held) {
        add(&judge->of_held, seconds, n);
        return trial(judge, judge->challenger);
    }
    add(&judge->of_challenger, seconds, n);
    judge->rounds++;
    judge->agreed = judge->agreed && judge->latest[judge->challenger] < CLEAR * judge->latest[judge->held];
    switch (espi_treejudge_verdict(&judge->of_held, &judge->of_challenger, judge->rounds, judge->agreed)) {
    case ESPI_VERDICT_CHANGE:
        judge->held = judge->challenger;
        judge->of_held = judge->of_challenger;
        next_challenger(judge);
        break;
    case ESPI_VERDICT_KEEP:
        next_challenger(judge);
        break;
    default:
        return trial(judge, judge->held);
    }
    if (judge->challenger < judge->n) /* what is held was just measured: it need not be again, unless long ago */
        return judge->of_held.n > TRIAL && judge->held != judge->now ? trial(judge, judge->held)
                                                                    : trial(judge, judge->challenger);
    if (judge->held == 0)
        return give_up(judge);
    set_interval(judge, FIRST_INTERVAL);
    return hold_tree(judge, true);
}

static struct espi_judge_lease contest_anew(struct espi_treejudge *judge)
{
    judge->state = ESPI_JUDGE_CONTEST;
    judge->held = judge->rounds = judge->challenger = 0;
    judge->of_held.n = 0;
    judge->now = -1;
    next_challenger(judge);
    return contest(judge, NULL, 0);
}

struct espi_judge_lease espi_treejudge_next(struct espi_treejudge *judge, const double *seconds, int n)
{
    double library = judge->latest[0];
    n = judge->now < 0 || n < 0 ? 0 : n < ESPI_JUDGE_SAMPLES ? n : ESPI_JUDGE_SAMPLES;
    if (n > 0)
        judge->latest[judge->now] = espi_treejudge_median(seconds, n);
    judge->empty = n > 0 || judge->now < 0 || judge->state == ESPI_JUDGE_LIBRARY ? 0 : judge->empty + 1;
    if (judge->empty > MOST_EMPTY) {
        judge->empty = 0;
        return give_up(judge);
    }
    switch (judge->state) {
    case ESPI_JUDGE_CONTEST:
        return contest(judge, seconds, n);
    case ESPI_JUDGE_TREE:
        if (judge->since >= judge->interval || (n > 0 && judge->latest[judge->held] > library)) {
            judge->state = ESPI_JUDGE_CHECK;
            return trial(judge, 0);
        }
        return hold_tree(judge, false);
    case ESPI_JUDGE_CHECK:
        if (n > 0 && judge->latest[0] <= judge->latest[judge->held])
            return give_up(judge);
        if (n > 0)
            set_interval(judge, 2 * judge->interval);
        return hold_tree(judge, true);
    default:
        return judge->now == 0 && judge->since >= judge->patience ? contest_anew(judge) : hold_library(judge);
    }
}
