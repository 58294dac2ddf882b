/*
 * Where a loaded object keeps the addresses of functions that it takes from others: its own calls of one of them, and
 * nobody else's, can be led elsewhere for a while.
 */
#ifndef ESPI_JOB_IMPORT_SLOTS_H
#define ESPI_JOB_IMPORT_SLOTS_H

#include <stdbool.h>

typedef void (*espi_function)(void);

struct espi_import {
    const char *name;      /* of the function */
    espi_function instead;
    espi_function next;    /* the function itself; what is called there natively, if another tool stands before it */
    espi_function *slot;   /* where the object keeps the address; */
    espi_function before;  /* what was in it: perhaps code of the loader's that looks the function up first */
    bool read_only;        /* the slot, natively */
};

/* Leads calls of functions, made in the object that has something at `inside`, elsewhere: `name`, `instead` and
   `next` are given. False: nothing has changed, as one of them is not called there or cannot be led elsewhere. */
bool espi_imports_lead(const void *inside, struct espi_import *imports, int n);

/* Puts back what was there. */
void espi_imports_restore(const struct espi_import *imports, int n);

#endif
