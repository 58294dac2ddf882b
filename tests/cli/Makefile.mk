# Lists of tests/cli/; see Makefile.am.
