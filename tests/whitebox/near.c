/*
 * Which ranks of a communicator are known to be on a rank's node (src/mpi/comm/comm_cache.h), by a mapping that a
 * launcher might have told: every rank of every communicator here is asked about and held against the mapping. Four
 * ranks; says what is wrong. tests/mpi/run-near runs it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "job/nodes.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/comm/world.h"
#include "mpi/core/handle_table.h"
#include "setup.h"

static struct espi_hot hot;
static int rank, size, wrong, asked;

/* What `own` and `other`, ranks of MPI_COMM_WORLD, are to each other. */
static int together(const char *mapping, int own, int other)
{
    return mapping != NULL && espi_job_node_of(own) == espi_job_node_of(other);
}

static void check(MPI_Comm comm, const char *mapping, const char *what)
{
    struct espi_comm_facts facts = {.comm = MPI_COMM_NULL}, later = {.comm = MPI_COMM_NULL};
    MPI_Group members, all;
    int peers, world, near_all = 1;

    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_size(comm, &peers);
    MPI_Comm_group(comm, &members);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (!espi_comm_look(&facts, comm))
        wrong++;
    for (int peer = 0; peer < peers; peer++) {
        MPI_Group_translate_ranks(members, 1, &peer, all, &world);
        asked++;
        const int near = together(mapping, rank, world);
        near_all = near_all && near;
        if (!espi_comm_look(&later, comm) || espi_comm_is_near(&facts, peer) != (near && mapping != NULL) ||
            espi_comm_is_near(&later, peer) != espi_comm_is_near(&facts, peer)) {
            /* Alone on its node a rank has nobody near, which it is itself. */
            if (world == rank && facts.near == ESPI_NEAR_NONE)
                continue;
            printf("rank %d, %s, %s: %d\n", rank, mapping != NULL ? mapping : "no mapping", what, peer);
            wrong++;
        }
    }
    if (espi_comm_is_near(&facts, MPI_ANY_SOURCE) != near_all || espi_comm_is_near(&facts, peers + 64)) {
        if (facts.near != ESPI_NEAR_ALL) { /* where all are, whoever is asked about is */
            printf("rank %d, %s, %s: any\n", rank, mapping != NULL ? mapping : "no mapping", what);
            wrong++;
        }
    }
    MPI_Group_free(&members);
    MPI_Group_free(&all);
}

static void check_all(const char *mapping)
{
    MPI_Comm reversed, some, twin;

    espi_job_nodes_learn(mapping);
    espi_comm_cache_start(true);
    check(MPI_COMM_WORLD, mapping, "world");
    check(MPI_COMM_SELF, mapping, "self");
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &some);
    check(reversed, mapping, "reversed");
    check(some, mapping, "some");
    MPI_Comm_free(&some);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &twin); /* may get the handle of the one before */
    check(twin, mapping, "twins");
    MPI_Comm_free(&twin);
    MPI_Comm_free(&reversed);
    espi_comm_cache_stop();
}

int main(int argc, char **argv)
{
    static const char *const mappings[] = {"(vector,(0,1,4))", "(vector,(0,2,2))", "(vector,(0,2,1))",
                                           "(vector,(3,4,1))", "(vector,(0,1,3),(5,1,1))", NULL};
    int all_wrong = 0;

    MPI_Init(&argc, &argv);
    types_setup();
    espi_handle_table_share(&hot, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    espi_world.open = true;
    espi_world.rank = rank;
    espi_world.size = size;
    unsetenv("MPI_LOCALNRANKS");
    unsetenv("SLURM_STEP_NUM_NODES");
    for (size_t i = 0; i < sizeof mappings / sizeof *mappings; i++)
        check_all(mappings[i]);
    /* By the environment alone. */
    setenv("MPI_LOCALNRANKS", "4", 1);
    if (size == 4) {
        struct espi_comm_facts facts = {.comm = MPI_COMM_NULL};
        espi_comm_cache_start(true);
        wrong += !espi_comm_look(&facts, MPI_COMM_WORLD) || !espi_comm_is_near(&facts, MPI_ANY_SOURCE);
        espi_comm_cache_stop();
    }
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d passed, %d failed\n", asked, all_wrong);
    MPI_Finalize();
    return wrong != 0;
}
