/* From measured times to the constants of the model. */
#ifndef ESPI_COMMTREE_MODEL_FIT_H
#define ESPI_COMMTREE_MODEL_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "commtree/commtree.h"

/* The lower quartile of n > 0 values, which are sorted by this: what a quiet machine takes, and not the luckiest of
   all. */
double espi_lower_quartile(double *value, int n);

/* Straight line time = start + slope * size through n >= 2 points of different sizes, so that the sum of squared
   relative errors is least; both at least 0. */
struct espi_line {
    double start, slope;
    double error;   /* the largest relative error of a point */
    double squares; /* sum of the squares of all of them */
};
struct espi_line espi_fit_line(int n, const int64_t *size, const double *time);

/* Two such lines, one up to some size and one beyond, where libraries change from eager messages to others: the
   split, with at least three points on each side, that leaves the least error. Returns the index of the first point
   of the second line; n, and one line, when there are fewer than six points. */
int espi_fit_two_lines(int n, const int64_t *size, const double *time, struct espi_line line[2]);

/* What each further message of a burst takes, from the times of a burst of `few` messages and of one of `many` > few;
   0, which espi_fit_model takes for unknown, where the longer one took no longer. */
double espi_fit_gap(int few, double few_time, int many, double many_time);

/* Whether such a gap shows that one of the two bursts was disturbed, beside one_way: none, or clearly more than a
   message that has to wait for nothing takes in all. */
bool espi_fit_gap_is_odd(double gap, double one_way);

/* Whether a smaller message that took `small` was disturbed, as a larger one took clearly less. */
bool espi_fit_time_is_odd(double small, double large);

/* `one_way`: half the round trip of an empty or tiny message; `gap`: what each further message of a burst takes. The
   part that messages cannot overlap is alpha, the rest of one_way is latency. A one_way above the time of a larger
   message counts as that. beta: so that the relative errors of
   one_way + beta * size at n >= 1 sizes are least in the sense of squares. gamma: seconds per byte of a copy. */
struct espi_commtree_model espi_fit_model(double one_way, double gap, int n, const int64_t *size, const double *time,
                                          double gamma);

#endif
