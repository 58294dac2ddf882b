# Lists of tests/whitebox/: the core's parts, called directly. Each is one MPI process; what a test defines itself
# takes the place of that part.
if HAVE_CHECK
ESPI_WHITEBOX_TESTS = %D%/decode %D%/plan_cache %D%/admission %D%/substitute %D%/microbench %D%/select \
	%D%/lease_sizes %D%/pmpi_table %D%/comm_cache
check_PROGRAMS += $(ESPI_WHITEBOX_TESTS)
TESTS += $(ESPI_WHITEBOX_TESTS)
ESPI_WHITEBOX_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
ESPI_WHITEBOX_LIBS = libespi-mpi.la libespi-pure.la $(CHECK_LIBS) $(MPI_LIBS)
ESPI_WHITEBOX_COMMON = %D%/random_types.c %D%/random_types.h %D%/suite.c %D%/suite.h %D%/setup.h
ESPI_WHITEBOX_SERVICE = %D%/type_service.c %D%/type_service.h

%C%_decode_SOURCES = %D%/decode.c $(ESPI_WHITEBOX_COMMON)
%C%_decode_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_decode_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_decode_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_plan_cache_SOURCES = %D%/plan_cache.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE)
%C%_plan_cache_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_plan_cache_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_plan_cache_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_admission_SOURCES = %D%/admission.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE)
%C%_admission_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_admission_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_admission_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_substitute_SOURCES = %D%/substitute.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE)
%C%_substitute_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_substitute_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_substitute_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_microbench_SOURCES = %D%/microbench.c %D%/microbench.h %D%/microbench_rounds.c $(ESPI_WHITEBOX_SERVICE) \
	$(ESPI_WHITEBOX_COMMON)
%C%_microbench_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_microbench_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_microbench_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_select_SOURCES = %D%/select.c %D%/select.h %D%/select_kept.c %D%/select_slice.c %D%/scripted_bench.c %D%/scripted_bench.h \
	$(ESPI_WHITEBOX_COMMON)
%C%_select_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_select_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_select_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_lease_sizes_SOURCES = %D%/lease_sizes.c $(ESPI_WHITEBOX_COMMON)
%C%_lease_sizes_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_lease_sizes_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_lease_sizes_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_pmpi_table_SOURCES = %D%/pmpi_table.c $(ESPI_WHITEBOX_COMMON)
%C%_pmpi_table_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_pmpi_table_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_pmpi_table_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_comm_cache_SOURCES = %D%/comm_cache.c %D%/setup.h
%C%_comm_cache_CPPFLAGS = $(ESPI_MPI_CPPFLAGS)
%C%_comm_cache_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_comm_cache_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc
%C%_comm_cache_LDADD = $(ESPI_WHITEBOX_LIBS)
endif

# Of five ranks: tests/mpi/run-trees runs it.
if HAVE_MPIEXEC
check_PROGRAMS += %D%/subtree
%C%_subtree_SOURCES = %D%/subtree.c %D%/setup.h
%C%_subtree_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/mpi
%C%_subtree_LDADD = libespi-mpi.la libespi-pure.la $(MPI_LIBS)
endif
