#include "mpi/packed/way_times.h"

static void sort(const struct espi_way_times *t, float sorted[ESPI_WAY_TIMES])
{
    for (int i = 0; i < t->n; i++) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > t->ns[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = t->ns[i];
    }
}

float espi_way_middle(const struct espi_way_times *t)
{
    float sorted[ESPI_WAY_TIMES];

    sort(t, sorted);
    return sorted[(t->n - 1) / 2]; /* of two the least: what disturbs a call makes it longer */
}

float espi_way_mean(const struct espi_way_times *t)
{
    enum { OF = 6 };
    const int rest = t->n > 1 ? t->n - (t->n + OF - 1) / OF : 1;
    float sorted[ESPI_WAY_TIMES], sum = 0;

    sort(t, sorted);
    for (int i = 0; i < rest; i++)
        sum += sorted[i];
    return sum / (float)rest;
}

float espi_way_least(const struct espi_way_times *t, bool second)
{
    float first = t->ns[0], next = t->n > 1 ? t->ns[1] : first;

    for (int i = 1; i < t->n; i++) {
        if (t->ns[i] < first) {
            next = first;
            first = t->ns[i];
        } else if (i == 1 || t->ns[i] < next) {
            next = t->ns[i];
        }
    }
    return second && next > first ? next : first;
}
