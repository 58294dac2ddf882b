/* The second tier of pack programs: compiled again from the least-cost tree, once that was found. */
#ifndef ESPI_MPI_TYPEPLAN_EXACT_PROGRAM_H
#define ESPI_MPI_TYPEPLAN_EXACT_PROGRAM_H

#include "mpi/typeplan/plan_cache.h"

/*
 * Compiles `tree`, a tree of the request's layout, into request->programs, if it is another one than that which
 * request->pack was compiled from, and puts the program in its place where its model says that it is clearly faster
 * for request->count items, and not slower in cold memory. Both programs pack the same stream, as both trees have the
 * same type map, so either may unpack what the other has packed. Nothing is done where there is no program, or
 * request->programs is NULL. Without memory the first one stays.
 */
void espi_exact_program(struct espi_plan_request *request, const struct espi_node *tree);

#endif
