# Lists of tests/fortran/; see Makefile.am.
dist_check_SCRIPTS += %D%/run-fortran
TESTS += %D%/run-fortran
EXTRA_DIST += %D%/body.inc %D%/variables.inc %D%/with_mpif.f90 %D%/with_mpi.f90 %D%/with_f08.f90
dist_check_SCRIPTS += %D%/run-recycled
TESTS += %D%/run-recycled
EXTRA_DIST += %D%/recycled_f08.f90
dist_check_SCRIPTS += %D%/run-reduce
TESTS += %D%/run-reduce
EXTRA_DIST += %D%/reduce_body.inc %D%/reduce_mpif.f90 %D%/reduce_mpi.f90 %D%/reduce_f08.f90
# For tests/mpi/run-harmless.
EXTRA_DIST += %D%/harmless_body.inc %D%/harmless_variables.inc %D%/harmless_mpif.f90 %D%/harmless_mpi.f90 \
	%D%/harmless_f08.f90
dist_check_SCRIPTS += %D%/run-requests
TESTS += %D%/run-requests
EXTRA_DIST += %D%/requests_body.inc %D%/requests_mpif.f90 %D%/requests_f08.f90
