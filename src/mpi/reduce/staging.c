/* Elements between the program's layout and a contiguous buffer: the work of a reduction with gaps. */
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/packed_call.h"
#include "mpi/reduce/reduce.h"
#include "mpi/comm/self_comm.h"
#include "mpi/typeplan/type_cache.h"

/* MPI_Pack gives the elements without the padding between them, and refuses MPI_BOTTOM; a message to ourselves can do
   both, at a higher price. */
static bool needs_message(const struct espi_elements *view, const void *buf)
{
    return view->padded || !buf;
}

static const struct espi_pack *pack_of(const struct espi_staged *staged)
{
    return staged->plan ? staged->plan->pack : NULL;
}

int espi_elements_pack(const struct espi_elements *view, const struct espi_pack *pack, const void *buf,
                       MPI_Count copies, MPI_Datatype type, void *elements)
{
    MPI_Count n = copies * view->each, position = 0;
    if (n == 0)
        return MPI_SUCCESS;
    if (pack) {
        espi_pack_run(pack, buf, copies, elements);
        if (espi_settings.check)
            espi_packed_check(false, (void *)buf, copies, type, elements, n * view->unit);
        return MPI_SUCCESS;
    }
    if (needs_message(view, buf))
        return espi_self_copy(buf, copies, type, elements, n, view->base);
    return espi_pmpi.Pack_c(buf, copies, type, elements, n * view->unit, &position, espi_self_comm());
}

int espi_elements_unpack(const struct espi_elements *view, const struct espi_pack *pack, const void *elements,
                         void *buf, MPI_Count copies, MPI_Datatype type)
{
    MPI_Count n = copies * view->each, position = 0;
    if (n == 0)
        return MPI_SUCCESS;
    if (pack) {
        espi_unpack_run(pack, elements, buf, copies);
        if (espi_settings.check)
            espi_packed_check(true, buf, copies, type, (void *)elements, n * view->unit);
        return MPI_SUCCESS;
    }
    if (needs_message(view, buf))
        return espi_self_copy(elements, n, view->base, buf, copies, type);
    return espi_pmpi.Unpack_c(elements, n * view->unit, &position, buf, copies, type, espi_self_comm());
}

/* Never of no bytes: MPI tells a missing buffer from an empty one. Padding inside of elements is never sent as it was
   left behind by somebody else. */
static void *elements(const struct espi_elements *view, MPI_Count copies)
{
    size_t bytes = (size_t)copies * (size_t)(view->each * view->unit) + 16;
    void *memory = espi_pool_get(bytes);
    if (memory && view->padded)
        memset(memory, 0, bytes);
    return memory;
}

bool espi_staged_allocate(struct espi_staged *staged)
{
    MPI_Count out_copies = staged->gets ? staged->out_copies : 0;
    staged->elements_in = NULL;
    if (staged->in_place && staged->in_copies > out_copies)
        out_copies = staged->in_copies;
    staged->elements_out = elements(&staged->view, out_copies);
    if (staged->in_place)
        staged->elements_in = staged->elements_out;
    else /* also where it is not read, at the root of an intercommunicator: MPICH refuses a missing one */
        staged->elements_in = elements(&staged->view, staged->gives ? staged->in_copies : 0);
    if (staged->elements_out && staged->elements_in)
        return true;
    espi_staged_release(staged);
    return false;
}

int espi_staged_pack(struct espi_staged *staged)
{
    if (!staged->gives)
        return MPI_SUCCESS;
    return espi_elements_pack(&staged->view, pack_of(staged), staged->in, staged->in_copies, staged->type,
                              staged->elements_in);
}

int espi_staged_unpack(struct espi_staged *staged)
{
    if (!staged->gets)
        return MPI_SUCCESS;
    return espi_elements_unpack(&staged->view, pack_of(staged), staged->elements_out, staged->out,
                                staged->out_copies, staged->type);
}

int espi_staged_pack_output(struct espi_staged *staged)
{
    return espi_elements_pack(&staged->view, pack_of(staged), staged->out, staged->out_copies, staged->type,
                              staged->elements_out);
}

void espi_staged_release(struct espi_staged *staged)
{
    if (staged->elements_in != staged->elements_out)
        espi_pool_put(staged->elements_in);
    espi_pool_put(staged->elements_out);
    staged->elements_in = staged->elements_out = NULL;
    if (staged->plan)
        espi_plan_release(staged->plan);
    staged->plan = NULL;
}
