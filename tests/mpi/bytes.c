#include "bytes.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARGIN 64
#define MOST_SPAN (8 << 20)

struct program prog = {.passes = 1, .budget = 160, .only_kind = -1, .only_base = -1, .seed = 1};

static FILE *digests;

/* The program's own descriptors, its input among them, are there from the start to the end. */
enum { OWN_FILES = 3 };
static bool had[OWN_FILES];

static void note_files(void)
{
    for (int i = 0; i < OWN_FILES; i++)
        had[i] = fcntl(i, F_GETFD) >= 0;
}

static int files_lost(const char *when)
{
    int lost = 0;
    for (int i = 0; i < OWN_FILES; i++)
        if (had[i] && fcntl(i, F_GETFD) < 0) {
            fprintf(stderr, "descriptor %d is closed %s\n", i, when);
            lost++;
        }
    return lost;
}

uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t s = a ^ (b * 0xd6e8feb86659fd93u);
    return tg_next(&s);
}

void fill_bytes(void *data, size_t bytes, uint64_t seed)
{
    unsigned char *to = data;
    for (size_t i = 0; i < bytes; i += sizeof seed) {
        const uint64_t word = tg_next(&seed);
        memcpy(to + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
    }
}

int wait_all(int n, MPI_Request *r)
{
    MPI_Status st[8];
    return MPI_Waitall(n, r, st);
}

static uint64_t digest(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u, word;
    for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static void usage(const char *what)
{
    fprintf(stderr, "unknown argument %s; -o DIR -s SEED -n PASSES -b BUDGET -k KIND -c CALL\n", what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

void prog_start(int *argc, char ***argv, int threads)
{
    const char *dir = NULL, *seed = getenv("ESPALIER_TEST_SEED");
    int have;
    /* Long memory is had and given back all the time, and its pages would be made anew each time. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    note_files();
    if (threads)
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &have);
    else
        MPI_Init(argc, argv);
    prog.failures += files_lost("after MPI_Init");
    MPI_Comm_rank(MPI_COMM_WORLD, &prog.me);
    MPI_Comm_size(MPI_COMM_WORLD, &prog.ranks);
    prog.comm = MPI_COMM_WORLD;
    if (seed && *seed)
        prog.seed = strtoull(seed, NULL, 0);
    for (int o; (o = getopt(*argc, *argv, "o:s:n:b:k:c:")) != -1;) {
        if (o == 'o') {
            dir = optarg;
        } else if (o == 's') {
            prog.seed = strtoull(optarg, NULL, 0);
        } else if (o == 'n') {
            prog.passes = atoi(optarg);
        } else if (o == 'b') {
            prog.budget = (size_t)atol(optarg);
        } else if (o == 'c') {
            prog.only_call = optarg;
        } else if (o == 'k') {
            for (int k = 0; k < TG_KINDS; k++)
                if (strcmp(optarg, tg_kind_name[k]) == 0)
                    prog.only_kind = k;
            if (prog.only_kind < 0)
                usage(optarg);
        } else {
            usage("");
        }
    }
    if (dir) {
        char path[4096];
        snprintf(path, sizeof path, "%s/digest.%d", dir, prog.me);
        digests = fopen(path, "w");
        if (!digests) {
            perror(path);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
}

int prog_end(const char *name)
{
    int have[2] = {prog.checks, prog.failures}, all[2];
    MPI_Allreduce(have, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (prog.me == 0)
        printf("%s: %d ranks, seed %llu, %d checks, %d failures\n", name, prog.ranks, (unsigned long long)prog.seed,
               all[0], all[1]);
    if (digests)
        fclose(digests);
    MPI_Finalize();
    return all[1] + files_lost("after MPI_Finalize") > 0;
}

void prog_families(int copies, void (*run)(const struct family *f))
{
    for (int pass = 0; pass < prog.passes; pass++)
        for (int kind = TG_PAIR; kind < TG_KINDS; kind++) {
            struct family f;
            if (prog.only_kind >= 0 && kind != prog.only_kind)
                continue;
            family_make(&f, mix(prog.seed, (uint64_t)(pass * TG_KINDS + kind)), kind, prog.budget, copies);
            run(&f);
            family_free(&f);
        }
}

void fail(const struct family *f, const char *call, const char *format, ...)
{
    va_list args;
    prog.failures++;
    if (prog.failures > 12)
        return;
    fprintf(stderr, "rank %d: %s: ", prog.me, call);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (f)
        fprintf(stderr, " [combiner %s, family seed %llu, %dx %.200s]", tg_kind_name[f->kind],
                (unsigned long long)f->seed, f->count[0], f->t[0].text);
    fputc('\n', stderr);
}

int wanted(const char *call)
{
    size_t n = strlen(call);
    for (const char *p = prog.only_call; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (strncmp(p, call, n) == 0 && (p[n] == '\0' || p[n] == ','))
            return 1;
    return !prog.only_call;
}

/* The one base type of a map, or -1. */
static int one_base(const struct tg_type *t)
{
    int size;
    for (size_t i = 1; i < t->n; i++)
        if (t->map[i].base != t->map[0].base || t->map[i].size != t->map[0].size)
            return -1;
    if (t->n == 0)
        return -1;
    MPI_Type_size(tg_base(t->map[0].base), &size);
    return size == t->map[0].size ? t->map[0].base : -1;
}

void family_make(struct family *f, uint64_t seed, int kind, size_t budget, int copies)
{
    struct tg_wish w = {.seed = seed, .kind = kind, .budget = budget, .base = -1};
    memset(f, 0, sizeof *f);
    f->seed = seed;
    f->kind = kind;
    uint64_t rng = mix(seed, 77);
    w.depth = 1 + (int)tg_below(&rng, 4);
    if (tg_below(&rng, 100) < 60)
        w.base = (int)tg_below(&rng, (uint64_t)tg_bases());
    if (prog.only_base >= 0)
        w.base = prog.only_base;
    w.disjoint = tg_below(&rng, 100) < 50;
    f->count[0] = 1 + (int)tg_below(&rng, 3);
    for (int attempt = 0;; attempt++) { /* keep buffers of a reasonable size */
        MPI_Aint low, high;
        tg_make(&w, &f->t[0]);
        tg_span(&f->t[0], f->count[0] * copies, &low, &high);
        if (high - low <= MOST_SPAN && f->t[0].extent <= MOST_SPAN && f->t[0].extent >= -MOST_SPAN)
            break;
        tg_free(&f->t[0]);
        tg_next(&w.seed);
        if (attempt > 20)
            w.depth = 1;
    }
    f->base = one_base(&f->t[0]);
    f->bytes = (size_t)f->t[0].size * (size_t)f->count[0];
    size_t total = f->t[0].n * (size_t)f->count[0];

    tg_make_spread(mix(seed, 2), &f->t[0], f->count[0], &f->t[2]);
    f->count[2] = 1;

    for (int attempt = 0; attempt < 10 && f->base >= 0 && !f->t[1].map; attempt++) {
        struct tg_wish r = {.seed = mix(seed, (uint64_t)(100 + attempt)), .kind = TG_KINDS, .depth = 1 + attempt % 3,
                            .budget = total / 2 + 1, .base = f->base};
        tg_make_receivable(&r, 1, MOST_SPAN, &f->t[1]);
        size_t n = f->t[1].n;
        if (n && total % n == 0 && tg_disjoint(&f->t[1], (int)(total / n) * copies))
            f->count[1] = (int)(total / n);
        else
            tg_free(&f->t[1]);
    }
    if (!f->t[1].map) {
        tg_make_spread(mix(seed, 3), &f->t[0], 1, &f->t[1]);
        f->count[1] = f->count[0];
    }
    if (tg_disjoint(&f->t[0], f->count[0] * copies)) {
        tg_make_dup(&f->t[0], &f->t[3]);
        f->count[3] = f->count[0];
    } else {
        tg_make_spread(mix(seed, 4), &f->t[0], f->count[0], &f->t[3]);
        f->count[3] = 1;
    }
    for (int v = 0; v < FAMILY; v++) {
        struct { MPI_Count v[8]; } b;
        const struct tg_type *t = &f->t[v];
        MPI_Count lb, extent;
        MPI_Type_get_true_extent_x(t->type, &lb, &extent);
        MPI_Type_size_x(t->type, &b.v[6]);
        b.v[0] = t->lb, b.v[1] = t->extent, b.v[2] = t->size, b.v[3] = (MPI_Count)t->n, b.v[4] = lb;
        b.v[5] = extent, b.v[7] = f->count[v];
        check_bytes(f, "bounds", t->text, &b, sizeof b);
        check_equal(f, t->text, "size", b.v[6], t->size);
        /* True bounds are only compared with native: MPICH 4.0.2 counts empty blocks of a struct in some. */
    }
}

void family_free(struct family *f)
{
    for (int v = 0; v < FAMILY; v++)
        tg_free(&f->t[v]);
}

MPI_Aint block_at(const struct family *f, int v, int b)
{
    return (MPI_Aint)f->t[v].extent * f->count[v] * b;
}

void side_raw(struct side *s, MPI_Aint low, MPI_Aint high, uint64_t seed)
{
    if (low > 0)
        low = 0;
    if (high < 0)
        high = 0;
    s->before = (size_t)-low + MARGIN;
    s->before = (s->before + 63) / 64 * 64;
    s->size = s->before + (size_t)high + MARGIN;
    s->mem = malloc(s->size);
    s->want = malloc(s->size);
    if (!s->mem || !s->want) {
        fprintf(stderr, "out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    s->origin = s->mem + s->before;
    for (size_t i = 0; i < s->size; i += sizeof seed) {
        seed = mix(seed, i);
        memcpy(s->mem + i, &seed, s->size - i < sizeof seed ? s->size - i : sizeof seed);
    }
    memcpy(s->want, s->mem, s->size);
}

static void side_of(struct side *s, const struct family *f, int v, int blocks, uint64_t seed)
{
    MPI_Aint low, high;
    tg_span(&f->t[v], (MPI_Count)f->count[v] * blocks, &low, &high);
    side_raw(s, low, high, seed);
}

void side_send(struct side *s, const struct family *f, int v, int blocks, int rank)
{
    side_of(s, f, v, blocks, mix(f->seed, (uint64_t)(1000 + v * 100 + rank)));
}

void side_recv(struct side *s, const struct family *f, int v, int blocks, int rank)
{
    side_of(s, f, v, blocks, mix(f->seed, (uint64_t)(5000 + v * 100 + rank)));
}

void side_free(struct side *s)
{
    free(s->mem);
    free(s->want);
    memset(s, 0, sizeof *s);
}

void wire(const struct family *f, int v, int blocks, int rank, int b, unsigned char *out)
{
    struct side s;
    side_send(&s, f, v, blocks, rank);
    tg_pack(&f->t[v], f->count[v], s.origin + block_at(f, v, b), out);
    side_free(&s);
}

void expect(struct side *s, const struct family *f, int v, MPI_Aint at, const unsigned char *bytes)
{
    unsigned char *origin = s->want + s->before;
    tg_unpack(&f->t[v], f->count[v], origin + at, bytes, f->bytes);
}

static void line(const struct family *f, const char *call, const char *detail, uint64_t value)
{
    if (digests)
        fprintf(digests, "%s %s %.80s %016llx\n", f ? tg_kind_name[f->kind] : "-", call, detail,
                (unsigned long long)value);
}

void check_side(const struct side *s, const struct family *f, const char *call, const char *detail)
{
    prog.checks++;
    line(f, call, detail, digest(s->mem, s->size));
    if (memcmp(s->mem, s->want, s->size) != 0) {
        size_t at = 0, n = 0;
        for (size_t i = s->size; i-- > 0;)
            if (s->mem[i] != s->want[i]) {
                at = i;
                n++;
            }
        fail(f, call, "%s: %zu of %zu bytes differ from the oracle, first at %ld: %02x for %02x", detail, n, s->size,
             (long)at - (long)s->before, s->mem[at], s->want[at]);
    }
}

void check_value(const struct family *f, const char *call, const char *what, long long value)
{
    prog.checks++;
    line(f, call, what, (uint64_t)value);
}

void check_equal(const struct family *f, const char *call, const char *what, long long have, long long want)
{
    check_value(f, call, what, have);
    if (have != want)
        fail(f, call, "%s is %lld, should be %lld", what, have, want);
}

void check_bytes(const struct family *f, const char *call, const char *what, const void *data, size_t size)
{
    prog.checks++;
    line(f, call, what, digest(data, size));
}
