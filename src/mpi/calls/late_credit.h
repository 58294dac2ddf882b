/*
 * What messages of a first trial save (packed/message_ways.h), and those before it: that is known when it has come to
 * its end. Until then they are noted here, and at the end of the run the report gets what was found; of trials that
 * have come to none, what the models say. Only where calls do not overlap.
 */
#ifndef ESPI_MPI_CALLS_LATE_CREDIT_H
#define ESPI_MPI_CALLS_LATE_CREDIT_H

#include "mpi/packed/message_ways.h"
#include "mpi/typeplan/plan_credit.h"

/* A message of `count` items went `way`, of which espi_way_will_be_told. `modelled`: what the models say that it
   saves; `share`: of what its call saves, where that has two sides. */
void espi_late_credit(struct espi_plan *plan, int64_t count, const struct espi_way_question *question,
                      enum espi_message_way way, const struct espi_plan_saving *modelled, double share);

/* Credits all that were noted. */
void espi_late_credits_end(void);

#endif
