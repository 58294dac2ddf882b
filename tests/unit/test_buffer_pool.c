/* Scratch buffers: large enough, never handed out twice, reused. */
#define _DEFAULT_SOURCE /* mincore */
#include <check.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer_pool.h"
#include "base/own_heap.h"
#include "base/overlap.h"
#include "random.h"
#include "runner.h"

/* Where calls overlap, and where they do not. */
static void play_with_buffers(void)
{
    enum { MANY = 24 };
    struct {
        unsigned char *p;
        size_t size;
        unsigned char mark;
    } held[MANY] = {{0}};
    for (int round = 0; round < 20000; round++) {
        int k = (int)random_in(0, MANY - 1);
        if (held[k].p) {
            size_t wrong = 0;
            for (size_t i = 0; i < held[k].size; i++)
                wrong += held[k].p[i] != held[k].mark;
            ck_assert_uint_eq(wrong, 0);
            espi_pool_put(held[k].p);
            held[k].p = NULL;
        } else {
            held[k].size = (size_t)random_in(0, round % 10 ? 3000 : 100000);
            held[k].mark = (unsigned char)round;
            held[k].p = espi_pool_get(held[k].size);
            ck_assert_ptr_nonnull(held[k].p);
            ck_assert_uint_eq((uintptr_t)held[k].p % sizeof(long double), 0);
            memset(held[k].p, held[k].mark, held[k].size);
        }
    }
    for (int k = 0; k < MANY; k++)
        espi_pool_put(held[k].p);
    espi_pool_release();
}

START_TEST(buffers_do_not_overlap)
{
    play_with_buffers();
    espi_calls_overlap = false;
    play_with_buffers();
    espi_calls_overlap = true;
}
END_TEST

static void use_again(void)
{
    void *first = espi_pool_get(100000);
    espi_pool_put(first);
    ck_assert_ptr_eq(espi_pool_get(100000), first);
    void *second = espi_pool_get(100000);
    ck_assert_ptr_ne(second, first);
    espi_pool_put(first);
    espi_pool_put(second);
    espi_pool_put(NULL);
    espi_pool_release();
    ck_assert_ptr_null(espi_pool_get(SIZE_MAX));
}

START_TEST(a_buffer_is_used_again)
{
    use_again();
    espi_calls_overlap = false;
    use_again();
    espi_calls_overlap = true;
}
END_TEST

/* The pages of a new buffer are there, where the kernel can do that; errno is as it was. */
START_TEST(pages_come_at_once)
{
    enum { PAGE = 4096, PAGES = 100, POPULATE_WRITE = 23 };
    unsigned char there[PAGES + 2];
    char *const own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(own, MAP_FAILED);
    const bool can = madvise(own, PAGE, POPULATE_WRITE) == 0;
    munmap(own, PAGE);
    errno = ENOENT;
    char *const buffer = espi_pool_get((size_t)PAGES * PAGE);
    ck_assert(buffer != NULL && errno == ENOENT);
    const uintptr_t first = ((uintptr_t)buffer + PAGE - 1) / PAGE * PAGE;
    ck_assert_int_eq(mincore((void *)first, (size_t)(PAGES - 1) * PAGE, there), 0);
    for (int i = 0; i < PAGES - 1; i++)
        ck_assert(!can || there[i] & 1);
    espi_pool_put(buffer);
    espi_pool_release();
}
END_TEST

static bool is_there(const void *at)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char seen;

    return mincore((void *)((uintptr_t)at / page * page), 1, &seen) == 0;
}

/* Whether the memory there may be huge pages. */
static bool may_be_huge(const void *at)
{
    FILE *const file = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false, huge = false;
    uintptr_t begin, end;

    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%zx-%zx ", &begin, &end) == 2)
            inside = begin <= (uintptr_t)at && (uintptr_t)at < end;
        huge = huge || (inside && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL);
    }
    fclose(file);
    return huge;
}

/* Of this process, now. */
static size_t bytes_mapped(void)
{
    size_t pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");

    ck_assert(file != NULL && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

enum { LINE = 64, HUGE_PAGE = 2 << 20, LONG_MOST = 4 };

/* A long buffer begins at a line of the cache behind a border of huge pages, has its size and not much more, and is
   kept, and gone with the pool; errno is as it was. There are but some of them; others come from the heap. */
START_TEST(long_buffers_are_mapped)
{
    static const size_t sizes[] = {1 << 20, (4 << 20) - 64, (4 << 20) - 63, (3 << 20) - 64, 5 << 20, 1 << 20};
    enum { SIZES = sizeof sizes / sizeof *sizes, MORE = HUGE_PAGE / 2 + (64 << 10) };
    unsigned char *at[SIZES];
    size_t most = 0, before;

    if (!espi_own_heap_open())
        return; /* a tool watches blocks of malloc */
    const bool can = access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0;
    before = bytes_mapped();
    for (int i = 0; i < SIZES; i++) {
        /* so that the next one does not begin at a border by itself */
        char *const odd = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(odd, MAP_FAILED);
        errno = ENOENT;
        at[i] = espi_pool_get(sizes[i]);
        ck_assert(at[i] != NULL && errno == ENOENT);
        ck_assert_int_eq((uintptr_t)at[i] % HUGE_PAGE == LINE, i < LONG_MOST);
        ck_assert(i >= LONG_MOST || !can || may_be_huge(at[i]));
        memset(at[i], i + 1, sizes[i]);
        munmap(odd, 4096);
        most += sizes[i] + MORE;
        if (i == LONG_MOST - 1)
            ck_assert_uint_le(bytes_mapped() - before, most);
    }
    for (int i = 0; i < SIZES; i++) {
        size_t wrong = 0;
        for (size_t k = 0; k < sizes[i]; k++)
            wrong += at[i][k] != i + 1;
        ck_assert_uint_eq(wrong, 0);
    }
    for (int round = 0; round < 3; round++) { /* they do not take each other's place, nor do short ones */
        for (int i = 0; i < SIZES; i++)
            espi_pool_put(at[i]);
        for (int i = 0; i < SIZES; i++)
            at[i] = espi_pool_get(sizes[i]);
        for (int i = 0; i < SIZES; i++)
            ck_assert_int_eq((uintptr_t)at[i] % HUGE_PAGE == LINE, i < LONG_MOST);
    }
    for (int i = 0; i < SIZES; i++)
        espi_pool_put(at[i]);
    espi_pool_release();
    for (int i = 0; i < LONG_MOST; i++)
        ck_assert(!is_there(at[i]) && !is_there(at[i] + sizes[i] - 1));
    ck_assert_uint_le(bytes_mapped(), before + (10 << 20)); /* malloc may keep some */
    errno = ENOENT;
    ck_assert(espi_pool_get((size_t)1 << 50) == NULL && (errno == ENOENT || errno == ENOMEM));
    unsigned char *const again = espi_pool_get(HUGE_PAGE);
    ck_assert_uint_eq((uintptr_t)again % HUGE_PAGE, LINE);
    espi_pool_put(again);
    espi_pool_release();
}
END_TEST

/* Where there is no room for a mapping, which asks for some more to begin with, the heap is asked. */
START_TEST(long_buffers_from_the_heap)
{
    struct rlimit all, little;

    if (!espi_own_heap_open())
        return;
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &all), 0);
    little = all;
    little.rlim_cur = bytes_mapped() + HUGE_PAGE + HUGE_PAGE / 2;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &little), 0);
    unsigned char *const buffer = espi_pool_get(HUGE_PAGE);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &all), 0);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_ne((uintptr_t)buffer % HUGE_PAGE, LINE);
    espi_pool_put(buffer);
    espi_pool_release();
}
END_TEST

/* What is needed now takes the place of what was. */
START_TEST(others_take_their_place)
{
    enum { SLOTS = 8, SMALL = 5000, LARGE = 900000 };
    void *held[SLOTS], *a = NULL, *b = NULL;

    espi_calls_overlap = false;
    for (int i = 0; i < SLOTS; i++)
        held[i] = espi_pool_get(SMALL);
    for (int i = 0; i < SLOTS; i++)
        espi_pool_put(held[i]);
    for (int round = 0; round < SLOTS; round++) {
        a = espi_pool_get(LARGE);
        b = espi_pool_get(LARGE);
        espi_pool_put(a);
        espi_pool_put(b);
    }
    const struct mallinfo2 before = mallinfo2();
    a = espi_pool_get(LARGE);
    b = espi_pool_get(LARGE);
    const struct mallinfo2 after = mallinfo2();
    ck_assert_uint_eq(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd);
    espi_pool_put(a);
    espi_pool_put(b);
    espi_pool_release();
    espi_calls_overlap = true;
}
END_TEST

/* An arena that is reset gives the newest of its memory out again, and no more. */
START_TEST(an_arena_is_used_again)
{
    struct espi_arena arena = ESPI_ARENA_INIT;

    espi_arena_reset(&arena);
    ck_assert_ptr_null(arena.last);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++)
            memset(espi_arena_alloc(&arena, 1000), i, 1000);
        void *const first = arena.last;
        espi_arena_reset(&arena);
        ck_assert_ptr_eq(arena.last, first);
        const size_t bytes = arena.bytes;
        void *const again = espi_arena_alloc(&arena, 1000);
        ck_assert_ptr_eq(arena.last, first);
        ck_assert_ptr_ne(espi_arena_alloc(&arena, 1000), again);
        ck_assert_uint_eq(arena.bytes, bytes);
    }
    espi_arena_release(&arena);
    ck_assert(arena.last == NULL && arena.bytes == 0);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-buffer-pool", 7, NULL, NULL, buffers_do_not_overlap, a_buffer_is_used_again,
                     pages_come_at_once, long_buffers_are_mapped, long_buffers_from_the_heap,
                     others_take_their_place, an_arena_is_used_again);
}
