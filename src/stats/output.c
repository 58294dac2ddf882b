/* Where the statistics go: file name, .partial during the run, the file and the summary at its end. Whatever goes
   wrong here is one warning and no statistics, never anything to the program. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/log.h"
#include "base/quiet.h"
#include "stats/path.h"
#include "stats/report.h"

#define FIRST_INTERVAL UINT64_C(2000000000)
#define LONGEST_INTERVAL UINT64_C(60000000000)
#define SHARE 1000 /* writing .partial may take one part in so many of the run's time */

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below but the next line */
static _Atomic uint64_t next_due = UINT64_MAX;                  /* UINT64_MAX: nothing to write */
static bool is_open; /* a run is, of which something is to be told; the rest holds only then */
static ESPI_APART struct espi_settings run_settings;
static struct espi_stats_run run;
static ESPI_APART char file_name[ESPI_SETTING_TEXT + 512]; /* empty: no file */
static bool direct;                             /* a device (/dev/null, /dev/stderr): no .partial, no rename */
static uint64_t interval;

/* Creates `name` with these bytes; errno says why not. */
static bool write_file(const char *name, const struct espi_buffer *bytes, int flags)
{
    int file = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
    if (file < 0)
        return false;
    bool good = espi_write_quietly(file, bytes->data, bytes->len);
    int error = errno;
    if (close(file) != 0 && good) { /* a full disk may show only here */
        good = false;
        error = errno;
    }
    errno = error;
    return good;
}

/* Replaces `name` as a whole: a reader, or a run that dies half-way, finds the old or the new contents. */
static bool replace_file(const char *name, const char *with, const struct espi_buffer *bytes)
{
    if (!write_file(with, bytes, O_CREAT | O_TRUNC)) {
        int error = errno;
        unlink(with);
        errno = error;
        return false;
    }
    return rename(with, name) == 0;
}

static void give_up(const char *what)
{
    espi_log(ESPI_LOG_WARN, "statistics cannot be written to %s: %s%s%s", file_name, what, what[0] ? ": " : "",
             strerror(errno));
    file_name[0] = '\0';
    atomic_store(&next_due, UINT64_MAX);
}

/* Under the lock. */
static void write_report(const struct espi_report *report, bool final)
{
    char partial[sizeof file_name + 16], fresh[sizeof file_name + 16];
    struct espi_buffer bytes = ESPI_BUFFER_INIT;

    if (file_name[0] == '\0' || (direct && !final))
        return;
    if (espi_report_json(report, &bytes) != ESPI_OK) {
        errno = ENOMEM;
        give_up("");
    } else if (direct) {
        if (!write_file(file_name, &bytes, O_NONBLOCK | O_APPEND))
            give_up("");
    } else {
        snprintf(partial, sizeof partial, "%s.partial", file_name);
        snprintf(fresh, sizeof fresh, "%s.partial~", file_name);
        if (!replace_file(partial, fresh, &bytes))
            give_up("");
        else if (final && rename(partial, file_name) != 0)
            give_up("its .partial cannot be renamed");
    }
    espi_buffer_release(&bytes);
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
    write_report(&report, false);
    espi_report_release(&report);
}

static bool name_file(void)
{
    char number[32];
    const char *job = run.job != NULL ? run.job : espi_stats_job();
    struct stat status;

    snprintf(number, sizeof number, "%ld", (long)getpid());
    espi_status named = espi_stats_path(run_settings.stats, job != NULL ? job : number, (long)getpid(), file_name,
                                        sizeof file_name - 32);
    if (named != ESPI_OK) {
        const char *why = named == ESPI_ERR_SYNTAX ? "after % expected j, p or %" : "too long with %j, %p filled in";
        espi_log(ESPI_LOG_WARN, "ESPALIER_STATS=%s cannot be used: %s; no statistics are written", run_settings.stats,
                 why);
        file_name[0] = '\0';
        return false;
    }
    bool exists = stat(file_name, &status) == 0;
    direct = exists && S_ISCHR(status.st_mode);
    if (exists && !direct && !S_ISREG(status.st_mode)) {
        espi_log(ESPI_LOG_WARN, "statistics cannot be written to %s: it is not a regular file", file_name);
        file_name[0] = '\0';
        return false;
    }
    if (!run.whole && run.ranks > 1 && !direct)
        snprintf(file_name + strlen(file_name), 32, ".rank%d", run.rank);
    return true;
}

ESPI_EVERY_RUN void espi_stats_open(const struct espi_stats_run *new_run)
{
    pthread_mutex_lock(&output_lock);
    is_open = new_run->settings->stats[0] != '\0' || new_run->settings->summary;
    atomic_store(&next_due, UINT64_MAX);
    if (is_open) {
        run_settings = *new_run->settings;
        run = *new_run;
        run.settings = &run_settings;
        file_name[0] = '\0';
    }
    if (is_open && run_settings.stats[0] != '\0' && (!run.whole || run.rank == 0) && name_file()) {
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

ESPI_EVERY_RUN bool espi_stats_wanted(void)
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
        if (run_settings.summary && espi_report_summary(report, &text) == ESPI_OK)
            espi_log_text(text.data, text.len);
        espi_buffer_release(&text);
        is_open = false;
    }
    pthread_mutex_unlock(&output_lock);
}

ESPI_EVERY_RUN void espi_stats_reset_run(void)
{
    pthread_mutex_lock(&output_lock);
    is_open = false;
    atomic_store(&next_due, UINT64_MAX);
    pthread_mutex_unlock(&output_lock);
}
