#include <pthread.h>
#include <sched.h>

#include "base/buffer_pool.h"
#include "base/hash.h"
#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/comm/self_comm.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/exchange/exchange.h"
#include "mpi/exchange/ends.h"
#include "mpi/exchange/flow.h"
#include "mpi/exchange/own_block.h"
#include "mpi/exchange/side.h"
#include "mpi/exchange/turns.h"
#include "mpi/typeplan/unseen.h"
#include "stats/stats.h"
#include "words.h"

/* A neighbour that is met twice, in a periodic direction of one or two ranks, gets what is for it in the order of the
   blocks. MPICH 4.0 receives in the reverse order in MPI_Neighbor_alltoall, and in this one in the v- and w-forms. Of
   others it is not known, and such communicators are left to them. */
#if MPICH_NUMVERSION >= 40000000 && MPICH_NUMVERSION < 40100000
enum { KNOWS_ORDER = true };
#else
enum { KNOWS_ORDER = false };
#endif

/* MPICH's MPI_Alltoall sends the blocks of several ranks together where there are so many, of so few bytes ("fewer
   than eight", which do not, are eight in the selection of 4.0 to 4.2: csel.c). */
enum { TOGETHER_RANKS = MPICH_NUMVERSION < 40300000 ? 9 : 8, TOGETHER_BYTES = 256 };

struct call {
    struct espi_thread *thread;
    const struct espi_api_row *row;
    const espi_word *args;
    uint64_t begun;               /* where there are turns */
    int own;                      /* this rank, in MPI_COMM_WORLD, */
    int rank;                     /* and in the communicator, */
    int members;                  /* which has so many */
    const unsigned char *peer[2]; /* the rank in MPI_COMM_WORLD that a block is for, or from, or ESPI_COMM_NOBODY */
    char *in_place;               /* what was there, packed, where the call is in place */
    struct espi_exchange_side side[2];
    struct espi_flow flow[2][ESPI_SEGMENT_PROCESSES];
    struct espi_flow *going[2][ESPI_SEGMENT_PROCESSES]; /* one of each end */
    struct espi_own_steps own_steps;
};

static bool is_neighbours(const struct call *c)
{
    return c->row->kind & ESPI_NEIGHBOUR;
}

/* Of neighbours MPI knows no such call: there it is an address, from which nothing can be read. */
static bool is_in_place(const struct call *c)
{
    return !is_neighbours(c) && (void *)c->args[c->row->typed[0].buffer] == MPI_IN_PLACE;
}

/* ---- waiting ---- */

/* The library goes on meanwhile: the other rank may wait in it for something that only this process can do. */
void espi_exchange_wait(unsigned looks)
{
    enum { OFTEN = 64, LONG = 1 << 14 };

    if (looks % OFTEN == OFTEN - 1)
        espi_exchange_poll();
    if (looks > (espi_exchange_is_crowded ? OFTEN : LONG))
        sched_yield();
}

/* Moves a piece of each. Those that are through make room for the next one of their end, which begins at once: while
   this rank reads, others wait for what it has not offered. */
static bool advance(struct espi_flow **going, int *n, bool (*moves)(struct espi_flow *flow))
{
    bool moved = false;

    for (int i = 0; i < *n; i++) {
        while (going[i] != NULL && moves(going[i])) {
            moved = true;
            if (!going[i]->through)
                break;
            going[i] = going[i]->next;
        }
        if (going[i] == NULL)
            going[i--] = going[--*n];
    }
    return moved;
}

static void carry_out(struct call *c, int outs, int ins)
{
    enum { SOMETIMES = 8, PATIENT = 64 }; /* so long another rank's pieces are waited for to go along with */
    static unsigned calls; /* a rank that never waits polls, too */
    unsigned looks = 0;

    if (++calls % SOMETIMES == 0)
        espi_exchange_poll();
    while (outs + ins > 0) {
        const bool wrote = advance(c->going[0], &outs, espi_flow_writes);
        if (wrote && c->own_steps.done < c->own_steps.end)
            espi_own_steps_go(&c->own_steps, c->flow[0][0].end->room);
        if (advance(c->going[1], &ins, espi_flow_reads) || wrote)
            looks = 0;
        else if (looks++ > PATIENT && c->own_steps.done < c->own_steps.end)
            espi_own_steps_go(&c->own_steps, c->flow[0][0].end->room);
        else
            espi_exchange_wait(looks);
    }
    if (c->own_steps.done < c->own_steps.end)
        espi_own_steps_go(&c->own_steps, INT64_MAX);
}

/* ---- a call ---- */

/* The block that is begun with at this step. Blocks of ranks that come behind this one are sent first, and those of
   ranks before it received, so that not all begin with the same. */
static int block_at(const struct call *c, int which, int step)
{
    const int n = c->side[which].blocks;

    if (is_neighbours(c))
        return which == 1 && c->row->typed[1].shape == ESPI_SHAPE_ONE ? n - 1 - step : step;
    return which == 0 ? (c->rank + 1 + step) % n : (c->rank - 1 - step + n) % n;
}

/* Of neighbours MPICH does not say that a block was too long for its receiver. */
static bool is_told(const struct call *c, int error, bool too_long)
{
    return error != MPI_SUCCESS && !(too_long && is_neighbours(c));
}

/* The next block that is this rank's own, from this step on; NULL: there is none. */
static const struct espi_exchange_block *next_own(const struct call *c, int which, int *step)
{
    while (*step < c->side[which].blocks) {
        const int i = block_at(c, which, (*step)++);
        if (c->peer[which][i] == c->own)
            return &c->side[which].block[i];
    }
    return NULL;
}

static int copy_own_blocks(struct call *c, struct espi_own_steps *steps)
{
    const struct espi_exchange_block *from, *to;
    int step[2] = {0, 0}, result = MPI_SUCCESS;

    while ((from = next_own(c, 0, &step[0])) != NULL && (to = next_own(c, 1, &step[1])) != NULL) {
        const int copied = espi_exchange_copy_own(c->thread, from, to, steps);
        if (is_told(c, copied, from->bytes > to->bytes))
            result = copied;
    }
    return result;
}

/* What stands in the receive buffer is sent, and received into: it is packed before. */
static int take_out(struct call *c)
{
    char *at = c->in_place = espi_exchange_memory(c->side[1].bytes + 1);

    if (at == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < c->side[1].blocks; i++) {
        const struct espi_exchange_block *block = &c->side[1].block[i];
        const int result = i == c->rank || block->bytes == 0 ? MPI_SUCCESS : espi_exchange_pack(block, at);
        if (result != MPI_SUCCESS)
            return result;
        c->side[0].block[i].data = at;
        at += block->bytes;
    }
    return MPI_SUCCESS;
}

/* The blocks that are sent are as long as those that are received, and dense. */
static void see_in_place(struct call *c)
{
    c->side[0] = c->side[1];
    for (int i = 0; i < c->side[0].blocks; i++) {
        struct espi_exchange_block *block = &c->side[0].block[i];
        *block = (struct espi_exchange_block){.count = block->bytes, .bytes = block->bytes, .dense = true};
    }
}

/* Begins all of one side. Neighbours meet in any case; other ranks where there is something between them. How many
   ends there are. `failed`: there was no memory for what is to be sent. */
static int begin_flows(struct call *c, int which, bool failed, int *flows)
{
    int ends = 0;

    *flows = 0;
    for (int step = 0; step < c->side[which].blocks; step++) {
        const int i = block_at(c, which, step), peer = c->peer[which][i];
        const struct espi_exchange_block *block = &c->side[which].block[i];
        struct espi_flow *flow = &c->flow[which][*flows], *last = NULL;
        if (peer == c->own || peer == ESPI_COMM_NOBODY || (block->bytes == 0 && !is_neighbours(c)))
            continue;
        ++*flows;
        if (which == 0)
            espi_flow_send(flow, espi_exchange_to(peer), block, failed);
        else
            espi_flow_receive(flow, espi_exchange_from(peer), block);
        for (int end = 0; end < ends && is_neighbours(c) && last == NULL; end++)
            if (c->going[which][end]->end == flow->end)
                last = c->going[which][end];
        while (last != NULL && last->next != NULL)
            last = last->next;
        if (last != NULL)
            last->next = flow;
        else
            c->going[which][ends++] = flow;
    }
    return ends;
}

/* Whether a block that is sent goes in more than one piece. */
static bool is_in_pieces(const struct espi_flow *flow, int flows)
{
    for (int i = 0; i < flows; i++)
        if (flow[i].block.bytes > flow[i].end->room && flow[i].way == ESPI_FLOW_IN_PIECES)
            return true;
    return false;
}

/* `result`: of what came before. What other ranks send comes while own blocks are copied; those pieces of long blocks
   would have left the nearest caches meanwhile, so the own block goes along with them. */
static int move_blocks(struct call *c, int result, struct espi_stats_thread *stats)
{
    int flows[2], outs, ins;

    outs = begin_flows(c, 0, result != MPI_SUCCESS, &flows[0]);
    ins = begin_flows(c, 1, false, &flows[1]);
    c->own_steps = (struct espi_own_steps){0};
    if (!is_in_place(c)) {
        const bool pieces = is_in_pieces(c->flow[0], flows[0]);
        if (!pieces)
            advance(c->going[0], &outs, espi_flow_writes);
        result = copy_own_blocks(c, pieces && !is_neighbours(c) ? &c->own_steps : NULL);
    }
    carry_out(c, outs, ins);
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < flows[which]; i++) {
            const int ended = espi_flow_end(&c->flow[which][i]);
            if (stats != NULL)
                espi_count(stats, ESPI_COUNT_blocks_fetched, c->flow[which][i].fetched);
            if (is_told(c, ended, ended == MPI_ERR_TRUNCATE))
                result = ended;
        }
    return result;
}

/* MPI's own error of that class, with its text. */
static int as_mpi_says(int error)
{
    const char sent[2] = {0};
    char received;
    const int said = error != MPI_ERR_TRUNCATE ? error
                                               : espi_self_copy(sent, 2, MPI_BYTE, &received, 1, MPI_BYTE);

    return said != MPI_SUCCESS ? said : error;
}

/* False: MPI refuses the call. One in which this rank does nothing is none that it may be left to: in place natively
   also ranks meet that have nothing for each other. */
static bool read_call(struct call *c)
{
    const struct espi_api_row *row = c->row;

    if (espi_exchange_is_aliased(row, c->args) || !espi_exchange_side_read(&c->side[1], row, 1, c->args) ||
        !(is_in_place(c) || espi_exchange_side_read(&c->side[0], row, 0, c->args)))
        return false;
    if (is_in_place(c))
        see_in_place(c);
    return true;
}

/* Whether the library has fewer messages for it: the same on all ranks, and so where sides differ on some of them,
   which MPI lets pass or reports. */
static bool goes_together(const struct call *c)
{
    const int64_t sent = c->side[0].longest, received = c->side[1].longest;

    return c->row->typed[0].shape == ESPI_SHAPE_ONE && !is_neighbours(c) && !is_in_place(c) &&
           c->side[1].blocks >= TOGETHER_RANKS && (sent < received ? sent : received) <= TOGETHER_BYTES;
}

/* ---- what it saves ---- */

/* Calls of one function, with the same ranks to meet and blocks of the same lengths, of types made alike; NULL: it is
   not asked, or there are too many. */
static struct espi_exchange_kind *kind_of(const struct call *c, enum espi_fn fn)
{
    uint64_t key = espi_mix((uint64_t)fn, (uint64_t)is_in_place(c));

    if (!espi_exchange_has_turns || espi_calls_overlap)
        return NULL;
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < c->side[which].blocks; i++) {
            const struct espi_exchange_block *block = &c->side[which].block[i];
            key = espi_mix(espi_mix(key, c->peer[which][i]), (uint64_t)block->bytes);
            key = espi_mix(key, block->dense ? 0 : espi_hint_of_type(block->type));
        }
    return espi_exchange_kind(key);
}

/* Those that there are bytes for, or from: bits. */
static uint64_t peers_with_bytes(const struct call *c, int which)
{
    uint64_t peers = 0;

    for (int i = 0; i < c->side[which].blocks; i++)
        if (c->peer[which][i] != ESPI_COMM_NOBODY && c->side[which].block[i].bytes > 0)
            peers |= UINT64_C(1) << c->peer[which][i];
    return peers & ~(UINT64_C(1) << c->own);
}

/* The turn that is wanted, if all ranks of the call agree on it. */
static enum espi_exchange_turn agreed_turn(const struct call *c, enum espi_fn fn, enum espi_exchange_turn turn)
{
    struct espi_channel_end *to[ESPI_SEGMENT_PROCESSES], *from[ESPI_SEGMENT_PROCESSES];
    const uint64_t peers = peers_with_bytes(c, 0) & peers_with_bytes(c, 1);
    int n = 0;

    if (__builtin_popcountll(peers) < c->members - 1)
        return ESPI_TURN_NONE;
    for (int peer = 0; peer < ESPI_SEGMENT_PROCESSES; peer++)
        if (peers >> peer & 1) {
            to[n] = espi_exchange_to(peer);
            from[n++] = espi_exchange_from(peer);
        }
    const uint64_t call = espi_mix((uint64_t)fn, peers | UINT64_C(1) << c->own);
    return espi_exchange_turn_agreed(turn, to, from, n, call) ? turn : ESPI_TURN_NONE;
}

static uint64_t counted(struct espi_stats_thread *stats, enum espi_counter which)
{
    return atomic_load_explicit(&stats->counter[which], memory_order_relaxed);
}

/* A call in the library's turn goes as it would without Espalier. */
static int take_librarys_turn(const struct call *c, espi_word *args, espi_next next, struct espi_exchange_kind *kind,
                              struct espi_stats_thread *stats)
{
    const bool arrays = c->row->typed[0].shape != ESPI_SHAPE_ONE; /* as many arguments more as that takes */
    const uint64_t begun = espi_stats_now();
    const int result = (int)(arrays ? ESPI_CALL(next, 9, args) : ESPI_CALL(next, 7, args));

    if (result == MPI_SUCCESS)
        espi_exchange_took(kind, ESPI_TURN_LIBRARYS, espi_stats_now() - begun);
    if (stats == NULL)
        return result;
    espi_count(stats, ESPI_COUNT_exchange_turns, 1);
    for (int which = is_in_place(c) ? 1 : 0; which < 2; which++)
        espi_exchange_side_left(&c->side[which], c->row, which, stats);
    return result;
}

static int exchange(struct call *c, struct espi_stats_thread *stats)
{
    const int first = is_in_place(c) ? 1 : 0;
    int result;

    if (stats != NULL) {
        espi_count(stats, ESPI_COUNT_calls_exchanged, 1);
        espi_count(stats, ESPI_COUNT_bytes_exchanged, (uint64_t)c->side[0].bytes);
    }
    c->side[0].saved_ps = 0;
    for (int which = first; which < 2; which++) {
        espi_exchange_side_plan(&c->side[which], c->row, which, stats);
        espi_exchange_side_pack_once(&c->side[which], c->peer[which], c->own, stats);
    }
    c->in_place = NULL;
    result = is_in_place(c) ? take_out(c) : MPI_SUCCESS;
    result = move_blocks(c, result, stats);
    for (int which = first; which < 2; which++)
        espi_exchange_side_let_go(&c->side[which]);
    espi_pool_put(c->in_place);
    return result;
}

/* The same, in a turn or not, with what it saves beside what its types and its own block are credited with. */
static int exchange_told(struct call *c, enum espi_exchange_turn turn, struct espi_exchange_kind *kind,
                         uint64_t before, struct espi_stats_thread *stats)
{
    const uint64_t begun = turn == ESPI_TURN_SHARED ? espi_stats_now() : 0,
                   own_saved = stats != NULL ? counted(stats, ESPI_COUNT_blocks_saved) : 0;
    const int result = exchange(c, stats);

    if (turn == ESPI_TURN_SHARED)
        espi_exchange_took(kind, turn, before + espi_stats_now() - begun);
    if (stats != NULL) {
        const double types = (double)(c->side[0].saved_ps + c->side[1].saved_ps) / 1000,
                     own = (double)(counted(stats, ESPI_COUNT_blocks_saved) - own_saved);
        espi_count(stats, ESPI_COUNT_exchange_saved, espi_exchange_kind_rest(kind, types + own));
        const double back = types > 0 ? espi_exchange_kind_takes_back(kind, types) / types : 0;
        for (int which = is_in_place(c) ? 1 : 0; which < 2 && back > 0; which++)
            espi_exchange_side_take_back(&c->side[which], back);
    }
    return result;
}

/* Where there are turns. `*done`: the library has carried it out, with such a result, and said so if that is an
   error. */
static int call_in_turn(struct call *c, enum espi_fn fn, espi_word *args, espi_next next,
                        struct espi_stats_thread *stats, bool *done)
{
    struct espi_exchange_kind *kind = kind_of(c, fn);
    enum espi_exchange_turn turn = kind != NULL ? espi_exchange_turn_wanted(kind) : ESPI_TURN_NONE;
    const uint64_t before = turn != ESPI_TURN_NONE ? espi_stats_now() - c->begun : 0;

    if (turn != ESPI_TURN_NONE)
        turn = agreed_turn(c, fn, turn);
    *done = turn == ESPI_TURN_LIBRARYS;
    if (kind == NULL)
        return exchange(c, stats);
    return *done ? take_librarys_turn(c, args, next, kind, stats) : exchange_told(c, turn, kind, before, stats);
}

static bool meets_twice(const unsigned char *cart, int n)
{
    for (int i = 0; i < n; i += 2)
        if (cart[i] == cart[i + 1] && cart[i] != ESPI_COMM_NOBODY)
            return true;
    return false;
}

/* Who the blocks are for, and from. False: not all ranks of the call share memory, which all of them know. */
static bool find_peers(struct call *c, struct espi_comm_facts *facts)
{
    const unsigned char *world;

    if (facts->inter || facts->peers < 2 || (world = espi_comm_world_ranks(facts)) == NULL)
        return false;
    c->rank = facts->rank;
    c->members = facts->peers;
    c->own = world[facts->rank];
    c->peer[0] = c->peer[1] = is_neighbours(c) ? espi_comm_cart_ranks(facts) : world;
    c->side[0].blocks = c->side[1].blocks = is_neighbours(c) ? facts->in : facts->peers;
    return c->peer[0] != NULL && (!is_neighbours(c) || KNOWS_ORDER || !meets_twice(c->peer[0], facts->in));
}

espi_word espi_exchange_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                             espi_handler otherwise)
{
    static pthread_mutex_t calling = PTHREAD_MUTEX_INITIALIZER; /* where a session's threads may come together */
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    struct espi_stats_thread *stats = thread_state != NULL ? thread_state->stats : NULL;
    struct espi_comm_facts without = {.comm = MPI_COMM_NULL},
                           *facts = thread_state != NULL ? &thread_state->comm : &without;
    struct call c; /* large: what is not used is not touched */

    const bool by_all = espi_exchange_is_by_all();
    c.begun = espi_exchange_has_turns ? espi_stats_now() : 0;
    c.thread = thread;
    c.row = &espi_api_rows[fn];
    c.args = args;
    if (!by_all || !espi_is_running() || !espi_comm_look(facts, (MPI_Comm)args[c.row->comm]) ||
        !find_peers(&c, facts) || !read_call(&c) || goes_together(&c))
        return otherwise(thread, fn, args, next);
    const bool overlap = espi_calls_overlap;
    bool done = false;
    if (stats != NULL)
        espi_count_call(stats, fn);
    if (overlap)
        pthread_mutex_lock(&calling);
    int result = espi_exchange_has_turns ? call_in_turn(&c, fn, args, next, stats, &done) : exchange(&c, stats);
    if (overlap)
        pthread_mutex_unlock(&calling);
    if (done)
        return (espi_word)result;
    if (__builtin_expect(result == MPI_SUCCESS, 1))
        return MPI_SUCCESS;
    result = as_mpi_says(result);
    espi_pmpi.Comm_call_errhandler((MPI_Comm)args[c.row->comm], result);
    return result;
}
