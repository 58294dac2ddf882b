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
    LONGEST_UNMEASURED = 4096
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
    double sorted[ESPI_SELECT_KEPT];
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
    double a[ESPI_SELECT_KEPT], b[ESPI_SELECT_KEPT];
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

static void add_times(struct espi_method_times *times, const double *seconds, int n)
{
    for (int i = 0; i < n && times->n < ESPI_SELECT_KEPT; i++)
        times->s[times->n++] = seconds[i];
}

void espi_method_select_start(struct espi_method_select *select, int n)
{
    memset(select, 0, sizeof *select);
    select->n = n < ESPI_SELECT_MOST ? n : ESPI_SELECT_MOST;
    select->state = n > 1 ? ESPI_SELECT_CONTEST : ESPI_SELECT_LIBRARY;
    select->challenger = 1;
    select->agreed = true;
    select->backoff = n > 1 ? FIRST_BACKOFF : INT64_MAX;
    select->used[0] = true;
    select->now = -1;
    for (int i = 0; i < ESPI_SELECT_MOST; i++)
        select->latest[i] = -1;
}

bool espi_method_select_settled(const struct espi_method_select *select)
{
    return select->state != ESPI_SELECT_CONTEST;
}

static struct espi_method_lease trial(struct espi_method_select *select, int candidate)
{
    int skip = select->used[candidate] ? WARM : WARM_FIRST;
    select->used[candidate] = true;
    select->now = candidate;
    select->length = skip + TRIAL;
    return (struct espi_method_lease){candidate, skip, select->length, false, false};
}

/* The library and another in turns. */
static struct espi_method_lease interleave(struct espi_method_select *select, int candidate)
{
    int skip = select->used[candidate] ? WARM_TURNS : WARM_FIRST;
    select->used[candidate] = select->interleaved = true;
    select->now = candidate;
    select->length = skip + ESPI_SELECT_SAMPLES;
    return (struct espi_method_lease){candidate, skip, select->length, false, true};
}

static struct espi_method_lease hold_library(struct espi_method_select *select)
{
    bool anew = select->state != ESPI_SELECT_LIBRARY || select->now != 0;
    select->state = ESPI_SELECT_LIBRARY;
    select->now = select->incumbent = 0;
    if (anew)
        select->since = 0;
    select->length = anew ? SHORTEST : select->length * 4;
    if (select->length > LONGEST_UNMEASURED)
        select->length = LONGEST_UNMEASURED;
    select->since += select->length;
    return (struct espi_method_lease){0, 0, select->length, true, false};
}

static struct espi_method_lease hold_tree(struct espi_method_select *select, bool anew)
{
    select->state = ESPI_SELECT_TREE;
    select->now = select->incumbent;
    select->length = anew ? SHORTEST : select->length * 2 < LONGEST ? select->length * 2 : LONGEST;
    select->since += select->length;
    return (struct espi_method_lease){select->incumbent, 1, select->length, false, false};
}

static struct espi_method_lease give_up(struct espi_method_select *select)
{
    select->backoff = select->backoff < LAST_BACKOFF ? select->backoff * 4 : select->backoff;
    return hold_library(select);
}

/* Calls by the tree after which a trial of the library costs no more than a twenty-fifth of them; twice as many each
   time that the tree was confirmed. The first come soon: what a trial in one go says need not hold among a program's
   other calls. */
static void set_interval(struct espi_method_select *select, int64_t least)
{
    double library = select->latest[0], tree = select->latest[select->incumbent];
    double calls = library > tree && tree > 0 ? (library / tree - 1) * (TRIAL + WARM) * 25 : 0;
    select->interval = calls < (double)least ? least : calls < LAST_INTERVAL ? (int64_t)calls : LAST_INTERVAL;
    if (select->interval > LAST_INTERVAL)
        select->interval = LAST_INTERVAL;
    select->since = 0;
}

static void next_challenger(struct espi_method_select *select)
{
    if (select->incumbent == 0)
        select->of_incumbent.n = 0; /* in turns with one of them only */
    select->challenger++;
    select->rounds = 0;
    select->agreed = true;
    select->of_challenger.n = 0;
}

static struct espi_method_lease contest(struct espi_method_select *select, const double *seconds, int n)
{
    bool interleaved_now = select->incumbent == 0;
    if (interleaved_now && (select->now < 0 || n == 0))
        return interleave(select, select->challenger);
    if (!interleaved_now && n == 0)
        return trial(select, select->now);
    if (!interleaved_now && select->now == select->incumbent) {
        add_times(&select->of_incumbent, seconds, n);
        return trial(select, select->challenger);
    }
    if (!interleaved_now)
        add_times(&select->of_challenger, seconds, n);
    select->rounds++;
    select->agreed = select->agreed && select->latest[select->challenger] < CLEAR * select->latest[select->incumbent];
    switch (espi_method_select_verdict(&select->of_incumbent, &select->of_challenger, select->rounds, select->agreed,
                                       interleaved_now)) {
    case ESPI_VERDICT_CHANGE:
        select->incumbent = select->challenger;
        select->of_incumbent = select->of_challenger;
        if (interleaved_now)
            select->of_incumbent.n = 0; /* says nothing of calls in a row */
        next_challenger(select);
        break;
    case ESPI_VERDICT_KEEP:
        next_challenger(select);
        break;
    default:
        return interleaved_now ? interleave(select, select->challenger) : trial(select, select->incumbent);
    }
    if (select->challenger < select->n && select->incumbent == 0)
        return interleave(select, select->challenger);
    if (select->challenger < select->n) /* what is held just was measured, perhaps, by calls in a row */
        return trial(select, interleaved_now ? select->incumbent : select->challenger);
    if (select->incumbent == 0)
        return give_up(select);
    set_interval(select, FIRST_INTERVAL);
    return hold_tree(select, true);
}

static struct espi_method_lease contest_anew(struct espi_method_select *select)
{
    select->state = ESPI_SELECT_CONTEST;
    select->incumbent = select->rounds = select->challenger = 0;
    select->of_incumbent.n = 0;
    select->now = -1;
    next_challenger(select);
    return contest(select, NULL, 0);
}

/* Times of a lease in turns, of both methods. Returns n, or 0 where some are missing: which is whose is not known
   then. */
static int take_turns(struct espi_method_select *select, const double *seconds, int n)
{
    struct espi_method_times both[2] = {{0}, {0}};
    if (n < ESPI_SELECT_SAMPLES)
        return 0;
    for (int k = 0; k < n; k++)
        add_times(&both[espi_method_turn(k) ? 0 : 1], &seconds[k], 1);
    select->latest[0] = espi_method_select_median(both[0].s, both[0].n);
    select->latest[select->now] = espi_method_select_median(both[1].s, both[1].n);
    if (select->state == ESPI_SELECT_CONTEST) {
        add_times(&select->of_incumbent, both[0].s, both[0].n);
        add_times(&select->of_challenger, both[1].s, both[1].n);
    }
    return n;
}

struct espi_method_lease espi_method_select_next(struct espi_method_select *select, const double *seconds, int n)
{
    double library = select->latest[0];
    n = select->now < 0 || n < 0 ? 0 : n < ESPI_SELECT_SAMPLES ? n : ESPI_SELECT_SAMPLES;
    if (select->interleaved)
        n = take_turns(select, seconds, n);
    else if (n > 0)
        select->latest[select->now] = espi_method_select_median(seconds, n);
    select->interleaved = false;
    select->empty = n > 0 || select->now < 0 || select->state == ESPI_SELECT_LIBRARY ? 0 : select->empty + 1;
    if (select->empty > MOST_EMPTY) {
        select->empty = 0;
        return give_up(select);
    }
    switch (select->state) {
    case ESPI_SELECT_CONTEST:
        return contest(select, seconds, n);
    case ESPI_SELECT_TREE:
        if (select->since >= select->interval || (n > 0 && select->latest[select->incumbent] > library)) {
            select->state = ESPI_SELECT_CHECK;
            return interleave(select, select->incumbent);
        }
        return hold_tree(select, false);
    case ESPI_SELECT_CHECK:
        if (n > 0 && select->latest[0] <= select->latest[select->incumbent])
            return give_up(select);
        if (n > 0)
            set_interval(select, 2 * select->interval);
        return hold_tree(select, true);
    default:
        return select->now == 0 && select->since >= select->backoff ? contest_anew(select) : hold_library(select);
    }
}
