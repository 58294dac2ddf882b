/* Statistics: counting from threads, merging, the bytes between ranks; other parts in test_stats_*.c. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_stats.h"

unsigned long long stats_seed;

const char *stats_name(size_t function)
{
    static const char *const names[3] = {"MPI_Send", "MPI_Recv", "MPI_Bcast"};
    return names[function];
}

struct espi_settings stats_settings;

static void count_use(struct espi_stats_type *record, uint64_t elements, uint64_t bytes)
{
    record->uses++;
    record->elements += elements;
    record->bytes += bytes;
    record->saved_ps[ESPI_SAVED_ALONE] += 1500;
}

uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct espi_stats_run run_of(int rank, int ranks, bool whole)
{
    return (struct espi_stats_run){&stats_settings, "MPICH 4.0.2", "job/7", rank, ranks, whole, false};
}

json_t *parse(const struct espi_buffer *bytes)
{
    json_error_t error;
    json_t *root = json_loadb(bytes->data, bytes->len, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "line %d: %s\n%.*s", error.line, error.text, (int)bytes->len, bytes->data);
    return root;
}

json_t *at(json_t *root, const char *a, const char *b)
{
    json_t *value = json_object_get(root, a);
    if (b != NULL)
        value = json_object_get(value, b);
    ck_assert_msg(value != NULL, "%s %s missing", a, b ? b : "");
    return value;
}

static void *count(void *arg)
{
    struct espi_stats_thread *thread = espi_stats_thread_begin();
    for (int i = 0; i < 10000; i++) {
        espi_count(thread, ESPI_COUNT_calls_examined, 1);
        espi_count_call(thread, 1);
        espi_count_call(thread, 5000); /* out of range: not counted, no harm */
        if (i % 100 == 0)
            count_use(espi_stats_type(77), 2, 16);
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
    espi_stats_start(stats_name, 3);
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
    ck_assert_uint_eq(report.type[0].saved_ns[ESPI_SAVED_ALONE], 1200);
    ck_assert_uint_eq(report.type[0].bytes, 12800);
    ck_assert_uint_gt(report.command_len, 0);
    ck_assert_int_eq(report.command[report.command_len - 1], '\0');
    espi_report_release(&report);
}
END_TEST

static const char *name_of_gather(size_t function)
{
    static const char *const names[] = {"MPI_Gather", "MPI_Allgather", "MPI_Scatterv_c", "MPI_Igatherv",
                                        "MPI_Gatherv"};
    return names[function];
}

/* Calls that only the names know of; those of other ranks and other functions are no part. */
START_TEST(gathers_of_few_ranks_on_one_node)
{
    struct espi_report report;
    struct espi_stats_run run = run_of(1, 4, true);
    espi_stats_start(name_of_gather, 5);
    struct espi_stats_thread *thread = espi_stats_thread_begin();
    for (int fn = 0; fn < 5; fn++)
        for (int i = 0; i < 1 << fn; i++)
            espi_count_call(thread, (size_t)fn);
    for (int few = 0; few < 2; few++) {
        run.few_on_node = few;
        ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
        ck_assert_uint_eq(report.counter[ESPI_COUNT_left_one_node].sum, few ? 1 + 4 + 16 : 0);
        ck_assert_uint_eq(report.counter[ESPI_COUNT_left_one_node].max, few ? 1 + 4 + 16 : 0);
        espi_report_release(&report);
    }
    espi_stats_thread_end(thread);
}
END_TEST

START_TEST(type_table_has_a_limit)
{
    struct espi_report report;
    struct espi_stats_run run = run_of(0, 1, true);
    static char text[2 * ESPI_STATS_TYPE_TEXT];
    memset(text, 'x', sizeof text - 1);
    espi_stats_start(stats_name, 3);
    for (uint64_t key = 1; key <= ESPI_STATS_TYPES + 10; key++) {
        struct espi_type_facts facts = {.before = text, .size = 8};
        struct espi_stats_type *record = espi_stats_type(key);
        ck_assert_ptr_nonnull(record);
        espi_stats_type_describe(record, &facts);
        count_use(record, 1, key);
    }
    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    ck_assert_uint_eq(report.types, ESPI_STATS_TYPES);
    espi_report_finish(&report);
    ck_assert_uint_eq(report.types, ESPI_REPORT_TYPES);
    ck_assert_uint_eq(report.type[0].key, ESPI_STATS_TYPES); /* most bytes first */
    ck_assert_uint_eq(report.other_types, ESPI_STATS_TYPES - ESPI_REPORT_TYPES + 10);
    ck_assert_uint_eq(espi_report_types_saved(&report), ESPI_STATS_TYPES + 15); /* 1.5 ns each, rounded by record */
    ck_assert_uint_eq(strlen(report.type[0].facts.before), ESPI_STATS_TYPE_TEXT);
    ck_assert_str_eq(report.type[0].facts.before + ESPI_STATS_TYPE_TEXT - 3, "...");
    espi_report_release(&report);
}
END_TEST

void fake(struct espi_report *report, int rank, uint64_t uses)
{
    struct espi_stats_run run = run_of(rank, 3, true);
    espi_stats_start(stats_name, 3);
    ck_assert_int_eq(espi_report_take(report, &run), ESPI_OK);
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        report->counter[i] = (struct espi_report_value){uses, uses, uses, report->rank, report->rank};
    for (size_t i = 0; i < report->functions; i++)
        report->calls[i] = (struct espi_report_value){uses + i, uses + i, uses + i, report->rank, report->rank};
    char name[16];
    snprintf(name, sizeof name, "host%d", rank / 2);
    free(report->host[0].name);
    report->host[0].name = strdup(name);
    for (size_t i = 0; i < report->types; i++)
        espi_report_type_release(&report->type[i]);
    free(report->type);
    report->type = calloc(2, sizeof *report->type);
    report->types = 2;
    for (uint64_t i = 0; i < 2; i++) {
        struct espi_report_type *type = &report->type[i];
        type->key = i == 0 ? 5 : 100 + (uint64_t)rank;
        type->uses = uses;
        type->elements = uses;
        type->bytes = 8 * uses;
        type->saved_ns[ESPI_SAVED_ALONE] = 75 * uses;
        type->ranks = 1;
        type->most_uses = uses;
        type->most_rank = report->rank;
        type->facts = (struct espi_type_facts){
            .before = strdup("idx(2, <0, 8>, leaf(MPI_INT))"), .after = strdup("vec(2, 8, leaf(MPI_INT))"),
            .emission = NULL, .why = strdup(rank == 1 ? "because of rank 1" : "because"), .improved = true,
            .exact = true, .cost_before = 7, .cost_after = 6, .entries = 2, .size = 8,
            .ns_before = {100, 200, 300}, .ns_after = {50, 100, 0}, .ns_next = {70, 150, 0},
            .ns_measured = {55, 0, 0},
            .reversal = {{false, ESPI_SLOW_PACKING, 0, 0}, {true, ESPI_SLOW_CALLS, 900, 300}},
            .ns_planning = 1000};
        type->text[0] = (char *)type->facts.before;
        type->text[1] = (char *)type->facts.after;
        type->text[3] = (char *)type->facts.why;
    }
}

void merge(struct espi_report *const *report, int n)
{
    static struct espi_sketch sketch;
    sketch = (struct espi_sketch){0};
    for (int i = 0; i < n; i++)
        espi_report_weigh(report[i], &sketch);
    for (int i = 0; i < n; i++)
        espi_report_order(report[i], &sketch);
    for (int i = 1; i < n; i++)
        ck_assert_int_eq(espi_report_merge(report[0], report[i]), ESPI_OK);
    espi_report_finish(report[0]);
}

START_TEST(ranks_merge)
{
    struct espi_report a, b, c;
    fake(&a, 0, 10);
    fake(&b, 1, 30);
    fake(&c, 2, 20);
    merge((struct espi_report *[]){&a, &b, &c}, 3);
    ck_assert_uint_eq(a.reporting, 3);
    ck_assert_uint_eq(a.hosts, 2);
    ck_assert_uint_eq(a.host[0].ranks, 2);
    ck_assert_uint_eq(a.counter[0].sum, 60);
    ck_assert_uint_eq(a.counter[0].min, 10);
    ck_assert_uint_eq(a.counter[0].max, 30);
    ck_assert_uint_eq(a.counter[0].min_rank, 0);
    ck_assert_uint_eq(a.counter[0].max_rank, 1);
    ck_assert_uint_eq(a.calls[2].sum, 66);
    ck_assert_uint_eq(a.types, 4);
    ck_assert_uint_eq(a.type[0].key, 5);
    ck_assert_uint_eq(a.type[0].uses, 60);
    ck_assert_uint_eq(a.type[0].ranks, 3);
    ck_assert_str_eq(a.type[0].facts.why, "because of rank 1");
    ck_assert_uint_eq(a.type[0].saved_ns[ESPI_SAVED_ALONE], 60 * 75);

    struct espi_buffer out = ESPI_BUFFER_INIT;
    ck_assert_int_eq(espi_report_json(&a, &out), ESPI_OK);
    json_t *root = parse(&out);
    ck_assert_str_eq(json_string_value(at(root, "schema", NULL)), ESPI_SCHEMA_NAME);
    ck_assert_int_eq(json_integer_value(at(root, "schema_version", NULL)), ESPI_SCHEMA_VERSION);
    ck_assert_int_eq(json_integer_value(at(at(root, "counters", "types_planned"), "sum", NULL)), 60);
    ck_assert_int_eq(json_integer_value(at(at(root, "own_time", "time_measure"), "max", NULL)), 30);
    ck_assert_int_eq(json_integer_value(at(at(root, "functions", "MPI_Recv"), "min", NULL)), 11);
    ck_assert_int_eq(json_integer_value(at(at(root, "functions", "MPI_Recv"), "max_rank", NULL)), 1);
    ck_assert_int_eq(json_integer_value(at(root, "ranks_missing", NULL)), 0);
    ck_assert_int_eq(json_integer_value(at(root, "hosts_not_listed", "ranks")), 0);
    ck_assert_uint_eq(json_array_size(at(root, "types", NULL)), 4);
    json_t *type = json_array_get(at(root, "types", NULL), 0);
    ck_assert(json_is_null(at(type, "partial_ns", "after")));
    ck_assert_int_eq(json_integer_value(at(type, "partial_ns", "before")), 300);
    ck_assert_int_eq(json_integer_value(at(type, "unpack_ns", "next")), 150);
    ck_assert(json_is_null(at(type, "partial_ns", "next")));
    ck_assert_int_eq(json_integer_value(at(type, "pack_ns", "measured")), 55);
    ck_assert(json_is_null(at(type, "unpack_ns", "measured")));
    ck_assert_uint_eq(json_array_size(at(type, "reversed", NULL)), 1);
    json_t *reversed = json_array_get(at(type, "reversed", NULL), 0);
    ck_assert_str_eq(json_string_value(at(reversed, "in", NULL)), "messages");
    ck_assert_str_eq(json_string_value(at(reversed, "what", NULL)), "whole calls");
    ck_assert_int_eq(json_integer_value(at(reversed, "measured_ns", NULL)), 900);
    ck_assert_int_eq(json_integer_value(at(reversed, "most_ns", NULL)), 300);
    ck_assert_int_eq(json_integer_value(at(type, "saved_ns_estimate", NULL)), 4500);
    json_decref(root);
    espi_buffer_release(&out);
    ck_assert_int_eq(espi_report_summary(&a, &out), ESPI_OK);
    espi_buffer_add(&out, "", 1);
    ck_assert_ptr_nonnull(strstr(out.data, "3 of 3 ranks"));
    ck_assert_ptr_nonnull(strstr(out.data, "pack 100 ns -> 50 ns"));
    ck_assert_ptr_nonnull(strstr(out.data, " in all ranks; "));
    espi_buffer_release(&out);
    a.ranks++; /* one that is not known to have Espalier */
    ck_assert_int_eq(espi_report_summary(&a, &out), ESPI_OK);
    espi_buffer_add(&out, "", 1);
    ck_assert_ptr_nonnull(strstr(out.data, " in these ranks; "));
    espi_buffer_release(&out);
    espi_report_release(&a);
    espi_report_release(&b);
    espi_report_release(&c);
}
END_TEST

/* In messages of several parts both sides' times pass together: the greater sum counts, shared out. */
START_TEST(sides_of_messages_are_not_added_up)
{
    static const uint64_t saved[3][ESPI_SAVED_KINDS] = {{10, 600, 0}, {0, 0, 300}, {5, 0, 100}};
    static const uint64_t settled[3] = {10 + 360, 180, 5 + 60};
    struct espi_report report = {.types = 3, .type = calloc(3, sizeof *report.type)};
    uint64_t sum = 0;

    ck_assert_ptr_nonnull(report.type);
    for (int i = 0; i < 3; i++) {
        report.type[i] = (struct espi_report_type){.key = (uint64_t)i, .uses = 1};
        memcpy(report.type[i].saved_ns, saved[i], sizeof saved[i]);
    }
    espi_report_finish(&report);
    for (int i = 0; i < 3; i++) { /* in order of what was saved */
        ck_assert_uint_eq(report.type[i].saved_ns[ESPI_SAVED_ALONE], settled[report.type[i].key]);
        ck_assert_uint_eq(report.type[i].saved_ns[ESPI_SAVED_SENDING] + report.type[i].saved_ns[ESPI_SAVED_RECEIVING],
                          0);
        sum += report.type[i].saved_ns[ESPI_SAVED_ALONE];
    }
    ck_assert_uint_eq(sum, 10 + 5 + 600);
    ck_assert_uint_eq(report.type[0].key, 0);
    espi_report_finish(&report); /* nothing is left to be settled */
    ck_assert_uint_eq(report.type[0].saved_ns[ESPI_SAVED_ALONE], settled[0]);
    free(report.type);
}
END_TEST

/* What types saved that are not listed is in the sums all the same, merged and sent as bytes or not. */
START_TEST(savings_of_all_types)
{
    enum { RANKS = 3, TYPES = 200 };
    static struct espi_sketch sketch;
    struct espi_report report[RANKS];
    struct espi_buffer bytes = ESPI_BUFFER_INIT, out = ESPI_BUFFER_INIT;
    uint64_t random = stats_seed | 1, sum[ESPI_SAVED_KINDS] = {0};
    char text[64];

    sketch = (struct espi_sketch){0};
    for (int rank = 0; rank < RANKS; rank++) {
        fake(&report[rank], rank, 1);
        for (int i = 0; i < 2; i++)
            espi_report_type_release(&report[rank].type[i]);
        free(report[rank].type);
        report[rank].types = TYPES;
        report[rank].type = calloc(TYPES, sizeof *report[rank].type);
        for (uint64_t i = 0; i < TYPES; i++) { /* half of them on all ranks */
            struct espi_report_type *type = &report[rank].type[i];
            *type = (struct espi_report_type){.key = i % 2 ? i : 1000 * (uint64_t)rank + i, .ranks = 1};
            for (int k = 0; k < ESPI_SAVED_KINDS; k++)
                sum[k] += type->saved_ns[k] = next_random(&random) % 1000000;
        }
        for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
            report[rank].counter[i] = (struct espi_report_value){0};
        espi_report_weigh(&report[rank], &sketch);
    }
    for (int rank = 0; rank < RANKS; rank++)
        espi_report_order(&report[rank], &sketch);
    for (int rank = 1; rank < RANKS; rank++) {
        struct espi_report sent;
        ck_assert_int_eq(espi_report_pack(&report[rank], &bytes), ESPI_OK);
        ck_assert_int_eq(espi_report_unpack(&sent, bytes.data, bytes.len), ESPI_OK);
        espi_buffer_release(&bytes);
        espi_report_release(&report[rank]);
        ck_assert_int_eq(espi_report_merge(&report[0], &sent), ESPI_OK);
    }
    espi_report_finish(&report[0]);
    ck_assert_uint_eq(report[0].types, ESPI_REPORT_TYPES);
    const uint64_t saved = espi_report_types_saved(&report[0]),
                   seen = sum[sum[ESPI_SAVED_SENDING] > sum[ESPI_SAVED_RECEIVING] ? ESPI_SAVED_SENDING
                                                                                 : ESPI_SAVED_RECEIVING];
    ck_assert_uint_le(saved, sum[ESPI_SAVED_ALONE] + seen);
    ck_assert_uint_ge(saved + ESPI_REPORT_TYPES + 1, sum[ESPI_SAVED_ALONE] + seen); /* each is rounded down */

    ck_assert_int_eq(espi_report_json(&report[0], &out), ESPI_OK);
    json_t *root = parse(&out);
    int64_t listed = json_integer_value(at(root, "types_not_listed", "saved_ns_estimate"));
    for (size_t i = 0; i < ESPI_REPORT_TYPES; i++)
        listed += json_integer_value(at(json_array_get(at(root, "types", NULL), i), "saved_ns_estimate", NULL));
    ck_assert_uint_eq((uint64_t)listed, saved);
    json_decref(root);
    espi_buffer_release(&out);
    ck_assert_int_eq(espi_report_summary(&report[0], &out), ESPI_OK);
    espi_buffer_add(&out, "", 1);
    snprintf(text, sizeof text, "saved by estimate %d.%03d ms", (int)(saved / 2 * 2 / 1000000),
             (int)(saved / 2 * 2 / 1000 % 1000));
    ck_assert_ptr_nonnull(strstr(out.data, text));
    espi_buffer_release(&out);
    espi_report_release(&report[0]);
}
END_TEST

START_TEST(counts_saturate)
{
    struct espi_report a, b;
    fake(&a, 0, UINT64_MAX - 5);
    fake(&b, 1, 10);
    merge((struct espi_report *[]){&a, &b}, 2);
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
    uint64_t state = stats_seed | 1;
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

START_TEST(blocks_are_used_again)
{
    espi_stats_start(stats_name, 3);
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
    stats_seed = given != NULL ? strtoull(given, NULL, 0) : (unsigned long long)getpid() * 2654435761u;
    printf("ESPALIER_TEST_SEED=%llu\n", stats_seed);
    fflush(stdout);
    espi_settings_defaults(&stats_settings);

    Suite *suite = suite_create("statistics");
    TCase *all = tcase_create("statistics");
    tcase_set_timeout(all, 60);
    add_json(all);
    tcase_add_test(all, threads_are_added_up);
    tcase_add_test(all, type_table_has_a_limit);
    tcase_add_test(all, gathers_of_few_ranks_on_one_node);
    tcase_add_test(all, ranks_merge);
    tcase_add_test(all, sides_of_messages_are_not_added_up);
    tcase_add_test(all, savings_of_all_types);
    tcase_add_test(all, counts_saturate);
    tcase_add_test(all, bytes_of_another_rank);
    tcase_add_test(all, blocks_are_used_again);
    add_collectives(all);
    if (!add_files(all))
        return 99;
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    end_files();
    return failed != 0;
}
