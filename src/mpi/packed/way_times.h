/* Some times of one way that messages go, in one kind of calls (message_ways.h). Pure. */
#ifndef ESPI_MPI_PACKED_WAY_TIMES_H
#define ESPI_MPI_PACKED_WAY_TIMES_H

#include <stdbool.h>

enum { ESPI_WAY_TIMES = 24 };

struct espi_way_times {
    float ns[ESPI_WAY_TIMES]; /* of 2^20 bytes */
    int n;
};

/* The median of the n > 0 times. */
float espi_way_middle(const struct espi_way_times *times);
/* Their mean without the greatest ones, one of up to six. */
float espi_way_mean(const struct espi_way_times *times);
/* The least of them, or the second least. */
float espi_way_least(const struct espi_way_times *times, bool second);

#endif
