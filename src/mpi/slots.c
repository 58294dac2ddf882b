#include "mpi/slots.h"

#include <stdlib.h>

_Atomic(struct espi_type_slot *) espi_type_chunks[ESPI_SLOTS_CHUNKS];
static atomic_uint chunks_end; /* chunks from here on are not there */

struct espi_type_slot *espi_slot_room(MPI_Datatype type)
{
    uint32_t number = espi_slot_number(type), which = number / ESPI_SLOTS_EACH;
    struct espi_type_slot *chunk = atomic_load_explicit(&espi_type_chunks[which], memory_order_acquire), *other = NULL;

    if (__builtin_expect(chunk == NULL, 0)) {
        unsigned end = atomic_load(&chunks_end);

        chunk = calloc(ESPI_SLOTS_EACH, sizeof *chunk);
        if (chunk == NULL)
            return NULL;
        if (!atomic_compare_exchange_strong(&espi_type_chunks[which], &other, chunk)) {
            free(chunk);
            chunk = other;
        }
        while (end <= which && !atomic_compare_exchange_weak(&chunks_end, &end, which + 1))
            ;
    }
    return chunk + number % ESPI_SLOTS_EACH;
}

void espi_slots_each(void (*visit)(struct espi_type_slot *slot))
{
    unsigned end = atomic_load(&chunks_end), which, i;

    for (which = 0; which < end; which++) {
        struct espi_type_slot *chunk = atomic_load_explicit(&espi_type_chunks[which], memory_order_acquire);

        for (i = 0; chunk != NULL && i < ESPI_SLOTS_EACH; i++)
            if (atomic_load_explicit(&chunk[i].known, memory_order_acquire))
                visit(&chunk[i]);
    }
}
