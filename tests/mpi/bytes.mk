# Lists of the byte-comparing and bad-input programs of tests/mpi/; see Makefile.am.
if HAVE_MPIEXEC
ESPI_BYTES_SOURCES = %D%/bytes.c %D%/bytes.h %D%/typegen.c %D%/typegen.h %D%/typegrow.c %D%/typegrow.h
ESPI_BYTES_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) -I$(srcdir)/tests/mpi

check_PROGRAMS += %D%/bytes_p2p %D%/bytes_coll
%C%_bytes_p2p_SOURCES = %D%/bytes_p2p.c $(ESPI_BYTES_SOURCES)
%C%_bytes_p2p_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_bytes_p2p_LDADD = $(MPI_LIBS)
%C%_bytes_coll_SOURCES = %D%/bytes_coll.c %D%/bytes_coll.h %D%/bytes_coll_w.c %D%/bytes_coll_neighbor.c \
	$(ESPI_BYTES_SOURCES)
%C%_bytes_coll_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_bytes_coll_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/bytes_local %D%/bad_calls
%C%_bytes_local_SOURCES = %D%/bytes_local.c $(ESPI_BYTES_SOURCES)
%C%_bytes_local_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_bytes_local_LDADD = $(MPI_LIBS)
%C%_bad_calls_SOURCES = %D%/bad_calls.c
%C%_bad_calls_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_bad_calls_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/life
%C%_life_SOURCES = %D%/life.c $(ESPI_BYTES_SOURCES)
%C%_life_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_life_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/one_type
%C%_one_type_SOURCES = %D%/one_type.c $(ESPI_BYTES_SOURCES)
%C%_one_type_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_one_type_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/own_blocks
%C%_own_blocks_SOURCES = %D%/own_blocks.c $(ESPI_BYTES_SOURCES)
%C%_own_blocks_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_own_blocks_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/own_messages
%C%_own_messages_SOURCES = %D%/own_messages.c $(ESPI_BYTES_SOURCES)
%C%_own_messages_CPPFLAGS = $(ESPI_BYTES_CPPFLAGS)
%C%_own_messages_LDADD = $(MPI_LIBS)
TESTS += %D%/run-own
check_PROGRAMS += %D%/lives
%C%_lives_SOURCES = %D%/lives.c
%C%_lives_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_lives_LDADD = $(MPI_LIBS)
dist_check_SCRIPTS += %D%/run-lives
TESTS += %D%/run-lives
TESTS += %D%/run-valgrind %D%/run-life %D%/run-p2p %D%/run-coll %D%/run-local %D%/run-bad
endif
dist_check_SCRIPTS += %D%/run-own %D%/compare %D%/run-valgrind %D%/run-life %D%/run-p2p
dist_check_SCRIPTS += %D%/run-coll %D%/run-local %D%/run-bad
