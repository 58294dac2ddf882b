#include "mpi/typeplan/unseen.h"

#include "mpi/typeplan/kept_types.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"

/* Each time that nothing was worth it twice as many pass, up to PASSED_MOST. */
enum { WATCHED = 128, PASSED = 1024, PASSED_MOST = 8192 };
static atomic_uint passed;  /* the last time */
static atomic_uint watched; /* types that have begun since it was last decided */
static _Atomic uint64_t ended;       /* types, where the core saw it; the others are counted by the stub */
static _Atomic uint64_t ended_before; /* both, when it was last decided */
atomic_bool espi_types_worth; /* one of these was worth it */

void espi_unseen_type_ends(void)
{
    espi_bump(&ended, 1);
}

/* Whether most of those that were watched have ended: of types that are all made first nothing is known as yet. */
static bool have_ended(void)
{
    const uint64_t now = atomic_load_explicit(&ended, memory_order_relaxed) +
                         atomic_load_explicit(&espi_hot->frees, memory_order_relaxed);
    const bool most = now - atomic_load_explicit(&ended_before, memory_order_relaxed) >= WATCHED / 2;

    atomic_store_explicit(&ended_before, now, memory_order_relaxed);
    return most;
}

void espi_unseen_watch(const struct espi_type_class *class, uint64_t look, bool allowed)
{
    if (class != NULL && class->state == ESPI_CLASS_BETTER && !class->idle && look <= UINT32_MAX &&
        look * class->ended <= class->uses)
        espi_types_pay();
    unsigned so_far = atomic_load_explicit(&watched, memory_order_relaxed) + 1;
    atomic_store_explicit(&watched, so_far < WATCHED ? so_far : 0, memory_order_relaxed);
    if (so_far < WATCHED)
        return;
    if (allowed && espi_kept_pay())
        espi_types_pay();
    unsigned pass = 2 * atomic_load_explicit(&passed, memory_order_relaxed);
    pass = !have_ended() || !allowed || atomic_load_explicit(&espi_types_worth, memory_order_relaxed) ? 0
           : pass < PASSED                                              ? PASSED
           : pass < PASSED_MOST                                         ? pass
                                                                        : PASSED_MOST;
    /* Some are looked at while others pass (kept.h): that does not go on for longer then. */
    if (pass == 0 || atomic_load_explicit(&espi_hot->unseen, memory_order_relaxed) <= 0) {
        atomic_store_explicit(&espi_hot->unseen, pass, memory_order_relaxed);
        atomic_store_explicit(&passed, pass, memory_order_relaxed);
    }
    atomic_store_explicit(&espi_types_worth, false, memory_order_relaxed);
}

void espi_unseen_reset(void)
{
    atomic_store(&espi_hot->unseen, 0);
    atomic_store(&watched, 0);
    atomic_store(&passed, 0);
    atomic_store(&espi_types_worth, false);
}

bool espi_types_goes_on(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count)
{
    struct espi_type_slot *slot = espi_types_quiet(type);
    if (atomic_load_explicit(&espi_type_service.mode, memory_order_relaxed) == ESPI_MODE_OFF ||
        (slot == NULL && !espi_unseen_passes(type)))
        return false;
    espi_count(stats, ESPI_COUNT_calls_examined, 1);
    if (slot != NULL) {
        espi_bump(&slot->uses, 1);
        espi_bump(&slot->items, (uint64_t)count);
        espi_slot_lend(slot, type);
    }
    espi_count(stats, slot != NULL ? espi_types_left_why(slot) : ESPI_COUNT_left_not_earned, 1);
    return true;
}
