/* espalier calibrate: checks its options and becomes the MPI program that measures. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/cli.h"

enum { OPTION_OUTPUT, OPTION_PAIRS };

static const struct cli_spec spec = {
    .command = "calibrate",
    .operands = "",
    .summary = "Measures the constants of the communication model between the ranks it is started on, for ranks of "
               "one node and of different nodes: mpiexec -n 4 espalier calibrate -o cluster.model",
    .options =
        (const struct cli_option[]){
            {"-o", "FILE", "write them to FILE, for ESPALIER_MODEL, as well as to standard output"},
            {"--pairs", "N", "measure up to N pairs of ranks for each of the two (default 4)"},
            {NULL, NULL, NULL},
        },
    .notes = "Takes some seconds on a machine that nothing else uses. The output is a model file; its comments say\n"
             "what was measured, and how well the model meets it.",
};

/* Under a launcher one rank's words are enough. */
static void speak_once(void)
{
    const char *rank = getenv("PMI_RANK");
    if (rank != NULL && strcmp(rank, "0") != 0 &&
        (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL))
        return;
}

int espi_cli_calibrate(int argc, char **argv)
{
    struct cli_args args = cli_args_begin(&spec, argc, argv);
    char program[PATH_MAX + 64];
    char *file = "", *pairs = NULL;
    int64_t number;
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);

    speak_once();
    for (int next; (next = cli_next(&args)) != CLI_NEXT_END;)
        switch (next) {
        case CLI_NEXT_HELP:
            return CLI_OK;
        case CLI_NEXT_WRONG:
            return CLI_USAGE;
        case CLI_NEXT_OPERAND:
            return cli_usage("expected options only, found '%s'", args.value);
        case OPTION_OUTPUT:
            file = (char *)args.value;
            if (file[0] == '\0' || strlen(file) >= PATH_MAX - 32)
                return cli_usage("-o: expected the name of a file");
            break;
        case OPTION_PAIRS:
            pairs = (char *)args.value;
            if (!espi_whole_parse(pairs, strlen(pairs), &number) || number < 1 || number > 64)
                return cli_usage("--pairs: expected a whole number from 1 to 64, found '%s'", pairs);
            break;
        }
    if (!cli_helper_program(CLI_CALIBRATE, program, sizeof program))
        return cli_fail("%s: not found; is Espalier installed as it was configured?", program);
    char *words[] = {program, file, pairs, NULL};
    if (out >= 0 && err >= 0) { /* as they were, for the program */
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        close(out);
        close(err);
    }
    execv(program, words);
    return cli_fail("%s: %s", program, strerror(errno));
}
