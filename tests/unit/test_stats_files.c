/* Statistics: their files, whatever happens to the run and the disk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_stats.h"
#include "stats/path.h"

static char folder[] = "/tmp/espalier-stats-XXXXXX";

START_TEST(file_names)
{
    char out[32];
    ck_assert_int_eq(espi_stats_path("a%j-%p%%.json", "x/y", 12, out, sizeof out), ESPI_OK);
    ck_assert_str_eq(out, "ax_y-12%.json");
    ck_assert_int_eq(espi_stats_path("a%q", "x", 1, out, sizeof out), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(espi_stats_path("a%", "x", 1, out, sizeof out), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(espi_stats_path("%j%j%j", "0123456789ab", 1, out, sizeof out), ESPI_ERR_LIMIT);
}
END_TEST

static int lines_on_stderr(void (*act)(const char *), const char *arg)
{
    char name[64], buf[4096];
    snprintf(name, sizeof name, "%s/stderr", folder);
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), saved = dup(2);
    ck_assert_int_ge(file, 0);
    dup2(file, 2);
    act(arg);
    dup2(saved, 2);
    close(saved);
    ssize_t len = pread(file, buf, sizeof buf - 1, 0);
    close(file);
    int lines = 0;
    for (ssize_t i = 0; i < len; i++)
        lines += buf[i] == '\n';
    return lines;
}

static void whole_run(const char *stats)
{
    struct espi_report report;
    espi_stats_start(stats_name, 3);
    espi_settings_defaults(&stats_settings);
    ck_assert_int_eq(espi_settings_set(&stats_settings, ESPI_SETTING_stats, stats), ESPI_OK);
    struct espi_stats_run run = run_of(0, 2, true);
    espi_stats_open(&run);
    espi_stats_slow_path();
    ck_assert(espi_stats_wanted());
    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    espi_stats_close(&report);
    espi_stats_close(&report); /* the second end of a run does nothing */
    espi_report_release(&report);
}

START_TEST(file_is_written_and_renamed)
{
    char name[128], want[128], partial[160];
    snprintf(name, sizeof name, "%s/run-%%j.json", folder);
    snprintf(want, sizeof want, "%s/run-job_7.json", folder);
    snprintf(partial, sizeof partial, "%s.partial", want);
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 0);
    ck_assert_int_eq(access(want, R_OK), 0);
    ck_assert_int_ne(access(partial, F_OK), 0);
    json_error_t error;
    json_t *root = json_load_file(want, 0, &error);
    ck_assert_ptr_nonnull(root);
    ck_assert(json_is_true(json_object_get(root, "complete")));
    json_decref(root);
    unlink(want);
}
END_TEST

static void dying_run(const char *stats)
{
    espi_stats_start(stats_name, 3);
    espi_settings_defaults(&stats_settings);
    ck_assert_int_eq(espi_settings_set(&stats_settings, ESPI_SETTING_stats, stats), ESPI_OK);
    struct espi_stats_run run = run_of(1, 2, false);
    espi_stats_open(&run);
    espi_stats_reset_run();
}

START_TEST(partial_stays_when_a_run_dies)
{
    char name[128], partial[160];
    snprintf(name, sizeof name, "%s/dies", folder);
    snprintf(partial, sizeof partial, "%s.rank1.partial", name);
    ck_assert_int_eq(lines_on_stderr(dying_run, name), 0);
    json_error_t error;
    json_t *root = json_load_file(partial, 0, &error);
    ck_assert_ptr_nonnull(root);
    ck_assert(json_is_false(json_object_get(root, "complete")));
    ck_assert_str_eq(json_string_value(json_object_get(root, "scope")), "rank 1");
    json_decref(root);
    unlink(partial);
}
END_TEST

START_TEST(bad_places_give_one_warning)
{
    char name[4][ESPI_SETTING_TEXT];
    snprintf(name[0], sizeof name[0], "%s/no/such/folder/x", folder);
    snprintf(name[1], sizeof name[1], "%s", folder);
    snprintf(name[2], sizeof name[2], "%s/a%%q", folder);
    snprintf(name[3], sizeof name[3], "%s/", folder);
    memset(name[3] + strlen(name[3]), 'n', 300); /* a name longer than file systems take */
    for (int i = 0; i < 4; i++)
        ck_assert_msg(lines_on_stderr(whole_run, name[i]) == 1, "%s", name[i]);
    ck_assert_int_eq(lines_on_stderr(whole_run, "/dev/null"), 0);
    struct stat status;
    ck_assert_int_eq(stat("/dev/null", &status), 0);
    ck_assert(S_ISCHR(status.st_mode));
    ck_assert_int_eq(lines_on_stderr(whole_run, "/dev/full"), 1); /* a full disk */
}
END_TEST

START_TEST(file_size_limit_is_survived)
{
    char name[128], partial[160];
    struct rlimit before, small;
    snprintf(name, sizeof name, "%s/limited", folder);
    snprintf(partial, sizeof partial, "%s.partial", name);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 512; /* SIGXFSZ would end the process */
    setrlimit(RLIMIT_FSIZE, &small);
    int lines = lines_on_stderr(whole_run, name);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(lines, 1);
    ck_assert_int_ne(access(name, F_OK), 0);
    ck_assert_int_ne(access(partial, F_OK), 0);
    strcat(partial, "~");
    ck_assert_int_ne(access(partial, F_OK), 0);
}
END_TEST

static json_int_t elapsed_in(const char *name)
{
    json_error_t error;
    json_t *root = json_load_file(name, 0, &error);
    ck_assert_ptr_nonnull(root);
    json_int_t elapsed = json_integer_value(json_object_get(root, "elapsed_ns"));
    json_decref(root);
    return elapsed;
}

START_TEST(partial_is_rewritten_when_it_is_due)
{
    char name[128], partial[160];
    snprintf(name, sizeof name, "%s/due", folder);
    snprintf(partial, sizeof partial, "%s.partial", name);
    espi_stats_start(stats_name, 3);
    espi_settings_defaults(&stats_settings);
    ck_assert_int_eq(espi_settings_set(&stats_settings, ESPI_SETTING_stats, name), ESPI_OK);
    struct espi_stats_run run = run_of(0, 1, true);
    espi_stats_open(&run);
    json_int_t first = elapsed_in(partial);
    espi_stats_slow_path();
    ck_assert(elapsed_in(partial) == first);
    usleep(2100 * 1000); /* the first interval is 2 s */
    espi_stats_slow_path();
    json_int_t second = elapsed_in(partial);
    ck_assert(second > first + 2000000000);
    usleep(1000);
    espi_stats_slow_path(); /* the next one is longer */
    ck_assert(elapsed_in(partial) == second);
    espi_stats_reset_run();
    unlink(partial);
}
END_TEST

bool add_files(TCase *all)
{
    if (mkdtemp(folder) == NULL)
        return false;
    tcase_add_test(all, file_names);
    tcase_add_test(all, file_is_written_and_renamed);
    tcase_add_test(all, partial_stays_when_a_run_dies);
    tcase_add_test(all, bad_places_give_one_warning);
    tcase_add_test(all, file_size_limit_is_survived);
    tcase_add_test(all, partial_is_rewritten_when_it_is_due);
    return true;
}

void end_files(void)
{
    char name[64];
    snprintf(name, sizeof name, "%s/stderr", folder);
    unlink(name);
    rmdir(folder);
}
