#include "base/buffer_pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/overlap.h"
#include "base/own_heap.h"

#define LARGEST ((size_t)64 << 20) /* a larger one is not kept */
enum { KEPT = 8, KEPT_LONG = 4 };

struct buffer {
    size_t size, mapped; /* mapped: bytes; 0: it is the heap's */
    max_align_t content[];
};

/* Each slot is taken and filled by one exchange, so there is no lock and no order. */
static _Atomic(struct buffer *) slots[KEPT], long_slots[KEPT_LONG]; /* the latter of those that are mapped */

/* Not much too large either. */
static bool suits(const struct buffer *buffer, size_t size)
{
    return buffer->size >= size && buffer->size / 16 <= size + 4096;
}

/* What is in the slot, if it suits. Where calls overlap, another one may have taken it. */
static struct buffer *take(_Atomic(struct buffer *) *slot, size_t size)
{
    struct buffer *found = atomic_load_explicit(slot, memory_order_relaxed);

    if (found == NULL)
        return NULL;
    if (espi_calls_overlap) {
        found = atomic_exchange_explicit(slot, NULL, memory_order_acquire);
        if (found != NULL && !suits(found, size)) {
            espi_pool_put(found->content);
            found = NULL;
        }
        return found;
    }
    if (!suits(found, size))
        return NULL;
    atomic_store_explicit(slot, NULL, memory_order_relaxed);
    return found;
}

/* Puts it there if the slot is empty. */
static bool fill(_Atomic(struct buffer *) *slot, struct buffer *back)
{
    struct buffer *empty = NULL;

    if (atomic_load_explicit(slot, memory_order_relaxed) != NULL)
        return false;
    if (espi_calls_overlap)
        return atomic_compare_exchange_strong_explicit(slot, &empty, back, memory_order_release,
                                                       memory_order_relaxed);
    atomic_store_explicit(slot, back, memory_order_relaxed);
    return true;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
enum { PAGE = 4096, LARGE_PAGE = 64 << 10, HUGE_PAGE = 2 << 20 }; /* of x86_64 and aarch64, or of most of these */

/* Gets the pages of a new buffer in one call. A fault for each takes as long as what is written there, and on virtual
   machines much longer. Where the kernel cannot (before Linux 5.14), or is short of memory, they come so. Not of
   long ones, of which perhaps a part is used. */
static void populate(void *memory, size_t size)
{
    const uintptr_t begin = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE,
                    end = ((uintptr_t)memory + size) / PAGE * PAGE;
    const int kept = errno;

    if (end > begin + PAGE && size <= HUGE_PAGE)
        madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
    errno = kept;
}

/* Long buffers are mapped, so that the kernel may give them huge pages, of which each takes one fault and not 512: on
   virtual machines those take longer than many uses of the buffer. (Where it gives none they come as others do.)
   What they begin with leaves the content at a line of the cache. To map and unmap takes longer than malloc, which
   has such memory at hand: so they stay as long as the pool, and there are no more of them than it keeps, as each may
   have up to half a huge page more than it is asked for. Not where tools watch what malloc gives. */
enum { MAPPED_LEAST = HUGE_PAGE / 2, LEAD = 64 };
static atomic_int mapped_now;

/* Whole pages; what lies behind the last huge page is another one where it is at least half as long. */
static size_t room_of(size_t size)
{
    const size_t tail = size % HUGE_PAGE, all = size - tail;

    return all + (tail >= HUGE_PAGE / 2 ? HUGE_PAGE : (tail + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
}

static struct buffer *map_pages(size_t size)
{
    const size_t room = room_of(LEAD + size);
    char *const all = mmap(NULL, room + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        return NULL;
    const size_t before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE, tail = room % HUGE_PAGE;
    char *const begin = all + before;
    if (before > 0)
        munmap(all, before);
    munmap(begin + room, HUGE_PAGE - before);
    madvise(begin, room, MADV_HUGEPAGE);
    populate(begin + room - tail, tail);
    struct buffer *found = (struct buffer *)(begin + LEAD - sizeof *found);
    *found = (struct buffer){.size = room - LEAD, .mapped = room};
    return found;
}

static struct buffer *map(size_t size)
{
    const int kept = errno;
    struct buffer *found = atomic_fetch_add(&mapped_now, 1) < KEPT_LONG ? map_pages(size) : NULL;

    if (found == NULL)
        atomic_fetch_sub(&mapped_now, 1);
    errno = kept;
    return found;
}

static struct buffer *from_heap(size_t size)
{
    const size_t room = size < 4096 ? 4096 : size + size / 8;
    struct buffer *found = espi_own_get(sizeof *found + room);

    if (found == NULL)
        return NULL;
    populate(found, sizeof *found + size);
    *found = (struct buffer){.size = room};
    return found;
}

static void drop(struct buffer *buffer)
{
    if (buffer == NULL || buffer->mapped == 0) {
        espi_own_put(buffer);
        return;
    }
    munmap((char *)buffer->content - LEAD, buffer->mapped);
    atomic_fetch_sub(&mapped_now, 1);
}

void *espi_pool_get(size_t size)
{
    const bool is_long = size >= MAPPED_LEAST && size <= LARGEST;
    struct buffer *found = NULL;

    for (int i = 0; i < KEPT_LONG && is_long && found == NULL; i++)
        found = take(&long_slots[i], size);
    for (int i = 0; i < KEPT && found == NULL; i++)
        found = take(&slots[i], size);
    if (found == NULL && is_long && espi_own_heap_is_open())
        found = map(size);
    if (found == NULL && size <= SIZE_MAX / 2)
        found = from_heap(size);
    return found != NULL ? found->content : NULL;
}

void espi_pool_put(void *buffer)
{
    static atomic_uint next;

    if (!buffer)
        return;
    struct buffer *back = (struct buffer *)((char *)buffer - offsetof(struct buffer, content));
    for (int i = 0; i < KEPT_LONG && back->mapped > 0; i++) /* one is empty, if no other thread fills it */
        if (fill(&long_slots[i], back))
            return;
    /* Empty slots first; else it takes the place of another, so that the kept sizes follow what is needed now. */
    if (back->size <= LARGEST && back->mapped == 0) {
        for (int i = 0; i < KEPT; i++)
            if (fill(&slots[i], back))
                return;
        back = atomic_exchange_explicit(&slots[atomic_fetch_add(&next, 1) % KEPT], back, memory_order_acq_rel);
    }
    drop(back);
}

void espi_pool_release(void)
{
    for (int i = 0; i < KEPT; i++)
        drop(atomic_exchange(&slots[i], NULL));
    for (int i = 0; i < KEPT_LONG; i++)
        drop(atomic_exchange(&long_slots[i], NULL));
}
