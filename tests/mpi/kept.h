/* Between kept.c and kept_many.c. */
#ifndef ESPI_TESTS_MPI_KEPT_H
#define ESPI_TESTS_MPI_KEPT_H

#include "bytes.h"

enum { ROOM = 1 << 12 };
extern unsigned char data[2 * ROOM], packed[2 * ROOM];
extern const char *part_of_test;

/* What a program sees, which all runs must agree on. */
static inline void digest(const void *bytes, size_t size)
{
    check_bytes(NULL, part_of_test, "seen", bytes, size);
}

/* Packs, sends and broadcasts by the type. */
void use(MPI_Datatype type, int how);

void many(void);
void in_turns(void);
void twice_inside(void);
void asleep(void);
void second_reference(void);
void nowhere(void);
void high(void);
void high_dup(void);
void high_inside(void);

#endif
