/*
 * A fuzz target for the parsers of trees and of files with layouts, reconstruction, normalization, folding,
 * transpacking and pictures; scripts/dev/fuzz builds and runs it. The first byte chooses the constructor set, the
 * costs, the budget and what the rest is: text of a tree, lines as in a file, or a type map coded in bytes. Every
 * answer is held against what must be true of it; a violation ends the process by a trap, which the fuzzer reports
 * with the input that caused it. Maps are short, so that some hundreds of inputs are tried each second.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/draw.h"
#include "cli/mapfile.h"
#include "fuzz.h"
#include "reconstruct/fold.h"
#include "reconstruct/parts.h"
#include "reconstruct/reconstruct.h"
#include "transpack/transpack.h"

enum { ENTRIES = 240, SMALL = 40, TINY = 24 };

static uint32_t take(const uint8_t **data, size_t *size)
{
    if (*size == 0) {
        return 0;
    }
    (*size)--;
    return *(*data)++;
}

/* Default costs, or small and large ones from the input, zero included. */
static void choose_options(struct espi_reconstruct_options *options, uint32_t choice, const uint8_t **data,
                           size_t *size)
{
    espi_reconstruct_defaults(options);
    options->set = (enum espi_set)(choice % 3);
    if ((choice & 8) != 0) { /* what is longer than a few entries gets little work */
        options->exact_limit = 4;
        options->budget_ns = 1 + (uint64_t)take(data, size) * 4000;
    }
    if ((choice & 16) != 0) {
        int64_t *each[] = {&options->costs.leaf,        &options->costs.vec,    &options->costs.idx,
                           &options->costs.idx_each,    &options->costs.idxbuc, &options->costs.idxbuc_each,
                           &options->costs.struc,       &options->costs.struc_each,
                           &options->costs.bucket,      &options->costs.bucket_each};
        for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
            uint32_t byte = take(data, size);
            *each[i] = byte < 200 ? byte % 12 : (int64_t)byte * byte * 15000;
        }
    }
}

/* Both kinds of picture of a tree, or of the two sides of a shared one, are whole. */
static void check_pictures(const struct espi_node *tree, const struct espi_node *onto, const struct espi_costs *costs)
{
    for (int svg = 0; svg < 2; svg++) {
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        REQUIRE(out != NULL);
        REQUIRE((svg ? cli_draw_svg : cli_draw_dot)(out, tree, onto, costs) == ESPI_OK);
        REQUIRE(fclose(out) == 0 && len > 20 && len < 1000000);
        REQUIRE(strcmp(text + len - (svg ? 7 : 2), svg ? "</svg>\n" : "}\n") == 0);
        free(text);
    }
}

static void check_tree(struct espi_arena *arena, const struct espi_typemap *map, const struct espi_node *input,
                       const struct espi_reconstruct_options *options, const struct espi_reconstruction *result)
{
    struct espi_typemap again = ESPI_TYPEMAP_INIT;
    struct espi_folded folded;
    REQUIRE(result->cost == espi_cost(result->tree, &options->costs));
    REQUIRE(result->lower_bound <= result->cost);
    REQUIRE(!result->exact || result->lower_bound == result->cost);
    if (map != NULL) {
        espi_status status = espi_flatten(result->tree, 0, map->n, &again);
        REQUIRE(status == ESPI_OK && espi_typemap_equal(map, &again));
        espi_typemap_release(&again);
    }
    if (input != NULL) {
        REQUIRE(result->tree->entries == input->entries && result->tree->size == input->size);
        REQUIRE(result->tree->true_lb == input->true_lb && result->tree->true_ub == input->true_ub);
    }
    REQUIRE(espi_fold(arena, result->tree, &options->costs, &folded) == ESPI_OK);
    REQUIRE(espi_node_equal(folded.tree, result->tree));
    REQUIRE(folded.tree_cost == result->cost && folded.dag_cost <= folded.tree_cost);
    if (result->tree->entries % 8 != 3) {
        return;
    }
    check_pictures(result->tree, NULL, &options->costs);
}

/* The cost of the list as it is, which is always possible. */
static int64_t list_cost(const struct espi_typemap *map, const struct espi_costs *costs)
{
    int64_t parts = 0, total = 0;
    for (size_t i = 0, e; i < map->n; i = e) {
        for (e = i + 1; e < map->n && map->base[e] == map->base[i]; e++) {
        }
        bool list = e > i + 1;
        total += costs->leaf + costs->struc_each + (list ? costs->idx + (int64_t)(e - i) * costs->idx_each : 0);
        parts++;
    }
    if (parts != 1) {
        return total + costs->struc;
    }
    return costs->leaf + costs->idx + (int64_t)map->n * costs->idx_each;
}

static void reconstruct(struct espi_arena *arena, const struct espi_typemap *map,
                        const struct espi_reconstruct_options *options)
{
    struct espi_reconstruction result, other;
    struct espi_reconstruct_options more = *options;
    espi_status status = espi_reconstruct(arena, map, NULL, options, &result);
    REQUIRE(status == ESPI_OK || status == ESPI_ERR_OVERFLOW);
    if (status != ESPI_OK) {
        return;
    }
    check_tree(arena, map, NULL, options, &result);
    REQUIRE(result.cost <= list_cost(map, &options->costs));
    if (options->budget_ns > 0) {
        more.budget_ns *= 8;
        REQUIRE(espi_reconstruct(arena, map, NULL, &more, &other) == ESPI_OK);
        REQUIRE(other.cost <= result.cost && other.lower_bound >= result.lower_bound);
        REQUIRE(other.lower_bound <= other.cost);
    }
    if (map->n > 0 && map->n <= SMALL && espi_reconstruct_dense(arena, map, options, &other) == ESPI_OK) {
        check_tree(arena, map, NULL, options, &other);
        REQUIRE(other.exact && other.cost <= result.cost && other.cost >= result.lower_bound);
        REQUIRE(!result.exact || other.cost == result.cost);
    }
}

static void fuzz_text(struct espi_arena *arena, const char *text, size_t len,
                      const struct espi_reconstruct_options *options)
{
    struct espi_parse_error error = {0, 0, ""};
    const struct espi_node *tree, *again;
    struct espi_reconstruction result;
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    espi_status status = espi_parse(arena, text, len, &tree, &error);
    if (status != ESPI_OK) {
        REQUIRE(status == ESPI_ERR_MEMORY || (error.line > 0 && error.column > 0 && error.text[0] != '\0'));
        return;
    }
    size_t length = espi_print(tree, 0, NULL, 0);
    char *shown = espi_arena_alloc(arena, length + 1);
    REQUIRE(shown != NULL && espi_print(tree, 0, shown, length + 1) == length);
    REQUIRE(espi_parse(arena, shown, length, &again, &error) == ESPI_OK && espi_node_equal(tree, again));
    bool flat = tree->entries <= ENTRIES && espi_flatten(tree, 0, ENTRIES, &map) == ESPI_OK;
    status = espi_normalize(arena, tree, options, &result);
    if (status == ESPI_OK) {
        check_tree(arena, flat ? &map : NULL, tree, options, &result);
        /* Never worse than the input, where the set has all of its constructors. */
        REQUIRE(options->set != ESPI_SET_EXTENDED || result.cost <= espi_cost(tree, &options->costs));
    } else {
        REQUIRE(status == ESPI_ERR_OVERFLOW || status == ESPI_ERR_UNSUPPORTED);
    }
    if (flat && map.n <= ENTRIES / 2) {
        reconstruct(arena, &map, options);
    }
    espi_typemap_release(&map);
}

/* Lines as in a file: a type map, or a message that names a line. */
static void fuzz_lines(struct espi_arena *arena, const uint8_t *data, size_t size,
                       const struct espi_reconstruct_options *options)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct cli_map_form form = {size % 2 == 0 ? 1 : 8, espi_base_find("MPI_BYTE", 8)};
    char name[FUZZ_NAME];
    int file = fuzz_file(data, size, name);
    fuzz_message[0] = '\0';
    int code = cli_read_map(name, &form, &map);
    close(file);
    if (code == CLI_OK) {
        REQUIRE(fuzz_message[0] == '\0');
        map.n = map.n < ENTRIES ? map.n : ENTRIES;
        reconstruct(arena, &map, options);
    } else {
        size_t len = strlen(name);
        REQUIRE(code == CLI_FAILURE && strncmp(fuzz_message, name, len) == 0 && fuzz_message[len] == ':');
        REQUIRE(fuzz_message[len + 1] >= '1' && fuzz_message[len + 1] <= '9');
    }
    espi_typemap_release(&map);
}

/* The map onto one with the same signature, in blocks. */
static void transpack(struct espi_arena *arena, const struct espi_typemap *map, int64_t block,
                      const struct espi_reconstruct_options *options)
{
    struct espi_transpacking result;
    struct espi_typemap onto = ESPI_TYPEMAP_INIT, again = ESPI_TYPEMAP_INIT;
    struct espi_costs pair = espi_transpack_costs(&options->costs);
    for (size_t i = 0; i < map->n; i++) {
        int64_t k = (int64_t)i;
        REQUIRE(espi_typemap_append(&onto, map->base[i], k / block * 1000 + k % block * 16 - 5) == ESPI_OK);
    }
    espi_status status = espi_transpack(arena, map, &onto, options, &result);
    REQUIRE(status == ESPI_OK || status == ESPI_ERR_OVERFLOW);
    if (status == ESPI_OK) {
        REQUIRE(espi_cost(result.from, &pair) == result.cost && espi_cost(result.onto, &pair) == result.cost);
        REQUIRE(result.lower_bound <= result.cost && result.cost <= list_cost(map, &pair));
        REQUIRE(espi_flatten(result.from, 0, map->n, &again) == ESPI_OK && espi_typemap_equal(map, &again));
        again.n = 0;
        REQUIRE(espi_flatten(result.onto, 0, map->n, &again) == ESPI_OK && espi_typemap_equal(&onto, &again));
        if (map->n % 8 == 3) {
            check_pictures(result.from, result.onto, &pair);
        }
    }
    espi_typemap_release(&onto);
    espi_typemap_release(&again);
}

/* Instructions of two bytes and more that append entries: so short inputs make long, repetitive maps. */
static void fuzz_map(struct espi_arena *arena, const uint8_t *data, size_t size,
                     const struct espi_reconstruct_options *options)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    int64_t at = 0;
    espi_base base = 0;
    while (size > 0 && map.n < ENTRIES) {
        uint32_t op = take(&data, &size), value = take(&data, &size), n = 1;
        int64_t step = (int8_t)value;
        if (op % 8 == 1) { /* a run */
            n = 1 + take(&data, &size);
        } else if (op % 8 == 2) { /* the last `value` entries again, moved on */
            size_t back = value % 64 < map.n ? value % 64 : map.n;
            step = (int8_t)take(&data, &size);
            for (size_t k = 0; k < back && map.n < ENTRIES; k++) {
                size_t from = map.n - back;
                int64_t disp;
                if (__builtin_add_overflow(map.disp[from], step, &disp) || disp > INT64_MAX - 64) {
                    break;
                }
                REQUIRE(espi_typemap_append(&map, map.base[from], disp) == ESPI_OK);
            }
            continue;
        } else if (op % 8 == 3) {
            base = (espi_base)(value % 5);
            continue;
        } else if (op % 8 == 4) { /* far away */
            step *= INT64_C(1) << (op / 8 % 26 + 30);
        }
        for (uint32_t k = 0; k < n && map.n < ENTRIES; k++) {
            int64_t next;
            if (__builtin_add_overflow(at, step, &next) || next > INT64_MAX - 64) {
                break;
            }
            REQUIRE(espi_typemap_append(&map, base, at) == ESPI_OK);
            at = next;
        }
    }
    reconstruct(arena, &map, options);
    if (map.n <= TINY) {
        transpack(arena, &map, 1 + (int64_t)(map.n % 7), options);
    }
    espi_typemap_release(&map);
}

int fuzz_tree(const uint8_t *data, size_t size)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_reconstruct_options options;
    uint32_t choice = take(&data, &size);
    bool text = (choice & 64) != 0, lines = (choice & 96) == 32;
    choose_options(&options, choice, &data, &size);
    if (text) {
        char *copy = malloc(size + 1); /* of exactly this size, so that a byte too far is noticed */
        REQUIRE(copy != NULL);
        memcpy(copy, data, size);
        fuzz_text(&arena, copy, size, &options);
        free(copy);
    } else if (lines) {
        fuzz_lines(&arena, data, size, &options);
    } else {
        fuzz_map(&arena, data, size, &options);
    }
    espi_arena_release(&arena);
    return 0;
}
