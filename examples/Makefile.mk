# Lists of examples/; see Makefile.am.
