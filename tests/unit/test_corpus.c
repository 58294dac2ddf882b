/* The layouts of tests/corpus; see the README there. */
#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "reconstruct/parts.h"

enum { LINE = 1 << 20, FILES = 1000, SHORT = 60 };

static char names[FILES][256];
static int files;
static struct espi_arena arena;

static void check_method(const char *name, const struct espi_typemap *map, int64_t cost,
                         const struct espi_reconstruct_options *options, const struct espi_reconstruction *result)
{
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    ck_assert_msg(result->exact, "%s: not exact", name);
    ck_assert_msg(result->cost == cost && espi_cost(result->tree, &options->costs) == cost,
                  "%s: cost %" PRId64 ", expected %" PRId64, name, result->cost, cost);
    ck_assert_int_eq(espi_flatten(result->tree, 0, map->n, &again), ESPI_OK);
    ck_assert_msg(espi_typemap_equal(map, &again), "%s: another type map", name);
    espi_typemap_release(&again);
}

static enum espi_set set_of(const char *name, const char *word)
{
    static const char *const sets[] = {"basic", "mpi", "extended"};
    for (int s = ESPI_SET_BASIC; s <= ESPI_SET_EXTENDED; s++) {
        if (strcmp(word, sets[s]) == 0) {
            return (enum espi_set)s;
        }
    }
    ck_abort_msg("%s: unknown set %s", name, word);
}

static void expect(const char *name, const struct espi_node *input, const char *key, char *set, const char *value)
{
    struct espi_reconstruct_options options;
    struct espi_reconstruction result;
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    espi_reconstruct_defaults(&options);
    options.set = set_of(name, set);
    ck_assert_int_eq(espi_flatten(input, 0, SIZE_MAX, &map), ESPI_OK);
    ck_assert_int_eq(espi_reconstruct(&arena, &map, NULL, &options, &result), ESPI_OK);
    if (strcmp(key, "tree") == 0) {
        size_t size = espi_print(result.tree, 0, NULL, 0) + 1;
        char *text = espi_arena_alloc(&arena, size);
        espi_print(result.tree, 0, text, size);
        ck_assert_msg(strcmp(text, value) == 0, "%s: %s, expected %s", name, text, value);
    } else {
        int64_t cost = strtoll(value, NULL, 10);
        check_method(name, &map, cost, &options, &result);
        ck_assert_int_eq(espi_normalize(&arena, input, &options, &result), ESPI_OK);
        check_method(name, &map, cost, &options, &result);
        if (map.n > 0) {
            ck_assert_int_eq(espi_reconstruct_dense(&arena, &map, &options, &result), ESPI_OK);
            check_method(name, &map, cost, &options, &result);
        }
        if (map.n > 0 && map.n <= SHORT) {
            ck_assert_msg(oracle_cost(&map, options.set, &options.costs) == cost, "%s: the plain procedure", name);
        }
    }
    espi_typemap_release(&map);
}

START_TEST(layout)
{
    const char *name = names[_i];
    char path[4096];
    char *line = malloc(LINE);
    const struct espi_node *input = NULL;
    int expectations = 0;
    snprintf(path, sizeof path, "%s/%s", ESPI_CORPUS, name);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(line);
    while (fgets(line, LINE, file) != NULL) {
        char key[16], set[16];
        int at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0') {
            continue;
        }
        if (strncmp(line, "input ", 6) == 0) {
            struct espi_parse_error error = {0, 0, ""};
            espi_status status = espi_parse(&arena, line + 6, strlen(line + 6), &input, &error);
            ck_assert_msg(status == ESPI_OK, "%s: %zu: %s", name, error.column, error.text);
            continue;
        }
        ck_assert_msg(input != NULL && sscanf(line, "%15s %15s %n", key, set, &at) == 2 && at > 0, "%s: %s", name,
                      line);
        ck_assert_msg(strcmp(key, "cost") == 0 || strcmp(key, "tree") == 0, "%s: %s", name, line);
        expect(name, input, key, set, line + at);
        expectations++;
    }
    ck_assert_msg(expectations > 0, "%s expects nothing", name);
    fclose(file);
    free(line);
    espi_arena_release(&arena);
}
END_TEST

int main(void)
{
    DIR *folder = opendir(ESPI_CORPUS);
    if (folder == NULL) {
        perror(ESPI_CORPUS);
        return EXIT_FAILURE;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL && files < FILES; entry = readdir(folder)) {
        const char *end = strrchr(entry->d_name, '.');
        if (end != NULL && strcmp(end, ".layout") == 0) {
            snprintf(names[files++], sizeof names[0], "%s", entry->d_name);
        }
    }
    closedir(folder);
    if (files == 0) {
        fprintf(stderr, "no layouts in %s\n", ESPI_CORPUS);
        return EXIT_FAILURE;
    }
    Suite *suite = suite_create("corpus");
    TCase *tcase = tcase_create("corpus");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, layout, 0, files);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
