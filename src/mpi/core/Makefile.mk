# Lists of src/mpi/core/: the core's door, its life cycle, the handlers of all functions, MPI's own functions.
espi_mpi_services += %D%/entry.c %D%/handlers.c %D%/handlers.h %D%/generic.c %D%/generic.h %D%/left_alone.h
espi_mpi_services += %D%/api_table.c %D%/api_table.h %D%/buffer_args.h %D%/runtime.c %D%/runtime.h %D%/lifecycle.c
espi_mpi_services += %D%/lifecycle.h %D%/thread_state.c %D%/thread_state.h %D%/status_bytes.h %D%/pmpi.c %D%/pmpi.h %D%/pmpi.def
espi_mpi_services += %D%/array_pool.c %D%/array_pool.h
