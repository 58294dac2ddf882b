#include "mpi/datatype/own_types.h"

#include <stdatomic.h>

#include "mpi/core/pmpi.h"

enum { KEPT_MOST = 32 };

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

/* ---- freeing forms ---- */

static bool is_of_long_form(MPI_Datatype type)
{
    return espi_handle_number(type) >= ESPI_LOW_HANDLES;
}

/* Forms that calls under way still use. MPI would give their handles back when these are over, before all others. */
static struct kept {
    MPI_Datatype type; /* freed, and alive as part of the other one */
    MPI_Datatype by;
    struct espi_own_types of; /* what is not held any more when it is gone */
} kept[KEPT_MOST];
static int n_kept;

/* MPICH deletes the attributes of a type when nothing uses it any more, and not when it is freed
   (MPIR_Datatype_ptr_release). Where that were otherwise all types would be gone at once. */
static int keyval = MPI_KEYVAL_INVALID;
static bool gone;

static int note_gone(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    gone = true;
    return MPI_SUCCESS;
}

static bool is_watched(MPI_Datatype type)
{
    if (keyval == MPI_KEYVAL_INVALID &&
        espi_pmpi.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, note_gone, &keyval, NULL) != MPI_SUCCESS)
        return false;
    return espi_pmpi.Type_set_attr(type, keyval, NULL) == MPI_SUCCESS;
}

/* Frees `by`, which is `type` or keeps it alive. False: MPI still uses `type`, whose handle therefore is good, and
   `by` is another one that keeps it alive. */
static bool is_gone(MPI_Datatype type, MPI_Datatype *by)
{
    gone = false;
    espi_pmpi.Type_free(by);
    return gone || espi_pmpi.Type_contiguous(1, type, by) != MPI_SUCCESS;
}

static void let_go(struct espi_own_types of)
{
    atomic_fetch_sub(&held, (long)of.types);
    atomic_fetch_sub(&held_long, (long)of.long_types);
}

/* A form that is kept takes `of` over. Where other threads may free types it is not looked at. */
static void free_form(MPI_Datatype type, struct espi_own_types *of)
{
    MPI_Datatype by = type;

    if (atomic_load(&without_long) || n_kept == KEPT_MOST || !is_watched(type)) {
        espi_pmpi.Type_free(&by);
    } else if (!is_gone(type, &by)) {
        kept[n_kept++] = (struct kept){type, by, *of};
        *of = (struct espi_own_types){0, 0};
    }
}

/* Looks again for those that were kept, long forms or others. `end`: MPI uses none any more. */
static void free_kept(bool of_long, bool end)
{
    for (int i = n_kept - 1; i >= 0; i--) {
        if (is_of_long_form(kept[i].type) != of_long)
            continue;
        if (end)
            espi_pmpi.Type_free(&kept[i].by);
        else if (!is_gone(kept[i].type, &kept[i].by))
            continue;
        let_go(kept[i].of);
        kept[i] = kept[--n_kept];
    }
}

static bool any_is_long(const MPI_Datatype *types, int n)
{
    bool any = false;

    for (int i = 0; i < n; i++)
        any = any || is_of_long_form(types[i]);
    for (int i = 0; i < n_kept; i++)
        any = any || is_of_long_form(kept[i].type);
    return any;
}

/* What is freed while low handles are reserved comes to lie below them: only long forms. */
static void free_all(const MPI_Datatype *types, int n, struct espi_own_types of, bool end)
{
    for (int of_long = any_is_long(types, n); of_long >= 0; of_long--) {
        struct espi_low_handles low = {.n = 0};
        if (of_long)
            espi_low_handles_reserve(&low);
        free_kept(of_long, end);
        for (int i = 0; i < n; i++)
            if (types[i] != MPI_DATATYPE_NULL && is_of_long_form(types[i]) == of_long)
                free_form(types[i], &of);
        espi_low_handles_release(&low);
    }
    let_go(of);
}

void espi_own_types_free(const MPI_Datatype *types, int n, struct espi_own_types of)
{
    free_all(types, n, of, false);
}

void espi_own_types_end(void)
{
    free_all(NULL, 0, (struct espi_own_types){0, 0}, true);
    if (keyval != MPI_KEYVAL_INVALID)
        espi_pmpi.Type_free_keyval(&keyval);
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

espi_status espi_own_types_build(const struct espi_node *tree, int64_t lb, int64_t extent,
                                 struct espi_own_types have, struct espi_emitted *out, bool *is_long)
{
    const size_t most = espi_own_types_room(), most_long = espi_own_types_long_room();
    const bool has_gaps = tree->size != tree->true_ub - tree->true_lb; /* MPICH asks for order, too */
    struct espi_low_handles low;
    espi_status status;

    *is_long = false;
    status = espi_emit(tree, lb, extent, most > have.types ? most - have.types : 0, out);
    if (status == ESPI_OK && espi_own_types_is_high(out->type)) {
        espi_pmpi.Type_free(&out->type);
        return ESPI_ERR_LIMIT;
    }
    if (status != ESPI_ERR_LIMIT || most_long <= have.long_types || !has_gaps)
        return status;
    *is_long = true;
    espi_low_handles_reserve(&low);
    status = espi_emit(tree, lb, extent, most_long - have.long_types, out);
    espi_low_handles_release(&low);
    return status;
}
