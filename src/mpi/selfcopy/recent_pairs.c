/* A thread's memory of pairs. It grows where programs have more of them at a time: else each use would go the long
   way, whose locks and questions take longer than many a copy saves. */
#include "mpi/selfcopy/recent_pairs.h"

#include <string.h>

#include "base/own_heap.h"

/* A look that found other pairs in its places counts as so many that found their own, and at so many there are too
   few places: more than a tenth of the looks goes the long way. */
enum { MISSED = 8, CROWDED = 64 };

/* One that is kept since the program has freed it is not (typeplan/kept_types.h): it may come again. */
static bool is_no_more(uint64_t identity)
{
    const struct espi_type_slot *slot;

    if (identity >> 32 == 0) /* predefined */
        return false;
    slot = espi_slot_of_any((MPI_Datatype)(identity >> 32));
    return slot == NULL || atomic_load_explicit(&slot->generation, memory_order_relaxed) != (uint32_t)identity;
}

bool espi_selfcopy_is_gone(const struct espi_selfcopy_key *key)
{
    return is_no_more(key->from) || is_no_more(key->onto);
}

static bool is_of(const struct espi_selfcopy_known *known, const struct espi_selfcopy_key *key)
{
    return memcmp(&known->key, key, sizeof *key) == 0;
}

/* Each pair has two places beside each other. */
struct espi_selfcopy_known *espi_selfcopy_where(struct espi_selfcopy_cache *cache,
                                                const struct espi_selfcopy_key *key)
{
    static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);
    const unsigned places = cache->many != NULL ? cache->places : ESPI_SELFCOPY_FEW;
    uint64_t h = (key->from * ODD ^ key->onto) * ODD;

    h = (h ^ h >> 32 ^ (uint64_t)key->from_count ^ (uint64_t)key->onto_count << 16) * ODD;
    struct espi_selfcopy_known *two = (cache->many != NULL ? cache->many : cache->few) + (h >> 32 & (places - 2));
    if (is_of(&two[0], key) || is_of(&two[1], key))
        return &two[!is_of(&two[0], key)];
    if (two[0].key.from == 0 || two[1].key.from == 0)
        return &two[two[0].key.from != 0];
    return &two[h >> 63];
}

/* What is known is found out again. */
static void grow(struct espi_selfcopy_cache *cache)
{
    const unsigned before = cache->many != NULL ? cache->places : ESPI_SELFCOPY_FEW;
    struct espi_selfcopy_known *more = NULL;

    cache->displaced = 0;
    if (before < ESPI_SELFCOPY_KNOWN_MOST)
        more = espi_own_get_zeroed(before * ESPI_SELFCOPY_MORE * sizeof *more);
    if (more == NULL)
        return;
    espi_own_put(cache->many);
    cache->many = more;
    cache->places = before * ESPI_SELFCOPY_MORE;
}

void espi_selfcopy_found(struct espi_selfcopy_cache *cache, bool own)
{
    if (own)
        cache->displaced -= cache->displaced > 0;
    else if ((cache->displaced += MISSED) >= CROWDED)
        grow(cache);
}

void espi_selfcopy_forget(struct espi_selfcopy_cache *cache)
{
    espi_own_put(cache->many);
    cache->many = NULL;
}
