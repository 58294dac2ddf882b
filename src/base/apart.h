/*
 * What every process runs and writes at the start and at the end of MPI lies in few pages: each one costs a fault,
 * which takes as long as thousands of instructions.
 *
 * ESPI_APART     variables that begin with 0, are large, and are used by few processes: they stand behind all others
 *                (the linker sorts by the names of sections, see configure.ac)
 * ESPI_EVERY_RUN functions that run in every process: they stand before all others
 */
#ifndef ESPI_BASE_APART_H
#define ESPI_BASE_APART_H

#define ESPI_APART __attribute__((section(".bss.apart")))
#define ESPI_EVERY_RUN __attribute__((section(".text.startup")))

#endif
