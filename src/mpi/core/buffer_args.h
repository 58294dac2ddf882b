/* The forms of api.def's last column as initializers of struct espi_buffer_args (api_table.h). */
#ifndef ESPI_MPI_CORE_BUFFER_ARGS_H
#define ESPI_MPI_CORE_BUFFER_ARGS_H

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
#define ESPI_TYPED_END {ESPI_SHAPE_NONE, false, -1, -1, -1, -1, -1, -1, -1}

#endif
