#include "mpi/netmodel/netmodel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "commtree/model_fit.h"
#include "mpi/core/pmpi.h"
#include "mpi/netmodel/cache.h"
#include "mpi/netmodel/link_bench.h"

#define PAIRS 2         /* that are measured of a level */

/* A few milliseconds for a pair, unless its messages are slower than that. */
static const struct espi_link_effort effort = {
    .least = 7, .most = 24, .settled = 0.05, .seconds = 0.0005, .all_seconds = 0.002, .sizes = 5,
    .size = {4096, 16384, 65536, 131072, 262144},
};
/* To see whether remembered constants still hold. */
static const struct espi_link_effort probe = {
    .least = 5, .most = 5, .settled = 1, .seconds = 0, .all_seconds = 0, .sizes = 2, .size = {4096, 16384},
};
static const struct espi_commtree_model assumed = {1e-6, 1e-10, 1e-11, 1e-6, true};

const char *espi_model_source_text(enum espi_model_source source)
{
    static const char *const text[] = {"assumed", "measured", "cache", "file"};
    return text[source];
}

/* ---- from the file ---- */

static void read_file(const char *path, struct espi_level_models *models)
{
    struct espi_model_file_error error;
    /* A pipe without a writer must not stop the run. */
    int descriptor = espi_file_open(path, O_RDONLY | O_NONBLOCK, 0);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    char *text = file ? malloc(ESPI_MODELFILE_MOST) : NULL;
    size_t len = text ? fread(text, 1, ESPI_MODELFILE_MOST, file) : 0;
    memset(models, 0, sizeof *models);
    if (!text || ferror(file)) {
        espi_log(ESPI_LOG_WARN, "cannot read the model %s: %s; measured instead", path, strerror(errno));
    } else if (len == ESPI_MODELFILE_MOST || espi_model_file_parse(text, len, models, &error) != ESPI_OK) {
        if (len == ESPI_MODELFILE_MOST)
            error = (struct espi_model_file_error){0, "expected a file of less than 64 KiB"};
        if (error.line)
            espi_log(ESPI_LOG_WARN, "%s:%d: %s; measured instead", path, error.line, error.what);
        else
            espi_log(ESPI_LOG_WARN, "%s: %s; measured instead", path, error.what);
        memset(models, 0, sizeof *models);
    }
    free(text);
    if (file)
        fclose(file);
    else if (descriptor >= 0)
        close(descriptor);
}

/* ---- by measurement ---- */

static int later(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The pairs that `root` has found, at most PAIRS. */
static int tell_pairs(MPI_Comm own, int root, const struct espi_topology *places, enum espi_level level,
                      int (*pair)[2])
{
    int rank = 0, told[1 + 2 * PAIRS] = {0};
    espi_pmpi.Comm_rank(own, &rank);
    if (rank == root) {
        told[0] = espi_link_pairs(places, level, PAIRS, pair);
        memcpy(told + 1, pair, (size_t)told[0] * sizeof *pair);
    }
    if (espi_pmpi.Bcast(told, 1 + 2 * PAIRS, MPI_INT, root, own) != MPI_SUCCESS)
        return 0;
    memcpy(pair, told + 1, (size_t)told[0] * sizeof *pair);
    return told[0];
}

/* Collective: the pairs one after the other, all others waiting quietly. False when memory was short somewhere. Of
   the pairs' models the one in the middle (by what a message of 16 KiB takes) holds. */
static bool measure_level(MPI_Comm own, int root, const struct espi_topology *places, enum espi_level level,
                          const struct espi_link_effort *how, struct espi_commtree_model *model)
{
    struct espi_link_times times;
    struct espi_commtree_model of[PAIRS];
    double middle[PAIRS], sorted[PAIRS];
    int pair[PAIRS][2], rank = 0, n = tell_pairs(own, root, places, level, pair), own_pair = -1;
    int64_t largest = how->size[how->sizes - 1];
    espi_pmpi.Comm_rank(own, &rank);
    for (int k = 0; k < n; k++)
        if (rank == pair[k][0] || rank == pair[k][1])
            own_pair = k;
    char *memory = own_pair >= 0 ? calloc(1, (size_t)largest) : NULL;
    int ready = own_pair < 0 || memory, all = 0;
    espi_pmpi.Allreduce(&ready, &all, 1, MPI_INT, MPI_MIN, own);
    for (int k = 0; k < n && all; k++) {
        MPI_Request request;
        if (own_pair == k)
            espi_link_measure(own, rank, pair[k][0], pair[k][1], how, memory, &times);
        if (rank == pair[k][0])
            of[k] = espi_fit_model(times.one_way, times.gap, times.sizes, how->size, times.time,
                                   espi_copy_measure(memory, largest, 3));
        espi_pmpi.Ibarrier(own, &request);
        espi_wait_quietly(&request);
        espi_pmpi.Bcast(&of[k], (int)sizeof of[k], MPI_BYTE, pair[k][0], own);
        middle[k] = sorted[k] = of[k].alpha + of[k].latency + 16384 * of[k].beta;
    }
    free(memory);
    if (!all || n == 0)
        return false;
    qsort(sorted, (size_t)n, sizeof *sorted, later);
    for (int k = 0; k < n; k++)
        if (middle[k] == sorted[(n - 1) / 2])
            *model = of[k];
    return true;
}

/* Within a factor of three in what a tiny and a larger message take. */
static bool is_alike(const struct espi_commtree_model *a, const struct espi_commtree_model *b)
{
    double small = (a->alpha + a->latency) / (b->alpha + b->latency);
    double large = (a->alpha + a->latency + 16384 * a->beta) / (b->alpha + b->latency + 16384 * b->beta);
    return small > 1 / 3. && small < 3 && large > 1 / 3. && large < 3;
}

/* ---- all together ---- */

static bool is_needed(const struct espi_topology *places, enum espi_level level)
{
    return level == ESPI_LEVEL_NODE ? places->nodes < places->size : places->nodes > 1;
}

void espi_model_complete(MPI_Comm own, int root, const struct espi_topology *places,
                         const struct espi_settings *settings, struct espi_model *model)
{
    int rank = 0;
    bool missing = false, fresh = false;
    struct espi_model_cache cache;
    espi_pmpi.Comm_rank(own, &rank);
    espi_pmpi.Bcast(model, (int)sizeof *model, MPI_BYTE, 0, own);
    for (int l = 0; l < ESPI_LEVELS; l++)
        missing = missing || (is_needed(places, (enum espi_level)l) && !model->levels.have[l]);
    if (!missing)
        return;
    espi_model_cache_open(&cache, own, rank, places, settings->model_cache);
    if (rank == 0) {
        struct espi_level_models from_file, cached;
        memset(&from_file, 0, sizeof from_file);
        if (settings->model[0])
            read_file(settings->model, &from_file);
        espi_model_cache_read(&cache, &cached);
        for (int l = 0; l < ESPI_LEVELS; l++) {
            if (model->levels.have[l] || (!from_file.have[l] && !cached.have[l]))
                continue;
            model->levels.have[l] = true;
            model->levels.level[l] = from_file.have[l] ? from_file.level[l] : cached.level[l];
            model->source[l] = from_file.have[l] ? ESPI_MODEL_FILE : ESPI_MODEL_CACHED;
        }
    }
    espi_pmpi.Bcast(model, (int)sizeof *model, MPI_BYTE, 0, own);
    for (int l = 0; l < ESPI_LEVELS; l++) {
        enum espi_level level = (enum espi_level)l;
        struct espi_commtree_model now = assumed;
        bool cached = model->levels.have[l] && model->source[l] == ESPI_MODEL_CACHED;
        if (!is_needed(places, level) || (model->levels.have[l] && !cached))
            continue;
        if (cached && measure_level(own, root, places, level, &probe, &now) &&
            is_alike(&now, &model->levels.level[l]))
            continue;
        bool measured = measure_level(own, root, places, level, &effort, &now);
        fresh = fresh || measured;
        model->levels.level[l] = now;
        model->levels.have[l] = true;
        model->source[l] = measured ? ESPI_MODEL_MEASURED : ESPI_MODEL_ASSUMED;
    }
    if (rank == 0 && fresh) {
        struct espi_level_models kept = model->levels;
        for (int l = 0; l < ESPI_LEVELS; l++)
            kept.have[l] = kept.have[l] &&
                           (model->source[l] == ESPI_MODEL_MEASURED || model->source[l] == ESPI_MODEL_CACHED);
        espi_model_cache_write(&cache, &kept);
    }
}

struct espi_commtree_model espi_model_flat(const struct espi_model *model, const struct espi_topology *places)
{
    int level = places->nodes > 1 ? ESPI_LEVEL_NET : ESPI_LEVEL_NODE;
    return model->levels.have[level] ? model->levels.level[level] : assumed;
}

bool espi_model_two_level(const struct espi_topology *places)
{
    return places->nodes > 1 && places->nodes < places->size && places->ranges;
}

void espi_model_of(MPI_Comm own, const struct espi_settings *settings, struct espi_commtree_model *model)
{
    int size = 1, rank = 0, all = 0, ranks;
    *model = assumed;
    espi_pmpi.Comm_size(own, &size);
    espi_pmpi.Comm_rank(own, &rank);
    void *memory = rank == 0 ? malloc(espi_topology_bytes(size)) : NULL;
    int ready = rank != 0 || memory;
    espi_pmpi.Allreduce(&ready, &all, 1, MPI_INT, MPI_MIN, own);
    if (all) {
        struct espi_topology places;
        struct espi_model models;
        memset(&models, 0, sizeof models);
        espi_topology_of(own, espi_node_of(own, &ranks), 0, memory, &places);
        espi_model_complete(own, 0, &places, settings, &models);
        *model = espi_model_flat(&models, &places);
    }
    free(memory);
}
