/* A reduction in pieces in which a piece fails on the way (src/mpi/reduce/in_pieces.c): one process. */
#include <check.h>
#include <mpi.h>
#include <stdatomic.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/comm/self_comm.h"
#include "mpi/comm/world.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/reduce/reduce.h"
#include "mpi/typeplan/type_cache.h"
#include "suite.h"
#include "type_service.h"

enum { SALT = 3, STRIDE = 2 + SALT, INTS = 24, COPIES = 1000 };

static int in[COPIES * STRIDE * INTS], out[COPIES * STRIDE * INTS];
static int packs; /* that succeed */
static int begun; /* pieces that are not waited for yet */

static int pack(const void *from, MPI_Count count, MPI_Datatype type, void *to, MPI_Count size, MPI_Count *at,
                MPI_Comm comm)
{
    return packs-- > 0 ? PMPI_Pack_c(from, count, type, to, size, at, comm) : MPI_ERR_OTHER;
}

static int allreduce(const void *from, void *to, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                     MPI_Request *request)
{
    begun++;
    return PMPI_Iallreduce_c(from, to, count, type, op, comm, request);
}

static int wait_for_begun(MPI_Request *request, MPI_Status *status)
{
    ck_assert_int_gt(begun, 0);
    begun--;
    return PMPI_Wait(request, status);
}

/* A piece that could not be packed was not begun, and is not waited for; those before it are. */
START_TEST(piece_not_packed)
{
    int rc;

    espi_settings_defaults(&espi_settings);
    espi_settings.reduce_piece_kb = 16;
    start(ESPI_MODE_ALWAYS);
    espi_comm_cache_start(true);
    espi_self_comm();
    MPI_Datatype type = regular_ints(SALT);
    const struct espi_pmpi real = espi_pmpi;
    espi_pmpi.Pack_c = pack;
    espi_pmpi.Iallreduce_c = allreduce;
    espi_pmpi.Wait = wait_for_begun;
    espi_world.open = true;
    atomic_store(&espi_world.all_present, ESPI_ALL_PRESENT_YES);
    const struct espi_large large = {.fn = ESPI_FN_Allreduce, .comm = MPI_COMM_WORLD, .op = MPI_SUM, .size = 1,
                                     .base = MPI_INT, .type = type, .unit = sizeof(int), .elements = COPIES * INTS,
                                     .copies = COPIES, .in = in, .out = out, .gaps = true};
    for (int good = 0; good < 4; good++) {
        packs = good;
        ck_assert(espi_reduce_in_pieces(&large, &rc));
        ck_assert_int_eq(rc, MPI_ERR_OTHER);
        ck_assert_int_eq(begun, 0);
    }
    espi_world.open = false;
    atomic_store(&espi_world.all_present, ESPI_ALL_PRESENT_UNKNOWN);
    espi_pmpi = real;
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
    espi_self_stop();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "reduce_pieces", piece_not_packed);
}
