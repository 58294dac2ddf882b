/*
 * Which blocks of collective calls that a pack program carries out are sent as one item each of a type that goes cell
 * by cell (src/mpi/packed/stream_type.h), and that the types are back when the calls are over. The communicator is
 * told to have two ranks; nothing is communicated.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "mpi/calls/collective.h"
#include "stream_setup.h"

static int counts[PEERS], places[PEERS], bytes_to[PEERS];
static MPI_Count many[PEERS];
static MPI_Aint far[PEERS];
static MPI_Datatype types[PEERS];

static void set_counts(int first, int second)
{
    counts[0] = first;
    counts[1] = second;
    for (int i = 0; i < PEERS; i++) {
        many[i] = counts[i];
        places[i] = i * counts[0];
        far[i] = bytes_to[i] = places[i] * (int)extent;
        types[i] = type;
    }
}

/* What MPI is to do, by the short way; `args` as the program has them. */
struct collective {
    espi_word changed[ESPI_MAX_ARGS];
    struct espi_collective c;
};

static void start_collective(struct collective *c, enum espi_fn fn, const espi_word *args)
{
    look_up();
    memcpy(c->changed, args, espi_api_rows[fn].args * sizeof *args);
    ck_assert_msg(espi_collective_course(&c->c, thread_state, &espi_api_rows[fn], args, c->changed) ==
                      ESPI_COURSE_PACKED, "%s", espi_api_name(fn));
}

static void end_collective(struct collective *c)
{
    espi_collective_end(&c->c, MPI_ERR_OTHER);
    ck_assert(all_are_back());
}

/* Whether items of a type of ours, one behind the other, are these of the program's. */
static bool are_sent(const void *stream, MPI_Datatype seen, int items, int bytes)
{
    static char packed[2][PEERS * BYTES];
    int at[2] = {0, 0};

    MPI_Pack(stream, PEERS, seen, packed[0], sizeof packed[0], &at[0], MPI_COMM_SELF);
    MPI_Pack(from, items, type, packed[1], sizeof packed[1], &at[1], MPI_COMM_SELF);
    return at[0] == bytes && at[1] == bytes && memcmp(packed[0], packed[1], (size_t)bytes) == 0;
}

/* Calls with one count for all blocks. */
static void one_count(enum espi_fn fn, int count, bool sent_in_cells)
{
    const espi_word args[] = {(espi_word)from, (espi_word)count, type, (espi_word)onto, (espi_word)count, type,
                              MPI_COMM_SELF, (espi_word)&request};
    const int bytes = count * (int)SIZE;
    struct collective c;

    for (int closed = 0; closed < 2; closed++) {
        if (closed)
            espi_stream_types_close();
        start_collective(&c, fn, args);
        ck_assert_msg(sent_in_cells && !closed ? in_cells(c.changed[1], c.changed[2], bytes, ESPI_STREAM_IN_ROW)
                                               : as_bytes(c.changed[1], c.changed[2], bytes),
                      "%s of %d", espi_api_name(fn), count);
        ck_assert(as_bytes(c.changed[4], c.changed[5], bytes));
        if (sent_in_cells && !closed)
            ck_assert(are_sent((const void *)c.changed[0], (MPI_Datatype)c.changed[2], PEERS * count, PEERS * bytes));
        end_collective(&c);
    }
    start_cells();
}

START_TEST(alltoall)
{
    begin();
    one_count(ESPI_FN_Alltoall, COUNT, true);
    one_count(ESPI_FN_Alltoall_c, COUNT, true);
    one_count(ESPI_FN_Ialltoall, COUNT, true);
    one_count(ESPI_FN_Neighbor_alltoall, COUNT, true);
    one_count(ESPI_FN_Alltoall, FEW, false);
    one_count(ESPI_FN_Neighbor_alltoall, FEW, false);
    one_count(ESPI_FN_Neighbor_allgather, COUNT, false);
    end();
}
END_TEST

/* What is kept after a call with blocks is not taken for a message of a block's size. */
static void other_form(enum espi_fn fn, const espi_word *args)
{
    struct collective c;

    start_collective(&c, fn, args);
    espi_collective_end(&c.c, MPI_ERR_OTHER);
    const MPI_Datatype split = espi_stream_type_take(BYTES, ESPI_STREAM_SPLIT);
    ck_assert_msg(in_cells(1, (espi_word)split, BYTES, ESPI_STREAM_SPLIT), "%s", espi_api_name(fn));
    espi_stream_type_back(split, BYTES, ESPI_STREAM_SPLIT);
    ck_assert(all_are_back());
}

START_TEST(forms)
{
    begin();
    set_counts(COUNT, COUNT);
    other_form(ESPI_FN_Alltoall, (const espi_word[]){(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type,
                                                     MPI_COMM_SELF});
    other_form(ESPI_FN_Alltoallw, (const espi_word[]){(espi_word)from, (espi_word)counts, (espi_word)bytes_to,
                                                      (espi_word)types, (espi_word)onto, (espi_word)counts,
                                                      (espi_word)bytes_to, (espi_word)types, MPI_COMM_SELF});
    end();
}
END_TEST

/* What is sent from where it is received keeps its form, as both are one argument; so does one side that is only
   received. */
START_TEST(one_side)
{
    const espi_word in_place[] = {(espi_word)MPI_IN_PLACE, 0, 0, (espi_word)onto, COUNT, 0, MPI_COMM_SELF};
    const espi_word received[] = {(espi_word)from, BYTES, MPI_BYTE, (espi_word)onto, COUNT, 0, MPI_COMM_SELF};
    const espi_word sent[] = {(espi_word)from, COUNT, 0, (espi_word)onto, BYTES, MPI_BYTE, MPI_COMM_SELF};
    espi_word args[7];
    struct call whole;
    struct collective c;

    begin();
    memcpy(args, received, sizeof args);
    args[5] = (espi_word)type;
    start_collective(&c, ESPI_FN_Alltoall, args);
    ck_assert(as_bytes(c.changed[4], c.changed[5], BYTES) && c.changed[2] == (espi_word)MPI_BYTE);
    end_collective(&c);
    memcpy(args, sent, sizeof args);
    args[2] = (espi_word)type;
    start_collective(&c, ESPI_FN_Alltoall, args);
    ck_assert(in_cells(c.changed[1], c.changed[2], BYTES, ESPI_STREAM_IN_ROW) && c.changed[5] == (espi_word)MPI_BYTE);
    end_collective(&c);
    whole = (struct call){.args = {in_place[0], 0, 0, in_place[3], in_place[4], (espi_word)type, in_place[6]}};
    memcpy(whole.changed, whole.args, sizeof whole.args);
    whole.d = (struct espi_substitution){.thread = &own_thread, .thread_state = thread_state,
                                           .row = &espi_api_rows[ESPI_FN_Alltoall], .args = whole.args,
                                           .changed = whole.changed};
    look_up();
    espi_substitute_begin(&whole.d);
    ck_assert(whole.changed[3] != whole.args[3] && as_bytes(whole.changed[4], whole.changed[5], BYTES));
    espi_substitute_end(&whole.d, MPI_ERR_OTHER);
    ck_assert(all_are_back());
    end();
}
END_TEST

/* Block i as MPI sees it: one item, or bytes. */
static void check_block(const struct collective *c, const struct espi_buffer_args *typed, int i, bool large,
                        bool sent_in_cells)
{
    const espi_word count = large ? (espi_word)((const MPI_Count *)c->changed[typed->count])[i]
                                  : (espi_word)((const int *)c->changed[typed->count])[i];
    const espi_word seen = (espi_word)((const MPI_Datatype *)c->changed[typed->type])[i];
    const int bytes = counts[i] * (int)SIZE;

    ck_assert(sent_in_cells ? in_cells(count, seen, bytes, ESPI_STREAM_IN_ROW) : as_bytes(count, seen, bytes));
}

/* Of blocks with types of their own the long ones that are sent; places count bytes for all of them. */
static void own_types(enum espi_fn fn, bool wide, bool large)
{
    const espi_word n = large ? (espi_word)many : (espi_word)counts, at = wide ? (espi_word)far : (espi_word)bytes_to;
    const espi_word args[] = {(espi_word)from, n, at, (espi_word)types, (espi_word)onto, n, at, (espi_word)types,
                              MPI_COMM_SELF, (espi_word)&request};
    static const int each[][PEERS] = {{COUNT, COUNT}, {FEW, COUNT}, {COUNT, FEW}, {COUNT, COUNT + 7}, {FEW, FEW},
                                      {0, COUNT}};
    struct collective c;

    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        const struct espi_buffer_args *typed = espi_api_rows[fn].typed;
        set_counts(each[k][0], each[k][1]);
        start_collective(&c, fn, args);
        for (int i = 0; i < PEERS; i++) {
            check_block(&c, &typed[0], i, large, each[k][i] >= COUNT);
            check_block(&c, &typed[1], i, large, false);
            const void *where = (const void *)c.changed[2];
            ck_assert_int_eq(wide ? ((const MPI_Aint *)where)[i] : ((const int *)where)[i],
                             i * each[k][0] * (int)SIZE);
        }
        end_collective(&c);
    }
}

START_TEST(alltoallw)
{
    begin();
    own_types(ESPI_FN_Alltoallw, false, false);
    own_types(ESPI_FN_Alltoallw_c, true, true);
    own_types(ESPI_FN_Ialltoallw, false, false);
    own_types(ESPI_FN_Neighbor_alltoallw, true, false);
    end();
}
END_TEST

/* One type for blocks of different lengths: bytes. */
START_TEST(alltoallv)
{
    const espi_word args[] = {(espi_word)from, (espi_word)counts, (espi_word)places, 0, (espi_word)onto,
                              (espi_word)counts, (espi_word)places, 0, MPI_COMM_SELF};
    espi_word own[9];
    struct collective c;

    begin();
    set_counts(COUNT, COUNT);
    memcpy(own, args, sizeof own);
    own[3] = own[7] = (espi_word)type;
    start_collective(&c, ESPI_FN_Alltoallv, own);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < PEERS; i++)
            ck_assert(as_bytes((espi_word)((const int *)c.changed[1 + 4 * side])[i], c.changed[3 + 4 * side], BYTES));
    end_collective(&c);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "stream_collective", alltoall, forms, one_side, alltoallw, alltoallv);
}
