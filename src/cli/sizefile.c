#include "cli/sizefile.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

int cli_read_sizes(const char *file, int64_t **size, int *p)
{
    const char *shown = strcmp(file, "-") == 0 ? "standard input" : file, *blank = " \t\r\v\f";
    struct cli_text text;
    size_t n = 0, capacity = 0, number = 1;
    int64_t total = 0;
    int code = CLI_OK;

    *size = NULL;
    if (!cli_read_text(file, &text))
        return CLI_FAILURE;
    for (size_t at = 0; at < text.len && code == CLI_OK;) {
        char c = text.data[at];
        if (c == '\n' || (c != '\0' && strchr(blank, c) != NULL)) {
            number += c == '\n';
            at++;
            continue;
        }
        if (c == '#') {
            while (at < text.len && text.data[at] != '\n')
                at++;
            continue;
        }
        size_t end = at;
        while (end < text.len && text.data[end] != '\n' && text.data[end] != '#' &&
               (text.data[end] == '\0' || strchr(blank, text.data[end]) == NULL))
            end++;
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            int64_t *more = capacity > INT32_MAX / 2 ? NULL : realloc(*size, capacity * sizeof **size);
            if (more == NULL) {
                code = cli_fail("%s:%zu: no memory for so many sizes", shown, number);
                break;
            }
            *size = more;
        }
        char word[CLI_WORD];
        if (!espi_whole_parse(text.data + at, end - at, &(*size)[n]) || (*size)[n] < 0)
            code = cli_fail("%s:%zu: expected a block size (a whole number that is not negative and fits 63 bits), "
                            "found '%s'",
                            shown, number, cli_word(word, text.data + at, end - at));
        else if (__builtin_add_overflow(total, (*size)[n], &total))
            code = cli_fail("%s:%zu: expected a sum of sizes that fits 63 bits, found more with %s", shown, number,
                            cli_word(word, text.data + at, end - at));
        n++;
        at = end;
    }
    free(text.data);
    if (code == CLI_OK && n == 0)
        code = cli_fail("%s: expected a block size, found none", shown);
    *p = (int)n;
    if (code != CLI_OK) {
        free(*size);
        *size = NULL;
    }
    return code;
}
