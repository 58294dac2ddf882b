/* Bytes that grow. An error sticks, so that a caller checks once at the end. */
#ifndef ESPI_STATS_BUFFER_H
#define ESPI_STATS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct espi_buffer {
    char *data;
    size_t len, capacity;
    bool failed; /* memory was short; `data` holds what came before */
    bool fixed;  /* `data` is somebody else's: it does not grow, and is not freed */
};

#define ESPI_BUFFER_INIT ((struct espi_buffer){0, 0, 0, false, false})

/* A buffer in memory that the caller keeps. */
static inline struct espi_buffer espi_buffer_over(void *data, size_t capacity)
{
    return (struct espi_buffer){data, 0, capacity, false, true};
}

void espi_buffer_add(struct espi_buffer *buffer, const void *data, size_t len);
void espi_buffer_text(struct espi_buffer *buffer, const char *text);
void espi_buffer_format(struct espi_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Frees the bytes; the buffer is empty and usable again. */
void espi_buffer_release(struct espi_buffer *buffer);

#endif
