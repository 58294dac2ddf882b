/* espalier info: what is installed, what stands in the environment, and whether a program would use it. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/settings.h"
#include "cli/cli.h"
#include "cli/elf.h"
#include "cli/sanitizer.h"

static int take_program(const char *value, void *request)
{
    const char **program = request;
    if (*program != NULL)
        return cli_usage("expected one program, found '%s' after it", value);
    *program = value;
    return CLI_OK;
}

static const struct cli_spec spec = {
    .command = "info",
    .operands = "[PROGRAM]",
    .summary = "Shows the version, the MPI library Espalier is built for and where its libraries stand. With "
               "PROGRAM: whether Espalier would be active in it (exit code 1 if not).",
    .rows = (const struct cli_row[]){{.option = {NULL, NULL, NULL}}},
    .operand = take_program,
    .notes = "Programs that load MPI while they run (Python, Julia) show no MPI library here and may still use it. "
             "Of a script the program that runs it is shown.",
};

static bool show_library(const char *folder, const char *name, const char *what)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    bool found = access(path, R_OK) == 0;
    printf("%-12s %s%s\n", what, path, found ? "" : "  (not found)");
    return found;
}

static bool is_mpi(const char *library)
{
    return strncmp(library, "libmpi", 6) == 0 && strncmp(library, "libmpi_", 7) != 0 &&
           strncmp(library, "libmpifort", 10) != 0 && strncmp(library, "libmpichfort", 12) != 0 &&
           strncmp(library, "libmpicxx", 9) != 0 && strncmp(library, "libmpichcxx", 11) != 0;
}

/* What the loader says of a program. */
struct loaded {
    bool starts;
    char mpi[PATH_MAX];  /* the MPI library's name, "" without one */
    char path[PATH_MAX]; /* and where it stands */
    char said[PATH_MAX]; /* why it does not start */
};

/* One line of the loader's list: "\tNAME => PATH (ADDRESS)", or what it complains of. */
static void take_line(char *line, struct loaded *loaded)
{
    char *name = line + 1, *path = strstr(line, " => ");

    line[strcspn(line, "\n")] = '\0';
    if (line[0] != '\t' || (path != NULL && strcmp(path, " => not found") == 0)) {
        /* It goes on where it could not: without a library, and without a version of one. */
        if (line[0] == '\t' || strstr(line, ": version `") != NULL)
            loaded->starts = false;
        snprintf(loaded->said, sizeof loaded->said, "%s", line + (line[0] == '\t'));
        return;
    }
    name[strcspn(name, " ")] = '\0';
    if (path == NULL || !is_mpi(name) || (loaded->mpi[0] != '\0' && strcmp(name, ESPALIER_MPI_SONAME) != 0))
        return;
    path += strlen(" => ");
    char *address = strstr(path, " (0x");
    if (address != NULL)
        *address = '\0';
    snprintf(loaded->mpi, sizeof loaded->mpi, "%s", name);
    snprintf(loaded->path, sizeof loaded->path, "%s", path);
}

/* Asks the loader itself: it follows LD_LIBRARY_PATH and what libraries need in their turn (a program linked only to
   ScaLAPACK, say, needs MPI through it). Of several MPI libraries (a tool may be named like one) the one that
   Espalier is built for counts, else the first. */
static void ask_loader(const char *loader, const char *program, struct loaded *loaded)
{
    char line[PATH_MAX];
    int ends[2], status = -1;

    *loaded = (struct loaded){.starts = false, .said = "its loader cannot be asked"};
    if (pipe(ends) != 0)
        return;
    signal(SIGCHLD, SIG_DFL); /* where whoever started this ignores it, no status could be waited for */
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        unsetenv("LD_PRELOAD");
        execl(loader, loader, "--list", program, (char *)NULL);
        dprintf(STDOUT_FILENO, "%s: %s\n", loader, strerror(errno));
        _exit(CLI_NOT_FOUND);
    }
    close(ends[1]);
    FILE *list = fdopen(ends[0], "r");
    loaded->starts = list != NULL;
    while (list != NULL && fgets(line, sizeof line, list) != NULL)
        take_line(line, loaded);
    if (list != NULL)
        fclose(list);
    else
        close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        loaded->starts = false;
}

/* Whether the library's file holds the version that Espalier is built for, as a text by itself. */
static bool is_our_version(const char *library)
{
    static const char name[] = "MPICH Version:", version[] = ESPALIER_MPICH_VERSION;
    struct cli_text file;
    bool found = false;

    if (!cli_read_text(library, &file))
        return false;
    const char *at = file.data, *end = file.data + file.len;
    while (!found && (at = memmem(at, (size_t)(end - at), version, sizeof version)) != NULL) {
        found = at == file.data || !isgraph((unsigned char)at[-1]);
        at++;
    }
    found = found && memmem(file.data, file.len, name, sizeof name - 1) != NULL;
    free(file.data);
    return found;
}

/* Why the loader would ignore LD_PRELOAD for a program; NULL: it does not. */
static const char *ignores_preload(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return NULL;
    if (((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) ||
        ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getgid()))
        return "it is setuid or setgid";
    /* Root has all capabilities anyway. */
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0 ? "it has file capabilities" : NULL;
}

static void show_sanitizers(const struct cli_elf *elf)
{
    for (size_t i = 0; i < elf->n; i++) {
        const char *name = elf->needed[i];
        if (cli_is_sanitizer(name, strlen(name)))
            printf("sanitizer    %s%s\n", name,
                   cli_minds_order(name, strlen(name))
                       ? "  (needs ASAN_OPTIONS=" CLI_ANY_ORDER ", which 'espalier run' sets)"
                       : "");
    }
}

/* The program that runs a script: the one that its first line names, or that `env` would find for it. */
static bool find_interpreter(const struct cli_elf *elf, char *path, size_t size)
{
    const char *base = strrchr(elf->interpreter, '/');
    char words[sizeof elf->argument], *rest = NULL, *word = NULL;

    if (strcmp(base != NULL ? base + 1 : elf->interpreter, "env") == 0) {
        memcpy(words, elf->argument, sizeof words);
        word = strtok_r(words, " \t", &rest);
        while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL)) /* options, variables */
            word = strtok_r(NULL, " \t", &rest);
    }
    if (word != NULL)
        return cli_find_program(word, path, size);
    snprintf(path, size, "%s", elf->interpreter); /* of which no folder is searched for */
    return access(path, X_OK) == 0;
}

static int say_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int say_no(const char *format, ...)
{
    va_list arguments;
    printf("active       no: ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    return CLI_FAILURE;
}

/* The verdict on a program that the loader starts. `scripts` as below. */
static int judge_dynamic(const char *path, const struct cli_elf *elf, bool installed, int scripts)
{
    struct loaded loaded;

    show_sanitizers(elf);
    ask_loader(elf->interpreter, path, &loaded);
    if (!loaded.starts)
        return say_no("it does not start: %s", loaded.said);
    const char *why = ignores_preload(path), *off = getenv("ESPALIER");
    if (why != NULL)
        return say_no("%s, and the loader ignores LD_PRELOAD for such programs", why);
    if (!installed)
        return say_no("the libraries above are missing");
    if (off != NULL && strcmp(off, "0") == 0)
        return say_no("ESPALIER=0 is set");
    if (loaded.mpi[0] == '\0') {
        printf("needs        no MPI library\n");
        printf("active       only if it%s loads %s while it runs\n",
               scripts > 0 ? ", or a program that the script starts," : "", ESPALIER_MPI_SONAME);
        return scripts > 0 ? CLI_OK : CLI_FAILURE;
    }
    printf("needs        %s (%s)\n", loaded.mpi, loaded.path);
    if (strcmp(loaded.mpi, ESPALIER_MPI_SONAME) != 0)
        return say_no("Espalier is built for %s", ESPALIER_MPI_SONAME);
    if (!is_our_version(loaded.path))
        return say_no("%s is not of MPICH %s, which Espalier is built for", loaded.path, ESPALIER_MPICH_VERSION);
    printf("active       yes, under 'espalier run'\n");
    return CLI_OK;
}

/* Prints the verdict. `scripts`: so many lead to this program, each run by the next. */
static int print_verdict(const char *path, const struct cli_elf *elf, bool installed, int scripts)
{
    enum { SCRIPTS_MOST = 5 }; /* as in Linux */
    char next[PATH_MAX];
    struct cli_elf runs;

    if (access(path, X_OK) != 0)
        return say_no("%s cannot be run: %s", path, strerror(errno));
    switch (elf->kind) {
    case CLI_PROGRAM_SCRIPT:
        if (scripts == SCRIPTS_MOST || !find_interpreter(elf, next, sizeof next))
            return say_no("nothing runs this script: %s %s", elf->interpreter, elf->argument);
        printf("run by       %s\n", next);
        if (!cli_elf_read(next, &runs))
            return CLI_FAILURE;
        const int code = print_verdict(next, &runs, installed, scripts + 1);
        free(runs.needed);
        return code;
    case CLI_PROGRAM_STATIC:
        return say_no("it is linked statically, so nothing can be preloaded");
    case CLI_PROGRAM_OTHER:
        return say_no("it is not an executable of this machine");
    case CLI_PROGRAM_DYNAMIC:
        break;
    }
    return judge_dynamic(path, elf, installed, scripts);
}

int espi_cli_info(int argc, char **argv)
{
    const char *program = NULL;
    char folder[PATH_MAX], path[PATH_MAX];

    int code = cli_take_all(&spec, argc, argv, &program);
    if (code != CLI_OK)
        return code;
    printf("version      %s\n", PACKAGE_VERSION);
    printf("MPI          MPICH %s (%s)\n", ESPALIER_MPICH_VERSION, ESPALIER_MPI_SONAME);
    cli_library_folder(folder, sizeof folder);
    bool installed = show_library(folder, CLI_STUB, "stub");
    installed = show_library(folder, CLI_CORE, "core") && installed;
    const char *preload = getenv("LD_PRELOAD");
    printf("LD_PRELOAD   %s\n", preload != NULL && *preload != '\0' ? preload : "(not set)");
    if (program == NULL)
        return CLI_OK;

    struct cli_elf elf;
    if (!cli_find_program(program, path, sizeof path))
        return cli_program_missing(program);
    printf("program      %s\n", path);
    if (!cli_elf_read(path, &elf))
        return CLI_FAILURE;
    code = print_verdict(path, &elf, installed, 0);
    free(elf.needed);
    return code;
}
