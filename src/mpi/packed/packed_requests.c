/*
 * MPICH gives sends that are complete at once one handle for all of them: so such a send is let go when it was made,
 * and has no record.
 */
#include "mpi/packed/packed_requests.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/core/pmpi.h"
#include "mpi/packed/packed_persistent.h"

void espi_packed_request_enter(struct espi_packed_request *r, MPI_Request handle,
                               const struct espi_packed_message *message, void (*release)(void *owner))
{
    struct espi_packed_message m = *message;
    int complete = 0;

    espi_packed_record_sweep();
    if (!espi_packed_receives(&m.side) &&
        espi_pmpi.Request_get_status(handle, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete) {
        m.batch = 0;
        espi_packed_message_close(&m, release);
        espi_packed_request_drop(r);
        return;
    }
    r->handle = handle;
    r->message = m;
    r->release = release;
    espi_packed_record_enter(r);
}

void espi_packed_request_enter_blocks(struct espi_packed_request *r, MPI_Request handle,
                                      struct espi_packed_blocks *const sides[2], void (*release)(void *owner))
{
    espi_packed_record_sweep();
    r->handle = handle;
    r->blocks[0] = sides[0];
    r->blocks[1] = sides[1];
    r->release = release;
    espi_packed_record_enter(r);
}

/* ---- calls that complete requests ---- */

enum { STATUSES = 128, FEW = 16 };

/* Where the requests and statuses of a call are. */
struct completion {
    enum espi_fn fn;
    const espi_word *args;
    int n; /* requests */
    MPI_Request *requests;
    int status_at;    /* the argument for one status or an array of them */
    const int *index; /* of the one that is complete, or of some; NULL: see fn */
    const int *flag;  /* whether any is; NULL: it is so after the call */
    int statuses;     /* as many there may be */
};

/* A record that the call may complete. */
struct held {
    struct espi_packed_request *record;
    int at; /* index among the requests */
    unsigned cycle;
};
struct helds {
    struct held few[FEW], *all;
    int n, room;
};

static struct completion read_call(enum espi_fn fn, const espi_word *args)
{
#define REQUESTS fn, args, (int)args[0], (MPI_Request *)args[1]
    switch (fn) {
    case ESPI_FN_Wait:
        return (struct completion){fn, args, 1, (MPI_Request *)args[0], 1, NULL, NULL, 1};
    case ESPI_FN_Test:
        return (struct completion){fn, args, 1, (MPI_Request *)args[0], 2, NULL, (const int *)args[1], 1};
    case ESPI_FN_Waitall:
        return (struct completion){REQUESTS, 2, NULL, NULL, (int)args[0]};
    case ESPI_FN_Testall:
        return (struct completion){REQUESTS, 3, NULL, (const int *)args[2], (int)args[0]};
    case ESPI_FN_Waitany:
        return (struct completion){REQUESTS, 3, (const int *)args[2], NULL, 1};
    case ESPI_FN_Testany:
        return (struct completion){REQUESTS, 4, (const int *)args[2], (const int *)args[3], 1};
    case ESPI_FN_Waitsome:
    case ESPI_FN_Testsome:
        return (struct completion){REQUESTS, 4, (const int *)args[3], NULL, (int)args[0]};
    default:
        return (struct completion){.fn = fn, .args = args};
    }
#undef REQUESTS
}

/* The place of the status of request number `at`; -1: the call, which went well but perhaps for some requests, did
   not complete that one. */
static int place_of_status(const struct completion *c, int at)
{
    if (c->fn == ESPI_FN_Waitsome || c->fn == ESPI_FN_Testsome) {
        for (int k = 0; k < *(const int *)c->args[2]; k++)
            if (c->index[k] == at)
                return k;
        return -1;
    }
    if (c->index != NULL)
        return *c->index == at ? 0 : -1;
    return c->fn == ESPI_FN_Waitall || c->fn == ESPI_FN_Testall ? at : 0;
}

/* Whether this call has completed that request without an error, and its status; `in_status`: errors of single
   requests are in their statuses. */
static bool is_done(const struct completion *c, const struct held *h, bool in_status, const MPI_Status **status)
{
    const MPI_Status *statuses = (const MPI_Status *)c->args[c->status_at];
    int at;

    *status = NULL;
    if ((!in_status && c->flag != NULL && !*c->flag) || (at = place_of_status(c, h->at)) < 0)
        return false;
    if (statuses == MPI_STATUS_IGNORE) /* nothing is received */
        return !in_status;
    *status = &statuses[at];
    return !in_status || (*status)->MPI_ERROR == MPI_SUCCESS;
}

/* The number of the request at which an MPI_Waitall stopped, as it failed: MPICH ends none behind it, though their
   statuses may say so where it did not even look at them, more than 64 places on. The status of a request that was
   null is empty, but for MPI_ERROR, which is what it was before. */
static int first_failed(const struct completion *c)
{
    const MPI_Status *statuses = (const MPI_Status *)c->args[c->status_at];
    int at = 0;

    if (statuses == MPI_STATUSES_IGNORE)
        return 0;
    while (at < c->n && ((c->requests[at] == MPI_REQUEST_NULL && statuses[at].MPI_SOURCE == MPI_ANY_SOURCE) ||
                         statuses[at].MPI_ERROR == MPI_SUCCESS))
        at++;
    return at;
}

/* After the call: those that are complete are unpacked; they have no request any more, unless it is persistent. */
static void end_found(const struct completion *c, struct helds *found, int result)
{
    int class = MPI_SUCCESS;

    if (result != MPI_SUCCESS && espi_pmpi.Error_class(result, &class) != MPI_SUCCESS)
        class = MPI_ERR_UNKNOWN;
    const bool in_status = class == MPI_ERR_IN_STATUS;
    const int end = in_status && c->fn == ESPI_FN_Waitall ? first_failed(c) : c->n;
    for (int i = 0; i < found->n; i++) {
        struct held *h = &found->all[i];
        const bool persistent = h->record->persistent, there = c->requests[h->at] == h->record->handle;
        const MPI_Status *status;
        if ((class == MPI_SUCCESS || in_status) && (persistent ? h->at < end : !there) &&
            is_done(c, h, in_status, &status)) {
            espi_packed_record_finish(h->record, h->cycle, status);
            if (persistent)
                espi_packed_record_inactive(h->record, h->cycle);
        }
        if (persistent || there)
            espi_packed_record_back(h->record, false);
        else
            espi_packed_record_end(h->record);
    }
}

static void give_back(struct helds *found)
{
    if (found->all != found->few)
        free(found->all);
}

static bool add(struct helds *found, struct held one)
{
    if (found->n == found->room) {
        struct held *more = malloc(2 * (size_t)found->room * sizeof *more);
        if (more == NULL)
            return false;
        memcpy(more, found->all, (size_t)found->n * sizeof *more);
        give_back(found);
        found->all = more;
        found->room *= 2;
    }
    found->all[found->n++] = one;
    return true;
}

/* Claims the records among the requests. False: no memory, and none is claimed. `asks`: something is received. */
static bool claim_all(const struct completion *c, struct helds *found, bool *asks)
{
    for (int i = 0; i < c->n && c->requests != NULL; i++) {
        struct held one = {.at = i};
        if ((one.record = espi_packed_record_claim(c->requests[i], false, &one.cycle)) == NULL)
            continue;
        if (!add(found, one)) {
            espi_packed_record_back(one.record, false);
            for (int k = 0; k < found->n; k++)
                espi_packed_record_back(found->all[k].record, false);
            give_back(found);
            return false;
        }
        *asks = *asks || espi_packed_record_receives(one.record);
    }
    return true;
}

/* False: there is no memory, which calls on FEW requests do not need, and nothing was done. */
static bool complete_some(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                          espi_handler go_on, espi_word *result)
{
    const struct completion c = read_call(fn, args);
    struct helds found = {.n = 0, .room = FEW};
    MPI_Status own[STATUSES], *statuses = own;
    bool asks = false;

    found.all = found.few;
    if (!claim_all(&c, &found, &asks))
        return false;
    if (asks && (MPI_Status *)args[c.status_at] == MPI_STATUS_IGNORE) {
        if (c.statuses > STATUSES && (statuses = malloc((size_t)c.statuses * sizeof *statuses)) == NULL) {
            for (int i = 0; i < found.n; i++)
                espi_packed_record_back(found.all[i].record, false);
            give_back(&found);
            return false;
        }
        args[c.status_at] = (espi_word)statuses;
    }
    *result = go_on(thread, fn, args, next);
    end_found(&c, &found, (int)*result);
    give_back(&found);
    if (statuses != own)
        free(statuses);
    return true;
}

/* ---- the same without memory: a few requests at a time ---- */

struct way_on {
    struct espi_thread *thread;
    enum espi_fn fn;
    espi_word *args; /* of the program */
    espi_next next;
    espi_handler go_on;
};

/* The program's call, on `n` of its requests from number `first` on; what tells of them is written to `told`. */
static espi_word complete_part(const struct way_on *w, int first, int n, int told[2], MPI_Status *status)
{
    espi_word args[5], result = MPI_SUCCESS;

    memcpy(args, w->args, (size_t)espi_api_rows[w->fn].args * sizeof args[0]);
    args[0] = (espi_word)n;
    args[1] = (espi_word)((MPI_Request *)w->args[1] + first);
    args[read_call(w->fn, w->args).status_at] = (espi_word)status;
    if (w->fn != ESPI_FN_Waitall)
        args[2] = (espi_word)&told[0];
    if (w->fn == ESPI_FN_Testany || w->fn == ESPI_FN_Waitsome || w->fn == ESPI_FN_Testsome)
        args[3] = (espi_word)&told[1];
    complete_some(w->thread, w->fn, args, w->next, w->go_on, &result);
    return result;
}

/* By the program's way of asking, since requests of reductions come on with it. */
static bool may_be_complete(const struct way_on *w, MPI_Request request)
{
    int complete = 0;
    espi_word args[3] = {(espi_word)request, (espi_word)&complete, (espi_word)MPI_STATUS_IGNORE};

    return (int)w->go_on(w->thread, ESPI_FN_Request_get_status, args,
                         (espi_next)espi_pmpi.Request_get_status) != MPI_SUCCESS || complete;
}

static void good_statuses(MPI_Status *statuses, int from, int to)
{
    for (int i = from; i < to; i++)
        statuses[i].MPI_ERROR = MPI_SUCCESS;
}

/* MPI_Waitall; MPI_Testall, where it is made when all are complete. */
static espi_word complete_all_in_parts(const struct way_on *w, int n, MPI_Status *statuses)
{
    const MPI_Request *requests = (const MPI_Request *)w->args[1];
    espi_word result = MPI_SUCCESS;
    int told[2];

    for (int i = 0; i < n && w->fn == ESPI_FN_Testall; i++)
        if (!may_be_complete(w, requests[i])) {
            *(int *)w->args[2] = 0;
            return MPI_SUCCESS;
        }
    for (int i = 0; i < n; i += FEW) {
        const int end = n - i < FEW ? n : i + FEW;
        const bool first = (int)result == MPI_SUCCESS;
        const espi_word one = complete_part(w, i, end - i, told,
                                            statuses == MPI_STATUSES_IGNORE ? statuses : statuses + i);
        if (first)
            result = one;
        if ((int)result != MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE) /* then all are read */
            good_statuses(statuses, first ? 0 : i, (int)one == MPI_SUCCESS ? end : i);
    }
    if (w->fn == ESPI_FN_Testall)
        *(int *)w->args[2] = 1;
    return result;
}

/* MPI_Waitany and its like: one request at most. */
static espi_word complete_one_of(const struct way_on *w, int n, MPI_Status *status)
{
    const bool some = w->fn == ESPI_FN_Waitsome || w->fn == ESPI_FN_Testsome,
               waits = w->fn == ESPI_FN_Waitsome || w->fn == ESPI_FN_Waitany;
    const MPI_Request *requests = (const MPI_Request *)w->args[1];
    int told[2] = {0, 1}, inactive = 0, found = -1;
    espi_word result = MPI_SUCCESS;

    do {
        inactive = 0;
        for (int i = 0; i < n && found < 0; i++) {
            if (!may_be_complete(w, requests[i]))
                continue;
            result = complete_part(w, i, 1, told, status);
            if ((int)result != MPI_SUCCESS || told[0] != MPI_UNDEFINED)
                found = i;
            else
                inactive++;
        }
    } while (waits && found < 0 && inactive < n);
    if (some)
        *(int *)w->args[2] = found >= 0 ? 1 : inactive == n ? MPI_UNDEFINED : 0;
    else
        *(int *)w->args[2] = found >= 0 ? found : MPI_UNDEFINED;
    if (some && found >= 0)
        *(int *)w->args[3] = found;
    if (w->fn == ESPI_FN_Testany)
        *(int *)w->args[3] = found >= 0 || inactive == n;
    return result;
}

static espi_word complete_in_parts(const struct way_on *w)
{
    const struct completion c = read_call(w->fn, w->args);
    MPI_Status *statuses = (MPI_Status *)w->args[c.status_at];

    return w->fn == ESPI_FN_Waitall || w->fn == ESPI_FN_Testall ? complete_all_in_parts(w, c.n, statuses)
                                                                : complete_one_of(w, c.n, statuses);
}

static espi_word ask_status(struct espi_thread *thread, espi_word *args, espi_next next, espi_handler go_on)
{
    unsigned cycle;
    struct espi_packed_request *record = espi_packed_record_hold((MPI_Request)args[0], &cycle);
    MPI_Status own;

    if (record != NULL && args[2] == (espi_word)MPI_STATUS_IGNORE)
        args[2] = (espi_word)&own;
    espi_word result = go_on(thread, ESPI_FN_Request_get_status, args, next);
    if (record != NULL && (int)result == MPI_SUCCESS && *(const int *)args[1])
        espi_packed_record_finish(record, cycle, (const MPI_Status *)args[2]);
    if (record != NULL)
        espi_packed_record_let_go(record);
    return result;
}

/* A collective call's request may not be freed. */
static espi_word free_request(struct espi_thread *thread, espi_word *args, espi_next next, espi_handler go_on)
{
    MPI_Request *request = (MPI_Request *)args[0];
    unsigned cycle;
    struct espi_packed_request *record = NULL;

    if (request != NULL)
        record = espi_packed_record_claim(*request, true, &cycle);
    if (record != NULL && record->persistent)
        espi_packed_persistent_freed(record);
    if (record != NULL && !espi_packed_record_is_collective(record) &&
        (!record->persistent || espi_packed_record_is_active(record))) {
        *request = MPI_REQUEST_NULL;
        espi_packed_record_keep(record);
        return MPI_SUCCESS;
    }
    espi_word result = go_on(thread, ESPI_FN_Request_free, args, next);
    if (record != NULL && record->persistent && (int)result == MPI_SUCCESS)
        espi_packed_record_end(record);
    else if (record != NULL)
        espi_packed_record_back(record, true);
    return result;
}

espi_word espi_packed_complete(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                               espi_handler go_on)
{
    espi_packed_record_sweep();
    if (fn == ESPI_FN_Request_get_status)
        return ask_status(thread, args, next, go_on);
    if (fn == ESPI_FN_Request_free)
        return free_request(thread, args, next, go_on);
    espi_word result;
    if (complete_some(thread, fn, args, next, go_on, &result))
        return result;
    return complete_in_parts(&(struct way_on){thread, fn, args, next, go_on});
}
