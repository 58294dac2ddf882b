/* espalier: chooses the subcommand. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
#define ESPI_COMMAND(name, summary) {#name, summary, espi_cli_##name},
#include "cli/commands.def"
#undef ESPI_COMMAND
};

static void print_help(void)
{
    printf("Usage: espalier COMMAND [OPTION...] [OPERAND...]\n\n"
           "Makes unmodified MPI programs describe their data better. Commands:\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        printf("  %-11s %s\n", commands[i].name, commands[i].summary);
    printf("\n  --help, -h  this text; after a command: its options\n"
           "  --version   the version of Espalier and of the MPI library it is built for\n\n"
           "Start a program:  mpiexec -n 4 espalier run ./program\n"
           "Exit codes: 0 success, 1 failure, 2 wrong usage; `run` ends as the program does.\n");
}

/* Output that could not be written (a full disk, say) is a failure even when all else went well. */
static int finish_output(int code)
{
    if (code == CLI_DONE)
        code = CLI_OK;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_fail("the output cannot be written");
        return code == CLI_OK ? CLI_FAILURE : code;
    }
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return cli_usage("expected a command");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help();
        return finish_output(CLI_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("espalier %s for MPICH %s\n", PACKAGE_VERSION, ESPALIER_MPICH_VERSION);
        return finish_output(CLI_OK);
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            cli_command = commands[i].name;
            return finish_output(commands[i].run(argc - 1, argv + 1));
        }
    return cli_usage("unknown %s '%s'", argv[1][0] == '-' ? "option" : "command", argv[1]);
}
