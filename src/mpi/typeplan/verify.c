#include "mpi/typeplan/verify.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "mpi/comm/self_comm.h"
#include "mpi/core/pmpi.h"
#include "mpi/datatype/decode.h"

#define SCRATCH ((size_t)64 << 20)
enum { ENTRIES_MOST = 1 << 22 };

struct scratch {
    char *from, *to, *packed, *reference; /* from and to: as MPI's buffer arguments, true_lb already taken off */
    char *memory;
    MPI_Comm self;
    size_t mapped;
    int bytes;
};

static size_t pages(size_t bytes)
{
    return (bytes + 8191) & ~(size_t)4095;
}

static bool open_scratch(struct scratch *s, MPI_Datatype type)
{
    MPI_Count size, true_lb, true_extent;

    s->self = espi_self_comm();
    if (s->self == MPI_COMM_NULL || espi_pmpi.Type_size_c(type, &size) != MPI_SUCCESS ||
        espi_pmpi.Type_get_true_extent_c(type, &true_lb, &true_extent) != MPI_SUCCESS || size > INT_MAX / 4 ||
        true_extent > (MPI_Count)SCRATCH)
        return false;
    s->bytes = (int)size;
    s->mapped = 2 * pages((size_t)true_extent) + 2 * pages((size_t)size);
    if (s->mapped > SCRATCH)
        return false;
    s->memory = mmap(NULL, s->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s->memory == MAP_FAILED)
        return false;
    s->from = s->memory - true_lb;
    s->to = s->from + pages((size_t)true_extent);
    s->packed = s->memory + 2 * pages((size_t)true_extent);
    s->reference = s->packed + pages((size_t)size);
    return true;
}

static bool packs(const struct scratch *s, MPI_Datatype type, const char *from, char *packed)
{
    int at = 0;

    return espi_pmpi.Pack(from, 1, type, packed, s->bytes, &at, s->self) == MPI_SUCCESS;
}

static bool unpacks(const struct scratch *s, MPI_Datatype type, const char *packed, char *to)
{
    int at = 0;

    return espi_pmpi.Unpack(packed, s->bytes, &at, to, 1, type, s->self) == MPI_SUCCESS;
}

/* Packs with one type what the other has unpacked, and the other way round. */
static bool same_bytes(const struct scratch *s, MPI_Datatype original, MPI_Datatype type)
{
    uint64_t x = 88172645463325252u; /* data without a period that a layout could have */
    size_t n = (size_t)s->bytes;

    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        s->reference[i] = (char)x;
    }
    if (!unpacks(s, original, s->reference, s->from) || !packs(s, original, s->from, s->reference) ||
        !packs(s, type, s->from, s->packed) || memcmp(s->packed, s->reference, n) != 0 ||
        !unpacks(s, type, s->packed, s->to))
        return false;
    memset(s->packed, 0, n);
    return packs(s, original, s->to, s->packed) && memcmp(s->packed, s->reference, n) == 0;
}

static bool same_entries(const struct espi_node *tree, MPI_Datatype type)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_typemap one = ESPI_TYPEMAP_INIT, other = ESPI_TYPEMAP_INIT;
    struct espi_decoded back;
    bool same = espi_decode(&arena, type, 0, &back) == ESPI_OK &&
                espi_flatten(back.tree, 0, ENTRIES_MOST, &one) == ESPI_OK &&
                espi_flatten(tree, 0, ENTRIES_MOST, &other) == ESPI_OK && espi_typemap_equal(&one, &other);

    espi_typemap_release(&one);
    espi_typemap_release(&other);
    espi_arena_release(&arena);
    return same;
}

bool espi_types_agree(const struct espi_node *tree, MPI_Datatype original, MPI_Datatype type)
{
    struct scratch s;
    bool same = tree->entries > ENTRIES_MOST || same_entries(tree, type);

    if (same && open_scratch(&s, original)) {
        same = same_bytes(&s, original, type);
        munmap(s.memory, s.mapped);
    }
    return same;
}
