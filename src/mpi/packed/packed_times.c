#include "mpi/packed/packed_times.h"

/* Times in a window; calls from one to the next, once a window was full. */
enum { WINDOW = 8, PERIOD = 64 };

static void judge(struct espi_packed_times *t, bool unpacks, uint64_t ns)
{
    for (int use = 0; use < ESPI_PACKED_USES; use++) {
        const int64_t limit = t->limit_ns[use];
        if (limit <= 0 || ns <= (uint64_t)limit ||
            (atomic_fetch_or_explicit(&t->reversed, 1u << use, memory_order_relaxed) & 1u << use) != 0)
            continue;
        atomic_store_explicit(&t->gain_ns[use], 0, memory_order_relaxed);
        espi_count_anywhere(ESPI_COUNT_packs_reversed, 1);
        espi_stats_type_reversed(t->record, (enum espi_stats_packed)use,
                                 unpacks ? ESPI_SLOW_UNPACKING : ESPI_SLOW_PACKING, ns / (uint64_t)t->count,
                                 (uint64_t)limit / (uint64_t)t->count);
    }
}

/* Two threads at a time may lose a time. */
static void take(struct espi_packed_times *t, bool unpacks, uint64_t ns)
{
    struct espi_packed_window *w = &t->window[unpacks];
    const unsigned taken = atomic_load_explicit(&w->taken, memory_order_relaxed) + 1;
    uint64_t least = atomic_load_explicit(&w->least_ns, memory_order_relaxed);

    if (taken == 1 || ns < least)
        least = ns;
    atomic_store_explicit(&w->least_ns, least, memory_order_relaxed);
    atomic_store_explicit(&w->taken, taken < WINDOW ? taken : 0, memory_order_relaxed);
    if (taken < WINDOW)
        return;
    espi_stats_type_measured(t->record, unpacks, least, t->count);
    /* The first calls follow each other so closely that one thing may have slowed down all of them. */
    if (atomic_exchange_explicit(&w->full, true, memory_order_relaxed))
        judge(t, unpacks, least);
}

void espi_packed_times_again(struct espi_packed_times *t)
{
    for (int unpacks = 0; unpacks < 2; unpacks++) {
        struct espi_packed_window *w = &t->window[unpacks];
        atomic_store_explicit(&w->full, false, memory_order_relaxed);
        atomic_store_explicit(&w->taken, 0, memory_order_relaxed);
        atomic_store_explicit(&w->rest, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&t->reversed, 0, memory_order_relaxed);
}

void espi_packed_sample(struct espi_packed_times *t, bool unpacks, const struct espi_pack *pack, void *data,
                        int64_t count, void *stream)
{
    struct espi_packed_window *w = &t->window[unpacks];
    const uint64_t first = espi_stats_now(), begun = espi_stats_now(); /* what it takes to ask is not part of it */

    if (unpacks)
        espi_unpack_run(pack, stream, data, count);
    else
        espi_pack_run(pack, data, count, stream);
    const uint64_t took = espi_stats_now() - begun, asked = begun - first;
    if (count > 0 && count >= t->count / 2 && count <= 2 * t->count) /* else it is no usual call */
        take(t, unpacks, (uint64_t)((double)(took > asked ? took - asked : 0) * (double)t->count / (double)count));
    const bool soon = !atomic_load_explicit(&w->full, memory_order_relaxed) &&
                      atomic_load_explicit(&w->taken, memory_order_relaxed) > 0;
    atomic_store_explicit(&w->rest, soon ? 0 : PERIOD - 1, memory_order_relaxed);
}
