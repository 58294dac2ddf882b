/* A library that looks like another MPI: pointer handles, its own version text, a handful of functions. */
#include <stdio.h>

#include "fake.h"

struct fake_type {
    int size;
};
static struct fake_type double_type = {8};
void *fake_double = &double_type;

#define BOTH(name, parameters, ...)                                                                                  \
    __attribute__((visibility("default"))) int MPI_##name parameters __VA_ARGS__                                     \
    __attribute__((visibility("default"))) int PMPI_##name parameters __VA_ARGS__

BOTH(Init, (int *argc, char ***argv), {
    (void)argc;
    (void)argv;
    return 0;
})
BOTH(Finalize, (void), { return 0; })
BOTH(Get_library_version, (char *text, int *length), {
    *length = sprintf(text, "Fake MPI 1.0");
    return 0;
})
BOTH(Pack_size, (int count, void *type, void *comm, int *size), {
    (void)comm;
    *size = count * ((struct fake_type *)type)->size;
    return 0;
})
