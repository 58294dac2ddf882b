/*
 * The tree of a lease is made for the sizes that hold when the lease begins, also where they changed while the
 * library had its turn. Plays the root of a gather without other ranks: what would go to them is looked at here.
 */
#include <check.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "mpi/gather/lease.h"
#include "mpi/core/pmpi.h"
#include "random_types.h"
#include "suite.h"

enum { RANKS = 8 };

static int64_t sent[RANKS]; /* the sizes that came with the last tree */
static long trees;

static int bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)data;
    (void)count;
    (void)type;
    (void)root;
    (void)comm;
    return MPI_SUCCESS;
}

/* A plan that is handed down: rank 0 has the first place. */
static int scatter(const void *from, int count, MPI_Datatype type, void *to, int count_to, MPI_Datatype type_to,
                   int root, MPI_Comm comm)
{
    (void)type;
    (void)count_to;
    (void)type_to;
    (void)root;
    (void)comm;
    memcpy(to, from, (size_t)count * sizeof(int32_t));
    memset(sent, 0, sizeof sent);
    trees++;
    return MPI_SUCCESS;
}

/* A child's part. */
static int isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    const struct espi_tree_record *records = data;
    (void)type;
    (void)comm;
    ck_assert_int_eq(tag, ESPI_TAG_PLAN);
    ck_assert_int_eq(records[0].rank, to);
    for (size_t i = 0; i < (size_t)count / sizeof *records; i++)
        sent[records[i].rank] = records[i].size;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* Of one rank. */
static int reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    (void)op;
    (void)root;
    (void)comm;
    memcpy(to, from, (size_t)count * (type == MPI_INT ? sizeof(int) : sizeof(double)));
    return MPI_SUCCESS;
}

static int allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return reduce(from, to, count, type, op, 0, comm);
}

/* Sizes change a little now and then; and at times with every call and a lot, so that the library has some leases,
   within which they settle. Whether they changed. */
static bool change(int64_t *sizes, int call)
{
    bool wild = call % 1000 >= 300 && call % 1000 < 360;
    if (!wild && random_below(12) != 0)
        return false;
    for (int i = 0; i < RANKS; i++)
        if (wild || random_below(RANKS) == 0)
            sizes[i] = 1000 + (int64_t)random_below(wild ? 100000 : 60);
    return true;
}

START_TEST(made_anew)
{
    long leases = 0, changed = 0, by_library = 0;
    struct espi_commtree_model model = {1e-4, 1e-9, 0, 0, false};
    struct espi_settings settings;
    espi_settings_defaults(&settings);
    espi_pmpi.Bcast = bcast;
    espi_pmpi.Reduce = reduce;
    espi_pmpi.Allreduce = allreduce;
    espi_pmpi.Scatter = scatter;
    espi_pmpi.Isend = isend;
    for (int run = 0; run < 200; run++) {
        struct espi_lease lease = {.family = ESPI_LEASE_GATHERV, .unmeasured = true};
        struct espi_lease_comm comm = {.own = MPI_COMM_SELF, .size = RANKS};
        int64_t sizes[RANKS];
        bool moved = false; /* while the library had a lease, after a tree was made */
        for (int i = 0; i < RANKS; i++)
            sizes[i] = 1000;
        lease.method = lease.now = ESPI_METHOD_LIBRARY;
        for (int call = 0; call < 3000; call++) {
            bool began = false;
            if (change(sizes, call))
                moved = moved || (lease.method == ESPI_METHOD_LIBRARY && lease.plan.ranks != NULL);
            if (lease.state == ESPI_LEASE_HOLDS)
                espi_lease_turn(&lease, &comm, call);
            if (lease.state == ESPI_LEASE_HOLDS ? espi_lease_end(&lease) <= call
                                                : espi_lease_asks(&lease, &comm, &model, &settings, sizes)) {
                espi_lease_renew(&lease, &comm, &model, &settings, sizes, call, 1);
                began = true;
            }
            if (lease.method == ESPI_METHOD_LIBRARY) {
                by_library++;
            } else if (began) {
                leases++;
                changed += moved;
                moved = false;
                sent[0] = sizes[0]; /* the root's own */
                ck_assert_msg(memcmp(sent, sizes, sizeof sent) == 0, "run %d, call %d: a tree of other sizes", run,
                              call);
            }
            double noise = 1 + 0.02 * (double)random_below(100) / 100;
            lease.calls++;
            espi_lease_compare(&lease, RANKS, sizes);
            espi_lease_took(&lease, (lease.now == ESPI_METHOD_LIBRARY ? 1e-3 : 8e-4) * noise);
        }
        espi_lease_release(&lease);
    }
    printf("lease_sizes: %ld trees, %ld leases by a tree, before %ld of them sizes changed while the library had its "
           "turn; %ld calls by the library\n",
           trees, leases, changed, by_library);
    ck_assert_int_gt(changed, 100);
    ck_assert_int_gt(by_library, 1000);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "lease_sizes", made_anew);
}
