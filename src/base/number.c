#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool espi_whole_parse(const char *text, size_t len, int64_t *value)
{
    bool negative = len > 0 && text[0] == '-';
    size_t i = negative;
    int64_t result = 0;

    if (i == len)
        return false;
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        int digit = text[i] - '0';
        /* Built up below zero, where one number more fits. */
        if (__builtin_mul_overflow(result, 10, &result) || __builtin_sub_overflow(result, digit, &result))
            return false;
    }
    if (!negative && __builtin_sub_overflow(0, result, &result))
        return false;
    *value = result;
    return true;
}

/* strtod and printf follow the program's locale, and switching that would need memory and touch the thread. So the
   decimal point is translated: strtod sees the one it expects, and whatever stands between printf's digits becomes a
   point. */

static const char *locale_point(char *buf, size_t size)
{
    size_t len = 0;
    char text[32];
    snprintf(text, sizeof text, "%.1f", 1.5); /* 1, the point, 5 */
    len = strlen(text);
    snprintf(buf, size, "%.*s", len > 2 ? (int)len - 2 : 0, text + 1);
    return buf;
}

bool espi_number_parse(const char *text, size_t len, double *value)
{
    char copy[80], point[16], *end;
    size_t out = 0, digits = 0;
    bool seen = false;
    locale_point(point, sizeof point);
    if (len == 0 || len > 48 || text[0] == '+')
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '.' && !seen) {
            memcpy(copy + out, point, strlen(point));
            out += strlen(point);
            seen = true;
        } else if (isdigit(c) || ((c == 'e' || c == 'E') && digits > 0) || c == '-' || c == '+') {
            digits += isdigit(c) != 0;
            copy[out++] = (char)c;
        } else {
            return false;
        }
    }
    copy[out] = '\0';
    *value = strtod(copy, &end);
    return *end == '\0' && digits > 0 && isfinite(*value);
}

const char *espi_number_format(char *buf, size_t size, double value, int digits)
{
    char text[64];
    size_t out = 0;
    bool seen = false;
    if (!isfinite(value)) {
        snprintf(buf, size, "null");
        return buf;
    }
    snprintf(text, sizeof text, "%.*g", digits, value);
    for (const char *at = text; *at != '\0' && out + 1 < size; at++) {
        if (isdigit((unsigned char)*at) || *at == 'e' || *at == '-' || *at == '+') {
            buf[out++] = *at;
        } else if (!seen) {
            buf[out++] = '.';
            seen = true;
        }
    }
    if (size > 0)
        buf[out] = '\0';
    return buf;
}
