/*
 * The decision for one layout. Setting always: the least-cost tree as it stands, where it costs fewer words. Setting
 * auto: of the program's own form, the tree and its other forms, what the model of the engine says is fastest, for
 * types that are gone through as a whole and in parts apart. Where the model sees no clear difference the program's
 * own type stays.
 *
 * Two tiers, each at its own price (admission.h). The first takes the program's tree through rules that take time in
 * proportion to the tree: levels collapse, lists at one stride become vectors. The second reconstructs the least-cost
 * tree.
 */
#include "mpi/typeplan/select.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mpi/typeplan/admission.h"
#include "mpi/datatype/own_types.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/typeplan/exact_program.h"
#include "mpi/typeplan/forms.h"
#include "mpi/typeplan/pack_gain.h"
#include "mpi/typeplan/tree_size.h"
#include "mpi/typeplan/verify.h"
#include "mpi/core/pmpi.h"
#include "mpi/typeplan/variants.h"
#include "reconstruct/reconstruct.h"

enum { TEXT = 400, SHORTEN = 12 };
/* What is not farther from the best conceivable form than by one part in so many is not worked on. */
enum { NEAR = 8 };
/* Entries up to which the second tier is exact whatever it takes: some milliseconds. */
enum { EXACT = 400 };

/* Nodes that the walks of the model and of the forms may come by, each of which goes to shared parts wherever they
   occur: a few milliseconds. */
enum { VISITS_MOST = 1 << 17 };

struct selecting {
    struct espi_plan_request *request;
    struct espi_engine engine;
    struct espi_arena arena;
    struct espi_reconstruction found;
    int64_t cost_before;
    struct espi_type_facts facts;
    char built[128]; /* what facts.emission says of a better type and a pack program, */
    char why[192];   /* and facts.why */
    struct espi_selection *s;
    bool packed;              /* the pack program is faster */
    bool refused;             /* a form was not the program's type: ESPALIER_CHECK, or its bounds */
    enum espi_counter reason; /* counted when nothing better is kept */
};

static enum espi_counter reason_of(espi_status status)
{
    return status == ESPI_ERR_MEMORY  ? ESPI_COUNT_plan_no_memory
           : status == ESPI_ERR_LIMIT ? ESPI_COUNT_plan_too_large
           : status == ESPI_ERR_MPI   ? ESPI_COUNT_plan_mpi_error
                                      : ESPI_COUNT_plan_unsupported;
}

/* Where no form could be built of a layout that was planned. */
static enum espi_counter reason_of_no_form(const struct selecting *g, espi_status status)
{
    return g->refused                ? ESPI_COUNT_plan_check_failed
           : status == ESPI_ERR_LIMIT ? ESPI_COUNT_plan_no_room
                                      : reason_of(status);
}

/* A committed type for `tree` that has the bounds of the program's own. ESPI_ERR_LIMIT: of too many types. */
static espi_status build(struct selecting *g, const struct espi_node *tree, MPI_Datatype *better)
{
    const struct espi_plan_request *r = g->request;
    struct espi_emitted e;
    uint64_t begun = espi_stats_now();
    bool is_long;
    espi_status status = espi_own_types_build(tree, r->layout->lb, r->layout->extent, g->s->made_of, &e, &is_long);

    g->refused = status == ESPI_OK && !espi_same_bounds(e.type, r->type);
    if (status == ESPI_OK && !g->refused && r->check) {
        g->refused = !espi_types_agree(r->layout->tree, r->type, e.type);
        espi_count_anywhere(g->refused ? ESPI_COUNT_checks_failed : ESPI_COUNT_checks_passed, 1);
    }
    if (g->refused)
        status = ESPI_ERR_UNSUPPORTED;
    if (status == ESPI_OK) {
        espi_count_anywhere(ESPI_COUNT_variants_built, 1);
        *(is_long ? &g->s->made_of.long_types : &g->s->made_of.types) += e.types;
        *better = e.type;
    } else if (e.type != MPI_DATATYPE_NULL) {
        espi_own_types_free(&e.type, 1, (struct espi_own_types){0, 0});
    }
    espi_count_anywhere(ESPI_COUNT_time_emit, espi_stats_now() - begun);
    return status;
}

static void select_by_words(struct selecting *g)
{
    MPI_Datatype better;
    espi_status status;

    if (g->found.cost >= g->cost_before) {
        g->reason = ESPI_COUNT_plan_no_cheaper;
        return;
    }
    status = build(g, g->found.tree, &better);
    if (status != ESPI_OK) {
        g->reason = reason_of_no_form(g, status);
        return;
    }
    g->s->better[ESPI_WHOLE] = g->s->better[ESPI_PARTS] = better;
    g->facts.emission = espi_form_text(0);
    g->facts.why = "costs fewer words";
}

/* The fastest form of uses that go through types in parts, or as a whole. */
static struct espi_form fastest(const struct selecting *g, const struct espi_node *const tree[ESPI_FORMS], bool parts)
{
    return espi_forms_fastest(&g->engine, g->request->layout->tree, tree, g->request->count, parts);
}

static uint64_t rounded(double ns)
{
    return ns < 0 ? 0 : ns > 1e15 ? (uint64_t)1e15 : (uint64_t)ns;
}

/* What made the decision, to be shown: times of one item, packed as a whole, or sent and received in parts. */
static void show(const struct selecting *g, enum espi_purpose p, const struct espi_node *tree,
                 struct espi_type_times *times)
{
    if (p == ESPI_PARTS)
        times->partial = 1 + rounded(2 * espi_engine_cost(&g->engine, tree, g->request->count, true) /
                                     (double)g->request->count);
    else
        times->pack = times->unpack = 1 + rounded(espi_engine_cost(&g->engine, tree, 1, false));
}

/* Builds the fastest form there is room for and says which it was, also where it could not be built. Forms for which
   there is none are out from then on. */
static espi_status build_fastest(struct selecting *g, const struct espi_node *tree[ESPI_FORMS], bool parts,
                                 struct espi_form *win, MPI_Datatype *better)
{
    espi_status status;

    do {
        *win = fastest(g, tree, parts);
        if (win->tree == NULL)
            return ESPI_OK;
        status = build(g, win->tree, better);
        if (status == ESPI_ERR_LIMIT) {
            tree[win->which] = NULL;
            g->reason = ESPI_COUNT_plan_no_room;
        }
    } while (status == ESPI_ERR_LIMIT);
    return status;
}

/* Keeps the fastest forms; `win` gets them, with tree NULL where the program's own stays. */
static void keep(struct selecting *g, const struct espi_node *tree[ESPI_FORMS], bool in_parts,
                 struct espi_form win[ESPI_PURPOSES])
{
    static const char *const why[] = {
        [1] = "by the model of the library's engine, when packed as a whole",
        [2] = "by the model of the library's engine, in messages of several parts",
        [3] = "by the model of the library's engine, in messages and packed as a whole"};
    const struct espi_form *shown = NULL;
    int which = 0;

    for (int p = in_parts ? ESPI_PARTS : ESPI_WHOLE; p >= 0; p--) { /* what messages have is shown */
        espi_status status = ESPI_OK;
        win[p] = fastest(g, tree, p == ESPI_PARTS);
        if (p == ESPI_WHOLE && g->s->better[ESPI_PARTS] != MPI_DATATYPE_NULL && win[p].tree != NULL &&
            espi_node_equal(win[p].tree, win[ESPI_PARTS].tree)) {
            g->s->better[p] = g->s->better[ESPI_PARTS]; /* one type serves both */
        } else {
            status = build_fastest(g, tree, p == ESPI_PARTS, &win[p], &g->s->better[p]);
        }
        if (status != ESPI_OK)
            g->reason = g->refused ? ESPI_COUNT_plan_check_failed : reason_of(status);
        if (status != ESPI_OK || win[p].tree == NULL)
            continue;
        which |= 1 << p;
        show(g, (enum espi_purpose)p, g->request->layout->tree, &g->facts.ns_before);
        show(g, (enum espi_purpose)p, win[p].tree, &g->facts.ns_after);
        if (shown == NULL)
            shown = &win[p];
    }
    if (shown == NULL)
        return;
    g->facts.emission = espi_form_text(shown->which);
    g->facts.why = why[which];
}

/* What was decided by, which is more than the times of packing: of a short message it is what the library's general
   code takes for a type with gaps. */
static void say_what_is_saved(struct selecting *g, const uint64_t saved[ESPI_PACKABLES])
{
    const uint64_t local = saved[ESPI_PACK_LOCAL], message = saved[ESPI_PACK_MESSAGE];
    char each[2][48] = {"", ""};

    if (local > 0)
        snprintf(each[0], sizeof each[0], "%" PRIu64 " ns in a call that packs", local);
    if (message > ESPI_PACK_TO_BE_TRIED)
        snprintf(each[1], sizeof each[1], "%" PRIu64 " ns in a message", message);
    else if (message > 0)
        snprintf(each[1], sizeof each[1], "what messages show");
    snprintf(g->why, sizeof g->why, "by the models of the library's engine and of pack programs %s%s%s%s",
             local > 0 || message > 0 ? "it saves " : "it saves in a broadcast", each[0],
             local > 0 && message > 0 ? ", " : "", each[1]);
    g->facts.why = g->why;
}

/* What the pack program, if there is one, saves on top of the forms that were kept: these take `now`, as a whole and
   in messages. */
static void judge_packing(struct selecting *g, const double now[ESPI_PURPOSES], bool in_parts)
{
    const struct espi_plan_request *r = g->request;
    uint64_t *saved = g->s->packed_ns;

    if (r->pack == NULL)
        return;
    for (int p = 0; p < ESPI_PURPOSES; p++)
        g->s->engine_ns[p] = now[p];
    saved[ESPI_PACK_LOCAL] = rounded(
        espi_pack_gain(r->pack, r->count, now[ESPI_WHOLE] + (r->passes ? ESPI_PACK_PASSED_NS : 0)));
    saved[ESPI_PACK_MESSAGE] =
        rounded(espi_pack_message_gain(r->pack, r->count, in_parts, r->one_node,
                                       r->layout->extent == r->layout->tree->size, now[ESPI_PARTS]));
    if (saved[ESPI_PACK_MESSAGE] == 0 && !in_parts && r->one_node && r->packing == ESPI_MODE_AUTO &&
        !espi_pack_is_run(r->pack, &(int64_t){0}) && espi_pack_message_is_even(r->pack, r->count, now[ESPI_PARTS]))
        saved[ESPI_PACK_MESSAGE] = ESPI_PACK_TO_BE_TRIED;
    for (int use = 0; use < ESPI_PACKABLES; use++)
        if (r->reversed & 1u << use)
            saved[use] = 0;
    const bool staged = r->staged &&
                        espi_pack_collective_gain(r->pack, r->count, ESPI_PACK_STAGED, in_parts, now[ESPI_WHOLE]) > 0;
    if (saved[ESPI_PACK_LOCAL] == 0 && saved[ESPI_PACK_MESSAGE] == 0 && !staged)
        return;
    g->packed = true;
    for (int p = 0; p < ESPI_PURPOSES; p++) {
        const bool parts = p == ESPI_PARTS;
        if (saved[parts ? ESPI_PACK_MESSAGE : ESPI_PACK_LOCAL] == 0 || (parts && !in_parts))
            continue;
        show(g, (enum espi_purpose)p, r->layout->tree, &g->facts.ns_before);
        espi_pack_times(r->pack, r->count, parts, now[p], &g->facts.ns_after, &g->facts.ns_next);
    }
    say_what_is_saved(g, saved);
    const bool is_run = r->count == 1 && r->layout->extent != r->layout->tree->size &&
                        espi_pack_is_run(r->pack, &(int64_t){0});
    const char *type = g->facts.emission != NULL ? g->facts.emission : "";
    snprintf(g->built, sizeof g->built, "%s%s%s", type, type[0] != '\0' ? ", and " : "",
             is_run ? "a run of bytes where it stands" : r->exact ? "a pack program of the least-cost tree"
                                                                  : "a pack program");
    g->facts.emission = g->built;
}

/* What the engine takes. Calls that only pack are timed, and give up what is slow: a list counts in any case. */
static double engine_ns(const struct selecting *g, const struct espi_node *tree, int purpose, bool in_parts)
{
    struct espi_engine engine = g->engine;

    engine.fetches = engine.fetches && purpose == ESPI_PARTS;
    return espi_engine_cost(&engine, tree, g->request->count, purpose == ESPI_PARTS && in_parts);
}

/* By words, and whether the pack program is faster than what was selected. */
static void select_by_words_or_pack(struct selecting *g)
{
    const struct espi_plan_request *r = g->request;
    const bool in_parts = espi_engine_cuts(r->layout->tree, r->layout->extent, r->count);
    const struct espi_node *tree;
    double now[ESPI_PURPOSES];

    select_by_words(g);
    if (r->pack == NULL)
        return;
    g->engine = espi_engine_for(r->layout->tree, r->layout->extent);
    tree = g->s->better[ESPI_WHOLE] != MPI_DATATYPE_NULL ? g->found.tree : r->layout->tree;
    for (int p = 0; p < ESPI_PURPOSES; p++)
        now[p] = engine_ns(g, tree, p, in_parts);
    judge_packing(g, now, in_parts);
}

/* What the best conceivable form would save on top of what was selected; `now` as above. */
static void note_excess(struct selecting *g, const double now[ESPI_PURPOSES], bool in_parts)
{
    const struct espi_plan_request *r = g->request;

    for (int p = 0; p < ESPI_PURPOSES; p++) {
        const bool parts = p == ESPI_PARTS && in_parts;
        double excess = now[p] - espi_engine_least(&g->engine, r->layout->tree, r->count, parts);
        excess -= (double)g->s->packed_ns[p == ESPI_PARTS ? ESPI_PACK_MESSAGE : ESPI_PACK_LOCAL];
        g->s->excess_ns[p] = excess < now[p] / NEAR ? 0 : rounded(excess);
    }
}

static void select_by_model(struct selecting *g)
{
    const struct espi_plan_request *r = g->request;
    const struct espi_node *tree[ESPI_FORMS];
    struct espi_form win[ESPI_PURPOSES];
    const bool in_parts = espi_engine_cuts(r->layout->tree, r->layout->extent, r->count);
    bool distinct = false;
    double now[ESPI_PURPOSES];

    g->engine = espi_engine_for(r->layout->tree, r->layout->extent);
    espi_forms_make(&g->arena, r->layout->tree, g->found.tree, tree);
    for (int i = 0; i < ESPI_FORMS; i++)
        distinct = distinct || (tree[i] != NULL && !espi_node_equal(tree[i], r->layout->tree));
    g->reason = distinct ? ESPI_COUNT_plan_no_faster : ESPI_COUNT_plan_no_variant;
    keep(g, tree, in_parts, win);
    if (!in_parts) { /* uses that fit one part ask for nothing else */
        g->s->better[ESPI_PARTS] = g->s->better[ESPI_WHOLE];
        win[ESPI_PARTS] = win[ESPI_WHOLE];
    }
    for (int p = 0; p < ESPI_PURPOSES; p++) {
        const double own = engine_ns(g, r->layout->tree, p, in_parts);
        now[p] = g->s->better[p] != MPI_DATATYPE_NULL ? engine_ns(g, win[p].tree, p, in_parts) : own;
        g->s->gain_ns[p] = rounded(own - now[p]);
    }
    judge_packing(g, now, in_parts);
    note_excess(g, now, in_parts);
}

/* Whether it is a long list, and no list for its program, which has found blocks at one distance from each other: by
   the rules it becomes vectors for the library as well. (A program takes at least four bytes for each block of its
   lists.) */
static bool is_irregular(const struct espi_plan_request *r)
{
    enum { LONG_LIST = 256 };
    const int64_t numbers = espi_node_numbers(r->layout->tree, INT64_MAX);

    return numbers >= LONG_LIST && espi_pack_cost(r->pack, r->count).lists >= numbers;
}

/* Tier 1 of a list whose usual use its program makes twice as fast: no form is looked for, which for a list takes
   some five times as long as to compile the program. Forms come when uses do that no program serves, and with tier 2.
   False: this is none such. */
static bool select_packing_alone(struct selecting *g)
{
    const struct espi_plan_request *r = g->request;
    const bool in_parts = espi_engine_cuts(r->layout->tree, r->layout->extent, r->count);
    double now[ESPI_PURPOSES];

    if (r->pack == NULL || r->forms || !espi_tree_may_be_walked(r->layout->tree, VISITS_MOST) || !is_irregular(r))
        return false;
    g->engine = espi_engine_for(r->layout->tree, r->layout->extent);
    for (int p = 0; p < ESPI_PURPOSES; p++)
        now[p] = engine_ns(g, r->layout->tree, p, in_parts);
    judge_packing(g, now, in_parts);
    if (2 * (double)g->s->packed_ns[in_parts ? ESPI_PACK_MESSAGE : ESPI_PACK_LOCAL] <
        now[in_parts ? ESPI_PARTS : ESPI_WHOLE]) {
        g->s->packed_ns[ESPI_PACK_LOCAL] = g->s->packed_ns[ESPI_PACK_MESSAGE] = 0;
        g->packed = false;
        g->facts.emission = g->facts.why = NULL;
        g->facts.ns_before = g->facts.ns_after = g->facts.ns_next = (struct espi_type_times){0};
        return false;
    }
    note_excess(g, now, in_parts);
    g->s->forms_pending = true;
    g->found.tree = r->layout->tree;
    g->facts.cost_after = g->cost_before;
    return true;
}

/* Tier 1 of uses so short that no form could be clearly faster, and of which nothing is to be said: none is looked
   for. What is decided is the same. False: this is none such. */
static bool select_of_short(struct selecting *g)
{
    const struct espi_plan_request *r = g->request;
    const bool in_parts = espi_engine_cuts(r->layout->tree, r->layout->extent, r->count);
    double now[ESPI_PURPOSES];

    if (!r->silent || !espi_tree_may_be_walked(r->layout->tree, VISITS_MOST))
        return false;
    g->engine = espi_engine_for(r->layout->tree, r->layout->extent);
    for (int p = 0; p < ESPI_PURPOSES; p++) {
        const bool parts = p == ESPI_PARTS && in_parts;
        if (espi_forms_may_win(espi_engine_cost(&g->engine, r->layout->tree, r->count, parts)))
            return false;
        now[p] = engine_ns(g, r->layout->tree, p, in_parts);
    }
    g->reason = ESPI_COUNT_plan_no_faster;
    judge_packing(g, now, in_parts);
    note_excess(g, now, in_parts);
    return true;
}

/* Lists whose blocks lie at one distance for long enough, where that costs fewer words. */
static espi_status find_runs(struct selecting *g, const struct espi_costs *costs)
{
    const struct espi_node *tree;
    espi_status status = espi_variant_runs(&g->arena, g->found.tree, &tree);

    if (status == ESPI_OK && espi_cost(tree, costs) < g->found.cost) {
        g->found.tree = tree;
        g->found.cost = espi_cost(tree, costs);
    }
    return status == ESPI_ERR_OVERFLOW ? ESPI_OK : status;
}

static void describe(struct selecting *g, struct espi_stats_type *record, uint64_t begun)
{
    struct espi_type_facts *f = &g->facts;
    char before[TEXT], after[TEXT];

    f->improved = g->s->improved = g->packed || g->s->better[ESPI_WHOLE] != MPI_DATATYPE_NULL ||
                  g->s->better[ESPI_PARTS] != MPI_DATATYPE_NULL;
    if (g->request->silent)
        return;
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
}

/* Finds the tree of the tier, and the best form of it. */
static void select_form(struct selecting *g, const struct espi_reconstruct_options *options)
{
    const struct espi_plan_request *r = g->request;
    const bool model = r->mode == ESPI_MODE_AUTO;
    uint64_t begun = espi_stats_now();
    espi_status status = espi_normalize(&g->arena, r->layout->tree, options, &g->found);

    espi_count_anywhere(ESPI_COUNT_time_reconstruct, espi_stats_now() - begun);
    if (status == ESPI_OK && (model || r->pack != NULL) &&
        !(espi_tree_may_be_walked(r->layout->tree, VISITS_MOST) &&
          espi_tree_may_be_walked(g->found.tree, VISITS_MOST)))
        status = ESPI_ERR_LIMIT;
    if (status == ESPI_OK && model && r->tier == 1)
        status = find_runs(g, &options->costs);
    if (status != ESPI_OK) {
        g->found.tree = NULL;
        g->reason = reason_of(status);
        return;
    }
    g->facts.cost_after = g->found.cost;
    g->facts.exact = g->found.exact;
    if (r->tier == 2)
        espi_exact_program(g->request, g->found.tree);
    if (model)
        select_by_model(g);
    else
        select_by_words_or_pack(g);
}

void espi_select_variant(struct espi_plan_request *request, struct espi_stats_type *record,
                         struct espi_selection *s)
{
    struct selecting g = {.request = request, .s = s, .reason = ESPI_COUNT_plan_unsupported};
    const bool model = request->mode == ESPI_MODE_AUTO;
    struct espi_reconstruct_options options;
    uint64_t begun = espi_stats_now(), own = espi_admission_clock();

    *s = (struct espi_selection){.better = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}};
    espi_reconstruct_defaults(&options);
    options.set = ESPI_SET_MPI;
    if (model) { /* tier 1: the rules alone; tier 2: for about what it was admitted for */
        options.exact_limit = request->tier == 1 ? 0 : EXACT;
        options.budget_ns = request->tier == 1 ? 1 : espi_admission_tree(0, (uint64_t)request->layout->tree->size);
    }
    g.cost_before = espi_cost(request->layout->tree, &options.costs);
    g.facts.cost_before = g.cost_before;
    g.facts.cost_after = -1;
    if (request->layout->tree->entries == 0)
        g.reason = ESPI_COUNT_plan_unsupported;
    else if (!model || request->tier != 1 || (!select_of_short(&g) && !select_packing_alone(&g)))
        select_form(&g, &options);
    describe(&g, record, begun);
    if (!request->again)
        espi_count_anywhere(ESPI_COUNT_types_planned, 1);
    if (!request->again || (g.facts.improved && !request->was_better))
        espi_count_anywhere(g.facts.improved ? ESPI_COUNT_types_improved : g.reason, 1);
    own = espi_admission_clock() - own;
    espi_admission_book(own);
    if (!g.facts.improved)
        espi_admission_idle(own);
    espi_arena_release(&g.arena);
}
