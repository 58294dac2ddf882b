#include "cli/statfile.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "stats/report.h"

int64_t stat_number(const json_t *root, const char *a, const char *b, const char *c)
{
    const json_t *value = json_object_get(root, a);
    if (b != NULL)
        value = json_object_get(value, b);
    if (c != NULL)
        value = json_object_get(value, c);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
}

const char *stat_text(const json_t *root, const char *a, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(root, a));
    return text != NULL ? text : otherwise;
}

static bool check_members(const char *name, const json_t *root)
{
    static const struct {
        const char *key;
        json_type type;
        const char *what;
    } members[] = {
        {"espalier", JSON_STRING, "a text"}, {"mpi", JSON_STRING, "a text"}, {"command", JSON_ARRAY, "an array"},
        {"ranks", JSON_INTEGER, "a whole number"}, {"elapsed_ns", JSON_INTEGER, "a whole number"},
        {"hosts", JSON_ARRAY, "an array"}, {"settings", JSON_OBJECT, "an object"},
        {"counters", JSON_OBJECT, "an object"}, {"left_alone", JSON_OBJECT, "an object"},
        {"own_time", JSON_OBJECT, "an object"}, {"functions", JSON_OBJECT, "an object"},
        {"types", JSON_ARRAY, "an array"},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const json_t *value = json_object_get(root, members[i].key);
        if (value == NULL || json_typeof(value) != members[i].type) {
            cli_fail("%s: \"%s\" is %s; expected %s", name, members[i].key,
                     value == NULL ? "missing" : "of another type", members[i].what);
            return false;
        }
    }
    return true;
}

json_t *stat_load(const char *name)
{
    struct cli_text text;
    json_error_t error;

    if (!cli_read_text(name, &text))
        return NULL;
    if (text.len == 0) {
        cli_fail("%s:1: the file is empty; expected Espalier statistics (JSON)", name);
        free(text.data);
        return NULL;
    }
    json_t *root = json_loadb(text.data, text.len, 0, &error);
    free(text.data);
    if (root == NULL) {
        if (json_error_code(&error) == json_error_premature_end_of_input)
            cli_fail("%s:%d: the file ends too early; expected the rest of a JSON object", name, error.line);
        else
            cli_fail("%s:%d: expected JSON; %s", name, error.line, error.text);
        return NULL;
    }
    const json_t *version = json_object_get(root, "schema_version");
    if (strcmp(stat_text(root, "schema", ""), ESPI_SCHEMA_NAME) != 0 || !json_is_integer(version)) {
        cli_fail("%s: JSON, but not Espalier statistics; expected \"schema\": \"%s\"", name, ESPI_SCHEMA_NAME);
    } else if (json_integer_value(version) != ESPI_SCHEMA_VERSION) {
        cli_fail("%s: written in version %lld of the form; expected version %d (written by Espalier %s)", name,
                 (long long)json_integer_value(version), ESPI_SCHEMA_VERSION, stat_text(root, "espalier", "?"));
    } else if (check_members(name, root)) {
        return root;
    }
    json_decref(root);
    return NULL;
}
