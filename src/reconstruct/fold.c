/*
 * Folding: equal subtrees become one node. Bottom up: a node's children are folded first, so two nodes are equal when
 * their own words are and their children are the same nodes; a hash table finds the first of its kind. Nodes that
 * were shared already are visited once.
 */
#include "reconstruct/fold.h"

#include "base/hash.h"
#include "layout/memo.h"

/* A folded node, the first with its content. */
struct first {
    const struct espi_node *node;
    uint64_t key; /* the node's hash, or the next free one where other contents have the same */
    UT_hash_handle hh;
};

struct folding {
    struct espi_arena *arena, scratch;
    struct first *contents;
    struct espi_memo visited;
    const struct espi_costs *costs;
    int64_t dag_cost;
    size_t nodes;
};

/* The first node with this content: a new one when there was none. */
static espi_status find_first(struct folding *f, const struct espi_node *folded, const struct espi_node **out)
{
    struct first *first;
    uint64_t key = folded->hash - 1;

    do {
        key++;
        HASH_FIND(hh, f->contents, &key, sizeof key, first);
    } while (first != NULL && !espi_node_equal(first->node, folded));
    if (first != NULL) {
        *out = first->node;
        return ESPI_OK;
    }
    struct espi_node *node = espi_arena_alloc(f->arena, sizeof *node);
    first = espi_arena_calloc(&f->scratch, 1, sizeof *first);
    if (node == NULL || first == NULL) {
        return ESPI_ERR_MEMORY;
    }
    *node = *folded;
    first->node = *out = node;
    first->key = key;
    HASH_ADD(hh, f->contents, key, sizeof first->key, first);
    int64_t own = espi_cost_own(node, f->costs);
    f->dag_cost = f->dag_cost > INT64_MAX - own ? INT64_MAX : f->dag_cost + own;
    f->nodes++;
    return first->hh.tbl != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
}

static espi_status fold_node(struct folding *f, const struct espi_node *node, const struct espi_node **out)
{
    struct espi_memo_slot *known = espi_memo_find(&f->visited, node);
    if (known != NULL) {
        *out = known->same;
        return ESPI_OK;
    }
    struct espi_node folded = *node; /* derived values do not change */
    espi_status status = ESPI_OK;
    if (node->child != NULL) {
        status = fold_node(f, node->child, &folded.child);
    }
    if (node->kind == ESPI_STRUC && node->count > 0) {
        const struct espi_node **sub = espi_arena_alloc(f->arena, (size_t)node->count * sizeof *sub);
        if (sub == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (int64_t j = 0; j < node->count && status == ESPI_OK; j++) {
            status = fold_node(f, node->sub[j], &sub[j]);
        }
        folded.sub = sub;
    }
    if (status == ESPI_OK) {
        status = find_first(f, &folded, out);
    }
    if (status != ESPI_OK) {
        return status;
    }
    known = espi_memo_add(&f->visited, node);
    if (known == NULL) {
        return ESPI_ERR_MEMORY;
    }
    known->same = *out;
    return ESPI_OK;
}

espi_status espi_fold(struct espi_arena *arena, const struct espi_node *tree, const struct espi_costs *costs,
                      struct espi_folded *out)
{
    struct folding f = {.arena = arena, .costs = costs};
    espi_status status = fold_node(&f, tree, &out->tree);
    if (status == ESPI_OK) {
        out->tree_cost = espi_cost(tree, costs);
        out->dag_cost = f.dag_cost;
        out->nodes = f.nodes;
    }
    HASH_CLEAR(hh, f.contents);
    espi_memo_release(&f.visited);
    espi_arena_release(&f.scratch);
    return status;
}
