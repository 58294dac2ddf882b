/* Where libespalier.so and the core stand. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static bool holds_stub(const char *folder)
{
    char name[PATH_MAX + 32];
    snprintf(name, sizeof name, "%s/%s", folder, CLI_STUB);
    return access(name, R_OK) == 0;
}

bool cli_library_folder(char *buf, size_t size)
{
    char self[PATH_MAX];
    static const char bin[] = ESPALIER_BINDIR;

    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len > 0) {
        self[len] = '\0';
        char *slash = strrchr(self, '/');
        *slash = '\0';
        len = slash - self;
        /* Installed as configured, or below another root: ROOT/bin of this program gives ROOT. */
        size_t tail = strlen(bin);
        if ((size_t)len >= tail && strcmp(self + len - tail, bin) == 0) {
            snprintf(buf, size, "%.*s%s", (int)((size_t)len - tail), self, ESPALIER_PKGLIBDIR);
            if (holds_stub(buf))
                return true;
        }
        /* In the build folder, where libtool keeps what it has built. */
        snprintf(buf, size, "%s/.libs", self);
        if (holds_stub(buf))
            return true;
    }
    snprintf(buf, size, "%s", ESPALIER_PKGLIBDIR);
    return holds_stub(buf);
}
