#include "mpi/packed/core_distance.h"

/* Times in a window; messages from one to the next, once a window was full: not always as many, as where a receiver
   is behind one message in some has to wait. Each one of the first window says something: a program may send but two
   or three before it is decided what goes on. If that was too much, more are sent, and soon it is less. */
enum { WINDOW = 8, PERIOD = 36, PERIOD_STEP = 7 };
/* What takes longer has waited. The first window may have nothing else. */
enum { WAITED_NS = 2000, WAITED_PERIOD = 15 };
/* Up to here the cores are near. What is above counts four thirds, in steps, so that the figure stays where little
   changes: columns of 2 kB (row mg_y of bench/layouts) save 280 ns a side more by packing on far cores. At most as
   much as the typed way costs more there. */
enum { NEAR_NS = 130, STEP_NS = 32, MOST_NS = 640 };

struct espi_core_distance espi_core_distance;

void espi_core_distance_forget(void)
{
    espi_core_distance = (struct espi_core_distance){.rest = 0};
}

void espi_core_distance_took(uint64_t ns)
{
    struct espi_core_distance *d = &espi_core_distance;

    if (ns > WAITED_NS && d->full) {
        d->rest = WAITED_PERIOD;
        return;
    }
    if (d->taken == 0 || ns < d->least_ns)
        d->least_ns = ns;
    d->taken++;
    if (d->taken == WINDOW || !d->full) {
        const uint64_t more = d->least_ns > NEAR_NS ? (d->least_ns - NEAR_NS) * 4 / 3 : 0;
        d->more_ns = more < MOST_NS ? more / STEP_NS * STEP_NS : MOST_NS;
    }
    if (d->taken == WINDOW) {
        d->taken = 0;
        d->full = true;
    }
    d->rest = d->full ? PERIOD + PERIOD_STEP * d->taken : 0;
}
