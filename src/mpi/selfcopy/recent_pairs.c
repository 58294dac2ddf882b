/* A thread's memory of pairs. It grows where programs have more of them at a time: else each use would go the long
   way, whose locks and questions take longer than many a copy saves. */
#include "mpi/selfcopy/recent_pairs.h"

#include "base/own_heap.h"

/* So many more looks found another pair than found their own. */
enum { CROWDED = 32 };

static bool is_no_more(uint64_t identity)
{
    return identity >> 32 != 0 && espi_selfcopy_identity((MPI_Datatype)(identity >> 32)) != identity;
}

bool espi_selfcopy_is_gone(const struct espi_selfcopy_key *key)
{
    return is_no_more(key->from) || is_no_more(key->onto);
}

struct espi_selfcopy_known *espi_selfcopy_where(struct espi_selfcopy_cache *cache,
                                                const struct espi_selfcopy_key *key)
{
    static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = (key->from * ODD ^ key->onto) * ODD;

    h = (h ^ h >> 32 ^ (uint64_t)key->from_count ^ (uint64_t)key->onto_count << 16) * ODD;
    return cache->many != NULL ? &cache->many[h >> 32 & (cache->places - 1)]
                               : &cache->few[h >> 32 & (ESPI_SELFCOPY_FEW - 1)];
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
    if (!own && ++cache->displaced >= CROWDED)
        grow(cache);
    else if (own && cache->displaced > 0)
        cache->displaced--;
}

void espi_selfcopy_forget(struct espi_selfcopy_cache *cache)
{
    espi_own_put(cache->many);
    cache->many = NULL;
}
