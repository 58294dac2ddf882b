#include "mpi/packed/way_watch.h"

#include "base/overlap.h"
#include "mpi/core/handle_table.h"

bool espi_ways_are_watched;
static int told_trials;    /* that go on */
static unsigned passed_by; /* calls that were seen since the last turn in one of them */

void espi_way_watch_forget(void)
{
    espi_ways_are_watched = false;
    told_trials = 0;
    passed_by = 0;
}

/* Such calls pass the core by as long as nobody asks for them. */
static void watch(void)
{
    enum { PASSED_MOST = 4096 };
    const bool now = told_trials > 0 && passed_by < PASSED_MOST && !espi_calls_overlap;

    if (now != espi_ways_are_watched)
        espi_handle_table_plain(now ? ~(unsigned)ESPI_PLAIN : ~0u, now ? 0 : ESPI_PLAIN, NULL);
    espi_ways_are_watched = now;
}

void espi_way_passed_by(void)
{
    passed_by++;
    watch();
}

void espi_way_watch_begins(struct espi_way_group *g)
{
    told_trials += !g->told;
    g->told = true;
}

void espi_way_watch_goes_on(void)
{
    passed_by = 0;
    watch();
}

void espi_way_watch_ends(struct espi_way_group *g)
{
    if (g->state == ESPI_WAYS_TRYING || !g->told)
        return;
    g->told = false;
    told_trials--;
    watch();
}
