/*
 * What counts as a synchronization, and how often the ranks are asked for leases (src/mpi/gather/agreement.c): rank 0
 * of three in one process, the others played.
 */
#include <check.h>
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/comm/self_comm.h"
#include "mpi/comm/world.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/gather/agreement.h"
#include "mpi/reduce/reduce.h"
#include "mpi/typeplan/type_cache.h"
#include "suite.h"
#include "type_service.h"

enum { RANKS = 3, SALT = 3, ROOM = 24 * (2 + SALT) };

static int in[ROOM], out[ROOM];
static int polls;            /* of roots for leases */
static int steps[2];         /* comparisons of how many calls were made, of either kind */
static bool others_left_out; /* they have made one gather less */
static struct espi_pmpi real;

/* What may fail on this rank, in the place of which it is done. */
static bool no_memory;
static int packing, unpacking;
void *__real_espi_pool_get(size_t size);
void *__wrap_espi_pool_get(size_t size);
int __real_espi_staged_pack(struct espi_staged *staged);
int __wrap_espi_staged_pack(struct espi_staged *staged);
int __real_espi_staged_unpack(struct espi_staged *staged);
int __wrap_espi_staged_unpack(struct espi_staged *staged);

void *__wrap_espi_pool_get(size_t size)
{
    return no_memory ? NULL : __real_espi_pool_get(size);
}

int __wrap_espi_staged_pack(struct espi_staged *staged)
{
    return packing ? packing : __real_espi_staged_pack(staged);
}

int __wrap_espi_staged_unpack(struct espi_staged *staged)
{
    return unpacking ? unpacking : __real_espi_staged_unpack(staged);
}

static int size_of(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = RANKS;
    return MPI_SUCCESS;
}

/* Nobody else asks; as many calls everywhere, or one less on the others. */
static int allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)op, (void)comm;
    if (type == MPI_INT) {
        polls++;
        memcpy(to, from, (size_t)count * sizeof(int));
    } else {
        memcpy(to, from, (size_t)count * sizeof(long long));
        ((long long *)to)[1] += others_left_out;
        steps[((const long long *)from)[0]]++;
    }
    return MPI_SUCCESS;
}

/* The calls of the program. */
static espi_word reduced(espi_word from, espi_word to, espi_word count, espi_word type, espi_word op, espi_word comm)
{
    (void)type, (void)op, (void)comm;
    memcpy((void *)to, (const void *)from, (size_t)count * sizeof(int));
    return MPI_SUCCESS;
}

static espi_word waited(espi_word comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

static struct espi_gather_comm *synchronize(void)
{
    espi_word args[1] = {(espi_word)MPI_COMM_WORLD};
    ck_assert_int_eq((int)espi_agreement_barrier(&own_thread, ESPI_FN_Barrier, args, (espi_next)waited), MPI_SUCCESS);
    return espi_thread_state(&own_thread)->gather_comm.state;
}

static int sum(MPI_Datatype type)
{
    espi_word args[6] = {(espi_word)in,   (espi_word)out,     1,
                         (espi_word)type, (espi_word)MPI_SUM, (espi_word)MPI_COMM_WORLD};
    int class = MPI_SUCCESS;
    int rc = (int)espi_agreement_allreduce(&own_thread, ESPI_FN_Allreduce, args, (espi_next)reduced);
    if (rc)
        MPI_Error_class(rc, &class);
    return class;
}

static void begin(enum espi_setting which, const char *value)
{
    espi_settings_defaults(&espi_settings);
    ck_assert_int_eq(espi_settings_set(&espi_settings, which, value), ESPI_OK);
    start(ESPI_MODE_ALWAYS);
    espi_comm_cache_start(true);
    espi_self_comm();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    real = espi_pmpi;
    espi_pmpi.Comm_size = size_of;
    espi_pmpi.Allreduce = allreduce;
    espi_world.trees = true;
    espi_gather_comms_start();
    atomic_store(&espi_running, true);
    polls = 0;
}

static void end(void)
{
    espi_gather_comm_ends(&espi_thread_state(&own_thread)->comm);
    espi_gather_comms_stop();
    espi_world.trees = false;
    espi_pmpi = real;
    atomic_store(&espi_running, false);
    espi_comm_cache_stop();
    espi_types_stop();
    espi_self_stop();
}

/* A rank whose memory is short before MPI has seen the call calls again, while the others still wait for it; one that
   fails after it does not. */
START_TEST(what_counts)
{
    begin(ESPI_SETTING_collectives, "always");
    MPI_Datatype type = regular_ints(SALT);
    struct espi_gather_comm *state = synchronize();
    ck_assert_int_eq(state->syncs, 1);
    no_memory = true;
    ck_assert_int_eq(sum(type), MPI_ERR_NO_MEM);
    ck_assert_int_eq(state->syncs, 1);
    no_memory = false;
    packing = MPI_ERR_OTHER;
    ck_assert_int_eq(sum(type), MPI_ERR_OTHER);
    ck_assert_int_eq(state->syncs, 1);
    packing = MPI_SUCCESS;
    ck_assert_int_eq(sum(type), MPI_SUCCESS);
    ck_assert_int_eq(state->syncs, 2);
    unpacking = MPI_ERR_BUFFER;
    ck_assert_int_eq(sum(type), MPI_ERR_BUFFER);
    ck_assert_int_eq(state->syncs, 3);
    unpacking = MPI_SUCCESS;
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    end();
}
END_TEST

/* A root asks whenever it may, for two kinds of calls. */
static struct espi_gather_comm *root_asks(void)
{
    struct espi_gather_comm *state = synchronize();
    for (int family = 0; family < 2; family++) {
        struct espi_gather_lease *entry = espi_gather_lease_of(state, (enum espi_lease_family)family, 0);
        ck_assert_ptr_ne(entry, NULL);
        state->made[family] = family; /* by which the comparison knows it */
        for (int i = 0; i < RANKS; i++)
            entry->sizes[i] = 1000;
        entry->looked_at = true;
    }
    return state;
}

/* A rank that has left a call out without being noticed: the others go on as natively, but for a word now and then,
   and calls of other kinds are heard. */
START_TEST(out_of_step)
{
    enum { SYNCS = 2000, MOST_POLLS = 24 };
    begin(ESPI_SETTING_tree, "binomial");
    struct espi_gather_comm *state = root_asks();
    others_left_out = true;
    for (int i = 0; i < SYNCS; i++)
        synchronize();
    ck_assert_int_le(polls, MOST_POLLS);
    ck_assert_int_ge(steps[0], 2);
    ck_assert_int_ge(steps[1], 2);
    /* They have made the missing call: the lease is opened, and ends at once, as there is no communicator for it. */
    others_left_out = false;
    for (int i = 0; i < 4 * SYNCS; i++)
        synchronize();
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(espi_gather_lease_find(state, (enum espi_lease_family)i, 0)->lease.state, ESPI_LEASE_ENDED);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "agreement", what_counts, out_of_step);
}
