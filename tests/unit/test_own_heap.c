/* Small blocks apart from the heap: large enough, aligned, never handed out twice, used again, in threads, too. */
#include <check.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/own_heap.h"
#include "random.h"
#include "runner.h"

enum { MANY = 200, ROUNDS = 20000, THREADS = 4, LARGEST = 40000 };

struct held {
    unsigned char *p;
    size_t size;
    unsigned char mark;
};

/* Number of bytes that are not as they were left. `x`: where its random numbers begin. */
static size_t play(uint64_t x, bool zeroed)
{
    struct held held[MANY] = {{0}};
    size_t wrong = 0;

    for (int round = 0; round < ROUNDS; round++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        struct held *h = &held[(x >> 33) % MANY];
        if (h->p != NULL) {
            for (size_t i = 0; i < h->size; i++)
                wrong += h->p[i] != h->mark;
            espi_own_put(h->p);
            h->p = NULL;
            continue;
        }
        h->size = (size_t)(x >> 40) % (round % 16 == 0 ? LARGEST : 700);
        h->mark = (unsigned char)round;
        h->p = zeroed ? espi_own_get_zeroed(h->size) : espi_own_get(h->size);
        wrong += h->p == NULL || (uintptr_t)h->p % sizeof(long double) != 0;
        for (size_t i = 0; zeroed && i < h->size; i++)
            wrong += h->p[i] != 0;
        memset(h->p, h->mark, h->size);
    }
    for (int i = 0; i < MANY; i++)
        espi_own_put(held[i].p);
    return wrong;
}

static void *play_along(void *seed)
{
    return (void *)(uintptr_t)play((uint64_t)(uintptr_t)seed, false);
}

/* Before it is opened, and blocks from then given back after; then in several threads. */
START_TEST(blocks)
{
    pthread_t thread[THREADS];
    unsigned char *early[3];

    ck_assert_uint_eq(play((uint64_t)random_in(1, 1 << 30), false), 0);
    for (int i = 0; i < 3; i++)
        memset(early[i] = espi_own_get(100), 7 + i, 100);
    espi_own_heap_open();
    espi_own_heap_open();
    ck_assert_uint_eq(play((uint64_t)random_in(1, 1 << 30), false), 0);
    ck_assert_uint_eq(play((uint64_t)random_in(1, 1 << 30), true), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert(early[i][0] == 7 + i && early[i][99] == 7 + i);
        espi_own_put(early[i]);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, play_along, (void *)(uintptr_t)random_in(1, 1 << 30)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        ck_assert_ptr_null(wrong);
    }
}
END_TEST

/* What is given back is what the next one of its size gets, and of no other size; the longest of its size fits. */
START_TEST(again)
{
    static const size_t sizes[] = {0, 1, 48, 49, 80, 81, 112, 113, 1008, 32752};

    if (!espi_own_heap_open()) /* a tool watches blocks of malloc */
        return;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *first = espi_own_get(sizes[i]), *other = espi_own_get(2 * sizes[i] + 64),
             *beside = espi_own_get(sizes[i]);
        ck_assert(first != beside);
        espi_own_put(other);
        espi_own_put(first);
        ck_assert_ptr_eq(espi_own_get(sizes[i]), first);
        memset(first, 1, sizes[i]);
        memset(beside, 2, sizes[i]);
        ck_assert(sizes[i] == 0 || (first[sizes[i] - 1] == 1 && beside[sizes[i] - 1] == 2));
        espi_own_put(first);
        espi_own_put(beside);
    }
    ck_assert_ptr_null(espi_own_get(SIZE_MAX));
    ck_assert_ptr_null(espi_own_get(SIZE_MAX - 8));
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-own-heap", 10, NULL, NULL, blocks, again);
}
