/*
 * Whether calls of MPI may overlap in this process. Where they do not, as in most programs, what guards data against
 * other threads is left out, and memory that is used again needs no guard.
 *
 * They may until it is known that they do not: with MPI_COMM_WORLD alone and a level below MPI_THREAD_MULTIPLE. That
 * ends before a session begins, whatever its level. It changes in calls that nothing overlaps, and not while
 * something is locked.
 */
#ifndef ESPI_BASE_OVERLAP_H
#define ESPI_BASE_OVERLAP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern bool espi_calls_overlap;

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
