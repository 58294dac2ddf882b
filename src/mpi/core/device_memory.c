#include "mpi/core/device_memory.h"

#include "base/log.h"
#include "mpi/core/pmpi.h"

static bool is_taken(void)
{
    static const int kinds[] = {MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_ZE, MPIX_GPU_SUPPORT_HIP};
    int supported = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !supported; i++)
        if (espi_pmpi.x_GPU_query_support(kinds[i], &supported) != MPI_SUCCESS)
            supported = 0;
    return supported != 0;
}

void espi_device_memory_look(struct espi_settings *settings, bool speak)
{
    if (!is_taken())
        return;
    settings->datatypes = settings->pack = settings->exchange = settings->collectives = settings->reduce =
        ESPI_MODE_OFF;
    settings->tree = 0; /* by `collectives` */
    if (speak)
        espi_log(ESPI_LOG_WARN, "this MPI library takes data in the memory of GPUs: every call passes through "
                                "untouched (MPIR_CVAR_ENABLE_GPU=0 tells it that there are none)");
}
