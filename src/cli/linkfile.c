#include "cli/linkfile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

enum { WORDS = 4 };

/* A line, cut into words. */
struct line {
    const char *file;
    size_t number;
    int words;
    const char *word[WORDS];
    size_t len[WORDS];
};

static int cut_line(struct line *line, const char *text, size_t len)
{
    const char *comment = memchr(text, '#', len), *blank = " \t\r\v\f";
    char shown[CLI_WORD];
    line->words = 0;
    if (comment != NULL)
        len = (size_t)(comment - text);
    for (size_t at = 0; at < len;) {
        size_t stop = at;
        while (stop < len && (text[stop] == '\0' || strchr(blank, text[stop]) == NULL))
            stop++;
        if (stop == at) {
            at++;
            continue;
        }
        if (line->words == WORDS)
            return cli_fail("%s:%zu: expected FROM TO ALPHA BETA, found '%s' after them", line->file, line->number,
                            cli_word(shown, text + at, stop - at));
        line->word[line->words] = text + at;
        line->len[line->words++] = stop - at;
        at = stop;
    }
    if (line->words != 0 && line->words != WORDS)
        return cli_fail("%s:%zu: expected FROM TO ALPHA BETA, found %d of the four", line->file, line->number,
                        line->words);
    return CLI_OK;
}

/* The ranks first .. last that a word stands for. */
static int read_ranks(const struct line *line, int w, int p, int *first, int *last)
{
    char shown[CLI_WORD];
    int64_t rank = 0;
    bool all = line->len[w] == 1 && line->word[w][0] == '*';

    if (!all && (!espi_whole_parse(line->word[w], line->len[w], &rank) || rank < 0 || rank >= p))
        return cli_fail("%s:%zu: expected a rank from 0 to %d, or *, found '%s'", line->file, line->number, p - 1,
                        cli_word(shown, line->word[w], line->len[w]));
    *first = (int)rank;
    *last = all ? p - 1 : (int)rank;
    return CLI_OK;
}

static int read_constant(const struct line *line, int w, double *number)
{
    char shown[CLI_WORD];
    if (espi_number_parse(line->word[w], line->len[w], number) && *number >= 0 && *number <= 1e15)
        return CLI_OK;
    return cli_fail("%s:%zu: expected a number from 0 to 1e15, found '%s'", line->file, line->number,
                    cli_word(shown, line->word[w], line->len[w]));
}

static int take_line(const struct line *line, int p, double *alpha, double *beta)
{
    int from[2], to[2];
    double a, b;
    int code = read_ranks(line, 0, p, &from[0], &from[1]);
    if (code == CLI_OK)
        code = read_ranks(line, 1, p, &to[0], &to[1]);
    if (code == CLI_OK && p > 1 && from[0] == from[1] && to[0] == to[1] && from[0] == to[0])
        code = cli_fail("%s:%zu: expected two ranks, found %d twice", line->file, line->number, from[0]);
    if (code == CLI_OK)
        code = read_constant(line, 2, &a);
    if (code == CLI_OK)
        code = read_constant(line, 3, &b);
    for (int i = from[0]; code == CLI_OK && i <= from[1]; i++) {
        for (int j = to[0]; j <= to[1]; j++) {
            alpha[(size_t)i * (size_t)p + (size_t)j] = a;
            beta[(size_t)i * (size_t)p + (size_t)j] = b;
        }
    }
    return code;
}

/* That no message lacks its constants. */
static int check_all(const char *file, int p, const double *alpha)
{
    for (int i = 0; i < p; i++) {
        for (int j = 0; j < p; j++) {
            if (i != j && isnan(alpha[(size_t)i * (size_t)p + (size_t)j]))
                return cli_fail("%s: expected constants of all messages, found none of those from %d to %d", file, i,
                                j);
        }
    }
    return CLI_OK;
}

int cli_read_links(const char *file, int p, double **alpha, double **beta)
{
    struct line line = {.file = strcmp(file, "-") == 0 ? "standard input" : file};
    size_t n = (size_t)p * (size_t)p;
    struct cli_text text;
    int code = CLI_OK;

    *alpha = *beta = NULL;
    if (p > CLI_LINKS_RANKS)
        return cli_fail("--links: expected at most %d ranks, found %d", CLI_LINKS_RANKS, p);
    if (!cli_read_text(file, &text))
        return CLI_FAILURE;
    *alpha = malloc(n * sizeof **alpha);
    *beta = malloc(n * sizeof **beta);
    if (*alpha == NULL || *beta == NULL)
        code = cli_fail("no memory for the links of %d ranks", p);
    for (size_t x = 0; code == CLI_OK && x < n; x++)
        (*alpha)[x] = (*beta)[x] = NAN;
    for (size_t at = 0; at < text.len && code == CLI_OK;) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        size_t len = end != NULL ? (size_t)(end - text.data) - at : text.len - at;
        line.number++;
        code = cut_line(&line, text.data + at, len);
        if (code == CLI_OK && line.words > 0)
            code = take_line(&line, p, *alpha, *beta);
        at += len + 1;
    }
    free(text.data);
    if (code == CLI_OK)
        code = check_all(line.file, p, *alpha);
    if (code != CLI_OK) {
        free(*alpha);
        free(*beta);
        *alpha = *beta = NULL;
    }
    return code;
}
