#include "mpi/typeplan/type_class.h"

#include <string.h>

#include "base/hash.h"
#include "mpi/core/pmpi.h"

enum { FILTER = 1 << 11, PLACES = 4 };

static struct espi_type_class classes[ESPI_CLASSES];
static uint32_t filter[FILTER];
static bool used; /* the table is not untouched: memory that was never written costs nothing */

/* ---- the table ---- */

bool espi_class_seen(uint64_t hint)
{
    uint32_t *at = &filter[(hint >> 8) % FILTER], tag = (uint32_t)(hint >> 32) | 1;
    bool before = *at == tag;

    *at = tag;
    return before;
}

struct espi_type_class *espi_class_enter(uint64_t hint)
{
    struct espi_type_class *free = NULL;
    const uint64_t at = (hint >> 8) % ESPI_CLASSES;

    for (uint64_t i = 0; i < PLACES; i++) {
        struct espi_type_class *c = &classes[at ^ i];
        if (c->hint == hint) {
            c->alive++;
            return c;
        }
        if (c->alive == 0 && (free == NULL || c->hint == 0 || c->uses < free->uses))
            free = free != NULL && free->hint == 0 ? free : c;
    }
    if (free == NULL)
        return NULL;
    used = true;
    *free = (struct espi_type_class){.hint = hint, .alive = 1, .size = -1};
    return free;
}

void espi_class_leave(struct espi_type_class *class)
{
    class->alive--;
    class->ended++;
}

void espi_classes_reset(void)
{
    if (used)
        memset(classes, 0, sizeof classes);
    memset(filter, 0, sizeof filter);
    used = false;
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

bool espi_class_ask(struct espi_type_class *class, MPI_Datatype type)
{
    struct envelope e;

    if (!ask(type, &e))
        return false;
    class->size = e.size;
    class->dense = e.size == e.extent && e.size == e.true_extent;
    class->numbers = (uint64_t)(e.ints + e.addrs + e.counts);
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
    return h | 1;
}
