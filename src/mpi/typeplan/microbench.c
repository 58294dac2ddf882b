/*
 * A sample is the least of several rounds; within a round the candidates take turns, so that what else happens on the
 * machine meets all of them. Candidates that are far behind in everything after two rounds are not measured further.
 *
 * Most layouts have nothing to win, and that shows soon: samples only ever fall towards the true times, so who is the
 * faster by ESPI_MEASURE_CLEAR in truth is behind half of that after several rounds only if every one of its samples
 * was disturbed by that half, and the program's own was not. So when nobody is ahead by half of it, nobody is going
 * to be by the whole, and the rounds end.
 */
#include "mpi/typeplan/microbench.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/partial_pack_cost.h"
#include "mpi/core/pmpi.h"
#include "mpi/comm/self_comm.h"
#include "stats/stats.h"

enum { ROUNDS_LEAST = 3, ROUNDS_MOST = 25, SAMPLE_NS = 4000, REPEAT_MOST = 64 };

static bool ready; /* and not stopped */
static bool sends; /* sending to oneself is safe */

struct bench {
    char *from, *to, *packed, *reference; /* from and to: as MPI's buffer arguments, true_lb already taken off */
    char *memory;
    MPI_Comm self;
    size_t mapped, span;
    int count, bytes;
};

void espi_microbench_start(void)
{
    int level = MPI_THREAD_MULTIPLE;

    sends = espi_pmpi.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
    if (!sends)
        espi_self_comm(); /* now or never */
    ready = true;
}

void espi_microbench_stop(void)
{
    ready = false;
    sends = false;
}

static size_t pages(size_t bytes)
{
    return (bytes + 8191) & ~(size_t)4095;
}

static espi_status open_bench(struct bench *b, MPI_Datatype type, int count, size_t scratch)
{
    MPI_Count size, lb, extent, true_lb, true_extent;
    int64_t reach, low, high;
    size_t total;

    if (espi_pmpi.Type_size_c(type, &size) != MPI_SUCCESS ||
        espi_pmpi.Type_get_extent_c(type, &lb, &extent) != MPI_SUCCESS ||
        espi_pmpi.Type_get_true_extent_c(type, &true_lb, &true_extent) != MPI_SUCCESS)
        return ESPI_ERR_MPI;
    if (__builtin_mul_overflow((int64_t)extent, (int64_t)(count - 1), &reach) || size > INT_MAX / 2 / count ||
        true_extent > (int64_t)scratch)
        return ESPI_ERR_LIMIT;
    if (reach < -(int64_t)scratch || reach > (int64_t)scratch)
        return ESPI_ERR_LIMIT;
    low = reach < 0 ? reach : 0;
    high = reach > 0 ? reach : 0;
    b->span = (size_t)(high - low + true_extent);
    b->count = count;
    b->bytes = (int)size * count;
    total = 2 * pages(b->span) + 2 * pages((size_t)b->bytes);
    if (total > scratch)
        return ESPI_ERR_LIMIT;
    b->memory = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->memory == MAP_FAILED)
        return ESPI_ERR_MEMORY;
    b->mapped = total;
    b->from = b->memory - low - true_lb;
    b->to = b->memory + pages(b->span) - low - true_lb;
    b->packed = b->memory + 2 * pages(b->span);
    b->reference = b->packed + pages((size_t)b->bytes);
    return ESPI_OK;
}

static bool run(const struct bench *b, MPI_Datatype type, enum espi_operation op)
{
    int at = 0;

    switch (op) {
    case ESPI_MEASURE_PACK:
        return espi_pmpi.Pack(b->from, b->count, type, b->packed, b->bytes, &at, b->self) == MPI_SUCCESS;
    case ESPI_MEASURE_UNPACK:
        return espi_pmpi.Unpack(b->packed, b->bytes, &at, b->to, b->count, type, b->self) == MPI_SUCCESS;
    default:
        return espi_pmpi.Sendrecv(b->from, b->count, type, 0, 0, b->to, b->count, type, 0, 0, b->self,
                                  MPI_STATUS_IGNORE) == MPI_SUCCESS;
    }
}

/* Fills the data with something that has no period a layout could have, and keeps how the first candidate packs
   it. */
static bool prepare(const struct bench *b, MPI_Datatype original)
{
    uint64_t x = 88172645463325252u;
    int at = 0, i;

    for (i = 0; i < b->bytes; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        b->reference[i] = (char)x;
    }
    if (espi_pmpi.Unpack(b->reference, b->bytes, &at, b->from, b->count, original, b->self) != MPI_SUCCESS)
        return false;
    at = 0;
    return espi_pmpi.Pack(b->from, b->count, original, b->reference, b->bytes, &at, b->self) == MPI_SUCCESS;
}

/* Packs and unpacks with the candidate what the original unpacks and packs. */
static bool same_bytes(const struct bench *b, MPI_Datatype original, MPI_Datatype type)
{
    int at = 0;

    memset(b->packed, 0, (size_t)b->bytes); /* what the candidate before has unpacked must not pass for this one's */
    if (!run(b, original, ESPI_MEASURE_UNPACK) || !run(b, type, ESPI_MEASURE_PACK) ||
        memcmp(b->packed, b->reference, (size_t)b->bytes) != 0)
        return false;
    if (!run(b, type, ESPI_MEASURE_UNPACK))
        return false;
    memset(b->packed, 0, (size_t)b->bytes);
    return espi_pmpi.Pack(b->to, b->count, original, b->packed, b->bytes, &at, b->self) == MPI_SUCCESS &&
           memcmp(b->packed, b->reference, (size_t)b->bytes) == 0;
}

static uint64_t sample(const struct bench *b, MPI_Datatype type, enum espi_operation op, int repeat)
{
    uint64_t begun;
    int i;

    begun = espi_stats_now();
    for (i = 0; i < repeat; i++)
        if (!run(b, type, op))
            return UINT64_MAX;
    return (espi_stats_now() - begun) / (uint64_t)repeat + 1;
}

static bool far_behind(const struct espi_candidate *c, const uint64_t best[ESPI_OPERATIONS])
{
    int op;

    for (op = 0; op < ESPI_OPERATIONS; op++)
        if (c->ns[op] < best[op] + best[op] / 4)
            return false;
    return true;
}

/* Sending in parts, where nothing may be sent. */
static uint64_t modelled(const struct espi_candidate *c, int count)
{
    if (c->tree == NULL || c->wrong)
        return 0;
    return c->ns[ESPI_MEASURE_PACK] + c->ns[ESPI_MEASURE_UNPACK] + 2 * espi_partial_pack_cost(c->tree, count);
}

static bool half_clear(uint64_t ns, uint64_t own)
{
    return ns < own - own / (2 * ESPI_MEASURE_CLEAR);
}

/* Whether one of the candidates is ahead of the program's own by half of what counts, as a whole or in parts. */
static bool hope(const struct bench *b, const struct espi_candidate *c, int n)
{
    int i;

    for (i = 1; i < n; i++) {
        if (c[i].wrong || c[i].ns[ESPI_MEASURE_PACK] == UINT64_MAX || c[i].ns[ESPI_MEASURE_UNPACK] == UINT64_MAX)
            continue;
        if (half_clear(c[i].ns[ESPI_MEASURE_PACK] + c[i].ns[ESPI_MEASURE_UNPACK],
                       c[0].ns[ESPI_MEASURE_PACK] + c[0].ns[ESPI_MEASURE_UNPACK]))
            return true;
        if (sends ? half_clear(c[i].ns[ESPI_MEASURE_PARTIAL], c[0].ns[ESPI_MEASURE_PARTIAL])
                  : c[i].tree != NULL && half_clear(modelled(&c[i], b->count), modelled(&c[0], b->count)))
            return true;
    }
    return n == 1; /* its times are all that is asked for */
}

static void rounds(const struct bench *b, struct espi_candidate *c, int n, uint64_t budget_ns)
{
    uint64_t begun = espi_admission_clock(), wall = espi_stats_now(), best[ESPI_OPERATIONS], ns;
    int round, op, i, repeat;

    for (op = 0; op < ESPI_OPERATIONS; op++)
        best[op] = UINT64_MAX;
    for (round = 0; round < ROUNDS_MOST; round++) {
        for (op = 0; op < ESPI_OPERATIONS; op++) {
            for (i = 0; i < n; i++) {
                if (op == ESPI_MEASURE_PARTIAL && !sends) {
                    best[op] = c[i].ns[op] = 1; /* no obstacle to dropping it; modelled at the end */
                    continue;
                }
                if (c[i].wrong || (round > 1 && i > 0 && far_behind(&c[i], best)))
                    continue;
                repeat = round == 0 ? 1 : (int)(SAMPLE_NS / c[i].ns[op]) + 1;
                ns = sample(b, c[i].type, (enum espi_operation)op, repeat > REPEAT_MOST ? REPEAT_MOST : repeat);
                if (c[i].ns[op] == 0 || ns < c[i].ns[op])
                    c[i].ns[op] = ns;
                if (c[i].ns[op] < best[op])
                    best[op] = c[i].ns[op];
            }
        }
        /* Time in which others had the processor shows nothing, so rounds are paid for by the thread's own time. */
        if ((round >= ROUNDS_LEAST && (espi_admission_clock() - begun > budget_ns || !hope(b, c, n))) ||
            espi_stats_now() - wall > 10 * budget_ns)
            break;
    }
}

espi_status espi_microbench(struct espi_candidate *candidates, int n, int count, size_t scratch, uint64_t budget_ns)
{
    struct bench b;
    espi_status status;
    int i;
    const MPI_Comm self = ready ? espi_self_comm() : MPI_COMM_NULL;

    if (self == MPI_COMM_NULL)
        return ESPI_ERR_MPI;
    status = open_bench(&b, candidates[0].type, count, scratch);
    if (status != ESPI_OK)
        return status;
    b.self = self;
    for (i = 0; i < n; i++) {
        candidates[i].wrong = false;
        memset(candidates[i].ns, 0, sizeof candidates[i].ns);
    }
    if (prepare(&b, candidates[0].type)) {
        for (i = 1; i < n; i++)
            candidates[i].wrong = !same_bytes(&b, candidates[0].type, candidates[i].type);
        rounds(&b, candidates, n, budget_ns);
        for (i = 0; i < n && !sends; i++)
            candidates[i].ns[ESPI_MEASURE_PARTIAL] = modelled(&candidates[i], count);
    } else {
        status = ESPI_ERR_MPI;
    }
    munmap(b.memory, b.mapped);
    return status;
}
