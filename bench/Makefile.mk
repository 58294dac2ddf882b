# Lists of bench/; see Makefile.am. scripts/bench/bench NAME runs these programs.
noinst_HEADERS += %D%/bench.h
noinst_PROGRAMS += %D%/pingpong
%C%_pingpong_SOURCES = %D%/pingpong.c %D%/bench.c
%C%_pingpong_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_pingpong_LDADD = $(MPI_LIBS)

noinst_PROGRAMS += %D%/sparse
%C%_sparse_SOURCES = %D%/sparse.c %D%/worst.c %D%/worst.h
%C%_sparse_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) -DESPI_BENCH_DATA='"$(abs_srcdir)/bench"'
EXTRA_DIST += %D%/worst.txt
%C%_sparse_LDADD = libespi-pure.la
noinst_PROGRAMS += %D%/anytime
%C%_anytime_SOURCES = %D%/anytime.c
%C%_anytime_LDADD = libespi-pure.la

# Exact reconstruction; the plain procedure that it is compared with comes from the unit tests.
noinst_PROGRAMS += %D%/reconstruct
%C%_reconstruct_SOURCES = %D%/reconstruct.c tests/unit/oracle.c tests/unit/random.c
%C%_reconstruct_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests -I$(srcdir)/tests/unit
%C%_reconstruct_LDADD = libespi-pure.la -lm

noinst_PROGRAMS += %D%/commtree
%C%_commtree_SOURCES = %D%/commtree.c
%C%_commtree_LDADD = libespi-pure.la -lm

# Placement plans.
noinst_PROGRAMS += %D%/placement
%C%_placement_SOURCES = %D%/placement.c
%C%_placement_LDADD = libespi-pure.la -lm

# What Espalier adds to a call that it leaves alone, and to the life of a type that is used once.
noinst_PROGRAMS += %D%/callcost
%C%_callcost_SOURCES = %D%/callcost.c %D%/bench.c
%C%_callcost_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_callcost_LDADD = $(MPI_LIBS)
noinst_PROGRAMS += %D%/lifecost
%C%_lifecost_SOURCES = %D%/lifecost.c %D%/bench.c
%C%_lifecost_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_lifecost_LDADD = $(MPI_LIBS)

# What it takes to know a type that is made anew.
noinst_PROGRAMS += %D%/recognize
%C%_recognize_SOURCES = %D%/recognize.c %D%/bench.c
%C%_recognize_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) -I$(srcdir)/wrappers $(MPI_CPPFLAGS)
%C%_recognize_LDADD = libespi-mpi.la libespi-pure.la $(MPI_LIBS)

noinst_PROGRAMS += %D%/reduce
%C%_reduce_SOURCES = %D%/reduce.c %D%/bench.c
%C%_reduce_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_reduce_LDADD = $(MPI_LIBS)

# Data from layout to layout within a process.
noinst_PROGRAMS += %D%/onto
%C%_onto_SOURCES = %D%/onto.c %D%/bench.c
%C%_onto_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_onto_LDADD = $(MPI_LIBS)

# Dense bytes between two ranks, sent and received as they are and as an item of a type that MPI takes for one with gaps.
noinst_PROGRAMS += %D%/streams
%C%_streams_SOURCES = %D%/streams.c %D%/bench.c
%C%_streams_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_streams_LDADD = $(MPI_LIBS)

# Collectives of derived types, natively and as Espalier makes them, in turns.
noinst_PROGRAMS += %D%/collectives
%C%_collectives_SOURCES = %D%/collectives.c %D%/bench.c
%C%_collectives_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_collectives_LDADD = $(MPI_LIBS)

# Gathers, scatters and broadcasts between layouts: natively, as Espalier makes them, and dense by hand.
noinst_PROGRAMS += %D%/composite
%C%_composite_SOURCES = %D%/composite.c %D%/bench.c
%C%_composite_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_composite_LDADD = $(MPI_LIBS)

# Many items of a short type against one of a long type.
noinst_PROGRAMS += %D%/items
%C%_items_SOURCES = %D%/items.c %D%/bench.c
%C%_items_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_items_LDADD = $(MPI_LIBS)

# Gathers and scatters by the library, along trees, and as Espalier chooses. scripts/testbed/sim builds it for SMPI,
# too; results/ keeps what was measured.
noinst_PROGRAMS += %D%/trees
%C%_trees_SOURCES = %D%/trees.c %D%/trees.h %D%/trees_methods.c %D%/trees_clock.c %D%/bench.c
%C%_trees_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) -I$(srcdir)/wrappers $(MPI_CPPFLAGS)
%C%_trees_LDADD = libespi-mpi.la libespi-pure.la $(MPI_LIBS) -lm
EXTRA_DIST += %D%/results/trees-sim-512.tsv %D%/results/trees-sim-4096.tsv %D%/results/trees-hosts.tsv
EXTRA_DIST += %D%/smpi/pmpi.c %D%/smpi/mpi/core/pmpi.h %D%/smpi/mpi/core/smpi.def

# Ten thousand types; scripts/bench/bench-pairs compares whole runs.
noinst_PROGRAMS += %D%/manytypes
%C%_manytypes_SOURCES = %D%/manytypes.c %D%/bench.c
%C%_manytypes_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_manytypes_LDADD = $(MPI_LIBS)

# Persistent gathers and scatters: the library's own trees.
noinst_PROGRAMS += %D%/persistent
%C%_persistent_SOURCES = %D%/persistent.c %D%/bench.c
%C%_persistent_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_persistent_LDADD = $(MPI_LIBS)

# The start and the end of a job, in several ways; start_rank is the program that it starts.
noinst_PROGRAMS += %D%/start %D%/start_rank
%C%_start_SOURCES = %D%/start.c
%C%_start_CPPFLAGS = $(AM_CPPFLAGS) -DESPALIER_MPIEXEC='"$(MPIEXEC)"'
%C%_start_rank_SOURCES = %D%/start_rank.c
%C%_start_rank_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_start_rank_LDADD = $(MPI_LIBS)

# Calls in a loop; scripts/bench/bench-instructions counts their instructions.
noinst_PROGRAMS += %D%/cycle
%C%_cycle_SOURCES = %D%/cycle.c %D%/bench.c
%C%_cycle_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_cycle_LDADD = $(MPI_LIBS)

# Layouts of applications in several ways, in turns; scripts/bench/layouts makes the table of results/.
noinst_HEADERS += %D%/layouts.h
noinst_PROGRAMS += %D%/layouts
%C%_layouts_SOURCES = %D%/layouts.c %D%/layouts_rows.c %D%/layouts_lists.c %D%/layouts_joint.c \
  %D%/layouts_copy.c %D%/layouts_use.c %D%/bench.c
%C%_layouts_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_layouts_LDADD = $(MPI_LIBS) -lm
EXTRA_DIST += %D%/results/layouts.tsv %D%/results/layouts-epyc.tsv

# Redistributions of arrays against loops by hand through shared memory.
noinst_PROGRAMS += %D%/once
%C%_once_SOURCES = %D%/once.c %D%/bench.c
%C%_once_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_once_LDADD = $(MPI_LIBS)
noinst_PROGRAMS += %D%/redistribute
%C%_redistribute_SOURCES = %D%/redistribute.c %D%/bench.c
%C%_redistribute_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_redistribute_LDADD = $(MPI_LIBS)

# The same data by kinds of calls.
noinst_PROGRAMS += %D%/kinds
%C%_kinds_SOURCES = %D%/kinds.c %D%/bench.c
%C%_kinds_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_kinds_LDADD = $(MPI_LIBS) -lm

# Pack programs against loops by hand, on the layouts above and others.
noinst_PROGRAMS += %D%/packing
%C%_packing_SOURCES = %D%/packing.c %D%/packing_rows.c %D%/packing_rows.h %D%/layouts_rows.c %D%/layouts_lists.c \
  %D%/layouts_joint.c %D%/layouts_copy.c %D%/bench.c
%C%_packing_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir) $(MPI_CPPFLAGS)
%C%_packing_LDADD = libespi-pure.la $(MPI_LIBS) -lm
