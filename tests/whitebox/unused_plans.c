/* Plans that nobody uses any more: how many stay, and which. */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>

#include "mpi/datatype/decode.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

/* Plans of types that are no more go when they take much memory, the largest first, before there are too many. */
START_TEST(bytes_are_limited)
{
    enum { N = 20000, TYPES = 100 };
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded of[3]; /* a short one, a long one, the last of the others */

    start(ESPI_MODE_ALWAYS);
    for (int i = 0; i < TYPES; i++) {
        MPI_Datatype type = irregular(i == 0 ? N / 2 : i == 1 ? 2 * N : N, 5000 + i);
        espi_types_committed(espi_thread_state(&own_thread), type);
        espi_types_better(&own_thread, type, 1, false);
        ck_assert_int_eq(espi_decode(&arena, type, 0, &of[i < 2 ? i : 2]), ESPI_OK);
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
    }
    ck_assert(espi_plan_find(&of[0]) != NULL && espi_plan_find(&of[1]) == NULL && espi_plan_find(&of[2]) != NULL);
    espi_arena_release(&arena);
    espi_types_stop();
}
END_TEST

/* A plan of its own, with a reference; its layout is set. */
static struct espi_plan *plan_of(struct espi_arena *arena, struct espi_decoded *layout, int seed)
{
    MPI_Datatype type = irregular(5, seed);
    struct espi_plan_request request = {.type = type, .layout = layout, .mode = ESPI_MODE_AUTO,
                                        .packing = ESPI_MODE_AUTO, .one_node = true, .count = 1, .tier = 1};

    ck_assert_int_eq(espi_decode(arena, type, 0, layout), ESPI_OK);
    struct espi_plan *plan = espi_plan_make(&request);
    ck_assert_ptr_nonnull(plan);
    MPI_Type_free(&type);
    return plan;
}

/* Of many that go at once the latest stay, and all that are in use. They are not looked through with each that is
   made, so that some more may stay for a while: a part of those in use. */
START_TEST(latest_stay)
{
    enum { USED = 100, LIVE = 400, ALL = 440, STAY = 128, PART = 16 };
    struct espi_arena arena = ESPI_ARENA_INIT;
    static struct espi_decoded layouts[ALL];
    static struct espi_plan *plans[ALL];
    int stay = 0, first = ALL;

    start(ESPI_MODE_AUTO);
    for (int i = 0; i < LIVE; i++)
        plans[i] = plan_of(&arena, &layouts[i], 7000 + i);
    for (int i = USED; i < LIVE; i++)
        espi_plan_release(plans[i]);
    for (int i = LIVE; i < ALL; i++)
        espi_plan_release(plan_of(&arena, &layouts[i], 7000 + i));
    for (int i = 0; i < ALL; i++) {
        struct espi_plan *plan = espi_plan_find(&layouts[i]);
        if (i < USED) {
            ck_assert(plan == plans[i]);
            espi_plan_release(plans[i]);
        } else if (plan != NULL) {
            stay++;
            first = first < ALL ? first : i;
        }
        if (plan != NULL)
            espi_plan_release(plan);
    }
    ck_assert_msg(stay >= STAY && stay <= STAY + USED / PART, "%d", stay);
    ck_assert_int_eq(ALL - first, stay); /* the latest */
    espi_arena_release(&arena);
    espi_types_stop();
    espi_plans_stop();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "unused_plans", bytes_are_limited, latest_stay);
}
