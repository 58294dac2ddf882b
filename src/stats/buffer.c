#include "stats/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve_bytes(struct espi_buffer *buffer, size_t more)
{
    if (buffer->failed || more > SIZE_MAX / 2 - buffer->len) {
        buffer->failed = true;
        return false;
    }
    size_t wanted = buffer->len + more;
    if (wanted <= buffer->capacity)
        return true;
    if (buffer->fixed) {
        buffer->failed = true;
        return false;
    }
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < wanted)
        capacity *= 2;
    char *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void espi_buffer_add(struct espi_buffer *buffer, const void *data, size_t len)
{
    if (len == 0 || !reserve_bytes(buffer, len))
        return;
    memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
}

void espi_buffer_text(struct espi_buffer *buffer, const char *text)
{
    espi_buffer_add(buffer, text, strlen(text));
}

void espi_buffer_format(struct espi_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        buffer->failed = true;
        return;
    }
    if (!reserve_bytes(buffer, (size_t)len + 1))
        return;
    va_start(args, format);
    vsnprintf(buffer->data + buffer->len, (size_t)len + 1, format, args);
    va_end(args);
    buffer->len += (size_t)len;
}

void espi_buffer_release(struct espi_buffer *buffer)
{
    if (!buffer->fixed)
        free(buffer->data);
    *buffer = ESPI_BUFFER_INIT;
}
