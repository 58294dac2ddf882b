# Lists of src/mpi/reduce/: predefined operations on derived types.
espi_mpi_services += %D%/reduce.c %D%/reduce.h %D%/staging.c %D%/nonblocking.c %D%/persistent.c
espi_mpi_services += %D%/in_pieces.c
