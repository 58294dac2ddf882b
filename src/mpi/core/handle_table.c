#include "mpi/core/handle_table.h"

#include <pthread.h>
#include <sys/mman.h>

#include "base/overlap.h"
#include "base/table.h"

_Atomic(struct espi_type_chunk *) espi_type_chunks[ESPI_SLOTS_CHUNKS] ESPI_TABLE;
static atomic_uint chunks_end; /* chunks from here on are not there */
struct espi_hot *espi_hot;

bool espi_handle_table_lends;
_Atomic uint64_t espi_handle_table_settled[ESPI_SETTLED_KINDS];
static void (*tell_stub)(void);
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER; /* whoever finds a flag as it is to be, has it so */
atomic_bool espi_requests_are_ours;

void espi_handle_table_share(struct espi_hot *hot, void (*refresh)(void))
{
    espi_hot = hot;
    tell_stub = refresh;
}

void espi_handle_table_plain(unsigned keep, unsigned more, bool (*has_requests)(void))
{
    pthread_mutex_lock(&changing);
    if (more & ESPI_PLAIN_REQUESTS) { /* who makes a request from here on waits for the lock; others are seen */
        atomic_store(&espi_requests_are_ours, false);
        if (has_requests != NULL && has_requests())
            more &= ~(unsigned)ESPI_PLAIN_REQUESTS;
    }
    const unsigned before = atomic_load(&espi_hot->plain), now = (before & keep) | more;
    atomic_store(&espi_hot->plain, now);
    if (tell_stub != NULL && now != before)
        tell_stub();
    atomic_store(&espi_requests_are_ours, !(now & ESPI_PLAIN_REQUESTS));
    pthread_mutex_unlock(&changing);
}

/* Makes chunk number `which` unless it is there; NULL when memory is short. */
struct espi_type_chunk *espi_slot_more(uint32_t which)
{
    unsigned end = atomic_load(&chunks_end);
    struct espi_type_chunk *chunk, *other = NULL;

    /* Not from the heap: memory in its midst, held for good, changes how fast malloc is for MPI; and a slot here
       stands in one line of the cache. */
    chunk = mmap(NULL, sizeof *chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED)
        return NULL;
    if (!atomic_compare_exchange_strong(&espi_type_chunks[which], &other, chunk)) {
        munmap(chunk, sizeof *chunk);
        chunk = other;
    }
    while (end <= which && !atomic_compare_exchange_weak(&chunks_end, &end, which + 1))
        ;
    return chunk;
}

void espi_slot_begin(struct espi_type_slot *slot, MPI_Datatype type, struct espi_slot_start start)
{
    atomic_store_explicit(&slot->uses, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->items, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->look, start.look, memory_order_relaxed);
    atomic_store_explicit(&slot->settled, start.settled, memory_order_relaxed);
    atomic_store_explicit(&slot->generation, atomic_load_explicit(&slot->generation, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    slot->made = 0;
    slot->tied = false;
    espi_slot_pair(slot, type, start.paired);
    espi_slot_more_items(type); /* of a type that passed unseen */
    atomic_store_explicit(&slot->lent, 0, memory_order_relaxed);
    if (espi_credit_at((uint32_t)type) < ESPI_CREDITS)
        espi_commits_at(espi_hot, espi_credit_at((uint32_t)type));
    atomic_store_explicit(espi_slot_credit(type), 1, memory_order_relaxed);
    atomic_store_explicit(&slot->known, true, memory_order_release);
    espi_slot_lend(slot, type);
}

bool espi_slot_end(struct espi_type_slot *slot, MPI_Datatype type)
{
    /* A type is freed once, and not while another thread uses it: but two threads may commit it once more. */
    const bool known = espi_calls_overlap ? atomic_exchange(&slot->known, false)
                                          : atomic_load_explicit(&slot->known, memory_order_acquire);

    if (known) {
        espi_slot_settle_up(slot, type);
        atomic_store_explicit(espi_slot_credit(type), 0, memory_order_relaxed);
        espi_slot_pair(slot, type, 0);
    }
    atomic_store_explicit(&slot->known, false, memory_order_release);
    return known;
}

void espi_handle_table_forget(void)
{
    for (uint32_t at = 0; at < ESPI_CREDITS; at++)
        if (!atomic_load_explicit(&espi_hot->committed_in[at / ESPI_CREDITS_EACH], memory_order_relaxed))
            at |= ESPI_CREDITS_EACH - 1; /* on to the next ones, without a write to their page */
        else
            atomic_store_explicit(&espi_hot->types[at].credit, 0, memory_order_relaxed);
}

/* The handle of a slot. */
static MPI_Datatype handle_of(uint32_t number)
{
    const bool is_indirect = number >= ESPI_SLOTS_EACH && number < ESPI_SLOTS_EACH + (1u << 26);

    return (MPI_Datatype)(0x8c000000u | (uint32_t)is_indirect << 30 |
                          ((number - (is_indirect ? ESPI_SLOTS_EACH : 0)) & 0x3ffffff));
}

void espi_handle_table_each(void (*visit)(struct espi_type_slot *slot, MPI_Datatype type))
{
    unsigned end = atomic_load(&chunks_end), which, i;

    for (which = 0; which < end; which++) {
        struct espi_type_chunk *chunk = atomic_load_explicit(&espi_type_chunks[which], memory_order_acquire);

        for (i = 0; chunk != NULL && i < ESPI_SLOTS_EACH; i++) {
            MPI_Datatype type = handle_of(which * ESPI_SLOTS_EACH + i);
            const uint32_t at = espi_credit_at((uint32_t)type);
            atomic_uchar *credit = espi_slot_credit(type);

            /* The credit first: pages of slots, and of credits, that never were in use are not touched. */
            if (at < ESPI_CREDITS &&
                !atomic_load_explicit(&espi_hot->committed_in[at / ESPI_CREDITS_EACH], memory_order_relaxed))
                continue;
            if (credit == NULL || atomic_load_explicit(credit, memory_order_relaxed) == 0 ||
                !atomic_load_explicit(&chunk->slots[i].known, memory_order_acquire))
                continue;
            espi_slot_settle_up(&chunk->slots[i], type);
            visit(&chunk->slots[i], type);
        }
    }
}
