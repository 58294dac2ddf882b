/* Where libespalier.so and the core stand, and programs that `espalier` becomes. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static bool holds(const char *folder, const char *name, int how)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, how) == 0;
}

/* The folder that holds `name`: `installed` of where Espalier was configured to be, or of another root it was put
   below; or `built` beside this program, where it was built. false: `buf` holds `installed`. */
static bool find(const char *installed, const char *built, const char *name, int how, char *buf, size_t size)
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
            snprintf(buf, size, "%.*s%s", (int)((size_t)len - tail), self, installed);
            if (holds(buf, name, how))
                return true;
        }
        snprintf(buf, size, "%s%s", self, built);
        if (holds(buf, name, how))
            return true;
    }
    snprintf(buf, size, "%s", installed);
    return holds(buf, name, how);
}

bool cli_library_folder(char *buf, size_t size)
{
    return find(ESPALIER_PKGLIBDIR, "/.libs", CLI_STUB, R_OK, buf, size); /* libtool keeps there what it has built */
}

bool cli_helper_program(const char *name, char *buf, size_t size)
{
    bool found = find(ESPALIER_PKGLIBEXECDIR, "", name, X_OK, buf, size);
    size_t len = strlen(buf);
    snprintf(buf + len, size - len, "/%s", name);
    return found;
}
