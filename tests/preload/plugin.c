#include <mpi.h>
#include <stddef.h>

#include "work.h"

__attribute__((visibility("default"))) int run(void);

int run(void)
{
    int code, provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided);
    code = work("plugin");
    MPI_Finalize();
    return code;
}
