#include "mpi/real.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct espi_real espi_real;

static const struct {
    const char *name;
    size_t offset;
} rows[] = {
#define ESPI_REAL(name) {"PMPI_" #name, offsetof(struct espi_real, name)},
#define ESPI_REAL_X(name) {"PMPIX_" #name, offsetof(struct espi_real, x_##name)},
#include "mpi/real.def"
#undef ESPI_REAL
#undef ESPI_REAL_X
};

static void *mpi;

const char *espi_real_load(void *library)
{
    mpi = library;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *symbol = dlsym(library, rows[i].name);
        if (!symbol)
            return rows[i].name;
        memcpy((char *)&espi_real + rows[i].offset, &symbol, sizeof symbol);
    }
    return NULL;
}

void (*espi_real_find(const char *name))(void)
{
    char symbol[64] = "P";
    void (*function)(void) = NULL;
    strncat(symbol, name, sizeof symbol - 2);
    void *found = dlsym(mpi, symbol);
    memcpy(&function, &found, sizeof function);
    return function;
}
