/*
 * MPI_Pack and MPI_Unpack by the short way (src/mpi/calls/short_local.h): what goes this way, and what is counted;
 * what goes on as it is; and what goes the general way, as something is to be found out, or may be wrong.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/calls/left_alone.h"
#include "mpi/calls/short_local.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/entry/handlers.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

enum { COUNT = 3, GAIN_NS = 100, BEFORE = 5, ROOM = 1 << 14 };

static const enum espi_fn fns[] = {ESPI_FN_Pack, ESPI_FN_Pack_c, ESPI_FN_Unpack, ESPI_FN_Unpack_c};
static char data[ROOM], stream[ROOM];
static MPI_Datatype type;
static struct espi_thread_state *state;
static struct espi_plan *plan;
static int64_t bytes; /* of COUNT items */

/* The arguments of a call of COUNT items, BEFORE bytes behind the begin of the stream. */
static struct call {
    int at;
    MPI_Count far;
    espi_word args[7];
} call;

static const espi_word *args_of(enum espi_fn fn)
{
    const bool unpacks = fn == ESPI_FN_Unpack || fn == ESPI_FN_Unpack_c;
    const espi_word place = espi_api_rows[fn].large ? (espi_word)&call.far : (espi_word)&call.at;
    const espi_word packing[7] = {(espi_word)data, COUNT, (espi_word)type, (espi_word)stream, ROOM, place,
                                  MPI_COMM_SELF},
                    unpacking[7] = {(espi_word)stream, ROOM, place, (espi_word)data, COUNT, (espi_word)type,
                                    MPI_COMM_SELF};

    call.at = BEFORE;
    call.far = BEFORE;
    memcpy(call.args, unpacks ? unpacking : packing, sizeof call.args);
    return call.args;
}

/* A type whose plan packs such calls, as is known of its class; nothing is to be found out. */
static void begin(void)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    espi_calls_overlap = false;
    state = espi_thread_state(&own_thread);
    type = regular_ints(3);
    plan = plan_made(type, COUNT, true, ESPI_PACK_LOCAL);
    bytes = COUNT * plan->size;
    plan->forms_pending = false;
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL); /* which this machine's times decide */
    plan->gain_ns[ESPI_WHOLE] = 0;
    atomic_store(&plan->packed_ns[ESPI_PACK_LOCAL], GAIN_NS * (uint64_t)plan->count);
    plan->local[0].state = plan->local[1].state = ESPI_LOCAL_PACKS;
    struct espi_type_class *class = espi_slot_class(espi_slot_of(type));
    class->packs = class->packs_others = true;
}

static void end(void)
{
    atomic_store(&espi_running, false);
    espi_calls_overlap = true;
    state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
}

static int native; /* calls that MPI was given */

static espi_word pass(espi_word a)
{
    (void)a;
    native++;
    return MPI_SUCCESS;
}

static void fill(char *at, int seed)
{
    for (int i = 0; i < ROOM; i++)
        at[i] = (char)(i * 31 + seed);
}

/* The library is not asked, the data are what it would make of them, and all is counted. */
START_TEST(packed)
{
    static char wanted[ROOM];

    begin();
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        const bool unpacks = i >= 2;
        const uint64_t calls = counted(ESPI_COUNT_calls_packed), all = counted(ESPI_COUNT_bytes_packed),
                       uses = espi_slot_of(type)->uses, saved = plan->record->saved_ps[ESPI_SAVED_ALONE];
        int at = BEFORE;
        fill(data, 1);
        fill(stream, 2);
        memcpy(wanted, unpacks ? data : stream, ROOM);
        if (unpacks)
            espi_pmpi.Unpack(stream, ROOM, &at, wanted, COUNT, type, MPI_COMM_SELF);
        else
            espi_pmpi.Pack(data, COUNT, type, wanted, ROOM, &at, MPI_COMM_SELF);
        native = 0;
        args_of(fns[i]);
        ck_assert_int_eq((int)espi_core_handlers[fns[i]](&own_thread, fns[i], call.args,
                                                         (espi_next)(void (*)(void))pass), MPI_SUCCESS);
        ck_assert_int_eq(native, 0);
        ck_assert(memcmp(unpacks ? data : stream, wanted, ROOM) == 0);
        ck_assert_int_eq(espi_api_rows[fns[i]].large ? (int)call.far : call.at, at);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed), calls + 1);
        ck_assert_uint_eq(counted(ESPI_COUNT_bytes_packed), all + (uint64_t)bytes);
        ck_assert_uint_eq(espi_slot_of(type)->uses, uses + 1);
        ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE], saved + 1000 * GAIN_NS * COUNT);
        ck_assert_int_eq(atomic_load(&plan->users), 1);
    }
    end();
}
END_TEST

static espi_word given; /* the type that MPI was given */

static espi_word with_type(espi_word a, espi_word b, espi_word c, espi_word d, espi_word e, espi_word f)
{
    (void)a, (void)b, (void)d, (void)e;
    native++;
    given = call.args[0] == (espi_word)data ? c : f;
    return 0x77;
}

static bool goes(enum espi_fn fn)
{
    espi_word result = 0;
    const bool is = espi_short_local(state, fn, call.args, (espi_next)(void (*)(void))with_type, &result);

    ck_assert(!is || result == (native > 0 ? 0x77 : MPI_SUCCESS));
    return is;
}

static bool is_short(enum espi_fn fn)
{
    native = 0;
    args_of(fn);
    const bool is = goes(fn);
    ck_assert_int_eq(native, 0);
    return is;
}

/* The same with one argument that is another one; nothing is done then. */
static bool is_short_with(enum espi_fn fn, int which, espi_word other)
{
    static char before[ROOM];

    args_of(fn);
    call.args[which] = other;
    memcpy(before, stream, ROOM);
    native = 0;
    const bool is = goes(fn);
    ck_assert_int_eq(native, 0);
    ck_assert(is || (memcmp(before, stream, ROOM) == 0 && call.at == BEFORE));
    return is;
}

/* Something is to be found out, or is not known, or MPI may refuse it. */
START_TEST(another_way)
{
    begin();
    struct espi_type_class *class = espi_slot_class(espi_slot_of(type));
    for (int unpacks = 0; unpacks < 2; unpacks++) {
        const enum espi_fn fn = unpacks ? ESPI_FN_Unpack : ESPI_FN_Pack;
        const int count = unpacks ? 4 : 1, of = unpacks ? 5 : 2, room = unpacks ? 1 : 4, at = unpacks ? 2 : 5,
                  buffer = unpacks ? 3 : 0, packed_at = unpacks ? 0 : 3;
        int behind = ROOM - (int)bytes, too_far = behind + 1, negative = -1;
        ck_assert(is_short(fn) && is_short_with(fn, at, (espi_word)&behind));
        ck_assert(!is_short_with(fn, count, 0) && !is_short_with(fn, count, (espi_word)-1));
        ck_assert(!is_short_with(fn, of, (espi_word)MPI_INT) && !is_short_with(fn, room, (espi_word)bytes - 1));
        ck_assert(!is_short_with(fn, buffer, 0) && !is_short_with(fn, packed_at, 0) && !is_short_with(fn, at, 0));
        ck_assert(!is_short_with(fn, at, (espi_word)&too_far) && !is_short_with(fn, at, (espi_word)&negative));
        ck_assert(!is_short_with(fn, 6, (espi_word)MPI_COMM_NULL));
        for (int s = ESPI_LOCAL_PACKS; s <= ESPI_LOCAL_LEFT; s++) {
            plan->local[unpacks].state = s;
            plan->local[!unpacks].state = ESPI_LOCAL_LEFT - s; /* the other's makes no difference */
            ck_assert_int_eq(is_short(fn), s == ESPI_LOCAL_PACKS);
            plan->count += s == ESPI_LOCAL_TRIED; /* not the usual count, which is tried */
            ck_assert_int_eq(is_short(fn), s != ESPI_LOCAL_LEFT);
            plan->count -= s == ESPI_LOCAL_TRIED;
        }
        plan->local[0].state = plan->local[1].state = ESPI_LOCAL_PACKS;
        espi_settings.check = true;
        ck_assert(!is_short(fn));
        espi_settings.check = false;
        suite_another_leads(true);
        ck_assert(!is_short(fn));
        suite_another_leads(false);
        espi_calls_overlap = true; /* this thread leads */
        ck_assert(is_short(fn));
        espi_calls_overlap = false;
        class->packs_others = false; /* that is yet to be noted */
        ck_assert(!is_short(fn));
        class->packs_others = true;
        atomic_store(&plan->packed_ns[ESPI_PACK_LOCAL], 0);
        ck_assert(!is_short(fn));
        atomic_store(&plan->packed_ns[ESPI_PACK_LOCAL], GAIN_NS);
        atomic_store(&espi_slot_of(type)->look, espi_slot_of(type)->uses + 1);
        ck_assert(!is_short(fn));
        atomic_store(&espi_slot_of(type)->look, 1 << 20);
        ck_assert(is_short(fn));
    }
    end();
}
END_TEST

static bool stays(enum espi_fn fn)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct asked asked = {row->large, false, row->kind, row->comm, row->root, fn};
    struct espi_type_slot *slot = espi_short_local_leaves(type, COUNT, fn);
    const bool is = espi_left_alone(state, &asked, row->typed, 0, args_of(fn));

    ck_assert(slot == NULL || slot == espi_slot_of(type));
    ck_assert_int_eq(is, slot != NULL);
    return is;
}

/* Where turns have shown that the library is faster, or the models say so, it goes on at once. */
START_TEST(left)
{
    begin();
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        const bool unpacks = i >= 2;
        const uint64_t before = counted(ESPI_COUNT_left_not_better);
        ck_assert(!stays(fns[i]));
        plan->local[!unpacks].state = ESPI_LOCAL_LEFT;
        ck_assert(!stays(fns[i]));
        plan->local[unpacks].state = ESPI_LOCAL_LEFT;
        ck_assert(stays(fns[i]));
        plan->local[unpacks].state = ESPI_LOCAL_TRIED;
        ck_assert(!stays(fns[i]));
        atomic_store(&plan->packed_ns[ESPI_PACK_LOCAL], 0);
        ck_assert(stays(fns[i]));
        ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better), before + 2);
        atomic_store(&plan->better[ESPI_WHOLE], MPI_INT); /* as which it goes */
        ck_assert(!stays(fns[i]));
        atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
        plan->forms_pending = true; /* which such uses are to make */
        ck_assert(!stays(fns[i]));
        plan->forms_pending = false;
        suite_another_leads(true);
        ck_assert(!stays(fns[i]));
        suite_another_leads(false);
        espi_calls_overlap = true; /* this thread leads */
        ck_assert(stays(fns[i]));
        espi_calls_overlap = false;
        atomic_store(&plan->packed_ns[ESPI_PACK_LOCAL], GAIN_NS);
        plan->local[0].state = plan->local[1].state = ESPI_LOCAL_PACKS;
    }
    end();
}
END_TEST

/* The better type goes in the program's place, where nothing is packed, and nothing is wrong. */
START_TEST(typed)
{
    begin();
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        const bool unpacks = i >= 2;
        atomic_store(&plan->better[ESPI_WHOLE], MPI_INT);
        plan->gain_ns[ESPI_WHOLE] = 7 * (uint64_t)plan->count;
        ck_assert(is_short(fns[i])); /* packed all the same */
        for (int how = 0; how < 2; how++) {
            const uint64_t calls = counted(ESPI_COUNT_calls_substituted), uses = espi_slot_of(type)->uses,
                           all = counted(ESPI_COUNT_bytes_substituted),
                           saved = plan->record->saved_ps[ESPI_SAVED_ALONE];
            plan->local[unpacks].state = how ? ESPI_LOCAL_LEFT : ESPI_LOCAL_PACKS;
            espi_slot_class(espi_slot_of(type))->packs_others = how; /* it says nothing of packing */
            atomic_store(&plan->packed_ns[ESPI_PACK_LOCAL], how ? GAIN_NS : 0);
            native = 0;
            args_of(fns[i]);
            ck_assert(goes(fns[i]) && native == 1 && given == (espi_word)MPI_INT);
            ck_assert_uint_eq(counted(ESPI_COUNT_calls_substituted), calls + 1);
            ck_assert_uint_eq(counted(ESPI_COUNT_bytes_substituted), all + (uint64_t)bytes);
            ck_assert_uint_eq(espi_slot_of(type)->uses, uses + 1);
            ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE], saved + 1000 * 7 * COUNT);
            ck_assert(!is_short_with(fns[i], unpacks ? 1 : 4, (espi_word)bytes - 1));
            ck_assert(!is_short_with(fns[i], 6, (espi_word)MPI_COMM_NULL));
        }
        atomic_store(&plan->packed_ns[ESPI_PACK_LOCAL], GAIN_NS * (uint64_t)plan->count);
        plan->local[unpacks].state = ESPI_LOCAL_TRIED;
        ck_assert(!is_short(fns[i]));
        plan->local[unpacks].state = ESPI_LOCAL_PACKS;
        atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
        plan->gain_ns[ESPI_WHOLE] = 0;
    }
    end();
}
END_TEST

/* A call that passes the library by saves what that takes beside its engine; not where it can not. */
START_TEST(passed_by)
{
    uint64_t saves[2];

    for (int how = 0; how < 2; how++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_decoded layout;
        begin();
        MPI_Datatype list = irregular(600, 1);
        struct espi_plan_request request = {.type = list, .layout = &layout, .mode = ESPI_MODE_AUTO,
                                            .packing = ESPI_MODE_AUTO, .one_node = true, .count = 1, .tier = 1,
                                            .passes = how};
        ck_assert_int_eq(espi_decode(&arena, list, 0, &layout), ESPI_OK);
        struct espi_plan *made = espi_plan_make(&request);
        saves[how] = made->packed_ns[ESPI_PACK_LOCAL];
        espi_plan_release(made);
        espi_arena_release(&arena);
        MPI_Type_free(&list);
        end();
        espi_plans_stop();
    }
    ck_assert_msg(saves[0] > 0 ? saves[1] == saves[0] + 60 : saves[1] <= 120, "%d, %d", (int)saves[0],
                  (int)saves[1]);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/short_local", packed, another_way, left, typed, passed_by);
}
