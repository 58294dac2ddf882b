# Lists of tests/preload/; see Makefile.am.
