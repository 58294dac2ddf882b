# Lists of the self-checking programs of tests/mpi/: reductions on derived types, gathers and scatters along trees.
if HAVE_MPIEXEC
ESPI_PASSES_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) -I$(srcdir)/tests/mpi
check_PROGRAMS += %D%/reduce_derived %D%/reduce_mixed %D%/reduce_refused %D%/reduce_requests \
	%D%/gather_stress
%C%_reduce_derived_SOURCES = %D%/reduce_derived.c %D%/reduce_elements.h
%C%_reduce_derived_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_reduce_derived_LDADD = $(MPI_LIBS)
%C%_reduce_mixed_SOURCES = %D%/reduce_mixed.c
%C%_reduce_mixed_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_reduce_mixed_LDADD = $(MPI_LIBS)
%C%_reduce_refused_SOURCES = %D%/reduce_refused.c
%C%_reduce_refused_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_reduce_refused_LDADD = $(MPI_LIBS)
%C%_reduce_requests_SOURCES = %D%/reduce_requests.c
%C%_reduce_requests_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_reduce_requests_LDADD = $(MPI_LIBS)
%C%_gather_stress_SOURCES = %D%/gather_stress.c
%C%_gather_stress_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_gather_stress_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/gather_truncate
%C%_gather_truncate_SOURCES = %D%/gather_truncate.c
%C%_gather_truncate_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_gather_truncate_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/gather_comms
%C%_gather_comms_SOURCES = %D%/gather_comms.c
%C%_gather_comms_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_gather_comms_LDADD = $(MPI_LIBS) -lpthread
check_PROGRAMS += %D%/gather_many
%C%_gather_many_SOURCES = %D%/gather_many.c
%C%_gather_many_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_gather_many_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/gather_parts
%C%_gather_parts_SOURCES = %D%/gather_parts.c %D%/types_setup.h src/mpi/real.c src/mpi/treeplan.c src/mpi/tree_io.c \
	src/mpi/tree_gather.c src/mpi/tree_gather_root.c src/mpi/tree_scatter.c
%C%_gather_parts_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS) -I$(srcdir)/wrappers
%C%_gather_parts_LDADD = libespi-pure.la $(MPI_LIBS)
check_PROGRAMS += %D%/gather_contest
%C%_gather_contest_SOURCES = %D%/gather_contest.c
%C%_gather_contest_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_gather_contest_LDADD = $(MPI_LIBS)
EXTRA_DIST += %D%/dear.model
check_PROGRAMS += %D%/gather_persistent
%C%_gather_persistent_SOURCES = %D%/gather_persistent.c
%C%_gather_persistent_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_gather_persistent_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/idup_pending
%C%_idup_pending_SOURCES = %D%/idup_pending.c
%C%_idup_pending_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_idup_pending_LDADD = $(MPI_LIBS)
check_PROGRAMS += %D%/nested_free
%C%_nested_free_SOURCES = %D%/nested_free.c
%C%_nested_free_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_nested_free_LDADD = $(MPI_LIBS)
TESTS += %D%/run-reduce %D%/run-trees
endif
dist_check_SCRIPTS += %D%/passes %D%/run-reduce %D%/run-trees
