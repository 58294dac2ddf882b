#include "mpi/typeplan/forms.h"

#include "mpi/typeplan/variants.h"

enum { AS_IT_STANDS = -1, INNER_COPIES = -2, OUTER_COPIES = -3, ALL_COPIES = -4 };
/* Better is what takes less time by one part in so many, and by so many nanoseconds. */
enum { CLEAR = 32, CLEAR_NS = 30 };

/* How a form is built from the tree that was found (or from the program's own). */
static const struct recipe {
    int64_t chunk; /* blocks, > 0; or a negative one of these: */
    bool original;
    const char *text;
} recipes[] = {
    {AS_IT_STANDS, false, "the tree as it stands"},
    {INNER_COPIES, false, "innermost vectors as blocks of copies"},
    {OUTER_COPIES, false, "outermost vectors as blocks of copies"},
    {ALL_COPIES, false, "vectors as blocks of copies"},
    {8, false, "lists and vectors in chunks of 8 blocks"},
    {16, false, "lists and vectors in chunks of 16 blocks"},
    {32, false, "lists and vectors in chunks of 32 blocks"},
    {64, false, "lists and vectors in chunks of 64 blocks"},
    {128, false, "lists and vectors in chunks of 128 blocks"},
    {ALL_COPIES, true, "the program's own tree, vectors as blocks of copies"},
    {16, true, "the program's own tree, lists and vectors in chunks of 16 blocks"},
    {64, true, "the program's own tree, lists and vectors in chunks of 64 blocks"},
};
_Static_assert(sizeof recipes / sizeof recipes[0] == ESPI_FORMS, "one for each form");

const char *espi_form_text(int which)
{
    return recipes[which].text;
}

/* The tree of a recipe; NULL when it is not one of its own. */
static const struct espi_node *follow(struct espi_arena *arena, const struct espi_node *from,
                                      const struct recipe *how)
{
    const struct espi_node *tree = from;
    espi_status status = ESPI_OK;

    if (how->chunk > 0)
        status = espi_variant_chunked(arena, from, how->chunk, &tree);
    else if (how->chunk != AS_IT_STANDS)
        status = espi_variant_copies(arena, from,
                                     how->chunk == INNER_COPIES   ? ESPI_COPIES_INNERMOST
                                     : how->chunk == OUTER_COPIES ? ESPI_COPIES_OUTERMOST
                                                                  : ESPI_COPIES_ALL,
                                     &tree);
    return status != ESPI_OK || (how->chunk != AS_IT_STANDS && tree == from) ? NULL : tree;
}

void espi_forms_make(struct espi_arena *arena, const struct espi_node *own, const struct espi_node *found,
                     const struct espi_node *tree[ESPI_FORMS])
{
    for (int i = 0; i < ESPI_FORMS; i++)
        tree[i] = follow(arena, recipes[i].original ? own : found, &recipes[i]);
}

/* What a form takes at most that is clearly faster. */
static double clear_of(double ns)
{
    return ns - ns / CLEAR - CLEAR_NS;
}

bool espi_forms_may_win(double ns)
{
    return clear_of(ns) > 0;
}

struct espi_form espi_forms_fastest(const struct espi_engine *engine, const struct espi_node *own,
                                    const struct espi_node *const tree[ESPI_FORMS], int64_t count, bool parts)
{
    struct espi_form best = {NULL, ESPI_FORM_OWN, espi_engine_cost(engine, own, count, parts)};
    const double clear = clear_of(best.ns);

    for (int i = 0; i < ESPI_FORMS; i++) {
        double ns = tree[i] == NULL ? best.ns : espi_engine_cost(engine, tree[i], count, parts);
        if (ns < best.ns && ns <= clear)
            best = (struct espi_form){tree[i], i, ns};
    }
    return best;
}
