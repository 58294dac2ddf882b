#include "mpi/packed/message_ways.h"

#include <string.h>

#include "mpi/packed/stream_type.h"
#include "mpi/packed/way_times.h"
#include "stats/stats.h"

/* Calls of a run, one more each time, so that what comes again and again does not always meet the same way; those of
   them that are not counted. Times of each way and call; fewer are enough of calls that come seldom. A way is given
   up when its least times, of all calls together, are so much above the second least of another; the way that is gone
   stays unless another is faster by one part in so many. Messages until the next trial: at first, how they grow, at
   most; and where the last trial cost more than a part of their time, which is a guess, at most. Then what ends a
   batch that does not end by itself: messages, and calls that complete some; runs that a way has to get its times in,
   which it does not get where there are no buffers, say; and what part of the messages come seldom. */
enum { RUN = 8, LONGER = 3, WARM = 2, TIMES = ESPI_WAY_TIMES, ENOUGH = 5, CLEAR = 32, AGAIN = 512, AGAIN_GROWS = 4,
       AGAIN_MOST = 1 << 15, PART = 64, DEAR_MOST = 1 << 17, BATCH_MOST = 4096, BATCH_CALLS = 1 << 16,
       RUNS_MOST = 8, SELDOM = 8 };
#define GIVEN_UP 1.5
enum { SIZES = 32 };
/* Cells of shared memory are slow when their pages are touched for the first time: those of a queue of UCX are 64 of
   8 kB, in each direction. So many bytes go through them before a trial of messages within the node. */
enum { COLD = 2 << 20 };
/* Up to so long cells are faster than dense bytes within a node, but where processors are very far apart. */
enum { SHORT = 16384 };

struct run {
    enum espi_message_way way;
    int left, gone; /* calls: to come, and that were made; 0, 0: there is none */
    int length;     /* of the last one that began */
};

struct espi_way_group {
    enum { FRESH, TRYING, DECIDED } state;
    enum espi_message_way way;      /* that is gone, but for turns */
    enum espi_message_way packed;   /* the better one of cells and dense bytes, for what is packed anyhow */
    unsigned open, met;             /* bits 1 << way: what is tried, and what messages there were might go, */
    unsigned given_up, by;          /* and what is given up; bits 1 << call: by times of these */
    struct espi_way_times times[ESPI_WAY_CALLS][ESPI_WAYS];
    struct run run[ESPI_WAY_CALLS];
    unsigned turns[ESPI_WAY_CALLS]; /* calls in this trial */
    unsigned char runs[ESPI_WAY_CALLS][ESPI_WAYS]; /* in this trial, */
    unsigned made[ESPI_WAY_CALLS][ESPI_WAYS];      /* and messages */
    uint64_t seen, next;            /* messages so far; with which to try again, 0: it was never decided */
    float found[ESPI_WAY_CALLS][ESPI_WAYS]; /* medians of the last trial; 0: none */
};

static struct espi_way_group groups[2][SIZES];
static bool trying;
static int64_t cold; /* bytes until cells are warm */

/* A batch. */
unsigned espi_way_batch;
static struct {
    struct espi_way_group *group;
    enum espi_message_way way;
    bool counts;
    unsigned requests, joined, strangers, calls; /* strangers: messages of other groups meanwhile */
    uint64_t ns;
    int64_t bytes;
} batch;
static unsigned batches; /* so far */

void espi_ways_start(bool tried)
{
    memset(groups, 0, sizeof groups);
    trying = tried;
    cold = tried ? COLD : 0;
    espi_way_batch = 0;
}

static int size_of(int64_t bytes)
{
    return 63 - __builtin_clzll((uint64_t)bytes | 1);
}

static struct espi_way_group *group_of(const struct espi_way_question *q)
{
    const int size = size_of(q->bytes);

    return &groups[q->near][size < SIZES ? size : SIZES - 1];
}

/* What there is to choose from. */
static unsigned ways_of(const struct espi_way_question *q)
{
    const unsigned cells = espi_stream_may_go_in_cells(q->bytes) ? 1u << ESPI_WAY_CELLS : 0;

    return (q->open == ESPI_WAYS_EVEN ? 1u << ESPI_WAY_TYPED : 0) | cells | 1u << ESPI_WAY_DENSE;
}

/* Before anything is known: typed ones lose nothing, and dense ones never much; short ones are best in cells. */
static enum espi_message_way first_way(const struct espi_way_question *q, unsigned ways)
{
    if (q->open == ESPI_WAYS_EVEN && !(q->packs && q->near))
        return ESPI_WAY_TYPED;
    return q->near && q->bytes <= SHORT && ways & 1u << ESPI_WAY_CELLS ? ESPI_WAY_CELLS : ESPI_WAY_DENSE;
}

/* Where it is packed anyhow. */
static enum espi_message_way packed_way(const struct espi_way_group *g, const struct espi_way_question *q)
{
    if (!espi_stream_may_go_in_cells(q->bytes))
        return ESPI_WAY_DENSE;
    return g->packed != ESPI_WAY_TYPED ? g->packed : q->near && q->bytes <= SHORT ? ESPI_WAY_CELLS : ESPI_WAY_DENSE;
}

enum espi_message_way espi_way_of(const struct espi_way_question *q)
{
    const struct espi_way_group *g = group_of(q);
    const unsigned ways = ways_of(q);

    if (g->state == FRESH)
        return first_way(q, ways);
    return ways & 1u << g->way ? g->way : packed_way(g, q);
}

enum espi_message_way espi_way_packed(const struct espi_way_question *q)
{
    return packed_way(group_of(q), q);
}

/* ---- a trial ---- */

static void begin(struct espi_way_group *g, const struct espi_way_question *q, unsigned ways)
{
    if (g->state == FRESH)
        g->way = first_way(q, ways);
    g->state = TRYING;
    g->open = g->met | ways;
    g->given_up = g->by = 0;
    memset(g->times, 0, sizeof g->times);
    memset(g->run, 0, sizeof g->run);
    memset(g->turns, 0, sizeof g->turns);
    memset(g->runs, 0, sizeof g->runs);
    memset(g->made, 0, sizeof g->made);
}

static unsigned messages_of(const struct espi_way_group *g, int call) /* in this trial */
{
    return g->made[call][ESPI_WAY_TYPED] + g->made[call][ESPI_WAY_CELLS] + g->made[call][ESPI_WAY_DENSE];
}

/* Bits 1 << call, but for calls that come so seldom that what they take hardly counts. */
static unsigned calls_that_count(const struct espi_way_group *g)
{
    unsigned most = 0, calls = 0;

    for (int call = 0; call < ESPI_WAY_CALLS; call++)
        most = messages_of(g, call) > most ? messages_of(g, call) : most;
    for (int call = 0; call < ESPI_WAY_CALLS; call++)
        calls |= messages_of(g, call) > most / SELDOM ? 1u << call : 0;
    return calls;
}

/* The least times of a way, or the second least, in all these calls, as a way that sending takes little time for may
   leave it to receiving. 0: they are not known. */
static double sum_of_least(const struct espi_way_group *g, unsigned calls, int way, bool second)
{
    double sum = 0;

    for (int call = 0; call < ESPI_WAY_CALLS; call++) {
        const struct espi_way_times *t = &g->times[call][way];
        if (calls & 1u << call && t->n < 2)
            return 0;
        if (calls & 1u << call)
            sum += (double)messages_of(g, call) * (double)espi_way_least(t, second);
    }
    return sum;
}

/* Ways that are far slower than another are tried no more; but once more where other calls have come meanwhile. */
static void give_up(struct espi_way_group *g)
{
    const unsigned calls = calls_that_count(g);
    double best = 0;

    g->open |= calls & ~g->by ? g->given_up : 0;
    g->given_up &= ~g->open;
    g->by |= calls;
    for (int way = 0; way < ESPI_WAYS; way++) {
        const double sum = g->open & 1u << way ? sum_of_least(g, calls, way, true) : 0;
        if (sum > 0 && (best == 0 || sum < best))
            best = sum;
    }
    for (int way = 0; way < ESPI_WAYS && best > 0; way++)
        if (g->open & 1u << way && sum_of_least(g, calls, way, false) > GIVEN_UP * best)
            g->given_up |= 1u << way;
    g->open &= ~g->given_up;
}

static bool has_times(const struct espi_way_group *g, int call, int wanted)
{
    for (int way = 0; way < ESPI_WAYS; way++)
        if (g->open & 1u << way && g->times[call][way].n < wanted)
            return false;
    return true;
}

/* All times are there: those of the calls that come most often, and enough of the others, but these need not come. */
static bool is_over(const struct espi_way_group *g)
{
    const unsigned enough = 4 * TIMES * (unsigned)__builtin_popcount(g->open);
    unsigned all = 0;
    int most = 0;
    bool rest = true;

    for (int call = 0; call < ESPI_WAY_CALLS; call++) {
        all += g->turns[call];
        most = g->turns[call] > g->turns[most] ? call : most;
        rest = rest && (g->turns[call] == 0 || has_times(g, call, ENOUGH));
    }
    return has_times(g, most, TIMES) && (rest || all >= enough);
}

/* About what the trial took more than if all its messages had gone the way that was found best, in messages that go
   that way. */
static double cost_of_trial(const struct espi_way_group *g)
{
    double cost = 0;

    for (int call = 0; call < ESPI_WAY_CALLS; call++) {
        const struct espi_way_times *best = &g->times[call][g->way];
        for (int way = 0; way < ESPI_WAYS && best->n > 0; way++) {
            const struct espi_way_times *t = &g->times[call][way]; /* the least: calls may have been disturbed */
            if (t->n > 0 && espi_way_least(t, false) > espi_way_least(best, false))
                cost += g->made[call][way] * (double)(espi_way_least(t, false) / espi_way_least(best, false) - 1);
        }
    }
    return cost;
}

/* The message with which the next trial begins: at numbers that are the same on all ranks, whenever the last one
   ended there. For what a way takes is not seen where the other side does not go it at the same time. */
static uint64_t next_trial(const struct espi_way_group *g)
{
    const double cost = PART * cost_of_trial(g);
    const uint64_t wait = cost < AGAIN / 2 ? AGAIN / 2 : cost < DEAR_MOST ? (uint64_t)cost : DEAR_MOST,
                   least = g->seen + wait;
    uint64_t next = AGAIN;

    while (next < least && next < AGAIN_MOST)
        next *= AGAIN_GROWS;
    return next < least ? (least + AGAIN_MOST - 1) / AGAIN_MOST * AGAIN_MOST : next;
}

static void decide(struct espi_way_group *g)
{
    const enum espi_message_way before = g->way;
    const bool again = g->next > 0; /* it had been decided before */
    double sum[ESPI_WAYS] = {0};
    unsigned best = before;
    bool any = false;

    memset(g->found, 0, sizeof g->found);
    for (int call = 0; call < ESPI_WAY_CALLS; call++) {
        const bool counts = g->turns[call] > 0 && has_times(g, call, ENOUGH);
        for (int way = 0; way < ESPI_WAYS; way++) {
            const struct espi_way_times *t = &g->times[call][way];
            if (t->n > 0)
                g->found[call][way] = espi_way_middle(t);
            if (counts && g->open & 1u << way)
                sum[way] += (double)messages_of(g, call) * g->found[call][way];
        }
        any = any || counts;
    }
    for (unsigned way = 0; way < ESPI_WAYS && any; way++) {
        const double now = g->open & 1u << best ? sum[best] : 0;
        if (g->open & 1u << way && (now == 0 || sum[way] < (best == before ? now - now / CLEAR : now)))
            best = way;
    }
    g->way = (enum espi_message_way)best;
    if (best != ESPI_WAY_TYPED)
        g->packed = g->way;
    else if (sum[ESPI_WAY_CELLS] > 0 && sum[ESPI_WAY_DENSE] > 0)
        g->packed = sum[ESPI_WAY_CELLS] < sum[ESPI_WAY_DENSE] ? ESPI_WAY_CELLS : ESPI_WAY_DENSE;
    g->state = DECIDED;
    g->next = next_trial(g);
    espi_count_anywhere(ESPI_COUNT_ways_decided, 1);
    if (again && g->way != before)
        espi_count_anywhere(ESPI_COUNT_ways_reversed, 1);
}

static void take(struct espi_way_group *g, enum espi_way_call call, enum espi_message_way way, int64_t bytes,
                 uint64_t ns)
{
    struct espi_way_times *t = &g->times[call][way];

    espi_count_anywhere(ESPI_COUNT_ways_timed, 1);
    if (g->state != TRYING || !(g->open & 1u << way))
        return;
    if (t->n < TIMES)
        t->ns[t->n++] = (float)((double)ns * 0x1p20 / (double)bytes);
    if (t->n >= 2)
        give_up(g);
    if (is_over(g))
        decide(g);
}

/* The way that has the fewest times in such calls, and at first the one that is gone anyway. */
static enum espi_message_way least_known(const struct espi_way_group *g, enum espi_way_call call)
{
    enum espi_message_way least = g->way;
    int fewest = INT32_MAX;

    for (int i = 0; i < ESPI_WAYS; i++) {
        const enum espi_message_way way = (enum espi_message_way)((g->way + i) % ESPI_WAYS);
        const int n = g->times[call][way].n;
        if (g->open & 1u << way && n < fewest) {
            fewest = n;
            least = way;
        }
    }
    return least;
}

static void begin_run(struct espi_way_group *g, struct run *run, enum espi_way_call call)
{
    run->way = least_known(g, call);
    while (g->times[call][run->way].n < TIMES && g->runs[call][run->way] >= RUNS_MOST &&
           (g->open & (g->open - 1)) != 0) { /* one is left */
        g->open &= ~(1u << run->way);
        run->way = least_known(g, call);
    }
    g->runs[call][run->way] += g->runs[call][run->way] < RUNS_MOST;
    run->length = run->length == 0 ? RUN : run->length < RUN + LONGER ? run->length + 1 : RUN;
    run->left = run->length;
    run->gone = 0;
}

/* The way whose turn it is; `counts`: such a call is to be timed. */
static enum espi_message_way next_way(struct espi_way_group *g, enum espi_way_call call, bool *counts)
{
    struct run *run = &g->run[call];

    if (run->left == 0 || !(g->open & 1u << run->way))
        begin_run(g, run, call);
    run->left--;
    g->turns[call]++;
    *counts = run->gone++ >= WARM;
    return run->way;
}

/* Whether messages of the group are being tried now. */
static bool is_tried(struct espi_way_group *g, const struct espi_way_question *q, unsigned ways)
{
    if (!trying || (ways & (ways - 1)) == 0) /* there is nothing to choose */
        return false;
    g->seen++;
    if (g->state == FRESH || (g->state == DECIDED && g->seen >= g->next))
        begin(g, q, ways);
    else if (g->state == TRYING && ways & ~g->met)
        g->open |= ways & ~g->met; /* the first message that may go so */
    g->met |= ways;
    return g->state == TRYING;
}

static void begin_batch(struct espi_way_group *g)
{
    batch.group = g;
    batch.way = next_way(g, ESPI_WAY_BATCH, &batch.counts);
    batch.requests = batch.joined = batch.strangers = batch.calls = 0;
    batch.ns = 0;
    batch.bytes = 0;
    batches = batches == UINT32_MAX ? 1 : batches + 1;
    espi_way_batch = batches;
}

static void give_up_batches(struct espi_way_group *g)
{
    espi_way_batch = 0;
    decide(g);
}

/* A message that can not go the way whose turn it is goes another one. What it takes says nothing of that way then,
   but where it is received, which is up to the sender, too. */
static void take_turn(struct espi_way_turn *turn, const struct espi_way_question *q, unsigned ways,
                      enum espi_message_way way)
{
    turn->label = way;
    turn->group->made[q->call][way]++;
    turn->way = ways & 1u << way ? way : packed_way(turn->group, q);
    if (turn->way != way && q->call != ESPI_WAY_RECEIVE && q->call != ESPI_WAY_BATCH)
        turn->counts = false;
}

/* Whether it goes through cells, as others have before there is a trial: as the library would do it, where that is
   open to it. */
static bool warms_cells(const struct espi_way_group *g, const struct espi_way_question *q, unsigned ways,
                        enum espi_message_way *way)
{
    if (cold <= 0 || !q->near || g->state != FRESH || (ways & (ways - 1)) == 0)
        return false;
    cold -= q->bytes;
    *way = ways & 1u << ESPI_WAY_TYPED ? ESPI_WAY_TYPED : ESPI_WAY_CELLS;
    return true;
}

struct espi_way_turn espi_way_turn(const struct espi_way_question *q)
{
    struct espi_way_group *g = group_of(q);
    const unsigned ways = ways_of(q);
    struct espi_way_turn turn = {.call = q->call, .bytes = q->bytes};

    if (warms_cells(g, q, ways, &turn.way))
        return turn;
    if (!is_tried(g, q, ways)) {
        turn.way = espi_way_of(q);
        return turn;
    }
    turn.group = g;
    if (q->call != ESPI_WAY_BATCH) {
        const enum espi_message_way way = next_way(g, q->call, &turn.counts);
        take_turn(&turn, q, ways, way);
    } else {
        if (espi_way_batch == 0)
            begin_batch(g);
        if (batch.group != g || ++batch.joined > BATCH_MOST) {
            if (batch.group == g) /* requests go on for good: there is no end to be timed */
                give_up_batches(g);
            else if (++batch.strangers > BATCH_MOST)
                espi_way_batch = 0;
            turn.group = NULL;
            turn.way = espi_way_of(q);
            return turn;
        }
        turn.batch = espi_way_batch;
        turn.counts = batch.counts;
        take_turn(&turn, q, ways, batch.way);
    }
    turn.begun = espi_stats_now();
    return turn;
}

void espi_way_turn_end(struct espi_way_turn *turn, bool good)
{
    if (turn->group == NULL)
        return;
    const uint64_t took = espi_stats_now() - turn->begun;

    if (turn->batch == 0) {
        if (good && turn->counts)
            take(turn->group, turn->call, turn->label, turn->bytes, took);
    } else if (!good) {
        espi_way_batch_spoilt(turn->batch);
    } else if (turn->batch == espi_way_batch) {
        batch.bytes += turn->bytes;
        espi_way_batch_took(took);
    }
    turn->group = NULL;
}

/* ---- batches ---- */

void espi_way_batch_joined(unsigned number)
{
    batch.requests += number != 0 && number == espi_way_batch;
}

void espi_way_batch_left(unsigned number)
{
    if (number != 0 && number == espi_way_batch)
        batch.requests--;
}

void espi_way_batch_spoilt(unsigned number)
{
    if (number != 0 && number == espi_way_batch)
        espi_way_batch = 0;
}

void espi_way_batch_took(uint64_t ns)
{
    if (espi_way_batch == 0)
        return;
    batch.ns += ns;
    if (batch.requests > 0) {
        if (++batch.calls > BATCH_CALLS)
            espi_way_batch = 0;
        return;
    }
    espi_way_batch = 0;
    if (batch.bytes > 0 && batch.counts)
        take(batch.group, ESPI_WAY_BATCH, batch.way, batch.bytes, batch.ns);
}

/* ---- what was found ---- */

double espi_way_saves(const struct espi_way_question *q)
{
    const struct espi_way_group *g = group_of(q);
    const float *found = g->found[q->call];
    const enum espi_message_way way = espi_way_of(q);

    if (q->open != ESPI_WAYS_EVEN || found[way] == 0 || found[ESPI_WAY_TYPED] == 0) /* of other layouts, perhaps */
        return -1;
    return found[way] < found[ESPI_WAY_TYPED]
               ? (double)(found[ESPI_WAY_TYPED] - found[way]) * (double)q->bytes * 0x1p-20
               : 0;
}
