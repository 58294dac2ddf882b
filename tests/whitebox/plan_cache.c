/*
 * Variants pack the same bytes; the life of a handle: used, planned, duplicated, freed, made again, freed with a
 * request pending; attributes and names of the program's types stay. One process, calling what the core's handlers
 * call.
 */
#include <check.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "mpi/datatype/decode.h"
#include "mpi/datatype/emit.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/core/pmpi.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/variants.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

/* Uses the type until another stands in its place; gives that, or the type itself after `most` uses. */
static MPI_Datatype use(MPI_Datatype type, int most, bool whole)
{
    MPI_Datatype better = type;
    int i;

    for (i = 0; i < most && better == type; i++)
        better = espi_types_better(&own_thread, type, 1, whole);
    return better;
}

START_TEST(variants)
{
    static const int64_t chunks[] = {1, 2, 3, 8, 16};
    enum { CHUNKS = sizeof chunks / sizeof chunks[0], COPIES = ESPI_COPIES_ALL + 1, ALL = CHUNKS + COPIES + 1 };
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *tree;
    struct espi_typemap a = ESPI_TYPEMAP_INIT, b = ESPI_TYPEMAP_INIT;
    struct espi_decoded d;
    struct espi_emitted e;
    int i, k, cut[ALL] = {0}, all = 0;

    for (i = 0; i < 600; i++) {
        struct made m = i % 3 == 0 ? (struct made){irregular(40 + i, i), NULL, 1, 0} : made_random(-1, 2);

        MPI_Type_commit(&m.type);
        if (!m.hollow && m.n > 0 && espi_decode(&arena, m.type, 0, &d) == ESPI_OK) {
            for (k = 0; k < ALL; k++) {
                if (k < CHUNKS)
                    ck_assert_int_eq(espi_variant_chunked(&arena, d.tree, chunks[k], &tree), ESPI_OK);
                else if (k < CHUNKS + COPIES)
                    ck_assert_int_eq(espi_variant_copies(&arena, d.tree, k - CHUNKS, &tree), ESPI_OK);
                else
                    ck_assert_int_eq(espi_variant_runs(&arena, d.tree, &tree), ESPI_OK);
                if (tree == d.tree)
                    continue;
                cut[k]++;
                all++;
                ck_assert_int_eq(espi_flatten(d.tree, 0, 1 << 20, &a), ESPI_OK);
                ck_assert_int_eq(espi_flatten(tree, 0, 1 << 20, &b), ESPI_OK);
                ck_assert(espi_typemap_equal(&a, &b));
                espi_typemap_release(&a);
                espi_typemap_release(&b);
                ck_assert_int_eq(espi_emit(tree, d.lb, d.extent, 100000, &e), ESPI_OK);
                same_places(m.type, e.type);
                MPI_Type_free(&e.type);
            }
        }
        made_free(&m);
        espi_arena_release(&arena);
    }
    for (k = 0; k < ALL; k++)
        printf("types_plan: variant %d compared %d times\n", k, cut[k]);
    ck_assert_int_gt(all, 1000);
}
END_TEST

START_TEST(always)
{
    MPI_Datatype type, better, other;
    int i, disp[100];

    start(ESPI_MODE_ALWAYS);
    for (i = 0; i < 100; i++)
        disp[i] = 3 * i;
    MPI_Type_create_indexed_block(100, 1, disp, MPI_INT, &type);
    MPI_Type_commit(&type);
    ck_assert_int_eq(espi_types_better(&own_thread, type, 1, false), type); /* never seen committed */
    espi_types_committed(espi_thread_state(&own_thread), type);
    better = espi_types_better(&own_thread, type, 1, false);
    ck_assert_int_ne(better, type);
    same_places(type, better);
    MPI_Type_dup(type, &other);
    espi_types_duped(espi_thread_state(&own_thread), type, other);
    ck_assert_int_eq(espi_types_better(&own_thread, other, 1, false), better); /* one plan for both */
    MPI_Type_free(&other);
    MPI_Type_free(&type);
    ck_assert_int_eq(espi_types_better(&own_thread, type, 1, false), type); /* the handle's life is over */
    espi_types_stop();
}
END_TEST

/* A recycled handle never meets the plan of the type that had it before. */
START_TEST(recycled)
{
    int i, again = 0;
    MPI_Datatype last = MPI_DATATYPE_NULL;

    start(ESPI_MODE_ALWAYS);
    for (i = 0; i < 200; i++) {
        MPI_Datatype type, better;
        int disp[24], k;

        for (k = 0; k < 24; k++)
            disp[k] = (2 + i % 5) * k + i % 3;
        MPI_Type_create_indexed_block(24, 1, disp, MPI_INT, &type);
        MPI_Type_commit(&type);
        espi_types_committed(espi_thread_state(&own_thread), type);
        again += type == last;
        last = type;
        better = espi_types_better(&own_thread, type, 1, false);
        ck_assert_int_ne(better, type);
        same_places(type, better);
        MPI_Type_free(&type);
    }
    ck_assert_int_gt(again, 50);
    espi_types_stop();
}
END_TEST

/* Not known: what was duplicated from a type that is not, and after a stop whatever was. Without a cheaper tree the
   program's own type stays. */
START_TEST(left_alone)
{
    MPI_Datatype type, other;

    start(ESPI_MODE_ALWAYS);
    MPI_Type_vector(10, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_dup(type, &other);
    espi_types_duped(espi_thread_state(&own_thread), type, other);
    ck_assert(!espi_types_known(&own_thread, other));
    espi_types_committed(espi_thread_state(&own_thread), type);
    ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
    ck_assert(espi_types_known(&own_thread, type));
    espi_types_stop();
    ck_assert(!espi_types_known(&own_thread, type));
    MPI_Type_free(&other);
    MPI_Type_free(&type);
}
END_TEST

START_TEST(pending)
{
    MPI_Datatype type, better;
    MPI_Request request;
    int disp[64], from[256], to[64], i;

    start(ESPI_MODE_ALWAYS);
    for (i = 0; i < 64; i++)
        disp[i] = 4 * i;
    for (i = 0; i < 256; i++)
        from[i] = i;
    MPI_Type_create_indexed_block(64, 1, disp, MPI_INT, &type);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    better = espi_types_better(&own_thread, type, 1, false);
    ck_assert_int_ne(better, type);
    MPI_Isend(from, 1, better, 0, 5, MPI_COMM_SELF, &request);
    MPI_Type_free(&type);
    espi_types_stop(); /* frees the substitute, which MPI still uses */
    MPI_Recv(to, 64, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < 64; i++)
        ck_assert_int_eq(to[i], 4 * i);
}
END_TEST

START_TEST(automatic)
{
    MPI_Datatype type, once, better;
    char name[MPI_MAX_OBJECT_NAME];
    int i, len, key, flag, *value, mark = 7;

    start(ESPI_MODE_AUTO);
    for (i = 0; i < 500; i++) { /* committed, used once and freed: left alone */
        once = irregular(50, i);
        espi_types_committed(espi_thread_state(&own_thread), once);
        ck_assert_int_eq(espi_types_better(&own_thread, once, 1, false), once);
        espi_types_ending(espi_thread_state(&own_thread), once);
        MPI_Type_free(&once);
    }
    atomic_store(&espi_hot->unseen, 0); /* nor do those that follow pass unseen */
    type = irregular(2000, 1);
    MPI_Type_set_name(type, "mine");
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Type_set_attr(type, key, &mark);
    espi_types_committed(espi_thread_state(&own_thread), type);
    ck_assert_int_eq(use(type, 2, false), type); /* not earned yet */
    better = use(type, 5, false);
    ck_assert_int_ne(better, type); /* chunks win in messages by a factor */
    same_places(type, better);
    ck_assert_int_eq(use(type, 10, true), type); /* and not as a whole */
    MPI_Type_get_name(type, name, &len);
    ck_assert_str_eq(name, "mine");
    MPI_Type_get_attr(type, key, &value, &flag);
    ck_assert(flag && value == &mark);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&key);
    type = irregular(2000, 1); /* the same layout again: known by what MPI says, at its second use */
    espi_types_committed(espi_thread_state(&own_thread), type);
    ck_assert_int_eq(use(type, 1, false), type);
    ck_assert_int_eq(use(type, 1, false), better);
    espi_types_stop();
    ck_assert_int_eq(use(type, 10, false), type);
    MPI_Type_free(&type);
}
END_TEST

/* A list that was seen made: blocks of three doubles, as irregular() has them, but for one of them. */
static MPI_Datatype seen_made(int n, int odd)
{
    int *at = malloc((size_t)n * sizeof *at);
    MPI_Datatype type;
    const espi_word args[5] = {n, 3, (espi_word)at, MPI_DOUBLE, (espi_word)&type};

    for (int i = 0; i < n; i++)
        at[i] = 5 * i + i * i % 3 + (i == odd);
    MPI_Type_create_indexed_block(n, 3, at, MPI_DOUBLE, &type);
    note_made(ESPI_FN_Type_create_indexed_block, args);
    free(at);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

/* Made anew each few uses, a type has its plan from the first use on; one that only looks the same gets its own. */
START_TEST(made_anew)
{
    enum { N = 2000, USES = 5 };
    MPI_Datatype type, better = MPI_DATATYPE_NULL, now;
    uint64_t decoded, recognized;

    start(ESPI_MODE_AUTO);
    decoded = counted(ESPI_COUNT_types_decoded);
    recognized = counted(ESPI_COUNT_types_recognized);
    for (int life = 0; life < 20; life++) {
        int odd = life % 4 == 3 ? N / 2 + 2 : -1; /* an element that hints do not look at */
        type = seen_made(N, odd);
        for (int i = 0; i < USES; i++) {
            now = espi_types_better(&own_thread, type, 1, false);
            if (life > 0)
                ck_assert_int_ne(now, type);
            if (now == type)
                continue;
            same_places(type, now);
            better = better == MPI_DATATYPE_NULL ? now : better;
            ck_assert_int_eq(now == better, odd < 0);
        }
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
    }
    /* Read back are the first, the odd ones, and those that follow them. */
    ck_assert_uint_eq(counted(ESPI_COUNT_types_decoded) - decoded, 10);
    ck_assert_uint_eq(counted(ESPI_COUNT_types_recognized) - recognized, 10);
    espi_types_stop();
}
END_TEST

/* What is remembered of how types were made goes with the plan: the least recently found ones, and all at the end. */
START_TEST(remembered)
{
    enum { MORE = 140 };
    MPI_Datatype type = irregular(50, 3), other, kept = irregular(50, 4);
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded layout, other_layout;
    struct espi_plan *plan;

    start(ESPI_MODE_ALWAYS);
    espi_types_committed(espi_thread_state(&own_thread), type);
    espi_types_better(&own_thread, type, 1, false);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
    plan = espi_plan_find(&layout);
    ck_assert(plan != NULL && espi_plan_layout(plan)->tree->hash == layout.tree->hash);
    ck_assert(espi_plan_recognize(1001, type) == NULL);
    ck_assert(espi_plan_remember(plan, 1001, type) && espi_plan_remember(plan, 1003, type));
    ck_assert(espi_plan_recognize(1001, type) == plan && espi_plan_recognize(1003, type) == plan);
    ck_assert(espi_plan_recognize(1001, kept) == NULL);
    for (int i = 0; i < 3; i++)
        espi_plan_release(plan);
    espi_types_committed(espi_thread_state(&own_thread), kept);
    espi_types_better(&own_thread, kept, 1, false);
    ck_assert_int_eq(espi_decode(&arena, kept, 0, &other_layout), ESPI_OK);
    plan = espi_plan_find(&other_layout);
    ck_assert(plan != NULL && espi_plan_remember(plan, 1003, kept)); /* in the place of the other one */
    ck_assert(espi_plan_recognize(1003, type) == NULL);
    espi_types_ending(espi_thread_state(&own_thread), type);
    for (int i = 0; i < MORE; i++) {
        other = irregular(5, 2000 + i);
        espi_types_committed(espi_thread_state(&own_thread), other);
        espi_types_better(&own_thread, other, 1, false);
        espi_types_ending(espi_thread_state(&own_thread), other);
        MPI_Type_free(&other);
    }
    ck_assert(espi_plan_find(&layout) == NULL && espi_plan_recognize(1001, type) == NULL);
    ck_assert(espi_plan_recognize(1003, kept) == plan);
    espi_plan_release(plan);
    for (int i = 0; i < 50; i++) /* of one layout the latest ones alone */
        ck_assert(espi_plan_remember(plan, 2001 + 2 * (uint64_t)i, kept));
    ck_assert(espi_plan_recognize(2001, kept) == NULL && espi_plan_recognize(2099, kept) == plan);
    espi_plan_release(plan);
    espi_types_stop(); /* with a reference that is left */
    ck_assert(espi_plan_recognize(2099, kept) == NULL);
    espi_plan_release(plan);
    espi_arena_release(&arena);
    MPI_Type_free(&type);
    MPI_Type_free(&kept);
}
END_TEST

static int tries;

static int no_attribute(MPI_Datatype type, int key, void *value)
{
    (void)type, (void)key, (void)value;
    tries++;
    return MPI_ERR_NO_MEM;
}

/* A type that takes no attribute keeps its own form; it is read back once, and not at each use. */
START_TEST(not_tied)
{
    enum { N = 20000 };
    static int at[N];
    struct espi_pmpi real = espi_pmpi;

    for (int i = 0; i < N; i++)
        at[i] = 3 * i;
    for (int mode = ESPI_MODE_AUTO; mode <= ESPI_MODE_ALWAYS; mode++) {
        MPI_Datatype type;
        MPI_Type_create_indexed_block(N, 1, at, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        start((enum espi_mode)mode);
        tries = 0;
        espi_pmpi.Type_set_attr = no_attribute;
        espi_types_committed(espi_thread_state(&own_thread), type);
        ck_assert_int_eq(use(type, 1000, false), type);
        ck_assert_int_eq(tries, 1);
        espi_pmpi = real;
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
        espi_types_stop();
    }
}
END_TEST

/* ---- a plan that another thread drops ---- */

bool __real_espi_plan_is_to_pack(struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                                 enum espi_packable use, int64_t each, int together);
bool __wrap_espi_plan_is_to_pack(struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                                 enum espi_packable use, int64_t each, int together);

static struct espi_type_slot *to_drop; /* the slot whose plan is dropped when it is next asked what it is good for */

/* As in another thread: a look drops the plan of a type that is in use here, and plans of so many layouts are made
   that one without references does not stay. */
static void drop_plan(struct espi_type_slot *slot)
{
    enum { MORE = 140 };
    struct espi_plan *plan = atomic_exchange(&slot->plan, NULL);

    espi_plan_release(plan);
    for (int i = 0; i < MORE; i++) {
        MPI_Datatype type = irregular(5, 1000 + i);
        espi_types_committed(espi_thread_state(&own_thread), type);
        espi_types_better(&own_thread, type, 1, false);
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
    }
}

bool __wrap_espi_plan_is_to_pack(struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                                 enum espi_packable use, int64_t each, int together)
{
    struct espi_type_slot *slot = to_drop;

    to_drop = NULL;
    if (slot != NULL)
        drop_plan(slot);
    return __real_espi_plan_is_to_pack(plan, count, purpose, use, each, together);
}

START_TEST(dropped_elsewhere)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded layout;
    MPI_Datatype type = irregular(50, 7);
    struct espi_plan *still;
    struct espi_way way;

    start(ESPI_MODE_ALWAYS);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_types_committed(espi_thread_state(&own_thread), type);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
    way = espi_types_way(&own_thread, type, 1, false, ESPI_PACK_MESSAGE);
    ck_assert(way.packed != NULL);
    espi_plan_release(way.packed);
    espi_type_service.attributes = false; /* calls overlap */
    to_drop = espi_slot_of(type);
    way = espi_types_way(&own_thread, type, 1, false, ESPI_PACK_MESSAGE);
    ck_assert(to_drop == NULL && way.packed != NULL);
    still = espi_plan_find(&layout);
    ck_assert(still == way.packed);
    espi_plan_release(still);
    espi_plan_release(way.packed);
    espi_type_service.attributes = true;
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_types_stop();
    espi_arena_release(&arena);
}
END_TEST

START_TEST(off)
{
    MPI_Datatype type = irregular(100, 1);

    start(ESPI_MODE_OFF);
    espi_types_committed(espi_thread_state(&own_thread), type);
    ck_assert_int_eq(use(type, 100, false), type);
    espi_types_stop();
    MPI_Type_free(&type);
}
END_TEST

/* Programs that go through as many blocks alike are alike, wherever these lie; a list is not like a vector. */
START_TEST(alike)
{
    static const int vector[][3] = {{64, 3, 5}, {64, 3, 9}, {192, 1, 5}};
    uint32_t is[4];

    start(ESPI_MODE_AUTO);
    for (int i = 0; i < 4; i++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_decoded layout;
        MPI_Datatype type;
        if (i < 3)
            MPI_Type_vector(vector[i][0], vector[i][1], vector[i][2], MPI_DOUBLE, &type);
        else
            type = irregular(64, 1);
        MPI_Type_commit(&type);
        struct espi_plan_request request = {.type = type, .layout = &layout, .mode = ESPI_MODE_AUTO,
                                            .packing = ESPI_MODE_AUTO, .one_node = true, .count = 1, .tier = 1};
        ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
        struct espi_plan *plan = espi_plan_make(&request);
        is[i] = plan->alike;
        espi_plan_release(plan);
        espi_arena_release(&arena);
        MPI_Type_free(&type);
    }
    ck_assert(is[0] == is[1] && is[0] != is[2] && is[0] != is[3] && is[0] != 0);
    espi_types_stop();
    espi_plans_stop();
}
END_TEST

int main(int argc, char **argv)
{
    test_clock_stands(); /* so that the model has its usual constants */
    return TYPES_RUN(argc, argv, "types_plan", variants, always, recycled, left_alone,
                     pending, automatic, made_anew, remembered, not_tied, dropped_elsewhere, off, alike);
}
