/*
 * Collective calls that come again (src/mpi/calls/repeated.h): that what is kept does what the short way does,
 * which calls are the same, and how much is kept. One process, whose communicator is told to have two ranks; nothing
 * is communicated. Allocations fail when told to (--wrap).
 */
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collective_setup.h"
#include "base/overlap.h"
#include "mpi/calls/repeated.h"

enum { OFTEN = 60 };

static void begin_alone(void)
{
    begin();
    espi_calls_overlap = false;
    atomic_store(&espi_slot_of(type)->look, UINT32_MAX);
}

/* As often as it takes until the call is kept, which is before it was made OFTEN times. */
static void make_kept(enum espi_fn fn, const espi_word *args, int sent, int received)
{
    struct call call;

    for (int i = 0; i < OFTEN; i++)
        carry_out(&call, fn, args, sent, received);
    ck_assert_msg(call.c.repeated != NULL, "%s", espi_api_name(fn));
}

/* What is received comes to be all sevens. */
static void arrive(const struct espi_packed_blocks *blocks, int n)
{
    const struct espi_packed_block *each = espi_packed_blocks_each((struct espi_packed_blocks *)blocks);
    int64_t bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += each[i].received ? each[i].count * each[i].size : 0;
    memset(espi_packed_blocks_stream(blocks), 7, (size_t)bytes);
}

/* Whether the call is one that was kept before; it is carried out. */
static bool is_kept(enum espi_fn fn, const espi_word *args)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    struct call call;

    memcpy(call.changed, args, row->args * sizeof *args);
    const bool is = espi_repeated_begin(&call.c, thread_state, row, args, call.changed, false);
    if (!is && course_of(&call, fn, args) != ESPI_COURSE_PACKED)
        return false;
    for (int i = 0; i < 2; i++)
        if (call.c.blocks[i] != NULL)
            arrive(call.c.blocks[i], PEERS);
    espi_collective_end(&call.c, MPI_SUCCESS);
    return is;
}

static struct figures {
    uint64_t uses, items, examined, packed, bytes, saved;
} figures(void)
{
    const struct espi_type_slot *slot = espi_slot_of(type);

    return (struct figures){slot->uses, slot->items, counted(ESPI_COUNT_calls_examined),
                            counted(ESPI_COUNT_calls_packed), counted(ESPI_COUNT_bytes_packed),
                            atomic_load(&slot->plan)->record->saved_ps[ESPI_SAVED_ALONE]};
}

static struct figures difference(struct figures a, struct figures b)
{
    return (struct figures){b.uses - a.uses,     b.items - a.items, b.examined - a.examined,
                            b.packed - a.packed, b.bytes - a.bytes, b.saved - a.saved};
}

static void done(void)
{
    espi_repeated_stop();
    ck_assert(!espi_repeated_any());
    ck_assert(all_is_back());
    espi_calls_overlap = true;
    end();
}

/* With other data each time, from places and to places of its own; counted as before. */
START_TEST(comes_again)
{
    struct figures before, after, first[PACKED_ROWS];
    int kept[PACKED_ROWS] = {0};

    begin_alone();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    plan->gain_ns[ESPI_WHOLE] = plan->gain_ns[ESPI_PARTS] = 500;
    for (int i = 0; i < OFTEN; i++) {
        for (int n = 0; n < PACKED_ROWS; n++) {
            struct packed_row is = packed_row(n);
            const struct espi_api_row *row = &espi_api_rows[is.fn];
            struct call call;
            is.args[(int)row->typed[0].buffer] += (espi_word)(i % 5 * 8);
            if (row->typed[1].shape != ESPI_SHAPE_NONE)
                is.args[(int)row->typed[1].buffer] += (espi_word)(i % 3 * 8);
            for (size_t k = 0; k < sizeof from; k += 64)
                from[k] = (char)(i + n + (int)k);
            before = figures();
            carry_out(&call, is.fn, is.args, is.sent, is.received);
            after = difference(before, figures());
            if (i == 0)
                first[n] = after;
            ck_assert_uint_gt(after.saved, 0);
            ck_assert_msg(memcmp(&first[n], &after, sizeof after) == 0, "%s is counted otherwise",
                          espi_api_name(is.fn));
            kept[n] += call.c.repeated != NULL;
        }
    }
    for (int n = 0; n < PACKED_ROWS; n++)
        ck_assert_msg(kept[n] > OFTEN / 2, "row %d was kept %d times", n, kept[n]);
    done();
}
END_TEST

/* The first calls of a plan receive into room that holds what is there (packed_blocks.h), and are not kept. */
START_TEST(first_ones)
{
    enum { NEW = 16 / 2 };
    begin_alone();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    for (int i = 0; i < NEW + 3; i++) {
        struct call call;
        carry_out(&call, ESPI_FN_Alltoall, args, PEERS * COUNT, PEERS * COUNT);
        ck_assert_int_eq(call.c.repeated != NULL, i > NEW);
    }
    done();
}
END_TEST

/* Arrays are compared by what they hold; what they hold at another place is the same. */
START_TEST(arrays)
{
    begin_alone();
    int other[PEERS] = {COUNT, COUNT}, apart[PEERS] = {0, COUNT}, far_apart[PEERS] = {0, COUNT + 1},
        fewer[PEERS] = {COUNT, COUNT - 1};
    MPI_Datatype others[PEERS] = {type, type};
    espi_word v[] = {(espi_word)from, (espi_word)counts, (espi_word)places, type, (espi_word)onto,
                     (espi_word)counts, (espi_word)places, type, MPI_COMM_SELF};
    espi_word w[] = {(espi_word)from, (espi_word)counts, (espi_word)bytes_to, (espi_word)types,
                     (espi_word)onto, (espi_word)counts, (espi_word)bytes_to, (espi_word)types, MPI_COMM_SELF};
    make_kept(ESPI_FN_Alltoallv, v, PEERS * COUNT, PEERS * COUNT);
    make_kept(ESPI_FN_Alltoallw, w, PEERS * COUNT, PEERS * COUNT);
    for (int at = 1; at <= 5; at += 4) {
        const espi_word had_v = v[at], were = v[at + 1], had = w[at + 2];
        v[at] = (espi_word)other;
        v[at + 1] = (espi_word)apart;
        ck_assert(is_kept(ESPI_FN_Alltoallv, v));
        v[at] = (espi_word)fewer;
        ck_assert(!is_kept(ESPI_FN_Alltoallv, v));
        v[at] = had_v;
        v[at + 1] = (espi_word)far_apart;
        ck_assert(!is_kept(ESPI_FN_Alltoallv, v));
        v[at + 1] = were;
        w[at + 2] = (espi_word)others;
        ck_assert(is_kept(ESPI_FN_Alltoallw, w));
        others[1] = MPI_INT;
        ck_assert(!is_kept(ESPI_FN_Alltoallw, w));
        others[1] = MPI_DATATYPE_NULL;
        ck_assert(!is_kept(ESPI_FN_Alltoallw, w));
        others[1] = type;
        w[at + 2] = had;
    }
    ck_assert(is_kept(ESPI_FN_Alltoallv, v) && is_kept(ESPI_FN_Alltoallw, w));
    done();
}
END_TEST

/* What calls leave on the stack. */
static __attribute__((noinline)) void litter(int with)
{
    volatile char stack[1 << 15];

    for (size_t i = 0; i < sizeof stack; i++)
        stack[i] = (char)with;
}

/* A block without items says nothing, whatever the memory holds that has no type to tell of. */
START_TEST(empty_blocks)
{
    int some[PEERS] = {0, COUNT};
    const espi_word args[] = {(espi_word)from, (espi_word)some, (espi_word)bytes_to, (espi_word)types,
                              (espi_word)onto, (espi_word)some, (espi_word)bytes_to, (espi_word)types, MPI_COMM_SELF};

    begin_alone();
    int n = 0;
    for (bool is = false; !is; n++) {
        ck_assert_int_lt(n, OFTEN);
        litter(n);
        is = is_kept(ESPI_FN_Alltoallw, args);
    }
    done();
}
END_TEST

/* Calls that differ in what is predefined alone are two. */
START_TEST(predefined)
{
    int ints[2][PEERS] = {{4, 4}, {7, 7}};
    MPI_Datatype plain[PEERS] = {MPI_INT, MPI_INT};
    espi_word w[] = {(espi_word)from, (espi_word)counts, (espi_word)bytes_to, (espi_word)types,
                     (espi_word)onto, 0, (espi_word)bytes_to, (espi_word)plain, MPI_COMM_SELF};
    int kept[2] = {0};

    begin_alone();
    for (int i = 0; i < OFTEN; i++)
        for (int which = 0; which < 2; which++) {
            w[5] = (espi_word)ints[which];
            kept[which] += is_kept(ESPI_FN_Alltoallw, w);
        }
    ck_assert_msg(kept[0] > OFTEN / 2 && kept[1] > OFTEN / 2, "kept %d and %d times", kept[0], kept[1]);
    done();
}
END_TEST

/* What differs, is wrong, or is due to something goes the other way. */
START_TEST(not_the_same)
{
    begin_alone();
    const espi_word good[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    const MPI_Datatype irregular = used_once(regular_ints(5));
    espi_word gather[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, 0, MPI_COMM_SELF};
    const struct {
        int at;
        espi_word other;
    } others[] = {{0, 0}, {0, (espi_word)onto}, {0, (espi_word)MPI_IN_PLACE}, {1, COUNT + 1}, {1, (espi_word)-1},
                  {2, irregular}, {2, MPI_INT}, {2, MPI_DATATYPE_NULL}, {2, type & INT_MAX},
                  {2, (espi_word)0x8c00dead}, {3, 0}, {4, COUNT - 1}, {5, irregular}, {5, MPI_DATATYPE_NULL},
                  {6, MPI_COMM_NULL}, {6, MPI_COMM_WORLD}};
    struct espi_type_slot *slot = espi_slot_of(type);
    struct call call, inner;

    make_kept(ESPI_FN_Alltoall, good, PEERS * COUNT, PEERS * COUNT);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        espi_word args[7];
        memcpy(args, good, sizeof args);
        args[others[i].at] = others[i].other;
        ck_assert_msg(!is_kept(ESPI_FN_Alltoall, args), "other argument %zu", i);
        thread_state->comm.peers = PEERS; /* another communicator may have been looked up */
        ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
        thread_state->comm.peers = PEERS;
        ck_assert_msg(is_kept(ESPI_FN_Alltoall, good), "after argument %zu", i);
    }
    ck_assert(!is_kept(ESPI_FN_Allgather, good));
    make_kept(ESPI_FN_Gather, gather, 0, PEERS * COUNT);
    gather[6] = 1; /* here it is not the root */
    ck_assert(!is_kept(ESPI_FN_Gather, gather));
    espi_word received[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    make_kept(ESPI_FN_Alltoall, received, 0, PEERS * COUNT);
    received[2] = MPI_CHAR;
    ck_assert(!is_kept(ESPI_FN_Alltoall, received));
    /* A look at the type is due. */
    const uint64_t look = atomic_load(&slot->look);
    atomic_store(&slot->look, atomic_load(&slot->uses) + 1);
    ck_assert(!is_kept(ESPI_FN_Alltoall, good));
    atomic_store(&slot->look, look);
    ck_assert(is_kept(ESPI_FN_Alltoall, good));
    /* A pair that it is to be asked about first. */
    memcpy(call.changed, good, sizeof good);
    gather[6] = 0;
    memcpy(inner.changed, gather, sizeof gather);
    for (int open = 0; open < 2; open++) {
        espi_slot_pair(slot, type, open ? ESPI_PAIRED_SEEN : ESPI_PAIRED_LEFT);
        const bool is = espi_repeated_begin(&inner.c, thread_state, &espi_api_rows[ESPI_FN_Gather], gather,
                                            inner.changed, true);
        ck_assert(is == !open);
        if (is) {
            arrive(inner.c.blocks[1], PEERS);
            espi_collective_end(&inner.c, MPI_SUCCESS);
        }
        ck_assert(is_kept(ESPI_FN_Gather, gather));
    }
    espi_slot_pair(slot, type, 0);
    /* The one that is kept is under way; it is not kept twice. */
    const int64_t bytes = espi_repeated_bytes;
    ck_assert(course_of(&call, ESPI_FN_Alltoall, good) == ESPI_COURSE_PACKED && call.c.repeated != NULL);
    ck_assert(!is_kept(ESPI_FN_Alltoall, good));
    ck_assert_int_eq(espi_repeated_bytes, bytes);
    arrive(call.c.blocks[1], PEERS);
    ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    ck_assert(is_kept(ESPI_FN_Alltoall, good));
    /* Types are left alone; calls may overlap; all is compared with MPI. */
    atomic_store(&espi_type_service.mode, ESPI_MODE_OFF);
    ck_assert(!is_kept(ESPI_FN_Alltoall, good));
    atomic_store(&espi_type_service.mode, ESPI_MODE_AUTO);
    espi_calls_overlap = true;
    ck_assert(!is_kept(ESPI_FN_Alltoall, good));
    espi_calls_overlap = false;
    ck_assert(is_kept(ESPI_FN_Alltoall, good));
    MPI_Datatype freed = irregular;
    espi_types_ending(thread_state, freed);
    MPI_Type_free(&freed);
    done();
}
END_TEST

/* A type that was made anew is the same, and one of another layout that has got its handle is not. */
START_TEST(made_anew)
{
    begin_alone();
    espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    make_kept(ESPI_FN_Alltoall, args, PEERS * COUNT, PEERS * COUNT);
    for (int i = 0; i < 2; i++) {
        espi_types_ending(thread_state, type);
        MPI_Type_free(&type);
        ck_assert(!is_kept(ESPI_FN_Alltoall, args));
        type = used_once(regular_ints(i == 0 ? 5 : 3));
        args[2] = args[5] = (espi_word)type;
        ck_assert_int_eq(is_kept(ESPI_FN_Alltoall, args), i == 1);
    }
    done();
}
END_TEST

/* What was decided may have been decided otherwise. */
START_TEST(stale)
{
    begin_alone();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    atomic_uint *const epochs[] = {&espi_plans_epoch, &espi_comm_epoch};
    for (int i = 0; i < 2; i++) {
        make_kept(ESPI_FN_Alltoall, args, PEERS * COUNT, PEERS * COUNT);
        ck_assert(is_kept(ESPI_FN_Alltoall, args));
        atomic_fetch_add(epochs[i], 1);
        struct call call;
        ck_assert(!espi_repeated_begin(&call.c, thread_state, &espi_api_rows[ESPI_FN_Alltoall], args, call.changed,
                                       false));
        ck_assert(!espi_repeated_any());
        thread_state->comm.peers = PEERS;
        ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
        thread_state->comm.peers = PEERS;
    }
    done();
}
END_TEST

/* A communicator that has got the handle of another one may have fewer ranks: arrays are not read any farther. */
START_TEST(shorter)
{
    const long page = sysconf(_SC_PAGESIZE);
    begin_alone();
    espi_word v[] = {(espi_word)from, (espi_word)counts, (espi_word)places, type, (espi_word)onto,
                     (espi_word)counts, (espi_word)places, type, MPI_COMM_SELF};
    char *memory = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct call call;
    ck_assert(memory != MAP_FAILED && mprotect(memory + page, (size_t)page, PROT_NONE) == 0);
    int *one = (int *)(memory + page) - 1;
    *one = COUNT;
    make_kept(ESPI_FN_Alltoallv, v, PEERS * COUNT, PEERS * COUNT);
    v[1] = v[5] = (espi_word)one;
    atomic_fetch_add(&espi_comm_epoch, 1);
    ck_assert(!espi_repeated_begin(&call.c, thread_state, &espi_api_rows[ESPI_FN_Alltoallv], v, call.changed, false));
    ck_assert(!espi_repeated_any());
    munmap(memory, 2 * (size_t)page);
    done();
}
END_TEST

/* The call fails: it is asked for again with the program's own arguments, and nothing of it stays. */
START_TEST(error)
{
    struct call call;
    begin_alone();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    const int codes[] = {MPI_ERR_TYPE, MPI_ERR_OTHER};
    for (int i = 0; i < 2; i++) {
        char before[sizeof onto];
        make_kept(ESPI_FN_Alltoall, args, PEERS * COUNT, PEERS * COUNT);
        memcpy(before, onto, sizeof onto);
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_PACKED);
        ck_assert(call.c.repeated != NULL);
        ck_assert(espi_collective_end(&call.c, codes[i]) == (i == 0));
        ck_assert(memcmp(before, onto, sizeof onto) == 0);
        ck_assert(!espi_repeated_any());
        ck_assert(all_is_back());
    }
    done();
}
END_TEST

/* More kinds of calls than are kept, and more bytes; those that were kept stay as long as they come again, and others
   take their places when they do not. */
static void check_bounds(int least)
{
    enum { KINDS = 24 };
    espi_word args[] = {(espi_word)from, 1, type, (espi_word)onto, 1, type, MPI_COMM_SELF};
    int last = 0, lost = 0;

    for (int round = 0; round < OFTEN; round++) {
        int now = 0;
        for (int kind = 0; kind < KINDS; kind++) {
            args[1] = args[4] = (espi_word)(least + kind);
            now += is_kept(ESPI_FN_Alltoall, args);
            ck_assert_int_le(espi_repeated_bytes, MB / 16);
        }
        lost += now < last;
        last = now;
    }
    ck_assert(last > 0 && last < KINDS);
    ck_assert_int_eq(lost, 0);
    args[1] = args[4] = (espi_word)(least + KINDS);
    for (int round = 0; round < 10 * OFTEN; round++)
        is_kept(ESPI_FN_Alltoall, args);
    ck_assert(is_kept(ESPI_FN_Alltoall, args));
}

START_TEST(bounds)
{
    enum { MANY = 60 };
    begin_alone();
    check_bounds(1);
    espi_repeated_stop();
    atomic_load(&espi_slot_of(type)->plan)->count = MANY; /* it was made for such */
    ck_assert_int_le(PEERS * (MANY + 1) * extent, (int64_t)sizeof onto);
    check_bounds(MANY - 24);
    done();
}
END_TEST

/* Nothing is kept where memory is short; the call is made. */
START_TEST(no_memory)
{
    begin_alone();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    for (int i = 0; i < OFTEN; i++) {
        struct call call;
        granted = 0; /* the buffers are there from the last call */
        const enum espi_course course = course_of(&call, ESPI_FN_Alltoall, args);
        granted = -1;
        ck_assert(i < 1 || course == ESPI_COURSE_PACKED);
        if (course != ESPI_COURSE_PACKED) {
            carry_out(&call, ESPI_FN_Alltoall, args, PEERS * COUNT, PEERS * COUNT);
            continue;
        }
        ck_assert(call.c.repeated == NULL);
        arrive(call.c.blocks[1], PEERS);
        ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    ck_assert(!espi_repeated_any());
    make_kept(ESPI_FN_Alltoall, args, PEERS * COUNT, PEERS * COUNT);
    done();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/repeated", comes_again, first_ones, arrays, empty_blocks, predefined,
                     not_the_same, made_anew, stale, shorter, error, bounds, no_memory);
}
