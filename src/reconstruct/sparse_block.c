/*
 * C of every family's block. Blocks of at least 2^k and fewer than 2^(k+1) entries need blocks of fewer than 2^k only, so
 * the classes k are done in order. Within a class equal blocks are solved once, and a block that begins a longer one
 * takes its cost from that one's row.
 */
#include "reconstruct/sparse.h"

#include <stdlib.h>

struct job {
    uint64_t hash;   /* of the first 2^k entries */
    uint32_t family;
    uint32_t q, u;
};

static int by_hash(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->q != y->q)
        return x->q > y->q ? -1 : 1;
    return (x->u > y->u) - (x->u < y->u);
}

static espi_status take(struct espi_sparse *s, const struct job *job, const int64_t *path)
{
    struct espi_root root;
    espi_status status = espi_sparse_root(s, job->u, job->q, &root);
    int64_t parts = s->costs.struc + path[job->q];
    s->families[job->family].cost = root.cost < parts ? root.cost : parts;
    return status;
}

/* Jobs of one hash, longest first. Some other content may share the hash: it gets a row of its own. */
static espi_status solve_group(struct espi_sparse *s, struct job *job, size_t n, int64_t *path)
{
    espi_status status = ESPI_OK;
    for (size_t i = 0; i < n && !status; i++) {
        if (job[i].q == 0)
            continue; /* done */
        struct job head = job[i];
        status = espi_sparse_row(s, head.u, head.q, path, NULL);
        const struct job *last = NULL;
        for (size_t j = i; j < n && !status; j++) {
            if (job[j].q == 0)
                continue;
            status = espi_sparse_work(s, 1 + job[j].q / 64);
            if (status || !espi_sparse_same(s, head.u, job[j].u, job[j].q))
                continue;
            struct espi_family *f = &s->families[job[j].family];
            if (last && s->families[last->family].q == f->q) { /* the same content */
                f->cost = s->families[last->family].cost;
                f->same = last->family;
            } else {
                status = take(s, &job[j], path);
                last = &job[j];
            }
            job[j].q = 0;
        }
    }
    return status;
}

espi_status espi_sparse_blocks(struct espi_sparse *s)
{
    uint32_t longest = 0, shortest = UINT32_MAX;
    size_t open = 0;
    for (size_t i = 0; i < s->nfamilies; i++) {
        struct espi_family *f = &s->families[i];
        f->run = s->runs_are_best && espi_sparse_is_run(s, f->start, f->q);
        if (f->run) {
            f->cost = s->uniform + s->costs.leaf;
            continue;
        }
        open++;
        longest = f->q > longest ? f->q : longest;
        shortest = f->q < shortest ? f->q : shortest;
    }
    if (!open)
        return ESPI_OK;
    espi_status status = espi_sparse_hashes(s);
    struct job *job = malloc(open * sizeof *job);
    int64_t *path = malloc(((size_t)longest + 1) * sizeof *path);
    if (!status && (!job || !path))
        status = ESPI_ERR_MEMORY;
    uint32_t class = 2;
    while (2 * class <= shortest)
        class *= 2;
    for (; class <= longest && !status; class *= 2) {
        size_t n = 0;
        for (size_t i = 0; i < s->nfamilies; i++) {
            const struct espi_family *f = &s->families[i];
            if (!f->run && f->q >= class && f->q / 2 < class)
                job[n++] = (struct job){espi_sparse_hash(s, f->start, class), (uint32_t)i, f->q, f->start};
        }
        if (n)
            qsort(job, n, sizeof *job, by_hash);
        for (size_t i = 0; i < n && !status;) {
            size_t end = i + 1;
            while (end < n && job[end].hash == job[i].hash)
                end++;
            status = solve_group(s, job + i, end - i, path);
            i = end;
        }
    }
    free(job);
    free(path);
    return status;
}
