#include "commtree/model_file.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { ALPHA, BETA, GAMMA, LATENCY, CONSTANTS };

static const char *const level_names[ESPI_LEVELS] = {"node", "net"};
static const char *const constant_names[CONSTANTS] = {"alpha", "beta", "gamma", "latency"};

const char *espi_level_name(enum espi_level level)
{
    return level_names[level];
}

bool espi_level_parse(const char *name, enum espi_level *level)
{
    for (int l = 0; l < ESPI_LEVELS; l++)
        if (!strcmp(name, level_names[l])) {
            *level = (enum espi_level)l;
            return true;
        }
    return false;
}

/* Values by scope; the last scope holds the plain names. */
struct table {
    double value[ESPI_LEVELS + 1][CONSTANTS];
    int line[ESPI_LEVELS + 1][CONSTANTS]; /* 0: not given */
};

static size_t trim_blanks(const char **text, size_t len)
{
    static const char blank[] = " \t\r\v\f";
    while (len > 0 && **text && strchr(blank, **text)) {
        (*text)++;
        len--;
    }
    while (len > 0 && (*text)[len - 1] && strchr(blank, (*text)[len - 1]))
        len--;
    return len;
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && !memcmp(text, word, len);
}

/* What stands in a name as it may be shown. */
static int shown_width(size_t len)
{
    return len > 40 ? 40 : (int)len;
}

static espi_status read_line(const char *text, size_t len, int number, struct table *table,
                             struct espi_model_file_error *error)
{
    const char *equals = memchr(text, '=', len), *value;
    int scope = ESPI_LEVELS, constant = 0;
    size_t value_len;
    error->line = number;
    if (!equals) {
        snprintf(error->what, sizeof error->what, "expected NAME = VALUE, found '%.*s'", shown_width(len), text);
        return ESPI_ERR_SYNTAX;
    }
    value = equals + 1;
    value_len = trim_blanks(&value, len - (size_t)(value - text));
    len = trim_blanks(&text, (size_t)(equals - text));
    const char *dot = memchr(text, '.', len), *name = dot ? dot + 1 : text;
    size_t name_len = len - (size_t)(name - text);
    if (dot)
        for (scope = 0; scope < ESPI_LEVELS && !is_word(text, (size_t)(dot - text), level_names[scope]);)
            scope++;
    while (constant < CONSTANTS && !is_word(name, name_len, constant_names[constant]))
        constant++;
    if (constant == CONSTANTS || (dot && scope == ESPI_LEVELS)) {
        snprintf(error->what, sizeof error->what,
                 "expected alpha, beta, gamma or latency, alone or after node. or net., found '%.*s'",
                 shown_width(len), text);
        return ESPI_ERR_SYNTAX;
    }
    double *slot = &table->value[scope][constant];
    if (!espi_number_parse(value, value_len, slot) || *slot < 0 || *slot > 1e6) {
        snprintf(error->what, sizeof error->what, "expected a number of seconds from 0 to 1e6, found '%.*s'",
                 shown_width(value_len), value);
        return ESPI_ERR_SYNTAX;
    }
    if (table->line[scope][constant]) {
        snprintf(error->what, sizeof error->what, "%.*s is given twice, first in line %d", shown_width(len), text,
                 table->line[scope][constant]);
        return ESPI_ERR_SYNTAX;
    }
    table->line[scope][constant] = number;
    return ESPI_OK;
}

static espi_status fill_models(const struct table *table, struct espi_level_models *models,
                               struct espi_model_file_error *error)
{
    bool any = false;
    for (int l = 0; l < ESPI_LEVELS; l++) {
        double v[CONSTANTS];
        int own = 0, missing = -1;
        for (int c = CONSTANTS - 1; c >= 0; c--) {
            int scope = table->line[l][c] ? l : ESPI_LEVELS;
            v[c] = table->line[scope][c] ? table->value[scope][c] : 0;
            own += table->line[l][c] != 0;
            if (!table->line[scope][c] && c <= BETA)
                missing = c;
        }
        models->have[l] = missing < 0;
        any = any || models->have[l];
        models->level[l] = (struct espi_commtree_model){v[ALPHA], v[BETA], v[GAMMA], v[LATENCY], true};
        if (own && missing >= 0) {
            snprintf(error->what, sizeof error->what, "expected %s.%s too, or plain %s", level_names[l],
                     constant_names[missing], constant_names[missing]);
            return ESPI_ERR_SYNTAX;
        }
    }
    if (any)
        return ESPI_OK;
    snprintf(error->what, sizeof error->what, "expected alpha and beta, plain or of a level");
    return ESPI_ERR_SYNTAX;
}

espi_status espi_model_file_parse(const char *text, size_t len, struct espi_level_models *models,
                                  struct espi_model_file_error *error)
{
    struct table table;
    int number = 0;
    memset(&table, 0, sizeof table);
    memset(models, 0, sizeof *models);
    *error = (struct espi_model_file_error){0, ""};
    for (const char *at = text, *end = text + len; at < end;) {
        const char *line = at, *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((stop ? stop : end) - at);
        const char *comment = memchr(line, '#', line_len);
        at = stop ? stop + 1 : end;
        number++;
        line_len = trim_blanks(&line, comment ? (size_t)(comment - line) : line_len);
        espi_status status = line_len ? read_line(line, line_len, number, &table, error) : ESPI_OK;
        if (status != ESPI_OK)
            return status;
    }
    error->line = 0;
    return fill_models(&table, models, error);
}

size_t espi_model_file_write(const struct espi_level_models *models, char *buf, size_t size)
{
    size_t at = 0;
    if (size > 0)
        buf[0] = '\0';
    for (int l = 0; l < ESPI_LEVELS; l++) {
        const struct espi_commtree_model *m = &models->level[l];
        const double v[CONSTANTS] = {m->alpha, m->beta, m->gamma, m->latency};
        for (int c = 0; models->have[l] && c < CONSTANTS; c++) {
            char text[40];
            at += (size_t)snprintf(at < size ? buf + at : NULL, at < size ? size - at : 0, "%s.%s = %s\n",
                                   level_names[l], constant_names[c], espi_number_format(text, sizeof text, v[c], 5));
        }
    }
    return at;
}
