/* Statistics: their files, whatever happens to the run and the disk. */
#include <dirent.h>
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
    ck_assert_int_eq(espi_stats_path("a%j-%p%%-%r.json", "x/y", 12, 3, out, sizeof out), ESPI_OK);
    ck_assert_str_eq(out, "ax_y-12%-3.json");
    ck_assert_int_eq(espi_stats_path("a%q", "x", 1, 0, out, sizeof out), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(espi_stats_path("a%", "x", 1, 0, out, sizeof out), ESPI_ERR_SYNTAX);
    ck_assert_int_eq(espi_stats_path("%j%j%j", "0123456789ab", 1, 0, out, sizeof out), ESPI_ERR_LIMIT);
    ck_assert(espi_stats_path_per_rank("a%j%r"));
    ck_assert(espi_stats_path_per_rank("%%%r"));
    ck_assert(!espi_stats_path_per_rank("%%r%p%"));
    ck_assert(!espi_stats_path_per_rank(""));
}
END_TEST

/* Rank 0 for all where all are there, and each where the name asks for it; else few of many. */
START_TEST(ranks_that_write)
{
    static const int size[] = {1, 2, 63, 64, 65, 127, 128, 129, 1000, 100000, INT32_MAX};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int way = 0; way < 4; way++) {
            const bool whole = way & 1, per_rank = way & 2;
            int writers = 0, many = size[i] < 100000 ? size[i] : 100000;
            espi_settings_defaults(&stats_settings);
            ck_assert_int_eq(espi_settings_set(&stats_settings, ESPI_SETTING_stats, per_rank ? "a%r" : "a"), ESPI_OK);
            for (int rank = 0; rank < many; rank++) {
                struct espi_stats_run run = run_of(rank, size[i], whole);
                ck_assert(espi_stats_merges(&run) == (whole && !per_rank));
                writers += espi_stats_is_writer(&run);
                ck_assert(rank > 0 || espi_stats_is_writer(&run));
            }
            if (per_rank)
                ck_assert_int_eq(writers, many);
            else if (whole)
                ck_assert_int_eq(writers, 1);
            else if (size[i] <= 64)
                ck_assert_int_eq(writers, size[i]);
            else
                ck_assert_msg(writers <= 64 && (writers > 32 || many < size[i]), "%d of %d", writers, size[i]);
        }
    espi_settings_defaults(&stats_settings);
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

static int only_rank, only_ranks;

static void run_of_a_rank(const char *stats)
{
    struct espi_report report;
    espi_stats_start(stats_name, 3);
    espi_settings_defaults(&stats_settings);
    ck_assert_int_eq(espi_settings_set(&stats_settings, ESPI_SETTING_stats, stats), ESPI_OK);
    stats_settings.summary = true;
    struct espi_stats_run run = run_of(only_rank, only_ranks, strstr(stats, "%r") != NULL);
    espi_stats_open(&run);
    ck_assert(espi_stats_wanted() == espi_stats_is_writer(&run));
    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    espi_report_finish(&report);
    espi_stats_close(&report);
    espi_report_release(&report);
}

/* Of 1,000 ranks: a file where the name asks for it, a summary of few. */
START_TEST(files_of_single_ranks)
{
    static const struct {
        int rank;
        const char *name, *want;
        bool file, summary;
    } cases[] = {
        {16, "one", "one.rank16", true, true},
        {17, "one", "one.rank17", false, false},
        {16, "%r.json", "16.json", true, true},
        {17, "%r.json", "17.json", true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[128], want[128], partial[160];
        snprintf(name, sizeof name, "%s/%s", folder, cases[i].name);
        snprintf(want, sizeof want, "%s/%s", folder, cases[i].want);
        snprintf(partial, sizeof partial, "%s.partial", want);
        only_rank = cases[i].rank;
        only_ranks = 1000;
        ck_assert_msg((lines_on_stderr(run_of_a_rank, name) > 0) == cases[i].summary, "summary of case %zu", i);
        ck_assert_int_ne(access(partial, F_OK), 0);
        ck_assert_msg((access(want, F_OK) == 0) == cases[i].file, "file of case %zu", i);
        if (!cases[i].file)
            continue;
        json_error_t error;
        json_t *root = json_load_file(want, 0, &error);
        char scope[32];
        ck_assert_ptr_nonnull(root);
        snprintf(scope, sizeof scope, "rank %d", cases[i].rank);
        ck_assert_str_eq(json_string_value(json_object_get(root, "scope")), scope);
        ck_assert_int_eq(json_integer_value(at(root, "ranks_reporting", NULL)), 1);
        ck_assert_int_eq(json_integer_value(at(root, "ranks_missing", NULL)), 0);
        json_decref(root);
        unlink(want);
    }
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
    DIR *all = opendir(folder);
    ck_assert_ptr_nonnull(all);
    for (struct dirent *one; (one = readdir(all)) != NULL;)
        ck_assert_msg(strncmp(one->d_name, "limited", 7) != 0, "%s is left", one->d_name);
    closedir(all);
}
END_TEST

static bool is_complete(const char *name)
{
    json_error_t error;
    json_t *root = json_load_file(name, 0, &error);
    bool complete = root != NULL && json_is_true(json_object_get(root, "complete"));
    json_decref(root);
    return complete;
}

static char *in_folder(char *name, size_t size, const char *what)
{
    snprintf(name, size, "%s/%s", folder, what);
    return name;
}

static void put_victim(const char *name)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs("precious", file);
    fclose(file);
}

static bool is_unharmed(const char *name)
{
    char found[32] = "";
    FILE *file = fopen(name, "r");
    bool same = file != NULL && fread(found, 1, sizeof found, file) == 8 && memcmp(found, "precious", 8) == 0;
    if (file != NULL)
        fclose(file);
    return same;
}

/* Whoever may write to the folder puts links there under every name that can be known before. */
START_TEST(planted_links_are_not_written_through)
{
    char name[128], victim[128], planted[160], other[160];
    struct stat status;
    in_folder(name, sizeof name, "planted");
    in_folder(victim, sizeof victim, "victim");
    put_victim(victim);
    static const char *const tail[] = {".partial", ".partial~"};
    for (int i = 0; i < 2; i++) {
        snprintf(planted, sizeof planted, "%s%s", name, tail[i]);
        ck_assert_int_eq(symlink(victim, planted), 0);
    }
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 0);
    ck_assert(is_unharmed(victim));
    ck_assert(is_complete(name));
    ck_assert(lstat(name, &status) == 0 && S_ISREG(status.st_mode));
    unlink(planted);
    unlink(name);
    /* A hard link is somebody's file, too. */
    for (int i = 0; i < 2; i++) {
        snprintf(planted, sizeof planted, "%s%s", name, tail[i]);
        ck_assert_int_eq(link(victim, planted), 0);
    }
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 0);
    ck_assert(is_unharmed(victim));
    ck_assert(is_complete(name));
    unlink(planted);
    unlink(name);
    /* The file itself a link: one's own is followed, to the end of a chain; it stays. */
    snprintf(other, sizeof other, "%s-target", name);
    ck_assert_int_eq(symlink(other, name), 0);
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 0);
    ck_assert(lstat(name, &status) == 0 && S_ISLNK(status.st_mode));
    ck_assert(lstat(other, &status) == 0 && S_ISREG(status.st_mode));
    ck_assert(is_complete(other));
    unlink(other);
    if (geteuid() == 0) {
        ck_assert_int_eq(lchown(name, 12345, 12345), 0);
        ck_assert_int_eq(lines_on_stderr(whole_run, name), 1);
        ck_assert_int_ne(access(other, F_OK), 0);
    } else {
        puts("a link of somebody else: only root can make one");
    }
    unlink(name);
    unlink(victim);
}
END_TEST

/* A pipe in the place of any file: nobody waits for its reader. */
START_TEST(pipes_and_folders_are_not_waited_for)
{
    char name[128], partial[160];
    in_folder(name, sizeof name, "pipe");
    snprintf(partial, sizeof partial, "%s.partial", name);
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 1);
    unlink(name);
    ck_assert_int_eq(mkfifo(partial, 0600), 0);
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 0);
    ck_assert(is_complete(name));
    unlink(name);
    ck_assert_int_eq(mkdir(partial, 0700), 0);
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 1);
    ck_assert_int_ne(access(name, F_OK), 0);
    rmdir(partial);
    ck_assert_int_eq(mkdir(name, 0700), 0);
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 1);
    rmdir(name);
}
END_TEST

/* What a run leaves that dies while it writes is in nobody's way. */
START_TEST(files_of_dead_runs_do_not_block)
{
    char name[128], stale[160];
    in_folder(name, sizeof name, "stale");
    static const char *const tail[] = {".partial", ".partial~", ".partial~00000000"};
    for (int i = 0; i < 3; i++) {
        snprintf(stale, sizeof stale, "%s%s", name, tail[i]);
        put_victim(stale);
    }
    ck_assert_int_eq(lines_on_stderr(whole_run, name), 0);
    ck_assert(is_complete(name));
    for (int i = 0; i < 3; i++) {
        snprintf(stale, sizeof stale, "%s%s", name, tail[i]);
        ck_assert_int_eq(access(stale, F_OK) == 0, i > 0);
        unlink(stale);
    }
    unlink(name);
}
END_TEST

static void chdir_run(const char *stats)
{
    struct espi_report report;
    ck_assert_int_eq(chdir(folder), 0);
    espi_stats_start(stats_name, 3);
    espi_settings_defaults(&stats_settings);
    ck_assert_int_eq(espi_settings_set(&stats_settings, ESPI_SETTING_stats, stats), ESPI_OK);
    struct espi_stats_run run = run_of(0, 2, true);
    espi_stats_open(&run);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(espi_report_take(&report, &run), ESPI_OK);
    espi_stats_close(&report);
    espi_report_release(&report);
}

START_TEST(the_folder_is_that_of_the_start)
{
    char name[128], partial[160];
    in_folder(name, sizeof name, "here");
    snprintf(partial, sizeof partial, "%s.partial", name);
    ck_assert_int_eq(lines_on_stderr(chdir_run, "here"), 0);
    ck_assert(is_complete(name));
    ck_assert_int_ne(access(partial, F_OK), 0);
    unlink(name);
}
END_TEST

/* Standard output sent to a file: the statistics stand behind the program's output, not in its place. */
START_TEST(standard_output_is_written_to)
{
    char name[128], link[128], buf[64] = "";
    struct stat before, after;
    in_folder(name, sizeof name, "output");
    in_folder(link, sizeof link, "stdout"); /* as /dev/stdout, which is too dear for a test that fails */
    ck_assert_int_eq(symlink("/proc/self/fd/1", link), 0);
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), saved = dup(1);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, "output\n", 7), 7);
    ck_assert_int_eq(fstat(file, &before), 0);
    fflush(stdout);
    dup2(file, 1);
    int lines = lines_on_stderr(whole_run, link);
    dup2(saved, 1);
    close(saved);
    ck_assert_int_eq(lines, 0);
    ck_assert_int_eq(stat(name, &after), 0);
    ck_assert(before.st_ino == after.st_ino && after.st_size > 1000);
    ck_assert_int_gt(pread(file, buf, sizeof buf - 1, 0), 0);
    ck_assert_msg(strncmp(buf, "output\n{", 8) == 0, "%s", buf);
    ck_assert(lstat(link, &after) == 0 && S_ISLNK(after.st_mode));
    close(file);
    unlink(link);
    unlink(name);
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
    tcase_add_test(all, ranks_that_write);
    tcase_add_test(all, file_is_written_and_renamed);
    tcase_add_test(all, files_of_single_ranks);
    tcase_add_test(all, partial_stays_when_a_run_dies);
    tcase_add_test(all, bad_places_give_one_warning);
    tcase_add_test(all, file_size_limit_is_survived);
    tcase_add_test(all, partial_is_rewritten_when_it_is_due);
    tcase_add_test(all, planted_links_are_not_written_through);
    tcase_add_test(all, pipes_and_folders_are_not_waited_for);
    tcase_add_test(all, files_of_dead_runs_do_not_block);
    tcase_add_test(all, the_folder_is_that_of_the_start);
    tcase_add_test(all, standard_output_is_written_to);
    return true;
}

void end_files(void)
{
    char name[64];
    snprintf(name, sizeof name, "%s/stderr", folder);
    unlink(name);
    rmdir(folder);
}
