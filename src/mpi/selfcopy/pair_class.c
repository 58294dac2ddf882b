#include "mpi/selfcopy/pair_class.h"

#include <pthread.h>
#include <string.h>

enum { KINDS = 512, SEEN = 1024 };

struct kind {
    uint64_t key, types, uses, bytes, paid, gained;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below; never held over an MPI call */
/* In the order in which their places were first wanted: as much memory is touched as there are kinds. */
static struct {
    uint16_t at[KINDS]; /* by place: 1 + index in `list`, 0: none yet */
    uint16_t count;
    struct kind list[KINDS];
} kinds;
static uint64_t seen[SEEN];
static bool used; /* neither is untouched */

static struct kind *slot(uint64_t key)
{
    uint16_t *at = &kinds.at[(key >> 8) % KINDS];
    struct kind *k;

    used = true;
    if (*at == 0)
        *at = ++kinds.count;
    k = &kinds.list[*at - 1];
    if (k->key != key) {
        memset(k, 0, sizeof *k);
        k->key = key;
    }
    return k;
}

void espi_pair_class_use(uint64_t key, uint64_t types, uint64_t uses, uint64_t bytes, uint64_t *all_uses,
                    uint64_t *all_bytes)
{
    struct kind *k;

    pthread_mutex_lock(&lock);
    k = slot(key);
    k->types += types;
    k->uses += uses;
    k->bytes += bytes;
    *all_uses = k->uses;
    *all_bytes = k->bytes;
    pthread_mutex_unlock(&lock);
}

bool espi_pair_class_hopeful(uint64_t key)
{
    bool hopeful;

    pthread_mutex_lock(&lock);
    hopeful = slot(key)->paid < ESPI_KIND_TRIES_NS + slot(key)->gained / 2;
    pthread_mutex_unlock(&lock);
    return hopeful;
}

void espi_pair_class_tried(uint64_t key, uint64_t took_ns, uint64_t gain_ns)
{
    struct kind *k;

    pthread_mutex_lock(&lock);
    k = slot(key);
    k->paid += took_ns;
    k->gained += gain_ns * (k->types > 0 && k->uses > k->types ? k->uses / k->types : 1);
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
