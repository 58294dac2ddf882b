#include "mpi/exchange/turns.h"

#include <stddef.h>
#include <string.h>

#include "base/table.h"
#include "mpi/exchange/ends.h"
#include "mpi/exchange/flow.h"
#include "mpi/packed/way_times.h"
#include "stats/stats.h"

/* The first turn of a kind comes early, as calls may be long and few. RUN calls one behind the other are the
   library's, and as many go through shared memory then. Turns get rarer: in a thousand calls 16 are the library's. */
enum { FIRST = 8, RARER = 4, RUN = 4, BOTH = 2 * RUN, AT_LAST = 2048 };
enum { KINDS = 32, WAYS = ESPI_TURN_NONE };
/* Times of a way that count: the latest ones. */
enum { LATEST = 12 };
_Static_assert((int)LATEST <= (int)ESPI_WAY_TIMES, "there is room for them");
/* From so many times of a way on one call that was disturbed is not the middle one. */
enum { FEWEST = 3 };
/* What the library uses is no more in the caches when its turn comes. */
enum { COLD_NS = 100 };

struct espi_exchange_kind {
    uint64_t key;                      /* 0: none */
    uint64_t calls;
    struct espi_way_times times[WAYS]; /* ns */
    int next[WAYS];
    bool known;                        /* what calls save, as these times say: */
    double saves;
    double untold, credited; /* calls of which it is not known yet what they save, and what they are credited with */
    double excess;           /* what they were credited with and do not save */
};

bool espi_exchange_has_turns;
static struct espi_exchange_kind kinds[KINDS] ESPI_TABLE;

void espi_exchange_turns_start(bool are)
{
    if (espi_exchange_has_turns) /* memory that was never written costs nothing */
        memset(kinds, 0, sizeof kinds);
    espi_exchange_has_turns = are;
}

enum espi_exchange_turn espi_exchange_turn_wanted(struct espi_exchange_kind *kind)
{
    const uint64_t n = ++kind->calls;
    uint64_t begin = FIRST;

    while (begin * RARER <= n && begin * RARER < AT_LAST)
        begin *= RARER;
    const uint64_t place = n < AT_LAST ? n - begin : n % AT_LAST; /* wraps before the first */
    return place < RUN ? ESPI_TURN_LIBRARYS : place < BOTH ? ESPI_TURN_SHARED : ESPI_TURN_NONE;
}

/* ---- agreeing ---- */

/* So long a rank waits for others before it has said yes: within that, ranks that are in step come. */
enum { YES = ESPI_FLOW_ASKS - WAYS, PATIENCE_NS = 100000 };

/* What is said with a word: pieces that had been read from the other rank, and what is called, among whom. */
struct said {
    uint64_t read, call;
};

/* What is known of another rank as it is asked: pieces that it had got, and that had been read from it. */
struct other {
    uint64_t written, read;
    bool heard;
};

/* There is room. */
static void say(struct espi_channel_end *to, int64_t word, const struct other *other, uint64_t call)
{
    const struct said said = {other->read, call};

    memcpy(espi_channel_write(to, sizeof said), &said, sizeof said);
    espi_channel_written(to, word);
}

/* -1: what it says is not this word, or it has not read what it had got, or calls something else; 0: nothing yet. */
static int hears(struct espi_channel_end *from, int64_t word, const struct other *other, uint64_t call)
{
    struct said said;
    int64_t total;

    if (!espi_channel_has_piece(from, &total))
        return 0;
    memcpy(&said, espi_channel_piece(from, sizeof said), sizeof said);
    if (total != word || said.read != other->written || said.call != call)
        return -1;
    espi_channel_read(from);
    return 1;
}

/* `until`: later than that it is no. */
static bool all_say(struct espi_channel_end *const *from, int64_t word, struct other *others, int n, uint64_t call,
                    uint64_t until)
{
    unsigned looks = 0;

    for (int i = 0; i < n; i++)
        others[i].heard = false;
    for (int left = n; left > 0;) {
        const int before = left;
        for (int i = 0; i < n; i++) {
            const int says = others[i].heard ? 0 : hears(from[i], word, &others[i], call);
            if (says < 0)
                return false;
            others[i].heard = others[i].heard || says > 0;
            left -= says;
        }
        if (left == before && espi_stats_now() > until)
            return false;
        if (left == before)
            espi_exchange_wait(looks++);
    }
    return true;
}

static bool all_have_read(struct espi_channel_end *const *to, int n, uint64_t until)
{
    unsigned looks = 0;

    for (int i = 0; i < n; i++)
        while (!espi_channel_is_empty(to[i])) {
            if (espi_stats_now() > until)
                return false;
            espi_exchange_wait(looks++);
        }
    return true;
}

bool espi_exchange_turn_agreed(enum espi_exchange_turn turn, struct espi_channel_end *const *to,
                               struct espi_channel_end *const *from, int n, uint64_t call)
{
    const int64_t word = ESPI_FLOW_ASKS - (int64_t)turn;
    const uint64_t until = espi_stats_now() + PATIENCE_NS;
    struct other others[ESPI_SEGMENT_PROCESSES];

    if (!all_have_read(to, n, until))
        return false;
    for (int i = 0; i < n; i++) {
        others[i] = (struct other){.written = to[i]->pieces, .read = from[i]->pieces};
        say(to[i], word, &others[i], call);
    }
    if (!all_say(from, word, others, n, call, until))
        return false;
    for (int i = 0; i < n; i++)
        say(to[i], YES, &others[i], call);
    return all_say(from, YES, others, n, call, UINT64_MAX);
}

/* ---- what is told ---- */

struct espi_exchange_kind *espi_exchange_kind(uint64_t key)
{
    const uint64_t first = key % KINDS;

    key = key != 0 ? key : 1;
    for (uint64_t i = 0; i < KINDS; i++) {
        struct espi_exchange_kind *kind = &kinds[(first + i) % KINDS];
        if (kind->key == 0)
            kind->key = key;
        if (kind->key == key)
            return kind;
    }
    return NULL;
}

/* After each time, and not for each call: it sorts them. */
static void find_what_it_saves(struct espi_exchange_kind *kind)
{
    const struct espi_way_times *shared = &kind->times[ESPI_TURN_SHARED],
                                *librarys = &kind->times[ESPI_TURN_LIBRARYS];

    kind->known = shared->n >= FEWEST && librarys->n >= FEWEST;
    if (!kind->known)
        return;
    const double own = espi_way_middle(shared), saved = espi_way_middle(librarys) - own - COLD_NS;
    kind->saves = espi_way_least(librarys, false) > own && saved > 0 ? saved : 0;
}

void espi_exchange_took(struct espi_exchange_kind *kind, enum espi_exchange_turn turn, uint64_t ns)
{
    struct espi_way_times *times = &kind->times[turn];
    int *next = &kind->next[turn];

    times->ns[*next] = (float)ns;
    *next = (*next + 1) % LATEST;
    if (times->n < LATEST)
        times->n++;
    find_what_it_saves(kind);
}

double espi_exchange_kind_saves(const struct espi_exchange_kind *kind)
{
    return kind->known ? kind->saves : -1;
}

uint64_t espi_exchange_kind_rest(struct espi_exchange_kind *kind, double credited)
{
    const double saves = espi_exchange_kind_saves(kind);

    kind->untold++;
    kind->credited += credited;
    if (saves < 0)
        return 0;
    const double rest = saves * kind->untold - kind->credited;
    kind->untold = kind->credited = 0;
    kind->excess -= rest < 0 ? rest : 0;
    return rest > 0 ? (uint64_t)rest : 0;
}

double espi_exchange_kind_takes_back(struct espi_exchange_kind *kind, double most)
{
    const double now = kind->excess < most ? kind->excess : most;

    kind->excess -= now;
    return now;
}
