/* Not compiled: the preprocessor makes the linker's export map of the stub from it. */
#define ESPI_EXPORTED_LIFE(name) MPI_##name; PMPI_##name;
#define ESPI_EXPORTED_SUBSTITUTE(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_TREE(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_EXCHANGE(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_REDUCE(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_SYNC(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_SYNC_REDUCE(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_COUNT(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_MAKE(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_GUARD(name) ESPI_EXPORTED_LIFE(name)
#define ESPI_EXPORTED_LEAVE(name)
#define ESPI_API(name, args, large, treatment, ...) ESPI_EXPORTED_##treatment(name)
{
global:
#include "api.def"
local:
    *;
};
