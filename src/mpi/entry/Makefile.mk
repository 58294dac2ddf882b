# Lists of src/mpi/entry/: the core's door, its life cycle, the handlers of all functions.
espi_mpi_services += %D%/entry.c %D%/handlers.c %D%/handlers.h %D%/lifecycle.c %D%/lifecycle.h
