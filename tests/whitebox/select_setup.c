#include "select_setup.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mpi/datatype/emit.h"
#include "mpi/datatype/own_types.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/typeplan/variants.h"
#include "random_types.h"
#include "reconstruct/reconstruct.h"
#include "stats/snapshot.h"

enum { LIVE_MOST = 65536 };

struct espi_pmpi real;
struct espi_arena arena;

static MPI_Datatype live[LIVE_MOST]; /* what is built and not freed */
static int alive;
int commits, failing;
bool shorter;
MPI_Datatype instead;

static int find(MPI_Datatype type)
{
    int i;

    for (i = 0; i < alive && live[i] != type; i++)
        ;
    return i;
}

int alive_types(void)
{
    return alive;
}

bool is_alive(MPI_Datatype type)
{
    return find(type) < alive;
}

static int commit(MPI_Datatype *type)
{
    if (++commits == failing)
        return MPI_ERR_INTERN;
    if (instead != MPI_DATATYPE_NULL) {
        real.Type_free(type);
        real.Type_dup(instead, type);
    }
    ck_assert_int_lt(alive, LIVE_MOST);
    live[alive++] = *type;
    return real.Type_commit(type);
}

static int free_one(MPI_Datatype *type)
{
    int i = find(*type);

    if (i < alive)
        live[i] = live[--alive];
    return real.Type_free(type);
}

static int size_of(MPI_Datatype type, MPI_Count *size)
{
    int code = real.Type_size_c(type, size);

    *size -= shorter && find(type) < alive;
    return code;
}

void begin(void)
{
    test_clock_stands();
    espi_admission_start(1000);
    if (real.Type_commit == NULL) {
        const struct espi_engine usual = ESPI_ENGINE_USUAL, engine = espi_engine(); /* builds types of its own */
        ck_assert(engine.step == usual.step && engine.element == usual.element && engine.copied == usual.copied);
        real = espi_pmpi;
    }
    espi_pmpi.Type_commit = commit;
    espi_pmpi.Type_free = free_one;
    espi_pmpi.Type_size_c = size_of;
    failing = alive = 0;
    shorter = false;
    instead = MPI_DATATYPE_NULL;
}

void end(void)
{
    espi_arena_release(&arena);
    espi_pmpi = real;
}

static void count(uint64_t *to, bool subtract)
{
    struct espi_report report = ESPI_REPORT_INIT;

    ck_assert_int_eq(espi_stats_collect(&report), ESPI_OK);
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        to[i] = report.counter[i].sum - (subtract ? to[i] : 0);
    espi_report_release(&report);
}

struct decided decide(MPI_Datatype type, struct espi_plan_request request)
{
    static struct espi_stats_type record[1000];
    static int records;
    struct decided d = {.counted = {0}};
    int better = 0;

    ck_assert_int_eq(espi_decode(&arena, type, 0, &d.layout), ESPI_OK);
    ck_assert_int_lt(records, 1000);
    request.type = type;
    request.layout = &d.layout;
    request.count = request.count > 0 ? request.count : 1;
    request.tier = request.tier > 0 ? request.tier : 2;
    alive = commits = 0;
    count(d.counted, false);
    memset(&d.s, 0x55, sizeof d.s);
    espi_select_variant(&request, &record[records], &d.s);
    count(d.counted, true);
    d.facts = record[records++].facts;
    for (int p = 0; p < ESPI_PURPOSES; p++)
        if (d.s.better[p] != MPI_DATATYPE_NULL && (p == 0 || d.s.better[p] != d.s.better[0])) {
            ck_assert_int_lt(find(d.s.better[p]), alive);
            better++;
        }
    ck_assert_int_eq(alive, better);
    if (request.pack == NULL)
        ck_assert_int_eq(d.facts.improved, better > 0);
    return d;
}

void let_go(struct decided *d)
{
    if (d->s.better[ESPI_WHOLE] == d->s.better[ESPI_PARTS])
        d->s.better[ESPI_WHOLE] = MPI_DATATYPE_NULL;
    for (int p = 0; p < ESPI_PURPOSES; p++)
        if (d->s.better[p] != MPI_DATATYPE_NULL)
            espi_own_types_free(&d->s.better[p], 1, (struct espi_own_types){0, 0});
}

struct decided of_auto(MPI_Datatype type, int64_t items, int tier)
{
    struct decided d = decide(type, (struct espi_plan_request){.mode = ESPI_MODE_AUTO, .count = items, .tier = tier});

    real.Type_free(&type);
    return d;
}

bool is_built_of(MPI_Datatype type, const struct espi_node *tree, const struct espi_decoded *layout)
{
    struct espi_decoded is, like;
    struct espi_low_handles low;
    struct espi_emitted e;

    espi_low_handles_reserve(&low);
    ck_assert_int_eq(espi_emit(tree, layout->lb, layout->extent, 100000, &e), ESPI_OK);
    espi_low_handles_release(&low);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &is), ESPI_OK);
    ck_assert_int_eq(espi_decode(&arena, e.type, 0, &like), ESPI_OK);
    espi_own_types_free(&e.type, 1, (struct espi_own_types){0, 0});
    return espi_node_equal(is.tree, like.tree) && is.lb == like.lb && is.extent == like.extent;
}

const struct espi_node *tree_found(const struct espi_node *tree, int tier)
{
    struct espi_reconstruct_options options;
    struct espi_reconstruction found;

    espi_reconstruct_defaults(&options);
    options.set = ESPI_SET_MPI;
    if (tier > 0) {
        options.exact_limit = tier == 1 ? 0 : 400;
        options.budget_ns = tier == 1 ? 1 : espi_admission_tree(0, (uint64_t)tree->size);
    }
    ck_assert_int_eq(espi_normalize(&arena, tree, &options, &found), ESPI_OK);
    if (tier != 1)
        return found.tree;
    ck_assert_int_eq(espi_variant_runs(&arena, found.tree, &tree), ESPI_OK);
    return espi_cost(tree, &options.costs) < found.cost ? tree : found.tree;
}

/* ---- types ---- */

MPI_Datatype committed(MPI_Datatype type)
{
    real.Type_commit(&type);
    return type;
}

MPI_Datatype irregular_list(int n, int length, MPI_Datatype base)
{
    int *at = malloc((size_t)n * sizeof *at);
    MPI_Datatype type;

    for (int i = 0, next = 0; i < n; i++) {
        at[i] = next;
        next += length + 1 + (int)random_below(20);
    }
    MPI_Type_create_indexed_block(n, length, at, base, &type);
    free(at);
    return committed(type);
}

MPI_Datatype regular_list(int n)
{
    MPI_Aint *at = malloc((size_t)n * sizeof *at);
    MPI_Datatype type;

    for (int i = 0; i < n; i++)
        at[i] = 24 * i;
    MPI_Type_create_hindexed_block(n, 1, at, MPI_DOUBLE, &type);
    free(at);
    return committed(type);
}

MPI_Datatype nested(int levels, const int *n, const MPI_Aint *stride, MPI_Datatype base)
{
    MPI_Datatype type = base, outer;

    for (int i = 0; i < levels; i++) {
        MPI_Type_create_hvector(n[i], 1, stride[i], type, &outer);
        if (i > 0)
            MPI_Type_free(&type);
        type = outer;
    }
    return committed(type);
}

MPI_Datatype lists_that_are_one(void)
{
    enum { PARTS = 50, EACH = 8 };
    MPI_Datatype part[2] = {regular_list(EACH), nested(1, (int[]){EACH}, (MPI_Aint[]){24}, MPI_DOUBLE)};
    MPI_Datatype types[PARTS], type;
    MPI_Aint at[PARTS];
    int len[PARTS];

    for (int i = 0; i < PARTS; i++)
        at[i] = 24 * EACH * i, types[i] = part[i % 2], len[i] = 1;
    MPI_Type_create_struct(PARTS, len, at, types, &type);
    MPI_Type_free(&part[0]);
    MPI_Type_free(&part[1]);
    return committed(type);
}

MPI_Datatype subarray(int size, int sub, int start)
{
    int sizes[3] = {size, size, size}, subs[3] = {sub, sub, sub}, starts[3] = {start, start, start};
    MPI_Datatype type;

    MPI_Type_create_subarray(3, sizes, subs, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return committed(type);
}
