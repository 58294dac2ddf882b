/* The core's door: what the stub finds by dlsym. */
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "mpi/core/api_table.h"
#include "mpi/entry/handlers.h"
#include "mpi/entry/lifecycle.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/handle_table.h"
#include "mpi/comm/world.h"
#include "stats/stats.h"

__attribute__((visibility("default"))) const struct espi_core *espi_core_start(const struct espi_stub *stub);

static const struct espi_core core = {ESPI_ABI_VERSION, espi_core_handlers};
static const struct espi_core refusal = {0, NULL}; /* the stub says that the versions differ */

/* The version that the library reports must be the one whose handles and headers the core was built with. */
static bool version_is_ours(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    const char *found = "?";
    size_t digits = 1;
    if (espi_pmpi.Get_library_version(text, &length) == MPI_SUCCESS && strncmp(text, "MPICH Version:", 14) == 0) {
        found = text + 14 + strspn(text + 14, " \t");
        digits = strcspn(found, " \t\n");
        if (digits == strlen(MPICH_VERSION) && memcmp(found, MPICH_VERSION, digits) == 0)
            return true;
    }
    espi_log(ESPI_LOG_WARN,
             "the MPI library in this program (version %.*s) is not the one Espalier was built for (MPICH %s): every "
             "call passes through untouched",
             (int)(digits < 60 ? digits : 60), found, MPICH_VERSION);
    return false;
}

const struct espi_core *espi_core_start(const struct espi_stub *stub)
{
    if (!stub || stub->version != ESPI_ABI_VERSION)
        return &refusal;
    const char *missing = espi_pmpi_open(stub->mpi);
    if (missing) {
        espi_log(ESPI_LOG_WARN, "the MPI library has no %s: every call passes through untouched", missing);
        return NULL;
    }
    if (!version_is_ours())
        return NULL;
    espi_stats_start(espi_api_name, ESPI_FN_COUNT);
    espi_world_start(stub->is_last);
    espi_handle_table_share(stub->hot, stub->refresh);
    espi_lifecycle_prepare();
    return &core;
}
