/* JSON as text, written front to back, whatever the program's locale says. */
#ifndef ESPI_STATS_JSON_H
#define ESPI_STATS_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/buffer.h"

#define ESPI_JSON_DEPTH 16

struct espi_json {
    struct espi_buffer *out;
    int depth;
    bool filled[ESPI_JSON_DEPTH + 1]; /* something stands at this depth already */
    bool flat[ESPI_JSON_DEPTH + 1];   /* this level is written on one line */
};

/* `key` is NULL inside arrays and for the outermost value. With `flat`, the whole object or array is one line. */
void espi_json_begin(struct espi_json *json, const char *key, char bracket, bool flat); /* bracket: '{' or '[' */
void espi_json_end(struct espi_json *json, char bracket);                               /* bracket: '}' or ']' */
/* Bytes that are not UTF-8 become U+FFFD; control characters, quotes and backslashes are escaped. */
void espi_json_string(struct espi_json *json, const char *key, const char *text);
void espi_json_string_n(struct espi_json *json, const char *key, const char *text, size_t len);
void espi_json_integer(struct espi_json *json, const char *key, int64_t value);
/* Values above INT64_MAX are written as INT64_MAX, which every reader can hold. */
void espi_json_count(struct espi_json *json, const char *key, uint64_t value);
/* With six significant digits; null for what is not finite. */
void espi_json_real(struct espi_json *json, const char *key, double value);
void espi_json_bool(struct espi_json *json, const char *key, bool value);
void espi_json_null(struct espi_json *json, const char *key);

#endif
