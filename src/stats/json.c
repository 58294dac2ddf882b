#include "stats/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"

/* Length of the UTF-8 sequence at `s` (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF), 0 if there is
   none. */
static size_t utf8_length(const unsigned char *s, size_t len)
{
    size_t want;
    unsigned char low = 0x80, high = 0xbf; /* allowed range of the second byte */

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        want = 2;
    else if (s[0] >= 0xe0 && s[0] <= 0xef)
        want = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        want = 4;
    else
        return 0;
    if (s[0] == 0xe0)
        low = 0xa0;
    if (s[0] == 0xed)
        high = 0x9f;
    if (s[0] == 0xf0)
        low = 0x90;
    if (s[0] == 0xf4)
        high = 0x8f;
    if (want > len || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < want; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return want;
}

static void put_quoted(struct espi_buffer *out, const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    espi_buffer_text(out, "\"");
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length(s + i, len - i);
        if (n == 0) {
            espi_buffer_text(out, "\\ufffd");
            i++;
        } else if (s[i] == '"' || s[i] == '\\') {
            espi_buffer_format(out, "\\%c", s[i]);
            i++;
        } else if (s[i] == '\n') {
            espi_buffer_text(out, "\\n");
            i++;
        } else if (s[i] == '\t') {
            espi_buffer_text(out, "\\t");
            i++;
        } else if (s[i] == '\0') {
            espi_buffer_text(out, "\\ufffd"); /* readers in C refuse U+0000 */
            i++;
        } else if (s[i] < 0x20 || s[i] == 0x7f) {
            espi_buffer_format(out, "\\u%04x", s[i]);
            i++;
        } else {
            espi_buffer_add(out, s + i, n);
            i += n;
        }
    }
    espi_buffer_text(out, "\"");
}

/* Comma, line break and indentation, then the key. */
static void begin_member(struct espi_json *json, const char *key)
{
    if (json->filled[json->depth])
        espi_buffer_text(json->out, json->flat[json->depth] ? ", " : ",");
    if (!json->flat[json->depth] && json->depth > 0) {
        espi_buffer_text(json->out, "\n");
        for (int i = 0; i < json->depth; i++)
            espi_buffer_text(json->out, "  ");
    }
    json->filled[json->depth] = true;
    if (key != NULL) {
        put_quoted(json->out, key, strlen(key));
        espi_buffer_text(json->out, ": ");
    }
}

void espi_json_begin(struct espi_json *json, const char *key, char bracket, bool flat)
{
    begin_member(json, key);
    espi_buffer_add(json->out, &bracket, 1);
    if (json->depth == ESPI_JSON_DEPTH) {
        json->out->failed = true; /* deeper than any of our documents */
        return;
    }
    flat = flat || json->flat[json->depth];
    json->depth++;
    json->filled[json->depth] = false;
    json->flat[json->depth] = flat;
}

void espi_json_end(struct espi_json *json, char bracket)
{
    if (json->depth == 0) {
        json->out->failed = true;
        return;
    }
    bool flat = json->flat[json->depth], filled = json->filled[json->depth];
    json->depth--;
    if (!flat && filled) {
        espi_buffer_text(json->out, "\n");
        for (int i = 0; i < json->depth; i++)
            espi_buffer_text(json->out, "  ");
    }
    espi_buffer_add(json->out, &bracket, 1);
    if (json->depth == 0)
        espi_buffer_text(json->out, "\n");
}

void espi_json_string_n(struct espi_json *json, const char *key, const char *text, size_t len)
{
    begin_member(json, key);
    put_quoted(json->out, text, len);
}

void espi_json_string(struct espi_json *json, const char *key, const char *text)
{
    if (text == NULL)
        espi_json_null(json, key);
    else
        espi_json_string_n(json, key, text, strlen(text));
}

void espi_json_integer(struct espi_json *json, const char *key, int64_t value)
{
    begin_member(json, key);
    espi_buffer_format(json->out, "%" PRId64, value);
}

void espi_json_count(struct espi_json *json, const char *key, uint64_t value)
{
    espi_json_integer(json, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void espi_json_real(struct espi_json *json, const char *key, double value)
{
    char text[40];
    begin_member(json, key);
    espi_buffer_text(json->out, espi_number_format(text, sizeof text, value, 6));
}

void espi_json_bool(struct espi_json *json, const char *key, bool value)
{
    begin_member(json, key);
    espi_buffer_text(json->out, value ? "true" : "false");
}

void espi_json_null(struct espi_json *json, const char *key)
{
    begin_member(json, key);
    espi_buffer_text(json->out, "null");
}
