#include "mpi/netmodel/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "mpi/core/pmpi.h"

#define FILE_MOST 8192
#define SECONDS_VALID ((time_t)30 * 24 * 3600)
#define CHECK "# check "

extern char **environ;

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32; /* so that sums of hashes stay apart */
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

/* ---- the name ---- */

/* What the environment says about transports and algorithms of the library; the order of the variables does not
   matter. */
static uint64_t hash_transports(void)
{
    static const char *const prefix[] = {"UCX_", "FI_", "MPIR_CVAR_", "MPICH_", "PSM2_", "PSM3_", "HFI_"};
    uint64_t sum = 0;
    for (char **at = environ; at && *at; at++)
        for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
            if (!strncmp(*at, prefix[i], strlen(prefix[i])))
                sum += hash_text(1, *at);
    return sum;
}

static bool find_folder(char *folder, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int len = -1;
    if (cache && cache[0] == '/') /* others are invalid by the specification and as if not set */
        len = snprintf(folder, size, "%s/espalier", cache);
    else if (home && home[0] == '/')
        len = snprintf(folder, size, "%s/.cache/espalier", home);
    return len > 0 && (size_t)len < size;
}

/* Nothing is there yet, or a folder; which may be a link, but not one that somebody else has planted. */
static bool is_ours(const char *folder)
{
    struct espi_file_place place;
    espi_file_find(folder, &place);
    return place.kind == ESPI_FILE_PLAIN || place.kind == ESPI_FILE_FOLDER;
}

void espi_model_cache_open(struct espi_model_cache *cache, MPI_Comm own, int rank, const struct espi_topology *places,
                           bool wanted)
{
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "", version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int len = 0;
    uint64_t own_hash[2] = {0, 0}, all[2] = {0, 0};
    memset(cache, 0, sizeof *cache);
    if (!wanted)
        return;
    /* Each node counts once, in any order. */
    if (espi_pmpi.Get_processor_name(name, &len) == MPI_SUCCESS && places->leads)
        for (int k = 0; k < 2; k++)
            own_hash[k] = hash_text(UINT64_C(0xcbf29ce484222325) + (uint64_t)k, name);
    if (espi_pmpi.Reduce(own_hash, all, 2, MPI_UINT64_T, MPI_SUM, 0, own) != MPI_SUCCESS || rank != 0 ||
        !find_folder(cache->folder, sizeof cache->folder) || !is_ours(cache->folder))
        return;
    espi_pmpi.Get_library_version(version, &len);
    for (int k = 0; k < 2; k++)
        all[k] = hash_bytes(hash_text(all[k], version), &(uint64_t){hash_transports()}, sizeof(uint64_t));
    snprintf(cache->file, sizeof cache->file, "%s/model-%016" PRIx64 "%016" PRIx64, cache->folder, all[0], all[1]);
    snprintf(cache->about, sizeof cache->about, "# Measured by Espalier on %d node%s, that of rank 0: %.128s\n",
             places->nodes, places->nodes == 1 ? "" : "s", name);
    cache->open = true;
}

/* ---- the contents ---- */

/* The bytes of the file in front of its check, which must be right; 0 when it cannot be trusted. */
static size_t read_trusted(const char *name, char *text, size_t size)
{
    struct stat status;
    char check[64];
    ssize_t len = -1;
    time_t now = time(NULL);
    int file = espi_file_open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (file < 0)
        return 0;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && status.st_size < (off_t)size && status.st_mtime <= now + 60 &&
        now - status.st_mtime < SECONDS_VALID)
        len = read(file, text, size - 1);
    close(file);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    char *tail = strstr(text, CHECK);
    if (!tail)
        return 0;
    snprintf(check, sizeof check, CHECK "%016" PRIx64 "\n", hash_bytes(2, text, (size_t)(tail - text)));
    return strcmp(tail, check) == 0 ? (size_t)(tail - text) : 0;
}

void espi_model_cache_read(const struct espi_model_cache *cache, struct espi_level_models *models)
{
    char text[FILE_MOST];
    struct espi_model_file_error error;
    size_t len = cache->open ? read_trusted(cache->file, text, sizeof text) : 0;
    if (len == 0 || espi_model_file_parse(text, len, models, &error) != ESPI_OK)
        memset(models, 0, sizeof *models);
}

/* The folder and the one above it, for this user alone. */
static bool make_folders(const char *folder)
{
    char above[512];
    char *slash;
    if (mkdir(folder, 0700) == 0 || errno == EEXIST)
        return true;
    snprintf(above, sizeof above, "%s", folder);
    slash = strrchr(above, '/');
    if (errno != ENOENT || !slash || slash == above)
        return false;
    *slash = '\0';
    return (mkdir(above, 0700) == 0 || errno == EEXIST) && (mkdir(folder, 0700) == 0 || errno == EEXIST);
}

static bool write_whole(const struct espi_model_cache *cache, const char *text, size_t len)
{
    char fresh[sizeof cache->file + 16];
    if (!make_folders(cache->folder))
        return false;
    int file = espi_file_new(cache->file, 0600, fresh, sizeof fresh);
    if (file < 0)
        return false;
    bool good = espi_file_fill(file, text, len) && rename(fresh, cache->file) == 0;
    if (!good) {
        int error = errno;
        unlink(fresh);
        errno = error;
    }
    return good;
}

void espi_model_cache_write(const struct espi_model_cache *cache, const struct espi_level_models *measured)
{
    struct espi_level_models models = *measured, known;
    char text[FILE_MOST];
    int saved_errno = errno;
    if (!cache->open)
        return;
    espi_model_cache_read(cache, &known);
    for (int l = 0; l < ESPI_LEVELS; l++) {
        if (!models.have[l] && known.have[l]) {
            models.have[l] = true;
            models.level[l] = known.level[l];
        }
    }
    size_t len = (size_t)snprintf(text, sizeof text, "%s# May be deleted at any time.\n", cache->about);
    len += espi_model_file_write(&models, text + len, sizeof text - len);
    len += (size_t)snprintf(text + len, sizeof text - len, CHECK "%016" PRIx64 "\n", hash_bytes(2, text, len));
    if (!write_whole(cache, text, len))
        espi_log(ESPI_LOG_DEBUG, "the model cannot be kept in %s: %s", cache->file, strerror(errno));
    errno = saved_errno;
}
