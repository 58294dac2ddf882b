#include "mpi/typeplan/unseen.h"

enum { WATCHED = 128, PASSED = 1024 };
static atomic_uint watched; /* types that have begun since it was last decided */
static atomic_bool worth;   /* one of these was worth it */

void espi_types_pay(void)
{
    if (!atomic_load_explicit(&worth, memory_order_relaxed))
        atomic_store_explicit(&worth, true, memory_order_relaxed);
}

void espi_unseen_watch(const struct espi_type_class *class, uint64_t look, bool allowed)
{
    if (class != NULL && class->state == ESPI_CLASS_BETTER && look <= UINT32_MAX &&
        look * class->ended <= class->uses)
        espi_types_pay();
    unsigned so_far = atomic_load_explicit(&watched, memory_order_relaxed) + 1;
    atomic_store_explicit(&watched, so_far < WATCHED ? so_far : 0, memory_order_relaxed);
    if (so_far < WATCHED)
        return;
    if (!atomic_load_explicit(&worth, memory_order_relaxed) && allowed)
        atomic_store_explicit(&espi_hot->unseen, PASSED, memory_order_relaxed);
    atomic_store_explicit(&worth, false, memory_order_relaxed);
}

bool espi_is_unseen(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);

    return at < ESPI_CREDITS && espi_hint_of(type) == ESPI_HINT_UNSEEN &&
           (unsigned char)(atomic_load_explicit(&espi_hot->credit[at], memory_order_relaxed) - 1) <
               ESPI_CREDIT_ENDED - 1;
}

bool espi_unseen_passes(MPI_Datatype type)
{
    atomic_uchar *credit = espi_is_unseen(type) ? espi_slot_credit(type) : NULL;

    if (credit == NULL || atomic_load_explicit(credit, memory_order_relaxed) <= 1)
        return false;
    atomic_fetch_sub_explicit(credit, 1, memory_order_relaxed);
    return true;
}

void espi_unseen_reset(void)
{
    atomic_store(&espi_hot->unseen, 0);
    atomic_store(&watched, 0);
    atomic_store(&worth, false);
}
