# Lists of tests/scalapack/; see Makefile.am.
