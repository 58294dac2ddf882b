#include "mpi/selfcopy/pair_class.h"

#include <pthread.h>
#include <string.h>

#include "base/table.h"

enum { KINDS = 512, PLACES = 4, SEEN = 1024 };

struct kind {
    uint64_t key, uses, bytes, paid, gained;
    uint64_t retry; /* uses at which to ask for a budget again */
    bool planned;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below; never held over an MPI call */
/* In the order in which their places were first wanted: as much memory is touched as there are kinds. */
static struct {
    uint16_t at[KINDS]; /* by place: 1 + index in `list`, 0: none yet */
    uint16_t count;
    struct kind list[KINDS];
} kinds ESPI_TABLE;
static uint64_t seen[SEEN] ESPI_TABLE;
static bool used; /* neither is untouched */

/* Under the lock. */
static struct kind *kind_of(uint64_t key)
{
    const uint64_t base = (key >> 8) % KINDS;
    struct kind *least = NULL;
    uint16_t *empty = NULL;

    used = true;
    for (uint64_t i = 0; i < PLACES; i++) {
        uint16_t *at = &kinds.at[base ^ i];
        if (*at == 0) {
            empty = empty != NULL ? empty : at;
            continue;
        }
        struct kind *k = &kinds.list[*at - 1];
        if (k->key == key)
            return k;
        if (least == NULL || k->uses < least->uses)
            least = k;
    }
    if (empty != NULL) {
        *empty = ++kinds.count;
        least = &kinds.list[*empty - 1];
    }
    *least = (struct kind){.key = key};
    return least;
}

struct espi_pair_kind espi_pair_class_use(uint64_t key, uint64_t uses, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    struct kind *k = kind_of(key);
    k->uses += uses;
    k->bytes += bytes;
    const bool hopeful = k->paid < ESPI_KIND_TRIES_NS + k->gained / ESPI_KIND_PART;
    const struct espi_pair_kind now = {k->uses, k->bytes, k->planned, hopeful, k->uses < k->retry};
    pthread_mutex_unlock(&lock);
    return now;
}

void espi_pair_class_tried(uint64_t key, uint64_t took_ns, uint64_t gained_ns)
{
    pthread_mutex_lock(&lock);
    struct kind *k = kind_of(key);
    k->paid += took_ns;
    k->gained += gained_ns;
    pthread_mutex_unlock(&lock);
}

void espi_pair_class_planned(uint64_t key)
{
    pthread_mutex_lock(&lock);
    kind_of(key)->planned = true;
    pthread_mutex_unlock(&lock);
}

void espi_pair_class_denied(uint64_t key)
{
    pthread_mutex_lock(&lock);
    struct kind *k = kind_of(key);
    k->retry = 2 * k->uses;
    pthread_mutex_unlock(&lock);
}

bool espi_layout_seen(uint64_t layout_key)
{
    uint64_t *at = &seen[(layout_key >> 8) % SEEN];
    bool before;

    pthread_mutex_lock(&lock);
    before = *at == layout_key;
    used = true;
    *at = layout_key;
    pthread_mutex_unlock(&lock);
    return before;
}

void espi_pair_classes_reset(void)
{
    pthread_mutex_lock(&lock);
    if (used) { /* memory that was never written costs nothing */
        memset(&kinds, 0, sizeof kinds);
        memset(seen, 0, sizeof seen);
        used = false;
    }
    pthread_mutex_unlock(&lock);
}
