/*
 * Pack programs for one call (src/mpi/typeplan/pack_once.h): which lists get one, and that it packs as MPI does. The
 * engine's constants are the usual ones.
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mpi/core/runtime.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/pack_once.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

enum { BYTES = 1 << 22 };

static int (*real_contents)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int *, MPI_Aint *, MPI_Count *,
                            MPI_Datatype *);
static int read_back;
static uint64_t more_ns; /* that reading back takes */

static int contents(MPI_Datatype type, MPI_Count ints, MPI_Count addresses, MPI_Count counts, MPI_Count types, int *i,
                    MPI_Aint *a, MPI_Count *c, MPI_Datatype *t)
{
    read_back++;
    test_clock_passes(700 + 4 * (uint64_t)ints + more_ns, 0);
    return real_contents(type, ints, addresses, counts, types, i, a, c, t);
}

static void begin(void)
{
    test_clock_stands();
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_AUTO;
    espi_type_service.check = false;
    more_ns = 0;
    if (espi_pmpi.Type_get_contents_c != contents) /* a test that fails has no end */
        real_contents = espi_pmpi.Type_get_contents_c;
    espi_pmpi.Type_get_contents_c = contents;
}

static void end(void)
{
    espi_pmpi.Type_get_contents_c = real_contents;
    espi_types_stop();
    test_clock.set = false;
}

/* Another list each time: `n` blocks of `each`. */
static MPI_Datatype list_of(int n, int each, MPI_Datatype base)
{
    static unsigned random = 1;
    int *at = malloc((size_t)n * sizeof *at);
    MPI_Datatype type;

    for (int i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        at[i] = 3 * i * each + (int)((random >> 8) % (2 * (unsigned)each));
    }
    MPI_Type_create_indexed_block(n, each, at, base, &type);
    MPI_Type_commit(&type);
    free(at);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

static void done_with(MPI_Datatype *type)
{
    espi_types_ending(espi_thread_state(&own_thread), *type);
    MPI_Type_free(type);
}

/* Both ways, `count` items. */
static void packs_as_mpi(const struct espi_pack *pack, MPI_Datatype type, int count)
{
    char *data = malloc(BYTES), *ours = malloc(BYTES), *mpis = malloc(BYTES), *back = calloc(1, BYTES),
         *mpis_back = calloc(1, BYTES);
    int at = 0, size, from = 0;

    for (int i = 0; i < BYTES; i++)
        data[i] = (char)(i * 7 + i / 251);
    MPI_Type_size(type, &size);
    MPI_Pack(data, count, type, mpis, BYTES, &at, MPI_COMM_SELF);
    espi_pack_run(pack, data, count, ours);
    ck_assert_int_eq(at, size * count);
    ck_assert_int_eq(memcmp(ours, mpis, (size_t)at), 0);
    espi_unpack_run(pack, ours, back, count);
    MPI_Unpack(mpis, BYTES, &from, mpis_back, count, type, MPI_COMM_SELF);
    ck_assert_int_eq(memcmp(back, mpis_back, BYTES), 0);
    free(data);
    free(ours);
    free(mpis);
    free(back);
    free(mpis_back);
}

/* Its first use in a call without the library, which makes no plan. Whether it is packed for once. */
static bool once(MPI_Datatype type, int count)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    uint64_t saved = 0;

    ck_assert_ptr_null(
        espi_exchanged_plan(espi_thread_state(&own_thread)->stats, type, count, count, true, &saved));
    read_back = 0;
    const struct espi_pack *pack = espi_pack_once(&arena, type, count);
    if (pack != NULL)
        packs_as_mpi(pack, type, count);
    espi_arena_release(&arena);
    return pack != NULL;
}

static bool anew(int n, int each, MPI_Datatype base, int count)
{
    MPI_Datatype type = list_of(n, each, base);
    const bool is = once(type, count);

    done_with(&type);
    return is;
}

/* What MPI copies byte by byte, and what is long enough that a second copy is dearer than reading back. */
START_TEST(worth_it)
{
    begin();
    ck_assert(anew(64, 4096, MPI_BYTE, 1));
    ck_assert(anew(64, 4096, MPI_BYTE, 3));
    ck_assert(anew(300, 256, MPI_BYTE, 1));
    ck_assert(anew(40, 1024, MPI_DOUBLE, 1));
    ck_assert(!anew(64, 64, MPI_DOUBLE, 1));
    ck_assert(!anew(1000, 16, MPI_DOUBLE, 1));
    ck_assert(anew(1000, 64, MPI_BYTE, 1));
    ck_assert(!anew(1000, 16, MPI_INT, 1)); /* as long */
    end();
}
END_TEST

/* A list of which a program is of no use. */
static void of_no_use(int n, int each, MPI_Datatype base, int times, int reads)
{
    for (int i = 0; i < times; i++) {
        ck_assert(!anew(n, each, base, 1));
        ck_assert_int_eq(read_back, reads);
    }
}

/* Of short blocks nothing is read back; of lists like many that were of no use only one in some, also where it was
   reading back that took so long, and of short lists as well; until one is of use. */
START_TEST(passed)
{
    enum { TRIED = 8, PASS = 14 };

    begin();
    of_no_use(1000, 15, MPI_BYTE, 1, 0);
    of_no_use(1000, 16, MPI_DOUBLE, TRIED, 1);
    for (int round = 0; round < 3; round++) {
        of_no_use(1000, 16, MPI_DOUBLE, PASS, 0);
        of_no_use(1000, 16, MPI_DOUBLE, 1, 1);
    }
    ck_assert(anew(24, 4096, MPI_BYTE, 1));
    more_ns = 1000000;
    of_no_use(24, 4096, MPI_BYTE, 2 * TRIED, 1);
    more_ns = 0;
    of_no_use(25, 4096, MPI_BYTE, PASS, 0);
    ck_assert(anew(24, 4096, MPI_BYTE, 1));
    ck_assert(anew(24, 4096, MPI_BYTE, 1));
    end();
}
END_TEST

/* Lists of the same lengths of which some are of use, and others not, in turns: those that are get their programs. */
START_TEST(mixed)
{
    int packed = 0;

    begin();
    for (int i = 0; i < 50; i++) /* so that the brake is on at first */
        ck_assert(!anew(1200, 12, MPI_DOUBLE, 1));
    for (int i = 0; i < 400; i++) {
        const bool is_bytes = i % 4 < 2;
        const bool once = anew(1200, is_bytes ? 96 : 12, is_bytes ? MPI_BYTE : MPI_DOUBLE, 1);
        ck_assert(is_bytes || !once);
        packed += once;
    }
    ck_assert_msg(packed > 100, "%d of 200", packed);
    end();
}
END_TEST

/* Packing begins when it was missed for 250 us. */
START_TEST(begun)
{
    begin();
    espi_admission_start(1000);
    for (int i = 0; i < 2; i++) {
        ck_assert(!anew(64, 4096, MPI_BYTE, 1));
        ck_assert_int_eq(read_back, 1);
    }
    ck_assert(anew(64, 4096, MPI_BYTE, 1));
    end();
}
END_TEST

/* Not without pack programs, nor where each is compared with MPI, nor of types that are not known or can not be read
   back; not while another thread plans. */
START_TEST(refused)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    MPI_Datatype type, unknown;

    begin();
    type = list_of(64, 4096, MPI_BYTE);
    ck_assert(once(type, 1));
    espi_type_service.packing = ESPI_MODE_OFF;
    ck_assert_ptr_null(espi_pack_once(&arena, type, 1));
    espi_type_service.packing = ESPI_MODE_AUTO;
    espi_type_service.check = true;
    ck_assert_ptr_null(espi_pack_once(&arena, type, 1));
    espi_type_service.check = false;
    pthread_mutex_lock(&espi_type_service.planning);
    ck_assert_ptr_null(espi_pack_once(&arena, type, 1));
    pthread_mutex_unlock(&espi_type_service.planning);
    espi_slot_class(espi_slot_of(type))->state = ESPI_CLASS_REFUSED;
    ck_assert_ptr_null(espi_pack_once(&arena, type, 1));
    done_with(&type);
    MPI_Type_vector(64, 4096, 5000, MPI_BYTE, &unknown);
    MPI_Type_commit(&unknown);
    ck_assert_ptr_null(espi_pack_once(&arena, unknown, 1));
    MPI_Type_free(&unknown);
    espi_arena_release(&arena);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "pack_once", worth_it, passed, mixed, begun, refused);
}
