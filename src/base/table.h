/*
 * Large static tables stand apart from other variables, which so share few pages: to touch a page for the first time
 * takes 0.1 us, in some virtual machines 15 to 70, and a start touches most variables, but hardly a table. The
 * linker puts them into a section of their own behind the others (tables.ld) where its script can be added to.
 */
#ifndef ESPI_BASE_TABLE_H
#define ESPI_BASE_TABLE_H

#ifdef __SANITIZE_ADDRESS__ /* which does not look at what has a section of its own */
#define ESPI_TABLE
#else
#define ESPI_TABLE __attribute__((section(".bss.tables")))
#endif

#endif
