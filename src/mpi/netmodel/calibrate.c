/* espalier-calibrate: what `espalier calibrate` becomes on each rank. Measures messages between pairs of ranks, per
   level, and writes the constants of the communication model with what they were taken from.

   Arguments, checked by the command: FILE (empty: none) and the number of pairs for each level. */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/write_all.h"
#include "commtree/model_fit.h"
#include "mpi/core/pmpi.h"
#include "mpi/netmodel/link_bench.h"
#include "stats/buffer.h"

#define QUIET 0.9 /* share of the time that whoever measures has a processor on a quiet machine */

enum { MOST_PAIRS = 64, MOST_HOSTS = 16, COPY = 1 << 20, COPY_ROUNDS = 40 };

static const struct espi_link_effort effort = {
    .least = 25, .most = 250, .settled = 0.01, .seconds = 1, .all_seconds = 30, .again = 3, .sizes = 13,
    .size = {1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20,
             1 << 21, 1 << 22},
};

/* Of a pair, then in the middle of all pairs. */
struct facts {
    struct espi_link_times times;
    double copy;
};

static int rank, size;

static int failed(const char *what, const char *why)
{
    if (rank == 0)
        fprintf(stderr, "espalier calibrate: %s%s%s\n", what, why[0] ? ": " : "", why);
    return 1;
}

/* ---- measuring ---- */

/* Of the n facts that are known, not 0; 0 where none is. */
static double middle(const struct facts *facts, int pairs, size_t offset)
{
    double value[MOST_PAIRS];
    int n = 0;
    for (int k = 0; k < pairs; k++) { /* insertion into the sorted ones */
        double x = *(const double *)((const char *)&facts[k] + offset);
        int i = n;
        if (!(x > 0))
            continue;
        for (; i > 0 && value[i - 1] > x; i--)
            value[i] = value[i - 1];
        value[i] = x;
        n++;
    }
    if (n == 0)
        return 0;
    return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

static double processor_time(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0;
}

/* One pair after the other, all other ranks asleep. The result is on rank 0; `share`: of the time, for which those
   who measured had a processor, the least of all (waiting for a message is polling). */
static void measure_level(const struct espi_topology *places, enum espi_level level, int most, char *memory,
                          int *pairs, int (*pair)[2], struct facts *all, double *share)
{
    double own_share = 1;
    struct facts facts[MOST_PAIRS];
    int n = rank == 0 ? espi_link_pairs(places, level, most, pair) : 0, sizes = ESPI_LINK_SIZES;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(pair, 2 * n, MPI_INT, 0, MPI_COMM_WORLD);
    memset(facts, 0, sizeof facts);
    memset(all, 0, sizeof *all);
    for (int k = 0; k < n; k++) {
        MPI_Request request;
        if (rank == pair[k][0] || rank == pair[k][1]) {
            double begin = MPI_Wtime(), processor = processor_time();
            espi_link_measure(MPI_COMM_WORLD, rank, pair[k][0], pair[k][1], &effort, memory, &facts[k].times);
            double part = (processor_time() - processor) / (MPI_Wtime() - begin);
            own_share = part < own_share ? part : own_share;
        }
        if (rank == pair[k][0])
            facts[k].copy = espi_copy_measure(memory, COPY, COPY_ROUNDS);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        espi_wait_quietly(&request);
        MPI_Bcast(&facts[k], (int)sizeof facts[k], MPI_BYTE, pair[k][0], MPI_COMM_WORLD);
        sizes = facts[k].times.sizes < sizes ? facts[k].times.sizes : sizes;
    }
    *pairs = n;
    MPI_Reduce(&own_share, share, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    if (n == 0)
        return;
    all->copy = middle(facts, n, offsetof(struct facts, copy));
    all->times.one_way = middle(facts, n, offsetof(struct facts, times.one_way));
    all->times.gap = middle(facts, n, offsetof(struct facts, times.gap));
    all->times.sizes = sizes;
    for (int i = 0; i < sizes; i++)
        all->times.time[i] = middle(facts, n, offsetof(struct facts, times.time) + (size_t)i * sizeof(double));
}

/* ---- the text ---- */

/* Host names by node, those of the first MOST_HOSTS; on rank 0. */
static void write_head(struct espi_buffer *out, const struct espi_topology *places, const char *file,
                       const char *pairs)
{
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "", version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", host[sizeof name];
    int len = 0;
    MPI_Get_processor_name(name, &len);
    MPI_Get_library_version(version, &len);
    for (char *at = version; *at; at++) /* the first line, its words apart by one blank */
        if (*at == '\n')
            *at = '\0';
        else if (*at == '\t')
            *at = ' ';
    if (rank == 0) {
        espi_buffer_text(out, "# Constants of the communication model: seconds per message, seconds per byte.\n"
                              "# ESPALIER_MODEL names such a file; man espalier explains it.\n#\n");
        espi_buffer_format(out, "# MPI      %s\n# command  espalier calibrate", version);
        if (pairs)
            espi_buffer_format(out, " --pairs %s", pairs);
        espi_buffer_format(out, "%s%s\n# ranks    %d\n# nodes    %d\n# hosts   ", file[0] ? " -o " : "", file, size,
                           places->nodes);
    }
    for (int x = 0; x < places->nodes && x < MOST_HOSTS; x++) {
        int first = 0;
        while (rank == 0 && places->node[first] != x)
            first++;
        MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD); /* rank 0 has the lists */
        memcpy(host, name, sizeof host);
        if (first != 0 && rank == first)
            MPI_Send(name, (int)sizeof name, MPI_CHAR, 0, 9, MPI_COMM_WORLD);
        if (first != 0 && rank == 0)
            MPI_Recv(host, (int)sizeof host, MPI_CHAR, first, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (char *at = host; *at; at++)
            if ((unsigned char)*at < 0x20)
                *at = '?';
        if (rank == 0)
            espi_buffer_format(out, "%s %s (%d)", x ? "," : "", host, places->mates[first]);
    }
    if (rank == 0)
        espi_buffer_text(out, places->nodes > MOST_HOSTS ? ", ...\n" : "\n");
}

static void write_line(struct espi_buffer *out, const struct espi_line *line, int64_t from, int64_t to)
{
    espi_buffer_format(out, "#   %7" PRId64 " to %7" PRId64 " bytes: %.3f us + %.4f ns per byte, within %.0f %%\n",
                       from, to, line->start * 1e6, line->slope * 1e9, 100 * line->error);
}

static void write_level(struct espi_buffer *out, enum espi_level level, const struct espi_topology *places, int n,
                        int (*pair)[2], const struct facts *facts, double share, struct espi_commtree_model *model)
{
    const struct espi_link_times *t = &facts->times;
    struct espi_line line[2];
    char text[512];
    espi_buffer_format(out, "#\n# ---- %s: ranks of %s\n", espi_level_name(level),
                       level == ESPI_LEVEL_NODE ? "one node" : "different nodes");
    if (n == 0) {
        espi_buffer_format(out, "#   not measured: %s\n",
                           places->nodes == 1 ? "all ranks are on one node" : "no two ranks are on one node");
        return;
    }
    *model = espi_fit_model(t->one_way, t->gap, t->sizes, effort.size, t->time, facts->copy);
    espi_buffer_format(out, "#   pairs of ranks:");
    for (int k = 0; k < n; k++)
        espi_buffer_format(out, " %d-%d", pair[k][0], pair[k][1]);
    if (share < QUIET)
        espi_buffer_format(out, "\n#   NOT QUIET: a rank that measured had a processor for %.0f %% of the time only;"
                                " times may be far too long", 100 * share);
    espi_buffer_format(out, "\n#   one byte, one way: %.3f us; each further message of a burst: ", t->one_way * 1e6);
    if (t->gap > 0)
        espi_buffer_format(out, "%.3f us\n", t->gap * 1e6);
    else
        espi_buffer_text(out, "could not be measured\n");
    espi_buffer_format(out, "#   local copy of %d bytes: %.4f ns per byte\n", COPY / 2, facts->copy * 1e9);
    espi_buffer_text(out, "#     bytes      measured us         model us   model/measured\n");
    for (int i = 0; i < t->sizes; i++) {
        double predicted = model->alpha + model->latency + model->beta * (double)effort.size[i];
        espi_buffer_format(out, "#   %7" PRId64 " %16.3f %16.3f %16.2f\n", effort.size[i], t->time[i] * 1e6,
                           predicted * 1e6, t->time[i] > 0 ? predicted / t->time[i] : 0);
    }
    int k = espi_fit_two_lines(t->sizes, effort.size, t->time, line);
    espi_buffer_text(out, "#   straight lines through the measured times, small and large messages apart:\n");
    write_line(out, &line[0], effort.size[0], effort.size[k - 1]);
    if (k < t->sizes)
        write_line(out, &line[1], effort.size[k], effort.size[t->sizes - 1]);
    espi_buffer_format(
        out, "#   alpha: %s; latency: the rest of one way; beta: least squares of the relative\n"
             "#   errors at all sizes above; times: lower quartiles of rounds, the middle of the pairs\n",
        t->gap > 0 ? "the gap in a burst" : "half of one way, for want of the gap");
    struct espi_level_models one;
    memset(&one, 0, sizeof one);
    one.have[level] = true;
    one.level[level] = *model;
    espi_model_file_write(&one, text, sizeof text);
    espi_buffer_text(out, text);
}

/* ---- the file ---- */

/* Where the output goes beside standard output; on rank 0. */
static struct espi_file_place place;
static char fresh[PATH_MAX + 16]; /* a file beside that one, renamed in the end, so that it appears as a whole */

/* Before anything is measured: NULL, or why nothing could be written there. Nothing is left behind meanwhile: people
   end this program by hand. */
static const char *check_output(const char *name)
{
    espi_file_find(name, &place);
    if (place.kind == ESPI_FILE_DEVICE || place.kind == ESPI_FILE_DESCRIPTOR)
        return NULL;
    if (place.kind == ESPI_FILE_FOLDER)
        return strerror(EISDIR);
    if (place.kind == ESPI_FILE_REFUSED)
        return place.error ? strerror(place.error) : place.why;
    if (access(place.name, W_OK) != 0 && errno != ENOENT)
        return strerror(errno);
    int file = espi_file_new(place.name, 0666, fresh, sizeof fresh);
    if (file < 0)
        return strerror(errno);
    close(file);
    unlink(fresh);
    return NULL;
}

static bool write_output(const struct espi_buffer *text)
{
    if (place.kind != ESPI_FILE_PLAIN)
        return espi_file_append(&place, text->data, text->len);
    int file = espi_file_new(place.name, 0666, fresh, sizeof fresh);
    if (file < 0)
        return false;
    if (espi_file_fill(file, text->data, text->len) && rename(fresh, place.name) == 0)
        return true;
    int error = errno;
    unlink(fresh);
    errno = error;
    return false;
}

static int finish(const char *name, const struct espi_buffer *text)
{
    if (text->failed)
        return failed("no memory", "");
    if (!espi_write_all(STDOUT_FILENO, text->data, text->len))
        return failed("the output cannot be written", strerror(errno));
    if (name[0] && !write_output(text))
        return failed(name, strerror(errno));
    return 0;
}

static int calibrate(const char *name, const char *pairs_text)
{
    struct espi_topology places;
    struct espi_buffer text = ESPI_BUFFER_INIT;
    struct espi_commtree_model model[ESPI_LEVELS];
    int most = pairs_text ? atoi(pairs_text) : 4, on_node, ready = 1, all = 0, code = 0;
    const char *why = NULL;
    memset(model, 0, sizeof model);
    if (size < 2)
        return failed("expected two ranks or more; start it as: mpiexec -n 4 espalier calibrate", "");
    if (rank == 0 && name[0])
        why = check_output(name);
    void *lists = rank == 0 ? malloc(espi_topology_bytes(size)) : NULL;
    char *memory = calloc(1, (size_t)effort.size[effort.sizes - 1]);
    ready = (rank != 0 || lists) && memory && why == NULL;
    MPI_Allreduce(&ready, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) {
        code = rank != 0 ? 1 : why ? failed(name, why) : failed("no memory", "");
        goto out;
    }
    espi_topology_of(MPI_COMM_WORLD, espi_node_of(MPI_COMM_WORLD, &on_node), 0, lists, &places);
    write_head(&text, &places, name, pairs_text);
    for (int l = 0; l < ESPI_LEVELS; l++) {
        struct facts facts;
        double share = 1;
        int pair[MOST_PAIRS][2], n;
        measure_level(&places, (enum espi_level)l, most < MOST_PAIRS ? most : MOST_PAIRS, memory, &n, pair, &facts,
                      &share);
        if (rank == 0)
            write_level(&text, (enum espi_level)l, &places, n, pair, &facts, share, &model[l]);
    }
    if (rank == 0)
        code = finish(name, &text);
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
out:
    espi_buffer_release(&text);
    free(memory);
    free(lists);
    return code;
}

int main(int argc, char **argv)
{
    int code;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *missing = espi_pmpi_load(RTLD_DEFAULT);
    if (missing)
        code = failed(missing, "the MPI library does not have it");
    else
        code = calibrate(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : NULL);
    MPI_Finalize();
    return code;
}
