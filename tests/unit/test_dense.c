/*
 * The dense exact method in all the forms it is compiled in: for each vector unit that this machine has, and for
 * values of 16, 32 and 64 bits, against a plain procedure, the sparse method and each other.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "oracle.h"
#include "plain.h"
#include "random.h"
#include "runner.h"
#include "reconstruct/parts.h"
#include "reconstruct/dense/dense.h"

static struct espi_typemap map;
static int64_t done;

static void setup(void)
{
    map = ESPI_TYPEMAP_INIT;
    done = 0;
}

static void teardown(void)
{
    espi_typemap_release(&map);
    printf("  %" PRId64 " trees\n", done);
}

static void show(const struct espi_typemap *what)
{
    for (size_t i = 0; i < what->n; i++) {
        printf("%s%s@%" PRId64, i > 0 ? " " : "", espi_base_info(what->base[i])->name, what->disp[i]);
    }
    printf("\n");
}

/* The cost by one form; that its tree is one of the map. */
static int64_t cost_by(const struct espi_reconstruct_options *options, enum espi_dense_code code, int bits)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_reconstruction result;
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    ck_assert_int_eq(espi_reconstruct_dense_by(&arena, &map, options, code, bits, &result), ESPI_OK);
    ck_assert_int_eq(espi_flatten(result.tree, 0, map.n, &again), ESPI_OK);
    if (!espi_typemap_equal(&map, &again)) {
        show(&map);
        ck_abort_msg("another type map; set %d, code %d, %d bits", options->set, code, bits);
    }
    ck_assert_int_eq(espi_cost(result.tree, &options->costs), result.cost);
    espi_typemap_release(&again);
    espi_arena_release(&arena);
    done++;
    return result.cost;
}

/* Of all forms; where `least` is negative they have to agree. */
static void check_all(const struct espi_reconstruct_options *options, int64_t least)
{
    for (enum espi_dense_code code = ESPI_DENSE_PLAIN; code <= ESPI_DENSE_AVX512; code++) {
        for (int bits = 16; bits <= 64 && espi_dense_can(code); bits *= 2) {
            int64_t cost = cost_by(options, code, bits);
            least = least < 0 ? cost : least;
            if (cost != least) {
                show(&map);
                ck_abort_msg("n = %zu, set %d, code %d, %d bits: cost %" PRId64 ", not %" PRId64, map.n, options->set,
                             code, bits, cost, least);
            }
        }
    }
}

static void make_map(int round, int64_t n)
{
    map.n = 0;
    if (round % 2) {
        random_map(&map, n);
    } else {
        repetitive_map(&map, n);
    }
}

static struct espi_reconstruct_options some_options(int round)
{
    struct espi_reconstruct_options options;
    espi_reconstruct_defaults(&options);
    options.set = (enum espi_set)(round % 3);
    if (round % 5 > 0) {
        options.costs = random_costs();
    }
    return options;
}

START_TEST(codes_of_this_machine)
{
    static const char *const names[] = {"best", "plain", "avx2", "avx512"};
    struct espi_reconstruct_options options = some_options(0);
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_reconstruction result;
    make_map(0, 20);
    for (enum espi_dense_code code = ESPI_DENSE_BEST; code <= ESPI_DENSE_AVX512; code++) {
        bool can = espi_dense_can(code);
        printf("  %s: %s\n", names[code], can ? "yes" : "not on this machine");
        ck_assert_int_eq(espi_reconstruct_dense_by(&arena, &map, &options, code, 0, &result),
                         can ? ESPI_OK : ESPI_ERR_ARGUMENT);
    }
    ck_assert(espi_dense_can(ESPI_DENSE_BEST) && espi_dense_can(ESPI_DENSE_PLAIN));
    espi_arena_release(&arena);
}
END_TEST

START_TEST(short_maps_against_the_plain_procedure)
{
    for (int round = 0; round < 12000; round++) {
        struct espi_reconstruct_options options = some_options(round);
        make_map(round, round % 4 ? 24 : 50);
        check_all(&options, plain_cost(&map, options.set, &options.costs));
    }
}
END_TEST

/* Several tiles of rows for every width, and rows that are copied from others. */
START_TEST(longer_maps_against_the_sparse_method)
{
    for (int round = 0; round < 300; round++) {
        struct espi_reconstruct_options options = some_options(round);
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_reconstruction result;
        make_map(round, round % 10 ? 200 : 700);
        espi_status status = espi_reconstruct_sparse(&arena, &map, &options, 20000000, &result);
        ck_assert(status == ESPI_OK || status == ESPI_ERR_LIMIT);
        check_all(&options, status == ESPI_OK ? result.cost : -1);
        espi_arena_release(&arena);
    }
}
END_TEST

/* Words of few letters, periodic but for some places, of a length near a multiple of a tile's. */
START_TEST(nearly_periodic_maps)
{
    for (int round = 0; round < 1500; round++) {
        struct espi_reconstruct_options options = some_options(round);
        int64_t period = random_in(1, round % 3 ? 12 : 70), n = 32 * random_in(1, 5) + random_in(-2, 2), at = 0;
        int64_t step[72], spoilt = random_in(0, 3);
        espi_base base[2] = {espi_base_find("MPI_INT", 7), espi_base_find("MPI_DOUBLE", 10)};
        for (int64_t k = 0; k < period; k++) {
            step[k] = 8 * random_in(1, 3);
        }
        map.n = 0;
        for (int64_t i = 0; i < n; i++) {
            bool other = spoilt > 0 && random_in(0, n) < spoilt;
            ck_assert_int_eq(espi_typemap_append(&map, base[other && round % 7 == 0], at), ESPI_OK);
            at += other ? 8 * random_in(1, 4) : step[i % period];
        }
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_reconstruction result;
        espi_status status = espi_reconstruct_sparse(&arena, &map, &options, 5000000, &result);
        ck_assert(status == ESPI_OK || status == ESPI_ERR_LIMIT);
        check_all(&options, status == ESPI_OK ? result.cost : -1);
        espi_arena_release(&arena);
    }
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    return RUN_SUITE("test-dense", 600, setup, teardown, codes_of_this_machine,
                     short_maps_against_the_plain_procedure, longer_maps_against_the_sparse_method,
                     nearly_periodic_maps);
}
