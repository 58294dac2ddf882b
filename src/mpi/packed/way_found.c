/* What trials of the ways of messages have found (message_ways.h). */
#include "mpi/packed/message_ways.h"

#include "base/hash.h"
#include "mpi/packed/trial_numbers.h"
#include "mpi/packed/way_trial.h"

/* What packing costs in a call beside what is timed in its turn, and the library's way does not. Lists of 3,200
   bytes that take as long in turns went there and back in 2.40 us as types, and in 2.48 packed (Xeon; two calls of a
   rank, which are in its times, and two of the other, for which it waits). Where one side alone is packed, that waits
   for nobody, nothing tells how much longer the other one waits. MPI_Sendrecv of 1,500 to 8,000 bytes saved 80 ns
   less than its turns say, MPI_Isend and MPI_Irecv as much as these (bench/kinds, EPYC; near cores). */
enum { PACKED_CALL_NS = 30, PACKED_BLOCKS_NS = 150, PACKED_BOTH_NS = 100, PACKED_KEPT_NS = 50, ALONE_NS = 200 };
/* Where the middle of times is so much above the least, and by such a part of it, they say more of other things than
   of packing. */
enum { STRAYS_NS = 400, STRAYS_PART = 8 };

static int outside_ns(enum espi_way_call call)
{
    return call == ESPI_WAY_SEND || call == ESPI_WAY_RECEIVE ? PACKED_CALL_NS
           : call == ESPI_WAY_BOTH                           ? PACKED_BOTH_NS
           : call == ESPI_WAY_BATCH                          ? PACKED_KEPT_NS
                                                             : PACKED_BLOCKS_NS;
}

double espi_way_saves(const struct espi_way_question *q)
{
    const float *found = espi_way_group_of(q)->found[q->call];
    const enum espi_message_way way = espi_way_of(q);

    if (q->open != ESPI_WAYS_EVEN || found[way] == 0 || found[ESPI_WAY_TYPED] == 0) /* of other layouts, perhaps */
        return -1;
    return found[way] < found[ESPI_WAY_TYPED]
               ? (double)(found[ESPI_WAY_TYPED] - found[way]) * (double)q->bytes * 0x1p-20
               : 0;
}

/* What such a call takes less, of 2^20 bytes, where the message goes `way` and not as the program's type. 0: what
   came between says more than the way; negative: it is not told. */
static double takes_less(const struct espi_way_group *g, enum espi_way_call call, enum espi_message_way way)
{
    const float own = g->found[call][ESPI_WAY_OWN], now = g->found[call][way];

    if (own == 0 || now == 0)
        return -1;
    return g->least_own[call] > now ? (double)(own - now) : own < now ? 0 : -1;
}

/* The same of calls that wait for it; here they may take more, and that counts. */
static double waits_less(const struct espi_way_group *g, enum espi_message_way way)
{
    const float own = g->found[ESPI_WAY_PLAIN][ESPI_WAY_OWN], now = g->found[ESPI_WAY_PLAIN][way];
    const double less = takes_less(g, ESPI_WAY_PLAIN, way);

    return own > 0 && now > own ? (double)(own - now) : less > 0 ? less : 0;
}

double espi_way_saved_in_all(const struct espi_way_question *q, enum espi_message_way way)
{
    const struct espi_way_group *g = espi_way_group_of(q);
    const double less = takes_less(g, q->call, way);

    if (less < 0)
        return -1;
    const double ns = (less + waits_less(g, way) * (double)g->plain) * (double)q->bytes * 0x1p-20 -
                      (q->no_cells && !q->typed ? outside_ns(q->call) : 0);
    return ns > 0 ? ns : 0;
}

double espi_way_saves_of_both(const struct espi_way_question *q)
{
    const unsigned *tried = espi_way_group_of(q)->tried;
    struct espi_way_question other = *q;
    double ns = 0;
    int known = 0;

    for (int call = ESPI_WAY_SEND; call <= ESPI_WAY_RECEIVE; call++) {
        other.call = (enum espi_way_call)call;
        const double saves = tried[call] == tried[q->call] ? espi_way_saves_in_all(&other) : -1;
        ns += saves > 0 ? saves : 0;
        known += saves >= 0;
    }
    return known > 0 ? ns / known : -1;
}

/* By means: where data and cells meet badly in the caches some messages of a type take three times as long as others
   (row specfem_mt of bench/layouts, 3,600 bytes: 0.6 and 2 us), and the middle of few times is of either. */
bool espi_way_takes(const struct espi_way_question *q, double *packed_ns, double *own_ns)
{
    const struct espi_way_group *g = espi_way_group_of(q);
    const enum espi_message_way packed = espi_way_packed(q);
    const bool one_way = q->call == ESPI_WAY_SEND || q->call == ESPI_WAY_RECEIVE;
    const enum espi_way_call first = one_way ? ESPI_WAY_SEND : q->call, last = one_way ? ESPI_WAY_RECEIVE : q->call;
    const double scale = (double)q->bytes * 0x1p-20;
    double most = 0;
    bool waits = false;

    *packed_ns = *own_ns = 0;
    for (unsigned call = first; call <= last; call++) {
        const float *mean = g->mean[call], weight = g->weight[call];
        if (g->tried[call] == 0 || g->tried[call] != g->tried[q->call] || weight == 0 || mean[packed] == 0 ||
            mean[ESPI_WAY_OWN] == 0)
            continue;
        const float own = g->found[call][ESPI_WAY_OWN];
        if ((double)(own - own / STRAYS_PART - g->least_own[call]) * scale > STRAYS_NS)
            return false;
        *packed_ns += (double)weight * ((double)mean[packed] * scale + outside_ns((enum espi_way_call)call));
        *own_ns += (double)weight * (double)mean[ESPI_WAY_OWN] * scale;
        most = weight > most ? weight : most;
        waits = waits || call == ESPI_WAY_RECEIVE;
    }
    if (most == 0)
        return false;
    if (one_way && !waits)
        *packed_ns += most * ALONE_NS;
    *packed_ns /= most;
    *own_ns /= most;
    return true;
}

/* Of which messages something is said to other ranks. */
static uint32_t what_of(const struct espi_way_question *q)
{
    const uint64_t kind = q->call == ESPI_WAY_SEND || q->call == ESPI_WAY_RECEIVE ? ESPI_WAY_SEND : q->call;

    return (uint32_t)espi_mix(espi_mix(kind, (uint64_t)q->bytes), q->alike);
}

bool espi_way_agrees(const struct espi_way_question *q, double *packed_ns, double *own_ns)
{
    enum { WAITED_MOST = 32 }; /* less than after what a group is made over to other messages (message_ways.c) */
    struct espi_way_group *g = espi_way_group_of(q);
    const uint32_t what = what_of(q);

    if (!espi_trial_numbers_are_shared || q->n_others == 0)
        return true;
    struct espi_trial_finding sum =
        espi_trial_say_found(what, &(struct espi_trial_finding){*packed_ns, *own_ns});
    const int others = espi_trial_found(what, q->others, q->n_others, &sum);
    if (others == 0 && g->waited < WAITED_MOST) {
        g->waited++;
        return false;
    }
    *packed_ns = sum.packed / (others + 1);
    *own_ns = sum.own / (others + 1);
    return true;
}

void espi_way_forget(const struct espi_way_question *q)
{
    struct espi_way_group *g = espi_way_group_of(q);

    espi_trial_take_back(what_of(q));
    g->tried[q->call] = 0;
    if (q->call == ESPI_WAY_SEND)
        g->tried[ESPI_WAY_RECEIVE] = 0;
}

double espi_way_saves_in_all(const struct espi_way_question *q)
{
    return espi_way_saved_in_all(q, espi_way_of(q));
}
