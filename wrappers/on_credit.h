/*
 * Collective calls with derived types whose uses the core need not see (abi.h): every type has credit for its use, or
 * means nothing on this rank. MPI calls do not overlap.
 *
 * The root and the number of blocks are known where the core has looked at the communicator lately. Where this rank
 * gives itself a block that may be copied apart from the call, the core must have decided that it is not.
 */
#ifndef ESPI_WRAPPERS_ON_CREDIT_H
#define ESPI_WRAPPERS_ON_CREDIT_H

#include "fastpath.h"

/* The sides of a call: positions of arguments. */
struct espi_side {
    signed char buffer, type, count;
    bool counts, types, at_root; /* arrays of counts, and of types; significant at the root only */
};
struct espi_credit_row {
    signed char comm, root;
    unsigned char n;
    bool large, own, neighbour;
    struct espi_side side[3]; /* n of them, at most two */
};

ESPI_INLINE int64_t espi_count_of(const void *counts, bool large, int i)
{
    return large ? ((const int64_t *)counts)[i] : ((const int *)counts)[i];
}

/* Whether the core has decided that own blocks of the type stay in calls on a communicator of so many ranks. */
ESPI_INLINE bool espi_own_stays(uint32_t at, int peers)
{
    const unsigned own = *(const unsigned char *)&espi_hot.types[at].own;
    return (own & ESPI_OWN_SETTLED) && (peers > 1 || !(own & ESPI_OWN_WATCHED));
}

/* The same of calls with a type for each rank, in which the core looks at what it has found elsewhere alone. */
ESPI_INLINE bool espi_own_may_stay(uint32_t at, int peers)
{
    return !(*(const unsigned char *)&espi_hot.types[at].own & ESPI_OWN_WATCHED) || espi_own_stays(at, peers);
}

/* Ranks or neighbours that have a block in side 0, what is sent, or 1. */
ESPI_INLINE int espi_blocks_of(const struct espi_credit_row *row, const struct espi_known_comm *comm, unsigned side)
{
    return *(const int *)(!row->neighbour ? &comm->peers : side == 0 ? &comm->out : &comm->in);
}

/* Items in all blocks of a side. More than ESPI_CREDIT_MOST: too many to go unseen, or a count that MPI refuses, as
   negative ones are taken for great ones. */
ESPI_INLINE int64_t espi_few_items(const void *counts, bool large, int peers)
{
    uint64_t sum = 0;
    if (!counts)
        return 0;
    for (int i = 0; i < peers && sum <= ESPI_CREDIT_MOST; i++) {
        const uint64_t count = (uint64_t)espi_count_of(counts, large, i);
        sum += large ? (count <= ESPI_CREDIT_MOST ? count : ESPI_CREDIT_MOST + 1) : (uint32_t)count;
    }
    return (int64_t)sum;
}

/* What a call's sides are asked with. */
struct espi_here_now {
    const struct espi_known_comm *comm;
    bool known, at_root, own;
};

/* Whether side i's type has credit for its use; its place then goes to `at[i]`, if this rank uses it, and the number
   of its items to `items[i]`. Of a type that side 0 uses, too, credit and own blocks are asked about there. */
ESPI_INLINE bool espi_side_on_credit(const struct espi_credit_row *row, unsigned i, const espi_word *args,
                                     const struct espi_here_now *now, uint32_t *at, int64_t *items)
{
    const struct espi_side *side = &row->side[i];
    const uint32_t type = (uint32_t)args[side->type];
    const espi_word count = args[side->count];
    const bool asked = i > 0 && at[0] != ESPI_CREDITS && type == (uint32_t)args[row->side[0].type];

    if (!asked && espi_is_no_object(type))
        return true;
    if ((side->at_root || side->counts || row->own) && !now->known)
        return false;
    if (side->at_root && !now->at_root)
        return true;
    at[i] = asked ? at[0] : espi_credit_at(type);
    if (!asked && (at[i] == ESPI_CREDITS || !espi_credit_is_at(at[i], row->n) ||
                   (now->own && !espi_own_stays(at[i], *(const int *)&now->comm->peers) &&
                    args[row->side[0].buffer] != ESPI_IN_PLACE && args[row->side[1].buffer] != ESPI_IN_PLACE)))
        return false;
    items[i] = side->counts ? espi_few_items((const void *)count, row->large, espi_blocks_of(row, now->comm, i))
               : row->large ? (int64_t)count
                            : (int64_t)(int)count;
    return items[i] >= 1 && items[i] <= ESPI_CREDIT_MOST;
}

/* Whether the call goes on as it is; makes the uses of its types if so. With `row` known to the compiler only the
   questions that it needs are left; a loop over the sides would keep it from seeing that. */
ESPI_INLINE bool espi_on_credit(const struct espi_credit_row *row, const espi_word *args)
{
    const struct espi_known_comm *comm = &espi_hot.comms[espi_comm_at((uint32_t)args[row->comm])];
    const uint64_t rank = *(const uint64_t *)&comm->rank;
    const uint64_t root = row->root < 0 ? 0 : (uint32_t)args[row->root];
    const bool at_root = row->root >= 0 && rank == ((uint64_t)(uint32_t)args[row->comm] << 32 | root);
    const bool own = row->root >= 0 ? at_root : row->side[0].counts || *(const int *)&comm->peers == 1;
    const struct espi_here_now now = {
        comm, at_root || rank >> 32 == (uint32_t)args[row->comm], at_root,
        row->own && own};
    uint32_t at[2] = {ESPI_CREDITS, ESPI_CREDITS};
    int64_t items[2] = {1, 1};

    if ((row->n > 0 && !espi_side_on_credit(row, 0, args, &now, at, items)) ||
        (row->n > 1 && !espi_side_on_credit(row, 1, args, &now, at, items)))
        return false;
    if (at[0] == at[1] && at[0] < ESPI_CREDITS) { /* two uses at once: there is credit for both */
        espi_use_both(at[0], items[0] + items[1]);
        return true;
    }
    if (at[0] < ESPI_CREDITS)
        espi_use_items(at[0], items[0]);
    if (at[1] < ESPI_CREDITS)
        espi_use_items(at[1], items[1]);
    return true;
}

/* One side of a call with a type for each of n ranks. `own`: the one whose block may be copied apart, or -1; `least`:
   how much credit each type must have. */
ESPI_INLINE bool espi_each_on_credit(const struct espi_side *side, bool large, const espi_word *args, int n,
                                      int own, int least, bool use)
{
    const void *counts = (const void *)args[side->count];
    const int *types = (const int *)args[side->type];
    if (n > 0 && (!counts || !types || args[side->buffer] == ESPI_IN_PLACE))
        return false;
    for (int i = 0; i < n; i++) {
        const int64_t count = espi_count_of(counts, large, i);
        if (count == 0 || espi_is_no_object((uint32_t)types[i]))
            continue;
        const uint32_t at = espi_credit_at((uint32_t)types[i]);
        if (use)
            espi_use_items(at, count);
        else if (at == ESPI_CREDITS || count < 0 || count > ESPI_CREDIT_MOST ||
                 !espi_credit_is_at(at, (unsigned)least) || (i == own && !espi_own_may_stay(at, n)))
            return false;
    }
    return true;
}

/* The same for all rows, also those with a type for each rank. */
static __attribute__((noinline, unused)) bool espi_any_on_credit(const struct espi_credit_row *row,
                                                                 const espi_word *args)
{
    const struct espi_known_comm *comm = &espi_hot.comms[espi_comm_at((uint32_t)args[row->comm])];
    const uint64_t rank = *(const uint64_t *)&comm->rank;
    const int n[2] = {espi_blocks_of(row, comm, 0), espi_blocks_of(row, comm, 1)}, own = row->own ? (int)rank : -1;
    if (!row->side[0].types)
        return espi_on_credit(row, args);
    if (rank >> 32 != (uint32_t)args[row->comm] || n[0] > ESPI_CREDIT_MOST / 2 || n[1] > ESPI_CREDIT_MOST / 2)
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 2; i++)
            if (!espi_each_on_credit(&row->side[i], row->large, args, n[i], own, n[0] + n[1], pass == 1))
                return false;
    return true;
}

#endif
