/*
 * Whether calls of MPI may overlap in this process. Where they do not, as in most programs, what guards data against
 * other threads is left out, and memory that is used again needs no guard.
 *
 * They may until it is known that they do not: with MPI_COMM_WORLD alone and a level below MPI_THREAD_MULTIPLE. That
 * ends before a session begins, whatever its level. It changes in calls that nothing overlaps, and not while
 * something is locked.
 *
 * Where they do, one thread leads: the first one that asks, until it ends. Most programs that may call MPI from
 * several threads at the same time do so from one alone, or from one most of the time; and the calls of one thread do
 * not overlap each other. So what would need a guard at every step is kept for these, and only the leader touches it.
 */
#ifndef ESPI_BASE_OVERLAP_H
#define ESPI_BASE_OVERLAP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern bool espi_calls_overlap;

/* Whether this thread leads, where calls overlap; the first takes the lead if no other one has it. */
bool espi_leads_others(void);
bool espi_led_others(void);
/* This thread ends: it leads no more. */
void espi_leads_no_more(void);
/* From now on this thread leads. Calls of MPI are over, but for its own. */
void espi_leads_at_the_end(void);

/* Whether no call of another thread touches what is kept for those that do not overlap. */
static inline bool espi_leads(void)
{
    return __builtin_expect(!espi_calls_overlap, 1) || espi_leads_others();
}

/* The same, without taking the lead. */
static inline bool espi_is_leader(void)
{
    return __builtin_expect(!espi_calls_overlap, 1) || espi_led_others();
}

static inline void espi_lock(pthread_mutex_t *mutex)
{
    if (espi_calls_overlap)
        pthread_mutex_lock(mutex);
}

/* False: it is locked, which another thread alone can have done. */
static inline bool espi_try_lock(pthread_mutex_t *mutex)
{
    return !espi_calls_overlap || pthread_mutex_trylock(mutex) == 0;
}

static inline void espi_unlock(pthread_mutex_t *mutex)
{
    if (espi_calls_overlap)
        pthread_mutex_unlock(mutex);
}

/* Adds, and returns what was there before. */
static inline int espi_add(atomic_int *to, int n)
{
    if (espi_calls_overlap)
        return atomic_fetch_add(to, n);
    const int before = atomic_load_explicit(to, memory_order_relaxed);
    atomic_store_explicit(to, before + n, memory_order_relaxed);
    return before;
}

static inline int64_t espi_add_64(_Atomic int64_t *to, int64_t n)
{
    if (espi_calls_overlap)
        return atomic_fetch_add(to, n);
    const int64_t before = atomic_load_explicit(to, memory_order_relaxed);
    atomic_store_explicit(to, before + n, memory_order_relaxed);
    return before;
}

static inline void espi_add_u64(_Atomic uint64_t *to, uint64_t n)
{
    if (espi_calls_overlap)
        atomic_fetch_add_explicit(to, n, memory_order_relaxed);
    else
        atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, memory_order_relaxed);
}

#endif
