/* uthash without its exit() when memory is short: an element that could not be added has hh.tbl == NULL. */
#ifndef ESPI_BASE_HASH_H
#define ESPI_BASE_HASH_H

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)(element))
#include <uthash.h>

#endif
