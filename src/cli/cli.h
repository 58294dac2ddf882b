/* What the subcommands of `espalier` share: options with their help, error messages, reading of text. */
#ifndef ESPI_CLI_CLI_H
#define ESPI_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes; `run` also uses 126 and 127 as env does. */
enum { CLI_OK = 0, CLI_FAILURE = 1, CLI_USAGE = 2, CLI_CANNOT_RUN = 126, CLI_NOT_FOUND = 127 };

/* ---- options (options.c) ---- */

struct cli_option {
    const char *name;  /* with its dashes; ends the table when NULL */
    const char *value; /* what stands for its value in the help; NULL: it takes none */
    const char *help;
};

struct cli_spec {
    const char *command;               /* "tree" */
    const char *operands;              /* "[FILE]" */
    const char *summary;               /* one sentence, from commands.def */
    const struct cli_option *options;  /* --help and -h are added */
    const char *notes;                 /* text below the options; may be NULL */
    bool stop_at_operand;              /* the first operand ends the options (run) */
};

struct cli_args {
    const struct cli_spec *spec;
    int argc, at; /* argv[at] is looked at next */
    char **argv;
    bool only_operands; /* after -- */
    const char *value;  /* of the option, or the operand */
};

/* What cli_next returns when it is not the index of an option. */
enum { CLI_NEXT_END = -1, CLI_NEXT_OPERAND = -2, CLI_NEXT_HELP = -3, CLI_NEXT_WRONG = -4 };

/* argv[0] is the subcommand's name. */
struct cli_args cli_args_begin(const struct cli_spec *spec, int argc, char **argv);
/* "--name VALUE" and "--name=VALUE"; "-" and negative numbers are operands. CLI_NEXT_HELP: the help was printed, exit
   with CLI_OK. CLI_NEXT_WRONG: the error was printed, exit with CLI_USAGE. */
int cli_next(struct cli_args *args);

/* ---- messages (message.c) ---- */

/* The subcommand that error messages name; set by main. */
extern const char *cli_command;
/* "espalier tree: ..." on stderr. Control bytes in the text are written as '?'. Returns CLI_FAILURE. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with a hint at --help. Returns CLI_USAGE. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- text (text.c) ---- */

struct cli_text {
    char *data; /* with a NUL behind it */
    size_t len;
};
/* The whole of a file, or of standard input for "-". On failure the error was printed. Free `data`. */
bool cli_read_text(const char *name, struct cli_text *text);
/* "1.234 ms", "12.3 MB"; buf is returned. */
const char *cli_time(char *buf, size_t size, double ns);
const char *cli_bytes(char *buf, size_t size, double bytes);

/* ---- where Espalier is (where.c) ---- */

/* The folder that libespalier.so and libespalier-core.so stand in: beside this build, or where they are installed
   (also below another root). false when there is none; `buf` then holds the place where they should be. */
bool cli_library_folder(char *buf, size_t size);
/* The path of a program that belongs to Espalier but is not in PATH; found in the same way. */
bool cli_helper_program(const char *name, char *buf, size_t size);
/* The program that a shell would find in PATH, or `name` itself when it has a slash. false: there is none. */
bool cli_find_program(const char *name, char *buf, size_t size);
/* Says that PATH has no such program, and where there is one of the name in this folder. Returns CLI_FAILURE. */
int cli_program_missing(const char *name);
#define CLI_CALIBRATE "espalier-calibrate"
#define CLI_STUB "libespalier.so"
#define CLI_CORE "libespalier-core.so"

/* ---- the subcommands ---- */

#define ESPI_COMMAND(name, summary) int espi_cli_##name(int argc, char **argv);
#include "cli/commands.def"
#undef ESPI_COMMAND

#endif
