# Lists of tests/unit/; see Makefile.am.
