/*
 * The life of a datatype: what a program can ask about its types and do with them must not change because Espalier
 * looks at them. Handles reused after MPI_Type_free, duplicates, names, attributes with callbacks (also ones that
 * free types), envelope and contents, building blocks taken after a type was planned, status queries, threads, and
 * one type used a thousand times (under `auto` it is replaced somewhere in the middle).
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

static int thread_level;

/* n single elements, `gap` ints apart: worth replacing. */
static MPI_Datatype list(int n, int gap)
{
    MPI_Datatype t;
    int *at = malloc((size_t)n * sizeof *at), *one = malloc((size_t)n * sizeof *one);
    for (int i = 0; i < n; i++) {
        at[i] = i * gap;
        one[i] = 1;
    }
    MPI_Type_indexed(n, one, at, MPI_INT, &t);
    MPI_Type_commit(&t);
    free(at);
    free(one);
    return t;
}

/* Sends to itself with t on both ends; hash of what came, with its gaps. */
static uint64_t move_with(MPI_Datatype t, int count, MPI_Comm comm, int seed)
{
    MPI_Aint lb, extent, low, true_extent;
    MPI_Type_get_extent(t, &lb, &extent);
    MPI_Type_get_true_extent(t, &low, &true_extent);
    MPI_Aint span = low + true_extent + (count - 1) * extent;
    unsigned char *a = malloc((size_t)span + 1), *b = malloc((size_t)span + 1);
    uint64_t h = 0xcbf29ce484222325u;
    for (MPI_Aint i = 0; i < span; i++) {
        a[i] = (unsigned char)(i * 31 + seed);
        b[i] = (unsigned char)(i * 17 + 5);
    }
    CK(MPI_Sendrecv(a, count, t, 0, 9, b, count, t, 0, 9, comm, MPI_STATUS_IGNORE));
    for (MPI_Aint i = 0; i < span; i++)
        h = (h ^ b[i]) * 0x100000001b3u;
    free(a);
    free(b);
    return h;
}

static uint64_t move(MPI_Datatype t, int count)
{
    return move_with(t, count, MPI_COMM_SELF, 3);
}

/* Thousands of types; each handle comes back for other layouts. */
static void recycled(void)
{
    uint64_t sum = 0;
    int seen[256] = {0}, reused = 0;
    for (int i = 0; i < 4000; i++) {
        MPI_Datatype t = list(3 + i % 37, 2 + i % 5);
        unsigned slot = (unsigned)t & 255;
        reused += seen[slot]++ > 0;
        for (int k = 0; k < 1 + i % 3; k++)
            sum = mix(sum, move(t, 1 + i % 2));
        if (i % 50 == 0) { /* handles that live longer than their neighbours */
            MPI_Datatype keep = list(40, 3);
            MPI_Type_free(&t);
            t = list(41, 2);
            sum = mix(sum, move(t, 1));
            sum = mix(sum, move(keep, 1));
            MPI_Type_free(&keep);
        }
        MPI_Type_free(&t);
    }
    check_value(NULL, "recycled", "all bytes", (long long)sum);
    if (reused < 1000)
        fail(NULL, "recycled", "handles were hardly reused (%d)", reused);
}

/* First row and first column of an n x n matrix of ints, element by element. */
static MPI_Datatype row_and_column(int n)
{
    MPI_Datatype t;
    int *at = malloc(2 * (size_t)n * sizeof *at), *one = malloc(2 * (size_t)n * sizeof *one);
    for (int i = 0; i < 2 * n - 1; i++) {
        at[i] = i < n ? i : (i - n + 1) * n;
        one[i] = 1;
    }
    MPI_Type_indexed(2 * n - 1, one, at, MPI_INT, &t);
    MPI_Type_commit(&t);
    free(at);
    free(one);
    return t;
}

/* n blocks of three doubles with gaps that differ. */
static MPI_Datatype irregular(int n)
{
    MPI_Datatype t;
    int *at = malloc((size_t)n * sizeof *at), *three = malloc((size_t)n * sizeof *three);
    for (int i = 0; i < n; i++) {
        at[i] = 5 * i + (int)(mix(7, (uint64_t)i) % 3);
        three[i] = 3;
    }
    MPI_Type_indexed(n, three, at, MPI_DOUBLE, &t);
    MPI_Type_commit(&t);
    free(at);
    free(three);
    return t;
}

/* Under `auto` these are replaced somewhere in the middle. */
static void a_thousand_times(void)
{
    MPI_Datatype t[2] = {row_and_column(250), irregular(1000)};
    for (int k = 0; k < 2; k++) {
        uint64_t first = move(t[k], 1);
        for (int i = 0; i < 1000; i++)
            if (move(t[k], 1) != first) {
                fail(NULL, "a thousand times", "use %d moved other bytes", i);
                break;
            }
        check_value(NULL, "a thousand times", "bytes", (long long)first);
        MPI_Type_free(&t[k]);
    }
}

static void described(MPI_Datatype t, const char *what)
{
    int ni, na, nd, combiner, len = 0, size;
    MPI_Count lb, extent, size_x;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Type_get_envelope(t, &ni, &na, &nd, &combiner);
    check_value(NULL, what, "combiner", combiner);
    check_value(NULL, what, "numbers", ni * 1000 + na * 100 + nd);
    if (combiner != MPI_COMBINER_NAMED) {
        int *ints = calloc((size_t)ni + 1, sizeof *ints);
        MPI_Aint *aints = calloc((size_t)na + 1, sizeof *aints);
        MPI_Datatype *types = calloc((size_t)nd + 1, sizeof *types);
        MPI_Type_get_contents(t, ni, na, nd, ints, aints, types);
        check_bytes(NULL, what, "integers", ints, (size_t)ni * sizeof *ints);
        check_bytes(NULL, what, "addresses", aints, (size_t)na * sizeof *aints);
        for (int i = 0; i < nd; i++) {
            int a, b, c, k;
            MPI_Type_get_envelope(types[i], &a, &b, &c, &k);
            check_value(NULL, what, "inner combiner", k);
            if (k != MPI_COMBINER_NAMED)
                MPI_Type_free(&types[i]);
            else
                check_value(NULL, what, "inner type", types[i]);
        }
        free(ints);
        free(aints);
        free(types);
    }
    MPI_Type_get_name(t, name, &len);
    check_bytes(NULL, what, "name", name, (size_t)len);
    MPI_Type_size(t, &size);
    MPI_Type_size_x(t, &size_x);
    check_value(NULL, what, "size", size + size_x);
    MPI_Type_get_extent_x(t, &lb, &extent);
    check_value(NULL, what, "extent", lb * 1000000 + extent);
    MPI_Type_get_true_extent_x(t, &lb, &extent);
    check_value(NULL, what, "true extent", lb * 1000000 + extent);
}

static int copies, deletes, freed_inside;

static int copy_value(MPI_Datatype t, int key, void *extra, void *in, void *out, int *flag)
{
    (void)t, (void)key, (void)extra;
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_value(MPI_Datatype t, int key, void *value, void *extra)
{
    (void)t, (void)key, (void)value, (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

/* Frees another type, uses a third, from inside MPI_Type_free. */
static int delete_and_free(MPI_Datatype t, int key, void *value, void *extra)
{
    MPI_Datatype *inner = value;
    (void)t, (void)key, (void)extra;
    freed_inside++;
    MPI_Type_free(inner);
    MPI_Datatype other = list(9, 2);
    check_value(NULL, "callback", "bytes", (long long)move(other, 1));
    MPI_Type_free(&other);
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, key2, flag, value = 0, *got;
    void *p;
    MPI_Type_create_keyval(copy_value, delete_value, &key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_and_free, &key2, NULL);
    MPI_Datatype t = list(30, 4), d, dd;
    check_value(NULL, "attributes", "before", (long long)move(t, 2));
    MPI_Type_set_attr(t, key, &value);
    MPI_Type_set_name(t, "thirty in fours");
    for (int i = 0; i < 40; i++)
        move(t, 1);
    described(t, "named");
    MPI_Type_dup(t, &d);
    MPI_Type_dup(d, &dd);
    check_equal(NULL, "attributes", "copies", copies, 2);
    MPI_Type_get_attr(dd, key, &p, &flag);
    check_equal(NULL, "attributes", "copied value", flag ? (char *)p - (char *)&value : -1, 2);
    described(d, "dup");
    described(dd, "dup of dup");
    check_value(NULL, "attributes", "dup bytes", (long long)move(dd, 2));
    MPI_Type_free(&t);
    check_value(NULL, "attributes", "deletes so far", deletes);
    check_value(NULL, "attributes", "dup bytes after free", (long long)move(d, 2));
    MPI_Type_delete_attr(d, key);
    check_value(NULL, "attributes", "deletes so far", deletes);
    MPI_Type_get_attr(d, key, &got, &flag);
    check_equal(NULL, "attributes", "deleted", flag, 0);
    MPI_Type_free(&dd);
    MPI_Type_free(&d);
    check_value(NULL, "attributes", "deletes so far", deletes);
    for (int i = 0; i < 20; i++) {
        MPI_Datatype outer = list(20 + i, 3), inner = list(10 + i, 5);
        move(outer, 1);
        move(inner, 1);
        MPI_Type_set_attr(outer, key2, &inner);
        MPI_Type_free(&outer);
    }
    check_equal(NULL, "attributes", "freed inside a callback", freed_inside, 20);
    MPI_Type_free_keyval(&key);
    MPI_Type_free_keyval(&key2);
}

/* A type that is planned already is used inside another, and freed before that one is used. */
static void building_blocks(void)
{
    MPI_Datatype t = list(25, 3), v, s, r;
    for (int i = 0; i < 60; i++)
        move(t, 1);
    MPI_Type_vector(3, 1, 2, t, &v);
    MPI_Type_commit(&v);
    MPI_Type_create_resized(t, 0, 1000, &r);
    MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 4000}, (MPI_Datatype[]){t, r}, &s);
    MPI_Type_commit(&s);
    described(v, "vector of planned");
    described(s, "struct of planned");
    uint64_t before = move(t, 1);
    MPI_Type_free(&t);
    MPI_Type_free(&r);
    check_value(NULL, "building blocks", "planned", (long long)before);
    check_value(NULL, "building blocks", "vector", (long long)move(v, 2));
    check_value(NULL, "building blocks", "struct", (long long)move(s, 1));
    described(s, "struct of freed");
    MPI_Type_free(&v);
    MPI_Type_free(&s);
}

static void statuses(void)
{
    MPI_Datatype t = list(12, 2);
    MPI_Status st;
    int n;
    MPI_Count x;
    move(t, 1);
    memset(&st, 0, sizeof st);
    for (int k = 0; k < 40; k += 7) {
        MPI_Status_set_elements(&st, t, k);
        MPI_Get_elements(&st, t, &n);
        check_value(NULL, "statuses", "elements", n);
        MPI_Get_count(&st, t, &n);
        check_value(NULL, "statuses", "count", n);
        MPI_Status_set_elements_x(&st, t, k);
        MPI_Get_elements_x(&st, t, &x);
        check_value(NULL, "statuses", "elements_x", x);
    }
    MPI_Type_free(&t);
}

static void *one_thread(void *arg)
{
    int id = *(int *)arg;
    uint64_t *sum = calloc(1, sizeof *sum);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Datatype shared = list(64, 2);
    for (int i = 0; i < 400; i++) {
        MPI_Datatype t = list(5 + (i * 7 + id) % 60, 2 + i % 4), d;
        MPI_Type_dup(t, &d);
        *sum = mix(*sum, move_with(t, 1, comm, id));
        MPI_Type_free(&t);
        *sum = mix(*sum, move_with(d, 2, comm, id));
        *sum = mix(*sum, move_with(shared, 1, comm, id));
        MPI_Type_free(&d);
    }
    MPI_Type_free(&shared);
    MPI_Comm_free(&comm);
    return sum;
}

static MPI_Datatype common;

static void *same_type(void *arg)
{
    uint64_t *sum = calloc(1, sizeof *sum);
    MPI_Comm comm;
    int id = *(int *)arg;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (int i = 0; i < 500; i++)
        *sum = mix(*sum, move_with(common, 1, comm, id));
    MPI_Comm_free(&comm);
    return sum;
}

static void threads(void *(*run)(void *), const char *what)
{
    enum { MOST = 4 };
    pthread_t thread[MOST];
    int id[MOST];
    if (thread_level < MPI_THREAD_MULTIPLE)
        return;
    for (int i = 0; i < MOST; i++) {
        id[i] = i;
        pthread_create(&thread[i], NULL, run, &id[i]);
    }
    for (int i = 0; i < MOST; i++) {
        void *sum;
        pthread_join(thread[i], &sum);
        check_value(NULL, what, "bytes", (long long)*(uint64_t *)sum);
        free(sum);
    }
}

static void predefined(void)
{
    static const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE_INT, MPI_2INT, MPI_CHAR, MPI_C_DOUBLE_COMPLEX};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        MPI_Datatype d;
        described(types[i], "predefined");
        MPI_Type_dup(types[i], &d);
        described(d, "dup of predefined");
        check_value(NULL, "predefined", "bytes", (long long)move(d, 5));
        MPI_Type_free(&d);
    }
}

static int errors_seen;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;
    (void)comm;
    MPI_Error_class(*code, &class);
    errors_seen += 1 + class;
}

/* The program's own error handler is called once, with the class it would see without Espalier. */
static void error_handlers(void)
{
    MPI_Comm comm;
    MPI_Errhandler h;
    MPI_Datatype t = list(33, 3);
    int *buf = calloc(200, sizeof *buf);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(handler, &h);
    MPI_Comm_set_errhandler(comm, h);
    for (int i = 0; i < 30; i++)
        move_with(t, 1, comm, i);
    errors_seen = 0;
    MPI_Send(buf, 1, t, 99, 0, comm);
    check_equal(NULL, "error handlers", "rank", errors_seen, 1 + MPI_ERR_RANK);
    errors_seen = 0;
    MPI_Bcast(buf, -1, t, 0, comm);
    check_equal(NULL, "error handlers", "count", errors_seen, 1 + MPI_ERR_COUNT);
    errors_seen = 0;
    MPI_Gather(buf, 1, t, buf, 1, t, 5, comm);
    check_value(NULL, "error handlers", "root", errors_seen);
    errors_seen = 0;
    MPI_Sendrecv(buf, 2, t, 0, 1, buf + 100, 1, t, 0, 1, comm, MPI_STATUS_IGNORE);
    check_value(NULL, "error handlers", "truncation", errors_seen);
    MPI_Errhandler_free(&h);
    MPI_Comm_free(&comm);
    MPI_Type_free(&t);
    free(buf);
}

int main(int argc, char **argv)
{
    prog_start(&argc, &argv, 1);
    MPI_Query_thread(&thread_level);
    if (wanted("predefined"))
        predefined();
    if (wanted("recycled"))
        recycled();
    if (wanted("thousand"))
        a_thousand_times();
    if (wanted("attributes"))
        attributes();
    if (wanted("blocks"))
        building_blocks();
    if (wanted("statuses"))
        statuses();
    if (wanted("errors"))
        error_handlers();
    if (wanted("threads")) {
        threads(one_thread, "threads");
        common = list(300, 2);
        threads(same_type, "one type, many threads");
        MPI_Type_free(&common);
    }
    if (wanted("leak")) { /* both runs must be told of the same leaks */
        MPI_Datatype t = list(77, 2);
        for (int i = 0; i < 20; i++)
            move(t, 1);
    }
    return prog_end("life");
}
