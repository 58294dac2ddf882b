# Lists of tests/mpi/; see Makefile.am.

# Tests of the decoder, the emitter and what is above them, linked to MPI directly; they run as one process each.
if HAVE_CHECK
check_PROGRAMS += %D%/types_decode
TESTS += %D%/types_decode
%C%_types_decode_SOURCES = %D%/types_decode.c %D%/types_random.c %D%/types_random.h %D%/types_setup.h \
	src/mpi/real.c src/mpi/decode.c src/mpi/decode_array.c src/mpi/decode_base.c src/mpi/emit.c
%C%_types_decode_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/wrappers $(MPI_CPPFLAGS)
%C%_types_decode_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
%C%_types_decode_LDADD = libespi-pure.la $(CHECK_LIBS) $(MPI_LIBS)
check_PROGRAMS += %D%/types_plan
TESTS += %D%/types_plan
%C%_types_plan_SOURCES = %D%/types_plan.c %D%/types_random.c %D%/types_random.h %D%/types_setup.h \
	src/mpi/real.c src/mpi/decode.c src/mpi/decode_array.c src/mpi/decode_base.c src/mpi/emit.c src/mpi/variants.c \
	src/mpi/measure.c src/mpi/self.c src/mpi/model.c src/mpi/plan.c src/mpi/judge.c src/mpi/budget.c src/mpi/kinds.c \
	src/mpi/types.c src/mpi/slots.c \
	src/mpi/mine.c src/mpi/reduce_view.c src/mpi/reduce_ops.c
%C%_types_plan_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/wrappers $(MPI_CPPFLAGS)
%C%_types_plan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
%C%_types_plan_LDADD = libespi-pure.la $(CHECK_LIBS) $(MPI_LIBS)
endif
