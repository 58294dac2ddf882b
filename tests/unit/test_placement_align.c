/* Alignments against exhaustive search by the definition: every value is looked at in its own indices. */
#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement/file.h"
#include "random.h"
#include "runner.h"

enum { NODES = 5, METHODS = 3, OPERANDS = 3, PLACES = 40, NAMED = 3, ANY = -1, OPEN = -2, ALIGNED = -3 };

/* Rows over two indices and 1. */
struct map {
    int a[2][3];
};

struct method {
    int shape[OPERANDS + 1]; /* named ones by number, or as above; the result's last */
    int cost, each;
};

struct step {
    int operands, from[OPERANDS], methods, size;
    struct map read[OPERANDS], unread[OPERANDS];
    struct method method[METHODS];
    struct map place[PLACES]; /* what its value may be in; the first `named` come from names */
    int places, named;
};

struct instance {
    int rows, steps;
    struct map placement[NAMED];
    int change[3][2];
    struct step step[NODES];
    double best, cost;
    struct map left[NODES]; /* where values are, in their own indices */
    bool extra;             /* placements that come from no name, too */
};

static struct map compose(const struct map *f, const struct map *g)
{
    struct map h;
    for (int r = 0; r < 2; r++) {
        for (int c = 0; c < 3; c++)
            h.a[r][c] = f->a[r][0] * g->a[0][c] + f->a[r][1] * g->a[1][c] + (c == 2 ? f->a[r][2] : 0);
    }
    return h;
}

/* Of a read, whose determinant is 1 or -1. */
static struct map invert(const struct map *f)
{
    int d = f->a[0][0] * f->a[1][1] - f->a[0][1] * f->a[1][0];
    struct map g = {{{f->a[1][1] * d, -f->a[0][1] * d, 0}, {-f->a[1][0] * d, f->a[0][0] * d, 0}}};
    for (int r = 0; r < 2; r++)
        g.a[r][2] = -(g.a[r][0] * f->a[0][2] + g.a[r][1] * f->a[1][2]);
    return g;
}

static struct map random_read(bool plain)
{
    static const struct map some[] = {
        {{{1, 0, 0}, {0, 1, 0}}}, {{{0, 1, 0}, {1, 0, 0}}}, {{{1, 1, 0}, {0, 1, 0}}},
        {{{1, 0, 0}, {1, 1, 0}}}, {{{-1, 0, 0}, {0, 1, 0}}}, {{{1, 0, 1}, {0, 1, -2}}},
    };
    struct map f = some[random_in(0, 5)], g = some[random_in(0, 5)];
    return plain ? some[0] : compose(&f, &g);
}

static struct map random_placement(int rows)
{
    struct map f = {{{0}}};
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < 3; c++)
            f.a[r][c] = (int)random_in(-1, 1);
    }
    return f;
}

static bool add_place(struct step *step, const struct map *f)
{
    for (int p = 0; p < step->places; p++) {
        if (memcmp(&step->place[p], f, sizeof *f) == 0)
            return false;
    }
    ck_assert_int_lt(step->places, PLACES);
    step->place[step->places++] = *f;
    return true;
}

/* Everything that one value may be in, every other may be in, too: as it is aligned with it. */
static void spread_places(struct instance *t)
{
    for (bool more = true; more;) {
        more = false;
        for (int v = 0; v < t->steps; v++) {
            struct step *step = &t->step[v];
            for (int i = 0; i < step->operands; i++) {
                struct step *from = &t->step[step->from[i]];
                for (int p = 0; p < from->places; p++) {
                    struct map f = compose(&from->place[p], &step->read[i]);
                    more = add_place(step, &f) || more;
                }
                for (int p = 0; p < step->places; p++) {
                    struct map f = compose(&step->place[p], &step->unread[i]);
                    more = add_place(from, &f) || more;
                }
            }
        }
    }
}

static void random_methods(struct instance *t, struct step *step, bool dear)
{
    step->methods = (int)random_in(1, dear ? 1 : METHODS);
    for (int j = 0; j < step->methods; j++) {
        struct method *method = &step->method[j];
        for (int i = 0; i < step->operands; i++) {
            int kind = (int)random_in(0, 9);
            method->shape[i] = kind < 2 ? (int)random_in(0, NAMED - 1) : kind < 3 ? ANY : kind < 7 ? OPEN : ALIGNED;
        }
        method->shape[step->operands] = random_in(0, 2) ? OPEN : (int)random_in(0, NAMED - 1);
        method->cost = (int)random_in(0, 4);
        method->each = (int)random_in(0, 1);
        for (int i = 0; i < step->operands; i++) {
            if (method->shape[i] >= 0)
                add_place(&t->step[step->from[i]], &t->placement[method->shape[i]]);
        }
        if (method->shape[step->operands] >= 0)
            add_place(step, &t->placement[method->shape[step->operands]]);
    }
}

/* Chains, trees, and graphs of any form in which all is read as it is. */
static void random_instance(struct instance *t, bool chain, bool plain)
{
    *t = (struct instance){.rows = (int)random_in(1, 2), .steps = (int)random_in(1, NODES)};
    bool used[NODES] = {false}, dear = random_in(0, 2) == 0; /* to shift: by way of somewhere else is less */
    for (int p = 0; p < NAMED; p++) {
        t->placement[p] = random_placement(t->rows);
        if (p > 0 && (dear || random_in(0, 1))) { /* the one before, shifted */
            t->placement[p] = t->placement[p - 1];
            t->placement[p].a[0][2] += (int)random_in(-1, 1);
        }
    }
    for (int c = 0; c < 3; c++) { /* rising, near each other, or any */
        int least = random_in(0, 1) ? 3 : 0;
        t->change[c][0] = (int)random_in(least, 2 * least + (least ? 0 : 9));
        t->change[c][1] = (int)random_in(least / 3, 2);
    }
    for (int c = 1, rise = (int)random_in(0, 1); rise && c < 3; c++) {
        for (int x = 0; x < 2; x++)
            t->change[c][x] = t->change[c][x] > t->change[c - 1][x] ? t->change[c][x] : t->change[c - 1][x];
    }
    t->change[0][0] = dear ? 2 * t->change[2][0] + (int)random_in(1, 9) : t->change[0][0];
    for (int v = 0; v < t->steps; v++) {
        struct step *step = &t->step[v];
        step->size = (int)random_in(0, 3);
        for (int u = v - 1; u >= 0 && step->operands < (chain ? 1 : OPERANDS); u--) {
            if (plain ? random_in(0, 1) == 0 : !used[u] && (chain || random_in(0, 1))) {
                step->from[step->operands] = u;
                step->read[step->operands] = random_read(plain);
                step->unread[step->operands] = invert(&step->read[step->operands]);
                used[u] = true;
                step->operands++;
            }
        }
        random_methods(t, step, dear);
    }
    spread_places(t);
    for (int v = 0; v < t->steps; v++)
        t->step[v].named = t->step[v].places;
    struct map extra = random_placement(t->rows);
    add_place(&t->step[t->steps - 1], &extra);
    spread_places(t);
    for (int v = 0; v < t->steps; v++) { /* anything will do where there is no name */
        if (t->step[v].named > 0)
            continue;
        if (add_place(&t->step[v], &extra))
            spread_places(t);
        t->step[v].named = t->step[v].places;
    }
}

/* By the values at 0, e1 and e2, which an affine function is known by. */
static int kind_of_change(const struct map *f, const struct map *g, int rows)
{
    bool same = true, equal = true;
    for (int r = 0; r < rows; r++) {
        same = same && f->a[r][2] == g->a[r][2];
        equal = equal && f->a[r][0] == g->a[r][0] && f->a[r][1] == g->a[r][1];
    }
    if (equal)
        return same ? -1 : 0;
    for (int order = 0; order < rows; order++) { /* as they are, or exchanged */
        for (int signs = 0; signs < 4; signs++) {
            bool fits = true;
            for (int r = 0; r < rows; r++) {
                int s = signs >> r & 1 ? -1 : 1, other = order ? 1 - r : r;
                fits = fits && f->a[r][0] == s * g->a[other][0] && f->a[r][1] == s * g->a[other][1];
            }
            if (fits)
                return 1;
        }
    }
    return 2;
}

static int change_cost(const struct instance *t, const struct map *f, const struct map *g, int size)
{
    int kind = kind_of_change(f, g, t->rows);
    return kind < 0 ? 0 : t->change[kind][0] + t->change[kind][1] * size;
}

/* What step v adds with a method, `open` being what its open placements are in the result's indices. */
static int own_cost(struct instance *t, int v, const struct method *method, const struct map *open)
{
    const struct step *step = &t->step[v];
    int result = method->shape[step->operands], sum = method->cost + method->each * step->size;
    t->left[v] = result >= 0 ? t->placement[result] : *open;
    for (int i = 0; i < step->operands; i++) {
        const struct map *left = &t->left[step->from[i]];
        struct map read = compose(left, &step->read[i]);
        int wanted = method->shape[i], size = t->step[step->from[i]].size;
        if (wanted >= 0)
            sum += change_cost(t, left, &t->placement[wanted], size);
        else if (wanted != ANY)
            sum += change_cost(t, &read, wanted == OPEN ? open : &t->left[v], size);
    }
    return sum;
}

static void try_all(struct instance *t, int v, double cost)
{
    if (cost >= t->best)
        return;
    if (v == t->steps) {
        t->best = cost;
        return;
    }
    const struct step *step = &t->step[v];
    for (int j = 0; j < step->methods; j++) {
        bool open = false;
        for (int i = 0; i <= step->operands; i++)
            open = open || step->method[j].shape[i] == OPEN;
        int places = !open ? 1 : t->extra ? step->places : step->named;
        for (int p = 0; p < places; p++)
            try_all(t, v + 1, cost + own_cost(t, v, &step->method[j], &step->place[p]));
    }
}

static double exhaustive(struct instance *t, bool extra)
{
    t->best = INFINITY;
    t->extra = extra;
    try_all(t, 0, 0);
    return t->best;
}

static size_t put(char *text, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
static size_t put(char *text, size_t at, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    at += (size_t)vsnprintf(text + at, 8000 - at, format, list);
    va_end(list);
    ck_assert_uint_lt(at, 8000);
    return at;
}

static size_t put_map(char *text, size_t at, const struct map *f, int rows)
{
    for (int r = 0; r < rows; r++)
        at = put(text, at, "%s%di%+d*j%+d", r > 0 ? "," : " ", f->a[r][0], f->a[r][1], f->a[r][2]);
    return at;
}

static void write_instance(const struct instance *t, char *text)
{
    static const char *const kinds[] = {"shift", "permute", "general"};
    size_t at = put(text, 0, "affine i j\n");
    for (int p = 0; p < NAMED; p++) {
        at = put_map(text, put(text, at, "placement p%d", p), &t->placement[p], t->rows);
        at = put(text, at, "\n");
    }
    for (int c = 0; c < 3; c++)
        at = put(text, at, "%s %d %d\n", kinds[c], t->change[c][0], t->change[c][1]);
    for (int v = 0; v < t->steps; v++) {
        const struct step *step = &t->step[v];
        at = put(text, at, "operation o%d", v);
        for (int i = 0; i < step->operands; i++)
            at = put_map(text, at, &step->read[i], 2);
        for (int j = 0; j < step->methods; j++) {
            const struct method *method = &step->method[j];
            at = put(text, at, "\nmethod");
            for (int i = 0; i <= step->operands; i++) {
                at = put(text, at, i == step->operands ? " -> " : " ");
                if (method->shape[i] >= 0)
                    at = put(text, at, "p%d", method->shape[i]);
                else
                    at = put(text, at, "%c", method->shape[i] == ANY ? '*' : method->shape[i] == OPEN ? '?' : '=');
            }
            at = put(text, at, " %d %d", method->cost, method->each);
        }
        at = put(text, at, "\nnode n%d o%d", v, v);
        for (int i = 0; i < step->operands; i++)
            at = put(text, at, " n%d", step->from[i]);
        at = put(text, at, " size=%d\n", step->size);
    }
}

/* Returns what the library says of the instance's least cost; *all as in struct espi_place_carried. */
static double planned(const struct instance *t, bool *all)
{
    char text[8000];
    struct espi_place_file file;
    struct espi_place_file_error error;
    struct espi_place_plan plan;
    write_instance(t, text);
    ck_assert_msg(espi_place_file_parse(text, strlen(text), &file, &error) == ESPI_OK, "line %zu: %s in\n%s",
                  error.line, error.what, text);
    ck_assert_int_eq(espi_place_plan(&file.graph, NULL, &plan), ESPI_OK);
    *all = file.carried.all;
    ck_assert(plan.exact && espi_place_total(&file.graph, plan.method) == plan.cost);
    double cost = plan.cost;
    espi_place_plan_release(&plan);
    espi_place_file_release(&file);
    return cost;
}

/* Whether all values hang together. */
static bool is_connected(const struct instance *t)
{
    int part[NODES], first = 0;
    for (int v = 0; v < t->steps; v++) {
        part[v] = v;
        for (int i = 0; i < t->step[v].operands; i++) {
            int old = part[t->step[v].from[i]];
            for (int u = 0; u < v; u++)
                part[u] = part[u] == old ? v : part[u];
        }
    }
    for (int v = 0; v < t->steps; v++)
        first += part[v] == v;
    return first == 1;
}

static void compare_many(bool chain, bool plain, int rounds)
{
    int seen[3] = {0, 0, 0}, better = 0; /* named alone; rising; all by a factor of two */
    for (int round = 0; round < rounds; round++) {
        struct instance t;
        bool all, rising = true;
        random_instance(&t, chain, plain);
        double cost = planned(&t, &all), named = exhaustive(&t, false), extra = exhaustive(&t, true);
        /* What has a name in one part may be taken in another, too. */
        ck_assert_msg(is_connected(&t) ? cost == named : cost <= named, "cost %g, best with named placements %g",
                      cost, named);
        ck_assert_msg(!all || cost == extra, "cost %g, best with any placements %g", cost, extra);
        for (int c = 1; c < 3; c++)
            rising = rising && t.change[c][0] >= t.change[c - 1][0] && t.change[c][1] >= t.change[c - 1][1];
        ck_assert(all || !rising);
        seen[!all ? 0 : rising ? 1 : 2]++;
        better += extra < cost;
    }
    ck_assert(seen[0] > rounds / 20 && seen[1] > rounds / 20);
    ck_assert(chain ? seen[2] > rounds / 50 : seen[2] < rounds / 2);
    printf("alignment: %d of %d with named placements alone, %d by a factor of two; %d cost less with others\n",
           seen[0], rounds, seen[2], better);
}

START_TEST(chains)
{
    compare_many(true, false, 10000);
}
END_TEST

START_TEST(trees)
{
    compare_many(false, false, 10000);
}
END_TEST

/* Values that are used several times, and read alike by all. */
START_TEST(graphs)
{
    compare_many(false, true, 10000);
}
END_TEST

/* Costs within a factor of two do for chains, not for trees: three values a shift of 2 apart meet best, for 1 each,
   where no name is. */
START_TEST(meeting)
{
    static const char text[] = "affine i\nplacement a i\nplacement b i+1\nplacement c i+2\nplacement d 2i\n"
                               "shift 2\npermute 2\ngeneral 1\n"
                               "operation la\nmethod -> a 0\noperation lb\nmethod -> b 0\n"
                               "operation lc\nmethod -> c 0\n"
                               "operation join i i i\nmethod = = = -> ? 0\noperation pass i\nmethod = -> ? 0\n"
                               "node x la\nnode y lb\nnode z lc\n";
    static const char *const ends[] = {"node j join x y z", "node j pass x",
                                       "operation d i\nmethod d -> ? 0\nnode n d x"};
    static const double costs[] = {4, 0, 1};
    for (int e = 0; e < 3; e++) {
        char whole[sizeof text + 60];
        struct espi_place_file file;
        struct espi_place_file_error error;
        struct espi_place_plan plan;
        snprintf(whole, sizeof whole, "%s%s", text, ends[e]);
        ck_assert_int_eq(espi_place_file_parse(whole, strlen(whole), &file, &error), ESPI_OK);
        ck_assert_int_eq(espi_place_plan(&file.graph, NULL, &plan), ESPI_OK);
        ck_assert_double_eq(plan.cost, costs[e]);
        ck_assert_int_eq(file.carried.all, e > 0);
        espi_place_plan_release(&plan);
        espi_place_file_release(&file);
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("test_placement_align", 120, NULL, NULL, chains, trees, graphs, meeting);
}
