/*
 * The short way of collective calls (src/mpi/calls/collective.h): what is packed and unpacked, what goes as it is
 * and is let pass the next time (src/mpi/calls/left_alone.h), what is left to the general way. One process, whose
 * communicator is told to have two ranks; nothing is communicated. Allocations fail when told to (--wrap).
 */
#include "collective_setup.h"

START_TEST(packed)
{
    begin();
    for (int n = 0; n < PACKED_ROWS; n++) {
        const struct packed_row row = packed_row(n);
        check_packed(row.fn, row.args, row.sent, row.received);
    }
    end();
}
END_TEST

/* What a root keeps is not packed: the blocks of others stand where they belong, behind it. */
START_TEST(kept)
{
    struct call call;
    char stream[BLOCK];
    int at = 0;
    begin();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)MPI_IN_PLACE, 0, 0, 0, MPI_COMM_SELF};
    ck_assert_int_eq(course_of(&call, ESPI_FN_Scatter, args), ESPI_COURSE_PACKED);
    char *const seen = (char *)call.changed[0];
    MPI_Pack(from + COUNT * extent, COUNT, type, stream, BLOCK, &at, MPI_COMM_SELF);
    ck_assert(memcmp(seen + BLOCK, stream, BLOCK) == 0);
    memset(seen, 1, BLOCK);
    ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    ck_assert_int_eq(course_of(&call, ESPI_FN_Scatter, args), ESPI_COURSE_PACKED);
    ck_assert((char *)call.changed[0] == seen && memcmp(seen + BLOCK, stream, BLOCK) == 0); /* the same buffer */
    ck_assert(seen[0] == 1 && memcmp(seen, seen + 1, BLOCK - 1) == 0);
    ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS) && all_is_back());
    end();
}
END_TEST

static bool passes(enum espi_fn fn, const espi_word *args)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct asked asked = {row->large, row->treatment == ESPI_API_COUNT, row->kind, row->comm, row->root, fn};
    return espi_left_alone(thread_state, &asked, row->typed, 0, args);
}

/* A call that goes as it is, is counted, and the next one of its kind is let pass; one of another kind is not. */
START_TEST(as_it_is)
{
    struct call call;
    begin();
    espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, BLOCK, MPI_BYTE, MPI_COMM_SELF};
    struct espi_type_slot *slot = espi_slot_of(type);
    espi_type_service.packing = ESPI_MODE_OFF;
    for (int i = 0; i < 2; i++) {
        const uint64_t uses = atomic_load(&slot->uses), items = atomic_load(&slot->items),
                       left = counted(ESPI_COUNT_left_not_better);
        ck_assert(i == 1 || !passes(ESPI_FN_Alltoall, args));
        if (i == 0)
            ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_AS_IT_IS);
        else
            ck_assert(passes(ESPI_FN_Alltoall, args));
        ck_assert_uint_eq(atomic_load(&slot->uses), uses + 1);
        ck_assert_uint_eq(atomic_load(&slot->items), items + COUNT);
        ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better), left + 1);
        ck_assert_int_eq(atomic_load(&slot->lent), 0); /* messages of the type are to be seen */
    }
    ck_assert(is_untouched(&call, ESPI_FN_Alltoall));
    args[1] = COUNT + 1;
    ck_assert(!passes(ESPI_FN_Alltoall, args));
    args[1] = COUNT;
    args[5] = (espi_word)type; /* both sides */
    args[4] = COUNT;
    ck_assert(!passes(ESPI_FN_Alltoall, args));
    args[4] = BLOCK;
    args[5] = MPI_BYTE;
    ck_assert(!passes(ESPI_FN_Allgather, args));
    const espi_word other_side[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    ck_assert(!passes(ESPI_FN_Alltoall, other_side));
    const espi_word message[] = {(espi_word)from, COUNT, type, 0, 1, MPI_COMM_SELF};
    espi_slot_class(slot)->packs = false; /* or it is the plan that leaves it */
    ck_assert(!passes(ESPI_FN_Send, message));
    espi_slot_class(slot)->packs = true;
    ck_assert(passes(ESPI_FN_Alltoall, args));
    atomic_store(&slot->look, atomic_load(&slot->uses) + 1);
    ck_assert(!passes(ESPI_FN_Alltoall, args));
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_GENERAL);
    atomic_store(&slot->look, 1000);
    atomic_store(&espi_type_service.mode, ESPI_MODE_OFF);
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_GENERAL);
    atomic_store(&espi_type_service.mode, ESPI_MODE_AUTO);
    /* On the root and elsewhere are different kinds. */
    espi_word gather[] = {(espi_word)from, COUNT, type, (espi_word)onto, BLOCK, MPI_BYTE, 0, MPI_COMM_SELF};
    ck_assert_int_eq(course_of(&call, ESPI_FN_Gather, gather), ESPI_COURSE_AS_IT_IS);
    ck_assert(passes(ESPI_FN_Gather, gather));
    gather[6] = 1;
    ck_assert(!passes(ESPI_FN_Gather, gather));
    end();
}
END_TEST

/* What is wrong, or may be, is the general way's; nothing was done. */
START_TEST(general)
{
    struct call call;
    begin();
    const espi_word good[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    const struct {
        int at;
        espi_word wrong;
    } wrongs[] = {{0, 0}, {1, (espi_word)-1}, {2, MPI_DATATYPE_NULL}, {2, (espi_word)0x8c00dead},
                  {3, (espi_word)from}, {3, 0}, {4, (espi_word)-1}, {4, 1 << 30},
                  {5, MPI_DATATYPE_NULL}, {6, MPI_COMM_NULL}};
    const espi_word allgather[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    espi_word gather[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, PEERS, MPI_COMM_SELF};
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, good), ESPI_COURSE_PACKED);
    ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        espi_word args[7];
        memcpy(args, good, sizeof args);
        args[wrongs[i].at] = wrongs[i].wrong;
        ck_assert_msg(course_of(&call, ESPI_FN_Alltoall, args) == ESPI_COURSE_GENERAL, "wrong argument %zu", i);
        ck_assert(is_untouched(&call, ESPI_FN_Alltoall) && all_is_back());
        thread_state->comm.peers = PEERS; /* a bad communicator was looked up */
        ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
        thread_state->comm.peers = PEERS;
    }
    /* One block, given twice? No such root. */
    ck_assert_int_eq(course_of(&call, ESPI_FN_Allgather, allgather), ESPI_COURSE_GENERAL);
    ck_assert_int_eq(course_of(&call, ESPI_FN_Gather, gather), ESPI_COURSE_GENERAL);
    espi_settings.check = true;
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, good), ESPI_COURSE_GENERAL);
    end();
}
END_TEST

/* Neither side is packed where there is memory for one of two. */
START_TEST(no_memory)
{
    struct call call;
    begin();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    for (int i = 0; i < 3; i++) {
        espi_pool_release();
        granted = i;
        const enum espi_course course = course_of(&call, ESPI_FN_Alltoall, args);
        granted = -1;
        ck_assert_msg(course == (i < 2 ? ESPI_COURSE_GENERAL : ESPI_COURSE_PACKED), "%d allocations", i);
        if (course == ESPI_COURSE_PACKED)
            espi_collective_end(&call.c, MPI_ERR_OTHER);
        ck_assert(all_is_back());
    }
    end();
}
END_TEST

/* An error that MPI has because of what we gave it is asked for again with the program's own arguments. */
START_TEST(error)
{
    struct call call;
    begin();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    const int codes[] = {MPI_ERR_TYPE, MPI_ERR_OTHER};
    for (int i = 0; i < 2; i++) {
        char before[sizeof onto];
        memcpy(before, onto, sizeof onto);
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_PACKED);
        ck_assert(espi_collective_end(&call.c, codes[i]) == (i == 0));
        ck_assert(memcmp(before, onto, sizeof onto) == 0);
        ck_assert(all_is_back());
    }
    end();
}
END_TEST

/* What a call with long blocks is measured to save is shared by its sides: neither one's types are taken for such as
   save nothing, unless the call does. */
START_TEST(shared_saving)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    plan->count = LONG; /* it was made for such */
    espi_word alltoall[] = {(espi_word)wide[0], LONG, type, (espi_word)wide[1], LONG, type, MPI_COMM_SELF};
    ck_assert_int_ge((int64_t)sizeof wide[0], (int64_t)PEERS * LONG * extent);
    for (int measured = -1; measured <= 1000; measured += 1 + 999 * (measured == 0)) {
        struct call call;
        const uint64_t before = plan->record->saved_ps[ESPI_SAVED_ALONE];
        saves = measured;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
        if (measured >= 0)
            ck_assert_uint_eq(plan->saved_ns, measured > 0 ? (uint64_t)measured / 2 + 1 : 0);
        if (measured >= 0)
            ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE] - before, 1000 * (uint64_t)measured);
        memset((void *)call.changed[3], 7, (size_t)(PEERS * LONG) * SIZE); /* what has arrived */
        ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    saves = -1;
    ck_assert(all_is_back());
    end();
}
END_TEST

/* That the room for what is received holds what is there, in the first calls, is not part of what they are said to
   take; that what is sent is packed is, also where it stands where it is received. */
START_TEST(extra_time)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];

    for (int in_place = 0; in_place < 2; in_place++) {
        struct call call;
        begin();
        atomic_load(&espi_slot_of(type)->plan)->count = LONG;
        const espi_word args[] = {in_place ? (espi_word)MPI_IN_PLACE : (espi_word)wide[0], LONG, type,
                                  (espi_word)wide[1], LONG, type, MPI_COMM_SELF};
        is_timed = true;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_PACKED);
        is_timed = false;
        ck_assert_int_eq(call.c.turn.begun > BEGUN, !in_place);
        ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER));
        ck_assert(all_is_back());
        end();
    }
}
END_TEST

/* Long blocks that go as the program's type are known to save nothing where that was found, and what packed ones save
   where they only take their turn; nothing is said to be saved by them. */
START_TEST(typed_blocks)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];
    static const struct {
        double measured;
        uint64_t known;
    } is[] = {{-1, 77}, {0, 1}, {1000, 501}};

    begin();
    goes_typed = true;
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    plan->count = LONG;
    espi_word alltoall[] = {(espi_word)wide[0], LONG, type, (espi_word)wide[1], LONG, type, MPI_COMM_SELF};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        struct call call;
        const uint64_t before = plan->record->saved_ps[ESPI_SAVED_ALONE];
        saves = is[i].measured;
        plan->saved_ns = 77;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
        ck_assert(call.changed[0] == alltoall[0] && call.changed[3] == alltoall[3]);
        ck_assert_uint_eq(plan->saved_ns, is[i].known);
        ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE], before);
        ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    saves = -1;
    goes_typed = false;
    ck_assert(all_is_back());
    end();
}
END_TEST

/* On one node blocks that no model would pack go with long ones that it would, where that is found out to be faster;
   short ones do not, and all are left beside such as have no program. */
START_TEST(joined_blocks)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];
    static const struct {
        int first, second;
        bool dense, predefined;
        enum espi_course course;
        int packed;
    } is[] = {{LONG, COUNT, true, false, ESPI_COURSE_PACKED, 4}, {LONG, COUNT, false, false, ESPI_COURSE_PACKED, 0},
              {COUNT, COUNT, true, false, ESPI_COURSE_AS_IT_IS, 0}, {LONG, COUNT, true, true, ESPI_COURSE_GENERAL, 0},
              {LONG, LONG + 2, true, false, ESPI_COURSE_PACKED, 4}};

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    MPI_Datatype other = used_once(regular_ints(5));
    espi_type_service.packing = ESPI_MODE_AUTO;
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        int some[PEERS] = {is[i].first, is[i].second}, apart[PEERS] = {0, (int)(is[i].first * extent)};
        MPI_Datatype mixed[PEERS] = {type, is[i].predefined ? MPI_INT : other};
        const espi_word args[] = {(espi_word)wide[0], (espi_word)some, (espi_word)apart, (espi_word)mixed,
                                  (espi_word)wide[1], (espi_word)some, (espi_word)apart, (espi_word)mixed,
                                  MPI_COMM_SELF};
        const uint64_t packed_before = counted(ESPI_COUNT_calls_packed);
        struct espi_plan *of_other = atomic_load(&espi_slot_of(other)->plan);
        struct call call;
        for (int k = 0; k < ESPI_PURPOSES; k++) {
            plan->engine_ns[k] = 1e9;
            of_other->engine_ns[k] = -1e9; /* never */
        }
        plan->count = of_other->count = LONG;
        plan->judged = of_other->judged = 0;
        espi_slot_class(espi_slot_of(other))->packs = true; /* not to be told anything more */
        goes_dense = is[i].dense;
        goes_typed = !is[i].dense;
        was = (struct espi_way_question){.bytes = 0};
        ck_assert_msg(course_of(&call, ESPI_FN_Alltoallw, args) == is[i].course, "case %zu", i);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed) - packed_before, (uint64_t)is[i].packed);
        ck_assert_int_eq(is_untouched(&call, ESPI_FN_Alltoallw), is[i].packed == 0);
        if (is[i].course == ESPI_COURSE_PACKED) {
            ck_assert(was.open == ESPI_WAYS_EVEN && !was.packs && was.near &&
                      was.bytes == (is[i].second > LONG ? is[i].second : LONG) * (int)SIZE);
            ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
        }
    }
    goes_dense = goes_typed = false;
    ck_assert(all_is_back());
    MPI_Type_free(&other);
    end();
}
END_TEST

/* Long blocks of which no model says that packing them pays, nor that it does not, are tried, too; others are let
   pass the next time. */
START_TEST(tried_blocks)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];
    static const struct {
        enum espi_ways_open open;
        enum espi_mode packing;
        int items;
        bool w, predefined;
        enum espi_course course;
    } is[] = {{ESPI_WAYS_EVEN, ESPI_MODE_AUTO, LONG, false, false, ESPI_COURSE_PACKED},
              {ESPI_WAYS_EVEN, ESPI_MODE_AUTO, LONG, true, false, ESPI_COURSE_PACKED},
              {ESPI_WAYS_EVEN, ESPI_MODE_AUTO, LONG, true, true, ESPI_COURSE_AS_IT_IS},
              {ESPI_WAYS_EVEN, ESPI_MODE_AUTO, COUNT, false, false, ESPI_COURSE_AS_IT_IS},
              {ESPI_WAYS_EVEN, ESPI_MODE_OFF, LONG, false, false, ESPI_COURSE_AS_IT_IS},
              {ESPI_WAYS_NONE, ESPI_MODE_AUTO, LONG, false, false, ESPI_COURSE_AS_IT_IS},
              {ESPI_WAYS_NONE, ESPI_MODE_AUTO, LONG, true, false, ESPI_COURSE_AS_IT_IS}};

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        for (int dense = 0; dense < 2; dense++) {
            const bool asked = is[i].course == ESPI_COURSE_PACKED;
            const int some[PEERS] = {is[i].items, is[i].items}, apart[PEERS] = {0, (int)(is[i].items * extent)};
            const MPI_Datatype two[PEERS] = {type, is[i].predefined ? MPI_INT : type};
            const espi_word alltoall[] = {(espi_word)wide[0], (espi_word)is[i].items, type, (espi_word)wide[1],
                                          (espi_word)is[i].items, type, MPI_COMM_SELF},
                            alltoallw[] = {(espi_word)wide[0], (espi_word)some, (espi_word)apart, (espi_word)two,
                                           (espi_word)wide[1], (espi_word)some, (espi_word)apart, (espi_word)two,
                                           MPI_COMM_SELF};
            const enum espi_fn fn = is[i].w ? ESPI_FN_Alltoallw : ESPI_FN_Alltoall;
            const uint64_t packed_before = counted(ESPI_COUNT_bytes_packed);
            struct call call;
            espi_type_service.packing = is[i].packing;
            plan->open[true] = is[i].open;
            plan->engine_ns[ESPI_WHOLE] = plan->engine_ns[ESPI_PARTS] = -1e9;
            plan->count = LONG;
            plan->judged = plan->left = 0;
            espi_slot_class(espi_slot_of(type))->packs = true;
            goes_dense = dense;
            goes_typed = !dense;
            was = (struct espi_way_question){.bytes = 0};
            ck_assert_msg(course_of(&call, fn, is[i].w ? alltoallw : alltoall) == is[i].course, "case %zu", i);
            ck_assert_int_eq(is_untouched(&call, fn), !asked || !dense);
            /* In another call it may be tried. */
            ck_assert_int_eq(plan->left != 0, !asked && !is[i].predefined);
            ck_assert_uint_eq(counted(ESPI_COUNT_bytes_packed) - packed_before,
                              asked && dense ? 2 * PEERS * (uint64_t)LONG * SIZE : 0);
            ck_assert_int_eq(was.bytes, asked ? LONG * (int)SIZE : 0);
            if (asked) {
                ck_assert(was.open == ESPI_WAYS_EVEN && !was.packs && was.near);
                ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
            }
        }
    /* Blocks that are no messages of their own are not asked about cells. */
    const int some[PEERS] = {LONG, LONG}, apart[PEERS] = {0, LONG};
    const espi_word v[] = {(espi_word)wide[0], (espi_word)some, (espi_word)apart, type, (espi_word)wide[1],
                           (espi_word)some, (espi_word)apart, type, MPI_COMM_SELF},
                    one[] = {(espi_word)wide[0], LONG, type, (espi_word)wide[1], LONG, type, MPI_COMM_SELF};
    espi_type_service.packing = ESPI_MODE_AUTO;
    plan->open[true] = ESPI_WAYS_EVEN;
    for (int is_v = 0; is_v < 2; is_v++) {
        struct call call;
        plan->judged = 0;
        ck_assert_int_eq(course_of(&call, is_v ? ESPI_FN_Alltoallv : ESPI_FN_Alltoall, is_v ? v : one),
                         ESPI_COURSE_PACKED);
        ck_assert(was.bytes > 0 && was.no_cells == is_v);
        ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER));
    }
    goes_dense = goes_typed = false;
    /* A call that is not timed leaves them to the library as long as nothing was found out. */
    const espi_word later[] = {(espi_word)wide[0], LONG, type, (espi_word)wide[1], LONG, type, MPI_COMM_SELF,
                               (espi_word)&request};
    struct call call;
    espi_type_service.packing = ESPI_MODE_AUTO;
    plan->open[true] = ESPI_WAYS_EVEN;
    plan->judged = plan->left = 0;
    espi_ways_start(false);
    ck_assert_int_eq(course_of(&call, ESPI_FN_Ialltoall, later), ESPI_COURSE_AS_IT_IS);
    ck_assert_uint_eq(plan->left, 0);
    plan->engine_ns[ESPI_WHOLE] = plan->engine_ns[ESPI_PARTS] = 1e9; /* a model speaks for it */
    plan->judged = 0;
    ck_assert_int_eq(course_of(&call, ESPI_FN_Ialltoall, later), ESPI_COURSE_PACKED);
    ck_assert(!is_untouched(&call, ESPI_FN_Ialltoall));
    ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER));
    ck_assert(all_is_back());
    end();
}
END_TEST

/* Runs of bytes with a longer extent are sent and received where they stand, if all blocks of a side are such; short
   other ones are packed with them; beside longer and predefined ones none of it. */
START_TEST(runs)
{
    enum { WIDE = 40, PLANE = 2 };
    enum { STAND, PACKED, LEFT };
    const int sizes[2] = {4, WIDE}, part[2] = {1, WIDE}, at[2] = {PLANE, 0},
              begins = PLANE * WIDE * (int)sizeof(int), bytes = WIDE * (int)sizeof(int);
    MPI_Datatype plane;

    begin();
    MPI_Type_create_subarray(2, sizes, part, at, MPI_ORDER_C, MPI_INT, &plane);
    MPI_Type_commit(&plane);
    espi_types_committed(thread_state, plane);
    used_once(plane);
    espi_type_service.packing = ESPI_MODE_AUTO;
    struct espi_plan *plans[] = {atomic_load(&espi_slot_of(plane)->plan), atomic_load(&espi_slot_of(type)->plan)};
    ck_assert(plans[0]->stands && plans[0]->begins == begins && !plans[1]->stands);
    plans[1]->engine_ns[ESPI_WHOLE] = plans[1]->engine_ns[ESPI_PARTS] = -1e9; /* not packed by itself */
    plans[1]->judged = 0;
    espi_slot_class(espi_slot_of(type))->packs = espi_slot_class(espi_slot_of(plane))->packs = true;
    const struct {
        MPI_Datatype second;
        int count, way;
    } is[] = {{plane, 1, STAND}, {plane, 0, STAND}, {type, 1, PACKED}, {type, 6, LEFT}, {plane, 2, PACKED},
              {MPI_INT, 1, LEFT}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        const int some[PEERS] = {1, is[i].count}, apart[PEERS] = {16, 8000};
        const MPI_Datatype two[PEERS] = {plane, is[i].second};
        const espi_word args[] = {(espi_word)from, (espi_word)some, (espi_word)apart, (espi_word)two,
                                  (espi_word)onto, (espi_word)some, (espi_word)apart, (espi_word)two,
                                  MPI_COMM_SELF};
        struct call call;
        const enum espi_course course = course_of(&call, ESPI_FN_Alltoallw, args);
        ck_assert_msg((course == ESPI_COURSE_PACKED) == (is[i].way != LEFT), "case %zu", i);
        for (int side = 0; side < 2 && is[i].way == STAND; side++) {
            const espi_word *seen = &call.changed[4 * side];
            const int *counts_seen = (const int *)seen[1], *places_seen = (const int *)seen[2];
            ck_assert(seen[0] == args[4 * side] && ((const MPI_Datatype *)seen[3])[0] == MPI_PACKED);
            ck_assert(counts_seen[0] == bytes && places_seen[0] == 16 + begins);
            ck_assert(counts_seen[1] == is[i].count * bytes &&
                      (is[i].count == 0 || places_seen[1] == 8000 + begins));
        }
        if (is[i].way == PACKED)
            ck_assert(call.changed[0] != args[0] && memcmp((char *)call.changed[0], from + 16 + begins,
                                                           (size_t)bytes) == 0);
        if (course == ESPI_COURSE_PACKED)
            ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER));
        ck_assert(all_is_back());
    }
    /* A place that an int can not name. */
    const int some[PEERS] = {1, 0}, apart[PEERS] = {INT32_MAX - begins + 1, 0};
    const MPI_Datatype two[PEERS] = {plane, plane};
    const espi_word args[] = {(espi_word)from, (espi_word)some, (espi_word)apart, (espi_word)two};
    const struct espi_buffer_args *typed = &espi_api_rows[ESPI_FN_Alltoallw].typed[0];
    ck_assert(!espi_collective_may_stand(&espi_api_rows[ESPI_FN_Alltoallw], typed, args, 0, plans[0]->pack, 1));
    ck_assert(espi_collective_may_stand(&espi_api_rows[ESPI_FN_Alltoallw], typed, args, 1, plans[0]->pack, 1));
    espi_types_ending(thread_state, plane);
    MPI_Type_free(&plane);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "collective", shared_saving, extra_time, typed_blocks, packed, kept, as_it_is,
                     general, no_memory, error, joined_blocks, tried_blocks, runs);
}
