/*
 * The anytime method, for maps whose repetitions can be listed but not all be solved within the bound of work; its
 * lemmas stand in doc/reconstruction.md, section 7. Every family has a lower bound of what its block costs (f->cost),
 * and some have a tree. A *round* fills the outermost row with the lower bounds, which gives a lower bound of the
 * whole (Lemma 9), and makes a tree along its best path; the blocks on that path that have no tree, or have got a
 * higher bound since, are treated likewise, so their bounds rise. A *ladder* raises the bounds of all blocks: rows
 * over windows of 1, 2, 4, ... times the shortest, each of which bounds every block inside (Lemma 15).
 *
 * What is done next never depends on the bound of work, which only says when to stop; the best tree and the highest
 * bound so far are kept. So more work never gives a worse answer.
 */
#include <stdlib.h>
#include <string.h>

#include "reconstruct/anytime.h"
#include "reconstruct/sparse/tree.h"

struct block {
    int64_t upper;  /* cost of the tree in the family's `node`, ESPI_SPARSE_INF without one */
    int64_t bound;  /* a lower bound of what the block costs */
    uint32_t round; /* of the last look at it */
    bool joined;    /* it is known which family speaks for it */
};

struct search {
    struct espi_sparse s;
    struct espi_arena *arena;
    struct block *block; /* per family; those of `same` count */
    int64_t *path;       /* n + 1: of the last outermost row, or of a window */
    struct espi_edge *edge;
    uint64_t budget; /* work after which no new step begins */
    uint32_t round;
    const struct espi_node *tree; /* the best so far */
    int64_t upper, lower;
};

static struct block *block_of(struct search *x, uint32_t family)
{
    return &x->block[x->s.families[family].same];
}

/* The family counts with all that is known of its block; where blocks of more periods stand for it, with less. */
static void use_bound(struct search *x, uint32_t family)
{
    struct espi_family *f = &x->s.families[family];
    int64_t bound = block_of(x, family)->bound;
    int64_t spare = f->period_run == ESPI_SPARSE_NONE ? ESPI_SPARSE_INF : x->s.runs[f->period_run].spare;
    if (!f->exact && (bound < spare ? bound : spare) > f->cost)
        f->cost = bound < spare ? bound : spare;
}

static void raise_bound(struct search *x, uint32_t family, int64_t bound)
{
    if (bound > block_of(x, family)->bound)
        block_of(x, family)->bound = bound;
    use_bound(x, family);
}

static espi_status look_at(struct search *x, uint32_t family);

/* What the best path found: a lower bound, and a tree when it costs less than `upper`. */
struct found {
    int64_t lower, cost;
    const struct espi_node *tree; /* NULL when its cost is not less than the bound that was given */
};

/* The parts of a path: their blocks are looked at, and their cost with the trees there are is added up. */
static espi_status look_at_parts(struct search *x, const int64_t *path, const struct espi_edge *edge, uint32_t len,
                                 int64_t *cost)
{
    const struct espi_family *families = x->s.families;
    espi_status status = ESPI_OK;
    *cost = x->s.costs.struc + path[len];
    for (uint32_t at = len; at > 0; at = edge[at].from) /* before a look changes what the row has counted */
        if (edge[at].family != ESPI_SPARSE_NONE)
            *cost -= families[edge[at].family].cost;
    for (uint32_t at = len; at > 0 && !status; at = edge[at].from)
        if (edge[at].family != ESPI_SPARSE_NONE) {
            status = look_at(x, edge[at].family);
            if (!status)
                *cost += block_of(x, edge[at].family)->upper;
        }
    return status;
}

/* One segment by its best path with what is known now. The tree is that of the segment moved so that what stands at
   `origin` comes to 0. Row buffers may be given. */
static espi_status solve_segment(struct search *x, uint32_t u, uint32_t len, int64_t origin, int64_t upper,
                                 int64_t *path, struct espi_edge *edge, struct found *out)
{
    struct espi_sparse *s = &x->s;
    int64_t *own_path = NULL;
    struct espi_edge *own_edge = NULL;
    struct espi_root root;
    espi_status status = espi_sparse_root(s, u, len, &root);
    if (status)
        return status;
    if (!path) {
        path = own_path = malloc(((size_t)len + 1) * sizeof *path);
        edge = own_edge = malloc(((size_t)len + 1) * sizeof *edge);
    }
    out->tree = NULL;
    status = path && edge ? espi_sparse_row(s, u, len, path, edge) : ESPI_ERR_MEMORY;
    if (!status && s->costs.struc + path[len] < root.cost) {
        out->lower = s->costs.struc + path[len];
        status = look_at_parts(x, path, edge, len, &out->cost);
        if (!status && out->cost < upper)
            status = espi_sparse_parts(s, x->arena, u, len, edge, origin, &out->tree);
    } else if (!status) {
        const struct espi_node *child = NULL;
        out->lower = out->cost = root.cost;
        if (root.family != ESPI_SPARSE_NONE) {
            out->cost -= s->families[root.family].cost;
            status = look_at(x, root.family);
            out->cost += block_of(x, root.family)->upper;
        }
        if (!status && out->cost < upper) {
            status = espi_sparse_block_node(s, x->arena, u, root.q, root.family, &child);
            if (!status)
                status = espi_sparse_copies(s, x->arena, root.kind, u, root.q, len / root.q, child, origin,
                                            &out->tree);
        }
    }
    free(own_path);
    free(own_edge);
    return status;
}

/* Gives the block a tree, and the bound that its own row gives; once per round. */
static espi_status look_at(struct search *x, uint32_t family)
{
    struct espi_sparse *s = &x->s;
    espi_status status = ESPI_OK;
    if (!x->block[family].joined) {
        int64_t bound = x->block[family].bound;
        status = espi_sparse_find_same(s, family);
        if (status)
            return status;
        x->block[family].joined = true;
        raise_bound(x, family, bound);
    }
    struct espi_family *g = &s->families[s->families[family].same];
    struct block *b = block_of(x, family);
    struct found found;
    if (b->round == x->round || (g->node && b->bound >= b->upper)) {
        use_bound(x, family);
        return ESPI_OK;
    }
    status = solve_segment(x, g->start, g->q, s->map->disp[g->start], b->upper, NULL, NULL, &found);
    if (status)
        return status;
    b->round = x->round;
    if (found.tree) {
        b->upper = found.cost;
        g->node = found.tree;
    }
    raise_bound(x, family, found.lower);
    return ESPI_OK;
}

/* A tree that starts at 0, moved by d: under a list of one copy, or one bucket in the place of a vec. */
static espi_status move_tree(struct search *x, const struct espi_node *tree, int64_t d, const struct espi_node **out)
{
    const struct espi_costs *c = &x->s.costs;
    int64_t *at = espi_arena_alloc(x->arena, 2 * sizeof *at);
    if (!at)
        return ESPI_ERR_MEMORY;
    at[0] = d;
    at[1] = tree->count;
    if (x->s.buckets && tree->kind == ESPI_VEC &&
        c->idxbuc + c->idxbuc_each <= c->vec + c->idx + c->idx_each)
        return espi_node_idxbuc(x->arena, 1, tree->stride, at, at + 1, tree->child, out);
    return espi_node_idx(x->arena, 1, at, tree, out);
}

static espi_status round_of_all(struct search *x)
{
    struct espi_sparse *s = &x->s;
    struct found found;
    x->round++;
    for (size_t f = 0; f < s->nfamilies; f++)
        use_bound(x, (uint32_t)f);
    espi_status status = espi_sparse_work(s, s->nfamilies / 4);
    if (!status) /* struc, idx and idxbuc take up the place of the map */
        status = solve_segment(x, 0, s->n, 0, x->upper, x->path, x->edge, &found);
    if (status)
        return status;
    if (found.tree) {
        const struct espi_node *tree = found.tree;
        if (tree->kind != ESPI_STRUC && tree->kind != ESPI_IDX && tree->kind != ESPI_IDXBUC && s->map->disp[0] != 0)
            status = move_tree(x, tree, s->map->disp[0], &tree);
        int64_t cost = status ? INT64_MAX : espi_cost(tree, &s->costs);
        if (cost < x->upper) {
            x->upper = cost;
            x->tree = tree;
        }
    }
    if (found.lower > x->lower)
        x->lower = found.lower;
    return status;
}

/* A lower bound of the trees of the block (v, q) whose root is a repetition; `parts` when that is less. */
static int64_t least_root(const struct search *x, uint32_t v, uint32_t q, int64_t parts)
{
    const struct espi_sparse *s = &x->s;
    const struct espi_costs *c = &s->costs;
    int64_t best = parts;
    if (s->base_end[v] >= v + q) {
        /* No two neighbours of the t runs of equal symbols have the same, so t / 2 at least break any one stride. */
        int64_t buckets = 1 + (s->tok_of[v + q - 2] - s->tok_of[v] + 1) / 2, root = c->idx + c->idx_each * q;
        if (s->buckets && c->idxbuc + c->idxbuc_each * buckets < root)
            root = c->idxbuc + c->idxbuc_each * buckets;
        if (s->strided && c->bucket + c->bucket_each * buckets < root)
            root = c->bucket + c->bucket_each * buckets;
        if (buckets == 1 && s->uniform < root)
            root = s->uniform;
        if (root + c->leaf < best)
            best = root + c->leaf;
    }
    for (uint32_t e = s->first[v]; e < s->first[v + 1] && 2 * s->square[e].q <= q; e++) {
        const struct espi_family *f = &s->families[s->square[e].family];
        int64_t m = q / f->q, each = c->idx + c->idx_each * m;
        if (q % f->q != 0 || m > f->squares + 1 - (v - f->start) / f->q)
            continue;
        int64_t root = f->cost + (each < s->uniform ? each : s->uniform);
        if (root < best)
            best = root;
    }
    return best;
}

/* Lemma 15: what the row over [u, u + len) says of the block (v, q) inside. */
static void bound_block(struct search *x, uint32_t u, uint32_t v, uint32_t q, uint32_t family)
{
    int64_t parts = x->s.costs.struc + x->path[v + q - u] - x->path[v - u];
    if (parts > block_of(x, family)->bound)
        raise_bound(x, family, least_root(x, v, q, parts));
}

/* A row over the window, and bounds of the blocks in it of at least `least` entries. */
static espi_status bound_window(struct search *x, uint32_t u, uint32_t len, uint32_t least)
{
    struct espi_sparse *s = &x->s;
    espi_status status = espi_sparse_row(s, u, len, x->path, NULL);
    uint64_t seen = 0;
    for (uint32_t v = u; v < u + len && !status; v++)
        for (uint32_t e = s->first[v]; e < s->first[v + 1] && !status; e++) {
            const struct espi_square *sq = &s->square[e];
            if (sq->q > u + len - v)
                break;
            if (sq->q < least || s->families[sq->family].exact)
                continue;
            seen++;
            bound_block(x, u, v, sq->q, sq->family);
            if (2 * (uint64_t)sq->q <= u + len - v)
                bound_block(x, u, v + sq->q, sq->q, sq->family);
        }
    return status ? status : espi_sparse_work(s, seen);
}

static bool more_to_do(const struct search *x)
{
    return x->lower < x->upper && x->s.work < x->budget;
}

enum { SHORTEST = 32 };

/* Windows of one length, each 1 / `steps` of it behind the one before. Blocks of less than a quarter of a window had
   their turn in shorter ones. */
static espi_status fill_rung(struct search *x, uint64_t len, uint32_t steps)
{
    espi_status status = ESPI_OK;
    uint32_t n = x->s.n, least = len > SHORTEST ? (uint32_t)(len / 4) : 2;
    for (uint64_t u = 0; u < n && !status && more_to_do(x); u += len / steps) {
        status = bound_window(x, (uint32_t)u, n - u < len ? n - (uint32_t)u : (uint32_t)len, least);
        if (len >= n)
            break;
    }
    return status;
}

/* A round at least. Then the ladder, a round after each rung, and some more at its end as long as they help; and
   again, with windows closer to each other. */
static espi_status steps_of_work(struct search *x)
{
    espi_status status = round_of_all(x);
    bool still = false; /* the closest windows have changed nothing */
    for (uint32_t steps = 2; !status && more_to_do(x) && !still; steps = steps < 16 ? 2 * steps : 16) {
        int64_t lower = x->lower, upper = x->upper;
        for (uint64_t len = SHORTEST; len < 2 * (uint64_t)x->s.n && !status && more_to_do(x); len *= 2) {
            status = fill_rung(x, len, steps);
            if (!status && more_to_do(x))
                status = round_of_all(x);
        }
        for (int64_t before = 0; !status && more_to_do(x) && x->lower - before > x->lower / 64;) {
            before = x->lower;
            status = round_of_all(x);
        }
        still = steps == 16 && x->lower == lower && x->upper == upper;
    }
    return status;
}

static espi_status search_tree(struct espi_arena *arena, const struct espi_typemap *map,
                               const struct espi_reconstruct_options *options, uint64_t work, uint64_t ahead,
                               struct espi_reconstruction *out, uint64_t *all)
{
    struct search x = {.arena = arena, .upper = INT64_MAX};
    espi_status status;
    if (map->n == 0 || map->n > (size_t)1 << 28)
        return ESPI_ERR_LIMIT;
    espi_sparse_start(&x.s, map, options, work, ahead, true);
    x.s.thin = all != NULL;
    status = espi_sparse_begin(&x.s);
    x.block = calloc(x.s.nfamilies + 1, sizeof *x.block);
    x.path = malloc((map->n + 1) * sizeof *x.path);
    x.edge = malloc((map->n + 1) * sizeof *x.edge);
    if (!status && !(x.block && x.path && x.edge))
        status = ESPI_ERR_MEMORY;
    for (size_t f = 0; f < x.s.nfamilies && !status; f++)
        x.block[f] = (struct block){ESPI_SPARSE_INF, x.s.families[f].least, 0, false};
    if (!status) {
        /* A step that has begun is done, so that a tree comes out; it takes a few times what the first one did. */
        x.budget = work;
        x.s.work_limit = UINT64_MAX;
        status = steps_of_work(&x);
        if (x.tree) {
            *out = (struct espi_reconstruction){.tree = x.tree, .cost = x.upper};
            out->lower_bound = x.s.thin ? 0 : x.lower; /* thin: of trees over the squares listed only */
            out->exact = x.lower == x.upper && !x.s.thin;
            status = ESPI_OK;
        }
    }
    if (all != NULL)
        *all = x.s.in_intervals;
    free(x.block);
    free(x.path);
    free(x.edge);
    espi_sparse_finish(&x.s);
    return status;
}

espi_status espi_anytime(struct espi_arena *arena, const struct espi_typemap *map,
                         const struct espi_reconstruct_options *options, uint64_t work, uint64_t ahead,
                         struct espi_reconstruction *out)
{
    return search_tree(arena, map, options, work, ahead, out, NULL);
}

espi_status espi_reconstruct_thin(struct espi_arena *arena, const struct espi_typemap *map,
                                  const struct espi_reconstruct_options *options, uint64_t work,
                                  struct espi_reconstruction *out, uint64_t *all)
{
    *all = 0;
    return search_tree(arena, map, options, work, 0, out, all);
}

espi_status espi_reconstruct_anytime(struct espi_arena *arena, const struct espi_typemap *map,
                                     const struct espi_reconstruct_options *options, uint64_t work,
                                     struct espi_reconstruction *out)
{
    return espi_anytime(arena, map, options, work, 1000000, out);
}
