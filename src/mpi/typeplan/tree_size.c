#include "mpi/typeplan/tree_size.h"

/* At each level what parts cost (engine_cost.c) asks for all that is below: `depth` levels are above. Most types have
   so few that this is not charged. */
static bool walk(const struct espi_node *node, int depth, int *left)
{
    enum { FREE = 4 };

    for (; node->kind != ESPI_STRUC; node = node->child, depth++)
        if ((*left -= 1 + depth / FREE) < 0 || node->kind == ESPI_LEAF)
            return *left >= 0;
    for (int64_t i = 0; i < node->count; i++)
        if ((i == 0 || node->sub[i] != node->sub[i - 1]) && !walk(node->sub[i], depth + 1, left))
            return false;
    return (*left -= 1 + depth / FREE) >= 0;
}

bool espi_tree_may_be_walked(const struct espi_node *tree, int most)
{
    return walk(tree, 0, &most);
}

int64_t espi_tree_numbers(const struct espi_node *tree, int64_t most)
{
    int64_t n = tree->kind == ESPI_LEAF || tree->kind == ESPI_VEC ? 0 : tree->count;

    if (tree->kind == ESPI_LEAF || n >= most)
        return n;
    if (tree->kind != ESPI_STRUC)
        return n + espi_tree_numbers(tree->child, most - n);
    for (int64_t i = 0; i < tree->count && n < most; i++)
        if (i == 0 || tree->sub[i] != tree->sub[i - 1])
            n += espi_tree_numbers(tree->sub[i], most - n);
    return n;
}
