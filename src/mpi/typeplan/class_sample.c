#include "mpi/typeplan/class_sample.h"

#include <stdatomic.h>

#include "mpi/typeplan/handle_table.h"

enum { HEAT = 64 }; /* first uses to look at after one that met a known layout with a better type */

static _Atomic uint32_t lives, heat;
static _Atomic uint64_t given;

/* Of the lives that the stub may begin, those left are taken back first, and `gap` are given. */
static void give(uint32_t gap)
{
    atomic_fetch_add_explicit(&given, gap - (uint64_t)atomic_load_explicit(&espi_hot->fresh, memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&espi_hot->fresh, gap, memory_order_relaxed);
}

void espi_class_sample_reset(void)
{
    atomic_store(&lives, 0);
    atomic_store(&heat, 0);
    give(0);
}

void espi_class_sample_recall(void)
{
    give(0);
}

uint64_t espi_class_sample_left(void)
{
    return atomic_load_explicit(&given, memory_order_relaxed) -
           atomic_load_explicit(&espi_hot->fresh, memory_order_relaxed);
}

/* The chance of type number `number` is one in so many. */
static uint32_t share(uint32_t number)
{
    uint32_t part = number / ESPI_SAMPLE_FIRST;

    return number < ESPI_SAMPLE_FIRST ? 1
           : part < ESPI_SAMPLE_SHARE ? ESPI_SAMPLE_SHARE
           : part < ESPI_SAMPLE_LEAST ? part
                                      : ESPI_SAMPLE_LEAST;
}

uint64_t espi_class_sample_next(bool stub)
{
    /* Without a lock: no matter if two threads share a number. */
    uint32_t number = atomic_load_explicit(&lives, memory_order_relaxed), gap = 0;
    bool hot = atomic_load_explicit(&heat, memory_order_relaxed) > 0;
    static uint32_t turn; /* where the stub begins lives calls do not overlap */

    atomic_store_explicit(&lives, number + 1, memory_order_relaxed);
    if (stub && atomic_load_explicit(&espi_hot->fresh, memory_order_relaxed) == 0) {
        if (number + 1 >= ESPI_SAMPLE_FIRST && !hot) {
            turn = turn * 1664525u + 1013904223u;
            gap = (turn >> 16) % (2 * share(number + 1) - 1); /* share - 1 on the average */
            atomic_store_explicit(&lives, number + 1 + gap, memory_order_relaxed);
        }
        give(gap);
        return 1;
    }
    /* Numbers are mixed, so that a program with a period is not sampled in step with it. */
    uint32_t mixed = number * 2654435761u;
    return hot || (mixed ^ mixed >> 15) % share(number) == 0 ? 1 : ESPI_LOOK_FIRST;
}

void espi_class_sample_none(void)
{
    give(UINT32_MAX);
}

uint64_t espi_class_sample_weight(void)
{
    return atomic_load(&heat) == 0 ? share(atomic_load(&lives)) : 1;
}

void espi_class_sample_heat(void)
{
    atomic_store(&heat, HEAT);
    give(0);
}

void espi_class_sample_cool(void)
{
    if (atomic_load(&heat) > 0)
        atomic_fetch_sub(&heat, 1);
}
