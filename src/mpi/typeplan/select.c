/*
 * The decision for one layout. Setting always: the least-cost tree as it stands, where it costs fewer words. Setting
 * auto: the program's own type, the least-cost tree and its chunked forms are built and measured; for each purpose
 * the fastest is kept if it is clearly faster than the program's own in what the purpose is about and slower in
 * nothing of it. Types too large for the scratch memory are judged by a slice of the layout, from its start, that is
 * built in the same ways.
 */
#include "mpi/typeplan/select.h"

#include <stdio.h>
#include <string.h>

#include "mpi/typeplan/admission.h"
#include "mpi/datatype/emit.h"
#include "mpi/typeplan/microbench.h"
#include "mpi/typeplan/partial_pack_cost.h"
#include "mpi/core/pmpi.h"
#include "mpi/typeplan/variants.h"
#include "reconstruct/reconstruct.h"

#define SCRATCH ((size_t)64 << 20)

enum { TYPES_MOST = 20000, CANDIDATES = 8, TEXT = 400, SHORTEN = 12 };
enum { CHECK_ENTRIES = 1 << 22, SLICE_BYTES = 256 << 10 };

/* How candidate number i >= 1 is built from the least-cost tree (base) or from the program's own. */
static const struct recipe {
    int64_t chunk; /* 0: as it stands */
    bool original;
    const char *text;
} recipes[] = {
    {0, false, "the tree as it stands"},
    {8, false, "lists and vectors in chunks of 8 blocks"},
    {16, false, "lists and vectors in chunks of 16 blocks"},
    {32, false, "lists and vectors in chunks of 32 blocks"},
    {64, false, "lists and vectors in chunks of 64 blocks"},
    {16, true, "the program's own tree, lists and vectors in chunks of 16 blocks"},
};

enum { RECIPES = sizeof recipes / sizeof recipes[0] };

struct candidates {
    struct espi_candidate list[CANDIDATES]; /* the first is the program's own type or what stands for it */
    const struct recipe *recipe[CANDIDATES];
    const struct espi_node *tree[CANDIDATES];
    size_t types[CANDIDATES];
    int n;
};

struct judging {
    const struct espi_plan_request *request;
    struct espi_arena arena;
    struct espi_reconstruction found;
    int64_t cost_before;
    struct espi_type_facts facts;
    struct espi_selection *j;
    enum espi_counter reason; /* counted when nothing better is kept */
    espi_status unbuilt;      /* why a variant could not be built; ESPI_OK: all could */
};

static enum espi_counter reason_of(espi_status status)
{
    switch (status) {
    case ESPI_ERR_MEMORY:
        return ESPI_COUNT_plan_no_memory;
    case ESPI_ERR_LIMIT:
        return ESPI_COUNT_plan_too_large;
    case ESPI_ERR_MPI:
        return ESPI_COUNT_plan_mpi_error;
    default:
        return ESPI_COUNT_plan_unsupported;
    }
}

/* Under ESPALIER_CHECK: the entries of the substitute, read back, and the bytes it packs and unpacks. */
static bool passes_check(const struct espi_plan_request *r, MPI_Datatype type)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_typemap mine = ESPI_TYPEMAP_INIT, theirs = ESPI_TYPEMAP_INIT;
    struct espi_candidate both[2] = {{.type = r->type}, {.type = type}};
    struct espi_decoded back;
    espi_status status;
    bool good = true;

    if (r->layout->tree->entries <= CHECK_ENTRIES) {
        status = espi_decode(&arena, type, 0, &back);
        good = status == ESPI_OK && espi_flatten(back.tree, 0, CHECK_ENTRIES, &mine) == ESPI_OK &&
               espi_flatten(r->layout->tree, 0, CHECK_ENTRIES, &theirs) == ESPI_OK &&
               espi_typemap_equal(&mine, &theirs);
        espi_typemap_release(&mine);
        espi_typemap_release(&theirs);
        espi_arena_release(&arena);
    }
    if (good && espi_microbench(both, 2, 1, SCRATCH, 0) == ESPI_OK)
        good = !both[1].wrong;
    espi_count_anywhere(good ? ESPI_COUNT_checks_passed : ESPI_COUNT_checks_failed, 1);
    return good;
}

/* A committed type for `tree` that has the bounds of `like`. */
static espi_status build(const struct espi_node *tree, const struct espi_decoded *layout, MPI_Datatype like,
                         struct espi_emitted *out)
{
    uint64_t begun = espi_stats_now();
    espi_status status;

    status = espi_emit(tree, layout->lb, layout->extent, TYPES_MOST, out);
    if (status == ESPI_OK && !espi_same_bounds(out->type, like)) {
        espi_pmpi.Type_free(&out->type);
        status = ESPI_ERR_UNSUPPORTED;
    }
    if (status == ESPI_OK)
        espi_count_anywhere(ESPI_COUNT_variants_built, 1);
    espi_count_anywhere(ESPI_COUNT_time_emit, espi_stats_now() - begun);
    return status;
}

static void judge_by_cost(struct judging *g)
{
    struct espi_emitted e;
    espi_status status;

    if (g->found.cost >= g->cost_before) {
        g->reason = ESPI_COUNT_plan_no_cheaper;
        return;
    }
    status = build(g->found.tree, g->request->layout, g->request->type, &e);
    if (status != ESPI_OK) {
        g->reason = reason_of(status);
        return;
    }
    if (g->request->check && !passes_check(g->request, e.type)) {
        espi_pmpi.Type_free(&e.type);
        g->reason = ESPI_COUNT_plan_unsupported;
        return;
    }
    g->j->better[ESPI_WHOLE] = g->j->better[ESPI_PARTS] = e.type;
    g->j->types = e.types;
    g->facts.emission = recipes[0].text;
    g->facts.why = "costs fewer words";
}

/* The tree of a recipe; NULL when it is not one of its own. */
static const struct espi_node *follow(struct espi_arena *arena, const struct recipe *how,
                                      const struct espi_node *best, const struct espi_node *own)
{
    const struct espi_node *from = how->original ? own : best, *tree = from;

    if (how->chunk > 0 && espi_variant_chunked(arena, from, how->chunk, &tree) != ESPI_OK)
        return NULL;
    return how->chunk > 0 && tree == from ? NULL : tree;
}

/* Builds what can win against `type` of layout `own`, whose least-cost tree is `best`. */
static void gather(struct judging *g, struct candidates *c, const struct espi_decoded *own, MPI_Datatype type,
                   const struct espi_node *best)
{
    struct espi_emitted e;
    size_t i;
    int k;

    c->n = 1;
    c->list[0].type = type;
    c->list[0].tree = own->tree;
    c->tree[0] = own->tree;
    for (i = 0; i < RECIPES && c->n < CANDIDATES; i++) {
        const struct espi_node *tree = follow(&g->arena, &recipes[i], best, own->tree);

        if (tree == NULL)
            continue;
        /* What the program built itself can only seem to be faster. */
        for (k = 0; k < c->n && !espi_node_equal(c->tree[k], tree); k++)
            ;
        if (k < c->n)
            continue;
        espi_status status = build(tree, own, type, &e);
        if (status != ESPI_OK) {
            g->unbuilt = status;
            continue;
        }
        c->list[c->n].type = e.type;
        c->list[c->n].tree = tree;
        c->tree[c->n] = tree;
        c->recipe[c->n] = &recipes[i];
        c->types[c->n++] = e.types;
    }
}

/* Whether there is something to measure; if not, notes why. */
static bool compares(struct judging *g, const struct candidates *c)
{
    if (c->n == 1)
        g->reason = g->unbuilt != ESPI_OK ? reason_of(g->unbuilt) : ESPI_COUNT_plan_no_variant;
    return c->n > 1;
}

/* The winner for a purpose; 0: the program's own. Clearly less time than that, and no more in any operation
   concerned. */
static int winner(const struct candidates *c, enum espi_purpose purpose)
{
    int first = purpose == ESPI_WHOLE ? ESPI_MEASURE_PACK : ESPI_MEASURE_PARTIAL;
    int last = purpose == ESPI_WHOLE ? ESPI_MEASURE_UNPACK : ESPI_MEASURE_PARTIAL;
    uint64_t own = 0, least, sum;
    int best = 0, i, op;

    if (c->list[0].ns[first] == 0 || c->list[0].ns[last] == 0)
        return 0; /* not known */
    for (op = first; op <= last; op++)
        own += c->list[0].ns[op];
    least = own - own / ESPI_MEASURE_CLEAR;
    for (i = 1; i < c->n; i++) {
        bool slower = c->list[i].wrong;

        for (op = first, sum = 0; op <= last; op++) {
            slower = slower || c->list[i].ns[op] > c->list[0].ns[op];
            sum += c->list[i].ns[op];
        }
        if (!slower && sum < least) {
            best = i;
            least = sum - sum / 33; /* simpler forms stand first, and stay unless clearly beaten */
        }
    }
    return best;
}

/* What a typical use of `count` items of the program's type saves by candidate `i`. A message to oneself is sent and
   received. */
static uint64_t gain_of(const struct candidates *c, int i, enum espi_purpose purpose)
{
    int first = purpose == ESPI_WHOLE ? ESPI_MEASURE_PACK : ESPI_MEASURE_PARTIAL;
    int last = purpose == ESPI_WHOLE ? ESPI_MEASURE_UNPACK : ESPI_MEASURE_PARTIAL, op;
    uint64_t gain = 0;

    for (op = first; op <= last && i > 0; op++)
        gain += (c->list[0].ns[op] - c->list[i].ns[op]) / 2;
    return gain;
}

static struct espi_type_times times_of(const struct espi_candidate *c)
{
    return (struct espi_type_times){c->ns[ESPI_MEASURE_PACK], c->ns[ESPI_MEASURE_UNPACK],
                                    c->ns[ESPI_MEASURE_PARTIAL]};
}

static void free_candidates(struct candidates *c, int from)
{
    int i;

    for (i = from; i < c->n; i++)
        if (c->list[i].type != MPI_DATATYPE_NULL)
            espi_pmpi.Type_free(&c->list[i].type);
}

/* Measures and picks a winner per purpose. */
static espi_status compete(struct judging *g, struct candidates *c, int64_t count, int win[ESPI_PURPOSES])
{
    uint64_t begun = espi_stats_now(), budget;
    espi_status status;
    int i;

    budget = 700000 + 60 * (uint64_t)(c->tree[0]->size < 32768 ? c->tree[0]->size : 32768);
    status = espi_microbench(c->list, c->n, (int)count, SCRATCH, budget);
    espi_count_anywhere(ESPI_COUNT_time_measure, espi_stats_now() - begun);
    if (status != ESPI_OK)
        return status;
    for (i = 1; i < c->n; i++)
        if (c->list[i].wrong)
            espi_count_anywhere(ESPI_COUNT_checks_failed, 1);
    win[ESPI_WHOLE] = winner(c, ESPI_WHOLE);
    /* Of data that fit one part nothing can be learnt about parts. */
    win[ESPI_PARTS] = count <= ESPI_MODEL_PART / c->tree[0]->size ? win[ESPI_WHOLE] : winner(c, ESPI_PARTS);
    g->j->gain_ns = count <= ESPI_MODEL_PART / c->tree[0]->size ? gain_of(c, win[ESPI_WHOLE], ESPI_WHOLE)
                                                                : gain_of(c, win[ESPI_PARTS], ESPI_PARTS);
    i = win[ESPI_PARTS] > 0 ? win[ESPI_PARTS] : win[ESPI_WHOLE];
    g->facts.ns_before = times_of(&c->list[0]);
    g->facts.ns_after = times_of(&c->list[i]);
    return ESPI_OK;
}

/* Items of a typical use that fit in the scratch memory with it. */
static int64_t items(const struct judging *g)
{
    const struct espi_decoded *l = g->request->layout;
    int64_t n = g->request->count, most;

    most = ((int64_t)1 << 20) / (l->tree->size > 0 ? l->tree->size : 1);
    n = n < most ? n : most;
    most = (int64_t)(SCRATCH / 4) / (l->extent != 0 ? l->extent : 1);
    most = most < 0 ? -most : most;
    n = n < most ? n : most;
    return n > 1 ? n : 1;
}

static void keep(struct judging *g, struct candidates *c, const int win[ESPI_PURPOSES])
{
    static const char *const why[2][2] = {{"measured faster in messages", "measured faster when packed as a whole"},
                                          {NULL, "measured faster in messages and packed as a whole"}};
    int p, i = win[ESPI_PARTS] > 0 ? win[ESPI_PARTS] : win[ESPI_WHOLE];

    if (i == 0) {
        g->reason = ESPI_COUNT_plan_no_faster;
        return;
    }
    for (p = 0; p < ESPI_PURPOSES; p++) {
        if (win[p] == 0)
            continue;
        if (g->request->check && !passes_check(g->request, c->list[win[p]].type)) {
            g->reason = ESPI_COUNT_plan_unsupported;
            continue;
        }
        if (p == 0 || g->j->better[0] != c->list[win[p]].type) /* else one type serves both */
            g->j->types += c->types[win[p]];
        g->j->better[p] = c->list[win[p]].type;
    }
    for (p = 1; p < c->n; p++)
        if (c->list[p].type == g->j->better[ESPI_WHOLE] || c->list[p].type == g->j->better[ESPI_PARTS])
            c->list[p].type = MPI_DATATYPE_NULL; /* the plan's from now on */
    g->facts.emission = c->recipe[i]->text;
    g->facts.why = win[ESPI_WHOLE] > 0 && win[ESPI_PARTS] > 0 ? why[1][1] : why[0][win[ESPI_WHOLE] > 0];
}

/* The winning recipes of a slice, followed for the whole layout. */
static void keep_like(struct judging *g, const struct candidates *c, const int win[ESPI_PURPOSES])
{
    struct espi_emitted e;
    espi_status status;
    int p;

    g->reason = ESPI_COUNT_plan_no_faster;
    for (p = 0; p < ESPI_PURPOSES; p++) {
        const struct espi_node *tree;

        if (win[p] == 0)
            continue;
        if (p == ESPI_PARTS && win[ESPI_PARTS] == win[ESPI_WHOLE] && g->j->better[ESPI_WHOLE] != MPI_DATATYPE_NULL) {
            g->j->better[p] = g->j->better[ESPI_WHOLE];
            continue;
        }
        tree = follow(&g->arena, c->recipe[win[p]], g->found.tree, g->request->layout->tree);
        status = tree == NULL ? ESPI_ERR_LIMIT : build(tree, g->request->layout, g->request->type, &e);
        if (status == ESPI_OK && g->request->check && !passes_check(g->request, e.type)) {
            espi_pmpi.Type_free(&e.type);
            status = ESPI_ERR_UNSUPPORTED;
        }
        if (status != ESPI_OK) {
            g->reason = reason_of(status);
            continue;
        }
        g->j->better[p] = e.type;
        g->j->types += e.types;
        g->facts.emission = c->recipe[win[p]]->text;
        g->facts.why = "a slice of it was measured faster so";
    }
}

/* Entries from the start that reach SLICE_BYTES of data or a quarter of the scratch memory. */
static espi_status slice_of(struct judging *g, const struct espi_node *tree, const struct espi_node **out)
{
    int64_t n = tree->entries, each = tree->size / n;
    espi_status status;

    for (n = n < SLICE_BYTES / each + 1 ? n : SLICE_BYTES / each + 1; n >= 16; n /= 2) {
        status = espi_node_slice(&g->arena, tree, 0, n, 0, out);
        if (status != ESPI_OK)
            return status;
        if ((*out)->true_ub - (*out)->true_lb <= (int64_t)(SCRATCH / 4))
            return ESPI_OK;
    }
    return ESPI_ERR_LIMIT;
}

static void judge_by_slice(struct judging *g)
{
    struct espi_decoded part = {NULL, 0, 0};
    const struct espi_node *best;
    struct candidates c;
    struct espi_emitted own;
    espi_status status;
    int win[ESPI_PURPOSES];

    status = slice_of(g, g->request->layout->tree, &part.tree);
    if (status == ESPI_OK)
        status = slice_of(g, g->found.tree, &best);
    if (status == ESPI_OK && best->entries != part.tree->entries)
        status = ESPI_ERR_LIMIT;
    if (status == ESPI_OK) {
        part.lb = part.tree->true_lb;
        part.extent = part.tree->true_ub - part.lb;
        status = espi_emit(part.tree, part.lb, part.extent, TYPES_MOST, &own);
    }
    if (status != ESPI_OK) {
        g->reason = reason_of(status);
        return;
    }
    gather(g, &c, &part, own.type, best);
    if (compares(g, &c)) {
        status = compete(g, &c, 1, win);
        g->j->gain_ns *= (uint64_t)(g->request->layout->tree->entries / part.tree->entries);
        if (status == ESPI_OK)
            keep_like(g, &c, win);
        else
            g->reason = reason_of(status);
    }
    free_candidates(&c, 0);
}

static void judge_by_time(struct judging *g)
{
    const struct espi_decoded *layout = g->request->layout;
    struct candidates c;
    espi_status status;
    int win[ESPI_PURPOSES];

    if (layout->tree->true_ub - layout->tree->true_lb > (int64_t)(SCRATCH / 4) || layout->tree->size > (8 << 20)) {
        judge_by_slice(g);
        return;
    }
    gather(g, &c, layout, g->request->type, g->found.tree);
    if (!compares(g, &c))
        return;
    status = compete(g, &c, items(g), win);
    if (status == ESPI_OK)
        keep(g, &c, win);
    else
        g->reason = reason_of(status);
    free_candidates(&c, 1);
}

static void describe(struct judging *g, struct espi_stats_type *record, uint64_t begun)
{
    struct espi_type_facts *f = &g->facts;
    char before[TEXT], after[TEXT];

    f->improved = g->j->better[ESPI_WHOLE] != MPI_DATATYPE_NULL || g->j->better[ESPI_PARTS] != MPI_DATATYPE_NULL;
    espi_print(g->request->layout->tree, SHORTEN, before, sizeof before);
    f->before = before;
    if (g->found.tree != NULL) {
        espi_print(g->found.tree, SHORTEN, after, sizeof after);
        f->after = after;
    }
    if (!f->improved)
        f->why = espi_counter_table[g->reason].help;
    f->entries = g->request->layout->tree->entries;
    f->size = g->request->layout->tree->size;
    f->ns_planning = espi_stats_now() - begun;
    espi_stats_type_describe(record, f);
    espi_count_anywhere(ESPI_COUNT_types_planned, 1);
    espi_count_anywhere(f->improved ? ESPI_COUNT_types_improved : g->reason, 1);
}

void espi_select_variant(const struct espi_plan_request *request, struct espi_stats_type *record,
                         struct espi_selection *j)
{
    struct judging g = {.request = request, .j = j, .reason = ESPI_COUNT_plan_unsupported};
    struct espi_reconstruct_options options;
    uint64_t begun = espi_stats_now(), own = espi_admission_clock();
    espi_status status;

    *j = (struct espi_selection){{MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, 0, 0};
    espi_reconstruct_defaults(&options);
    options.set = ESPI_SET_MPI;
    if (request->mode == ESPI_MODE_AUTO)
        options.budget_ns = 50000000;
    g.cost_before = espi_cost(request->layout->tree, &options.costs);
    g.facts.cost_before = g.cost_before;
    g.facts.cost_after = -1;
    status = request->layout->tree->entries == 0
                 ? ESPI_ERR_UNSUPPORTED
                 : espi_normalize(&g.arena, request->layout->tree, &options, &g.found);
    espi_count_anywhere(ESPI_COUNT_time_reconstruct, espi_stats_now() - begun);
    if (status == ESPI_OK) {
        g.facts.cost_after = g.found.cost;
        g.facts.exact = g.found.exact;
        if (request->mode == ESPI_MODE_AUTO)
            judge_by_time(&g);
        else
            judge_by_cost(&g);
    } else {
        g.found.tree = NULL;
        g.reason = reason_of(status);
    }
    if (j->better[ESPI_WHOLE] == MPI_DATATYPE_NULL && j->better[ESPI_PARTS] == MPI_DATATYPE_NULL)
        j->gain_ns = 0;
    describe(&g, record, begun);
    own = espi_admission_clock() - own;
    espi_admission_book(own);
    if (!g.facts.improved)
        espi_admission_idle(own);
    espi_arena_release(&g.arena);
}
