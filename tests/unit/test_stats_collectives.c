/* Statistics of gathers and scatters. */
#include <stdio.h>
#include <stdlib.h>

#include "test_stats.h"

struct espi_collective_facts facts_of(int root, int64_t bytes, int method, const char *why)
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
    espi_stats_start(stats_name, 3);
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
    espi_report_finish(&report);
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
        const char *why = r ? "b" : "a";
        const uint32_t rank = (uint32_t)r;
        list[0] = (struct espi_report_collective){facts_of(r, 5000, r, why), {10, 20}, 3, 1, 30, rank, {{0}}};
        list[1] = (struct espi_report_collective){facts_of(7, 64, r, why), {1, rank}, 1, 1, 1 + rank, rank, {{0}}};
        free(report[r]->collective);
        report[r]->collective = list;
        report[r]->collectives = 2;
    }
    b.model[ESPI_LEVEL_NODE] = (struct espi_report_model){true, 1, {1.25e-7, 1e-10, 0, 0, true}, "file"};
    ck_assert_int_eq(espi_report_pack(&b, &bytes), ESPI_OK);
    ck_assert_int_eq(espi_report_unpack(&c, bytes.data, bytes.len), ESPI_OK);
    merge((struct espi_report *[]){&a, &c}, 2);
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

void add_collectives(TCase *all)
{
    tcase_add_test(all, collectives_are_counted);
    tcase_add_test(all, collectives_merge);
}
