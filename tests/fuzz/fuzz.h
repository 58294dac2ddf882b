/* What the fuzz targets share (fuzz.c), and the targets. */
#ifndef ESPI_TESTS_FUZZ_H
#define ESPI_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What must be true of an answer. A violation ends the process by a trap. */
#define REQUIRE(condition)                                                                                           \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                \
            __builtin_trap();                                                                                        \
        }                                                                                                            \
    } while (0)

/* In place of what the command prints (cli_fail, cli_usage): the last message of a failure. */
extern char fuzz_message[1000];

/* A file that holds the bytes; its name, by which it can be opened until the returned descriptor is closed. */
enum { FUZZ_NAME = 40 };
int fuzz_file(const uint8_t *data, size_t size, char name[FUZZ_NAME]);

/* The targets: each takes one input and returns 0. */
int fuzz_tree(const uint8_t *data, size_t size);
int fuzz_sizes(const uint8_t *data, size_t size);
int fuzz_place(const uint8_t *data, size_t size);

#endif
