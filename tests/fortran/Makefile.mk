# Lists of tests/fortran/; see Makefile.am.
