#include "type_hint.h"

#include <stddef.h>

#include "base/hash.h"
#include "constructors.h"

/* Of a type that another is made from. */
static inline uint64_t of_type(uint32_t type, const struct espi_handle_facts *types)
{
    uint32_t at;

    if (espi_is_predefined(type))
        return type;
    at = espi_credit_at(type);
    uint64_t hint = at < ESPI_CREDITS ? atomic_load_explicit(&types[at].hint, memory_order_relaxed) : 0;
    return hint & 1 ? hint : 0;
}

static inline uint64_t numbers_of(uint32_t type, uint64_t hint)
{
    return espi_is_predefined(type) ? 0 : espi_hint_numbers(hint);
}

/* Elements are multiplied in one by one; what comes after the array mixes them. `element`: of index `at`. */
#define OF_ELEMENTS(element)                                                                                         \
    {                                                                                                                \
        const int64_t step = n < 2 * EACH ? 1 : n / EACH;                                                            \
        int64_t at;                                                                                                  \
        for (at = 0; at < n - 1; at += step)                                                                         \
            h = (h ^ (element)) * ODD;                                                                               \
        at = n - 1;                                                                                                  \
        h = (h ^ (element)) * ODD;                                                                                   \
    }

/* All of a short array; of a long one some at a distance, and the last. 0: a type among them has no hint. */
static uint64_t of_array(uint64_t h, char how, const void *array, int64_t n, const struct espi_handle_facts *types,
                         uint64_t *numbers)
{
    enum { EACH = ESPI_HINT_SAMPLED / 2 };
    static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t known = 1, one, inside = 0;

    if (array == NULL || n <= 0)
        return h;
    *numbers += (uint64_t)n;
    if (how == 'I')
        OF_ELEMENTS(((const uint32_t *)array)[at])
    else if (how == 'A')
        OF_ELEMENTS(((const uint64_t *)array)[at])
    else
        OF_ELEMENTS((one = of_type(((const uint32_t *)array)[at], types), known = one != 0 ? known : 0,
                     inside += (uint64_t)step * numbers_of(((const uint32_t *)array)[at], one), one))
    *numbers += inside;
    return known != 0 ? h : 0;
}

uint64_t espi_type_hint(enum espi_fn fn, const espi_word *args, const struct espi_handle_facts *types,
                        const uint32_t **made)
{
    const char *how = espi_constructors[fn];
    uint64_t h = espi_mix(1, fn), value, numbers = 0;
    bool known = true;
    int64_t n = 0;

    *made = NULL;
    if (*how == '\0')
        return 0;
    for (; *how != 'o'; how++, args++) {
        value = (uint64_t)*args;
        if (*how == 'i') {
            value = (uint32_t)value;
        } else if (*how == 't') {
            const uint32_t type = (uint32_t)value;
            value = of_type(type, types);
            known = known && value != 0;
            numbers += numbers_of(type, value);
        } else if (*how == '#' || *how == '*') {
            n = *how == '#' ? (int)*args : (int64_t)*args;
            value = (uint64_t)n;
        } else if (*how != 'a') {
            h = of_array(h, *how, (const void *)*args, n, types, &numbers);
            known = known && h != 0;
            value = 0;
        }
        h = espi_mix(h, value);
    }
    *made = (const uint32_t *)*args;
    return known ? espi_hint_of(h, numbers) : 0;
}
