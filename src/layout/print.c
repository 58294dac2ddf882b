/* Tree to text, into a buffer or a stream. */
#include "layout/layout.h"

#include <inttypes.h>
#include <string.h>

struct sink {
    char *buf;
    size_t size, length; /* length: written, or that would have been written */
    FILE *stream;        /* NULL: to buf */
    bool failed;
    size_t shorten;
};

static void put_bytes(struct sink *sink, const char *text, size_t len)
{
    if (sink->stream != NULL) {
        sink->failed = sink->failed || fwrite(text, 1, len, sink->stream) != len;
    } else if (sink->length < sink->size) {
        size_t room = sink->size - sink->length;
        memcpy(sink->buf + sink->length, text, len < room ? len : room);
    }
    sink->length += len;
}

static void put_text(struct sink *sink, const char *text)
{
    put_bytes(sink, text, strlen(text));
}

static void put_number(struct sink *sink, int64_t value)
{
    char text[24];
    put_bytes(sink, text, (size_t)snprintf(text, sizeof text, "%" PRId64, value));
}

/* How many of n elements are written. */
static int64_t shown_elements(const struct sink *sink, int64_t n)
{
    return sink->shorten == 0 || (uint64_t)n <= sink->shorten ? n : (int64_t)sink->shorten;
}

static void put_array(struct sink *sink, int64_t n, const int64_t *values)
{
    put_text(sink, "<");
    for (int64_t i = 0; i < shown_elements(sink, n); i++) {
        if (i > 0) {
            put_text(sink, ",");
        }
        put_number(sink, values[i]);
    }
    put_text(sink, shown_elements(sink, n) < n ? ",...>" : ">");
}

/* A shortened text is for people: what does not fit is not gone through. Parts that are shared are written wherever
   they occur, so that the whole text may have no end to speak of. */
static bool is_full(const struct sink *sink)
{
    return sink->shorten > 0 && sink->stream == NULL && sink->length >= sink->size;
}

static void print_node(struct sink *sink, const struct espi_node *node)
{
    static const char *const kinds[] = {"leaf(", "vec(", "idx(", "idxbuc(", "struc(", "bucket("};
    size_t open = 0;
    for (; node != NULL && !is_full(sink); node = node->child) {
        put_text(sink, kinds[node->kind]);
        open++;
        if (node->kind == ESPI_LEAF) {
            put_text(sink, espi_base_info(node->base)->name);
            break;
        }
        put_number(sink, node->count);
        put_text(sink, ",");
        if (node->kind == ESPI_VEC || node->kind == ESPI_IDXBUC || node->kind == ESPI_BUCKET) {
            put_number(sink, node->stride);
            put_text(sink, ",");
        }
        if (node->kind == ESPI_BUCKET) {
            put_number(sink, node->stride2);
            put_text(sink, ",");
        }
        if (node->kind == ESPI_IDX || node->kind == ESPI_IDXBUC || node->kind == ESPI_STRUC) {
            put_array(sink, node->count, node->disp);
            put_text(sink, ",");
        }
        if (node->kind == ESPI_IDXBUC || node->kind == ESPI_BUCKET) {
            put_array(sink, node->count, node->len);
            put_text(sink, ",");
        }
        if (node->kind == ESPI_STRUC) {
            put_text(sink, "<");
            for (int64_t j = 0; j < shown_elements(sink, node->count) && !is_full(sink); j++) {
                if (j > 0) {
                    put_text(sink, ",");
                }
                print_node(sink, node->sub[j]);
            }
            put_text(sink, shown_elements(sink, node->count) < node->count ? ",...>" : ">");
        }
    }
    for (; open > 0; open--) {
        put_text(sink, ")");
    }
}

size_t espi_print(const struct espi_node *node, size_t shorten, char *buf, size_t size)
{
    struct sink sink = {.buf = buf, .size = size, .shorten = shorten};
    print_node(&sink, node);
    if (size > 0) {
        buf[sink.length < size ? sink.length : size - 1] = '\0';
    }
    return sink.length;
}

bool espi_print_file(const struct espi_node *node, size_t shorten, FILE *stream)
{
    struct sink sink = {.stream = stream, .shorten = shorten};
    print_node(&sink, node);
    return !sink.failed;
}
