#include "mpi/packed/message_ways.h"

#include <string.h>

#include "base/overlap.h"
#include "base/table.h"
#include "mpi/packed/stream_type.h"
#include "mpi/packed/trial_numbers.h"
#include "mpi/packed/way_trial.h"
#include "mpi/packed/way_watch.h"
#include "stats/stats.h"

/* What ends a batch that does not end by itself: messages, and calls that complete some. */
enum { BATCH_MOST = 4096, BATCH_CALLS = 1 << 16 };
enum { SIZES = ESPI_TRIAL_SIZES };
/* Cells of shared memory are slow when their pages are touched for the first time: those of a queue of UCX are 64 of
   8 kB, in each direction. So many bytes go through them before a trial of messages within the node. */
enum { COLD = 2 << 20 };
/* Up to so long cells are faster than dense bytes within a node, but where processors are very far apart. */
enum { SHORT = 16384 };
/* Trials that begin together: messages of one that has just begun; the number up to which others begin one more for
   the sake of a rank that comes late; and how often one that is not at its end begins again. */
enum { YOUNG = 4, LATE_MOST = 8, RESTARTS_MOST = 4 };
/* Short messages of a group, sent or received, from the begin of a trial on, in which another rank may ask for one
   more: its types have their plans later. (Row wrf_y of bench/layouts, small, K = 40: 300 to 800 later.) No trial
   that is due with the last of them is begun for that alone. */
enum { ASKED_WITHIN = 2048 };
/* Short messages before what they save is found out: as many as the library has cells in one direction, and those of
   the way back. */
enum { COLD_SHORT = 128 };

static struct espi_way_group groups[2][SIZES] ESPI_TABLE;
static bool trying;
static int64_t cold; /* bytes until cells are warm */

/* A batch. */
atomic_uint espi_way_batch;
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
    static bool before;

    if (before) /* their pages are not touched for nothing */
        memset(groups, 0, sizeof groups);
    before = true;
    trying = tried;
    espi_way_watch_forget();
    cold = tried ? COLD : 0;
    espi_way_batch = 0;
}

static bool tries_own(const struct espi_way_question *q)
{
    return q->told || q->doubtful;
}

/* Short ones have no group in common with long ones: nothing is to follow for these. Those that are doubtful have
   groups for messages of so many bytes each that are packed alike: one program may take three times as long as
   another for as many bytes. */
enum { DOUBTS = 6, SHORT_LEAST = DOUBTS, SHORT_MOST = 12 };

static int size_of(const struct espi_way_question *q)
{
    const int size = 63 - __builtin_clzll((uint64_t)q->bytes | 1);

    if (!tries_own(q) || !q->no_cells)
        return size < SIZES - 1 ? size : SIZES - 1;
    if (q->doubtful)
        return (int)((((uint64_t)q->bytes ^ (uint64_t)q->alike << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % DOUBTS);
    return size < SHORT_LEAST ? SHORT_LEAST : size < SHORT_MOST ? size : SHORT_MOST;
}

static bool is_for(const struct espi_way_group *g, const struct espi_way_question *q)
{
    return g->bytes == q->bytes && g->alike == q->alike;
}

struct espi_way_group *espi_way_group_of(const struct espi_way_question *q)
{
    static struct espi_way_group none ESPI_TABLE;
    struct espi_way_group *g = &groups[q->near][size_of(q)];

    return espi_leads() && (!q->doubtful || is_for(g, q)) ? g : &none;
}

/* Whether there is a group for it: one is made over to other messages when it is decided what becomes of those that
   it was for, or they do not come any more. */
static bool has_group(const struct espi_way_question *q)
{
    enum { SETTLED = 64, GONE = 4096 };
    struct espi_way_group *g = &groups[q->near][size_of(q)];

    if (!q->doubtful)
        return true;
    if (is_for(g, q)) {
        g->others = 0;
        return true;
    }
    if (g->bytes != 0 && ++g->others < (g->state == ESPI_WAYS_DECIDED ? SETTLED : GONE))
        return false;
    *g = (struct espi_way_group){.bytes = q->bytes, .alike = q->alike, .number = g->number, .together = g->together};
    return true;
}

/* Between nodes there are none: such an item would go as the library sends data with gaps, but for its layout. */
static bool may_go_in_cells(const struct espi_way_question *q)
{
    return q->near && !q->no_cells && espi_stream_may_go_in_cells(q->bytes);
}

/* What there is to choose from. */
static unsigned ways_of(const struct espi_way_question *q)
{
    const unsigned cells = may_go_in_cells(q) ? 1u << ESPI_WAY_CELLS : 0;

    return (q->open == ESPI_WAYS_EVEN ? 1u << ESPI_WAY_TYPED : 0) | cells | 1u << ESPI_WAY_DENSE;
}

/* What has its turns in a trial. */
static unsigned ways_tried(const struct espi_way_question *q)
{
    return ways_of(q) | (tries_own(q) ? 1u << ESPI_WAY_OWN : 0);
}

/* Before anything is known: typed ones lose nothing, and dense ones never much; short ones are best in cells. Of a
   thread that does not lead nothing will be known, and a guess is not enough. */
static enum espi_message_way first_way(const struct espi_way_question *q, unsigned ways)
{
    const bool guess = q->call != ESPI_WAY_BLOCKS && !espi_leads();

    if (q->open == ESPI_WAYS_EVEN && (!(q->packs && q->near) || guess))
        return ESPI_WAY_TYPED;
    return q->bytes <= SHORT && ways & 1u << ESPI_WAY_CELLS ? ESPI_WAY_CELLS : ESPI_WAY_DENSE;
}

/* Where it is packed anyhow. */
static enum espi_message_way packed_way(const struct espi_way_group *g, const struct espi_way_question *q)
{
    if (!may_go_in_cells(q))
        return ESPI_WAY_DENSE;
    return g->packed != ESPI_WAY_TYPED ? g->packed : q->bytes <= SHORT ? ESPI_WAY_CELLS : ESPI_WAY_DENSE;
}

enum espi_message_way espi_way_of(const struct espi_way_question *q)
{
    const struct espi_way_group *g = espi_way_group_of(q);
    const unsigned ways = ways_of(q);

    if (g->state == ESPI_WAYS_FRESH)
        return first_way(q, ways);
    return ways & 1u << g->way ? g->way : packed_way(g, q);
}

bool espi_way_is_known(const struct espi_way_question *q)
{
    return espi_way_group_of(q)->timed;
}

bool espi_way_was_tried(const struct espi_way_question *q)
{
    const struct espi_way_group *g = espi_way_group_of(q);

    return g->tried[q->call] > 0 && g->with[q->typed] & 1u << q->call;
}

bool espi_way_may_be_asked(const struct espi_way_question *q)
{
    const struct espi_way_group *g = espi_way_group_of(q);

    return g->together && (g->state != ESPI_WAYS_DECIDED || g->seen + 1 < ASKED_WITHIN);
}

enum espi_message_way espi_way_packed(const struct espi_way_question *q)
{
    return packed_way(espi_way_group_of(q), q);
}

/* ---- a trial ---- */

/* What the others say of their trials, as far as that is known; 0: nothing. */
static unsigned char said_by_others(const struct espi_way_question *q)
{
    return q->near && q->n_others > 0 ? espi_trial_latest(size_of(q), q->others, q->n_others) : 0;
}

/* The number of the trial that begins. A short message's begins when its type has its plan, on each side at a time of
   its own: so one that comes late is followed, as any first one is. */
static unsigned char number_of_trial(const struct espi_way_group *g, const struct espi_way_question *q,
                                     unsigned char said)
{
    const unsigned char number = said & ESPI_TRIAL_NUMBERS;
    const bool later = espi_trial_is_later(said, g->number);

    if (g->state == ESPI_WAYS_FRESH || (later && tries_own(q) && q->no_cells))
        return said & ESPI_TRIAL_YOUNG || number >= LATE_MOST ? number : (unsigned char)(number + 1);
    return later ? number : (unsigned char)(g->number % ESPI_TRIAL_NUMBERS + 1);
}

static void begin_trial(struct espi_way_group *g, const struct espi_way_question *q, unsigned ways,
                        unsigned char said)
{
    if (batch.group == g)
        batch.counts = false; /* it began before */
    g->restarts = g->state == ESPI_WAYS_TRYING ? g->restarts + 1 : 0;
    g->waited = 0;
    if (q->near && espi_trial_numbers_are_shared) {
        g->number = number_of_trial(g, q, said);
        g->together = g->together || q->n_others > 0;
        if (q->n_others > 0)
            g->seen = 0;
        espi_trial_say(size_of(q), q->n_others > 0 ? g->number | ESPI_TRIAL_YOUNG : g->number);
    }
    espi_way_trial_begin(g, q->bytes, q->near, ways);
    if (q->told && !q->doubtful && q->near)
        espi_way_watch_begins(g);
}

/* Whether the trial of another rank, which says so, is to be followed. */
static bool follows(const struct espi_way_group *g, unsigned char said)
{
    return espi_trial_is_later(said, g->number) &&
           (g->state != ESPI_WAYS_TRYING || g->restarts < RESTARTS_MOST);
}

bool espi_way_is_left(const struct espi_way_question *q, bool *found)
{
    struct espi_way_group *g = espi_way_group_of(q);

    if (!trying || g->state != ESPI_WAYS_DECIDED || g->way != ESPI_WAY_TYPED || g->seen + 1 >= g->next ||
        follows(g, said_by_others(q)))
        return false;
    g->seen++;
    *found = g->found[q->call][ESPI_WAY_TYPED] > 0;
    return true;
}

/* Whether messages of the group are being tried now. */
static bool is_tried(struct espi_way_group *g, const struct espi_way_question *q, unsigned ways)
{
    if (!trying || (ways & (ways - 1)) == 0) /* there is nothing to choose */
        return false;
    const unsigned char said = said_by_others(q);
    g->seen++;
    if (g->state == ESPI_WAYS_FRESH && tries_own(q) && q->no_cells && g->seen <= COLD_SHORT &&
        !(said & ESPI_TRIAL_YOUNG)) /* the other rank has counted some more */
        return false;
    if (g->state == ESPI_WAYS_FRESH)
        g->way = first_way(q, ways);
    const bool due = g->seen >= g->next || (tries_own(q) && q->no_cells && !espi_way_was_tried(q));
    if (g->state == ESPI_WAYS_FRESH || (g->state == ESPI_WAYS_DECIDED && due) || follows(g, said))
        begin_trial(g, q, ways, said);
    else if (g->state == ESPI_WAYS_TRYING && ways & ~g->met)
        g->open |= ways & ~g->met; /* the first message that may go so */
    if (g->together && g->seen == YOUNG)
        espi_trial_say(size_of(q), g->number);
    g->met |= ways;
    g->meets[q->typed] |= 1u << q->call;
    if (g->state == ESPI_WAYS_TRYING && g->told)
        espi_way_watch_goes_on();
    return g->state == ESPI_WAYS_TRYING;
}

static void begin_batch(struct espi_way_group *g)
{
    batch.group = g;
    batch.way = espi_way_trial_next(g, ESPI_WAY_BATCH, &batch.counts);
    espi_way_watch_ends(g);
    batch.requests = batch.joined = batch.strangers = batch.calls = 0;
    batch.ns = 0;
    batch.bytes = 0;
    batches = batches == UINT32_MAX ? 1 : batches + 1;
    espi_way_batch = batches;
}

static void give_up_batches(struct espi_way_group *g)
{
    espi_way_batch = 0;
    espi_way_trial_decide(g);
    espi_way_watch_ends(g);
}

/* A call took so long; that may have been the last one of the trial. */
static void took(struct espi_way_group *g, enum espi_way_call call, enum espi_message_way way, int64_t bytes,
                 uint64_t ns)
{
    espi_way_trial_took(g, call, way, bytes, ns);
    espi_way_watch_ends(g);
}

/* A message that can not go the way whose turn it is goes another one. Where others of such calls can, what it takes
   says nothing of that way, but where it is received, which is up to the sender, too. Where none can, that is what
   they take if the group goes that way. */
static void take_turn(struct espi_way_turn *turn, const struct espi_way_question *q, unsigned ways,
                      enum espi_message_way way)
{
    turn->label = way;
    turn->group->made[q->call][way]++;
    if (way == ESPI_WAY_OWN && !tries_own(q)) /* of others that is the library's */
        way = ESPI_WAY_TYPED;
    turn->way = ways & 1u << way ? way : packed_way(turn->group, q);
    turn->group->can[q->call] |= ways;
    if (turn->way != way && turn->group->can[q->call] & 1u << way && q->call != ESPI_WAY_RECEIVE &&
        q->call != ESPI_WAY_BATCH)
        turn->counts = false;
}

/* Whether it goes through cells, as others have before there is a trial: as the library would do it, where that is
   open to it. */
static bool warms_cells(const struct espi_way_group *g, const struct espi_way_question *q, unsigned ways,
                        enum espi_message_way *way)
{
    if (cold <= 0 || !q->near || g->state != ESPI_WAYS_FRESH || (ways & (ways - 1)) == 0)
        return false;
    cold -= q->bytes;
    *way = ways & 1u << ESPI_WAY_TYPED ? ESPI_WAY_TYPED : ESPI_WAY_CELLS;
    return true;
}

/* Where it is not, or not yet, its turn: what is doubtful loses nothing as the type that it would go as. */
static enum espi_message_way untried_way(const struct espi_way_question *q)
{
    return q->doubtful && !q->packs ? ESPI_WAY_OWN : espi_way_of(q);
}

struct espi_way_turn espi_way_turn(const struct espi_way_question *q)
{
    struct espi_way_group *g = espi_way_group_of(q);
    const unsigned ways = ways_of(q);
    struct espi_way_turn turn = {.call = q->call, .bytes = q->bytes};

    if (!espi_leads()) {
        turn.way = untried_way(q);
        return turn;
    }
    if (warms_cells(g, q, ways, &turn.way))
        return turn;
    if (!has_group(q)) {
        turn.way = untried_way(q);
        return turn;
    }
    g = espi_way_group_of(q);
    const unsigned tried = ways_tried(q);
    if (!is_tried(g, q, tried)) {
        turn.way = untried_way(q);
        return turn;
    }
    turn.group = g;
    if (q->call != ESPI_WAY_BATCH) {
        const enum espi_message_way way = espi_way_trial_next(g, q->call, &turn.counts);
        espi_way_watch_ends(g); /* it may have come to its end */
        take_turn(&turn, q, tried, way);
    } else {
        if (espi_way_batch == 0)
            begin_batch(g);
        if (batch.group != g || ++batch.joined > BATCH_MOST) {
            if (batch.group == g) /* requests go on for good: there is no end to be timed */
                give_up_batches(g);
            else if (++batch.strangers > BATCH_MOST)
                espi_way_batch = 0;
            turn.group = NULL;
            turn.way = untried_way(q);
            return turn;
        }
        turn.batch = espi_way_batch;
        turn.counts = batch.counts;
        take_turn(&turn, q, tried, batch.way);
    }
    turn.begun = espi_stats_now();
    return turn;
}

struct espi_way_turn espi_way_plain_turn(int64_t bytes, bool no_cells)
{
    const struct espi_way_question q = {.near = true, .bytes = bytes, .no_cells = no_cells, .told = true};
    struct espi_way_turn turn = {.call = ESPI_WAY_PLAIN, .bytes = bytes, .group = espi_way_group_of(&q)};

    if (turn.group->state != ESPI_WAYS_TRYING) {
        turn.group = NULL;
        return turn;
    }
    turn.label = espi_way_trial_beside(turn.group, &turn.counts);
    turn.begun = espi_stats_now();
    return turn;
}

void espi_way_turn_calls(struct espi_way_turn *turn)
{
    if (turn->group != NULL)
        turn->begun = espi_stats_now();
}

void espi_way_turn_called(struct espi_way_turn *turn)
{
    if (turn->group != NULL)
        turn->took = espi_stats_now() - turn->begun;
}

void espi_way_turn_end(struct espi_way_turn *turn, bool good)
{
    if (turn->group == NULL)
        return;
    const uint64_t ns = turn->took > 0 ? turn->took : espi_stats_now() - turn->begun;

    if (turn->call == ESPI_WAY_PLAIN && good && turn->group->state == ESPI_WAYS_TRYING)
        turn->group->turns[ESPI_WAY_PLAIN]++; /* of this size, as is known by now */
    if (turn->batch == 0) {
        if (good && turn->counts)
            took(turn->group, turn->call, turn->label, turn->bytes, ns);
    } else if (!good) {
        espi_way_batch_spoilt(turn->batch);
    } else if (turn->batch == espi_way_batch) {
        batch.bytes += turn->bytes;
        espi_way_batch_took(ns);
    }
    turn->group = NULL;
}

/* ---- batches ---- */

void espi_way_batch_joined(unsigned number)
{
    if (number != 0 && espi_is_leader())
        batch.requests += number == espi_way_batch;
}

void espi_way_batch_left(unsigned number)
{
    if (number != 0 && espi_is_leader() && number == espi_way_batch)
        batch.requests--;
}

void espi_way_batch_spoilt(unsigned number)
{
    if (number != 0 && espi_is_leader() && number == espi_way_batch)
        espi_way_batch = 0;
}

bool espi_way_batch_is_own(void)
{
    return espi_way_batch != 0 && espi_is_leader() && batch.way == ESPI_WAY_OWN;
}

void espi_way_batch_called(uint64_t ns)
{
    if (espi_way_batch != 0 && espi_is_leader())
        batch.ns += ns;
}

void espi_way_batch_took(uint64_t ns)
{
    if (espi_way_batch == 0 || !espi_is_leader())
        return;
    batch.ns += ns;
    if (batch.requests > 0) {
        if (++batch.calls > BATCH_CALLS)
            espi_way_batch = 0;
        return;
    }
    espi_way_batch = 0;
    if (batch.bytes > 0 && batch.counts)
        took(batch.group, ESPI_WAY_BATCH, batch.way, batch.bytes, batch.ns);
}

/* ---- what will be found ---- */

bool espi_way_will_be_told(const struct espi_way_question *q)
{
    const struct espi_way_group *g = espi_way_group_of(q);

    return trying && !espi_calls_overlap && q->told &&
           (g->decided == 0 || (q->no_cells && g->tried[q->call] > 0 && !espi_way_was_tried(q)));
}
