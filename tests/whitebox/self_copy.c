/*
 * Pairs of types between which a rank copies to itself (src/mpi/selfcopy): when those made anew are looked at, and
 * how one way is chosen by the times of the program's own uses (trial.c). The times are the test's.
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/decode.h"
#include "mpi/selfcopy/pair_class.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "pack/program.h"
#include "suite.h"
#include "type_service.h"

enum { ITEMS = 20000, LIVES = 4, FEW = 50, PERIOD = 64 };

static bool in_bytes; /* the stride is given in bytes: another kind of the same layout */

/* 24 integers, seen from its making on. */
static MPI_Datatype strided(void)
{
    MPI_Datatype type;
    const espi_word stride = in_bytes ? 9 * sizeof(int) : 9, args[5] = {24, 1, stride, MPI_INT, (espi_word)&type};

    (in_bytes ? MPI_Type_create_hvector(24, 1, (MPI_Aint)stride, MPI_INT, &type)
              : MPI_Type_vector(24, 1, (int)stride, MPI_INT, &type));
    note_made(in_bytes ? ESPI_FN_Type_create_hvector : ESPI_FN_Type_vector, args);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

/* Types of one class on both sides, used so often; which use was the first to be copied, 0: none. */
static int life(int uses, int items)
{
    MPI_Datatype from = strided(), onto = strided();
    const struct espi_selfcopy_side a = {from, items}, b = {onto, items};
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
    ck_assert_int_eq(life(1, ITEMS), 1);
    ck_assert_int_eq(life(1, ITEMS), 1);
    espi_settings.datatypes = ESPI_MODE_AUTO;
    int first = life(64, ITEMS / 10);
    ck_assert_msg(first > 1 && first < 64, "%d", first);
    for (int i = 0; i < LIVES; i++)
        ck_assert_int_eq(life(5, ITEMS / 10), 1);
    espi_selfcopy_stop();
    espi_types_stop();
}
END_TEST

/* The first of so many pairs, each used once, that is copied; 0: none of them. */
static int first_of(int pairs, int items)
{
    int first = 0;

    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    for (int pair = 1; pair <= pairs; pair++)
        if (life(1, items) != 0 && first == 0)
            first = pair;
    espi_selfcopy_stop();
    espi_types_stop();
    return first;
}

/* Made anew for each use: what they have used together earns a plan, by the rule of a single pair; and the next one
   is copied, as the layout was seen before; or this one, where planning is nothing against the uses. */
START_TEST(used_once)
{
    static const int items[] = {10 * ITEMS, ITEMS, 500, 100};

    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const uint64_t bytes = 24 * sizeof(int) * (uint64_t)items[i];
        int earned = 1;
        while (!espi_admission_earned((uint64_t)earned, espi_admission_spent((uint64_t)earned, earned * bytes, false),
                                      espi_admission_estimate(2, bytes)))
            earned++;
        const bool little = espi_admission_is_little(espi_admission_spent(1, bytes, false),
                                                     espi_admission_estimate(2, bytes));
        const int first = first_of(earned + 50, items[i]);
        ck_assert_msg(first == earned + !little, "%d items: %d for %d", items[i], first, earned);
        ck_assert(i != 0 || first == 1);
    }
}
END_TEST

/* Where planning is nothing against its uses a pair is planned with the first one, else not before the eighth. */
START_TEST(soon)
{
    espi_settings_defaults(&espi_settings);
    for (int little = 0; little < 2; little++) {
        start(ESPI_MODE_AUTO);
        const int first = life(20, little ? 10 * ITEMS : 500);
        ck_assert_msg(little ? first == 1 : first == 0 || first >= 8, "%d", first);
        espi_selfcopy_stop();
        espi_types_stop();
    }
}
END_TEST

/* A pair that has earned a plan for which there is no budget asks again when its kind was used twice as often. */
START_TEST(no_budget)
{
    enum { PAIRS = 600 };
    const uint64_t before = counted(ESPI_COUNT_plan_budget);

    espi_settings_defaults(&espi_settings);
    espi_settings.budget_ms = 0;
    start(ESPI_MODE_AUTO);
    espi_admission_book(UINT64_C(1) << 62);
    for (int pair = 0; pair < PAIRS; pair++)
        ck_assert_int_eq(life(1, ITEMS), 0);
    const int asked = (int)(counted(ESPI_COUNT_plan_budget) - before);
    ck_assert_msg(asked >= 6 && asked <= 9, "%d", asked); /* 4, 8, ... 512 */
    espi_selfcopy_stop();
    espi_types_stop();
}
END_TEST

/* 100 integers in blocks of one, all but the first and the last of which lie elsewhere each time: so do their hints
   differ. But MPI says the same of all, and their pairs are of one kind. No two have one layout: none is planned. */
START_TEST(lists_that_differ)
{
    enum { LENGTH = 100, TIMES = 40, EACH = 300 };
    const uint64_t planned = counted(ESPI_COUNT_pairs_planned), read_back = counted(ESPI_COUNT_time_decode);
    int at[LENGTH];

    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    for (int time = 0; time < TIMES; time++) {
        MPI_Datatype type;
        const espi_word args[5] = {LENGTH, 1, (espi_word)at, MPI_INT, (espi_word)&type};
        for (int i = 0; i < LENGTH; i++)
            at[i] = 5 * i + (i > 0 && i < LENGTH - 1 ? time >> i % 6 & 1 : 0);
        MPI_Type_create_indexed_block(LENGTH, 1, at, MPI_INT, &type);
        note_made(ESPI_FN_Type_create_indexed_block, args);
        MPI_Type_commit(&type);
        espi_types_committed(espi_thread_state(&own_thread), type);
        const struct espi_selfcopy_side from = {type, EACH}, onto = {MPI_INT, LENGTH * EACH};
        ck_assert(espi_selfcopy_plan(&own_thread, &from, &onto) == NULL);
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
    }
    ck_assert_uint_gt(counted(ESPI_COUNT_time_decode), read_back); /* together they have earned it */
    ck_assert_uint_eq(counted(ESPI_COUNT_pairs_planned), planned);
    espi_selfcopy_stop();
    espi_types_stop();
}
END_TEST

/* Plans of long lists are few, as they stay: the memory of all is limited. */
START_TEST(bytes_are_limited)
{
    enum { LENGTH = 100000, TIMES = 100, MOST = 64 << 20, EACH_LEAST = 8 * LENGTH };
    const uint64_t planned = counted(ESPI_COUNT_pairs_planned), denied = counted(ESPI_COUNT_plan_budget);

    espi_settings_defaults(&espi_settings);
    espi_settings.datatypes = ESPI_MODE_ALWAYS;
    start(ESPI_MODE_ALWAYS);
    for (int time = 0; time < TIMES; time++) {
        MPI_Datatype type = irregular(LENGTH, 7000 + time);
        espi_types_committed(espi_thread_state(&own_thread), type);
        const struct espi_selfcopy_side from = {type, 1}, onto = {MPI_DOUBLE, 3 * LENGTH};
        espi_selfcopy_plan(&own_thread, &from, &onto);
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
    }
    ck_assert_uint_gt(counted(ESPI_COUNT_pairs_planned) - planned, 1);
    ck_assert_uint_lt(counted(ESPI_COUNT_pairs_planned) - planned, MOST / EACH_LEAST);
    ck_assert_uint_gt(counted(ESPI_COUNT_plan_budget), denied);
    espi_selfcopy_stop();
    espi_types_stop();
}
END_TEST

/* ---- uses ---- */

static char *from_memory, *onto_memory;

/* One use on a communicator of one rank, of which the call takes so long, and the copy program so long. Returns what
   was done: ESPI_SELFCOPY_WAYS where the call is left to MPI for good. */
static enum espi_selfcopy_way use(MPI_Datatype from, MPI_Datatype onto, uint64_t call_ns, uint64_t copy_ns)
{
    struct espi_selfcopy_block b = {.from = from_memory, .onto = onto_memory, .send = {from, FEW},
                                    .receive = {onto, FEW}, .place = ESPI_SELF_ALONE};

    if (!espi_selfcopy_look(&own_thread, &b))
        return ESPI_SELFCOPY_WAYS;
    test_clock.each = copy_ns; /* between the looks at the clock of espi_selfcopy_carry_out */
    if (b.turn.way == ESPI_BY_CALL)
        espi_selfcopy_called(&b, call_ns);
    else
        espi_selfcopy_carry_out(&own_thread, &b);
    test_clock.each = 0;
    return b.turn.way;
}

static bool same_data(void)
{
    for (int i = 0; i < FEW * 24; i++) {
        const size_t at = (size_t)(i / 24 * (23 * 9 + 1) + i % 24 * 9) * sizeof(int);
        if (memcmp(from_memory + at, onto_memory + at, sizeof(int)) != 0)
            return false;
    }
    return true;
}

/* Uses by the call and the program in turns, then the faster; and the other one when that has changed. */
START_TEST(in_turns)
{
    const size_t bytes = FEW * 24 * 9 * sizeof(int);
    MPI_Datatype from, onto;
    int n;

    from_memory = malloc(bytes);
    onto_memory = calloc(1, bytes);
    ck_assert(from_memory != NULL && onto_memory != NULL);
    memset(from_memory, 'x', bytes);
    test_clock_stands();
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    from = strided();
    onto = strided();
    for (n = 0; n < 4096 && use(from, onto, 5000, 1000) == ESPI_SELFCOPY_WAYS; n++)
        continue; /* until it has earned a plan; that use is the first turn */
    ck_assert_int_lt(n, 4096);
    ck_assert(!same_data());
    ck_assert_int_eq(use(from, onto, 5000, 1000), ESPI_BY_COPY);
    ck_assert(same_data());
    for (int i = 1; i < ESPI_TRIAL_TURNS; i++) {
        ck_assert_int_eq(use(from, onto, 5000, 1000), ESPI_BY_CALL);
        ck_assert_uint_eq(counted(ESPI_COUNT_pairs_kept), 0);
        ck_assert_int_eq(use(from, onto, 5000, 1000), ESPI_BY_COPY);
    }
    ck_assert_uint_eq(counted(ESPI_COUNT_pairs_kept), 1);
    ck_assert_uint_eq(counted(ESPI_COUNT_blocks_tried), 2 * ESPI_TRIAL_TURNS);
    const uint64_t before = counted(ESPI_COUNT_blocks_saved);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(use(from, onto, 5000, 1000), ESPI_BY_COPY);
    ck_assert_uint_eq(counted(ESPI_COUNT_blocks_saved) - before, 10 * (4000 - 60)); /* less its handling */

    /* The same layouts under other handles: nothing is tried again. */
    MPI_Datatype other = strided();
    ck_assert_int_eq(use(other, onto, 5000, 1000), ESPI_BY_COPY);
    ck_assert_uint_eq(counted(ESPI_COUNT_blocks_tried), 2 * ESPI_TRIAL_TURNS);

    /* The copy has become slow. */
    for (n = 0; n < 16 * PERIOD && use(from, onto, 5000, 6000) == ESPI_BY_COPY; n++)
        continue;
    ck_assert_int_gt(n, 6 * PERIOD);
    ck_assert_int_lt(n, 9 * PERIOD);
    for (int i = 1; i < 2 * ESPI_TRIAL_TURNS; i++)
        ck_assert_int_eq(use(from, onto, 5000, 6000), i % 2 != 0 ? ESPI_BY_COPY : ESPI_BY_CALL);
    ck_assert_int_eq(use(from, onto, 5000, 6000), ESPI_SELFCOPY_WAYS);
    ck_assert(!(atomic_load(&espi_slot_of(other)->paired) & ESPI_PAIRED_LEFT));
    ck_assert_int_eq(use(other, onto, 5000, 6000), ESPI_SELFCOPY_WAYS);
    ck_assert(atomic_load(&espi_slot_of(other)->paired) & ESPI_PAIRED_LEFT);
    ck_assert_uint_eq(counted(ESPI_COUNT_pairs_reversed), 1);
    ck_assert_uint_eq(counted(ESPI_COUNT_pairs_kept), 1);
    ck_assert_uint_eq(counted(ESPI_COUNT_pairs_no_faster), 0);
    ck_assert_uint_eq(counted(ESPI_COUNT_pairs_planned), 1);

    MPI_Datatype all[] = {from, onto, other};
    for (int i = 0; i < 3; i++) {
        espi_types_ending(espi_thread_state(&own_thread), all[i]);
        MPI_Type_free(&all[i]);
    }
    espi_selfcopy_stop();
    espi_types_stop();
    test_clock.set = false;
    free(from_memory);
    free(onto_memory);
}
END_TEST

/* The same, used until its class is known. */
static MPI_Datatype classed(void)
{
    MPI_Datatype type = strided();

    for (int i = 0; i < 8 && espi_slot_class(espi_slot_of(type)) == NULL; i++)
        espi_types_better(&own_thread, type, FEW, false);
    ck_assert_ptr_nonnull(espi_slot_class(espi_slot_of(type)));
    return type;
}

/* How many of so many lives, each of so many uses that save 4,000 ns, are copied from the first use on, where reading
   a pair back takes some 3,000 ns; whether the last one is. */
static int copied_lives(int lives, int uses, bool *last)
{
    struct espi_selfcopy_block b = {.from = from_memory, .onto = onto_memory, .place = ESPI_SELF_ALONE};
    int copied = 0;

    for (int life = 0; life < lives; life++) {
        MPI_Datatype from = classed(), onto = classed();
        *last = true;
        for (int i = 0; i < uses; i++) {
            b.send = (struct espi_selfcopy_side){from, FEW};
            b.receive = (struct espi_selfcopy_side){onto, FEW};
            test_clock.each = 3000;
            const bool looked = espi_selfcopy_look(&own_thread, &b);
            test_clock.each = 1000;
            if (looked && b.turn.way == ESPI_BY_COPY)
                espi_selfcopy_carry_out(&own_thread, &b);
            else
                *last = false;
            test_clock.each = 0;
        }
        copied += *last;
        espi_types_ending(espi_thread_state(&own_thread), from);
        espi_types_ending(espi_thread_state(&own_thread), onto);
        MPI_Type_free(&from);
        MPI_Type_free(&onto);
    }
    return copied;
}

static MPI_Datatype pair[2]; /* of which it is decided that copies save 4,000 ns */

static void begin_pair(void)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    test_clock_stands();
    from_memory = calloc(FEW, (23 * 9 + 1) * sizeof(int));
    onto_memory = calloc(FEW, (23 * 9 + 1) * sizeof(int));
    pair[0] = classed();
    pair[1] = classed();
    for (int n = 0; n < 4096 && use(pair[0], pair[1], 5000, 1000) != ESPI_BY_COPY; n++)
        continue;
    for (int n = 0; n < 4 * ESPI_TRIAL_TURNS; n++)
        use(pair[0], pair[1], 5000, 1000);
}

static void end_pair(void)
{
    for (int i = 0; i < 2; i++) {
        espi_types_ending(espi_thread_state(&own_thread), pair[i]);
        MPI_Type_free(&pair[i]);
    }
    espi_selfcopy_stop();
    espi_types_stop();
    test_clock.set = false;
    free(from_memory);
    free(onto_memory);
}

/* Pairs made anew are read back as long as what their copies save is twice what that takes, but for some tries. */
START_TEST(reading_back_pays)
{
    static const struct {
        int uses, least, most;
    } lives[] = {{10, 400, 400}, {1, 10, 300}};
    bool last = false;

    for (size_t k = 0; k < sizeof lives / sizeof *lives; k++) {
        begin_pair();
        const struct espi_type_class *class = espi_slot_class(espi_slot_of(pair[0]));
        ck_assert_int_eq(class->own_way, ESPI_OWN_COPIED);
        const int copied = copied_lives(400, lives[k].uses, &last);
        ck_assert_msg(copied >= lives[k].least && copied <= lives[k].most, "%d of %d uses", copied, lives[k].uses);
        ck_assert_int_eq(last, lives[k].most == 400);
        ck_assert_int_eq(class->own_way, last ? ESPI_OWN_COPIED : ESPI_OWN_LEFT);
        end_pair();
    }
}
END_TEST

/* Two kinds of one layout, in turns, of which the one or the other (which is yet to earn its first copy) is used
   often: it alone has gained what it saved. */
START_TEST(kinds_of_one_layout)
{
    enum { ROUNDS = 400 };
    bool last;

    for (int which = 0; which < 2; which++) {
        int copied[2] = {0, 0};
        begin_pair();
        for (int round = 0; round < 2 * ROUNDS; round++) {
            in_bytes = round % 2;
            copied[in_bytes] += copied_lives(1, in_bytes == which ? 7 : 1, &last);
        }
        ck_assert_int_ge(copied[which], which == 0 ? ROUNDS : ROUNDS - 80);
        ck_assert_int_lt(copied[1 - which], ROUNDS / 2);
        in_bytes = false;
        end_pair();
    }
}
END_TEST

/* Types that are made anew are read back as long as that takes an eighth of what seems to be gained. */
START_TEST(what_is_spent)
{
    for (int part = 4; part <= 16; part *= 4) {
        const uint64_t key = (uint64_t)part << 20;
        espi_pair_classes_reset();
        ck_assert(espi_pair_class_use(key, 1, 100).hopeful);
        for (int i = 0; i < 1000; i++)
            espi_pair_class_tried(key, 1000, (uint64_t)part * 1000);
        ck_assert_int_eq(espi_pair_class_use(key, 1, 100).hopeful, part > ESPI_KIND_PART);
    }
    espi_pair_classes_reset();
}
END_TEST

/* `n` of `child` with these steps, in units of its size. */
static const struct espi_node *list_of(struct espi_arena *arena, const struct espi_node *child, int n,
                                       const int *steps, int period)
{
    int64_t *disp = espi_arena_calloc(arena, (size_t)n, sizeof *disp);
    const struct espi_node *node;

    for (int j = 1; j < n; j++)
        disp[j] = disp[j - 1] + child->size * steps[j % period];
    ck_assert_int_eq(espi_node_idx(arena, n, disp, child, &node), ESPI_OK);
    return node;
}

/* The copy from one to the other: one list of `n`, if `listed`; and it has so many pieces, or fewer. */
static void copies(const struct espi_node *from, const struct espi_node *onto, bool listed, int n, int64_t most)
{
    struct espi_selfcopy_request r = {.from = {MPI_DOUBLE, 1}, .onto = {MPI_DOUBLE, 1}, .mode = ESPI_MODE_AUTO,
                                      .from_tree = from, .onto_tree = onto};
    struct espi_selfcopy_plan *plan = espi_selfcopy_plan_make(&r);

    ck_assert_int_eq(plan->copy->kind == ESPI_COPY_LIST && plan->copy->count == n, listed);
    ck_assert_int_le(plan->copy->pieces, most);
    ck_assert(!listed || (plan->copy->near == plan->copy->near_onto) == (from == onto));
    espi_selfcopy_plan_free(plan);
}

/* Lists whose steps do not come again within 32 places, on both sides, are copied as they are: of a longer period the
   least-cost tree would be loops. Not where a step comes again, also of long ones of which not all is looked at,
   wherever the period begins; nor where what is listed is more than a block. */
START_TEST(irregular_lists)
{
    enum { N = 200, LONG = 40, MANY = 7169 };
    static const int even[1] = {3}, two[2] = {2, 5}, eight[8] = {2, 9, 4, 7, 3, 8, 5, 6}, inner[4] = {1, 1, 1, 1};
    struct espi_arena arena = ESPI_ARENA_INIT;
    static int random[N], blocks[MANY];
    const struct espi_node *leaf, *record;

    srand(7);
    for (int j = 0; j < N; j++)
        random[j] = 2 + rand() % 4;
    for (int j = 0; j < MANY; j++)
        blocks[j] = (j + 7) % 8 == 0 ? 2 + rand() % 50 : 1;
    ck_assert_int_eq(espi_node_leaf(&arena, espi_base_of_handle(MPI_DOUBLE), &leaf), ESPI_OK);
    record = list_of(&arena, leaf, 4, inner, 4); /* dense, as the decoder has it of a struct of four */
    const struct espi_node *irregular = list_of(&arena, leaf, N, random, N),
                           *regular[3] = {list_of(&arena, leaf, N, even, 1), list_of(&arena, leaf, N, two, 2),
                                          list_of(&arena, leaf, N, eight, 8)},
                           *period = list_of(&arena, leaf, N, random, LONG),
                           *records = list_of(&arena, record, N, random, N),
                           *many = list_of(&arena, leaf, MANY, blocks, MANY);
    copies(irregular, irregular, true, N, N);
    copies(period, period, true, N, N);
    for (int i = 0; i < 3; i++) {
        copies(regular[i], regular[i], false, N, N);
        copies(regular[i], irregular, true, N, N);
    }
    copies(records, records, true, N, N);
    copies(many, many, false, MANY, MANY / 8 + 1);
    espi_arena_release(&arena);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "self_copy", in_turns, made_anew, used_once, soon, what_is_spent,
                     no_budget, lists_that_differ, bytes_are_limited, reading_back_pays,
                     kinds_of_one_layout, irregular_lists);
}
