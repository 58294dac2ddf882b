/* What an executable file needs, read from the file itself. */
#ifndef ESPI_CLI_ELF_H
#define ESPI_CLI_ELF_H

#include <stdbool.h>
#include <stddef.h>

enum cli_program {
    CLI_PROGRAM_DYNAMIC, /* the loader starts it: LD_PRELOAD works */
    CLI_PROGRAM_STATIC,  /* it loads no libraries: LD_PRELOAD does nothing */
    CLI_PROGRAM_SCRIPT,  /* a text: the interpreter that its #! names counts, without one sh */
    CLI_PROGRAM_OTHER    /* not an executable of this machine */
};

struct cli_elf {
    enum cli_program kind;
    char interpreter[256]; /* the loader, or the script's interpreter */
    char argument[256];    /* of the script's interpreter: all there is behind it on its line */
    char (*needed)[128];   /* DT_NEEDED, in order */
    size_t n;
};

/* false when the file cannot be read or is damaged; the error was printed. Free `needed`. */
bool cli_elf_read(const char *name, struct cli_elf *elf);

#endif
