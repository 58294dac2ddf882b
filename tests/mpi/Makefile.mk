# Lists of tests/mpi/; see Makefile.am. A program without a list of sources is made of the file of its name.
ESPI_CPPFLAGS_%C% = $(MPI_CPPFLAGS)
ESPI_LIBS_%C% = $(MPI_LIBS) -lpthread
include %D%/bytes.mk
include %D%/passes.mk
include %D%/harmless.mk
