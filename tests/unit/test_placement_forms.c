/* The other forms of text, alignments and positions: what is read, what is refused and in which line; affine
   functions; what the planners of both do without memory. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "granted.h"
#include "placement/file.h"
#include "placement/replicate.h"
#include "random.h"
#include "runner.h"

static const char alignment[] = "affine i j\nplacement rows i # one axis\nplacement diagonals -i+2*j-3\n"
                                "shift 1\npermute 2 .5\ngeneral 3 1\npermute 2 0.25\n"
                                "operation load\nmethod -> rows 1 2\n"
                                "operation turn j,i\nmethod quick: * -> ? 4\nmethod = -> rows 5\n"
                                "method rows -> rows 6\n"
                                "node x load size=3\nnode y turn x\nnode z turn y size=0\n";
static const char positions[] = "positions grid 2\nnode a at=0,-4 size=2.5\nnode b\nnode c a:-1,2 b at=1,1 size=7\n";

static espi_status parse(const char *text, struct espi_place_file *file, struct espi_place_file_error *error)
{
    return espi_place_file_parse(text, strlen(text), file, error);
}

START_TEST(alignment_statements)
{
    struct espi_place_file file;
    struct espi_place_file_error error;
    char buf[ESPI_PLACE_NAME];
    ck_assert_msg(parse(alignment, &file, &error) == ESPI_OK, "line %zu: %s", error.line, error.what);
    const struct espi_place_graph *graph = &file.graph;
    ck_assert_int_eq(file.kind, ESPI_PLACE_FILE_AFFINE);
    ck_assert_str_eq(file.index, "ij");
    ck_assert(file.alignment.dims == 2 && file.alignment.rows == 1 && file.alignment.named == 2);
    ck_assert_int_eq(file.alignment.placement[1].a[0][1], 2);
    ck_assert_int_eq(file.alignment.placement[1].a[0][ESPI_PLACE_DIMS], -3);
    ck_assert_double_eq(file.alignment.change[1].each, 0.25); /* the later line */
    /* x and z see i where y sees j; load, and turn from two sides, in terms of z. */
    ck_assert(graph->placements == 2 && graph->nodes == 3 && graph->ops == 3);
    ck_assert_str_eq(file.op[graph->node[1].op], "turn");
    ck_assert_str_eq(espi_place_name(&file, 2, espi_place_gives(graph, 0, 0), buf), "rows");
    ck_assert_str_eq(espi_place_name(&file, 1, espi_place_gives(graph, 0, 0), buf), "j");
    /* One open method is two, the first of them with the label. */
    ck_assert_int_eq(graph->op[graph->node[2].op].methods, 4);
    const char **label = file.label + file.first_label[graph->node[2].op];
    ck_assert(strcmp(label[0], "quick") == 0 && strcmp(label[1], "quick") == 0 && label[2][0] == '\0');
    ck_assert_int_eq(espi_place_wants(graph, 2, 0, 0), ESPI_PLACE_ANY);
    /* Aligned with rows, and in rows: what y calls j and i. */
    ck_assert_str_eq(espi_place_name(&file, 1, espi_place_wants(graph, 2, 2, 0), buf), "j");
    ck_assert_str_eq(espi_place_name(&file, 1, espi_place_wants(graph, 2, 3, 0), buf), "rows");
    ck_assert_double_eq(espi_place_entry(graph, 0, 0, 1).fixed, 3); /* neither i nor j is the other mirrored */
    espi_place_file_release(&file);
}
END_TEST

START_TEST(position_statements)
{
    struct espi_place_file file;
    struct espi_place_file_error error;
    double cost;
    ck_assert_msg(parse(positions, &file, &error) == ESPI_OK, "line %zu: %s", error.line, error.what);
    const struct espi_place_positions *p = &file.positions;
    ck_assert(file.kind == ESPI_PLACE_FILE_POSITIONS && p->axes == 2 && p->nodes == 3);
    ck_assert_str_eq(file.node[2], "c");
    ck_assert(p->spot[0][0].parent == 2 && p->spot[1][0].shift == 2 && p->spot[1][0].at == -4);
    ck_assert(p->spot[1][0].fixed && !p->spot[0][1].fixed && p->spot[0][1].weight == 1);
    ck_assert(p->first[2] == 0 && p->first[3] == 2 && p->operand[0] == 0 && p->operand[1] == 1);
    ck_assert_int_eq(espi_place_positions_choose(&file.positions, 0, &cost), ESPI_OK);
    ck_assert_double_eq(cost, 2.5 * (2 + 3)); /* 0-1 to 1, -4+2 to 1; b comes to c */
    ck_assert_double_eq(espi_place_positions_move(p, 0), cost);
    ck_assert_double_eq(espi_place_positions_move(p, 1), 0);
    ck_assert_double_eq(espi_place_positions_move(p, 2), 0);
    ck_assert(p->spot[0][1].at == 1 && p->spot[1][1].at == 1);
    espi_place_file_release(&file);
    ck_assert_int_eq(parse("positions ring 10 7\nnode a at=9,6\nnode b a:2,0 at=10,-14", &file, &error), ESPI_OK);
    ck_assert_int_eq(espi_place_positions_choose(&file.positions, 0, &cost), ESPI_OK);
    ck_assert_double_eq(cost, 1 + 1); /* 11 to 10, 6 to 7 */
    ck_assert_double_eq(espi_place_positions_move(p, 0), cost);
    espi_place_file_release(&file);
    ck_assert_int_eq(parse("positions discrete\nnode a at=9\nnode b a:2 at=10\n", &file, &error), ESPI_OK);
    ck_assert_int_eq(espi_place_positions_choose(&file.positions, 0, &cost), ESPI_OK);
    ck_assert_double_eq(cost, 1);
    espi_place_file_release(&file);
}
END_TEST

#define HEAD "affine i j\nplacement p i\noperation o i,j\n"
#define GRID "positions grid 2\n"

START_TEST(refused)
{
    static const struct {
        const char *text;
        size_t line;
        const char *says;
    } bad[] = {
        {"affine", 1, "one to 4 indices, found 0"},
        {"affine a b c d e", 1, "found 5"},
        {"affine i\naffine i", 2, "affine once"},
        {"affine ij", 1, "a letter for each index, found 'ij'"},
        {"affine i i", 1, "found 'i'"},
        {"affine 1", 1, "found '1'"},
        {"affine i", 0, "expected a node"},
        {"affine i\nmove * * 1", 2, "placement, shift, permute, general, operation, method or node, found 'move'"},
        {"affine i\nplacement", 2, "a name and an expression, found 0"},
        {"affine i\nplacement p i i", 2, "found 3 words"},
        {"affine i\nplacement p j", 2, "sums of the indices i, by commas (as 2i-1), found 'j'"},
        {"affine i\nplacement p i+", 2, "found 'i+'"},
        {"affine i\nplacement p ii", 2, "found 'ii'"},
        {"affine i\nplacement p 2*", 2, "found '2*'"},
        {"affine i\nplacement p 2*3", 2, "found '2*3'"},
        {"affine i\nplacement p i,", 2, "found 'i,'"},
        {"affine i\nplacement p ,i", 2, "found ',i'"},
        {"affine i\nplacement p 1000001i", 2, "found '1000001i'"},
        {"affine i\nplacement p 1000000i+i", 2, "sums"},
        {"affine i\nplacement p i,i,i,i,i", 2, "sums"},
        {"affine i\nplacement -p i", 2, "name for the placement"},
        {"affine i\nplacement p i\nplacement p i", 3, "placement p is there"},
        {"affine i\nplacement p i\n\nplacement q i,i", 4, "1 coordinates, as before, found 2"},
        {"affine i\nplacement p i\noperation o\nplacement q i", 4, "before operations"},
        {"affine i\nshift", 2, "COST or COST EACH"},
        {"affine i\npermute x", 2, "a cost (a number"},
        {"affine i\ngeneral 1 2 3", 2, "found 3 words"},
        {"affine i\noperation o", 2, "a placement before operations"},
        {"affine i\nplacement p i\noperation", 3, "a name, found none"},
        {"affine i\nplacement p i\noperation o\noperation q", 3, "a method of operation o"},
        {"affine i j\nplacement p i\noperation o i", 3, "2 indices of the operand, found 1"},
        {"affine i j\nplacement p i\noperation o i,j i,k", 3, "found 'i,k'"},
        {"affine i j\nplacement p i\noperation o 2i,j", 3, "a determinant of 1 or -1), found '2i,j'"},
        {"affine i j\nplacement p i\noperation o i,i", 3, "determinant"},
        {"affine i\nplacement p i\nmethod -> p 1", 3, "an operation before its methods"},
        {HEAD "method -> p 1", 4, "1 operands, as the operation has, found 0"},
        {HEAD "method p p 1", 4, "OPERAND... -> RESULT"},
        {HEAD "method q -> p 1", 4, "a placement, =, * or ?, found 'q'"},
        {HEAD "method p -> = 1", 4, "a placement or ?, found '='"},
        {HEAD "method p -> * 1", 4, "a placement or ?, found '*'"},
        {HEAD "method p -> p", 4, "COST"},
        {HEAD "method l(: p -> p 1", 4, "label"},
        {HEAD "method p -> p 1\noperation o", 5, "operation o is there"},
        {HEAD "method p -> p 1\nnode x o x", 5, "a node of the lines before"},
        {HEAD "method p -> p 1\noperation l\nmethod -> p 1\nnode x l\nnode y o x:t", 8, "a table of the lines"},
        {HEAD "method p -> p 1\noperation l\nmethod -> p 1\noperation t j,i i,j\nmethod = = -> ? 1\n"
              "node x l\nnode y t x x\n",
         10, "node y to read the same elements"},
        {"positions", 1, "grid [AXES], ring LENGTH... or discrete, found ''"},
        {"positions sphere", 1, "found 'sphere'"},
        {"positions discrete 2", 1, "discrete"},
        {"positions grid 2 3", 1, "grid [AXES]"},
        {"positions grid 0", 1, "a number of axes (a whole number from 1 to 1e15), found '0'"},
        {"positions grid 9", 1, "at most 8 axes"},
        {"positions ring", 1, "one to 8 lengths, found 0"},
        {"positions ring 5 x", 1, "a length (a whole number from 1 to 1e15), found 'x'"},
        {"positions grid\npositions grid", 2, "positions once"},
        {"positions grid", 0, "expected a node"},
        {GRID "move a b 1", 2, "expected node, found 'move'"},
        {GRID "node", 2, "found nothing"},
        {GRID "node -a", 2, "name for the node"},
        {GRID "node a\nnode a", 3, "node a is there"},
        {GRID "node a at=1", 2, "2 numbers by commas for a position, found '1'"},
        {GRID "node a at=1,2,3", 2, "a position (a whole number from -1e15 to 1e15), found '2,3'"},
        {GRID "node a at=1,", 2, "found ''"},
        {GRID "node a at=1,2 size=x", 2, "a size"},
        {GRID "node a size=1 at=1,2", 2, "found 'size=1'"},
        {GRID "node a b", 2, "a node of the lines before, found 'b'"},
        {GRID "node a\nnode b a:1", 3, "2 numbers by commas for a shift, found '1'"},
        {GRID "node a\nnode b a:1,1e3", 3, "a shift (a whole number from -1e15 to 1e15), found '1e3'"},
        {GRID "node a\nnode b a:1,1000000000000001", 3, "a shift"},
        {GRID "node a\n\nnode b a a", 4, "used once, found a again"},
        {GRID "node a\nnode b a\nnode c a", 4, "used once, found a again"},
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

#define HEAD_OF_CHAIN "affine i j\nplacement p i\ngeneral 1\noperation a\nmethod -> p 0\n"

static int64_t value_of(const struct espi_place_affine *f, int row, const int64_t *x, int dims)
{
    int64_t sum = f->a[row][ESPI_PLACE_DIMS];
    for (int c = 0; c < dims; c++)
        sum += f->a[row][c] * x[c];
    return sum;
}

/* Of `rows` values; row operations keep the determinant of a square one at 1 or -1. */
static struct espi_place_affine random_affine(int dims, bool square)
{
    struct espi_place_affine f = espi_place_identity(square ? dims : 0);
    for (int k = 0; k < 6 && square; k++) {
        int a = (int)random_in(0, dims - 1), b = (int)random_in(0, dims - 1), times = (int)random_in(-2, 2);
        for (int c = 0; c < dims; c++)
            f.a[a][c] = a == b ? -f.a[a][c] : f.a[a][c] + times * f.a[b][c];
    }
    for (int r = 0; r < dims; r++) {
        for (int c = 0; c < dims && !square; c++)
            f.a[r][c] = random_in(0, 2) ? random_in(-3, 3) : random_in(-999999, 999999);
        f.a[r][ESPI_PLACE_DIMS] = random_in(-9, 9);
    }
    return f;
}

/* Composition and inverse by the values of functions; text and back. */
START_TEST(functions)
{
    for (int round = 0; round < 5000; round++) {
        int dims = (int)random_in(1, ESPI_PLACE_DIMS);
        struct espi_place_affine f = random_affine(dims, false), g = random_affine(dims, true), h, back;
        int64_t x[ESPI_PLACE_DIMS], y[ESPI_PLACE_DIMS] = {0};
        char text[200];
        for (int c = 0; c < dims; c++)
            x[c] = random_in(-99, 99);
        for (int r = 0; r < dims; r++)
            y[r] = value_of(&g, r, x, dims);
        ck_assert(espi_place_compose(&f, &g, &h) && espi_place_invert(&g, dims, &back));
        for (int r = 0; r < dims; r++) {
            ck_assert_int_eq(value_of(&h, r, x, dims), value_of(&f, r, y, dims));
            ck_assert_int_eq(value_of(&back, r, y, dims), x[r]);
        }
        espi_place_format_affine(&f, "ijkl", dims, dims, text, sizeof text);
        ck_assert_int_eq(espi_place_parse_affine(text, strlen(text), "ijkl", dims, &h), dims);
        ck_assert_mem_eq(&f, &h, sizeof f);
        g.a[0][0] = 2; /* twice a row's sum, or any other determinant */
        for (int c = 1; c < dims; c++)
            g.a[0][c] *= 2;
        ck_assert(!espi_place_invert(&g, 1, &back));
    }
}
END_TEST

START_TEST(large_numbers)
{
    struct espi_place_affine f = espi_place_identity(1), g;
    char text[8];
    f.a[0][0] = INT64_MAX;
    ck_assert(!espi_place_compose(&f, &f, &g));
    f.a[0][0] = INT64_MIN;
    ck_assert(!espi_place_invert(&f, 1, &g));
    ck_assert_str_eq(espi_place_format_affine(&f, "i", 1, 1, text, sizeof text), "-922337");
    f = espi_place_identity(2);
    f.a[0][1] = INT64_MAX;
    f.a[0][ESPI_PLACE_DIMS] = 1;
    f.a[1][ESPI_PLACE_DIMS] = 3;
    ck_assert(!espi_place_invert(&f, 2, &g));
    /* A chain in which each step skews further: Fibonacci numbers. */
    static char chain[20000];
    size_t at = (size_t)snprintf(chain, sizeof chain,
                                 HEAD_OF_CHAIN "operation b j,i+j\nmethod = -> ? 1\nnode n0 a\n");
    for (int v = 1; v <= 200; v++)
        at += (size_t)snprintf(chain + at, sizeof chain - at, "node n%d b n%d\n", v, v - 1);
    struct espi_place_file file;
    struct espi_place_file_error error;
    ck_assert_int_eq(espi_place_file_parse(chain, at, &file, &error), ESPI_ERR_SYNTAX);
    ck_assert(strstr(error.what, "numbers of 64 bits") != NULL && error.line > 8 + 50 && error.line < 8 + 200);
    *strstr(chain, "node n60") = '\0';
    ck_assert_int_eq(espi_place_file_parse(chain, strlen(chain), &file, &error), ESPI_OK);
    espi_place_file_release(&file);
}
END_TEST

/* More placements than a graph has, as each step sees the named one anew. */
START_TEST(too_many)
{
    static char chain[60000];
    for (int steps = 1000; steps <= 1100; steps += 100) {
        struct espi_place_file file;
        struct espi_place_file_error error;
        size_t at = (size_t)snprintf(chain, sizeof chain,
                                     HEAD_OF_CHAIN "operation b i+j,j\nmethod p -> p 1\nnode n0 a\n");
        for (int v = 1; v < steps; v++)
            at += (size_t)snprintf(chain + at, sizeof chain - at, "node n%d b n%d\n", v, v - 1);
        espi_status status = espi_place_file_parse(chain, at, &file, &error);
        if (steps == 1000) {
            struct espi_place_plan plan;
            ck_assert_int_eq(status, ESPI_OK);
            ck_assert_int_eq(espi_place_plan(&file.graph, NULL, &plan), ESPI_OK);
            ck_assert_double_eq(plan.cost, 999);
            espi_place_plan_release(&plan);
            espi_place_file_release(&file);
        } else {
            ck_assert_int_eq(status, ESPI_ERR_SYNTAX);
            ck_assert(strstr(error.what, "at most 1024 placements") != NULL);
        }
    }
}
END_TEST

/* Whichever allocation fails: an error, or the answer that there is with memory, and nothing is lost (the sanitizers
   look). */
START_TEST(short_memory_texts)
{
    static const char *const texts[] = {alignment, positions};
    for (int t = 0; t < 4; t++) {
        struct espi_place_file file;
        struct espi_place_file_error error;
        espi_status status = ESPI_ERR_MEMORY;
        int n = 1;
        recovers = t >= 2;
        for (; status != ESPI_OK; n++) {
            granted = n;
            status = parse(texts[t % 2], &file, &error);
            granted = -1;
            ck_assert(status == ESPI_OK || status == ESPI_ERR_MEMORY);
            ck_assert(status == ESPI_OK || (file.graph.node == NULL && error.what[0] == '\0'));
        }
        ck_assert_int_gt(n, t % 2 == 0 ? 20 : 5);
        espi_place_file_release(&file);
    }
}
END_TEST

START_TEST(short_memory_positions)
{
    for (int round = 0; round < 300; round++) {
        struct espi_place_spot spots[20], before[20], best[20];
        struct espi_place_positions p = {.space = (enum espi_place_space)(round % 3), .axes = 2, .nodes = 20,
                                         .around = {11, 5}, .spot = {spots, best}};
        double cost, first = -1;
        espi_status status = ESPI_ERR_MEMORY;
        int n = 1;
        for (int v = 0; v < 20; v++)
            spots[v] = best[v] = (struct espi_place_spot){v < 19 ? (int)random_in(v + 1, 19) : -1,
                                                          random_in(0, 1) == 0, random_in(-5, 5), random_in(-1, 1),
                                                          (double)random_in(0, 3)};
        memcpy(before, spots, sizeof spots);
        recovers = round % 2 == 0;
        for (; status != ESPI_OK; n++) {
            granted = n;
            status = espi_place_positions_choose(&p, 0, &cost);
            granted = -1;
            ck_assert(status == ESPI_OK || status == ESPI_ERR_MEMORY);
            ck_assert(status == ESPI_OK || memcmp(spots, before, sizeof spots) == 0);
        }
        ck_assert_int_gt(n, 15);
        memcpy(spots, before, sizeof spots);
        memcpy(best, before, sizeof best);
        ck_assert_int_eq(espi_place_positions_choose(&p, 0, &first), ESPI_OK);
        ck_assert_double_eq(cost, first);
    }
}
END_TEST

START_TEST(short_memory_replication)
{
    for (int round = 0; round < 300; round++) {
        struct espi_place_copies node[8];
        struct espi_place_read read[12];
        bool chosen[8], first[8];
        double cost, best;
        espi_status status = ESPI_ERR_MEMORY;
        int n = 1;
        for (int v = 0; v < 8; v++)
            node[v] = (struct espi_place_copies){(double)random_in(0, 9), (double)random_in(0, 9)};
        for (int r = 0; r < 12; r++)
            read[r] = (struct espi_place_read){(int)random_in(0, 7), (int)random_in(0, 7), (double)random_in(0, 9)};
        recovers = round % 2 == 0;
        for (; status != ESPI_OK; n++) {
            granted = n;
            status = espi_place_replicate(node, 8, read, 12, chosen, &cost);
            granted = -1;
            ck_assert(status == ESPI_OK || status == ESPI_ERR_MEMORY);
        }
        ck_assert_int_gt(n, 2);
        ck_assert_int_eq(espi_place_replicate(node, 8, read, 12, first, &best), ESPI_OK);
        ck_assert(cost == best && memcmp(chosen, first, sizeof first) == 0);
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test_placement_forms", 120, NULL, NULL, alignment_statements, position_statements, refused,
                     functions, large_numbers, too_many, short_memory_texts, short_memory_positions,
                     short_memory_replication);
}
