#include "type_service.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/emit.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/packed_call.h"
#include "mpi/packed/stream_type.h"
#include "mpi/typeplan/admission.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "random_types.h"
#include "type_hint.h"
#include "stats/snapshot.h"

struct espi_thread own_thread;

MPI_Datatype irregular(int n, int salt)
{
    int *disp = malloc((size_t)n * sizeof *disp), i, at = salt;
    MPI_Datatype type;

    for (i = 0; i < n; i++) {
        disp[i] = at;
        at += 4 + (int)((unsigned)((i + salt) * (i + 7)) * 2654435761u >> 29);
    }
    MPI_Type_create_indexed_block(n, 3, disp, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    free(disp);
    return type;
}

MPI_Datatype regular_ints(int salt)
{
    MPI_Datatype type;
    int disp[24], k;

    for (k = 0; k < 24; k++)
        disp[k] = (2 + salt) * k;
    MPI_Type_create_indexed_block(24, 1, disp, MPI_INT, &type);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

void start(enum espi_mode mode)
{
    static struct espi_hot hot; /* the stub's */
    struct espi_settings settings;

    espi_settings_defaults(&settings);
    settings.datatypes = mode;
    settings.check = 1;
    settings.pack = ESPI_MODE_OFF; /* the tests of pack programs set it themselves */
    settings.budget_ms = 200;
    espi_handle_table_share(&hot, NULL);
    espi_admission_learns = false; /* what planning takes here */
    ck_assert_int_eq(espi_types_start(&settings), ESPI_OK);
    espi_type_service.silent = false; /* of what is held against reports */
    espi_admission_begins(UINT64_C(1) << 40);
}

/* The room that is told has a limit of its own: more are added until they show. */
long held_types(void)
{
    long n = 0, left;

    for (; (left = (long)espi_own_types_room()) == ESPI_OWN_FORM_MOST; n++)
        espi_own_types_add(1);
    espi_own_types_add(-n);
    return ESPI_OWN_TYPES_MOST - left - n;
}

int64_t spare_bytes(void)
{
    int64_t bytes = (int64_t)espi_settings.pack_mb << 20;
    void *buffer;

    while ((buffer = espi_packed_buffer(bytes)) == NULL && bytes > 0)
        bytes--;
    espi_packed_buffer_back(buffer, bytes);
    return bytes;
}

static int over_ucx(char *text, int *length)
{
    strcpy(text, "MPICH Device: ch4:ucx");
    *length = (int)strlen(text);
    return MPI_SUCCESS;
}

void start_cells(void)
{
    int (*const real)(char *, int *) = espi_pmpi.Get_library_version;

    espi_pmpi.Get_library_version = over_ucx;
    espi_stream_types_open();
    espi_pmpi.Get_library_version = real;
}

struct espi_report_type uses_told(void)
{
    struct espi_stats_run run = {.settings = &espi_settings, .ranks = 1};
    struct espi_report report;
    struct espi_report_type sum = {0};

    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    for (size_t i = 0; i < report.types; i++) {
        sum.uses += report.type[i].uses;
        sum.changed += report.type[i].changed;
        sum.elements += report.type[i].elements;
        sum.bytes += report.type[i].bytes;
    }
    espi_report_release(&report);
    return sum;
}

uint64_t counted(enum espi_counter counter)
{
    struct espi_report report = ESPI_REPORT_INIT;
    uint64_t sum;

    ck_assert_int_eq(espi_stats_collect(&report), ESPI_OK);
    sum = report.counter[counter].sum;
    espi_report_release(&report);
    return sum;
}

uint64_t compared_messages(void)
{
    return counted(ESPI_COUNT_checks_passed) - counted(ESPI_COUNT_variants_built);
}

void same_places(MPI_Datatype a, MPI_Datatype b)
{
    size_t n, m, i;
    int64_t *x = packed_places(a, &n), *y = packed_places(b, &m);

    ck_assert(espi_same_bounds(a, b));
    ck_assert_uint_eq(n, m);
    for (i = 0; i < n; i++)
        ck_assert_int_eq(x[i], y[i]);
    free(x);
    free(y);
}

struct espi_plan *plan_made(MPI_Datatype type, int64_t count, bool whole, enum espi_packable use)
{
    struct espi_type_slot *slot = espi_slot_of(type);

    espi_type_service.packing = ESPI_MODE_ALWAYS;
    for (int i = 0; i < 4; i++) {
        const struct espi_way way = espi_types_way(&own_thread, type, count, whole, use);
        if (way.packed != NULL)
            espi_plan_release(way.packed);
    }
    espi_type_service.packing = ESPI_MODE_AUTO;
    atomic_store(&slot->look, 1 << 20);
    struct espi_plan *plan = atomic_load(&slot->plan);
    ck_assert(plan != NULL && plan->pack != NULL);
    return plan;
}

void note_made(enum espi_fn fn, const espi_word *args)
{
    const uint32_t *made;
    uint64_t hint = espi_type_hint(fn, args, espi_hot->types, &made);
    uint32_t at = espi_credit_at(*made);
    unsigned char credit = atomic_load(&espi_hot->types[at].credit);

    ck_assert_uint_lt(at, ESPI_CREDITS);
    atomic_store(&espi_hot->types[at].hint, hint);
    if (credit > 0 && credit < ESPI_CREDIT_ENDED)
        atomic_store(&espi_hot->types[at].credit, credit + ESPI_CREDIT_ENDED);
}
