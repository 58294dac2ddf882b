/* What is done with the uses of a pair that was planned, in each place: tried in turns, then the faster way. */
#include "mpi/selfcopy/self_copy.h"

#include <pthread.h>

#include "mpi/typeplan/admission.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/type_class.h"
#include "stats/stats.h"

/* Once it is decided, one use in so many is timed. Where statistics are wanted, one in so many of these goes by MPI's
   first way, to tell what the others save: its first uses, by which it was decided, may have been cold. */
enum { SAMPLE = 64, FIRST_WAY = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards trials and what changes by them */

static const unsigned ways_at[ESPI_SELF_PLACES] = {
    [ESPI_SELF_ALONE] = 1u << ESPI_BY_CALL | 1u << ESPI_BY_COPY,
    [ESPI_SELF_APART] = 1u << ESPI_BY_LOCAL | 1u << ESPI_BY_COPY,
    [ESPI_SELF_LATE] = 1u << ESPI_BY_LOCAL | 1u << ESPI_BY_COPY,
    [ESPI_SELF_SHARED] = 1u << ESPI_BY_CALL | 1u << ESPI_BY_COPY,
    [ESPI_SELF_MESSAGE] = 1u << ESPI_BY_CALL | 1u << ESPI_BY_LOCAL | 1u << ESPI_BY_COPY,
};

/* Under the lock: from what is done in each place. */
static void set_marks(struct espi_selfcopy_plan *plan)
{
    unsigned marks = 0;

    for (int place = 0; place < ESPI_SELF_PLACES; place++) {
        const int state = atomic_load_explicit(&plan->at[place].state, memory_order_relaxed);
        if (state == ESPI_SELFCOPY_TRYING)
            marks |= ESPI_PAIRED_TRIED;
        else if (state == ESPI_SELFCOPY_DECIDED &&
                 atomic_load_explicit(&plan->at[place].way, memory_order_relaxed) != ESPI_BY_CALL)
            marks |= espi_selfcopy_mark_of((enum espi_selfcopy_place)place);
    }
    atomic_store_explicit(&plan->marks, marks != 0 ? marks : ESPI_PAIRED_LEFT, memory_order_relaxed);
}

/* Under the lock: something was chosen, or is to be chosen once more. */
static void follow(struct espi_selfcopy_plan *plan, struct espi_selfcopy_choice *c)
{
    const int before = atomic_load_explicit(&c->way, memory_order_relaxed);

    if (!c->trial.decided) {
        atomic_store_explicit(&c->state, ESPI_SELFCOPY_TRYING, memory_order_relaxed);
        return;
    }
    if (!c->chosen_before) {
        espi_count_anywhere(c->trial.way == ESPI_BY_COPY ? ESPI_COUNT_pairs_kept : ESPI_COUNT_pairs_no_faster, 1);
        if (c->trial.way == ESPI_BY_CALL)
            espi_admission_idle(plan->made_ns);
    } else if (before != (int)c->trial.way) {
        espi_count_anywhere(ESPI_COUNT_pairs_reversed, 1);
    }
    c->chosen_before = true;
    atomic_store_explicit(&c->way, c->trial.way, memory_order_relaxed);
    atomic_store_explicit(&c->state, ESPI_SELFCOPY_DECIDED, memory_order_release);
    set_marks(plan);
}

/* Under the lock. */
static void leave(struct espi_selfcopy_plan *plan, struct espi_selfcopy_choice *c)
{
    c->trial.decided = true;
    c->trial.way = ESPI_BY_CALL;
    c->trial.saves_ns = 0;
    follow(plan, c);
}

/* Under the lock. */
static void begin(struct espi_selfcopy_plan *plan, enum espi_selfcopy_place place)
{
    struct espi_selfcopy_choice *c = &plan->at[place];

    const uint64_t apart_ns = place == ESPI_SELF_APART  ? ESPI_SELFCOPY_APART_NS
                              : place == ESPI_SELF_LATE ? ESPI_SELFCOPY_LATE_NS
                                                        : 0;
    if (apart_ns > 0 && plan->bytes < ESPI_SELFCOPY_APART_LEAST) {
        leave(plan, c);
        return;
    }
    c->trial = (struct espi_trial){.ways = ways_at[place],
                                   .apart_ns = apart_ns,
                                   .copy_stays = place == ESPI_SELF_SHARED}; /* both are ours */
    atomic_store_explicit(&c->state, ESPI_SELFCOPY_TRYING, memory_order_relaxed);
    /* Such a block may have been taken apart once, before its types had pack programs. */
    if (place == ESPI_SELF_SHARED &&
        atomic_load_explicit(&plan->at[ESPI_SELF_APART].state, memory_order_relaxed) == ESPI_SELFCOPY_TRYING)
        atomic_store_explicit(&plan->at[ESPI_SELF_APART].state, ESPI_SELFCOPY_UNTRIED, memory_order_relaxed);
    set_marks(plan);
}

bool espi_selfcopy_is_decided(const struct espi_selfcopy_plan *plan, enum espi_selfcopy_place place)
{
    const struct espi_selfcopy_choice *c = &plan->at[place];

    return atomic_load_explicit(&c->state, memory_order_acquire) == ESPI_SELFCOPY_DECIDED &&
           atomic_load_explicit(&c->way, memory_order_relaxed) != ESPI_BY_CALL;
}

struct espi_selfcopy_turn espi_selfcopy_turn(struct espi_selfcopy_plan *plan, enum espi_selfcopy_place place)
{
    struct espi_selfcopy_choice *c = &plan->at[place];
    struct espi_selfcopy_turn turn = {ESPI_BY_CALL, false, false};

    if (__builtin_expect(atomic_load_explicit(&c->state, memory_order_acquire) != ESPI_SELFCOPY_DECIDED, 0)) {
        pthread_mutex_lock(&lock);
        if (atomic_load_explicit(&c->state, memory_order_relaxed) == ESPI_SELFCOPY_UNTRIED) {
            begin(plan, place);
            turn.marks = true;
        }
        if (atomic_load_explicit(&c->state, memory_order_relaxed) != ESPI_SELFCOPY_DECIDED) { /* else just now */
            turn.way = espi_trial_turn(&c->trial);
            turn.timed = true;
        }
        pthread_mutex_unlock(&lock);
        if (turn.timed)
            return turn;
    }
    turn.way = (enum espi_selfcopy_way)atomic_load_explicit(&c->way, memory_order_relaxed);
    if (plan->timed && turn.way != ESPI_BY_CALL) {
        const unsigned uses = atomic_load_explicit(&c->uses, memory_order_relaxed) + 1;
        const bool last = uses >= SAMPLE * FIRST_WAY;
        turn.timed = uses % SAMPLE == 0;
        atomic_store_explicit(&c->uses, last ? 0 : uses, memory_order_relaxed);
        if (last && espi_stats_wanted())
            turn.way = espi_trial_first(ways_at[place]);
    }
    return turn;
}

bool espi_selfcopy_took(struct espi_selfcopy_plan *plan, enum espi_selfcopy_place place, enum espi_selfcopy_way way,
                        uint64_t ns)
{
    struct espi_selfcopy_choice *c = &plan->at[place];
    bool changed;

    pthread_mutex_lock(&lock);
    const unsigned marks = atomic_load_explicit(&plan->marks, memory_order_relaxed);
    if (ns == ESPI_SELFCOPY_FAILED) {
        leave(plan, c);
    } else {
        if (!c->trial.decided)
            espi_count_anywhere(ESPI_COUNT_blocks_tried, 1);
        else
            espi_admission_gain(SAMPLE * c->trial.saves_ns);
        if (espi_trial_took(&c->trial, way, ns))
            follow(plan, c);
    }
    atomic_store_explicit(&c->saves_ns, c->trial.saves_ns, memory_order_relaxed);
    changed = marks != atomic_load_explicit(&plan->marks, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return changed;
}

uint64_t espi_selfcopy_gained(struct espi_selfcopy_plan *plan)
{
    const uint64_t gained = (uint64_t)atomic_exchange_explicit(&plan->gained_ns, 0, memory_order_relaxed);

    if (plan->copy == NULL || !plan->timed)
        return gained;
    for (int place = 0; place < ESPI_SELF_PLACES; place++)
        if (atomic_load_explicit(&plan->at[place].state, memory_order_relaxed) == ESPI_SELFCOPY_DECIDED)
            return gained;
    return gained + (uint64_t)plan->bytes / 8 + 1;
}

bool espi_selfcopy_is_small(const struct espi_type_class *class, int64_t count)
{
    enum { SMALL = 1024, LESS_SMALL = 4096, LIVES = 4, LIVES_MOST = 256 };

    if (class == NULL || class->size < 0 || class->own_way == ESPI_OWN_COPIED)
        return false;
    const bool once = class->ended >= LIVES && class->uses < 2 * class->ended;
    const bool left = class->own_way == ESPI_OWN_LEFT || class->ended >= LIVES_MOST; /* by now it would be known */
    const int64_t least = once || left ? LESS_SMALL : SMALL;
    return class->size < least && class->size * count < least;
}
