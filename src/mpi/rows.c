/* api.def as data. */
#include "mpi/rows.h"

const struct espi_row espi_rows[ESPI_FN_COUNT] = {
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    {args, ESPI_API_##treatment, large, comm, root, kind, {__VA_ARGS__ ESPI_TYPED_END}},
#include "api.def"
#undef ESPI_API
};

const char *const espi_row_names[ESPI_FN_COUNT] = {
#define ESPI_API(name, ...) "MPI_" #name,
#include "api.def"
#undef ESPI_API
};
