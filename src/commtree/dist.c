/* The block-size distributions of Traeff's experiments. */
#include <stdlib.h>
#include <string.h>

#include "commtree/internal.h"

static const char *const names[ESPI_DISTS] = {"same",       "random",     "random-decreasing", "random-increasing",
                                              "bucket",     "spikes",     "decreasing",        "increasing",
                                              "alternating", "skewed",    "two-blocks"};

const char *espi_commtree_dist_name(enum espi_commtree_dist dist)
{
    return (unsigned)dist < ESPI_DISTS ? names[dist] : NULL;
}

bool espi_commtree_dist_parse(const char *name, enum espi_commtree_dist *dist)
{
    for (int d = 0; d < ESPI_DISTS; d++) {
        if (strcmp(name, names[d]) == 0) {
            *dist = (enum espi_commtree_dist)d;
            return true;
        }
    }
    return false;
}

/* splitmix64: the same sizes from a seed on every machine. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Uniform in lo..hi. */
static __int128 uniform_in(uint64_t *state, __int128 lo, __int128 hi)
{
    unsigned __int128 range = (unsigned __int128)(hi - lo) + 1;
    return hi <= lo ? lo : lo + (__int128)(((unsigned __int128)next_random(state) * range) >> 64);
}

espi_status espi_commtree_dist_fill(enum espi_commtree_dist dist, int p, int64_t b, int64_t rho, uint64_t seed,
                                    int64_t *size)
{
    __int128 sum = 0, wide = b;
    if (p < 1 || b < 0 || rho < 1 || (unsigned)dist >= ESPI_DISTS)
        return ESPI_ERR_ARGUMENT;
    int64_t spikes = p / rho;
    for (int i = 0; i < p; i++) {
        __int128 m = 0;
        switch (dist) {
        case ESPI_DIST_SAME:
            m = wide;
            break;
        case ESPI_DIST_RANDOM:
        case ESPI_DIST_RANDOM_DECREASING:
        case ESPI_DIST_RANDOM_INCREASING:
            m = uniform_in(&seed, wide ? 1 : 0, 2 * wide - (wide > 0));
            break;
        case ESPI_DIST_BUCKET:
            m = uniform_in(&seed, wide - wide / rho, wide + wide / rho);
            break;
        case ESPI_DIST_SPIKES:
            /* p/rho spikes in all, at places drawn without replacement. */
            m = 1;
            if (uniform_in(&seed, 0, p - i - 1) < spikes) {
                m = wide * rho;
                spikes--;
            }
            break;
        case ESPI_DIST_DECREASING:
            m = 2 * wide * (p - i) / p + 1;
            break;
        case ESPI_DIST_INCREASING:
            m = 2 * wide * (i + 1) / p + 1;
            break;
        case ESPI_DIST_ALTERNATING:
            m = i % 2 ? wide - wide / 2 : wide + wide / 2;
            break;
        case ESPI_DIST_SKEWED:
            m = i < rho ? wide * p / rho : 1;
            break;
        default:
            m = i == 0 || i == p - 1 ? wide * p / 2 : 0;
            break;
        }
        sum += m;
        if (m > INT64_MAX || sum > INT64_MAX)
            return ESPI_ERR_OVERFLOW;
        size[i] = (int64_t)m;
    }
    /* The sorted ones are the random one of the same seed, sorted. */
    if (dist == ESPI_DIST_RANDOM_DECREASING || dist == ESPI_DIST_RANDOM_INCREASING)
        qsort(size, (size_t)p, sizeof *size, ascending);
    for (int i = 0, j = p - 1; dist == ESPI_DIST_RANDOM_DECREASING && i < j; i++, j--) {
        int64_t other = size[i];
        size[i] = size[j];
        size[j] = other;
    }
    return ESPI_OK;
}
