#include "mpi/typeplan/pack_once.h"

#include "mpi/datatype/decode.h"
#include "mpi/packed/self_test.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/typeplan/tree_size.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"

/* What reading back and compiling takes, to begin with and for each number of the list; and so many bytes a number
   has, else MPI is as fast, which need not be found out. */
enum { ONCE_NS = 1000, ONCE_NUMBER_NS = 10, BYTES_EACH = 64 };
/* Uses of a family's types that pass before the next one is read back where it was of no use. */
enum { PASS = 15 };
enum { VISITS_MOST = 1 << 17 };

/* What the program saves, ns; negative: nothing. What MPI packs is copied once more, from one place to the next. */
static double saves(const struct espi_node *tree, int64_t count)
{
    const struct espi_engine usual = ESPI_ENGINE_USUAL,
                             engine = espi_admission_begins(0) ? espi_engine() : usual; /* measuring has its price */
    const double bytes = (double)tree->size * (double)count,
                 by_mpi = espi_engine_cost(&engine, tree, count, false) + bytes / engine.copied,
                 by_program = espi_engine_least(&engine, tree, count, false) + ONCE_NS +
                              ONCE_NUMBER_NS * (double)espi_tree_numbers(tree, INT64_MAX);

    return by_mpi - by_program;
}

/* Under `planning`. */
static const struct espi_pack *make(struct espi_arena *arena, MPI_Datatype type, int64_t count, size_t numbers_most,
                                    bool *of_use)
{
    struct espi_decoded layout;
    const struct espi_pack *pack = NULL;

    if (espi_decode(arena, type, numbers_most, &layout) != ESPI_OK || layout.tree->entries == 0 ||
        !espi_tree_may_be_walked(layout.tree, VISITS_MOST))
        return NULL;
    const double saved = saves(layout.tree, count);
    *of_use = saved > 0;
    /* Packing begins when it was missed for long enough, as planning does. */
    if (saved <= 0 || !espi_admission_begins((uint64_t)saved) || !espi_packed_self_test())
        return NULL;
    espi_pack_compile(arena, layout.tree, layout.extent, &pack);
    return pack;
}

const struct espi_pack *espi_pack_once(struct espi_arena *arena, MPI_Datatype type, int64_t count)
{
    struct espi_type_slot *s = espi_slot_of(type);
    const struct espi_pack *pack = NULL;
    struct espi_type_class *class;
    bool passes, of_use = false;

    if (s == NULL || espi_type_service.packing == ESPI_MODE_OFF || espi_type_service.check ||
        !espi_try_lock(&espi_type_service.planning))
        return NULL;
    espi_types_lock_classes();
    class = espi_slot_class(s);
    passes = class == NULL || class->state == ESPI_CLASS_NEW || class->state == ESPI_CLASS_REFUSED ||
             class->size <= 0 || class->numbers > (uint64_t)(class->size / BYTES_EACH);
    if (!passes && class->family != NULL && class->family->passing > 0) {
        class->family->passing--;
        passes = true;
    }
    espi_types_unlock_classes();
    if (!passes) {
        pack = make(arena, type, count, (size_t)(class->size / BYTES_EACH), &of_use);
        espi_types_lock_classes();
        if (class->family != NULL && !of_use)
            class->family->passing = PASS;
        espi_types_unlock_classes();
    }
    espi_unlock(&espi_type_service.planning);
    return pack;
}
