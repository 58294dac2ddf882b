/*
 * The trees' own code (src/mpi/gather/), linked directly: what no program can bring about by its
 * arguments alone. The memory for messages is this program's own: it ends in bytes that must stay as they are, its
 * pieces are counted, and it can be refused. Needs 5 ranks; no preload. Prints `N passed, N failed` on rank 0.
 *
 * The tree: rank 1 gathers from 2 and 3, the root 0 from 1 and 4.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "commtree/commtree.h"
#include "mpi/gather/subtree_plan.h"
#include "setup.h"

enum { P = 5, GUARD = 65536, MOST = 4000, GAP = -1 };

static int rank, gets, refuse; /* refuse: the get that fails, counted from 1 */
static long passed, failed;
static MPI_Comm comm;
static MPI_Datatype spread; /* two ints, each followed by a gap */
static int own[MOST], all[P * MOST], counts[P], displs[P];

static void check(const char *what, int good)
{
    if (good)
        passed++;
    else if (failed < 10)
        printf("rank %d: %s\n", rank, what);
    failed += !good;
}

/* ---- memory of messages (base/buffer_pool.h) ---- */

struct buffer {
    size_t size;
    max_align_t content[];
};

void *espi_pool_get(size_t size)
{
    struct buffer *b;
    if (++gets == refuse || !(b = malloc(sizeof *b + size + GUARD)))
        return NULL;
    b->size = size;
    memset((char *)b->content + size, 0xa5, GUARD);
    return b->content;
}

void espi_pool_put(void *content)
{
    if (!content)
        return;
    struct buffer *b = (struct buffer *)((char *)content - offsetof(struct buffer, content));
    int good = 1;
    for (size_t i = 0; i < GUARD; i++)
        good = good && ((unsigned char *)b->content)[b->size + i] == 0xa5;
    check("written beyond the memory of a message", good);
    free(b);
}

/* ---- plans ---- */

static struct espi_commtree tree_of(const int *from, const int *to, bool ordered)
{
    struct espi_commtree tree;
    if (espi_commtree_from_joins(P, 0, P - 1, from, to, ordered, &tree))
        MPI_Abort(MPI_COMM_WORLD, 3);
    return tree;
}

static struct espi_commtree usual_tree(void)
{
    return tree_of((const int[]){2, 3, 1, 4}, (const int[]){1, 1, 0, 0}, true);
}

static struct espi_subtree_plan plan_of(const int64_t *size, int slack)
{
    struct espi_subtree_plan plan;
    struct espi_commtree tree = usual_tree();
    if (espi_subtree_plan_make(&tree, size, rank, slack, &plan))
        MPI_Abort(MPI_COMM_WORLD, 3);
    espi_commtree_release(&tree);
    return plan;
}

static void bookkeeping(void)
{
    int64_t size[P] = {40, 10, 20, 30, 200};
    struct espi_subtree_plan plan = plan_of(size, 0);
    check("no room beyond the plan", espi_subtree_plan_room(&plan, 1, 1, 1000) == 1000);
    espi_subtree_plan_release(&plan);
    plan = plan_of(size, 25);
    check("room for counts that vary", espi_subtree_plan_room(&plan, 1, 2, 1000) == 1000 + 250 + 64 + 16);
    check("the root's room is the program's", espi_subtree_plan_room(&plan, 0, 2, 1000) == 1000);
    check("the root", rank != 0 || (plan.children == 2 && plan.child[0].rank == 1 && plan.child[0].bytes == 60 &&
                                    plan.child[1].rank == 4 && plan.bytes == 300));
    espi_subtree_plan_release(&plan);
    /* The subtree of rank 1 is 1, 2 and 4. */
    struct espi_commtree tree = tree_of((const int[]){2, 4, 1, 3}, (const int[]){1, 1, 0, 0}, false);
    check("a subtree that is no range",
          espi_subtree_plan_make(&tree, size, rank, 0, &plan) == ESPI_ERR_ARGUMENT && !plan.ranks);
    espi_commtree_release(&tree);
    tree = usual_tree();
    size[2] = 0;
    check("a rank of the tree without data", espi_subtree_plan_make(&tree, size, rank, 0,
                                                                    &plan) == ESPI_ERR_ARGUMENT);
    size[2] = 20;
    size[0] = 0;
    check("a root without data", espi_subtree_plan_make(&tree, size, rank, 0, &plan) == ESPI_OK);
    espi_subtree_plan_release(&plan);
    espi_commtree_release(&tree);
}

/* ---- calls ---- */

static int value(int of, int i)
{
    return of * 100000 + i;
}

/* A gather and a scatter of `n` ints of each rank with a plan for `planned` ints; the classes that this rank must see
   in each (-1: not called), and how many pieces of memory it may use. */
struct want {
    int gather, scatter, gets_of_gather, gets_of_scatter;
};

static void calls(const char *what, const int64_t *planned, const int *n, int slack, bool dense, struct want want)
{
    int64_t size[P];
    char text[100];
    int at = 0, good = 1, class;
    for (int r = 0; r < P; r++) {
        size[r] = planned[r] * (int64_t)sizeof(int);
        counts[r] = n[r] / (dense ? 1 : 2);
        displs[r] = at;
        at += counts[r];
    }
    struct espi_subtree_plan plan = plan_of(size, slack);
    struct espi_blocks blocks = {.buf = (char *)all, .type = {dense ? MPI_INT : spread, dense, NULL},
                                 .counts = counts, .displs = displs,
                                 .extent = dense ? (int)sizeof(int) : 4 * (int)sizeof(int),
                                 .size = dense ? (int)sizeof(int) : 2 * (int)sizeof(int)};
    struct espi_block block = {.buf = own, .count = n[rank], .bytes = n[rank] * (int64_t)sizeof(int),
                              .type = {MPI_INT, true, NULL}};
    int scale = dense ? 1 : 2;
    for (int x = 0; x < 2; x++) {
        int wanted = x ? want.scatter : want.gather, most = x ? want.gets_of_scatter : want.gets_of_gather;
        if (wanted < 0)
            continue;
        for (int i = 0; i < MOST; i++)
            own[i] = !x && i < n[rank] ? value(rank, i) : GAP;
        for (int i = 0; i < P * MOST; i++)
            all[i] = GAP;
        for (int r = 0; x && r < P; r++)
            for (int i = 0; i < n[r]; i++)
                all[displs[r] * scale * scale + i * scale] = value(r, i);
        gets = 0;
        int rc = x ? espi_tree_scatter(&plan, comm, &block, &blocks) : espi_tree_gather(&plan, comm, &block, &blocks);
        snprintf(text, sizeof text, "%s, %s: ", what, x ? "scatter" : "gather");
        char *end = text + strlen(text);
        if (most >= 0) {
            snprintf(end, sizeof text - (size_t)(end - text), "%d pieces of memory", gets);
            check(text, gets <= most);
        }
        MPI_Error_class(rc, &class);
        snprintf(end, sizeof text - (size_t)(end - text), "class %d", class);
        check(text, class == wanted);
        good = 1;
        for (int r = 0; !x && rank == 0 && wanted == MPI_SUCCESS && r < P; r++)
            for (int i = 0; i < n[r] * scale; i++)
                good = good && all[displs[r] * scale * scale + i] == (i % scale ? GAP : value(r, i / scale));
        for (int i = 0; x && wanted == MPI_SUCCESS && i < MOST; i++)
            good = good && own[i] == (i < n[rank] ? value(rank, i) : GAP);
        strcpy(end, "data");
        check(text, good);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    espi_subtree_plan_release(&plan);
}

static const int64_t even[P] = {8, 8, 8, 8, 8}, ranks_differ[P] = {2, 4, 6, 8, 10};

static void memory_used(void)
{
    const int as_planned[P] = {2, 4, 6, 8, 10}, more[P] = {8, 8, 10, 8, 8}, much_more[P] = {800, 800, 600, 1000, 900};
    const int moved[P] = {8, 2, 14, 8, 6}, less[P] = {8, 2, 2, 2, 8}, some[P] = {2, 3, 4, 5, 6};
    const int64_t tiny[P] = {1, 1, 1, 1, 1};
    int inner = rank == 1;
    struct want straight = {MPI_SUCCESS, MPI_SUCCESS, inner, inner};
    calls("as planned", ranks_differ, as_planned, 0, true, straight);
    /* Also with room for counts that vary: the root receives straight into the blocks. */
    calls("as planned, with room", ranks_differ, as_planned, 25, true, straight);
    calls("as planned, derived type", ranks_differ, as_planned, 0, false,
          (struct want){MPI_SUCCESS, MPI_SUCCESS, rank == 0 || inner, rank == 0 || inner});
    calls("a little more", even, more, 0, true, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
    calls("a little more, with room", even, more, 25, true, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
    /* As many in all as planned: no second piece of memory. */
    calls("other sizes, the same sum", even, moved, 0, true,
          (struct want){MPI_SUCCESS, MPI_SUCCESS, 2 * (rank == 0 || inner), inner});
    calls("less", even, less, 0, true, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
    calls("less, with room", even, less, 25, true, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
    calls("blocks smaller than their sizes", tiny, some, 0, true, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
    calls("much more", even, much_more, 0, true, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
    calls("much more, derived type", even, much_more, 25, false, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
}

/* A rank that gets no memory says so, whoever misses data because of it is told, and the next calls are right. */
static void no_memory(void)
{
    const int as_planned[P] = {8, 8, 8, 8, 8}, more[P] = {8, 8, 10, 8, 8};
    bool below = rank == 2 || rank == 3;
    for (int x = 0; x < 2; x++) {
        const int *n = x ? more : as_planned;
        refuse = rank == 1;
        calls("no memory at rank 1", even, n, 0, true,
              (struct want){rank == 1 ? MPI_ERR_NO_MEM : rank == 0 ? MPI_ERR_OTHER : MPI_SUCCESS,
                            rank == 1 ? MPI_ERR_NO_MEM : below ? MPI_ERR_OTHER : MPI_SUCCESS, -1, -1});
        refuse = rank == 0; /* derived type: it needs memory for what it receives or sends */
        calls("no memory at the root", even, n, 0, false,
              (struct want){rank == 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS,
                            rank == 0 ? MPI_ERR_NO_MEM : rank == 1 || below ? MPI_ERR_OTHER : MPI_SUCCESS, -1, -1});
        refuse = 0;
        calls("after that", even, n, 0, false, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
    }
    const int much_more[P] = {800, 800, 600, 1000, 900};
    refuse = rank == 1 ? 2 : 0; /* the second piece: for what is larger than planned */
    calls("no memory for more at rank 1", even, much_more, 0, true,
          (struct want){rank == 1 ? MPI_ERR_NO_MEM : rank == 0 ? MPI_ERR_OTHER : MPI_SUCCESS,
                        rank == 1 ? MPI_ERR_NO_MEM : below ? MPI_ERR_OTHER : MPI_SUCCESS, -1, -1});
    refuse = 0;
    calls("after that", even, much_more, 0, true, (struct want){MPI_SUCCESS, MPI_SUCCESS, -1, -1});
}

/* Fewer bytes than the block has room for, and they end inside an element. */
static void parts_of_elements(void)
{
    const struct espi_tree_type type = {.handle = spread};

    for (int n = 0; n <= 9; n++) {
        int good = 1, rc;
        for (int i = 0; i < 40; i++)
            all[i] = GAP, own[i] = value(7, i);
        rc = espi_tree_fill(own, n * (int64_t)sizeof(int), all, 4, &type, 8 * (int64_t)sizeof(int), rank, comm);
        for (int i = 0; i < 40; i++)
            good = good && all[i] == (n <= 8 && i % 2 == 0 && i / 2 < n ? value(7, i / 2) : GAP);
        check("a block filled in part", good && rc == (n <= 8 ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype pair;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    types_setup();
    if (size != P)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * (MPI_Aint)sizeof(int), &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&pair);
    bookkeeping();
    parts_of_elements();
    memory_used();
    no_memory();
    MPI_Type_free(&spread);
    MPI_Comm_free(&comm);
    long sums[2], tally[2] = {passed, failed};
    MPI_Reduce(tally, sums, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sums[0], sums[1]);
    MPI_Finalize();
    return failed != 0;
}
