# Lists of tests/corpus/; see Makefile.am.
