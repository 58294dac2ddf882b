/* Hash tables: uthash, and one mixer for the few tables of our own that it is too slow for. */
#ifndef ESPI_BASE_HASH_H
#define ESPI_BASE_HASH_H

#include <stdint.h>

/* Without its exit() when memory is short: an element that could not be added has hh.tbl == NULL. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)(element))
#include <uthash.h>

/* One round of a multiply-xorshift mix, to be chained over the words of a key: cheap, the same in every run and on
   every machine, and different for any two values after the same hash. Its low bits are good enough for a table. */
static inline uint64_t espi_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
