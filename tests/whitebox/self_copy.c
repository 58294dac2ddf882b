/* Pairs of types between which a rank copies to itself (selfcopy/self_copy.c): when those made anew are looked at. */
#include <check.h>
#include <mpi.h>

#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/type_cache.h"
#include "suite.h"
#include "type_service.h"

enum { ITEMS = 20000, LIVES = 4 };

/* 24 integers, seen from its making on. */
static MPI_Datatype strided(void)
{
    MPI_Datatype type;
    const espi_word args[5] = {24, 1, 9, MPI_INT, (espi_word)&type};

    MPI_Type_vector(24, 1, 9, MPI_INT, &type);
    note_made(ESPI_FN_Type_vector, args);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

/* Types of one class on both sides, used so often; which use was the first to be copied, 0: none. */
static int life(int uses)
{
    MPI_Datatype from = strided(), onto = strided();
    const struct espi_selfcopy_side a = {from, ITEMS}, b = {onto, ITEMS};
    int first = 0;

    for (int use = 1; use <= uses; use++)
        if (espi_selfcopy_plan(&own_thread, &a, &b) != NULL && first == 0)
            first = use;
    espi_types_ending(espi_thread_state(&own_thread), from);
    espi_types_ending(espi_thread_state(&own_thread), onto);
    MPI_Type_free(&from);
    MPI_Type_free(&onto);
    return first;
}

/* Planned under `always`, which measures nothing. Under `auto` the uses of such pairs earn it together; from then on
   each new pair is copied from its first use on. */
START_TEST(made_anew)
{
    espi_settings_defaults(&espi_settings);
    espi_settings.datatypes = ESPI_MODE_ALWAYS;
    start(ESPI_MODE_ALWAYS);
    ck_assert_int_eq(life(1), 1);
    ck_assert_int_eq(life(1), 1);
    espi_settings.datatypes = ESPI_MODE_AUTO;
    int first = life(64);
    ck_assert_msg(first > 1 && first < 64, "%d", first);
    for (int i = 0; i < LIVES; i++)
        ck_assert_int_eq(life(5), 1);
    espi_selfcopy_stop();
    espi_types_stop();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "self_copy", made_anew);
}
