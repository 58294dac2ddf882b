/*
 * Large static tables stand apart from other variables, which so share few pages: each page that a process touches
 * takes 0.1 us to touch for the first time, in virtual machines 1 to 70, and a start touches most variables, but
 * hardly a table. The linker puts sections of this kind behind the others where it sorts them (ESPI_SORT_LDFLAGS).
 */
#ifndef ESPI_BASE_TABLE_H
#define ESPI_BASE_TABLE_H

#define ESPI_TABLE __attribute__((section(".bss.tables")))

#endif
