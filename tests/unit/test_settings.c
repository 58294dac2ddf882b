/* Settings: every row by itself, wrong values, unknown names, the bytes that rank 0 sends. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "runner.h"

struct environment {
    const char *name[8], *value[8];
    int n;
};

static const char *get(void *context, const char *name)
{
    const struct environment *env = context;
    for (int i = 0; i < env->n; i++)
        if (strcmp(env->name[i], name) == 0)
            return env->value[i];
    return NULL;
}

struct warnings {
    int n;
    char text[8][768];
};

static void warn(void *context, const char *message)
{
    struct warnings *w = context;
    if (w->n < 8)
        snprintf(w->text[w->n], sizeof w->text[0], "%s", message);
    w->n++;
}

START_TEST(defaults_are_the_table)
{
    struct espi_settings s;
    char value[ESPI_SETTING_TEXT];
    espi_settings_defaults(&s);
    for (int i = 0; i < ESPI_SETTING_COUNT; i++) {
        espi_settings_value(&s, i, value, sizeof value);
        ck_assert_str_eq(value, espi_setting_table[i].default_text);
        ck_assert_int_eq(s.source[i], ESPI_FROM_DEFAULT);
        ck_assert_int_eq(espi_settings_find(espi_setting_table[i].variable), i);
        /* The default must be an allowed value itself. */
        ck_assert_int_eq(espi_settings_set(&s, i, espi_setting_table[i].default_text), ESPI_OK);
        ck_assert_int_eq(strncmp(espi_setting_table[i].variable, "ESPALIER", 8), 0);
    }
    ck_assert_int_eq(s.enabled, 1);
    ck_assert_int_eq(s.datatypes, ESPI_MODE_AUTO);
}
END_TEST

START_TEST(every_choice_reads_back)
{
    struct espi_settings s;
    for (int i = 0; i < ESPI_SETTING_COUNT; i++) {
        const struct espi_setting_info *info = &espi_setting_table[i];
        if (info->kind != ESPI_SETTING_SWITCH && info->kind != ESPI_SETTING_CHOICE)
            continue;
        char words[256], value[ESPI_SETTING_TEXT];
        snprintf(words, sizeof words, "%s", info->allowed);
        int index = 0;
        for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|"), index++) {
            espi_settings_defaults(&s);
            ck_assert_int_eq(espi_settings_set(&s, i, word), ESPI_OK);
            ck_assert_int_eq(*(int *)((char *)&s + info->offset), index);
            espi_settings_value(&s, i, value, sizeof value);
            ck_assert_str_eq(value, word);
        }
    }
}
END_TEST

START_TEST(values_count_not_presence)
{
    struct environment env = {{"ESPALIER", "ESPALIER_SUMMARY"}, {"0", ""}, 2};
    struct espi_settings s;
    struct warnings w = {0};
    espi_settings_load(&s, get, &env, warn, &w);
    ck_assert_int_eq(s.enabled, 0);
    ck_assert_int_eq(s.source[ESPI_SETTING_enabled], ESPI_FROM_ENVIRONMENT);
    ck_assert_int_eq(s.summary, 0);
    ck_assert_int_eq(s.source[ESPI_SETTING_summary], ESPI_FROM_DEFAULT);
    ck_assert_int_eq(w.n, 0);
}
END_TEST

/* What `espalier run` lists is told from what was there, as long as it was not changed since. */
START_TEST(options_of_run_are_told_apart)
{
    char words[256];
    size_t at = espi_settings_run_word(ESPI_SETTING_stats, "a b", words, sizeof words);
    words[at++] = ' ';
    at += espi_settings_run_word(ESPI_SETTING_summary, "1", words + at, sizeof words - at);
    words[at++] = ' ';
    at += espi_settings_run_word(ESPI_SETTING_budget_ms, "7", words + at, sizeof words - at);
    struct environment env = {{"ESPALIER_STATS", "ESPALIER_SUMMARY", "ESPALIER_BUDGET_MS", "ESPALIER_LOG",
                               ESPI_SETTINGS_RUN}, {"a b", "0", "007", "info", words}, 5};
    struct espi_settings s;
    espi_settings_load(&s, get, &env, NULL, NULL);
    ck_assert_int_eq(s.source[ESPI_SETTING_stats], ESPI_FROM_RUN);
    ck_assert_int_eq(s.source[ESPI_SETTING_budget_ms], ESPI_FROM_RUN);
    ck_assert_int_eq(s.source[ESPI_SETTING_summary], ESPI_FROM_ENVIRONMENT); /* set again since then */
    ck_assert_int_eq(s.source[ESPI_SETTING_log], ESPI_FROM_ENVIRONMENT);
    ck_assert_int_eq(s.source[ESPI_SETTING_world], ESPI_FROM_DEFAULT);
    ck_assert_str_eq(espi_source_text(ESPI_FROM_RUN), "option of espalier run");
    /* Words that are none. */
    static const char *const odd[] = {"", " ", "ESPALIER_STATS", "ESPALIER_STATS:", "ESPALIER_STATS:0 ", "  x  "};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        env.value[4] = odd[i];
        espi_settings_load(&s, get, &env, NULL, NULL);
        ck_assert_int_eq(s.source[ESPI_SETTING_stats], ESPI_FROM_ENVIRONMENT);
    }
    char *names[] = {ESPI_SETTINGS_RUN "=x", ESPI_SETTINGS_RUN "S=x", NULL};
    struct warnings w = {0};
    ck_assert_uint_eq(espi_settings_unknown(names, warn, &w), 1);
    ck_assert_ptr_nonnull(strstr(w.text[0], ESPI_SETTINGS_RUN "S"));
}
END_TEST

START_TEST(wrong_values_give_the_default_and_one_warning)
{
    static const char *const wrong[][2] = {
        {"ESPALIER", "yes"}, {"ESPALIER", "01"}, {"ESPALIER", "0|1"}, {"ESPALIER_DATATYPES", "AUTO"},
        {"ESPALIER_DATATYPES", "off|auto"}, {"ESPALIER_DATATYPES", "aut"}, {"ESPALIER_BUDGET_MS", "-1"},
        {"ESPALIER_BUDGET_MS", "12ms"}, {"ESPALIER_BUDGET_MS", "99999999999999999999999"},
        {"ESPALIER_BUDGET_MS", " 5"}, {"ESPALIER_BUDGET_MS", "+5"}, {"ESPALIER_BUDGET_MS", "0x10"},
        {"ESPALIER_LOG", "2"}, {"ESPALIER_WORLD", "none"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct environment env = {{wrong[i][0]}, {wrong[i][1]}, 1};
        struct espi_settings s, d;
        struct warnings w = {0};
        espi_settings_defaults(&d);
        espi_settings_load(&s, get, &env, warn, &w);
        enum espi_setting which = espi_settings_find(wrong[i][0]);
        ck_assert_int_lt(which, ESPI_SETTING_COUNT);
        ck_assert_msg(w.n == 1, "%s=%s: %d warnings", wrong[i][0], wrong[i][1], w.n);
        ck_assert_ptr_nonnull(strstr(w.text[0], wrong[i][0]));
        ck_assert_ptr_nonnull(strstr(w.text[0], wrong[i][1]));
        ck_assert_ptr_nonnull(strstr(w.text[0], "expected"));
        ck_assert_int_eq(s.source[which], ESPI_FROM_DEFAULT_WRONG);
        s.source[which] = ESPI_FROM_DEFAULT;
        ck_assert_int_eq(memcmp(&s, &d, sizeof s), 0);
    }
}
END_TEST

START_TEST(limits_of_numbers_and_texts)
{
    struct espi_settings s;
    char text[ESPI_SETTING_TEXT + 1];
    espi_settings_defaults(&s);
    ck_assert_int_eq(espi_settings_set(&s, ESPI_SETTING_budget_ms, "0"), ESPI_OK);
    ck_assert_int_eq(s.budget_ms, 0);
    ck_assert_int_eq(espi_settings_set(&s, ESPI_SETTING_budget_ms, "86400000"), ESPI_OK);
    ck_assert_int_eq(s.budget_ms, 86400000);
    ck_assert_int_eq(espi_settings_set(&s, ESPI_SETTING_budget_ms, "86400001"), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(s.budget_ms, 86400000);
    memset(text, 'x', sizeof text);
    text[ESPI_SETTING_TEXT] = '\0';
    ck_assert_int_eq(espi_settings_set(&s, ESPI_SETTING_stats, text), ESPI_ERR_SYNTAX);
    ck_assert_str_eq(s.stats, "");
    text[ESPI_SETTING_TEXT - 1] = '\0';
    ck_assert_int_eq(espi_settings_set(&s, ESPI_SETTING_stats, text), ESPI_OK);
    ck_assert_str_eq(s.stats, text);
    ck_assert_int_eq(espi_settings_set(&s, ESPI_SETTING_COUNT, "1"), ESPI_ERR_ARGUMENT);
}
END_TEST

START_TEST(unknown_names_are_named_once)
{
    static char a[] = "ESPALIER_DATATYPE=off", b[] = "ESPALIER_NOTHING_LIKE_IT=1", c[] = "ESPALIER=1",
                d[] = "ESPALIER_TEST_SEED=3", e[] = "ESPALIERS=3", f[] = "ESPALIER_DATATYPE=on", g[] = "PATH=/",
                h[] = "ESPALIER_LOG=info", i[] = "ESPALIER_NOEQUALS";
    char *environment[] = {g, a, b, c, d, e, f, h, i, NULL};
    struct warnings w = {0};
    ck_assert_uint_eq(espi_settings_unknown(environment, warn, &w), 3);
    ck_assert_int_eq(w.n, 3);
    ck_assert_ptr_nonnull(strstr(w.text[0], "ESPALIER_DATATYPE is ignored (did you mean ESPALIER_DATATYPES?)"));
    ck_assert_ptr_nonnull(strstr(w.text[1], "ESPALIER_NOTHING_LIKE_IT"));
    ck_assert_ptr_null(strstr(w.text[1], "did you mean"));
    ck_assert_ptr_nonnull(strstr(w.text[2], "ESPALIER_NOEQUALS"));
    ck_assert_uint_eq(espi_settings_unknown(NULL, warn, &w), 0);
}
END_TEST

START_TEST(values_of_rank_0_hold)
{
    struct espi_settings root, other;
    char bytes[8192];
    espi_settings_defaults(&root);
    espi_settings_defaults(&other);
    ck_assert_int_eq(espi_settings_set(&root, ESPI_SETTING_datatypes, "always"), ESPI_OK);
    ck_assert_int_eq(espi_settings_set(&root, ESPI_SETTING_stats, "a=b,c d\nx"), ESPI_OK);
    ck_assert_int_eq(espi_settings_set(&other, ESPI_SETTING_budget_ms, "7"), ESPI_OK);
    size_t len = espi_settings_write(&root, bytes, sizeof bytes);
    ck_assert_uint_lt(len, sizeof bytes);
    ck_assert_uint_eq(espi_settings_write(&root, NULL, 0), len);
    struct espi_settings before = other;
    for (size_t cut = 1; cut < len; cut++) { /* cut short: whole entries are taken, half ones are refused */
        other = before;
        if (bytes[cut - 1] != '\0') {
            ck_assert_int_eq(espi_settings_read(&other, bytes, cut), ESPI_ERR_SYNTAX);
            ck_assert_int_eq(memcmp(&other, &before, sizeof other), 0);
        } else {
            ck_assert_int_eq(espi_settings_read(&other, bytes, cut), ESPI_OK);
        }
    }
    other = before;
    ck_assert_int_eq(espi_settings_read(&other, bytes, len), ESPI_OK);
    ck_assert_int_eq(other.datatypes, ESPI_MODE_ALWAYS);
    ck_assert_str_eq(other.stats, "a=b,c d\nx");
    ck_assert_int_eq(other.budget_ms, root.budget_ms);
    ck_assert_int_eq(other.source[ESPI_SETTING_datatypes], ESPI_FROM_RANK0);
    ck_assert_int_eq(other.source[ESPI_SETTING_check], ESPI_FROM_DEFAULT);
    static const char newer[] = "ESPALIER_OF_A_LATER_VERSION=1";
    ck_assert_int_eq(espi_settings_read(&other, newer, sizeof newer), ESPI_OK);
    static const char wrong[] = "ESPALIER_LOG=loud";
    ck_assert_int_eq(espi_settings_read(&other, wrong, sizeof wrong), ESPI_ERR_SYNTAX);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-settings", 4, NULL, NULL, defaults_are_the_table, every_choice_reads_back,
                     values_count_not_presence, options_of_run_are_told_apart,
                     wrong_values_give_the_default_and_one_warning,
                     limits_of_numbers_and_texts, unknown_names_are_named_once, values_of_rank_0_hold);
}
