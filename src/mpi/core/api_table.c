#include "mpi/core/api_table.h"

#include "mpi/core/buffer_args.h"

const struct espi_api_row espi_api_rows[ESPI_FN_COUNT] = {
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    {args, ESPI_API_##treatment, large, comm, root, kind, {__VA_ARGS__ ESPI_TYPED_END}},
#include "api.def"
#undef ESPI_API
};

static const char *const names[ESPI_FN_COUNT] = {
#define ESPI_API(name, ...) "MPI_" #name,
#include "api.def"
#undef ESPI_API
};

const char *espi_api_name(size_t fn)
{
    return names[fn];
}
