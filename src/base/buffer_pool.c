#include "base/buffer_pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/overlap.h"
#include "base/own_heap.h"

#define KEPT 8
#define LARGEST ((size_t)64 << 20) /* a larger one is not kept */

struct buffer {
    size_t size;
    max_align_t content[];
};

/* Each slot is taken and filled by one exchange, so there is no lock and no order. */
static _Atomic(struct buffer *) slots[KEPT];

/* Not much too large either. */
static bool suits(const struct buffer *buffer, size_t size)
{
    return buffer->size >= size && buffer->size / 16 <= size + 4096;
}

/* What is in the slot, if it suits. Where calls overlap, another one may have taken it. */
static struct buffer *take(int slot, size_t size)
{
    struct buffer *found = atomic_load_explicit(&slots[slot], memory_order_relaxed);

    if (found == NULL)
        return NULL;
    if (espi_calls_overlap) {
        found = atomic_exchange_explicit(&slots[slot], NULL, memory_order_acquire);
        if (found != NULL && !suits(found, size)) {
            espi_pool_put(found->content);
            found = NULL;
        }
        return found;
    }
    if (!suits(found, size))
        return NULL;
    atomic_store_explicit(&slots[slot], NULL, memory_order_relaxed);
    return found;
}

/* Puts it there if the slot is empty. */
static bool fill(int slot, struct buffer *back)
{
    struct buffer *empty = NULL;

    if (atomic_load_explicit(&slots[slot], memory_order_relaxed) != NULL)
        return false;
    if (espi_calls_overlap)
        return atomic_compare_exchange_strong_explicit(&slots[slot], &empty, back, memory_order_release,
                                                       memory_order_relaxed);
    atomic_store_explicit(&slots[slot], back, memory_order_relaxed);
    return true;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Gets the pages of a new buffer in one call. A fault for each takes as long as what is written there, and on virtual
   machines much longer. Where the kernel cannot (before Linux 5.14), or is short of memory, they come so. Not of
   long ones, of which perhaps a part is used. */
static void populate(void *memory, size_t size)
{
    enum { PAGE = 4096, MOST = 1 << 20 };
    const uintptr_t begin = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE,
                    end = ((uintptr_t)memory + size) / PAGE * PAGE;
    const int kept = errno;

    if (end > begin + PAGE && size <= MOST)
        madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
    errno = kept;
}

void *espi_pool_get(size_t size)
{
    struct buffer *found;
    for (int i = 0; i < KEPT; i++)
        if ((found = take(i, size)) != NULL)
            return found->content;
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t room = size < 4096 ? 4096 : size + size / 8;
    found = espi_own_get(sizeof *found + room);
    if (!found)
        return NULL;
    populate(found, sizeof *found + size);
    found->size = room;
    return found->content;
}

void espi_pool_put(void *buffer)
{
    if (!buffer)
        return;
    struct buffer *back = (struct buffer *)((char *)buffer - offsetof(struct buffer, content));
    /* Empty slots first; else it takes the place of another, so that the kept sizes follow what is needed now. */
    if (back->size <= LARGEST)
        for (int i = 0; i < KEPT; i++)
            if (fill(i, back))
                return;
    if (back->size <= LARGEST)
        back = atomic_exchange_explicit(&slots[back->size / 4096 % KEPT], back, memory_order_acq_rel);
    espi_own_put(back);
}

void espi_pool_release(void)
{
    for (int i = 0; i < KEPT; i++)
        espi_own_put(atomic_exchange(&slots[i], NULL));
}
