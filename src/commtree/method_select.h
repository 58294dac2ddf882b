/*
 * Which of several methods for one collective call is used, from what calls took: the root's side of leases
 * (lease.h), without a message and without MPI. Candidate 0 is the library; the others are trees, the most promising
 * first.
 *
 * - Contest: the method in use (at first the library) and a challenger take turns in short leases; the first calls
 *   after a switch are warm-up (connections between new pairs of ranks are made at the first message) and are not
 *   counted. A challenger is taken only when it is faster beyond doubt, see espi_method_select_verdict.
 * - A tree holds for leases that double. Now and then, and when it has become slower than the library was, the
 *   library gets a short lease: where it was faster, the next lease goes back to it. These leases are so rare that a
 *   library many times slower costs no more than 4 %, and less and less.
 * - The library holds for leases in which nothing is measured. Trees that lost are tried again much later, if at all.
 */
#ifndef ESPI_COMMTREE_METHOD_SELECT_H
#define ESPI_COMMTREE_METHOD_SELECT_H

#include <stdbool.h>
#include <stdint.h>

enum { ESPI_SELECT_MOST = 8, ESPI_SELECT_SAMPLES = 16, ESPI_SELECT_KEPT = 32 };

/* Whether the library has the k-th counted call of a lease in turns, 0 <= k < ESPI_SELECT_SAMPLES: pairs in changing
   order. */
static inline bool espi_method_turn(int64_t k)
{
    return __builtin_parityll((unsigned long long)k) == 0;
}

/* Seconds of calls by one method, in one contest. */
struct espi_method_times {
    int n;
    double s[ESPI_SELECT_KEPT];
};

enum espi_verdict { ESPI_VERDICT_MORE, ESPI_VERDICT_KEEP, ESPI_VERDICT_CHANGE };

struct espi_method_select {
    int n; /* candidates */
    enum { ESPI_SELECT_CONTEST, ESPI_SELECT_TREE, ESPI_SELECT_CHECK,
          ESPI_SELECT_LIBRARY } state;
    int now;                 /* candidate of the lease under way */
    int incumbent, challenger; /* of the contest; incumbent: in use otherwise */
    int rounds, empty;       /* of the contest; leases in a row that said nothing */
    bool interleaved;        /* the lease under way is one in turns */
    bool agreed, used[ESPI_SELECT_MOST];
    struct espi_method_times of_incumbent, of_challenger;
    double latest[ESPI_SELECT_MOST]; /* median of the latest lease, seconds; negative: none */
    int64_t length;          /* of the lease under way */
    int64_t since, interval; /* calls since the library was last heard, and how many that may become */
    int64_t backoff;         /* calls by the library before trees are tried again */
};

/* What holds next: `skip` calls are not to be counted, none when `unmeasured`. `interleaved`: after these the library
   has the calls that espi_method_turn says, and all are to be counted, in this order. */
struct espi_method_lease {
    int candidate, skip;
    int64_t length;
    bool unmeasured, interleaved;
};

/* A new problem with n candidates, the library among them; 1: nothing to choose from. */
void espi_method_select_start(struct espi_method_select *select, int n);
/* Takes the times of the lease that ended, in seconds (n 0: they say nothing, or this is the first), and says what
   holds next. */
struct espi_method_lease espi_method_select_next(struct espi_method_select *select, const double *seconds, int n);
/* No contest is under way. */
bool espi_method_select_settled(const struct espi_method_select *select);

/* Whether the times of a challenger are clearly below those of the incumbent, after `rounds` rounds; `agreed`: each
   round's median was. By complete separation, or by a rank test (Mann and Whitney) and medians that differ by more
   than the spread. */
enum espi_verdict espi_method_select_verdict(const struct espi_method_times *incumbent,
                                             const struct espi_method_times *challenger, int rounds, bool agreed,
                                             bool interleaved);
/* Of n >= 1 times, n <= ESPI_SELECT_KEPT. */
double espi_method_select_median(const double *seconds, int n);

#endif
