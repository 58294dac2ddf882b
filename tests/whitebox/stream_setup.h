/* What tests of calls that send their stream cell by cell share (src/mpi/packed/stream_type.h). One process; the
   library says that it is one over UCX, whatever it is. */
#ifndef ESPI_TESTS_WHITEBOX_STREAM_SETUP_H
#define ESPI_TESTS_WHITEBOX_STREAM_SETUP_H

#include <check.h>
#include <mpi.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/packed/stream_type.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

/* Items and bytes of messages that go in cells, and of ones that fit into one. */
enum { SIZE = 24 * sizeof(int), COUNT = 100, BYTES = COUNT * SIZE, FEW = 85, PEERS = 2, MB = 1 << 20 };

static char from[1 << 18], onto[1 << 18];
static MPI_Datatype type; /* 24 integers */
static MPI_Aint extent;   /* of it */
static struct espi_thread_state *thread_state;
static MPI_Request request;
static MPI_Status status;

static void look_up(void)
{
    ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
    thread_state->comm.peers = thread_state->comm.in = thread_state->comm.out = PEERS;
    thread_state->comm.near = ESPI_NEAR_ALL;
}

struct call {
    struct espi_substitution d;
    espi_word args[12], changed[12];
};

static void start_call_of(MPI_Datatype of, struct call *c, enum espi_fn fn, int count)
{
    const struct espi_api_row *row = &espi_api_rows[fn];

    *c = (struct call){.args = {(espi_word)from, (espi_word)count, of, 0, 1, MPI_COMM_SELF}};
    if (row->args == 7)
        c->args[6] = row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT) ? (espi_word)&request : (espi_word)&status;
    if (fn == ESPI_FN_Sendrecv_replace) {
        const espi_word args[] = {(espi_word)from, (espi_word)count, of, 0, 1, 0, 1, MPI_COMM_SELF,
                                  (espi_word)&status};
        memcpy(c->args, args, sizeof args);
    }
    memcpy(c->changed, c->args, sizeof c->changed);
    c->d = (struct espi_substitution){.thread = &own_thread, .thread_state = thread_state, .row = row,
                                      .args = c->args, .changed = c->changed};
    espi_substitute_begin(&c->d);
}

/* The type has been used in a message of so many. No better type is made, so that all is packed from then on. */
static void use_once(MPI_Datatype used, int count)
{
    struct call c;

    espi_own_types_close();
    start_call_of(used, &c, ESPI_FN_Send, count);
    ck_assert_int_eq(c.changed[2], MPI_PACKED);
    espi_substitute_end(&c.d, MPI_SUCCESS);
    espi_own_types_open(true);
    atomic_store(&espi_slot_of(used)->look, 1000);
}

static void begin(void)
{
    MPI_Aint lb;

    espi_settings_defaults(&espi_settings);
    espi_settings.pack_mb = 1;
    espi_calls_overlap = false;
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_type_service.one_node = true;
    espi_comm_cache_start(true);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    type = regular_ints(3);
    thread_state = espi_thread_state(&own_thread);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + i / 512);
    MPI_Type_get_extent(type, &lb, &extent);
    use_once(type, 3 * COUNT);
    look_up();
    ck_assert_int_eq(held_types(), 0);
    start_cells();
}

static void end(void)
{
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 0);
    MPI_Type_free(&type);
    thread_state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    espi_comm_cache_stop();
    espi_types_stop();
}

/* Whether MPI is given one item of a type of ours that has so many bytes, and a place more where it is split. */
static bool in_cells(espi_word count, espi_word seen, int bytes, enum espi_stream_form form)
{
    const MPI_Aint places = bytes + (form == ESPI_STREAM_SPLIT);
    MPI_Aint lb, whole, true_lb, true_one;
    int size = 0;

    if (seen == (espi_word)MPI_PACKED || seen == (espi_word)type || count != 1 ||
        MPI_Type_size((MPI_Datatype)seen, &size) != MPI_SUCCESS)
        return false;
    MPI_Type_get_extent((MPI_Datatype)seen, &lb, &whole);
    MPI_Type_get_true_extent((MPI_Datatype)seen, &true_lb, &true_one);
    return size == bytes && lb == 0 && whole == places && true_lb == 0 && true_one == places;
}

static bool as_bytes(espi_word count, espi_word seen, int bytes)
{
    return seen == (espi_word)MPI_PACKED && count == (espi_word)bytes;
}

/* Whether no type is out or under way, as what is in no call is freed, and no buffer in use. */
static bool all_are_back(void)
{
    espi_stream_types_give_back();
    return held_types() == 0 && spare_bytes() == MB;
}

#endif
