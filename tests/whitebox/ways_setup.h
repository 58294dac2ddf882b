/* What tests of src/mpi/packed/message_ways.h share: programs that are played, by scripts. No MPI is called, and no
   time is read. For programs linked with --wrap=espi_stats_now,--wrap=espi_stream_may_go_in_cells. */
#ifndef ESPI_TESTS_WHITEBOX_WAYS_SETUP_H
#define ESPI_TESTS_WHITEBOX_WAYS_SETUP_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/stream_type.h"
#include "mpi/core/handle_table.h"
#include "stats/stats.h"

/* A trial is over after so many calls of one kind, whatever comes. */
enum { KB = 1024, LONG = 100 * KB, WARM = 2, TIMES = 12, TIMES_SHORT = 24, TRIAL = 80, COLD = 2 << 20, AGAIN = 512,
       AGAIN_MOST = 1 << 15 };
#define TYPED ESPI_WAY_TYPED
#define CELLS ESPI_WAY_CELLS
#define DENSE ESPI_WAY_DENSE
#define OWN ESPI_WAY_OWN

uint64_t __wrap_espi_stats_now(void);
bool __wrap_espi_stream_may_go_in_cells(int64_t bytes);

static uint64_t now;
static bool have_cells;

uint64_t __wrap_espi_stats_now(void)
{
    return now;
}

bool __wrap_espi_stream_may_go_in_cells(int64_t bytes)
{
    return have_cells && bytes > 8255;
}

static inline void begin_cold(bool tried)
{
    static struct espi_hot hot; /* the stub's */

    espi_handle_table_share(&hot, NULL);
    atomic_store(&hot.plain, ESPI_PLAIN);
    espi_calls_overlap = false;
    now = 1000;
    have_cells = true;
    espi_ways_start(tried);
}

/* As many bytes have gone through cells as do before any trial. */
static inline void begin(bool tried)
{
    const struct espi_way_question q = {
        .open = ESPI_WAYS_EVEN, .call = ESPI_WAY_SEND, .near = true, .bytes = COLD};
    struct espi_way_turn turn;

    begin_cold(tried);
    if (!tried)
        return;
    turn = espi_way_turn(&q);
    espi_way_turn_end(&turn, true);
}

/* What messages take: by call and way. */
typedef uint64_t script[ESPI_WAY_CALLS][ESPI_WAYS];

static inline struct espi_way_question question(enum espi_ways_open open, enum espi_way_call call, bool near)
{
    return (struct espi_way_question){.open = open, .call = call, .near = near, .bytes = LONG};
}

/* One blocking call; the way that it went. */
static inline enum espi_message_way call_once(const struct espi_way_question *q, const script takes)
{
    struct espi_way_turn turn = espi_way_turn(q);

    now += takes[q->call][turn.way];
    espi_way_turn_end(&turn, true);
    return turn.way;
}

static int gone[ESPI_WAYS]; /* in the last `run` */

static inline void run(const struct espi_way_question *q, const script takes, int calls)
{
    memset(gone, 0, sizeof gone);
    for (int i = 0; i < calls; i++)
        gone[call_once(q, takes)]++;
}
static inline void to_and_fro(const struct espi_way_question *send, const struct espi_way_question *receive,
                              const script takes)
{
    for (int i = 0; i < TRIAL; i++) {
        call_once(send, takes);
        call_once(receive, takes);
    }
}

#endif
