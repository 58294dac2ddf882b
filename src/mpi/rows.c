/* api.def as data. */
#include "mpi/dispatch.h"

#define ESPI_NONE
#define ESPI_TYPED(shape, at_root, buffer, count, type) {shape, at_root, buffer, count, type, -1, -1, -1, -1},
#define ESPI_ONE(buffer, count, type) ESPI_TYPED(ESPI_SHAPE_ONE, false, buffer, count, type)
#define ESPI_V(buffer, counts, type) ESPI_TYPED(ESPI_SHAPE_V, false, buffer, counts, type)
#define ESPI_W(buffer, counts, types) ESPI_TYPED(ESPI_SHAPE_W, false, buffer, counts, types)
#define ESPI_ONE_AT_ROOT(buffer, count, type) ESPI_TYPED(ESPI_SHAPE_ONE, true, buffer, count, type)
#define ESPI_V_AT_ROOT(buffer, counts, type) ESPI_TYPED(ESPI_SHAPE_V, true, buffer, counts, type)
#define ESPI_SEND(buffer, count, type, dest, tag) {ESPI_SHAPE_ONE, false, buffer, count, type, dest, tag, -1, -1},
#define ESPI_RECV(buffer, count, type, source, tag) {ESPI_SHAPE_ONE, false, buffer, count, type, -1, -1, source, tag},
#define ESPI_BOTH_WAYS(buffer, count, type, dest, sendtag, source, recvtag)                                          \
    {ESPI_SHAPE_ONE, false, buffer, count, type, dest, sendtag, source, recvtag},
#define ESPI_TARGET(count, type, rank) ESPI_TYPED(ESPI_SHAPE_ONE, false, -1, count, type)

const struct espi_row espi_rows[ESPI_FN_COUNT] = {
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    {"MPI_" #name, args, ESPI_API_##treatment, large, comm, root, kind, reason,                                      \
     {__VA_ARGS__{ESPI_SHAPE_NONE, false, -1, -1, -1, -1, -1, -1, -1}}},
#include "api.def"
#undef ESPI_API
};

const char *const espi_row_names[ESPI_FN_COUNT] = {
#define ESPI_API(name, ...) "MPI_" #name,
#include "api.def"
#undef ESPI_API
};
