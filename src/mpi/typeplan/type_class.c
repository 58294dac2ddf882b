#include "mpi/typeplan/type_class.h"

#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "mpi/core/pmpi.h"
#include "type_hint.h"

enum { FILTER = 1 << 11, PLACES = 4, PLACES_FIRST = 1024 };

/* A hint leads to a place, and that to a class, which are put down one behind the other: a program of some hundred
   classes writes to a few pages then, and not to one for each of them. For the same reason only the first places are
   used until some hint finds none that is free. */
static _Alignas(4096) uint16_t places[ESPI_CLASSES] ESPI_TABLE; /* 1 + the number of a class; 0: it is free */
static uint64_t n_places = PLACES_FIRST; /* in use; a power of two */
static struct espi_type_class classes[ESPI_CLASSES] ESPI_TABLE;
static unsigned classes_end; /* none was put down from here on */
static _Alignas(4096) uint16_t filter[FILTER] ESPI_TABLE;
static bool filtered; /* memory that was never written costs nothing */
/* By their keys; who comes later takes the place. LISTED: counts and displacements from which on a list is long, for
   not all of its elements are in its hint. */
enum { FAMILIES = 64, LISTED = 4 * ESPI_HINT_SAMPLED };
static struct espi_type_family families[FAMILIES] ESPI_TABLE;
_Static_assert(ESPI_CLASSES <= UINT16_MAX, "numbers of classes fit their places");

/* ---- the table ---- */

bool espi_class_seen(uint64_t hint)
{
    uint16_t *at = &filter[(hint >> 8) % FILTER], tag = (uint16_t)(hint >> 32) | 1;
    bool before = *at == tag;

    *at = tag;
    filtered = true;
    return before;
}

/* Four places that a hint leads to become eight, and it to four of these, by one bit more: what stands there has room
   again. */
static void use_more_places(void)
{
    for (uint64_t i = 0; i < n_places; i++)
        if (places[i] != 0 && ((classes[places[i] - 1].hint >> 8) & n_places) != 0) {
            places[i + n_places] = places[i];
            places[i] = 0;
        }
    n_places *= 2;
}

struct espi_type_class *espi_class_enter(uint64_t hint)
{
    struct espi_type_class *free = NULL;
    uint16_t *empty = NULL;
    const uint64_t at = (hint >> 8) % n_places;

    for (uint64_t i = 0; i < PLACES; i++) {
        uint16_t *place = &places[at ^ i];
        if (*place == 0) {
            empty = empty != NULL ? empty : place;
            continue;
        }
        struct espi_type_class *c = &classes[*place - 1];
        if (c->hint == hint) {
            c->alive++;
            return c;
        }
        if (c->alive == 0 && (free == NULL || c->uses < free->uses))
            free = c;
    }
    if (empty == NULL && n_places < ESPI_CLASSES) {
        use_more_places();
        return espi_class_enter(hint);
    }
    if (empty != NULL) {
        free = &classes[classes_end++]; /* there are as many as places */
        *empty = (uint16_t)classes_end;
    }
    if (free == NULL)
        return NULL;
    *free = (struct espi_type_class){.hint = hint, .alive = 1, .size = -1};
    return free;
}

void espi_class_leave(struct espi_type_class *class)
{
    class->alive--;
}

void espi_classes_reset(void)
{
    if (classes_end > 0) {
        memset(places, 0, n_places * sizeof places[0]);
        memset(families, 0, sizeof families);
    }
    if (filtered)
        memset(filter, 0, sizeof filter);
    classes_end = 0;
    n_places = PLACES_FIRST;
    filtered = false;
}

/* ---- questions to MPI ---- */

struct envelope {
    MPI_Count ints, addrs, counts, types, size, lb, extent, true_lb, true_extent;
    int combiner;
};

static bool ask(MPI_Datatype type, struct envelope *e)
{
    return espi_pmpi.Type_get_envelope_c(type, &e->ints, &e->addrs, &e->counts, &e->types, &e->combiner) ==
               MPI_SUCCESS &&
           espi_pmpi.Type_size_c(type, &e->size) == MPI_SUCCESS &&
           espi_pmpi.Type_get_extent_c(type, &e->lb, &e->extent) == MPI_SUCCESS &&
           espi_pmpi.Type_get_true_extent_c(type, &e->true_lb, &e->true_extent) == MPI_SUCCESS;
}

static uint64_t numbers_of(const struct envelope *e)
{
    return (uint64_t)(e->ints + e->addrs + e->counts);
}

/* Lists of this constructor whose lengths and sizes are between the same powers of two. */
static struct espi_type_family *family_of(const struct envelope *e, uint64_t numbers)
{
    const uint32_t key =
        1u << 31 | (uint32_t)e->combiner << 16 | espi_hint_magnitude(numbers) << 8 |
        espi_hint_magnitude((uint64_t)e->size);
    struct espi_type_family *family = &families[espi_mix(1, key) % FAMILIES];

    if (family->key != key)
        *family = (struct espi_type_family){.key = key};
    return family;
}

bool espi_class_ask(struct espi_type_class *class, MPI_Datatype type)
{
    struct envelope e;

    if (!ask(type, &e))
        return false;
    class->size = e.size;
    class->dense = e.size == e.extent && e.size == e.true_extent;
    class->numbers = numbers_of(&e);
    if (class->numbers < espi_hint_numbers(class->hint))
        class->numbers = espi_hint_numbers(class->hint);
    class->family = class->numbers >= LISTED && e.size > 0 ? family_of(&e, class->numbers) : NULL;
    return true;
}

uint64_t espi_class_hint_asked(MPI_Datatype type)
{
    struct envelope e;
    uint64_t h = 2;

    if (!ask(type, &e))
        return 0;
    const uint64_t facts[] = {(uint64_t)e.ints,     (uint64_t)e.addrs, (uint64_t)e.counts, (uint64_t)e.types,
                              (uint64_t)e.combiner, (uint64_t)e.size,  (uint64_t)e.lb,     (uint64_t)e.extent,
                              (uint64_t)e.true_lb,  (uint64_t)e.true_extent};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        h = espi_mix(h, facts[i]);
    return espi_hint_of(h, numbers_of(&e));
}
