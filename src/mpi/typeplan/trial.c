#include "mpi/typeplan/trial.h"

/* What the handling of a call may cost, which is not timed; the part of MPI's time that is to be saved; and how often
   the chosen way may be slower, one sample after the other. */
enum { HANDLING_NS = 60, CLEAR = 8, LOST_MOST = 8 };
/* The same where the copy is what is done now, and the other way has to be faster. */
enum { CLOSE = 16, CLOSE_NS = 20 };

/* Long uses are dear to try: after these turns it is over where the copy takes less than two thirds of any other way,
   or is what is done now and no slower. (That is looked at again and again; a copy that is left is not.) One turn
   would not do, however long, as it may be the first use of some pages; but where what is done now is no slower than
   the first such turn of others, and takes so long that hardly anything can disturb it by much. */
enum { LONG_NS = 20000, LONG_TURNS = 2, VERY_LONG_NS = 1000000 };

static enum espi_selfcopy_way first_way(const struct espi_trial *t)
{
    return espi_trial_first(t->ways);
}

/* What a use saves that took so long: what is not timed of it is taken off. */
static uint64_t saved_by(const struct espi_trial *t, uint64_t ns)
{
    const uint64_t least = t->least[first_way(t)],
                   first = t->again_ns > 0 && t->again_ns < least ? t->again_ns : least,
                   takes = ns + (t->copy_stays ? t->beside_ns : HANDLING_NS);

    return takes < first ? first - takes : 0;
}

/* How long the way that is gone may take. */
static uint64_t most_of(const struct espi_trial *t)
{
    const uint64_t first = t->least[first_way(t)];

    if (!t->copy_stays)
        return first;
    return t->beside_ns == 0 ? first + first / CLOSE + CLOSE_NS : first > t->beside_ns ? first - t->beside_ns : 0;
}

enum espi_selfcopy_way espi_trial_turn(const struct espi_trial *t)
{
    const unsigned ahead = t->copy_stays ? ESPI_TRIAL_HEAD_START : 0;
    enum espi_selfcopy_way turn = ESPI_BY_COPY;

    if (t->turns[ESPI_BY_COPY] < ahead)
        return ESPI_BY_COPY;
    unsigned fewest = t->turns[ESPI_BY_COPY] - ahead;
    for (int way = ESPI_BY_COPY - 1; way >= 0; way--)
        if (t->ways & 1u << way && t->turns[way] <= fewest) {
            turn = (enum espi_selfcopy_way)way;
            fewest = t->turns[way];
        }
    return turn;
}

static void decide(struct espi_trial *t)
{
    const uint64_t first = t->least[first_way(t)];
    enum espi_selfcopy_way best = ESPI_BY_COPY;

    if (t->ways & 1u << ESPI_BY_LOCAL && t->least[ESPI_BY_LOCAL] < t->least[ESPI_BY_COPY])
        best = ESPI_BY_LOCAL;
    t->saves_ns = t->least[best] < first ? first - t->least[best] : 0;
    t->decided = true;
    t->last_ns = UINT64_MAX;
    t->lost = 0;
    t->way = best;
    if (t->copy_stays && most_of(t) >= t->least[best])
        return;
    if (best == first_way(t) || t->saves_ns <= first / CLEAR + HANDLING_NS || t->saves_ns < t->apart_ns) {
        t->way = ESPI_BY_CALL;
        t->saves_ns = 0;
    } else {
        t->saves_ns = saved_by(t, t->least[best]);
    }
}

/* Of two uses the shorter one counts: another process may have had the processor in the other. */
static bool sampled(struct espi_trial *t, uint64_t ns)
{
    const uint64_t now = ns < t->last_ns ? ns : t->last_ns;

    t->last_ns = ns;
    t->saves_ns = saved_by(t, now);
    t->lost = ns > most_of(t) ? t->lost + 1 : 0;
    if (t->lost < LOST_MOST)
        return false;
    *t = (struct espi_trial){.ways = t->ways, .apart_ns = t->apart_ns, .copy_stays = t->copy_stays,
                             .beside_ns = t->beside_ns, .way = t->way};
    return true;
}

static unsigned turns_to_make(const struct espi_trial *t)
{
    return t->apart_ns > 0 && t->least[first_way(t)] < ESPI_TRIAL_APART_NS ? ESPI_TRIAL_APART_TURNS
                                                                            : ESPI_TRIAL_TURNS;
}

/* Whether each way was gone as often as it has to be. */
static bool is_over(const struct espi_trial *t)
{
    uint64_t least = UINT64_MAX, second = UINT64_MAX;
    const unsigned most = turns_to_make(t);
    unsigned turns = most;

    for (int w = 0; w < ESPI_SELFCOPY_WAYS; w++) {
        if (!(t->ways & 1u << w))
            continue;
        turns = t->turns[w] < turns ? t->turns[w] : turns;
        if (t->least[w] < least) {
            second = least;
            least = t->least[w];
        } else if (t->least[w] < second) {
            second = t->least[w];
        }
    }
    if (turns == most)
        return true;
    if (t->copy_stays && least >= VERY_LONG_NS)
        return turns >= 1 && t->least[ESPI_BY_COPY] <= most_of(t);
    return turns >= LONG_TURNS && least >= LONG_NS &&
           (t->copy_stays ? t->least[ESPI_BY_COPY] <= most_of(t)
                          : least == t->least[ESPI_BY_COPY] && second / 3 > least / 2);
}

bool espi_trial_took(struct espi_trial *t, enum espi_selfcopy_way way, uint64_t ns)
{
    if (t->decided && way == first_way(t) && way != t->way && (t->again_ns == 0 || ns < t->again_ns))
        t->again_ns = ns;
    if (t->decided)
        return way == t->way && way != ESPI_BY_CALL && sampled(t, ns);
    if (t->turns[way] == 0 || ns < t->least[way])
        t->least[way] = ns;
    t->turns[way]++;
    if (!is_over(t))
        return false;
    decide(t);
    return true;
}
