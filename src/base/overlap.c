#include "base/overlap.h"

bool espi_calls_overlap = true;

/* 0: none leads. (Of a thread that has ended it may become another's, which then leads.) */
static _Atomic uintptr_t leader;

static uintptr_t own(void)
{
    return (uintptr_t)pthread_self();
}

bool espi_leads_others(void)
{
    uintptr_t none = 0, now = atomic_load_explicit(&leader, memory_order_relaxed);

    return now == own() ||
           (now == 0 && atomic_compare_exchange_strong_explicit(&leader, &none, own(), memory_order_acquire,
                                                                memory_order_relaxed));
}

bool espi_led_others(void)
{
    return atomic_load_explicit(&leader, memory_order_relaxed) == own();
}

void espi_leads_no_more(void)
{
    uintptr_t now = own();

    atomic_compare_exchange_strong_explicit(&leader, &now, 0, memory_order_release, memory_order_relaxed);
}

void espi_leads_at_the_end(void)
{
    atomic_store(&leader, own());
}
