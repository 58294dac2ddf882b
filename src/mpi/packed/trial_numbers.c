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
