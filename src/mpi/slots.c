#include "mpi/slots.h"

#include <sys/mman.h>

_Atomic(struct espi_type_chunk *) espi_type_chunks[ESPI_SLOTS_CHUNKS];
static atomic_uint chunks_end; /* chunks from here on are not there */

/* Makes chunk number `which` unless it is there; NULL when memory is short. */
struct espi_type_chunk *espi_slot_more(uint32_t which)
{
    unsigned end = atomic_load(&chunks_end);
    struct espi_type_chunk *chunk, *other = NULL;

    /* Not from the heap: memory in its midst, held for good, changes how fast malloc is for MPI; and a slot here
       stands in one line of the cache. */
    chunk = mmap(NULL, sizeof *chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED)
        return NULL;
    if (!atomic_compare_exchange_strong(&espi_type_chunks[which], &other, chunk)) {
        munmap(chunk, sizeof *chunk);
        chunk = other;
    }
    while (end <= which && !atomic_compare_exchange_weak(&chunks_end, &end, which + 1))
        ;
    return chunk;
}

void espi_slots_each(void (*visit)(struct espi_type_slot *slot))
{
    unsigned end = atomic_load(&chunks_end), which, i;

    for (which = 0; which < end; which++) {
        struct espi_type_chunk *chunk = atomic_load_explicit(&espi_type_chunks[which], memory_order_acquire);

        for (i = 0; chunk != NULL && i < ESPI_SLOTS_EACH; i++)
            if (atomic_load_explicit(&chunk->slots[i].known, memory_order_acquire)) {
                espi_slot_settle_up(&chunk->slots[i], &chunk->quiet[i]);
                visit(&chunk->slots[i]);
            }
    }
}
