/*
 * Large variables that begin with 0 and that few processes use stand apart, behind all others (the linker sorts by
 * the names of sections, see configure.ac). So what every process writes lies in few pages: each one costs a fault.
 */
#ifndef ESPI_BASE_APART_H
#define ESPI_BASE_APART_H

#define ESPI_APART __attribute__((section(".bss.apart")))

#endif
