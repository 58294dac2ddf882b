# Lists of wrappers/; see Makefile.am.
