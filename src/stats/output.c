/* Where the statistics go: file name, .partial during the run, the file and the summary at its end. Whatever goes
   wrong here is one warning and no statistics, never anything to the program. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/table.h"
#include "stats/path.h"
#include "stats/report.h"

#define FIRST_INTERVAL UINT64_C(2000000000)
#define LONGEST_INTERVAL UINT64_C(60000000000)
#define SHARE 1000 /* writing .partial may take one part in so many of the run's time */

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below but the next line */
static _Atomic uint64_t next_due = UINT64_MAX;                  /* UINT64_MAX: nothing to write */
static bool is_open; /* a run is, of which something is to be told; the rest holds only then */
static struct espi_settings run_settings ESPI_TABLE;
static struct espi_stats_run run;
static char file_name[ESPI_SETTING_TEXT + 512] ESPI_TABLE; /* as it was given; empty: no file */
static struct espi_file_place place ESPI_TABLE; /* where that leads */
static bool direct; /* to a device or a descriptor (/dev/null, /dev/stderr): no .partial, no rename */
static uint64_t interval;

static void give_up(const char *what)
{
    espi_log(ESPI_LOG_WARN, "statistics cannot be written to %s: %s%s%s", file_name, what, what[0] ? ": " : "",
             strerror(errno));
    file_name[0] = '\0';
    atomic_store(&next_due, UINT64_MAX);
}

/* Under the lock. A reader, or a run that dies half-way, finds the old or the new contents as a whole. */
static void write_report(const struct espi_report *report, bool final)
{
    static char partial[sizeof place.name + 16] ESPI_TABLE, fresh[sizeof partial + 16] ESPI_TABLE;
    struct espi_buffer bytes = ESPI_BUFFER_INIT;

    if (file_name[0] == '\0' || (direct && !final))
        return;
    snprintf(partial, sizeof partial, "%s.partial", place.name);
    fresh[0] = '\0';
    if (espi_report_json(report, &bytes) != ESPI_OK) {
        errno = ENOMEM;
        if (final) /* a .partial that there is no memory for now is left out */
            give_up("");
    } else if (direct) {
        if (!espi_file_append(&place, bytes.data, bytes.len))
            give_up("");
    } else {
        int file = espi_file_new(partial, 0666, fresh, sizeof fresh);
        bool made = file >= 0, written = made && espi_file_fill(file, bytes.data, bytes.len);
        if (!written || rename(fresh, partial) != 0) {
            int error = errno;
            if (made)
                unlink(fresh);
            errno = error;
            give_up("");
        } else if (final && rename(partial, place.name) != 0) {
            give_up("its .partial cannot be renamed");
        }
    }
    espi_buffer_release(&bytes);
}

static bool is_per_rank(const struct espi_stats_run *new_run)
{
    return espi_stats_path_per_rank(new_run->settings->stats);
}

bool espi_stats_merges(const struct espi_stats_run *new_run)
{
    return new_run->all_present && !is_per_rank(new_run);
}

/* One file, or one summary, for each of 100,000 ranks is of no use to anybody who did not ask for it. */
static bool is_sampled(const struct espi_stats_run *new_run)
{
    return new_run->rank % ((new_run->ranks - 1) / ESPI_STATS_ALONE + 1) == 0;
}

bool espi_stats_is_writer(const struct espi_stats_run *new_run)
{
    if (espi_stats_merges(new_run))
        return new_run->rank == 0;
    return is_per_rank(new_run) || is_sampled(new_run);
}

/* The state so far of this process alone; under the lock. */
static void write_partial(void)
{
    struct espi_report report;
    if (espi_report_take(&report, &run) != ESPI_OK)
        return;
    char scope[64];
    snprintf(scope, sizeof scope, "rank %d", run.rank);
    char *copy = strdup(scope);
    if (copy != NULL) {
        free(report.scope);
        report.scope = copy;
    }
    report.complete = false;
    espi_report_finish(&report);
    write_report(&report, false);
    espi_report_release(&report);
}

/* Finds the file, its kind included. A rank that works for itself has a file of its own, but for a device. */
static bool name_file(void)
{
    char number[32];
    const char *job = run.job != NULL ? run.job : espi_stats_job();

    snprintf(number, sizeof number, "%ld", (long)getpid());
    espi_status named = espi_stats_path(run_settings.stats, job != NULL ? job : number, (long)getpid(), run.rank,
                                        file_name, sizeof file_name - 32);
    if (named != ESPI_OK) {
        const char *why = named == ESPI_ERR_SYNTAX ? "after % expected j, p, r or %"
                                                   : "too long with %j, %p, %r filled in";
        espi_log(ESPI_LOG_WARN, "ESPALIER_STATS=%s cannot be used: %s; no statistics are written", run_settings.stats,
                 why);
        file_name[0] = '\0';
        return false;
    }
    espi_file_find(file_name, &place);
    direct = place.kind == ESPI_FILE_DEVICE || place.kind == ESPI_FILE_DESCRIPTOR;
    if (!espi_stats_merges(&run) && !is_per_rank(&run) && run.ranks > 1 && !direct) {
        snprintf(file_name + strlen(file_name), 32, ".rank%d", run.rank);
        espi_file_find(file_name, &place);
        direct = place.kind == ESPI_FILE_DEVICE || place.kind == ESPI_FILE_DESCRIPTOR;
    }
    if (direct || place.kind == ESPI_FILE_PLAIN)
        return true;
    espi_log(ESPI_LOG_WARN, "statistics cannot be written to %s: %s", file_name,
             place.kind == ESPI_FILE_FOLDER ? "it is a folder" : place.error ? strerror(place.error) : place.why);
    file_name[0] = '\0';
    return false;
}

void espi_stats_open(const struct espi_stats_run *new_run)
{
    pthread_mutex_lock(&output_lock);
    is_open = new_run->settings->stats[0] != '\0' || new_run->settings->summary;
    if (is_open && !espi_stats_merges(new_run) && !espi_stats_is_writer(new_run)) {
        espi_log(ESPI_LOG_INFO, "rank %d works alone and writes no statistics: of more than %d ranks only some do; "
                 "with %%r in ESPALIER_STATS each does", new_run->rank, ESPI_STATS_ALONE);
        is_open = false;
    }
    atomic_store(&next_due, UINT64_MAX);
    if (is_open) {
        run_settings = *new_run->settings;
        run = *new_run;
        run.settings = &run_settings;
        file_name[0] = '\0';
    }
    if (is_open && run_settings.stats[0] != '\0' && espi_stats_is_writer(&run) && name_file()) {
        uint64_t before = espi_stats_now();
        write_partial();
        uint64_t after = espi_stats_now();
        espi_count_anywhere(ESPI_COUNT_time_statistics, after - before);
        interval = FIRST_INTERVAL;
        if (file_name[0] != '\0' && !direct)
            atomic_store(&next_due, after + interval);
    }
    pthread_mutex_unlock(&output_lock);
}

void espi_stats_slow_path(void)
{
    uint64_t due = atomic_load_explicit(&next_due, memory_order_relaxed);
    if (due == UINT64_MAX)
        return;
    uint64_t now = espi_stats_now();
    /* Who takes the due time writes; the others go on. */
    if (now < due || !atomic_compare_exchange_strong(&next_due, &due, UINT64_MAX))
        return;
    pthread_mutex_lock(&output_lock);
    if (is_open && file_name[0] != '\0') {
        write_partial();
        uint64_t after = espi_stats_now();
        espi_count_anywhere(ESPI_COUNT_time_statistics, after - now);
        interval = 2 * interval < LONGEST_INTERVAL ? 2 * interval : LONGEST_INTERVAL;
        uint64_t wait = (after - now) * SHARE;
        if (file_name[0] != '\0')
            atomic_store(&next_due, after + (wait > interval ? wait : interval));
    }
    pthread_mutex_unlock(&output_lock);
}

bool espi_stats_wanted(void)
{
    pthread_mutex_lock(&output_lock);
    bool wanted = is_open;
    pthread_mutex_unlock(&output_lock);
    return wanted;
}

void espi_stats_close(const struct espi_report *report)
{
    struct espi_buffer text = ESPI_BUFFER_INIT;

    pthread_mutex_lock(&output_lock);
    if (is_open) {
        atomic_store(&next_due, UINT64_MAX);
        write_report(report, true);
        if (run_settings.summary && (espi_stats_merges(&run) || is_sampled(&run)) &&
            espi_report_summary(report, &text) == ESPI_OK)
            espi_log_text(text.data, text.len);
        espi_buffer_release(&text);
        is_open = false;
    }
    pthread_mutex_unlock(&output_lock);
}

void espi_stats_reset_run(void)
{
    pthread_mutex_lock(&output_lock);
    is_open = false;
    atomic_store(&next_due, UINT64_MAX);
    pthread_mutex_unlock(&output_lock);
}
