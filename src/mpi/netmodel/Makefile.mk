# Lists of src/mpi/netmodel/: what messages cost here, and which ranks share a node.
espi_mpi_services += %D%/netmodel.c %D%/netmodel.h %D%/topology.c %D%/topology.h %D%/link_bench.c %D%/link_bench.h
espi_mpi_services += %D%/cache.c %D%/cache.h

# The MPI program that `espalier calibrate` becomes.
pkglibexec_PROGRAMS += espalier-calibrate
espalier_calibrate_SOURCES = %D%/calibrate.c
espalier_calibrate_CPPFLAGS = $(ESPI_MPI_CPPFLAGS)
espalier_calibrate_LDADD = libespi-mpi.la libespi-pure.la $(MPI_LIBS) -lm
