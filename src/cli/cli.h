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

/* An option and where its value goes: a member of the subcommand's request (a struct of its own). */
struct cli_row {
    struct cli_option option;
    /* Takes the value into `request`. CLI_OK, or the exit code after the error was printed. */
    int (*take)(const struct cli_row *row, const char *value, void *request);
    size_t at;                /* the member's offset; what else, each function below says */
    int64_t least, most;
    const char *const *names; /* ends with NULL */
    const char *expected;
};

struct cli_spec {
    const char *command;               /* "tree" */
    const char *operands;              /* "[FILE]" */
    const char *summary;               /* one sentence, from commands.def */
    const struct cli_row *rows;        /* --help and -h are added */
    /* Takes an operand as rows take values; NULL: there are none. */
    int (*operand)(const char *value, void *request);
    const char *notes;                 /* text below the options; may be NULL */
    bool stop_at_operand;              /* all from the first operand on are operands (run) */
};

/* Takes all options and operands into `request`: "--name VALUE" and "--name=VALUE"; "-", negative numbers and all
   behind "--" are operands. CLI_OK: go on. Else the subcommand returns this code; CLI_DONE: the help was printed, all
   is well. argv[0] is the subcommand's name. */
enum { CLI_DONE = -1 };
int cli_take_all(const struct cli_spec *spec, int argc, char **argv, void *request);

/* For the rows: the member, a bool, becomes true. */
int cli_take_flag(const struct cli_row *row, const char *value, void *request);
/* The member, a const char *, points to the value. */
int cli_take_text(const struct cli_row *row, const char *value, void *request);
/* The member, an int64_t, is a whole number from `least` to `most`; `expected` says so in other words, or is NULL. */
int cli_take_whole(const struct cli_row *row, const char *value, void *request);
/* The member, an int, is the place of the value in `names`. */
int cli_take_name(const struct cli_row *row, const char *value, void *request);
/* "expected A, B or C, found 'VALUE'". Returns CLI_USAGE. */
int cli_wrong_name(const char *option, const char *const *names, const char *value);

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
/* A word of the input for an error message: cut, and without bytes that a terminal or a log could choke on. Returns
   `shown`. */
enum { CLI_WORD = 41 };
const char *cli_word(char shown[CLI_WORD], const char *word, size_t len);
/* "1.234 ms", "12.3 MB"; buf is returned. */
const char *cli_time(char *buf, size_t size, double ns);
const char *cli_bytes(char *buf, size_t size, double bytes);
/* A finite number: whole ones as such, others with as many digits as they need. Returns buf. */
enum { CLI_NUMBER = 40 };
const char *cli_number(char buf[CLI_NUMBER], double x);

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
