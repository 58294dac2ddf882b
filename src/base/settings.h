/* Settings: read once from ESPALIER_* variables; the table is settings.def. A value counts, never mere presence. */
#ifndef ESPI_BASE_SETTINGS_H
#define ESPI_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ESPI_SETTING_TEXT 1024 /* bytes of a TEXT value with its NUL */

enum espi_setting_kind { ESPI_SETTING_SWITCH, ESPI_SETTING_CHOICE, ESPI_SETTING_NUMBER, ESPI_SETTING_TEXT_VALUE };

/* Values of settings with the choices off|auto|always, and of ESPALIER_WORLD. */
enum espi_mode { ESPI_MODE_OFF, ESPI_MODE_AUTO, ESPI_MODE_ALWAYS };
enum espi_exchange { ESPI_EXCHANGE_OFF, ESPI_EXCHANGE_SLOTS, ESPI_EXCHANGE_AUTO };
enum espi_world_mode { ESPI_WORLD_AUTO, ESPI_WORLD_ALL };

/* One number per row, in the order of the table. */
enum espi_setting {
#define ESPI_SETTING(field, ...) ESPI_SETTING_##field,
#include "base/settings.def"
#undef ESPI_SETTING
    ESPI_SETTING_COUNT
};

enum espi_source {
    ESPI_FROM_DEFAULT,
    ESPI_FROM_ENVIRONMENT,
    ESPI_FROM_DEFAULT_WRONG, /* the environment holds a value that is not allowed; the default stands */
    ESPI_FROM_RANK0,         /* differs on rank 0, whose value holds */
    ESPI_FROM_RUN            /* an option of `espalier run`, which put it into the environment */
};

struct espi_settings {
#define ESPI_SETTING_TYPE_SWITCH(field) int field
#define ESPI_SETTING_TYPE_CHOICE(field) int field
#define ESPI_SETTING_TYPE_NUMBER(field) int64_t field
#define ESPI_SETTING_TYPE_TEXT(field) char field[ESPI_SETTING_TEXT]
#define ESPI_SETTING(field, variable, kind, ...) ESPI_SETTING_TYPE_##kind(field);
#include "base/settings.def"
#undef ESPI_SETTING
    unsigned char source[ESPI_SETTING_COUNT]; /* enum espi_source */
};

struct espi_setting_info {
    const char *field, *variable, *default_text, *allowed, *help;
    enum espi_setting_kind kind;
    size_t offset; /* of the field in struct espi_settings */
};
/* ESPI_SETTING_COUNT rows. */
extern const struct espi_setting_info espi_setting_table[];

/* getenv, or what a test puts in its place; the result need only live until the next call. */
typedef const char *(*espi_settings_get)(void *context, const char *name);
/* Takes one finished sentence without line end. */
typedef void (*espi_settings_warn)(void *context, const char *message);

void espi_settings_defaults(struct espi_settings *settings);

/* Reads every row of the table. A variable that is not set or empty gives the default; a value that is not allowed
   gives the default and one warning that names variable, value and what was expected. `warn` may be NULL. */
void espi_settings_load(struct espi_settings *settings, espi_settings_get get, void *get_context,
                        espi_settings_warn warn, void *warn_context);

/* Warns of each ESPALIER_* name in `environment` (NAME=VALUE strings, NULL at the end) that the table does not have,
   once each, with the nearest known name. ESPALIER_TEST_* belongs to the tests and is skipped. Returns how many. */
size_t espi_settings_unknown(char *const *environment, espi_settings_warn warn, void *warn_context);

/* The two calls above for this process: getenv, environ, warnings through espi_log when `speak` (one rank is enough:
   pass false on the others), and espi_log_set_level. */
void espi_settings_load_process(struct espi_settings *settings, bool speak);

/* Whether the environment has any name that begins with ESPALIER: without one there is nothing to read but the
   defaults, and nothing to say. */
bool espi_settings_given(void);

/* Sets one field from text as if it stood in the environment. ESPI_ERR_SYNTAX leaves the settings as they were. */
espi_status espi_settings_set(struct espi_settings *settings, enum espi_setting which, const char *text);

/* `espalier run` puts what its options say into the environment, and lists it in this variable, so that it can be
   told from what was there: words NAME:HASH of value. */
#define ESPI_SETTINGS_RUN "ESPALIER_RUN_OPTIONS"
/* Such a word for a value in its canonical form (espi_settings_value); returns its length as snprintf. */
size_t espi_settings_run_word(enum espi_setting which, const char *value, char *buf, size_t size);

/* The row of a variable; ESPI_SETTING_COUNT when there is none. */
enum espi_setting espi_settings_find(const char *variable);

/* The variable nearest to a misspelt name; NULL when none is near. */
const char *espi_settings_nearest(const char *name, size_t len);

/* What a value must be, to stand after "expected": "one of off|auto", "a whole number from 0 to 9". buf is
   returned. */
#define ESPI_SETTING_EXPECTED 160
const char *espi_settings_expected(enum espi_setting which, char *buf, size_t size);

/* The value as it would be written in the environment; returns its length as snprintf. */
size_t espi_settings_value(const struct espi_settings *settings, enum espi_setting which, char *buf, size_t size);

/* Whether statistics or a summary are wanted. */
static inline bool espi_settings_tell(const struct espi_settings *settings)
{
    return settings->stats[0] != '\0' || settings->summary;
}

/* "environment", "default", ...; never NULL. */
const char *espi_source_text(enum espi_source source);

/* All values as bytes to send to other ranks ("VARIABLE=VALUE" strings, each with its NUL). Returns the length that
   was or would have been written; nothing past `size` is written. */
size_t espi_settings_write(const struct espi_settings *settings, char *buf, size_t size);

/* Takes rank 0's values: fields that differ change and get the source ESPI_FROM_RANK0. Rows that only one side knows
   are skipped. ESPI_ERR_SYNTAX (malformed bytes or values) leaves the settings as they were. */
espi_status espi_settings_read(struct espi_settings *settings, const char *buf, size_t len);

#endif
