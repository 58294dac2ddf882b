/* A block that a rank sends to itself: whether it can be copied here, and the copy. */
#include "base/overlap.h"
#include "mpi/comm/self_comm.h"
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

/* Not where MPI has to report what is wrong with the addresses. */
static bool may_be_copied(const struct espi_selfcopy_block *b, const struct espi_selfcopy_plan *p)
{
    const uintptr_t from = (uintptr_t)b->from, onto = (uintptr_t)b->onto;

    return somewhere(b->from, p->from_lb) && somewhere(b->onto, p->onto_lb) &&
           (from + (uintptr_t)p->from_lb >= onto + (uintptr_t)p->onto_ub ||
            onto + (uintptr_t)p->onto_lb >= from + (uintptr_t)p->from_ub);
}

bool espi_selfcopy_look_again(const struct espi_selfcopy_known *known, struct espi_selfcopy_block *b)
{
    struct espi_selfcopy_plan *p = espi_selfcopy_plan_there(known, &b->send, &b->receive);

    if (p == NULL || !espi_selfcopy_is_decided(p, b->place) || !may_be_copied(b, p))
        return false;
    b->turn = espi_selfcopy_turn(p, b->place);
    if (b->turn.way == ESPI_BY_CALL) /* decided otherwise just now */
        return false;
    b->plan = p;
    return true;
}

bool espi_selfcopy_look(struct espi_thread *thread, struct espi_selfcopy_block *b)
{
    struct espi_selfcopy_plan *p;

    if (b->send.count <= 0 || b->receive.count <= 0 || b->from == MPI_IN_PLACE || b->onto == MPI_IN_PLACE ||
        b->send.type == MPI_DATATYPE_NULL || b->receive.type == MPI_DATATYPE_NULL ||
        (espi_type_is_predefined(b->send.type) && espi_type_is_predefined(b->receive.type)))
        return false;
    p = espi_selfcopy_plan(thread, &b->send, &b->receive);
    if (p == NULL || !may_be_copied(b, p))
        return false;
    b->turn = espi_selfcopy_turn(p, b->place);
    if (b->turn.marks)
        espi_selfcopy_mark(p, b->send.type, b->receive.type);
    if (b->turn.way != ESPI_BY_CALL || b->turn.timed)
        b->plan = p;
    return b->plan != NULL;
}

static void took(const struct espi_selfcopy_block *b, uint64_t ns)
{
    if (espi_selfcopy_took(b->plan, b->place, b->turn.way, ns))
        espi_selfcopy_mark(b->plan, b->send.type, b->receive.type);
}

void espi_selfcopy_called(const struct espi_selfcopy_block *b, uint64_t ns)
{
    took(b, ns);
}

void espi_selfcopy_carry_out(struct espi_thread *thread, const struct espi_selfcopy_block *b)
{
    struct espi_stats_thread *stats = espi_thread_state(thread)->stats;
    const uint64_t begun = b->turn.timed ? espi_stats_now() : 0;
    bool failed = false;

    if (b->turn.way == ESPI_BY_LOCAL)
        failed = espi_self_copy(b->from, b->send.count, b->send.type, b->onto, b->receive.count, b->receive.type) !=
                 MPI_SUCCESS;
    if (b->turn.way == ESPI_BY_COPY || failed) /* what was done of it is done again */
        espi_copy_run(b->plan->copy, b->from, b->onto);
    if (b->turn.timed || failed)
        took(b, failed ? ESPI_SELFCOPY_FAILED : espi_stats_now() - begun + b->beside_ns);
    espi_count(stats, ESPI_COUNT_blocks_copied, 1);
    espi_types_pay();
    espi_count(stats, ESPI_COUNT_bytes_copied, (uint64_t)b->plan->bytes);
    const struct espi_selfcopy_choice *choice = &b->plan->at[b->place];
    const bool chosen = (int)b->turn.way == atomic_load_explicit(&choice->way, memory_order_relaxed);
    const uint64_t saved = chosen ? atomic_load_explicit(&choice->saves_ns, memory_order_relaxed) : 0;
    espi_count(stats, ESPI_COUNT_blocks_saved, saved);
    espi_add_64(&b->plan->gained_ns, (int64_t)saved);
}
