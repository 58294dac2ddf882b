/* Blocks per thread and the table of planned types. The lock guards the lists, never a count. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stats/snapshot.h"

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
} shared;

static struct espi_stats_type types[ESPI_STATS_TYPES];
static struct espi_stats_type other_types; /* what the table has no room for */
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

void espi_stats_clock(int64_t *started, uint64_t *elapsed_ns)
{
    *started = started_seconds;
    *elapsed_ns = espi_stats_now() - started_ns;
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
    atomic_fetch_add_explicit(&anywhere[which], n, memory_order_relaxed);
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

static espi_status take_type(struct espi_report_type *out, const struct espi_stats_type *record)
{
    out->key = record->key;
    out->uses = atomic_load_explicit(&record->uses, memory_order_relaxed);
    out->elements = atomic_load_explicit(&record->elements, memory_order_relaxed);
    out->bytes = atomic_load_explicit(&record->bytes, memory_order_relaxed);
    out->ranks = 1;
    out->facts = record->facts;
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
            status = take_type(&report->type[report->types], &types[i]);
            if (status == ESPI_OK)
                report->types++;
        }
    report->other_types = atomic_load_explicit(&other_seen, memory_order_relaxed);
    report->other_uses = atomic_load_explicit(&other_types.uses, memory_order_relaxed);
    report->other_bytes = atomic_load_explicit(&other_types.bytes, memory_order_relaxed);
out:
    pthread_mutex_unlock(&lists_lock);
    return status;
}
