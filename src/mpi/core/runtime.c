#include "mpi/core/runtime.h"

#include <stddef.h>

atomic_bool espi_running;
struct espi_settings espi_settings;
static bool (*starter)(void);

void espi_runtime_starter(bool (*start)(void))
{
    starter = start;
}

bool espi_start_late(void)
{
    return starter != NULL && starter();
}
