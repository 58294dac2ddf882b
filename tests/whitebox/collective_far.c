/*
 * The short way of collective calls (src/mpi/calls/collective.h) where ranks are on several nodes, and where types
 * that are better go in the place of the program's; as what a root's blocks count, and when its own is looked for.
 */
#include "collective_setup.h"

/* Between nodes the way of long blocks is asked for, and is the library's at first. Which ranks are near is said of
   the communicator, whatever others there are. */
START_TEST(far_blocks)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];
    struct call call;

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    espi_word alltoall[] = {(espi_word)wide[0], LONG, type, (espi_word)wide[1], LONG, type, MPI_COMM_SELF};
    plan->count = LONG;
    plan->open[0] = ESPI_WAYS_EVEN;
    espi_type_service.one_node = false;
    thread_state->comm.near = ESPI_NEAR_NONE;
    espi_ways_start(true);
    for (int dense = 0; dense < 2; dense++) {
        const uint64_t calls = counted(ESPI_COUNT_calls_packed), bytes = counted(ESPI_COUNT_bytes_packed);
        goes_dense = dense;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
        ck_assert(!was.near && was.open == ESPI_WAYS_EVEN && was.bytes == LONG * (int)SIZE);
        ck_assert_int_eq(is_untouched(&call, ESPI_FN_Alltoall), !dense);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed) - calls, 2 * (uint64_t)dense);
        ck_assert_uint_eq(counted(ESPI_COUNT_bytes_packed) - bytes, (uint64_t)dense * 2 * PEERS * LONG * SIZE);
        ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
    }
    goes_dense = false;
    plan->open[0] = ESPI_WAYS_NONE;
    espi_type_service.packing = ESPI_MODE_AUTO;
    was.bytes = 0;
    ck_assert_int_ne(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
    ck_assert(was.bytes == 0 && is_untouched(&call, ESPI_FN_Alltoall));
    plan->open[0] = ESPI_WAYS_EVEN;
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    thread_state->comm.near = ESPI_NEAR_ALL;
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
    ck_assert(was.near && was.open == ESPI_WAYS_SURE && !is_untouched(&call, ESPI_FN_Alltoall));
    ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
    end();
}
END_TEST

static uint64_t all_saved(const struct espi_plan *plan)
{
    uint64_t sum = 0;

    for (int where = 0; where < ESPI_SAVED_KINDS; where++)
        sum += atomic_load(&plan->record->saved_ps[where]);
    return sum;
}

/* Short blocks are packed where that pays, whether they leave the node or not, by a class that is new, too; what is
   found of such calls on one communicator is not remembered for others. */
START_TEST(short_blocks)
{
    enum { EACH = 60 }; /* a sum of several parts */
    static int many[PEERS] = {EACH, EACH}, apart[PEERS] = {0, EACH};
    struct call call;

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    struct espi_type_class *class = espi_slot_class(espi_slot_of(type));
    const espi_word few[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF},
                    bcast[] = {(espi_word)from, COUNT, type, 0, MPI_COMM_SELF},
                    alltoallv[] = {(espi_word)from, (espi_word)many, (espi_word)apart, type, (espi_word)onto,
                                   (espi_word)many, (espi_word)apart, type, MPI_COMM_SELF};
    espi_type_service.one_node = false;
    thread_state->comm.near = ESPI_NEAR_NONE;
    check_packed(ESPI_FN_Alltoall, few, PEERS * COUNT, PEERS * COUNT); /* where all is packed */
    espi_type_service.packing = ESPI_MODE_AUTO;
    plan->count = 2 * EACH; /* made for such */
    for (int near = 0; near < 2; near++) {
        thread_state->comm.near = near ? ESPI_NEAR_ALL : ESPI_NEAR_NONE;
        plan->engine_ns[ESPI_WHOLE] = plan->engine_ns[ESPI_PARTS] = -1e9; /* never pays */
        plan->judged = 0;
        was.bytes = 0;
        class->packs = true;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, few), ESPI_COURSE_AS_IT_IS);
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoallv, alltoallv), ESPI_COURSE_AS_IT_IS);
        ck_assert(was.bytes == 0 && plan->left == 0);
        class->packs = false;
        class->passed = 0;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, few), ESPI_COURSE_GENERAL); /* the class is told */
        plan->engine_ns[ESPI_WHOLE] = plan->engine_ns[ESPI_PARTS] = 1e9;
        plan->judged = 0;
        check_packed(ESPI_FN_Bcast, bcast, COUNT, 0); /* the library would pack it, too */
        class->packs = false;
        const uint64_t before = all_saved(plan);
        check_packed(ESPI_FN_Alltoall, few, PEERS * COUNT, PEERS * COUNT);
        const uint64_t credited = all_saved(plan);
        ck_assert_uint_gt(credited, before);
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoallv, alltoallv), ESPI_COURSE_PACKED);
        ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
        ck_assert(was.bytes == 0 && class->packs);
        ck_assert_uint_gt(all_saved(plan), credited);
    }
    end();
}
END_TEST

/* Short blocks that leave the node beside long ones go with them; all are left beside such as have no program. */
START_TEST(mixed_blocks)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];
    static int some[PEERS] = {LONG, COUNT}, bytes_apart[PEERS];
    static MPI_Datatype mixed[PEERS];
    struct call call;

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    const espi_word args[] = {(espi_word)wide[0], (espi_word)some, (espi_word)bytes_apart, (espi_word)mixed,
                              (espi_word)wide[1], (espi_word)some, (espi_word)bytes_apart, (espi_word)mixed,
                              MPI_COMM_SELF};
    bytes_apart[1] = (int)(LONG * extent);
    plan->count = LONG;
    plan->open[0] = ESPI_WAYS_EVEN;
    espi_type_service.packing = ESPI_MODE_AUTO;
    espi_type_service.one_node = false;
    thread_state->comm.near = ESPI_NEAR_NONE;
    espi_ways_start(true);
    for (int kind = 0; kind < 3; kind++) { /* packed; the library's way; beside a type without a program */
        const uint64_t packed_before = counted(ESPI_COUNT_calls_packed),
                       left = counted(ESPI_COUNT_left_not_better),
                       uses = counted(ESPI_COUNT_calls_examined);
        mixed[0] = type;
        mixed[1] = kind < 2 ? type : MPI_INT;
        goes_dense = kind == 0;
        was.bytes = 0;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoallw, args),
                         kind < 2 ? ESPI_COURSE_PACKED : ESPI_COURSE_AS_IT_IS);
        ck_assert_int_eq(was.bytes, kind < 2 ? LONG * (int)SIZE : 0);
        ck_assert_int_eq(is_untouched(&call, ESPI_FN_Alltoallw), kind > 0);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed) - packed_before, kind == 0 ? 4 : 0);
        ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better) - left, kind == 0 ? 0 : kind == 1 ? 4 : 2);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_examined) - uses, kind < 2 ? 4 : 2);
        ck_assert_uint_eq(plan->left, 0);
        if (kind == 0)
            ck_assert(memcmp(((const MPI_Datatype *)call.changed[3]) + 1, &(MPI_Datatype){MPI_PACKED},
                             sizeof(MPI_Datatype)) == 0);
        if (kind < 2)
            ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
    }
    goes_dense = false;
    ck_assert(all_is_back());
    end();
}
END_TEST

/* But beside short ones alone they are not packed: the models know what that loses. */
START_TEST(short_beside_short)
{
    static int some[PEERS] = {COUNT, 2 * COUNT}, bytes_apart[PEERS];
    struct call call;

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    const espi_word args[] = {(espi_word)from, (espi_word)some, (espi_word)bytes_apart, (espi_word)types,
                              (espi_word)onto, (espi_word)some, (espi_word)bytes_apart, (espi_word)types,
                              MPI_COMM_SELF};
    bytes_apart[1] = (int)(COUNT * extent);
    espi_type_service.packing = ESPI_MODE_AUTO;
    espi_type_service.one_node = false;
    thread_state->comm.near = ESPI_NEAR_NONE;
    espi_slot_class(espi_slot_of(type))->packs = true;
    plan->count = 1;
    bool pays[PEERS] = {false, false}; /* for one of the two */
    for (double ns = -1000; pays[0] == pays[1]; ns += 0.25) { /* an item; less than nothing, as the rest saves some */
        ck_assert(ns < 1000);
        plan->engine_ns[ESPI_WHOLE] = plan->engine_ns[ESPI_PARTS] = ns;
        for (int i = 0; i < PEERS; i++) {
            plan->judged = 0;
            pays[i] = espi_plan_packs(plan, ESPI_PACK_EACH, some[i]);
        }
    }
    plan->judged = 0;
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoallw, args), ESPI_COURSE_AS_IT_IS);
    ck_assert(is_untouched(&call, ESPI_FN_Alltoallw) && all_is_back());
    end();
}
END_TEST

/* A side that no program is better for goes as the better type, and so do single blocks of it. */
START_TEST(better_types)
{
    struct call call;
    MPI_Datatype form; /* any other one */

    begin();
    MPI_Type_dup(type, &form);
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    int some[PEERS] = {0, COUNT};
    const espi_word alltoall[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    espi_word alltoallw[] = {(espi_word)from, (espi_word)some, (espi_word)bytes_to, (espi_word)types, (espi_word)onto,
                             (espi_word)counts, (espi_word)bytes_to, (espi_word)types, MPI_COMM_SELF,
                             (espi_word)&request};
    espi_type_service.packing = ESPI_MODE_OFF;
    for (int better = 0; better < 2; better++) {
        const uint64_t calls = counted(ESPI_COUNT_calls_substituted), bytes = counted(ESPI_COUNT_bytes_substituted),
                       left = counted(ESPI_COUNT_left_not_better);
        atomic_store(&plan->better[ESPI_WHOLE], better ? form : MPI_DATATYPE_NULL);
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall),
                         better ? ESPI_COURSE_PACKED : ESPI_COURSE_AS_IT_IS);
        ck_assert(call.changed[5] == (better ? (espi_word)form : (espi_word)type) &&
                  call.changed[3] == alltoall[3] && call.changed[4] == alltoall[4]);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_substituted) - calls, (uint64_t)better);
        ck_assert_uint_eq(counted(ESPI_COUNT_bytes_substituted) - bytes, (uint64_t)better * COUNT * SIZE);
        ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better) - left, (uint64_t)!better);
        if (better)
            ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
    ck_assert(espi_collective_end(&call.c, MPI_ERR_TYPE)); /* with the program's own */
    for (int fn = 0; fn < 2; fn++) {
        ck_assert_int_eq(course_of(&call, fn ? ESPI_FN_Ialltoallw : ESPI_FN_Alltoallw, alltoallw),
                         ESPI_COURSE_PACKED);
        const MPI_Datatype *sent = (const MPI_Datatype *)call.changed[3], /* one block of two has items */
            *received = (const MPI_Datatype *)call.changed[7];
        ck_assert(sent[0] == type && sent[1] == form && received[0] == form && received[1] == form);
        ck_assert(types[0] == type && types[1] == type && call.changed[1] == alltoallw[1]);
        /* In memory that is gone when the call returns; a nonblocking one may still read. */
        ck_assert((sent == call.c.better[0]) == (fn == 0) && (received == call.c.better[1]) == (fn == 0));
        ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    MPI_Type_free(&form);
    espi_array_pool_stop();
    ck_assert(all_is_back());
    end();
}
END_TEST

static enum espi_packable use_of(enum espi_fn fn, int side, const espi_word *args)
{
    struct espi_collective_side is;
    espi_collective_side(&is, &espi_api_rows[fn], side, args, &thread_state->comm, PEERS);
    return is.use;
}

/* A root with gaps on both sides packs, copies and unpacks what it has for itself: its blocks count as one. */
START_TEST(root_uses)
{
    begin();
    const espi_word f = (espi_word)from, o = (espi_word)onto, self = MPI_COMM_SELF,
                    both[] = {f, COUNT, type, o, COUNT, type, 0, self, (espi_word)&request},
                    received[] = {f, BLOCK, MPI_BYTE, o, COUNT, type, 0, self},
                    kept_block[] = {(espi_word)MPI_IN_PLACE, 0, MPI_BYTE, o, COUNT, type, 0, self},
                    sent[] = {f, COUNT, type, o, BLOCK, MPI_BYTE, 0, self},
                    all[] = {f, COUNT, type, o, COUNT, type, self};
    ck_assert_int_eq(use_of(ESPI_FN_Gather, 1, both), ESPI_PACK_BLOCK);
    ck_assert_int_eq(use_of(ESPI_FN_Igather, 1, both), ESPI_PACK_BLOCK);
    ck_assert_int_eq(use_of(ESPI_FN_Scatter, 0, both), ESPI_PACK_BLOCK);
    ck_assert_int_eq(use_of(ESPI_FN_Gather, 1, received), ESPI_PACK_HALF);
    ck_assert_int_eq(use_of(ESPI_FN_Gather, 1, kept_block), ESPI_PACK_HALF);
    ck_assert_int_eq(use_of(ESPI_FN_Scatter, 0, sent), ESPI_PACK_HALF);
    ck_assert_int_eq(use_of(ESPI_FN_Alltoall, 0, all), ESPI_PACK_EACH);
    end();
}
END_TEST

/* Where a rank has more neighbours on one side, MPICH mixes up the int counts. */
START_TEST(confused_counts)
{
    static int numbers[PEERS];
    static MPI_Aint at[PEERS];
    static MPI_Datatype each[PEERS];
    begin();
    for (int i = 0; i < PEERS; i++)
        each[i] = type;
    const espi_word n = (espi_word)numbers, a = (espi_word)at, t = (espi_word)each,
                    args[] = {(espi_word)from, n, a, t, (espi_word)onto, n, a, t, MPI_COMM_SELF};
    const int in = thread_state->comm.in, out = thread_state->comm.out;
    for (int side = 0; side < 2; side++)
        for (int more = -1; more <= 1; more++) {
            thread_state->comm.in = PEERS;
            thread_state->comm.out = PEERS + more;
            const bool packs = use_of(ESPI_FN_Neighbor_alltoallw, side, args) != ESPI_PACK_NOT;
            ck_assert_int_eq(packs, more == 0);
            ck_assert_int_eq(use_of(ESPI_FN_Ineighbor_alltoallw, side, args) != ESPI_PACK_NOT, more == 0);
            ck_assert_int_ne(use_of(ESPI_FN_Neighbor_alltoallw_c, side, args), ESPI_PACK_NOT);
            ck_assert_int_ne(use_of(ESPI_FN_Neighbor_alltoall, side, args), ESPI_PACK_NOT);
        }
    thread_state->comm.in = in;
    thread_state->comm.out = out;
    end();
}
END_TEST

/* Whether a call that is left to the library is let pass, where a pair of its type is so marked. */
static bool passes_marked(enum espi_fn fn, const espi_word *args, unsigned marks)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct asked asked = {row->large, row->treatment == ESPI_API_COUNT, row->kind, row->comm, row->root, fn};
    struct espi_type_slot *slot = espi_slot_of(type);

    ck_assert_ptr_nonnull(slot);
    thread_state->pairs.turn = 0; /* one that no lot falls on */
    espi_slot_pair(slot, type, marks);
    return espi_left_alone(thread_state, &asked, row->typed, ESPI_PAIRED_COPIED, args);
}

/* An own block is looked for where one of its kind was found to be better apart, and not where another kind was. */
START_TEST(own_marks)
{
    struct call call;
    begin();
    const espi_word scatter[] = {(espi_word)from, COUNT, type, (espi_word)onto, BLOCK, MPI_BYTE, 0, MPI_COMM_SELF},
                    gather[] = {(espi_word)from, COUNT, type, (espi_word)onto, BLOCK, MPI_BYTE, 0, MPI_COMM_SELF};
    espi_type_service.packing = ESPI_MODE_OFF;
    ck_assert_int_eq(course_of(&call, ESPI_FN_Scatter, scatter), ESPI_COURSE_AS_IT_IS);
    ck_assert(passes_marked(ESPI_FN_Scatter, scatter, ESPI_PAIRED_APART));
    ck_assert(!passes_marked(ESPI_FN_Scatter, scatter, ESPI_PAIRED_LATE));
    ck_assert_int_eq(course_of(&call, ESPI_FN_Gather, gather), ESPI_COURSE_AS_IT_IS);
    ck_assert(passes_marked(ESPI_FN_Gather, gather, ESPI_PAIRED_LATE));
    ck_assert(!passes_marked(ESPI_FN_Gather, gather, ESPI_PAIRED_APART));
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "collective_far", far_blocks, short_blocks, mixed_blocks, short_beside_short,
                     better_types, root_uses, confused_counts, own_marks);
}
