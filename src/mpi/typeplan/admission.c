#include "mpi/typeplan/admission.h"

#include <stdatomic.h>
#include <time.h>

#include "base/overlap.h"
#include "stats/stats.h"

enum {
    SHARE = 100, /* one 100th of the time since the start */
    TRIES = 10   /* one tenth of the grant is for work that leads to nothing */
};

uint64_t espi_admission_number_ns = ESPI_NUMBER_NS;
static _Atomic uint64_t booked, idled, gained;
static uint64_t begun, grant;

/* A sample is an eighth of the mean. One that is many times as long, as something came in between, counts as eight
   times the mean. */
enum { RULES_NS = 2500, SAMPLES = 8, FAR = 8 };
static _Atomic uint64_t made_ns = RULES_NS;
bool espi_admission_learns = true;

uint64_t espi_admission_rules(uint64_t numbers)
{
    return atomic_load_explicit(&made_ns, memory_order_relaxed) + espi_admission_number_ns * numbers;
}

void espi_admission_made(uint64_t numbers, uint64_t took)
{
    const uint64_t mean = atomic_load_explicit(&made_ns, memory_order_relaxed),
                   lists = espi_admission_number_ns * numbers, rest = took > lists ? took - lists : 0,
                   seen = rest < FAR * mean ? rest : FAR * mean, next = mean - mean / SAMPLES + seen / SAMPLES;

    if (!espi_admission_learns)
        return;
    atomic_store_explicit(&made_ns, next > RULES_NS ? next : RULES_NS, memory_order_relaxed);
}

enum { BEGIN_NS = 250000 };
static _Atomic uint64_t told;
static atomic_bool warm; /* a plan was made */

bool espi_admission_begins(uint64_t more)
{
    if (atomic_load_explicit(&told, memory_order_relaxed) >= BEGIN_NS)
        return true;
    espi_add_u64(&told, more);
    return atomic_load_explicit(&told, memory_order_relaxed) >= BEGIN_NS;
}

bool espi_admission_was_warm(void)
{
    return atomic_exchange(&warm, true);
}

void espi_admission_start(int64_t grant_ms)
{
    begun = espi_stats_now();
    grant = (uint64_t)grant_ms * 1000000;
    atomic_store(&told, 0);
    atomic_store(&warm, false);
    atomic_store(&made_ns, RULES_NS);
    atomic_store(&booked, 0);
    atomic_store(&idled, 0);
    atomic_store(&gained, 0);
}

/* Time since the start in which the process had a processor: time in which others had it is none that could be
   shared.
   Threads can not make it more than the time that passed. */
static uint64_t elapsed(void)
{
    uint64_t passed = espi_stats_now() - begun, used = passed;
    struct timespec t;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0)
        used = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return used < passed ? used : passed;
}

bool espi_admission_open(uint64_t estimate)
{
    uint64_t earned = elapsed() / SHARE + atomic_load_explicit(&gained, memory_order_relaxed) / 2;

    /* Whether the next work leads to nothing is not known before. */
    return atomic_load_explicit(&booked, memory_order_relaxed) + estimate <= grant + earned &&
           atomic_load_explicit(&idled, memory_order_relaxed) <= grant / TRIES + earned;
}

bool espi_admission_open_dear(uint64_t estimate)
{
    uint64_t earned = elapsed() / SHARE + atomic_load_explicit(&gained, memory_order_relaxed) / 2;

    return atomic_load_explicit(&booked, memory_order_relaxed) + estimate <= grant / TRIES + earned &&
           espi_admission_open(estimate);
}

void espi_admission_gain(uint64_t ns)
{
    espi_add_u64(&gained, ns);
}

void espi_admission_book(uint64_t ns)
{
    espi_add_u64(&booked, ns);
}

void espi_admission_idle(uint64_t ns)
{
    espi_add_u64(&idled, ns);
}

uint64_t espi_admission_clock(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
