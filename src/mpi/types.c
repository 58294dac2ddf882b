#include "mpi/types.h"

espi_status espi_types_start(const struct espi_settings *settings)
{
    (void)settings;
    return ESPI_OK;
}

void espi_types_stop(void)
{
}

MPI_Datatype espi_types_better(struct espi_thread *thread, MPI_Datatype type, int64_t count)
{
    (void)thread;
    (void)count;
    return type;
}

void espi_types_committed(struct espi_thread *thread, MPI_Datatype type)
{
    (void)thread;
    (void)type;
}

void espi_types_duped(struct espi_thread *thread, MPI_Datatype old_type, MPI_Datatype new_type)
{
    (void)thread;
    (void)old_type;
    (void)new_type;
}

void espi_types_freed(struct espi_thread *thread, MPI_Datatype type)
{
    (void)thread;
    (void)type;
}
