#include "layout/layout.h"

#include <stdlib.h>
#include <string.h>

espi_status espi_typemap_reserve(struct espi_typemap *map, size_t n)
{
    if (n <= map->capacity) {
        return ESPI_OK;
    }
    if (n > SIZE_MAX / sizeof *map->disp) {
        return ESPI_ERR_MEMORY;
    }
    int64_t *disp = realloc(map->disp, n * sizeof *disp);
    if (disp == NULL) {
        return ESPI_ERR_MEMORY;
    }
    map->disp = disp; /* larger than the capacity says, should the next step fail */
    espi_base *base = realloc(map->base, n * sizeof *base);
    if (base == NULL) {
        return ESPI_ERR_MEMORY;
    }
    map->base = base;
    map->capacity = n;
    return ESPI_OK;
}

espi_status espi_typemap_append(struct espi_typemap *map, espi_base base, int64_t disp)
{
    if (map->n == map->capacity) {
        espi_status status = espi_typemap_reserve(map, map->capacity < 16 ? 16 : map->capacity * 2);
        if (status != ESPI_OK) {
            return status;
        }
    }
    map->disp[map->n] = disp;
    map->base[map->n] = base;
    map->n++;
    return ESPI_OK;
}

bool espi_typemap_equal(const struct espi_typemap *a, const struct espi_typemap *b)
{
    return a->n == b->n && (a->n == 0 || (memcmp(a->disp, b->disp, a->n * sizeof *a->disp) == 0 &&
                                          memcmp(a->base, b->base, a->n * sizeof *a->base) == 0));
}

void espi_typemap_release(struct espi_typemap *map)
{
    free(map->disp);
    free(map->base);
    *map = ESPI_TYPEMAP_INIT;
}
