#include "mpi/datatype/element_view.h"

#include "mpi/datatype/decode.h"
#include "mpi/core/pmpi.h"
#include "mpi/datatype/ops.h"

void espi_elements_look(MPI_Datatype type, struct espi_elements *view)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded decoded;
    MPI_Count lb, unit, size;
    int64_t start, entries;
    view->base = MPI_DATATYPE_NULL;
    if (espi_decode(&arena, type, 0, &decoded))
        goto out;
    espi_base base = espi_node_single_base(decoded.tree);
    if (base == ESPI_BASE_NONE)
        goto out;
    MPI_Datatype handle = espi_base_handle(base);
    if (handle == MPI_DATATYPE_NULL || espi_pmpi.Type_get_extent_c(handle, &lb, &unit) ||
        espi_pmpi.Type_size_c(handle, &size) || lb != 0 || unit <= 0)
        goto out;
    view->ops = espi_reduce_ops_of(espi_base_info(base)->name);
    view->unit = unit;
    view->padded = size != unit;
    view->each = decoded.tree->entries;
    view->extent = decoded.extent;
    view->run = espi_node_run(decoded.tree, unit, &start, &entries);
    view->start = view->run ? start : 0;
    view->dense = view->run && decoded.extent == view->each * unit;
    view->base = handle;
out:
    espi_arena_release(&arena);
}
