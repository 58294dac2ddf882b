/* Statistics: the JSON writer, read back by jansson. */
#include "test_stats.h"

START_TEST(json_escapes_everything)
{
    static const struct {
        const char *text;
        size_t len;
        const char *want;
    } cases[] = {
        {"plain", 5, "plain"}, {"a\"b\\c/d", 7, "a\"b\\c/d"}, {"\n\t\r\b\x01\x1f\x7f", 7, "\n\t\r\b\x01\x1f\x7f"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb3", 14, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb3"},
        {"\xff", 1, "\xef\xbf\xbd"}, {"\xc3", 1, "\xef\xbf\xbd"}, {"\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, {"a\0b", 3, "a\xef\xbf\xbd" "b"},
        {"\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, {"", 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct espi_buffer out = ESPI_BUFFER_INIT;
        struct espi_json json = {.out = &out};
        espi_json_begin(&json, NULL, '{', i % 2 == 0);
        espi_json_string_n(&json, "k\"", cases[i].text, cases[i].len);
        espi_json_count(&json, "big", UINT64_MAX);
        espi_json_integer(&json, "least", INT64_MIN);
        espi_json_bool(&json, "yes", true);
        espi_json_null(&json, "none");
        espi_json_begin(&json, "list", '[', false);
        espi_json_end(&json, ']');
        espi_json_end(&json, '}');
        ck_assert(!out.failed);
        json_t *root = parse(&out);
        ck_assert_str_eq(json_string_value(at(root, "k\"", NULL)), cases[i].want);
        ck_assert(json_integer_value(at(root, "big", NULL)) == INT64_MAX);
        ck_assert(json_integer_value(at(root, "least", NULL)) == INT64_MIN);
        json_decref(root);
        espi_buffer_release(&out);
    }
}
END_TEST

START_TEST(json_of_random_bytes_is_json)
{
    uint64_t state = stats_seed | 1;
    for (int round = 0; round < 3000; round++) {
        char text[40];
        size_t len = next_random(&state) % sizeof text;
        for (size_t i = 0; i < len; i++)
            text[i] = (char)next_random(&state);
        struct espi_buffer out = ESPI_BUFFER_INIT;
        struct espi_json json = {.out = &out};
        espi_json_begin(&json, NULL, '[', false);
        espi_json_string_n(&json, NULL, text, len);
        espi_json_end(&json, ']');
        json_decref(parse(&out));
        espi_buffer_release(&out);
    }
}
END_TEST

START_TEST(json_depth_is_bounded)
{
    struct espi_buffer out = ESPI_BUFFER_INIT;
    struct espi_json json = {.out = &out};
    for (int i = 0; i < 100; i++)
        espi_json_begin(&json, NULL, '[', false);
    ck_assert(out.failed);
    espi_buffer_release(&out);
    json = (struct espi_json){.out = &out};
    espi_json_end(&json, ']');
    ck_assert(out.failed);
}
END_TEST

/* A better form of which a few uses were tried is no improvement, and told as none. */
START_TEST(what_became_of_types)
{
    static const struct {
        bool form;
        uint64_t changed, saved, measured;
        enum espi_type_state state;
        const char *told;
    } of[] = {{false, 0, 0, 0, ESPI_TYPE_LEFT_ALONE, "bytes, left alone: because\n"},
              {true, 0, 0, 0, ESPI_TYPE_PLANNED, "bytes, planned, nothing gained by it\n"},
              {true, 32, 0, 50, ESPI_TYPE_TRIED, "bytes, tried, left to the library\n"},
              {true, 7990, 0, 0, ESPI_TYPE_USED, "bytes, used, what that saves is not known\n"},
              {true, 7990, 0, 50, ESPI_TYPE_IMPROVED, "bytes, pack 260 ns -> 64 ns\n"},
              {true, 32, 9, 0, ESPI_TYPE_IMPROVED, "bytes, pack 260 ns -> 64 ns\n"}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct espi_report report, sent;
        struct espi_buffer bytes = ESPI_BUFFER_INIT, out = ESPI_BUFFER_INIT;
        fake(&report, 0, 0);
        struct espi_report_type *type = &report.type[0];
        espi_report_type_release(&report.type[1]);
        report.types = 1;
        type->uses = 8000;
        type->changed = of[i].changed;
        type->saved_ns[ESPI_SAVED_ALONE] = of[i].saved;
        type->facts.improved = of[i].form;
        type->facts.ns_before.pack = 260;
        type->facts.ns_after.pack = 64;
        type->facts.ns_measured = (struct espi_type_times){.unpack = of[i].measured};
        ck_assert_int_eq(espi_report_pack(&report, &bytes), ESPI_OK);
        ck_assert_int_eq(espi_report_unpack(&sent, bytes.data, bytes.len), ESPI_OK);
        espi_report_finish(&sent);
        ck_assert_int_eq(espi_report_type_state(&sent.type[0]), of[i].state);
        ck_assert_int_eq(espi_report_json(&sent, &out), ESPI_OK);
        json_t *root = parse(&out), *told = json_array_get(at(root, "types", NULL), 0);
        ck_assert_int_eq(json_is_true(at(told, "improved", NULL)), of[i].state == ESPI_TYPE_IMPROVED);
        ck_assert_str_eq(json_string_value(at(told, "state", NULL)), espi_type_state_text(of[i].state));
        ck_assert_int_eq(json_integer_value(at(told, "uses_changed", NULL)), (int)of[i].changed);
        json_decref(root);
        espi_buffer_release(&out);
        ck_assert_int_eq(espi_report_summary(&sent, &out), ESPI_OK);
        espi_buffer_add(&out, "", 1);
        ck_assert_msg(strstr(out.data, of[i].told) != NULL, "%zu: %s", i, out.data);
        espi_buffer_release(&out);
        espi_buffer_release(&bytes);
        espi_report_release(&sent);
        espi_report_release(&report);
    }
}
END_TEST

void add_json(TCase *all)
{
    tcase_add_test(all, json_escapes_everything);
    tcase_add_test(all, json_of_random_bytes_is_json);
    tcase_add_test(all, json_depth_is_bounded);
    tcase_add_test(all, what_became_of_types);
}
