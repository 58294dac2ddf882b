#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "bench/trees.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/core/pmpi.h"
#include "mpi/netmodel/netmodel.h"

#ifdef TREES_SMPI
#include <time.h>
#else
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench.h"
#endif

static struct espi_settings settings; /* equal on all ranks, so a simulation may share it between them */
static bool seen;

static const enum espi_commtree_kind kinds[TREES_AUTO] = {
    [TREES_LINEAR] = ESPI_COMMTREE_LINEAR,
    [TREES_BINOMIAL] = ESPI_COMMTREE_BINOMIAL,
    [TREES_ADAPTIVE] = ESPI_COMMTREE_ADAPTIVE,
    [TREES_OPTIMAL] = ESPI_COMMTREE_OPTIMAL,
};

static FILE *complaints; /* stderr when NULL */

static void stop(const char *what)
{
    fprintf(complaints ? complaints : stderr, "trees: %s\n", what);
    if (complaints)
        fflush(complaints);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#ifndef TREES_SMPI
static void listen_to_log(void);
#endif

bool trees_start(MPI_Comm world, struct espi_commtree_model *model)
{
    MPI_Comm own;
#ifndef TREES_SMPI
    /* The library's own handle: whatever is preloaded is not asked. */
    void *library = dlopen(ESPALIER_MPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    if (!library || espi_pmpi_load(library))
        stop("cannot look into the MPI library");
    seen = bench_intercepted();
    listen_to_log();
#endif
    const char *file = getenv("ESPALIER_MODEL");
    espi_settings_defaults(&settings);
    settings.model_cache = 0; /* measured each time: links may be given other rates */
    if (file)
        espi_settings_set(&settings, espi_settings_find("ESPALIER_MODEL"), file);
    MPI_Comm_dup(world, &own);
#ifdef TREES_SMPI
    /* Every rank is a host of its own; to find that out takes the simulation minutes. */
    struct espi_topology places = {0};
    struct espi_model models;
    MPI_Comm_size(own, &places.size);
    int *memory = malloc(espi_topology_bytes(places.size));
    memset(&models, 0, sizeof models);
    if (!memory)
        stop("memory is short");
    for (int i = 0; i < places.size; i++)
        memory[i] = i;
    espi_topology_number(memory, &places);
    espi_model_complete(own, 0, &places, &settings, &models);
    *model = espi_model_flat(&models, &places);
    free(memory);
#else
    espi_model_of(own, &settings, model);
#endif
    MPI_Comm_free(&own);
    return seen;
}

static char byte_of(int rank, int64_t at)
{
    return (char)(rank * 31 + at + 1);
}

/* Trees of the last problem: in a simulation the ranks share them, and one rank makes them. */
static struct espi_commtree made[TREES_AUTO];
static int64_t *made_size;
static int made_p, made_root;

static bool make_trees(const struct trees_cell *c)
{
    struct espi_commtree_problem problem = {c->p, c->size, c->root, c->model, 0};
    size_t bytes = (size_t)c->p * sizeof *c->size;
    if (made_size && made_p == c->p && made_root == c->root && !memcmp(made_size, c->size, bytes))
        return true;
    free(made_size);
    made_size = NULL;
    for (int m = TREES_LINEAR; m < TREES_AUTO; m++) {
        espi_commtree_release(&made[m]);
        if (espi_commtree_build_compact(kinds[m], &problem, &made[m]))
            return false;
    }
    if (!(made_size = malloc(bytes)))
        return false;
    memcpy(made_size, c->size, bytes);
    made_p = c->p;
    made_root = c->root;
    return true;
}

static bool make_plans(struct trees_cell *c)
{
    if (!make_trees(c))
        return false;
    for (int m = TREES_LINEAR; m < TREES_AUTO; m++)
        if (espi_subtree_plan_make(&made[m], c->size, c->rank, 0, &c->plan[m]))
            return false;
    return true;
}

struct trees_cell *trees_cell_make(int op, const int64_t *size, int root, const struct espi_commtree_model *model)
{
    struct trees_cell *c = calloc(1, sizeof *c);
    int64_t total = 0;
    if (!c)
        return NULL;
    *c = (struct trees_cell){.op = op, .root = root, .size = size, .model = *model};
    MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c->p);
    MPI_Comm_dup(MPI_COMM_WORLD, &c->comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &c->seen);
    c->counts = malloc((size_t)c->p * sizeof *c->counts);
    c->displs = malloc((size_t)c->p * sizeof *c->displs);
    for (int i = 0; i < c->p && c->counts && c->displs; i++) {
        c->counts[i] = (int)size[i];
        c->displs[i] = (int)total;
        total += size[i];
    }
    c->own = malloc((size_t)size[c->rank] + 1);
    c->all = c->rank == root ? malloc((size_t)total + 1) : NULL;
    c->lease_comm = (struct espi_lease_comm){
        .own = c->comm, .rank = c->rank, .size = c->p};
    c->lease.family = op == 0 ? ESPI_LEASE_GATHERV : ESPI_LEASE_SCATTERV;
    c->lease.root = root;
    c->lease.method = c->lease.now = ESPI_METHOD_LIBRARY;
    if (total > INT_MAX || !c->counts || !c->displs || !c->own || (c->rank == root && !c->all) ||
        !make_plans(c))
        return NULL;
    for (int64_t k = 0; k < size[c->rank]; k++)
        c->own[k] = byte_of(c->rank, k);
    for (int i = 0; i < c->p && c->all; i++)
        for (int64_t k = 0; k < size[i]; k++)
            c->all[c->displs[i] + k] = byte_of(i, k);
    return c;
}

void trees_cell_free(struct trees_cell *c)
{
    for (int m = TREES_LINEAR; m < TREES_AUTO; m++)
        espi_subtree_plan_release(&c->plan[m]);
    espi_lease_release(&c->lease);
    MPI_Comm_free(&c->comm);
    MPI_Comm_free(&c->seen);
    free(c->counts);
    free(c->displs);
    free(c->own);
    free(c->all);
    free(c);
}

#ifdef TREES_SMPI
/* Ranks of a simulation share memory and a clock: calls begin at its full seconds (all take much less than half of
   one), and the longest time is found without a message. */
static double longest_of[2];
static long second_of[2];

static long next_second(void)
{
    double now = MPI_Wtime(), next = (double)(long)(now + 0.5) + 1, wait = next - now;
    struct timespec t = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
    nanosleep(&t, NULL);
    return (long)next;
}

bool trees_clock_start(MPI_Comm comm, double pause)
{
    (void)comm;
    (void)pause;
    return true;
}

double trees_clock_begin(MPI_Comm comm)
{
    (void)comm;
    long second = next_second();
    if (second_of[second & 1] != second) {
        second_of[second & 1] = second;
        longest_of[second & 1] = 0;
    }
    return MPI_Wtime();
}

double trees_clock_took(MPI_Comm comm, double begin)
{
    double own = MPI_Wtime() - begin;
    long second = (long)(MPI_Wtime() - own + 0.5);
    (void)comm;
    if (own > longest_of[second & 1])
        longest_of[second & 1] = own;
    next_second();
    return longest_of[second & 1];
}
#endif

static void library(const struct trees_cell *c)
{
    if (c->op == 0)
        espi_pmpi.Gatherv(c->own, c->counts[c->rank], MPI_BYTE, c->all, c->counts, c->displs, MPI_BYTE, c->root,
                          c->comm);
    else
        espi_pmpi.Scatterv(c->all, c->counts, c->displs, MPI_BYTE, c->own, c->counts[c->rank], MPI_BYTE, c->root,
                           c->comm);
}

static void program(const struct trees_cell *c)
{
    if (c->op == 0)
        MPI_Gatherv(c->own, c->counts[c->rank], MPI_BYTE, c->all, c->counts, c->displs, MPI_BYTE, c->root, c->seen);
    else
        MPI_Scatterv(c->all, c->counts, c->displs, MPI_BYTE, c->own, c->counts[c->rank], MPI_BYTE, c->root, c->seen);
}

static void along(const struct trees_cell *c, struct espi_subtree_plan *plan)
{
    struct espi_block own = {.buf = c->own, .count = c->size[c->rank], .bytes = c->size[c->rank],
                             .type = {.handle = MPI_BYTE, .dense = true}};
    struct espi_blocks blocks = {.buf = c->all, .type = {.handle = MPI_BYTE, .dense = true}, .extent = 1, .size = 1,
                                 .counts = c->counts, .displs = c->displs};
    if (c->op == 0 ? espi_tree_gather(plan, c->comm, &own, &blocks) : espi_tree_scatter(plan, c->comm, &own, &blocks))
        stop("a tree failed");
}

/* As agreement.h does where all ranks wait for each other between two calls. */
static void agree(struct trees_cell *c)
{
    struct espi_lease *lease = &c->lease;
    bool holds = lease->state == ESPI_LEASE_HOLDS;
    c->syncs++;
    if (holds)
        espi_lease_turn(lease, &c->lease_comm, c->syncs);
    if (holds ? espi_lease_end(lease) <= c->syncs : c->syncs == 1)
        espi_lease_renew(lease, &c->lease_comm, &c->model, &settings, c->size, c->syncs, 1);
}

static void engine(struct trees_cell *c)
{
    double begin = espi_pmpi.Wtime();
    c->lease.calls++;
    c->lease.now == ESPI_METHOD_LIBRARY ? library(c) : along(c, &c->lease.plan);
    espi_lease_took(&c->lease, espi_pmpi.Wtime() - begin);
}

/* What must arrive is spoilt before the call and looked at after it, in a few places. */
static void spoil(const struct trees_cell *c)
{
    if (c->op == 1 && c->size[c->rank] > 0)
        c->own[0] = c->own[c->size[c->rank] - 1] = (char)~byte_of(c->rank, 0);
    for (int i = 0; i < c->p && c->op == 0 && c->all; i++)
        if (c->counts[i] > 0)
            c->all[c->displs[i]] = c->all[c->displs[i] + c->counts[i] - 1] = (char)~byte_of(i, 0);
}

static void check(const struct trees_cell *c)
{
    int64_t n = c->size[c->rank];
    bool good = c->op == 0 || n == 0 ||
                (c->own[0] == byte_of(c->rank, 0) && c->own[n - 1] == byte_of(c->rank, n - 1));
    for (int i = 0; i < c->p && c->op == 0 && c->all; i++)
        if (c->counts[i] != 0) {
            int last = c->counts[i] - 1;
            good = good && c->all[c->displs[i]] == byte_of(i, 0) && c->all[c->displs[i] + last] == byte_of(i, last);
        }
    if (!good)
        stop("wrong bytes");
}

static double time_once(struct trees_cell *c, int method)
{
    bool look = c->calls++ < 64;
    if (look)
        spoil(c);
    if (method == TREES_AUTO && seen)
        MPI_Barrier(c->seen);
    else if (method == TREES_AUTO)
        agree(c);
    double begin = trees_clock_begin(c->comm);
    if (method == TREES_LIBRARY || method == TREES_CONTROL)
        library(c);
    else if (method < TREES_AUTO)
        along(c, &c->plan[method]);
    else if (seen)
        program(c);
    else
        engine(c);
    double took = trees_clock_took(c->comm, begin);
    if (look)
        check(c);
    return took;
}

double trees_time(struct trees_cell *c, int method)
{
    double took = -1;
    for (int tries = 0; took < 0; tries++) {
        if (tries == 1000)
            stop("calls never begin together");
        took = time_once(c, method);
    }
    return took;
}

double trees_now(void)
{
    return espi_pmpi.Wtime();
}

double trees_agreed(const struct trees_cell *c, double number)
{
#ifndef TREES_SMPI /* time that passes there is simulated, and equal */
    espi_pmpi.Bcast(&number, 1, MPI_DOUBLE, 0, c->comm);
#endif
    (void)c;
    return number;
}

bool trees_settled(const struct trees_cell *c)
{
    int settled = espi_method_select_settled(&c->lease.select);
    if (seen)
        return false;
#ifdef TREES_SMPI
    /* Ranks share memory, and between calls all have the same time: the root's word reaches them without a
       message. */
    static int word;
    if (c->rank == c->root)
        word = settled;
    next_second();
    return word;
#else
    espi_pmpi.Bcast(&settled, 1, MPI_INT, c->root, c->comm);
    return settled;
#endif
}

#ifndef TREES_SMPI
/* The root of leases says on stderr what it decides; here that goes to a file of this process. */
static int said = -1;

static void listen_to_log(void)
{
    const char *level = getenv("ESPALIER_LOG");
    if (!seen || !level || strcmp(level, "debug"))
        return;
    said = memfd_create("said", 0);
    if (said >= 0) {
        complaints = fdopen(dup(STDERR_FILENO), "w");
        dup2(said, STDERR_FILENO);
    }
}

/* The method in the last line that names one: "... call N: METHOD for N calls...". */
static void last_said(char *name, size_t size)
{
    char text[4096];
    off_t end = lseek(said, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text - 1 ? end - ((off_t)sizeof text - 1) : 0;
    ssize_t n = pread(said, text, (size_t)(end - from), from);
    text[n > 0 ? n : 0] = 0;
    for (char *at = text; (at = strstr(at, ", call ")); at++) {
        const char *begin = strstr(at, ": "), *stop_at = begin ? strstr(begin, " for ") : NULL;
        if (stop_at && (size_t)(stop_at - begin - 2) < size)
            snprintf(name, size, "%.*s", (int)(stop_at - begin - 2), begin + 2);
    }
}
#endif

const char *trees_method(const struct trees_cell *c)
{
    static char name[32];
    strcpy(name, "-");
    if (!seen && c->lease.method == ESPI_METHOD_LIBRARY)
        return "library";
    if (!seen)
        return espi_commtree_kind_name((enum espi_commtree_kind)c->lease.method);
#ifndef TREES_SMPI
    if (c->rank == c->root && said >= 0)
        last_said(name, sizeof name);
    espi_pmpi.Bcast(name, sizeof name, MPI_CHAR, c->root, c->comm);
#endif
    return name;
}
