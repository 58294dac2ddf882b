#include "mpi/tree_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mpi/real.h"

enum { SMALL_ROUNDS = 20, BURST = 32, LARGE_ROUNDS = 4, LARGE = 1 << 17 };

/* Lines `name = value` in seconds and bytes, # begins a comment. False, with one warning, when a line is not so. */
static bool read_file(const char *path, struct espi_commtree_model *model)
{
    char line[256], name[32], rest[2];
    double value;
    FILE *file = fopen(path, "r");
    bool good = file != NULL;
    int number = 0;
    if (!file)
        espi_log(ESPI_LOG_WARN, "cannot read the model %s: %s; measured instead", path, strerror(errno));
    while (good && fgets(line, sizeof line, file)) {
        number++;
        line[strcspn(line, "#\n")] = 0;
        if (line[strspn(line, " \t\r")] == 0)
            continue;
        good = sscanf(line, " %31[a-z_] = %lf %1s", name, &value, rest) == 2 && value >= 0;
        if (good && !strcmp(name, "alpha"))
            model->alpha = value;
        else if (good && !strcmp(name, "beta"))
            model->beta = value;
        else if (good && !strcmp(name, "gamma"))
            model->gamma = value;
        else if (good && !strcmp(name, "latency"))
            model->latency = value;
        else
            good = false;
        if (!good)
            espi_log(ESPI_LOG_WARN,
                     "%s:%d: expected alpha, beta, gamma or latency = a number of seconds; measured instead", path, number);
    }
    if (file)
        fclose(file);
    return good;
}

static double now(void)
{
    return espi_real.Wtime();
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Between ranks 0 and `far`: time of a small round trip, gap between small messages sent in one go, time of a large round
   trip. The least of a few: everything else is disturbance. */
static void measure(MPI_Comm comm, int rank, int far, char *memory, struct espi_commtree_model *model)
{
    int peer = rank == 0 ? far : 0;
    double small = 1, gap = 1, large = 1, begin;
    MPI_Request requests[BURST];
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        begin = now();
        if (rank == 0)
            espi_real.Send(memory, 1, MPI_BYTE, peer, 0, comm);
        espi_real.Recv(memory, 1, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
        if (rank != 0)
            espi_real.Send(memory, 1, MPI_BYTE, peer, 0, comm);
        small = least(small, now() - begin);
    }
    for (int i = 0; i < 3; i++) {
        begin = now();
        for (int k = 0; k < BURST; k++)
            rank == 0 ? espi_real.Isend(memory, 1, MPI_BYTE, peer, 1, comm, &requests[k])
                      : espi_real.Irecv(memory + k, 1, MPI_BYTE, peer, 1, comm, &requests[k]);
        for (int k = 0; k < BURST; k++)
            espi_real.Wait(&requests[k], MPI_STATUS_IGNORE);
        if (rank == 0)
            espi_real.Recv(memory, 1, MPI_BYTE, peer, 2, comm, MPI_STATUS_IGNORE);
        else
            espi_real.Send(memory, 1, MPI_BYTE, peer, 2, comm);
        gap = least(gap, now() - begin);
    }
    for (int i = 0; i < LARGE_ROUNDS; i++) {
        begin = now();
        if (rank == 0)
            espi_real.Send(memory, LARGE, MPI_BYTE, peer, 3, comm);
        espi_real.Recv(memory, LARGE, MPI_BYTE, peer, 3, comm, MPI_STATUS_IGNORE);
        if (rank != 0)
            espi_real.Send(memory, LARGE, MPI_BYTE, peer, 3, comm);
        large = least(large, now() - begin);
    }
    /* A burst takes BURST gaps and one round trip. */
    double each = (gap - small) / BURST, one_way = small / 2;
    model->alpha = each > 0 && each < one_way ? each : one_way / 2;
    model->latency = one_way > model->alpha ? one_way - model->alpha : 0;
    model->beta = large > small ? (large - small) / 2 / LARGE : 1e-10;
    model->gamma = least(model->beta, 1e-10);
}

void espi_model_of(MPI_Comm own, const struct espi_settings *settings, struct espi_commtree_model *model)
{
    int rank = 0, size = 1, known = 0;
    *model = (struct espi_commtree_model){1e-6, 1e-10, 1e-11, 1e-6, true};
    espi_real.Comm_rank(own, &rank);
    espi_real.Comm_size(own, &size);
    if (rank == 0 && settings->model[0])
        known = read_file(settings->model, model);
    espi_real.Bcast(&known, 1, MPI_INT, 0, own);
    int far = size / 2;
    char *memory = !known && (rank == 0 || rank == far) ? calloc(1, LARGE) : NULL;
    int ready = memory != NULL || known || (rank != 0 && rank != far), all = 0;
    espi_real.Allreduce(&ready, &all, 1, MPI_INT, MPI_MIN, own);
    if (memory && all && !known)
        measure(own, rank, far, memory, model);
    free(memory);
    espi_real.Bcast(model, (int)sizeof *model, MPI_BYTE, 0, own);
}
