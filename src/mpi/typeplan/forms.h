/* The forms of a layout that may be handed to MPI in the place of the program's own type, and which of them is the
   fastest by the model of its engine (engine_cost.h). */
#ifndef ESPI_MPI_TYPEPLAN_FORMS_H
#define ESPI_MPI_TYPEPLAN_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "layout/layout.h"
#include "mpi/typeplan/engine_cost.h"

enum { ESPI_FORMS = 12, ESPI_FORM_OWN = -1 };

struct espi_form {
    const struct espi_node *tree; /* NULL: the program's own */
    int which;                    /* of the forms; ESPI_FORM_OWN */
    double ns;                    /* of a use */
};

/* How a form is built, in words; 0: the tree that was found, as it stands. */
const char *espi_form_text(int which);

/* All forms of the program's own tree and of the one that was found for it; NULL where one is none of its own, or
   there was no memory for it. They live in the arena. */
void espi_forms_make(struct espi_arena *arena, const struct espi_node *own, const struct espi_node *found,
                     const struct espi_node *tree[ESPI_FORMS]);

/* Whether a form might be clearly faster than what takes so long. */
bool espi_forms_may_win(double ns);

/* The fastest of those that are not NULL for uses of `count` items, gone through in parts or as a whole; the
   program's own if none is clearly faster. */
struct espi_form espi_forms_fastest(const struct espi_engine *engine, const struct espi_node *own,
                                    const struct espi_node *const tree[ESPI_FORMS], int64_t count, bool parts);

#endif
