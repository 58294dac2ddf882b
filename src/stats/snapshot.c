/* Counts per thread, the table of planned types, and snapshots of both. The lock guards lists, never a count. */
#include "stats/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/overlap.h"
#include "base/table.h"

const struct espi_counter_info espi_counter_table[] = {
#define ESPI_COUNTER(group, name, unit, help) {ESPI_GROUP_##group, #name, unit, help},
#include "stats/counters.def"
#undef ESPI_COUNTER
};

static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *(*function_name)(size_t function);
static size_t function_count;
static struct espi_stats_thread *first_thread; /* pushed under the lock, never removed */

static _Atomic uint64_t anywhere[ESPI_COUNTER_COUNT];
static void (*elsewhere)(uint64_t *counter, uint64_t *calls); /* written once, before other threads are */

/* For threads that got no block of their own. */
static union {
    struct espi_stats_thread head;
    unsigned char room[sizeof(struct espi_stats_thread) + ESPI_STATS_FUNCTIONS * sizeof(_Atomic uint64_t)];
} shared ESPI_TABLE;

static struct espi_stats_type types[ESPI_STATS_TYPES] ESPI_TABLE;
static struct espi_stats_type other_types ESPI_TABLE; /* what the table has no room for */
static size_t type_count;
static _Atomic uint64_t other_seen;

static int64_t started_seconds; /* written once, by espi_stats_start */
static uint64_t started_ns;

void espi_stats_start(const char *(*name)(size_t function), size_t n)
{
    pthread_mutex_lock(&lists_lock);
    function_name = name;
    function_count = n < ESPI_STATS_FUNCTIONS ? n : ESPI_STATS_FUNCTIONS;
    started_seconds = (int64_t)time(NULL);
    started_ns = espi_stats_now();
    pthread_mutex_unlock(&lists_lock);
}

void espi_stats_elsewhere(void (*add)(uint64_t *counter, uint64_t *calls))
{
    elsewhere = add;
}

struct espi_stats_thread *espi_stats_thread_begin(void)
{
    pthread_mutex_lock(&lists_lock);
    struct espi_stats_thread *thread = first_thread;
    while (thread != NULL && (thread->owned || thread->functions != function_count))
        thread = thread->next;
    if (thread == NULL) {
        thread = calloc(1, sizeof *thread + function_count * sizeof thread->calls[0]);
        if (thread != NULL) {
            thread->functions = function_count;
            thread->next = first_thread;
            first_thread = thread;
        }
    }
    if (thread != NULL)
        thread->owned = true;
    else if (shared.head.functions != function_count)
        shared.head.functions = function_count;
    pthread_mutex_unlock(&lists_lock);
    return thread != NULL ? thread : &shared.head;
}

void espi_stats_thread_end(struct espi_stats_thread *thread)
{
    pthread_mutex_lock(&lists_lock);
    thread->owned = false;
    pthread_mutex_unlock(&lists_lock);
}

void espi_count_anywhere(enum espi_counter which, uint64_t n)
{
    espi_add_u64(&anywhere[which], n);
}

uint64_t espi_stats_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct espi_stats_type *espi_stats_type(uint64_t key)
{
    struct espi_stats_type *record = NULL;
    pthread_mutex_lock(&lists_lock);
    for (size_t i = 0; i < type_count && record == NULL; i++)
        if (types[i].key == key)
            record = &types[i];
    if (record == NULL && type_count < ESPI_STATS_TYPES) {
        record = &types[type_count++];
        record->key = key;
    }
    pthread_mutex_unlock(&lists_lock);
    if (record == NULL) {
        atomic_fetch_add_explicit(&other_seen, 1, memory_order_relaxed);
        record = &other_types;
    }
    return record;
}

/* A copy that is cut to ESPI_STATS_TYPE_TEXT; NULL for NULL and when memory is short. */
static char *cut_copy(const char *text)
{
    if (text == NULL)
        return NULL;
    size_t len = strnlen(text, ESPI_STATS_TYPE_TEXT + 1);
    bool cut = len > ESPI_STATS_TYPE_TEXT;
    if (cut)
        len = ESPI_STATS_TYPE_TEXT;
    char *copy = malloc(len + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, len);
    if (cut)
        memcpy(copy + len - 3, "...", 3);
    copy[len] = '\0';
    return copy;
}

void espi_stats_type_describe(struct espi_stats_type *record, const struct espi_type_facts *facts)
{
    char *text[4] = {cut_copy(facts->before), cut_copy(facts->after), cut_copy(facts->emission),
                     cut_copy(facts->why)};
    char *old[4] = {0};

    pthread_mutex_lock(&lists_lock);
    if (record != &other_types) {
        memcpy(old, record->text, sizeof old);
        memcpy(record->text, text, sizeof text);
        record->facts = *facts;
        record->facts.before = text[0];
        record->facts.after = text[1];
        record->facts.emission = text[2];
        record->facts.why = text[3];
        record->described = true;
    } else {
        memcpy(old, text, sizeof old);
    }
    pthread_mutex_unlock(&lists_lock);
    for (int i = 0; i < 4; i++)
        free(old[i]);
}

void espi_stats_type_measured(struct espi_stats_type *record, bool unpacks, uint64_t ns, int64_t count)
{
    const uint64_t each = (ns + (uint64_t)count / 2) / (uint64_t)count;

    atomic_store_explicit(&record->measured_ns[unpacks], each > 0 ? each : 1, memory_order_relaxed);
}

void espi_stats_type_reversed(struct espi_stats_type *record, enum espi_stats_packed where,
                              enum espi_stats_slow what, uint64_t ns, uint64_t most)
{
    pthread_mutex_lock(&lists_lock);
    record->reversal[where] = (struct espi_type_reversal){true, what, ns, most};
    pthread_mutex_unlock(&lists_lock);
}

static void add_block(struct espi_report *report, const struct espi_stats_thread *thread,
                      const _Atomic uint64_t *calls)
{
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        report->counter[i].sum += atomic_load_explicit(&thread->counter[i], memory_order_relaxed);
    for (size_t i = 0; i < thread->functions && i < report->functions; i++)
        report->calls[i].sum += atomic_load_explicit(&calls[i], memory_order_relaxed);
}

static void add_elsewhere(struct espi_report *report)
{
    uint64_t counter[ESPI_COUNTER_COUNT] = {0}, calls[ESPI_STATS_FUNCTIONS] = {0};
    if (elsewhere == NULL)
        return;
    elsewhere(counter, calls);
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        report->counter[i].sum += counter[i];
    for (size_t i = 0; i < report->functions; i++)
        report->calls[i].sum += calls[i];
}

static void take_savings(uint64_t ns[ESPI_SAVED_KINDS], const struct espi_stats_type *record)
{
    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        ns[i] = atomic_load_explicit(&record->saved_ps[i], memory_order_relaxed) / 1000;
}

static espi_status take_type(struct espi_report_type *out, const struct espi_stats_type *record, uint32_t rank)
{
    out->key = record->key;
    out->uses = atomic_load_explicit(&record->uses, memory_order_relaxed);
    out->elements = atomic_load_explicit(&record->elements, memory_order_relaxed);
    take_savings(out->saved_ns, record);
    out->bytes = atomic_load_explicit(&record->bytes, memory_order_relaxed);
    out->changed = atomic_load_explicit(&record->changed, memory_order_relaxed);
    out->ranks = 1;
    out->most_uses = out->uses;
    out->most_rank = rank;
    out->facts = record->facts;
    struct espi_type_times *measured = &out->facts.ns_measured;
    measured->pack = atomic_load_explicit(&record->measured_ns[0], memory_order_relaxed);
    measured->unpack = atomic_load_explicit(&record->measured_ns[1], memory_order_relaxed);
    if (out->facts.ns_after.partial != 0) /* predicted for both sides; a rank may have seen one only */
        measured->partial = (measured->pack != 0 ? measured->pack : measured->unpack) +
                            (measured->unpack != 0 ? measured->unpack : measured->pack);
    memcpy(out->facts.reversal, record->reversal, sizeof record->reversal);
    return espi_report_type_own(out);
}

espi_status espi_stats_collect(struct espi_report *report)
{
    espi_status status = ESPI_OK;

    pthread_mutex_lock(&lists_lock);
    report->functions = function_count;
    report->function_name = function_name;
    report->calls = calloc(function_count + 1, sizeof *report->calls);
    report->type = calloc(type_count + 1, sizeof *report->type);
    if (report->calls == NULL || report->type == NULL) {
        status = ESPI_ERR_MEMORY;
        goto out;
    }
    for (const struct espi_stats_thread *thread = first_thread; thread != NULL; thread = thread->next)
        add_block(report, thread, thread->calls);
    add_block(report, &shared.head, shared.head.calls);
    add_elsewhere(report);
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        report->counter[i].sum += atomic_load_explicit(&anywhere[i], memory_order_relaxed);
    for (size_t i = 0; i < type_count && status == ESPI_OK; i++)
        if (types[i].described) {
            status = take_type(&report->type[report->types], &types[i], report->rank);
            if (status == ESPI_OK)
                report->types++;
        }
    report->other_types = atomic_load_explicit(&other_seen, memory_order_relaxed);
    report->other_uses = atomic_load_explicit(&other_types.uses, memory_order_relaxed);
    report->other_bytes = atomic_load_explicit(&other_types.bytes, memory_order_relaxed);
    take_savings(report->other_saved_ns, &other_types);
out:
    pthread_mutex_unlock(&lists_lock);
    return status;
}

const char *(*espi_stats_names(size_t functions))(size_t function)
{
    pthread_mutex_lock(&lists_lock);
    const char *(*names)(size_t function) = functions == function_count ? function_name : NULL;
    pthread_mutex_unlock(&lists_lock);
    return names;
}

/* The process's arguments as the kernel keeps them; empty where there is no /proc. */
static espi_status read_command(char **command, size_t *len)
{
    struct espi_buffer buffer = ESPI_BUFFER_INIT;
    char piece[4096];
    int saved_errno = errno;
    int file = espi_file_open("/proc/self/cmdline", O_RDONLY, 0);

    while (file >= 0 && buffer.len < 65536) {
        ssize_t got = read(file, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        espi_buffer_add(&buffer, piece, (size_t)got);
    }
    if (file >= 0)
        close(file);
    errno = saved_errno;
    espi_buffer_add(&buffer, "", 1); /* the bytes end in a NUL, whatever was read */
    if (buffer.failed) {
        espi_buffer_release(&buffer);
        return ESPI_ERR_MEMORY;
    }
    *command = buffer.data;
    *len = buffer.len > 1 && buffer.data[buffer.len - 2] == '\0' ? buffer.len - 1 : buffer.len;
    return ESPI_OK;
}

/* Calls that never reach the core are counted by name only. */
static uint64_t gather_calls(const struct espi_report *report)
{
    static const char *const name[] = {"MPI_Gather", "MPI_Gather_c", "MPI_Gatherv", "MPI_Gatherv_c",
                                       "MPI_Scatter", "MPI_Scatter_c", "MPI_Scatterv", "MPI_Scatterv_c"};
    uint64_t sum = 0;
    for (size_t i = 0; i < report->functions && report->function_name != NULL; i++)
        for (size_t k = 0; k < sizeof name / sizeof *name; k++)
            if (strcmp(report->function_name(i), name[k]) == 0)
                sum += report->calls[i].sum;
    return sum;
}

static void set_extremes(struct espi_report_value *value, uint32_t rank)
{
    value->min = value->max = value->sum;
    value->min_rank = value->max_rank = rank;
}

espi_status espi_report_take(struct espi_report *report, const struct espi_stats_run *run)
{
    char host[256] = "";
    char scope[64];

    *report = ESPI_REPORT_INIT;
    report->rank = (uint32_t)run->rank;
    espi_status status = espi_stats_collect(report);
    if (status == ESPI_OK)
        status = espi_stats_collect_collectives(report);
    if (status == ESPI_OK)
        status = read_command(&report->command, &report->command_len);
    if (status != ESPI_OK)
        goto fail;
    if (run->few_on_node)
        report->counter[ESPI_COUNT_left_one_node].sum = gather_calls(report);
    gethostname(host, sizeof host - 1);
    if (espi_stats_merges(run) || run->ranks == 1)
        snprintf(scope, sizeof scope, "all ranks");
    else
        snprintf(scope, sizeof scope, "rank %d", run->rank);
    report->mpi = strdup(run->mpi != NULL ? run->mpi : "");
    report->scope = strdup(scope);
    report->host = calloc(1, sizeof *report->host);
    if (report->host != NULL)
        report->host[0] = (struct espi_report_host){strdup(host), 1};
    if (report->mpi == NULL || report->scope == NULL || report->host == NULL || report->host[0].name == NULL) {
        status = ESPI_ERR_MEMORY;
        goto fail;
    }
    report->hosts = 1;
    report->settings = *run->settings;
    report->ranks = (uint64_t)run->ranks;
    report->reporting = 1;
    report->started = started_seconds;
    report->elapsed_ns = espi_stats_now() - started_ns;
    report->complete = true;
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        set_extremes(&report->counter[i], report->rank);
    for (size_t i = 0; i < report->functions; i++)
        set_extremes(&report->calls[i], report->rank);
    return ESPI_OK;
fail:
    espi_report_release(report);
    return status;
}
