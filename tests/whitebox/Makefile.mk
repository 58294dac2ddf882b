# Lists of tests/whitebox/: the core's parts, called directly. Each is one MPI process; what a test defines itself
# takes the place of that part.
if HAVE_CHECK
ESPI_WHITEBOX_TESTS = %D%/decode %D%/plan_cache %D%/admission %D%/substitute %D%/credit %D%/tiers %D%/type_class \
	%D%/class_table %D%/engine_cost %D%/verify %D%/select %D%/plan_improve %D%/lease_sizes %D%/pmpi_table %D%/comm_cache
check_PROGRAMS += $(ESPI_WHITEBOX_TESTS)
TESTS += $(ESPI_WHITEBOX_TESTS)
ESPI_WHITEBOX_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
ESPI_WHITEBOX_LIBS = libespi-mpi.la libespi-pure.la $(CHECK_LIBS) $(MPI_LIBS)
ESPI_WHITEBOX_COMMON = %D%/random_types.c %D%/random_types.h %D%/suite.c %D%/suite.h %D%/setup.h
ESPI_WHITEBOX_SERVICE = %D%/type_service.c %D%/type_service.h
ESPI_WHITEBOX_CLOCK = %D%/clock.c %D%/clock.h
ESPI_WHITEBOX_WITH_CLOCK = -Wl,--wrap=clock_gettime

%C%_decode_SOURCES = %D%/decode.c $(ESPI_WHITEBOX_COMMON)
%C%_decode_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_decode_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_decode_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_plan_cache_SOURCES = %D%/plan_cache.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE) $(ESPI_WHITEBOX_CLOCK)
%C%_plan_cache_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_plan_cache_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_plan_cache_LDFLAGS = $(ESPI_WHITEBOX_WITH_CLOCK)
%C%_plan_cache_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_admission_SOURCES = %D%/admission.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE) $(ESPI_WHITEBOX_CLOCK)
%C%_admission_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_admission_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_admission_LDFLAGS = $(ESPI_WHITEBOX_WITH_CLOCK)
%C%_admission_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_substitute_SOURCES = %D%/substitute.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE) $(ESPI_WHITEBOX_CLOCK)
%C%_substitute_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_substitute_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_substitute_LDFLAGS = $(ESPI_WHITEBOX_WITH_CLOCK)
%C%_substitute_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_credit_SOURCES = %D%/credit.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE) $(ESPI_WHITEBOX_CLOCK)
%C%_credit_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_credit_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_credit_LDFLAGS = $(ESPI_WHITEBOX_WITH_CLOCK)
%C%_credit_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_tiers_SOURCES = %D%/tiers.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_CLOCK)
%C%_tiers_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_tiers_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_tiers_LDFLAGS = $(ESPI_WHITEBOX_WITH_CLOCK)
%C%_tiers_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_type_class_SOURCES = %D%/type_class.c $(ESPI_WHITEBOX_COMMON)
%C%_type_class_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_type_class_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_type_class_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_class_table_SOURCES = %D%/class_table.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE)
%C%_class_table_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_class_table_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_class_table_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_engine_cost_SOURCES = %D%/engine_cost.c %D%/engine_sim.c %D%/engine_sim.h $(ESPI_WHITEBOX_COMMON)
%C%_engine_cost_SOURCES += $(ESPI_WHITEBOX_CLOCK)
%C%_engine_cost_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_engine_cost_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_engine_cost_LDFLAGS = $(ESPI_WHITEBOX_WITH_CLOCK)
%C%_engine_cost_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_verify_SOURCES = %D%/verify.c $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_SERVICE)
%C%_verify_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_verify_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_verify_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_select_SOURCES = %D%/select.c %D%/select_setup.c %D%/select_setup.h $(ESPI_WHITEBOX_COMMON) $(ESPI_WHITEBOX_CLOCK)
%C%_select_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_select_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_select_LDFLAGS = $(ESPI_WHITEBOX_WITH_CLOCK)
%C%_select_LDADD = $(ESPI_WHITEBOX_LIBS)

%C%_plan_improve_SOURCES = %D%/plan_improve.c %D%/select_setup.c %D%/select_setup.h $(ESPI_WHITEBOX_COMMON)
%C%_plan_improve_SOURCES += $(ESPI_WHITEBOX_CLOCK) $(ESPI_WHITEBOX_SERVICE)
%C%_plan_improve_CPPFLAGS = $(ESPI_MPI_CPPFLAGS) -I$(srcdir)/tests/whitebox
%C%_plan_improve_CFLAGS = $(ESPI_WHITEBOX_CFLAGS)
%C%_plan_improve_LDFLAGS = $(ESPI_WHITEBOX_WITH_CLOCK)
%C%_plan_improve_LDADD = $(ESPI_WHITEBOX_LIBS)

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
