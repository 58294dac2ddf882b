/* Reading type maps: one entry a line, "DISPLACEMENT [TYPE]". */
#include "cli/mapfile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

/* One line without its line end: blank, comment, or an entry that is appended. */
static int read_line(const struct cli_map_form *form, const char *shown, size_t number, const char *line, size_t len,
                     struct espi_typemap *map)
{
    static const char blank[] = " \t\r";
    const char *comment = memchr(line, '#', len);
    const char *word[2];
    size_t word_len[2], words = 0;
    char text[CLI_WORD];
    int64_t disp, end;

    if (comment != NULL)
        len = (size_t)(comment - line);
    for (size_t at = 0; at < len;) {
        if (line[at] != '\0' && strchr(blank, line[at]) != NULL) {
            at++;
            continue;
        }
        size_t stop = at;
        while (stop < len && (line[stop] == '\0' || strchr(blank, line[stop]) == NULL))
            stop++;
        if (words == 2)
            return cli_fail("%s:%zu: expected DISPLACEMENT [TYPE], found '%s' after them", shown, number,
                            cli_word(text, line + at, stop - at));
        word[words] = line + at;
        word_len[words++] = stop - at;
        at = stop;
    }
    if (words == 0)
        return CLI_OK;
    if (!espi_whole_parse(word[0], word_len[0], &disp)) {
        bool sign = word[0][0] == '+' || word[0][0] == '-';
        bool digits = word_len[0] > sign && strspn(word[0] + sign, "0123456789") >= word_len[0] - sign;
        return cli_fail("%s:%zu: expected a displacement (a whole number%s), found '%s'", shown, number,
                        digits ? " that fits 64 bits" : "", cli_word(text, word[0], word_len[0]));
    }
    if (__builtin_mul_overflow(disp, form->unit, &disp))
        return cli_fail("%s:%zu: expected a displacement that fits 64 bits, found %s times %" PRId64, shown, number,
                        cli_word(text, word[0], word_len[0]), form->unit);
    espi_base base = words == 2 ? espi_base_find(word[1], word_len[1]) : form->base;
    if (base == ESPI_BASE_NONE)
        return cli_fail("%s:%zu: expected a predefined MPI datatype (MPI_DOUBLE, say), found '%s'", shown, number,
                        cli_word(text, word[1], word_len[1]));
    if (__builtin_add_overflow(disp, espi_base_info(base)->extent, &end))
        return cli_fail("%s:%zu: expected an end of the entry that fits 64 bits, found %s", shown, number,
                        cli_word(text, word[0], word_len[0]));
    if (espi_typemap_append(map, base, disp) != ESPI_OK)
        return cli_fail("%s:%zu: no memory for so many entries", shown, number);
    return CLI_OK;
}

int cli_read_map(const char *file, const struct cli_map_form *form, struct espi_typemap *map)
{
    const char *shown = strcmp(file, "-") == 0 ? "standard input" : file;
    struct cli_text text;
    int code = CLI_OK;

    if (!cli_read_text(file, &text))
        return CLI_FAILURE;
    for (size_t at = 0, number = 1; at < text.len && code == CLI_OK; number++) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        size_t len = end != NULL ? (size_t)(end - text.data) - at : text.len - at;
        code = read_line(form, shown, number, text.data + at, len, map);
        at += len + 1;
    }
    free(text.data);
    return code;
}
