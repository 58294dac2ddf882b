#include "base/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/number.h"

extern char **environ;

#define KIND_SWITCH ESPI_SETTING_SWITCH
#define KIND_CHOICE ESPI_SETTING_CHOICE
#define KIND_NUMBER ESPI_SETTING_NUMBER
#define KIND_TEXT ESPI_SETTING_TEXT_VALUE

const struct espi_setting_info espi_setting_table[] = {
#define ESPI_SETTING(field, variable, kind, fallback, allowed, help)  \
    {#field, variable, fallback, allowed, help, KIND_##kind, offsetof(struct espi_settings, field)},
#include "base/settings.def"
#undef ESPI_SETTING
};

static void *field_of(struct espi_settings *settings, const struct espi_setting_info *info)
{
    return (char *)settings + info->offset;
}

static const void *field_of_const(const struct espi_settings *settings, const struct espi_setting_info *info)
{
    return (const char *)settings + info->offset;
}

/* Index of `text` among the alternatives "a|b|c", or -1. */
static int choice_index(const char *allowed, const char *text)
{
    size_t len = strlen(text);
    for (int index = 0;; index++) {
        size_t word = strcspn(allowed, "|");
        if (word == len && memcmp(allowed, text, len) == 0)
            return index;
        if (allowed[word] == '\0')
            return -1;
        allowed += word + 1;
    }
}

static void choice_text(const char *allowed, int index, const char **text, size_t *len)
{
    while (index-- > 0)
        allowed += strcspn(allowed, "|") + 1;
    *text = allowed;
    *len = strcspn(allowed, "|");
}

/* A decimal number that fills the whole text and lies within "LEAST..MOST". */
static bool number_value(const char *allowed, const char *text, int64_t *value)
{
    const char *dots = strstr(allowed, "..");
    int64_t least, most;
    return espi_whole_parse(allowed, (size_t)(dots - allowed), &least) &&
           espi_whole_parse(dots + 2, strlen(dots + 2), &most) && espi_whole_parse(text, strlen(text), value) &&
           *value >= least && *value <= most;
}

espi_status espi_settings_set(struct espi_settings *settings, enum espi_setting which,
                                            const char *text)
{
    if ((unsigned)which >= ESPI_SETTING_COUNT)
        return ESPI_ERR_ARGUMENT;
    const struct espi_setting_info *info = &espi_setting_table[which];
    void *field = field_of(settings, info);
    int saved_errno = errno;
    espi_status status = ESPI_OK;

    switch (info->kind) {
    case ESPI_SETTING_SWITCH:
    case ESPI_SETTING_CHOICE: {
        int index = choice_index(info->allowed, text);
        if (index < 0)
            status = ESPI_ERR_SYNTAX;
        else
            *(int *)field = index;
        break;
    }
    case ESPI_SETTING_NUMBER: {
        int64_t value;
        if (!number_value(info->allowed, text, &value))
            status = ESPI_ERR_SYNTAX;
        else
            *(int64_t *)field = value;
        break;
    }
    case ESPI_SETTING_TEXT_VALUE: {
        size_t len = strlen(text);
        if (len >= ESPI_SETTING_TEXT) {
            status = ESPI_ERR_SYNTAX;
        } else {
            memset(field, 0, ESPI_SETTING_TEXT);
            memcpy(field, text, len);
        }
        break;
    }
    }
    errno = saved_errno;
    return status;
}

void espi_settings_defaults(struct espi_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    for (int i = 0; i < ESPI_SETTING_COUNT; i++)
        espi_settings_set(settings, (enum espi_setting)i, espi_setting_table[i].default_text);
}

const char *espi_settings_expected(enum espi_setting which, char *buf, size_t size)
{
    const struct espi_setting_info *info = &espi_setting_table[which];

    switch (info->kind) {
    case ESPI_SETTING_NUMBER: {
        size_t least = strcspn(info->allowed, ".");
        snprintf(buf, size, "a whole number from %.*s to %s", (int)least, info->allowed, info->allowed + least + 2);
        break;
    }
    case ESPI_SETTING_TEXT_VALUE:
        snprintf(buf, size, "%s of at most %d bytes", info->allowed, ESPI_SETTING_TEXT - 1);
        break;
    default:
        snprintf(buf, size, "one of %s", info->allowed);
    }
    return buf;
}

static void warn_wrong(enum espi_setting which, const char *value, espi_settings_warn warn, void *context)
{
    const struct espi_setting_info *info = &espi_setting_table[which];
    char message[768];
    char expected[ESPI_SETTING_EXPECTED];

    snprintf(message, sizeof message, "%s has the value '%.80s%s'; expected %s; the default '%s' is used",
             info->variable, value, strlen(value) > 80 ? "..." : "",
             espi_settings_expected(which, expected, sizeof expected), info->default_text);
    warn(context, message);
}

size_t espi_settings_run_word(enum espi_setting which, const char *value, char *buf, size_t size)
{
    uint32_t hash = 2166136261; /* FNV-1a */

    for (; *value != '\0'; value++)
        hash = (hash ^ (unsigned char)*value) * 16777619;
    return (size_t)snprintf(buf, size, "%s:%08" PRIx32, espi_setting_table[which].variable, hash);
}

/* Whether `words`, which may be NULL, has the word for the value of this setting. */
static bool is_from_run(const struct espi_settings *settings, enum espi_setting which, const char *words)
{
    char value[ESPI_SETTING_TEXT], word[128];
    size_t len;

    if (words == NULL)
        return false;
    espi_settings_value(settings, which, value, sizeof value);
    len = espi_settings_run_word(which, value, word, sizeof word);
    for (; *words != '\0'; words += words[strcspn(words, " ")] == ' ' ? strcspn(words, " ") + 1 : strlen(words))
        if (strcspn(words, " ") == len && memcmp(words, word, len) == 0)
            return true;
    return false;
}

void espi_settings_load(struct espi_settings *settings, espi_settings_get get, void *get_context,
                        espi_settings_warn warn, void *warn_context)
{
    espi_settings_defaults(settings);
    for (int i = 0; i < ESPI_SETTING_COUNT; i++) {
        const struct espi_setting_info *info = &espi_setting_table[i];
        const char *text = get(get_context, info->variable);
        if (text == NULL || *text == '\0')
            continue;
        if (espi_settings_set(settings, (enum espi_setting)i, text) == ESPI_OK) {
            bool run = is_from_run(settings, (enum espi_setting)i, get(get_context, ESPI_SETTINGS_RUN));
            settings->source[i] = run ? ESPI_FROM_RUN : ESPI_FROM_ENVIRONMENT;
        } else {
            settings->source[i] = ESPI_FROM_DEFAULT_WRONG;
            if (warn != NULL)
                warn_wrong((enum espi_setting)i, text, warn, warn_context);
        }
    }
}

/* Edit distance, for "did you mean"; names longer than the row give up with a large value. */
static size_t edit_distance(const char *a, size_t a_len, const char *b)
{
    size_t row[64];
    size_t b_len = strlen(b);
    if (b_len >= sizeof row / sizeof row[0] || a_len >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b_len];
}

const char *espi_settings_nearest(const char *name, size_t len)
{
    const char *near = NULL;
    size_t prefix = strlen("ESPALIER");
    size_t least = (len > prefix ? len - prefix : 0) / 3 + 1; /* further away is no help */
    for (int i = 0; i < ESPI_SETTING_COUNT; i++) {
        size_t d = edit_distance(name, len, espi_setting_table[i].variable);
        if (d < least) {
            least = d;
            near = espi_setting_table[i].variable;
        }
    }
    return near;
}

static void warn_unknown(const char *name, size_t len, espi_settings_warn warn, void *context)
{
    char message[512];
    const char *near = espi_settings_nearest(name, len);
    snprintf(message, sizeof message, "unknown setting %.*s is ignored%s%s%s", len > 200 ? 200 : (int)len, name,
             near ? " (did you mean " : "", near ? near : "", near ? "?)" : " ('espalier settings' lists them)");
    warn(context, message);
}

size_t espi_settings_unknown(char *const *environment, espi_settings_warn warn, void *warn_context)
{
    static const char ours[] = "ESPALIER", tests[] = "ESPALIER_TEST_";
    size_t found = 0;

    for (char *const *entry = environment; entry != NULL && *entry != NULL; entry++) {
        const char *name = *entry;
        size_t len = strcspn(name, "=");
        if (strncmp(name, ours, sizeof ours - 1) != 0 || strncmp(name, tests, sizeof tests - 1) == 0)
            continue;
        if (len > sizeof ours - 1 && name[sizeof ours - 1] != '_')
            continue; /* ESPALIERS is somebody else's word */
        bool known = false, named = false;
        for (int i = 0; i < ESPI_SETTING_COUNT && !known; i++) {
            const char *variable = espi_setting_table[i].variable;
            known = strlen(variable) == len && memcmp(variable, name, len) == 0;
        }
        known = known || (len == strlen(ESPI_SETTINGS_RUN) && memcmp(name, ESPI_SETTINGS_RUN, len) == 0);
        for (char *const *earlier = environment; earlier != entry && !known && !named; earlier++)
            named = strncmp(*earlier, name, len) == 0 && (*earlier)[len] == '=';
        if (known || named)
            continue;
        found++;
        if (warn != NULL)
            warn_unknown(name, len, warn, warn_context);
    }
    return found;
}

static const char *process_get(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static void process_warn(void *context, const char *message)
{
    (void)context;
    espi_log(ESPI_LOG_WARN, "%s", message);
}

bool espi_settings_given(void)
{
    static const char ours[] = "ESPALIER";
    for (char *const *entry = environ; entry != NULL && *entry != NULL; entry++)
        if (**entry == *ours && strncmp(*entry, ours, sizeof ours - 1) == 0)
            return true;
    return false;
}

/* The program may go to another folder before the file is read, at the first gather that could use it. */
static void name_model_from_root(struct espi_settings *settings)
{
    char whole[PATH_MAX];
    if (settings->model[0] != '\0' && espi_file_from_root(settings->model, whole))
        espi_settings_set(settings, ESPI_SETTING_model, whole);
}

void espi_settings_load_process(struct espi_settings *settings, bool speak)
{
    if (!espi_settings_given()) {
        espi_settings_defaults(settings);
        espi_log_set_level((enum espi_log_level)settings->log);
        return;
    }
    /* The level first and quietly, so that ESPALIER_LOG=error also silences the warnings of this very reading. */
    espi_settings_load(settings, process_get, NULL, NULL, NULL);
    espi_log_set_level((enum espi_log_level)settings->log);
    if (speak) {
        espi_settings_load(settings, process_get, NULL, process_warn, NULL);
        espi_settings_unknown(environ, process_warn, NULL);
    }
    name_model_from_root(settings);
}

enum espi_setting espi_settings_find(const char *variable)
{
    int i = 0;
    while (i < ESPI_SETTING_COUNT && strcmp(espi_setting_table[i].variable, variable) != 0)
        i++;
    return (enum espi_setting)i;
}

size_t espi_settings_value(const struct espi_settings *settings, enum espi_setting which, char *buf, size_t size)
{
    const struct espi_setting_info *info = &espi_setting_table[which];
    const void *field = field_of_const(settings, info);
    int len = 0;

    switch (info->kind) {
    case ESPI_SETTING_SWITCH:
    case ESPI_SETTING_CHOICE: {
        const char *text;
        size_t text_len;
        choice_text(info->allowed, *(const int *)field, &text, &text_len);
        len = snprintf(buf, size, "%.*s", (int)text_len, text);
        break;
    }
    case ESPI_SETTING_NUMBER:
        len = snprintf(buf, size, "%" PRId64, *(const int64_t *)field);
        break;
    case ESPI_SETTING_TEXT_VALUE:
        len = snprintf(buf, size, "%s", (const char *)field);
        break;
    }
    return len < 0 ? 0 : (size_t)len;
}

const char *espi_source_text(enum espi_source source)
{
    switch (source) {
    case ESPI_FROM_DEFAULT:
        return "default";
    case ESPI_FROM_ENVIRONMENT:
        return "environment";
    case ESPI_FROM_DEFAULT_WRONG:
        return "default (the value given is not allowed)";
    case ESPI_FROM_RANK0:
        return "rank 0";
    case ESPI_FROM_RUN:
        return "option of espalier run";
    }
    return "unknown";
}

size_t espi_settings_write(const struct espi_settings *settings, char *buf, size_t size)
{
    size_t used = 0;
    char value[ESPI_SETTING_TEXT];
    char entry[ESPI_SETTING_TEXT + 128];

    for (int i = 0; i < ESPI_SETTING_COUNT; i++) {
        espi_settings_value(settings, (enum espi_setting)i, value, sizeof value);
        size_t len = (size_t)snprintf(entry, sizeof entry, "%s=%s", espi_setting_table[i].variable, value) + 1;
        for (size_t k = 0; k < len && used + k < size; k++)
            buf[used + k] = entry[k];
        used += len;
    }
    return used;
}

espi_status espi_settings_read(struct espi_settings *settings, const char *buf, size_t len)
{
    struct espi_settings taken = *settings;

    for (size_t at = 0; at < len;) {
        const char *end = memchr(buf + at, '\0', len - at);
        const char *equals = end == NULL ? NULL : strchr(buf + at, '=');
        if (equals == NULL)
            return ESPI_ERR_SYNTAX;
        for (int i = 0; i < ESPI_SETTING_COUNT; i++) {
            const char *variable = espi_setting_table[i].variable;
            size_t name_len = (size_t)(equals - (buf + at));
            if (strlen(variable) != name_len || memcmp(variable, buf + at, name_len) != 0)
                continue;
            char value[ESPI_SETTING_TEXT];
            espi_settings_value(settings, (enum espi_setting)i, value, sizeof value);
            if (strcmp(value, equals + 1) == 0)
                break;
            if (espi_settings_set(&taken, (enum espi_setting)i, equals + 1) != ESPI_OK)
                return ESPI_ERR_SYNTAX;
            taken.source[i] = ESPI_FROM_RANK0;
        }
        at = (size_t)(end - buf) + 1;
    }
    *settings = taken;
    return ESPI_OK;
}
