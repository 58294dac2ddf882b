/*
 * Callbacks that call MPI: error handlers, attribute functions, reduction operations and generalized requests, which
 * gather on the same and on other communicators, free handles, pack, and send to their own process. All of it lives
 * natively. Arguments: the parts to run (all unless named). Prints `N passed, N failed` on rank 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harmless.h"

enum { TIMES = 12 };

static MPI_Comm comm, other;
static struct hl_call call, inner; /* of the program; of callbacks */
static int inside;                 /* how often a callback was entered */

static void setup(struct hl_call *c, MPI_Comm on)
{
    c->comm = on;
    MPI_Comm_rank(on, &c->rank);
    MPI_Comm_size(on, &c->size);
}

/* The same on all ranks of the communicator that it is called on; `number` makes the bytes. */
static void gather_on(struct hl_call *c, MPI_Comm on, int number, const char *what)
{
    uint64_t state = hl_hash(hl_seed + (uint64_t)number * 31);
    setup(c, on);
    c->op = (enum hl_op)(number % HL_OPS);
    c->root = number / 2 % c->size;
    c->derived = number % 3 == 0;
    c->salt = state;
    for (int r = 0; r < c->size; r++)
        c->counts[r] = number % HL_OPS < 2 ? 2 * (int)hl_random(&state, 40) : 12;
    hl_good_call(c, what);
}

static void some_calls(int number, const char *what)
{
    for (int k = 0; k < 6; k++) {
        hl_at(what, number * 6 + k);
        gather_on(&call, comm, number * 6 + k, what);
        if (k == 3)
            MPI_Barrier(comm);
    }
}

/* To itself, on a communicator of its own. */
static void to_myself(const char *what)
{
    int data = 5 + hl_rank, got = 0, all = 0;
    MPI_Sendrecv(&data, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Gather(&data, 1, MPI_INT, &all, 1, MPI_INT, 0, MPI_COMM_SELF);
    hl_check(got == data && all == data, "%s: to itself", what);
}

/* ---- error handlers ---- */

static const char *handles;
static int all_handle;

static void handler(MPI_Comm *of, int *code, ...)
{
    (void)of;
    (void)code;
    inside++;
    to_myself(handles);
    if (all_handle) {
        gather_on(&inner, other, inside, handles);
        gather_on(&inner, comm, inside + 1, handles);
        MPI_Barrier(comm);
        gather_on(&inner, MPI_COMM_WORLD, inside + 2, handles);
    }
}

static void handlers(void)
{
    MPI_Errhandler own;
    int data = 0, got = 0;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(comm, own);
    for (int k = 0; k < TIMES; k++) {
        inside = 0;
        handles = "a handler on one rank";
        all_handle = 0;
        some_calls(k, handles);
        if (hl_rank == k % hl_size) {
            MPI_Send(&data, 1, MPI_INT, hl_size + 1, 0, comm);
            MPI_Gatherv(NULL, -1, MPI_INT, NULL, NULL, NULL, MPI_INT, 0, comm);
            hl_check(inside == 2, "handlers called: %d", inside);
        }
        some_calls(k, handles);
        handles = "a handler on all ranks";
        all_handle = 1;
        inside = k;
        if (k % 2)
            MPI_Send(&data, 1, MPI_INT, hl_size + 1, 0, comm);
        else
            MPI_Gatherv(&data, -1, MPI_INT, &got, &got, &got, MPI_INT, 0, comm);
        hl_check(inside == k + 1, "handlers called: %d", inside);
        some_calls(k, handles);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&own);
}

/* ---- attributes ---- */

static int copies(MPI_Comm of, int key, void *extra, void *in, void *out, int *flag)
{
    (void)of;
    (void)key;
    (void)extra;
    inside++;
    to_myself("a copy function");
    /* MPI_Comm_dup is collective, and so is this. */
    gather_on(&inner, other, inside, "a copy function");
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deletes(MPI_Comm of, int key, void *value, void *extra)
{
    MPI_Datatype *type = value;
    (void)of;
    (void)key;
    (void)extra;
    inside++;
    to_myself("a delete function");
    gather_on(&inner, other, inside, "a delete function");
    if (type && *type != MPI_DATATYPE_NULL)
        MPI_Type_free(type);
    return MPI_SUCCESS;
}

static int type_copies(MPI_Datatype of, int key, void *extra, void *in, void *out, int *flag)
{
    (void)of;
    (void)key;
    (void)extra;
    inside++;
    to_myself("a copy function of a type");
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int type_deletes(MPI_Datatype of, int key, void *value, void *extra)
{
    MPI_Datatype made;
    (void)of;
    (void)key;
    (void)value;
    (void)extra;
    inside++;
    MPI_Type_vector(3, 1, 2, MPI_INT, &made);
    MPI_Type_commit(&made);
    to_myself("a delete function of a type");
    MPI_Type_free(&made);
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, type_key;
    MPI_Comm_create_keyval(copies, deletes, &key, NULL);
    MPI_Type_create_keyval(type_copies, type_deletes, &type_key, NULL);
    for (int k = 0; k < TIMES; k++) {
        MPI_Comm one, two;
        MPI_Datatype type, again, freed;
        MPI_Type_vector(4, 1, 2, MPI_INT, &freed);
        MPI_Type_commit(&freed);
        inside = 100 * k;
        MPI_Comm_dup(comm, &one);
        MPI_Comm_set_attr(one, key, &freed);
        gather_on(&call, one, k, "with an attribute");
        MPI_Comm_dup(one, &two);
        hl_check(inside == 100 * k + 1, "copy functions called: %d", inside - 100 * k);
        for (int n = 0; n < 5; n++) {
            gather_on(&call, two, n, "on the copy");
            gather_on(&call, one, n, "on the original");
        }
        if (k % 2) {
            MPI_Comm_free(&one);
            gather_on(&call, two, k, "after the original was freed");
            MPI_Comm_free(&two);
        } else {
            MPI_Comm_delete_attr(two, key);
            gather_on(&call, two, k, "after the attribute was deleted");
            MPI_Comm_disconnect(&two);
            MPI_Comm_free(&one);
        }
        hl_check(inside == 100 * k + 3, "attribute functions called: %d", inside - 100 * k);
        MPI_Type_vector(5, 2, 3, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_set_attr(type, type_key, &type);
        MPI_Type_dup(type, &again);
        MPI_Type_free(&type);
        MPI_Type_free(&again);
        hl_check(inside == 100 * k + 6, "attribute functions of types called: %d", inside - 100 * k);
        some_calls(k, "between attributes");
    }
    MPI_Comm_free_keyval(&key);
    MPI_Type_free_keyval(&type_key);
}

/* ---- operations ---- */

static MPI_Datatype spare = MPI_DATATYPE_NULL;

static void adds(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int position = 0, *from = in, *to = inout;
    char packed[64];
    MPI_Count extent, lb;
    inside++;
    MPI_Pack(from, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_SELF);
    MPI_Type_get_extent_c(*type, &lb, &extent);
    to_myself("an operation");
    if (spare != MPI_DATATYPE_NULL)
        MPI_Type_free(&spare);
    MPI_Type_contiguous(3, MPI_INT, &spare);
    MPI_Type_commit(&spare);
    for (int i = 0; i < *n * (int)(extent / (MPI_Count)sizeof(int)); i++)
        to[i] += from[i];
}

static void operations(void)
{
    MPI_Op op;
    MPI_Datatype pair;
    MPI_Op_create(adds, 1, &op);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int k = 0; k < TIMES; k++) {
        int own[4] = {hl_rank, k, 1, 2 * hl_rank}, sum[4] = {0}, n = hl_size;
        some_calls(k, "before an operation");
        MPI_Allreduce(own, sum, 2, pair, op, comm);
        hl_check(sum[0] == n * (n - 1) / 2 && sum[1] == n * k && sum[2] == n && sum[3] == n * (n - 1),
                 "a sum by an operation that calls MPI");
        some_calls(k, "after an operation");
        MPI_Reduce(own, sum, 4, MPI_INT, op, 0, comm);
        MPI_Scan(own, sum, 2, pair, op, comm);
        hl_check(sum[2] == hl_rank + 1, "a scan by an operation that calls MPI");
    }
    if (spare != MPI_DATATYPE_NULL)
        MPI_Type_free(&spare);
    MPI_Type_free(&pair);
    MPI_Op_free(&op);
}

/* ---- generalized requests ---- */

static int queried(void *of, MPI_Status *status)
{
    inside++;
    to_myself("a query function");
    gather_on(&inner, MPI_COMM_SELF, *(int *)of, "a query function");
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int freed(void *of)
{
    MPI_Comm made;
    (void)of;
    inside++;
    MPI_Comm_dup(MPI_COMM_SELF, &made);
    gather_on(&inner, made, inside, "a free function");
    MPI_Comm_free(&made);
    return MPI_SUCCESS;
}

static int cancelled(void *of, int complete)
{
    (void)of;
    (void)complete;
    to_myself("a cancel function");
    return MPI_SUCCESS;
}

static void requests(void)
{
    for (int k = 0; k < TIMES; k++) {
        MPI_Request request;
        inside = 0;
        MPI_Grequest_start(queried, freed, cancelled, &k, &request);
        some_calls(k, "while a generalized request is under way");
        if (k % 3 == 0)
            MPI_Cancel(&request);
        MPI_Grequest_complete(request);
        some_calls(k, "after a generalized request is complete");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        hl_check(inside == 2, "functions of a generalized request called: %d", inside);
        some_calls(k, "after a generalized request");
    }
}

/* ---- at the end: MPI still works while attributes of MPI_COMM_SELF are deleted ---- */

static int at_the_end(MPI_Comm of, int key, void *value, void *extra)
{
    (void)of;
    (void)key;
    (void)extra;
    for (int k = 0; k < 10; k++) {
        hl_at("in MPI_Finalize", k);
        gather_on(&inner, *(MPI_Comm *)value, k, "in MPI_Finalize");
    }
    if (hl_rank == 0)
        printf("in MPI_Finalize: done\n");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"handlers", handlers}, {"attributes", attributes}, {"operations", operations},
                 {"requests", requests}};
    static MPI_Comm last;
    int key;
    hl_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int wanted = argc == 1;
        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], parts[i].name) == 0;
        if (wanted)
            parts[i].run();
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &last);
    for (int k = 0; k < 10; k++)
        gather_on(&call, last, k, "before the end");
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &last);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
    int rc = hl_end();
    hl_release(&call);
    hl_release(&inner);
    return rc;
}
