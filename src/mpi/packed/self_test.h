/* Whether MPI packs as pack programs do: the bytes of the type map's entries, in their order, and nothing else. */
#ifndef ESPI_MPI_PACKED_SELF_TEST_H
#define ESPI_MPI_PACKED_SELF_TEST_H

#include <stdbool.h>

/* Packs and unpacks a few small layouts both ways, once in a process. False where the bytes differ, or MPI refuses;
   also where there is no memory, or no communicator of Espalier's own as yet: then it is asked again. Calls MPI;
   calls must exclude each other. */
bool espi_packed_self_test(void);

#endif
