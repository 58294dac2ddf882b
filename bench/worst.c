/*
 * The slowest maps of 2000 entries that searches have found, all with odd cost constants: bench/worst.txt. Hill
 * climbing went over generators of words, steps, base types, costs and sets; what it kept is exact input, not a
 * generator. `sparse worst [FILE]` runs espi_reconstruct on each and prints the median of five processor times,
 * largest last, with the same for the dense method alone and whether both have the same cost.
 *
 * The file: lines "case NAME SET START" and ten costs in the order of struct espi_costs; lines "letter X TYPE STEP";
 * lines "word ..." of letters, one per entry, which stands STEP bytes after the one before (the first: at START).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/worst.h"
#include "reconstruct/parts.h"
#include "reconstruct/reconstruct.h"

enum { ROUNDS = 5, MOST = 200 };

struct entry {
    char name[40];
    struct espi_reconstruct_options options;
    int64_t at, step[128];
    espi_base base[128];
    struct espi_typemap map;
    double front, dense;
    int64_t cost;
    bool wrong;
};

static struct entry entries[MOST];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_front(const void *a, const void *b)
{
    return by_number(&((const struct entry *)a)->front, &((const struct entry *)b)->front);
}

static bool read_word(struct entry *entry, const char *word)
{
    for (; *word > ' ' && *word < 127; word++) {
        int letter = *word;
        entry->at += entry->map.n > 0 ? entry->step[letter] : 0;
        if (entry->base[letter] == ESPI_BASE_NONE ||
            espi_typemap_append(&entry->map, entry->base[letter], entry->at) != ESPI_OK)
            return false;
    }
    return true;
}

/* How many cases the file holds; 0 when it can not be read. */
static size_t read_file(FILE *file)
{
    char line[4096], type[64], letter;
    size_t n = 0;
    int64_t step;
    while (fgets(line, sizeof line, file) != NULL) {
        struct entry *entry = n > 0 ? &entries[n - 1] : NULL;
        if (strncmp(line, "case ", 5) == 0 && n < MOST) {
            int set, got;
            entry = &entries[n++];
            espi_reconstruct_defaults(&entry->options);
            struct espi_costs *c = &entry->options.costs;
            got = sscanf(line, "case %39s %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
                         " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, entry->name, &set, &entry->at,
                         &c->leaf, &c->vec, &c->idx, &c->idx_each, &c->idxbuc, &c->idxbuc_each, &c->struc,
                         &c->struc_each, &c->bucket, &c->bucket_each);
            entry->options.set = (enum espi_set)set;
            if (got != 13)
                return 0;
            for (int x = 0; x < 128; x++)
                entry->base[x] = ESPI_BASE_NONE;
        } else if (entry != NULL && sscanf(line, "letter %c %63s %" SCNd64, &letter, type, &step) == 3 &&
                   letter > 0) {
            entry->step[(int)letter] = step;
            entry->base[(int)letter] = espi_base_find(type, strlen(type));
        } else if (entry != NULL && strncmp(line, "word ", 5) == 0) {
            if (!read_word(entry, line + 5))
                return 0;
        } else if (line[0] != '#' && line[0] != '\n') {
            return 0;
        }
    }
    return n;
}

static void measure(struct entry *entry)
{
    double front[ROUNDS], dense[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_reconstruction a = {0}, b = {0};
        double began = now();
        espi_status status = espi_reconstruct(&arena, &entry->map, NULL, &entry->options, &a);
        front[i] = now() - began;
        espi_arena_release(&arena);
        began = now();
        status = status ? status : espi_reconstruct_dense(&arena, &entry->map, &entry->options, &b);
        dense[i] = now() - began;
        espi_arena_release(&arena);
        entry->cost = a.cost;
        entry->wrong = status || !a.exact || a.cost != b.cost;
    }
    qsort(front, ROUNDS, sizeof *front, by_number);
    qsort(dense, ROUNDS, sizeof *dense, by_number);
    entry->front = front[ROUNDS / 2];
    entry->dense = dense[ROUNDS / 2];
}

int bench_worst(const char *path)
{
    static const char *const sets[] = {"basic", "mpi", "ext"};
    FILE *file = fopen(path, "r");
    size_t n = file != NULL ? read_file(file) : 0;
    bool wrong = false;
    if (file != NULL)
        fclose(file);
    if (n == 0) {
        fprintf(stderr, "sparse: %s: no cases, or not well formed\n", path);
        return 1;
    }
    for (size_t k = 0; k < n; k++)
        measure(&entries[k]);
    qsort(entries, n, sizeof *entries, by_front);
    printf("%-10s %-5s %6s %14s %8s %8s\n", "#case", "set", "n", "cost", "ms", "dense ms");
    for (size_t k = 0; k < n; k++) {
        const struct entry *e = &entries[k];
        printf("%-10s %-5s %6zu %14" PRId64 " %8.1f %8.1f%s\n", e->name, sets[e->options.set], e->map.n, e->cost,
               e->front, e->dense, e->wrong ? "  DIFFERENT COST" : "");
        wrong = wrong || e->wrong;
        espi_typemap_release(&entries[k].map);
    }
    return wrong;
}
