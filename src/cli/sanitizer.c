/* AddressSanitizer's runtime refuses to start when it is not the first library in the process, so that nobody can
   take malloc() and others from it. libespalier.so exports MPI functions alone and may stand anywhere. To preload the
   runtime, too, would be worse than to say so: the programs that a program starts (a shell, say) would all be looked
   at, and end with an error where they leak. And a script or `env` that `espalier run` becomes need not show that it
   starts such a program. */
#include "cli/sanitizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define VARIABLE "ASAN_OPTIONS"

static bool is_one_of(const char *name, size_t len, const char *const *prefix)
{
    for (size_t i = len; i > 0; i--)
        if (name[i - 1] == '/') {
            name += i;
            len -= i;
            break;
        }
    for (; *prefix != NULL; prefix++)
        if (len >= strlen(*prefix) && memcmp(name, *prefix, strlen(*prefix)) == 0)
            return true;
    return false;
}

bool cli_is_sanitizer(const char *name, size_t len)
{
    static const char *const prefix[] = {
        "libasan.so",       "libhwasan.so",       "liblsan.so",       "libtsan.so",       "libubsan.so",
        "libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.lsan", "libclang_rt.tsan", "libclang_rt.ubsan",
        NULL,
    };
    return is_one_of(name, len, prefix);
}

bool cli_minds_order(const char *name, size_t len)
{
    static const char *const prefix[] = {"libasan.so", "libclang_rt.asan", NULL};
    return is_one_of(name, len, prefix);
}

/* The last of several is what counts. */
static bool is_allowed(const char *options)
{
    static const char option[] = "verify_asan_link_order=";
    const char *last = NULL;
    for (const char *at = options; (at = strstr(at, option)) != NULL; at += sizeof option - 1)
        last = at + sizeof option - 1;
    return last != NULL && *last == '0' && strcspn(last, " ,:\t\n\r") == 1;
}

int cli_allow_any_order(void)
{
    const char *old = getenv(VARIABLE);
    if (old != NULL && is_allowed(old))
        return CLI_OK;
    size_t size = (old != NULL ? strlen(old) : 0) + sizeof ":" CLI_ANY_ORDER;
    char *options = malloc(size);
    if (options == NULL)
        return cli_fail("no memory");
    snprintf(options, size, "%s%s%s", old != NULL ? old : "", old != NULL && *old != '\0' ? ":" : "", CLI_ANY_ORDER);
    int code = setenv(VARIABLE, options, 1) == 0 ? CLI_OK : cli_fail("%s: %s", VARIABLE, strerror(errno));
    free(options);
    return code;
}
