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
endif
