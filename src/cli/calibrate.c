/* espalier calibrate: checks its options and becomes the MPI program that measures. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/cli.h"

struct request {
    const char *file, *pairs; /* as they were written, for the program */
};

static int take_file(const struct cli_row *row, const char *value, void *request)
{
    if (value[0] == '\0' || strlen(value) >= PATH_MAX - 32)
        return cli_usage("-o: expected the name of a file");
    return cli_take_text(row, value, request);
}

static int take_pairs(const struct cli_row *row, const char *value, void *request)
{
    int64_t number;
    if (!espi_whole_parse(value, strlen(value), &number) || number < 1 || number > 64)
        return cli_usage("--pairs: expected a whole number from 1 to 64, found '%s'", value);
    return cli_take_text(row, value, request);
}

static const struct cli_spec spec = {
    .command = "calibrate",
    .operands = "",
    .summary = "Measures the constants of the communication model between the ranks it is started on, for ranks of "
               "one node and of different nodes: mpiexec -n 4 espalier calibrate -o cluster.model",
    .rows =
        (const struct cli_row[]){
            {.option = {"-o", "FILE", "write them to FILE, for ESPALIER_MODEL, as well as to standard output"},
             .take = take_file, .at = offsetof(struct request, file)},
            {.option = {"--pairs", "N", "measure up to N pairs of ranks for each of the two (default 4)"},
             .take = take_pairs, .at = offsetof(struct request, pairs)},
            {.option = {NULL, NULL, NULL}},
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
    struct request request = {"", NULL};
    char program[PATH_MAX + 64];
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);

    speak_once();
    int code = cli_take_all(&spec, argc, argv, &request);
    if (code != CLI_OK)
        return code;
    if (!cli_helper_program(CLI_CALIBRATE, program, sizeof program))
        return cli_fail("%s: not found; is Espalier installed as it was configured?", program);
    char *words[] = {program, (char *)request.file, (char *)request.pairs, NULL};
    if (out >= 0 && err >= 0) { /* as they were, for the program */
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        close(out);
        close(err);
    }
    execv(program, words);
    return cli_fail("%s: %s", program, strerror(errno));
}
