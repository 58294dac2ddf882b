#include "mpi/packed/trial_numbers.h"

bool espi_trial_numbers_are_shared;
static atomic_uchar *all, *own;

void espi_trial_numbers_share(atomic_uchar *said, int rank)
{
    all = said;
    own = said != NULL ? said + (size_t)rank * ESPI_TRIAL_SIZES : NULL;
    espi_trial_numbers_are_shared = said != NULL;
}

unsigned char espi_trial_latest(int size, const unsigned char *ranks, int n)
{
    unsigned char latest = 0;

    for (int i = 0; i < n && all != NULL; i++) {
        const unsigned char said =
            atomic_load_explicit(&all[(size_t)ranks[i] * ESPI_TRIAL_SIZES + (size_t)size], memory_order_relaxed);
        if (said != 0 && (latest == 0 || espi_trial_is_later(said, latest)))
            latest = said;
    }
    return latest;
}

void espi_trial_say(int size, unsigned char said)
{
    if (own != NULL)
        atomic_store_explicit(&own[size], said, memory_order_relaxed);
}

/* ---- what was found ---- */

static _Atomic uint64_t *all_found;
static int own_rank;

/* From the low bits of a word on: one more than each of both times; and what says of which messages they are, so that
   a word is never 0. (That also says where the word stands.) */
enum { NS_BITS = 24, WHAT_AT = 2 * NS_BITS, NS_MOST = (1 << NS_BITS) - 1 };

void espi_trial_findings_share(_Atomic uint64_t *said, int rank)
{
    all_found = said;
    own_rank = rank;
}

static _Atomic uint64_t *found_by(int rank, uint32_t what)
{
    return &all_found[(size_t)rank * ESPI_TRIAL_FINDINGS + what % ESPI_TRIAL_FINDINGS];
}

static uint64_t word_of(double ns)
{
    return ns >= NS_MOST - 1 ? NS_MOST : ns > 0 ? 1 + (uint64_t)ns : 1;
}

static struct espi_trial_finding read_word(uint64_t word)
{
    return (struct espi_trial_finding){(double)(word & NS_MOST) - 1, (double)(word >> NS_BITS & NS_MOST) - 1};
}

struct espi_trial_finding espi_trial_say_found(uint32_t what, const struct espi_trial_finding *found)
{
    const uint64_t word = (uint64_t)(what >> 16) << WHAT_AT | word_of(found->own) << NS_BITS | word_of(found->packed);

    if (all_found != NULL)
        atomic_store_explicit(found_by(own_rank, what), word, memory_order_relaxed);
    return read_word(word);
}

int espi_trial_found(uint32_t what, const unsigned char *ranks, int n, struct espi_trial_finding *sum)
{
    int found = 0;

    for (int i = 0; i < n && all_found != NULL; i++) {
        const uint64_t word = atomic_load_explicit(found_by(ranks[i], what), memory_order_relaxed);
        if (ranks[i] == own_rank || word == 0 || word >> WHAT_AT != what >> 16)
            continue;
        const struct espi_trial_finding said = read_word(word);
        sum->packed += said.packed;
        sum->own += said.own;
        found++;
    }
    return found;
}

void espi_trial_take_back(uint32_t what)
{
    if (all_found == NULL)
        return;
    _Atomic uint64_t *word = found_by(own_rank, what);
    if (atomic_load_explicit(word, memory_order_relaxed) >> WHAT_AT == what >> 16)
        atomic_store_explicit(word, 0, memory_order_relaxed);
}

/* ---- rounds ---- */

/* What a verdict costs is some sixty messages of about a microsecond, of which half go the worse way: so a round, and
   what it lasts longer for each of the rank that has most of them, lose a thousandth of the time at most. */
enum { ROUND_MS = 1000, VERDICT_MS = 20 };
/* The word, from its low bits on: these verdicts, when the round has begun (ms, 0: that was not seen yet), and its
   number. */
enum { VERDICTS_BITS = 16, VERDICTS_MOST = (1 << VERDICTS_BITS) - 1 };
#define BEGUN_MOST UINT32_MAX

static _Atomic uint64_t no_more;
_Atomic uint64_t *espi_trial_round_word = &no_more;
unsigned espi_trial_round_messages;

void espi_trial_rounds_share(_Atomic uint64_t *word)
{
    if (word == NULL) /* what was found in the last one stays */
        atomic_store(&no_more, atomic_load(espi_trial_round_word));
    espi_trial_round_word = word != NULL ? word : &no_more;
}

void espi_trial_round_finds(unsigned verdicts)
{
    static unsigned number, sum; /* of this rank, in that round */
    uint64_t word = atomic_load_explicit(espi_trial_round_word, memory_order_relaxed);

    sum = word >> ESPI_TRIAL_ROUND_AT == number ? sum + verdicts : verdicts;
    number = (unsigned)(word >> ESPI_TRIAL_ROUND_AT);
    sum = sum < VERDICTS_MOST ? sum : VERDICTS_MOST;
    while (word >> ESPI_TRIAL_ROUND_AT == number && (word & VERDICTS_MOST) < sum &&
           !atomic_compare_exchange_weak(espi_trial_round_word, &word, (word & ~(uint64_t)VERDICTS_MOST) | sum))
        ;
}

void espi_trial_round_passes(uint64_t now)
{
    uint64_t word = atomic_load_explicit(espi_trial_round_word, memory_order_relaxed);
    const uint64_t begun = word >> VERDICTS_BITS & BEGUN_MOST, ms = now / 1000000 & BEGUN_MOST,
                   lasted = (ms - begun) & BEGUN_MOST, now_seen = (ms > 0 ? ms : 1) << VERDICTS_BITS;

    if (espi_trial_round_word == &no_more)
        return;
    if (begun == 0)
        atomic_compare_exchange_strong(espi_trial_round_word, &word, word | now_seen);
    else if (lasted >= ROUND_MS + VERDICT_MS * (word & VERDICTS_MOST) && lasted <= BEGUN_MOST / 2)
        atomic_compare_exchange_strong(espi_trial_round_word, &word,
                                       ((word >> ESPI_TRIAL_ROUND_AT) + 1) << ESPI_TRIAL_ROUND_AT | now_seen);
}
