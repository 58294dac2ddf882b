/*
 * Where elements stand in the stream of their data. Of each node the phases (offsets modulo UNIT) that it may begin
 * at are a set of UNIT bits, found from those of its children and their sizes.
 */
#include "layout/layout.h"

#include "layout/memo.h"

enum { UNIT = ESPI_ASTRIDE_UNIT, ALL = (1 << UNIT) - 1 };

/* The phases p at which p + shift is one of `set`. */
static unsigned behind(unsigned set, int64_t shift)
{
    const unsigned by = (unsigned)(shift % UNIT);

    return (set >> by | set << (UNIT - by)) & ALL;
}

static unsigned of_leaf(espi_base base)
{
    const struct espi_base_info *info = espi_base_info(base);
    unsigned set = 0;

    if (info == NULL || info->size == 0 || UNIT % info->size != 0)
        return 0;
    for (unsigned p = 0; p < UNIT; p += info->size)
        set |= 1u << p;
    return set;
}

/* `copies` one behind the other; they come round after at most UNIT. */
static unsigned of_copies(unsigned set, int64_t size, int64_t copies)
{
    unsigned all = ALL;

    for (int64_t i = 0; i < copies && i < UNIT; i++)
        all &= behind(set, i * (size % UNIT));
    return all;
}

static int64_t copies_in(const struct espi_node *node)
{
    int64_t sum = 0;

    if (node->kind != ESPI_IDXBUC && node->kind != ESPI_BUCKET)
        return node->count;
    for (int64_t i = 0; i < node->count && sum < UNIT; i++)
        sum += node->len[i] < UNIT ? node->len[i] : UNIT;
    return sum;
}

static unsigned phases(struct espi_memo *memo, const struct espi_node *node)
{
    const bool wanted = node->kind != ESPI_LEAF && espi_memo_wanted(memo);
    struct espi_memo_slot *known = wanted ? espi_memo_find(memo, node) : NULL;
    unsigned set = ALL;
    int64_t at = 0;

    if (known != NULL)
        return (unsigned)known->number[0];
    if (node->kind == ESPI_LEAF)
        return of_leaf(node->base);
    if (node->kind != ESPI_STRUC)
        set = node->size > 0 ? of_copies(phases(memo, node->child), node->child->size, copies_in(node)) : ALL;
    for (int64_t i = 0; node->kind == ESPI_STRUC && i < node->count && set != 0; i++) {
        if (node->sub[i]->size > 0)
            set &= behind(phases(memo, node->sub[i]), at);
        at = (at + node->sub[i]->size % UNIT) % UNIT;
    }
    if (wanted && (known = espi_memo_add(memo, node)) != NULL)
        known->number[0] = set;
    return set;
}

bool espi_node_is_astride(const struct espi_node *node)
{
    struct espi_memo memo = {0};
    const unsigned set = node->size > 0 ? of_copies(phases(&memo, node), node->size, UNIT) : ALL;

    espi_memo_release(&memo);
    return (set & 1) == 0;
}
