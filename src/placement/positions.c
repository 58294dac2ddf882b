/* Positions on several axes, which do not depend on each other. */
#include <stdlib.h>
#include <string.h>

#include "placement/file.h"
#include "placement/internal.h"

espi_status espi_place_positions_choose(struct espi_place_positions *positions, size_t max_bytes, double *cost)
{
    struct espi_place_spot *made[ESPI_PLACE_AXES] = {NULL};
    size_t bytes = (size_t)positions->nodes * sizeof **made;
    espi_status status = ESPI_OK;
    double sum = 0, one;

    for (int x = 0; x < positions->axes && status == ESPI_OK; x++) {
        made[x] = espi_place_array((size_t)positions->nodes, sizeof **made);
        if (made[x] == NULL) {
            status = ESPI_ERR_MEMORY;
            break;
        }
        memcpy(made[x], positions->spot[x], bytes);
        status = espi_place_spots(positions->space, positions->around[x], made[x], positions->nodes, max_bytes, &one);
        sum += status == ESPI_OK ? one : 0;
    }
    for (int x = 0; x < positions->axes; x++) {
        if (status == ESPI_OK)
            memcpy(positions->spot[x], made[x], bytes);
        free(made[x]);
    }
    *cost = sum;
    return status;
}

double espi_place_positions_move(const struct espi_place_positions *positions, int node)
{
    double sum = 0;
    for (int x = 0; x < positions->axes && positions->spot[x][node].parent >= 0; x++)
        sum += espi_place_spot_move(positions->space, positions->around[x], positions->spot[x], node);
    return sum;
}
