# Lists of tests/mpi/; see Makefile.am.

# Tests of the decoder, the emitter and what is above them, linked to MPI directly; they run as one process each.
if HAVE_CHECK
ESPI_TYPES_TESTS = %D%/types_decode %D%/types_plan %D%/types_earned %D%/types_uses %D%/types_measure %D%/types_judge \
	%D%/lease_sizes
ESPI_TYPES_TESTS += %D%/real_table
check_PROGRAMS += $(ESPI_TYPES_TESTS)
TESTS += $(ESPI_TYPES_TESTS)
ESPI_TYPES_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/wrappers $(MPI_CPPFLAGS)
ESPI_TYPES_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
ESPI_TYPES_LIBS = libespi-pure.la $(CHECK_LIBS) $(MPI_LIBS)
ESPI_TYPES_FILES = %D%/types_random.c %D%/types_random.h %D%/types_run.c %D%/types_run.h %D%/types_setup.h \
	src/mpi/real.c src/mpi/decode.c src/mpi/decode_array.c src/mpi/decode_base.c src/mpi/emit.c
ESPI_TYPES_SERVICE = %D%/types_service.c %D%/types_service.h src/mpi/variants.c src/mpi/measure.c src/mpi/self.c \
	src/mpi/same_ranks.c \
	src/mpi/model.c src/mpi/plan.c src/mpi/judge.c src/mpi/budget.c src/mpi/kinds.c src/mpi/types.c src/mpi/sample.c \
	src/mpi/slots.c src/mpi/mine.c src/mpi/reduce_view.c src/mpi/reduce_ops.c

%C%_types_decode_SOURCES = %D%/types_decode.c $(ESPI_TYPES_FILES)
%C%_types_decode_CPPFLAGS = $(ESPI_TYPES_CPPFLAGS)
%C%_types_decode_CFLAGS = $(ESPI_TYPES_CFLAGS)
%C%_types_decode_LDADD = $(ESPI_TYPES_LIBS)

%C%_types_plan_SOURCES = %D%/types_plan.c $(ESPI_TYPES_FILES) $(ESPI_TYPES_SERVICE)
%C%_types_plan_CPPFLAGS = $(ESPI_TYPES_CPPFLAGS)
%C%_types_plan_CFLAGS = $(ESPI_TYPES_CFLAGS)
%C%_types_plan_LDADD = $(ESPI_TYPES_LIBS)

%C%_types_earned_SOURCES = %D%/types_earned.c $(ESPI_TYPES_FILES) $(ESPI_TYPES_SERVICE)
%C%_types_earned_CPPFLAGS = $(ESPI_TYPES_CPPFLAGS)
%C%_types_earned_CFLAGS = $(ESPI_TYPES_CFLAGS)
%C%_types_earned_LDADD = $(ESPI_TYPES_LIBS)

%C%_types_uses_SOURCES = %D%/types_uses.c $(ESPI_TYPES_FILES) $(ESPI_TYPES_SERVICE) src/mpi/derived.c \
	src/mpi/comms.c src/mpi/intern.c src/mpi/rows.c
%C%_types_uses_CPPFLAGS = $(ESPI_TYPES_CPPFLAGS)
%C%_types_uses_CFLAGS = $(ESPI_TYPES_CFLAGS)
%C%_types_uses_LDADD = $(ESPI_TYPES_LIBS)

%C%_types_measure_SOURCES = %D%/types_measure.c %D%/types_measure.h %D%/types_measure_rounds.c \
	$(ESPI_TYPES_FILES) $(ESPI_TYPES_SERVICE)
%C%_types_measure_CPPFLAGS = $(ESPI_TYPES_CPPFLAGS)
%C%_types_measure_CFLAGS = $(ESPI_TYPES_CFLAGS)
%C%_types_measure_LDADD = $(ESPI_TYPES_LIBS)

# With a stand-in for measure.c.
%C%_types_judge_SOURCES = %D%/types_judge.c %D%/types_judge.h %D%/types_judge_kept.c %D%/types_judge_slice.c \
	%D%/types_stand.c %D%/types_stand.h $(ESPI_TYPES_FILES) src/mpi/judge.c src/mpi/variants.c src/mpi/budget.c
%C%_types_judge_CPPFLAGS = $(ESPI_TYPES_CPPFLAGS)
%C%_types_judge_CFLAGS = $(ESPI_TYPES_CFLAGS)
%C%_types_judge_LDADD = $(ESPI_TYPES_LIBS)

%C%_lease_sizes_SOURCES = %D%/lease_sizes.c $(ESPI_TYPES_FILES) src/mpi/lease.c src/mpi/treejudge.c src/mpi/treeplan.c
%C%_lease_sizes_CPPFLAGS = $(ESPI_TYPES_CPPFLAGS)
%C%_lease_sizes_CFLAGS = $(ESPI_TYPES_CFLAGS)
%C%_lease_sizes_LDADD = $(ESPI_TYPES_LIBS)

%C%_real_table_SOURCES = %D%/real_table.c $(ESPI_TYPES_FILES)
%C%_real_table_CPPFLAGS = $(ESPI_TYPES_CPPFLAGS)
%C%_real_table_CFLAGS = $(ESPI_TYPES_CFLAGS)
%C%_real_table_LDADD = $(ESPI_TYPES_LIBS)
endif
