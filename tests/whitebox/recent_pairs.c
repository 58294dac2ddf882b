/*
 * A thread's memory of pairs of types between which it copies to itself (src/mpi/selfcopy/recent_pairs.h), where
 * there are few of them and where there are hundreds: which are found again, and how often those that wait for a
 * decision are looked at.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/message_ways.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/type_cache.h"
#include "suite.h"
#include "type_service.h"

enum { ROUNDS = 40 };

/* So many pairs in turns, each remembered when it was not found. Those that were not in the last round. */
static int missed(struct espi_selfcopy_cache *cache, int pairs)
{
    int misses = 0;

    for (int round = 0; round < ROUNDS; round++) {
        misses = 0;
        for (int i = 0; i < pairs; i++) {
            const struct espi_selfcopy_key key = {MPI_INT + ((uint64_t)(i + 1) << 32), MPI_DOUBLE, 1 + i % 3, 1};
            struct espi_selfcopy_known *at = espi_selfcopy_where(cache, &key);
            const bool own = memcmp(&at->key, &key, sizeof key) == 0;
            misses += !own;
            if (own || at->key.from != 0)
                espi_selfcopy_found(cache, own);
            espi_selfcopy_where(cache, &key)->key = key;
        }
    }
    return misses;
}

/* Few stay in the places of a thread, more get more places; of more than there may be it is forgotten some. */
START_TEST(many)
{
    static const int pairs[] = {1, 3, 6, 12, 24, 40, 60, 100, 280, 300, 1000};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct espi_selfcopy_cache cache = {0};
        const int misses = missed(&cache, pairs[i]);
        ck_assert_msg(misses <= pairs[i] / 8, "%d of %d", misses, pairs[i]);
        ck_assert(pairs[i] > 1 || (cache.many == NULL && misses == 0));
        ck_assert(pairs[i] < 60 || cache.many != NULL);
        espi_selfcopy_forget(&cache);
        ck_assert_ptr_null(cache.many);
    }
    struct espi_selfcopy_cache cache = {0};
    missed(&cache, 8 * ESPI_SELFCOPY_KNOWN_MOST);
    ck_assert_uint_eq(cache.places, ESPI_SELFCOPY_KNOWN_MOST);
    espi_selfcopy_forget(&cache);
}
END_TEST

/* Of a thousand uses those that are looked at, and how many uses these stand for. */
static int looks(struct espi_selfcopy_cache *cache, unsigned paired, unsigned *uses)
{
    struct espi_type_slot slot = {0};
    int n = 0;

    *uses = 0;
    atomic_store(&slot.paired, (unsigned char)paired);
    for (int use = 0; use < 1000; use++)
        if (espi_selfcopy_due(cache, &slot, NULL, ESPI_PAIRED_COPIED)) {
            n++;
            *uses += cache->weight;
        }
    return n;
}

/* Every use of an open pair, until looks have decided nothing for long; of one that is tried, or copied, always. */
START_TEST(in_vain)
{
    struct espi_selfcopy_cache cache = {0};
    unsigned uses;

    ck_assert_int_eq(looks(&cache, ESPI_PAIRED_SEEN, &uses), 1000);
    cache.in_vain = ESPI_SELFCOPY_IN_VAIN;
    const int n = looks(&cache, ESPI_PAIRED_SEEN, &uses);
    ck_assert_msg(n > 0 && n < 100 && uses > 300 && uses < 3000, "%d looks for %u uses", n, uses);
    ck_assert_int_eq(looks(&cache, ESPI_PAIRED_TRIED, &uses), 1000);
    ck_assert_int_eq(looks(&cache, ESPI_PAIRED_SEEN | ESPI_PAIRED_COPIED, &uses), 1000);
    ck_assert_uint_eq(uses, 1000);
}
END_TEST

static MPI_Datatype strided(int stride)
{
    MPI_Datatype type;

    MPI_Type_vector(24, 1, stride, MPI_INT, &type);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

static struct espi_selfcopy_plan *plan_of(MPI_Datatype type, int64_t items)
{
    const struct espi_selfcopy_side side = {type, items};

    return espi_selfcopy_plan(&own_thread, &side, &side);
}

/* Looks that decide nothing are counted, one that does begins anew; and what was decided of hundreds of pairs is not
   asked for again. */
START_TEST(decided)
{
    enum { PAIRS = 700 };
    static MPI_Datatype type[PAIRS];
    static struct espi_selfcopy_plan *plan[PAIRS];
    struct espi_selfcopy_cache *cache = &espi_thread_state(&own_thread)->pairs;

    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    type[0] = strided(50);
    for (int use = 0; use < 6; use++)
        ck_assert_ptr_null(plan_of(type[0], 10));
    ck_assert_uint_eq(cache->in_vain, 6);
    espi_settings.datatypes = ESPI_MODE_ALWAYS;
    for (int i = 0; i < PAIRS; i++) {
        type[i] = i == 0 ? type[0] : strided(50 + i);
        ck_assert_ptr_nonnull(plan[i] = plan_of(type[i], 1));
        ck_assert_uint_eq(cache->in_vain, 0);
    }
    const uint64_t decoded = counted(ESPI_COUNT_time_decode);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < PAIRS; i++)
            ck_assert_ptr_eq(plan_of(type[i], 1), plan[i]);
    ck_assert_uint_eq(counted(ESPI_COUNT_time_decode), decoded);
    espi_selfcopy_stop();
    const uint64_t planned = counted(ESPI_COUNT_pairs_planned);
    ck_assert_ptr_nonnull(plan_of(type[1], 1));
    ck_assert_uint_eq(counted(ESPI_COUNT_pairs_planned), planned + 1); /* what was there is gone */
    espi_selfcopy_stop();
    for (int i = 0; i < PAIRS; i++) {
        espi_types_ending(espi_thread_state(&own_thread), type[i]);
        MPI_Type_free(&type[i]);
    }
    espi_types_stop();
}
END_TEST

/* A pair is gone with the generation of one of its types, not while that is kept after the program has freed it. */
START_TEST(gone)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    MPI_Datatype type = strided(60);
    const struct espi_selfcopy_key keys[] = {{espi_selfcopy_identity(type), MPI_INT, 1, 24},
                                             {MPI_INT, espi_selfcopy_identity(type), 24, 1}};
    const unsigned char credit = atomic_load(espi_slot_credit(type));
    for (int i = 0; i < 2; i++) {
        ck_assert(!espi_selfcopy_is_gone(&keys[i]));
        atomic_store(espi_slot_credit(type), ESPI_CREDIT_ENDED);
        ck_assert_uint_eq(espi_selfcopy_identity(type), 0);
        ck_assert(!espi_selfcopy_is_gone(&keys[i]));
        atomic_store(espi_slot_credit(type), credit);
    }
    espi_types_ending(espi_thread_state(&own_thread), type);
    for (int i = 0; i < 2; i++)
        ck_assert(espi_selfcopy_is_gone(&keys[i]));
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* What a copy takes beside itself is in the time that it is judged by. */
START_TEST(beside)
{
    enum { BESIDE = 1000000000 };
    static int from[2000], onto[2000];

    espi_settings_defaults(&espi_settings);
    espi_settings.datatypes = ESPI_MODE_ALWAYS;
    start(ESPI_MODE_ALWAYS);
    MPI_Datatype type = strided(60);
    struct espi_selfcopy_block block = {.from = from, .onto = onto, .send = {type, 1}, .receive = {type, 1},
                                        .place = ESPI_SELF_ALONE, .beside_ns = BESIDE, .plan = plan_of(type, 1)};
    ck_assert_ptr_nonnull(block.plan);
    block.plan->at[ESPI_SELF_ALONE] = (struct espi_selfcopy_choice){
        .state = ESPI_SELFCOPY_TRYING, .trial = {.ways = 1u << ESPI_BY_CALL | 1u << ESPI_BY_COPY}};
    block.turn = (struct espi_selfcopy_turn){ESPI_BY_COPY, true, false};
    espi_selfcopy_carry_out(&own_thread, &block);
    ck_assert_uint_ge(block.plan->at[ESPI_SELF_ALONE].trial.least[ESPI_BY_COPY], BESIDE);
    espi_selfcopy_stop();
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* ---- messages that are left to MPI ---- */

static int called, general;

static espi_word next_call(espi_word a0, espi_word a1)
{
    (void)a0, (void)a1;
    called++;
    return MPI_SUCCESS;
}

static espi_word in_general(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread, (void)fn, (void)args, (void)next;
    general++;
    return MPI_SUCCESS;
}

/* One to oneself that nothing is known to be better for goes straight to MPI, also where its two types are one; its
   uses are counted. One with a use that is to be looked at goes the general way. */
START_TEST(straight_on)
{
    enum { LOOK = 20 };
    int from[2000], onto[2000];

    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_admission_book(UINT64_C(1) << 62); /* nothing is planned */
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    MPI_Datatype type = strided(60);
    espi_word args[] = {(espi_word)from, 1, type, 0, 7, (espi_word)onto, 1, type, 0, 7, MPI_COMM_SELF,
                        (espi_word)MPI_STATUS_IGNORE};
    struct espi_type_slot *slot = espi_slot_of(type);
    atomic_store(&slot->uses, 0);
    atomic_store(&slot->look, LOOK);
    called = general = 0;
    for (int use = 0; use < LOOK; use++)
        espi_selfcopy_call(&own_thread, ESPI_FN_Sendrecv, args, (espi_next)next_call, in_general);
    ck_assert_int_eq(called, LOOK / 2 - 1);
    ck_assert_int_eq(general, LOOK / 2 + 1);
    ck_assert_uint_eq(atomic_load(&slot->uses), LOOK - 2);
    atomic_store(&slot->uses, 0);
    espi_ways_are_watched = true; /* what goes by is to be seen */
    espi_selfcopy_call(&own_thread, ESPI_FN_Sendrecv, args, (espi_next)next_call, in_general);
    espi_ways_are_watched = false;
    ck_assert_int_eq(general, LOOK / 2 + 2);
    args[11] = 0; /* no status: nothing is copied, and the lot that was drawn is none of the next one's */
    espi_thread_state(&own_thread)->pairs.weight = ESPI_SELFCOPY_SELDOM;
    espi_selfcopy_call(&own_thread, ESPI_FN_Sendrecv, args, (espi_next)next_call, in_general);
    ck_assert_uint_eq(espi_thread_state(&own_thread)->pairs.weight, 0);
    ck_assert_int_eq(called, LOOK / 2);
    atomic_store(&espi_running, false);
    espi_selfcopy_stop();
    espi_comm_cache_stop();
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "recent_pairs", many, in_vain, decided, gone, beside, straight_on);
}
