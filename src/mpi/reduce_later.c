/*
 * Nonblocking reductions with gaps. The program's request is a generalized request whose poll and wait functions
 * (MPICH's extension) advance MPI's own request, unpack when it is complete and complete the program's.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "mpi/real.h"
#include "mpi/reduce.h"

struct later {
    struct espi_staged staged;
    MPI_Request inner, outer;
    bool done;
    int error;
    atomic_flag busy; /* one thread at a time looks after it */
};

static int query(void *state, MPI_Status *status)
{
    struct later *later = state;
    espi_real.Status_set_elements(status, MPI_BYTE, 0);
    espi_real.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return later->error;
}

static int release(void *state)
{
    struct later *later = state;
    espi_staged_release(&later->staged);
    if (later->staged.type != MPI_DATATYPE_NULL)
        espi_real.Type_free(&later->staged.type);
    free(later);
    return MPI_SUCCESS;
}

/* MPI does not allow it for a collective operation. */
static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void finish(struct later *later, int error)
{
    later->error = error ? error : espi_staged_unpack(&later->staged);
    later->done = true;
    espi_real.Grequest_complete(later->outer);
}

static int poll(void *state, MPI_Status *status)
{
    struct later *later = state;
    int complete = 0;
    (void)status;
    if (atomic_flag_test_and_set(&later->busy))
        return MPI_SUCCESS;
    if (!later->done) {
        int error = espi_real.Test(&later->inner, &complete, MPI_STATUS_IGNORE);
        if (complete || error)
            finish(later, error);
    }
    atomic_flag_clear(&later->busy);
    return MPI_SUCCESS;
}

/* Nothing blocks inside: another thread may hold `busy`, and other requests of the program need progress, too. */
static int wait_for(int count, void **states, double timeout, MPI_Status *status)
{
    (void)timeout;
    for (bool all = false; !all;) {
        all = true;
        for (int i = 0; i < count; i++) {
            struct later *later = states[i];
            poll(later, status);
            all = all && later->done;
        }
    }
    return MPI_SUCCESS;
}

int espi_reduce_later(struct espi_staged *staged, MPI_Request *request)
{
    struct later *later = malloc(sizeof *later);
    int rc;
    if (!later)
        goto no_memory;
    *later = (struct later){.staged = *staged, .inner = *request, .busy = ATOMIC_FLAG_INIT};
    later->staged.type = MPI_DATATYPE_NULL;
    /* Our own reference: the program may free its type before the operation is complete. Not MPI_Type_dup, which would
       run the program's attribute callbacks. */
    if ((rc = espi_real.Type_contiguous(1, staged->type, &later->staged.type)) ||
        (rc = espi_real.Type_commit(&later->staged.type)) ||
        (rc = espi_real.x_Grequest_start(query, release, cancel, poll, wait_for, later, &later->outer)))
        goto failed;
    *request = later->outer;
    return MPI_SUCCESS;
failed:
    if (later->staged.type != MPI_DATATYPE_NULL)
        espi_real.Type_free(&later->staged.type);
    free(later);
no_memory:
    /* MPI already works on the buffers, so the operation is finished here and now. */
    rc = espi_real.Wait(request, MPI_STATUS_IGNORE);
    if (!rc)
        rc = espi_staged_unpack(staged);
    espi_staged_release(staged);
    return rc;
}
