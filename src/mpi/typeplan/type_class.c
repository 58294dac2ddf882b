#include "mpi/typeplan/type_class.h"

#include <string.h>

#include "base/hash.h"
#include "mpi/core/api_table.h"
#include "mpi/core/pmpi.h"

enum { FILTER = 1 << 11, PLACES = 4 };

static struct espi_type_class classes[ESPI_CLASSES];
static uint32_t filter[FILTER];
static bool used; /* the table is not untouched: memory that was never written costs nothing */

/* ---- hints ---- */

/* How the arguments of a constructor are read, one character each, in their order:
     i     a number that is an int, or MPI_Count in the _c form
     a     a number that is an MPI_Aint, or MPI_Count
     I, A  arrays of such numbers
     #     as i: how long the arrays are;  d  the same, an int in any form
     x, X  an int in any form, and an array of these
     t, T  a type, and an array of types
     o     the new type */
static const char *const spelled[ESPI_FN_COUNT] = {
    [ESPI_FN_Type_contiguous] = "ito",
    [ESPI_FN_Type_contiguous_c] = "ito",
    [ESPI_FN_Type_vector] = "iiito",
    [ESPI_FN_Type_vector_c] = "iiito",
    [ESPI_FN_Type_create_hvector] = "iiato",
    [ESPI_FN_Type_create_hvector_c] = "iiato",
    [ESPI_FN_Type_hvector] = "iiato",
    [ESPI_FN_Type_indexed] = "#IIto",
    [ESPI_FN_Type_indexed_c] = "#IIto",
    [ESPI_FN_Type_create_hindexed] = "#IAto",
    [ESPI_FN_Type_create_hindexed_c] = "#IAto",
    [ESPI_FN_Type_hindexed] = "#IAto",
    [ESPI_FN_Type_create_indexed_block] = "#iIto",
    [ESPI_FN_Type_create_indexed_block_c] = "#iIto",
    [ESPI_FN_Type_create_hindexed_block] = "#iAto",
    [ESPI_FN_Type_create_hindexed_block_c] = "#iAto",
    [ESPI_FN_Type_create_struct] = "#IATo",
    [ESPI_FN_Type_create_struct_c] = "#IATo",
    [ESPI_FN_Type_struct] = "#IATo",
    [ESPI_FN_Type_create_subarray] = "dIIIxto",
    [ESPI_FN_Type_create_subarray_c] = "dIIIxto",
    [ESPI_FN_Type_create_darray] = "xxdIXXXxto",
    [ESPI_FN_Type_create_darray_c] = "xxdIXXXxto",
    [ESPI_FN_Type_create_resized] = "taao",
    [ESPI_FN_Type_create_resized_c] = "taao",
    [ESPI_FN_Type_dup] = "to",
};

/* Elements that are looked at: all of a short array; of a long one the first and last few, and some at a distance. */
static int64_t next_sampled(int64_t i, int64_t n)
{
    enum { ENDS = ESPI_CLASS_SAMPLED / 3 };

    if (n <= ESPI_CLASS_SAMPLED || i + 1 < ENDS || i + 1 >= n - ENDS)
        return i + 1;
    int64_t next = i + (n - 2 * ENDS) / ENDS + 1;
    return next < n - ENDS ? next : n - ENDS;
}

static uint64_t array_of(uint64_t h, const void *array, int64_t n, bool wide)
{
    for (int64_t i = 0; array != NULL && i < n; i = next_sampled(i, n))
        h = espi_mix(h, wide ? (uint64_t)((const int64_t *)array)[i] : (uint64_t)((const int *)array)[i]);
    return h;
}

static uint64_t of_type(MPI_Datatype type, uint64_t (*hint_of)(MPI_Datatype))
{
    return espi_is_predefined((uint32_t)type) ? (uint64_t)(uint32_t)type : hint_of(type);
}

uint64_t espi_class_hint(enum espi_fn fn, const espi_word *args, uint64_t (*hint_of)(MPI_Datatype type))
{
    const bool large = espi_api_rows[fn].large;
    const char *how = spelled[fn] != NULL ? spelled[fn] : "";
    int64_t n = 0; /* of the arrays */
    uint64_t h = espi_mix(1, fn), one;

    for (int i = 0; how[i] != '\0'; i++) {
        bool wide = large;
        switch (how[i]) {
        case 'a':
            h = espi_mix(h, (uint64_t)args[i]);
            break;
        case 'i':
            h = espi_mix(h, (uint64_t)(large ? (int64_t)args[i] : (int64_t)(int)args[i]));
            break;
        case '#':
            n = large ? (int64_t)args[i] : (int64_t)(int)args[i];
            h = espi_mix(h, (uint64_t)n);
            break;
        case 'd': /* an int in any form */
        case 'x':
            n = how[i] == 'd' ? (int64_t)(int)args[i] : n;
            h = espi_mix(h, (uint64_t)(int)args[i]);
            break;
        case 'A':
            wide = true;
            h = array_of(h, (const void *)args[i], n, wide);
            break;
        case 'I':
            h = array_of(h, (const void *)args[i], n, wide);
            break;
        case 'X':
            h = array_of(h, (const void *)args[i], n, false);
            break;
        case 'T':
            for (int64_t k = 0; args[i] != 0 && k < n; k = next_sampled(k, n)) {
                if ((one = of_type(((const MPI_Datatype *)args[i])[k], hint_of)) == 0)
                    return 0;
                h = espi_mix(h, one);
            }
            break;
        case 't':
            if ((one = of_type((MPI_Datatype)args[i], hint_of)) == 0)
                return 0;
            if (fn == ESPI_FN_Type_dup)
                return one;
            h = espi_mix(h, one);
            break;
        default:
            break;
        }
    }
    return h | 1;
}

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
