#include "random.h"

#include <stdlib.h>
#include <time.h>

static uint64_t state;

void random_require(bool ok)
{
    if (!ok) {
        fprintf(stderr, "random input could not be made\n");
        abort();
    }
}

void random_seed(const char *program)
{
    const char *text = getenv("ESPALIER_TEST_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    state = text != NULL ? strtoull(text, NULL, 0) : ((uint64_t)now.tv_sec << 20) ^ (uint64_t)now.tv_nsec;
    printf("%s: ESPALIER_TEST_SEED=%llu\n", program, (unsigned long long)state);
    fflush(stdout);
}

uint64_t random_next(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int64_t random_in(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(random_next() % (uint64_t)(hi - lo + 1));
}

static const int64_t *numbers(struct espi_arena *arena, int64_t n, int64_t lo, int64_t hi)
{
    int64_t *values = espi_arena_alloc(arena, (size_t)n * sizeof *values);
    random_require(values != NULL);
    for (int64_t i = 0; i < n; i++) {
        values[i] = random_in(lo, hi);
    }
    return values;
}

const struct espi_node *random_tree(struct espi_arena *arena, int depth)
{
    const struct espi_node *out = NULL;
    espi_status status = ESPI_OK;
    int64_t count = random_in(random_in(0, 3) == 0 ? 0 : 1, 4);
    enum espi_kind kind = depth <= 1 ? ESPI_LEAF : (enum espi_kind)random_in(0, ESPI_KIND_COUNT - 1);
    switch (kind) {
    case ESPI_VEC:
        status = espi_node_vec(arena, count, random_in(-40, 40), random_tree(arena, depth - 1), &out);
        break;
    case ESPI_IDX:
        status = espi_node_idx(arena, count, numbers(arena, count, -40, 40), random_tree(arena, depth - 1), &out);
        break;
    case ESPI_IDXBUC:
        status = espi_node_idxbuc(arena, count, random_in(-40, 40), numbers(arena, count, -40, 40),
                                  numbers(arena, count, 0, 4), random_tree(arena, depth - 1), &out);
        break;
    case ESPI_BUCKET:
        status = espi_node_bucket(arena, count, random_in(-40, 40), random_in(-40, 40),
                                  numbers(arena, count, 0, 4), random_tree(arena, depth - 1), &out);
        break;
    case ESPI_STRUC: {
        const struct espi_node **sub = espi_arena_calloc(arena, (size_t)count, sizeof *sub);
        random_require(sub != NULL);
        for (int64_t j = 0; j < count; j++) {
            sub[j] = j > 0 && random_in(0, 3) == 0 ? sub[j - 1] : random_tree(arena, depth - 1);
        }
        status = espi_node_struc(arena, count, numbers(arena, count, -40, 40), sub, &out);
        break;
    }
    default:
        status = espi_node_leaf(arena, (espi_base)random_in(0, (int64_t)espi_base_count() - 1), &out);
        break;
    }
    random_require(status == ESPI_OK);
    return out;
}
