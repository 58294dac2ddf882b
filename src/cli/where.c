/* Where libespalier.so and the core stand, and programs that `espalier` becomes. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static bool holds_file(const char *folder, const char *name, int how)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, how) == 0;
}

/* The folder that holds `name`: `installed` of where Espalier was configured to be, or of another root it was put
   below; or `built` beside this program, where it was built. false: `buf` holds `installed`. */
static bool find_folder(const char *installed, const char *built, const char *name, int how, char *buf, size_t size)
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
            if (holds_file(buf, name, how))
                return true;
        }
        snprintf(buf, size, "%s%s", self, built);
        if (holds_file(buf, name, how))
            return true;
    }
    snprintf(buf, size, "%s", installed);
    return holds_file(buf, name, how);
}

bool cli_library_folder(char *buf, size_t size)
{
    return find_folder(ESPALIER_PKGLIBDIR, "/.libs", CLI_STUB, R_OK, buf,
                       size); /* libtool keeps there what it has built */
}

bool cli_helper_program(const char *name, char *buf, size_t size)
{
    bool found = find_folder(ESPALIER_PKGLIBEXECDIR, "", name, X_OK, buf, size);
    size_t len = strlen(buf);
    snprintf(buf + len, size - len, "/%s", name);
    return found;
}

static bool is_executable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool cli_find_program(const char *name, char *buf, size_t size)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/') != NULL) {
        snprintf(buf, size, "%s", name);
        return true;
    }
    /* As execvp does: an empty element, the last one too, is this folder. */
    for (path = path != NULL ? path : "/bin:/usr/bin";; path++) {
        size_t len = strcspn(path, ":");
        snprintf(buf, size, "%.*s/%s", len > 0 ? (int)len : 1, len > 0 ? path : ".", name);
        if (is_executable(buf))
            return true;
        path += len;
        if (*path == '\0')
            return false;
    }
}

int cli_program_missing(const char *name)
{
    char here[PATH_MAX];
    snprintf(here, sizeof here, "./%s", name);
    if (strchr(name, '/') == NULL && is_executable(here))
        return cli_fail("%s: not found in PATH; did you mean %s?", name, here);
    return cli_fail("%s: not found in PATH", name);
}
