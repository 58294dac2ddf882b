/* Linked lists (utlist), without assertions, which end a program. */
#ifndef ESPI_BASE_LIST_H
#define ESPI_BASE_LIST_H

#ifndef NDEBUG
#define NDEBUG
#endif
#include <utlist.h>

#endif
