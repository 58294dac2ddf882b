# Lists of src/mpi/core/: what all rooms stand on: MPI's own functions, the table of functions and that of handles,
# what is kept per thread.
espi_mpi_services += %D%/pmpi.c %D%/pmpi.h %D%/pmpi.def %D%/api_table.c %D%/api_table.h %D%/buffer_args.h
espi_mpi_services += %D%/handle_table.c %D%/handle_table.h %D%/thread_state.c %D%/thread_state.h
espi_mpi_services += %D%/runtime.c %D%/runtime.h %D%/status_bytes.h %D%/array_pool.c %D%/array_pool.h
espi_mpi_services += %D%/yielding_wait.c %D%/yielding_wait.h
espi_mpi_services += %D%/device_memory.c %D%/device_memory.h
