/*
 * Known communicators. A handle may be garbage or freed: MPI would then report an error in the name of the function
 * that was asked, through an error handler that may end the program. So a handle is asked about once, with the error
 * handlers that MPI uses for bad handles set to return, and remembered until the communicator's delete callback.
 * Under MPI_THREAD_MULTIPLE another thread may set these handlers meanwhile, or have an error for them: there a
 * handle is asked about when MPI has taken it in a call of the program.
 */
#include "mpi/comm/comm_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "job/nodes.h"
#include "mpi/comm/dying_comms.h"
#include "mpi/comm/world.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/handle_table.h"

enum { NEAR_PIECE = 256, NEAR_MOST = 65536 };

struct known {
    struct espi_comm_facts facts;
    uint64_t *near_bits; /* of the facts */
    unsigned char world[ESPI_COMM_WORLD_MOST]; /* the same */
    unsigned char cart[ESPI_COMM_WORLD_MOST];  /* the same */
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards known_comms and keyval; no MPI call under it */
static struct known *known_comms;
static int keyval = MPI_KEYVAL_INVALID;
atomic_uint espi_comm_epoch = 1;
static atomic_bool have_world;
/* Under MPI_THREAD_MULTIPLE a delete callback can be called from inside MPI's progress (a request held the last
   reference), where MPICH 4.0.2 gives up its lock around it and another thread then corrupts UCX. So no attributes
   there: what is known of a communicator ends with the wrapped MPI_Comm_free or MPI_Comm_disconnect. */
static atomic_bool attributes;
static atomic_bool unrecorded; /* a communicator that was looked at is not in `known_comms`: memory was short */

static void free_known(struct known *known)
{
    free(known->near_bits);
    free(known);
}

bool espi_comm_is_known(MPI_Comm comm)
{
    struct known *known;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known_comms, &comm, sizeof comm, known);
    pthread_mutex_unlock(&lock);
    return known || atomic_load_explicit(&unrecorded, memory_order_relaxed);
}

/* What the stub is told (abi.h) of a communicator whose delete callback ends it. */
static void tell_stub(const struct espi_comm_facts *facts)
{
    const uint64_t rank = (uint64_t)(uint32_t)facts->comm << 32 | (uint32_t)facts->rank;
    struct espi_known_comm *known;
    if (!atomic_load_explicit(&attributes, memory_order_relaxed) || facts->inter ||
        (espi_word)MPI_IN_PLACE != ESPI_IN_PLACE)
        return;
    known = &espi_hot->comms[espi_comm_at((uint32_t)facts->comm)];
    atomic_store_explicit(&known->rank, rank, memory_order_relaxed);
    atomic_store_explicit(&known->peers, facts->peers, memory_order_relaxed);
    atomic_store_explicit(&known->out, facts->out, memory_order_relaxed);
    atomic_store_explicit(&known->in, facts->in, memory_order_relaxed);
}

/* MPI_COMM_NULL: of none any more. */
static void untell_stub(MPI_Comm comm)
{
    if (!atomic_load_explicit(&attributes, memory_order_relaxed))
        return;
    for (int i = 0; i < ESPI_COMMS; i++)
        if (comm == MPI_COMM_NULL ||
            atomic_load_explicit(&espi_hot->comms[i].rank, memory_order_relaxed) >> 32 == (uint32_t)comm)
            atomic_store_explicit(&espi_hot->comms[i].rank, 0, memory_order_relaxed);
}

void espi_comm_ends(MPI_Comm comm)
{
    struct known *known;
    untell_stub(comm);
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known_comms, &comm, sizeof comm, known);
    if (known) {
        HASH_DEL(known_comms, known);
        free_known(known);
    }
    atomic_fetch_add_explicit(&espi_comm_epoch, 1, memory_order_release);
    pthread_mutex_unlock(&lock);
}

static int comm_ends(MPI_Comm comm, int key, void *value, void *state)
{
    (void)key;
    (void)value;
    (void)state;
    espi_comm_ends(comm);
    return MPI_SUCCESS;
}

/* Of a Cartesian communicator. */
static bool ask_ends(struct espi_comm_facts *facts, int dims)
{
    enum { MOST = 32 };
    int rank[2];

    if (dims > MOST)
        facts->nobody = UINT64_MAX;
    for (int d = 0; d < dims && dims <= MOST; d++) {
        if (espi_pmpi.Cart_shift(facts->comm, d, 1, &rank[0], &rank[1]) != MPI_SUCCESS)
            return false;
        for (int i = 0; i < 2; i++)
            facts->nobody |= (uint64_t)(rank[i] == MPI_PROC_NULL) << (2 * d + i);
    }
    return true;
}

static bool ask_topology(struct espi_comm_facts *facts)
{
    int kind, dims = 0, weighted;
    if (facts->inter)
        return true;
    if (espi_pmpi.Topo_test(facts->comm, &kind) != MPI_SUCCESS)
        return false;
    switch (kind) {
    case MPI_CART:
        if (espi_pmpi.Cartdim_get(facts->comm, &dims) != MPI_SUCCESS)
            return false;
        facts->in = facts->out = 2 * dims;
        return ask_ends(facts, dims);
    case MPI_GRAPH:
        if (espi_pmpi.Graph_neighbors_count(facts->comm, facts->rank, &facts->in) != MPI_SUCCESS)
            return false;
        facts->out = facts->in;
        return true;
    case MPI_DIST_GRAPH:
        return espi_pmpi.Dist_graph_neighbors_count(facts->comm, &facts->in, &facts->out, &weighted) == MPI_SUCCESS;
    default:
        return true;
    }
}

static bool ask_facts(struct espi_comm_facts *facts)
{
    int inter = 0;
    if (espi_pmpi.Comm_test_inter(facts->comm, &inter) != MPI_SUCCESS ||
        espi_pmpi.Comm_rank(facts->comm, &facts->rank) != MPI_SUCCESS)
        return false;
    facts->inter = inter;
    int *tag_ub, flag = 0;
    facts->tag_ub = 32767; /* what every MPI allows */
    if (espi_pmpi.Comm_get_attr(facts->comm, MPI_TAG_UB, &tag_ub, &flag) == MPI_SUCCESS && flag)
        facts->tag_ub = *tag_ub;
    int code = inter ? espi_pmpi.Comm_remote_size(facts->comm, &facts->peers)
                     : espi_pmpi.Comm_size(facts->comm, &facts->peers);
    return code == MPI_SUCCESS && ask_topology(facts);
}

/* With the error handlers of the two predefined communicators set aside: MPICH reports a bad handle through them. But
   not one that ends the program, as the bad handle does anyhow then: MPI_ERRORS_ARE_FATAL may stand for none, of
   which communicators made from there follow MPI_COMM_WORLD's handler of later, and no call puts that back. */
static bool ask_without_handlers(struct espi_comm_facts *facts)
{
    static const MPI_Comm reporters[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler handlers[2] = {MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
    bool swapped[2] = {false, false}, good = true;
    for (int i = 0; i < 2 && good; i++) {
        good = espi_pmpi.Comm_get_errhandler(reporters[i], &handlers[i]) == MPI_SUCCESS;
        if (good && handlers[i] != MPI_ERRORS_ARE_FATAL)
            good = swapped[i] = espi_pmpi.Comm_set_errhandler(reporters[i], MPI_ERRORS_RETURN) == MPI_SUCCESS;
    }
    good = good && ask_facts(facts);
    for (int i = 0; i < 2; i++) {
        if (swapped[i])
            espi_pmpi.Comm_set_errhandler(reporters[i], handlers[i]);
        if (handlers[i] != MPI_ERRHANDLER_NULL)
            espi_pmpi.Errhandler_free(&handlers[i]);
    }
    return good;
}

/* MPI is called without `lock`: delete callbacks take it, and MPI may hold locks of its own around those. `taken`: no
   error is to be expected. */
static bool learn_facts(struct espi_comm_facts *facts, MPI_Comm comm, int key, bool taken)
{
    struct espi_comm_facts found = {.comm = comm};
    struct known *known, *old;
    taken = taken || comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF || !atomic_load(&have_world);
    /* What could not be recorded may have been taken before. Were it unknown now, this rank alone would leave a call
       to the library that the others send along a tree. */
    if (!taken && !atomic_load(&attributes) && !atomic_load(&unrecorded))
        return false;
    if (!(taken ? ask_facts(&found) : ask_without_handlers(&found)) ||
        (atomic_load(&attributes) && espi_pmpi.Comm_set_attr(comm, key, NULL) != MPI_SUCCESS))
        return false;
    *facts = found;
    if (!(known = calloc(1, sizeof *known))) {
        atomic_store(&unrecorded, true); /* asked again next time */
        return true;
    }
    known->facts = found;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known_comms, &comm, sizeof comm, old); /* another thread may have learnt the same */
    if (old) { /* and may use what belongs to it */
        *facts = old->facts;
        free(known);
    } else {
        HASH_ADD(hh, known_comms, facts.comm, sizeof comm, known);
        if (!known->hh.tbl) {
            free(known);
            atomic_store(&unrecorded, true);
        }
    }
    pthread_mutex_unlock(&lock);
    return true;
}

static bool look_up_facts(struct espi_comm_facts *facts, MPI_Comm comm, bool taken)
{
    unsigned now = atomic_load_explicit(&espi_comm_epoch, memory_order_acquire);
    if (espi_comm_is_last(facts, comm))
        return true;
    uint32_t bits = (uint32_t)comm;
    if (bits >> 30 == 0 || ((bits >> 26) & 0xf) != 1 || espi_comm_is_dying(comm))
        return false;
    struct known *known;
    pthread_mutex_lock(&lock);
    int key = keyval;
    HASH_FIND(hh, known_comms, &comm, sizeof comm, known);
    if (known)
        *facts = known->facts;
    pthread_mutex_unlock(&lock);
    if (!known && (key == MPI_KEYVAL_INVALID || !learn_facts(facts, comm, key, taken)))
        return false;
    facts->epoch = now;
    tell_stub(facts);
    return true;
}

bool espi_comm_look(struct espi_comm_facts *facts, MPI_Comm comm)
{
    return look_up_facts(facts, comm, false);
}

bool espi_comm_look_taken(struct espi_comm_facts *facts, MPI_Comm comm)
{
    return look_up_facts(facts, comm, true);
}

bool espi_comm_look_now(struct espi_comm_facts *facts, MPI_Comm comm)
{
    return look_up_facts(facts, comm, !atomic_load(&attributes));
}

/* ---- who is near ---- */

/* The ranks from `first` on, n of them, in MPI_COMM_WORLD. */
static bool translate(MPI_Group members, MPI_Group all, int first, int n, int *to)
{
    int from[NEAR_PIECE];
    for (int i = 0; i < n; i++)
        from[i] = first + i;
    return espi_pmpi.Group_translate_ranks(members, n, from, all, to) == MPI_SUCCESS;
}

/* Sets the bits of those that are near; how many, -1: that can not be found out. */
static int find_near(MPI_Comm comm, int peers, uint64_t *bits)
{
    MPI_Group all = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    const int own = espi_job_node_of(espi_world.rank);
    const bool all_are = espi_job_on_one_node(espi_world.size);
    int near = 0, to[NEAR_PIECE];
    if ((own >= 0 || all_are) && espi_pmpi.Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS &&
        espi_pmpi.Comm_group(comm, &members) == MPI_SUCCESS) {
        for (int done = 0; done < peers && near >= 0; done += NEAR_PIECE) {
            const int n = peers - done < NEAR_PIECE ? peers - done : NEAR_PIECE;
            if (!translate(members, all, done, n, to))
                near = -1;
            for (int i = 0; i < n && near >= 0; i++)
                if (to[i] != MPI_UNDEFINED && (all_are || espi_job_node_of(to[i]) == own)) {
                    bits[(done + i) / 64] |= UINT64_C(1) << (done + i) % 64;
                    near++;
                }
        }
    } else {
        near = -1;
    }
    if (members != MPI_GROUP_NULL)
        espi_pmpi.Group_free(&members);
    if (all != MPI_GROUP_NULL)
        espi_pmpi.Group_free(&all);
    return near;
}

/* What another copy of the facts has been told. */
static bool near_is_known(struct espi_comm_facts *facts)
{
    struct known *known;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known_comms, &facts->comm, sizeof facts->comm, known);
    if (known) {
        facts->near = known->facts.near;
        facts->near_bits = known->facts.near_bits;
    }
    pthread_mutex_unlock(&lock);
    return known && facts->near != ESPI_NEAR_UNASKED;
}

/* Fills what is known of near ranks, and keeps it with the communicator. */
static void learn_near(struct espi_comm_facts *facts)
{
    uint64_t *bits = NULL;
    struct known *known;
    int near = -1;
    if (near_is_known(facts))
        return;
    facts->near = ESPI_NEAR_NONE;
    if (!espi_world.open || facts->inter)
        return;
    if (facts->peers <= NEAR_MOST && (bits = calloc((size_t)facts->peers / 64 + 1, sizeof *bits)) != NULL)
        near = find_near(facts->comm, facts->peers, bits);
    if (near == facts->peers)
        facts->near = ESPI_NEAR_ALL;
    else if (near > 1) /* another than this one */
        facts->near = ESPI_NEAR_SOME;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known_comms, &facts->comm, sizeof facts->comm, known);
    if (known && known->near_bits) { /* of another thread that has found out the same */
        facts->near_bits = known->near_bits;
    } else if (known && facts->near == ESPI_NEAR_SOME) {
        known->near_bits = bits;
        facts->near_bits = bits;
        bits = NULL;
    } else if (facts->near == ESPI_NEAR_SOME) {
        facts->near = ESPI_NEAR_NONE; /* nobody would free them */
    }
    if (known) {
        known->facts.near = facts->near;
        known->facts.near_bits = facts->near_bits;
    }
    pthread_mutex_unlock(&lock);
    free(bits);
}

bool espi_comm_is_near(struct espi_comm_facts *facts, int peer)
{
    if (facts->near == ESPI_NEAR_UNASKED)
        learn_near(facts);
    if (facts->near != ESPI_NEAR_SOME)
        return facts->near == ESPI_NEAR_ALL;
    return peer >= 0 && peer < facts->peers && facts->near_bits[peer / 64] >> peer % 64 & 1;
}

/* ---- ranks in MPI_COMM_WORLD ---- */

static bool find_world(const struct espi_comm_facts *facts, unsigned char *world)
{
    MPI_Group all = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    int to[ESPI_COMM_WORLD_MOST];
    bool good = espi_world.open && espi_world.size <= ESPI_COMM_WORLD_MOST && facts->peers <= espi_world.size &&
                !facts->inter && espi_pmpi.Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS &&
                espi_pmpi.Comm_group(facts->comm, &members) == MPI_SUCCESS &&
                translate(members, all, 0, facts->peers, to);
    for (int i = 0; good && i < facts->peers; i++) {
        good = to[i] != MPI_UNDEFINED;
        world[i] = (unsigned char)to[i];
    }
    if (members != MPI_GROUP_NULL)
        espi_pmpi.Group_free(&members);
    if (all != MPI_GROUP_NULL)
        espi_pmpi.Group_free(&all);
    return good;
}

const unsigned char *espi_comm_world_ranks(struct espi_comm_facts *facts)
{
    static unsigned char without[ESPI_COMM_WORLD_MOST]; /* where memory was short for more */
    struct known *known;
    if (facts->world_asked)
        return facts->world;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known_comms, &facts->comm, sizeof facts->comm, known);
    pthread_mutex_unlock(&lock);
    unsigned char *world = known ? known->world : without;
    const bool asked = known && known->facts.world_asked;
    const bool good = asked ? known->facts.world != NULL : find_world(facts, world);
    if (!known)
        return good ? world : NULL;
    known->facts.world = facts->world = good ? world : NULL;
    known->facts.world_asked = facts->world_asked = true;
    return facts->world;
}

static bool find_cart(struct espi_comm_facts *facts, unsigned char *cart)
{
    const unsigned char *world = espi_comm_world_ranks(facts);
    int topology = MPI_UNDEFINED, dimensions = 0, rank[2];
    bool good = world != NULL && espi_pmpi.Topo_test(facts->comm, &topology) == MPI_SUCCESS &&
                topology == MPI_CART && espi_pmpi.Cartdim_get(facts->comm, &dimensions) == MPI_SUCCESS &&
                dimensions <= ESPI_COMM_WORLD_MOST / 2 && facts->in == 2 * dimensions && facts->out == facts->in;
    for (int d = 0; good && d < dimensions; d++) {
        good = espi_pmpi.Cart_shift(facts->comm, d, 1, &rank[0], &rank[1]) == MPI_SUCCESS;
        for (int i = 0; good && i < 2; i++)
            cart[2 * d + i] = rank[i] == MPI_PROC_NULL ? ESPI_COMM_NOBODY : world[rank[i]];
    }
    return good;
}

const unsigned char *espi_comm_cart_ranks(struct espi_comm_facts *facts)
{
    static unsigned char without[ESPI_COMM_WORLD_MOST];
    struct known *known;
    if (facts->cart_asked)
        return facts->cart;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, known_comms, &facts->comm, sizeof facts->comm, known);
    pthread_mutex_unlock(&lock);
    unsigned char *cart = known ? known->cart : without;
    const bool asked = known && known->facts.cart_asked;
    const bool good = asked ? known->facts.cart != NULL : find_cart(facts, cart);
    if (!known)
        return good ? cart : NULL;
    known->facts.cart = facts->cart = good ? cart : NULL;
    known->facts.cart_asked = facts->cart_asked = true;
    return facts->cart;
}

/* ---- */

void espi_comm_cache_start(bool world)
{
    int level = MPI_THREAD_MULTIPLE;
    atomic_store(&have_world, world);
    atomic_store(&attributes, espi_pmpi.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE);
    pthread_mutex_lock(&lock);
    if (keyval == MPI_KEYVAL_INVALID &&
        espi_pmpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_ends, &keyval, NULL) != MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&lock);
}

void espi_comm_cache_stop(void)
{
    struct known *known, *next;
    pthread_mutex_lock(&lock);
    int key = keyval;
    keyval = MPI_KEYVAL_INVALID;
    struct known *all = known_comms;
    known_comms = NULL;
    atomic_fetch_add_explicit(&espi_comm_epoch, 1, memory_order_release);
    pthread_mutex_unlock(&lock);
    untell_stub(MPI_COMM_NULL);
    /* Attributes on communicators that still live stay; their delete callbacks find nothing. */
    if (key != MPI_KEYVAL_INVALID)
        espi_pmpi.Comm_free_keyval(&key);
    HASH_ITER(hh, all, known, next) {
        HASH_DEL(all, known);
        free_known(known);
    }
}
