/* A block that a rank sends to itself: whether it can be copied here, and the copy. */
#include "mpi/core/thread_state.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/unseen.h"
#include "pack/copy.h"

/* As MPI sees a buffer: MPI_BOTTOM, a null pointer, is fine where the data do not begin at it. */
static bool somewhere(const void *buffer, int64_t lb)
{
    return buffer != NULL || lb != 0;
}

bool espi_selfcopy_look(struct espi_thread *thread, struct espi_selfcopy_block *b)
{
    const struct espi_selfcopy_plan *p;

    if (b->send.count <= 0 || b->receive.count <= 0 || b->from == MPI_IN_PLACE || b->onto == MPI_IN_PLACE ||
        b->send.type == MPI_DATATYPE_NULL || b->receive.type == MPI_DATATYPE_NULL ||
        (espi_type_is_predefined(b->send.type) && espi_type_is_predefined(b->receive.type)))
        return false;
    p = espi_selfcopy_plan(thread, &b->send, &b->receive);
    if (p == NULL)
        return false;
    uintptr_t from = (uintptr_t)b->from, onto = (uintptr_t)b->onto;
    if (!somewhere(b->from, p->from_lb) || !somewhere(b->onto, p->onto_lb) ||
        (from + (uintptr_t)p->from_lb < onto + (uintptr_t)p->onto_ub &&
         onto + (uintptr_t)p->onto_lb < from + (uintptr_t)p->from_ub))
        return false;
    b->plan = p;
    return p->copy != NULL;
}

void espi_selfcopy_carry_out(struct espi_thread *thread, const struct espi_selfcopy_block *block)
{
    struct espi_stats_thread *stats = espi_thread_state(thread)->stats;
    if (block->plan->copy != NULL)
        espi_copy_run(block->plan->copy, block->from, block->onto);
    espi_count(stats, ESPI_COUNT_blocks_copied, 1);
    espi_types_pay();
    espi_count(stats, ESPI_COUNT_bytes_copied, (uint64_t)block->plan->bytes);
}
