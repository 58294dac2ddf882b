#include "mpi/typeplan/pack_once.h"

#include "mpi/datatype/decode.h"
#include "mpi/packed/self_test.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/typeplan/tree_size.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"

/* What compiling takes, to begin with and for each number of the list, and what the program takes for each, beside
   its bytes. Reading back is timed: a struct of many types takes far longer than a list. */
enum { COMPILE_NS = 400, NUMBER_NS = 5, BLOCK_NS = 2 };
/* A kernel takes so much of the usual for a single byte (Xeon: 0.46 ns, of doubles 0.31). */
#define BYTES_FACTOR 1.5
/* So many bytes a number has, else reading back is not worth it, which need not be found out. */
enum { BYTES_EACH = 16 };
/* Where so many were of no use, one behind the other, so many uses of the family's types pass before the next one is
   read back: not a power of two with it, as kinds of lists may take turns. One that was of use is worth many readings
   that are not: what it saves is ten times what they take. */
enum { WORTH_MOST = 8, PASS = 14 };
enum { VISITS_MOST = 1 << 17 };

/* Of types that are no long lists. */
static struct espi_once_brake brake_few;

/* Of both sides of a call, as long as there is none. */
enum { SIDES = 2, KEPT_MOST = 1 << 20 };
static struct espi_arena kept[SIDES];

struct espi_arena espi_pack_once_arena(void)
{
    struct espi_arena arena = ESPI_ARENA_INIT;

    for (int i = 0; i < SIDES && arena.last == NULL; i++) {
        arena = kept[i];
        kept[i] = ESPI_ARENA_INIT;
    }
    return arena;
}

void espi_pack_once_done(struct espi_arena *arena)
{
    espi_arena_reset(arena);
    for (int i = 0; i < SIDES && arena->bytes <= KEPT_MOST; i++)
        if (kept[i].last == NULL) {
            kept[i] = *arena;
            *arena = ESPI_ARENA_INIT;
            return;
        }
    espi_arena_release(arena);
}

void espi_pack_once_stop(void)
{
    for (int i = 0; i < SIDES; i++)
        espi_arena_release(&kept[i]);
}

/* What MPI takes, ns: what it packs is copied once more, from one place to the next; and what a program takes that is
   to be compiled. */
static void compare(const struct espi_engine *engine, const struct espi_node *tree, int64_t count, double *by_mpi,
                    double *by_program)
{
    const double bytes = (double)tree->size * (double)count, numbers = (double)espi_node_numbers(tree, INT64_MAX);

    *by_mpi = espi_engine_cost(engine, tree, count, false) * (tree->entries == tree->size ? BYTES_FACTOR : 1) +
              bytes / engine->copied;
    *by_program = bytes / engine->copied + BLOCK_NS * numbers * (double)count + COMPILE_NS + NUMBER_NS * numbers;
}

/* Under `planning`. */
static const struct espi_pack *make(struct espi_arena *arena, MPI_Datatype type, int64_t count, size_t numbers_most,
                                    bool *of_use)
{
    const struct espi_engine usual = ESPI_ENGINE_USUAL,
                             engine = espi_admission_begins(0) ? espi_engine() : usual; /* measuring has its price */
    const uint64_t begun = espi_stats_now();
    struct espi_decoded layout;
    const struct espi_pack *pack = NULL;
    double by_mpi, by_program;

    if (espi_decode(arena, type, numbers_most, &layout) != ESPI_OK || layout.tree->entries == 0 ||
        !espi_tree_may_be_walked(layout.tree, VISITS_MOST))
        return NULL;
    compare(&engine, layout.tree, count, &by_mpi, &by_program);
    const double saved = by_mpi - by_program - (double)(espi_stats_now() - begun);
    /* Packing begins when it was missed for long enough, as planning does. */
    const bool waits = saved <= 0 || !espi_admission_begins((uint64_t)saved) || !espi_packed_self_test();
    *of_use = saved > 0;
    if (!waits && espi_pack_compile(arena, layout.tree, layout.extent, &pack) != ESPI_OK)
        *of_use = false;
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
    struct espi_once_brake *brake = class != NULL && class->family != NULL ? &class->family->once : &brake_few;
    if (!passes && brake->passing > 0) {
        brake->passing--;
        passes = true;
    }
    espi_types_unlock_classes();
    if (!passes) {
        pack = make(arena, type, count, (size_t)(class->size / BYTES_EACH), &of_use);
        espi_types_lock_classes();
        brake->worth = of_use ? WORTH_MOST : brake->worth > -WORTH_MOST ? (int8_t)(brake->worth - 1) : -WORTH_MOST;
        brake->passing = brake->worth > -WORTH_MOST ? 0 : PASS;
        espi_types_unlock_classes();
    }
    espi_unlock(&espi_type_service.planning);
    return pack;
}
