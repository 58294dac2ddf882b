#include "mpi/core/api_table.h"

#include "mpi/core/buffer_args.h"

const struct espi_api_row espi_api_rows[ESPI_FN_COUNT] = {
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    {args, ESPI_API_##treatment, large, comm, root, kind, {__VA_ARGS__ ESPI_TYPED_END}},
#include "api.def"
#undef ESPI_API
};

/* Characters and not pointers, which the loader would have to write in every process. */
enum { NAME = 40 };
static const char names[ESPI_FN_COUNT][NAME] = {
#define ESPI_API(name, ...) "MPI_" #name,
#include "api.def"
#undef ESPI_API
};

#define ESPI_API(name, ...) _Static_assert(sizeof "MPI_" #name <= NAME, "it ends");
#include "api.def"
#undef ESPI_API

const char *espi_api_name(size_t fn)
{
    return names[fn];
}
