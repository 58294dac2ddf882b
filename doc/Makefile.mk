# Lists of doc/; see Makefile.am.
