/* What a plan says of its uses: what they save by the models, which ways are open to them, and what is in doubt. */
#ifndef ESPI_MPI_TYPEPLAN_PLAN_FIGURES_H
#define ESPI_MPI_TYPEPLAN_PLAN_FIGURES_H

#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/select.h"

/* Writes all that follows from what was asked for and what was selected, when the plan is made and when it is
   improved. */
void espi_plan_take_figures(struct espi_plan *plan, const struct espi_plan_request *request,
                            const struct espi_selection *s);

#endif
