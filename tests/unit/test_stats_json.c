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

void add_json(TCase *all)
{
    tcase_add_test(all, json_escapes_everything);
    tcase_add_test(all, json_of_random_bytes_is_json);
    tcase_add_test(all, json_depth_is_bounded);
}
