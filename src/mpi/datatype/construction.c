/*
 * A construction is the walk through the types within a type, depth first: for each derived type what MPI says of it
 * when it is first met, with its number there in the place of its handle wherever it is used. A handle is that of the
 * same type until the end of a walk, as the whole lives; so a type that is met again is told by it.
 */
#include "mpi/datatype/construction.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/buffer_pool.h"
#include "base/own_heap.h"
#include "mpi/core/pmpi.h"

enum { PARTS_MOST = 64, BYTES_MOST = 4 << 20, SMALL = 1024 };

/* What MPI_Type_get_envelope says; compared by its bytes, of which none is padding. */
struct envelope {
    MPI_Count ints, addrs, counts, types, combiner;
};

/* A derived type. The contents are addresses, counts, ints, and what it is made from: predefined handles, and numbers
   of parts, which are less than any handle. */
struct part {
    struct envelope envelope;
    char *contents;
};

struct espi_construction {
    int parts;
    size_t bytes; /* contents of all parts */
    struct part part[PARTS_MOST];
};

/* A walk, of a type that is noted or compared. */
struct walk {
    MPI_Datatype met[PARTS_MOST]; /* the parts' handles; MPI_DATATYPE_NULL: not met as yet */
    char *memory;                 /* for contents */
};

static bool ask_envelope(MPI_Datatype type, struct envelope *e)
{
    int combiner;

    if (espi_pmpi.Type_get_envelope_c(type, &e->ints, &e->addrs, &e->counts, &e->types, &combiner) != MPI_SUCCESS)
        return false;
    e->combiner = combiner;
    return combiner != MPI_COMBINER_NAMED;
}

static size_t numbers_size(const struct envelope *e)
{
    return (size_t)e->addrs * sizeof(MPI_Aint) + (size_t)e->counts * sizeof(MPI_Count) +
           (size_t)e->ints * sizeof(int);
}

/* Rounded up, so that the next contents are aligned. */
static size_t contents_size(const struct envelope *e)
{
    const size_t bytes = numbers_size(e) + (size_t)e->types * sizeof(MPI_Datatype);

    return (bytes + sizeof(MPI_Count) - 1) / sizeof(MPI_Count) * sizeof(MPI_Count);
}

static MPI_Datatype *types_in(const struct envelope *e, char *contents)
{
    return (MPI_Datatype *)(contents + numbers_size(e));
}

/* Afterwards the derived types among the contents are owed to MPI. */
static bool ask_contents(MPI_Datatype type, const struct envelope *e, char *contents)
{
    MPI_Aint *addrs = (MPI_Aint *)contents;
    MPI_Count *counts = (MPI_Count *)(addrs + e->addrs);

    return espi_pmpi.Type_get_contents_c(type, e->ints, e->addrs, e->counts, e->types, (int *)(counts + e->counts),
                                         addrs, counts, types_in(e, contents)) == MPI_SUCCESS;
}

/* ---- noting ---- */

static bool note(struct espi_construction *c, struct walk *w, MPI_Datatype type)
{
    struct part *part = &c->part[c->parts];
    bool done = true;

    if (c->parts == PARTS_MOST || !ask_envelope(type, &part->envelope))
        return false;
    const size_t bytes = contents_size(&part->envelope);
    if (bytes > BYTES_MOST - c->bytes || (part->contents = espi_own_get(bytes)) == NULL)
        return false;
    w->met[c->parts++] = type;
    c->bytes += bytes;
    if (!ask_contents(type, &part->envelope, part->contents))
        return false;
    MPI_Datatype *types = types_in(&part->envelope, part->contents);
    for (MPI_Count i = 0; i < part->envelope.types; i++) {
        MPI_Datatype one = types[i];
        int k = 0;
        if (espi_is_predefined((uint32_t)one))
            continue;
        while (k < c->parts && w->met[k] != one)
            k++;
        if (k == c->parts)
            done = done && note(c, w, one);
        types[i] = (MPI_Datatype)k;
        espi_pmpi.Type_free(&one);
    }
    return done;
}

static void free_parts(const struct espi_construction *c)
{
    for (int i = 0; i < c->parts; i++)
        espi_own_put(c->part[i].contents);
}

struct espi_construction *espi_construction_of(MPI_Datatype type)
{
    struct espi_construction all, *c = NULL;
    struct walk w;

    all.parts = 0;
    all.bytes = 0;
    if (note(&all, &w, type)) {
        const size_t bytes = offsetof(struct espi_construction, part) + (size_t)all.parts * sizeof all.part[0];
        if ((c = espi_own_get(bytes)) != NULL)
            memcpy(c, &all, bytes);
    }
    if (c == NULL)
        free_parts(&all);
    return c;
}

size_t espi_construction_bytes(const struct espi_construction *c)
{
    return offsetof(struct espi_construction, part) + (size_t)c->parts * sizeof c->part[0] + c->bytes;
}

void espi_construction_free(struct espi_construction *c)
{
    if (c != NULL)
        free_parts(c);
    espi_own_put(c);
}

/* ---- comparing ---- */

static bool is(const struct espi_construction *c, struct walk *w, int which, MPI_Datatype type);

/* What a part is made from, which here is `one`. */
static bool is_made_from(const struct espi_construction *c, struct walk *w, MPI_Datatype word, MPI_Datatype one)
{
    if ((uint32_t)word >= PARTS_MOST)
        return word == one;
    if (espi_is_predefined((uint32_t)one))
        return false;
    return w->met[word] == MPI_DATATYPE_NULL ? is(c, w, (int)word, one) : w->met[word] == one;
}

static bool is(const struct espi_construction *c, struct walk *w, int which, MPI_Datatype type)
{
    const struct part *part = &c->part[which];
    const MPI_Datatype *words = types_in(&part->envelope, part->contents);
    char *contents = w->memory;
    struct envelope e;

    w->met[which] = type;
    if (!ask_envelope(type, &e) || memcmp(&e, &part->envelope, sizeof e) != 0)
        return false;
    w->memory += contents_size(&e);
    if (!ask_contents(type, &e, contents))
        return false;
    MPI_Datatype *types = types_in(&e, contents);
    bool same = memcmp(contents, part->contents, numbers_size(&e)) == 0;
    for (MPI_Count i = 0; i < e.types; i++) {
        same = same && is_made_from(c, w, words[i], types[i]);
        if (!espi_is_predefined((uint32_t)types[i]))
            espi_pmpi.Type_free(&types[i]);
    }
    return same;
}

bool espi_construction_is(const struct espi_construction *c, MPI_Datatype type)
{
    _Alignas(MPI_Count) char small[SMALL];
    char *large = c->bytes > SMALL ? espi_pool_get(c->bytes) : NULL;
    struct walk w = {.memory = c->bytes > SMALL ? large : small};

    if (w.memory == NULL)
        return false;
    for (int i = 0; i < c->parts; i++)
        w.met[i] = MPI_DATATYPE_NULL;
    const bool same = is(c, &w, 0, type);
    espi_pool_put(large);
    return same;
}
