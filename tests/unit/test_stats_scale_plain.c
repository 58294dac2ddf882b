/* Random reports, what must come of them, and memory that is counted and refused. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_stats_scale.h"

enum { FUNCTIONS = 3 };

uint64_t state;

uint64_t next_random(uint64_t *from)
{
    *from ^= *from << 13;
    *from ^= *from >> 7;
    *from ^= *from << 17;
    return *from;
}

uint64_t below(uint64_t *from, uint64_t limit)
{
    return next_random(from) % limit;
}

/* ---- memory: counted, and refused on demand ---- */

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

unsigned refuse;
size_t live, peak;

static bool is_refused(void)
{
    return refuse > 0 && below(&state, refuse) == 0;
}

static void *counted(void *memory)
{
    if (memory != NULL)
        live += malloc_usable_size(memory);
    peak = live > peak ? live : peak;
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return is_refused() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (is_refused())
        return NULL;
    if (memory != NULL)
        live -= malloc_usable_size(memory);
    return counted(__real_realloc(memory, bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    void *memory = __wrap_malloc(n * bytes);
    return memory != NULL ? memset(memory, 0, n * bytes) : NULL;
}

char *__wrap_strdup(const char *text)
{
    char *copy = __wrap_malloc(strlen(text) + 1);
    return copy != NULL ? strcpy(copy, text) : NULL;
}

void __wrap_free(void *memory)
{
    if (memory != NULL)
        live -= malloc_usable_size(memory);
    __real_free(memory);
}

/* ---- random reports, the same ones for the same seed ---- */

static const char *function_name(size_t function)
{
    static const char *const names[FUNCTIONS] = {"MPI_Send", "MPI_Recv", "MPI_Bcast"};
    return names[function];
}

static void make_type(struct espi_report_type *type, uint64_t key, uint32_t rank, uint64_t *random)
{
    char text[32];
    *type = (struct espi_report_type){.key = key, .ranks = 1, .most_rank = rank};
    type->uses = type->most_uses = below(random, 4); /* few values, so that many ranks are alike */
    type->elements = below(random, 1000);
    type->bytes = below(random, 2) * below(random, 1000000);
    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        type->saved_ns[i] = below(random, 2) * below(random, 100000);
    snprintf(text, sizeof text, "%llu of %u", (unsigned long long)key, rank);
    type->facts = (struct espi_type_facts){.before = text, .why = "because", .improved = rank % 2, .cost_before = 7,
                                           .cost_after = -1, .size = 8, .ns_planning = below(random, 100)};
    ck_assert_int_eq(espi_report_type_own(type), ESPI_OK);
}

static void make_collective(struct espi_report_collective *entry, int root, uint32_t rank, uint64_t *random)
{
    *entry = (struct espi_report_collective){.roots = 1, .most_rank = rank, .leases = below(random, 5)};
    entry->facts = (struct espi_collective_facts){.call = root % 2 ? ESPI_CALL_GATHERV : ESPI_CALL_SCATTERV,
                                                  .ranks = 8, .nodes = 2, .root = root,
                                                  .bytes = 64 + (int64_t)below(random, 100), .method = 1};
    for (int m = 0; m < ESPI_STATS_METHODS; m++) {
        entry->facts.predicted_ns[m] = (int64_t)below(random, 1000) - 1;
        entry->facts.measured_ns[m] = (int64_t)below(random, 2) * 1000 - 1;
        entry->calls[m] = below(random, 3);
    }
    snprintf(entry->facts.why, sizeof entry->facts.why, "as rank %u says", rank);
    entry->most_calls = espi_report_collective_calls(entry);
}

/* A value that many ranks share, so that extremes are often met twice; the first has the rank as a bit. */
static struct espi_report_value make_value(int i, uint32_t rank, uint64_t *random)
{
    uint64_t value = i == 0 ? UINT64_C(1) << rank % 64 : i == 1 ? UINT64_MAX / 3 : below(random, 5);
    return (struct espi_report_value){value, value, value, rank, rank};
}

void make_report(struct espi_report *report, const struct job *job, int rank)
{
    uint64_t random = (job->seed ^ ((uint64_t)rank + 1) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
    char text[64];
    for (int i = 0; i < 8; i++)
        next_random(&random);
    *report = (struct espi_report){.rank = (uint32_t)rank, .ranks = (uint64_t)job->ranks, .reporting = 1,
                                   .functions = FUNCTIONS, .function_name = function_name, .complete = true};
    report->started = 1000000 + (int64_t)below(&random, 1000);
    report->elapsed_ns = below(&random, 1000000);
    report->mpi = strdup("MPICH 4.0.2");
    report->scope = strdup("all ranks");
    snprintf(text, sizeof text, "program of %d", rank);
    report->command = strdup(text);
    report->command_len = strlen(text) + 1;
    espi_settings_defaults(&report->settings);
    report->host = calloc(1, sizeof *report->host);
    snprintf(text, sizeof text, "node%d", rank / job->on_node);
    report->host[0] = (struct espi_report_host){strdup(text), 1};
    report->hosts = 1;
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        report->counter[i] = make_value(i, report->rank, &random);
    report->calls = calloc(FUNCTIONS + 1, sizeof *report->calls);
    for (int i = 0; i < FUNCTIONS; i++)
        report->calls[i] = make_value(2, report->rank, &random);
    const int most = job->common + job->own;
    report->type = calloc((size_t)most + 1, sizeof *report->type);
    report->collective = calloc((size_t)most + 1, sizeof *report->collective);
    for (int i = 0; i < most; i++) {
        if (below(&random, 4) == 0) /* not every rank has everything */
            continue;
        int number = i < job->common ? i : 1000 + rank * job->own + i;
        make_type(&report->type[report->types++], (uint64_t)number << 32 | 5, report->rank, &random);
        make_collective(&report->collective[report->collectives++], number, report->rank, &random);
    }
    report->other_types = below(&random, 3);
    report->other_uses = below(&random, 3);
    report->model[0] = (struct espi_report_model){below(&random, 2), (uint32_t)rank, {rank, 1, 1, 1, true}, "file"};
}

void weigh_job(const struct job *job, struct espi_sketch *sketch)
{
    *sketch = (struct espi_sketch){0};
    uint64_t *sum = &sketch->cell[0][0][0];
    for (int rank = 0; rank < job->ranks; rank++) { /* as MPI_Allreduce would */
        static struct espi_sketch one;
        struct espi_report report;
        one = (struct espi_sketch){0};
        make_report(&report, job, rank);
        espi_report_weigh(&report, &one);
        espi_sketch_bound(&one, (uint64_t)job->ranks);
        const uint64_t *cell = &one.cell[0][0][0];
        for (size_t i = 0; i < ESPI_SKETCH_CELLS; i++)
            sum[i] += cell[i];
        espi_report_release(&report);
    }
}

/* ---- what must come out, the plain way ---- */

static void plain_value(struct espi_report_value *sum, const struct espi_report_value *value, uint32_t rank)
{
    sum->sum = sum->sum + value->sum < sum->sum ? UINT64_MAX : sum->sum + value->sum;
    if (rank == 0 || value->sum < sum->min) {
        sum->min = value->sum;
        sum->min_rank = rank;
    }
    if (rank == 0 || value->sum > sum->max) {
        sum->max = value->sum;
        sum->max_rank = rank;
    }
}

/* Ranks come one by one, from 0; `sum` has room for all. */
static void plain_add(struct espi_report *sum, struct espi_report *one)
{
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        plain_value(&sum->counter[i], &one->counter[i], one->rank);
    for (int i = 0; i < FUNCTIONS; i++)
        plain_value(&sum->calls[i], &one->calls[i], one->rank);
    for (size_t i = 0; i < one->types; i++) {
        struct espi_report_type *from = &one->type[i], *into = sum->type;
        while (into < sum->type + sum->types && into->key != from->key)
            into++;
        if (into == sum->type + sum->types) {
            sum->types++;
            *into = *from;
            memset(from->text, 0, sizeof from->text);
            continue;
        }
        if (from->uses > into->most_uses) {
            espi_report_type_release(into);
            into->facts = from->facts;
            memcpy(into->text, from->text, sizeof into->text);
            memset(from->text, 0, sizeof from->text);
            into->most_uses = from->uses;
        }
        into->uses += from->uses;
        into->elements += from->elements;
        into->bytes += from->bytes;
        for (int k = 0; k < ESPI_SAVED_KINDS; k++)
            into->saved_ns[k] += from->saved_ns[k];
        into->ranks++;
    }
    for (size_t i = 0; i < one->collectives; i++) {
        const struct espi_report_collective *from = &one->collective[i];
        struct espi_report_collective *into = sum->collective;
        while (into < sum->collective + sum->collectives && espi_report_collective_compare(into, from) != 0)
            into++;
        if (into == sum->collective + sum->collectives) {
            sum->collectives++;
            *into = *from;
            continue;
        }
        if (from->most_calls > into->most_calls) {
            into->facts = from->facts;
            into->most_calls = from->most_calls;
        }
        for (int m = 0; m < ESPI_STATS_METHODS; m++)
            into->calls[m] += from->calls[m];
        into->leases += from->leases;
        into->roots++;
    }
    struct espi_report_host *host = sum->host;
    while (host < sum->host + sum->hosts && strcmp(host->name, one->host[0].name) != 0)
        host++;
    if (host == sum->host + sum->hosts) {
        sum->hosts++;
        *host = (struct espi_report_host){strdup(one->host[0].name), 0};
    }
    host->ranks++;
    sum->other_types += one->other_types;
    sum->other_uses += one->other_uses;
    if (one->started < sum->started)
        sum->started = one->started;
    if (one->elapsed_ns > sum->elapsed_ns)
        sum->elapsed_ns = one->elapsed_ns;
    if (one->model[0].have && !sum->model[0].have)
        sum->model[0] = one->model[0];
    sum->reporting++;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct espi_report_host *)a)->name, ((const struct espi_report_host *)b)->name);
}

void plain_report(struct espi_report *sum, const struct job *job, const struct espi_sketch *sketch)
{
    const size_t most = (size_t)job->ranks * (size_t)(job->common + job->own) + 1;
    make_report(sum, job, 0);
    struct espi_report_type *type = sum->type;
    struct espi_report_collective *collective = sum->collective;
    struct espi_report_host *host = sum->host;
    size_t types = sum->types;
    sum->types = sum->collectives = sum->hosts = 0;
    sum->reporting = 0;
    sum->other_types = sum->other_uses = 0;
    memset(sum->counter, 0, sizeof sum->counter);
    memset(sum->calls, 0, FUNCTIONS * sizeof *sum->calls);
    for (size_t i = 0; i < types; i++)
        espi_report_type_release(&type[i]);
    free(type);
    free(collective);
    free(host[0].name);
    free(host);
    sum->type = calloc(most, sizeof *sum->type);
    sum->collective = calloc(most, sizeof *sum->collective);
    sum->host = calloc((size_t)job->ranks, sizeof *sum->host);
    for (int rank = 0; rank < job->ranks; rank++) {
        struct espi_report one;
        make_report(&one, job, rank);
        plain_add(sum, &one);
        espi_report_release(&one);
    }
    qsort(sum->host, sum->hosts, sizeof *sum->host, by_name);
    while (sum->hosts > ESPI_REPORT_HOSTS)
        free(sum->host[--sum->hosts].name);
    espi_report_order(sum, sketch); /* cuts once, what all ranks have */
    espi_report_finish(sum);
}
