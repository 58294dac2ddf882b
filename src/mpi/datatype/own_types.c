#include "mpi/datatype/own_types.h"

#include <stdatomic.h>

#include "mpi/core/pmpi.h"

static atomic_long held, held_long;
static atomic_bool closed, without_long;

static size_t room(long now, long in_all, long in_one)
{
    const long left = atomic_load(&closed) ? 0 : in_all - now;

    return left <= 0 ? 0 : (size_t)(left < in_one ? left : in_one);
}

size_t espi_own_types_room(void)
{
    return room(atomic_load(&held), ESPI_OWN_TYPES_MOST, ESPI_OWN_FORM_MOST);
}

size_t espi_own_types_long_room(void)
{
    return atomic_load(&without_long)
               ? 0
               : room(atomic_load(&held_long), ESPI_OWN_LONG_TYPES_MOST, ESPI_OWN_LONG_FORM_MOST);
}

void espi_own_types_add(long n)
{
    atomic_fetch_add(&held, n);
}

void espi_own_types_add_long(long n)
{
    atomic_fetch_add(&held_long, n);
}

void espi_low_handles_reserve(struct espi_low_handles *low)
{
    int number = -1;

    for (low->n = 0; number < ESPI_LOW_HANDLES && low->n < (int)(sizeof low->type / sizeof *low->type); low->n++) {
        if (espi_pmpi.Type_contiguous(0, MPI_BYTE, &low->type[low->n]) != MPI_SUCCESS)
            return;
        number = espi_handle_number(low->type[low->n]);
    }
}

void espi_low_handles_release(struct espi_low_handles *low)
{
    while (low->n > 0)
        espi_pmpi.Type_free(&low->type[--low->n]);
}

/* ---- forms that were lent ---- */

/* By their handles' numbers, behind those of the few that stand before (HANDLE_KIND_DIRECT): all that low handles and
   long forms may have, and some more. */
enum { WORD = 64, DIRECT = 256, NUMBERS = 1 << 16 };
static _Atomic uint64_t lent[NUMBERS / WORD];
static atomic_int n_lent, n_kept;
static MPI_Datatype kept[ESPI_OWN_LENT_MOST]; /* freed by us, and not yet by MPI; each was lent */
static atomic_long kept_types, kept_long;     /* that these, and what went with them, are made of */

/* NULL: it can not be lent. */
static _Atomic uint64_t *word_of(MPI_Datatype type, uint64_t *bit)
{
    const uint32_t bits = (uint32_t)type;
    const int number = bits >> 30 == 2 ? (int)(bits & 0xff) : espi_handle_number(type) + DIRECT;

    if (number < 0 || number >= NUMBERS)
        return NULL;
    *bit = UINT64_C(1) << number % WORD;
    return &lent[number / WORD];
}

bool espi_own_types_lend(MPI_Datatype type)
{
    uint64_t bit;
    _Atomic uint64_t *word = word_of(type, &bit);

    if (word == NULL)
        return false;
    if (atomic_load_explicit(word, memory_order_relaxed) & bit)
        return true;
    if (atomic_fetch_add(&n_lent, 1) >= ESPI_OWN_LENT_MOST) {
        atomic_fetch_sub(&n_lent, 1);
        return false;
    }
    if (atomic_fetch_or(word, bit) & bit) /* another thread lent it meanwhile */
        atomic_fetch_sub(&n_lent, 1);
    return true;
}

static bool is_lent(MPI_Datatype type)
{
    uint64_t bit;
    const _Atomic uint64_t *word = word_of(type, &bit);

    return word != NULL && (atomic_load(word) & bit) != 0;
}

/* Takes those that were lent out of the array. False: there are none. */
static bool keep_lent(MPI_Datatype *types, int n)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        if (types[i] == MPI_DATATYPE_NULL || !is_lent(types[i]))
            continue;
        kept[atomic_fetch_add(&n_kept, 1)] = types[i];
        types[i] = MPI_DATATYPE_NULL;
        any = true;
    }
    return any;
}

/* ---- making and freeing them ---- */

static bool is_of_long_form(MPI_Datatype type)
{
    return espi_handle_number(type) >= ESPI_LOW_HANDLES;
}

/* What is freed while low handles are reserved comes to lie below them: only long forms. */
static void free_forms(MPI_Datatype *types, int n)
{
    struct espi_low_handles low = {.n = 0};
    bool reserved = false;

    for (int i = 0; i < n; i++) {
        if (types[i] == MPI_DATATYPE_NULL || !is_of_long_form(types[i]))
            continue;
        if (!reserved)
            espi_low_handles_reserve(&low);
        reserved = true;
        espi_pmpi.Type_free(&types[i]);
    }
    espi_low_handles_release(&low);
    for (int i = 0; i < n; i++)
        if (types[i] != MPI_DATATYPE_NULL)
            espi_pmpi.Type_free(&types[i]);
}

void espi_own_types_free(MPI_Datatype *types, int n, struct espi_own_types of)
{
    if (keep_lent(types, n)) {
        atomic_fetch_add(&kept_types, (long)of.types);
        atomic_fetch_add(&kept_long, (long)of.long_types);
    } else {
        atomic_fetch_sub(&held, (long)of.types);
        atomic_fetch_sub(&held_long, (long)of.long_types);
    }
    free_forms(types, n);
}

void espi_own_types_end(void)
{
    const int n = atomic_exchange(&n_kept, 0);

    for (int i = 0; i < NUMBERS / WORD; i++)
        atomic_store_explicit(&lent[i], 0, memory_order_relaxed);
    atomic_store(&n_lent, 0);
    atomic_fetch_sub(&held, atomic_exchange(&kept_types, 0));
    atomic_fetch_sub(&held_long, atomic_exchange(&kept_long, 0));
    free_forms(kept, n);
}

void espi_own_types_open(bool for_long)
{
    atomic_store(&closed, false);
    atomic_store(&without_long, !for_long);
}

bool espi_own_types_close(void)
{
    return !atomic_exchange(&closed, true);
}

/* Whether MPI packs a form of ours as it should: it has gaps, or a low handle. MPICH takes only entries one behind
   the other for what has no gaps; here they may come in any order. */
static bool is_packed_well(MPI_Datatype type)
{
    MPI_Count size, true_lb, true_extent;

    return !espi_own_types_is_high(type) ||
           (espi_pmpi.Type_size_x(type, &size) == MPI_SUCCESS &&
            espi_pmpi.Type_get_true_extent_x(type, &true_lb, &true_extent) == MPI_SUCCESS && size != true_extent);
}

espi_status espi_own_types_build(const struct espi_node *tree, int64_t lb, int64_t extent,
                                 struct espi_own_types have, struct espi_emitted *out, bool *is_long)
{
    const size_t most = espi_own_types_room(), most_long = espi_own_types_long_room();
    struct espi_low_handles low;
    espi_status status;

    *is_long = false;
    status = espi_emit(tree, lb, extent, most > have.types ? most - have.types : 0, out);
    if (status == ESPI_OK && espi_own_types_is_high(out->type)) {
        espi_pmpi.Type_free(&out->type);
        return ESPI_ERR_LIMIT;
    }
    if (status != ESPI_ERR_LIMIT || most_long <= have.long_types)
        return status;
    *is_long = true;
    espi_low_handles_reserve(&low);
    status = espi_emit(tree, lb, extent, most_long - have.long_types, out);
    if (status == ESPI_OK && !is_packed_well(out->type)) {
        espi_pmpi.Type_free(&out->type);
        status = ESPI_ERR_LIMIT;
    }
    espi_low_handles_release(&low);
    return status;
}
