#include "mpi/packed/way_trial.h"

#include <float.h>
#include <limits.h>
#include <string.h>

#include "mpi/packed/stream_type.h"
#include "stats/stats.h"

/*
 * How many calls a trial takes: those of a run, which are one more each time up to `longer` more, so that what comes
 * again and again does not always meet the same way; those of them that are not counted; times of each way and call;
 * and how many are enough of calls that come seldom. Of long messages fewer: each takes more of the program's time,
 * and tells more, as what disturbs it, and what the last one left in the caches, is less against it. Between nodes
 * messages take long that are shorter; and what one way leaves to the next is in the network, too: where a peer
 * acknowledges late it takes some calls until that shows. Of short ones more times, which stray more.
 *
 * Of the program's type it is told what it takes in the long run, and after packed ones that comes later than with
 * other ways: where the library sends it through cells, the third to the sixth of a run take less (row wrf_y of
 * bench/layouts, large).
 */
struct espi_way_pace {
    int run, longer, warm, times, enough;
    struct { /* of the program's type: calls that are not counted, times, and how many are enough, before which it is
                not given up either */
        int warm, times, least;
    } own;
};
enum { OF_ONE_PART = ESPI_STREAM_CELL, LONG = 1 << 20, LONG_FAR = 64 << 10, VERY_LONG = 16 << 20 };
static const struct espi_way_pace of_short = {8, 3, 2, ESPI_WAY_TIMES, 10, {2, ESPI_WAY_TIMES, ESPI_WAY_TIMES}},
                                  usual = {8, 3, 2, 12, 5, {5, 7, 3}}, /* of two runs and one */
                                  of_long = {3, 1, 1, 5, 2, {1, 5, 2}}, of_very_long = {3, 1, 1, 2, 2, {1, 2, 2}},
                                  of_long_far = {6, 2, 2, 8, 4, {2, 8, 4}},
                                  of_very_long_far = {4, 1, 1, 4, 2, {1, 4, 3}};

/* A way is given up when its least times, of all calls together, are so much above the second least of another, or
   after some times by less: what a trial costs shows in short runs. (Row wrf_x of bench/layouts, large, K of 1, where
   packed ways take 1.2 and 1.35 of the library's: 0.94 of native's time, and with this 0.88.) The way that is gone
   stays unless another is faster by one part in so many; after the first trial within a node, which has cold caches
   and pages in its times, the library's stays unless another saves twice that part. (Row wrf_y, large, K of 10:
   packed it took as long then, and 1.07 of that later on.) Messages until the next trial: at first, how they grow, at
   most; and where the last trial cost more than a part of their time, which is a guess, at most. (The part is greater
   where ranks do not begin together: they would begin apart if they found other costs.) Then runs that a way has to
   get a time in, which it does not get where there are no buffers, say, and enough of them; and what part of the
   messages come seldom. */
#define GIVEN_UP 1.5
#define GIVEN_UP_SURE 1.15
enum { SURE_TIMES = 4 };
enum { CLEAR = 32, CLEAR_FIRST = 16, AGAIN = 512, AGAIN_GROWS = 4, AGAIN_MOST = 1 << 15, PART = 64,
       PART_TOGETHER = 256, DEAR_MOST = 1 << 17, RUNS_MOST = 4, RUNS_OF_FEW = 16, SELDOM = 8 };
/* Runs that are longer do without their last call, where it is told. */
enum { LONGER = 4 };

void espi_way_trial_begin(struct espi_way_group *g, int64_t bytes, bool near, unsigned ways)
{
    g->state = ESPI_WAYS_TRYING;
    g->near = near;
    if (bytes <= OF_ONE_PART)
        g->pace = &of_short;
    else if (bytes < (near ? LONG : LONG_FAR))
        g->pace = &usual;
    else if (bytes < VERY_LONG)
        g->pace = near ? &of_long : &of_long_far;
    else
        g->pace = near ? &of_very_long : &of_very_long_far;
    g->open = g->met | ways;
    g->given_up = g->by = 0;
    memset(g->can, 0, sizeof g->can);
    memset(g->times, 0, sizeof g->times);
    memset(g->run, 0, sizeof g->run);
    memset(g->turns, 0, sizeof g->turns);
    memset(g->runs, 0, sizeof g->runs);
    memset(g->made, 0, sizeof g->made);
    memset(g->meets, 0, sizeof g->meets);
}

static unsigned messages_of(const struct espi_way_group *g, int call) /* in this trial */
{
    unsigned sum = 0;

    for (int way = 0; way < ESPI_WAYS; way++)
        sum += g->made[call][way];
    return sum;
}

/* Bits 1 << call, but for calls that come so seldom that what they take hardly counts. */
static unsigned calls_that_count(const struct espi_way_group *g)
{
    unsigned most = 0, calls = 0;

    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE; call++)
        most = messages_of(g, call) > most ? messages_of(g, call) : most;
    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE; call++)
        calls |= messages_of(g, call) > most / SELDOM ? 1u << call : 0;
    return calls;
}

/* The least times of a way, or the second least, in all these calls, as a way that sending takes little time for may
   leave it to receiving. 0: they are not known. */
static double sum_of_least(const struct espi_way_group *g, unsigned calls, int way, bool second)
{
    double sum = 0;

    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE; call++) {
        const struct espi_way_times *t = &g->times[call][way];
        if (calls & 1u << call && t->n < 2)
            return 0;
        if (calls & 1u << call)
            sum += (double)messages_of(g, call) * (double)espi_way_least(t, second);
    }
    return sum;
}

/* Whether a way may be given up by the times that there are. The program's type is compared with, so it needs some
   more, and whole runs: who receives is where who sends is, or one behind, and meets another way as soon as that
   gives one up. */
static bool has_enough(const struct espi_way_group *g, unsigned calls, int way)
{
    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE && way == ESPI_WAY_OWN; call++)
        if (calls & 1u << call && (g->times[call][way].n < g->pace->own.least ||
                                   (g->run[call].way == ESPI_WAY_OWN && g->run[call].left > 0)))
            return false;
    return true;
}

/* Times enough to say that a way is slower by less, or another one than it. Not between nodes, where the least says
   little. The program's type is told of, and needs all its times; so does the library's way in the first trial, whose
   coldest calls it has. */
static bool is_sure(const struct espi_way_group *g, unsigned calls, int way, bool slower)
{
    if (!g->near || (slower && (way == ESPI_WAY_OWN || (way == ESPI_WAY_TYPED && !g->timed))))
        return false;
    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE; call++)
        if (calls & 1u << call && g->times[call][way].n < SURE_TIMES)
            return false;
    return true;
}

/* Ways that are far slower than another are tried no more; but once more where other calls have come meanwhile. */
static void give_up(struct espi_way_group *g)
{
    const unsigned calls = calls_that_count(g);
    double best = 0, best_sure = 0;

    g->open |= calls & ~g->by ? g->given_up : 0;
    g->given_up &= ~g->open;
    g->by |= calls;
    for (int way = 0; way < ESPI_WAY_CHOICES; way++) {
        const double sum = g->open & 1u << way ? sum_of_least(g, calls, way, true) : 0;
        if (sum > 0 && (best == 0 || sum < best))
            best = sum;
        if (sum > 0 && (best_sure == 0 || sum < best_sure) && is_sure(g, calls, way, false))
            best_sure = sum;
    }
    for (int way = 0; way < ESPI_WAYS && best > 0; way++) {
        const double sum = g->open & 1u << way && has_enough(g, calls, way) ? sum_of_least(g, calls, way, false) : 0;
        if (sum > GIVEN_UP * best ||
            (best_sure > 0 && sum > GIVEN_UP_SURE * best_sure && is_sure(g, calls, way, true)))
            g->given_up |= 1u << way;
    }
    g->open &= ~g->given_up;
}

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* A way that most messages can not go has to have enough times only, and the program's type its own number of
   them. */
static bool has_times(const struct espi_way_group *g, int call, int wanted)
{
    for (int way = 0; way < ESPI_WAYS; way++) {
        int least = g->runs[call][way] < RUNS_OF_FEW ? wanted : least_of(wanted, g->pace->enough);
        if (way == ESPI_WAY_OWN)
            least = least_of(least, wanted > g->pace->enough ? g->pace->own.times : g->pace->own.least);
        if (g->open & 1u << way && g->times[call][way].n < least)
            return false;
    }
    return true;
}

/* All times are there: those of the calls that come most often, and enough of the others, but these need not come. */
static bool is_over(const struct espi_way_group *g)
{
    const unsigned enough = 4 * (unsigned)g->pace->times * (unsigned)__builtin_popcount(g->open);
    unsigned all = 0;
    int most = 0;
    bool rest = true;

    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE; call++) {
        all += g->turns[call];
        most = g->turns[call] > g->turns[most] ? call : most;
        rest = rest && (g->turns[call] == 0 || has_times(g, call, g->pace->enough));
    }
    return has_times(g, most, g->pace->times) && (rest || all >= enough);
}

/* What a message takes that goes so. Within a node whatever makes one longer is something else, and comes seldom.
   Between nodes it may be the way's own, and come again with every other message: pieces that a peer acknowledges
   late, or that a switch lost. */
static float takes(const struct espi_way_group *g, const struct espi_way_times *t)
{
    return g->near ? espi_way_middle(t) : espi_way_mean(t);
}

/* About what the trial took more than if all its messages had gone the way that was found best, in messages that go
   that way. */
static double cost_of_trial(const struct espi_way_group *g)
{
    double cost = 0;

    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE; call++) {
        const struct espi_way_times *best = &g->times[call][g->way];
        for (int way = 0; way < ESPI_WAYS && best->n > 0; way++) {
            const struct espi_way_times *t = &g->times[call][way]; /* the least: a node's calls may be disturbed */
            const float took = t->n == 0 ? 0 : g->near ? espi_way_least(t, false) : takes(g, t),
                        takes_best = g->near ? espi_way_least(best, false) : takes(g, best);
            if (took > takes_best && takes_best > 0)
                cost += g->made[call][way] * (double)(took / takes_best - 1);
        }
    }
    return cost;
}

/* The message with which the next trial begins: at numbers that are the same on all ranks, whenever the last one
   ended there. For what a way takes is not seen where the other side does not go it at the same time. Ranks that
   begin trials together count from the begin of each, and who comes first is followed by the others. */
static uint64_t next_trial(const struct espi_way_group *g)
{
    const double cost = (g->together ? PART_TOGETHER : PART) * cost_of_trial(g);
    const uint64_t wait = cost < AGAIN / 2 ? AGAIN / 2 : cost < DEAR_MOST ? (uint64_t)cost : DEAR_MOST,
                   least = g->seen + wait;
    uint64_t next = AGAIN;

    for (unsigned i = 1; g->together && i < g->decided && next < AGAIN_MOST; i++)
        next *= AGAIN_GROWS;
    while (next < least && next < AGAIN_MOST)
        next *= AGAIN_GROWS;
    return next < least ? (least + AGAIN_MOST - 1) / AGAIN_MOST * AGAIN_MOST : next;
}

/* The way that stays unless another is clearly faster: the one that is gone; at first the library's, which loses
   nothing, and between nodes dense bytes, for there what is lost by a message that only one side leaves to the
   library may not show until all are. */
static unsigned way_that_stays(const struct espi_way_group *g)
{
    const unsigned first = g->near ? ESPI_WAY_TYPED : ESPI_WAY_DENSE;

    return !g->timed && g->open & 1u << first ? first : g->way;
}

/* What the times of such calls say. */
static void note_found(struct espi_way_group *g, int call)
{
    const struct espi_way_times *times = g->times[call], *own = &times[ESPI_WAY_OWN];
    /* One that waits for another rank may have met another way, where that has just given up this one. */
    const bool waits = call == ESPI_WAY_RECEIVE || call == ESPI_WAY_PLAIN;

    for (int way = 0; way < ESPI_WAYS; way++) {
        g->found[call][way] = times[way].n > 0 ? takes(g, &times[way]) : 0;
        g->mean[call][way] = times[way].n > 0 ? espi_way_mean(&times[way]) : 0;
    }
    g->least_own[call] = own->n > 0 ? espi_way_least(own, waits && own->n > 2) : 0;
    g->weight[call] = has_times(g, call, g->pace->enough) ? (float)messages_of(g, call) : 0;
    g->tried[call] = g->decided + 1;
}

void espi_way_trial_decide(struct espi_way_group *g)
{
    const unsigned gone = g->way;
    const bool again = g->timed;
    double sum[ESPI_WAYS] = {0};
    unsigned others = 0, unknown = 0;
    bool any = false;

    for (int call = 0; call < ESPI_WAY_CALLS; call++)
        if (g->turns[call] > 0)
            note_found(g, call);
    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE; call++) {
        const bool counts = g->turns[call] > 0 && has_times(g, call, g->pace->enough);
        for (int way = 0; way < ESPI_WAYS && counts; way++) { /* also one that was given up: `packed` below */
            sum[way] += (double)messages_of(g, call) * g->found[call][way];
            unknown |= g->times[call][way].n == 0 ? 1u << way : 0;
        }
        any = any || counts;
        others += messages_of(g, call);
    }
    const unsigned plain = g->turns[ESPI_WAY_PLAIN];
    g->plain = plain >= others ? plain > 0 : (float)plain / (float)others;
    const unsigned before = any ? way_that_stays(g) : gone;
    const int clear = g->near && !again ? CLEAR_FIRST : CLEAR;
    unsigned best = before;
    for (unsigned way = 0; way < ESPI_WAY_CHOICES && any; way++) {
        const double now = g->open & 1u << best ? sum[best] : 0;
        if (g->open & 1u << way && (now == 0 || sum[way] < (best == before ? now - now / clear : now)))
            best = way;
    }
    const unsigned choices = g->open & ((1u << ESPI_WAY_CHOICES) - 1);
    if ((choices & 1u << best) == 0 && choices != 0) /* no times say anything, but it was given up before */
        best = (unsigned)__builtin_ctz(choices);
    g->way = (enum espi_message_way)best;
    if (best != ESPI_WAY_TYPED)
        g->packed = g->way;
    else if (any && (unknown & (1u << ESPI_WAY_CELLS | 1u << ESPI_WAY_DENSE)) == 0)
        g->packed = sum[ESPI_WAY_CELLS] < sum[ESPI_WAY_DENSE] ? ESPI_WAY_CELLS : ESPI_WAY_DENSE;
    g->timed = g->timed || any;
    g->state = ESPI_WAYS_DECIDED;
    for (int typed = 0; typed < 2; typed++)
        g->with[typed] |= g->meets[typed];
    g->decided++;
    g->next = next_trial(g);
    espi_count_anywhere(ESPI_COUNT_ways_decided, 1);
    if (again && g->way != gone)
        espi_count_anywhere(ESPI_COUNT_ways_reversed, 1);
}

void espi_way_trial_took(struct espi_way_group *g, enum espi_way_call call, enum espi_message_way way, int64_t bytes,
                         uint64_t ns)
{
    struct espi_way_times *t = &g->times[call][way];

    espi_count_anywhere(call == ESPI_WAY_PLAIN ? ESPI_COUNT_ways_beside : ESPI_COUNT_ways_timed, 1);
    if (g->state != ESPI_WAYS_TRYING || !(g->open & 1u << way))
        return;
    if (t->n < g->pace->times)
        t->ns[t->n++] = (float)((double)ns * 0x1p20 / (double)bytes);
    if (t->n >= 2)
        give_up(g);
    if (is_over(g))
        espi_way_trial_decide(g);
}

/* One way is left, and messages that could go it come no more. */
static bool is_left_over(const struct espi_way_group *g)
{
    enum { RUNS = 2 * RUNS_MOST };
    unsigned runs = 0;

    for (int call = 0; call < ESPI_WAY_CALLS_CHOOSE && (g->open & (g->open - 1)) == 0; call++)
        for (int way = 0; way < ESPI_WAYS; way++)
            runs = g->runs[call][way] > runs ? g->runs[call][way] : runs;
    return runs >= RUNS;
}

/* Runs come in one order on all ranks to which the same ways are open, whatever they took: a way is seen as it is
   where the other side goes it, too. So that of a way that is given up keeps its place, and so does the way that is
   gone anyhow. */
static enum espi_message_way way_of_next_run(const struct espi_way_group *g, enum espi_way_call call)
{
    enum espi_message_way next = g->way;
    unsigned fewest = UINT_MAX;

    for (unsigned way = 0; way < ESPI_WAYS; way++)
        if ((g->open | g->given_up) & 1u << way && g->runs[call][way] < fewest) {
            fewest = g->runs[call][way];
            next = (enum espi_message_way)way;
        }
    return next;
}

/* A way may get few, where most messages can not go it. */
static bool gets_no_times(const struct espi_way_group *g, enum espi_message_way way, enum espi_way_call call)
{
    const int n = g->times[call][way].n;

    return n < g->pace->enough && g->runs[call][way] >= (n == 0 ? RUNS_MOST : RUNS_OF_FEW);
}

static void begin_run(struct espi_way_group *g, struct espi_way_run *run, enum espi_way_call call)
{
    const struct espi_way_pace *pace = g->pace;

    run->way = way_of_next_run(g, call);
    while (g->open & 1u << run->way && gets_no_times(g, run->way, call) &&
           (g->open & (g->open - 1)) != 0) { /* one is left */
        g->open &= ~(1u << run->way);
        run->way = way_of_next_run(g, call);
    }
    g->runs[call][run->way]++;
    run->length = run->length == 0 || run->length >= pace->run + pace->longer ? pace->run : run->length + 1;
    run->left = run->length;
    run->gone = 0;
}

/* What is gone in the place of a way that was given up. */
static enum espi_message_way best_so_far(const struct espi_way_group *g, enum espi_way_call call)
{
    enum espi_message_way best = g->way;
    float least = FLT_MAX;

    for (unsigned way = 0; way < ESPI_WAY_CHOICES; way++) {
        const struct espi_way_times *t = &g->times[call][way];
        if (g->open & 1u << way && (t->n > 0 ? espi_way_least(t, false) < least : !(g->open & 1u << best))) {
            best = (enum espi_message_way)way;
            least = t->n > 0 ? espi_way_least(t, false) : least;
        }
    }
    return best;
}

/* The first calls of a run, which are not counted. */
static int warm_of(const struct espi_way_group *g, enum espi_message_way way)
{
    return way == ESPI_WAY_OWN ? g->pace->own.warm : g->pace->warm;
}

enum espi_message_way espi_way_trial_next(struct espi_way_group *g, enum espi_way_call call, bool *counts)
{
    struct espi_way_run *run = &g->run[call];

    if (run->left == 0 && is_left_over(g)) {
        espi_way_trial_decide(g);
        *counts = false;
        return g->way;
    }
    if (run->left == 0)
        begin_run(g, run, call);
    run->left--;
    g->latest = call;
    g->turns[call]++;
    *counts = g->open & 1u << run->way && run->gone++ >= warm_of(g, run->way);
    if (call <= ESPI_WAY_RECEIVE && run->way == ESPI_WAY_OWN && run->left == 0 && run->length > LONGER)
        *counts = false; /* what is told by the least of them must be of this way; who sends ends with who receives */
    return g->open & 1u << run->way ? run->way : best_so_far(g, call);
}

enum espi_message_way espi_way_trial_beside(struct espi_way_group *g, bool *counts)
{
    const struct espi_way_run *run = &g->run[g->latest];

    *counts = g->open & 1u << run->way && run->gone > warm_of(g, run->way) &&
              g->times[ESPI_WAY_PLAIN][run->way].n < g->pace->times;
    return run->way;
}
