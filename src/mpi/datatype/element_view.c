#include "mpi/datatype/element_view.h"

#include "mpi/datatype/decode.h"
#include "mpi/core/pmpi.h"
#include "mpi/datatype/ops.h"

bool espi_elements_of_base(espi_base base, struct espi_elements *view)
{
    MPI_Datatype handle = espi_base_handle(base);
    MPI_Count lb, extent, size;
    if (handle == MPI_DATATYPE_NULL || espi_pmpi.Type_get_extent_c(handle, &lb, &extent) ||
        espi_pmpi.Type_size_c(handle, &size) || lb != 0 || extent <= 0)
        return false;
    *view = (struct espi_elements){.base = handle, .ops = espi_reduce_ops_of(espi_base_info(base)->name), .each = 1,
                                   .unit = extent, .extent = extent, .padded = size != extent, .run = true,
                                   .dense = true};
    return true;
}

void espi_elements_look(MPI_Datatype type, struct espi_elements *view)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded decoded;
    int64_t start, entries;
    view->base = MPI_DATATYPE_NULL;
    if (espi_decode(&arena, type, 0, &decoded) ||
        !espi_elements_of_base(espi_node_single_base(decoded.tree), view))
        goto out;
    view->each = decoded.tree->entries;
    view->extent = decoded.extent;
    view->run = espi_node_run(decoded.tree, view->unit, &start, &entries);
    view->start = view->run ? start : 0;
    view->dense = view->run && decoded.extent == view->each * view->unit;
out:
    espi_arena_release(&arena);
}
