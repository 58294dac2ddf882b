/* espalier info: what is installed, what stands in the environment, and whether a program would use it. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Every library that the loader would map, asked of the loader itself (a program linked only to ScaLAPACK, say, needs
   MPI through it). `found` gets the MPI library's name; false when there is none. */
static bool ask_loader(const char *loader, const char *program, char *found, size_t size)
{
    char line[PATH_MAX];
    int ends[2];
    bool any = false;

    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        unsetenv("LD_PRELOAD");
        execl(loader, loader, "--list", program, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *list = fdopen(ends[0], "r");
    while (child > 0 && list != NULL && fgets(line, sizeof line, list) != NULL) {
        char *name = line + strspn(line, " \t");
        name[strcspn(name, " \t\n")] = '\0';
        if (is_mpi(name) && (!any || strcmp(name, ESPALIER_MPI_SONAME) == 0)) {
            snprintf(found, size, "%s", name);
            any = true;
        }
    }
    if (list != NULL)
        fclose(list);
    return any;
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
    return cli_find_program(word != NULL ? word : elf->interpreter, path, size);
}

/* Prints the verdict. `scripts`: so many lead to this program, each run by the next. */
static int print_verdict(const char *path, const struct cli_elf *elf, bool installed, int scripts)
{
    enum { SCRIPTS_MOST = 5 }; /* as in Linux */
    char library[128] = "", next[PATH_MAX];
    struct stat status;
    struct cli_elf runs;

    switch (elf->kind) {
    case CLI_PROGRAM_SCRIPT:
        if (scripts == SCRIPTS_MOST || !find_interpreter(elf, next, sizeof next)) {
            printf("active       no: nothing runs this script: %s %s\n", elf->interpreter, elf->argument);
            return CLI_FAILURE;
        }
        printf("run by       %s\n", next);
        if (!cli_elf_read(next, &runs))
            return CLI_FAILURE;
        const int code = print_verdict(next, &runs, installed, scripts + 1);
        free(runs.needed);
        return code;
    case CLI_PROGRAM_STATIC:
        printf("active       no: it is linked statically, so nothing can be preloaded\n");
        return CLI_FAILURE;
    case CLI_PROGRAM_OTHER:
        printf("active       no: it is not an executable of this machine\n");
        return CLI_FAILURE;
    case CLI_PROGRAM_DYNAMIC:
        break;
    }
    show_sanitizers(elf);
    for (size_t i = 0; i < elf->n && library[0] == '\0'; i++)
        if (is_mpi(elf->needed[i]))
            snprintf(library, sizeof library, "%s", elf->needed[i]);
    if (library[0] == '\0' && !ask_loader(elf->interpreter, path, library, sizeof library)) {
        printf("needs        no MPI library\n");
        printf("active       only if it%s loads %s while it runs\n",
               scripts > 0 ? ", or a program that the script starts," : "", ESPALIER_MPI_SONAME);
        return scripts > 0 ? CLI_OK : CLI_FAILURE;
    }
    printf("needs        %s\n", library);
    if (strcmp(library, ESPALIER_MPI_SONAME) != 0) {
        printf("active       no: Espalier is built for %s\n", ESPALIER_MPI_SONAME);
        return CLI_FAILURE;
    }
    if (stat(path, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0) {
        printf("active       no: it is setuid or setgid, and the loader ignores LD_PRELOAD for such programs\n");
        return CLI_FAILURE;
    }
    if (!installed) {
        printf("active       no: the libraries above are missing\n");
        return CLI_FAILURE;
    }
    const char *off = getenv("ESPALIER");
    if (off != NULL && strcmp(off, "0") == 0) {
        printf("active       no: ESPALIER=0 is set\n");
        return CLI_FAILURE;
    }
    printf("active       yes, under 'espalier run'\n");
    return CLI_OK;
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
