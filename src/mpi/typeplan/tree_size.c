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
