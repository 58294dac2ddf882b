/* The runtimes of sanitizers (-fsanitize=address and its kin), some of which mind what is preloaded beside them. */
#ifndef ESPI_CLI_SANITIZER_H
#define ESPI_CLI_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>

/* gcc's libasan.so.8, libtsan.so.2, ..., clang's libclang_rt.asan-x86_64.so, ...; `name` with or without folders. */
bool cli_is_sanitizer(const char *name, size_t len);
/* Whether that is the one for addresses, which does not start behind a preloaded library unless told. */
bool cli_minds_order(const char *name, size_t len);

/* What tells it, for ASAN_OPTIONS. */
#define CLI_ANY_ORDER "verify_asan_link_order=0"
/* Adds that to ASAN_OPTIONS of the environment, behind what stands there. Whoever else reads this variable does not
   know the word or does not mind it. Returns an exit code; the error was printed. */
int cli_allow_any_order(void);

#endif
