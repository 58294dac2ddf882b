/* The service of types in one process, and types for it; shared by the tests of src/mpi/typeplan/type_cache.c. */
#ifndef ESPI_TESTS_WHITEBOX_TYPE_SERVICE_H
#define ESPI_TESTS_WHITEBOX_TYPE_SERVICE_H

#include <mpi.h>
#include <stdint.h>

#include "base/settings.h"
#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/plan_cache.h"
#include "stats/report.h"
#include "abi.h"

extern struct espi_thread own_thread; /* as the stub lends it to the core */

/* Starts the service. */
void start(enum espi_mode mode);

/* n blocks of three doubles with gaps that repeat nowhere, committed; of another layout for each salt. */
MPI_Datatype irregular(int n, int salt);

/* 24 integers at a stride that belongs to `salt` alone, committed in the sight of the service. */
MPI_Datatype regular_ints(int salt);

/* Tells how a type was made, as the stub does after the call. */
void note_made(enum espi_fn fn, const espi_word *args);

/* Datatypes that Espalier holds, all long forms left out. */
long held_types(void);

/* Bytes of buffers for data on their way that may still be had, of `espi_settings.pack_mb`. */
int64_t spare_bytes(void);

/* There are types for cells from now on, as if over UCX (src/mpi/packed/stream_type.h). */
void start_cells(void);

/* Uses of the type that are looked at, until it has a plan with a program; no look is due any more then. */
struct espi_plan *plan_made(MPI_Datatype type, int64_t count, bool whole, enum espi_packable use);

/* What a report would say now of all types together: uses, those that were changed, elements, bytes. */
struct espi_report_type uses_told(void);

/* A counter as the report would show it now. */
uint64_t counted(enum espi_counter counter);

/* Messages that ESPALIER_CHECK found right. A type built for theirs is compared, too; whether it is built depends on
   times. */
uint64_t compared_messages(void);

/* Checks that two types pack the same bytes and have the same bounds. */
void same_places(MPI_Datatype a, MPI_Datatype b);

#endif
