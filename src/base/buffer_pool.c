#include "base/buffer_pool.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define KEPT 8
#define LARGEST ((size_t)64 << 20) /* a larger one is not kept */

struct buffer {
    size_t size;
    max_align_t content[];
};

/* Each slot is taken and filled by one exchange, so there is no lock and no order. */
static _Atomic(struct buffer *) slots[KEPT];

void *espi_pool_get(size_t size)
{
    struct buffer *found;
    for (int i = 0; i < KEPT; i++) {
        if (!atomic_load_explicit(&slots[i], memory_order_relaxed))
            continue;
        found = atomic_exchange_explicit(&slots[i], NULL, memory_order_acquire);
        if (found && found->size >= size && found->size / 16 <= size + 4096)
            return found->content;
        if (found)
            espi_pool_put(found->content);
    }
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t room = size < 4096 ? 4096 : size + size / 8;
    found = malloc(sizeof *found + room);
    if (!found)
        return NULL;
    found->size = room;
    return found->content;
}

void espi_pool_put(void *buffer)
{
    if (!buffer)
        return;
    struct buffer *back = (struct buffer *)((char *)buffer - offsetof(struct buffer, content));
    /* Empty slots first; else it takes the place of another, so that the kept sizes follow what is needed now. */
    for (int i = 0; i < KEPT && back && back->size <= LARGEST; i++) {
        struct buffer *empty = NULL;
        if (atomic_compare_exchange_strong_explicit(&slots[i], &empty, back, memory_order_release,
                                                    memory_order_relaxed))
            back = NULL;
    }
    if (back && back->size <= LARGEST)
        back = atomic_exchange_explicit(&slots[back->size / 4096 % KEPT], back, memory_order_acq_rel);
    free(back);
}

void espi_pool_release(void)
{
    for (int i = 0; i < KEPT; i++)
        free(atomic_exchange(&slots[i], NULL));
}
