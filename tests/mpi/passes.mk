# Lists of the self-checking programs of tests/mpi/: reductions on derived types, gathers and scatters along trees.
if HAVE_MPIEXEC
check_PROGRAMS += %D%/reduce_derived %D%/reduce_mixed %D%/reduce_refused %D%/reduce_requests %D%/gather_bottom \
	%D%/gather_stress \
	%D%/gather_truncate %D%/gather_comms %D%/gather_many %D%/gather_contest %D%/gather_persistent \
	%D%/idup_pending %D%/nested_free %D%/threads_commit %D%/type_attributes \
	%D%/type_references
%C%_reduce_derived_SOURCES = %D%/reduce_derived.c %D%/reduce_elements.h
TESTS += %D%/run-reduce %D%/run-trees
endif
EXTRA_DIST += %D%/dear.model
dist_check_SCRIPTS += %D%/passes %D%/run-reduce %D%/run-trees
