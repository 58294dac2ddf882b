# Lists of tests/mpi/; see Makefile.am.

