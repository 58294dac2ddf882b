#include "mpi/exchange/turns.h"

#include <stddef.h>

#include "mpi/core/pmpi.h"
#include "mpi/packed/way_times.h"

/* The first turn of a communicator comes early, as calls may be long and few; RUN calls one behind the other are one,
   as programs have some kinds of calls that follow each other in a cycle. Turns get rarer: in a thousand calls 16 are
   the library's. */
enum { FIRST = 8, RARER = 4, RUN = 4, AT_LAST = 2053 /* a prime */ };
enum { KINDS = 32 };
/* What the library uses is no more in the caches when its turn comes. */
enum { COLD_NS = 100 };

struct espi_exchange_kind {
    uint64_t key; /* 0: none */
    struct espi_way_times times[2]; /* ns; of calls through shared memory, and of the library's */
    int next[2];
    double untold, credited, most; /* calls of which it is not known yet what they save, and what is known of them */
};

bool espi_exchange_has_turns;
static int keyval = MPI_KEYVAL_INVALID;
static struct espi_exchange_kind kinds[KINDS];

bool espi_exchange_turns_make(void)
{
    return espi_pmpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL) == MPI_SUCCESS;
}

void espi_exchange_turns_start(bool all)
{
    espi_exchange_has_turns = all;
}

void espi_exchange_turns_stop(void)
{
    espi_exchange_has_turns = false;
    if (keyval != MPI_KEYVAL_INVALID)
        espi_pmpi.Comm_free_keyval(&keyval);
}

/* Whether call number n, from 1 on, is in a turn. Each begins some calls later than its multiple of the first
   one, so that cycles of several calls do not meet all of them at the same place. */
static bool is_in_turn(uint64_t n)
{
    if (n >= AT_LAST)
        return n % AT_LAST < RUN;
    for (uint64_t begin = FIRST, later = 0; begin < AT_LAST; begin *= RARER, later += RUN)
        if (n - (begin + later) < RUN) /* wraps where n is less */
            return true;
    return false;
}

bool espi_exchange_is_librarys_turn(MPI_Comm comm)
{
    void *value = NULL;
    int flag = 0;

    if (!espi_exchange_has_turns)
        return false;
    if (espi_pmpi.Comm_get_attr(comm, keyval, &value, &flag) != MPI_SUCCESS || !flag)
        value = NULL;
    const uintptr_t n = (uintptr_t)value + 1;
    espi_pmpi.Comm_set_attr(comm, keyval, (void *)n);
    return is_in_turn(n);
}

struct espi_exchange_kind *espi_exchange_kind(uint64_t key)
{
    const uint64_t first = key % KINDS;

    key = key != 0 ? key : 1;
    for (uint64_t i = 0; i < KINDS; i++) {
        struct espi_exchange_kind *kind = &kinds[(first + i) % KINDS];
        if (kind->key == 0)
            kind->key = key;
        if (kind->key == key)
            return kind;
    }
    return NULL;
}

void espi_exchange_took(struct espi_exchange_kind *kind, bool librarys, uint64_t ns)
{
    struct espi_way_times *times = &kind->times[librarys];
    int *next = &kind->next[librarys];

    times->ns[*next] = (float)ns;
    *next = (*next + 1) % ESPI_WAY_TIMES;
    if (times->n < ESPI_WAY_TIMES)
        times->n++;
}

double espi_exchange_kind_saves(const struct espi_exchange_kind *kind)
{
    const struct espi_way_times *shared = &kind->times[0], *librarys = &kind->times[1];

    if (shared->n == 0 || librarys->n == 0)
        return -1;
    const double own = espi_way_middle(shared), saved = espi_way_middle(librarys) - own - COLD_NS;
    return espi_way_least(librarys, false) > own && saved > 0 ? saved : 0;
}

uint64_t espi_exchange_kind_rest(struct espi_exchange_kind *kind, double credited, double most)
{
    const double saves = espi_exchange_kind_saves(kind);

    kind->untold++;
    kind->credited += credited;
    kind->most += most;
    if (saves < 0)
        return 0;
    const double all = saves * kind->untold, rest = (all < kind->most ? all : kind->most) - kind->credited;
    kind->untold = kind->credited = kind->most = 0;
    return rest > 0 ? (uint64_t)rest : 0;
}
