# Lists of src/mpi/; see Makefile.am.
