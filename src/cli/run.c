/* espalier run: puts libespalier.so first in LD_PRELOAD (but for sanitizers) and becomes the program. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "job/hydra.h"
#include "base/settings.h"
#include "cli/cli.h"
#include "cli/readmodel.h"
#include "cli/sanitizer.h"

/* Lists a value that an option has set, for whoever asks where settings come from. */
static int note_option(enum espi_setting which, const char *value)
{
    const char *old = getenv(ESPI_SETTINGS_RUN);
    char word[128];

    espi_settings_run_word(which, value, word, sizeof word);
    size_t size = (old != NULL ? strlen(old) : 0) + strlen(word) + 2;
    char *words = malloc(size);
    if (words == NULL)
        return cli_fail("no memory");
    snprintf(words, size, "%s%s%s", old != NULL ? old : "", old != NULL && *old != '\0' ? " " : "", word);
    int code = setenv(ESPI_SETTINGS_RUN, words, 1) == 0 ? CLI_OK
                                                        : cli_fail("%s: %s", ESPI_SETTINGS_RUN, strerror(errno));
    free(words);
    return code;
}

/* Puts a checked value into the environment that the program will see. */
static int put_setting(const char *variable, const char *value)
{
    struct espi_settings settings;
    enum espi_setting which = espi_settings_find(variable);
    char expected[ESPI_SETTING_EXPECTED], canonical[ESPI_SETTING_TEXT];

    if (which == ESPI_SETTING_COUNT) {
        const char *near = espi_settings_nearest(variable, strlen(variable));
        return near != NULL ? cli_usage("--set: unknown setting '%s'; did you mean %s?", variable, near)
                            : cli_usage("--set: unknown setting '%s'; 'espalier settings' lists them", variable);
    }
    espi_settings_defaults(&settings);
    if (espi_settings_set(&settings, which, value) != ESPI_OK)
        return cli_usage("--set: %s=%s: expected %s", variable, value,
                         espi_settings_expected(which, expected, sizeof expected));
    if (setenv(variable, value, 1) != 0)
        return cli_fail("%s: %s", variable, strerror(errno));
    espi_settings_value(&settings, which, canonical, sizeof canonical);
    return note_option(which, canonical);
}

/* By how it begins: elsewhere than on disks every file may be executable. */
static bool is_program(const char *name)
{
    struct stat is;
    char begin[4] = "";
    FILE *file = stat(name, &is) == 0 && S_ISREG(is.st_mode) ? fopen(name, "r") : NULL;

    if (file == NULL)
        return false;
    const size_t n = fread(begin, 1, sizeof begin, file);
    fclose(file);
    return (n >= 2 && memcmp(begin, "#!", 2) == 0) || (n == 4 && memcmp(begin, "\177ELF", 4) == 0);
}

static int take_stats(const struct cli_row *row, const char *value, void *request)
{
    (void)row, (void)request;
    if (*value == '\0') /* of a script, perhaps, whose variable was not set */
        return cli_usage("--stats: expected FILE, found ''");
    if (is_program(value))
        return cli_usage("--stats: expected FILE, found a program: '%s'", value); /* that would be overwritten */
    return put_setting("ESPALIER_STATS", value);
}

static int take_summary(const struct cli_row *row, const char *value, void *request)
{
    (void)row, (void)value, (void)request;
    return put_setting("ESPALIER_SUMMARY", "1");
}

static int take_all(const struct cli_row *row, const char *value, void *request)
{
    (void)row, (void)value, (void)request;
    return put_setting("ESPALIER_WORLD", "all");
}

static int take_pair(const struct cli_row *row, const char *value, void *request)
{
    char variable[128];
    size_t len = strcspn(value, "=");

    (void)row, (void)request;
    if (value[len] != '=')
        return cli_usage("--set: expected NAME=VALUE, found '%s'", value);
    snprintf(variable, sizeof variable, "%.*s", len < sizeof variable ? (int)len : (int)sizeof variable - 1, value);
    return put_setting(variable, value + len + 1);
}

/* The program and its arguments are the last words; `request` counts them. */
static int take_word(const char *value, void *request)
{
    (void)value;
    ++*(int *)request;
    return CLI_OK;
}

static const struct cli_spec spec = {
    .command = "run",
    .operands = "PROGRAM [ARGUMENT...]",
    .summary = "Puts Espalier into LD_PRELOAD and becomes PROGRAM. Stands after the launcher and its options: "
               "mpiexec -n 4 espalier run ./program",
    .rows =
        (const struct cli_row[]){
            {.option = {"--stats", "FILE", "write statistics to FILE at the end (ESPALIER_STATS); %j stands for the "
                                           "job, %p for the process id of the writing rank, %r for the "
                                           "rank (a file for each)"},
             .take = take_stats},
            {.option = {"--summary", NULL, "print a short summary on stderr at the end (ESPALIER_SUMMARY=1)"},
             .take = take_summary},
            {.option = {"--all", NULL, "promise that every rank runs under Espalier (ESPALIER_WORLD=all), where the "
                                       "launcher does not tell"},
             .take = take_all},
            {.option = {"--set", "NAME=VALUE",
                        "set any setting; 'espalier settings' lists them; may be repeated"},
             .take = take_pair},
            {.option = {NULL, NULL, NULL}},
        },
    .operand = take_word,
    .notes = "Ends as PROGRAM does; 126 when PROGRAM cannot be run, 127 when it is not found.",
    .stop_at_operand = true,
};

static bool same_file(const char *name, const struct stat *wanted)
{
    struct stat status;
    return stat(name, &status) == 0 && status.st_dev == wanted->st_dev && status.st_ino == wanted->st_ino;
}

/* The loader separates LD_PRELOAD by blanks and colons. */
static bool is_in_preload(const char *list, const char *library)
{
    char name[PATH_MAX];
    struct stat wanted;
    if (stat(library, &wanted) != 0)
        return false;
    while (*list != '\0') {
        size_t len = strcspn(list, ": ");
        if (len > 0 && len < sizeof name) {
            memcpy(name, list, len);
            name[len] = '\0';
            if (strcmp(name, library) == 0 || same_file(name, &wanted))
                return true;
        }
        list += len;
        list += *list != '\0';
    }
    return false;
}

/* How much of a list the runtimes of sanitizers are at its beginning: whoever put them there wants them first. */
static size_t sanitizers_length(const char *list)
{
    size_t used = 0;
    for (;;) {
        size_t from = used + strspn(list + used, ": "), len = strcspn(list + from, ": ");
        if (len == 0 || !cli_is_sanitizer(list + from, len))
            return used;
        used = from + len;
    }
}

static int set_preload(void)
{
    char folder[PATH_MAX], library[PATH_MAX + 32];

    if (!cli_library_folder(folder, sizeof folder))
        return cli_fail("%s/%s: not found; is Espalier installed as it was configured?", folder, CLI_STUB);
    snprintf(library, sizeof library, "%s/%s", folder, CLI_STUB);
    if (strpbrk(folder, ": ") != NULL)
        return cli_fail("%s: LD_PRELOAD cannot hold a path with a blank or a colon; install Espalier elsewhere",
                        library);
    const char *old = getenv("LD_PRELOAD");
    if (old != NULL && is_in_preload(old, library))
        return CLI_OK;
    if (old == NULL)
        old = "";
    size_t size = strlen(library) + strlen(old) + 3, first = sanitizers_length(old);
    const char *rest = old + first + strspn(old + first, ": ");
    char *list = malloc(size);
    if (list == NULL)
        return cli_fail("no memory");
    snprintf(list, size, "%.*s%s%s%s%s", (int)first, old, first > 0 ? ":" : "", library, *rest != '\0' ? ":" : "",
             rest);
    int code = setenv("LD_PRELOAD", list, 1) == 0 ? CLI_OK : cli_fail("LD_PRELOAD: %s", strerror(errno));
    free(list);
    return code;
}

static const char *get_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

/* Hydra ends a job at once: what it has not read by then of what the ranks wrote, and not passed on, is lost. Waits
   until it has read standard error, at most 2 s, and a little longer. */
static void let_it_read(void)
{
    const struct timespec step = {0, 10000000}, rest = {0, 150000000};
    int unread = 0;

    for (int i = 0; i < 200 && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; i++)
        nanosleep(&step, NULL);
    nanosleep(&rest, NULL);
}

/* What is said of a wrong model is an error where the job can be ended. The other ranks of a job wait in MPI_Init for
   one that ends before it: Hydra ends them when told so. Nobody can be told under other launchers, and the program
   starts; it measures what the file would have said. */
static int refuse_model(bool ranks)
{
    static const char abort_job[] = "cmd=abort exitcode=1\n";
    int wire;

    if (espi_hydra_find(&wire)) {
        let_it_read();
        send(wire, abort_job, sizeof abort_job - 1, MSG_NOSIGNAL);
    } else if (ranks) {
        fprintf(stderr, "espalier run: the program starts without this model: other ranks may wait for it\n");
        return CLI_OK;
    }
    return CLI_FAILURE;
}

/* What the program would find: a report that is asked for in vain; and the model file. Only rank 0 writes the one and
   reads the other: on other hosts there need not be one. */
static int check_settings(void)
{
    static const char *const rank_variables[] = {"PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    struct espi_settings settings;
    bool ranks = false;

    for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; i++) {
        const char *rank = getenv(rank_variables[i]);
        if (rank != NULL && strcmp(rank, "0") != 0)
            return CLI_OK;
        ranks = ranks || rank != NULL;
    }
    espi_settings_load(&settings, get_variable, NULL, NULL, NULL);
    if (!settings.enabled && (settings.stats[0] != '\0' || settings.summary))
        fprintf(stderr, "espalier run: ESPALIER=0: no statistics are written, as Espalier does nothing\n");
    if (!settings.enabled || settings.model[0] == '\0' || cli_check_model(settings.model) == CLI_OK)
        return CLI_OK;
    return refuse_model(ranks);
}

int espi_cli_run(int argc, char **argv)
{
    int words = 0, code = cli_take_all(&spec, argc, argv, &words);
    if (code != CLI_OK)
        return code;
    if (words == 0)
        return cli_usage("expected a program to run");
    char **program = argv + argc - words;
    code = check_settings();
    if (code == CLI_OK)
        code = set_preload();
    if (code == CLI_OK)
        code = cli_allow_any_order();
    if (code != CLI_OK)
        return code;
    execvp(program[0], program);
    int error = errno;
    char path[PATH_MAX]; /* a program that is there may lack its interpreter */
    if (error == ENOENT && !cli_find_program(program[0], path, sizeof path))
        cli_program_missing(program[0]);
    else
        cli_fail("%s: %s", program[0], strerror(error));
    return error == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}
