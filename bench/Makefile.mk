# Lists of bench/; see Makefile.am. scripts/bench NAME runs these programs.
noinst_HEADERS += %D%/bench.h
noinst_PROGRAMS += %D%/pingpong
%C%_pingpong_SOURCES = %D%/pingpong.c %D%/bench.c
%C%_pingpong_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_pingpong_LDADD = $(MPI_LIBS)

noinst_PROGRAMS += %D%/sparse
%C%_sparse_SOURCES = %D%/sparse.c
%C%_sparse_LDADD = libespi-pure.la
