# Lists of src/mpi/core/: the core's door, its life cycle, the handlers of all functions, MPI's own functions.
espi_mpi_services += %D%/entry.c %D%/handlers.c %D%/handlers.h %D%/api_table.c %D%/api_table.h %D%/thread_state.c
espi_mpi_services += %D%/thread_state.h %D%/pmpi.c %D%/pmpi.h %D%/pmpi.def %D%/lifecycle.c %D%/lifecycle.h
espi_mpi_services += %D%/array_pool.c %D%/array_pool.h
