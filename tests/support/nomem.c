/*
 * A preload library by which Espalier's core gets no memory when a test says so. Its requests are known by the
 * address that they come from; everybody else's are served. UCX hides who calls mmap, unless UCX_MEM_EVENTS=n. Which
 * ranks: "all", or the one of that number (Hydra says it in PMI_RANK).
 *
 *   ESPALIER_TEST_NOMEM=RANKS         none from MPI_Finalize on
 *   ESPALIER_TEST_NOMEM_EACH=RANKS    while MPI is initialized: each request that comes in another way through the
 *                                     core's functions is refused once, at its first, second or third time or soon
 *                                     after, and with it now and then the next ones; then some more are granted.
 *                                     ESPALIER_TEST_SEED says which
 *   ESPALIER_TEST_NOMEM_START=RANKS/N within MPI_Init: the N-th request, and with a '+' behind N all after it
 *   ESPALIER_TEST_NOMEM_LOG=FILE      FILE.RANK says in the end how many were refused
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define VISIBLE __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

enum { DEEP = 32, WAYS = 1 << 16, BURST = 6, REST = 150 };
enum phase { BEFORE, STARTING, BETWEEN, ENDING, AFTER };

static _Atomic int phase;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static uintptr_t core[2];                                /* where it lies */
static uint64_t way[WAYS], seed;
static unsigned char times[WAYS];
static bool done[WAYS];
static unsigned long ways, asked, refused, burst, quiet;
static unsigned long start_at; /* 0: none */
static bool start_all, each, at_end;
static __thread bool inside;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int find_core(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (strstr(info->dlpi_name, "libespalier-core") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            core[0] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            core[1] = core[0] + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static bool is_core(const void *address)
{
    return (uintptr_t)address >= core[0] && (uintptr_t)address < core[1];
}

/* Under the lock: a number for the way through the core by which the request came. */
static uint64_t way_here(void)
{
    void *frame[DEEP];
    uint64_t h = 1;
    const int n = backtrace(frame, DEEP);
    for (int i = 0; i < n; i++)
        if (is_core(frame[i]))
            h = mix(h ^ ((uintptr_t)frame[i] - core[0]));
    return h;
}

/* Under the lock: whether this way's request shall be refused now. */
static bool is_due(uint64_t h)
{
    size_t at = h % WAYS;
    while (times[at] != 0 && way[at] != h)
        at = (at + 1) % WAYS;
    if (times[at] == 0) {
        if (ways >= WAYS / 2)
            return false;
        way[at] = h;
        ways++;
    }
    times[at] += times[at] < 255;
    h = mix(h ^ seed);
    if (done[at] || times[at] < 1 + h % 3 || quiet > 0) {
        quiet -= quiet > 0;
        return false;
    }
    done[at] = true;
    burst = h / 3 % 4 == 0 ? BURST : 0;
    quiet = h / 12 % REST;
    return true;
}

static bool decide(void)
{
    const int now = phase;
    asked++;
    if (now == STARTING)
        return start_at > 0 && (asked == start_at || (start_all && asked > start_at));
    if (now == ENDING)
        return at_end;
    if (now != BETWEEN || !each)
        return false;
    if (burst > 0) {
        burst--;
        return true;
    }
    return is_due(way_here());
}

static bool is_refused(const void *caller)
{
    bool no;
    if (phase == BEFORE || phase == AFTER || inside || !(each || at_end || start_at > 0))
        return false;
    inside = true;
    pthread_mutex_lock(&lock);
    if (core[1] == 0)
        dl_iterate_phdr(find_core, NULL);
    no = is_core(caller) && decide();
    refused += no;
    pthread_mutex_unlock(&lock);
    inside = false;
    if (no)
        errno = ENOMEM;
    return no;
}

VISIBLE void *malloc(size_t bytes)
{
    return is_refused(CALLER) ? NULL : __libc_malloc(bytes);
}

VISIBLE void *calloc(size_t n, size_t bytes)
{
    return is_refused(CALLER) ? NULL : __libc_calloc(n, bytes);
}

VISIBLE void *realloc(void *memory, size_t bytes)
{
    return is_refused(CALLER) ? NULL : __libc_realloc(memory, bytes);
}

VISIBLE void *aligned_alloc(size_t align, size_t bytes)
{
    return is_refused(CALLER) ? NULL : __libc_memalign(align, bytes);
}

VISIBLE int posix_memalign(void **memory, size_t align, size_t bytes)
{
    if (is_refused(CALLER))
        return ENOMEM;
    *memory = __libc_memalign(align, bytes);
    return *memory != NULL ? 0 : ENOMEM;
}

VISIBLE char *strdup(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = is_refused(CALLER) ? NULL : __libc_malloc(bytes);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

/* Its heap (src/base/own_heap.h) never gets a chunk, so that whatever it would give is asked for here. */
static bool is_own_heap(const void *caller, size_t bytes)
{
    enum { CHUNK = 256 << 10 };
    bool is = false;
    if (bytes != CHUNK || phase == BEFORE || inside || !(each || at_end || start_at > 0))
        return false;
    inside = true;
    pthread_mutex_lock(&lock);
    dl_iterate_phdr(find_core, NULL);
    is = is_core(caller);
    pthread_mutex_unlock(&lock);
    inside = false;
    return is;
}

VISIBLE void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    return is_own_heap(CALLER, bytes) || is_refused(CALLER) ? MAP_FAILED
               : next(address, bytes, protection, flags, file, offset);
}

static bool is_chosen(const char *ranks, const char *rank)
{
    const size_t n = rank != NULL ? strlen(rank) : 0;
    return ranks != NULL && rank != NULL &&
           (strncmp(ranks, "all", 3) == 0 || (strncmp(ranks, rank, n) == 0 && (ranks[n] == 0 || ranks[n] == '/')));
}

static void read_settings(void)
{
    const char *rank = getenv("PMI_RANK"), *start = getenv("ESPALIER_TEST_NOMEM_START"), *number;
    void *frame[DEEP];
    at_end = is_chosen(getenv("ESPALIER_TEST_NOMEM"), rank);
    each = is_chosen(getenv("ESPALIER_TEST_NOMEM_EACH"), rank);
    if (is_chosen(start, rank) && (number = strchr(start, '/')) != NULL) {
        start_at = strtoul(number + 1, NULL, 10);
        start_all = number[strlen(number) - 1] == '+';
    }
    seed = getenv("ESPALIER_TEST_SEED") != NULL ? mix(strtoull(getenv("ESPALIER_TEST_SEED"), NULL, 0)) : 1;
    backtrace(frame, DEEP); /* asks for memory itself, the first time */
}

static void write_log(void)
{
    const char *file = getenv("ESPALIER_TEST_NOMEM_LOG"), *rank = getenv("PMI_RANK");
    char name[4096];
    FILE *to;
    if (file == NULL || rank == NULL || snprintf(name, sizeof name, "%s.%s", file, rank) >= (int)sizeof name ||
        (to = fopen(name, "w")) == NULL)
        return;
    fprintf(to, "%lu of %lu refused, %lu ways\n", refused, asked, ways);
    fclose(to);
}

VISIBLE int MPI_Init(int *argc, char ***argv);
VISIBLE int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
VISIBLE int MPI_Finalize(void);

VISIBLE int MPI_Init(int *argc, char ***argv)
{
    int (*next)(int *, char ***);
    read_settings();
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Init");
    phase = STARTING;
    int code = next(argc, argv);
    phase = BETWEEN;
    return code;
}

VISIBLE int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*next)(int *, char ***, int, int *);
    read_settings();
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Init_thread");
    phase = STARTING;
    int code = next(argc, argv, required, provided);
    phase = BETWEEN;
    return code;
}

VISIBLE int MPI_Finalize(void)
{
    const unsigned long before = refused;
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Finalize");
    phase = ENDING;
    int code = next();
    phase = AFTER;
    if (at_end)
        fprintf(stderr, "rank %s: %s\n", getenv("PMI_RANK"),
                refused > before ? "memory was refused" : "nothing was asked for");
    write_log();
    return code;
}
