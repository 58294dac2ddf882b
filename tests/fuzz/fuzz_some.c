/*
 * The fuzz targets without a fuzzer: a few thousand inputs, random trees, maps, lines, sizes, models, links, graphs
 * and bytes, some of them damaged. It keeps the targets compiling and their checks exercised wherever `make check`
 * runs. ESPALIER_TEST_SEED repeats a run, ESPALIER_TEST_ROUNDS sets its length; a check that does not hold ends the
 * process by a trap.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/random.h"
#include "fuzz.h"

enum { LONGEST = 500 };

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

static void damage(size_t size)
{
    for (int64_t changes = random_in(-3, 2); changes > 0 && size > 3; changes--)
        data[random_in(3, (int64_t)size - 1)] = (uint8_t)random_next();
}

/* Of fuzz_sizes: blocks of a few ranks, with zeros, comments, several to a line; seldom a number too large. */
static size_t block_sizes(void)
{
    static const char *const behind[] = {"\n", " ", "\t\n", "# 7\n"};
    size_t size = 3;

    data[0] = (uint8_t)(random_next() & 0xfe);
    data[1] = (uint8_t)random_next();
    data[2] = (uint8_t)random_next();
    for (int64_t n = random_in(0, 20); n > 0; n--)
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "%lld%s",
                                 (long long)(random_in(0, 40) ? random_in(0, 3) * random_in(0, 5000) : INT64_MAX / 2),
                                 behind[random_in(0, 3)]);
    damage(size);
    return size;
}

static size_t model(void)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "latency", "node.alpha", "net.beta", "net.alpha"};
    size_t size = 1;

    data[0] = (uint8_t)(random_next() | 1);
    for (int64_t n = random_in(0, 8); n > 0; n--)
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "%s = %.3g\n", names[random_in(0, 6)],
                                 (double)random_in(0, 1000) * 1e-9);
    damage(size);
    return size;
}

/* Constants for all pairs of up to nine ranks, then for some. */
static size_t links(void)
{
    size_t size = 2;

    data[0] = (uint8_t)(random_next() | 3);
    data[1] = (uint8_t)random_next();
    if (random_in(0, 4) != 0)
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "* * %d 1e-3\n", (int)random_in(0, 100));
    for (int64_t n = random_in(0, 12); n > 0; n--)
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "%c %c %d %.3g%s\n",
                                 "*01234"[random_in(0, 5)], "*43210"[random_in(0, 5)], (int)random_in(0, 100),
                                 (double)random_in(0, 1000) / 100, random_in(0, 4) != 0 ? "" : " # fast");
    damage(size);
    return size;
}

/* Of fuzz_place: a few operations and nodes, seldom what is not there. */
static size_t graph(void)
{
    size_t size = (size_t)snprintf((char *)data, LONGEST, "placements a b c\nmove * * %d 1\n", (int)random_in(0, 9));
    int arity[4] = {0};
    for (int o = 0; o < 3; o++) {
        arity[o] = o == 0 ? 0 : (int)random_in(0, 2);
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "operation o%d\n", o);
        for (int64_t n = random_in(1, 2); n > 0; n--) {
            size += (size_t)snprintf((char *)data + size, LONGEST - size, "method");
            for (int i = 0; i < arity[o]; i++)
                size += (size_t)snprintf((char *)data + size, LONGEST - size, " %c", "abc?*"[random_in(0, 4)]);
            size += (size_t)snprintf((char *)data + size, LONGEST - size, " -> %c %d\n", "abc?"[random_in(0, 3)],
                                     (int)random_in(0, 9));
        }
    }
    for (int v = 0, o; v < 6 && size < LONGEST - 60; v++) {
        o = v == 0 ? 0 : (int)random_in(0, 2);
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "node n%d o%d", v, o);
        for (int i = 0; i < arity[o]; i++)
            size += (size_t)snprintf((char *)data + size, LONGEST - size, " n%d", (int)random_in(0, v - 1));
        size += (size_t)snprintf((char *)data + size, LONGEST - size, random_in(0, 9) ? "\n" : " size=%d\n", v);
    }
    damage(size);
    return size;
}

/* The same of an alignment, or of positions. */
static size_t aligned(void)
{
    static const char *const reads[] = {"i,j", "j,i", "i+j,j", "i,j-1", "-i,j", "2i,j"};
    size_t size = (size_t)snprintf((char *)data, LONGEST, "affine i j\nplacement a i\nplacement b i+%dj\nshift %d\n"
                                   "general 2 1\noperation l\nmethod -> a 1\n",
                                   (int)random_in(0, 2), (int)random_in(0, 5));
    int operands = (int)random_in(1, 2);
    size += (size_t)snprintf((char *)data + size, LONGEST - size, "operation m");
    for (int i = 0; i < operands; i++)
        size += (size_t)snprintf((char *)data + size, LONGEST - size, " %s",
                                 reads[random_in(0, 9) ? random_in(0, 4) : 5]);
    for (int64_t n = random_in(1, 2); n > 0; n--) {
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "\nmethod");
        for (int i = 0; i < operands; i++)
            size += (size_t)snprintf((char *)data + size, LONGEST - size, " %c", "ab?*="[random_in(0, 4)]);
        size += (size_t)snprintf((char *)data + size, LONGEST - size, " -> %c 1", "ab?"[random_in(0, 2)]);
    }
    size += (size_t)snprintf((char *)data + size, LONGEST - size, "\nnode n0 l\nnode n1 l\n");
    for (int v = 2; v < 6 && size < LONGEST - 60; v++) {
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "node n%d m", v);
        for (int i = 0; i < operands; i++)
            size += (size_t)snprintf((char *)data + size, LONGEST - size, " n%d",
                                     (int)random_in(i ? v - 1 : 0, v - 1));
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "\n");
    }
    damage(size);
    return size;
}

static size_t spots(void)
{
    static const char *const spaces[] = {"grid", "ring 7", "discrete"};
    size_t size = (size_t)snprintf((char *)data, LONGEST, "positions %s\n", spaces[random_in(0, 2)]);
    int used = 0;
    for (int v = 0; v < 8 && size < LONGEST - 60; v++) {
        size += (size_t)snprintf((char *)data + size, LONGEST - size, "node n%d", v);
        for (int64_t n = random_in(0, 2); n > 0 && used < v; n--)
            size += (size_t)snprintf((char *)data + size, LONGEST - size, " n%d:%d", used++, (int)random_in(-2, 2));
        size += (size_t)snprintf((char *)data + size, LONGEST - size, random_in(0, 1) ? " at=%d\n" : "\n",
                                 (int)random_in(-9, 9));
    }
    damage(size);
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
    long rounds = given != NULL ? strtol(given, NULL, 10) : 8000;
    static const struct {
        size_t (*make)(void);
        int (*target)(const uint8_t *, size_t);
    } kinds[] = {{tree_text, fuzz_tree}, {coded_map, fuzz_tree},    {lines, fuzz_tree},  {bytes, fuzz_tree},
                 {model, fuzz_sizes},    {block_sizes, fuzz_sizes}, {bytes, fuzz_sizes}, {block_sizes, fuzz_sizes},
                 {links, fuzz_sizes},     {graph, fuzz_place},      {aligned, fuzz_place},
                 {spots, fuzz_place}};

    random_seed("fuzz_some");
    for (long i = 0; i < rounds; i++) {
        size_t kind = (size_t)i % (sizeof kinds / sizeof *kinds);
        size_t size = kinds[kind].make();
        kinds[kind].target(data, size);
    }
    printf("fuzz_some: %ld inputs, each answer checked\n", rounds);
    return rounds > 0 ? 0 : 1;
}
