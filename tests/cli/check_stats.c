/* Statistics: counting from threads, merging, the bytes between ranks, JSON read back by jansson, files. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "stats/json.h"
#include "stats/path.h"
#include "stats/report.h"

static unsigned long long seed;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static const char *const names[] = {"MPI_Send", "MPI_Recv", "MPI_Bcast"};
static char folder[] = "/tmp/espalier-stats-XXXXXX";

static struct espi_settings settings;

static struct espi_stats_run run_of(int rank, int ranks, bool whole)
{
    return (struct espi_stats_run){&settings, "MPICH 4.0.2", "job/7", rank, ranks, whole};
}

static json_t *parse(const struct espi_buffer *bytes)
{
    json_error_t error;
    json_t *root = json_loadb(bytes->data, bytes->len, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "line %d: %s\n%.*s", error.line, error.text, (int)bytes->len, bytes->data);
    return root;
}

static json_t *at(json_t *root, const char *a, const char *b)
{
    json_t *value = json_object_get(root, a);
    if (b != NULL)
        value = json_object_get(value, b);
    ck_assert_msg(value != NULL, "%s %s missing", a, b ? b : "");
    return value;
}

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
    uint64_t state = seed | 1;
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

static void *count(void *arg)
{
    struct espi_stats_thread *thread = espi_stats_thread_begin();
    for (int i = 0; i < 10000; i++) {
        espi_count(thread, ESPI_COUNT_calls_examined, 1);
        espi_count_call(thread, 1);
        espi_count_call(thread, 5000); /* out of range: not counted, no harm */
        if (i % 100 == 0)
            espi_stats_type_use(espi_stats_type(77), 2, 16);
    }
    espi_count_anywhere(ESPI_COUNT_time_start, 5);
    espi_stats_thread_end(thread);
    return arg;
}

START_TEST(threads_are_added_up)
{
    pthread_t thread[4];
    struct espi_report report;
    struct espi_stats_run run = run_of(0, 1, true);
    espi_stats_start(names, 3);
    for (int round = 0; round < 2; round++) { /* the second round takes over the blocks of the first */
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(pthread_create(&thread[i], NULL, count, NULL), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(thread[i], NULL);
    }
    struct espi_type_facts facts = {.before = "b", .why = "w", .cost_before = 9, .cost_after = -1, .entries = 3};
    espi_stats_type_describe(espi_stats_type(77), &facts);
    espi_stats_type_describe(espi_stats_type(77), &facts);
    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    ck_assert_uint_eq(report.counter[ESPI_COUNT_calls_examined].sum, 80000);
    ck_assert_uint_eq(report.counter[ESPI_COUNT_calls_examined].min, 80000);
    ck_assert_uint_eq(report.counter[ESPI_COUNT_time_start].sum, 40);
    ck_assert_uint_eq(report.calls[1].sum, 80000);
    ck_assert_uint_eq(report.types, 1);
    ck_assert_uint_eq(report.type[0].uses, 800);
    ck_assert_uint_eq(report.type[0].elements, 1600);
    ck_assert_uint_eq(report.type[0].bytes, 12800);
    ck_assert_uint_gt(report.command_len, 0);
    ck_assert_int_eq(report.command[report.command_len - 1], '\0');
    espi_report_release(&report);
}
END_TEST

START_TEST(type_table_has_a_limit)
{
    struct espi_report report;
    struct espi_stats_run run = run_of(0, 1, true);
    static char text[2 * ESPI_STATS_TYPE_TEXT];
    memset(text, 'x', sizeof text - 1);
    espi_stats_start(names, 3);
    for (uint64_t key = 1; key <= ESPI_STATS_TYPES + 10; key++) {
        struct espi_type_facts facts = {.before = text, .size = 8};
        struct espi_stats_type *record = espi_stats_type(key);
        ck_assert_ptr_nonnull(record);
        espi_stats_type_describe(record, &facts);
        espi_stats_type_use(record, 1, key);
    }
    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    ck_assert_uint_eq(report.types, ESPI_REPORT_TYPES);
    ck_assert_uint_eq(report.type[0].key, ESPI_STATS_TYPES); /* most bytes first */
    ck_assert_uint_eq(report.other_types, ESPI_STATS_TYPES - ESPI_REPORT_TYPES + 10);
    ck_assert_uint_eq(strlen(report.type[0].facts.before), ESPI_STATS_TYPE_TEXT);
    ck_assert_str_eq(report.type[0].facts.before + ESPI_STATS_TYPE_TEXT - 3, "...");
    espi_report_release(&report);
}
END_TEST

/* A report as another rank would send it. */
static void fake(struct espi_report *report, int rank, uint64_t uses)
{
    struct espi_stats_run run = run_of(rank, 3, true);
    espi_stats_start(names, 3);
    ck_assert_int_eq(espi_report_take(report, &run), ESPI_OK);
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        report->counter[i] = (struct espi_report_value){uses, uses, uses};
    for (size_t i = 0; i < report->functions; i++)
        report->calls[i] = (struct espi_report_value){uses + i, uses + i, uses + i};
    char name[16];
    snprintf(name, sizeof name, "host%d", rank / 2);
    free(report->host[0]);
    report->host[0] = strdup(name);
    free(report->type);
    report->type = calloc(2, sizeof *report->type);
    report->types = 2;
    for (uint64_t i = 0; i < 2; i++) {
        struct espi_report_type *type = &report->type[i];
        type->key = i == 0 ? 5 : 100 + (uint64_t)rank;
        type->uses = uses;
        type->elements = uses;
        type->bytes = 8 * uses;
        type->ranks = 1;
        type->facts = (struct espi_type_facts){
            .before = strdup("idx(2, <0, 8>, leaf(MPI_INT))"), .after = strdup("vec(2, 8, leaf(MPI_INT))"),
            .emission = NULL, .why = strdup(rank == 1 ? "because of rank 1" : "because"), .improved = true,
            .exact = true, .cost_before = 7, .cost_after = 6, .entries = 2, .size = 8,
            .ns_before = {100, 200, 300}, .ns_after = {50, 100, 0}, .ns_planning = 1000};
        type->text[0] = (char *)type->facts.before;
        type->text[1] = (char *)type->facts.after;
        type->text[3] = (char *)type->facts.why;
    }
}

START_TEST(ranks_merge)
{
    struct espi_report a, b, c;
    fake(&a, 0, 10);
    fake(&b, 1, 30);
    fake(&c, 2, 20);
    ck_assert_int_eq(espi_report_merge(&a, &b), ESPI_OK);
    ck_assert_int_eq(espi_report_merge(&a, &c), ESPI_OK);
    ck_assert_uint_eq(a.reporting, 3);
    ck_assert_uint_eq(a.hosts, 2);
    ck_assert_uint_eq(a.counter[0].sum, 60);
    ck_assert_uint_eq(a.counter[0].min, 10);
    ck_assert_uint_eq(a.counter[0].max, 30);
    ck_assert_uint_eq(a.calls[2].sum, 66);
    ck_assert_uint_eq(a.types, 4);
    ck_assert_uint_eq(a.type[0].key, 5);
    ck_assert_uint_eq(a.type[0].uses, 60);
    ck_assert_uint_eq(a.type[0].ranks, 3);
    ck_assert_str_eq(a.type[0].facts.why, "because of rank 1");
    ck_assert_int_eq(espi_report_type_gain(&a.type[0]), 60 * 75);

    struct espi_buffer out = ESPI_BUFFER_INIT;
    ck_assert_int_eq(espi_report_json(&a, &out), ESPI_OK);
    json_t *root = parse(&out);
    ck_assert_str_eq(json_string_value(at(root, "schema", NULL)), ESPI_SCHEMA_NAME);
    ck_assert_int_eq(json_integer_value(at(root, "schema_version", NULL)), ESPI_SCHEMA_VERSION);
    ck_assert_int_eq(json_integer_value(at(at(root, "counters", "types_planned"), "sum", NULL)), 60);
    ck_assert_int_eq(json_integer_value(at(at(root, "own_time", "time_measure"), "max", NULL)), 30);
    ck_assert_int_eq(json_integer_value(at(at(root, "functions", "MPI_Recv"), "min", NULL)), 11);
    ck_assert_uint_eq(json_array_size(at(root, "types", NULL)), 4);
    json_t *type = json_array_get(at(root, "types", NULL), 0);
    ck_assert(json_is_null(at(type, "partial_ns", "after")));
    ck_assert_int_eq(json_integer_value(at(type, "partial_ns", "before")), 300);
    ck_assert_int_eq(json_integer_value(at(type, "saved_ns_estimate", NULL)), 4500);
    json_decref(root);
    espi_buffer_release(&out);
    ck_assert_int_eq(espi_report_summary(&a, &out), ESPI_OK);
    espi_buffer_add(&out, "", 1);
    ck_assert_ptr_nonnull(strstr(out.data, "3 of 3 ranks"));
    ck_assert_ptr_nonnull(strstr(out.data, "pack 100 ns -> 50 ns"));
    espi_buffer_release(&out);
    espi_report_release(&a);
    espi_report_release(&b);
    espi_report_release(&c);
}
END_TEST

static struct espi_collective_facts facts_of(int root, int64_t bytes, int method, const char *why)
{
    struct espi_collective_facts facts = {
        .call = ESPI_CALL_SCATTERV, .ranks = 8, .nodes = 2, .root = root, .bytes = bytes, .method = method};
    for (int m = 0; m < ESPI_STATS_METHODS; m++) {
        facts.predicted_ns[m] = 1000 * (m + 1);
        facts.measured_ns[m] = m == method ? 500 : -1;
    }
    snprintf(facts.why, sizeof facts.why, "%s", why);
    return facts;
}

/* Counted at the root, alike calls together, bounded; a full table shares a record that is counted as one. */
START_TEST(collectives_are_counted)
{
    struct espi_report report;
    struct espi_stats_run run = run_of(0, 1, true);
    struct espi_commtree_model model = {1.5e-6, 2.5e-10, 1e-11, 2e-5, true};
    espi_stats_start(names, 3);
    espi_stats_model(ESPI_LEVEL_NET, &model, "cache");
    struct espi_collective_facts facts = facts_of(3, 1000, 0, "at first");
    struct espi_stats_collective *one = espi_stats_collective(&facts);
    espi_stats_collective_count(one, 0, 5, 1);
    facts = facts_of(3, 1023, 1 + ESPI_COMMTREE_OPTIMAL, "later"); /* the same power of four */
    ck_assert_ptr_eq(espi_stats_collective(&facts), one);
    espi_stats_collective_count(one, 1 + ESPI_COMMTREE_OPTIMAL, 70, 2);
    espi_stats_collective_count(one, ESPI_STATS_METHODS, 1, 0); /* no such method */
    facts = facts_of(3, 4096, 0, "larger");
    ck_assert_ptr_ne(espi_stats_collective(&facts), one);
    for (int i = 0; i < ESPI_STATS_COLLECTIVES + 5; i++) {
        facts = facts_of(100 + i, 0, 0, "many");
        espi_stats_collective_count(espi_stats_collective(&facts), 0, 1, 1);
    }
    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    ck_assert_uint_eq(report.collectives, ESPI_REPORT_COLLECTIVES);
    ck_assert_uint_eq(report.other_collectives, ESPI_STATS_COLLECTIVES - ESPI_REPORT_COLLECTIVES + 1);
    ck_assert_int_eq(report.collective[0].facts.root, 3); /* took longest */
    ck_assert_str_eq(report.collective[0].facts.why, "later");
    ck_assert_uint_eq(report.collective[0].calls[0], 5);
    ck_assert_uint_eq(report.collective[0].leases, 3);
    ck_assert_uint_eq(espi_report_collective_time(&report.collective[0]), 5 * 1000 + 70 * 500);
    uint64_t calls = report.other_calls;
    for (size_t i = 0; i < report.collectives; i++)
        calls += espi_report_collective_calls(&report.collective[i]);
    ck_assert_uint_eq(calls, 75 + ESPI_STATS_COLLECTIVES + 5);
    espi_report_release(&report);
}
END_TEST

START_TEST(collectives_merge)
{
    struct espi_report a, b, c;
    struct espi_buffer bytes = ESPI_BUFFER_INIT, out = ESPI_BUFFER_INIT;
    fake(&a, 0, 1);
    fake(&b, 1, 1);
    struct espi_report *report[] = {&a, &b};
    for (int r = 0; r < 2; r++) { /* each its own root, and one alike in another communicator */
        struct espi_report_collective *list = calloc(3, sizeof *list);
        list[0] = (struct espi_report_collective){facts_of(r, 5000, r, r ? "b" : "a"), {10, 20}, 3, 1};
        list[1] = (struct espi_report_collective){facts_of(7, 64, r, r ? "b" : "a"), {1, (uint64_t)r}, 1, 1};
        free(report[r]->collective);
        report[r]->collective = list;
        report[r]->collectives = 2;
    }
    b.model[ESPI_LEVEL_NODE] = (struct espi_report_model){true, {1.25e-7, 1e-10, 0, 0, true}, "file"};
    ck_assert_int_eq(espi_report_pack(&b, &bytes), ESPI_OK);
    ck_assert_int_eq(espi_report_unpack(&c, bytes.data, bytes.len), ESPI_OK);
    ck_assert_int_eq(espi_report_merge(&a, &c), ESPI_OK);
    ck_assert_uint_eq(a.collectives, 3);
    ck_assert_int_eq(espi_report_json(&a, &out), ESPI_OK);
    json_t *root = parse(&out), *list = at(root, "collectives", NULL), *last = json_array_get(list, 2);
    ck_assert_uint_eq(json_array_size(list), 3);
    ck_assert_int_eq(json_integer_value(at(last, "root", NULL)), 7);
    ck_assert_int_eq(json_integer_value(at(last, "roots", NULL)), 2);
    ck_assert_int_eq(json_integer_value(at(last, "calls", NULL)), 3);
    ck_assert_str_eq(json_string_value(at(last, "why", NULL)), "b"); /* of more calls */
    ck_assert_str_eq(json_string_value(at(last, "method", NULL)), "linear");
    ck_assert_str_eq(json_string_value(at(last, "call", NULL)), "MPI_Scatterv");
    json_t *method = json_array_get(at(last, "methods", NULL), 0);
    ck_assert_str_eq(json_string_value(at(method, "method", NULL)), "library");
    ck_assert_int_eq(json_integer_value(at(method, "predicted_ns", NULL)), 1000);
    ck_assert(json_is_null(at(method, "measured_ns", NULL)));
    ck_assert(json_is_null(at(root, "model", "net")));
    ck_assert_double_eq(json_real_value(at(at(root, "model", "node"), "alpha", NULL)), 1.25e-7);
    ck_assert_str_eq(json_string_value(at(at(root, "model", "node"), "source", NULL)), "file");
    json_decref(root);
    espi_buffer_release(&bytes);
    espi_buffer_release(&out);
    espi_report_release(&a);
    espi_report_release(&b);
    espi_report_release(&c);
}
END_TEST

START_TEST(counts_saturate)
{
    struct espi_report a, b;
    fake(&a, 0, UINT64_MAX - 5);
    fake(&b, 1, 10);
    ck_assert_int_eq(espi_report_merge(&a, &b), ESPI_OK);
    ck_assert(a.counter[0].sum == UINT64_MAX);
    ck_assert(a.type[0].uses == UINT64_MAX);
    espi_report_release(&a);
    espi_report_release(&b);
}
END_TEST

START_TEST(bytes_of_another_rank)
{
    struct espi_collective_facts facts = facts_of(2, 700, 1, "for the bytes");
    struct espi_report a, b, d = ESPI_REPORT_INIT;
    struct espi_buffer bytes = ESPI_BUFFER_INIT, one = ESPI_BUFFER_INIT, two = ESPI_BUFFER_INIT;
    espi_stats_collective_count(espi_stats_collective(&facts), 1, 10, 1);
    fake(&a, 1, 10);
    ck_assert_uint_eq(a.collectives, 1);
    ck_assert_int_eq(espi_report_pack(&a, &bytes), ESPI_OK);
    ck_assert_int_eq(espi_report_unpack(&b, bytes.data, bytes.len), ESPI_OK);
    b.function_name = a.function_name;
    ck_assert_int_eq(espi_report_json(&a, &one), ESPI_OK);
    ck_assert_int_eq(espi_report_json(&b, &two), ESPI_OK);
    ck_assert_uint_eq(one.len, two.len);
    ck_assert_int_eq(memcmp(one.data, two.data, one.len), 0);
    espi_report_release(&b);
    for (size_t cut = 0; cut < bytes.len; cut++) {
        char *exact = malloc(cut + 1); /* so that a memory checker sees a read past the end */
        memcpy(exact, bytes.data, cut);
        ck_assert_int_eq(espi_report_unpack(&b, exact, cut), ESPI_ERR_SYNTAX);
        ck_assert_int_eq(memcmp(&b, &d, sizeof b), 0);
        free(exact);
    }
    uint64_t state = seed | 1;
    for (int round = 0; round < 20000; round++) {
        char *changed = malloc(bytes.len);
        memcpy(changed, bytes.data, bytes.len);
        for (int i = 0; i < 1 + round % 4; i++)
            changed[next_random(&state) % bytes.len] = (char)next_random(&state);
        if (espi_report_unpack(&b, changed, bytes.len) == ESPI_OK)
            espi_report_release(&b);
        free(changed);
    }
    espi_buffer_release(&bytes);
    espi_buffer_release(&one);
    espi_buffer_release(&two);
    espi_report_release(&a);
}
END_TEST

START_TEST(file_names)
{
    char out[32];
    ck_assert_int_eq(espi_stats_path("a%j-%p%%.json", "x/y", 12, out, sizeof out), ESPI_OK);
    ck_assert_str_eq(out, "ax_y-12%.json");
    ck_assert_int_eq(espi_stats_path("a%q", "x", 1, out, sizeof out), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(espi_stats_path("a%", "x", 1, out, sizeof out), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(espi_stats_path("%j%j%j", "0123456789ab", 1, out, sizeof out), ESPI_ERR_LIMIT);
}
END_TEST

static int lines_on_stderr(void (*act)(const char *), const char *arg)
{
    char name[64], buf[4096];
    snprintf(name, sizeof name, "%s/stderr", folder);
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), saved = dup(2);
    ck_assert_int_ge(file, 0);
    dup2(file, 2);
    act(arg);
    dup2(saved, 2);
    close(saved);
    ssize_t len = pread(file, buf, sizeof buf - 1, 0);
    close(file);
    int lines = 0;
    for (ssize_t i = 0; i < len; i++)
        lines += buf[i] == '\n';
    return lines;
}

static void whole_run(const char *stats)
{
    struct espi_report report;
    espi_stats_start(names, 3);
    espi_settings_defaults(&settings);
    ck_assert_int_eq(espi_settings_set(&settings, ESPI_SETTING_stats, stats), ESPI_OK);
    struct espi_stats_run run = run_of(0, 2, true);
    espi_stats_open(&run);
    espi_stats_slow_path();
    ck_assert(espi_stats_wanted());
    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    espi_stats_close(&report);
    espi_stats_close(&report); /* the second end of a run does nothing */
    espi_report_release(&report);
}

START_TEST(file_is_written_and_renamed)
{
    char name[128], want[128], partial[160];
    snprintf(name, sizeof name, "%s/run-%%j.json", folder);
    snprintf(want, sizeof want, "%s/run-job_7.json", folder);
    snprintf(partial, sizeof partial, "%s.partial", want);
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 0);
    ck_assert_int_eq(access(want, R_OK), 0);
    ck_assert_int_ne(access(partial, F_OK), 0);
    json_error_t error;
    json_t *root = json_load_file(want, 0, &error);
    ck_assert_ptr_nonnull(root);
    ck_assert(json_is_true(json_object_get(root, "complete")));
    json_decref(root);
    unlink(want);
}
END_TEST

static void dying_run(const char *stats)
{
    espi_stats_start(names, 3);
    espi_settings_defaults(&settings);
    ck_assert_int_eq(espi_settings_set(&settings, ESPI_SETTING_stats, stats), ESPI_OK);
    struct espi_stats_run run = run_of(1, 2, false);
    espi_stats_open(&run);
    espi_stats_reset_run();
}

START_TEST(partial_stays_when_a_run_dies)
{
    char name[128], partial[160];
    snprintf(name, sizeof name, "%s/dies", folder);
    snprintf(partial, sizeof partial, "%s.rank1.partial", name);
    ck_assert_int_eq(lines_on_stderr(dying_run, name), 0);
    json_error_t error;
    json_t *root = json_load_file(partial, 0, &error);
    ck_assert_ptr_nonnull(root);
    ck_assert(json_is_false(json_object_get(root, "complete")));
    ck_assert_str_eq(json_string_value(json_object_get(root, "scope")), "rank 1");
    json_decref(root);
    unlink(partial);
}
END_TEST

START_TEST(bad_places_give_one_warning)
{
    char name[4][ESPI_SETTING_TEXT];
    snprintf(name[0], sizeof name[0], "%s/no/such/folder/x", folder);
    snprintf(name[1], sizeof name[1], "%s", folder);
    snprintf(name[2], sizeof name[2], "%s/a%%q", folder);
    snprintf(name[3], sizeof name[3], "%s/", folder);
    memset(name[3] + strlen(name[3]), 'n', 300); /* a name longer than file systems take */
    for (int i = 0; i < 4; i++)
        ck_assert_msg(lines_on_stderr(whole_run, name[i]) == 1, "%s", name[i]);
    ck_assert_int_eq(lines_on_stderr(whole_run, "/dev/null"), 0);
    struct stat status;
    ck_assert_int_eq(stat("/dev/null", &status), 0);
    ck_assert(S_ISCHR(status.st_mode));
    ck_assert_int_eq(lines_on_stderr(whole_run, "/dev/full"), 1); /* a full disk */
}
END_TEST

START_TEST(file_size_limit_is_survived)
{
    char name[128], partial[160];
    struct rlimit before, small;
    snprintf(name, sizeof name, "%s/limited", folder);
    snprintf(partial, sizeof partial, "%s.partial", name);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 512; /* SIGXFSZ would end the process */
    setrlimit(RLIMIT_FSIZE, &small);
    int lines = lines_on_stderr(whole_run, name);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(lines, 1);
    ck_assert_int_ne(access(name, F_OK), 0);
    ck_assert_int_ne(access(partial, F_OK), 0);
    strcat(partial, "~");
    ck_assert_int_ne(access(partial, F_OK), 0);
}
END_TEST

static json_int_t elapsed_in(const char *name)
{
    json_error_t error;
    json_t *root = json_load_file(name, 0, &error);
    ck_assert_ptr_nonnull(root);
    json_int_t elapsed = json_integer_value(json_object_get(root, "elapsed_ns"));
    json_decref(root);
    return elapsed;
}

START_TEST(partial_is_rewritten_when_it_is_due)
{
    char name[128], partial[160];
    snprintf(name, sizeof name, "%s/due", folder);
    snprintf(partial, sizeof partial, "%s.partial", name);
    espi_stats_start(names, 3);
    espi_settings_defaults(&settings);
    ck_assert_int_eq(espi_settings_set(&settings, ESPI_SETTING_stats, name), ESPI_OK);
    struct espi_stats_run run = run_of(0, 1, true);
    espi_stats_open(&run);
    json_int_t first = elapsed_in(partial);
    espi_stats_slow_path();
    ck_assert(elapsed_in(partial) == first);
    usleep(2100 * 1000); /* the first interval is 2 s */
    espi_stats_slow_path();
    json_int_t second = elapsed_in(partial);
    ck_assert(second > first + 2000000000);
    usleep(1000);
    espi_stats_slow_path(); /* the next one is longer */
    ck_assert(elapsed_in(partial) == second);
    espi_stats_reset_run();
    unlink(partial);
}
END_TEST

START_TEST(blocks_are_used_again)
{
    espi_stats_start(names, 3);
    struct espi_stats_thread *one = espi_stats_thread_begin(), *two = espi_stats_thread_begin();
    ck_assert_ptr_ne(one, two);
    espi_stats_thread_end(one);
    ck_assert_ptr_eq(espi_stats_thread_begin(), one);
    espi_stats_thread_end(one);
    espi_stats_thread_end(two);
}
END_TEST

int main(void)
{
    const char *given = getenv("ESPALIER_TEST_SEED");
    seed = given != NULL ? strtoull(given, NULL, 0) : (unsigned long long)getpid() * 2654435761u;
    printf("ESPALIER_TEST_SEED=%llu\n", seed);
    fflush(stdout);
    espi_settings_defaults(&settings);
    if (mkdtemp(folder) == NULL)
        return 99;

    Suite *suite = suite_create("statistics");
    TCase *all = tcase_create("statistics");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, json_escapes_everything);
    tcase_add_test(all, json_of_random_bytes_is_json);
    tcase_add_test(all, json_depth_is_bounded);
    tcase_add_test(all, threads_are_added_up);
    tcase_add_test(all, type_table_has_a_limit);
    tcase_add_test(all, ranks_merge);
    tcase_add_test(all, collectives_are_counted);
    tcase_add_test(all, collectives_merge);
    tcase_add_test(all, counts_saturate);
    tcase_add_test(all, bytes_of_another_rank);
    tcase_add_test(all, file_names);
    tcase_add_test(all, file_is_written_and_renamed);
    tcase_add_test(all, partial_stays_when_a_run_dies);
    tcase_add_test(all, bad_places_give_one_warning);
    tcase_add_test(all, file_size_limit_is_survived);
    tcase_add_test(all, partial_is_rewritten_when_it_is_due);
    tcase_add_test(all, blocks_are_used_again);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    char name[64];
    snprintf(name, sizeof name, "%s/stderr", folder);
    unlink(name);
    rmdir(folder);
    return failed != 0;
}
