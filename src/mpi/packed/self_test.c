#include "mpi/packed/self_test.h"

#include <mpi.h>
#include <string.h>

#include "mpi/comm/self_comm.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/status_bytes.h"
#include "mpi/datatype/decode.h"
#include "pack/pack.h"

enum { ITEMS = 3, ROOM = 1024, TYPES = 3 };

static int make_type(int which, MPI_Datatype *type)
{
    static const int disp[5] = {9, 0, 3, 14, 5}; /* not in the order of memory */

    if (which == 0)
        return espi_pmpi.Type_vector(5, 2, 7, MPI_DOUBLE, type);
    if (which == 1)
        return espi_pmpi.Type_create_indexed_block(5, 1, disp, MPI_FLOAT_INT, type);
    return espi_pmpi.Type_create_struct(3, (const int[]){3, 1, 2}, (const MPI_Aint[]){1, 8, 24},
                                        (const MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_SHORT_INT}, type);
}

/* 1: the bytes are the same; 0: they differ, or MPI refuses; -1: there was no memory to find out. */
static int agrees(MPI_Datatype type, MPI_Comm comm)
{
    char data[ROOM], back[2][ROOM], stream[2][ROOM];
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_pack *pack;
    struct espi_decoded layout;
    int at = 0, end = 0, same = 0;
    espi_status status;

    for (int i = 0; i < ROOM; i++)
        data[i] = (char)(i * 31 + i / 256);
    memset(back, 0x5a, sizeof back);
    memset(stream, 0, sizeof stream);
    if ((status = espi_decode(&arena, type, 0, &layout)) == ESPI_OK &&
        (status = espi_pack_compile(&arena, layout.tree, layout.extent, &pack)) == ESPI_OK &&
        espi_pmpi.Pack(data, ITEMS, type, stream[0], ROOM, &at, comm) == MPI_SUCCESS &&
        at == ITEMS * espi_pack_size(pack)) {
        espi_pack_run(pack, data, ITEMS, stream[1]);
        espi_unpack_run(pack, stream[1], back[1], ITEMS);
        same = espi_pmpi.Unpack(stream[0], at, &end, back[0], ITEMS, type, comm) == MPI_SUCCESS &&
               memcmp(stream[0], stream[1], ROOM) == 0 && memcmp(back[0], back[1], ROOM) == 0;
    }
    espi_arena_release(&arena);
    return status == ESPI_ERR_MEMORY ? -1 : same;
}

/* What a status of many bytes says is what is read from it (status_bytes.h). */
static bool reads_status(void)
{
    const int64_t bytes[] = {0, 4711, INT32_MAX + (int64_t)9, 5 * (INT64_C(1) << 32) + 7};
    MPI_Status status;

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        memset(&status, 0x5a, sizeof status);
        if (espi_pmpi.Status_set_elements_x(&status, MPI_PACKED, bytes[i]) != MPI_SUCCESS ||
            espi_pmpi.Status_set_cancelled(&status, i % 2 == 0) != MPI_SUCCESS ||
            espi_status_bytes(&status) != bytes[i])
            return false;
    }
    return true;
}

bool espi_packed_self_test(void)
{
    static int known = -1;
    MPI_Comm comm = known < 0 ? espi_self_for_packing() : MPI_COMM_NULL;

    if (known >= 0 || comm == MPI_COMM_NULL)
        return known > 0;
    known = reads_status();
    for (int i = 0; i < TYPES && known > 0; i++) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        known = make_type(i, &type) == MPI_SUCCESS && espi_pmpi.Type_commit(&type) == MPI_SUCCESS
                    ? agrees(type, comm)
                    : 0;
        if (type != MPI_DATATYPE_NULL)
            espi_pmpi.Type_free(&type);
    }
    return known > 0;
}
