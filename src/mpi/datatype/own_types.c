#include "mpi/datatype/own_types.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

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

static bool is_of_long_form(MPI_Datatype type)
{
    return espi_handle_number(type) >= ESPI_LOW_HANDLES;
}

/* ---- long forms that were lent ---- */

/* By their handles' numbers, which begin behind the low ones. */
enum { WORD = 64, NUMBERS = ESPI_LOW_HANDLES + ESPI_OWN_LONG_TYPES_MOST + WORD };
static _Atomic uint64_t lent[NUMBERS / WORD];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the four below */
static MPI_Datatype *kept;
static size_t n_kept, capacity;
static long kept_types; /* that these are made of */

void espi_own_types_lend(MPI_Datatype type)
{
    const int number = espi_handle_number(type);

    if (is_of_long_form(type) && number < NUMBERS)
        atomic_fetch_or(&lent[number / WORD], UINT64_C(1) << number % WORD);
}

/* Where it is not known: it was. */
static bool is_lent(MPI_Datatype type)
{
    const int number = espi_handle_number(type);

    return number >= NUMBERS || (atomic_load(&lent[number / WORD]) & UINT64_C(1) << number % WORD) != 0;
}

/* Without memory it stays for good. */
static void keep(MPI_Datatype type)
{
    pthread_mutex_lock(&lock);
    if (n_kept == capacity) {
        MPI_Datatype *more = realloc(kept, (2 * capacity + 8) * sizeof *more);
        if (more != NULL) {
            kept = more;
            capacity = 2 * capacity + 8;
        }
    }
    if (n_kept < capacity)
        kept[n_kept++] = type;
    pthread_mutex_unlock(&lock);
}

void espi_own_types_end(void)
{
    pthread_mutex_lock(&lock);
    MPI_Datatype *types = kept;
    const int n = (int)n_kept;
    const long long_types = kept_types;
    kept = NULL;
    n_kept = capacity = 0;
    kept_types = 0;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < sizeof lent / sizeof *lent; i++)
        atomic_store(&lent[i], 0);
    espi_own_types_free(types, n, long_types);
    free(types);
}

/* ---- making and freeing them ---- */

/* What is freed while low handles are reserved comes to lie below them: only long forms. */
void espi_own_types_free(const MPI_Datatype *types, int n, long long_types)
{
    struct espi_low_handles low = {.n = 0};
    bool reserved = false, keeps = false;

    for (int i = 0; i < n; i++) {
        MPI_Datatype type = types[i];
        if (type == MPI_DATATYPE_NULL || !is_of_long_form(type))
            continue;
        if (is_lent(type)) {
            keep(type);
            keeps = true;
            continue;
        }
        if (!reserved)
            espi_low_handles_reserve(&low);
        reserved = true;
        espi_pmpi.Type_free(&type);
    }
    espi_low_handles_release(&low);
    for (int i = 0; i < n; i++) {
        MPI_Datatype type = types[i];
        if (type != MPI_DATATYPE_NULL && !is_of_long_form(type))
            espi_pmpi.Type_free(&type);
    }
    if (!keeps) {
        atomic_fetch_sub(&held_long, long_types);
        return;
    }
    pthread_mutex_lock(&lock);
    kept_types += long_types;
    pthread_mutex_unlock(&lock);
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
