#include "commtree/model_fit.h"

#include <math.h>
#include <stdlib.h>

static int smaller(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double espi_lower_quartile(double *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, smaller);
    return value[n / 4];
}

struct espi_line espi_fit_line(int n, const int64_t *size, const double *time)
{
    struct espi_line line = {0, 0, 0, 0};
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (int i = 0; i < n; i++) {
        double x = (double)size[i], y = time[i], weight = y > 0 ? 1 / (y * y) : 0;
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    double determinant = w * wxx - wx * wx;
    if (determinant > 0) {
        line.slope = (w * wxy - wx * wy) / determinant;
        line.start = (wxx * wy - wx * wxy) / determinant;
    }
    if (line.slope < 0 || determinant <= 0) { /* a constant */
        line.slope = 0;
        line.start = w > 0 ? wy / w : 0;
    } else if (line.start < 0) { /* through the origin */
        line.start = 0;
        line.slope = wxx > 0 ? wxy / wxx : 0;
    }
    for (int i = 0; i < n; i++) {
        double error = time[i] > 0 ? fabs(line.start + line.slope * (double)size[i] - time[i]) / time[i] : 0;
        if (error > line.error)
            line.error = error;
        line.squares += error * error;
    }
    return line;
}

int espi_fit_two_lines(int n, const int64_t *size, const double *time, struct espi_line line[2])
{
    int best = n;
    line[0] = line[1] = espi_fit_line(n, size, time);
    for (int k = 3; k + 3 <= n; k++) {
        struct espi_line low = espi_fit_line(k, size, time), high = espi_fit_line(n - k, size + k, time + k);
        if (best == n || low.squares + high.squares < line[0].squares + line[1].squares) {
            line[0] = low;
            line[1] = high;
            best = k;
        }
    }
    return best;
}

double espi_fit_gap(int few, double few_time, int many, double many_time)
{
    return many_time > few_time ? (many_time - few_time) / (many - few) : 0;
}

bool espi_fit_gap_is_odd(double gap, double one_way)
{
    return gap <= 0 || gap > 1.5 * one_way;
}

bool espi_fit_time_is_odd(double small, double large)
{
    return small > 1.1 * large;
}

struct espi_commtree_model espi_fit_model(double one_way, double gap, int n, const int64_t *size, const double *time,
                                          double gamma)
{
    struct espi_commtree_model model = {0, 0, gamma, 0, true};
    double above = 0, below = 0;
    /* A tiny message cannot take longer than a larger one: then it was disturbed more. */
    for (int i = 0; i < n; i++)
        if (time[i] > 0 && time[i] < one_way)
            one_way = time[i];
    /* A gap as long as the way itself, or none that could be seen, tells nothing: half and half. */
    model.alpha = gap > 0 && gap < one_way ? gap : gap >= one_way ? one_way : one_way / 2;
    model.latency = one_way - model.alpha;
    for (int i = 0; i < n; i++) {
        double x = (double)size[i], weight = time[i] > 0 ? 1 / (time[i] * time[i]) : 0;
        above += weight * x * (time[i] - one_way);
        below += weight * x * x;
    }
    model.beta = below > 0 && above > 0 ? above / below : 0;
    if (model.beta <= 0 && n > 0) /* at least something that is not less than the truth */
        model.beta = time[n - 1] / (double)size[n - 1];
    /* The constructions need gamma <= beta to be fast, and a copy that costs more than a message is not hidden
       anyway. */
    if (model.gamma > model.beta)
        model.gamma = model.beta;
    return model;
}
