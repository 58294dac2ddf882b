/*
 * Folding: equal subtrees become one node. Bottom up: a node's children are folded first, so two nodes are equal when
 * their own words are and their children are the same nodes; a hash table finds the first of its kind. Nodes that
 * were shared already are visited once.
 */
#include "reconstruct/fold.h"

#include <stdlib.h>

struct slot {
    const struct espi_node *key, *value;
};

/* One table for both questions: which node stands for this content (hash of the tree), and what became of this very
   node (hash of its address). */
struct table {
    struct slot *slot;
    size_t size, used; /* size is a power of two */
};

struct folding {
    struct espi_arena *arena;
    struct table content, visited;
    const struct espi_costs *costs;
    int64_t dag_cost;
    size_t nodes;
};

static size_t hash_address(const struct espi_node *node)
{
    return (size_t)(((uintptr_t)node >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
}

static struct slot *find_slot(const struct table *t, const struct espi_node *key, bool content)
{
    size_t at = content ? (size_t)(key->hash * UINT64_C(0x9e3779b97f4a7c15) >> 20) : hash_address(key);
    for (at &= t->size - 1; t->slot[at].key != NULL; at = (at + 1) & (t->size - 1)) {
        if (content ? espi_node_equal(t->slot[at].key, key) : t->slot[at].key == key) {
            break;
        }
    }
    return &t->slot[at];
}

static espi_status add_node(struct table *t, const struct espi_node *key, const struct espi_node *value, bool content)
{
    if (2 * (t->used + 1) > t->size) {
        struct table larger = {NULL, t->size == 0 ? 64 : 2 * t->size, t->used};
        larger.slot = calloc(larger.size, sizeof *larger.slot);
        if (larger.slot == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (size_t i = 0; i < t->size; i++) {
            if (t->slot[i].key != NULL) {
                *find_slot(&larger, t->slot[i].key, content) = t->slot[i];
            }
        }
        free(t->slot);
        *t = larger;
    }
    *find_slot(t, key, content) = (struct slot){key, value};
    t->used++;
    return ESPI_OK;
}

static espi_status fold_node(struct folding *f, const struct espi_node *node, const struct espi_node **out)
{
    struct slot *known = f->visited.size > 0 ? find_slot(&f->visited, node, false) : NULL;
    if (known != NULL && known->key != NULL) {
        *out = known->value;
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
    if (status != ESPI_OK) {
        return status;
    }
    known = f->content.size > 0 ? find_slot(&f->content, &folded, true) : NULL;
    if (known == NULL || known->key == NULL) {
        struct espi_node *first = espi_arena_alloc(f->arena, sizeof *first);
        if (first == NULL) {
            return ESPI_ERR_MEMORY;
        }
        *first = folded;
        status = add_node(&f->content, first, first, true);
        if (status != ESPI_OK) {
            return status;
        }
        int64_t own = espi_cost_own(first, f->costs);
        f->dag_cost = f->dag_cost > INT64_MAX - own ? INT64_MAX : f->dag_cost + own;
        f->nodes++;
        *out = first;
    } else {
        *out = known->value;
    }
    return add_node(&f->visited, node, *out, false);
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
    free(f.content.slot);
    free(f.visited.slot);
    return status;
}
