#include "scripted_bench.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/typeplan/admission.h"
#include "mpi/datatype/emit.h"
#include "mpi/core/pmpi.h"
#include "mpi/typeplan/variants.h"
#include "reconstruct/reconstruct.h"
#include "stats/snapshot.h"

enum { LIVE_MOST = 4096 };

struct script script;
struct seen seen;
struct espi_arena stand_arena = ESPI_ARENA_INIT;

static struct espi_pmpi real;
static MPI_Datatype judging, live[LIVE_MOST]; /* the type in question; what is committed and not freed */
static int alive, commits;

espi_status espi_microbench(struct espi_candidate *c, int n, int count, size_t scratch, uint64_t budget_ns)
{
    uint64_t begun = espi_admission_clock();
    int i;

    if (budget_ns == 0) { /* the program's own type and one that may stand for it */
        ck_assert(n == 2 && count == 1 && scratch == STAND_SCRATCH && c[0].type == judging && c[1].type != judging);
        c[0].wrong = false;
        c[1].wrong = script.refused >> seen.checks++ & 1;
        return script.check_status;
    }
    ck_assert_int_le(n, STAND_MOST);
    seen.calls++;
    seen.n = n;
    seen.count = count;
    seen.scratch = scratch;
    seen.budget = budget_ns;
    for (i = 0; i < n; i++) {
        seen.type[i] = c[i].type;
        ck_assert_int_eq(espi_node_copy(&stand_arena, c[i].tree, &seen.tree[i]), ESPI_OK);
        real.Type_get_extent_c(c[i].type, &seen.lb[i], &seen.extent[i]);
        real.Type_get_true_extent_c(c[i].type, &seen.true_lb[i], &seen.true_extent[i]);
        c[i].wrong = script.wrong[i];
        memcpy(c[i].ns, script.ns[i], sizeof c[i].ns);
    }
    while (espi_admission_clock() - begun < (script.takes_ms > 0 ? 1000000 * script.takes_ms : 100000))
        ;
    return script.status;
}

static int find(MPI_Datatype type)
{
    int i;

    for (i = 0; i < alive && live[i] != type; i++)
        ;
    return i;
}

static int commit(MPI_Datatype *type)
{
    if (++commits == script.failing_commit)
        return MPI_ERR_INTERN;
    if (script.instead != MPI_DATATYPE_NULL)
        real.Type_dup(script.instead, type);
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

    if (script.smaller && find(type) < alive)
        *size -= 1;
    return code;
}

void stand_begin(void)
{
    if (real.Type_commit == NULL)
        real = espi_pmpi;
    espi_pmpi.Type_commit = commit;
    espi_pmpi.Type_free = free_one;
    espi_pmpi.Type_size_c = size_of;
    script = (struct script){.instead = MPI_DATATYPE_NULL};
}

static void count(uint64_t *to, bool subtract)
{
    struct espi_report report = ESPI_REPORT_INIT;

    ck_assert_int_eq(espi_stats_collect(&report), ESPI_OK);
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        to[i] = report.counter[i].sum - (subtract ? to[i] : 0);
    espi_report_release(&report);
}

struct judged judge(MPI_Datatype type, enum espi_mode mode, int64_t items, bool check)
{
    static struct espi_stats_type record[2000];
    static int records;
    struct judged out = {0};
    struct espi_plan_request request = {type, &out.layout, mode, check, items};
    int better = 0, p;

    espi_arena_release(&stand_arena);
    memset(&seen, 0, sizeof seen);
    ck_assert_int_eq(espi_decode(&stand_arena, type, 0, &out.layout), ESPI_OK);
    ck_assert_int_lt(records, 2000);
    judging = type;
    alive = commits = 0;
    count(out.counted, false);
    memset(&out.j, 0x55, sizeof out.j);
    espi_select_variant(&request, &record[records], &out.j);
    count(out.counted, true);
    out.facts = record[records++].facts;
    for (p = 0; p < ESPI_PURPOSES; p++) {
        if (out.j.better[p] == MPI_DATATYPE_NULL || (p > 0 && out.j.better[p] == out.j.better[0]))
            continue;
        ck_assert_int_lt(find(out.j.better[p]), alive);
        better++;
    }
    ck_assert_int_eq(alive, better);
    return out;
}

void stand_free(struct judged *judged, MPI_Datatype *type)
{
    MPI_Datatype *better = judged->j.better;

    if (better[ESPI_WHOLE] == better[ESPI_PARTS])
        better[ESPI_WHOLE] = MPI_DATATYPE_NULL;
    for (int p = 0; p < ESPI_PURPOSES; p++)
        if (better[p] != MPI_DATATYPE_NULL)
            espi_pmpi.Type_free(&better[p]);
    if (type != NULL)
        real.Type_free(type);
}

static int number_of(MPI_Datatype type)
{
    int i;

    for (i = seen.n - 1; i > 0 && seen.type[i] != type; i--)
        ;
    ck_assert(i > 0 || type == MPI_DATATYPE_NULL);
    return i;
}

struct wins wins(MPI_Datatype type, int64_t items)
{
    struct judged d = judge(type, ESPI_MODE_AUTO, items, false);
    struct wins w = {number_of(d.j.better[ESPI_WHOLE]), number_of(d.j.better[ESPI_PARTS]), d.j.gain_ns};

    ck_assert_int_eq(seen.calls, 1);
    stand_free(&d, NULL);
    return w;
}

const struct espi_node *stand_best(const struct judged *judged)
{
    struct espi_reconstruct_options options;
    struct espi_reconstruction found;

    espi_reconstruct_defaults(&options);
    options.set = ESPI_SET_MPI;
    ck_assert_int_eq(espi_normalize(&stand_arena, judged->layout.tree, &options, &found), ESPI_OK);
    return found.tree;
}

const struct espi_node *stand_cut(const struct espi_node *tree, int64_t chunk)
{
    const struct espi_node *out;

    ck_assert_int_eq(espi_variant_chunked(&stand_arena, tree, chunk, &out), ESPI_OK);
    return out;
}

size_t stand_types(const struct espi_node *tree, const struct judged *judged)
{
    struct espi_emitted e;

    ck_assert_int_eq(espi_emit(tree, judged->layout.lb, judged->layout.extent, 100000, &e), ESPI_OK);
    espi_pmpi.Type_free(&e.type);
    return e.types;
}

bool stand_is(MPI_Datatype type, const struct espi_node *tree, const struct judged *judged)
{
    struct espi_decoded is, like;
    struct espi_emitted e;

    ck_assert_int_eq(espi_emit(tree, judged->layout.lb, judged->layout.extent, 100000, &e), ESPI_OK);
    ck_assert_int_eq(espi_decode(&stand_arena, type, 0, &is), ESPI_OK);
    ck_assert_int_eq(espi_decode(&stand_arena, e.type, 0, &like), ESPI_OK);
    espi_pmpi.Type_free(&e.type);
    return espi_node_equal(is.tree, like.tree) && is.lb == like.lb && is.extent == like.extent;
}

MPI_Datatype stand_list(int n)
{
    MPI_Aint *at = malloc((size_t)n * sizeof *at);
    MPI_Datatype type;

    for (int i = 0; i < n; i++)
        at[i] = 24 * i;
    MPI_Type_create_hindexed_block(n, 1, at, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    free(at);
    return type;
}

MPI_Datatype stand_far(int n, MPI_Aint stride, MPI_Datatype base)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(n, 1, stride, base, &type);
    MPI_Type_commit(&type);
    return type;
}

MPI_Datatype stand_vector(int n)
{
    return stand_far(n, 24, MPI_DOUBLE);
}
