# Lists of the byte-comparing and bad-input programs of tests/mpi/; see Makefile.am.
if HAVE_MPIEXEC
ESPI_BYTES_SOURCES = %D%/bytes.c %D%/bytes.h %D%/typegen.c %D%/typegen.h %D%/typegrow.c %D%/typegrow.h
ESPI_BYTES_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) -I$(srcdir)/tests/mpi

check_PROGRAMS += %D%/bytes_p2p %D%/bytes_coll
%C%_bytes_p2p_SOURCES = %D%/bytes_p2p.c $(ESPI_BYTES_SOURCES)
%C%_bytes_p2p_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_bytes_p2p_LDADD = $(MPI_LIBS)
%C%_bytes_coll_SOURCES = %D%/bytes_coll.c $(ESPI_BYTES_SOURCES)
%C%_bytes_coll_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_bytes_coll_LDADD = $(MPI_LIBS)
TESTS += %D%/run-p2p %D%/run-coll
endif
dist_check_SCRIPTS += %D%/compare %D%/run-p2p %D%/run-coll
