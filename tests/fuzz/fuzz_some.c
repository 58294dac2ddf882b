/*
 * The fuzz target without a fuzzer: a few thousand inputs, random trees, maps, lines and bytes, some of them damaged.
 * It keeps the target compiling and its checks exercised wherever `make check` runs. ESPALIER_TEST_SEED repeats a
 * run, ESPALIER_TEST_ROUNDS sets its length; a check that does not hold ends the process by a trap.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/random.h"

enum { LONGEST = 500 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t data[LONGEST];

/* A choice (fuzz_tree.c) and the bytes that it makes the target take for its options. */
static size_t begin(uint8_t kind)
{
    size_t size = 1;

    data[0] = (uint8_t)(kind + random_in(0, 31));
    for (size_t more = (data[0] & 8 ? 1 : 0) + (data[0] & 16 ? 10 : 0); more > 0; more--)
        data[size++] = (uint8_t)random_next();
    return size;
}

/* A tree as text, mostly intact. */
static size_t tree_text(void)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *tree = random_tree(&arena, (int)random_in(1, 4));
    size_t first = begin(64), size = espi_print(tree, 0, (char *)data + first, LONGEST - first);

    espi_arena_release(&arena);
    if (size >= LONGEST - first)
        return 0;
    for (int64_t changes = random_in(-2, 2); changes > 0; changes--)
        data[random_in((int64_t)first, (int64_t)(first + size - 1))] =
            random_in(0, 1) != 0 ? (uint8_t)random_in('0', '9') : (uint8_t)random_next();
    return first + size;
}

/* A coded map: runs, repetitions, changes of the base type, displacements near each other; seldom one far away. */
static size_t coded_map(void)
{
    size_t i = begin(0), size = i + (size_t)random_in(2, 60);

    for (; i < size; i++)
        data[i] = (uint8_t)(random_in(0, 3) != 0 ? random_in(0, 3) : random_in(0, 60) == 0 ? 4 : 8 * random_in(0, 9));
    return size;
}

static size_t lines(void)
{
    size_t size = begin(32);

    for (int64_t n = random_in(0, 12); n > 0; n--)
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "%d%s\n", (int)random_in(-20, 20) * 8,
                                 random_in(0, 3) != 0 ? "" : random_in(0, 9) != 0 ? " MPI_INT" : " MPI_NO");
    return size;
}

static size_t bytes(void)
{
    size_t size = (size_t)random_in(0, LONGEST);

    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)random_next();
    return size;
}

int main(void)
{
    const char *given = getenv("ESPALIER_TEST_ROUNDS");
    long rounds = given != NULL ? strtol(given, NULL, 10) : 4000;
    size_t (*const make[])(void) = {tree_text, coded_map, lines, bytes};

    random_seed("fuzz_some");
    for (long i = 0; i < rounds; i++)
        LLVMFuzzerTestOneInput(data, make[i % 4]());
    printf("fuzz_some: %ld inputs, each answer checked\n", rounds);
    return rounds > 0 ? 0 : 1;
}
