#include "mpi/exchange/side.h"

#include "mpi/comm/self_comm.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/pack_once.h"
#include "mpi/calls/substitute_array.h"
#include "mpi/typeplan/kept_types.h"
#include "mpi/typeplan/type_cache.h"

/* MPICH's handles of base types say their size. */
static bool is_base(MPI_Datatype type)
{
    return (uint32_t)type >> 24 == 0x4c;
}

static int64_t size_of_base(MPI_Datatype type)
{
    return (int64_t)((uint32_t)type >> 8 & 0xff);
}

/* What a type is, before anything is known of it. */
struct type_facts {
    bool known;
    MPI_Datatype type;
    int64_t size, extent;
    bool dense;
};

/* Whether MPI takes it: of a type that was seen committed that is known; pair types are. Of others it is asked, in a
   call that does nothing and whose errors return. */
static bool is_taken(MPI_Datatype type)
{
    MPI_Comm comm;
    char nothing = 0;
    int at = 0;

    if (type == MPI_DATATYPE_NULL || espi_kept_refused(type) != type)
        return false;
    if (espi_type_is_predefined(type) ? (uint32_t)type >> 24 == 0x8c : espi_types_known(NULL, type))
        return true;
    return (comm = espi_self_comm()) == MPI_COMM_NULL ||
           espi_pmpi.Pack(&nothing, 0, type, &nothing, 1, &at, comm) == MPI_SUCCESS;
}

/* `stands`: its extent says where blocks are. */
static bool look_at(struct type_facts *facts, MPI_Datatype type, bool stands)
{
    MPI_Count lb, extent = 0, size;
    struct espi_type_slot *slot;
    struct espi_plan *plan;

    if (facts->known && type == facts->type)
        return true;
    if (is_base(type)) {
        *facts = (struct type_facts){true, type, size_of_base(type), size_of_base(type), true};
        return true;
    }
    slot = espi_type_is_predefined(type) ? NULL : espi_slot_of(type);
    plan = slot != NULL ? atomic_load_explicit(&slot->plan, memory_order_acquire) : NULL;
    if (plan != NULL) {
        *facts = (struct type_facts){true, type, plan->size, plan->extent, false};
        return true;
    }
    if (!is_taken(type) || (stands && espi_pmpi.Type_get_extent_c(type, &lb, &extent) != MPI_SUCCESS) ||
        espi_pmpi.Type_size_c(type, &size) != MPI_SUCCESS)
        return false;
    *facts = (struct type_facts){true, type, size, extent, false};
    return true;
}

/* Whether a block with data has an address. From a null pointer on there are data where a type, or a displacement,
   has addresses; where it has none MPI refuses the call, or it fails when it comes to them. MPI_IN_PLACE is none. */
static bool is_somewhere(const struct espi_exchange_block *block, const void *buffer)
{
    enum { PAGE = 4096 };
    MPI_Count lb = 0, extent;

    if (buffer != NULL)
        return buffer != MPI_IN_PLACE;
    return (block->dense || espi_pmpi.Type_get_true_extent_c(block->type, &lb, &extent) == MPI_SUCCESS) &&
           (uintptr_t)block->data + (uintptr_t)lb >= PAGE;
}

static bool read_block(struct espi_exchange_block *block, const struct espi_api_row *row,
                       const struct espi_buffer_args *typed, const espi_word *args, int i, struct type_facts *facts)
{
    const bool one = typed->shape == ESPI_SHAPE_ONE, each = typed->shape == ESPI_SHAPE_W;
    const int64_t count = !one       ? espi_count_in(row, args, typed->count, i)
                          : row->large ? (int64_t)args[typed->count]
                                       : (int64_t)(int)args[typed->count];
    const void *places = one ? NULL : (const void *)args[typed->count + 1];
    const bool wide = row->large || (each && row->kind & ESPI_NEIGHBOUR);
    int64_t place = one ? i : wide ? ((const MPI_Aint *)places)[i] : ((const int *)places)[i];
    MPI_Datatype type;

    *block = (struct espi_exchange_block){.count = count, .dense = true, .type = MPI_BYTE};
    if (count < 0 || (count > 0 && args[typed->type] == 0))
        return false;
    if (count == 0 && (each || (one && row->kind & ESPI_NEIGHBOUR))) /* MPI does not look at the type */
        return true;
    type = each ? ((const MPI_Datatype *)args[typed->type])[i] : (MPI_Datatype)args[typed->type];
    if (!look_at(facts, type, !each))
        return false;
    if (count == 0)
        return true;
    if ((one && __builtin_mul_overflow(place, count, &place)) ||
        (!each && __builtin_mul_overflow(place, facts->extent, &place)) ||
        __builtin_mul_overflow(facts->size, count, &block->bytes))
        return false;
    block->data = (char *)((uintptr_t)args[typed->buffer] + (uintptr_t)place);
    block->dense = facts->dense;
    block->type = type;
    if (block->bytes == 0) /* of neighbours MPI does not look where */
        return row->kind & ESPI_NEIGHBOUR || (const void *)args[typed->buffer] != MPI_IN_PLACE;
    return is_somewhere(block, (const void *)args[typed->buffer]);
}

bool espi_exchange_side_read(struct espi_exchange_side *side, const struct espi_api_row *row, int which,
                             const espi_word *args)
{
    const struct espi_buffer_args *typed = &row->typed[which];
    struct type_facts facts = {.known = false};

    side->bytes = side->longest = 0;
    if (typed->shape != ESPI_SHAPE_ONE && (args[typed->count] == 0 || args[typed->count + 1] == 0))
        return false;
    for (int i = 0; i < side->blocks; i++) {
        struct espi_exchange_block *block = &side->block[i];
        if (!read_block(block, row, typed, args, i, &facts) ||
            __builtin_add_overflow(side->bytes, block->bytes, &side->bytes))
            return false;
        side->longest = block->bytes > side->longest ? block->bytes : side->longest;
    }
    return true;
}

/* In all blocks, of a side with one type for all of them. */
static int64_t items_of(const struct espi_exchange_side *side, enum espi_shape shape)
{
    int64_t items = 0;

    for (int i = 0; i < (shape == ESPI_SHAPE_ONE && side->blocks > 0 ? 1 : side->blocks); i++)
        items += side->block[i].count;
    return items;
}

/* Of blocks that are longer a look at their type takes less than MPI would need more for them than a program. */
enum { LONG = 16384 };

void espi_exchange_side_plan(struct espi_exchange_side *side, const struct espi_api_row *row, int which,
                              struct espi_stats_thread *stats)
{
    const enum espi_shape shape = row->typed[which].shape;
    const bool each = shape == ESPI_SHAPE_W;
    const int64_t items = items_of(side, shape);
    struct espi_plan *plan = NULL;

    side->n_held = 0;
    side->saved_ps = 0;
    side->once = espi_pack_once_arena();
    for (int i = 0, first = 1; i < side->blocks; i++) {
        struct espi_exchange_block *block = &side->block[i];
        if (block->bytes == 0 || block->dense || espi_type_is_predefined(block->type))
            continue;
        if (each || first) {
            const uint64_t before = side->saved_ps;
            plan = espi_exchanged_plan(stats, block->type, each ? block->count : items, block->count,
                                       side->longest > LONG, &side->saved_ps);
            if (plan != NULL) {
                side->credit[side->n_held] =
                    (struct espi_exchange_credit){plan->record, side->saved_ps - before};
                side->held[side->n_held++] = plan;
            }
        }
        first = 0;
        block->pack = plan != NULL ? plan->pack : NULL;
    }
}

void espi_exchange_side_pack_once(struct espi_exchange_side *side, const unsigned char *peer, int own,
                                  struct espi_stats_thread *stats)
{
    const struct espi_exchange_block *last = NULL;

    for (int i = 0; i < side->blocks && side->longest > LONG; i++) {
        struct espi_exchange_block *block = &side->block[i];
        if (block->bytes <= LONG || block->dense || block->pack != NULL || peer[i] == own ||
            espi_type_is_predefined(block->type))
            continue;
        const bool again = last != NULL && last->type == block->type;
        block->pack = again ? last->pack : espi_pack_once(&side->once, block->type, block->count);
        last = block;
        if (block->pack != NULL && stats != NULL)
            espi_count(stats, ESPI_COUNT_blocks_once, 1);
    }
}

void espi_exchange_side_left(const struct espi_exchange_side *side, const struct espi_api_row *row, int which,
                             struct espi_stats_thread *stats)
{
    const enum espi_shape shape = row->typed[which].shape;
    const bool each = shape == ESPI_SHAPE_W;

    for (int i = 0, first = 1; i < side->blocks; i++) {
        const struct espi_exchange_block *block = &side->block[i];
        if (block->bytes == 0 || block->dense || espi_type_is_predefined(block->type))
            continue;
        if (each || first)
            espi_exchanged_left(stats, block->type, each ? block->count : items_of(side, shape));
        first = 0;
    }
}

void espi_exchange_side_let_go(struct espi_exchange_side *side)
{
    for (int i = 0; i < side->n_held; i++)
        espi_plan_release(side->held[i]);
    espi_pack_once_done(&side->once);
}

void espi_exchange_side_take_back(const struct espi_exchange_side *side, double part)
{
    for (int i = 0; i < side->n_held; i++)
        espi_bump(&side->credit[i].record->saved_ps[ESPI_SAVED_ALONE],
                  0 - (uint64_t)(part * (double)side->credit[i].ps));
}

bool espi_exchange_is_aliased(const struct espi_api_row *row, const espi_word *args)
{
    const struct espi_buffer_args *a = &row->typed[0], *b = &row->typed[1];

    return !(row->kind & ESPI_NEIGHBOUR) && args[a->buffer] == args[b->buffer] && args[a->type] == args[b->type] &&
           args[a->count] == args[b->count] &&
           (a->shape != ESPI_SHAPE_ONE ||
            (row->large ? args[a->count] != 0 : (int)args[a->count] != 0)) &&
           espi_self_refuses_alias();
}
