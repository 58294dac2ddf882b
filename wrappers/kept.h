/*
 * Types that the program has freed, and that are kept for it (src/mpi/typeplan/kept_types.h): what becomes of those
 * that the core has chosen. In programs that do other things in between the time of a type's life goes by how many
 * lines of the cache it touches: few here, many in the core.
 *
 * The core looks at all constructors, by their hints and their arguments in full. The stub knows again those
 * without arrays, by the call that made the type last; and it counts such calls where types pass unseen, so that
 * the core sees those that come often (espi_kept_is_often, ESPI_KEPT_WANTED).
 */
#ifndef ESPI_WRAPPERS_KEPT_H
#define ESPI_WRAPPERS_KEPT_H

#include "abi.h"

static inline uint64_t espi_kept_two(espi_word low, espi_word high)
{
    return (uint64_t)(uint32_t)low | (uint64_t)(uint32_t)high << 32;
}

/* The arguments of a constructor without arrays, types by their handles. False: it is none. */
static inline __attribute__((always_inline)) bool espi_kept_key(enum espi_fn fn, const espi_word *args,
                                                                uint64_t key[ESPI_KEPT_WORDS])
{
    switch (fn) {
    case ESPI_FN_Type_contiguous:
        key[0] = espi_kept_two(args[0], args[1]), key[1] = key[2] = 0;
        return true;
    case ESPI_FN_Type_vector:
        key[0] = espi_kept_two(args[0], args[1]), key[1] = espi_kept_two(args[2], args[3]), key[2] = 0;
        return true;
    case ESPI_FN_Type_create_hvector:
    case ESPI_FN_Type_hvector:
        key[0] = espi_kept_two(args[0], args[1]), key[1] = (uint64_t)args[2], key[2] = (uint32_t)args[3];
        return true;
    case ESPI_FN_Type_create_resized:
        key[0] = (uint32_t)args[0], key[1] = (uint64_t)args[1], key[2] = (uint64_t)args[2];
        return true;
    default:
        return false;
    }
}

/* The type that such a constructor makes the new one from. */
static inline uint32_t espi_kept_from(enum espi_fn fn, const espi_word *args)
{
    return (uint32_t)args[fn == ESPI_FN_Type_create_resized ? 0 : fn == ESPI_FN_Type_contiguous ? 1 : 3];
}

static inline uint64_t espi_kept_hash(enum espi_fn fn, const uint64_t key[ESPI_KEPT_WORDS])
{
    static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = (key[0] + fn) * ODD;

    h = (h ^ h >> 32 ^ key[1]) * ODD;
    return (h ^ h >> 32 ^ key[2]) * ODD;
}

/* Where the number of the type stands that a call of this hash has made. */
static inline unsigned char *espi_kept_place(struct espi_hot *hot, uint64_t hash)
{
    return &hot->kept_places[hash >> 32 & (ESPI_KEPT_PLACES - 1)];
}

/* Counts one more time of this hash; whether there were `times` (at most 4). Of four hashes at a place 14 bits and a
   count are known, of the last one lowest, so that few displace each other. */
static inline bool espi_kept_is_often(uint64_t counts[ESPI_KEPT_COUNTS], uint64_t hash, unsigned times)
{
    enum { BITS = 16, COUNT = 3 };
    uint64_t *const at = &counts[hash >> 16 & (ESPI_KEPT_COUNTS - 1)];
    const uint16_t tag = (uint16_t)(hash >> 48) & (uint16_t)~COUNT;

    for (unsigned shift = 0; shift < 64 && *at >> shift != 0; shift += BITS) {
        const uint16_t known = (uint16_t)(*at >> shift);
        if ((known & ~COUNT) != tag)
            continue;
        if ((known & COUNT) + 1u >= times)
            return true;
        *at += UINT64_C(1) << shift;
        return false;
    }
    *at = *at << BITS | tag | 1;
    return false;
}

/* The kept type of a handle with credit of its own, whose program has it or not; NULL: it is none. */
static inline struct espi_kept_type *espi_kept_at(struct espi_hot *hot, uint32_t at)
{
    const unsigned number = hot->types[at].kept & ESPI_KEPT_NUMBER;

    return number - 1 < ESPI_KEPT_MOST ? &hot->kept_types[number - 1] : NULL;
}

/* All numbers are taken by types that come again. */
static inline bool espi_kept_is_full(const struct espi_hot *hot)
{
    return atomic_load_explicit(&hot->kept_uses, memory_order_relaxed) <
           atomic_load_explicit(&hot->kept_full, memory_order_relaxed);
}

/* Whether types that are made from this one can be kept: it is MPI's own, or one that is kept itself. */
static inline bool espi_kept_may_be_from(struct espi_hot *hot, uint32_t type)
{
    const uint32_t at = espi_credit_at(type);

    return espi_is_predefined(type) || (at < ESPI_CREDITS && espi_kept_at(hot, at) != NULL);
}

/* A type is to be kept when the program frees it. */
static inline void espi_kept_want(struct espi_hot *hot, uint32_t type)
{
    const uint32_t at = espi_credit_at(type);

    if (at < ESPI_CREDITS && espi_kept_at(hot, at) == NULL) /* another mark is of an earlier type */
        hot->types[at].kept = ESPI_KEPT_WANTED;
}

static inline void espi_kept_count(atomic_int *types, int n)
{
    atomic_store_explicit(types, atomic_load_explicit(types, memory_order_relaxed) + n, memory_order_relaxed);
}

/* It is not, or no longer, a type that the program has yet to commit. */
static inline void espi_kept_is_not_given(struct espi_hot *hot, struct espi_handle_facts *facts)
{
    if ((facts->kept & ESPI_KEPT_GIVEN) != 0)
        espi_kept_count(&hot->kept_given, -1);
    facts->kept &= ESPI_KEPT_NUMBER;
}

/* Gives it to the program, which has made an equal one, and has not committed it. */
static inline uint32_t espi_kept_give(struct espi_hot *hot, struct espi_kept_type *e)
{
    struct espi_handle_facts *facts = &hot->types[espi_credit_at(e->type)];

    e->state = ESPI_KEPT_LIVE;
    e->misses = 0;
    e->used = atomic_load_explicit(&hot->kept_uses, memory_order_relaxed);
    atomic_store_explicit(&facts->hint, e->hint, memory_order_relaxed);
    if (e->committed) {
        facts->kept |= ESPI_KEPT_GIVEN;
        espi_kept_count(&hot->kept_given, 1);
    }
    espi_kept_count(&hot->kept, -1);
    espi_hot_add(&hot->kept_again, 1);
    espi_hot_add(&hot->kept_saved, e->saved_ns);
    return e->type;
}

/* What the program has committed is committed already; for the core it never ended. False: it is another type. */
static inline bool espi_kept_commit(struct espi_hot *hot, uint32_t type)
{
    const uint32_t at = espi_credit_at(type);
    if (at == ESPI_CREDITS || (hot->types[at].kept & ESPI_KEPT_GIVEN) == 0)
        return false;
    struct espi_handle_facts *facts = &hot->types[at];
    espi_kept_is_not_given(hot, facts);
    atomic_store_explicit(&facts->credit,
                          atomic_load_explicit(&facts->credit, memory_order_relaxed) & ESPI_CREDIT_LEFT,
                          memory_order_relaxed);
    espi_hot_add(&hot->commits, 1);
    return true;
}

/* Takes it from the program, as MPI_Type_free does. False: it is not to be kept, or not one that was kept before. */
static inline bool espi_kept_take(struct espi_hot *hot, uint32_t *type)
{
    const uint32_t at = espi_credit_at(*type);
    struct espi_kept_type *e = at < ESPI_CREDITS ? espi_kept_at(hot, at) : NULL;
    struct espi_handle_facts *facts = &hot->types[at];

    if (e == NULL || e->state != ESPI_KEPT_LIVE || e->never ||
        e->hint != atomic_load_explicit(&facts->hint, memory_order_relaxed))
        return false;
    const unsigned char credit = atomic_load_explicit(&facts->credit, memory_order_relaxed);
    if (credit > 0 && credit < ESPI_CREDIT_ENDED) {
        e->committed = true;
        atomic_store_explicit(&facts->credit, (unsigned char)(credit + ESPI_CREDIT_ENDED), memory_order_relaxed);
        espi_hot_add(&hot->frees, 1);
    }
    espi_hot_add(&hot->kept_uses, 1);
    atomic_store_explicit(&facts->hint, ESPI_HINT_KEPT, memory_order_relaxed);
    espi_kept_is_not_given(hot, facts);
    e->state = ESPI_KEPT_FREED;
    e->used = atomic_load_explicit(&hot->kept_uses, memory_order_relaxed);
    espi_kept_count(&hot->kept, 1);
    *type = ESPI_NO_DATATYPE;
    return true;
}

#endif
