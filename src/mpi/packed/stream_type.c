#include "mpi/packed/stream_type.h"

#include <stdatomic.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/core/pmpi.h"
#include "mpi/datatype/own_types.h"

/* Room behind the block. */
enum { ROOM = 64 };

/* The types that were sent last: key and handle in one word, so that taking one out of the table or putting one in is
   one exchange, and nobody else has what is taken. Keys with the same place replace each other. (Where calls overlap
   the first ones stay, in any place.) */
enum { PLACES_LOG = 4, PLACES = 1 << PLACES_LOG };
static _Atomic uint64_t kept[PLACES];
static atomic_bool opened;
static atomic_int ours; /* types that there are, kept or in calls */

#define IN_ROW (UINT64_C(1) << 31) /* bytes have 31 bits */

/* Size and form, in 32 bits. */
static uint64_t key_of(int64_t bytes, enum espi_stream_form form)
{
    return (form == ESPI_STREAM_IN_ROW ? IN_ROW : 0) | (uint64_t)bytes;
}

static _Atomic uint64_t *place_of(uint64_t key)
{
    return &kept[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACES_LOG)];
}

/* Datatypes that one is made of. */
static int datatypes(enum espi_stream_form form)
{
    return form == ESPI_STREAM_IN_ROW ? 3 : 1;
}

static int datatypes_of(uint64_t word)
{
    return datatypes(word >> 32 & IN_ROW ? ESPI_STREAM_IN_ROW : ESPI_STREAM_SPLIT);
}

/* A type that was freed has its handles as long as messages under way use it, and counts until then: MPICH deletes
   its attributes when nothing uses it any more (datatype/own_types.c). Not where calls overlap: no type may have an
   attribute with a callback there (typeplan/type_cache.c). So no type is freed there for the sake of another one, but
   where threads have more of them at once than there are places; each counts until it is freed. */
static atomic_int keyval = MPI_KEYVAL_INVALID;

static int note_gone(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)extra;
    espi_own_types_add(-(long)(intptr_t)value);
    return MPI_SUCCESS;
}

static int key_of_types(void)
{
    int key = atomic_load(&keyval), none = MPI_KEYVAL_INVALID;

    if (key != MPI_KEYVAL_INVALID ||
        espi_pmpi.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, note_gone, &key, NULL) != MPI_SUCCESS)
        return key;
    if (atomic_compare_exchange_strong(&keyval, &none, key))
        return key;
    espi_pmpi.Type_free_keyval(&key); /* another thread was first */
    return none;
}

/* From here on it counts. */
static bool is_counted(MPI_Datatype type, enum espi_stream_form form)
{
    const int key = espi_calls_overlap ? MPI_KEYVAL_INVALID : key_of_types();

    if (!espi_calls_overlap &&
        (key == MPI_KEYVAL_INVALID ||
         espi_pmpi.Type_set_attr(type, key, (void *)(intptr_t)datatypes(form)) != MPI_SUCCESS))
        return false;
    espi_own_types_add(datatypes(form));
    return true;
}

static void let_go(uint64_t word)
{
    MPI_Datatype type = (MPI_Datatype)(uint32_t)word;

    if (espi_calls_overlap) /* else its attribute tells */
        espi_own_types_add(-(long)datatypes_of(word));
    espi_pmpi.Type_free(&type);
    atomic_fetch_sub(&ours, 1);
}

/* `old`, which is freed, with another extent. */
static MPI_Datatype resized(MPI_Datatype old, int64_t extent)
{
    MPI_Datatype type;

    if (espi_pmpi.Type_create_resized(old, 0, (MPI_Aint)extent, &type) != MPI_SUCCESS)
        type = MPI_DATATYPE_NULL;
    espi_pmpi.Type_free(&old);
    return type;
}

static MPI_Datatype in_row(int64_t bytes)
{
    MPI_Datatype type;

    if (espi_pmpi.Type_contiguous((int)bytes, MPI_PACKED, &type) != MPI_SUCCESS)
        return MPI_DATATYPE_NULL;
    type = resized(type, bytes + ROOM);
    return type != MPI_DATATYPE_NULL ? resized(type, bytes) : type;
}

static MPI_Datatype split(int64_t bytes)
{
    const int lengths[] = {(int)bytes - 1, 1};
    const MPI_Aint places[] = {0, (MPI_Aint)bytes};
    MPI_Datatype type;

    return espi_pmpi.Type_create_hindexed(2, lengths, places, MPI_PACKED, &type) == MPI_SUCCESS ? type
                                                                                              : MPI_DATATYPE_NULL;
}

static MPI_Datatype make(int64_t bytes, enum espi_stream_form form)
{
    MPI_Datatype type;

    if (espi_own_types_room() < (size_t)datatypes(form))
        return MPI_DATATYPE_NULL;
    type = form == ESPI_STREAM_IN_ROW ? in_row(bytes) : split(bytes);
    if (type == MPI_DATATYPE_NULL)
        return type;
    if (espi_own_types_is_high(type) || espi_pmpi.Type_commit(&type) != MPI_SUCCESS || !is_counted(type, form))
        espi_pmpi.Type_free(&type);
    else
        atomic_fetch_add(&ours, 1);
    return type;
}

bool espi_stream_may_go_in_cells(int64_t bytes)
{
    return bytes > ESPI_STREAM_CELL && bytes <= INT32_MAX - ROOM &&
           atomic_load_explicit(&opened, memory_order_relaxed) &&
           (espi_own_types_room() >= (size_t)datatypes(ESPI_STREAM_IN_ROW) ||
            atomic_load_explicit(&ours, memory_order_relaxed) > 0);
}

/* Where calls overlap: puts it where there is room. False: nowhere. */
static bool put_shared(uint64_t given)
{
    for (int i = 0; i < PLACES && atomic_load_explicit(&opened, memory_order_relaxed); i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&kept[i], &none, given))
            return true;
    }
    return false;
}

static MPI_Datatype take_shared(uint64_t key, int64_t bytes, enum espi_stream_form form)
{
    for (int i = 0; i < PLACES; i++) {
        uint64_t word = atomic_load(&kept[i]);
        if (word >> 32 == key && atomic_compare_exchange_strong(&kept[i], &word, 0))
            return (MPI_Datatype)(uint32_t)word;
    }
    return atomic_load(&ours) < PLACES ? make(bytes, form) : MPI_DATATYPE_NULL;
}

MPI_Datatype espi_stream_type_take(int64_t bytes, enum espi_stream_form form)
{
    if (!espi_stream_may_go_in_cells(bytes))
        return MPI_DATATYPE_NULL;
    const uint64_t key = key_of(bytes, form);
    if (espi_calls_overlap)
        return take_shared(key, bytes, form);
    const uint64_t word = atomic_exchange(place_of(key), 0);
    if (word != 0 && word >> 32 == key)
        return (MPI_Datatype)(uint32_t)word;
    if (word != 0)
        let_go(word);
    return make(bytes, form);
}

void espi_stream_type_back(MPI_Datatype type, int64_t bytes, enum espi_stream_form form)
{
    const uint64_t key = key_of(bytes, form), given = key << 32 | (uint32_t)type;
    if (espi_calls_overlap && put_shared(given))
        return;
    const uint64_t word = atomic_load_explicit(&opened, memory_order_relaxed)
                              ? atomic_exchange(place_of(key), given)
                              : given;

    if (word != 0)
        let_go(word);
}

void espi_stream_types_give_back(void)
{
    for (int i = 0; i < PLACES; i++) {
        const uint64_t word = atomic_exchange(&kept[i], 0);
        if (word != 0)
            let_go(word);
    }
}

/* The device is what decides how messages go. */
static bool is_ucx(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    return espi_pmpi.Get_library_version(text, &length) == MPI_SUCCESS && strstr(text, "ch4:ucx") != NULL;
}

void espi_stream_types_open(void)
{
    atomic_store(&opened, is_ucx());
}

void espi_stream_types_close(void)
{
    int key = atomic_exchange(&keyval, MPI_KEYVAL_INVALID);

    atomic_store(&opened, false);
    espi_stream_types_give_back();
    if (key != MPI_KEYVAL_INVALID)
        espi_pmpi.Type_free_keyval(&key); /* types that are still used have theirs as long */
}
