/* From two layouts to a copy program; under ESPALIER_CHECK held against MPI, on memory of our own. */
#include "mpi/selfcopy/self_copy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mpi/datatype/emit.h"
#include "mpi/datatype/own_types.h"
#include "mpi/typeplan/admission.h"
#include "mpi/core/handle_table.h"
#include "mpi/core/pmpi.h"
#include "mpi/comm/self_comm.h"
#include "pack/copy.h"
#include "transpack/transpack.h"
#include "stats/stats.h"

#define SCRATCH ((int64_t)64 << 20)

enum { FLATTEN_MOST = 1 << 16, WHOLE_BYTES = 1 << 20, SLICE_BYTES = 512 << 10 };
/* Elements of lists in a layout that is called regular. */
enum { FEW = 32 };

struct plan {
    struct espi_selfcopy_plan open; /* first */
    struct espi_arena arena;
};

/* Buffers for both layouts. */
struct bench {
    char *memory, *from, *onto; /* from and onto: as MPI's buffer arguments */
    size_t mapped, from_span, onto_span;
    char *onto_memory, *reference;
};

static size_t pages(int64_t bytes)
{
    return ((size_t)bytes + 8191) & ~(size_t)4095;
}

static espi_status open_bench(struct bench *b, const struct espi_node *from, const struct espi_node *onto)
{
    int64_t from_span, onto_span;
    if (__builtin_sub_overflow(from->true_ub, from->true_lb, &from_span) ||
        __builtin_sub_overflow(onto->true_ub, onto->true_lb, &onto_span) || from_span > SCRATCH ||
        onto_span > SCRATCH || from_span + 2 * onto_span > SCRATCH)
        return ESPI_ERR_LIMIT;
    b->from_span = (size_t)from_span;
    b->onto_span = (size_t)onto_span;
    b->mapped = pages(from_span) + 2 * pages(onto_span);
    b->memory = mmap(NULL, b->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->memory == MAP_FAILED)
        return ESPI_ERR_MEMORY;
    b->onto_memory = b->memory + pages(from_span);
    b->reference = b->onto_memory + pages(onto_span);
    b->from = b->memory - from->true_lb;
    b->onto = b->onto_memory - onto->true_lb;
    return ESPI_OK;
}

/* MPI's own copy within a process, without a message: also right where other threads call MPI. */
static bool native(const struct bench *b, const struct espi_selfcopy_request *r, MPI_Comm self)
{
    return espi_pmpi.Gather_c(b->from, r->from.count, r->from.type, b->onto, r->onto.count, r->onto.type, 0, self) ==
           MPI_SUCCESS;
}

static bool same_bytes(const struct bench *b, const struct espi_selfcopy_request *r, const struct espi_copy *copy,
                       MPI_Comm self)
{
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < b->from_span; i += sizeof x) { /* there is room behind (`pages`) */
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(b->memory + i, &x, sizeof x);
    }
    if (!native(b, r, self))
        return false;
    memcpy(b->reference, b->onto_memory, b->onto_span);
    memset(b->onto_memory, 0, b->onto_span);
    espi_copy_run(copy, b->from, b->onto);
    return memcmp(b->reference, b->onto_memory, b->onto_span) == 0;
}

/* Whether the program copies what MPI copies. */
static enum espi_counter check(const struct espi_selfcopy_request *r, const struct espi_copy *copy)
{
    MPI_Comm self = espi_self_comm();
    struct bench b;
    enum espi_counter verdict = ESPI_COUNT_pairs_kept;
    espi_status status = self == MPI_COMM_NULL ? ESPI_ERR_MPI : open_bench(&b, r->from_tree, r->onto_tree);

    if (status != ESPI_OK)
        return r->mode == ESPI_MODE_ALWAYS ? verdict : ESPI_COUNT_pairs_too_large;
    bool same = same_bytes(&b, r, copy, self);
    espi_count_anywhere(same ? ESPI_COUNT_checks_passed : ESPI_COUNT_checks_failed, 1);
    if (!same)
        verdict = ESPI_COUNT_pairs_unsupported;
    munmap(b.memory, b.mapped);
    return verdict;
}

static espi_status transpacked(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                               bool by_rules, struct espi_transpacking *shared)
{
    struct espi_reconstruct_options options;
    espi_reconstruct_defaults(&options);
    options.set = ESPI_SET_MPI;
    options.budget_ns = 20000000;
    if (by_rules) { /* which take linear time in the tree, as in the first tier of types */
        options.exact_limit = 0;
        options.budget_ns = 1;
    }
    return espi_transpack_trees(arena, from, onto, &options, FLATTEN_MOST, shared);
}

static uint64_t step_to(const int64_t *place)
{
    return (uint64_t)place[0] - (uint64_t)place[-1];
}

/* What a copy takes in one step: a base type without a gap, or some next to each other. */
static bool is_block(const struct espi_node *node)
{
    while (node->kind == ESPI_VEC && node->stride == node->child->size)
        node = node->child;
    return node->kind == ESPI_LEAF && node->size == node->true_ub;
}

/* Two long lists of the same blocks, as many on either side, whose steps hardly ever come again within the next few:
   a better tree has fewer words, but copies the same blocks one by one. Of a very long one some stretches are looked
   at, in which each place of what may come again is met. */
static bool is_irregular(const struct espi_node *from, const struct espi_node *onto)
{
    enum { APART_MOST = 32, STRETCH = 64, STRETCHES = 16 };
    const int64_t n = from->count, *a = from->disp, *b = onto->disp,
                  far = n > STRETCH * STRETCHES ? n / STRETCHES - STRETCH + 1 : 1; /* to the next one */

    if (from->kind != ESPI_IDX || onto->kind != ESPI_IDX || onto->count != n || n <= FEW || !is_block(from->child) ||
        !espi_node_equal(from->child, onto->child))
        return false;
    for (int64_t apart = 1; apart <= APART_MOST && apart + 1 < n; apart++) {
        int64_t equal = 0, looks = 0;
        for (int64_t j = apart + 1; j < n; j += ++looks % STRETCH == 0 ? far : 1)
            equal += step_to(a + j) == step_to(a + j - apart) && step_to(b + j) == step_to(b + j - apart);
        if (2 * equal >= looks)
            return false;
    }
    return true;
}

/* Of layouts that have hardly a list the rules leave nothing to be found but words that no copy reads. */
static espi_status program_of(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                              const struct espi_copy **out)
{
    const bool regular = espi_node_numbers(from, FEW + 1) <= FEW &&
                         espi_node_numbers(onto, FEW + 1) <= FEW;
    struct espi_transpacking shared;
    espi_status status = regular ? transpacked(arena, from, onto, true, &shared) : ESPI_ERR_LIMIT;

    if (status == ESPI_ERR_LIMIT && is_irregular(from, onto))
        return espi_copy_compile(arena, from, onto, out);
    if (status == ESPI_ERR_LIMIT)
        status = transpacked(arena, from, onto, false, &shared);
    return status == ESPI_OK ? espi_copy_compile(arena, shared.from, shared.onto, out) : status;
}

/* The same for layouts too large to be compared as a whole: on a part from the start of both. */
static enum espi_counter check_part(const struct espi_selfcopy_request *whole)
{
    struct espi_selfcopy_request part = *whole;
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_emitted from = {MPI_DATATYPE_NULL, 0}, onto = {MPI_DATATYPE_NULL, 0};
    const struct espi_copy *copy;
    int64_t entries = whole->from_tree->entries, n = SLICE_BYTES / (whole->from_tree->size / entries + 1) + 1;
    enum espi_counter verdict = ESPI_COUNT_pairs_too_large;
    espi_status status = ESPI_OK;

    n = n < entries ? n : entries;
    status = espi_node_slice(&arena, whole->from_tree, 0, n, 0, &part.from_tree);
    if (status == ESPI_OK)
        status = espi_node_slice(&arena, whole->onto_tree, 0, n, 0, &part.onto_tree);
    if (status == ESPI_OK)
        status = program_of(&arena, part.from_tree, part.onto_tree, &copy);
    if (status == ESPI_OK)
        status = espi_emit(part.from_tree, part.from_tree->true_lb, part.from_tree->true_ub - part.from_tree->true_lb,
                           espi_own_types_room(), &from);
    if (status == ESPI_OK)
        status = espi_emit(part.onto_tree, part.onto_tree->true_lb, part.onto_tree->true_ub - part.onto_tree->true_lb,
                           espi_own_types_room(), &onto);
    if (status == ESPI_OK) {
        part.from = (struct espi_selfcopy_side){from.type, 1};
        part.onto = (struct espi_selfcopy_side){onto.type, 1};
        verdict = check(&part, copy);
    }
    if (from.type != MPI_DATATYPE_NULL)
        espi_pmpi.Type_free(&from.type);
    if (onto.type != MPI_DATATYPE_NULL)
        espi_pmpi.Type_free(&onto.type);
    espi_arena_release(&arena);
    return verdict;
}

/* Setting always. */
static void use_everywhere(struct espi_selfcopy_plan *plan)
{
    for (int place = 0; place < ESPI_SELF_PLACES; place++) {
        atomic_init(&plan->at[place].way, ESPI_BY_COPY);
        atomic_init(&plan->at[place].state, ESPI_SELFCOPY_DECIDED);
    }
    atomic_init(&plan->marks, ESPI_PAIRED_COPIED | ESPI_PAIRED_APART | ESPI_PAIRED_LATE | ESPI_PAIRED_MESSAGE);
}

struct espi_selfcopy_plan *espi_selfcopy_plan_make(const struct espi_selfcopy_request *r)
{
    uint64_t begun = espi_admission_clock();
    struct plan *plan = calloc(1, sizeof *plan);
    const struct espi_node *const from = r->from_tree, *const onto = r->onto_tree;
    enum espi_counter verdict = ESPI_COUNT_pairs_unsupported;

    if (plan == NULL)
        return NULL;
    const espi_status status = program_of(&plan->arena, from, onto, &plan->open.copy);
    if (status == ESPI_OK && r->check)
        verdict = from->size <= WHOLE_BYTES && onto->true_ub - onto->true_lb <= SCRATCH / 4 &&
                          from->true_ub - from->true_lb <= SCRATCH / 4
                      ? check(r, plan->open.copy)
                      : check_part(r);
    else if (status == ESPI_OK)
        verdict = ESPI_COUNT_pairs_kept;
    else if (status == ESPI_ERR_LIMIT)
        verdict = ESPI_COUNT_pairs_too_large;
    if (verdict == ESPI_COUNT_pairs_kept) {
        plan->open.bytes = from->size;
        plan->open.from_lb = from->true_lb;
        plan->open.from_ub = from->true_ub;
        plan->open.onto_lb = onto->true_lb;
        plan->open.onto_ub = onto->true_ub;
        plan->open.timed = r->mode == ESPI_MODE_AUTO;
        if (!plan->open.timed)
            use_everywhere(&plan->open);
    } else {
        plan->open.copy = NULL;
        espi_arena_release(&plan->arena);
    }
    begun = espi_admission_clock() - begun;
    plan->open.made_ns = begun;
    espi_count_anywhere(ESPI_COUNT_pairs_planned, 1);
    if (!plan->open.timed) /* else it is counted what the uses show */
        espi_count_anywhere(verdict, 1);
    espi_count_anywhere(ESPI_COUNT_time_pairs, begun);
    espi_admission_book(begun);
    if (verdict != ESPI_COUNT_pairs_kept)
        espi_admission_idle(begun);
    return &plan->open;
}

void espi_selfcopy_plan_free(struct espi_selfcopy_plan *open)
{
    struct plan *plan = (struct plan *)open;
    if (plan != NULL)
        espi_arena_release(&plan->arena);
    free(plan);
}

size_t espi_selfcopy_plan_bytes(const struct espi_selfcopy_plan *open)
{
    return ((const struct plan *)open)->arena.bytes;
}
