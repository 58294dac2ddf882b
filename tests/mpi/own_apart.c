/*
 * Blocks that ranks give themselves in MPI_Alltoallv, MPI_Alltoallw and their forms of large counts, by calls that
 * come again and again as they were, and then do not: with other buffers, places and counts, the same places on
 * another communicator with the ranks the other way round, types that are made anew, alike or otherwise, as handles
 * come again, and the layouts of both sides exchanged. Then many pairs in turn, whose items have other extents, at
 * the same place in items.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { DOUBLES = 256, RANKS_MOST = 4, EACH = 24000, ROOM = EACH * RANKS_MOST, LAYOUTS = 4, ROUNDS = 60, RUN = 25,
       FORMS = 4 };

static uint64_t sent[ROOM / 8], received[ROOM / 8];
static MPI_Comm comms[2]; /* as the world is, and the other way round */

/* Layouts of 256 doubles each. */
static MPI_Datatype make(int which)
{
    static const int lengths[3] = {64, 128, 64}, places[3] = {3, 200, 500};
    MPI_Datatype type;

    switch (which) {
    case 0: CK(MPI_Type_vector(64, 4, 8, MPI_DOUBLE, &type)); break;
    case 1: CK(MPI_Type_vector(128, 2, 5, MPI_DOUBLE, &type)); break;
    case 2: CK(MPI_Type_vector(DOUBLES, 1, 2, MPI_DOUBLE, &type)); break;
    default: CK(MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &type)); break;
    }
    CK(MPI_Type_commit(&type));
    return type;
}

/* What a call says of its blocks: the same for all ranks but for the own one. */
struct call {
    int form; /* v, w, and the same of large counts */
    int reversed;
    int shift[2];     /* bytes from the begin of either array to the buffer */
    int own_count[2]; /* items of the own block */
    int own_place[2]; /* bytes: where it begins more than others would */
    MPI_Datatype type[2];
};

static void make_call(const struct call *c)
{
    int counts[2][RANKS_MOST], places[2][RANKS_MOST];
    MPI_Count many[2][RANKS_MOST];
    MPI_Aint far[2][RANKS_MOST];
    MPI_Datatype types[2][RANKS_MOST];
    const MPI_Comm comm = comms[c->reversed];
    const char *from = (const char *)sent + c->shift[0];
    char *onto = (char *)received + c->shift[1];
    int me, n = prog.ranks;
    MPI_Aint lb, extent[2];

    CK(MPI_Comm_rank(comm, &me));
    for (int side = 0; side < 2; side++) {
        CK(MPI_Type_get_extent(c->type[side], &lb, &extent[side]));
        for (int i = 0; i < n; i++) {
            const int at = EACH * i + (i == me ? c->own_place[side] : 0);
            counts[side][i] = i == me ? c->own_count[side] : 1;
            places[side][i] = c->form % 2 == 0 ? at / (int)extent[side] : at; /* in extents */
            many[side][i] = counts[side][i];
            far[side][i] = places[side][i];
            types[side][i] = c->type[side];
        }
    }
    switch (c->form) {
    case 0:
        CK(MPI_Alltoallv(from, counts[0], places[0], c->type[0], onto, counts[1], places[1], c->type[1], comm));
        break;
    case 1:
        CK(MPI_Alltoallw(from, counts[0], places[0], types[0], onto, counts[1], places[1], types[1], comm));
        break;
    case 2:
        CK(MPI_Alltoallv_c(from, many[0], far[0], c->type[0], onto, many[1], far[1], c->type[1], comm));
        break;
    default:
        CK(MPI_Alltoallw_c(from, many[0], far[0], types[0], onto, many[1], far[1], types[1], comm));
    }
}

/* Only the own block has items. */
static void many_pairs(void)
{
    enum { PAIRS = 12, TURNS = 3, EACH_TURN = 60 };
    MPI_Datatype type[PAIRS];
    const int me = prog.me;

    for (int i = 0; i < PAIRS; i++) {
        const int length = i % 2 == 0 ? 2 : 4;
        CK(MPI_Type_vector(DOUBLES / length, length, 8 + 3 * i, MPI_DOUBLE, &type[i]));
        CK(MPI_Type_commit(&type[i]));
    }
    for (int call = 0; call < TURNS * PAIRS * EACH_TURN; call++) {
        const int pair = call / EACH_TURN % PAIRS;
        int counts[2][RANKS_MOST] = {{0}}, places[RANKS_MOST] = {0};
        for (int i = 0; i < ROOM / 8; i++) {
            sent[i] = (uint64_t)(i + 7 * call + 1000 * me) * 0x9e3779b97f4a7c15u;
            received[i] = (uint64_t)call;
        }
        places[me] = 1;
        counts[0][me] = counts[1][me] = 1;
        CK(MPI_Alltoallv(sent, counts[0], places, type[pair], received, counts[1], places, type[(pair + 1) % PAIRS],
                         comms[0]));
        if (call % 3 == 0 || call % EACH_TURN < 3)
            check_bytes(NULL, "many pairs", "received", received, sizeof received);
    }
    for (int i = 0; i < PAIRS; i++)
        CK(MPI_Type_free(&type[i]));
}

int main(int argc, char **argv)
{
    MPI_Datatype type[LAYOUTS];
    uint64_t chance;

    prog_start(&argc, &argv, getenv("OWN_APART_THREADS") != NULL);
    if (prog.ranks > RANKS_MOST) {
        fail(NULL, "apart", "is for up to %d ranks", RANKS_MOST);
        return prog_end("own_apart");
    }
    chance = prog.seed;
    CK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    CK(MPI_Comm_split(MPI_COMM_WORLD, 0, -prog.me, &comms[1]));
    for (int i = 0; i < LAYOUTS; i++)
        type[i] = make(i);
    struct call c = {.own_count = {1, 1}, .type = {type[0], type[1]}};
    for (int round = 0; round < ROUNDS; round++) {
        chance = mix(chance, (uint64_t)round); /* the same on all ranks */
        const unsigned what = (unsigned)(chance >> 8) % 8, how = (unsigned)(chance >> 16);
        switch (what) {
        case 0: c.form = (int)(how % FORMS); break;
        case 1: c.reversed = !c.reversed; break;
        case 2: c.own_count[0] = c.own_count[1] = (int)(how % 3); break;
        case 3: c.own_place[how % 2] = (int)(how / 2 % 3) * 4096; break;
        case 4: /* the handles come again, the other way round perhaps */
            for (int i = 0; i < LAYOUTS; i++)
                CK(MPI_Type_free(&type[i]));
            for (int i = 0; i < LAYOUTS; i++) {
                const int other = (i + (int)(how % LAYOUTS)) % LAYOUTS;
                type[other] = make(other);
            }
            c.type[0] = type[how / LAYOUTS % LAYOUTS];
            c.type[1] = type[how / LAYOUTS / LAYOUTS % LAYOUTS];
            break;
        case 5: {
            const MPI_Datatype first = c.type[0];
            c.type[0] = c.type[1];
            c.type[1] = first;
            break;
        }
        default: c.shift[how % 2] = (int)(how / 2 % 5) * 8; break;
        }
        for (int n = 0; n < RUN; n++) {
            for (int i = 0; i < ROOM / 8; i++) {
                sent[i] = (uint64_t)(i + 7 * n + 1000 * prog.me) * 0x9e3779b97f4a7c15u;
                received[i] = (uint64_t)n;
            }
            make_call(&c);
            check_bytes(NULL, "apart", "received", received, sizeof received);
        }
    }
    for (int i = 0; i < LAYOUTS; i++)
        CK(MPI_Type_free(&type[i]));
    many_pairs();
    for (int i = 0; i < 2; i++)
        CK(MPI_Comm_free(&comms[i]));
    return prog_end("own_apart");
}
