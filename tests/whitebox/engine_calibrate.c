/* How the constants of the model of the library's engine are measured (src/mpi/typeplan/engine_calibrate.h). */
#include <check.h>
#include <mpi.h>

#include "base/cpu.h"
#include "clock.h"
#include "mpi/core/pmpi.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "pack/pack.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

static int (*real_pack)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
static int packs;

static int list_ns;

/* Types that are alive of those that are made here, and most of them at once. */
static __typeof__(espi_pmpi) real;
static int alive, most_alive;

static int made(int result)
{
    most_alive = ++alive > most_alive ? alive : most_alive;
    return result;
}

static int make_hvector(int n, int each, MPI_Aint apart, MPI_Datatype of, MPI_Datatype *type)
{
    return made(real.Type_create_hvector(n, each, apart, of, type));
}

static int make_struct(int n, const int *each, const MPI_Aint *at, const MPI_Datatype *of, MPI_Datatype *type)
{
    return made(real.Type_create_struct(n, each, at, of, type));
}

static int make_list(int n, int each, const MPI_Aint *at, MPI_Datatype of, MPI_Datatype *type)
{
    return made(real.Type_create_hindexed_block(n, each, at, of, type));
}

static int free_type(MPI_Datatype *type)
{
    alive--;
    return real.Type_free(type);
}

/* An engine of 20 ns a step, half a nanosecond an element, 16 bytes a nanosecond, `list_ns` more for a list, 100 ns a
   call; now and then it is disturbed. */
static int timed_pack(const void *from, int n, MPI_Datatype type, void *to, int size, int *at, MPI_Comm comm)
{
    int ints, addresses, types, combiner, bytes;
    uint64_t ns = 100;

    MPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
    MPI_Type_size(type, &bytes);
    if (combiner == MPI_COMBINER_NAMED)
        ns += (uint64_t)(n > 1 ? n * bytes / 16 : 0);
    else
        ns += (uint64_t)bytes / 8 / 2 + (combiner == MPI_COMBINER_STRUCT ? 20 * (uint64_t)types : 0) +
              (uint64_t)(combiner == MPI_COMBINER_HINDEXED_BLOCK ? list_ns : 0);
    ns += packs++ % 3 == 0 ? 10000 : 0;
    test_clock_passes(ns, ns);
    return real_pack(from, n, type, to, size, at, comm);
}

/* A processor on which pack programs take so much longer than predicted. */
static double slower;
void __real_espi_pack_run(const struct espi_pack *pack, const void *data, int64_t count, void *stream);
void __wrap_espi_pack_run(const struct espi_pack *pack, const void *data, int64_t count, void *stream);
void __wrap_espi_pack_run(const struct espi_pack *pack, const void *data, int64_t count, void *stream)
{
    const uint64_t ns = (uint64_t)(slower * espi_pack_cost(pack, count).warm_ns);

    if (slower > 0)
        test_clock_passes(ns, ns);
    __real_espi_pack_run(pack, data, count, stream);
}

/* What is predicted of a program. */
static double predicted(void)
{
    struct espi_arena own = ESPI_ARENA_INIT;
    const struct espi_node *node;
    const struct espi_pack *pack;

    ck_assert_int_eq(espi_node_leaf(&own, espi_base_find("MPI_INT", 7), &node), ESPI_OK);
    ck_assert_int_eq(espi_node_vec(&own, 1000, 60, node, &node), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&own, node, 60000, &pack), ESPI_OK);
    const struct espi_pack_cost cost = espi_pack_cost(pack, 10);
    espi_arena_release(&own);
    return cost.warm_ns + cost.cold_ns;
}

/* The constants are measured once, by the clock, and come out as they are; with one type at a time. So is the speed
   of pack programs. */
START_TEST(calibrated)
{
    struct espi_engine engine;

    test_clock_stands();
    list_ns = 256 / 2;
    slower = 1.75;
    const double usual = predicted();
    real = espi_pmpi;
    real_pack = espi_pmpi.Pack;
    espi_pmpi.Pack = timed_pack;
    espi_pmpi.Type_create_hvector = make_hvector;
    espi_pmpi.Type_create_struct = make_struct;
    espi_pmpi.Type_create_hindexed_block = make_list;
    espi_pmpi.Type_free = free_type;
    for (int i = 0; i < 2; i++) {
        engine = espi_engine();
        ck_assert_double_eq_tol(engine.step, 20, 1);
        ck_assert_double_eq_tol(engine.element, 0.5, 0.01);
        ck_assert_double_eq_tol(engine.copied, 16, 0.1);
        ck_assert_double_eq_tol(engine.listed, 0.5, 0.01);
    }
    ck_assert(engine.fetches == espi_cpu_is_intel());
    ck_assert(packs > 4 && packs < 100);
    ck_assert_double_eq_tol(predicted() / usual, slower, 0.02);
    int before = packs;
    espi_engine();
    ck_assert_int_eq(packs, before);
    ck_assert_int_eq(most_alive, 1);
    ck_assert_int_eq(alive, 0);
    espi_pmpi = real;
    test_clock.set = false;
    slower = 0;
    espi_pack_cost_scale(1);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "engine_calibrate", calibrated);
}
