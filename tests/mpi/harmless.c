#include "harmless.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHOWN = 8, GAP = -77, LOOKS = 4 };

int hl_rank = -1, hl_size;
uint64_t hl_seed;
static atomic_long passed, failed;
static const char *volatile where = "before MPI_Init";
static volatile long place, steps, seen = -1;
static volatile int quiet;
static MPI_Datatype gapped = MPI_DATATYPE_NULL;

/* ---- watchdog ---- */

static void look(int signal)
{
    char text[200];
    struct timespec wait = {1, 0};
    (void)signal;
    quiet = steps == seen ? quiet + 1 : 0;
    seen = steps;
    if (quiet < LOOKS)
        return;
    int n = snprintf(text, sizeof text, "rank %d hangs: %s, %ld\n", hl_rank, where, place);
    if (n > 0 && write(STDOUT_FILENO, text, (size_t)n) < 0)
        _exit(HL_HUNG);
    nanosleep(&wait, NULL); /* so that the others can say it as well */
    _exit(HL_HUNG);
}

void hl_watch(void)
{
    /* Not SIGALRM, which belongs to the tests. */
    const char *text = getenv("ESPALIER_TEST_STALL");
    int stall = text ? atoi(text) : 60;
    struct sigaction action = {.sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct itimerspec times;
    timer_t timer;
    stall = stall < LOOKS ? 1 : stall / LOOKS;
    times = (struct itimerspec){{stall, 0}, {stall, 0}};
    action.sa_handler = look;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (sigaction(SIGUSR2, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
        timer_settime(timer, 0, &times, NULL))
        perror("no watchdog");
}

void hl_at(const char *text, long number)
{
    where = text;
    place = number;
    steps++;
}

void hl_fortran_(const int *rank, const int *number)
{
    if (hl_rank < 0)
        hl_watch();
    hl_rank = *rank;
    hl_at("a round of a Fortran program", *number);
}

/* ---- start and end ---- */

void hl_start(int *argc, char ***argv, int threads)
{
    const char *text = getenv("ESPALIER_TEST_SEED");
    int level;
    hl_watch();
    MPI_Init_thread(argc, argv, threads, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &hl_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &hl_size);
    if (hl_size > HL_MOST || level < threads) {
        printf("%d ranks, thread level %d: not made for it\n", hl_size, level);
        MPI_Abort(MPI_COMM_WORLD, 77);
    }
    hl_seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    MPI_Bcast(&hl_seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (hl_rank == 0)
        printf("ESPALIER_TEST_SEED=%llu\n", (unsigned long long)hl_seed);
    hl_at("after MPI_Init", 0);
}

void hl_check(int good, const char *format, ...)
{
    char text[300];
    va_list list;
    if (good) {
        atomic_fetch_add(&passed, 1);
        return;
    }
    if (atomic_fetch_add(&failed, 1) >= SHOWN)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    printf("rank %d: wrong: %s\n", hl_rank, text);
}

int hl_end(void)
{
    long own[2] = {passed, failed}, sums[2] = {0, 0};
    hl_at("at the end", 0);
    if (gapped != MPI_DATATYPE_NULL)
        MPI_Type_free(&gapped);
    MPI_Allreduce(own, sums, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    hl_at("MPI_Finalize", 0);
    MPI_Finalize();
    /* Last, so that whoever reads it knows that the run ended well. */
    if (hl_rank == 0)
        printf("%ld passed, %ld failed\n", sums[0], sums[1]);
    return sums[1] != 0;
}

int hl_end_alone(void)
{
    printf("%ld passed, %ld failed\n", (long)passed, (long)failed);
    return failed != 0;
}

uint64_t hl_hash(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

unsigned hl_random(uint64_t *state, unsigned below)
{
    *state = hl_hash(*state);
    return (unsigned)(*state >> 33) % below;
}

int hl_class(int code)
{
    int class_of = MPI_SUCCESS;
    MPI_Error_class(code, &class_of);
    return class_of;
}

/* ---- one gather or scatter ---- */

const char *const hl_op_name[HL_OPS] = {"MPI_Gatherv", "MPI_Scatterv", "MPI_Gather", "MPI_Scatter"};

static int is_gather(const struct hl_call *call)
{
    return call->op == HL_GATHERV || call->op == HL_GATHER;
}

static int has_counts(const struct hl_call *call)
{
    return call->op == HL_GATHERV || call->op == HL_SCATTERV;
}

static int value(const struct hl_call *call, int rank, int i)
{
    return (int)(hl_hash(call->salt * 64 + (uint64_t)rank * 4 + 1) + (uint64_t)i * 2654435761u) & 0x7fffffff;
}

/* With gaps: two ints of four, the first and the third. */
static size_t place_of(const struct hl_call *call, int i)
{
    return call->derived ? (size_t)i / 2 * 4 + (size_t)i % 2 * 2 : (size_t)i;
}

static size_t ints_of(const struct hl_call *call, int count)
{
    return call->derived ? (size_t)count * 2 : (size_t)count;
}

static void need(int **room, size_t *most, size_t ints)
{
    if (ints <= *most)
        return;
    free(*room);
    *most = ints * 2;
    *room = malloc(*most * sizeof **room);
    if (!*room)
        MPI_Abort(MPI_COMM_WORLD, 98);
}

static MPI_Datatype with_gaps(void)
{
    MPI_Datatype pair;
    if (gapped != MPI_DATATYPE_NULL)
        return gapped;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &gapped);
    MPI_Type_commit(&gapped);
    MPI_Type_free(&pair);
    return gapped;
}

void hl_prepare(struct hl_call *call)
{
    int unit = call->derived ? 2 : 1, at_root = call->rank == call->root, count = call->counts[call->rank];
    int from = 0;
    call->own_ints = (size_t)count + 2;
    need(&call->own_room, &call->own_most, call->own_ints);
    for (size_t i = 0; i < call->own_ints; i++)
        call->own_room[i] = is_gather(call) && i < (size_t)count ? value(call, call->rank, (int)i) : GAP;
    call->own = at_root && call->in_place ? MPI_IN_PLACE : call->own_room;
    call->own_count = count;
    call->own_type = MPI_INT;
    call->given_root = call->root;
    call->given_comm = call->comm;
    call->all = NULL;
    call->each = 0;
    call->all_type = MPI_DATATYPE_NULL;
    call->c = call->d = NULL;
    call->cc = NULL;
    call->dd = NULL;
    if (!at_root)
        return;
    /* In units; with v, one is left out between blocks. */
    for (int k = 0; k < call->size; k++) {
        int r = call->backwards && has_counts(call) ? call->size - 1 - k : k;
        call->c_room[r] = call->counts[r] / unit;
        call->d_room[r] = from;
        call->cc_room[r] = call->c_room[r];
        call->dd_room[r] = from;
        from += call->c_room[r] + has_counts(call);
    }
    call->all_ints = ints_of(call, from * unit) + 4;
    need(&call->all_room, &call->all_most, call->all_ints);
    for (size_t i = 0; i < call->all_ints; i++)
        call->all_room[i] = GAP;
    for (int r = 0; r < call->size; r++)
        for (int i = 0; i < call->counts[r] && (!is_gather(call) || (call->in_place && r == call->root)); i++)
            call->all_room[ints_of(call, call->d_room[r] * unit) + place_of(call, i)] = value(call, r, i);
    call->all = call->all_room;
    call->all_type = call->derived ? with_gaps() : MPI_INT;
    call->each = call->c_room[0];
    call->c = call->c_room;
    call->d = call->d_room;
    call->cc = call->cc_room;
    call->dd = call->dd_room;
}

int hl_issue(const struct hl_call *c)
{
    int n = (int)c->own_count, each = (int)c->each;
    switch (c->op) {
    case HL_GATHERV:
        return c->large ? MPI_Gatherv_c(c->own, c->own_count, c->own_type, c->all, c->cc, c->dd, c->all_type,
                                        c->given_root, c->given_comm)
                        : MPI_Gatherv(c->own, n, c->own_type, c->all, c->c, c->d, c->all_type, c->given_root,
                                      c->given_comm);
    case HL_SCATTERV:
        return c->large ? MPI_Scatterv_c(c->all, c->cc, c->dd, c->all_type, c->own, c->own_count, c->own_type,
                                         c->given_root, c->given_comm)
                        : MPI_Scatterv(c->all, c->c, c->d, c->all_type, c->own, n, c->own_type, c->given_root,
                                       c->given_comm);
    case HL_GATHER:
        return c->large ? MPI_Gather_c(c->own, c->own_count, c->own_type, c->all, c->each, c->all_type, c->given_root,
                                       c->given_comm)
                        : MPI_Gather(c->own, n, c->own_type, c->all, each, c->all_type, c->given_root,
                                     c->given_comm);
    default:
        return c->large ? MPI_Scatter_c(c->all, c->each, c->all_type, c->own, c->own_count, c->own_type,
                                        c->given_root, c->given_comm)
                        : MPI_Scatter(c->all, each, c->all_type, c->own, n, c->own_type, c->given_root,
                                      c->given_comm);
    }
}

/* `done`: after the call. */
static int holds(const struct hl_call *call, int done)
{
    int unit = call->derived ? 2 : 1, count = call->counts[call->rank], at_root = call->rank == call->root;
    int own_filled = is_gather(call) || (done && !(at_root && call->in_place));
    size_t data = 0;
    for (int i = 0; i < (int)call->own_ints; i++)
        if (call->own_room[i] != (own_filled && i < count ? value(call, call->rank, i) : GAP))
            return 0;
    if (!at_root)
        return 1;
    for (int r = 0; r < call->size; r++) {
        int filled = !is_gather(call) || done || (call->in_place && r == call->root);
        const int *block = call->all_room + ints_of(call, call->d_room[r] * unit);
        for (int i = 0; i < call->counts[r]; i++)
            if (block[place_of(call, i)] != (filled ? value(call, r, i) : GAP))
                return 0;
        data += filled ? (size_t)call->counts[r] : 0;
    }
    /* Everything else is a gap still; no value is GAP. */
    for (size_t i = 0; i < call->all_ints; i++)
        data -= call->all_room[i] != GAP;
    return data == 0;
}

int hl_right(const struct hl_call *call)
{
    return holds(call, 1);
}

int hl_untouched(const struct hl_call *call)
{
    return holds(call, 0);
}

int hl_good_call(struct hl_call *call, const char *what)
{
    hl_prepare(call);
    int rc = hl_issue(call);
    hl_check(rc == MPI_SUCCESS, "%s: %s gives class %d", what, hl_op_name[call->op], hl_class(rc));
    hl_check(hl_right(call), "%s: %s, root %d: bytes", what, hl_op_name[call->op], call->root);
    return rc;
}

void hl_release(struct hl_call *call)
{
    free(call->own_room);
    free(call->all_room);
    call->own_room = call->all_room = NULL;
    call->own_most = call->all_most = 0;
}
