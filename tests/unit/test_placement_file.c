/* Graphs as text: what is read, what is refused and in which line; short memory. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "granted.h"
#include "placement/file.h"
#include "placement_support.h"
#include "random.h"
#include "runner.h"

static const char example[] = "placements a b # two\nplacements c\n"
                              "move * * 7 1\r\nmove a b 3\n\tmove b b 2 0.5\n"
                              "map turn a:b b:c\n"
                              "operation load\n  method -> a 0\n  method quick: -> c 1 .25\n"
                              "operation two\nmethod a * -> c 4\nmethod any: ? turn(?) -> turn(?) 5\n"
                              "table far\nmove a c 100\n"
                              "node x load size=4\nnode y load\nnode z two x y:far size=0\n\n# the end";

static espi_status parse(const char *text, struct espi_place_file *file, struct espi_place_file_error *error)
{
    return espi_place_file_parse(text, strlen(text), file, error);
}

static void expect_cost(struct espi_place_cost cost, double fixed, double each)
{
    ck_assert_double_eq(cost.fixed, fixed);
    ck_assert_double_eq(cost.each, each);
}

START_TEST(all_statements)
{
    struct espi_place_file file;
    struct espi_place_file_error error;
    ck_assert_msg(parse(example, &file, &error) == ESPI_OK, "line %zu: %s", error.line, error.what);
    const struct espi_place_graph *graph = &file.graph;
    ck_assert(graph->placements == 3 && graph->tables == 2 && graph->ops == 2 && graph->nodes == 3);
    ck_assert_str_eq(file.placement[2], "c");
    ck_assert_str_eq(file.table[0], "");
    ck_assert_str_eq(file.table[1], "far");
    ck_assert_str_eq(file.op[1], "two");
    ck_assert_str_eq(file.node[2], "z");
    expect_cost(espi_place_entry(graph, 0, 0, 0), 0, 0); /* not by stars */
    expect_cost(espi_place_entry(graph, 0, 0, 1), 3, 0); /* the later line */
    expect_cost(espi_place_entry(graph, 0, 1, 1), 2, 0.5);
    expect_cost(espi_place_entry(graph, 0, 2, 0), 7, 1);
    expect_cost(espi_place_entry(graph, 1, 0, 2), 100, 0);
    expect_cost(espi_place_entry(graph, 1, 2, 0), INFINITY, 0);
    ck_assert(graph->op[0].arity == 0 && graph->op[0].methods == 2);
    expect_cost(graph->op[0].cost[1], 1, 0.25);
    ck_assert(graph->op[1].arity == 2 && graph->op[1].methods == 3); /* c is not turned */
    const int shape[9] = {0, ESPI_PLACE_ANY, 2, 0, 1, 1, 1, 2, 2};
    ck_assert_mem_eq(graph->op[1].shape, shape, sizeof shape);
    const char *const labels[5] = {"", "quick", "", "any", "any"};
    for (int x = 0; x < 5; x++)
        ck_assert_str_eq(file.label[file.first_label[x > 1] + x - (x > 1 ? 2 : 0)], labels[x]);
    ck_assert(graph->node[0].size == 4 && graph->node[1].size == 1 && graph->node[2].size == 0);
    ck_assert(graph->operand[0].from == 0 && graph->operand[0].table == 0);
    ck_assert(graph->operand[1].from == 1 && graph->operand[1].table == 1);
    espi_place_file_release(&file);
}
END_TEST

#define HEAD "placements a b\noperation o\nmethod -> a 1\n"

START_TEST(refused)
{
    static const struct {
        const char *text;
        size_t line;
        const char *says;
    } bad[] = {
        {"", 0, "expected a node"},
        {"placements a", 0, "expected a node"},
        {"node x y", 1, "placements before"},
        {"\n\nplacements", 3, "names of placements"},
        {"placements a b a", 1, "placement a is there already"},
        {"placements -a", 1, "'-a'"},
        {"placements a:b", 1, "found 'a:b'"},
        {"placements \x01\xff", 1, "found '?""?'"},
        {"placements aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1, "found 'aaa"},
        {"placements a\nmove a a 1\nplacements b", 3, "before anything else"},
        {"placements a\nplace b", 2, "found 'place'"},
        {"placements a\ntable", 2, "one name, found 0"},
        {"placements a\ntable t\ntable t", 3, "table t is there"},
        {"placements a\nmove a", 2, "found 1 of the three"},
        {"placements a\nmove a b 1", 2, "found 'b'"},
        {"placements a\nmove a a", 2, "COST or COST EACH"},
        {"placements a\nmove a a 1 2 3", 2, "found 3 words"},
        {"placements a\nmove a a -1", 2, "found '-1'"},
        {"placements a\nmove a a nan", 2, "found 'nan'"},
        {"placements a\nmove a a 1e16", 2, "0 to 1e15"},
        {"placements a\nmove a a 1 inf", 2, "per unit of size"},
        {"placements a\nmap m", 2, "FROM:TO"},
        {"placements a\nmap m a", 2, "found 'a'"},
        {"placements a\nmap m a:b", 2, "found 'b'"},
        {"placements a\nmap m a:a a:a", 2, "found a again"},
        {"placements a\nmap m a:a\nmap m a:a", 3, "map m is there"},
        {"placements a\noperation", 2, "one name"},
        {"placements a\noperation o\noperation p", 2, "a method of operation o"},
        {"placements a\noperation o", 2, "a method of operation o"},
        {"placements a\noperation o\n\nnode x o", 2, "a method of operation o"},
        {"placements a\nmethod -> a 1", 2, "operation before its methods"},
        {HEAD "method a -> a 1", 4, "expected 0 operands"},
        {HEAD "method", 4, "OPERAND... -> RESULT COST"},
        {HEAD "method a a 1", 4, "OPERAND... -> RESULT COST"},
        {HEAD "method ->", 4, "OPERAND... -> RESULT COST"},
        {HEAD "method -> a", 4, "COST"},
        {HEAD "method -> * 1", 4, "MAP(?), found '*'"},
        {HEAD "method -> c 1", 4, "found 'c'"},
        {HEAD "method -> m(?) 1", 4, "expected a map"},
        {HEAD "method l(: -> a 1", 4, "label"},
        {HEAD "operation p\nmethod c -> a 1", 5, "MAP(?) or *, found 'c'"},
        {HEAD "node", 4, "found 0 words"},
        {HEAD "node x", 4, "found 1 words"},
        {HEAD "node x p", 4, "an operation of the lines before, found 'p'"},
        {HEAD "node x o x", 4, "0 operands of o, found 1"},
        {HEAD "node x o size=-1", 4, "a size"},
        {HEAD "node x o size=", 4, "found ''"},
        {HEAD "node x o\nnode x o", 5, "node x is there"},
        {HEAD "operation p\nmethod a -> a 1\nnode x p x", 6, "a node of the lines before, found 'x'"},
        {HEAD "operation p\nmethod a -> a 1\nnode y o\nnode x p y:t", 7, "a table of the lines before, found 't'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct espi_place_file file;
        struct espi_place_file_error error;
        ck_assert_msg(parse(bad[i].text, &file, &error) == ESPI_ERR_SYNTAX, "accepted: %s", bad[i].text);
        ck_assert_msg(error.line == bad[i].line, "line %zu for %s", error.line, bad[i].text);
        ck_assert_msg(strstr(error.what, bad[i].says) != NULL, "'%s' for %s", error.what, bad[i].text);
        ck_assert_ptr_null(file.graph.node);
    }
}
END_TEST

/* Small files cannot ask for large memory. */
START_TEST(too_large)
{
    static char text[400000];
    struct espi_place_file file;
    struct espi_place_file_error error;
    size_t at = 0;
    for (int p = 0; p <= ESPI_PLACE_MOST_PLACEMENTS; p++)
        at += (size_t)snprintf(text + at, sizeof text - at, "placements p%d\n", p);
    ck_assert_int_eq(parse(text, &file, &error), ESPI_ERR_SYNTAX);
    ck_assert_uint_eq(error.line, ESPI_PLACE_MOST_PLACEMENTS + 1);
    *strstr(text, "placements p1024") = '\0';
    size_t head = strlen(text);
    at = head;
    for (int t = 0; t < 10; t++)
        at += (size_t)snprintf(text + at, sizeof text - at, "table t%d\n", t);
    ck_assert_int_eq(parse(text, &file, &error), ESPI_ERR_SYNTAX);
    ck_assert(strstr(error.what, "entries") != NULL && error.line == 1024 + 5);
    at = head + (size_t)snprintf(text + head, sizeof text - head, "operation o\n");
    for (int m = 0; m < 5000; m++)
        at += (size_t)snprintf(text + at, sizeof text - at, "method ? ? -> ? 1\n");
    ck_assert_int_eq(parse(text, &file, &error), ESPI_ERR_SYNTAX);
    ck_assert(strstr(error.what, "methods of at most") != NULL);
    ck_assert_uint_eq(error.line, 1024 + 1 + (1 << 22) / (3 * 1024) + 1);
}
END_TEST

/* A good file with bytes changed, left out and doubled: never a crash; what is read can be planned. */
START_TEST(damaged)
{
    static const char bytes[] = "abcxyz?*:#->()= \n\t0123456789.e\xff";
    for (int round = 0; round < 20000; round++) {
        char text[sizeof example + 40];
        size_t len = sizeof example - 1;
        struct espi_place_file file;
        struct espi_place_file_error error;
        memcpy(text, example, len);
        for (int64_t changes = random_in(1, 4); changes > 0; changes--) {
            size_t at = (size_t)random_in(0, (int64_t)len - 9), more = (size_t)random_in(0, 8);
            switch (random_in(0, 2)) {
            case 0:
                text[at] = bytes[random_in(0, (int64_t)sizeof bytes - 1)];
                break;
            case 1:
                memmove(text + at, text + at + more, len - at - more);
                len -= more;
                break;
            default:
                memmove(text + at + more, text + at, len - at);
                len += more;
                break;
            }
        }
        if (espi_place_file_parse(text, len, &file, &error) == ESPI_OK) {
            struct espi_place_plan plan;
            ck_assert_int_eq(espi_place_plan(&file.graph, NULL, &plan), ESPI_OK);
            expect_best(&file.graph, &plan);
            espi_place_plan_release(&plan);
            espi_place_file_release(&file);
        } else {
            ck_assert(error.what[0] != '\0');
        }
    }
}
END_TEST

/* Whichever allocation fails: an error or a whole answer, and nothing is lost (the sanitizers look). */
START_TEST(short_memory)
{
    struct espi_place_file file;
    struct espi_place_file_error error;
    espi_status status = ESPI_ERR_MEMORY;
    int n = 1;
    for (; status != ESPI_OK; n++) {
        granted = n;
        status = parse(example, &file, &error);
        granted = -1;
        ck_assert(status == ESPI_OK || status == ESPI_ERR_MEMORY);
    }
    ck_assert_int_gt(n, 20);
    espi_place_file_release(&file);
    for (int round = 0; round < 40; round++) {
        struct espi_place_graph graph;
        if (round % 5 == 0)
            random_copies(&graph, (enum cost_kind)(round % 3));
        else
            random_graph(&graph, (enum graph_kind)(round % GRAPH_KINDS), (enum cost_kind)(round % 3), 2000);
        for (int way = ESPI_PLACE_AUTO; way < ESPI_PLACE_WAYS; way++) {
            struct espi_place_options options = {.way = (enum espi_place_way)way, .runner_up = true,
                                                 .max_entries = way == ESPI_PLACE_SEARCH ? 4 : 0};
            struct espi_place_plan plan;
            if (way == ESPI_PLACE_TREE && graph.shared)
                continue;
            status = ESPI_ERR_MEMORY;
            recovers = round % 2 == 0;
            for (n = 1; status != ESPI_OK; n++) {
                granted = n;
                status = espi_place_plan(&graph, &options, &plan);
                granted = -1;
                if (way == ESPI_PLACE_CUT && round % 5 != 0 && status == ESPI_ERR_ARGUMENT)
                    break;
                ck_assert(status == ESPI_OK || status == ESPI_ERR_MEMORY || status == ESPI_ERR_LIMIT);
            }
            if (status != ESPI_OK)
                continue;
            ck_assert_int_gt(n, 3);
            expect_best(&graph, &plan);
            espi_place_plan_release(&plan);
        }
        espi_place_graph_release(&graph);
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test_placement_file", 120, NULL, NULL, all_statements, refused, too_large, damaged,
                     short_memory);
}
